/*
 * Products of a single row with matrices in tiles, in the order of weight_tiles.h.
 *
 * Each of the 8 warps of a block sums one slice of a tile of 16 outputs, and one warp adds the
 * slices while the others go on. A step of one row is bound by latency: what does not depend on
 * the kernel before, weights of norms and the first weights of each warp, is loaded before it has
 * ended; then every block norms the row for itself.
 */
#include "backend/cuda/hopper.h"
#include "backend/cuda/tile_math.h"

static_assert((int)SLICE_THREADS == (int)ROW_THREADS,
              "norms are computed by all threads of a block");

enum {
    QUAD = 4,
    MAX_ROW = 24576,        /* columns that fit into shared memory */
    MAX_NORMED_ROW = 10240, /* with the operands of norms and sums */
    UNIT_WORDS = 64,        /* of the terms of 64 columns */
    UNIT_SUMS = VUG_CUDA_TILE_PAD / VUG_CUDA_SUM_COLUMNS,
    RING_BLOCKS = 2,        /* with rings, of a multiprocessor */
    MAX_STAGES = 3,         /* of a ring */
    MAX_CHUNK = 5,          /* units of a stage */
    BLOCK_BYTES = 6 * 1024, /* of shared memory that a block takes besides what it asks for */
};

/* ---- the row ---------------------------------------------------------------------------- */

/* The sum of a block of x, of which eight neighbouring lanes have four elements each, is stored by
 * the first. */
static __device__ __forceinline__ void store_sum(float *to, int i, const float4 &x)
{
    const int lane = threadIdx.x % WARP;
    const uint32_t eight = 0xffu << lane / 8 * 8;
    float sum = (x.x + x.y) + (x.z + x.w);
#pragma unroll
    for (int d = 1; d < 8; d *= 2)
        sum += __shfl_xor_sync(eight, sum, d);
    if (lane % 8 == 0)
        to[i / VUG_CUDA_SUM_COLUMNS] = sum;
}

/* The second operands of a row: of each unit of 64 columns, first those of its first two tiles,
 * then those of the others. Words 4 t .. 4 t + 3 of such a half are what lane t takes, two words
 * for each tile; of BF16 lanes 0 to 3 take the first terms, 4 to 7 the second, of codes lanes 0 to 3
 * take one after the other. What other lanes take does not matter: they have columns of the product
 * that nobody reads. Stores the terms of elements i
 * .. i + 3; i is a multiple of 4. */
static __device__ __forceinline__ void store_terms(uint32_t *to, int i, const float4 &x, int terms)
{
    const int tile = i / TILE % UNIT, lane = i % 8 / 2;
    uint32_t *at = to + i / VUG_CUDA_TILE_PAD * UNIT_WORDS + tile / 2 * 32 + lane * 4 +
                   tile % 2 * 2 + i % TILE / 8;
    const uint32_t a = bf16_pair(x.x, x.y), b = bf16_pair(x.z, x.w);
    at[0] = a;
    at[4] = b;
    if (terms == 1)
        return;
    at[16] = bf16_pair(x.x - __uint_as_float(a << 16), x.y - __uint_as_float(a & 0xffff0000u));
    at[20] = bf16_pair(x.z - __uint_as_float(b << 16), x.w - __uint_as_float(b & 0xffff0000u));
}

/* A row, and what one with a norm is computed from, in shared memory. */
struct row_parts {
    uint32_t *terms;
    float *sums;                      /* of blocks; NULL: not needed */
    float *x, *add, *add_norm, *norm; /* where the job has them */
};

static __host__ __device__ __forceinline__ int row_stride(int n)
{
    return (n + QUAD - 1) / QUAD * QUAD;
}

/* Floats that sums of blocks take, a multiple of 4. */
static __host__ __device__ __forceinline__ int sums_stride(int n)
{
    return row_stride((int)vug_cuda_padded(n) / VUG_CUDA_SUM_COLUMNS);
}

static size_t row_bytes(const vug_cuda_row &r, int64_t n, bool sums)
{
    const int parts = r.norm ? 2 + (r.add != NULL) + (r.add_norm != NULL) : 0;
    return (size_t)(vug_cuda_padded(n) + (sums ? sums_stride((int)n) : 0) +
                    parts * row_stride((int)n)) *
           sizeof(float);
}

static __device__ __forceinline__ row_parts place_row(int n, bool sums, void *memory)
{
    row_parts parts;
    parts.terms = (uint32_t *)memory;
    parts.x = (float *)(parts.terms + vug_cuda_padded(n));
    parts.sums = sums ? parts.x : NULL;
    if (sums)
        parts.x += sums_stride(n);
    parts.norm = parts.x + row_stride(n);
    parts.add = parts.norm + row_stride(n);
    parts.add_norm = parts.add + row_stride(n);
    return parts;
}

static __device__ __forceinline__ void copy_async(float *to, const float *from, int n)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    if (n % QUAD == 0) {
#pragma unroll 1
        for (int i = threadIdx.x; i < n / QUAD; i += ROW_THREADS)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 16 * i),
                         "l"(from + QUAD * i)
                         : "memory");
        return;
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += ROW_THREADS)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 4 * i), "l"(from + i)
                     : "memory");
}

/* Begins to copy the weights of norms. */
static __device__ __forceinline__ void copy_norms(const vug_cuda_row &r, int n,
                                                  const row_parts &parts)
{
    if (r.norm)
        copy_async(parts.norm, r.norm, n);
    if (r.add_norm)
        copy_async(parts.add_norm, r.add_norm, n);
}

/* Elements 4 i .. 4 i + 3 of a row; zeros past its end. */
static __device__ __forceinline__ float4 row_quad(const float *x, int n, int i)
{
    if (QUAD * i >= n)
        return make_float4(0, 0, 0, 0);
    if (n % QUAD == 0)
        return ((const float4 *)x)[i];
    return make_float4(x[QUAD * i], QUAD * i + 1 < n ? x[QUAD * i + 1] : 0,
                       QUAD * i + 2 < n ? x[QUAD * i + 2] : 0,
                       QUAD * i + 3 < n ? x[QUAD * i + 3] : 0);
}

/* Adds a row, normed before if so asked, to another, in place of it; returns the thread's squares,
 * of which row_squares has the order. */
static __device__ __forceinline__ float add_row(const vug_cuda_row &r, int n,
                                                const row_parts &parts)
{
    const float by = r.add_norm ? norm_factor(row_squares(parts.x, n), n, r.add_eps) : 0;
    float squares = 0;
#pragma unroll 2
    for (int i = threadIdx.x; i < n; i += ROW_THREADS) {
        const float x = parts.x[i];
        const float y = parts.add[i] + (r.add_norm ? x * by * (parts.add_norm[i] + r.add_bias) : x);
        parts.x[i] = y;
        if (blockIdx.x == 0)
            r.sum[i] = y;
        squares = fmaf(y, y, squares);
    }
    return squares;
}

/* Computes the terms of a row with a norm; all threads of the block take part. */
static __device__ void compute_row(const vug_cuda_row &r, int n, int terms, const row_parts &parts)
{
    const int quads = (int)vug_cuda_padded(n) / QUAD;
    copy_async(parts.x, r.x, n);
    if (r.add)
        copy_async(parts.add, r.add, n);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    const float squares = r.add ? block_sum<1>(add_row(r, n, parts)) : row_squares(parts.x, n);
    const float by = norm_factor(squares, n, r.eps);
#pragma unroll 1
    for (int i = threadIdx.x; i < quads; i += ROW_THREADS) {
        const float4 x = row_quad(parts.x, n, i), w = row_quad(parts.norm, n, i);
        const float4 y = make_float4(x.x * by * (w.x + r.bias), x.y * by * (w.y + r.bias),
                                     x.z * by * (w.z + r.bias), x.w * by * (w.w + r.bias));
        store_terms(parts.terms, QUAD * i, y, terms);
        if (parts.sums)
            store_sum(parts.sums, QUAD * i, y);
    }
    __syncthreads();
}

/* Computes the terms of columns begin .. end - 1 of a row that is x as it is. A warp does so for
 * its own slice, and no other reads them. */
static __device__ __forceinline__ void compute_slice(const float *x, int n, int terms,
                                                     const row_parts &parts, int begin, int end)
{
    enum { WAITING = 4 }; /* loads that wait together */
    const int lane = threadIdx.x % WARP;
    for (int i = begin / QUAD + lane; i < end / QUAD; i += WAITING * WARP) {
        float4 v[WAITING];
#pragma unroll
        for (int j = 0; j < WAITING; j++) {
            if (i + j * WARP < end / QUAD)
                v[j] = row_quad(x, n, i + j * WARP);
        }
#pragma unroll
        for (int j = 0; j < WAITING; j++) {
            if (i + j * WARP >= end / QUAD)
                continue;
            store_terms(parts.terms, QUAD * (i + j * WARP), v[j], terms);
            if (parts.sums)
                store_sum(parts.sums, QUAD * (i + j * WARP), v[j]);
        }
    }
    __syncwarp();
}

/* ---- tiles ------------------------------------------------------------------------------- */

/* A tile of 16 outputs of a part. */
struct row_tile {
    const uint8_t *from; /* a row of units; NULL: there is none */
    float *y;            /* its first output */
    int outputs;         /* that exist */
};

static __device__ __forceinline__ row_tile tile_of_part(const vug_cuda_tile_job &job, int part,
                                                        int tile, int row_bytes)
{
    return { job.part[part].tiles + (int64_t)tile * row_bytes, job.part[part].y + tile * TILE,
             (int)job.part[part].out - tile * TILE };
}

/* Tile `tile` of the job, of part `part` of a pair. */
template <bool pairs>
static __device__ __forceinline__ row_tile find_tile(const vug_cuda_tile_job &job, int part,
                                                     int tile, int tiles, int row_bytes)
{
    if (tile >= tiles)
        return { NULL, NULL, 0 };
    if (pairs)
        return tile_of_part(job, part, tile, row_bytes);
    const int first = tiles_of(job.part[0].out), second = first + tiles_of(job.part[1].out);
    if (tile < first || job.parts == 1)
        return tile_of_part(job, 0, tile, row_bytes);
    if (tile < second || job.parts == 2)
        return tile_of_part(job, 1, tile - first, row_bytes);
    return tile_of_part(job, 2, tile - second, row_bytes);
}

/* Loads stay where they are written: earlier ones would take registers that weights need. */
static __device__ __forceinline__ uint4 load_terms(uint32_t at)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(at));
    return v;
}

/* The terms of two tiles of x that a lane takes: the first terms, and the second if W is codes. */
struct row_terms {
    uint4 high, low;
};

template <typename W> static __device__ __forceinline__ row_terms load_row_terms(uint32_t at)
{
    enum { TERM_BYTES = 64 };
    row_terms x;
    x.high = load_terms(at);
    if constexpr (W::is_scaled)
        x.low = load_terms(at + TERM_BYTES);
    return x;
}

/* Adds the products of two tiles, from tile `s` of a unit on. x_sums: of the terms, if needed. */
template <typename W>
static __device__ __forceinline__ void multiply_half(float (&sum)[4], const W &w, int s,
                                                     const row_terms &x, const float *x_sums)
{
    const uint4 first = w.operand(s), second = w.operand(s + 1);
    if constexpr (W::is_scaled) {
        constexpr int blocks = 2 / W::block_tiles;
        float codes[2][4] = {};
        multiply_add(codes[0], first, make_uint2(x.high.x, x.high.y));
        multiply_add(codes[0], first, make_uint2(x.low.x, x.low.y));
        multiply_add(codes[blocks - 1], second, make_uint2(x.high.z, x.high.w));
        multiply_add(codes[blocks - 1], second, make_uint2(x.low.z, x.low.w));
#pragma unroll
        for (int i = 0; i < blocks; i++) {
            add_block(sum, codes[i], w, s + i * W::block_tiles);
            if constexpr (W::needs_sums)
                add_offsets(sum, w, s + i * W::block_tiles, make_float2(x_sums[i], x_sums[i]));
        }
    } else {
        multiply_add(sum, first, make_uint2(x.high.x, x.high.y));
        multiply_add(sum, second, make_uint2(x.high.z, x.high.w));
    }
}

/* Adds the products of the 64 columns of a unit of each of `parts` tiles. x: the address of a lane's
 * terms; x_sums: of their sums, if needed. */
template <typename W, int parts>
static __device__ __forceinline__ void multiply_units(float (&sum)[parts][4], const W (&w)[parts],
                                                      uint32_t x, const float *x_sums)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const row_terms terms = load_row_terms<W>(x + half * UNIT_WORDS * 2);
#pragma unroll
        for (int i = 0; i < parts; i++)
            multiply_half(sum[i], w[i], 2 * half, terms, x_sums + half);
    }
}

/* The same of one tile. */
template <typename W>
static __device__ __forceinline__ void multiply_unit(float (&sum)[4], const W &w, uint32_t x,
                                                     const float *x_sums)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        multiply_half(sum, w, 2 * half, load_row_terms<W>(x + half * UNIT_WORDS * 2),
                      x_sums + half);
}

/* The sums of the slices of a tile: for BF16, one sum for each term of x; for codes, one sum for both
 * terms. */
typedef float row_slice_sums[2][SLICES][TILE];

template <bool both>
static __device__ __forceinline__ void store_slice(row_slice_sums &to, const float (&sum)[4])
{
    const int lane = threadIdx.x % WARP, slice = threadIdx.x / WARP, e = lane / 4;
    if (lane % 4 != 0)
        return; /* columns 2 and above of the product */
    to[0][slice][e] = sum[0];
    to[0][slice][e + 8] = sum[2];
    if (both)
        return;
    to[1][slice][e] = sum[1];
    to[1][slice][e + 8] = sum[3];
}

static __device__ __forceinline__ float sum_slices(const float (&y)[SLICES][TILE], int e)
{
    float sum = y[0][e];
#pragma unroll
    for (int s = 1; s < SLICES; s++)
        sum += y[s][e];
    return sum;
}

/* Output e of a tile. */
static __device__ __forceinline__ float add_terms(const row_slice_sums &sums, int terms, int e)
{
    const float y = sum_slices(sums[0], e);
    return terms > 1 ? y + sum_slices(sums[1], e) : y;
}

/* Stores the outputs of a tile, as one warp. */
template <typename W, bool pairs>
static __device__ __forceinline__ void finish_tile(const vug_cuda_tile_job &job,
                                                   const row_slice_sums *sums, const row_tile &of)
{
    const int lane = threadIdx.x % WARP;
    float y = add_terms(sums[pairs ? lane / TILE : 0], W::is_scaled ? 1 : job.terms, lane % TILE);
    const float up = __shfl_down_sync(0xffffffffu, y, TILE);
    if (pairs)
        y = (job.activation == VUG_OP_GEGLU ? gelu(y) : silu(y)) * up;
    if (lane < min(of.outputs, (int)TILE))
        of.y[lane] = y;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* A warp keeps `units` units of its slice of 64 columns each, which it loads ahead. W: a lane's
 * part of a unit; `pairs`: the product of two parts ends with an activation. */
template <typename W, int units, bool pairs>
static __global__ void __launch_bounds__(SLICE_THREADS, blocks_of(units *(int)sizeof(W)))
        row_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
    constexpr int parts = pairs ? 2 : 1;
    extern __shared__ uint4 row_memory[];
    __shared__ row_slice_sums sums[2][parts]; /* of this turn and of the one before */
    const int columns = (int)job.columns, row_units = (int)vug_cuda_padded(columns) / TILE / UNIT;
    const int slice = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    const int tiles = tiles_of_job(job), row_bytes = row_units * W::bytes;
    row_tile at = find_tile<pairs>(job, 0, blockIdx.x, tiles, row_bytes);
    const row_parts row = place_row(columns, W::needs_sums, row_memory);
    const uint32_t x = (uint32_t)__cvta_generic_to_shared(row_memory) + first * UNIT_WORDS * 4 +
                       lane % (W::is_scaled ? 4 : 8) * 16;
    W w[units];
    start_next();
    copy_norms(job.row, columns, row);
    at.from += first * W::bytes;
#pragma unroll
    for (int j = 0; j < units; j++) {
        if (j < n)
            w[j].load(at.from + j * W::bytes);
    }
    wait_for_previous();
    if (job.row.norm)
        compute_row(job.row, columns, job.terms, row);
    else
        compute_slice(job.row.x, columns, job.terms, row, first * VUG_CUDA_TILE_PAD,
                      (first + n) * VUG_CUDA_TILE_PAD);
#pragma unroll 1
    for (int tile = blockIdx.x, turn = 0; tile < tiles; tile += gridDim.x, turn ^= 1) {
        row_tile of = at;
#pragma unroll
        for (int part = 0; part < parts; part++) {
            row_tile next = part + 1 < parts
                                    ? find_tile<pairs>(job, 1, tile, tiles, row_bytes)
                                    : find_tile<pairs>(job, 0, tile + gridDim.x, tiles, row_bytes);
            const uint8_t *from = at.from;
            const bool more = next.from != NULL;
            next.from += first * W::bytes;
            float sum[4] = { 0 };
#pragma unroll 1
            for (int u = 0; u < n; u += units) {
                /* One place that loads: a register that two of them give is waited for at once. */
                const bool same = u + units < n;
                const uint8_t *const load = same ? from + (u + units) * W::bytes : next.from;
                const int left = n - u, loads = same ? left - units : more ? n : 0;
#pragma unroll
                for (int j = 0; j < units; j++) {
                    if (j < left)
                        multiply_unit(sum, w[j], x + (u + j) * UNIT_WORDS * 4,
                                      row.sums + (first + u + j) * UNIT_SUMS);
                    if (j < loads)
                        w[j].load(load + j * W::bytes);
                }
            }
            store_slice<W::is_scaled>(sums[turn][part], sum);
            at = next;
        }
        __syncthreads();
        if (slice > 0)
            continue;
        finish_tile<W, pairs>(job, sums[turn], of);
    }
}

/* ---- the kernel with rings -------------------------------------------------------------------- */

/* Loads from shared memory; a pointer is an address there. */
struct load_shared {
    static __device__ __forceinline__ uint4 words4(const void *p)
    {
        return load_terms((uint32_t)(uintptr_t)p);
    }
    static __device__ __forceinline__ uint2 words2(const void *p)
    {
        uint2 v;
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(v.x), "=r"(v.y)
                     : "r"((uint32_t)(uintptr_t)p));
        return v;
    }
};

/* How a warp copies its slices ahead: a stage of its ring has `chunk` units of each part. */
struct row_ring {
    int chunk, stages;
};

/* A warp's slice of the tiles of its block, of which copies to its ring begin in this order: each
 * tile in chunks. */
template <typename W, bool pairs> struct slice_stream {
    static constexpr int parts = pairs ? 2 : 1;
    const uint8_t *from[parts]; /* the next chunk */
    int first, n;               /* units of the slice */
    int tiles, row_bytes;
    int tile, left; /* units that are left of it; 0: of all */

    /* The warp's barriers, one for each stage; a lane arrives at one with each copy. */
    static __device__ __forceinline__ void begin_barriers(uint32_t barrier, int stages)
    {
        if (threadIdx.x % WARP == 0) {
            for (int i = 0; i < stages; i++)
                barrier_init(barrier + 8 * i, 1);
            show_stores();
        }
        __syncwarp();
    }

    __device__ __forceinline__ void begin(const vug_cuda_tile_job &job, int at)
    {
        tile = at;
        left = tile < tiles ? n : 0;
#pragma unroll
        for (int i = 0; i < parts; i++)
            from[i] = find_tile<pairs>(job, i, tile, tiles, row_bytes).from + first * W::bytes;
    }

    /* Begins to copy the next chunk, if there is one, which completes on `full`. */
    __device__ __forceinline__ void copy(const vug_cuda_tile_job &job, int chunk, uint32_t to,
                                         uint32_t full)
    {
        if (left == 0)
            return;
        const int units = min(left, chunk), bytes = units * W::bytes;
        if (threadIdx.x % WARP == 0) {
            barrier_expect(full, parts * bytes);
#pragma unroll
            for (int i = 0; i < parts; i++)
                bulk_copy(to + i * chunk * W::bytes, from[i], bytes, full);
        }
#pragma unroll
        for (int i = 0; i < parts; i++)
            from[i] += bytes;
        left -= units;
        if (left == 0)
            begin(job, tile + gridDim.x);
    }
};

/* Adds the products of `units` units that lie at `from`, those of the second part `part_bytes` on. */
template <typename W, int parts>
static __device__ __forceinline__ void multiply_chunk(float (&sum)[parts][4], uint32_t from,
                                                      int part_bytes, int units, uint32_t x,
                                                      const float *x_sums)
{
    /* The next loads of codes of 4 bits pass products; those of wider codes would take their registers. */
    constexpr int together = W::bytes < 6 * 128 ? 2 : 1;
#pragma unroll together
    for (int u = 0; u < units; u++) {
        W w[parts];
#pragma unroll
        for (int i = 0; i < parts; i++)
            w[i].template load<load_shared>((const uint8_t *)(uintptr_t)(from + i * part_bytes));
        multiply_units(sum, w, x, x_sums);
        from += W::bytes;
        x += UNIT_WORDS * 4;
        x_sums += UNIT_SUMS;
    }
}

/* Stores the sums of a slice of each part. */
template <typename W, int parts>
static __device__ __forceinline__ void store_slices(row_slice_sums (&to)[parts],
                                                    float (&sum)[parts][4])
{
#pragma unroll
    for (int i = 0; i < parts; i++) {
        W::restore(sum[i]);
        store_slice<W::is_scaled>(to[i], sum[i]);
    }
}

/* A warp copies its slices to a ring in shared memory, so that more of them are on their way than
 * registers hold; one lane does with a bulk copy what loads need all lanes for. Both tiles of a pair
 * are multiplied with the same terms of x. The sums have the order of row_kernel. */
template <typename W, bool pairs>
static __global__ void __launch_bounds__(SLICE_THREADS, RING_BLOCKS)
        ring_row_kernel(const __grid_constant__ vug_cuda_tile_job job, row_ring shape)
{
#if __CUDA_ARCH__ >= 900
    constexpr int parts = pairs ? 2 : 1;
    extern __shared__ uint4 row_memory[];
    __shared__ row_slice_sums sums[2][parts]; /* of this turn and of the one before */
    __shared__ uint64_t barriers[SLICES][MAX_STAGES];
    const int columns = (int)job.columns, row_units = (int)vug_cuda_padded(columns) / TILE / UNIT;
    const int slice = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    const int tiles = tiles_of_job(job);
    const int stage_bytes = parts * shape.chunk * W::bytes,
              later_bytes = (shape.stages - 1) * stage_bytes;
    uint4 *const row_at = row_memory + SLICES * stage_bytes / 16;
    const row_parts row = place_row(columns, W::needs_sums, row_at);
    const uint32_t x =
            shared_address(row_at) + first * UNIT_WORDS * 4 + lane % (W::is_scaled ? 4 : 8) * 16;
    /* The stages after the first lie where what a norm needs was. */
    const uint32_t ring = shared_address(row_memory) + slice * stage_bytes,
                   later = shared_address(row.x) + slice * later_bytes, end = later + later_bytes;
    const uint32_t barrier = shared_address(barriers[slice]);
    slice_stream<W, pairs> stream;
    stream.first = first, stream.n = n, stream.tiles = tiles;
    stream.row_bytes = row_units * W::bytes;
    stream.begin(job, blockIdx.x);
    start_next();
    stream.begin_barriers(barrier, shape.stages);
    stream.copy(job, shape.chunk, ring, barrier);
    const auto copy_later = [&]() {
#pragma unroll 1
        for (int i = 1; i < shape.stages; i++)
            stream.copy(job, shape.chunk, later + (i - 1) * stage_bytes, barrier + 8 * i);
    };
    if (!job.row.norm)
        copy_later();
    copy_norms(job.row, columns, row);
    wait_for_previous();
    if (job.row.norm) {
        compute_row(job.row, columns, job.terms, row);
        show_stores();
        copy_later();
    } else {
        compute_slice(job.row.x, columns, job.terms, row, first * VUG_CUDA_TILE_PAD,
                      (first + n) * VUG_CUDA_TILE_PAD);
    }
    uint32_t at = ring, full = barrier, parity = 0;
#pragma unroll 1
    for (int tile = blockIdx.x, turn = 0; tile < tiles; tile += gridDim.x, turn ^= 1) {
        float sum[parts][4] = {};
        uint32_t x_at = x;
        const float *x_sums = row.sums + first * UNIT_SUMS;
#pragma unroll 1
        for (int left = n; left > 0; left -= shape.chunk) {
            barrier_wait(full, parity);
            const int units = min(left, shape.chunk);
            multiply_chunk<W>(sum, at, shape.chunk * W::bytes, units, x_at, x_sums);
            x_at += units * UNIT_WORDS * 4;
            x_sums += units * UNIT_SUMS;
            __syncwarp();
            stream.copy(job, shape.chunk, at, full);
            at = full == barrier ? later : at + stage_bytes;
            full += 8;
            if (at == end) {
                at = ring;
                full = barrier;
                parity ^= 1;
            }
        }
        store_slices<W>(sums[turn], sum);
        __syncthreads();
        if (slice > 0)
            continue;
        finish_tile<W, pairs>(job, sums[turn],
                              find_tile<pairs>(job, 0, tile, tiles, stream.row_bytes));
    }
#else
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching --------------------------------------------------------------------------------- */

template <typename W, int units, bool pairs>
static void launch_row(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const int most = job->processors * blocks_of(units * (int)sizeof(W)),
              tiles = tiles_of_job(*job);
    launch_early(stream, row_kernel<W, units, pairs>, dim3((unsigned)(tiles < most ? tiles : most)),
                 SLICE_THREADS, row_bytes(job->row, job->columns, W::needs_sums), job->early, *job);
}

template <typename W, int units>
static void choose_pairs(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (job->activation == VUG_OP_LINEAR)
        launch_row<W, units, false>(stream, job);
    else
        launch_row<W, units, true>(stream, job);
}

static void launch_plain(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (vug_cuda_padded(job->columns) <= 3 * SLICES * VUG_CUDA_TILE_PAD)
        choose_pairs<plain_unit, 3>(stream, job);
    else if (tiles_of_job(*job) <= job->processors)
        choose_pairs<plain_unit, 8>(stream, job);
    else
        choose_pairs<plain_unit, 5>(stream, job);
}

/* Codes take fewer registers than weights, and more instructions: if there are enough tiles, more
 * blocks are worth more than units. */
template <typename W> static void launch_codes(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (tiles_of_job(*job) <= 2 * job->processors)
        choose_pairs<W, 5>(stream, job);
    else
        choose_pairs<W, 3>(stream, job);
}

/* An attribute of the device; 0 if CUDA does not tell. */
static int device_attribute(cudaDeviceAttr attribute)
{
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess)
        return 0;
    return value;
}

/* The shared memory of a block with a ring. */
template <typename W> static size_t ring_bytes(const vug_cuda_tile_job *job, row_ring shape)
{
    const int parts = job->activation == VUG_OP_LINEAR ? 1 : 2;
    const vug_cuda_row plain = {};
    const size_t stage = (size_t)(SLICES * parts * shape.chunk * W::bytes),
                 later = (size_t)(shape.stages - 1) * stage;
    const size_t terms = row_bytes(plain, job->columns, W::needs_sums),
                 normed = row_bytes(job->row, job->columns, W::needs_sums) - terms;
    return stage + terms + (later > normed ? later : normed);
}

/* The ring with the largest chunks, up to MAX_CHUNK, of which RING_BLOCKS blocks have two stages on
 * a multiprocessor, and with as many stages as they have room for and use; no stages: there is
 * none. */
template <typename W> static row_ring choose_ring(const vug_cuda_tile_job *job)
{
    enum { BULK_COPIES = 9, LEAST_CHUNK = 2 };
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < BULK_COPIES)
        return { 0, 0 };
    const size_t room =
            (size_t)device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / RING_BLOCKS;
    const int n = ((int)vug_cuda_padded(job->columns) / VUG_CUDA_TILE_PAD + SLICES - 1) / SLICES;
    const int blocks = RING_BLOCKS * job->processors,
              turns = (tiles_of_job(*job) + blocks - 1) / blocks;
    for (int chunks = 1; chunks <= n; chunks++) {
        row_ring shape = { (n + chunks - 1) / chunks, turns * chunks < 2 ? 1 : 2 };
        if (shape.chunk < LEAST_CHUNK && chunks > 1)
            break;
        if (shape.chunk > MAX_CHUNK || ring_bytes<W>(job, shape) + BLOCK_BYTES > room)
            continue;
        while (shape.stages < MAX_STAGES && shape.stages < turns * chunks &&
               ring_bytes<W>(job, { shape.chunk, shape.stages + 1 }) + BLOCK_BYTES <= room)
            shape.stages++;
        return shape;
    }
    return { 0, 0 };
}

template <typename W, bool pairs>
static void launch_ring(cudaStream_t stream, const vug_cuda_tile_job *job, row_ring shape)
{
    const int most = RING_BLOCKS * job->processors, tiles = tiles_of_job(*job);
    launch_early(stream, ring_row_kernel<W, pairs>, dim3((unsigned)(tiles < most ? tiles : most)),
                 SLICE_THREADS, ring_bytes<W>(job, shape), job->early, *job, shape);
}

/* With codes as operands, from a ring if the device can have one. With weights as operands a ring
 * has not been found faster. */
template <int dtype> static void launch_copied(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    using W = small_code_unit<dtype>;
    const row_ring shape = choose_ring<W>(job);
    if (shape.stages == 0)
        launch_codes<code_unit<dtype>>(stream, job);
    else if (job->activation == VUG_OP_LINEAR)
        launch_ring<W, false>(stream, job, shape);
    else
        launch_ring<W, true>(stream, job, shape);
}

bool vug_cuda_takes_single_row(int64_t columns, bool normed)
{
    return columns <= (normed ? MAX_NORMED_ROW : MAX_ROW);
}

void vug_cuda_row_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (job->format) {
#define X(format)                                                                       \
    case VUG_DTYPE_##format:                                                            \
        (job->terms > 1 ? launch_copied<VUG_DTYPE_##format>                             \
                        : launch_codes<rounded_unit<VUG_DTYPE_##format>>)(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        launch_plain(stream, job);
    }
}
