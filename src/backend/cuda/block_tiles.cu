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

/* A matrix in the checkpoint's layout. */
struct raw_matrix {
    const uint8_t *data;
    int64_t rows, columns, row_bytes;
};

/* The codes of register r of tile s of a lane, which are 0 up to 2^bits - 1, or bytes. */
template <int dtype>
static __device__ void raw_codes(const raw_matrix &m, const unit_lane &at, int s, int r,
                                 uint32_t (&code)[2])
{
    const int64_t row = at.row + at.lane / 4 + r % 2 * 8;
    const int64_t column = at.column + s * VUG_CUDA_TILE + r / 2 * GROUP;
    const int first = at.lane % 4 * 2;
    block_numbers b;
    code[0] = code[1] = 0;
    if (row >= m.rows || column >= m.columns)
        return;
    read_numbers<dtype>(vug_matrix(), m.data + row * m.row_bytes, row, column / GROUP, b);
    for (int j = 0; j < GROUP; j++) {
        if (j / 2 == first / 2)
            code[j % 2] = (uint32_t)(b.q[j] + code_format<dtype>::zero) & 255;
    }
}

/* The words of the scales of row `row` from column `column` on. */
template <int dtype>
static __device__ void raw_scales(const raw_matrix &m, int64_t row, int64_t column, uint32_t *words)
{
    constexpr int block_bytes = dtype == VUG_DTYPE_Q4_0   ? 18
                                : dtype == VUG_DTYPE_Q8_0 ? 34
                                : dtype == VUG_DTYPE_Q4_K ? 144
                                                          : 210;
    const uint8_t *from = m.data + row * m.row_bytes;
    for (int i = 0; i < code_format<dtype>::scale_words; i++)
        words[i] = 0;
    if (row >= m.rows || column >= m.columns)
        return;
    if constexpr (!code_format<dtype>::super) {
        const uint8_t *p = from + column / 32 * block_bytes;
        words[0] = *(const uint16_t *)p;
        if (column + 32 < m.columns)
            words[0] |= (uint32_t) * (const uint16_t *)(p + block_bytes) << 16;
    } else {
        const uint8_t *p = from + column / 256 * block_bytes;
        const int first = (int)(column % 256 / 32); /* block of 32 */
        if constexpr (dtype == VUG_DTYPE_Q4_K) {
            words[0] = *(const uint32_t *)p;
            for (int i = 0; i < 2; i++)
                words[1] |= (uint32_t)q45_scale(p + 4, first + i) << 8 * i |
                            (uint32_t)q45_minimum(p + 4, first + i) << (16 + 8 * i);
        } else {
            words[0] = *(const uint16_t *)(p + 208);
            for (int i = 0; i < UNIT_TILES; i++)
                words[1] |= (uint32_t)(p[192 + 2 * first + i] ^ 128) << 8 * i;
        }
    }
}

template <int dtype> static __global__ void make_block_tiles_kernel(raw_matrix m, uint8_t *tiles)
{
    using format = code_format<dtype>;
    const unit_lane at = find_lane(m.rows, m.columns);
    if (!at.exists)
        return;
    uint8_t *unit = tiles + at.unit * format::unit_bytes;
    uint32_t words[8] = { 0 }, high[2] = { 0 };
    for (int s = 0; s < UNIT_TILES; s++) {
        for (int r = 0; r < 4; r++) {
            uint32_t code[2];
            raw_codes<dtype>(m, at, s, r, code);
            if (format::bits == 8) {
                words[2 * s + r / 2] |= code[0] << 8 * (r % 2) | code[1] << (16 + 8 * (r % 2));
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

void vug_cuda_make_block_tiles(cudaStream_t stream, vug_dtype dtype, const uint8_t *from,
                               int64_t row_bytes, int64_t rows, int64_t columns, uint8_t *tiles)
{
    const raw_matrix m = { from, rows, columns, row_bytes };
    switch (dtype) {
#define X(format)                                                                               \
    case VUG_DTYPE_##format:                                                                    \
        launch(stream, make_block_tiles_kernel<VUG_DTYPE_##format>, lane_blocks(rows, columns), \
               MAKE_THREADS, m, tiles);                                                         \
        break;
        BLOCK_TILE_FORMATS(X)
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
