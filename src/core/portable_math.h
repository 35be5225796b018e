#ifndef VUG_CORE_PORTABLE_MATH_H
#define VUG_CORE_PORTABLE_MATH_H

/* Functions of libm with the same bits on every platform: only sums, products and quotients of
 * doubles, which IEEE 754 rounds correctly. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/portable_inline.h"

/*
 * The natural logarithm of x > 0, within 2 ulp; -infinity for 0.
 *
 * x = m 2^e with sqrt(1/2) <= m < sqrt(2). With s = (m - 1) / (m + 1), |s| <= 0.1716,
 * log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...); the first term left out is below 2^-57 s.
 *
 * ln 2 is split so that e times the first part is exact (Cody and Waite 1980).
 */
VUG_INLINE double vug_portable_log(double x)
{
    const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    int subnormal = 0;
    if (!(x > 0))
        return -INFINITY;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        subnormal = 54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    /* Subtracting the bits of sqrt(1/2) leaves in the exponent's place how often 2 divides x. */
    const int64_t e = (int64_t)(bits - UINT64_C(0x3fe6a09e667f3bcd)) >> 52;
    bits -= (uint64_t)e << 52;
    double m;
    memcpy(&m, &bits, sizeof(m));
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 0;
    for (int k = 21; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * z;
    const double n = (double)(e - subnormal);
    return n * ln2_high + (n * ln2_low + (2 * s + 2 * s * sum));
}

#endif
