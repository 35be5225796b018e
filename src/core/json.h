#ifndef VUG_CORE_JSON_H
#define VUG_CORE_JSON_H

/*
 * JSON (RFC 8259), strict: a pull reader for large files, a tree for small
 * ones, and a writer.
 *
 * The reader borrows its input and hands out strings in place; only strings
 * with escapes are decoded, into the reader's arena. It is sticky: the first
 * failure is kept with line and column, later calls yield nothing, and
 * vug_json_finish reports it. UTF-8 is validated, nesting is bounded, numbers
 * follow the grammar; duplicate keys are the caller's business in the pull
 * reader and an error in the tree.
 *
 *     vug_json_enter_object(&j);
 *     while (vug_json_key(&j, &key)) {
 *         if (vug_str_is(key, "n")) n = vug_json_i64(&j, 0, 100);
 *         else vug_json_skip(&j);
 *     }
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "core/status.h"

#define VUG_JSON_MAX_DEPTH 64

typedef enum {
    VUG_JSON_NULL,
    VUG_JSON_BOOL,
    VUG_JSON_NUMBER,
    VUG_JSON_STRING,
    VUG_JSON_ARRAY,
    VUG_JSON_OBJECT,
    VUG_JSON_NOTHING, /* no value here: the end, or a failure */
} vug_json_type;

typedef struct {
    vug_str src;
    size_t pos;
    int depth;
    bool first[VUG_JSON_MAX_DEPTH]; /* no member read yet, per open container */
    vug_arena *arena;               /* borrowed; decoded strings live there */
    const char *name;               /* of the input, for sentences; borrowed */
    vug_status st;                  /* sticky */
    vug_err err;
} vug_json;

/* `name` and `arena` must outlive the reader. */
vug_json vug_json_over(vug_str src, const char *name, vug_arena *arena);

vug_json_type vug_json_peek(vug_json *j);
/* Failing when the next value is of another kind. */
void vug_json_enter_object(vug_json *j);
void vug_json_enter_array(vug_json *j);
/* True and the next key, with the reader before its value; false after the
 * closing brace. */
bool vug_json_key(vug_json *j, vug_str *key);
/* True with the reader before the next element; false after the bracket. */
bool vug_json_element(vug_json *j);
/* Valid as long as both the input and the arena. */
vug_str vug_json_string(vug_json *j);
double vug_json_f64(vug_json *j);
/* Written without fraction and exponent, within [min, max]. */
int64_t vug_json_i64(vug_json *j, int64_t min, int64_t max);
uint64_t vug_json_u64(vug_json *j, uint64_t max);
bool vug_json_bool(vug_json *j);
void vug_json_skip(vug_json *j);

/* Keeps a failure of the caller's at the current position. */
void vug_json_fail(vug_json *j, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);
static inline bool vug_json_ok(const vug_json *j)
{
    return j->st == VUG_OK;
}
/* The kept failure, or one if anything but whitespace follows. */
VUG_MUST_CHECK vug_status vug_json_finish(vug_json *j, vug_err *err);

/* ---- tree ---------------------------------------------------------------- */

typedef struct vug_jv vug_jv;

struct vug_jv {
    vug_json_type type;
    bool boolean;
    bool is_int;   /* a number written without fraction and exponent that fits i64 */
    int64_t i64;   /* of an is_int number */
    double f64;    /* of any number */
    vug_str key;   /* of a member of an object */
    vug_str str;   /* of a string; of anything else its spelling in the source */
    vug_jv *child; /* first member or element */
    vug_jv *next;  /* sibling */
    size_t n;      /* members or elements */
};

/* Everything lives in `arena`, strings without escapes in `src`. */
VUG_MUST_CHECK vug_status vug_json_tree(vug_str src, const char *name, vug_arena *arena,
                                        const vug_jv **out, vug_err *err);
/* The next value of a reader as a tree in the reader's arena; NULL on failure. */
const vug_jv *vug_json_value(vug_json *j);
/* NULL when `v` is NULL, no object, or lacks the key. */
const vug_jv *vug_jv_get(const vug_jv *v, const char *key);
static inline bool vug_jv_is(const vug_jv *v, vug_json_type type)
{
    return v && v->type == type;
}

/* ---- writer -------------------------------------------------------------- */

/* A string with quotes and escapes; bytes that are not UTF-8 become U+FFFD. */
void vug_json_write_string(vug_buf *to, const char *text, size_t len);
/* The shortest form that reads back to the same value; null for inf and nan. */
void vug_json_write_f64(vug_buf *to, double v);
void vug_json_write_f32(vug_buf *to, float v);

#endif
