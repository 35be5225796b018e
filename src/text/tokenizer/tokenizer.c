#include "text/tokenizer/internal.h"

/* Queries about a tokenizer. */

int32_t vug_tokenizer_size(const vug_tokenizer *t)
{
    return (int32_t)t->vocab.n_ids;
}

const char *vug_tokenizer_token(const vug_tokenizer *t, int32_t id, size_t *len)
{
    const vug_str text = id < 0 ? (vug_str){ 0 } : vug_vocab_text(&t->vocab, (uint32_t)id);
    if (len)
        *len = text.len;
    return text.ptr;
}

int32_t vug_tokenizer_find(const vug_tokenizer *t, const char *token)
{
    const vug_str text = vug_str_of(token);
    const int32_t id = vug_vocab_find(&t->vocab, text);
    for (size_t i = 0; id < 0 && i < t->n_added; i++) {
        if (vug_str_equal(t->added[i].content, text))
            return (int32_t)t->added[i].id;
    }
    return id;
}

bool vug_tokenizer_is_special(const vug_tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->vocab.n_ids && vug_tokenizer_is_special_id(t, (uint32_t)id);
}

uint64_t vug_tokenizer_memory(const vug_tokenizer *t)
{
    return sizeof(*t) + t->arena.held + vug_vocab_memory(&t->vocab) + vug_bpe_memory(&t->bpe) +
           t->n_added * (sizeof(*t->added) + 2 * sizeof(const vug_added_token *)) +
           2 * (t->vocab.n_ids / 8 + 1);
}

const int32_t *vug_tokenizer_prefix(const vug_tokenizer *t, size_t *n)
{
    *n = t->prefix.n;
    return t->prefix.id;
}
