#include "test.h"

#include "kernel_help.h"

#include <math.h>

#include "core/mem.h"
#include "quant/codec.h"

enum { GUARD = 64 }; /* bytes on either side */

uint32_t rng_bits(rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (uint32_t)(r->state * 0x2545f4914f6cdd1d >> 32);
}

float rng_float(rng *r)
{
    return (float)((int32_t)rng_bits(r) >> 8) * 0x1p-23f;
}

void rng_fill(rng *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rng_float(r);
}

/* ---- guards --------------------------------------------------------------- */

float *guarded_floats(size_t n)
{
    uint8_t *base = vug_alloc(n * sizeof(float) + 2 * (size_t)GUARD, 1);
    assert_non_null(base);
    memset(base, 0xff, n * sizeof(float) + 2 * (size_t)GUARD); /* a NaN, as floats */
    return (float *)(void *)(base + GUARD);
}

void check_guards(const float *x, size_t n)
{
    const uint8_t *before = (const uint8_t *)x - GUARD, *after = (const uint8_t *)(x + n);
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(before[i], 0xff);
        assert_int_equal(after[i], 0xff);
    }
}

void free_guarded(float *x)
{
    vug_free((uint8_t *)x - GUARD);
}

/* ---- weights -------------------------------------------------------------- */

uint8_t *random_weights(rng *r, vug_dtype dtype, size_t n, size_t shift)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const size_t bytes = n * (size_t)info->bytes;
    uint8_t *base = vug_alloc(bytes + 2 * (size_t)GUARD + shift, 1);
    assert_non_null(base);
    memset(base, 0xff, bytes + 2 * (size_t)GUARD + shift);
    uint8_t *w = base + GUARD + shift;
    for (size_t i = 0; i < n; i++) {
        const float x = rng_float(r);
        vug_codec_of(dtype)->encode(&x, w + i * (size_t)info->bytes, 1);
    }
    return w;
}

void free_weights(const uint8_t *w, size_t shift)
{
    vug_free((uint8_t *)w - GUARD - shift);
}

vug_matrix matrix_over(vug_dtype dtype, const uint8_t *data, int64_t columns)
{
    return (vug_matrix){ .dtype = dtype, .data = data, .columns = columns };
}

/* ---- comparing ------------------------------------------------------------ */

void check_bits(const float *got, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;
        memcpy(&a, &got[i], sizeof(a));
        memcpy(&b, &want[i], sizeof(b));
        if (a != b)
            fail_msg("%s: element %zu of %zu is %a, expected %a", what, i, n, (double)got[i],
                     (double)want[i]);
    }
}
