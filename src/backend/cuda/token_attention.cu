/*
 * Attention of single tokens over pages on tensor cores by mma, in the order of attention_pages.h.
 * Keys are the rows of the products and queries their columns, which gives the same bits: so a
 * product has room for 8 queries instead of 16, as few share keys. Each warp computes the scores of
 * 16 keys, then the weights of two queries, then a part of the columns of values. With `inputs` the
 * kernel also norms and rotates queries and keys, a row by each warp, and stores keys and values in
 * the cache.
 */
#include "backend/cuda/attention_pages.h"
#include "backend/cuda/rotated_lanes.h"

enum {
    WARPS = 4,
    THREADS = WARPS * WARP,
    QUERIES = 8,                    /* of a block */
    MANY_BLOCKS = 4,                /* of a multiprocessor; if there are more, each has two pages */
    MEMORY_ALIGN = 1024,            /* at least a row of the widest head */
    KEY_LANES = 4,                  /* of a query: lane l has keys 2 l, 2 l + 1, 2 l + 8, .. */
    PAIRS = KEYS / (2 * KEY_LANES), /* of such a lane */
};

/* What warps exchange of a page. */
struct token_scores {
    float of[QUERIES][KEYS + 4];          /* the padding keeps banks apart */
    float sum[QUERIES][KEY_LANES][PAIRS]; /* of the weights of a pair of keys */
    float most[QUERIES], all[QUERIES];    /* the greatest score of the page; the sum of all pages */
};

/* Parts that a block has or loads, of keys or values of a page. side: pages are computed side by side, and
 * more blocks of a multiprocessor are worth more than a third part. */
template <bool side> static constexpr int parts_of = side ? 2 : 3;

template <int width, int terms> struct token_shape {
    static constexpr int columns = width / WARPS;
    static constexpr int row_bytes = width * 2;
    static constexpr int part_bytes = KEYS * row_bytes; /* the keys, or the values, of a page */
    static constexpr int query_bytes = QUERIES * row_bytes, weight_bytes = QUERIES * KEYS * 2;
    static constexpr int before_parts =
            terms * (query_bytes + weight_bytes) + 2 * row_bytes + (int)sizeof(token_scores);
    /* Chunks of a row are found by flipping bits of an address. */
    static constexpr int parts_at = (before_parts + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    static constexpr int bytes(int parts)
    {
        return parts_at + parts * part_bytes;
    }
};

/* Of a block: terms of queries and of weights of keys, the token's own key and value, and parts of
 * pages. */
struct token_memory {
    uint8_t *queries, *weights, *own, *parts;
    token_scores *scores;
};

template <int width, int terms>
static __device__ __forceinline__ token_memory place_memory(uint8_t *memory)
{
    using shape = token_shape<width, terms>;
    token_memory m;
    m.queries = memory;
    m.weights = m.queries + terms * shape::query_bytes;
    m.own = m.weights + terms * shape::weight_bytes;
    m.scores = (token_scores *)(m.own + 2 * shape::row_bytes);
    m.parts = memory + shape::parts_at;
    return m;
}

#ifdef FITS_MMA_ATTENTION
/* The heads of a token that a block computes, and the pages that they see. */
struct token_heads {
    int64_t token, first; /* the first head */
    int n, kv_head;
    query_sight sight;
};

static __device__ __forceinline__ token_heads find_heads(const vug_cuda_attention_job &job)
{
    const int per_kv = (int)((uint32_t)job.heads / (uint32_t)job.cache.heads),
              chunks = (per_kv + QUERIES - 1) / QUERIES;
    const int chunk = (int)blockIdx.y % chunks;
    token_heads of;
    of.token = blockIdx.x;
    of.kv_head = (int)blockIdx.y / chunks;
    of.first = of.kv_head * per_kv + chunk * QUERIES;
    of.n = min(per_kv - chunk * QUERIES, (int)QUERIES);
    of.sight = sight_of(job, job.token[of.token].position);
    return of;
}

/* Stores the terms of the heads as rows. Those of heads that do not exist are left as they are: no
 * other column of a product depends on them. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void load_heads(const vug_cuda_attention_job &job,
                                                  const token_heads &of, uint8_t *to)
{
    constexpr int chunks = width / CHUNK_ELEMENTS;
    const float *q = job.q + (of.token * job.heads + of.first) * job.cache.width;
#pragma unroll 1
    for (int i = threadIdx.x; i < of.n * chunks; i += THREADS) {
        const int row = i / chunks, chunk = i % chunks;
        float x[CHUNK_ELEMENTS];
        read_query(q + row * job.cache.width, chunk * CHUNK_ELEMENTS, (int)job.cache.width, x);
        store_query<T, terms>(to + row_layout<width>::at(row, chunk),
                              token_shape<width, terms>::query_bytes, x);
    }
}

/* ---- queries, keys and values of this step ------------------------------------------------ */

/* Stores a row of queries, of which lanes have elements as in rotated_lanes.h. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void store_query_row(uint8_t *to, int row,
                                                       const float (&x)[width / WARP])
{
#pragma unroll
    for (int i = 0; i < width / WARP; i++) {
        const int e = threadIdx.x % WARP + i * WARP;
        uint8_t *at = to + row_layout<width>::at(row, e / CHUNK_ELEMENTS) + e % CHUNK_ELEMENTS * 2;
        *(uint16_t *)at = (uint16_t)T::pair(x[i], 0);
        if (terms > 1)
            *(uint16_t *)(at + token_shape<width, terms>::query_bytes) =
                    (uint16_t)T::pair(T::rest(x[i]), 0);
    }
}

/* Stores a row of keys or values for this block and, if `stores`, in the cache. */
template <typename T, int width>
static __device__ __forceinline__ void store_own_row(const kv_part &part, int slot, bool stores,
                                                     uint8_t *to, const float (&x)[width / WARP])
{
    uint16_t *const row = (uint16_t *)(part.element + slot * width * 2);
#pragma unroll
    for (int i = 0; i < width / WARP; i++) {
        const int e = threadIdx.x % WARP + i * WARP;
        const uint16_t bits = (uint16_t)T::pair(x[i], 0);
        ((uint16_t *)to)[e] = bits;
        if (stores)
            row[e] = bits;
    }
}

/* A lane's weights of norms, which it loads before the kernel before has ended. */
template <int n> struct row_norms {
    float q[n], k[n];
};

/* Prepares the heads and, if `page` is not NULL, the token's own page, its key and its value. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void prepare_rows(const vug_cuda_attention_inputs_job &job,
                                                    const token_heads &of,
                                                    const row_norms<width / WARP> &norms,
                                                    uint8_t *page, const token_memory &m)
{
    const int t = (int)of.token, rows = of.n + (page ? 2 : 0);
    const int64_t kv_row = (of.token * job.k.heads + of.kv_head) * width;
    /* Of the blocks that share the keys of a head, the first stores the new one. */
    const bool stores = of.first % (job.q.heads / job.k.heads) == 0;
#pragma unroll 1
    for (int row = threadIdx.x / WARP; row < rows; row += WARPS) {
        float x[width / WARP];
        if (row < of.n) {
            load_lanes(job.q.x + (of.token * job.q.heads + of.first + row) * width, x);
            rotate_lanes(job.q, job.q_norms, norms.q, t, x);
            store_query_row<T, width, terms>(m.queries, row, x);
            continue;
        }
        const bool is_value = row > of.n;
        load_lanes((is_value ? job.store.v : job.k.x) + kv_row, x);
        if (!is_value)
            rotate_lanes(job.k, job.k_norms, norms.k, t, x);
        store_own_row<T, width>(kv_part_at(job.store.cache, page, of.kv_head, is_value),
                                of.sight.position % KEYS, stores,
                                m.own + is_value * token_shape<width, terms>::row_bytes, x);
    }
}

/* Puts the token's own key, or value, in its place in the page. */
template <int width>
static __device__ __forceinline__ void place_own_row(const uint8_t *own, int slot, uint8_t *part)
{
    if (threadIdx.x < width / CHUNK_ELEMENTS)
        *(uint4 *)(part + row_layout<width>::at(slot, threadIdx.x)) =
                ((const uint4 *)own)[threadIdx.x];
    __syncthreads();
}

/* ---- a page ------------------------------------------------------------------------------- */

/* Steps of a chain whose second operands are loaded together, those of all terms. */
template <int terms> static constexpr int steps_of_load = terms > 1 ? 1 : 2;

/* Where a lane loads those of the first steps from: rows of `columns` elements, of which those of the
 * terms follow one another. Later steps differ only in bits of the chunk. */
template <int columns, int terms>
static __device__ __forceinline__ uint32_t operand_rows(uint32_t x)
{
    const int matrix = threadIdx.x % WARP / 8;
    const int chunk = terms > 1 ? matrix % 2 : matrix, term = terms > 1 ? matrix / 2 : 0;
    return x + term * QUERIES * columns * 2 + row_layout<columns>::at(threadIdx.x % 8, chunk);
}

/* Adds the products of all terms. */
template <typename T, int terms>
static __device__ __forceinline__ void add_step(float *sum, const uint32_t (&a)[4],
                                                const uint32_t (&b)[4], int step)
{
    if (terms > 1) {
        mma_add<T>(sum, a, b[0], b[1]);
        mma_add<T>(sum, a, b[2], b[3]);
    } else {
        mma_add<T>(sum, a, b[step % 2 * 2], b[step % 2 * 2 + 1]);
    }
}

/* The scores of the warp's keys. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void multiply_keys(const token_memory &m, const uint8_t *keys)
{
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * 16;
    const uint32_t q_at = operand_rows<width, terms>(shared_address(m.queries));
    const uint32_t key_at =
            shared_address(keys) + row_layout<width>::at(first + lane % 16, lane / 16);
    float s[4] = { 0 };
    uint32_t q[4];
#pragma unroll
    for (int step = 0; step < width / 16; step++) {
        uint32_t k[4];
        load_matrices(k, key_at ^ step * 2 * CHUNK_BYTES);
        if (step % steps_of_load<terms> == 0)
            load_matrices(q, q_at ^ step * 2 * CHUNK_BYTES);
        add_step<T, terms>(s, k, q, step);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        m.scores->of[lane % 4 * 2 + i % 2][first + lane / 4 + i / 2 * 8] = s[i];
}

/* The weights of the keys of page `page`: those of a query by 16 lanes. */
template <typename T, int terms>
static __device__ __forceinline__ void weigh_page(const vug_cuda_attention_job &job,
                                                  const query_sight &sight, int page,
                                                  const token_memory &m)
{
    constexpr int sharing = 4, n = PAIRS / sharing; /* threads that share a lane's pairs */
    const int query = threadIdx.x / 16, lane = threadIdx.x % KEY_LANES,
              pair = threadIdx.x % 16 / KEY_LANES;
    float s[2 * n];
#pragma unroll
    for (int i = 0; i < n; i++) {
        const float2 two =
                *(const float2 *)&m.scores->of[query][(pair + i * sharing) * 8 + lane * 2];
        s[2 * i] = two.x;
        s[2 * i + 1] = two.y;
    }
    const float by = scale_scores(job, s);
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < 2 * n; i++) {
        const int key = page * KEYS + (pair + i / 2 * sharing) * 8 + lane * 2 + i % 2;
        s[i] = key >= sight.first && key <= sight.position ? s[i] : -INFINITY;
        most = fmaxf(most, s[i]);
    }
#pragma unroll
    for (int d = 1; d < 16; d *= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
    most *= by;
    const float minus_most = most == -INFINITY ? 0 : -most;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const float low = power(fmaf(s[2 * i], by, minus_most)),
                    high = power(fmaf(s[2 * i + 1], by, minus_most));
        const uint32_t p = T::pair(low, high);
        uint8_t *to = m.weights + row_layout<KEYS>::at(query, pair + i * sharing) + lane * 4;
        *(uint32_t *)to = p;
        if (terms > 1)
            *(uint32_t *)(to + QUERIES * KEYS * 2) = T::pair(T::rest(low), T::rest(high));
        m.scores->sum[query][lane][pair + i * sharing] =
                terms > 1 ? low + high : T::low(p) + T::high(p);
    }
    if (threadIdx.x % 16 == 0)
        m.scores->most[query] = most;
}

/* The sum of the weights of a page, of the first warp's query lane / 4. */
static __device__ __forceinline__ float sum_weights(const token_scores &scores)
{
    const float4 *from =
            (const float4 *)scores.sum[threadIdx.x / KEY_LANES][threadIdx.x % KEY_LANES];
    const float4 a = from[0], b = from[1];
    static_assert(PAIRS == 8, "two loads have all pairs");
    float sum = ((((((a.x + a.y) + a.z) + a.w) + b.x) + b.y) + b.z) + b.w;
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
}

/* Of a lane: the results of two queries, lane % 4 * 2 and the next, for the warp's columns: of each 16
 * columns, lane / 4 of both queries, then lane / 4 + 8. And the sum for query lane / 4, which the
 * first warp has. */
template <int columns> struct token_sums {
    float most[2], out[columns / 4];
    float most_of_sum, sum;
};

template <int columns> static __device__ __forceinline__ void sums_init(token_sums<columns> &all)
{
    all.most[0] = all.most[1] = all.most_of_sum = -INFINITY;
    all.sum = 0;
#pragma unroll
    for (int i = 0; i < columns / 4; i++)
        all.out[i] = 0;
}

/* Joins a page. */
template <typename T, int width, int terms, int columns>
static __device__ __forceinline__ void add_page(token_sums<columns> &all, const token_memory &m,
                                                const uint8_t *values)
{
    const int lane = threadIdx.x % WARP, chunk = threadIdx.x / WARP * columns / CHUNK_ELEMENTS;
    const uint32_t p_at = operand_rows<KEYS, terms>(shared_address(m.weights));
    const uint32_t value_at =
            shared_address(values) + row_layout<width>::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    join_factors by[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        by[r] = join_by(all.most[r], m.scores->most[lane % 4 * 2 + r]);
        all.most[r] = by[r].most;
    }
    if (threadIdx.x < WARP) {
        const join_factors f = join_by(all.most_of_sum, m.scores->most[lane / KEY_LANES]);
        all.most_of_sum = f.most;
        all.sum = fmaf(sum_weights(*m.scores), f.added, all.sum * f.so_far);
    }
    constexpr int together = steps_of_load<terms>;
    uint32_t p[KEY_STEPS / together][4];
#pragma unroll
    for (int i = 0; i < KEY_STEPS / together; i++)
        load_matrices(p[i], p_at ^ i * together * 2 * CHUNK_BYTES);
#pragma unroll
    for (int n = 0; n < columns / 16; n++) {
        float c[4] = { 0 };
#pragma unroll
        for (int step = 0; step < KEY_STEPS; step++) {
            uint32_t v[4];
            load_transposed(v, (value_at ^ (chunk + 2 * n) * CHUNK_BYTES) + step * 16 * width * 2);
            add_step<T, terms>(c, v, p[step / together], step);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float &out = all.out[4 * n + i];
            out = fmaf(c[i], by[i % 2].added, out * by[i % 2].so_far);
        }
    }
}

/* ---- results ------------------------------------------------------------------------------ */

/* Stores what page `page`, counted from the first that the token sees, gives the queries. */
template <int columns>
static __device__ __forceinline__ void store_page(const vug_cuda_attention_job &job, int page,
                                                  const token_heads &of,
                                                  const token_sums<columns> &all)
{
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * columns + lane / 4;
    const int width = (int)job.cache.width;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int head = lane % 4 * 2 + r;
        float *out = partial_at(job, page, of.token, of.first + head);
#pragma unroll
        for (int i = 0; i < columns / 8; i++) {
            if (head < of.n && first + i * 8 < width)
                out[first + i * 8] = all.out[i * 2 + r];
        }
    }
    if (threadIdx.x < WARP && lane % KEY_LANES == 0 && lane / KEY_LANES < of.n) {
        float *out = partial_at(job, page, of.token, of.first + lane / KEY_LANES);
        out[width] = all.most_of_sum;
        out[width + 1] = all.sum;
    }
}

/* Stores the results of the queries. Two lanes exchange half of what they have, so that each has pairs of
 * neighbouring columns of one query. */
template <int terms, int columns>
static __device__ __forceinline__ void store_results(const vug_cuda_attention_job &job,
                                                     const token_heads &of,
                                                     const token_sums<columns> &all,
                                                     token_scores &scores)
{
    const int lane = threadIdx.x % WARP;
    const bool odd = lane / 4 % 2;
    const int query = lane % 4 * 2 + odd, first = threadIdx.x / WARP * columns + lane / 8 * 2;
    if (threadIdx.x < WARP && lane % KEY_LANES == 0)
        scores.all[lane / KEY_LANES] = all.sum;
    __syncthreads();
    const float sum = scores.all[query];
    float y[columns / 8][2];
#pragma unroll
    for (int i = 0; i < columns / 8; i++) {
        const float own = odd ? all.out[i * 2 + 1] : all.out[i * 2],
                    given = odd ? all.out[i * 2] : all.out[i * 2 + 1],
                    other = __shfl_xor_sync(0xffffffffu, given, 4);
        y[i][0] = quotient(odd ? other : own, sum);
        y[i][1] = quotient(odd ? own : other, sum);
    }
    if (query < of.n)
        store_columns<terms>(job, of.token, of.first + query, first, y);
}
#endif

/* ---- the kernel --------------------------------------------------------------------------- */

/* Block (token, heads, pages): side by side, a block gives the results of each of its `block_pages` pages,
 * otherwise those of all pages together. The other parts are loaded while one is multiplied. Pages that
 * earlier steps have filled are loaded before the kernel waits for the one before; with `inputs` also the
 * token's own page, where its own row is not there yet. */
template <typename T, int width, int terms, bool inputs, bool side>
static __global__ void __launch_bounds__(THREADS)
        token_kernel(const __grid_constant__ vug_cuda_token_attention_job token_job,
                     int block_pages)
{
#ifdef FITS_MMA_ATTENTION
    using shape = token_shape<width, terms>;
    constexpr int parts = parts_of<side>;
    extern __shared__ __align__((int)MEMORY_ALIGN) uint8_t memory[];
    const vug_cuda_attention_job &job = token_job.attention;
    const token_memory m = place_memory<width, terms>(memory);
    const token_heads of = find_heads(job);
    const int first = of.sight.first / KEYS, last = of.sight.position / KEYS;
    const int begin = first + (int)blockIdx.z * block_pages;
    const int end = side ? min(begin + block_pages - 1, last) : last;
    /* What the block loads ends with its last page. */
    const head_pages pages = { job.page + job.token[of.token].table, of.kv_head,
                               min(of.sight.position + 1, (end + 1) * KEYS) };
    /* Part i of a block: the keys of page i / 2 from the first on, or its values. */
    const auto place_of = [&](int i) { return m.parts + i % parts * shape::part_bytes; };
    const auto load = [&](int i) {
        const int page = begin + i / 2;
        load_part<T, row_layout<width>, width, THREADS, inputs>(job.cache, pages, page,
                                                                pages.at(page), i % 2, place_of(i));
    };
    token_sums<shape::columns> all;
    sums_init(all);
    start_next();
    const bool is_filled = inputs || (job.single_tokens && begin + (parts - 1) / 2 < last);
    if (!is_filled)
        wait_for_previous();
#pragma unroll 1
    for (int i = 0; i < parts; i++)
        load(i);
    if constexpr (inputs) {
        row_norms<width / WARP> norms;
        load_norm(token_job.inputs.q, norms.q);
        load_norm(token_job.inputs.k, norms.k);
        wait_for_previous();
        prepare_rows<T, width, terms>(token_job.inputs, of, norms,
                                      end == last ? pages.at(last) : NULL, m);
    } else {
        if (is_filled)
            wait_for_previous();
        load_heads<T, width, terms>(job, of, m.queries);
    }
    const int slot = of.sight.position % KEYS;
    for (int page = begin, i = 0; page <= end; page++, i += 2) {
        const bool has_own = inputs && page == last;
        wait_copies<parts - 1>();
        if (has_own)
            place_own_row<width>(m.own, slot, place_of(i));
        multiply_keys<T, width, terms>(m, place_of(i));
        __syncthreads();
        load(i + parts);
        weigh_page<T, terms>(job, of.sight, page, m);
        wait_copies<parts - 1>();
        if (has_own)
            place_own_row<width>(m.own + shape::row_bytes, slot, place_of(i + 1));
        add_page<T, width, terms>(all, m, place_of(i + 1));
        __syncthreads();
        load(i + 1 + parts);
        if (side) {
            store_page(job, page - first, of, all);
            sums_init(all);
        }
    }
    if (!side)
        store_results<terms>(job, of, all, *m.scores);
#endif
}

/* ---- launching ---------------------------------------------------------------------------------- */

bool vug_cuda_takes_attention_inputs(const vug_cuda_attention_inputs_job *job)
{
    const vug_cuda_kv_cache *cache = &job->store.cache;
    const bool is_16_bit = cache->format == VUG_KV_F16 || cache->format == VUG_KV_BF16;
    const int64_t width = cache->width;
    return is_16_bit && vug_cuda_rotates_whole_rows(job) && cache->stride == width &&
           (width == 64 || width == 128 || width == 256);
}

template <bool inputs> struct token_kernels {
    template <typename T, int width, int terms> struct of {
        template <bool side>
        static void launch_blocks(cudaStream_t stream, const vug_cuda_token_attention_job *job,
                                  dim3 grid, int block_pages)
        {
            launch_early(stream, token_kernel<T, width, terms, inputs, side>, grid, THREADS,
                         token_shape<width, terms>::bytes(parts_of<side>), job->attention.launch,
                         *job, block_pages);
        }

        static void launch(cudaStream_t stream, const vug_cuda_token_attention_job *job)
        {
            const vug_cuda_attention_job *of = &job->attention;
            const int64_t per_kv = of->heads / of->cache.heads,
                          chunks = (per_kv + QUERIES - 1) / QUERIES;
            dim3 grid((unsigned)of->tokens, (unsigned)(of->cache.heads * chunks), 1);
            if (of->pages == 0)
                return launch_blocks<false>(stream, job, grid, 0);
            /* What does not run at once is better computed by the same blocks, one page after the other. */
            const int64_t blocks = of->pages * grid.x * grid.y;
            const int block_pages = blocks > MANY_BLOCKS * job->processors ? 2 : 1;
            grid.z = blocks_for(of->pages, block_pages);
            launch_blocks<true>(stream, job, grid, block_pages);
            launch_join<join_rule>(stream, of);
        }
    };
};

void vug_cuda_token_attention(cudaStream_t stream, const vug_cuda_token_attention_job *job,
                              bool inputs)
{
    if (inputs)
        launch_attention<token_kernels<true>::of, 256>(stream, job->attention, job);
    else
        launch_attention<token_kernels<false>::of, VUG_CUDA_MAX_HEAD>(stream, job->attention, job);
}
