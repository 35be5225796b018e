/* What form an answer must have, by the options. */
#include <string.h>

#include "app/answer.h"
#include "app/input.h"

static const size_t max_grammar = (size_t)16 << 20;

static vug_status read_grammar(vug_grammar_kind kind, const char *path,
                               const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_input_read(path, max_grammar, &text, err));
    const vug_status st = vug_grammar_create(kind, text.ptr, text.len, tokenizer, out, err);
    vug_text_release(&text);
    return st;
}

static vug_status choose_tools(const vug_answerer *a, const char *choice,
                               const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    const bool required = strcmp(choice, "required") == 0;
    const bool named = !required && strcmp(choice, "auto") != 0;
    const vug_tool_choice how = { .tools = a->setting.tools.ptr,
                                  .tools_len = a->setting.tools.len,
                                  .name = named ? choice : NULL,
                                  .required = required,
                                  .parallel = !named };
    return vug_chat_grammar(a->chat, tokenizer, &how, out, err);
}

vug_status vug_form_of(const vug_answerer *a, vug_grammar **out, vug_err *err)
{
    const vug_options *o = a->opt;
    *out = NULL;
    if (!o->schema && !o->regex && !o->grammar && !o->tool_choice)
        return VUG_OK;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(a->model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    if (o->schema)
        return read_grammar(VUG_GRAMMAR_SCHEMA, o->schema, tokenizer, out, err);
    if (o->grammar)
        return read_grammar(VUG_GRAMMAR_GBNF, o->grammar, tokenizer, out, err);
    if (o->regex)
        return vug_grammar_create(VUG_GRAMMAR_REGEX, o->regex, strlen(o->regex), tokenizer, out,
                                  err);
    return choose_tools(a, o->tool_choice, tokenizer, out, err);
}
