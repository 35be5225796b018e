#include "text/tokenizer/internal.h"

#include "core/utf8.h"
#include "vug/chat.h"

/*
 * From text to ids:
 *
 *     added tokens ─► normalizer ─► added tokens that are matched after it
 *                  ─► pre-tokenizer ─► words ─► BPE (text/tokenizer/bpe_cache.h) ─► ids
 *
 * as in the reference (HF tokenizers, AddedVocabulary::extract_and_normalize).
 */

typedef struct {
    const vug_tokenizer *t;
    bool parse_special;
    bool continues;           /* the text is not the beginning of a whole */
    vug_range_list untrusted; /* of the text that is encoded */
    vug_range *moved;         /* what `untrusted` points to; moves when bytes are replaced */
    vug_buf clean;            /* the text with U+FFFD for invalid bytes, if it had any */
    vug_pipeline_work work;
    vug_bpe_cache cache;
    vug_id_list ids;
    vug_err *err;
} encode_state;

static vug_status out_of_memory(const encode_state *e)
{
    return VUG_FAIL_NOMEM(e->err, "encoding a text", e->ids.n * sizeof(*e->ids.id));
}

/* ---- text that is not UTF-8 -------------------------------------------------- */

/* The ends of the untrusted ranges while the bytes before them are replaced. */
typedef struct {
    vug_range *range;
    size_t n, next; /* ranges; the next of their 2 n ends, ascending */
} range_ends;

static size_t *next_end(const range_ends *e)
{
    vug_range *r = &e->range[e->next / 2];
    return e->next % 2 ? &r->to : &r->from;
}

/* Moves the ends before `to`: the first `old_len` bytes became `new_len` bytes. */
static void move_ends(range_ends *e, size_t to, size_t new_len, size_t old_len)
{
    for (; e->next < 2 * e->n && *next_end(e) < to; e->next++)
        *next_end(e) = *next_end(e) + new_len - old_len;
}

/* Moves the ends within a replaced part: the range includes all of the replacement. */
static void widen_ends(range_ends *e, size_t to, size_t first, size_t last)
{
    for (; e->next < 2 * e->n && *next_end(e) < to; e->next++)
        *next_end(e) = e->next % 2 ? last : first;
}

/* Replaces every maximal invalid part of the text, or every byte of it, by U+FFFD. */
static bool replace_invalid(encode_state *e, vug_str *text)
{
    const vug_str raw = *text;
    range_ends moving = { e->moved, e->untrusted.n, 0 };
    size_t done = 0;
    uint32_t cp;
    for (size_t i = 0; i < raw.len;) {
        const size_t n = vug_utf8_decode(raw.ptr + i, raw.len - i, &cp);
        if (n > 0) {
            i += n;
            continue;
        }
        move_ends(&moving, i + 1, e->clean.len, done);
        vug_buf_append(&e->clean, raw.ptr + done, i - done);
        const size_t first = e->clean.len;
        vug_buf_puts(&e->clean, "\xef\xbf\xbd");
        i += e->t->replace_each_byte ? 1 : vug_utf8_invalid_length(raw.ptr + i, raw.len - i);
        widen_ends(&moving, i, first, e->clean.len);
        done = i;
    }
    if (done == 0)
        return true;
    move_ends(&moving, raw.len + 1, e->clean.len, done);
    vug_buf_append(&e->clean, raw.ptr + done, raw.len - done);
    *text = (vug_str){ e->clean.ptr, e->clean.len };
    return !e->clean.bad;
}

static bool is_continuation(vug_str text, size_t at)
{
    return at < text.len && vug_utf8_is_continuation(text.ptr[at]);
}

/* Extends ranges that begin or end inside a character to all of it. */
static void extend_ranges(encode_state *e, vug_str text)
{
    size_t before = 0;
    for (size_t i = 0; i < e->untrusted.n; i++) {
        vug_range *r = &e->moved[i];
        while (is_continuation(text, r->from))
            r->from--;
        while (is_continuation(text, r->to))
            r->to++;
        r->from = r->from > before ? r->from : before;
        r->to = r->to > r->from ? r->to : r->from;
        before = r->to;
    }
}

/* ---- untrusted ranges of a normalized text ----------------------------------------- */

/* The length of the normalized text[from..to). */
static vug_status normalized_length(const vug_normalizer *normalizer, vug_str text, vug_range r,
                                    vug_pipeline_work *work, size_t *out, vug_err *err)
{
    vug_str normal;
    VUG_TRY(vug_normalizer_apply(normalizer, (vug_str){ text.ptr + r.from, r.to - r.from }, work,
                                 &normal, err));
    *out = normal.len;
    return VUG_OK;
}

/* The normalizer for parts that are not the beginning of a text. */
static vug_normalizer without_prepend(const vug_normalizer *from)
{
    vug_normalizer out = { .n = 0 };
    for (size_t i = 0; i < from->n; i++) {
        if (from->step[i].kind != VUG_NORMALIZER_PREPEND)
            out.step[out.n++] = from->step[i];
    }
    return out;
}

/* Finds where the ranges of `raw` lie in its normalized form, of `len` bytes, by normalizing
 * the parts between their ends alone. If the lengths do not add up to `len`, because the
 * normalizer acted across an end, the whole text counts as untrusted: it is better to miss a
 * control token than to accept one that an untrusted author wrote. */
static vug_status move_untrusted(const encode_state *e, vug_str raw, const vug_range_list *of,
                                 size_t len, vug_range *to, size_t *n)
{
    const vug_normalizer rest = without_prepend(&e->t->normalizer);
    vug_pipeline_work work = { 0 };
    vug_status st = VUG_OK;
    size_t at = 0, out = 0;
    for (size_t i = 0; i <= 2 * of->n && st == VUG_OK; i++) {
        const vug_range *r = &of->range[i / 2];
        const size_t end = i == 2 * of->n ? raw.len : i % 2 ? r->to : r->from;
        size_t part = 0;
        if (end > at)
            st = normalized_length(at ? &rest : &e->t->normalizer, raw, (vug_range){ at, end },
                                   &work, &part, e->err);
        at = end;
        out += part;
        if (i < 2 * of->n)
            *(i % 2 ? &to[i / 2].to : &to[i / 2].from) = out;
    }
    vug_pipeline_work_release(&work);
    *n = of->n;
    if (out != len) {
        to[0] = (vug_range){ 0, len };
        *n = 1;
    }
    return st;
}

/* The parts of the ranges within text[from..to), relative to `from`; `out` has room for all. */
static vug_range_list clip_ranges(const vug_range_list *ranges, size_t from, size_t to,
                                  vug_range *out)
{
    size_t low = 0, n = 0;
    for (size_t high = ranges->n; low < high;) {
        const size_t mid = low + (high - low) / 2;
        if (ranges->range[mid].to <= from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < ranges->n && ranges->range[low].from < to; low++) {
        const vug_range r = ranges->range[low];
        out[n++] = (vug_range){ r.from > from ? r.from - from : 0,
                                r.to < to ? r.to - from : to - from };
    }
    return (vug_range_list){ out, n };
}

/* ---- encoding -------------------------------------------------------------------- */

static vug_status encode_word(void *user, vug_str word, vug_err *err)
{
    encode_state *e = user;
    const vug_tokenizer *t = e->t;
    const vug_bpe_tables tables = { &t->bpe, &t->vocab, &t->safe_splits };
    (void)err;
    return vug_bpe_encode_cached(&tables, word, &e->cache, &e->ids) ? VUG_OK : out_of_memory(e);
}

static vug_status encode_spans(encode_state *e, vug_added_token_split *split, size_t at)
{
    vug_text_span span;
    for (bool first = at == 0 && !e->continues; vug_added_token_split_next(split, &span);
         first = false) {
        if (!span.token)
            VUG_TRY(vug_pre_tokenizer_apply(&e->t->pre_tokenizer, span.text, first, &e->work,
                                            encode_word, e, e->err));
        else if (!vug_id_list_push(&e->ids, span.token->id))
            return out_of_memory(e);
    }
    return VUG_OK;
}

/* Encodes a text between added tokens that are matched before the normalizer. It begins at
 * byte `at` of the whole. */
static vug_status encode_text(encode_state *e, vug_str text, size_t at)
{
    vug_str normal;
    VUG_TRY(vug_normalizer_apply(&e->t->normalizer, text, &e->work, &normal, e->err));
    vug_added_token_split split = { .set = &e->t->added_normalized,
                                    .text = normal,
                                    .keep_special = e->parse_special };
    if (e->untrusted.n == 0 || e->t->added_normalized.n == 0)
        return encode_spans(e, &split, at);
    vug_range *room = vug_alloc(2 * e->untrusted.n + 1, sizeof(*room));
    if (!room)
        return out_of_memory(e);
    const vug_range_list here =
            clip_ranges(&e->untrusted, at, at + text.len, room + e->untrusted.n + 1);
    size_t n = here.n;
    vug_status st = VUG_OK;
    if (n > 0)
        st = move_untrusted(e, text, &here, normal.len, room, &n);
    split.untrusted = (vug_range_list){ room, n };
    if (st == VUG_OK)
        st = encode_spans(e, &split, at);
    vug_free(room);
    return st;
}

static vug_status encode_all(encode_state *e, vug_str text)
{
    e->clean.len = 0;
    if (!replace_invalid(e, &text))
        return out_of_memory(e);
    extend_ranges(e, text);
    vug_added_token_split split = { .set = &e->t->added_raw,
                                    .text = text,
                                    .keep_special = e->parse_special,
                                    .untrusted = e->untrusted };
    vug_text_span span;
    while (vug_added_token_split_next(&split, &span)) {
        if (!span.token)
            VUG_TRY(encode_text(e, span.text, (size_t)(span.text.ptr - text.ptr)));
        else if (!vug_id_list_push(&e->ids, span.token->id))
            return out_of_memory(e);
    }
    return VUG_OK;
}

static vug_status push_special(encode_state *e, const vug_special_ids *few)
{
    for (size_t i = 0; i < few->n; i++) {
        if (!vug_id_list_push(&e->ids, (uint32_t)few->id[i]))
            return out_of_memory(e);
    }
    return VUG_OK;
}

/* Drops the first `n` ids if the next `n` are equal: a prompt that a template rendered has
 * its own <bos>, and no checkpoint was trained on two. */
static void drop_repeated(vug_id_list *ids, size_t n)
{
    if (n == 0 || ids->n < 2 * n || memcmp(ids->id, ids->id + n, n * sizeof(*ids->id)) != 0)
        return;
    ids->n -= n;
    memmove(ids->id, ids->id + n, ids->n * sizeof(*ids->id));
}

/* Releases everything; returns the ids if all went well. */
static vug_status finish_encoding(encode_state *e, vug_status st, vug_tokens *out)
{
    vug_free(e->moved);
    vug_buf_release(&e->clean);
    vug_pipeline_work_release(&e->work);
    vug_bpe_cache_release(&e->cache);
    if (st == VUG_OK)
        *out = (vug_tokens){ e->ids.id, e->ids.n };
    else
        vug_free(e->ids.id);
    return st;
}

static vug_status check_length(size_t len, vug_err *err)
{
    if (len > VUG_ENCODE_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "a text of %zu bytes, at most %zu can be encoded at once",
                        len, VUG_ENCODE_MAX_BYTES);
    return VUG_OK;
}

vug_status vug_tokenizer_encode(const vug_tokenizer *t, const char *text, size_t len,
                                unsigned flags, vug_tokens *out, vug_err *err)
{
    VUG_TRY(check_length(len, err));
    encode_state e = { .t = t,
                       .parse_special = (flags & VUG_ENCODE_PARSE_SPECIAL) != 0,
                       .err = err };
    const bool around = (flags & (VUG_ENCODE_ADD_SPECIAL | VUG_ENCODE_ADD_MISSING)) != 0;
    vug_status st = around ? push_special(&e, &t->prefix) : VUG_OK;
    if (st == VUG_OK)
        st = vug_bpe_cache_init(&e.cache, len) ? VUG_OK : out_of_memory(&e);
    if (st == VUG_OK)
        st = encode_all(&e, (vug_str){ text, len });
    if (flags & VUG_ENCODE_ADD_MISSING)
        drop_repeated(&e.ids, t->prefix.n);
    if (st == VUG_OK && around)
        st = push_special(&e, &t->suffix);
    return finish_encoding(&e, st, out);
}

/* ---- prompts ---------------------------------------------------------------------- */

void vug_prompt_release(vug_prompt *prompt)
{
    vug_text_release(&prompt->text);
    vug_free(prompt->untrusted);
    *prompt = (vug_prompt){ 0 };
}

static vug_status check_untrusted(const vug_prompt *prompt, vug_err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < prompt->n_untrusted; i++) {
        const vug_range r = prompt->untrusted[i];
        if (r.from < at || r.to < r.from || r.to > prompt->text.len)
            return VUG_FAIL(
                    err, VUG_ARGUMENT,
                    "untrusted range %zu of a prompt is %zu to %zu, expected ranges within its "
                    "%zu bytes, ascending and apart",
                    i, r.from, r.to, prompt->text.len);
        at = r.to;
    }
    return VUG_OK;
}

static vug_status check_replays(const vug_prompt *prompt, vug_err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < prompt->n_replays; i++) {
        const vug_replay *r = &prompt->replay[i];
        if (r->from < at || r->to < r->from || r->to > prompt->text.len)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "the text of replay %zu of a prompt is %zu to %zu, expected ranges "
                            "within its %zu bytes, ascending and apart",
                            i, r->from, r->to, prompt->text.len);
        at = r->to;
    }
    return VUG_OK;
}

/* Encodes a part of the prompt that has no replays. */
static vug_status encode_part(encode_state *e, const vug_prompt *p, vug_range part)
{
    const vug_range_list all = { p->untrusted, p->n_untrusted };
    if (part.from == part.to)
        return VUG_OK;
    e->untrusted = clip_ranges(&all, part.from, part.to, e->moved);
    e->continues = part.from > 0;
    return encode_all(e, (vug_str){ p->text.ptr + part.from, part.to - part.from });
}

static vug_status encode_parts(encode_state *e, const vug_prompt *p, vug_range whole)
{
    vug_range part = { whole.from, whole.from };
    for (size_t i = 0; i < p->n_replays; i++) {
        const vug_replay *r = &p->replay[i];
        if (r->from < part.from || r->to > whole.to)
            continue;
        part.to = r->from;
        VUG_TRY(encode_part(e, p, part));
        for (size_t k = 0; k < r->n; k++) {
            if (!vug_id_list_push(&e->ids, (uint32_t)r->id[k]))
                return out_of_memory(e);
        }
        part.from = r->to;
    }
    part.to = whole.to;
    return encode_part(e, p, part);
}

vug_status vug_prompt_encode_part(const vug_tokenizer *t, const vug_prompt *prompt, vug_range part,
                                  vug_tokens *out, vug_err *err)
{
    VUG_TRY(check_length(prompt->text.len, err));
    VUG_TRY(check_untrusted(prompt, err));
    VUG_TRY(check_replays(prompt, err));
    encode_state e = { .t = t, .parse_special = true, .err = err };
    e.moved = vug_alloc(prompt->n_untrusted + 1, sizeof(*e.moved));
    vug_status st = VUG_OK;
    if (!e.moved || !vug_bpe_cache_init(&e.cache, part.to - part.from))
        st = out_of_memory(&e);
    if (st == VUG_OK)
        st = encode_parts(&e, prompt, part);
    return finish_encoding(&e, st, out);
}

vug_status vug_prompt_encode(const vug_tokenizer *t, const vug_prompt *prompt, vug_tokens *out,
                             vug_err *err)
{
    return vug_prompt_encode_part(t, prompt, (vug_range){ 0, prompt->text.len }, out, err);
}

/* ---- replays ---------------------------------------------------------------------- */

static bool overlaps_untrusted(const vug_prompt *p, size_t from, size_t to)
{
    size_t low = 0;
    for (size_t high = p->n_untrusted; low < high;) {
        const size_t mid = low + (high - low) / 2;
        if (p->untrusted[mid].to <= from)
            low = mid + 1;
        else
            high = mid;
    }
    return low < p->n_untrusted && p->untrusted[low].from < to;
}

bool vug_prompt_match(const vug_tokenizer *t, const vug_prompt *prompt, size_t from,
                      const int32_t *id, size_t n, size_t *to)
{
    vug_buf bytes = { 0 };
    size_t at = from;
    bool same = true;
    for (size_t i = 0; i < n && same; i++) {
        bytes.len = 0;
        same = id[i] >= 0 && (size_t)id[i] < t->vocab.n_ids &&
               vug_tokenizer_append_bytes(t, id[i], &bytes) && !bytes.bad &&
               bytes.len <= prompt->text.len - at &&
               (bytes.len == 0 || memcmp(bytes.ptr, prompt->text.ptr + at, bytes.len) == 0) &&
               !(vug_tokenizer_is_control_id(t, (uint32_t)id[i]) &&
                 overlaps_untrusted(prompt, at, at + bytes.len));
        at += bytes.len;
    }
    vug_buf_release(&bytes);
    *to = at;
    return same;
}
