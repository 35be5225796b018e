/*
 * Attention over pages on tensor cores.
 *
 * The order of sums is the same in both kernels below: each page of 64 positions gives a result of
 * its own, and the results of pages are joined in ascending order. In a page,
 *
 *     score   a chain of m16n8k16 over the head's columns in ascending order, from +0
 *     p       2^(score - most), `most` the greatest score of the page that the query sees, both
 *             times log2 e; 0 where it does not see the key
 *     sum     p times 1, sums p times values: a chain of m16n8k16 over the 64 keys, from +0
 *
 * Queries and p are taken as one or two terms of the cache's type, h = round(x) and, if there are
 * two, l = round(x - h); a step of a chain adds the product of h, then that of l. Keys and values
 * have that type already; those of Q8 are rounded to BF16.
 *
 * A page that a query sees nothing of changes nothing, so that a row does not depend on the rows
 * beside it. The rows of a product are queries: of the heads that share keys, and, in the kernel
 * for runs of tokens, of neighbouring tokens.
 */
#include <cuda_bf16.h>

#include "backend/cuda/kv_elements.h"
#include "backend/cuda/prefill.h"

enum {
    KEYS = VUG_KV_PAGE,
    ROWS = VUG_CUDA_PRODUCT_QUERIES, /* of a product: those of a warp */
    KEY_BLOCKS = KEYS / 8,
    KEY_STEPS = KEYS / 16,
    CHUNK_BYTES = 16,
    CHUNK_ELEMENTS = 8,
};

#define LOG2_E 1.4426950408889634f

/* ---- 16-bit elements --------------------------------------------------------------------- */

/* What a cache's elements are multiplied as: F16, or BF16, also for Q8. */
struct type_f16 {
    static __device__ __forceinline__ uint32_t pair(float low, float high)
    {
        const __half2 x = __floats2half2_rn(low, high);
        return *(const uint32_t *)&x;
    }
    /* What `pair` leaves of x. */
    static __device__ __forceinline__ float rest(float x)
    {
        return x - __half2float(__float2half_rn(x));
    }
    static constexpr uint32_t ones = 0x3c003c00;
};

struct type_bf16 {
    static __device__ __forceinline__ uint32_t pair(float low, float high)
    {
        const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
        return *(const uint32_t *)&x;
    }
    static __device__ __forceinline__ float rest(float x)
    {
        return x - __bfloat162float(__float2bfloat16_rn(x));
    }
    static constexpr uint32_t ones = 0x3f803f80;
};

template <typename T>
static __device__ __forceinline__ void mma_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1)
{
#define MMA(type)                                                         \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "    \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                  \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if constexpr (T::ones == type_f16::ones)
        MMA("f16");
    else
        MMA("bf16");
#undef MMA
}

/* Four matrices of 8 x 8 elements; each lane gives the address of a row. */
static __device__ __forceinline__ void load_matrices(uint32_t (&x)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

static __device__ __forceinline__ void load_transposed(uint32_t (&x)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

/* ---- rows in shared memory --------------------------------------------------------------- */

/* Where chunk `chunk` of row `row` lies in rows of `width` elements: chunks are permuted, so that
 * the same chunk of eight rows is in different banks. */
template <int width> static __device__ __forceinline__ int chunk_at(int row, int chunk)
{
    return row * width * 2 + (chunk ^ row % 8) * CHUNK_BYTES;
}

static __device__ __forceinline__ uint32_t shared_address_of(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Copies 16 bytes, or stores zeros. */
static __device__ __forceinline__ void copy_chunk(uint32_t to, const uint8_t *from, bool exists)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(exists ? CHUNK_BYTES : 0)
                 : "memory");
}

/* Elements e .. e + 7 of a key; zeros past the cache's columns. */
template <typename T>
static __device__ __forceinline__ uint4 read_chunk(bool q8, const kv_part &part, int key, int64_t e)
{
    uint32_t x[4] = { 0 };
    for (int q = 0; q < 2; q++, e += KV_QUAD) {
        if (e >= part.stride)
            break;
        if (q8) {
            float v[KV_QUAD];
            kv_quad<VUG_KV_Q8>(part, key, e, v);
            x[2 * q] = T::pair(v[0], v[1]);
            x[2 * q + 1] = T::pair(v[2], v[3]);
        } else {
            const uint2 v = *(const uint2 *)(part.element + (key * part.stride + e) * 2);
            x[2 * q] = v.x;
            x[2 * q + 1] = v.y;
        }
    }
    return make_uint4(x[0], x[1], x[2], x[3]);
}

/* Keys, or values, 0 .. keys - 1 of a page; zeros for the others, and past the cache's columns. A
 * thread stores one chunk of every `step`th key. */
template <typename T, int width, int threads>
static __device__ __forceinline__ void load_rows(bool q8, const kv_part &part, int keys,
                                                 uint8_t *to)
{
    constexpr int chunks = width / CHUNK_ELEMENTS, step = threads / chunks;
    const int chunk = threadIdx.x % chunks, e = chunk * CHUNK_ELEMENTS;
    int key = threadIdx.x / chunks;
    if (!q8 && part.stride % CHUNK_ELEMENTS == 0) {
        const uint8_t *from = part.element + (key * part.stride + e) * 2;
        const uint32_t base = shared_address_of(to);
#pragma unroll 8
        for (int i = 0; i < KEYS / step; i++, key += step, from += step * part.stride * 2)
            copy_chunk(base + chunk_at<width>(key, chunk), from, key < keys && e < part.stride);
        return;
    }
#pragma unroll 4
    for (int i = 0; i < KEYS / step; i++, key += step)
        *(uint4 *)(to + chunk_at<width>(key, chunk)) =
                key < keys ? read_chunk<T>(q8, part, key, e) : make_uint4(0, 0, 0, 0);
}

/* The keys, or the values, of positions 64 page .. end - 1, as a group of copies; of no page past
 * position end - 1. */
template <typename T, int width, int threads>
static __device__ __forceinline__ void load_part(const vug_cuda_attention_job &job,
                                                 uint8_t *const *pages, int page, int end,
                                                 int kv_head, bool values, uint8_t *to)
{
    const int n = min(end - page * KEYS, (int)KEYS);
    if (n > 0)
        load_rows<T, width, threads>(job.cache.format == VUG_KV_Q8,
                                     kv_part_at(job.cache, pages[page], kv_head, values), n, to);
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the last `n` groups of copies of all threads are there. */
template <int n> static __device__ __forceinline__ void wait_copies(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
    __syncthreads();
}

/* 2^x */
static __device__ __forceinline__ float power(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- a page ------------------------------------------------------------------------------- */

/* Scores of 16 queries and `blocks` blocks of 8 keys, from block `first` on. The second terms of
 * queries lie `rows` rows after the first. */
template <typename T, int width, int terms, int rows, int blocks>
static __device__ __forceinline__ void multiply_keys(float (&s)[blocks][4], uint32_t q, int q_row,
                                                     uint32_t keys, int first)
{
    const int lane = threadIdx.x % WARP, key = first * 8 + lane % 8 + lane / 16 * 8;
    /* Rows begin at multiples of their length: steps differ only in bits of the chunk. */
    const uint32_t q_at = q + chunk_at<width>(q_row + lane % 16, lane / 16);
    const uint32_t key_at = keys + chunk_at<width>(key, lane / 8 % 2);
#pragma unroll
    for (int b = 0; b < blocks; b++)
        s[b][0] = s[b][1] = s[b][2] = s[b][3] = 0;
#pragma unroll
    for (int step = 0; step < width / 16; step++) {
        uint32_t a[terms][4];
#pragma unroll
        for (int term = 0; term < terms; term++)
            load_matrices(a[term], (q_at ^ step * 2 * CHUNK_BYTES) + term * rows * width * 2);
#pragma unroll
        for (int b = 0; b < blocks; b += 2) {
            uint32_t k[4];
            load_matrices(k, (key_at ^ step * 2 * CHUNK_BYTES) + b * 8 * width * 2);
#pragma unroll
            for (int term = 0; term < terms; term++) {
                mma_add<T>(s[b], a[term], k[0], k[1]);
                mma_add<T>(s[b + 1], a[term], k[2], k[3]);
            }
        }
    }
}

/* A query: its position, and the first position that it sees. */
struct query_sight {
    int first, position;
};

static __device__ __forceinline__ query_sight sight_of(const vug_cuda_attention_job &job,
                                                       int position)
{
    const int window = (int)min(job.window, (int64_t)INT32_MAX);
    return { window > 0 ? max(position + 1 - window, 0) : 0, position };
}

static __device__ __forceinline__ float scaled_score(const vug_cuda_attention_job &job, float s)
{
    if (job.softcap > 0)
        return tanhf(s * job.scale / job.softcap) * (job.softcap * LOG2_E);
    return s * (job.scale * LOG2_E);
}

/* What a page gives the two queries of a lane, rows lane / 4 and lane / 4 + 8 of the product: the
 * greatest score, the sum of p, and the terms of p as first operands. */
template <int terms> struct page_weights {
    float most[2], sum[2];
    uint32_t p[KEY_STEPS][terms][4];
};

template <typename T, int terms>
static __device__ __forceinline__ void weigh_keys(const vug_cuda_attention_job &job,
                                                  float (&s)[KEY_BLOCKS][4], int page,
                                                  const query_sight (&sight)[2],
                                                  page_weights<terms> &w)
{
    const int first = page * KEYS + threadIdx.x % 4 * 2;
    int begin[2], end[2]; /* keys that a query sees, counted from the lane's first one */
#pragma unroll
    for (int r = 0; r < 2; r++) {
        begin[r] = sight[r].first - first;
        end[r] = sight[r].position - first;
    }
    w.most[0] = w.most[1] = -INFINITY;
#pragma unroll
    for (int i = 0; i < KEY_BLOCKS * 4; i++) {
        const int key = i / 4 * 8 + i % 2, r = i / 2 % 2;
        float &score = s[i / 4][i % 4];
        score = key >= begin[r] && key <= end[r] ? scaled_score(job, score) : -INFINITY;
        w.most[i / 2 % 2] = fmaxf(w.most[i / 2 % 2], score);
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        w.most[r] = fmaxf(w.most[r], __shfl_xor_sync(0xffffffffu, w.most[r], 1));
        w.most[r] = fmaxf(w.most[r], __shfl_xor_sync(0xffffffffu, w.most[r], 2));
    }
    const float by[2] = { w.most[0] == -INFINITY ? 0 : w.most[0],
                          w.most[1] == -INFINITY ? 0 : w.most[1] };
    float sum[4] = { 0 };
#pragma unroll
    for (int step = 0; step < KEY_STEPS; step++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *pair = s[2 * step + i / 2] + i % 2 * 2;
            const float low = power(pair[0] - by[i % 2]), high = power(pair[1] - by[i % 2]);
            w.p[step][0][i] = T::pair(low, high);
            if (terms > 1)
                w.p[step][terms - 1][i] = T::pair(T::rest(low), T::rest(high));
        }
#pragma unroll
        for (int term = 0; term < terms; term++)
            mma_add<T>(sum, w.p[step][term], T::ones, T::ones);
    }
    w.sum[0] = sum[0];
    w.sum[1] = sum[2];
}

/* The results of the pages so far: of the two queries of a lane, and `columns` columns. */
template <int columns> struct page_sums {
    float most[2], sum[2], out[columns / 8][4];
};

template <int columns> static __device__ __forceinline__ void sums_init(page_sums<columns> &all)
{
    all.most[0] = all.most[1] = -INFINITY;
    all.sum[0] = all.sum[1] = 0;
#pragma unroll
    for (int i = 0; i < columns / 8; i++)
        all.out[i][0] = all.out[i][1] = all.out[i][2] = all.out[i][3] = 0;
}

/* How the results so far and those of a page are weighted when they are joined. */
struct join_factors {
    float most, so_far, added;
};

static __device__ __forceinline__ join_factors join_by(float most, float added)
{
    const float m = fmaxf(most, added);
    if (added == -INFINITY)
        return { most, 1, 0 };
    return { m, power(most - m), power(added - m) };
}

/* Sums of 16 columns of values, from chunk `chunk` on; `values_at` is where the lane's row of the
 * first 16 columns of the first 16 keys lies. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void multiply_values(float (&c)[2][4],
                                                       const page_weights<terms> &w,
                                                       uint32_t values_at, int chunk)
{
    c[0][0] = c[0][1] = c[0][2] = c[0][3] = 0;
    c[1][0] = c[1][1] = c[1][2] = c[1][3] = 0;
#pragma unroll
    for (int step = 0; step < KEY_STEPS; step++) {
        uint32_t v[4];
        load_transposed(v, (values_at ^ chunk * CHUNK_BYTES) + step * 16 * width * 2);
#pragma unroll
        for (int term = 0; term < terms; term++) {
            mma_add<T>(c[0], w.p[step][term], v[0], v[1]);
            mma_add<T>(c[1], w.p[step][term], v[2], v[3]);
        }
    }
}

/* Joins a page: columns `first` .. first + columns - 1 of its values. */
template <typename T, int width, int terms, int columns>
static __device__ __forceinline__ void add_page(page_sums<columns> &all,
                                                const page_weights<terms> &w, uint32_t values,
                                                int first)
{
    const join_factors by[2] = { join_by(all.most[0], w.most[0]), join_by(all.most[1], w.most[1]) };
#pragma unroll
    for (int r = 0; r < 2; r++) {
        all.most[r] = by[r].most;
        all.sum[r] = fmaf(w.sum[r], by[r].added, all.sum[r] * by[r].so_far);
    }
    const int lane = threadIdx.x % WARP;
    const uint32_t values_at = values + chunk_at<width>(lane % 16, lane / 16);
#pragma unroll
    for (int n = 0; n < columns / 16; n++) {
        float c[2][4];
        multiply_values<T, width>(c, w, values_at, first / CHUNK_ELEMENTS + 2 * n);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const join_factors &f = by[i / 2 % 2];
            float &out = all.out[2 * n + i / 4][i % 4];
            out = fmaf(c[i / 4][i % 4], f.added, out * f.so_far);
        }
    }
}

/* ---- runs of tokens ------------------------------------------------------------------------- */

/* A block has `groups` groups of 16 queries of a key/value head, each computed by `parts` warps
 * that have a part of the columns. */
template <int width, int terms> struct run_shape {
    static constexpr int parts = width > 256 ? 2 : 1, columns = width / parts;
    static constexpr int groups = width * terms > 512 ? 2 : 8 / parts, rows = groups * ROWS;
    static constexpr int threads = groups * parts * WARP;
    static constexpr int stages = width * terms > 256 ? 1 : 2; /* pages in shared memory */
    static constexpr int part_bytes = KEYS * width * 2;        /* the keys, or the values */
    static constexpr int query_bytes = terms * rows * width * 2;
    static constexpr int bytes = query_bytes + stages * 2 * part_bytes;
    static_assert(rows >= VUG_CUDA_RUN_HEADS, "a token's heads fit into a block");
};

/* Stores the terms of columns e and e + 1 of a row of queries. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void store_query(uint8_t *to, int row, int rows, int e, float low,
                                                   float high)
{
    uint8_t *at = to + chunk_at<width>(row, e / CHUNK_ELEMENTS) + e % CHUNK_ELEMENTS * 2;
    *(uint32_t *)at = T::pair(low, high);
    if (terms > 1)
        *(uint32_t *)(at + rows * width * 2) = T::pair(T::rest(low), T::rest(high));
}

/* Rounds the queries of a block; row r is head r % per_kv of token r / per_kv. */
template <typename T, int width, int terms>
static __device__ void load_queries(const vug_cuda_attention_job &job, int64_t token, int tokens,
                                    int kv_head, int rows, uint8_t *to)
{
    const int per_kv = (int)(job.heads / job.cache.heads);
    for (int i = threadIdx.x; i < rows * width / 2; i += blockDim.x) {
        const int row = i / (width / 2), e = i % (width / 2) * 2;
        const bool exists = row / per_kv < tokens;
        const float *q =
                job.q + ((token + row / per_kv) * job.heads + kv_head * per_kv + row % per_kv) *
                                job.cache.width;
        const float low = exists && e < job.cache.width ? q[e] : 0;
        const float high = exists && e + 1 < job.cache.width ? q[e + 1] : 0;
        store_query<T, width, terms>(to, row, rows, e, low, high);
    }
}

template <int columns>
static __device__ __forceinline__ void store_queries(const vug_cuda_attention_job &job,
                                                     int64_t token, int tokens, int kv_head,
                                                     int row, int first,
                                                     const page_sums<columns> &all)
{
    const int per_kv = (int)(job.heads / job.cache.heads), lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int at = row + lane / 4 + r * 8;
        float *out =
                job.out + ((token + at / per_kv) * job.heads + kv_head * per_kv + at % per_kv) *
                                  job.cache.width;
        if (at / per_kv >= tokens)
            continue;
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const int e = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
            if (e < job.cache.width)
                out[e] = all.out[i / 2][r * 2 + i % 2] / all.sum[r];
        }
    }
}

/* A block computes some tokens of one sequence; later tokens, which see more, come first. With
 * room for one page, the next keys are loaded while values are multiplied, and the reverse. */
template <typename T, int width, int terms>
static __global__ void __launch_bounds__(run_shape<width, terms>::threads, 1)
        run_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
    using shape = run_shape<width, terms>;
    constexpr bool ahead = shape::stages > 1;
    extern __shared__ __align__(1024) uint8_t memory[];
    uint8_t *pages = memory + shape::query_bytes;
    const int per_kv = (int)(job.heads / job.cache.heads), most = shape::rows / per_kv;
    const int token = (gridDim.y - 1 - blockIdx.y) * most, kv_head = blockIdx.x;
    const int tokens = (int)min(job.tokens - token, (int64_t)most);
    uint8_t *const *table = job.page + job.token[token].table;
    const int position = job.token[token].position, end = position + tokens;
    const int warp = threadIdx.x / WARP, row = warp / shape::parts * ROWS;
    const int first_column = warp % shape::parts * shape::columns;
    query_sight sight[2];
#pragma unroll
    for (int r = 0; r < 2; r++)
        sight[r] = sight_of(job, position + (row + (int)threadIdx.x % WARP / 4 + r * 8) / per_kv);
    /* The pages that a query of the warp sees something of, and those of the block. */
    const int warp_first = sight_of(job, position + row / per_kv).first / KEYS;
    const int warp_last = row / per_kv < tokens
                                  ? (position + min((row + ROWS - 1) / per_kv, tokens - 1)) / KEYS
                                  : -1;
    const int first = sight_of(job, position).first / KEYS, last = (end - 1) / KEYS;
    const auto load = [&](int page, bool values) {
        uint8_t *to = pages + ((page - first) % shape::stages * 2 + values) * shape::part_bytes;
        load_part<T, width, shape::threads>(job, table, page, end, kv_head, values, to);
    };
    page_sums<shape::columns> all;
    sums_init(all);
    load_queries<T, width, terms>(job, token, tokens, kv_head, shape::rows, memory);
    load(first, false);
    load(first, true);
    for (int page = first; page <= last; page++) {
        uint8_t *keys = pages + (page - first) % shape::stages * 2 * shape::part_bytes;
        const bool sees = page >= warp_first && page <= warp_last;
        page_weights<terms> w;
        wait_copies<ahead ? 0 : 1>();
        if (ahead) {
            load(page + 1, false);
            load(page + 1, true);
        }
        if (sees) {
            float s[KEY_BLOCKS][4];
            multiply_keys<T, width, terms, shape::rows>(s, shared_address_of(memory), row,
                                                        shared_address_of(keys), 0);
            weigh_keys<T>(job, s, page, sight, w);
        }
        if (!ahead) {
            __syncthreads();
            load(page + 1, false);
            wait_copies<1>();
        }
        if (sees)
            add_page<T, width>(all, w, shared_address_of(keys + shape::part_bytes), first_column);
        if (!ahead) {
            __syncthreads();
            load(page + 1, true);
        }
    }
    store_queries(job, token, tokens, kv_head, row, first_column, all);
}

/* ---- single tokens --------------------------------------------------------------------------- */

enum { TOKEN_WARPS = 4 };

/* A block has up to 16 heads of a token; each warp computes the scores of 16 keys, and then a part
 * of the columns. */
template <int width, int terms> struct token_shape {
    static constexpr int columns = width / TOKEN_WARPS, threads = TOKEN_WARPS * WARP;
    static constexpr int part_bytes = KEYS * width * 2; /* the keys, or the values, of a page */
    static constexpr int query_bytes = terms * ROWS * width * 2;
    static constexpr int score_stride = KEYS + 4;
    static constexpr int bytes = query_bytes + 2 * part_bytes + ROWS * score_stride * 4;
};

/* Heads `head` .. of a token, as rows. */
template <typename T, int width, int terms>
static __device__ void load_heads(const vug_cuda_attention_job &job, int64_t token, int64_t head,
                                  int64_t heads, uint8_t *to)
{
    for (int i = threadIdx.x; i < ROWS * width / 2; i += blockDim.x) {
        const int row = i / (width / 2), e = i % (width / 2) * 2;
        const float *q = job.q + (token * job.heads + head + row) * job.cache.width;
        const float low = row < heads && e < job.cache.width ? q[e] : 0;
        const float high = row < heads && e + 1 < job.cache.width ? q[e + 1] : 0;
        store_query<T, width, terms>(to, row, ROWS, e, low, high);
    }
}

/* The results of a page, which joined_kernel reads. */
static __device__ __forceinline__ float *partial_of(const vug_cuda_attention_job &job,
                                                    int64_t token, int64_t head, int64_t page)
{
    return job.partial + ((page * job.tokens + token) * job.heads + head) * (job.cache.width + 2);
}

/* Stores the sums of a lane's two heads, divided by the sum of p, or as a page's results. */
template <int columns>
static __device__ __forceinline__ void store_heads(const vug_cuda_attention_job &job, int64_t token,
                                                   int64_t head, int64_t heads, int64_t page,
                                                   const page_sums<columns> &all)
{
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * columns;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = lane / 4 + r * 8;
        if (row >= heads)
            continue;
        const bool partial = job.pages > 0;
        float *out = partial ? partial_of(job, token, head + row, page)
                             : job.out + (token * job.heads + head + row) * job.cache.width;
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const int e = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
            const float y = all.out[i / 2][r * 2 + i % 2];
            if (e < job.cache.width)
                out[e] = partial ? y : y / all.sum[r];
        }
        if (partial && threadIdx.x < WARP && lane % 4 == 0) {
            out[job.cache.width] = all.most[r];
            out[job.cache.width + 1] = all.sum[r];
        }
    }
}

/* Block (token, heads, page): with partial results the page counts from the first that the token
 * sees, otherwise a block computes all pages. */
template <typename T, int width, int terms>
static __global__ void __launch_bounds__(token_shape<width, terms>::threads)
        token_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
    using shape = token_shape<width, terms>;
    extern __shared__ __align__(1024) uint8_t memory[];
    uint8_t *keys = memory + shape::query_bytes, *values = keys + shape::part_bytes;
    float(*scores)[shape::score_stride] =
            (float(*)[shape::score_stride])(values + shape::part_bytes);
    const int64_t per_kv = job.heads / job.cache.heads, chunks = (per_kv + ROWS - 1) / ROWS;
    const int64_t token = blockIdx.x;
    const int kv_head = blockIdx.y / chunks;
    const int64_t head = kv_head * per_kv + blockIdx.y % chunks * ROWS;
    const int64_t heads = min(per_kv - blockIdx.y % chunks * ROWS, (int64_t)ROWS);
    uint8_t *const *table = job.page + job.token[token].table;
    const query_sight see = sight_of(job, job.token[token].position);
    const query_sight sight[2] = { see, see };
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int first = see.first / KEYS, last = see.position / KEYS;
    const int begin = job.pages > 0 ? first + (int)blockIdx.z : first;
    const int end = job.pages > 0 ? min(begin, last) : last;
    page_sums<shape::columns> all;
    sums_init(all);
    start_next();
    wait_for_previous();
    load_heads<T, width, terms>(job, token, head, heads, memory);
    for (int page = begin; page <= end; page++) {
        for (int part = 0; part < 2; part++)
            load_part<T, width, shape::threads>(job, table, page, see.position + 1, kv_head, part,
                                                part ? values : keys);
        wait_copies<1>();
        float of_warp[2][4], s[KEY_BLOCKS][4];
        multiply_keys<T, width, terms, ROWS>(of_warp, shared_address_of(memory), 0,
                                             shared_address_of(keys), 2 * warp);
        for (int i = 0; i < 8; i++)
            scores[lane / 4 + i / 2 % 2 * 8][warp * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2] =
                    of_warp[i / 4][i % 4];
        wait_copies<0>();
#pragma unroll
        for (int i = 0; i < KEY_BLOCKS * 4; i++)
            s[i / 4][i % 4] = scores[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2];
        page_weights<terms> w;
        weigh_keys<T>(job, s, page, sight, w);
        add_page<T, width>(all, w, shared_address_of(values), warp * shape::columns);
        __syncthreads();
    }
    if (begin <= end || job.pages == 0)
        store_heads(job, token, head, heads, blockIdx.z, all);
}

/* A block for each head of a token joins the results of its pages. */
static __global__ void join_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
    const int64_t token = blockIdx.x, head = blockIdx.y, width = job.cache.width;
    const query_sight see = sight_of(job, job.token[token].position);
    const int64_t n = see.position / KEYS - see.first / KEYS + 1;
    start_next();
    wait_for_previous();
    for (int64_t e = threadIdx.x; e < width; e += blockDim.x) {
        float most = -INFINITY, sum = 0, out = 0;
#pragma unroll 8
        for (int64_t page = 0; page < n; page++) {
            const float *result = partial_of(job, token, head, page);
            const join_factors by = join_by(most, result[width]);
            most = by.most;
            sum = fmaf(result[width + 1], by.added, sum * by.so_far);
            out = fmaf(result[e], by.added, out * by.so_far);
        }
        job.out[(token * job.heads + head) * width + e] = out / sum;
    }
}

/* ---- launching ---------------------------------------------------------------------------------- */

template <typename T, int width, int terms>
static void launch_run(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    using shape = run_shape<width, terms>;
    const int64_t most = shape::rows / (job->heads / job->cache.heads);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)job->cache.heads, blocks_for(job->tokens, most));
    config.blockDim = dim3(shape::threads);
    config.dynamicSmemBytes = shape::bytes;
    config.stream = stream;
    (void)cudaFuncSetAttribute(run_kernel<T, width, terms>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize, shape::bytes);
    (void)cudaLaunchKernelEx(&config, run_kernel<T, width, terms>, *job);
}

template <typename T, int width, int terms>
static void launch_tokens(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    using shape = token_shape<width, terms>;
    const int64_t per_kv = job->heads / job->cache.heads, chunks = (per_kv + ROWS - 1) / ROWS;
    launch_early(stream, token_kernel<T, width, terms>,
                 dim3((unsigned)job->tokens, (unsigned)(job->cache.heads * chunks),
                      job->pages > 0 ? (unsigned)job->pages : 1),
                 shape::threads, shape::bytes, true, *job);
    if (job->pages > 0)
        launch_early(stream, join_kernel, dim3((unsigned)job->tokens, (unsigned)job->heads),
                     shape::threads, 0, true, *job);
}

template <typename T, int width, int terms>
static void launch_width(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (run)
        launch_run<T, width, terms>(stream, job);
    else
        launch_tokens<T, width, terms>(stream, job);
}

template <typename T, int terms>
static void choose_width(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (job->cache.width <= 64)
        launch_width<T, 64, terms>(stream, job, run);
    else if (job->cache.width <= 128)
        launch_width<T, 128, terms>(stream, job, run);
    else if (job->cache.width <= 256)
        launch_width<T, 256, terms>(stream, job, run);
    else
        launch_width<T, 512, terms>(stream, job, run);
}

void vug_cuda_mma_attention(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (job->tokens == 0)
        return;
    const bool two = job->terms > 1;
    if (job->cache.format == VUG_KV_F16)
        (two ? choose_width<type_f16, 2> : choose_width<type_f16, 1>)(stream, job, run);
    else
        (two ? choose_width<type_bf16, 2> : choose_width<type_bf16, 1>)(stream, job, run);
}
