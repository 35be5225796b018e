/*
 * Products of a single row with matrices in tiles, in the order of weight_tiles.h.
 *
 * Each of the 8 warps of a block sums one slice of a tile of 16 outputs, and one warp adds the
 * slices while the others go on. A step of one row is bound by latency: what does not depend on
 * the kernel before, weights of norms and the first weights of each warp, is loaded before it has
 * ended; then every block norms the row for itself.
 */
#include <type_traits>

#include "backend/cuda/hopper.h"
#include "backend/cuda/row_input.h"

enum {
    RING_LOADS = 4,         /* of a row that wait together */
    RING_BLOCKS = 2,        /* with rings, of a multiprocessor */
    MAX_STAGES = 3,         /* of a ring */
    MAX_CHUNK = 5,          /* units of a stage */
    BLOCK_BYTES = 6 * 1024, /* of shared memory that a block takes besides what it asks for */
};

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

/* What a lane takes of two tiles of x: the first terms, and the second if W is codes. */
struct bf16_half {
    uint4 high, low;
    const float *sums; /* of blocks */
};

/* Or a block of integers. */
struct integer_half {
    uint2 words;
    float scale, sum;
};

/* Of half `half` of a unit; x: the address of the lane's terms. */
template <typename W>
static __device__ __forceinline__ auto load_half(uint32_t x, const float *numbers, int half)
{
    enum { TERM_BYTES = 64 };
    if constexpr (W::is_integer) {
        return integer_half{ load_shared_words2(x + half * (int)sizeof(uint2)), numbers[half],
                             W::needs_sums ? numbers[UNIT_BLOCKS + half] : 0 };
    } else {
        bf16_half of;
        of.high = load_shared_words4(x + half * unit_words<W> * 2);
        if constexpr (W::is_scaled)
            of.low = load_shared_words4(x + half * unit_words<W> * 2 + TERM_BYTES);
        of.sums = numbers + half;
        return of;
    }
}

/* Adds the products of two tiles, from tile `s` of a unit on. */
template <typename W>
static __device__ __forceinline__ void multiply_half(float (&sum)[4], const W &w, int s,
                                                     const bf16_half &x)
{
    const uint4 first = w.operand(s), second = w.operand(s + 1);
    if constexpr (W::is_scaled) {
        static_assert(W::block_tiles == 2, "both tiles have one scale");
        float codes[4] = {};
        multiply_add(codes, first, make_uint2(x.high.x, x.high.y));
        multiply_add(codes, first, make_uint2(x.low.x, x.low.y));
        multiply_add(codes, second, make_uint2(x.high.z, x.high.w));
        multiply_add(codes, second, make_uint2(x.low.z, x.low.w));
        add_block(sum, codes, w, s);
        if constexpr (W::needs_sums)
            add_offsets(sum, w, s, make_float2(*x.sums, *x.sums));
    } else {
        multiply_add(sum, first, make_uint2(x.high.x, x.high.y));
        multiply_add(sum, second, make_uint2(x.high.z, x.high.w));
    }
}

template <typename W>
static __device__ __forceinline__ void multiply_half(float (&sum)[4], const W &w, int s,
                                                     const integer_half &x)
{
#pragma unroll
    for (int i = 0; i < 2; i += W::block_tiles) {
        w.add_block(sum[0], sum[2], s + i, i ? x.words.y : x.words.x, x.words.y, x.scale);
        if constexpr (W::needs_sums) {
            sum[0] = fmaf(w.scale_of_row(s + i, false).offset, x.sum, sum[0]);
            sum[2] = fmaf(w.scale_of_row(s + i, true).offset, x.sum, sum[2]);
        }
    }
}

/* Adds the products of the 64 columns of a unit of each of `parts` tiles. */
template <typename W, int parts>
static __device__ __forceinline__ void multiply_units(float (&sum)[parts][4], const W (&w)[parts],
                                                      uint32_t x, const float *numbers)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const auto of = load_half<W>(x, numbers, half);
#pragma unroll
        for (int i = 0; i < parts; i++)
            multiply_half(sum[i], w[i], 2 * half, of);
    }
}

/* The same of one tile. */
template <typename W>
static __device__ __forceinline__ void multiply_unit(float (&sum)[4], const W &w, uint32_t x,
                                                     const float *numbers)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        multiply_half(sum, w, 2 * half, load_half<W>(x, numbers, half));
}

/* The sums of the slices of a tile, of both terms of x. */
typedef float row_slice_sums[SLICES][TILE];

/* `apart`: columns 0 and 1 of the product are the sums of the two terms. */
static __device__ __forceinline__ void store_slice(row_slice_sums &to, const float (&sum)[4],
                                                   bool apart)
{
    const int lane = threadIdx.x % WARP, slice = threadIdx.x / WARP, e = lane / 4;
    if (lane % 4 != 0)
        return; /* columns 2 and above of the product */
    to[slice][e] = apart ? sum[0] + sum[1] : sum[0];
    to[slice][e + 8] = apart ? sum[2] + sum[3] : sum[2];
}

static __device__ __forceinline__ float sum_slices(const row_slice_sums &y, int e)
{
    float sum = y[0][e];
#pragma unroll
    for (int s = 1; s < SLICES; s++)
        sum += y[s][e];
    return sum;
}

/* Stores the outputs of a tile, as one warp. */
template <bool pairs>
static __device__ __forceinline__ void finish_tile(const vug_cuda_tile_job &job,
                                                   const row_slice_sums *sums, const row_tile &of)
{
    const int lane = threadIdx.x % WARP;
    float y = sum_slices(sums[pairs ? lane / TILE : 0], lane % TILE);
    const float up = __shfl_down_sync(0xffffffffu, y, TILE);
    if (pairs)
        y = activate(job.activation, y, up);
    if (lane < min(of.outputs, (int)TILE))
        of.y[lane] = y;
}

/* Loads of a row that wait together: rows are short where slices have few units, and more registers
 * are left where these are few or a multiprocessor has one block. */
template <int units> static constexpr int row_loads = units <= 3 ? 2 : units >= 8 ? 8 : 6;

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
    const int slice = threadIdx.x / WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    const int tiles = tiles_of_job(job), row_bytes = row_units * W::bytes;
    row_tile at = find_tile<pairs>(job, 0, blockIdx.x, tiles, row_bytes);
    const row_parts row = place_row<W>(columns, row_memory);
    const uint32_t x = shared_address(row_memory) + first * unit_words<W> * 4 + lane_terms<W>();
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
        compute_row<W>(job.row, columns, job.terms, row);
    else
        compute_slice<W, row_loads<units>>(job.row.x, columns, job.terms, row,
                                           first * VUG_CUDA_TILE_PAD,
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
                        multiply_unit(sum, w[j], x + (u + j) * unit_words<W> * 4,
                                      row.numbers + (first + u + j) * unit_numbers<W>);
                    if (j < loads)
                        w[j].load(load + j * W::bytes);
                }
            }
            store_slice(sums[turn][part], sum, !W::is_scaled && job.terms > 1);
            at = next;
        }
        __syncthreads();
        if (slice > 0)
            continue;
        finish_tile<pairs>(job, sums[turn], of);
    }
}

/* ---- the kernel with rings -------------------------------------------------------------------- */

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
#pragma unroll 1
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
                                                      const float *numbers)
{
    /* The next loads of codes of 4 bits pass products; those of wider codes would take their registers. */
    constexpr int together = W::bytes < 6 * 128 ? 2 : 1;
#pragma unroll together
    for (int u = 0; u < units; u++) {
        W w[parts];
#pragma unroll
        for (int i = 0; i < parts; i++)
            w[i].template load<load_shared>((const uint8_t *)(uintptr_t)(from + i * part_bytes));
        multiply_units(sum, w, x, numbers);
        from += W::bytes;
        x += unit_words<W> * 4;
        numbers += unit_numbers<W>;
    }
}

/* Stores the sums of a slice of each part. */
template <int parts>
static __device__ __forceinline__ void store_slices(row_slice_sums (&to)[parts],
                                                    float (&sum)[parts][4])
{
#pragma unroll
    for (int i = 0; i < parts; i++)
        store_slice(to[i], sum[i], false);
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
    const int slice = threadIdx.x / WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    const int tiles = tiles_of_job(job);
    const int stage_bytes = parts * shape.chunk * W::bytes,
              later_bytes = (shape.stages - 1) * stage_bytes;
    uint4 *const row_at = row_memory + SLICES * stage_bytes / 16;
    const row_parts row = place_row<W>(columns, row_at);
    const uint32_t x = shared_address(row_at) + first * unit_words<W> * 4 + lane_terms<W>();
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
        compute_row<W>(job.row, columns, job.terms, row);
        show_stores();
        copy_later();
    } else {
        compute_slice<W, RING_LOADS>(job.row.x, columns, job.terms, row, first * VUG_CUDA_TILE_PAD,
                                     (first + n) * VUG_CUDA_TILE_PAD);
    }
    uint32_t at = ring, full = barrier, parity = 0;
#pragma unroll 1
    for (int tile = blockIdx.x, turn = 0; tile < tiles; tile += gridDim.x, turn ^= 1) {
        float sum[parts][4] = {};
        uint32_t x_at = x;
        const float *numbers = row.numbers + first * unit_numbers<W>;
#pragma unroll 1
        for (int left = n; left > 0; left -= shape.chunk) {
            barrier_wait(full, parity);
            const int units = min(left, shape.chunk);
            multiply_chunk<W>(sum, at, shape.chunk * W::bytes, units, x_at, numbers);
            x_at += units * unit_words<W> * 4;
            numbers += units * unit_numbers<W>;
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
        store_slices(sums[turn], sum);
        __syncthreads();
        if (slice > 0)
            continue;
        finish_tile<pairs>(job, sums[turn],
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
                 SLICE_THREADS, row_bytes<W>(job->row, job->columns), job->launch, *job);
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
    const size_t terms = row_bytes<W>(plain, job->columns),
                 normed = row_bytes<W>(job->row, job->columns) - terms;
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
                 SLICE_THREADS, ring_bytes<W>(job, shape), job->launch, *job, shape);
}

/* With codes as operands, from a ring if the device can have one. With weights as operands a ring
 * has not been found faster. */
template <int dtype> static void launch_copied(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    constexpr bool integers = vug_cuda_takes_integers((vug_dtype)dtype);
    using W = std::conditional_t<integers, integer_unit<dtype>, code_unit<dtype>>;
    const row_ring shape = choose_ring<W>(job);
    if (shape.stages == 0)
        launch_codes<W>(stream, job);
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
