#ifndef VUG_MODELS_CONFIG_KEYS_H
#define VUG_MODELS_CONFIG_KEYS_H

/*
 * A reader of the keys of a JSON config: errors are sticky, numbers have ranges, and null
 * counts as absent, because published files use both.
 */

#include "core/json.h"

typedef struct {
    const vug_jv *object; /* borrowed */
    const char *file;     /* for error messages */
    vug_status st;        /* sticky */
    vug_err err;
} vug_config_keys;

#define VUG_REQUIRED INT64_MIN /* as a fallback: fail if the key is absent */

/* NULL if the key is absent or null. */
const vug_jv *vug_key_get(vug_config_keys *k, const char *key);
int64_t vug_key_int(vug_config_keys *k, const char *key, int64_t fallback, int64_t min,
                    int64_t max);
double vug_key_number(vug_config_keys *k, const char *key, double fallback, double min, double max);
bool vug_key_bool(vug_config_keys *k, const char *key, bool fallback);
/* NULL if absent or null; fails on a value of another type. */
const vug_jv *vug_key_object(vug_config_keys *k, const char *key);
/* `fallback` may be NULL; then ptr is NULL if the key is absent. */
vug_str vug_key_string(vug_config_keys *k, const char *key, const char *fallback);
/* Token ids, written as one number or as a list; returns how many, at most `max`. */
int vug_key_ids(vug_config_keys *k, const char *key, int32_t *out, int max);
/* A reader of an object inside `k`'s. It starts with `k`'s status; leave returns its own
 * status to `k`. */
vug_config_keys vug_config_keys_enter(const vug_config_keys *k, const vug_jv *object);
void vug_config_keys_leave(vug_config_keys *k, const vug_config_keys *sub);
/* The sticky status, once everything is read. */
VUG_MUST_CHECK vug_status vug_config_keys_status(const vug_config_keys *k, vug_err *err);
void vug_config_keys_fail(vug_config_keys *k, vug_status code, const char *fmt, ...)
        VUG_PRINTF(3, 4);

#endif
