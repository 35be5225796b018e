/*
 * text/schema, text/tool_rules: any bytes as a JSON schema, and as a list of tools.
 *
 * Beyond not crashing: a failure has a sentence, and what is compiled is a whole grammar.
 */

#include "fuzz/fuzz.h"
#include "text/grammar/tool_rules.h"

static void check(vug_rules *rules, vug_status st, const vug_err *err)
{
    VUG_ASSERT((st == VUG_OK) == (err->msg[0] == '\0'));
    if (st == VUG_OK)
        VUG_ASSERT(vug_rules_ok(rules, NULL) == VUG_OK);
    vug_rules_destroy(rules);
}

static void as_schema(vug_str text)
{
    vug_err err = { 0 };
    vug_node root = VUG_NODE_EMPTY;
    vug_rules *rules = vug_rules_create();
    if (rules)
        check(rules, vug_rules_schema(rules, text, &root, &err), &err);
}

static void as_tools(vug_str text, vug_tool_form form)
{
    const vug_tool_mark mark = { "<m>", true };
    const vug_tool_use use = {
        .tools = text, .form = form, .begin = mark, .end = mark, .quote = mark
    };
    vug_err err = { 0 };
    vug_node root = VUG_NODE_EMPTY;
    vug_rules *rules = vug_rules_create();
    if (rules)
        check(rules, vug_rules_tools(rules, &use, &root, &err), &err);
}

int vug_fuzz_schema(const uint8_t *data, size_t n)
{
    const vug_str text = { (const char *)data, n };
    as_schema(text);
    if (n == 0 || data[0] != '[') /* a list is no schema */
        return 0;
#define X(id, what) as_tools(text, VUG_TOOL_##id);
    VUG_TOOL_FORM_TABLE(X)
#undef X
    return 0;
}
