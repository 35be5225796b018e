/*
 * Products of many rows with matrices in tiles, in the order of weight_tiles.h.
 *
 * Tiles are the first operand, so outputs are the rows of a product and tokens its columns. mma
 * and wgmma add the same products in the same order and round alike: the kernel below, that of
 * wgmma_linear.cu, and those for few rows give the same bits.
 */
#include "backend/cuda/block_tiles.h"
#include "backend/cuda/prefill_units.h"

enum {
    MMA_WARPS = 8, /* a strip of 16 rows each */
    MMA_ROWS = MMA_WARPS * TILE,
    MMA_TOKENS = 64,
    MMA_SUMS = MMA_TOKENS / 2,
    MMA_STAGES = 3,
    MMA_ROW_BYTES = MMA_TOKENS * VUG_CUDA_BLOCK_ROW_BYTES,
};

static __device__ __forceinline__ void mma_add(float *d, const uint4 &a, uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

/* The threads of a block begin to copy rows of x. */
static __device__ __forceinline__ void copy_rows(uint32_t to, const uint8_t *from)
{
    for (int i = threadIdx.x * 16; i < MMA_ROW_BYTES; i += MMA_WARPS * WARP * 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i), "l"(from + i)
                     : "memory");
}

/* Fragments of 16 columns of 16 tokens from `token` on: b[0], b[1] of the first eight. */
static __device__ __forceinline__ void load_tokens(uint32_t rows, int token, int step,
                                                   uint32_t (&b)[4])
{
    const int lane = threadIdx.x % WARP;
    const int row = token + lane % 8 + lane / 16 * 8, chunk = 2 * step + lane / 8 % 2;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(rows + row * VUG_CUDA_BLOCK_ROW_BYTES + (chunk ^ row % 8) * 16)
                 : "memory");
}

/* Adds products of 16 columns to the sums of a warp. */
static __device__ __forceinline__ void multiply_rows(const uint4 &w, uint32_t rows, int step,
                                                     float (&sum)[MMA_SUMS])
{
#pragma unroll
    for (int t = 0; t < MMA_TOKENS; t += 16) {
        uint32_t b[4];
        load_tokens(rows, t, step, b);
        mma_add(sum + t / 2, w, b[0], b[1]);
        mma_add(sum + t / 2 + 4, w, b[2], b[3]);
    }
}

/* Adds those with the codes of a block, from tile `s` of a unit on, and both terms of x. x_sums:
 * the lane's tokens, of which `tokens` exist. */
template <typename W>
static __device__ __forceinline__ void multiply_block(const W &w, int s, uint32_t rows,
                                                      const float *x_sums, int tokens,
                                                      float (&sum)[MMA_SUMS])
{
    const block_scale by[2] = { w.scale_of_row(s, false), w.scale_of_row(s, true) };
#pragma unroll
    for (int pass = 0; pass < W::passes; pass++) {
        float codes[MMA_SUMS] = { 0 };
#pragma unroll
        for (int i = 0; i < W::block_tiles; i++) {
            const uint4 operand = w.operand(s + i);
            for (int term = pass; term < pass + 2 / W::passes; term++)
                multiply_rows(operand, rows + term * MMA_ROW_BYTES, s + i, codes);
        }
#pragma unroll
        for (int i = 0; i < MMA_SUMS; i++)
            sum[i] = fmaf(codes[i], by[i / 2 % 2].scale, sum[i]);
    }
#pragma unroll
    for (int i = 0; W::needs_sums && i < MMA_SUMS; i++) {
        const int token = i / 4 * 8 + i % 2;
        if (token < tokens)
            sum[i] = fmaf(by[i / 2 % 2].offset, x_sums[token], sum[i]);
    }
}

/* Adds block `block` of 64 columns. */
template <typename W, int sums>
static __device__ __forceinline__ void multiply_unit(const vug_cuda_prefill_job &job,
                                                     const product_unit &u, const uint8_t *from,
                                                     uint32_t rows, int64_t block,
                                                     float (&sum)[sums][MMA_SUMS])
{
    W w;
    w.template load<load_again>(from);
    if constexpr (!W::is_scaled) {
#pragma unroll
        for (int j = 0; j < STEPS; j++) {
#pragma unroll
            for (int term = 0; term < sums; term++)
                multiply_rows(w.operand(j), rows + term * MMA_ROW_BYTES, j, sum[term]);
        }
    } else {
        const int64_t token = u.token + threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < STEPS; j += W::block_tiles) {
            const int64_t at =
                    (block * UNIT_SUMS + j / (STEPS / UNIT_SUMS)) * vug_cuda_block_rows(job.rows) +
                    token;
            multiply_block(w, j, rows, job.x_sums + at, (int)(job.rows - token), sum[0]);
        }
    }
}

template <typename W, int terms>
static __global__ void __launch_bounds__(MMA_WARPS *WARP)
        mma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
    constexpr int sums = W::is_scaled ? 1 : terms; /* codes have one for both terms */
    __shared__ __align__(1024) uint8_t ring[MMA_STAGES][terms * MMA_ROW_BYTES];
    const product_unit u =
            find_unit(job, blockIdx.x, MMA_ROWS, MMA_TOKENS, count_tiles(job, MMA_TOKENS));
    const int64_t blocks = count_blocks(job), row = u.row + threadIdx.x / WARP * TILE;
    const uint8_t *strip = strip_at<W>(job, -1, u.part, row, blocks);
    float all[MMA_SUMS];
    const auto copy = [&](int64_t b) {
        for (int term = 0; b < blocks && term < terms; term++)
            copy_rows(shared_address(ring[b % MMA_STAGES]) + term * MMA_ROW_BYTES,
                      rows_at(job, u.token) + (b * terms + term) * vug_cuda_term_bytes(job.rows));
        commit_copies();
    };
    for (int64_t b = 0; b < MMA_STAGES - 1; b++)
        copy(b);
    int64_t b = 0;
    for (int slice = 0; slice < SLICES; slice++) {
        float sum[sums][MMA_SUMS] = {};
        for (int64_t n = slice_blocks(job, slice); n > 0; n--, b++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(MMA_STAGES - 2) : "memory");
            __syncthreads();
            copy(b + MMA_STAGES - 1);
            multiply_unit<W>(job, u, strip + b * W::bytes, shared_address(ring[b % MMA_STAGES]), b,
                             sum);
        }
        add_slice<sums>(all, sum, slice == 0);
    }
    store_sums(job, u, row, all);
}

template <typename W, int terms>
static void launch_mma(cudaStream_t stream, const vug_cuda_prefill_job *job)
{
    const int units = count_groups(*job, MMA_ROWS) * count_tiles(*job, MMA_TOKENS);
    launch(stream, mma_kernel<W, terms>, dim3((unsigned)units), MMA_WARPS * WARP, *job);
}

void vug_cuda_prefill_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                             int processors)
{
    if (hopper) {
        vug_cuda_wgmma_linear(stream, job, processors);
        return;
    }
    switch (job->format) {
#define X(format)                                                  \
    case VUG_DTYPE_##format:                                       \
        launch_mma<code_unit<VUG_DTYPE_##format>, 2>(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        (job->terms == 1 ? launch_mma<plain_unit, 1> : launch_mma<plain_unit, 2>)(stream, job);
    }
}
