#include "cli/grammar_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/input.h"

static const size_t max_grammar = (size_t)16 << 20;

static vug_status read_grammar(vug_grammar_kind kind, const char *path,
                               const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_input_read(path, max_grammar, &text, err));
    const vug_status st = vug_grammar_create(kind, text.ptr, text.len, tokenizer, out, err);
    vug_text_release(&text);
    return st == VUG_OK ? st : vug_fail_within(err, st, path);
}

static vug_status create_tool_grammar(const char *choice, const vug_tokenizer *tokenizer,
                                      const vug_chat *chat, const vug_text *tools,
                                      vug_grammar **out, vug_err *err)
{
    const bool required = strcmp(choice, "required") == 0;
    const bool named = !required && strcmp(choice, "auto") != 0;
    const vug_tool_choice tool_choice = { .tools = tools->ptr,
                                          .tools_len = tools->len,
                                          .name = named ? choice : NULL,
                                          .required = required,
                                          .parallel = !named };
    return vug_chat_grammar(chat, tokenizer, &tool_choice, out, err);
}

vug_status vug_grammar_from_options(const vug_options *opt, const vug_model *model,
                                    const vug_chat *chat, const vug_text *tools, vug_grammar **out,
                                    vug_err *err)
{
    *out = NULL;
    if (!opt->schema && !opt->regex && !opt->grammar && !opt->tool_choice)
        return VUG_OK;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    if (opt->schema) {
        VUG_TRY(read_grammar(opt->strict_schema ? VUG_GRAMMAR_STRICT_SCHEMA : VUG_GRAMMAR_SCHEMA,
                             opt->schema, tokenizer, out, err));
        (void)fputs(vug_grammar_warnings(*out), stderr);
        return VUG_OK;
    }
    if (opt->grammar)
        return read_grammar(VUG_GRAMMAR_GBNF, opt->grammar, tokenizer, out, err);
    if (opt->regex)
        return vug_grammar_create(VUG_GRAMMAR_REGEX, opt->regex, strlen(opt->regex), tokenizer, out,
                                  err);
    return create_tool_grammar(opt->tool_choice, tokenizer, chat, tools, out, err);
}
