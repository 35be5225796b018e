/*
 * Products of a single row, or of a few rows that have one expert, with matrices in tiles, in the order of
 * weight_tiles.h.
 *
 * Each of the 8 warps of a block sums one slice of a tile of 16 outputs, and one warp for each row adds
 * the slices while the others go on. A step of one row is bound by latency: what does not depend on
 * the kernel before, weights of norms and the first weights of each warp, is loaded before it has
 * ended; then every block norms the row for itself.
 */
#include <limits.h>
#include <math.h>
#include <type_traits>

#include "backend/cuda/row_input.h"
#include "backend/cuda/row_ring.h"

enum {
    RING_LOADS = 4,         /* of a row that wait together */
    GROUP_LOADS = 2,        /* of each of several rows */
    RING_BLOCKS = 2,        /* with rings, of a multiprocessor */
    MAX_CHUNK = 5,          /* units of a stage */
    BLOCK_BYTES = 4 * 1024, /* of shared memory that a block takes besides what it asks for */
};

/* ---- products ---------------------------------------------------------------------------- */

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

/* Those of part `part` of each row. `apart`: columns 0 and 1 of the product are the sums of the two terms of
 * the one row. */
template <int rows, int parts>
static __device__ __forceinline__ void store_slice(row_slice_sums (&sums)[rows][parts], int part,
                                                   const float (&sum)[4], bool apart)
{
    const int lane = threadIdx.x % WARP, slice = threadIdx.x / WARP, e = lane / 4, row = lane % 4;
    if (row >= rows)
        return; /* columns of the product that no row has */
    sums[row][part][slice][e] = apart ? sum[0] + sum[1] : sum[0];
    sums[row][part][slice][e + 8] = apart ? sum[2] + sum[3] : sum[2];
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
static __device__ __forceinline__ void finish_tile(const vug_cuda_tile_job &job, bool pairs,
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

/* Computes the terms of a slice of the rows that the block multiplies, which have no norm. */
template <typename W, row_source source, int waiting>
static __device__ __forceinline__ void compute_rows(const vug_cuda_tile_job &job,
                                                    const row_parts &row, int begin, int end)
{
    constexpr int rows = rows_of<source>;
    const float *x[rows];
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const int choice = choice_of_row<source>(job, r);
        x[r] = source == ONE_ROW ? job.row.x
               : choice < 0      ? NULL
                                 : job.row.x + choice / job.chosen.per_row * job.columns;
    }
    compute_slice<W, rows, waiting>(x, (int)job.columns, job.terms, row, begin, end);
}

/* Lets the next kernel begin, begins to bring the addresses of all experts to the cache of the device, and waits
 * until it is known which experts are chosen. */
static __device__ __forceinline__ void wait_for_choices(const vug_cuda_tile_job &job)
{
    enum { FLOATS = 3 * sizeof(void *) / sizeof(float) }; /* that an expert's addresses take */
    start_next();
    for (int i = 0; i < job.parts; i++)
        prefetch_row((const float *)job.chosen.data[i], FLOATS * job.chosen.experts, threadIdx.x,
                     SLICE_THREADS);
    wait_for_previous();
}

/* A warp keeps `units` units of its slice of 64 columns each, which it loads ahead. W: a lane's
 * part of a unit; `pairs`: the product of two parts ends with an activation; source: ONE_ROW or
 * ROW_OF_CHOICE. */
template <typename W, int units, bool pairs, row_source source>
static __global__ void __launch_bounds__(SLICE_THREADS, blocks_of(units *(int)sizeof(W)))
        row_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
    constexpr int parts = pairs ? 2 : 1;
    constexpr bool chosen = source != ONE_ROW;
    extern __shared__ uint4 row_memory[];
    __shared__ row_slice_sums sums[2][1][parts]; /* of this turn and of the one before */
    const int columns = (int)job.columns, row_units = (int)vug_cuda_padded(columns) / TILE / UNIT;
    const int slice = threadIdx.x / WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    const row_parts row = place_row<W, 1>(job.row, columns, true, row_memory);
    const uint32_t x =
            shared_address(row_memory) + first * unit_words<W> * 4 + lane_terms<W, 1>(columns);
    W w[units];
    copied_norms<W> norms;
    job_tiles<source> tiles;
    if constexpr (chosen)
        wait_for_choices(job);
    else
        start_next();
    tiles.begin(job, pairs, row_units * W::bytes);
    row_tile at = tiles.find(job, 0, blockIdx.x);
    norms.begin(job.row, columns, row);
    at.from += first * W::bytes;
#pragma unroll
    for (int j = 0; j < units; j++) {
        if (j < n)
            w[j].load(at.from + j * W::bytes);
    }
    if constexpr (!chosen)
        wait_for_previous();
    if (job.row.norm)
        compute_row<W>(job.row, columns, job.terms, row, norms);
    else
        compute_rows<W, source, row_loads<units>>(job, row, first * VUG_CUDA_TILE_PAD,
                                                  (first + n) * VUG_CUDA_TILE_PAD);
#pragma unroll 1
    for (int tile = blockIdx.x, turn = 0; tile < tiles.count; tile += gridDim.x, turn ^= 1) {
        row_tile of = at;
#pragma unroll
        for (int part = 0; part < parts; part++) {
            row_tile next = part + 1 < parts ? tiles.find(job, 1, tile)
                                             : tiles.find(job, 0, tile + gridDim.x);
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
            store_slice(sums[turn], part, sum, !W::is_scaled && job.terms > 1);
            at = next;
        }
        __syncthreads();
        if (slice > 0)
            continue;
        finish_tile(job, pairs, sums[turn][0], of);
    }
}

/* ---- the kernel with rings -------------------------------------------------------------------- */

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
            w[i].template load<load_shared>(load_shared::pointer(from + i * part_bytes));
        multiply_units(sum, w, x, numbers);
        from += W::bytes;
        x += unit_words<W> * 4;
        numbers += unit_numbers<W>;
    }
}

/* Stores the sums of a slice of parts from `part` on. */
template <int rows, int parts, int n>
static __device__ __forceinline__ void store_slices(row_slice_sums (&sums)[rows][parts], int part,
                                                    const float (&sum)[n][4])
{
#pragma unroll
    for (int i = 0; i < n; i++)
        store_slice(sums, part + i, sum[i], false);
}

/* A warp copies its slices to a ring, so that more of them are on their way than registers hold. The sums
 * have the order of row_kernel. keeps: as of slice_ring; stage_parts: as of
 * slice_stream; source: if it is not ONE_ROW, rows have no norm. */
template <typename W, bool keeps, int stage_parts, row_source source>
static __global__ void __launch_bounds__(SLICE_THREADS, RING_BLOCKS)
        ring_row_kernel(const __grid_constant__ vug_cuda_tile_job job, ring_shape shape)
{
#if __CUDA_ARCH__ >= 900
    constexpr int rows = rows_of<source>;
    constexpr bool chosen = source != ONE_ROW;
    extern __shared__ uint4 row_memory[];
    __shared__ row_slice_sums sums[2][rows][keeps ? 2 : stage_parts]; /* of two turns */
    __shared__ uint64_t barriers[SLICES][MAX_STAGES];
    const bool pairs = stage_parts > 1 || (keeps && job.activation != VUG_OP_LINEAR);
    const int columns = (int)job.columns, row_units = (int)vug_cuda_padded(columns) / TILE / UNIT;
    const int slice = threadIdx.x / WARP;
    const int first = row_units * slice / SLICES, n = row_units * (slice + 1) / SLICES - first;
    slice_ring<W, keeps, stage_parts> ring;
    const int early = ring.early_stages(shape), stage_bytes = ring.stage_bytes(shape),
              early_bytes = early * stage_bytes, later_bytes = (shape.stages - early) * stage_bytes;
    uint4 *const row_at = row_memory + SLICES * early_bytes / 16;
    const row_parts row = place_row<W, rows>(job.row, columns, !keeps, row_at);
    const uint32_t x =
            shared_address(row_at) + first * unit_words<W> * 4 + lane_terms<W, rows>(columns);
    const float *const numbers =
            row.numbers + first * unit_numbers<W> + lane_numbers<W, rows>(columns);
    ring.shape = shape;
    ring.early = shared_address(row_memory) + slice * early_bytes;
    ring.later = shared_address(row.x) + slice * later_bytes;
    ring.barrier = shared_address(barriers[slice]);
    slice_stream<W, stage_parts, source> stream;
    stream.first = first, stream.n = n;
    if constexpr (chosen)
        wait_for_choices(job);
    stream.tiles.begin(job, pairs, row_units * W::bytes);
    if (source == ROW_GROUP && stream.tiles.count == 0)
        return; /* the group is empty */
    stream.begin(job, blockIdx.x, 0);
    if constexpr (!chosen)
        start_next();
    std::conditional_t<keeps, kept_norms<W>, copied_norms<W>> norms;
    if (!keeps)
        norms.begin(job.row, columns, row); /* copies would wait behind those of weights */
    ring.begin();
    ring.copy_early(job, stream);
    if (keeps)
        norms.begin(job.row, columns, row);
    if (!job.row.norm)
        ring.copy_later(job, stream);
    if constexpr (!chosen)
        wait_for_previous();
    if (!chosen && job.row.norm) {
        compute_row<W>(job.row, columns, job.terms, row, norms);
        show_stores();
        ring.copy_later(job, stream);
    } else {
        compute_rows<W, source, rows == 1 ? RING_LOADS : GROUP_LOADS>(
                job, row, first * VUG_CUDA_TILE_PAD, (first + n) * VUG_CUDA_TILE_PAD);
    }
#pragma unroll 1
    for (int tile = blockIdx.x, turn = 0; tile < stream.tiles.count; tile += gridDim.x, turn ^= 1) {
#pragma unroll 1
        for (int part = 0; part < 1 + pairs; part += stage_parts) {
            float sum[stage_parts][4] = {};
            uint32_t x_at = x;
            const float *numbers_at = numbers;
#pragma unroll 1
            for (int left = n; left > 0; left -= shape.chunk) {
                const int units = min(left, shape.chunk);
                barrier_wait(ring.full, ring.parity);
                multiply_chunk<W>(sum, ring.at, shape.chunk * W::bytes, units, x_at, numbers_at);
                x_at += units * unit_words<W> * 4;
                numbers_at += units * unit_numbers<W>;
                __syncwarp();
                stream.copy(job, shape.chunk, ring.at, ring.full);
                ring.next();
            }
            store_slices(sums[turn], part, sum);
        }
        __syncthreads();
        if (slice < rows)
            finish_tile(job, pairs, sums[turn][slice], stream.tiles.find(job, 0, tile));
    }
#else
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching --------------------------------------------------------------------------------- */

/* About how many groups have rows, if each expert is as likely to be chosen as the others: one for each expert
 * that has any; or, with more rows, as many as are full but for (VUG_CUDA_SMALL_GROUP - 1) / 2 rows of an
 * expert on average. */
static int likely_groups(const vug_cuda_tile_job *job)
{
    const double experts = job->chosen.experts, rows = job->chosen.choices / experts;
    const double with_one = 1 - exp(-rows),
                 with_more = (rows + (VUG_CUDA_SMALL_GROUP - 1) / 2.0) / VUG_CUDA_SMALL_GROUP;
    return (int)(experts * fmax(with_one, with_more));
}

/* How many blocks share the tiles of an expert, so that `rows` choices or groups take the least time if
 * `most` blocks run at once. A block computes its rows of x in the time of some tiles. */
static int count_shares(int rows, int tiles, int most)
{
    enum { BEGIN = 3 };
    int best = 1, least = INT_MAX;
    for (int n = 1; n <= tiles; n++) {
        const int turns = (rows * n + most - 1) / most, each = (tiles + n - 1) / n;
        if (turns * (BEGIN + each) >= least)
            continue;
        least = turns * (BEGIN + each);
        best = n;
    }
    return best;
}

/* The blocks of a job, of which `most` run at once. */
template <row_source source> static dim3 blocks_of_job(const vug_cuda_tile_job *job, int most)
{
    const int tiles = tiles_of_job(*job);
    if (source == ONE_ROW)
        return dim3((unsigned)min(tiles, most));
    if (source == ROW_OF_CHOICE)
        return dim3((unsigned)count_shares(job->chosen.choices, tiles, most),
                    (unsigned)job->chosen.choices);
    return dim3((unsigned)count_shares(likely_groups(job), tiles, most),
                (unsigned)(job->rows / VUG_CUDA_SMALL_GROUP));
}

template <typename W, int units, bool pairs, row_source source>
static void launch_row(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    launch_early(stream, row_kernel<W, units, pairs, source>,
                 blocks_of_job<source>(job, job->processors * blocks_of(units * (int)sizeof(W))),
                 SLICE_THREADS, row_bytes<W, 1>(job->row, job->columns, true), job->launch, *job);
}

template <typename W, int units, row_source source = ONE_ROW>
static void choose_pairs(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (job->activation == VUG_OP_LINEAR)
        launch_row<W, units, false, source>(stream, job);
    else
        launch_row<W, units, true, source>(stream, job);
}

/* The units of the longest slice of rows of so many columns. */
static int slice_units(int64_t columns)
{
    return ((int)vug_cuda_padded(columns) / VUG_CUDA_TILE_PAD + SLICES - 1) / SLICES;
}

static void launch_plain(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (slice_units(job->columns) <= 3)
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

static bool has_rings(void)
{
    enum { BULK_COPIES = 9 };
    return device_attribute(cudaDevAttrComputeCapabilityMajor) >= BULK_COPIES;
}

/* The shared memory of a multiprocessor for each of its blocks with rings, which has sums of `rows` rows. */
template <int rows> static size_t ring_block_bytes(void)
{
    enum { PARTS = 2, TURNS = 2 };
    const int bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / RING_BLOCKS,
              sums = (rows - 1) * PARTS * TURNS * (int)sizeof(row_slice_sums);
    return (size_t)max(bytes - BLOCK_BYTES - sums, 0);
}

/* The shared memory of a block with a ring. */
template <typename W, bool keeps, int stage_parts, int rows>
static size_t ring_bytes(const vug_cuda_tile_job *job, ring_shape shape)
{
    using ring = slice_ring<W, keeps, stage_parts>;
    const int early = ring::early_stages(shape);
    const size_t stage = (size_t)(SLICES * ring::stage_bytes(shape)),
                 later = (size_t)(shape.stages - early) * stage;
    const size_t row = row_bytes<W, rows>(job->row, job->columns, !keeps),
                 x = before_x<W, rows>((int)job->columns, job->row.add != NULL, !keeps) *
                     sizeof(float),
                 normed = row - x;
    return (size_t)early * stage + x + (later > normed ? later : normed);
}

/* The ring with the largest chunks, up to MAX_CHUNK, of which RING_BLOCKS blocks have two stages on
 * a multiprocessor, and with as many stages as fit and are used; no stages: there is none. `blocks` of
 * them share the tiles. */
template <typename W, bool keeps, int stage_parts, int rows>
static ring_shape choose_ring(const vug_cuda_tile_job *job, int blocks)
{
    enum { LEAST_CHUNK = 2 };
    const ring_shape none = { 0, 0 };
    const bool pairs = job->activation != VUG_OP_LINEAR;
    const size_t most_bytes = ring_block_bytes<rows>();
    const int n = slice_units(job->columns),
              turns = (tiles_of_job(*job) + blocks - 1) / blocks * (pairs ? 2 : 1) / stage_parts;
    const auto fits = [&](int chunk, int stages) {
        return ring_bytes<W, keeps, stage_parts, rows>(job, { chunk, stages }) <= most_bytes;
    };
    for (int chunks = 1; chunks <= n; chunks++) {
        const int chunk = (n + chunks - 1) / chunks, most = min(turns * chunks, (int)MAX_STAGES);
        int stages = min(most, 2);
        if (chunk < LEAST_CHUNK && chunks > 1)
            break;
        if (chunk > MAX_CHUNK || !fits(chunk, stages))
            continue;
        while (stages < most && fits(chunk, stages + 1))
            stages++;
        return { chunk, stages };
    }
    return none;
}

/* What a block asks for so that a multiprocessor has at most RING_BLOCKS of a product of few tiles: they
 * begin where the kernel before has left memory, and would crowd there while other multiprocessors have
 * none. With about as many tiles as blocks that run at once there is nothing to spread. */
static size_t least_bytes(int tiles, int blocks_at_once)
{
    if (4 * tiles > 3 * blocks_at_once)
        return 0;
    return (size_t)device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) /
           (RING_BLOCKS + 1);
}

/* false: there is no ring. */
template <typename W, bool keeps, int stage_parts, row_source source = ONE_ROW>
static bool launch_ring(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (!has_rings())
        return false;
    constexpr int rows = rows_of<source>;
    const int most = RING_BLOCKS * job->processors;
    const dim3 blocks = blocks_of_job<source>(job, most);
    const ring_shape shape = choose_ring<W, keeps, stage_parts, rows>(job, (int)blocks.x);
    if (shape.stages == 0)
        return false;
    const size_t bytes = max(ring_bytes<W, keeps, stage_parts, rows>(job, shape),
                             least_bytes(tiles_of_job(*job) * (int)blocks.y, most));
    launch_early(stream, ring_row_kernel<W, keeps, stage_parts, source>, blocks, SLICE_THREADS,
                 bytes, job->launch, *job, shape);
    return true;
}

/* A ring whose stages have both parts of a pair; it does not keep norms. false: there is none. */
template <typename W, row_source source = ONE_ROW>
static bool choose_stage_parts(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    return (job->activation == VUG_OP_LINEAR ? launch_ring<W, false, 1, source>
                                             : launch_ring<W, false, 2, source>)(stream, job);
}

/* Whether threads keep the weights of norms in registers: if copies of two norms, beside their rows, leave
 * too little memory for the slices of a pair. Otherwise copies are faster. All products do the same, those
 * without a norm by the width of their outputs: they follow one another, and then run the same
 * instructions. */
template <typename W> static bool keeps_norms(const vug_cuda_tile_job *job)
{
    enum { ROWS = 4, PARTS = 2 };
    static_assert(MAX_KEPT_ROW <= MAX_CHUNK * SLICES * VUG_CUDA_TILE_PAD, "a stage has a slice");
    const int64_t width = job->row.norm ? job->columns : job->part[0].out;
    return width <= MAX_KEPT_ROW && (size_t)(PARTS * SLICES * slice_units(width) * W::bytes) +
                                                    (size_t)(ROWS * width) * sizeof(float) >
                                            ring_block_bytes<1>();
}

/* With codes as operands, from a ring if the device can have one. With weights as operands a ring
 * has not been found faster. */
template <int dtype> static void launch_rings(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    enum { BYTES = TILE * TILE * UNIT };
    constexpr bool integers = vug_cuda_takes_integers((vug_dtype)dtype);
    using W = std::conditional_t<integers, integer_unit<dtype>, code_unit<dtype>>;
    bool launched = false;
    if constexpr (W::bytes >= BYTES)
        launched = keeps_norms<W>(job) && launch_ring<W, true, 1>(stream, job);
    if (!launched && !choose_stage_parts<W>(stream, job))
        launch_codes<W>(stream, job);
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
        (job->terms > 1 ? launch_rings<VUG_DTYPE_##format>                              \
                        : launch_codes<rounded_unit<VUG_DTYPE_##format>>)(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        launch_plain(stream, job);
    }
}

template <int dtype>
static void launch_expert_codes(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    constexpr bool integers = vug_cuda_takes_integers((vug_dtype)dtype);
    using W = std::conditional_t<integers, integer_unit<dtype>, code_unit<dtype>>;
    if (job->terms == 1)
        choose_pairs<rounded_unit<dtype>, 5, ROW_OF_CHOICE>(stream, job);
    else if (!choose_stage_parts<W, ROW_OF_CHOICE>(stream, job))
        choose_pairs<W, 5, ROW_OF_CHOICE>(stream, job);
}

void vug_cuda_row_experts(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (job->format) {
#define X(format)                                             \
    case VUG_DTYPE_##format:                                  \
        launch_expert_codes<VUG_DTYPE_##format>(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        if (slice_units(job->columns) <= 3)
            choose_pairs<plain_unit, 3, ROW_OF_CHOICE>(stream, job);
        else
            choose_pairs<plain_unit, 5, ROW_OF_CHOICE>(stream, job);
    }
}

template <int dtype> static void launch_groups(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if constexpr (vug_cuda_takes_integers((vug_dtype)dtype))
        (void)choose_stage_parts<integer_unit<dtype>, ROW_GROUP>(stream, job);
}

void vug_cuda_row_groups(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (job->format) {
#define X(format)                                       \
    case VUG_DTYPE_##format:                            \
        launch_groups<VUG_DTYPE_##format>(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default: /* vug_cuda_takes_row_groups has said no */
        break;
    }
}

/* Whether there is a ring if one block has all tiles, and so with any number of blocks. */
template <int dtype> static bool has_group_ring(const vug_cuda_tile_job *job)
{
    constexpr int rows = VUG_CUDA_SMALL_GROUP;
    if constexpr (vug_cuda_takes_integers((vug_dtype)dtype)) {
        using W = integer_unit<dtype>;
        const ring_shape shape =
                (job->activation == VUG_OP_LINEAR ? choose_ring<W, false, 1, rows>
                                                  : choose_ring<W, false, 2, rows>)(job, 1);
        return shape.stages > 0;
    }
    return false;
}

bool vug_cuda_takes_row_groups(const vug_cuda_tile_job *job)
{
    if (!has_rings() || job->terms == 1)
        return false;
    switch (job->format) {
#define X(format)            \
    case VUG_DTYPE_##format: \
        return has_group_ring<VUG_DTYPE_##format>(job);
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        return false;
    }
}
