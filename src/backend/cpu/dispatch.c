/*
 * Selecting the kernels. This is the only file that asks for the processor's features. Sets
 * are ordered from the slowest, which runs everywhere, to the fastest; all give the same bits.
 */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel_sets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

typedef struct {
    const vug_cpu_kernels *kernels;
    bool (*is_supported)(void);
} kernel_set;

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
/* The compiler's builtin also checks that the operating system saves the wide registers. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* In leaf 7, subleaf 1; compilers know a name for it only since 2023. */
static bool has_avx_vnni(void)
{
    unsigned a, b, c, d;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1 << 4);
}

/* Processors with VNNI in 512 bits have these extensions, but virtual machines may hide some. */
static bool has_avx512_vnni(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

static bool has_avx512_bf16(void)
{
    return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16");
}

/* Linux saves the tiles only of processes that have asked for it, once, and may refuse. The numbers
 * are ARCH_REQ_XCOMP_PERM of asm/prctl.h, which older headers lack, and the state's number in XCR0. */
static bool may_use_tiles(void)
{
#if defined(__linux__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, (long)REQUEST_PERMISSION, (long)TILE_DATA) == 0;
#else
    return false;
#endif
}

/* In leaf 7; compilers know these features only since 2023. */
static bool has_amx_int8(void)
{
    enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    unsigned a, b, c, d;
    return has_avx512_bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_TILE) &&
           (d & AMX_INT8) && may_use_tiles();
}
#elif defined(__aarch64__) && defined(__APPLE__)
static bool has_feature(const char *name)
{
    int value = 0;
    size_t size = sizeof(value);
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
}

static bool has_dotprod(void)
{
    return has_feature("hw.optional.arm.FEAT_DotProd");
}

static bool has_bf16(void)
{
    return has_dotprod() && has_feature("hw.optional.arm.FEAT_BF16");
}

static bool has_i8mm(void)
{
    return has_bf16() && has_feature("hw.optional.arm.FEAT_I8MM");
}
#elif defined(__aarch64__) && defined(__linux__)
static bool has_dotprod(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

static bool has_bf16(void)
{
    return has_dotprod() && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
}

static bool has_i8mm(void)
{
    return has_bf16() && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
}
#endif

static const kernel_set sets[] = {
    { &vug_cpu_kernels_ref, always },
#if defined(__x86_64__)
    { &vug_cpu_kernels_avx2, has_avx2 },
    { &vug_cpu_kernels_avx_vnni, has_avx_vnni },
    { &vug_cpu_kernels_avx512_vnni, has_avx512_vnni },
    { &vug_cpu_kernels_avx512_bf16, has_avx512_bf16 },
    { &vug_cpu_kernels_amx_int8, has_amx_int8 },
#elif defined(__aarch64__)
    { &vug_cpu_kernels_neon, always }, /* every processor has NEON */
#if defined(__linux__) || defined(__APPLE__)
    { &vug_cpu_kernels_neon_dotprod, has_dotprod },
    { &vug_cpu_kernels_neon_bf16, has_bf16 },
    { &vug_cpu_kernels_neon_i8mm, has_i8mm },
#endif
#endif
};

enum { N_SETS = sizeof(sets) / sizeof(sets[0]) };

const vug_cpu_kernels *vug_cpu_kernels_select(const char *cap)
{
    const vug_cpu_kernels *best = NULL;
    for (int i = 0; i < N_SETS; i++) {
        if (sets[i].is_supported())
            best = sets[i].kernels;
        if (cap && strcmp(sets[i].kernels->name, cap) == 0)
            return best;
    }
    return cap ? NULL : best;
}

int vug_cpu_kernels_count(void)
{
    int n = 0;
    for (int i = 0; i < N_SETS; i++)
        n += sets[i].is_supported();
    return n;
}

const vug_cpu_kernels *vug_cpu_kernels_at(int i)
{
    for (int j = 0; j < N_SETS; j++) {
        if (sets[j].is_supported() && i-- == 0)
            return sets[j].kernels;
    }
    return NULL;
}

const char *vug_cpu_kernels_names(char *buffer, size_t size)
{
    size_t at = 0;
    buffer[0] = '\0';
    for (int i = 0; i < N_SETS && at < size; i++)
        at += (size_t)snprintf(buffer + at, size - at, "%s%s", i ? ", " : "",
                               sets[i].kernels->name);
    return buffer;
}

const char *vug_cpu_brand(char *buffer, size_t size)
{
    buffer[0] = '\0';
#if defined(__x86_64__)
    unsigned word[12];
    for (size_t i = 0; i < 3; i++) {
        if (!__get_cpuid(0x80000002 + (unsigned)i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2],
                         &word[4 * i + 3]))
            return buffer;
    }
    char text[sizeof(word) + 1];
    memcpy(text, word, sizeof(word));
    text[sizeof(word)] = '\0';
    const char *start = text + strspn(text, " ");
    size_t len = strlen(start);
    while (len > 0 && start[len - 1] == ' ')
        len--;
    (void)snprintf(buffer, size, "%.*s", (int)len, start);
#else
    (void)size;
#endif
    return buffer;
}
