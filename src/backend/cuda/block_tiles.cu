/* Matrices in tiles of codes (block_tiles.h): how they are made, and expanded to tiles of BF16. */
#include "backend/cuda/block_tiles.h"
#include "backend/cuda/prefill.h"
#include "backend/cuda/weight_groups.h"

enum { MAKE_THREADS = 256, UNIT_TILES = VUG_CUDA_TILE_PAD / VUG_CUDA_TILE };

/* A lane of a unit. */
struct unit_lane {
    int64_t unit, row, column; /* row and column: the first ones */
    int lane;
    bool exists;
};

static __device__ __forceinline__ unit_lane find_lane(int64_t rows, int64_t columns)
{
    const int64_t i = (int64_t)blockIdx.x * MAKE_THREADS + threadIdx.x, unit = i / WARP;
    const int64_t row_units = vug_cuda_padded(columns) / VUG_CUDA_TILE_PAD;
    const int64_t row = unit / row_units * VUG_CUDA_TILE;
    return { unit, row, unit % row_units * VUG_CUDA_TILE_PAD, (int)(i % WARP),
             row < vug_cuda_padded(rows) };
}

static unsigned lane_blocks(int64_t rows, int64_t columns)
{
    return blocks_for(vug_cuda_padded(rows) * vug_cuda_padded(columns) /
                              (VUG_CUDA_TILE * VUG_CUDA_TILE_PAD) * WARP,
                      MAKE_THREADS);
}

/* ---- making ------------------------------------------------------------------------------- */

/* The formats of checkpoints that become tiles of codes. */
#define TILED_FORMATS(X)  \
    BLOCK_TILE_FORMATS(X) \
    X(Q4_1)               \
    X(Q5_0)               \
    X(Q5_1)               \
    X(Q3_K)               \
    X(Q5_K)               \
    X(IQ4_NL)             \
    X(MLX2)               \
    X(MLX3)               \
    X(MLX5)               \
    X(MLX6)               \
    X(MLX_FP4)

/* A code, which is 0 up to 2^bits - 1 or a byte, of a number of read_numbers. */
template <int dtype> static __device__ uint32_t code_of(int q)
{
    if constexpr (dtype == VUG_DTYPE_MXFP4) {
        uint32_t code = 0;
        while (code < 15 && e2m1_value(code) != q)
            code++;
        return code;
    } else {
        return (uint32_t)(q + code_format<dtype>::zero) & 255;
    }
}

/* The codes of register r of tile s of a lane. */
template <int dtype>
static __device__ void raw_codes(const vug_cuda_raw_rows &m, const unit_lane &at, int s, int r,
                                 uint32_t (&code)[2])
{
    const int64_t row = at.row + at.lane / 4 + r % 2 * 8;
    const int64_t column = at.column + s * VUG_CUDA_TILE + r / 2 * GROUP;
    const int first = at.lane % 4 * 2;
    const uint8_t *from = m.matrix.data + row * m.row_bytes;
    code[0] = code[1] = 0;
    if (row >= m.rows || column >= m.matrix.columns)
        return;
    if constexpr (dtype == VUG_DTYPE_E4M3) {
        for (int j = 0; j < 2 && column + first + j < m.matrix.columns; j++)
            code[j] = from[column + first + j];
    } else {
        block_numbers b;
        read_numbers<dtype>(m.matrix, from, m.scale_row + row, column / GROUP, b);
        for (int j = 0; j < GROUP; j++) {
            if (j / 2 == first / 2)
                code[j % 2] = code_of<vug_cuda_tile_format((vug_dtype)dtype)>(b.q[j]);
        }
    }
}

/* The scale of 32 weights of E4M3 from column `column` on; NaN if one of them is. */
static __device__ float e4m3_scale(const vug_cuda_raw_rows &m, const uint8_t *row_at, int64_t row,
                                   int64_t column)
{
    const vug_scales &s = m.matrix.scales;
    for (int64_t i = column; i < min(column + 32, m.matrix.columns); i++) {
        if ((row_at[i] & 127) == 127)
            return __uint_as_float(0x7fc00000);
    }
    return s.scale ? load_scale(s, s.scale, m.scale_row + row, column) : 1;
}

/* Scales in F32, and offsets if the tiles have them. */
template <int dtype>
static __device__ void float_scales(const vug_cuda_raw_rows &m, int64_t row, int64_t column,
                                    uint32_t *words)
{
    using format = code_format<vug_cuda_tile_format((vug_dtype)dtype)>;
    const uint8_t *from = m.matrix.data + row * m.row_bytes;
    for (int i = 0; i < 2 && column + 32 * i < m.matrix.columns; i++) {
        uint32_t *to = words + i * (format::scale_words / 2);
        if constexpr (dtype == VUG_DTYPE_E4M3) {
            to[0] = __float_as_uint(e4m3_scale(m, from, row, column + 32 * i));
        } else {
            block_numbers b;
            read_numbers<dtype>(m.matrix, from, m.scale_row + row, (column + 32 * i) / GROUP, b);
            to[0] = __float_as_uint(b.scale);
            if constexpr (format::has_offset)
                to[1] = __float_as_uint(b.offset);
        }
    }
}

/* Scales of blocks of 32 columns in halves. */
template <int dtype>
static __device__ void half_scales(const vug_cuda_raw_rows &m, int64_t row, int64_t column,
                                   uint32_t *words)
{
    constexpr int block_bytes = dtype == VUG_DTYPE_Q8_0 ? 34 : dtype == VUG_DTYPE_Q5_0 ? 22 : 18;
    const uint8_t *p = m.matrix.data + row * m.row_bytes + column / 32 * block_bytes;
    words[0] = *(const uint16_t *)p;
    if (column + 32 < m.matrix.columns)
        words[0] |= (uint32_t) * (const uint16_t *)(p + block_bytes) << 16;
}

/* Scales of blocks within 256 columns. */
template <int dtype>
static __device__ void super_scales(const vug_cuda_raw_rows &m, int64_t row, int64_t column,
                                    uint32_t *words)
{
    constexpr int block_bytes = dtype == VUG_DTYPE_Q4_K ? 144 : dtype == VUG_DTYPE_Q3_K ? 110 : 210;
    const uint8_t *p = m.matrix.data + row * m.row_bytes + column / 256 * block_bytes;
    const int first = (int)(column % 256 / 32); /* block of 32 */
    if constexpr (dtype == VUG_DTYPE_Q4_K) {
        words[0] = *(const uint32_t *)p;
        for (int i = 0; i < 2; i++)
            words[1] |= (uint32_t)q45_scale(p + 4, first + i) << 8 * i |
                        (uint32_t)q45_minimum(p + 4, first + i) << (16 + 8 * i);
    } else {
        words[0] = *(const uint16_t *)(p + block_bytes - 2);
        for (int i = 0; i < UNIT_TILES; i++) {
            const int k = 2 * first + i;
            const int scale = dtype == VUG_DTYPE_Q3_K ? q3_scale(p + 96, k) : (int8_t)p[192 + k];
            words[1] |= (uint32_t)(scale + 128) << 8 * i;
        }
    }
}

/* The words of the scales of row `row` from column `column` on. */
template <int dtype>
static __device__ void raw_scales(const vug_cuda_raw_rows &m, int64_t row, int64_t column,
                                  uint32_t *words)
{
    using format = code_format<vug_cuda_tile_format((vug_dtype)dtype)>;
    for (int i = 0; i < format::scale_words; i++)
        words[i] = 0;
    if (row >= m.rows || column >= m.matrix.columns)
        return;
    if constexpr (!format::halves)
        float_scales<dtype>(m, row, column, words);
    else if constexpr (format::super)
        super_scales<dtype>(m, row, column, words);
    else
        half_scales<dtype>(m, row, column, words);
}

template <int dtype>
static __global__ void make_block_tiles_kernel(const __grid_constant__ vug_cuda_raw_rows m,
                                               uint8_t *tiles)
{
    using format = code_format<vug_cuda_tile_format((vug_dtype)dtype)>;
    const unit_lane at = find_lane(m.rows, m.matrix.columns);
    if (!at.exists)
        return;
    uint8_t *unit = tiles + at.unit * format::unit_bytes;
    uint32_t words[8] = { 0 }, high[2] = { 0 };
    for (int s = 0; s < UNIT_TILES; s++) {
        for (int r = 0; r < 4; r++) {
            uint32_t code[2];
            raw_codes<dtype>(m, at, s, r, code);
            if (format::bits == 8) {
                words[2 * s + r % 2] |= code[0] << 8 * (r / 2) | code[1] << (16 + 8 * (r / 2));
                continue;
            }
            words[s] |= (code[0] & 15) << 4 * r | (code[1] & 15) << (16 + 4 * r);
            high[s / 2] |= (code[0] >> 4 | code[1] >> 4 << 16) << (8 * (s % 2) + 2 * r);
        }
    }
    uint32_t *to = (uint32_t *)unit;
    for (int i = 0; i < (format::bits == 8 ? 8 : 4); i++)
        to[(i / 4 * WARP + at.lane) * 4 + i % 4] = words[i];
    for (int i = 0; format::bits == 6 && i < 2; i++)
        to[WARP * 4 + at.lane * 2 + i] = high[i];
    if (at.lane % 4 < 2)
        raw_scales<dtype>(m, at.row + at.lane / 4 + at.lane % 4 * 8, at.column,
                          (uint32_t *)(unit + format::code_bytes) +
                                  (at.lane / 4 * 2 + at.lane % 4) * format::scale_words);
}

void vug_cuda_make_block_tiles(cudaStream_t stream, const vug_cuda_raw_rows *rows, uint8_t *tiles)
{
    const unsigned blocks = lane_blocks(rows->rows, rows->matrix.columns);
    switch (rows->matrix.dtype) {
#define X(format)                                                                                \
    case VUG_DTYPE_##format:                                                                     \
        launch(stream, make_block_tiles_kernel<VUG_DTYPE_##format>, blocks, MAKE_THREADS, *rows, \
               tiles);                                                                           \
        break;
        TILED_FORMATS(X)
#undef X
    default:
        break;
    }
}

/* ---- expanding -------------------------------------------------------------------------------- */

template <int dtype>
static __global__ void expand_kernel(const __grid_constant__ vug_cuda_expand_job job)
{
    const unit_lane at = find_lane(job.rows, job.columns);
    if (!at.exists)
        return;
    rounded_unit<dtype> unit;
    unit.load(job.tiles + at.unit * rounded_unit<dtype>::bytes);
    for (int s = 0; s < UNIT_TILES; s++)
        ((uint4 *)job.to)[(at.unit * UNIT_TILES + s) * WARP + at.lane] = unit.operand(s);
}

void vug_cuda_expand_tiles(cudaStream_t stream, vug_dtype dtype, const vug_cuda_expand_job *job)
{
    const dim3 grid(lane_blocks(job->rows, job->columns));
    switch (dtype) {
#define X(format)                                                                    \
    case VUG_DTYPE_##format:                                                         \
        launch(stream, expand_kernel<VUG_DTYPE_##format>, grid, MAKE_THREADS, *job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        break;
    }
}
