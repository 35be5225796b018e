#ifndef VUG_MODELS_KEYS_H
#define VUG_MODELS_KEYS_H

/*
 * Reading keys of a config: sticky, with ranges, and null as good as absent,
 * because published files write both.
 */

#include "core/json.h"

typedef struct {
    const vug_jv *object; /* borrowed */
    const char *file;     /* for sentences */
    vug_status st;        /* sticky */
    vug_err err;
} vug_keys;

#define VUG_REQUIRED INT64_MIN /* as a default: fail when the key is absent */

/* NULL when the key is absent or null. */
const vug_jv *vug_key(vug_keys *k, const char *key);
int64_t vug_key_int(vug_keys *k, const char *key, int64_t fallback, int64_t min, int64_t max);
double vug_key_number(vug_keys *k, const char *key, double fallback, double min, double max);
bool vug_key_bool(vug_keys *k, const char *key, bool fallback);
/* NULL when absent or null; another kind of value fails. */
const vug_jv *vug_key_object(vug_keys *k, const char *key);
/* `fallback` may be NULL; then ptr is NULL when absent. */
vug_str vug_key_string(vug_keys *k, const char *key, const char *fallback);
/* Token ids, written as one number or as a list; returns how many, at most `max`. */
int vug_key_ids(vug_keys *k, const char *key, int32_t *out, int max);
/* Keys of an object inside: `sub` goes on where `k` is, and leaves its failure to it. */
vug_keys vug_keys_inside(const vug_keys *k, const vug_jv *object);
void vug_keys_leave(vug_keys *k, const vug_keys *sub);
/* How it went, at the end. */
VUG_MUST_CHECK vug_status vug_keys_end(const vug_keys *k, vug_err *err);
void vug_keys_fail(vug_keys *k, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);

#endif
