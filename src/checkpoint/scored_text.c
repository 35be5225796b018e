/* A text to be scored: its tokens, and the windows that the models read it in. */
#include "checkpoint/score.h"

#include "core/utf8.h"
#include "text/text.h"

/* ---- tokens ------------------------------------------------------------------------------ */

static vug_status check_utf8(const char *name, vug_str text, vug_err *err)
{
    for (size_t at = 0; at < text.len;) {
        uint32_t c;
        const size_t n = vug_utf8_decode(text.ptr + at, text.len - at, &c);
        if (n == 0)
            return VUG_FAIL(err, VUG_FORMAT, "%s: not UTF-8: byte 0x%02x at offset %zu", name,
                            (unsigned char)text.ptr[at], at);
        at += n;
    }
    return VUG_OK;
}

static vug_status require_tokenizer(const vug_model *m, const vug_tokenizer **out, vug_err *err)
{
    *out = vug_model_tokenizer(m, err);
    return *out ? VUG_OK : VUG_UNSUPPORTED;
}

static vug_status check_ids(const vug_model_info *m, const int32_t *id, size_t n, vug_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= m->n_vocab)
            return VUG_FAIL(err, VUG_FORMAT, "%s: the tokenizer gives id %d, ids are 0 to %lld",
                            m->path, id[i], (long long)m->n_vocab - 1);
    return VUG_OK;
}

/* Refuses a base that does not read the text as the same tokens. */
static vug_status check_base(const vug_scored_text *t, const vug_model_info *m,
                             const vug_model *base, vug_str text, vug_err *err)
{
    const vug_model_info b = vug_model_describe(base);
    const vug_tokenizer *tokenizer;
    vug_tokens id = { 0 };
    size_t n_front, i = 0;
    VUG_TRY(require_tokenizer(base, &tokenizer, err));
    if (m->n_vocab != b.n_vocab)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s has %lld ids, %s has %lld; only the same tokens can be compared",
                        m->path, (long long)m->n_vocab, b.path, (long long)b.n_vocab);
    const int32_t *front = vug_tokenizer_prefix(tokenizer, &n_front);
    if (n_front != t->n_front ||
        (n_front && memcmp(front, t->front, n_front * sizeof(*front)) != 0))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s and %s have tokenizers that put other tokens in front of a text; only "
                        "the same tokens can be compared",
                        m->path, b.path);
    VUG_TRY(vug_tokenizer_encode(tokenizer, text.ptr, text.len, VUG_ENCODE_PARSE_SPECIAL, &id,
                                 err));
    while (i < id.n && i < t->text.n && id.id[i] == t->text.id[i])
        i++;
    vug_status st = VUG_OK;
    if (i < id.n || i < t->text.n)
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s and %s have different tokenizers: %s is %zu and %zu tokens, the same "
                      "up to number %zu; only the same tokens can be compared",
                      m->path, b.path, t->name, t->text.n, id.n, i);
    vug_tokens_release(&id);
    return st;
}

vug_status vug_scored_text_read(const vug_model *model, const vug_model *base, vug_str text,
                                vug_scored_text *t, vug_err *err)
{
    const vug_model_info info = vug_model_describe(model);
    const vug_tokenizer *tokenizer;
    VUG_TRY(require_tokenizer(model, &tokenizer, err));
    VUG_TRY(check_utf8(t->name, text, err));
    VUG_TRY(vug_tokenizer_encode(tokenizer, text.ptr, text.len, VUG_ENCODE_PARSE_SPECIAL, &t->text,
                                 err));
    t->front = vug_tokenizer_prefix(tokenizer, &t->n_front);
    t->n_vocab = info.n_vocab;
    VUG_TRY(check_ids(&info, t->front, t->n_front, err));
    VUG_TRY(check_ids(&info, t->text.id, t->text.n, err));
    return base ? check_base(t, &info, base, text, err) : VUG_OK;
}

void vug_scored_text_release(vug_scored_text *t)
{
    vug_tokens_release(&t->text);
    *t = (vug_scored_text){ 0 };
}

/* ---- windows ------------------------------------------------------------------------------ */

int64_t vug_scored_text_per_window(const vug_scored_text *t)
{
    return t->window - (int64_t)t->n_front;
}

static int64_t count_windows(const vug_scored_text *t)
{
    const int64_t rest = (int64_t)t->text.n - vug_scored_text_per_window(t);
    return rest <= 0 ? 1 : 1 + (rest + t->stride - 1) / t->stride;
}

/* Without tokens in front, the first token of a window has no context and is not scored. */
vug_text_window vug_scored_text_window(const vug_scored_text *t, int64_t k)
{
    const int64_t n = (int64_t)t->text.n, per_window = vug_scored_text_per_window(t);
    const int64_t begin = k * t->stride;
    const int64_t seen = k ? begin - t->stride + per_window : 0;
    const int64_t least = begin + (t->n_front == 0);
    return (vug_text_window){ .begin = begin,
                              .first = seen > least ? seen : least,
                              .end = n < begin + per_window ? n : begin + per_window };
}

vug_status vug_scored_text_set_windows(vug_scored_text *t, int64_t context, vug_err *err)
{
    const int64_t least = t->n_front ? (int64_t)t->n_front + 1 : 2;
    if (t->window < least || t->window > context)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "windows of %lld tokens, expected %lld to %lld, which the context holds",
                        (long long)t->window, (long long)least, (long long)context);
    if (t->stride < 1 || t->stride > vug_scored_text_per_window(t))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "a window every %lld tokens, expected 1 to %lld: that many tokens of the "
                        "text are in a window of %lld",
                        (long long)t->stride, (long long)vug_scored_text_per_window(t),
                        (long long)t->window);
    t->n_windows = count_windows(t);
    for (int64_t k = 0; k < t->n_windows; k++) {
        const vug_text_window w = vug_scored_text_window(t, k);
        t->n_scored += w.end - w.first;
    }
    if (t->n_scored < 2)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: %zu tokens, of which %lld can be scored; at least 2 are needed",
                        t->name, t->text.n, (long long)t->n_scored);
    return VUG_OK;
}

static bool is_scored(const vug_scored_text *t, int64_t i)
{
    return t->n_front > 0 ||
           (i > 0 && (t->stride < vug_scored_text_per_window(t) || i % t->stride != 0));
}

vug_status vug_scored_text_bytes(const vug_scored_text *t, const vug_tokenizer *tokenizer,
                                 size_t len, uint64_t *out, vug_err *err)
{
    vug_decoder *decoder;
    vug_status st = VUG_OK;
    *out = len;
    if (t->n_front > 0)
        return VUG_OK;
    VUG_TRY(vug_decoder_create(tokenizer, false, &decoder, err));
    for (size_t i = 0; i < t->text.n && st == VUG_OK; i++) {
        const char *piece;
        size_t n;
        st = vug_decoder_push(decoder, t->text.id[i], &piece, &n, err);
        if (st == VUG_OK && !is_scored(t, (int64_t)i))
            *out -= n < *out ? n : *out;
    }
    vug_decoder_destroy(decoder);
    return st;
}
