/*
 * text/grammar: any bytes as a JSON schema, and as a list of tools. A failure must have an error
 * message, and after a success the builder must have none.
 */

#include "fuzz/fuzz.h"
#include "text/grammar/schema.h"
#include "text/grammar/tool_grammar.h"

static void check_result(vug_grammar_builder *builder, vug_status st, const vug_err *err)
{
    VUG_ASSERT((st == VUG_OK) == (err->msg[0] == '\0'));
    if (st == VUG_OK)
        VUG_ASSERT(vug_grammar_builder_ok(builder, NULL) == VUG_OK);
    vug_grammar_builder_destroy(builder);
}

static void compile_as_schema(vug_str text)
{
    vug_err err = { 0 };
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    if (builder)
        check_result(builder, vug_grammar_parse_schema(builder, text, &root, &err), &err);
}

static void compile_as_tools(vug_str text, vug_tool_call_format format)
{
    const vug_tool_marker marker = { "<m>", true };
    const vug_tool_grammar_options options = {
        .tools = text, .format = format, .begin = marker, .end = marker, .quote = marker
    };
    vug_err err = { 0 };
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    if (builder)
        check_result(builder, vug_grammar_tool_calls(builder, &options, &root, &err), &err);
}

int vug_fuzz_schema(const uint8_t *data, size_t n)
{
    const vug_str text = { (const char *)data, n };
    compile_as_schema(text);
    if (n == 0 || data[0] != '[') /* only an array can be a list of tools */
        return 0;
#define X(id, what) compile_as_tools(text, VUG_TOOL_CALL_##id);
    VUG_TOOL_CALL_FORMAT_TABLE(X)
#undef X
    return 0;
}
