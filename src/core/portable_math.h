#ifndef VUG_CORE_PORTABLE_MATH_H
#define VUG_CORE_PORTABLE_MATH_H

/* Functions of libm with the same bits on every platform: only sums, products and quotients of
 * doubles, which IEEE 754 rounds correctly. */

/* The natural logarithm of x > 0, within 2 ulp; -infinity for 0. */
double vug_portable_log(double x);

#endif
