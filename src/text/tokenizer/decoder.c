#include "text/tokenizer/internal.h"

#include "core/number.h"
#include "core/utf8.h"
#include "text/tokenizer/byte_level.h"

/*
 * From ids to text, one token at a time. Decoding a list of ids is decoding a stream, so the
 * two cannot differ.
 *
 *     token text ─► steps per token ─► bytes ─► whole characters ─► strip ─► text
 *
 * Bytes that begin a character wait for the rest of it (at most three). Invalid bytes become
 * U+FFFD, one for each maximal part. The reference decodes a run of byte tokens as a whole,
 * and to one U+FFFD per byte if anything in it is invalid. A stream cannot do that, since it
 * does not know where the run ends, and it would lose valid parts. For valid text both agree.
 */

/* Working memory for one token. */
typedef struct {
    vug_buf buf[2];
    vug_regex_work regex;
    char one;
} byte_buffers;

struct vug_decoder {
    const vug_tokenizer *t;
    bool skip_special;
    bool begun;          /* there was a token */
    char pending[8];     /* the first bytes of a character */
    size_t n_pending;    /* at most 3 */
    uint32_t strip_left; /* occurrences still to be removed at the start */
    uint32_t held;       /* occurrences to be removed if the text ends now */
    byte_buffers work;
    vug_buf out;
};

static void reset_decoder(vug_decoder *d)
{
    d->begun = false;
    d->n_pending = 0;
    d->held = 0;
    d->strip_left = d->t->decode.strip.start;
    d->out.len = 0;
}

static void release_buffers(byte_buffers *work)
{
    vug_buf_release(&work->buf[0]);
    vug_buf_release(&work->buf[1]);
    vug_regex_work_release(&work->regex);
}

static void release_decoder(vug_decoder *d)
{
    release_buffers(&d->work);
    vug_buf_release(&d->out);
}

/* Appends a whole character, unless the strip step removes it. */
static void emit_character(vug_decoder *d, const char *text, size_t n)
{
    const vug_decode_step *strip = &d->t->decode.strip;
    const bool match =
            d->t->decode.has_strip && n == strip->from.len && memcmp(text, strip->from.ptr, n) == 0;
    if (match && d->strip_left > 0) {
        d->strip_left--;
        return;
    }
    d->strip_left = 0;
    if (match && d->held < strip->stop) {
        d->held++;
        return;
    }
    /* A run is longer than what can be removed at the end: its first character is safe. */
    if (match && strip->stop > 0) {
        vug_buf_append(&d->out, text, n);
        return;
    }
    for (; d->held > 0; d->held--)
        vug_buf_append(&d->out, strip->from.ptr, strip->from.len);
    vug_buf_append(&d->out, text, n);
}

static void emit_bytes(vug_decoder *d, vug_str s)
{
    size_t i = 0;
    uint32_t cp;
    /* Byte by byte until no partial character is pending. */
    while (d->n_pending > 0 && i < s.len) {
        d->pending[d->n_pending] = s.ptr[i];
        const size_t n = d->n_pending + 1;
        if (vug_utf8_decode(d->pending, n, &cp) == n) {
            emit_character(d, d->pending, n);
            d->n_pending = 0;
            i++;
        } else if (vug_utf8_incomplete(d->pending, n)) {
            d->n_pending = n;
            i++;
        } else {
            emit_character(d, "\xef\xbf\xbd", 3);
            d->n_pending = 0;
        }
    }
    while (i < s.len) {
        size_t n = vug_utf8_decode(s.ptr + i, s.len - i, &cp);
        if (n > 0) {
            emit_character(d, s.ptr + i, n);
        } else if (vug_utf8_incomplete(s.ptr + i, s.len - i)) {
            n = s.len - i;
            memcpy(d->pending, s.ptr + i, n);
            d->n_pending = n;
        } else {
            n = vug_utf8_invalid_length(s.ptr + i, s.len - i);
            emit_character(d, "\xef\xbf\xbd", 3);
        }
        i += n;
    }
}

static vug_str strip_token(vug_str s, const vug_decode_step *strip)
{
    const vug_str c = strip->from;
    for (uint32_t i = 0; i < strip->start && s.len >= c.len; i++) {
        if (memcmp(s.ptr, c.ptr, c.len) != 0)
            break;
        s = (vug_str){ s.ptr + c.len, s.len - c.len };
    }
    for (uint32_t i = 0; i < strip->stop && s.len >= c.len; i++) {
        if (memcmp(s.ptr + s.len - c.len, c.ptr, c.len) != 0)
            break;
        s.len -= c.len;
    }
    return s;
}

/* The byte that a token like "<0x41>" stands for, or -1. */
static int parse_byte_token(vug_str s)
{
    if (s.len != 6 || memcmp(s.ptr, "<0x", 3) != 0 || s.ptr[5] != '>')
        return -1;
    const int high = vug_hex_digit(s.ptr[3]);
    const int low = vug_hex_digit(s.ptr[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Writes the bytes that the characters of a token stand for to `to`; false if one of them
 * stands for none, in which case the token is literal text. */
static bool map_to_bytes(vug_str s, vug_buf *to)
{
    to->len = 0;
    for (size_t i = 0, n; i < s.len; i += n) {
        uint32_t cp = 0;
        n = vug_utf8_decode(s.ptr + i, s.len - i, &cp);
        const int byte = n ? vug_byte_level_byte(cp) : -1;
        if (byte < 0)
            return false;
        const char c = (char)byte;
        vug_buf_append(to, &c, 1);
    }
    return true;
}

/* Turns the text of a token into the bytes that it stands for; they lie in `work` or in `s`. */
static vug_status token_to_bytes(const vug_decode_pipeline *pipeline, vug_str *s, bool first,
                                 byte_buffers *work, vug_err *err)
{
    int next_buf = 0;
    for (size_t i = 0; i < pipeline->n; i++) {
        const vug_decode_step *step = &pipeline->step[i];
        const vug_pattern pattern = { step->from, step->regex };
        bool changed = false;
        if (step->kind == VUG_DECODE_STRIP)
            *s = strip_token(*s, step);
        else if (step->kind != VUG_DECODE_REMOVE_FROM_FIRST || first)
            VUG_TRY(vug_pattern_replace(&pattern, &work->regex, *s, step->to, &work->buf[next_buf],
                                        &changed, err));
        if (changed) {
            *s = (vug_str){ work->buf[next_buf].len ? work->buf[next_buf].ptr : "",
                            work->buf[next_buf].len };
            next_buf = !next_buf;
        }
    }
    const int byte = pipeline->byte_fallback ? parse_byte_token(*s) : -1;
    if (byte >= 0) {
        work->one = (char)byte;
        *s = (vug_str){ &work->one, 1 };
    } else if (pipeline->byte_level && s->len > 0 && map_to_bytes(*s, &work->buf[next_buf])) {
        *s = (vug_str){ work->buf[next_buf].ptr, work->buf[next_buf].len };
    }
    VUG_TRY(vug_buf_ok(&work->buf[0], err));
    return vug_buf_ok(&work->buf[1], err);
}

/* The text of a token. For a normalized added token that is its pattern, which the decoder
 * can turn back (HF tokenizers, AddedVocabulary::simple_id_to_token). */
static vug_str token_text(const vug_tokenizer *t, uint32_t id)
{
    size_t low = 0, high = t->n_respelled;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->respelled[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < t->n_respelled && t->respelled[low]->id == id)
        return t->respelled[low]->pattern;
    return vug_vocab_text(&t->vocab, id);
}

static vug_status emit_token(vug_decoder *d, uint32_t id, vug_err *err)
{
    vug_str s = token_text(d->t, id);
    if (!s.ptr || (d->skip_special && vug_tokenizer_is_special_id(d->t, id)))
        return VUG_OK;
    if (d->t->decode.joins_with_spaces && d->begun)
        emit_character(d, " ", 1);
    const bool first = !d->begun;
    d->begun = true;
    VUG_TRY(token_to_bytes(&d->t->decode, &s, first, &d->work, err));
    emit_bytes(d, s);
    return VUG_OK;
}

bool vug_tokenizer_append_bytes(const vug_tokenizer *t, int32_t id, vug_buf *to)
{
    vug_str s = id < 0 ? (vug_str){ 0 } : token_text(t, (uint32_t)id);
    if (!s.ptr)
        return false;
    byte_buffers work = { 0 };
    if (token_to_bytes(&t->decode, &s, false, &work, NULL) == VUG_OK)
        vug_buf_append(to, s.ptr, s.len);
    else
        to->bad = true;
    release_buffers(&work);
    return true;
}

vug_status vug_tokenizer_bytes(const vug_tokenizer *t, int32_t id, vug_text *out, vug_err *err)
{
    vug_buf bytes = { 0 };
    if (!vug_tokenizer_append_bytes(t, id, &bytes))
        return VUG_FAIL(err, VUG_ARGUMENT, "token %d has no text", (int)id);
    vug_buf_puts(&bytes, ""); /* a token may be empty */
    const vug_status st = vug_buf_take(&bytes, out, err);
    vug_buf_release(&bytes);
    return st;
}

static vug_status push_id(vug_decoder *d, int32_t id, vug_err *err)
{
    if (id < 0 || (size_t)id >= d->t->vocab.n_ids)
        return VUG_FAIL(err, VUG_ARGUMENT, "token %d is not in the vocabulary of %zu", (int)id,
                        d->t->vocab.n_ids);
    VUG_TRY(emit_token(d, (uint32_t)id, err));
    return vug_buf_ok(&d->out, err);
}

/* At the end of the text, a partial character is invalid. */
static void flush_pending(vug_decoder *d)
{
    if (d->n_pending > 0)
        emit_character(d, "\xef\xbf\xbd", 3);
    d->n_pending = 0;
}

vug_status vug_tokenizer_decode(const vug_tokenizer *t, const int32_t *id, size_t n,
                                bool skip_special, vug_text *out, vug_err *err)
{
    vug_decoder d = { .t = t, .skip_special = skip_special };
    reset_decoder(&d);
    vug_status st = VUG_OK;
    for (size_t i = 0; i < n && st == VUG_OK; i++)
        st = push_id(&d, id[i], err);
    if (st == VUG_OK) {
        flush_pending(&d);
        st = vug_buf_take(&d.out, out, err);
    }
    release_decoder(&d);
    return st;
}

vug_status vug_decoder_create(const vug_tokenizer *t, bool skip_special, vug_decoder **out,
                              vug_err *err)
{
    vug_decoder *d = vug_alloc_zero(1, sizeof(*d));
    if (!d)
        return VUG_FAIL_NOMEM(err, "a decoder", sizeof(*d));
    d->t = t;
    d->skip_special = skip_special;
    reset_decoder(d);
    *out = d;
    return VUG_OK;
}

void vug_decoder_destroy(vug_decoder *d)
{
    if (!d)
        return;
    release_decoder(d);
    vug_free(d);
}

/* Returns the text since the last call. */
static vug_status take_output(vug_decoder *d, const char **text, size_t *len, vug_err *err)
{
    VUG_TRY(vug_buf_ok(&d->out, err));
    *text = d->out.len ? d->out.ptr : "";
    *len = d->out.len;
    return VUG_OK;
}

vug_status vug_decoder_push(vug_decoder *d, int32_t id, const char **text, size_t *len,
                            vug_err *err)
{
    d->out.len = 0;
    VUG_TRY(push_id(d, id, err));
    return take_output(d, text, len, err);
}

vug_status vug_decoder_finish(vug_decoder *d, const char **text, size_t *len, vug_err *err)
{
    d->out.len = 0;
    flush_pending(d);
    VUG_TRY(take_output(d, text, len, err));
    reset_decoder(d);
    return VUG_OK;
}
