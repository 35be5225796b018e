#include "text/tokenizer/pre_tokenizer_presets.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
#define SPACES       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST         " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES

static const char llama3[] = CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST;
static const char qwen2[] = CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST;
static const char qwen35[] = CONTRACTIONS
        "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES;

/* For each expression its own family comes first. Names for which llama.cpp only
 * approximates the tokenizer's expression, "default" among them, are left out. */
static const vug_pre_tokenizer_preset presets[] = {
    { .name = "llama-bpe", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "llama3", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "llama-v3", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "falcon3", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "falcon-h1", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "lfm2", .regex = llama3, .ignore_merges = true, .add_bos = true },
    { .name = "smaug-bpe", .regex = llama3 },
    { .name = "dbrx", .regex = llama3 },
    { .name = "qwen2", .regex = qwen2, .nfc = true },
    { .name = "deepseek-r1-qwen", .regex = qwen2 },
    { .name = "megrez", .regex = qwen2 },
    { .name = "stablelm2", .regex = qwen2 },
    { .name = "qwen35", .regex = qwen35, .nfc = true },
    { .name = "gpt-2", .regex = "" },
    { .name = "phi-2", .regex = "" },
};

enum { N_PRESETS = sizeof(presets) / sizeof(presets[0]) };

const vug_pre_tokenizer_preset *vug_pre_tokenizer_preset_by_name(vug_str name)
{
    for (size_t i = 0; i < N_PRESETS; i++) {
        if (vug_str_is(name, presets[i].name))
            return &presets[i];
    }
    return NULL;
}

const vug_pre_tokenizer_preset *vug_pre_tokenizer_preset_by_regex(vug_str regex, bool ignore_merges)
{
    for (size_t i = 0; i < N_PRESETS; i++) {
        if (vug_str_is(regex, presets[i].regex) && presets[i].ignore_merges == ignore_merges)
            return &presets[i];
    }
    return NULL;
}
