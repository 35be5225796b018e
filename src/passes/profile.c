/*
 * The compile profile: a TOML file that says what the passes may do. A key exists
 * only if the engine honours it. A key with one possible value so far accepts only that
 * value, so a profile never promises what does not happen.
 */
#include "passes/passes.h"

#include "core/number.h"
#include "core/toml.h"

#include <stdio.h>

enum { MAX_TILE_ROWS = 4096, MAX_SEEN = 64 };

/* The state of reading a file. */
typedef struct {
    vug_toml toml;
    vug_profile *out;
    bool all_given, all;           /* fusion.all */
    bool given[VUG_OP_COUNT];      /* fusions that the file names */
    vug_toml_entry seen[MAX_SEEN]; /* tables and keys that were read */
    size_t n_seen;
} profile_reader;

static void fail_value(profile_reader *r, const vug_toml_entry *e, const char *what)
{
    vug_toml_fail(&r->toml, e->line, "%.*s.%.*s must be %s", VUG_STR_ARG(e->table),
                  VUG_STR_ARG(e->key), what);
}

/* ---- values ------------------------------------------------------------------ */

static bool read_flag(profile_reader *r, const vug_toml_entry *e)
{
    if (e->type != VUG_TOML_BOOL)
        fail_value(r, e, "true or false");
    return e->boolean;
}

static int64_t read_whole(profile_reader *r, const vug_toml_entry *e, int64_t min, int64_t max)
{
    char text[80];
    (void)snprintf(text, sizeof(text), "a whole number from %lld to %lld", (long long)min,
                   (long long)max);
    if (e->type != VUG_TOML_INTEGER || e->integer < min || e->integer > max)
        fail_value(r, e, text);
    return e->integer;
}

/* A key that has one valid value so far. */
static void read_word(profile_reader *r, const vug_toml_entry *e, const char *word)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "\"%s\", the only choice so far", word);
    if (e->type != VUG_TOML_STRING || !vug_str_is(e->string, word))
        fail_value(r, e, text);
}

/* 1000, "512M", "4G": powers of 1024. */
static uint64_t read_bytes(profile_reader *r, const vug_toml_entry *e)
{
    static const char units[] = "KMGT", what[] = "bytes above 0, as 1000000 or \"4G\"";
    uint64_t bytes = 0;
    if (e->type == VUG_TOML_INTEGER && e->integer > 0)
        return (uint64_t)e->integer;
    if (e->type == VUG_TOML_STRING && e->string.len > 1 && e->string.len < 20) {
        char digits[24];
        const char *unit = strchr(units, e->string.ptr[e->string.len - 1]);
        memcpy(digits, e->string.ptr, e->string.len - 1);
        digits[e->string.len - 1] = '\0';
        int64_t n = 0;
        const bool whole = digits[0] >= '1' && digits[0] <= '9' && vug_parse_i64(digits, &n);
        if (unit && whole && n > 0 &&
            vug_mul_size((uint64_t)n, (uint64_t)1 << (10 * (unit - units + 1)), &bytes))
            return bytes;
    }
    fail_value(r, e, what);
    return 0;
}

/* ---- keys -------------------------------------------------------------------- */

static bool read_fusion(profile_reader *r, const vug_toml_entry *e)
{
    if (vug_str_is(e->key, "all")) {
        r->all_given = true;
        r->all = read_flag(r, e);
        return true;
    }
    for (vug_op op = 0; op < VUG_OP_COUNT; op++) {
        if (!vug_op_is_fused(op) || !vug_str_is(e->key, vug_op_name(op)))
            continue;
        r->given[op] = true;
        r->out->off[op] = !read_flag(r, e);
        return true;
    }
    return false;
}

static vug_kv_format read_kv(profile_reader *r, const vug_toml_entry *e)
{
    const vug_kv_format kv =
            e->type == VUG_TOML_STRING ? vug_kv_format_find(e->string) : VUG_KV_COUNT;
    if (kv == VUG_KV_COUNT)
        fail_value(r, e, VUG_KV_FORMAT_NAMES);
    return kv;
}

static vug_activations read_activations(profile_reader *r, const vug_toml_entry *e)
{
    const vug_activations activations =
            e->type == VUG_TOML_STRING ? vug_activations_find(e->string) : VUG_ACTIVATIONS_COUNT;
    if (activations == VUG_ACTIVATIONS_COUNT)
        fail_value(r, e, VUG_ACTIVATIONS_NAMES);
    return activations;
}

static bool read_precision(profile_reader *r, const vug_toml_entry *e)
{
    if (vug_str_is(e->key, "activations"))
        r->out->activations = read_activations(r, e);
    else if (vug_str_is(e->key, "kv"))
        r->out->kv = read_kv(r, e);
    else
        return false;
    return true;
}

static bool read_weights(profile_reader *r, const vug_toml_entry *e)
{
    if (!vug_str_is(e->key, "packing"))
        return false;
    read_word(r, e, "none");
    return true;
}

static bool read_attention(profile_reader *r, const vug_toml_entry *e)
{
    if (!vug_str_is(e->key, "tile_rows"))
        return false;
    r->out->tile_rows = (int)read_whole(r, e, 1, MAX_TILE_ROWS);
    return true;
}

static bool read_memory(profile_reader *r, const vug_toml_entry *e)
{
    if (!vug_str_is(e->key, "budget"))
        return false;
    r->out->budget = read_bytes(r, e);
    return true;
}

/* Each table, the function that reads its keys (false: unknown key), and the keys for the
 * error message; those of fusions follow from ops.def. */
static const struct {
    const char *name;
    bool (*read)(profile_reader *r, const vug_toml_entry *e);
    const char *keys;
} tables[] = {
    { "fusion", read_fusion, "all" },       { "precision", read_precision, "activations, kv" },
    { "weights", read_weights, "packing" }, { "attention", read_attention, "tile_rows" },
    { "memory", read_memory, "budget" },
};

static void fail_unknown_key(profile_reader *r, const vug_toml_entry *e, size_t table)
{
    char keys[256];
    size_t n = (size_t)snprintf(keys, sizeof(keys), "%s", tables[table].keys);
    for (vug_op op = 0; tables[table].read == read_fusion && op < VUG_OP_COUNT; op++) {
        if (vug_op_is_fused(op))
            n += (size_t)snprintf(keys + n, sizeof(keys) - n, ", %s", vug_op_name(op));
    }
    vug_toml_fail(&r->toml, e->line, "unknown key '%.*s' in [%s]; its keys: %s",
                  VUG_STR_ARG(e->key), tables[table].name, keys);
}

/* Every table and key may appear once; there are fewer than MAX_SEEN known ones. */
static void check_once(profile_reader *r, const vug_toml_entry *e)
{
    for (size_t i = 0; i < r->n_seen; i++) {
        if (vug_str_equal(r->seen[i].table, e->table) && vug_str_equal(r->seen[i].key, e->key))
            vug_toml_fail(&r->toml, e->line, "%.*s%s%.*s appeared already on line %d",
                          VUG_STR_ARG(e->table), e->key.len ? "." : "", VUG_STR_ARG(e->key),
                          r->seen[i].line);
    }
    if (r->n_seen < MAX_SEEN)
        r->seen[r->n_seen++] = *e;
}

static void read_entry(profile_reader *r, const vug_toml_entry *e)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (!vug_str_is(e->table, tables[i].name))
            continue;
        check_once(r, e);
        if (e->key.len > 0 && r->toml.st == VUG_OK && !tables[i].read(r, e))
            fail_unknown_key(r, e, i);
        return;
    }
    if (e->table.len == 0)
        vug_toml_fail(&r->toml, e->line, "key '%.*s' belongs to no table", VUG_STR_ARG(e->key));
    else
        vug_toml_fail(&r->toml, e->line,
                      "unknown table [%.*s]; the tables are fusion, precision, weights, attention "
                      "and memory",
                      VUG_STR_ARG(e->table));
}

vug_status vug_profile_read(vug_str text, const char *file, vug_profile *out, vug_err *err)
{
    vug_profile profile = { 0 };
    profile_reader r = { .toml = vug_toml_over(text, file), .out = &profile };
    vug_toml_entry e;
    (void)snprintf(profile.name, sizeof(profile.name), "%s", file);
    while (vug_toml_next(&r.toml, &e))
        read_entry(&r, &e);
    if (r.toml.st != VUG_OK) {
        if (err)
            *err = r.toml.err;
        return r.toml.st;
    }
    for (vug_op op = 0; r.all_given && op < VUG_OP_COUNT; op++) {
        if (vug_op_is_fused(op) && !r.given[op])
            profile.off[op] = !r.all;
    }
    *out = profile;
    return VUG_OK;
}
