/* The grammar of tool calls in the format of a chat's model family. */
#include "text/chat/chat_template.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/tool_grammar.h"

static vug_tool_marker tool_mark(const vug_output_format *format, vug_marker marker,
                                 const vug_tokenizer *tokenizer)
{
    const char *spelling = format->marker[marker];
    return (vug_tool_marker){ spelling, spelling && vug_tokenizer_find(tokenizer, spelling) >= 0 };
}

/* Either calls, or the other grammar of the choice. */
static vug_status calls_or_other(vug_grammar_builder *rules, const vug_tool_grammar_options *use,
                                 const vug_tool_choice *choice, vug_grammar_expr *root,
                                 vug_err *err)
{
    vug_tool_grammar_options calls = *use;
    vug_grammar_expr value;
    if (use->format == VUG_TOOL_CALL_LLAMA3)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "calls without markers cannot be combined with another grammar");
    calls.required = true;
    VUG_TRY(vug_grammar_tool_calls(rules, &calls, root, err));
    VUG_TRY(vug_grammar_parse(rules, choice->content_grammar_kind,
                              (vug_str){ choice->content_grammar, choice->content_grammar_len },
                              &value, err));
    *root = vug_grammar_choice(rules, (vug_grammar_expr[]){ *root, value }, 2);
    return vug_grammar_builder_ok(rules, err);
}

vug_status vug_chat_grammar(const vug_chat *chat, const vug_tokenizer *tokenizer,
                            const vug_tool_choice *choice, vug_grammar **out, vug_err *err)
{
    const vug_output_format *format = vug_chat_output_format(chat);
    if (!format->marker[VUG_MARKER_CALL])
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: the tool call format of this chat template is not known",
                        vug_chat_source(chat));
    const vug_tool_grammar_options use = {
        .tools = { choice->tools, choice->tools_len },
        .name = vug_str_of(choice->name ? choice->name : ""),
        .required = choice->required || choice->name,
        .parallel = choice->parallel,
        .format = format->call_format,
        .begin = tool_mark(format, VUG_MARKER_CALL, tokenizer),
        .end = tool_mark(format, VUG_MARKER_CALL_END, tokenizer),
        .quote = tool_mark(format, VUG_MARKER_QUOTE, tokenizer),
    };
    vug_grammar_builder *rules = vug_grammar_builder_create();
    if (!rules)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar of tool calls");
    rules->strict_schemas = choice->strict_schemas;
    vug_grammar_expr root;
    vug_status st = choice->content_grammar && !use.required
                            ? calls_or_other(rules, &use, choice, &root, err)
                            : vug_grammar_tool_calls(rules, &use, &root, err);
    if (st == VUG_OK)
        st = vug_grammar_compile(rules, root, tokenizer, out, err);
    vug_grammar_builder_destroy(rules);
    return st;
}
