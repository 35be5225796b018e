#include "engine/banned_words.h"

#include <string.h>

static vug_status add_spelling(vug_banned_words *banned, const vug_tokenizer *tokenizer,
                               const char *text, vug_err *err)
{
    vug_tokens tokens;
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, strlen(text), VUG_ENCODE_PLAIN, &tokens, err));
    banned->sequence[banned->n++] = tokens;
    if (tokens.n == 0 || tokens.n > VUG_MAX_BANNED_IDS)
        return VUG_FAIL(err, VUG_LIMIT,
                        "sampler: the banned word '%.40s' has %zu tokens, expected 1 to %d", text,
                        tokens.n, VUG_MAX_BANNED_IDS);
    return VUG_OK;
}

static vug_status add_word(vug_banned_words *banned, const vug_tokenizer *tokenizer,
                           const char *word, vug_err *err)
{
    vug_buf spaced = { 0 };
    word += strspn(word, " ");
    if (!*word)
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: a banned word is empty");
    vug_buf_puts(&spaced, " ");
    vug_buf_puts(&spaced, word);
    vug_status st = vug_buf_ok(&spaced, err);
    if (st == VUG_OK)
        st = add_spelling(banned, tokenizer, word, err);
    if (st == VUG_OK)
        st = add_spelling(banned, tokenizer, spaced.ptr, err);
    vug_buf_release(&spaced);
    return st;
}

vug_status vug_banned_words_init(vug_banned_words *banned, const vug_sampling *sampling,
                                 const vug_tokenizer *tokenizer, vug_err *err)
{
    *banned = (vug_banned_words){ 0 };
    if (sampling->n_banned_words == 0)
        return VUG_OK;
    if (!tokenizer)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "sampler: banned words need a tokenizer");
    banned->sequence = vug_alloc_zero(2 * sampling->n_banned_words, sizeof(*banned->sequence));
    if (!banned->sequence)
        return VUG_FAIL_NOMEM(err, "the banned words",
                              2 * sampling->n_banned_words * sizeof(*banned->sequence));
    vug_status st = VUG_OK;
    for (size_t i = 0; i < sampling->n_banned_words && st == VUG_OK; i++)
        st = add_word(banned, tokenizer, sampling->banned_word[i], err);
    if (st != VUG_OK)
        vug_banned_words_release(banned);
    return st;
}

void vug_banned_words_release(vug_banned_words *banned)
{
    for (size_t i = 0; i < banned->n; i++)
        vug_tokens_release(&banned->sequence[i]);
    vug_free(banned->sequence);
    *banned = (vug_banned_words){ 0 };
}

int32_t vug_banned_words_excluded(const vug_banned_words *banned, size_t i,
                                  const vug_token_history *h)
{
    const vug_tokens *s = &banned->sequence[i];
    const size_t n = s->n - 1;
    if (h->n - h->n_prompt < n || memcmp(h->id + h->n - n, s->id, n * sizeof(*s->id)) != 0)
        return -1;
    return s->id[n];
}
