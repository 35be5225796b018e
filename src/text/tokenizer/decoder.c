#include "text/tokenizer/tokenizer.h"

#include "core/text.h"
#include "text/tokenizer/bytelevel.h"

/*
 * From ids to text, a token at a time; the text of many ids is all their pieces
 * and the last one, so there is no second way that could differ.
 *
 *     spelling ─► steps per token ─► bytes it stands for ─► whole characters ─► strip ─► text
 *
 * Bytes that begin a character wait for the rest of it (at most three). Bytes
 * that cannot become one are U+FFFD, one for each maximal part. The reference
 * gives a run of byte tokens as a whole, and one U+FFFD for every byte of it if
 * anything in it is wrong; that needs the end of the run, which a stream does not
 * have, and loses what was right. For valid text both agree.
 */

/* Working memory for the bytes of one token. */
typedef struct {
    vug_buf buf[2];
    vug_regex_work regex;
    char one;
} spelling;

struct vug_decoder {
    const vug_tokenizer *t;
    bool skip_special;
    bool begun;          /* a token has come */
    char pending[8];     /* the beginning of a character */
    size_t n_pending;    /* at most 3 */
    uint32_t strip_left; /* occurrences still taken away at the start */
    uint32_t held;       /* occurrences that are taken away if the text ends now */
    spelling work;
    vug_buf out;
};

static void reset(vug_decoder *d)
{
    d->begun = false;
    d->n_pending = 0;
    d->held = 0;
    d->strip_left = d->t->decoding.strip.start;
    d->out.len = 0;
}

static void release_spelling(spelling *work)
{
    vug_buf_release(&work->buf[0]);
    vug_buf_release(&work->buf[1]);
    vug_regex_work_release(&work->regex);
}

static void release(vug_decoder *d)
{
    release_spelling(&d->work);
    vug_buf_release(&d->out);
}

/* A whole character on its way to the text. */
static void put_character(vug_decoder *d, const char *text, size_t n)
{
    const vug_decode_step *strip = &d->t->decoding.strip;
    const bool match =
            d->t->decoding.strips && n == strip->from.len && memcmp(text, strip->from.ptr, n) == 0;
    if (match && d->strip_left > 0) {
        d->strip_left--;
        return;
    }
    d->strip_left = 0;
    if (match && d->held < strip->stop) {
        d->held++;
        return;
    }
    /* Of a run longer than what the end may lose, the first ones are certain. */
    if (match && strip->stop > 0) {
        vug_buf_append(&d->out, text, n);
        return;
    }
    for (; d->held > 0; d->held--)
        vug_buf_append(&d->out, strip->from.ptr, strip->from.len);
    vug_buf_append(&d->out, text, n);
}

static void put_bytes(vug_decoder *d, vug_str s)
{
    size_t i = 0;
    uint32_t cp;
    /* Byte by byte until nothing of a character waits any more. */
    while (d->n_pending > 0 && i < s.len) {
        d->pending[d->n_pending] = s.ptr[i];
        const size_t n = d->n_pending + 1;
        if (vug_utf8_next(d->pending, n, &cp) == n) {
            put_character(d, d->pending, n);
            d->n_pending = 0;
            i++;
        } else if (vug_utf8_incomplete(d->pending, n)) {
            d->n_pending = n;
            i++;
        } else {
            put_character(d, "\xef\xbf\xbd", 3);
            d->n_pending = 0;
        }
    }
    while (i < s.len) {
        size_t n = vug_utf8_next(s.ptr + i, s.len - i, &cp);
        if (n > 0) {
            put_character(d, s.ptr + i, n);
        } else if (vug_utf8_incomplete(s.ptr + i, s.len - i)) {
            n = s.len - i;
            memcpy(d->pending, s.ptr + i, n);
            d->n_pending = n;
        } else {
            n = vug_utf8_bad(s.ptr + i, s.len - i);
            put_character(d, "\xef\xbf\xbd", 3);
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

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* The byte that "<0x41>" stands for, or -1. */
static int byte_of(vug_str s)
{
    if (s.len != 6 || memcmp(s.ptr, "<0x", 3) != 0 || s.ptr[5] != '>')
        return -1;
    const int high = hex_digit(s.ptr[3]);
    const int low = hex_digit(s.ptr[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The bytes that the characters of a spelling stand for, in `to`; false where one of
 * them stands for none, and the spelling is what it says. */
static bool unmap(vug_str s, vug_buf *to)
{
    to->len = 0;
    for (size_t i = 0, n; i < s.len; i += n) {
        uint32_t cp = 0;
        n = vug_utf8_next(s.ptr + i, s.len - i, &cp);
        const int byte = n ? vug_byte_of_char(cp) : -1;
        if (byte < 0)
            return false;
        const char c = (char)byte;
        vug_buf_append(to, &c, 1);
    }
    return true;
}

/* What the bytes of a spelling stand for, in `work` or as it is. */
static vug_status bytes_of(const vug_decoding *how, vug_str *s, bool first, spelling *work,
                           vug_err *err)
{
    int turn = 0;
    for (size_t i = 0; i < how->n; i++) {
        const vug_decode_step *step = &how->step[i];
        const vug_pattern pattern = { step->from, step->regex };
        bool changed = false;
        if (step->kind == VUG_DECODE_STRIP)
            *s = strip_token(*s, step);
        else if (step->kind != VUG_DECODE_DROP_FIRST || first)
            VUG_TRY(vug_pattern_replace(&pattern, &work->regex, *s, step->to, &work->buf[turn],
                                        &changed, err));
        if (changed) {
            *s = (vug_str){ work->buf[turn].len ? work->buf[turn].ptr : "", work->buf[turn].len };
            turn = !turn;
        }
    }
    const int byte = how->byte_fallback ? byte_of(*s) : -1;
    if (byte >= 0) {
        work->one = (char)byte;
        *s = (vug_str){ &work->one, 1 };
    } else if (how->byte_level && s->len > 0 && unmap(*s, &work->buf[turn])) {
        *s = (vug_str){ work->buf[turn].ptr, work->buf[turn].len };
    }
    VUG_TRY(vug_buf_ok(&work->buf[0], err));
    return vug_buf_ok(&work->buf[1], err);
}

/* A normalized added token is what it was looked for as, which the decoder can turn back
 * (HF tokenizers, AddedVocabulary::simple_id_to_token). */
static vug_str spelling_of(const vug_tokenizer *t, uint32_t id)
{
    size_t low = 0, high = t->n_renamed;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->renamed[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < t->n_renamed && t->renamed[low]->id == id)
        return t->renamed[low]->pattern;
    return vug_vocab_text(&t->vocab, id);
}

static vug_status put_token(vug_decoder *d, uint32_t id, vug_err *err)
{
    vug_str s = spelling_of(d->t, id);
    if (!s.ptr || (d->skip_special && vug_is_special(d->t, id)))
        return VUG_OK;
    if (d->t->decoding.spaced && d->begun)
        put_character(d, " ", 1);
    const bool first = !d->begun;
    d->begun = true;
    VUG_TRY(bytes_of(&d->t->decoding, &s, first, &d->work, err));
    put_bytes(d, s);
    return VUG_OK;
}

bool vug_token_bytes(const vug_tokenizer *t, int32_t id, vug_buf *to)
{
    vug_str s = id < 0 ? (vug_str){ 0 } : spelling_of(t, (uint32_t)id);
    if (!s.ptr)
        return false;
    spelling work = { 0 };
    if (bytes_of(&t->decoding, &s, false, &work, NULL) == VUG_OK)
        vug_buf_append(to, s.ptr, s.len);
    else
        to->bad = true;
    release_spelling(&work);
    return true;
}

vug_status vug_tokenizer_bytes(const vug_tokenizer *t, int32_t id, vug_text *out, vug_err *err)
{
    vug_buf bytes = { 0 };
    if (!vug_token_bytes(t, id, &bytes))
        return VUG_FAIL(err, VUG_ARGUMENT, "token %d has no spelling", (int)id);
    vug_buf_puts(&bytes, ""); /* which a token may be */
    const vug_status st = vug_buf_take(&bytes, out, err);
    vug_buf_release(&bytes);
    return st;
}

bool vug_tokenizer_is_special(const vug_tokenizer *t, int32_t id)
{
    return vug_token_is_special(t, id);
}

static vug_status push(vug_decoder *d, int32_t id, vug_err *err)
{
    if (id < 0 || (size_t)id >= d->t->vocab.n_ids)
        return VUG_FAIL(err, VUG_ARGUMENT, "token %d is not in the vocabulary of %zu", (int)id,
                        d->t->vocab.n_ids);
    VUG_TRY(put_token(d, (uint32_t)id, err));
    return vug_buf_ok(&d->out, err);
}

/* What waits for more that will not come. */
static void flush(vug_decoder *d)
{
    if (d->n_pending > 0)
        put_character(d, "\xef\xbf\xbd", 3);
    d->n_pending = 0;
}

vug_status vug_tokenizer_decode(const vug_tokenizer *t, const int32_t *id, size_t n,
                                bool skip_special, vug_text *out, vug_err *err)
{
    vug_decoder d = { .t = t, .skip_special = skip_special };
    reset(&d);
    vug_status st = VUG_OK;
    for (size_t i = 0; i < n && st == VUG_OK; i++)
        st = push(&d, id[i], err);
    if (st == VUG_OK) {
        flush(&d);
        st = vug_buf_take(&d.out, out, err);
    }
    release(&d);
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
    reset(d);
    *out = d;
    return VUG_OK;
}

void vug_decoder_destroy(vug_decoder *d)
{
    if (!d)
        return;
    release(d);
    vug_free(d);
}

/* Hands out what has come together since the last call. */
static vug_status give(vug_decoder *d, const char **text, size_t *len, vug_err *err)
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
    VUG_TRY(push(d, id, err));
    return give(d, text, len, err);
}

vug_status vug_decoder_finish(vug_decoder *d, const char **text, size_t *len, vug_err *err)
{
    d->out.len = 0;
    flush(d);
    VUG_TRY(give(d, text, len, err));
    reset(d);
    return VUG_OK;
}
