#include "text/grammar/tool_grammar.h"

#include <stdio.h>

#include "text/grammar/schema.h"

/*
 * Sources of the formats: Hermes, the function-calling format of Nous Research, as the
 * templates of Qwen 2.5 and 3 write it; "Llama 3.1 prompt formats"; Gemma 4, the vendor's
 * "Prompt formatting" page; Qwen3-Coder, its template. chat/call_parser_*.c parse the same formats.
 */

typedef struct {
    const vug_tool_grammar_options *options;
    vug_grammar_builder *builder;
    vug_json_grammar json;
} tool_grammar;

static vug_grammar_expr marker_expr(const tool_grammar *t, vug_tool_marker marker)
{
    if (!marker.spelling)
        return VUG_EMPTY_EXPR;
    const vug_str spelling = vug_str_of(marker.spelling);
    return marker.is_token ? vug_grammar_token(t->builder, spelling)
                           : vug_grammar_literal(t->builder, spelling);
}

/* ---- one call -------------------------------------------------------------------- */

/* The function of a tool: its member "function", or the tool itself. */
static const vug_jv *find_function(const vug_jv *tool, vug_str *name)
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

static vug_status arguments_expr(tool_grammar *t, const vug_jv *function, vug_str name,
                                 vug_grammar_expr *out, vug_err *err)
{
    const vug_jv *schema = vug_jv_get(function, "parameters");
    char prefix[128];
    vug_err why = { 0 };
    if (!schema || schema->type == VUG_JSON_NULL) {
        if (t->options->format != VUG_TOOL_CALL_QWEN3_CODER)
            *out = vug_json_grammar_empty(&t->json, '{');
        return VUG_OK;
    }
    const vug_status st = t->options->format == VUG_TOOL_CALL_QWEN3_CODER
                                  ? vug_grammar_parse_parameter_schema(&t->json, schema, out, &why)
                                  : vug_grammar_parse_object_schema(&t->json, schema, out, &why);
    if (st == VUG_OK)
        return VUG_OK;
    (void)snprintf(prefix, sizeof(prefix), "tool '%.*s'", (int)(name.len < 64 ? name.len : 64),
                   name.ptr);
    (void)vug_fail_within(&why, st, prefix);
    if (err)
        *err = why;
    return st;
}

/* The text between the markers. */
static vug_grammar_expr call_body(tool_grammar *t, vug_str name, vug_grammar_expr args)
{
    vug_grammar_builder *b = t->builder;
    if (t->options->format == VUG_TOOL_CALL_GEMMA4)
        return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "call:"), vug_grammar_literal(b, name),
                                    args);
    if (t->options->format == VUG_TOOL_CALL_QWEN3_CODER)
        return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\n<function="),
                                    vug_grammar_literal(b, name), vug_grammar_text(b, ">\n"), args,
                                    vug_grammar_text(b, "</function>\n"));
    const bool hermes = t->options->format == VUG_TOOL_CALL_HERMES;
    const vug_grammar_expr line = vug_grammar_text(b, hermes ? "\n" : "");
    const vug_grammar_expr key = vug_grammar_text(b, hermes ? "\"arguments\"" : "\"parameters\"");
    return VUG_GRAMMAR_SEQUENCE(b, line, vug_grammar_text(b, "{\"name\""), t->json.colon,
                                vug_json_grammar_string(&t->json, name), vug_grammar_text(b, ","),
                                vug_grammar_optional(b, vug_grammar_text(b, " ")), key,
                                t->json.colon, args, vug_grammar_text(b, "}"), line);
}

static bool has_bare_tool_names(vug_tool_call_format format)
{
    return format == VUG_TOOL_CALL_GEMMA4 || format == VUG_TOOL_CALL_QWEN3_CODER;
}

/* Whether the formats with bare tool names can write the name. */
static bool is_bare_tool_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!vug_json_grammar_is_bare_key_char((unsigned char)name.ptr[i]) && name.ptr[i] != '.')
            return false;
    return true;
}

static vug_status any_call(tool_grammar *t, const vug_jv *list, vug_arena *arena,
                           vug_grammar_expr *out, vug_err *err)
{
    vug_grammar_expr *part = vug_arena_alloc(arena, list->n + 1, sizeof(*part));
    if (!part)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: %zu tools", list->n);
    size_t n = 0;
    for (const vug_jv *tool = list->child; tool; tool = tool->next) {
        vug_str name;
        vug_grammar_expr args = VUG_EMPTY_EXPR;
        const vug_jv *function = find_function(tool, &name);
        if (!function)
            return VUG_FAIL(err, VUG_FORMAT, "tools: a tool has no name");
        if (t->options->name.len > 0 && !vug_str_equal(name, t->options->name))
            continue;
        if (has_bare_tool_names(t->options->format) && !is_bare_tool_name(name))
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "tool '%.*s': the name may have only letters, digits, '_', '-' and '.'",
                            VUG_STR_ARG(name));
        VUG_TRY(arguments_expr(t, function, name, &args, err));
        part[n++] = call_body(t, name, args);
    }
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "tools: there is no tool%s%.*s",
                        t->options->name.len ? " named " : "", VUG_STR_ARG(t->options->name));
    *out = vug_grammar_choice(t->builder, part, n);
    if (t->options->format != VUG_TOOL_CALL_LLAMA3)
        *out = VUG_GRAMMAR_SEQUENCE(t->builder, marker_expr(t, t->options->begin), *out,
                                    marker_expr(t, t->options->end));
    return VUG_OK;
}

/* ---- the answer --------------------------------------------------------------------- */

/* Without markers, a call is the whole answer, so any other text must begin differently. */
static vug_grammar_expr llama3_answer(tool_grammar *t, vug_grammar_expr call, vug_grammar_expr any)
{
    vug_grammar_builder *b = t->builder;
    static const vug_char_range first[] = {
        { '{', '{' }, { ' ', ' ' }, { '\t', '\t' }, { '\n', '\n' }, { '\r', '\r' }
    };
    const vug_grammar_expr other =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_class(b, first, 5, true), any);
    return VUG_GRAMMAR_CHOICE(b, call, other, VUG_EMPTY_EXPR);
}

static vug_grammar_expr answer_expr(tool_grammar *t, vug_grammar_expr call)
{
    vug_grammar_builder *b = t->builder;
    const vug_tool_grammar_options *options = t->options;
    const vug_grammar_expr line = vug_grammar_text(b, "\n");
    const vug_grammar_expr any =
            vug_grammar_repeat(b, vug_grammar_class(b, NULL, 0, true), 0, VUG_REPEAT_UNBOUNDED);
    if (options->format == VUG_TOOL_CALL_LLAMA3)
        return options->required ? call : llama3_answer(t, call, any);
    const vug_grammar_expr between =
            options->format == VUG_TOOL_CALL_GEMMA4 ? VUG_EMPTY_EXPR : line;
    if (options->parallel)
        call = VUG_GRAMMAR_SEQUENCE(b, call,
                                    vug_grammar_repeat(b, VUG_GRAMMAR_SEQUENCE(b, between, call), 0,
                                                       VUG_TOOLS_MAX_CALLS - 1));
    /* Templates put line breaks after the thinking. */
    if (options->required)
        return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_repeat(b, line, 0, 2), call);
    return VUG_GRAMMAR_SEQUENCE(b, any, vug_grammar_optional(b, call));
}

static vug_status build_grammar(tool_grammar *t, const vug_jv *list, vug_arena *arena,
                                vug_grammar_expr *root, vug_err *err)
{
    vug_grammar_expr call = VUG_EMPTY_EXPR;
    if (list->type != VUG_JSON_ARRAY || list->n > VUG_TOOLS_MAX)
        return VUG_FAIL(err, VUG_FORMAT, "tools: expected a list of at most %d tools",
                        VUG_TOOLS_MAX);
    if (t->options->format == VUG_TOOL_CALL_GEMMA4)
        vug_json_grammar_init_gemma4(&t->json, t->builder, marker_expr(t, t->options->quote));
    else if (t->options->format == VUG_TOOL_CALL_QWEN3_CODER)
        vug_json_grammar_init_in_parameter(&t->json, t->builder);
    else
        vug_json_grammar_init(&t->json, t->builder);
    VUG_TRY(any_call(t, list, arena, &call, err));
    *root = answer_expr(t, call);
    return vug_grammar_builder_ok(t->builder, err);
}

vug_status vug_grammar_tool_calls(vug_grammar_builder *builder,
                                  const vug_tool_grammar_options *options, vug_grammar_expr *root,
                                  vug_err *err)
{
    tool_grammar t = { .options = options, .builder = builder };
    vug_arena arena = { .budget = VUG_TOOLS_MAX_BYTES * 16 };
    const vug_jv *list = NULL;
    if (options->tools.len > VUG_TOOLS_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "tools: %zu bytes, at most %zu are supported",
                        options->tools.len, VUG_TOOLS_MAX_BYTES);
    if (options->format != VUG_TOOL_CALL_LLAMA3 && !options->begin.spelling)
        return VUG_FAIL(err, VUG_ARGUMENT, "tools: the syntax has no marker of calls");
    if (options->format != VUG_TOOL_CALL_LLAMA3 && !options->required && !options->begin.is_token)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "tools: '%s' is not a token of the vocabulary; require a call, or do not "
                        "constrain the calls",
                        options->begin.spelling);
    if (options->format == VUG_TOOL_CALL_GEMMA4 &&
        !(options->quote.spelling && options->quote.is_token))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "tools: the vocabulary has no quote token");
    vug_status st = vug_json_tree(options->tools, "tools", &arena, &list, err);
    if (st == VUG_OK)
        st = build_grammar(&t, list, &arena, root, err);
    vug_arena_release(&arena);
    return st;
}
