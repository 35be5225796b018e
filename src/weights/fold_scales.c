/*
 * Folding scales that are stored in separate tensors into the weights they belong to.
 *
 * MLX stores a quantized matrix [out,in] as three tensors (mlx.core.quantize; mlx-lm,
 * utils.py, load_model): `P.weight` U32 [out, in * bits / 32], a bit stream for each row,
 * and `P.scales` and `P.biases` [out, in / group]. Stacks of matrices have one more leading
 * dimension. In mode mxfp4 the scales are U8, exponents of two, and there are no biases.
 *
 * FP8 checkpoints store `P.weight` E4M3 [out,in] and the factors `P.weight_scale_inv`: one
 * per block of [rows,columns] (transformers, finegrained_fp8.py, class FP8Linear), per row
 * or per matrix. Stacks are `NAME` and `NAME_scale_inv` (class FP8Experts). Some tools name
 * it `weight_scale`.
 *
 * Shapes and formats are checked here, so that every weight has its scale. Values are not
 * checked: NaN is allowed.
 */
#include "weights/directory.h"

#include <stdlib.h>

typedef struct {
    vug_weights *weights;
    const vug_quant_config *config;
    vug_buf name; /* of the tensor that is looked up */
} scale_folder;

/* ---- lookup -------------------------------------------------------------- */

/* The tensor named by the first `n` bytes of `name` and `suffix`; NULL when there is none. */
static vug_entry *find_sibling(scale_folder *f, vug_str name, size_t n, const char *suffix)
{
    f->name.len = 0;
    vug_buf_append(&f->name, name.ptr, n);
    vug_buf_puts(&f->name, suffix);
    if (f->name.bad)
        return NULL;
    const vug_str key = { f->name.ptr, f->name.len };
    return vug_weights_entry(f->weights, key);
}

static int compare_module(const void *key, const void *row)
{
    return vug_str_compare(*(const vug_str *)key, ((const vug_quant_module *)row)->name);
}

/* The scheme of a module; `named`: the config lists that module. */
static vug_quant_scheme find_scheme(const vug_quant_config *config, vug_str module, bool *named)
{
    const vug_quant_module *own =
            config->n ? bsearch(&module, config->module, config->n, sizeof(*own), compare_module)
                      : NULL;
    *named = own != NULL;
    return own ? own->how : config->all;
}

static vug_status fail_scales(const vug_tensor *t, const vug_tensor *scales, const char *expected,
                              vug_err *err)
{
    return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is %s %s; with %s %s, %s", scales->file,
                    VUG_STR_ARG(scales->name), vug_dtype_of(scales->dtype)->name,
                    vug_dims_print(scales->rank, scales->dim).text, vug_dtype_of(t->dtype)->name,
                    vug_dims_print(t->rank, t->dim).text, expected);
}

/* True when all but the last `own` dimensions are equal. */
static bool same_leading_dims(const vug_tensor *a, const vug_tensor *b, int own)
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

/* The weights of a row, from the number of scales, and the bits of each, from the number of
 * words; false when those are not whole numbers. */
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

/* The bits follow from the shapes. If the config lists this module, it must agree. Its
 * default need not: mlx-lm, too, goes by the shapes (infer_quant_config). */
static vug_status find_format(const scale_folder *f, const vug_tensor *t, const vug_tensor *scales,
                              int64_t *in, vug_dtype *out, vug_quant_scheme *how, vug_err *err)
{
    bool named;
    const vug_str module = { t->name.ptr, t->name.len - strlen(".weight") };
    *how = find_scheme(f->config, module, &named);
    if (how->mode != VUG_QUANT_MLX_AFFINE && how->mode != VUG_QUANT_MLX_MXFP4)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has scales, but %s has no 'quantization' that says how "
                        "many weights share one",
                        t->file, VUG_STR_ARG(t->name), f->config->file);
    const bool affine = how->mode == VUG_QUANT_MLX_AFFINE;
    uint64_t bits = 0;
    const bool whole = read_sizes(t, scales, how->columns, in, &bits);
    *out = affine ? affine_format(bits) : bits == 4 ? VUG_DTYPE_MLX_FP4 : VUG_DTYPE_COUNT;
    if (!whole || *out == VUG_DTYPE_COUNT)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has shape %s and its scales have %s; with %lld weights "
                        "per scale, as %s says, that is not a bit width of MLX",
                        t->file, VUG_STR_ARG(t->name), vug_dims_print(t->rank, t->dim).text,
                        vug_dims_print(scales->rank, scales->dim).text, (long long)how->columns,
                        f->config->file);
    if (named && bits != (uint64_t)how->bits)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has %d bits per weight by its shape, %s says %d",
                        t->file, VUG_STR_ARG(t->name), (int)bits, f->config->file, how->bits);
    return VUG_OK;
}

static vug_status check_scales(const vug_tensor *t, const vug_tensor *scales,
                               const vug_tensor *biases, bool affine, vug_err *err)
{
    if (!same_leading_dims(t, scales, 1))
        return fail_scales(t, scales, "expected the same leading dimensions", err);
    if (!affine && scales->dtype != VUG_DTYPE_U8)
        return fail_scales(t, scales, "scales of mxfp4 must be U8", err);
    if (affine && !is_scale_format(scales->dtype))
        return fail_scales(t, scales, "scales must be BF16, F16 or F32", err);
    if (!affine)
        return !biases ? VUG_OK : fail_scales(t, biases, "mxfp4 has no biases", err);
    if (!biases)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s' has scales but no biases, expected '%.*s.biases'",
                        t->file, VUG_STR_ARG(t->name), (int)(t->name.len - strlen(".weight")),
                        t->name.ptr);
    if (biases->dtype != scales->dtype || !same_leading_dims(scales, biases, 0))
        return fail_scales(scales, biases, "biases must have the format and shape of the scales",
                           err);
    return VUG_OK;
}

static vug_status fold_mlx(scale_folder *f, vug_tensor *t, vug_err *err)
{
    if (!vug_str_ends(t->name, ".weight"))
        return VUG_OK;
    const size_t stem = t->name.len - strlen(".weight");
    vug_entry *scales_at = find_sibling(f, t->name, stem, ".scales");
    vug_entry *biases_at = find_sibling(f, t->name, stem, ".biases");
    if (!scales_at)
        return vug_buf_ok(&f->name, err);
    const vug_tensor *scales = &scales_at->tensor;
    const vug_tensor *biases = biases_at ? &biases_at->tensor : NULL;
    vug_quant_scheme how;
    vug_dtype format;
    int64_t in;
    if (t->rank < 2 || scales->rank < 2)
        return fail_scales(t, scales, "expected matrices", err);
    VUG_TRY(find_format(f, t, scales, &in, &format, &how, err));
    VUG_TRY(check_scales(t, scales, biases, how.mode == VUG_QUANT_MLX_AFFINE, err));
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

/* Rows and columns of the scales of one matrix; false when the shapes do not match. */
static bool read_grid(const vug_tensor *t, const vug_tensor *scales, int64_t grid[2])
{
    const int64_t n = scales->rank ? scales->dim[0] : 1;
    grid[0] = grid[1] = 1;
    if (same_leading_dims(t, scales, 2)) {
        grid[0] = scales->dim[scales->rank - 2];
        grid[1] = scales->dim[scales->rank - 1];
        return true;
    }
    if (scales->rank > 1)
        return false;
    if (t->rank > 2) /* one per matrix of a stack */
        return t->rank == 3 && scales->rank == 1 && n == t->dim[0];
    if (n > 1)
        grid[0] = n;
    return n == 1 || n == t->dim[0];
}

/* Uses the block size of the config if it gives this number of scales, with smaller blocks at
 * the edges. Otherwise all blocks have the same size, as in the reference (Fp8Dequantize):
 * rows, whole matrices, halves of experts. */
static bool read_block(const vug_tensor *t, const int64_t grid[2], const vug_quant_scheme *how,
                       int64_t block[2])
{
    const int64_t size[2] = { t->dim[t->rank - 2], t->dim[t->rank - 1] };
    const int64_t config[2] = { how->rows, how->columns };
    bool by_config = how->mode == VUG_QUANT_FP8 && config[0] > 0 && config[1] > 0, by_size = true;
    for (int i = 0; i < 2; i++) {
        if (size[i] <= 0 || grid[i] <= 0)
            return false;
        by_config = by_config && grid[i] == size[i] / config[i] + (size[i] % config[i] > 0);
        by_size = by_size && size[i] % grid[i] == 0;
    }
    for (int i = 0; i < 2; i++)
        block[i] = by_config ? config[i] : size[i] / grid[i];
    return by_config || by_size;
}

static vug_status fold_fp8(scale_folder *f, vug_tensor *t, vug_err *err)
{
    vug_entry *at = find_sibling(f, t->name, t->name.len, "_scale_inv");
    if (!at)
        at = find_sibling(f, t->name, t->name.len, "_scale");
    if (f->name.bad)
        return vug_buf_ok(&f->name, err);
    if (!at && f->config->all.mode == VUG_QUANT_FP8)
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is F8_E4M3 and has no '%.*s_scale_inv'",
                        t->file, VUG_STR_ARG(t->name), VUG_STR_ARG(t->name));
    if (!at)
        return VUG_OK;
    const vug_tensor *scales = &at->tensor;
    int64_t grid[2], block[2];
    if (!is_scale_format(scales->dtype) && scales->dtype != VUG_DTYPE_E8M0)
        return fail_scales(t, scales, "scales must be F32, BF16, F16 or F8_E8M0", err);
    if (t->rank < 2 || !read_grid(t, scales, grid) || !read_block(t, grid, &f->config->all, block))
        return fail_scales(t, scales, "expected one scale per block, row or matrix", err);
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

vug_status vug_weights_fold_scales(vug_weights *weights, vug_quant_config *config, vug_err *err)
{
    scale_folder f = { .weights = weights, .config = config };
    vug_status st = VUG_OK;
    (void)vug_sort_names(config->module, config->n, sizeof(*config->module));
    for (size_t i = 0; i < weights->n && st == VUG_OK; i++) {
        vug_tensor *t = &weights->order[i]->tensor;
        if (t->dtype == VUG_DTYPE_U32)
            st = fold_mlx(&f, t, err);
        else if (t->dtype == VUG_DTYPE_E4M3)
            st = fold_fp8(&f, t, err);
    }
    vug_buf_release(&f.name);
    vug_weights_drop_folded(weights);
    return st;
}
