/*
 * text: a tokenizer.json and a text for it, with a NUL between them. If the tokenizer is
 * accepted, ids are in range, any id decodes, a stream decodes to the same text as the whole,
 * and a prompt without untrusted ranges has the ids of its text.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "text/text.h"
#include "vug/chat.h"

static void append_text(vug_buf *to, const char *text, size_t len)
{
    vug_buf_append(to, text, len);
}

/* Decodes as a stream and compares with the whole. */
static void check_stream(const vug_tokenizer *tokenizer, const int32_t *id, size_t n, bool skip)
{
    vug_text whole = { 0 };
    vug_decoder *decoder = NULL;
    vug_buf pieces = { 0 };
    const char *piece = NULL;
    size_t len = 0;
    VUG_ASSERT(vug_tokenizer_decode(tokenizer, id, n, skip, &whole, NULL) == VUG_OK);
    VUG_ASSERT(vug_decoder_create(tokenizer, skip, &decoder, NULL) == VUG_OK);
    for (size_t i = 0; i < n; i++) {
        VUG_ASSERT(vug_decoder_push(decoder, id[i], &piece, &len, NULL) == VUG_OK);
        append_text(&pieces, piece, len);
    }
    VUG_ASSERT(vug_decoder_finish(decoder, &piece, &len, NULL) == VUG_OK);
    append_text(&pieces, piece, len);
    VUG_ASSERT(pieces.len == whole.len);
    VUG_ASSERT(whole.len == 0 || memcmp(pieces.ptr, whole.ptr, whole.len) == 0);
    vug_decoder_destroy(decoder);
    vug_buf_release(&pieces);
    vug_text_release(&whole);
}

static void check_encode(const vug_tokenizer *tokenizer, vug_str text, unsigned flags)
{
    const int32_t size = vug_tokenizer_size(tokenizer);
    vug_tokens tokens = { 0 };
    vug_err err = { 0 };
    if (vug_tokenizer_encode(tokenizer, text.ptr, text.len, flags, &tokens, &err) != VUG_OK) {
        VUG_ASSERT(err.msg[0] != '\0');
        return;
    }
    for (size_t i = 0; i < tokens.n; i++)
        VUG_ASSERT(tokens.id[i] >= 0 && tokens.id[i] < size);
    check_stream(tokenizer, tokens.id, tokens.n, false);
    check_stream(tokenizer, tokens.id, tokens.n, true);
    vug_tokens_release(&tokens);
}

/* Encodes the text as a prompt, first all trusted, then with untrusted ranges. */
static void check_prompt(const vug_tokenizer *tokenizer, vug_str text)
{
    vug_tokens whole = { 0 }, prompted = { 0 };
    vug_buf copy = { 0 };
    vug_buf_append(&copy, text.ptr, text.len);
    vug_prompt prompt = { .text = { copy.ptr, copy.len } };
    vug_range plain[] = { { text.len / 4, text.len / 3 },
                          { text.len / 2, text.len - text.len / 4 } };
    const vug_status st = vug_tokenizer_encode(tokenizer, text.ptr, text.len,
                                               VUG_ENCODE_PARSE_SPECIAL, &whole, NULL);
    VUG_ASSERT(vug_prompt_encode(tokenizer, &prompt, &prompted, NULL) == st);
    VUG_ASSERT(prompted.n == whole.n);
    VUG_ASSERT(whole.n == 0 || memcmp(prompted.id, whole.id, whole.n * sizeof(*whole.id)) == 0);
    vug_tokens_release(&whole);
    vug_tokens_release(&prompted);
    prompt.untrusted = plain;
    prompt.n_untrusted = 2;
    if (vug_prompt_encode(tokenizer, &prompt, &prompted, NULL) == VUG_OK)
        vug_tokens_release(&prompted);
    vug_buf_release(&copy);
}

int vug_fuzz_tokenizer(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data;
    const char *nul = n ? memchr(bytes, '\0', n) : NULL;
    const size_t json = nul ? (size_t)(nul - bytes) : n;
    const vug_str text = nul ? (vug_str){ nul + 1, n - json - 1 } : (vug_str){ 0 };
    vug_tokenizer *tokenizer = NULL;
    vug_err err = { 0 };
    vug_status st = vug_tokenizer_from_json((vug_str){ bytes, json }, "input", &tokenizer, &err);
    VUG_ASSERT((st == VUG_OK) == (tokenizer != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        check_encode(tokenizer, text, VUG_ENCODE_PLAIN);
        check_encode(tokenizer, text, VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL);
        check_prompt(tokenizer, text);
        const int32_t size = vug_tokenizer_size(tokenizer);
        vug_buf bytes_of_ids = { 0 };
        for (int32_t id = 0; id < size && id < 1000; id++) {
            size_t len = 0;
            (void)vug_tokenizer_token(tokenizer, id, &len);
            (void)vug_tokenizer_append_bytes(tokenizer, id, &bytes_of_ids);
            check_stream(tokenizer, &id, 1, false);
        }
        vug_buf_release(&bytes_of_ids);
        vug_tokenizer_close(tokenizer);
    }
    return 0;
}
