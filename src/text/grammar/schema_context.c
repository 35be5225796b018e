#include <stdarg.h>
#include <stdio.h>

#include "text/grammar/schema_sets.h"

/* ---- failures ------------------------------------------------------------------ */

enum { POINTER_MAX = 200 };

/* In a JSON pointer (RFC 6901), '~' and '/' of a key are escaped. */
static void append_pointer_key(vug_buf *to, vug_str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '~' || key.ptr[i] == '/')
            vug_buf_puts(to, key.ptr[i] == '~' ? "~0" : "~1");
        else
            vug_buf_append(to, key.ptr + i, 1);
    }
}

/* Bounded by the depth of the JSON. */
static bool contains_value(const vug_jv *v, const vug_jv *wanted) // NOLINT(misc-no-recursion)
{
    bool found = v == wanted;
    for (const vug_jv *m = v->child; m && !found; m = m->next)
        found = contains_value(m, wanted);
    return found;
}

/* Appends the pointer from `v` to `wanted`, if that is in it. */
static void append_pointer(vug_buf *path, const vug_jv *v, const vug_jv *wanted)
{
    while (v && v != wanted) {
        const vug_jv *m = v->child;
        size_t i = 0;
        for (; m && !contains_value(m, wanted); m = m->next)
            i++;
        if (!m)
            return;
        vug_buf_puts(path, "/");
        if (v->type == VUG_JSON_OBJECT)
            append_pointer_key(path, m->key);
        else
            vug_buf_printf(path, "%zu", i);
        v = m;
    }
}

/* "schema: POINTER: MESSAGE" */
static void append_message(const vug_schema_compiler *s, vug_buf *to, const vug_jv *at,
                           const char *fmt, va_list args) VUG_PRINTF(4, 0);
static void append_message(const vug_schema_compiler *s, vug_buf *to, const vug_jv *at,
                           const char *fmt, va_list args)
{
    vug_buf path = { 0 };
    if (at && s->root)
        append_pointer(&path, s->root, at);
    char message[300];
    (void)vsnprintf(message, sizeof(message), fmt, args);
    const int len = path.len < POINTER_MAX ? (int)path.len : POINTER_MAX;
    vug_buf_printf(to, "schema: #%.*s: %s", len, path.ptr ? path.ptr : "", message);
    vug_buf_release(&path);
}

void vug_schema_fail(vug_schema_compiler *s, vug_status code, const vug_jv *at, const char *fmt,
                     ...)
{
    if (s->st != VUG_OK)
        return;
    vug_buf text = { 0 };
    va_list args;
    va_start(args, fmt);
    append_message(s, &text, at, fmt, args);
    va_end(args);
    s->st = VUG_FAIL(&s->err, code, "%s", text.ptr ? text.ptr : "schema: out of memory");
    vug_buf_release(&text);
}

enum { MAX_WARNINGS = 8 };

void vug_schema_warn(vug_schema_compiler *s, const vug_jv *at, const char *fmt, ...)
{
    vug_buf *warnings = &s->builder->warnings;
    if (s->st != VUG_OK || s->n_warnings++ >= MAX_WARNINGS)
        return;
    const size_t from = warnings->len;
    va_list args;
    va_start(args, fmt);
    append_message(s, warnings, at, fmt, args);
    va_end(args);
    /* A name may have line breaks and what terminals obey. */
    for (size_t i = from; i < warnings->len; i++) {
        if ((unsigned char)warnings->ptr[i] < ' ' || warnings->ptr[i] == '\x7f')
            warnings->ptr[i] = '?';
    }
    vug_buf_puts(warnings, "\n");
}

void vug_schema_fail_steps(vug_schema_compiler *s)
{
    vug_schema_fail(s, VUG_LIMIT, NULL, "takes more than %zu steps to compile",
                    VUG_SCHEMA_MAX_STEPS);
}

void *vug_schema_alloc(vug_schema_compiler *s, size_t n, size_t size)
{
    if (s->st != VUG_OK)
        return NULL;
    enum { SLACK = 64 }; /* overhead of an arena block */
    const size_t used = s->arena.held + SLACK;
    const size_t left = used < VUG_SCHEMA_MAX_MEMORY ? VUG_SCHEMA_MAX_MEMORY - used : 0;
    void *out = vug_arena_alloc(&s->arena, n ? n : 1, size);
    if (!out && n >= left / size) /* the schema is too large; else the machine is out of memory */
        vug_schema_fail(s, VUG_LIMIT, NULL, "takes more than %zu bytes of memory to compile",
                        VUG_SCHEMA_MAX_MEMORY);
    else if (!out)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    return out;
}

/* ---- sets ------------------------------------------------------------------------ */

vug_schema_set vug_schema_take_set(vug_schema_compiler *s)
{
    const size_t n = s->collected.len / sizeof(const vug_jv *);
    const vug_jv **list = vug_schema_alloc_list(s, n);
    if (s->collected.bad)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    if (!list || s->collected.bad)
        return (vug_schema_set){ 0 };
    if (n > 0)
        memcpy(list, s->collected.ptr, s->collected.len);
    return (vug_schema_set){ list, n };
}

static bool sets_equal(vug_schema_set a, vug_schema_set b)
{
    return a.n == b.n &&
           (a.n == 0 || memcmp(a.schema, b.schema, a.n * sizeof(const vug_jv *)) == 0);
}

/* Copies a set without duplicates and without schemas that always hold. */
static vug_schema_set copy_without_redundant(vug_schema_compiler *s, vug_schema_set set)
{
    const vug_jv **list = vug_schema_alloc_list(s, set.n);
    size_t n = 0;
    for (size_t i = 0; list && i < set.n; i++) {
        const vug_jv *v = set.schema[i];
        bool redundant = (v->type == VUG_JSON_BOOL && v->boolean) ||
                         (v->type == VUG_JSON_OBJECT && v->n == 0);
        for (size_t k = 0; k < n && !redundant; k++)
            redundant = list[k] == v;
        if (!redundant)
            list[n++] = v;
        (void)vug_schema_charge(s, n);
    }
    return (vug_schema_set){ list, n };
}

static uint64_t hash_set(vug_schema_set set)
{
    return vug_hash_bytes((const char *)set.schema, set.n * sizeof(const vug_jv *));
}

/* Doubles the capacity for sets. */
static bool grow_sets(vug_schema_compiler *s)
{
    const uint32_t cap = s->cap_set_rules ? 2 * s->cap_set_rules : 64;
    vug_schema_set_rule *rule = vug_schema_alloc(s, cap, sizeof(*rule));
    vug_hash_index sets;
    if (!rule || !vug_hash_index_init(&sets, cap)) {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
        return false;
    }
    if (s->n_set_rules > 0)
        memcpy(rule, s->set_rule, s->n_set_rules * sizeof(*rule));
    bool fits = true;
    for (uint32_t i = 0; i < s->n_set_rules && fits; i++) {
        vug_hash_probe p = vug_hash_probe_start(&sets, hash_set(rule[i].set));
        while (vug_hash_probe_next(&p))
            continue;
        fits = vug_hash_probe_insert(&sets, &p, i);
    }
    vug_hash_index_release(&s->sets);
    s->sets = sets;
    s->set_rule = rule;
    s->cap_set_rules = cap;
    return fits;
}

vug_grammar_expr vug_schema_set_expr(vug_schema_compiler *s, vug_schema_set set)
{
    set = copy_without_redundant(s, set);
    if (!vug_schema_ok(s))
        return VUG_EMPTY_EXPR;
    if (set.n == 0)
        return s->json.value;
    const bool fits = s->n_set_rules < s->cap_set_rules || grow_sets(s);
    vug_hash_probe p = vug_hash_probe_start(&s->sets, hash_set(set));
    while (vug_hash_probe_next(&p))
        if (sets_equal(s->set_rule[p.entry].set, set))
            return s->set_rule[p.entry].rule;
    if (!fits || s->n_set_rules == VUG_SCHEMA_MAX_SETS ||
        !vug_hash_probe_insert(&s->sets, &p, s->n_set_rules)) {
        vug_schema_fail(s, VUG_LIMIT, set.schema[0], "more than %u different values",
                        (unsigned)VUG_SCHEMA_MAX_SETS);
        return VUG_EMPTY_EXPR;
    }
    const vug_grammar_expr rule = vug_grammar_declare_rule(s->builder);
    s->set_rule[s->n_set_rules++] = (vug_schema_set_rule){ set, rule };
    return rule;
}
