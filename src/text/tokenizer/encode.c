#include "text/tokenizer/tokenizer.h"

#include "core/text.h"
#include "vug/chat.h"

/*
 * From text to ids:
 *
 *     added tokens ─► normalizer ─► added tokens that are looked for after it
 *                  ─► pre-tokenizer ─► words ─► byte pairs (text/tokenizer/pieces.h) ─► ids
 *
 * as the reference does it (HF tokenizers, AddedVocabulary::extract_and_normalize).
 */

typedef struct {
    const vug_tokenizer *t;
    bool parse_special;
    vug_ranges plain; /* of the text that is encoded */
    vug_range *moved; /* their copy, where bytes were replaced or texts normalized */
    vug_buf clean;    /* the text, where it was not UTF-8 */
    vug_steps_work steps;
    vug_pieces_work pieces;
    vug_unigram_work unigram;
    vug_id_list ids;
    vug_err *err;
} encoding;

static vug_status out_of_memory(const encoding *e)
{
    return VUG_FAIL_NOMEM(e->err, "encoding a text", e->ids.n * sizeof(*e->ids.id));
}

/* ---- text that is not UTF-8 -------------------------------------------------- */

/* The plain ranges while bytes before them change. */
typedef struct {
    vug_range *range;
    size_t n, next; /* of 2 n ends, ascending */
} ends;

static size_t *end_at(const ends *e)
{
    vug_range *r = &e->range[e->next / 2];
    return e->next % 2 ? &r->to : &r->from;
}

/* Of text[from..to), `to` not included, which has come to lie `by` further on. */
static void move_ends(ends *e, size_t to, size_t ahead, size_t behind)
{
    for (; e->next < 2 * e->n && *end_at(e) < to; e->next++)
        *end_at(e) = *end_at(e) + ahead - behind;
}

/* Ends within something that was replaced: the range keeps all of it. */
static void round_ends(ends *e, size_t to, size_t first, size_t last)
{
    for (; e->next < 2 * e->n && *end_at(e) < to; e->next++)
        *end_at(e) = e->next % 2 ? last : first;
}

/* The text with one U+FFFD for every maximal part that is not UTF-8. */
static bool make_valid(encoding *e, vug_str *text)
{
    const vug_str raw = *text;
    ends moving = { e->moved, e->plain.n, 0 };
    size_t done = 0;
    uint32_t cp;
    for (size_t i = 0; i < raw.len;) {
        const size_t n = vug_utf8_next(raw.ptr + i, raw.len - i, &cp);
        if (n > 0) {
            i += n;
            continue;
        }
        move_ends(&moving, i + 1, e->clean.len, done);
        vug_buf_append(&e->clean, raw.ptr + done, i - done);
        const size_t first = e->clean.len;
        vug_buf_puts(&e->clean, "\xef\xbf\xbd");
        i += vug_utf8_bad(raw.ptr + i, raw.len - i);
        round_ends(&moving, i, first, e->clean.len);
        done = i;
    }
    if (done == 0)
        return true;
    move_ends(&moving, raw.len + 1, e->clean.len, done);
    vug_buf_append(&e->clean, raw.ptr + done, raw.len - done);
    *text = (vug_str){ e->clean.ptr, e->clean.len };
    return !e->clean.bad;
}

static bool is_inside(vug_str text, size_t at)
{
    return at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80;
}

/* Ranges that begin or end inside of a character have all of it. */
static void round_ranges(encoding *e, vug_str text)
{
    size_t before = 0;
    for (size_t i = 0; i < e->plain.n; i++) {
        vug_range *r = &e->moved[i];
        while (is_inside(text, r->from))
            r->from--;
        while (is_inside(text, r->to))
            r->to++;
        r->from = r->from > before ? r->from : before;
        r->to = r->to > r->from ? r->to : r->from;
        before = r->to;
    }
}

/* ---- plain ranges of a normalized text ----------------------------------------- */

/* The length of the normalized text[from..to). */
static vug_status normal_length(const vug_normalizer *how, vug_str text, vug_range r,
                                vug_steps_work *work, size_t *out, vug_err *err)
{
    vug_str normal;
    VUG_TRY(vug_normalize(how, (vug_str){ text.ptr + r.from, r.to - r.from }, work, &normal, err));
    *out = normal.len;
    return VUG_OK;
}

/* The steps for what is not the beginning of a text. */
static vug_normalizer without_prepend(const vug_normalizer *from)
{
    vug_normalizer out = { .n = 0 };
    for (size_t i = 0; i < from->n; i++) {
        if (from->step[i].kind != VUG_NORMAL_PREPEND)
            out.step[out.n++] = from->step[i];
    }
    return out;
}

/* Where the ranges of `raw` lie in its normalized form, of `len` bytes: as far as the
 * parts before them reach when each is normalized alone. Where that is not the whole,
 * because something happens across an end, all of it is taken for plain: rather a
 * control token that is not seen than one that somebody else wrote. */
static vug_status move_plain(const encoding *e, vug_str raw, const vug_ranges *of, size_t len,
                             vug_range *to, size_t *n)
{
    const vug_normalizer rest = without_prepend(&e->t->normalizer);
    vug_steps_work work = { 0 };
    vug_status st = VUG_OK;
    size_t at = 0, out = 0;
    for (size_t i = 0; i <= 2 * of->n && st == VUG_OK; i++) {
        const vug_range *r = &of->range[i / 2];
        const size_t end = i == 2 * of->n ? raw.len : i % 2 ? r->to : r->from;
        size_t part = 0;
        if (end > at)
            st = normal_length(at ? &rest : &e->t->normalizer, raw, (vug_range){ at, end }, &work,
                               &part, e->err);
        at = end;
        out += part;
        if (i < 2 * of->n)
            *(i % 2 ? &to[i / 2].to : &to[i / 2].from) = out;
    }
    vug_steps_work_release(&work);
    *n = of->n;
    if (out != len) {
        to[0] = (vug_range){ 0, len };
        *n = 1;
    }
    return st;
}

/* The ranges within text[from..to), counted from there; `to` has room for all. */
static vug_ranges ranges_within(const vug_ranges *plain, size_t from, size_t to, vug_range *out)
{
    size_t low = 0, n = 0;
    for (size_t high = plain->n; low < high;) {
        const size_t mid = low + (high - low) / 2;
        if (plain->range[mid].to <= from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < plain->n && plain->range[low].from < to; low++) {
        const vug_range r = plain->range[low];
        out[n++] = (vug_range){ r.from > from ? r.from - from : 0,
                                r.to < to ? r.to - from : to - from };
    }
    return (vug_ranges){ out, n };
}

/* ---- the way of a text ---------------------------------------------------------- */

static vug_status encode_word(void *user, vug_str word, vug_err *err)
{
    encoding *e = user;
    const vug_tokenizer *t = e->t;
    const vug_pieces how = { &t->bpe, &t->vocab, &t->cuts };
    (void)err;
    const bool fits =
            t->is_unigram ? vug_unigram_encode(&t->unigram, &t->vocab, word, &e->unigram, &e->ids)
                          : vug_pieces_encode(&how, word, &e->pieces, &e->ids);
    return fits ? VUG_OK : out_of_memory(e);
}

static vug_status encode_spans(encoding *e, vug_split *split, size_t at)
{
    vug_span span;
    for (bool first = at == 0; vug_split_next(split, &span); first = false) {
        if (!span.token)
            VUG_TRY(vug_words(&e->t->pre_tokenizer, span.text, first, &e->steps, encode_word, e,
                              e->err));
        else if (!vug_id_push(&e->ids, span.token->id))
            return out_of_memory(e);
    }
    return VUG_OK;
}

/* Text without the added tokens that are found before the normalizer; it begins at byte
 * `at` of all. */
static vug_status encode_text(encoding *e, vug_str text, size_t at)
{
    vug_str normal;
    VUG_TRY(vug_normalize(&e->t->normalizer, text, &e->steps, &normal, e->err));
    vug_split split = { .matcher = &e->t->normalized,
                        .text = normal,
                        .keep_special = e->parse_special };
    if (e->plain.n == 0 || e->t->normalized.n == 0)
        return encode_spans(e, &split, at);
    vug_range *room = vug_alloc(2 * e->plain.n + 1, sizeof(*room));
    if (!room)
        return out_of_memory(e);
    const vug_ranges here = ranges_within(&e->plain, at, at + text.len, room + e->plain.n + 1);
    size_t n = here.n;
    vug_status st = VUG_OK;
    if (n > 0)
        st = move_plain(e, text, &here, normal.len, room, &n);
    split.plain = (vug_ranges){ room, n };
    if (st == VUG_OK)
        st = encode_spans(e, &split, at);
    vug_free(room);
    return st;
}

/* Whether the normalizer is the one that makes UTF-8 of what is none. */
static bool takes_bytes(const vug_tokenizer *t)
{
    return t->normalizer.n > 0 && t->normalizer.step[0].kind == VUG_NORMAL_SENTENCEPIECE;
}

static vug_status encode_all(encoding *e, vug_str text)
{
    if ((!takes_bytes(e->t) && !make_valid(e, &text)) || !vug_pieces_prepare(&e->pieces, text.len))
        return out_of_memory(e);
    round_ranges(e, text);
    vug_split split = {
        .matcher = &e->t->raw, .text = text, .keep_special = e->parse_special, .plain = e->plain
    };
    vug_span span;
    while (vug_split_next(&split, &span)) {
        if (!span.token)
            VUG_TRY(encode_text(e, span.text, (size_t)(span.text.ptr - text.ptr)));
        else if (!vug_id_push(&e->ids, span.token->id))
            return out_of_memory(e);
    }
    return VUG_OK;
}

static vug_status push_few(encoding *e, const vug_few_ids *few)
{
    for (size_t i = 0; i < few->n; i++) {
        if (!vug_id_push(&e->ids, (uint32_t)few->id[i]))
            return out_of_memory(e);
    }
    return VUG_OK;
}

/* The first `n` ids, where the next are the same: a prompt that a template made begins with
 * <bos> itself, and no checkpoint was trained on two. */
static void drop_repeated(vug_id_list *ids, size_t n)
{
    if (n == 0 || ids->n < 2 * n || memcmp(ids->id, ids->id + n, n * sizeof(*ids->id)) != 0)
        return;
    ids->n -= n;
    memmove(ids->id, ids->id + n, ids->n * sizeof(*ids->id));
}

/* Hands out the ids, or only takes everything down. */
static vug_status finish(encoding *e, vug_status st, vug_tokens *out)
{
    vug_free(e->moved);
    vug_buf_release(&e->clean);
    vug_steps_work_release(&e->steps);
    vug_pieces_release(&e->pieces);
    vug_unigram_work_release(&e->unigram);
    if (st == VUG_OK)
        *out = (vug_tokens){ e->ids.id, e->ids.n };
    else
        vug_free(e->ids.id);
    return st;
}

static vug_status check_length(size_t len, vug_err *err)
{
    if (len > VUG_ENCODE_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "a text of %zu bytes, at most %zu are encoded at once", len,
                        VUG_ENCODE_MAX_BYTES);
    return VUG_OK;
}

vug_status vug_tokenizer_encode(const vug_tokenizer *t, const char *text, size_t len,
                                unsigned flags, vug_tokens *out, vug_err *err)
{
    VUG_TRY(check_length(len, err));
    encoding e = { .t = t, .parse_special = (flags & VUG_ENCODE_PARSE_SPECIAL) != 0, .err = err };
    const bool around = (flags & (VUG_ENCODE_ADD_SPECIAL | VUG_ENCODE_ADD_MISSING)) != 0;
    vug_status st = around ? push_few(&e, &t->before) : VUG_OK;
    if (st == VUG_OK)
        st = encode_all(&e, (vug_str){ text, len });
    if (flags & VUG_ENCODE_ADD_MISSING)
        drop_repeated(&e.ids, t->before.n);
    if (st == VUG_OK && around)
        st = push_few(&e, &t->after);
    return finish(&e, st, out);
}

/* ---- prompts ---------------------------------------------------------------------- */

void vug_prompt_release(vug_prompt *prompt)
{
    vug_text_release(&prompt->text);
    vug_free(prompt->plain);
    *prompt = (vug_prompt){ 0 };
}

static vug_status check_plain(const vug_prompt *prompt, vug_err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < prompt->n_plain; i++) {
        const vug_range r = prompt->plain[i];
        if (r.from < at || r.to < r.from || r.to > prompt->text.len)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "plain range %zu of a prompt is %zu to %zu, expected ranges within its "
                            "%zu bytes, ascending and apart",
                            i, r.from, r.to, prompt->text.len);
        at = r.to;
    }
    return VUG_OK;
}

vug_status vug_prompt_encode(const vug_tokenizer *t, const vug_prompt *prompt, vug_tokens *out,
                             vug_err *err)
{
    VUG_TRY(check_length(prompt->text.len, err));
    VUG_TRY(check_plain(prompt, err));
    encoding e = { .t = t, .parse_special = true, .err = err };
    if (prompt->n_plain > 0) {
        e.moved = vug_alloc(prompt->n_plain, sizeof(*e.moved));
        if (!e.moved)
            return out_of_memory(&e);
        memcpy(e.moved, prompt->plain, prompt->n_plain * sizeof(*e.moved));
        e.plain = (vug_ranges){ e.moved, prompt->n_plain };
    }
    const vug_status st = encode_all(&e, (vug_str){ prompt->text.ptr, prompt->text.len });
    return finish(&e, st, out);
}
