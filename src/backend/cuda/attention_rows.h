#ifndef VUG_BACKEND_CUDA_ATTENTION_ROWS_H
#define VUG_BACKEND_CUDA_ATTENTION_ROWS_H

/* Attention on tensor cores: the elements of its products, and rows of them in shared memory. */

#include <cuda_bf16.h>

#include "backend/cuda/kv_elements.h"
#include "backend/cuda/prefill.h"

/* The kernels by mma need 200 KiB of shared memory in a block, and are empty for devices that do not have
 * it. vug_cuda_rounds_attention has the same list. */
#if __CUDA_ARCH__ / 100 == 9 || __CUDA_ARCH__ / 100 == 10
#define FITS_MMA_ATTENTION
#endif

enum {
    KEYS = VUG_KV_PAGE,
    ROWS = VUG_CUDA_PRODUCT_QUERIES, /* of a product: those of a warp */
    CHUNK_BYTES = 16,
    CHUNK_ELEMENTS = 8,
};

/* ---- 16-bit elements --------------------------------------------------------------------- */

/* What a cache's elements are multiplied as: F16, or BF16, also for Q8. */
struct type_f16 {
    static constexpr bool is_f16 = true;
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
    /* The elements of a pair. */
    static __device__ __forceinline__ float low(uint32_t pair)
    {
        return kv_f16(pair & 0xffff);
    }
    static __device__ __forceinline__ float high(uint32_t pair)
    {
        return kv_f16(pair >> 16);
    }
};

struct type_bf16 {
    static constexpr bool is_f16 = false;
    static __device__ __forceinline__ uint32_t pair(float low, float high)
    {
        const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
        return *(const uint32_t *)&x;
    }
    static __device__ __forceinline__ float rest(float x)
    {
        return x - __bfloat162float(__float2bfloat16_rn(x));
    }
    static __device__ __forceinline__ float low(uint32_t pair)
    {
        return kv_bf16(pair);
    }
    static __device__ __forceinline__ float high(uint32_t pair)
    {
        return __uint_as_float(pair & 0xffff0000u);
    }
};

template <typename T>
static __device__ __forceinline__ void mma_add(float *d, const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1)
{
#define MMA(type)                                                         \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "    \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                  \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if constexpr (T::is_f16)
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
template <int width> struct row_layout {
    static constexpr int row_bytes = width * 2;
    static __device__ __forceinline__ int at(int row, int chunk)
    {
        return row * row_bytes + (chunk ^ row % 8) * CHUNK_BYTES;
    }
};

/* Copies 16 bytes, or stores zeros. */
static __device__ __forceinline__ void copy_chunk(uint32_t to, const uint8_t *from, bool exists)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(exists ? CHUNK_BYTES : 0)
                 : "memory");
}

/* Waits until all but the last `n` groups of copies of all threads are there. */
template <int n> static __device__ __forceinline__ void wait_copies(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
    __syncthreads();
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

/* Copies chunk `chunk` of keys `key`, key + step, .., of which `keys` exist. Keys are `stride`
 * elements long: a constant, so that addresses differ by constants, or, if that is 0, `any`. */
template <typename L, int step, int stride>
static __device__ __forceinline__ void copy_chunks(const uint8_t *from, int64_t any, int key,
                                                   int chunk, int keys, uint32_t to)
{
    const int64_t key_bytes = 2 * (stride > 0 ? stride : any);
    constexpr int period = step < 8 ? 8 / step : 1; /* then chunks are permuted alike */
    uint32_t at[period];
#pragma unroll
    for (int i = 0; i < period; i++)
        at[i] = to + L::at(key + i * step, chunk);
#pragma unroll 8
    for (int i = 0; i < KEYS / step; i++)
        copy_chunk(at[i % period] + i / period * period * step * L::row_bytes,
                   from + i * step * key_bytes, key + i * step < keys);
}

/* Keys, or values, 0 .. keys - 1 of a page; zeros for the others, and past the cache's columns. So many
 * neighbouring threads take part; each stores one chunk of every `step`th key. whole: keys are known to be
 * `width` elements of 16 bits, and the kernel has no instructions for others. */
template <typename T, typename L, int width, int threads, bool whole>
static __device__ __forceinline__ void load_rows(bool q8, const kv_part &part, int keys,
                                                 uint8_t *to)
{
    constexpr int chunks = width / CHUNK_ELEMENTS, step = threads / chunks;
    const int chunk = threadIdx.x % chunks, e = chunk * CHUNK_ELEMENTS;
    int key = threadIdx.x % threads / chunks;
    if constexpr (whole) {
        const uint8_t *from = part.element + (key * width + e) * 2;
        copy_chunks<L, step, width>(from, 0, key, chunk, keys, shared_address(to));
    } else if (!q8 && part.stride % CHUNK_ELEMENTS == 0) {
        const uint8_t *from = part.element + (key * part.stride + e) * 2;
        const uint32_t base = shared_address(to);
        if (part.stride == width)
            copy_chunks<L, step, width>(from, 0, key, chunk, keys, base);
        else
            copy_chunks<L, step, 0>(from, part.stride, key, chunk, e < part.stride ? keys : 0,
                                    base);
    } else {
#pragma unroll 4
        for (int i = 0; i < KEYS / step; i++, key += step)
            *(uint4 *)(to + L::at(key, chunk)) =
                    key < keys ? read_chunk<T>(q8, part, key, e) : make_uint4(0, 0, 0, 0);
    }
}

/* The pages of a sequence, and a key/value head, of which positions 0 .. end - 1 are read. */
struct head_pages {
    uint8_t *const *table;
    int head, end;

    __device__ __forceinline__ uint8_t *at(int page) const
    {
        return page * KEYS < end ? table[page] : NULL;
    }
};

/* The keys, or the values, of page `page`, which lies at `memory`, as a group of copies; none past the
 * end. */
template <typename T, typename L, int width, int threads, bool whole = false>
static __device__ __forceinline__ void load_part(const vug_cuda_kv_cache &cache,
                                                 const head_pages &from, int page, uint8_t *memory,
                                                 bool values, uint8_t *to)
{
    const int n = min(from.end - page * KEYS, (int)KEYS);
    if (n > 0)
        load_rows<T, L, width, threads, whole>(cache.format == VUG_KV_Q8,
                                               kv_part_at(cache, memory, from.head, values), n, to);
    commit_copies();
}

/* ---- queries -------------------------------------------------------------------------------- */

/* Eight columns of a query from column e on; zeros past its end. */
static __device__ __forceinline__ void read_query(const float *q, int e, int width,
                                                  float (&x)[CHUNK_ELEMENTS])
{
    if (width % CHUNK_ELEMENTS == 0 && e < width) {
        const float4 a = *(const float4 *)(q + e), b = *(const float4 *)(q + e + 4);
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK_ELEMENTS; i++)
        x[i] = e + i < width ? q[e + i] : 0;
}

/* Stores the terms of a chunk of a row of queries; those of all rows take `term_bytes`. */
template <typename T, int terms>
static __device__ __forceinline__ void store_query(uint8_t *to, int term_bytes,
                                                   float (&x)[CHUNK_ELEMENTS])
{
#pragma unroll
    for (int term = 0; term < terms; term++) {
        *(uint4 *)(to + term * term_bytes) = make_uint4(T::pair(x[0], x[1]), T::pair(x[2], x[3]),
                                                        T::pair(x[4], x[5]), T::pair(x[6], x[7]));
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i++)
            x[i] = T::rest(x[i]);
    }
}

#endif
