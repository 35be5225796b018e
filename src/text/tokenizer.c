#include "text/tokenizer.h"

#include "core/text.h"

/* ---- life ---------------------------------------------------------------- */

static vug_status open_from(vug_str json, const char *name, const vug_mapping *file,
                            vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    const vug_status st = vug_tokenizer_load(t, json, name, file, err);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_read(vug_str json, const char *name, vug_tokenizer **out, vug_err *err)
{
    return open_from(json, name, NULL, out, err);
}

vug_status vug_tokenizer_open(const char *path, vug_tokenizer **out, vug_err *err)
{
    char *joined = NULL;
    if (vug_is_folder(path)) {
        joined = vug_path_join(path, "tokenizer.json");
        if (!joined)
            return VUG_FAIL_NOMEM(err, path, strlen(path));
        path = joined;
    }
    vug_mapping file = { 0 };
    vug_status st = vug_map_file(path, &file, err);
    const bool gguf = st == VUG_OK && file.bytes.len >= 4 && memcmp(file.bytes.ptr, "GGUF", 4) == 0;
    if (gguf)
        st = vug_tokenizer_gguf_file(file.bytes, path, out, err);
    else if (st == VUG_OK && file.bytes.len > VUG_TOKENIZER_MAX_BYTES)
        st = VUG_FAIL(err, VUG_LIMIT, "%.200s: %zu bytes, a tokenizer.json may have %zu", path,
                      file.bytes.len, VUG_TOKENIZER_MAX_BYTES);
    if (st == VUG_OK && !gguf) {
        const vug_str json = { (const char *)file.bytes.ptr, file.bytes.len };
        st = open_from(json, path, &file, out, err);
    }
    vug_unmap(&file);
    vug_free(joined);
    return st;
}

void vug_tokenizer_close(vug_tokenizer *t)
{
    if (!t)
        return;
    vug_vocab_release(&t->vocab);
    vug_bpe_release(&t->bpe);
    vug_matcher_release(&t->raw);
    vug_matcher_release(&t->normalized);
    vug_free(t->added);
    vug_free(t->special);
    vug_trie_keeper_destroy(t->trie);
    vug_arena_release(&t->arena);
    vug_free(t);
}

/* ---- questions ----------------------------------------------------------- */

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

bool vug_token_is_special(const vug_tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->vocab.n_ids && vug_is_special(t, (uint32_t)id);
}

uint64_t vug_tokenizer_memory(const vug_tokenizer *t)
{
    return sizeof(*t) + t->arena.held + vug_vocab_memory(&t->vocab) + vug_bpe_memory(&t->bpe) +
           t->n_added * (sizeof(*t->added) + 2 * sizeof(const vug_added_token *)) +
           t->vocab.n_ids / 8 + 1;
}

const int32_t *vug_tokenizer_prefix(const vug_tokenizer *t, size_t *n)
{
    *n = t->before.n;
    return t->before.id;
}

/* ---- encoding ------------------------------------------------------------ */

typedef struct {
    const vug_tokenizer *t;
    bool parse_special;
    vug_buf clean;   /* the text, where it was not UTF-8 */
    vug_buf work[2]; /* of the normalizer */
    vug_bpe_work bpe;
    vug_id_list ids;
} encoding;

/* The text with one U+FFFD for every maximal part that is not UTF-8. */
static bool make_valid(encoding *e, vug_str *text)
{
    const vug_str raw = *text;
    size_t done = 0;
    uint32_t cp;
    for (size_t i = 0; i < raw.len;) {
        const size_t n = vug_utf8_next(raw.ptr + i, raw.len - i, &cp);
        if (n > 0) {
            i += n;
            continue;
        }
        vug_buf_append(&e->clean, raw.ptr + done, i - done);
        vug_buf_puts(&e->clean, "\xef\xbf\xbd");
        i += vug_utf8_bad(raw.ptr + i, raw.len - i);
        done = i;
    }
    if (done == 0)
        return true;
    vug_buf_append(&e->clean, raw.ptr + done, raw.len - done);
    *text = (vug_str){ e->clean.ptr, e->clean.len };
    return !e->clean.bad;
}

/* Text without added tokens of either kind. */
static bool encode_words(encoding *e, vug_str text)
{
    vug_words words = { &e->t->pre_tokenizer, text };
    vug_str word;
    while (vug_words_next(&words, &word)) {
        if (!vug_bpe_encode(&e->t->bpe, &e->t->vocab, word, &e->bpe, &e->ids))
            return false;
    }
    return true;
}

/* Text without the added tokens that are found before the normalizer. */
static bool encode_text(encoding *e, vug_str text)
{
    vug_str normal;
    if (!vug_normalize(&e->t->normalizer, text, e->work, &normal))
        return false;
    vug_split split = { .matcher = &e->t->normalized,
                        .text = normal,
                        .keep_special = e->parse_special };
    vug_span span;
    while (vug_split_next(&split, &span)) {
        if (!(span.token ? vug_id_push(&e->ids, span.token->id) : encode_words(e, span.text)))
            return false;
    }
    return true;
}

static bool encode_all(encoding *e, vug_str text)
{
    if (!make_valid(e, &text))
        return false;
    vug_split split = { .matcher = &e->t->raw, .text = text, .keep_special = e->parse_special };
    vug_span span;
    while (vug_split_next(&split, &span)) {
        if (!(span.token ? vug_id_push(&e->ids, span.token->id) : encode_text(e, span.text)))
            return false;
    }
    return true;
}

static bool push_few(vug_id_list *list, const vug_few_ids *few)
{
    for (size_t i = 0; i < few->n; i++) {
        if (!vug_id_push(list, (uint32_t)few->id[i]))
            return false;
    }
    return true;
}

vug_status vug_tokenizer_encode(const vug_tokenizer *t, const char *text, size_t len,
                                unsigned flags, vug_tokens *out, vug_err *err)
{
    if (len > VUG_ENCODE_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "a text of %zu bytes, at most %zu are encoded at once", len,
                        VUG_ENCODE_MAX_BYTES);
    encoding e = { .t = t, .parse_special = (flags & VUG_ENCODE_PARSE_SPECIAL) != 0 };
    const bool around = (flags & VUG_ENCODE_ADD_SPECIAL) != 0;
    const bool fits = (!around || push_few(&e.ids, &t->before)) &&
                      encode_all(&e, (vug_str){ text, len }) &&
                      (!around || push_few(&e.ids, &t->after));
    vug_buf_release(&e.clean);
    vug_buf_release(&e.work[0]);
    vug_buf_release(&e.work[1]);
    vug_bpe_work_release(&e.bpe);
    if (!fits) {
        vug_free(e.ids.id);
        return VUG_FAIL_NOMEM(err, "encoding a text", len);
    }
    *out = (vug_tokens){ e.ids.id, e.ids.n };
    return VUG_OK;
}
