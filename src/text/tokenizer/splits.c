#include "text/tokenizer/splits.h"

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
    { .name = "llama-bpe", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "llama3", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "llama-v3", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "falcon3", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "falcon-h1", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "lfm2", .expression = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "smaug-bpe", .expression = llama3 },
    { .name = "dbrx", .expression = llama3 },
    { .name = "qwen2", .expression = qwen2, .nfc = true },
    { .name = "deepseek-r1-qwen", .expression = qwen2 },
    { .name = "megrez", .expression = qwen2 },
    { .name = "stablelm2", .expression = qwen2 },
    { .name = "qwen35", .expression = qwen35, .nfc = true },
    { .name = "gpt-2", .expression = "" },
    { .name = "phi-2", .expression = "" },
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
