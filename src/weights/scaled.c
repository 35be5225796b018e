/*
 * Weights whose scales lie in tensors of their own.
 *
 * MLX keeps three tensors for a quantized matrix [out,in] (mlx.core.quantize; mlx-lm,
 * utils.py, load_model): `P.weight` U32 [out, in * bits / 32], a stream of bits for each
 * row, and `P.scales` and `P.biases` [out, in / group]. Stacks of matrices have one more
 * dimension in front. In mode mxfp4 the scales are U8, exponents of two, without biases.
 *
 * FP8 checkpoints keep `P.weight` E4M3 [out,in] and `P.weight_scale_inv`, by which weights
 * are multiplied, for blocks of [rows,columns] (transformers, finegrained_fp8.py, class
 * FP8Linear), for whole rows or for the whole matrix; stacks `NAME` and `NAME_scale_inv`
 * (class FP8Experts). Others call it `weight_scale`.
 *
 * Shapes and formats are checked here, so that every scale of every weight is there;
 * values are not: a NaN is a number like any other.
 */
#include "weights/directory.h"

#include <stdlib.h>

typedef struct {
    vug_weights *weights;
    const vug_quantization *said;
    vug_buf name; /* of the tensor that is looked for */
} folder;

/* ---- finding ------------------------------------------------------------- */

/* The tensor called as the first `n` bytes of `name` and then `tail`; NULL: none. */
static vug_entry *beside(folder *f, vug_str name, size_t n, const char *tail)
{
    f->name.len = 0;
    vug_buf_append(&f->name, name.ptr, n);
    vug_buf_puts(&f->name, tail);
    if (f->name.bad)
        return NULL;
    const vug_str key = { f->name.ptr, f->name.len };
    return vug_weights_entry(f->weights, key);
}

static int by_module(const void *key, const void *row)
{
    return vug_str_compare(*(const vug_str *)key, ((const vug_scaled_module *)row)->name);
}

/* What the config says of the module; `named`: of it alone. */
static vug_scaled said_of(const vug_quantization *said, vug_str module, bool *named)
{
    const vug_scaled_module *own =
            said->n ? bsearch(&module, said->module, said->n, sizeof(*own), by_module) : NULL;
    *named = own != NULL;
    return own ? own->how : said->all;
}

static vug_status refuse_scales(const vug_tensor *t, const vug_tensor *scales, const char *expected,
                                vug_err *err)
{
    return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is %s %s; beside %s %s, %s", scales->file,
                    VUG_STR_ARG(scales->name), vug_dtype_of(scales->dtype)->name,
                    vug_shape_print(scales->rank, scales->dim).text, vug_dtype_of(t->dtype)->name,
                    vug_shape_print(t->rank, t->dim).text, expected);
}

/* All but the last `own` dimensions are the same. */
static bool leads_alike(const vug_tensor *a, const vug_tensor *b, int own)
{
    if (a->rank < 2 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank - own; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

static bool is_scale_format(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16;
}

/* ---- MLX ----------------------------------------------------------------- */

static vug_dtype affine_format(uint64_t bits)
{
    switch (bits) {
    case 2:
        return VUG_DTYPE_MLX2;
    case 3:
        return VUG_DTYPE_MLX3;
    case 4:
        return VUG_DTYPE_MLX4;
    case 5:
        return VUG_DTYPE_MLX5;
    case 6:
        return VUG_DTYPE_MLX6;
    case 8:
        return VUG_DTYPE_MLX8;
    default:
        return VUG_DTYPE_COUNT;
    }
}

/* Weights of a row by its scales, and the bits of each by its words; false when they
 * fit no whole number. */
static bool read_sizes(const vug_tensor *t, const vug_tensor *scales, int64_t group, int64_t *in,
                       uint64_t *bits)
{
    const uint64_t groups = (uint64_t)scales->dim[scales->rank - 1];
    const uint64_t words = (uint64_t)t->dim[t->rank - 1];
    uint64_t weights, stream;
    if (!vug_mul_size(groups, (uint64_t)group, &weights) || !vug_mul_size(words, 32, &stream) ||
        weights == 0 || weights > INT64_MAX || stream % weights != 0)
        return false;
    *in = (int64_t)weights;
    *bits = stream / weights;
    return true;
}

/* Bits follow from the shapes. A config that speaks of this module must agree; where it
 * says only what is so of most, mlx-lm too goes by the shapes (infer_quant_config). */
static vug_status find_format(const folder *f, const vug_tensor *t, const vug_tensor *scales,
                              int64_t *in, vug_dtype *out, vug_scaled *how, vug_err *err)
{
    bool named;
    const vug_str module = { t->name.ptr, t->name.len - strlen(".weight") };
    *how = said_of(f->said, module, &named);
    if (how->mode != VUG_SCALED_AFFINE && how->mode != VUG_SCALED_MXFP4)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has scales, and %s has no 'quantization' that says how "
                        "many weights share one",
                        t->file, VUG_STR_ARG(t->name), f->said->file);
    const bool affine = how->mode == VUG_SCALED_AFFINE;
    uint64_t bits = 0;
    const bool whole = read_sizes(t, scales, how->columns, in, &bits);
    *out = affine ? affine_format(bits) : bits == 4 ? VUG_DTYPE_MLX_FP4 : VUG_DTYPE_COUNT;
    if (!whole || *out == VUG_DTYPE_COUNT)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has shape %s and its scales %s; with %lld weights for "
                        "each scale, as %s says, that is no number of bits that MLX has",
                        t->file, VUG_STR_ARG(t->name), vug_shape_print(t->rank, t->dim).text,
                        vug_shape_print(scales->rank, scales->dim).text, (long long)how->columns,
                        f->said->file);
    if (named && bits != (uint64_t)how->bits)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has %d bits for each weight by its shape, %s says %d",
                        t->file, VUG_STR_ARG(t->name), (int)bits, f->said->file, how->bits);
    return VUG_OK;
}

static vug_status check_beside(const vug_tensor *t, const vug_tensor *scales,
                               const vug_tensor *biases, bool affine, vug_err *err)
{
    if (!leads_alike(t, scales, 1))
        return refuse_scales(t, scales, "expected the same leading dimensions", err);
    if (!affine && scales->dtype != VUG_DTYPE_U8)
        return refuse_scales(t, scales, "scales of mxfp4 must be U8", err);
    if (affine && !is_scale_format(scales->dtype))
        return refuse_scales(t, scales, "scales must be BF16, F16 or F32", err);
    if (!affine)
        return !biases ? VUG_OK : refuse_scales(t, biases, "mxfp4 has no biases", err);
    if (!biases)
        return VUG_FAIL(
                err, VUG_FORMAT,
                "%s: tensor '%.*s' has scales and no biases beside it, expected '%.*s.biases'",
                t->file, VUG_STR_ARG(t->name), (int)(t->name.len - strlen(".weight")), t->name.ptr);
    if (biases->dtype != scales->dtype || !leads_alike(scales, biases, 0))
        return refuse_scales(scales, biases, "biases must be as the scales are", err);
    return VUG_OK;
}

static vug_status fold_words(folder *f, vug_tensor *t, vug_err *err)
{
    if (!vug_str_ends(t->name, ".weight"))
        return VUG_OK;
    const size_t stem = t->name.len - strlen(".weight");
    vug_entry *scales_at = beside(f, t->name, stem, ".scales");
    vug_entry *biases_at = beside(f, t->name, stem, ".biases");
    if (!scales_at)
        return vug_buf_ok(&f->name, err);
    const vug_tensor *scales = &scales_at->tensor;
    const vug_tensor *biases = biases_at ? &biases_at->tensor : NULL;
    vug_scaled how;
    vug_dtype format;
    int64_t in;
    if (t->rank < 2 || scales->rank < 2)
        return refuse_scales(t, scales, "expected matrices", err);
    VUG_TRY(find_format(f, t, scales, &in, &format, &how, err));
    VUG_TRY(check_beside(t, scales, biases, how.mode == VUG_SCALED_AFFINE, err));
    t->dtype = format;
    t->dim[t->rank - 1] = in;
    t->scales = (vug_scales){
        .scale = scales->data,
        .bias = biases ? biases->data : NULL,
        .dtype = format == VUG_DTYPE_MLX_FP4 ? VUG_DTYPE_E8M0 : scales->dtype,
        .rows = 1,
        .columns = how.columns,
        .stride = scales->dim[scales->rank - 1],
    };
    t->scale_bytes = scales->bytes + (biases ? biases->bytes : 0);
    scales_at->folded = true;
    if (biases_at)
        biases_at->folded = true;
    return VUG_OK;
}

/* ---- FP8 ----------------------------------------------------------------- */

/* Rows and columns of the scales of one matrix; false where there is no telling. */
static bool read_grid(const vug_tensor *t, const vug_tensor *scales, int64_t grid[2])
{
    const int64_t n = scales->rank ? scales->dim[0] : 1;
    grid[0] = grid[1] = 1;
    if (leads_alike(t, scales, 2)) {
        grid[0] = scales->dim[scales->rank - 2];
        grid[1] = scales->dim[scales->rank - 1];
        return true;
    }
    if (scales->rank > 1)
        return false;
    if (t->rank > 2) /* one for each of a stack */
        return t->rank == 3 && scales->rank == 1 && n == t->dim[0];
    if (n > 1)
        grid[0] = n;
    return n == 1 || n == t->dim[0];
}

/* The block of the config where the scales are as many as that makes, the last of them
 * for a smaller rest; else blocks that are all of a size, as the reference dequantizes
 * (Fp8Dequantize): rows, whole matrices, halves of experts. */
static bool read_block(const vug_tensor *t, const int64_t grid[2], const vug_scaled *how,
                       int64_t block[2])
{
    const int64_t size[2] = { t->dim[t->rank - 2], t->dim[t->rank - 1] };
    const int64_t said[2] = { how->rows, how->columns };
    bool by_config = how->mode == VUG_SCALED_FP8 && said[0] > 0 && said[1] > 0, by_size = true;
    for (int i = 0; i < 2; i++) {
        if (size[i] <= 0 || grid[i] <= 0)
            return false;
        by_config = by_config && grid[i] == size[i] / said[i] + (size[i] % said[i] > 0);
        by_size = by_size && size[i] % grid[i] == 0;
    }
    for (int i = 0; i < 2; i++)
        block[i] = by_config ? said[i] : size[i] / grid[i];
    return by_config || by_size;
}

static vug_status fold_fp8(folder *f, vug_tensor *t, vug_err *err)
{
    vug_entry *at = beside(f, t->name, t->name.len, "_scale_inv");
    if (!at)
        at = beside(f, t->name, t->name.len, "_scale");
    if (f->name.bad)
        return vug_buf_ok(&f->name, err);
    if (!at && f->said->all.mode == VUG_SCALED_FP8)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' is F8_E4M3 and has no '%.*s_scale_inv' beside it",
                        t->file, VUG_STR_ARG(t->name), VUG_STR_ARG(t->name));
    if (!at)
        return VUG_OK;
    const vug_tensor *scales = &at->tensor;
    int64_t grid[2], block[2];
    if (!is_scale_format(scales->dtype) && scales->dtype != VUG_DTYPE_E8M0)
        return refuse_scales(t, scales, "scales must be F32, BF16, F16 or F8_E8M0", err);
    if (t->rank < 2 || !read_grid(t, scales, grid) || !read_block(t, grid, &f->said->all, block))
        return refuse_scales(t, scales, "expected a scale for each block, row or matrix", err);
    t->scales = (vug_scales){ .scale = scales->data,
                              .dtype = scales->dtype,
                              .rows = block[0],
                              .columns = block[1],
                              .stride = grid[1] };
    t->scale_bytes = scales->bytes;
    at->folded = true;
    return VUG_OK;
}

/* ---- the directory -------------------------------------------------------- */

vug_status vug_weights_fold(vug_weights *weights, vug_quantization *said, vug_err *err)
{
    folder f = { .weights = weights, .said = said };
    vug_status st = VUG_OK;
    (void)vug_sort_names(said->module, said->n, sizeof(*said->module));
    for (size_t i = 0; i < weights->n && st == VUG_OK; i++) {
        vug_tensor *t = &weights->order[i]->tensor;
        if (t->dtype == VUG_DTYPE_U32)
            st = fold_words(&f, t, err);
        else if (t->dtype == VUG_DTYPE_E4M3)
            st = fold_fp8(&f, t, err);
    }
    vug_buf_release(&f.name);
    vug_weights_drop_folded(weights);
    return st;
}
