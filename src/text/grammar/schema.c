#include "text/grammar/schema.h"

#include "text/grammar/schema_internal.h"

/* ---- compiling sets ----------------------------------------------------------------- */

static vug_grammar_expr case_expr(vug_schema_compiler *s, vug_schema_case c)
{
    size_t n_values;
    if (vug_schema_given_values(c, &n_values))
        return vug_schema_given_values_expr(s, c);
    const unsigned types = vug_schema_case_types(c);
    vug_grammar_expr part[6];
    size_t n = 0;
    if (types & VUG_TYPE_OBJECT)
        part[n++] = vug_schema_object_expr(s, c);
    if (types & VUG_TYPE_ARRAY)
        part[n++] = vug_schema_array_expr(s, c);
    if (types & VUG_TYPE_STRING)
        part[n++] = vug_schema_string_expr(s, c);
    if (types & (VUG_TYPE_INTEGER | VUG_TYPE_FRACTION))
        part[n++] = vug_schema_number_expr(s, c, types);
    if (types & VUG_TYPE_BOOLEAN)
        part[n++] = s->json.boolean;
    if (types & VUG_TYPE_NULL)
        part[n++] = s->json.null;
    return vug_grammar_choice(s->builder, part, n);
}

static vug_grammar_expr set_expr(vug_schema_compiler *s, vug_schema_set set)
{
    const vug_schema_cases cases = vug_schema_set_cases(s, set);
    vug_grammar_expr *part = vug_schema_alloc(s, cases.n, sizeof(*part));
    for (size_t i = 0; i < cases.n && vug_schema_ok(s); i++)
        part[i] = case_expr(s, cases.list[i]);
    return vug_schema_ok(s) ? vug_grammar_choice(s->builder, part, cases.n) : VUG_EMPTY_EXPR;
}

static void compile_queued(vug_schema_compiler *s)
{
    while (vug_schema_ok(s) && s->n_compiled < s->n_set_rules) {
        const vug_schema_set_rule next = s->set_rule[s->n_compiled++];
        const vug_grammar_expr expr = set_expr(s, next.set);
        if (vug_schema_ok(s))
            vug_grammar_define_rule(s->builder, next.rule, expr);
    }
}

/* Whether "$schema" names a draft, as in "http://json-schema.org/draft-07/schema#". */
static bool declares_draft(const vug_jv *root, const char *draft)
{
    const vug_jv *declared = vug_jv_get(root, "$schema");
    for (size_t at = 0; vug_jv_is(declared, VUG_JSON_STRING) && at < declared->str.len; at++)
        if (vug_str_starts(vug_str_from(declared->str, at), draft))
            return true;
    return false;
}

static void read_draft(vug_schema_compiler *s)
{
    s->is_draft_4 = declares_draft(s->root, "draft-04/");
    s->ref_hides_siblings = s->is_draft_4 || declares_draft(s->root, "draft-06/") ||
                            declares_draft(s->root, "draft-07/");
}

static void compile_root(vug_schema_compiler *s, vug_schema_set set, vug_grammar_expr *root)
{
    read_draft(s);
    *root = vug_schema_set_expr(s, set);
    compile_queued(s);
}

enum { MADE_PER_SCHEMA = 16 }; /* schemas that the compiler makes, for each given one */

/* Values that may be schemas. The recursion is bounded by the depth of the JSON. */
static size_t count_schemas(const vug_jv *v) // NOLINT(misc-no-recursion)
{
    size_t n = v->type == VUG_JSON_OBJECT || v->type == VUG_JSON_BOOL;
    for (const vug_jv *m = v->child; m; m = m->next)
        n += count_schemas(m);
    return n;
}

static void init_compiler(vug_schema_compiler *s, const vug_json_grammar *json)
{
    s->json = *json;
    s->builder = json->builder;
    s->arena.budget = VUG_SCHEMA_MAX_MEMORY;
}

static void set_root(vug_schema_compiler *s, const vug_jv *root)
{
    const size_t n = count_schemas(root) * MADE_PER_SCHEMA + 2048;
    s->root = root;
    s->max_entries = n < VUG_SCHEMA_MAX_SCHEMAS ? (uint32_t)n : VUG_SCHEMA_MAX_SCHEMAS;
    s->entry = vug_schema_alloc(s, s->max_entries, sizeof(*s->entry));
    if (vug_schema_ok(s) && !vug_hash_index_init(&s->checked, s->max_entries))
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
}

static vug_status finish_compiler(vug_schema_compiler *s, vug_err *err)
{
    if (s->st == VUG_OK)
        s->st = vug_grammar_builder_ok(s->builder, &s->err);
    const vug_status st = s->st;
    if (st != VUG_OK && err)
        *err = s->err;
    vug_schema_release_matchers(s);
    vug_hash_index_release(&s->checked);
    vug_hash_index_release(&s->sets);
    vug_expr_cache_release(&s->strings);
    vug_expr_cache_release(&s->additional_names);
    vug_buf_release(&s->collected);
    vug_arena_release(&s->arena);
    vug_free(s);
    return st;
}

vug_status vug_grammar_parse_schema(vug_grammar_builder *builder, vug_str text,
                                    vug_grammar_expr *root, vug_err *err)
{
    if (text.len > VUG_SCHEMA_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "schema: %zu bytes, at most %zu are supported", text.len,
                        VUG_SCHEMA_MAX_BYTES);
    vug_schema_compiler *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a schema", sizeof(*s));
    vug_json_grammar json;
    vug_json_grammar_init(&json, builder);
    init_compiler(s, &json);
    const vug_jv *tree = NULL;
    s->st = vug_json_tree(text, "schema", &s->arena, &tree, &s->err);
    if (vug_schema_ok(s))
        set_root(s, tree);
    if (vug_schema_ok(s))
        compile_root(s, (vug_schema_set){ &s->root, 1 }, root);
    return finish_compiler(s, err);
}

static vug_schema_set objects_only(vug_schema_compiler *s, const vug_jv *schema)
{
    const vug_jv **list = vug_schema_alloc_list(s, 2);
    vug_jv *type = vug_schema_alloc(s, 2, sizeof(*type));
    if (!list || !type)
        return (vug_schema_set){ 0 };
    type[0] = (vug_jv){ .type = VUG_JSON_STRING, .key = { "type", 4 }, .str = { "object", 6 } };
    type[1] = (vug_jv){ .type = VUG_JSON_OBJECT };
    vug_jv_append(&type[1], &type[0]);
    list[0] = schema;
    list[1] = &type[1];
    return (vug_schema_set){ list, 2 };
}

static vug_status compile_object_schema(const vug_json_grammar *json,
                                        const vug_json_grammar *parameters, const vug_jv *schema,
                                        vug_grammar_expr *root, vug_err *err)
{
    vug_schema_compiler *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a schema", sizeof(*s));
    init_compiler(s, json);
    set_root(s, schema);
    const vug_schema_set set = objects_only(s, schema);
    if (vug_schema_ok(s) && parameters) {
        read_draft(s);
        s->in_parameter = json;
        s->json = *parameters;
        *root = set_expr(s, set);
        s->json = *json;
        s->in_parameter = NULL;
        compile_queued(s);
    } else if (vug_schema_ok(s)) {
        compile_root(s, set, root);
    }
    return finish_compiler(s, err);
}

vug_status vug_grammar_parse_object_schema(const vug_json_grammar *json, const vug_jv *schema,
                                           vug_grammar_expr *root, vug_err *err)
{
    return compile_object_schema(json, NULL, schema, root, err);
}

vug_status vug_grammar_parse_parameter_schema(const vug_json_grammar *in_parameter,
                                              const vug_jv *schema, vug_grammar_expr *root,
                                              vug_err *err)
{
    vug_json_grammar parameters;
    vug_json_grammar_init_parameters(&parameters, in_parameter);
    return compile_object_schema(in_parameter, &parameters, schema, root, err);
}
