/* The state that all files share: the first failure, the limits, the memory. */

#include "text/template/template_run.h"

#include <stdarg.h>
#include <stdio.h>

vug_tmpl_value vug_tmpl_fail(vug_tmpl_run *run, vug_status code, const char *fmt, ...)
{
    if (!run || run->st != VUG_OK)
        return vug_tmpl_none();
    char message[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    run->st = VUG_FAIL(&run->err, code, "%s: line %u: %s", run->name, run->line, message);
    return vug_tmpl_none();
}

bool vug_tmpl_charge(vug_tmpl_run *run, size_t steps)
{
    if (run->st != VUG_OK)
        return false;
    run->steps += steps;
    if (run->steps <= VUG_TMPL_MAX_STEPS)
        return true;
    (void)vug_tmpl_fail(run, VUG_FORMAT, "more than %llu steps",
                        (unsigned long long)VUG_TMPL_MAX_STEPS);
    return false;
}

bool vug_tmpl_descend(vug_tmpl_run *run)
{
    if (!vug_tmpl_charge(run, 1))
        return false;
    if (run->depth >= VUG_TMPL_MAX_DEPTH) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "nested deeper than %d levels", VUG_TMPL_MAX_DEPTH);
        return false;
    }
    run->depth++;
    return true;
}

void *vug_tmpl_alloc(vug_tmpl_run *run, size_t n, size_t size)
{
    if (run->st != VUG_OK)
        return NULL;
    void *out = vug_arena_alloc(&run->arena, n, size);
    if (!out)
        (void)vug_tmpl_fail(run, VUG_NOMEM, "out of memory: values of more than %zu bytes",
                            VUG_TMPL_MAX_MEMORY);
    return out;
}
