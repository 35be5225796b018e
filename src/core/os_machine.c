/* Processors, memory, the clocks and the program itself, on POSIX systems. */
#include "core/os.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/cpu_topology.h"

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach/mach.h>
#endif

#if defined(__linux__)
static int count_cores(const cpu_set_t *set)
{
    bool allowed[VUG_MAX_HARDWARE_THREADS];
    _Static_assert((int)CPU_SETSIZE <= (int)VUG_MAX_HARDWARE_THREADS, "all threads of a set");
    for (int i = 0; i < CPU_SETSIZE; i++)
        allowed[i] = CPU_ISSET((size_t)i, set);
    return vug_count_cores("/sys/devices/system/cpu", allowed, CPU_SETSIZE);
}

/* The CPU quota of a container in processors, rounded up; 0: no limit. With more threads the
 * kernel would throttle all of them for part of every period. */
static int read_cpu_quota(void)
{
    char line[64], period_line[64];
    /* "MAX PERIOD", or "max PERIOD" */
    vug_read_system_line("/sys/fs/cgroup/cpu.max", line, sizeof(line));
    char *end;
    long long most = strtoll(line, &end, 10);
    long long period = end > line ? strtoll(end, NULL, 10) : 0;
    if (!line[0]) { /* control groups of version 1; no limit is -1 */
        vug_read_system_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof(line));
        vug_read_system_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period_line,
                             sizeof(period_line));
        most = strtoll(line, NULL, 10);
        period = strtoll(period_line, NULL, 10);
    }
    if (most <= 0 || period <= 0 || most / period >= CPU_SETSIZE)
        return 0;
    return (int)(most / period + (most % period != 0));
}
#endif

static int limit_to_quota(long count)
{
#if defined(__linux__)
    const int most = read_cpu_quota();
    if (most > 0 && most < count)
        count = most;
#endif
    return count > 0 ? (int)count : 1;
}

/* Hardware threads of one core compete for its arithmetic units, so siblings count once. */
int vug_cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        count = count_cores(&allowed);
#endif
    return limit_to_quota(count);
}

int vug_logical_cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        count = CPU_COUNT(&allowed);
#endif
    return limit_to_quota(count);
}

uint64_t vug_memory_size(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

#if defined(__linux__)
/* What the control group of this process still allows; UINT64_MAX without a limit. */
static uint64_t read_group_memory(void)
{
    char line[64];
    char *end;
    /* a number, or "max" */
    vug_read_system_line("/sys/fs/cgroup/memory.max", line, sizeof(line));
    const uint64_t most = strtoull(line, &end, 10);
    if (end == line)
        return UINT64_MAX;
    vug_read_system_line("/sys/fs/cgroup/memory.current", line, sizeof(line));
    const uint64_t used = strtoull(line, &end, 10);
    return most > used ? most - used : 0;
}
#endif

uint64_t vug_memory_available(void)
{
#if defined(__linux__)
    char line[96];
    uint64_t available = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "MemAvailable:", 13) == 0)
            available = strtoull(line + 13, NULL, 10) * 1024;
    }
    if (file)
        (void)fclose(file);
    const uint64_t group = read_group_memory();
    return available < group ? available : group;
#else
    return vug_memory_size() / 2;
#endif
}

uint64_t vug_memory_peak(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

int64_t vug_local_time(void)
{
    const time_t now = time(NULL);
    struct tm local;
    return localtime_r(&now, &local) ? (int64_t)timegm(&local) : (int64_t)now;
}

uint64_t vug_memory_resident(void)
{
#if defined(__linux__)
    char line[64];
    /* "SIZE RESIDENT ..", in pages */
    vug_read_system_line("/proc/self/statm", line, sizeof(line));
    char *end;
    (void)strtoull(line, &end, 10);
    const long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? strtoull(end, NULL, 10) * (uint64_t)page : 0;
#elif defined(__APPLE__)
    struct mach_task_basic_info info;
    mach_msg_type_number_t n = MACH_TASK_BASIC_INFO_COUNT;
    return task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &n) == KERN_SUCCESS
                   ? info.resident_size
                   : 0;
#else
    return 0;
#endif
}

static double read_clock(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double vug_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double vug_thread_cpu_time(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the program ---------------------------------------------------------- */

enum { MAX_PATH_BYTES = 16384 };

/* Returns the length of the path, without a NUL; 0 when it is not known. */
static size_t read_program_path(char path[MAX_PATH_BYTES])
{
#if defined(__linux__)
    const ssize_t n = readlink("/proc/self/exe", path, MAX_PATH_BYTES);
    return n > 0 && n < MAX_PATH_BYTES ? (size_t)n : 0;
#elif defined(__APPLE__)
    char linked[MAX_PATH_BYTES], plain[PATH_MAX];
    uint32_t size = sizeof(linked);
    if (_NSGetExecutablePath(linked, &size) != 0 || !realpath(linked, plain))
        return 0;
    const size_t n = strlen(plain);
    memcpy(path, plain, n);
    return n;
#else
    (void)path;
    return 0;
#endif
}

vug_status vug_program_path(char **out, vug_err *err)
{
    char path[MAX_PATH_BYTES];
    const size_t n = read_program_path(path);
    if (n == 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "this system does not report the path of the running program");
    char *copy = vug_alloc(n + 1, 1);
    if (!copy)
        return VUG_FAIL_NOMEM(err, "a path", n + 1);
    memcpy(copy, path, n);
    copy[n] = '\0';
    *out = copy;
    return VUG_OK;
}
