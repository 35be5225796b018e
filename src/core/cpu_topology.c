/* Which hardware threads share a core, as Linux tells it. */
#include "core/cpu_topology.h"

#include <stdio.h>
#include <stdlib.h>

void vug_read_system_line(const char *path, char *line, int size)
{
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(line, size, file))
        line[0] = '\0';
    (void)fclose(file);
}

/* The first of the threads below `n` that share a core with `thread`. The list is one like "0,4" or
 * "0-1". */
static int first_sibling(const char *root, int thread, int n)
{
    char path[256], line[16];
    (void)snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings_list", root, thread);
    vug_read_system_line(path, line, sizeof(line));
    char *end;
    const long first = strtol(line, &end, 10);
    return end > line && first >= 0 && first < n ? (int)first : thread;
}

/* The first thread of a core identifies it. */
int vug_count_cores(const char *root, const bool *allowed, int n)
{
    bool is_counted[VUG_MAX_HARDWARE_THREADS] = { false };
    int count = 0;
    for (int i = 0; i < n && i < VUG_MAX_HARDWARE_THREADS; i++) {
        const int core = allowed[i] ? first_sibling(root, i, n) : i;
        count += allowed[i] && !is_counted[core];
        is_counted[core] |= allowed[i];
    }
    return count;
}
