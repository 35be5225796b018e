/*
 * text: a SentencePiece tokenizer.model and a text for it. The input is the length of the
 * model in two bytes, the model, the text, and after a byte FF the tokenizer_config.json. If
 * the model is accepted, ids are in range and decode.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "text/text.h"

static void check_encode(const vug_tokenizer *tokenizer, vug_str text, unsigned flags)
{
    const int32_t size = vug_tokenizer_size(tokenizer);
    vug_tokens tokens = { 0 };
    vug_text decoded = { 0 };
    vug_err err = { 0 };
    if (vug_tokenizer_encode(tokenizer, text.ptr, text.len, flags, &tokens, &err) != VUG_OK) {
        VUG_ASSERT(err.msg[0] != '\0');
        return;
    }
    for (size_t i = 0; i < tokens.n; i++)
        VUG_ASSERT(tokens.id[i] >= 0 && tokens.id[i] < size);
    VUG_ASSERT(vug_tokenizer_decode(tokenizer, tokens.id, tokens.n, false, &decoded, NULL) ==
               VUG_OK);
    vug_tokens_release(&tokens);
    vug_text_release(&decoded);
}

int vug_fuzz_sentencepiece(const uint8_t *data, size_t n)
{
    vug_reader r = vug_reader_over((vug_bytes){ data, n });
    const vug_bytes head = vug_read_span(&r, 2);
    const size_t wanted = head.len ? (size_t)head.ptr[0] | (size_t)head.ptr[1] << 8 : 0;
    const size_t left = vug_reader_left(&r);
    const vug_bytes model = vug_read_span(&r, wanted < left ? wanted : left);
    const vug_bytes rest = vug_read_span(&r, vug_reader_left(&r));
    const char *from = (const char *)rest.ptr;
    const char *mark = rest.len ? memchr(from, 0xff, rest.len) : NULL;
    const vug_str text = { from, mark ? (size_t)(mark - from) : rest.len };
    const vug_str config =
            mark ? vug_str_from((vug_str){ from, rest.len }, text.len + 1) : (vug_str){ 0 };
    vug_tokenizer *tokenizer = NULL;
    vug_err err = { 0 };
    const vug_status st =
            vug_tokenizer_from_sentencepiece(model, config, "input", &tokenizer, &err);
    VUG_ASSERT((st == VUG_OK) == (tokenizer != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        check_encode(tokenizer, text, VUG_ENCODE_PLAIN);
        check_encode(tokenizer, text, VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL);
        vug_tokenizer_close(tokenizer);
    }
    return 0;
}
