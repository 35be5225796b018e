/*
 * Compares block-quantized weights with their values as another implementation decoded them.
 * The layout is in vug/checkpoint.h. Files are not trusted: names and shapes are checked
 * before any row is read.
 */
#include <math.h>
#include <stdio.h>

#include "core/number.h"
#include "ir/tensor.h"
#include "quant/matrix.h"
#include "vug/checkpoint.h"
#include "weights/weights.h"

enum {
    MAX_NAME = 32,         /* of a format, with its NUL */
    MAX_COLUMNS = 1 << 20, /* docs/limits.md */
    MAX_GROUP = 1 << 16,
};

static const char *const layout =
        "expected TYPE.blocks with TYPE.f32, or mlx.bB.gG.weight with .scales, .biases and .f32";

/* One format of the file. */
typedef struct {
    const char *path;
    const vug_weights *weights;
    char name[MAX_NAME];
    vug_dtype dtype;
    int64_t group; /* weights per scale; 0: the blocks contain the scales */
} block_format;

/* ---- names ------------------------------------------------------------------------- */

/* Parses what follows "mlx.", such as "b4.g64". */
static bool read_mlx(const char *s, block_format *f)
{
    if (s[0] != 'b' || !s[1] || s[2] != '.' || s[3] != 'g')
        return false;
    const char name[] = { 'M', 'L', 'X', s[1], 0 };
    f->dtype = vug_dtype_find(vug_str_of(name));
    return f->dtype < VUG_DTYPE_COUNT && vug_parse_i64(s + 4, &f->group) && f->group > 0 &&
           f->group <= MAX_GROUP && f->group % 32 == 0;
}

/* Parses a tensor name: the format, and the part that the tensor is, such as ".f32". */
static bool read_name(vug_str name, block_format *f, const char **part)
{
    static const char *const parts[2][5] = { { ".f32", ".blocks" },
                                             { ".f32", ".weight", ".scales", ".biases" } };
    const bool mlx = vug_str_starts(name, "mlx.");
    const char *const *p = parts[mlx];
    while (*p && !vug_str_ends(name, *p))
        p++;
    if (!*p)
        return false;
    const vug_str stem = { name.ptr, name.len - strlen(*p) };
    if (stem.len >= MAX_NAME)
        return false;
    memset(f->name, 0, sizeof(f->name));
    memcpy(f->name, stem.ptr, stem.len);
    *part = *p;
    f->group = 0;
    if (mlx)
        return read_mlx(f->name + 4, f);
    f->dtype = vug_dtype_find(stem);
    return f->dtype < VUG_DTYPE_COUNT && vug_codec_of(f->dtype)->decode;
}

/* ---- shapes ------------------------------------------------------------------------ */

/* Finds a part of the format, which must be [rows,columns]; 0 matches any number. */
static vug_status find_part(const block_format *f, const char *part, int64_t rows, int64_t columns,
                            const vug_tensor **out, vug_err *err)
{
    char name[MAX_NAME + 16];
    (void)snprintf(name, sizeof(name), "%s%s", f->name, part);
    const vug_tensor *t = vug_weights_find(f->weights, vug_str_of(name));
    if (!t)
        return VUG_FAIL(err, VUG_FORMAT, "%s: has no tensor '%s'; %s", f->path, name, layout);
    if (t->rank != 2)
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%s' is of rank %d, expected 2", f->path, name,
                        t->rank);
    if ((rows && t->dim[0] != rows) || (columns && t->dim[1] != columns))
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%s' is [%lld,%lld], %s.f32 gives [%lld,%lld]",
                        f->path, name, (long long)t->dim[0], (long long)t->dim[1], f->name,
                        (long long)rows, (long long)columns);
    *out = t;
    return VUG_OK;
}

static vug_status check_dtype(const block_format *f, const vug_tensor *t, bool right,
                              const char *expected, vug_err *err)
{
    if (right)
        return VUG_OK;
    return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is %s, expected %s", f->path,
                    VUG_STR_ARG(t->name), vug_dtype_of(t->dtype)->name, expected);
}

static vug_status find_expected(const block_format *f, const vug_tensor **out, vug_err *err)
{
    VUG_TRY(find_part(f, ".f32", 0, 0, out, err));
    VUG_TRY(check_dtype(f, *out, (*out)->dtype == VUG_DTYPE_F32, "F32", err));
    const int64_t rows = (*out)->dim[0], columns = (*out)->dim[1];
    const int64_t whole = f->group ? f->group : vug_dtype_of(f->dtype)->elements;
    if (rows == 0 || columns == 0)
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%s.f32' is empty", f->path, f->name);
    if (columns % whole != 0)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%s.f32' has rows of %lld, expected a multiple of %lld",
                        f->path, f->name, (long long)columns, (long long)whole);
    if (columns > MAX_COLUMNS)
        return VUG_FAIL(err, VUG_LIMIT, "%s: tensor '%s.f32' has rows of %lld, at most %d are read",
                        f->path, f->name, (long long)columns, MAX_COLUMNS);
    return VUG_OK;
}

static vug_status find_scales(const block_format *f, const vug_tensor *expected, vug_scales *out,
                              vug_err *err)
{
    const int64_t rows = expected->dim[0], stride = expected->dim[1] / f->group;
    const vug_tensor *scales, *biases;
    VUG_TRY(find_part(f, ".scales", rows, stride, &scales, err));
    VUG_TRY(find_part(f, ".biases", rows, stride, &biases, err));
    VUG_TRY(check_dtype(f, scales,
                        scales->dtype == VUG_DTYPE_F32 || scales->dtype == VUG_DTYPE_F16 ||
                                scales->dtype == VUG_DTYPE_BF16,
                        "F32, F16 or BF16", err));
    VUG_TRY(check_dtype(f, biases, biases->dtype == scales->dtype,
                        vug_dtype_of(scales->dtype)->name, err));
    *out = (vug_scales){ .scale = scales->data,
                         .bias = biases->data,
                         .dtype = scales->dtype,
                         .rows = 1,
                         .columns = f->group,
                         .stride = stride };
    return VUG_OK;
}

/* Finds all parts of the format and checks that their shapes match. */
static vug_status find_matrix(const block_format *f, vug_matrix *out, const vug_tensor **expected,
                              vug_err *err)
{
    const vug_tensor *data;
    VUG_TRY(find_expected(f, expected, err));
    const int64_t rows = (*expected)->dim[0], columns = (*expected)->dim[1];
    const int64_t bytes = vug_dtype_row(f->dtype, columns);
    *out = (vug_matrix){ .dtype = f->dtype, .columns = columns };
    if (f->group) {
        VUG_TRY(find_part(f, ".weight", rows, bytes / 4, &data, err));
        VUG_TRY(check_dtype(f, data, data->dtype == VUG_DTYPE_U32, "U32", err));
        VUG_TRY(find_scales(f, *expected, &out->scales, err));
    } else {
        VUG_TRY(find_part(f, ".blocks", rows, bytes, &data, err));
        VUG_TRY(check_dtype(f, data, data->dtype == VUG_DTYPE_U8, "U8", err));
    }
    out->data = data->data;
    return VUG_OK;
}

/* ---- comparing ---------------------------------------------------------------------- */

static bool same_value(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    return x == y || (isnan(a) && isnan(b));
}

static void compare_row(const float *decoded, const uint8_t *expected, vug_blocks_check *c,
                        int64_t row)
{
    for (int64_t i = 0; i < c->columns; i++) {
        float e;
        memcpy(&e, expected + (size_t)i * sizeof(e), sizeof(e));
        if (same_value(decoded[i], e))
            continue;
        if (c->n_different++ == 0) {
            c->row = row;
            c->column = i;
            c->expected = e;
            c->decoded = decoded[i];
        }
    }
}

static vug_status compare_format(const block_format *f, vug_blocks_fn *each, void *user,
                                 vug_err *err)
{
    vug_matrix m;
    const vug_tensor *expected;
    VUG_TRY(find_matrix(f, &m, &expected, err));
    vug_blocks_check c = { .name = f->name, .rows = expected->dim[0], .columns = m.columns };
    float *decoded = vug_alloc((size_t)m.columns, sizeof(*decoded));
    if (!decoded)
        return VUG_FAIL_NOMEM(err, f->path, (size_t)m.columns * sizeof(*decoded));
    for (int64_t row = 0; row < c.rows; row++) {
        vug_matrix_decode(&m, row, decoded);
        compare_row(decoded, expected->data + row * c.columns * (int64_t)sizeof(float), &c, row);
    }
    vug_free(decoded);
    each(&c, user);
    return VUG_OK;
}

static vug_status compare_formats(const char *path, const vug_weights *weights, vug_blocks_fn *each,
                                  void *user, vug_err *err)
{
    const size_t n = vug_weights_count(weights);
    if (n == 0)
        return VUG_FAIL(err, VUG_FORMAT, "%s: has no tensors; %s", path, layout);
    for (size_t i = 0; i < n; i++) {
        const vug_tensor *t = vug_weights_at(weights, i), *expected;
        block_format f = { .path = path, .weights = weights };
        const char *part;
        if (!read_name(t->name, &f, &part))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: tensor '%.*s' has no known format; %s", path,
                            VUG_STR_ARG(t->name), layout);
        if (strcmp(part, ".f32") == 0)
            VUG_TRY(compare_format(&f, each, user, err));
        else
            VUG_TRY(find_part(&f, ".f32", 0, 0, &expected, err));
    }
    return VUG_OK;
}

vug_status vug_verify_blocks(const char *file, vug_blocks_fn *each, void *user, vug_err *err)
{
    vug_weights *weights;
    VUG_TRY(vug_weights_open_file(file, &weights, err));
    const vug_status st = compare_formats(file, weights, each, user, err);
    vug_weights_close(weights);
    return st;
}
