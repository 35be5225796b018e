#ifndef VUG_CORE_JSON_H
#define VUG_CORE_JSON_H

/*
 * Reading JSON (RFC 8259), strictly: a pull reader for large files and a tree
 * for small ones. core/json_writer.h writes it.
 *
 * The reader borrows its input and returns strings in place; only strings with
 * escapes are decoded, into the reader's arena. It is sticky: it keeps the first
 * failure with line and column, later calls return nothing, and vug_json_finish
 * reports the failure. UTF-8 is validated, nesting is limited and numbers follow
 * the grammar. The tree rejects duplicate keys; with the pull reader the caller
 * checks for them.
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
    VUG_JSON_NOTHING, /* no value: the end of the input, or a failure */
} vug_json_type;

typedef struct {
    vug_str src;
    size_t pos;
    int depth;
    bool first[VUG_JSON_MAX_DEPTH]; /* per open container: no member has been read */
    vug_arena *arena;               /* borrowed; decoded strings live there */
    const char *name;               /* of the input, for error messages; borrowed */
    vug_status st;                  /* sticky */
    vug_err err;
} vug_json_reader;

/* `name` and `arena` must outlive the reader. */
vug_json_reader vug_json_reader_over(vug_str src, const char *name, vug_arena *arena);

vug_json_type vug_json_peek(vug_json_reader *j);
/* These fail when the next value is of another type. */
void vug_json_enter_object(vug_json_reader *j);
void vug_json_enter_array(vug_json_reader *j);
/* Returns true with the next key, and the reader is before its value; returns
 * false after the closing brace. */
bool vug_json_key(vug_json_reader *j, vug_str *key);
/* True when the reader is before the next element; false after the bracket. */
bool vug_json_element(vug_json_reader *j);
/* The result is valid as long as both the input and the arena. */
vug_str vug_json_string(vug_json_reader *j);
double vug_json_f64(vug_json_reader *j);
/* The number must have no fraction and no exponent, and be within [min, max]. */
int64_t vug_json_i64(vug_json_reader *j, int64_t min, int64_t max);
uint64_t vug_json_u64(vug_json_reader *j, uint64_t max);
bool vug_json_bool(vug_json_reader *j);
void vug_json_skip(vug_json_reader *j);

/* Records a failure that the caller found, at the current position. */
void vug_json_fail(vug_json_reader *j, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);
static inline bool vug_json_ok(const vug_json_reader *j)
{
    return j->st == VUG_OK;
}
/* Returns the kept failure, or one if anything but whitespace follows. */
VUG_MUST_CHECK vug_status vug_json_finish(vug_json_reader *j, vug_err *err);

/* ---- tree ---------------------------------------------------------------- */

typedef struct vug_jv vug_jv;

struct vug_jv {
    vug_json_type type;
    bool boolean;
    bool is_int;   /* the number has no fraction and no exponent, and fits i64 */
    int64_t i64;   /* if is_int */
    double f64;    /* of every number */
    vug_str key;   /* of a member of an object */
    vug_str str;   /* the string; for other types the source text of the value */
    vug_jv *child; /* first member or element */
    vug_jv *last;  /* the last one */
    vug_jv *next;  /* sibling */
    size_t n;      /* members or elements */
    uint64_t keys; /* of an object: the vug_jv_key_bit of every member, as in a Bloom filter */
};

/* Nodes and decoded strings live in `arena`, strings without escapes in `src`. */
VUG_MUST_CHECK vug_status vug_json_tree(vug_str src, const char *name, vug_arena *arena,
                                        const vug_jv **out, vug_err *err);
/* The next value of a reader as a tree in the reader's arena; NULL on failure. */
const vug_jv *vug_json_value(vug_json_reader *j);
/* Adds a member or element, whose key is set, at the end of an object or array. */
void vug_jv_append(vug_jv *to, vug_jv *member);
static inline bool vug_jv_is(const vug_jv *v, vug_json_type type)
{
    return v && v->type == type;
}

/* One of 64 bits. It is inline, so that compilers know the bit of a literal. With these factors,
 * few keywords of JSON Schema share a bit with a frequent one. */
static inline uint64_t vug_jv_key_bit(vug_str key)
{
    if (key.len == 0)
        return 1;
    const size_t middle = (uint8_t)key.ptr[key.len / 2], end = (uint8_t)key.ptr[key.len - 1];
    return (uint64_t)1 << ((13 * middle + 12 * end + 11 * key.len) % 64);
}

/* Looks at each member of an object. NULL if none has the key. */
const vug_jv *vug_jv_search(const vug_jv *object, vug_str key);
/* NULL when `v` is NULL, is not an object, or lacks the key. Most objects that lack it are known
 * by a bit, without a search. */
static inline const vug_jv *vug_jv_find(const vug_jv *v, vug_str key)
{
    if (!v || v->type != VUG_JSON_OBJECT || !(v->keys & vug_jv_key_bit(key)))
        return NULL;
    return vug_jv_search(v, key);
}
static inline const vug_jv *vug_jv_get(const vug_jv *v, const char *key)
{
    return vug_jv_find(v, vug_str_of(key));
}

#endif
