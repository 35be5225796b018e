#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_RUN_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_RUN_H

/*
 * The state of a rendering, and its limits. A run keeps its first failure, with the line of the
 * template. Later calls return without effect, so loops must ask vug_tmpl_ok.
 */

#include "text/template/template_value.h"

#define VUG_TMPL_MAX_STEPS      ((uint64_t)1 << 24) /* a node costs one; long operations cost more */
#define VUG_TMPL_MAX_MEMORY     ((size_t)256 << 20) /* bytes of all values */
#define VUG_TMPL_MAX_OUTPUT     ((size_t)64 << 20)  /* bytes of the output, and of a string */
#define VUG_TMPL_MAX_DEPTH      1000                /* nested nodes, through macros and loops too */
#define VUG_TMPL_MAX_RANGE      100000              /* elements of range(), Jinja's own limit */
#define VUG_TMPL_BYTES_PER_STEP 32                  /* copied or searched */
#define VUG_TMPL_CHARS_PER_STEP 4                   /* read character by character */

/* The last string that was made by adding, with spare room. Adding to it again appends in place,
 * so that collecting output in a variable takes linear time. */
typedef struct {
    char *ptr;
    uint8_t *taint;
    size_t used, cap;
} vug_tmpl_tail;

/* The last position looked up in a string: character `index` begins at byte `offset`. */
typedef struct {
    const char *ptr;
    size_t len, chars; /* bytes; characters */
    size_t index, offset;
} vug_tmpl_cursor;

struct vug_tmpl_run {
    const char *name; /* of the template */
    vug_arena arena;
    vug_buf out, taint; /* the output, then strings being built; a taint per byte */
    uint64_t steps;
    int depth;
    uint32_t line;
    int64_t now;
    vug_tmpl_tail tail;
    vug_tmpl_list list_tail; /* the same for lists */
    vug_tmpl_cursor cursor;
    vug_tmpl_value filter_input; /* the text that a filter block filters */
    vug_status st;               /* sticky */
    vug_err err;
};

static inline bool vug_tmpl_ok(const vug_tmpl_run *run)
{
    return run->st == VUG_OK;
}
/* Keeps the first failure, with name and line. Returns None. */
vug_tmpl_value vug_tmpl_fail(vug_tmpl_run *run, vug_status code, const char *fmt, ...)
        VUG_PRINTF(3, 4);
/* Charges steps. False after too many, or after a failure. */
bool vug_tmpl_charge(vug_tmpl_run *run, size_t steps);
static inline bool vug_tmpl_charge_bytes(vug_tmpl_run *run, size_t bytes)
{
    return vug_tmpl_charge(run, bytes / VUG_TMPL_BYTES_PER_STEP);
}
/* Goes one level down, which costs a step; the caller decrements run->depth. False after a
 * failure. */
bool vug_tmpl_descend(vug_tmpl_run *run);
/* Zeroed memory. Fails and returns NULL beyond VUG_TMPL_MAX_MEMORY. */
void *vug_tmpl_alloc(vug_tmpl_run *run, size_t n, size_t size);

#endif
