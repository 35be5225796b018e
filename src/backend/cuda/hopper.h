#ifndef VUG_BACKEND_CUDA_HOPPER_H
#define VUG_BACKEND_CUDA_HOPPER_H

/* Instructions of compute capability 9.0a: wgmma, bulk copies, and the barriers that they
 * complete on. Addresses are those of shared memory unless a name says otherwise. */

#include "backend/cuda/device_code.h"

/* ---- barriers ------------------------------------------------------------------------ */

static __device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* Arrives at the barrier of block `rank` of the cluster. A release of the cluster's scope would
 * order all memory of the GPU; what the barrier guards has been read, as products with it are done. */
static __device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, int rank)
{
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\nbra again;\nover:\n}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* The blocks of a cluster wait for one another, and see what each has stored. */
static __device__ __forceinline__ void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* They only wait: for blocks that begin, or that may end. A thread does not wait for its stores to
 * reach the memory of the device, as it does above. */
static __device__ __forceinline__ void cluster_wait(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                         : "memory");
}

/* What lies at an address, a multiple of 16, in block `rank` of the cluster. */
static __device__ __forceinline__ float4 load_of_block(uint32_t address, int rank)
{
    float4 x;
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}\n"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address), "r"(rank)
                 : "memory");
    return x;
}

static __device__ __forceinline__ float load_one_of_block(uint32_t address, int rank)
{
    float x;
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %1, %2;\n"
                 "ld.shared::cluster.f32 %0, [there];\n}\n"
                 : "=f"(x)
                 : "r"(address), "r"(rank)
                 : "memory");
    return x;
}

/* Before wgmma or a bulk copy uses what this thread has stored in shared memory. */
static __device__ __forceinline__ void show_stores(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* A stage of a ring, and the parity of its barriers. */
struct ring_place {
    int stage;
    uint32_t parity;
};

/* Goes on to the next of `stages` stages. */
static __device__ __forceinline__ void ring_next(ring_place &at, int stages)
{
    if (++at.stage == stages) {
        at.stage = 0;
        at.parity ^= 1;
    }
}

/* ---- bulk copies ----------------------------------------------------------------------- */

static __device__ __forceinline__ void bulk_copy(uint32_t to, const void *from, uint32_t bytes,
                                                 uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* To the same address in the blocks of the cluster that `mask` names; the barrier of each
 * counts the bytes that it receives. */
static __device__ __forceinline__ void bulk_copy_to_all(uint32_t to, const void *from,
                                                        uint32_t bytes, uint32_t barrier,
                                                        uint16_t mask)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "h"(mask)
                 : "memory");
}

/* x, which the lanes of a warp share, so that the compiler knows it. */
static __device__ __forceinline__ uint32_t same_in_warp(uint32_t x)
{
    return __shfl_sync(0xffffffffu, x, 0);
}

/* ---- wgmma ------------------------------------------------------------------------------- */

static __device__ __forceinline__ void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until at most `left` committed groups are not done. */
template <int left = 0> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

/* The tiles of a ring begin at multiples of this. */
enum { RING_ALIGN = 1024 };

static __host__ __device__ constexpr int align_ring(int bytes)
{
    return (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
}

/* Where a ring begins in memory that has RING_ALIGN bytes more. */
static __device__ __forceinline__ uint8_t *align_memory(uint8_t *memory)
{
    return (uint8_t *)(((uintptr_t)memory + RING_ALIGN - 1) & ~(uintptr_t)(RING_ALIGN - 1));
}

/* A K-major tile with rows of 128 bytes and the 128-byte swizzle; groups of 8 rows follow one
 * another. The tile begins at a multiple of 1024; `address` may be 32, 64 or 96 bytes on. */
static __device__ __forceinline__ uint64_t swizzled_tile(uint32_t address)
{
    const uint64_t leading = 16 >> 4, stride = 1024 >> 4, swizzle_128 = 1;
    return (uint64_t)((address & 0x3ffff) >> 4) | leading << 16 | stride << 32 | swizzle_128 << 62;
}

/* The tile that begins `bytes` bytes after another. */
static __device__ __forceinline__ uint64_t tile_after(uint64_t tile, int bytes)
{
    return tile + (uint32_t)(bytes >> 4);
}

#define REGISTERS_0_3  "%0, %1, %2, %3"
#define REGISTERS_0_7  REGISTERS_0_3 ", %4, %5, %6, %7"
#define REGISTERS_0_15 REGISTERS_0_7 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_0_31                                                       \
    REGISTERS_0_15                                                           \
    ", "                                                                     \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
    "%30, %31"
#define REGISTERS_32_47                                                      \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
    "%46, %47"
#define REGISTERS_32_63                                                      \
    REGISTERS_32_47                                                          \
    ", "                                                                     \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
    "%62, %63"
#define REGISTERS_64_95                                                      \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, " \
    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, " \
    "%92, %93, %94, %95"
#define SUMS_4(d, i)  "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define SUMS_8(d, i)  SUMS_4(d, i), SUMS_4(d, (i) + 4)
#define SUMS_16(d, i) SUMS_8(d, i), SUMS_8(d, (i) + 8)
#define SUMS_32(d, i) SUMS_16(d, i), SUMS_16(d, (i) + 16)
#define WGMMA(n, registers, operands, adds_at, ...)                                    \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.u32 adds, " adds_at ", 0;\n"            \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32.bf16.bf16 {" registers \
                 "}, " operands ", adds, 1, 1, 0;\n}\n"                                \
                 : __VA_ARGS__                                                         \
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"((int)adds))

/* d [64,columns] = a [64,16] b [16,columns], which is added to what d has if `adds`: `a` in the
 * lanes' registers, `b` a swizzled tile of `columns` rows. */
template <int columns>
static __device__ __forceinline__ void wgmma_add(float (&d)[columns / 2], const uint4 &a,
                                                 uint64_t b, bool adds = true)
{
    static_assert(columns == 8 || columns == 16 || columns == 32 || columns == 64 ||
                          columns == 96 || columns == 128 || columns == 192,
                  "no such product");
    if constexpr (columns == 8)
        WGMMA("8", REGISTERS_0_3, "{%4, %5, %6, %7}, %8", "%9", SUMS_4(d, 0));
    else if constexpr (columns == 16)
        WGMMA("16", REGISTERS_0_7, "{%8, %9, %10, %11}, %12", "%13", SUMS_8(d, 0));
    else if constexpr (columns == 32)
        WGMMA("32", REGISTERS_0_15, "{%16, %17, %18, %19}, %20", "%21", SUMS_16(d, 0));
    else if constexpr (columns == 64)
        WGMMA("64", REGISTERS_0_31, "{%32, %33, %34, %35}, %36", "%37", SUMS_32(d, 0));
    else if constexpr (columns == 96)
        WGMMA("96", REGISTERS_0_31 ", " REGISTERS_32_47, "{%48, %49, %50, %51}, %52", "%53",
              SUMS_32(d, 0), SUMS_16(d, 32));
    else if constexpr (columns == 128)
        WGMMA("128", REGISTERS_0_31 ", " REGISTERS_32_63, "{%64, %65, %66, %67}, %68", "%69",
              SUMS_32(d, 0), SUMS_32(d, 32));
    else
        WGMMA("192", REGISTERS_0_31 ", " REGISTERS_32_63 ", " REGISTERS_64_95,
              "{%96, %97, %98, %99}, %100", "%101", SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64));
}

#define WGMMA_64(type, operands, adds_at, layouts, ...)                                          \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.u32 adds, " adds_at ", 0;\n"                      \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" REGISTERS_0_31 \
                 "}, " operands ", adds, 1, 1, " layouts ";\n}\n"                                \
                 : SUMS_32(d, 0)                                                                 \
                 : __VA_ARGS__, "l"(b), "n"((int)adds))

/* d [64,64] = a [64,16] b [16,64], of F16 or BF16, which is added to what d has if `adds`. Both are
 * swizzled tiles of 64 rows: those of a, and the columns of b. */
template <bool f16, bool adds>
static __device__ __forceinline__ void wgmma_add_tiles(float (&d)[32], uint64_t a, uint64_t b)
{
    if constexpr (f16)
        WGMMA_64("f16", "%32, %33", "%34", "0, 0", "l"(a));
    else
        WGMMA_64("bf16", "%32, %33", "%34", "0, 0", "l"(a));
}

/* The same with `a` in the lanes' registers; b is a swizzled tile of its 16 rows. */
template <bool f16, bool adds>
static __device__ __forceinline__ void wgmma_add_rows(float (&d)[32], const uint32_t (&a)[4],
                                                      uint64_t b)
{
    if constexpr (f16)
        WGMMA_64("f16", "{%32, %33, %34, %35}, %36", "%37", "1", "r"(a[0]), "r"(a[1]), "r"(a[2]),
                 "r"(a[3]));
    else
        WGMMA_64("bf16", "{%32, %33, %34, %35}, %36", "%37", "1", "r"(a[0]), "r"(a[1]), "r"(a[2]),
                 "r"(a[3]));
}

#undef REGISTERS_0_3
#undef REGISTERS_0_7
#undef REGISTERS_0_15
#undef REGISTERS_0_31
#undef REGISTERS_32_47
#undef REGISTERS_32_63
#undef REGISTERS_64_95
#undef SUMS_4
#undef SUMS_8
#undef SUMS_16
#undef SUMS_32
#undef WGMMA
#undef WGMMA_64

#endif
