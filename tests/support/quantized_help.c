

#include "test.h"

#include <math.h>

#include "quant/codec.h"
#include "quantized_help.h"

/* ---- files ---------------------------------------------------------------------- */

made_tensor *made_add(made_file *f, vug_dtype dtype, int rank, made_dims dim, const char *format,
                      ...)
{
    assert_true(f->n < sizeof(f->tensor) / sizeof(f->tensor[0]));
    made_tensor *t = &f->tensor[f->n++];
    uint64_t n = 1, bytes = 0;
    va_list ap;
    va_start(ap, format);
    const int len = vsnprintf(t->name, sizeof(t->name), format, ap);
    va_end(ap);
    assert_in_range(len, 1, sizeof(t->name) - 1);
    t->dtype = dtype;
    t->rank = rank;
    for (int i = 0; i < rank; i++) {
        t->dim[i] = dim.n[i];
        n *= (uint64_t)dim.n[i];
    }
    assert_true(vug_dtype_size(dtype, n, &bytes));
    t->n = (size_t)bytes;
    t->bytes = calloc(t->n + 1, 1);
    assert_non_null(t->bytes);
    return t;
}

made_tensor *made_find(made_file *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->tensor[i].name, name) == 0)
            return &f->tensor[i];
    }
    fail_msg("there is no '%s'", name);
    return NULL;
}

made_block made_bytes(const made_file *f)
{
    vug_buf out = { 0 };
    size_t at = 0;
    vug_buf_append(&out, "\0\0\0\0\0\0\0\0", 8);
    vug_buf_puts(&out, "{\"__metadata__\":{\"format\":\"mlx\"}");
    for (size_t i = 0; i < f->n; i++) {
        const made_tensor *t = &f->tensor[i];
        vug_buf_printf(&out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t->name,
                       vug_dtype_of(t->dtype)->name);
        for (int d = 0; d < t->rank; d++)
            vug_buf_printf(&out, d ? ",%lld" : "%lld", (long long)t->dim[d]);
        vug_buf_printf(&out, "],\"data_offsets\":[%zu,%zu]}", at, at + t->n);
        at += t->n;
    }
    vug_buf_puts(&out, out.len % 2 ? "} " : "}");
    if (out.len % 2 == 0)
        vug_buf_puts(&out, " ");
    const uint64_t header = out.len - 8;
    for (int i = 0; i < 8; i++)
        out.ptr[i] = (char)(header >> 8 * i);
    for (size_t i = 0; i < f->n; i++)
        vug_buf_append(&out, f->tensor[i].bytes, f->tensor[i].n);
    assert_false(out.bad);
    /* Exactly as large as it is, so that a read past the end is seen. */
    uint8_t *exact = malloc(out.len);
    assert_non_null(exact);
    memcpy(exact, out.ptr, out.len);
    const made_block bytes = { exact, out.len };
    vug_buf_release(&out);
    return bytes;
}

void made_write(const made_file *f, const scratch *dir, const char *name)
{
    const made_block bytes = made_bytes(f);
    scratch_write(dir, name, bytes.ptr, bytes.len);
    free(bytes.ptr);
}

void made_release(made_file *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->tensor[i].bytes);
    f->n = 0;
}

/* ---- a plain quantizer ------------------------------------------------------------- */

static const float e2m1[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };

/* Puts `x` in format `dtype` at element `at`; returns what was stored. */
static float put(uint8_t *to, vug_dtype dtype, int64_t at, float x)
{
    uint8_t *element = to + at * vug_dtype_of(dtype)->bytes;
    vug_codec_of(dtype)->encode(&x, element, 1);
    vug_codec_of(dtype)->decode(element, &x, 1);
    return x;
}

static void put_bits(uint8_t *row, int64_t e, int bits, unsigned q)
{
    for (int b = 0; b < bits; b++) {
        const int64_t at = e * bits + b;
        row[at / 8] = (uint8_t)(row[at / 8] | (q >> b & 1) << (at % 8));
    }
}

typedef struct {
    made_tensor *weight, *scales, *biases; /* the last may be NULL */
} quantized_parts;

/* Group `g` of the group's row, whose bits begin at `row`. */
static void affine_group(const made_how *how, const quantized_parts *p, uint8_t *row, int64_t g,
                         float *x)
{
    const int64_t first = g % (p->scales->dim[p->scales->rank - 1]) * how->columns;
    const float n = (float)((1 << how->bits) - 1);
    float low = x[0], high = x[0];
    for (int64_t e = 1; e < how->columns; e++) {
        low = fminf(low, x[e]);
        high = fmaxf(high, x[e]);
    }
    float step = fmaxf((high - low) / n, 1e-7f);
    step = put(p->scales->bytes, p->scales->dtype, g, fabsf(low) > fabsf(high) ? step : -step);
    const float bias = put(p->biases->bytes, p->biases->dtype, g, step > 0 ? low : high);
    for (int64_t e = 0; e < how->columns; e++) {
        const float q = fminf(fmaxf(rintf((x[e] - bias) / step), 0), n);
        put_bits(row, first + e, how->bits, (unsigned)q);
        const float product = step * q;
        x[e] = product + bias;
    }
}

static void mxfp4_group(const made_how *how, const quantized_parts *p, uint8_t *row, int64_t g,
                        float *x)
{
    const int64_t first = g % (p->scales->dim[p->scales->rank - 1]) * how->columns;
    float most = 0;
    for (int64_t e = 0; e < how->columns; e++)
        most = fmaxf(most, fabsf(x[e]));
    const int exponent = most > 0 ? (int)floorf(log2f(most)) - 2 : 0;
    p->scales->bytes[g] = (uint8_t)(exponent + 127);
    for (int64_t e = 0; e < how->columns; e++) {
        const float wanted = fabsf(ldexpf(x[e], -exponent));
        unsigned best = 0;
        for (unsigned q = 1; q < 8; q++) {
            if (fabsf(e2m1[q] - wanted) < fabsf(e2m1[best] - wanted))
                best = q;
        }
        const bool negative = x[e] < 0 && best;
        put_bits(row, first + e, 4, best | (negative ? 8u : 0u));
        x[e] = ldexpf(negative ? -e2m1[best] : e2m1[best], exponent);
    }
}

/* The definition of E4M3: 4 bits of exponent, 3 of mantissa, no infinities. */
static float e4m3_value(uint8_t b)
{
    const int exponent = b >> 3 & 15, mantissa = b & 7;
    const float magnitude =
            exponent ? ldexpf(1 + (float)mantissa / 8, exponent - 7) : ldexpf((float)mantissa, -9);
    return b & 0x80 ? -magnitude : magnitude;
}

static void fp8_block(const made_how *how, const quantized_parts *p, int64_t first[2],
                      int64_t scale, float *matrix, uint8_t *bytes)
{
    const int64_t rows = p->weight->dim[p->weight->rank - 2];
    const int64_t in = p->weight->dim[p->weight->rank - 1];
    const int64_t end[2] = { first[0] + how->rows < rows ? first[0] + how->rows : rows,
                             first[1] + how->columns < in ? first[1] + how->columns : in };
    float most = 0;
    for (int64_t r = first[0]; r < end[0]; r++) {
        for (int64_t e = first[1]; e < end[1]; e++)
            most = fmaxf(most, fabsf(matrix[r * in + e]));
    }
    /* E8M0 has no encoder here: the byte is the exponent. */
    float step = most > 0 ? most / 448 : 1;
    if (p->scales->dtype == VUG_DTYPE_E8M0) {
        const int exponent = (int)ceilf(log2f(step));
        p->scales->bytes[scale] = (uint8_t)(exponent + 127);
        step = ldexpf(1, exponent);
    } else {
        step = put(p->scales->bytes, p->scales->dtype, scale, step);
    }
    for (int64_t r = first[0]; r < end[0]; r++) {
        for (int64_t e = first[1]; e < end[1]; e++) {
            float *x = &matrix[r * in + e];
            *x = fminf(fmaxf(*x / step, -448), 448);
            vug_codec_of(VUG_DTYPE_E4M3)->encode(x, bytes + r * in + e, 1);
            *x = e4m3_value(bytes[r * in + e]) * step;
        }
    }
}

static void add_fp8(made_file *f, const char *name, int rank, made_dims dim, float *x,
                    const made_how *how)
{
    const int64_t rows = dim.n[rank - 2], in = dim.n[rank - 1];
    made_dims grid = dim;
    grid.n[rank - 2] = (rows + how->rows - 1) / how->rows;
    grid.n[rank - 1] = (in + how->columns - 1) / how->columns;
    const int64_t each = grid.n[rank - 2] * grid.n[rank - 1];
    const quantized_parts p = { .weight = made_add(f, VUG_DTYPE_E4M3, rank, dim, "%s", name),
                                .scales = made_add(f, how->scales, rank, grid, "%s%s", name,
                                                   how->tail ? how->tail : "_scale_inv") };
    const int64_t matrices = rank > 2 ? dim.n[0] : 1;
    for (int64_t i = 0; i < matrices * each; i++) {
        int64_t first[2] = { i % each / grid.n[rank - 1] * how->rows,
                             i % grid.n[rank - 1] * how->columns };
        const int64_t begin = i / each * rows * in;
        fp8_block(how, &p, first, i, x + begin, p.weight->bytes + begin);
    }
}

static void add_mlx(made_file *f, const char *name, int rank, made_dims dim, float *x,
                    const made_how *how)
{
    const bool affine = how->mode == VUG_QUANT_MLX_AFFINE;
    const int stem = (int)(strlen(name) - strlen(".weight"));
    const int64_t in = dim.n[rank - 1], groups = in / how->columns;
    int64_t rows = 1;
    for (int i = 0; i < rank - 1; i++)
        rows *= dim.n[i];
    made_dims words = dim, scales = dim;
    words.n[rank - 1] = in * how->bits / 32;
    scales.n[rank - 1] = groups;
    const vug_dtype format = affine ? how->scales : VUG_DTYPE_U8;
    quantized_parts p = { .weight = made_add(f, VUG_DTYPE_U32, rank, words, "%s", name) };
    /* An odd number of bytes, so that what follows lies at odd addresses, too. */
    (void)made_add(f, VUG_DTYPE_U8, 1, (made_dims){ { 1 } }, "vision_tower.%s", name);
    p.scales = made_add(f, format, rank, scales, "%.*s.scales", stem, name);
    if (affine)
        p.biases = made_add(f, format, rank, scales, "%.*s.biases", stem, name);
    for (int64_t g = 0; g < rows * groups; g++) {
        uint8_t *row = p.weight->bytes + g / groups * (in * how->bits / 8);
        (affine ? affine_group : mxfp4_group)(how, &p, row, g, x + g * how->columns);
    }
}

void made_matrix(made_file *f, const char *name, int rank, made_dims dim, float *x,
                 const made_how *how)
{
    if (how->mode == VUG_QUANT_FP8) {
        add_fp8(f, name, rank, dim, x, how);
    } else if (how->mode != VUG_QUANT_NONE) {
        add_mlx(f, name, rank, dim, x, how);
    } else {
        made_tensor *t = made_add(f, how->scales, rank, dim, "%s", name);
        const int64_t n = (int64_t)t->n / vug_dtype_of(how->scales)->bytes;
        for (int64_t i = 0; i < n; i++)
            x[i] = put(t->bytes, how->scales, i, x[i]);
    }
}
