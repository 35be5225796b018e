/*
 * The wanted logits of rows as lists, so that a step copies those and not whole rows to the host, and
 * the draws of tokens.
 *
 * A row is cut into at most 1,024 chunks. At least k logits reach the k-th greatest of the chunks'
 * greatest ones, so none of the k best logits is below it. A warp finds the greatest of a chunk; the
 * last block of a row to end finds the limit, lists the logits that reach it, and draws from the list.
 *
 * A draw from all tokens takes the greatest score, a sum with noise. A warp finds the greatest rough
 * score of a chunk; the last block computes the exact ones that may be the greatest.
 *
 * Changes are made in place before, and undone behind it: the host gets the model's logits. A report of
 * the model's greatest logits is a list like others, made after that, and a sum of masses.
 */
#include "backend/cuda/token_draw.h"

enum {
    THREADS = DRAW_THREADS,
    WARPS = DRAW_WARPS,
    NOT_LISTED = -1,
    TOGETHER = 8, /* logits of a lane that are loaded together */
};

static constexpr uint32_t NOT_FINITE = UINT32_MAX; /* above the keys of all numbers */

/* A number whose order is that of finite floats; above 0. */
static __device__ __forceinline__ uint32_t key_of(float x)
{
    const uint32_t bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static __device__ __forceinline__ float logit_of(uint32_t key)
{
    return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

/* Logits of a chunk: so many that THREADS chunks are a row. */
static __host__ __device__ __forceinline__ int chunk_length(int64_t width)
{
    return (int)((width + THREADS * WARP - 1) / (THREADS * WARP) * WARP);
}

static __host__ __device__ __forceinline__ int chunks_of(int64_t width)
{
    const int length = chunk_length(width);
    return (int)((width + length - 1) / length);
}

/* Logits at, at + 32, .. of those before `end`; zeros past it. */
static __device__ __forceinline__ void load_logits(const float *logits, int at, int end,
                                                   float (&x)[TOGETHER])
{
#pragma unroll
    for (int j = 0; j < TOGETHER; j++)
        x[j] = at + j * WARP < end ? logits[at + j * WARP] : 0;
}

/* The key of the greatest logit of a chunk that may be drawn, or NOT_FINITE; 0: none may. All lanes
 * of a warp take part. */
static __device__ uint32_t greatest_of_chunk(const float *logits, int begin, int end,
                                             const vug_cuda_wanted &wanted)
{
    uint32_t most = 0;
    for (int at = begin + threadIdx.x % WARP; at < end; at += TOGETHER * WARP) {
        float x[TOGETHER];
        load_logits(logits, at, end, x);
#pragma unroll
        for (int j = 0; j < TOGETHER; j++) {
            const int i = at + j * WARP;
            const bool counts = i < min(end, wanted.n_ids) && is_allowed(wanted.allowed, i);
            const uint32_t key = !isfinite(x[j]) ? NOT_FINITE : counts ? key_of(x[j]) : 0;
            most = key > most ? key : most;
        }
    }
    return __reduce_max_sync(0xffffffffu, most);
}

static __device__ bool draws_from_all(const vug_draw &draw)
{
    return draw.temperature > 0 && draw.top_k == 0 && draw.top_p == 1 && draw.min_p == 0;
}

/* The greatest rough score of a chunk, the same in all lanes of a warp. */
static __device__ float greatest_score(const vug_cuda_wanted &wanted, const float *logits,
                                       int begin, int end)
{
    const row_draw draw = draw_of(wanted.draw, 0);
    float most = -INFINITY;
    score_chunk(draw.keys, (float)draw.inverse_temperature, logits, wanted.allowed, begin, end,
                [&](const vug_candidate &, float score) { most = fmaxf(most, score); });
    return warp_max(most);
}

/* Whether all other blocks of the row have stored their chunks; the same in each thread. */
static __device__ bool is_last_block(uint32_t *done)
{
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(done, 1) == gridDim.x - 1;
        if (is_last)
            *done = 0;
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

/* The greatest key of all threads, the same in each. */
static __device__ uint32_t greatest_of_block(uint32_t key)
{
    __shared__ uint32_t of_warp[WARPS];
    key = __reduce_max_sync(0xffffffffu, key);
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = key;
    __syncthreads();
    return __reduce_max_sync(0xffffffffu, of_warp[threadIdx.x % WARP]);
}

/* The greatest key that at least k of the threads' keys reach. */
static __device__ uint32_t kth_greatest(uint32_t key, int k)
{
    uint32_t limit = 0;
    if (k == 1)
        return greatest_of_block(key);
    for (uint32_t bit = 0x80000000u; bit > 0; bit >>= 1) {
        if (__syncthreads_count(key >= (limit | bit)) >= k)
            limit |= bit;
    }
    return limit;
}

/* A row in its last block: the greatest keys and rough scores of its chunks are in shared memory. */
struct row_view {
    const float *logits;
    const uint32_t *greatest; /* [THREADS], as `score`; 0 and -INFINITY past the chunks */
    const float *score;
    int chunks, length;
};

/* Calls take(begin, end) for each chunk whose thread `takes` it; all lanes of a warp take part. */
template <typename F>
static __device__ __forceinline__ void each_chunk(const row_view &row, int n_ids, bool takes,
                                                  F take)
{
    const int first = (int)threadIdx.x / WARP * WARP;
    for (uint32_t left = __ballot_sync(0xffffffffu, takes); left > 0; left &= left - 1) {
        const int begin = (first + __ffs(left) - 1) * row.length;
        take(begin, min(begin + row.length, n_ids));
    }
}

/* Lists the logits of a row that reach the k-th greatest one less the margin. Returns their number, of
 * which only the first VUG_MOST_FOUND are stored. `lowest` becomes the lowest id of those that reach the
 * k-th greatest one itself. */
static __device__ int list_logits(const row_view &row, const vug_cuda_wanted &wanted, float kth,
                                  vug_candidate *to, int *lowest)
{
    __shared__ int n;
    const double limit = (double)kth - wanted.margin;
    const uint32_t own = row.greatest[threadIdx.x];
    if (threadIdx.x == 0) {
        n = 0;
        *lowest = INT_MAX;
    }
    __syncthreads();
    const auto list_chunk = [&](int begin, int end) {
        for (int first = begin + threadIdx.x % WARP; first < end; first += TOGETHER * WARP) {
            float x[TOGETHER];
            load_logits(row.logits, first, end, x);
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) {
                const int i = first + j * WARP;
                if (i >= end || (double)x[j] < limit || !is_allowed(wanted.allowed, i))
                    continue;
                if (x[j] >= kth)
                    atomicMin(lowest, i);
                const int at = atomicAdd(&n, 1);
                if (at < VUG_MOST_FOUND)
                    to[at] = { i, x[j] };
            }
        }
    };
    each_chunk(row, wanted.n_ids, own > 0 && (double)logit_of(own) >= limit, list_chunk);
    __syncthreads();
    return n;
}

/* Draws from all tokens of a row; the first thread gets the token. False in all threads: its scores are too
 * large for rough ones. */
static __device__ bool draw_from_all(const row_view &row, const vug_cuda_wanted &wanted,
                                     uint32_t best, vug_candidate *token)
{
    __shared__ uint32_t most;
    const row_draw draw = draw_of(wanted.draw, logit_of(best));
    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    const uint32_t key = __reduce_max_sync(
            0xffffffffu, threadIdx.x < row.chunks ? key_of(row.score[threadIdx.x]) : 0);
    if (threadIdx.x % WARP == 0)
        atomicMax(&most, key);
    __syncthreads();
    const float greatest = logit_of(most), limit = greatest - rough_error(greatest);
    if (!isfinite(greatest))
        return false;
    scored_token own = NO_TOKEN;
    const auto take_better = [&](const vug_candidate &one, float score) {
        const scored_token exact = { score < limit ? -INFINITY : score_of(draw, one), one };
        if (is_better(exact, own))
            own = exact;
    };
    const auto score_tokens = [&](int begin, int end) {
        score_chunk(draw.keys, (float)draw.inverse_temperature, row.logits, wanted.allowed, begin,
                    end, take_better);
    };
    each_chunk(row, wanted.n_ids, row.score[threadIdx.x] >= limit, score_tokens);
    *token = block_best(own);
    return true;
}

/* What the last block of a row hands out; `draws`: rows may want draws. Returns the number of tokens, or
 * NOT_LISTED, in all threads; the first one gets the id that decides, if one does. */
template <bool draws>
static __device__ int decide(const vug_cuda_wanted_job &job, const row_view &row,
                             const vug_cuda_wanted &wanted, uint32_t kth, int *id)
{
    __shared__ vug_candidate drawn_from[draws ? VUG_MOST_FOUND : 1];
    __shared__ int lowest;
    vug_candidate *to = job.found[blockIdx.y].logit, token;
    const bool draw = draws && wanted.draw.temperature > 0;
    bool is_drawn;
    if (draw && draws_from_all(wanted.draw)) {
        is_drawn = draw_from_all(row, wanted, kth, &token);
    } else {
        const int n = list_logits(row, wanted, logit_of(kth), draw ? drawn_from : to, &lowest);
        *id = lowest;
        if (!draw || n > VUG_MOST_FOUND)
            return n > VUG_MOST_FOUND ? NOT_LISTED : n;
        is_drawn = draw_from_list(wanted, row.logits, drawn_from, n, &token);
    }
    if (!is_drawn)
        return NOT_LISTED;
    if (threadIdx.x == 0) {
        to[0] = token;
        *id = token.id;
    }
    return 1;
}

/* The wanted logits of a report. */
static __device__ vug_cuda_wanted top_of(const vug_cuda_wanted &wanted)
{
    vug_cuda_wanted top = {};
    top.best = wanted.best > 0 ? wanted.top : 0;
    top.n_ids = wanted.n_ids;
    return top;
}

/* Blocks (some of the chunks, row). Without draws it has half as many registers, so that two blocks run on
 * a multiprocessor. */
template <bool draws>
static __global__ void __launch_bounds__(THREADS)
        wanted_kernel(const __grid_constant__ vug_cuda_wanted_job job, bool is_report)
{
    __shared__ uint32_t greatest[THREADS];
    __shared__ float score[draws ? THREADS : 1];
    const int chunks = chunks_of(job.width), length = chunk_length(job.width);
    uint32_t *greatest_of = job.scratch + (int64_t)blockIdx.y * 2 * THREADS;
    uint32_t *score_of_chunk = greatest_of + THREADS;
    const vug_cuda_wanted wanted =
            is_report ? top_of(job.wanted[blockIdx.y]) : job.wanted[blockIdx.y];
    const float *logits = job.logits + blockIdx.y * job.width;
    start_next();
    wait_for_previous();
    if (wanted.best == 0)
        return; /* the same in all blocks of the row */
#pragma unroll 1
    for (int chunk = blockIdx.x * WARPS + threadIdx.x / WARP; chunk < chunks;
         chunk += gridDim.x * WARPS) {
        const int begin = chunk * length, end = (int)min((int64_t)begin + length, job.width);
        const uint32_t key = greatest_of_chunk(logits, begin, end, wanted);
        const float most = draws && draws_from_all(wanted.draw)
                                   ? greatest_score(wanted, logits, begin, min(end, wanted.n_ids))
                                   : 0;
        if (threadIdx.x % WARP == 0) {
            greatest_of[chunk] = key;
            if (draws)
                score_of_chunk[chunk] = __float_as_uint(most);
        }
    }
    if (!is_last_block(&job.done[blockIdx.y]))
        return;
    const bool has_chunk = threadIdx.x < chunks;
    const uint32_t key = has_chunk ? __ldcg(&greatest_of[threadIdx.x]) : 0;
    greatest[threadIdx.x] = key;
    if (draws)
        score[threadIdx.x] =
                has_chunk ? __uint_as_float(__ldcg(&score_of_chunk[threadIdx.x])) : -INFINITY;
    const bool finite = !__syncthreads_or(key == NOT_FINITE);
    /* The host says what follows if all are excluded. */
    const uint32_t least = key_of(-FLT_MAX);
    const bool any = __syncthreads_or(key > least);
    /* With fewer chunks that have one than are wanted, all are listed. */
    const uint32_t found = kth_greatest(key, wanted.best);
    const uint32_t kth = found > least ? found : least;
    const row_view row = { logits, greatest, score, chunks, length };
    int n = NOT_LISTED, id = 0;
    if (finite && any)
        n = decide<draws>(job, row, wanted, kth, &id);
    if (threadIdx.x == 0) {
        job.found[blockIdx.y].n = n;
        if (!is_report)
            job.best[blockIdx.y] = n > 0 ? id : 0;
    }
}

/* Blocks (row), after the list of a report, which left the greatest logits of the chunks. */
static __global__ void __launch_bounds__(THREADS)
        mass_kernel(const __grid_constant__ vug_cuda_wanted_job job)
{
    const vug_cuda_wanted wanted = top_of(job.wanted[blockIdx.x]);
    const float *logits = job.logits + blockIdx.x * job.width;
    const uint32_t *greatest_of = job.scratch + (int64_t)blockIdx.x * 2 * THREADS;
    if (wanted.best == 0)
        return;
    const uint32_t key = threadIdx.x < chunks_of(job.width) ? greatest_of[threadIdx.x] : 0;
    const float best = logit_of(kth_greatest(key, 1)), scale = mass_scale({ .temperature = 1 });
    uint64_t mass = 0;
    for (int id = threadIdx.x; id < wanted.n_ids; id += THREADS)
        mass += mass_of(logits[id], best, scale);
    mass = block_sum(mass);
    if (threadIdx.x == 0)
        job.found[blockIdx.x].mass = mass;
}

/* Blocks (row). An excluded logit becomes the least number, which no list has alone and no draw takes. */
static __global__ void __launch_bounds__(THREADS)
        change_kernel(const __grid_constant__ vug_cuda_wanted_job job)
{
    const vug_cuda_wanted wanted = job.wanted[blockIdx.x];
    float *logits = job.logits + blockIdx.x * job.width;
    const int n = wanted.n_changes;
    if (wanted.best == 0 || n == 0)
        return;
    for (int i = threadIdx.x; i < n; i += THREADS)
        wanted.change[i].from_model = logits[wanted.change[i].change.id];
    __syncthreads();
    const int last = wanted.change[n - 1].change.stage;
    for (int stage = 0; stage <= last; stage++) {
        for (int i = threadIdx.x; i < n; i += THREADS) {
            const vug_logit_change change = wanted.change[i].change;
            if (change.stage == stage)
                logits[change.id] = vug_change_logit(logits[change.id], &change);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += THREADS) {
        float *logit = &logits[wanted.change[i].change.id];
        if (*logit == -INFINITY)
            *logit = -FLT_MAX;
    }
}

/* Blocks (row). */
static __global__ void __launch_bounds__(THREADS)
        undo_changes_kernel(const __grid_constant__ vug_cuda_wanted_job job)
{
    const vug_cuda_wanted wanted = job.wanted[blockIdx.x];
    vug_cuda_found *found = &job.found[blockIdx.x];
    float *logits = job.logits + blockIdx.x * job.width;
    if (wanted.best == 0 || wanted.n_changes == 0)
        return;
    for (int i = threadIdx.x; i < wanted.n_changes; i += THREADS)
        logits[wanted.change[i].change.id] = wanted.change[i].from_model;
    __syncthreads();
    for (int i = threadIdx.x; i < found->n; i += THREADS)
        found->logit[i].logit = logits[found->logit[i].id];
}

uint64_t vug_cuda_wanted_bytes(int64_t rows)
{
    return (uint64_t)rows * 2 * THREADS * sizeof(uint32_t);
}

void vug_cuda_list_wanted(cudaStream_t stream, const vug_cuda_wanted_job *job)
{
    /* A large device runs about so many blocks at once. */
    enum { BLOCKS = 256 };
    const dim3 rows((unsigned)job->rows);
    const unsigned most = blocks_for(chunks_of(job->width), WARPS),
                   share = rows.x < BLOCKS ? BLOCKS / rows.x : 1;
    const dim3 parts(share < most ? share : most, rows.x);
    vug_cuda_wanted_job report = *job;
    report.found = job->report;
    if (job->changes)
        launch(stream, change_kernel, rows, THREADS, *job);
    launch_early(stream, job->draws ? wanted_kernel<true> : wanted_kernel<false>, parts, THREADS, 0,
                 job->launch, *job, false);
    if (job->changes)
        launch(stream, undo_changes_kernel, rows, THREADS, *job);
    if (job->reports) {
        launch_early(stream, wanted_kernel<false>, parts, THREADS, 0, job->launch, report, true);
        launch(stream, mass_kernel, rows, THREADS, report);
    }
}
