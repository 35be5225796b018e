/* Tool calls as a chat's family writes them, as a grammar. */
#include "text/chat/chat.h"
#include "text/grammar/grammar.h"
#include "text/grammar/tool_rules.h"
#include "text/text.h"

static vug_tool_form form_of(const vug_syntax *syntax)
{
    switch (syntax->form) {
    case VUG_CALL_GEMMA4:
        return VUG_TOOL_GEMMA4;
    case VUG_CALL_LLAMA3:
        return VUG_TOOL_LLAMA3;
    default:
        return syntax->tagged ? VUG_TOOL_QWEN3_CODER : VUG_TOOL_HERMES;
    }
}

static vug_tool_mark mark_of(const vug_syntax *syntax, vug_mark mark,
                             const vug_tokenizer *tokenizer)
{
    const char *spelling = syntax->mark[mark];
    return (vug_tool_mark){ spelling, spelling && vug_tokenizer_find(tokenizer, spelling) >= 0 };
}

/* Either calls, or what the other grammar says. */
static vug_status either(vug_rules *rules, const vug_tool_use *use, const vug_tool_choice *choice,
                         vug_node *root, vug_err *err)
{
    vug_tool_use calls = *use;
    vug_node value;
    if (use->form == VUG_TOOL_LLAMA3)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "calls without marks cannot be told from an answer of another form");
    calls.required = true;
    VUG_TRY(vug_rules_tools(rules, &calls, root, err));
    VUG_TRY(vug_grammar_read(rules, choice->otherwise_kind,
                             (vug_str){ choice->otherwise, choice->otherwise_len }, &value, err));
    *root = vug_rules_choice(rules, (vug_node[]){ *root, value }, 2);
    return vug_rules_ok(rules, err);
}

vug_status vug_chat_grammar(const vug_chat *chat, const vug_tokenizer *tokenizer,
                            const vug_tool_choice *choice, vug_grammar **out, vug_err *err)
{
    const vug_syntax *syntax = vug_chat_syntax(chat);
    if (!syntax->mark[VUG_MARK_CALL])
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: how tools are called is not known of this chat template",
                        vug_chat_source(chat));
    const vug_tool_use use = {
        .tools = { choice->tools, choice->tools_len },
        .name = vug_str_of(choice->name ? choice->name : ""),
        .required = choice->required || choice->name,
        .parallel = choice->parallel,
        .form = form_of(syntax),
        .begin = mark_of(syntax, VUG_MARK_CALL, tokenizer),
        .end = mark_of(syntax, VUG_MARK_CALL_END, tokenizer),
        .quote = mark_of(syntax, VUG_MARK_QUOTE, tokenizer),
    };
    vug_rules *rules = vug_rules_create();
    if (!rules)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar of tool calls");
    vug_node root;
    vug_status st = choice->otherwise && !use.required ? either(rules, &use, choice, &root, err)
                                                       : vug_rules_tools(rules, &use, &root, err);
    if (st == VUG_OK)
        st = vug_grammar_over(rules, root, tokenizer, out, err);
    vug_rules_destroy(rules);
    return st;
}
