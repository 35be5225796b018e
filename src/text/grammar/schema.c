#include "text/grammar/schema.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * From a schema to its rules: sets of schemas whose rules are still to be made wait in a
 * list, which ends because there are only so many sets.
 */

/* ---- failures ------------------------------------------------------------------ */

enum { POINTER_MAX = 200 };

/* JSON pointers (RFC 6901): '~' and '/' of a key are escaped. */
static void put_key(vug_buf *to, vug_str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '~' || key.ptr[i] == '/')
            vug_buf_puts(to, key.ptr[i] == '~' ? "~0" : "~1");
        else
            vug_buf_append(to, key.ptr + i, 1);
    }
}

/* Leaves the way to `wanted` in `path`. The depth of JSON bounds that of the calls. */
static bool find_path(const vug_jv *v, const vug_jv *wanted, // NOLINT(misc-no-recursion)
                      vug_buf *path)
{
    if (v == wanted)
        return true;
    const size_t len = path->len;
    size_t i = 0;
    for (const vug_jv *m = v->child; m; m = m->next, i++) {
        vug_buf_puts(path, "/");
        if (v->type == VUG_JSON_OBJECT)
            put_key(path, m->key);
        else
            vug_buf_printf(path, "%zu", i);
        if (find_path(m, wanted, path))
            return true;
        path->len = len;
    }
    return false;
}

void vug_schema_fail(vug_schema *s, vug_status code, const vug_jv *at, const char *fmt, ...)
{
    if (s->st != VUG_OK)
        return;
    vug_buf path = { 0 };
    if (at && s->root)
        (void)find_path(s->root, at, &path);
    char what[300];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    const int len = path.len < POINTER_MAX ? (int)path.len : POINTER_MAX;
    s->st = VUG_FAIL(&s->err, code, "schema: #%.*s: %s", len, path.ptr ? path.ptr : "", what);
    vug_buf_release(&path);
}

bool vug_schema_step(vug_schema *s, size_t n)
{
    s->steps += n;
    if (s->steps > VUG_SCHEMA_MAX_STEPS)
        vug_schema_fail(s, VUG_LIMIT, NULL, "takes more than %zu steps to compile",
                        VUG_SCHEMA_MAX_STEPS);
    return s->st == VUG_OK;
}

void *vug_schema_alloc(vug_schema *s, size_t n, size_t size)
{
    if (s->st != VUG_OK)
        return NULL;
    enum { SLACK = 64 }; /* of a block of the arena */
    const size_t used = s->arena.held + SLACK;
    const size_t left = used < VUG_SCHEMA_MAX_MEMORY ? VUG_SCHEMA_MAX_MEMORY - used : 0;
    void *out = vug_arena_alloc(&s->arena, n ? n : 1, size);
    if (!out && n >= left / size) /* the schema's fault, and not the machine's */
        vug_schema_fail(s, VUG_LIMIT, NULL, "takes more than %zu bytes of memory to compile",
                        VUG_SCHEMA_MAX_MEMORY);
    else if (!out)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    return out;
}

/* ---- sets ------------------------------------------------------------------------ */

static bool same_set(vug_schema_set a, vug_schema_set b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.of, b.of, a.n * sizeof(const vug_jv *)) == 0);
}

/* Without doubles, and without what always holds. */
static vug_schema_set tidy(vug_schema *s, vug_schema_set set)
{
    const vug_jv **of = vug_schema_list(s, set.n);
    size_t n = 0;
    for (size_t i = 0; of && i < set.n; i++) {
        const vug_jv *v = set.of[i];
        bool drop = (v->type == VUG_JSON_BOOL && v->boolean) ||
                    (v->type == VUG_JSON_OBJECT && v->n == 0);
        for (size_t k = 0; k < n && !drop; k++)
            drop = of[k] == v;
        if (!drop)
            of[n++] = v;
        (void)vug_schema_step(s, n);
    }
    return (vug_schema_set){ of, n };
}

static uint64_t hash_of(vug_schema_set set)
{
    return vug_hash_bytes((const char *)set.of, set.n * sizeof(const vug_jv *));
}

/* Twice as many sets may be kept. */
static bool make_room(vug_schema *s)
{
    const uint32_t room = s->room ? 2 * s->room : 64;
    vug_schema_rule *rule = vug_schema_alloc(s, room, sizeof(*rule));
    vug_index sets;
    if (!rule || !vug_index_init(&sets, room)) {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
        return false;
    }
    if (s->n_rules > 0)
        memcpy(rule, s->rule, s->n_rules * sizeof(*rule));
    bool fits = true;
    for (uint32_t i = 0; i < s->n_rules && fits; i++) {
        vug_probe p = vug_probe_start(&sets, hash_of(rule[i].set));
        while (vug_probe_next(&p))
            continue;
        fits = vug_probe_insert(&sets, &p, i);
    }
    vug_index_release(&s->sets);
    s->sets = sets;
    s->rule = rule;
    s->room = room;
    return fits;
}

vug_node vug_schema_node(vug_schema *s, vug_schema_set set)
{
    set = tidy(s, set);
    if (!vug_schema_ok(s))
        return VUG_NODE_EMPTY;
    if (set.n == 0)
        return s->json.value;
    const bool fits = s->n_rules < s->room || make_room(s);
    vug_probe p = vug_probe_start(&s->sets, hash_of(set));
    while (vug_probe_next(&p))
        if (same_set(s->rule[p.entry].set, set))
            return s->rule[p.entry].rule;
    if (!fits || s->n_rules == VUG_SCHEMA_MAX_SETS || !vug_probe_insert(&s->sets, &p, s->n_rules)) {
        vug_schema_fail(s, VUG_LIMIT, set.of[0], "more than %u different values",
                        (unsigned)VUG_SCHEMA_MAX_SETS);
        return VUG_NODE_EMPTY;
    }
    const vug_node rule = vug_rules_declare(s->rules);
    s->rule[s->n_rules++] = (vug_schema_rule){ set, rule };
    return rule;
}

/* ---- a set at a time ----------------------------------------------------------------- */

static vug_node case_node(vug_schema *s, vug_schema_case c)
{
    size_t n_values;
    if (vug_schema_values(c, &n_values))
        return vug_schema_choice(s, c);
    const unsigned types = vug_schema_types(c);
    vug_node part[6];
    size_t n = 0;
    if (types & VUG_TYPE_OBJECT)
        part[n++] = vug_schema_object(s, c);
    if (types & VUG_TYPE_ARRAY)
        part[n++] = vug_schema_array(s, c);
    if (types & VUG_TYPE_STRING)
        part[n++] = vug_schema_string(s, c);
    if (types & VUG_TYPE_INTEGER)
        part[n++] = vug_schema_number(s, c, types & VUG_TYPE_FRACTION);
    if (types & VUG_TYPE_BOOLEAN)
        part[n++] = s->json.boolean;
    if (types & VUG_TYPE_NULL)
        part[n++] = s->json.null;
    return vug_rules_choice(s->rules, part, n);
}

static vug_node all_cases(vug_schema *s, vug_schema_set set)
{
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, (vug_schema_case){ 0 }, set, false, &cases);
    vug_node *part = vug_schema_alloc(s, cases.n, sizeof(*part));
    for (size_t i = 0; i < cases.n && vug_schema_ok(s); i++)
        part[i] = case_node(s, cases.of[i]);
    return vug_schema_ok(s) ? vug_rules_choice(s->rules, part, cases.n) : VUG_NODE_EMPTY;
}

static void compile_rest(vug_schema *s)
{
    while (vug_schema_ok(s) && s->n_done < s->n_rules) {
        const vug_schema_rule rule = s->rule[s->n_done++];
        const vug_node as = all_cases(s, rule.set);
        if (vug_schema_ok(s))
            vug_rules_define(s->rules, rule.rule, as);
    }
}

/* Of the drafts that have one name, "http://json-schema.org/draft-07/schema#". */
static bool is_old(const vug_jv *root)
{
    const vug_jv *draft = vug_jv_get(root, "$schema");
    static const char *const old[] = { "draft-04/", "draft-06/", "draft-07/" };
    for (size_t i = 0; vug_jv_is(draft, VUG_JSON_STRING) && i < sizeof(old) / sizeof(*old); i++)
        for (size_t at = 0; at < draft->str.len; at++)
            if (vug_str_starts(vug_str_from(draft->str, at), old[i]))
                return true;
    return false;
}

static void compile(vug_schema *s, vug_schema_set set, vug_node *root)
{
    s->ref_is_alone = is_old(s->root);
    *root = vug_schema_node(s, set);
    compile_rest(s);
}

/* `n`: no more schemas than that can be in it. */
static void init(vug_schema *s, const vug_json_rules *json, size_t n)
{
    s->json = *json;
    s->rules = json->rules;
    s->arena.budget = VUG_SCHEMA_MAX_MEMORY;
    s->max_entries = n < VUG_SCHEMA_MAX_SCHEMAS ? (uint32_t)n : VUG_SCHEMA_MAX_SCHEMAS;
    s->entry = vug_schema_alloc(s, s->max_entries, sizeof(*s->entry));
    if (vug_schema_ok(s) && !vug_index_init(&s->known, s->max_entries))
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
}

static vug_status finish(vug_schema *s, vug_err *err)
{
    if (s->st == VUG_OK)
        s->st = vug_rules_ok(s->rules, &s->err);
    const vug_status st = s->st;
    if (st != VUG_OK && err)
        *err = s->err;
    vug_index_release(&s->known);
    vug_index_release(&s->sets);
    vug_sets_release(&s->strings);
    vug_buf_release(&s->string_rule);
    vug_arena_release(&s->arena);
    vug_free(s);
    return st;
}

vug_status vug_rules_schema(vug_rules *rules, vug_str text, vug_node *root, vug_err *err)
{
    if (text.len > VUG_SCHEMA_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "schema: %zu bytes, at most %zu are read", text.len,
                        VUG_SCHEMA_MAX_BYTES);
    vug_schema *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a schema", sizeof(*s));
    vug_json_rules json;
    vug_json_rules_init(&json, rules);
    init(s, &json, text.len / 2 + 1); /* "{}" is the shortest */
    if (vug_schema_ok(s))
        s->st = vug_json_tree(text, "schema", &s->arena, &s->root, &s->err);
    if (vug_schema_ok(s))
        compile(s, (vug_schema_set){ &s->root, 1 }, root);
    return finish(s, err);
}

static vug_schema_set object_set(vug_schema *s, const vug_jv *schema)
{
    const vug_jv **both = vug_schema_list(s, 2);
    vug_jv *type = vug_schema_alloc(s, 2, sizeof(*type));
    if (!both || !type)
        return (vug_schema_set){ 0 };
    type[0] = (vug_jv){ .type = VUG_JSON_STRING, .key = { "type", 4 }, .str = { "object", 6 } };
    type[1] = (vug_jv){ .type = VUG_JSON_OBJECT, .child = &type[0], .n = 1 };
    both[0] = schema;
    both[1] = &type[1];
    return (vug_schema_set){ both, 2 };
}

/* The depth of JSON bounds that of the calls. */
static size_t count_values(const vug_jv *v) // NOLINT(misc-no-recursion)
{
    size_t n = 1;
    for (const vug_jv *m = v->child; m; m = m->next)
        n += count_values(m);
    return n;
}

/* Objects only. */
static vug_status compile_object(const vug_json_rules *json, const vug_json_rules *parameters,
                                 const vug_jv *schema, vug_node *root, vug_err *err)
{
    vug_schema *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a schema", sizeof(*s));
    init(s, json, count_values(schema) + 2);
    s->root = schema;
    const vug_schema_set set = object_set(s, schema);
    if (vug_schema_ok(s) && parameters) {
        s->ref_is_alone = is_old(schema);
        s->inside = json;
        s->json = *parameters;
        *root = all_cases(s, set);
        s->json = *json;
        s->inside = NULL;
        compile_rest(s);
    } else if (vug_schema_ok(s)) {
        compile(s, set, root);
    }
    return finish(s, err);
}

vug_status vug_rules_object(const vug_json_rules *json, const vug_jv *schema, vug_node *root,
                            vug_err *err)
{
    return compile_object(json, NULL, schema, root, err);
}

vug_status vug_rules_parameters(const vug_json_rules *inside, const vug_jv *schema, vug_node *root,
                                vug_err *err)
{
    vug_json_rules parameters;
    vug_json_rules_init_parameters(&parameters, inside);
    return compile_object(inside, &parameters, schema, root, err);
}
