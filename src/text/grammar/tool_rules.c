#include "text/grammar/tool_rules.h"

#include <stdio.h>

#include "text/grammar/json_rules.h"

/*
 * Sources of the forms: Hermes, the function-calling format of Nous Research, as the
 * templates of Qwen 2.5 and 3 write it; "Llama 3.1 prompt formats"; Gemma 4, the vendor's
 * "Prompt formatting" page; Qwen3-Coder, its template. The readers of the same forms are in call_*.c.
 */

typedef struct {
    const vug_tool_use *use;
    vug_rules *rules;
    vug_json_rules json;
} tools;

static vug_node mark_of(const tools *t, vug_tool_mark mark)
{
    if (!mark.spelling)
        return VUG_NODE_EMPTY;
    const vug_str spelling = vug_str_of(mark.spelling);
    return mark.token ? vug_rules_token(t->rules, spelling) : vug_rules_literal(t->rules, spelling);
}

/* ---- one call -------------------------------------------------------------------- */

/* Of an element of the list: under "function", or itself. */
static const vug_jv *function_of(const vug_jv *tool, vug_str *name)
{
    const vug_jv *function = vug_jv_get(tool, "function");
    if (!function)
        function = tool;
    const vug_jv *v = vug_jv_get(function, "name");
    if (!vug_jv_is(v, VUG_JSON_STRING) || v->str.len == 0)
        return NULL;
    *name = v->str;
    return function;
}

static vug_status arguments(tools *t, const vug_jv *function, vug_str name, vug_node *out,
                            vug_err *err)
{
    const vug_jv *schema = vug_jv_get(function, "parameters");
    char prefix[128];
    vug_err why = { 0 };
    if (!schema || schema->type == VUG_JSON_NULL) {
        if (t->use->form != VUG_TOOL_QWEN3_CODER)
            *out = vug_json_empty(&t->json, '{');
        return VUG_OK;
    }
    const vug_status st = t->use->form == VUG_TOOL_QWEN3_CODER
                                  ? vug_rules_parameters(&t->json, schema, out, &why)
                                  : vug_rules_object(&t->json, schema, out, &why);
    if (st == VUG_OK)
        return VUG_OK;
    (void)snprintf(prefix, sizeof(prefix), "tool '%.*s'", (int)(name.len < 64 ? name.len : 64),
                   name.ptr);
    (void)vug_fail_within(&why, st, prefix);
    if (err)
        *err = why;
    return st;
}

/* Between the marks. */
static vug_node body(tools *t, vug_str name, vug_node args)
{
    vug_rules *r = t->rules;
    if (t->use->form == VUG_TOOL_GEMMA4)
        return VUG_SEQUENCE(r, vug_rules_text(r, "call:"), vug_rules_literal(r, name), args);
    if (t->use->form == VUG_TOOL_QWEN3_CODER)
        return VUG_SEQUENCE(r, vug_rules_text(r, "\n<function="), vug_rules_literal(r, name),
                            vug_rules_text(r, ">\n"), args, vug_rules_text(r, "</function>\n"));
    const bool hermes = t->use->form == VUG_TOOL_HERMES;
    const vug_node line = vug_rules_text(r, hermes ? "\n" : "");
    const vug_node key = vug_rules_text(r, hermes ? "\"arguments\"" : "\"parameters\"");
    return VUG_SEQUENCE(r, line, vug_rules_text(r, "{\"name\""), t->json.colon,
                        vug_json_literal(&t->json, name), vug_rules_text(r, ","),
                        vug_rules_optional(r, vug_rules_text(r, " ")), key, t->json.colon, args,
                        vug_rules_text(r, "}"), line);
}

static bool named_bare(vug_tool_form form)
{
    return form == VUG_TOOL_GEMMA4 || form == VUG_TOOL_QWEN3_CODER;
}

/* May stand without quotes. */
static bool is_plain(vug_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!vug_json_is_bare((unsigned char)name.ptr[i]) && name.ptr[i] != '.')
            return false;
    return true;
}

static vug_status one_of(tools *t, const vug_jv *list, vug_arena *arena, vug_node *out,
                         vug_err *err)
{
    vug_node *part = vug_arena_alloc(arena, list->n + 1, sizeof(*part));
    if (!part)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: %zu tools", list->n);
    size_t n = 0;
    for (const vug_jv *tool = list->child; tool; tool = tool->next) {
        vug_str name;
        vug_node args = VUG_NODE_EMPTY;
        const vug_jv *function = function_of(tool, &name);
        if (!function)
            return VUG_FAIL(err, VUG_FORMAT, "tools: one has no name");
        if (t->use->name.len > 0 && !vug_str_equal(name, t->use->name))
            continue;
        if (named_bare(t->use->form) && !is_plain(name))
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "tool '%.*s': a name of other than letters, digits, '_', '-' and '.'",
                            VUG_STR_ARG(name));
        VUG_TRY(arguments(t, function, name, &args, err));
        part[n++] = body(t, name, args);
    }
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "tools: there is none%s%.*s",
                        t->use->name.len ? " of the name " : "", VUG_STR_ARG(t->use->name));
    *out = vug_rules_choice(t->rules, part, n);
    if (t->use->form != VUG_TOOL_LLAMA3)
        *out = VUG_SEQUENCE(t->rules, mark_of(t, t->use->begin), *out, mark_of(t, t->use->end));
    return VUG_OK;
}

/* ---- an answer --------------------------------------------------------------------- */

/* A call may be the whole answer, so that any other text must begin otherwise. */
static vug_node llama_answer(tools *t, vug_node call, vug_node any)
{
    vug_rules *r = t->rules;
    static const vug_char_range first[] = {
        { '{', '{' }, { ' ', ' ' }, { '\t', '\t' }, { '\n', '\n' }, { '\r', '\r' }
    };
    const vug_node other = VUG_SEQUENCE(r, vug_rules_class(r, first, 5, true), any);
    return VUG_CHOICE(r, call, other, VUG_NODE_EMPTY);
}

static vug_node answer(tools *t, vug_node call)
{
    vug_rules *r = t->rules;
    const vug_tool_use *use = t->use;
    const vug_node line = vug_rules_text(r, "\n");
    const vug_node any =
            vug_rules_repeat(r, vug_rules_class(r, NULL, 0, true), 0, VUG_REPEAT_FOREVER);
    if (use->form == VUG_TOOL_LLAMA3)
        return use->required ? call : llama_answer(t, call, any);
    const vug_node between = use->form == VUG_TOOL_GEMMA4 ? VUG_NODE_EMPTY : line;
    if (use->parallel)
        call = VUG_SEQUENCE(
                r, call,
                vug_rules_repeat(r, VUG_SEQUENCE(r, between, call), 0, VUG_TOOLS_MAX_CALLS - 1));
    /* Line ends, as templates have them behind the thinking. */
    if (use->required)
        return VUG_SEQUENCE(r, vug_rules_repeat(r, line, 0, 2), call);
    return VUG_SEQUENCE(r, any, vug_rules_optional(r, call));
}

static vug_status compile(tools *t, const vug_jv *list, vug_arena *arena, vug_node *root,
                          vug_err *err)
{
    vug_node call = VUG_NODE_EMPTY;
    if (list->type != VUG_JSON_ARRAY || list->n > VUG_TOOLS_MAX)
        return VUG_FAIL(err, VUG_FORMAT, "tools: expected a list of at most %d", VUG_TOOLS_MAX);
    if (t->use->form == VUG_TOOL_GEMMA4)
        vug_json_rules_init_gemma4(&t->json, t->rules, mark_of(t, t->use->quote));
    else if (t->use->form == VUG_TOOL_QWEN3_CODER)
        vug_json_rules_init_inside(&t->json, t->rules);
    else
        vug_json_rules_init(&t->json, t->rules);
    VUG_TRY(one_of(t, list, arena, &call, err));
    *root = answer(t, call);
    return vug_rules_ok(t->rules, err);
}

vug_status vug_rules_tools(vug_rules *rules, const vug_tool_use *use, vug_node *root, vug_err *err)
{
    tools t = { .use = use, .rules = rules };
    vug_arena arena = { .budget = VUG_TOOLS_MAX_BYTES * 16 };
    const vug_jv *list = NULL;
    if (use->tools.len > VUG_TOOLS_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "tools: %zu bytes, at most %zu are read", use->tools.len,
                        VUG_TOOLS_MAX_BYTES);
    if (use->form != VUG_TOOL_LLAMA3 && !use->begin.spelling)
        return VUG_FAIL(err, VUG_ARGUMENT, "tools: the syntax has no mark of calls");
    if (use->form != VUG_TOOL_LLAMA3 && !use->required && !use->begin.token)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "tools: '%s' is no token of the vocabulary; calls can be required or "
                        "left free",
                        use->begin.spelling);
    if (use->form == VUG_TOOL_GEMMA4 && !(use->quote.spelling && use->quote.token))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "tools: the vocabulary has no quote mark");
    vug_status st = vug_json_tree(use->tools, "tools", &arena, &list, err);
    if (st == VUG_OK)
        st = compile(&t, list, &arena, root, err);
    vug_arena_release(&arena);
    return st;
}
