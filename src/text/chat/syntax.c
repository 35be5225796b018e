#include "text/chat/syntax.h"

/*
 * Sources: Gemma 4, the vendor's "Prompt formatting" page and templates; Qwen 3 and
 * QwQ, the templates beside the weights; Hermes, the function-calling format of Nous
 * Research, which Qwen 2.5 and 3 were trained on; Llama 3, "Llama 3.1 prompt formats".
 */

/* `sign` is in a template of that syntax. */
typedef struct {
    const char *sign;
    const char *begin, *end, *label, *closing;
} thinking_row;

static const thinking_row thinking[] = {
    { "<|channel>", "<|channel>", "<channel|>", "thought\n", "\n<channel|>" },
    { "</think>", "<think>", "</think>", NULL, "\n</think>\n\n" },
    { "<think>", "<think>", "</think>", NULL, "\n</think>\n\n" },
};

typedef struct {
    const char *sign;
    const char *begin, *end, *quote;
    vug_call_form form;
} call_row;

static const call_row calls[] = {
    { "<|tool_call>", "<|tool_call>", "<tool_call|>", "<|\"|>", VUG_CALL_GEMMA4 },
    { "<tool_call>", "<tool_call>", "</tool_call>", NULL, VUG_CALL_HERMES },
    { "<|start_header_id|>", "<|python_tag|>", NULL, NULL, VUG_CALL_LLAMA3 },
};

static bool holds(vug_str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

vug_syntax vug_syntax_of(vug_str source)
{
    vug_syntax s = { 0 };
    for (size_t i = 0; source.len && i < sizeof(thinking) / sizeof(thinking[0]); i++) {
        if (!s.mark[VUG_MARK_THINK] && holds(source, thinking[i].sign)) {
            s.mark[VUG_MARK_THINK] = thinking[i].begin;
            s.mark[VUG_MARK_THINK_END] = thinking[i].end;
            s.label = thinking[i].label;
            s.thinking_end = thinking[i].closing;
        }
    }
    for (size_t i = 0; source.len && i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!s.mark[VUG_MARK_CALL] && holds(source, calls[i].sign)) {
            s.mark[VUG_MARK_CALL] = calls[i].begin;
            s.mark[VUG_MARK_CALL_END] = calls[i].end;
            s.mark[VUG_MARK_QUOTE] = calls[i].quote;
            s.form = calls[i].form;
            s.tagged = s.form == VUG_CALL_HERMES && holds(source, "<function=");
        }
    }
    return s;
}

static vug_str without_blanks(vug_str s)
{
    while (s.len && strchr(" \n\r\t", s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool vug_syntax_is_open(const vug_syntax *syntax, vug_str prompt)
{
    const char *begin = syntax->mark[VUG_MARK_THINK];
    if (!begin)
        return false;
    prompt = without_blanks(prompt);
    if (syntax->label) {
        const vug_str label = without_blanks(vug_str_of(syntax->label));
        if (prompt.len >= label.len &&
            memcmp(prompt.ptr + prompt.len - label.len, label.ptr, label.len) == 0)
            prompt.len -= label.len;
    }
    return vug_str_ends(prompt, begin);
}
