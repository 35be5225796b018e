#ifndef VUG_CORE_CPU_TOPOLOGY_H
#define VUG_CORE_CPU_TOPOLOGY_H

#include <stdbool.h>

/* The first line of a small file, such as those in /proc and /sys; empty when it cannot be read. */
void vug_read_system_line(const char *path, char *line, int size);

enum { VUG_MAX_HARDWARE_THREADS = 1024 };

/* The physical cores that have at least one of the hardware threads 0 .. n - 1 with `allowed` set,
 * n <= VUG_MAX_HARDWARE_THREADS.
 * `root` is the folder in which Linux describes them, /sys/devices/system/cpu; a thread that it does not
 * describe counts as a core. */
int vug_count_cores(const char *root, const bool *allowed, int n);

#endif
