/* The weights on the device: one block of memory, filled once, when all other memory is known to be
 * there. Weights of one row are stored in F32, which is what norms and biases read, matrices of BF16
 * and of codes in tiles (weight_tiles.h, block_tiles.h), the latter with their scales; other matrices
 * keep the bytes of the checkpoint. Small matrices of F32 whose values are all values of BF16, such as the
 * routers of GGUF files, are stored as BF16. */
#include "backend/cuda/internal.h"

#include "quant/matrix.h"

/* The bytes of scales, or of biases, of `rows` rows. */
static uint64_t scale_bytes(const vug_scales *s, int64_t rows)
{
    const int64_t n = (rows + s->rows - 1) / s->rows;
    return (uint64_t)(n * s->stride) * (uint64_t)vug_dtype_of(s->dtype)->bytes;
}

static bool is_decoded(const vug_weight *w)
{
    const vug_codec *codec = vug_codec_of(w->dtype);
    return w->rows == 1 && (codec->decode || (codec->block && w->scales.scale));
}

enum { MOST_CHECKED = 1 << 20 }; /* values of a matrix: they are read before memory is asked for */

/* Whether a matrix is of F32, and all bits that this has and BF16 has not are zero. */
static bool has_bf16_values(const vug_weight *w)
{
    if (w->dtype != VUG_DTYPE_F32 || w->rows == 1 || w->scales.scale ||
        w->rows * w->columns > MOST_CHECKED)
        return false;
    for (int64_t row = 0; row < w->rows; row++) {
        const uint8_t *at = w->data + row * w->columns * (int64_t)sizeof(float);
        uint8_t low = 0;
        for (int64_t i = 0; i < w->columns; i++, at += sizeof(float))
            low |= at[0] | at[1]; /* files are little-endian */
        if (low)
            return false;
    }
    return true;
}

/* How a weight lies on the device. */
static vug_dtype device_format(const vug_weight *w)
{
    if (is_decoded(w))
        return VUG_DTYPE_F32;
    return has_bf16_values(w) ? VUG_DTYPE_BF16 : vug_cuda_tile_format(w->dtype);
}

static bool is_tiled(const vug_matrix *m)
{
    return vug_cuda_unit_bytes(m->dtype) > 0;
}

/* Whether it has scales, or biases, that lie on the device by themselves. */
static bool keeps_scales(const vug_weight *w, const vug_matrix *m)
{
    return w->scales.scale && !is_decoded(w) && (!is_tiled(m) || m->dtype == VUG_DTYPE_BF16);
}

/* A sixteenth of a row of tiles. */
static int64_t tile_row_bytes(vug_dtype dtype, int64_t columns)
{
    return vug_cuda_padded(columns) / VUG_CUDA_TILE_PAD * vug_cuda_unit_bytes(dtype) /
           VUG_CUDA_TILE;
}

int64_t vug_cuda_row_bytes(const vug_matrix *matrix)
{
    if (vug_cuda_unit_bytes(matrix->dtype) > 0)
        return tile_row_bytes(matrix->dtype, matrix->columns);
    return vug_dtype_row(matrix->dtype, matrix->columns);
}

/* Of `rows` rows on the device. */
static uint64_t data_bytes(const vug_matrix *m, int64_t rows)
{
    return (uint64_t)(is_tiled(m) ? vug_cuda_padded(rows) : rows) * (uint64_t)vug_cuda_row_bytes(m);
}

/* Counts the bytes of a part; returns where it lies in `block`, which is NULL while parts are only
 * counted. `*fits` becomes false on overflow. */
static uint8_t *add_part(vug_cuda_weights *w, uint8_t *block, uint64_t bytes, bool *fits)
{
    uint64_t at = 0;
    if (!vug_cuda_add_part(bytes, &w->bytes, &at))
        *fits = false;
    return block && *fits ? block + at : NULL;
}

/* Finds where the parts of each weight lie in `block`; NULL: only their bytes. */
static vug_status place_weights(vug_cuda_weights *w, uint8_t *block, vug_err *err)
{
    bool fits = true;
    w->bytes = 0;
    for (size_t i = 0; i < w->n && fits; i++) {
        const vug_weight *from = &w->weight[i];
        vug_matrix *m = &w->matrix[i];
        if (!from->data)
            continue;
        m->data = add_part(w, block, data_bytes(m, from->rows), &fits);
        if (!keeps_scales(from, m))
            continue;
        m->scales = from->scales;
        m->scales.scale = add_part(w, block, scale_bytes(&from->scales, from->rows), &fits);
        if (from->scales.bias)
            m->scales.bias = add_part(w, block, scale_bytes(&from->scales, from->rows), &fits);
    }
    return fits ? VUG_OK : VUG_FAIL(err, VUG_LIMIT, "cuda: the weights are too large");
}

/* Copies to where a part lies in the block. */
static vug_status copy_part(const vug_cuda_weights *w, const uint8_t *at, const uint8_t *from,
                            uint64_t bytes, vug_err *err)
{
    uint8_t *to = w->block + (at - w->block);
    return vug_cuda_check(
            cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, w->device->stream),
            "copying weights", err);
}

static vug_status copy_decoded(const vug_cuda_weights *w, size_t i, vug_err *err)
{
    const vug_weight *from = &w->weight[i];
    float *row = vug_alloc((size_t)from->columns, sizeof(*row));
    if (!row)
        return VUG_FAIL_NOMEM(err, "a weight vector", (uint64_t)from->columns * sizeof(*row));
    vug_matrix_decode(&(vug_matrix){ .dtype = from->dtype,
                                     .data = from->data,
                                     .columns = from->columns,
                                     .scales = from->scales },
                      0, row);
    vug_status st = copy_part(w, w->matrix[i].data, (const uint8_t *)row,
                              data_bytes(&w->matrix[i], from->rows), err);
    /* The copy may still read the row. */
    if (st == VUG_OK)
        st = vug_cuda_check(cudaStreamSynchronize(w->device->stream), "copying weights", err);
    vug_free(row);
    return st;
}

enum { STAGING_BYTES = 64 << 20, STAGING_ALIGN = 256 };

/* Copies bytes to the staging buffer, from byte `*used` on. */
static vug_status stage(const vug_cuda_weights *w, uint8_t *staging, uint64_t *used,
                        const uint8_t *from, uint64_t bytes, const uint8_t **at, vug_err *err)
{
    *at = staging + *used;
    VUG_TRY(vug_cuda_check(cudaMemcpyAsync(staging + *used, from, bytes, cudaMemcpyHostToDevice,
                                           w->device->stream),
                           "copying weights", err));
    *used += (bytes + STAGING_ALIGN - 1) / STAGING_ALIGN * STAGING_ALIGN;
    return VUG_OK;
}

/* Copies rows first .. first + n - 1 and their scales to the staging buffer, and from there to
 * tiles. */
static vug_status copy_tile_rows(const vug_cuda_weights *w, const vug_weight *from, int64_t first,
                                 int64_t n, uint8_t *staging, uint8_t *to, vug_err *err)
{
    uint64_t used = 0;
    vug_cuda_raw_rows rows = {
        .matrix = { .dtype = from->dtype, .columns = from->columns, .scales = from->scales },
        .rows = n,
        .row_bytes = vug_dtype_row(from->dtype, from->columns),
    };
    vug_matrix *m = &rows.matrix;
    VUG_TRY(stage(w, staging, &used, from->data + first * rows.row_bytes,
                  (uint64_t)(n * rows.row_bytes), &m->data, err));
    if (from->dtype == VUG_DTYPE_BF16 || from->dtype == VUG_DTYPE_F32) {
        vug_cuda_make_tiles(w->device->stream, m, n, to);
        return VUG_OK;
    }
    if (from->scales.scale) {
        const vug_scales *s = &from->scales;
        const uint64_t skip = scale_bytes(s, first / s->rows * s->rows);
        rows.scale_row = first % s->rows;
        const uint64_t bytes = scale_bytes(s, rows.scale_row + n);
        VUG_TRY(stage(w, staging, &used, s->scale + skip, bytes, &m->scales.scale, err));
        if (s->bias)
            VUG_TRY(stage(w, staging, &used, s->bias + skip, bytes, &m->scales.bias, err));
    }
    vug_cuda_make_block_tiles(w->device->stream, &rows, to);
    return VUG_OK;
}

/* Copies a matrix to tiles, some rows at a time. */
static vug_status copy_tiles(const vug_cuda_weights *w, size_t i, uint8_t *staging, vug_err *err)
{
    const vug_weight *from = &w->weight[i];
    uint64_t row = (uint64_t)vug_dtype_row(from->dtype, from->columns);
    if (from->scales
                .scale) /* each row may have its own, and rows before the first one share some */
        row += 2 * scale_bytes(&from->scales, 1);
    const uint64_t room = STAGING_BYTES - 2 * row - 2 * STAGING_ALIGN;
    const int64_t fit = row < STAGING_BYTES / 4
                                ? (int64_t)(room / row) / VUG_CUDA_TILE_PAD * VUG_CUDA_TILE_PAD
                                : 0;
    uint8_t *to = w->block + (w->matrix[i].data - w->block);
    if (fit == 0)
        return VUG_FAIL(err, VUG_LIMIT, "cuda: tensor '%s' has rows of %lld elements", from->name,
                        (long long)from->columns);
    for (int64_t first = 0; first < from->rows; first += fit) {
        const int64_t n = from->rows - first < fit ? from->rows - first : fit;
        VUG_TRY(copy_tile_rows(w, from, first, n, staging, to, err));
        to += vug_cuda_padded(n) * vug_cuda_row_bytes(&w->matrix[i]);
    }
    return vug_cuda_check(cudaGetLastError(), "copying weights", err);
}

static vug_status copy_weights(const vug_cuda_weights *w, uint8_t *staging, vug_err *err)
{
    for (size_t i = 0; i < w->n; i++) {
        const vug_weight *from = &w->weight[i];
        const vug_matrix *m = &w->matrix[i];
        if (!from->data)
            continue;
        if (is_decoded(from)) {
            VUG_TRY(copy_decoded(w, i, err));
            continue;
        }
        if (is_tiled(m))
            VUG_TRY(copy_tiles(w, i, staging, err));
        else
            VUG_TRY(copy_part(w, m->data, from->data, data_bytes(m, from->rows), err));
        if (!keeps_scales(from, m))
            continue;
        const uint64_t bytes = scale_bytes(&from->scales, from->rows);
        VUG_TRY(copy_part(w, m->scales.scale, from->scales.scale, bytes, err));
        if (from->scales.bias)
            VUG_TRY(copy_part(w, m->scales.bias, from->scales.bias, bytes, err));
    }
    return vug_cuda_check(cudaStreamSynchronize(w->device->stream), "copying weights", err);
}

static vug_status alloc_weights(vug_cuda_weights *w, vug_err *err)
{
    void *block;
    for (size_t i = 0; i < w->n; i++) {
        if (w->weight[i].data)
            w->matrix[i] = (vug_matrix){ .dtype = device_format(&w->weight[i]),
                                         .columns = w->weight[i].columns };
    }
    VUG_TRY(place_weights(w, NULL, err));
    VUG_TRY(vug_cuda_alloc(w->bytes, "the model's weights", &block, err));
    w->block = block;
    return place_weights(w, w->block, err);
}

vug_status vug_cuda_weights_load(vug_device_weights *weights, vug_err *err)
{
    vug_cuda_weights *w = (vug_cuda_weights *)(void *)weights;
    void *staging;
    if (w->loaded)
        return VUG_OK;
    VUG_TRY(vug_cuda_alloc(STAGING_BYTES, "copying weights", &staging, err));
    const vug_status st = copy_weights(w, staging, err);
    (void)cudaStreamSynchronize(w->device->stream); /* copies of a failed load may still run */
    vug_cuda_free(staging);
    w->loaded = st == VUG_OK;
    return st;
}

vug_status vug_cuda_weights_create(vug_device *device, const vug_weight *weight, size_t n,
                                   vug_device_weights **out, vug_err *err)
{
    vug_cuda_weights *w = vug_alloc_zero(1, sizeof(*w));
    if (!w)
        return VUG_FAIL_NOMEM(err, "the device's weights", sizeof(*w));
    vug_device_weights *made = (vug_device_weights *)(void *)w;
    w->device = (vug_cuda_device *)(void *)device;
    w->n = n;
    w->weight = vug_arena_alloc(&w->arena, n, sizeof(*w->weight));
    w->matrix = vug_arena_alloc(&w->arena, n, sizeof(*w->matrix));
    vug_status st = VUG_OK;
    if (!w->weight || !w->matrix)
        st = VUG_FAIL_NOMEM(err, "the device's weights", n * sizeof(*w->matrix));
    if (st == VUG_OK && n > 0)
        memcpy(w->weight, weight, n * sizeof(*weight));
    if (st == VUG_OK)
        st = alloc_weights(w, err);
    if (st != VUG_OK) {
        vug_cuda_weights_destroy(made);
        return st;
    }
    *out = made;
    return VUG_OK;
}

void vug_cuda_weights_destroy(vug_device_weights *weights)
{
    vug_cuda_weights *w = (vug_cuda_weights *)(void *)weights;
    if (!w)
        return;
    vug_cuda_free(w->block);
    vug_arena_release(&w->arena);
    vug_free(w);
}

uint64_t vug_cuda_weights_bytes(const vug_device_weights *weights)
{
    return ((const vug_cuda_weights *)(const void *)weights)->bytes;
}
