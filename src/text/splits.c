#include "text/splits.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
#define SPACES       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST         " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES

static const char llama3[] = CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST;
static const char qwen2[] = CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST;
static const char qwen35[] = CONTRACTIONS
        "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES;

/* Of each expression the family that it is from comes first. Names whose expression in
 * llama.cpp is only near what the tokenizer says, "default" among them, are not here. */
static const vug_split_rule rules[] = {
    { "llama-bpe", llama3, .ignore_merges = true, .add_bos = true },
    { "llama3", llama3, .ignore_merges = true, .add_bos = true },
    { "llama-v3", llama3, .ignore_merges = true, .add_bos = true },
    { "falcon3", llama3, .ignore_merges = true, .add_bos = true },
    { "falcon-h1", llama3, .ignore_merges = true, .add_bos = true },
    { "lfm2", llama3, .ignore_merges = true, .add_bos = true },
    { "smaug-bpe", llama3 },
    { "dbrx", llama3 },
    { "qwen2", qwen2, .nfc = true },
    { "deepseek-r1-qwen", qwen2 },
    { "megrez", qwen2 },
    { "stablelm2", qwen2 },
    { "qwen35", qwen35, .nfc = true },
    { "gpt-2", "" },
    { "phi-2", "" },
};

enum { N_RULES = sizeof(rules) / sizeof(rules[0]) };

const vug_split_rule *vug_split_by_name(vug_str name)
{
    for (size_t i = 0; i < N_RULES; i++) {
        if (vug_str_is(name, rules[i].name))
            return &rules[i];
    }
    return NULL;
}

const vug_split_rule *vug_split_by_expression(vug_str expression, bool ignore_merges)
{
    for (size_t i = 0; i < N_RULES; i++) {
        if (vug_str_is(expression, rules[i].expression) && rules[i].ignore_merges == ignore_merges)
            return &rules[i];
    }
    return NULL;
}
