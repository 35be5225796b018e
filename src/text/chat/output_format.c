#include "text/chat/output_format.h"

/*
 * Sources. Gemma 4: the vendor's page on prompt formatting, and its templates. Qwen 3, QwQ: the
 * templates beside the weights. Hermes: the function-calling format of Nous Research, which
 * Qwen 2.5 and 3 were trained on. Llama 3: the page "Llama 3.1 prompt formats".
 */

/* A template that contains `sign` uses the row. */
typedef struct {
    const char *sign;
    const char *begin, *end, *label, *closing;
} thinking_format;

static const thinking_format thinking[] = {
    { "<|channel>", "<|channel>", "<channel|>", "thought\n", "\n<channel|>" },
    { "</think>", "<think>", "</think>", NULL, "\n</think>\n\n" },
    { "<think>", "<think>", "</think>", NULL, "\n</think>\n\n" },
};

typedef struct {
    const char *sign;
    const char *begin, *end, *quote;
    vug_tool_call_format format;
} call_markers;

static const call_markers calls[] = {
    { "<|tool_call>", "<|tool_call>", "<tool_call|>", "<|\"|>", VUG_TOOL_CALL_GEMMA4 },
    { "<tool_call>", "<tool_call>", "</tool_call>", NULL, VUG_TOOL_CALL_HERMES },
    { "<|start_header_id|>", "<|python_tag|>", NULL, NULL, VUG_TOOL_CALL_LLAMA3 },
};

static bool contains(vug_str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

vug_output_format vug_output_format_detect(vug_str source)
{
    vug_output_format s = { 0 };
    for (size_t i = 0; source.len && i < sizeof(thinking) / sizeof(thinking[0]); i++) {
        if (!s.marker[VUG_MARKER_THINK] && contains(source, thinking[i].sign)) {
            s.marker[VUG_MARKER_THINK] = thinking[i].begin;
            s.marker[VUG_MARKER_THINK_END] = thinking[i].end;
            s.thinking_label = thinking[i].label;
            s.thinking_end = thinking[i].closing;
        }
    }
    for (size_t i = 0; source.len && i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!s.marker[VUG_MARKER_CALL] && contains(source, calls[i].sign)) {
            s.marker[VUG_MARKER_CALL] = calls[i].begin;
            s.marker[VUG_MARKER_CALL_END] = calls[i].end;
            s.marker[VUG_MARKER_QUOTE] = calls[i].quote;
            s.call_format = calls[i].format;
        }
    }
    const bool hermes = s.marker[VUG_MARKER_CALL] && s.call_format == VUG_TOOL_CALL_HERMES;
    if (hermes && contains(source, "<function="))
        s.call_format = VUG_TOOL_CALL_QWEN3_CODER;
    return s;
}

static vug_str without_blanks(vug_str s)
{
    while (s.len && strchr(" \n\r\t", s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool vug_output_format_opens_thinking(const vug_output_format *format, vug_str prompt)
{
    const char *begin = format->marker[VUG_MARKER_THINK];
    if (!begin)
        return false;
    prompt = without_blanks(prompt);
    if (format->thinking_label) {
        const vug_str label = without_blanks(vug_str_of(format->thinking_label));
        if (prompt.len >= label.len &&
            memcmp(prompt.ptr + prompt.len - label.len, label.ptr, label.len) == 0)
            prompt.len -= label.len;
    }
    return vug_str_ends(prompt, begin);
}
