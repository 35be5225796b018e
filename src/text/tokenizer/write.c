#include "core/text.h"
#include "text/tokenizer/tokenizer.h"

/*
 * A tokenizer.json of what a tokenizer was made of: the arrays of GGUF, or a tokenizer.model.
 * It gives the same ids, here and to HF tokenizers, whose format it is; what it has no words
 * for is refused.
 */

typedef struct {
    const vug_tokenizer *t;
    const char *name;
    vug_buf *to;
    vug_err *err;
} writer;

static vug_status refuse(const writer *w, const char *what)
{
    return VUG_FAIL(w->err, VUG_UNSUPPORTED, "%s: no tokenizer.json says the same: %s", w->name,
                    what);
}

static void put(const writer *w, const char *text)
{
    vug_buf_puts(w->to, text);
}

static void put_string(const writer *w, vug_str text)
{
    vug_json_write_string(w->to, text.ptr, text.len);
}

static void put_flag(const writer *w, const char *key, bool value)
{
    vug_buf_printf(w->to, ",\"%s\":%s", key, value ? "true" : "false");
}

/* ---- added tokens -------------------------------------------------------------------- */

static void put_added(const writer *w)
{
    put(w, "\"added_tokens\":[");
    for (size_t i = 0; i < w->t->n_added; i++) {
        const vug_added_token *a = &w->t->added[i];
        vug_buf_printf(w->to, "%s\n{\"id\":%u,\"content\":", i ? "," : "", (unsigned)a->id);
        put_string(w, a->content);
        put_flag(w, "single_word", a->single_word);
        put_flag(w, "lstrip", a->lstrip);
        put_flag(w, "rstrip", a->rstrip);
        put_flag(w, "normalized", a->normalized);
        put_flag(w, "special", a->special);
        put(w, "}");
    }
    put(w, "]");
}

/* ---- steps ----------------------------------------------------------------------------- */

static void put_replace(const writer *w, vug_str from, vug_str to)
{
    put(w, "{\"type\":\"Replace\",\"pattern\":{\"String\":");
    put_string(w, from);
    put(w, "},\"content\":");
    put_string(w, to);
    put(w, "}");
}

static void put_prepend(const writer *w, vug_str text)
{
    put(w, "{\"type\":\"Prepend\",\"prepend\":");
    put_string(w, text);
    put(w, "}");
}

static vug_status put_spm(const writer *w, const vug_spm_normal *how)
{
    static const vug_str space = { " ", 1 }, mark = { "\xe2\x96\x81", 3 };
    if (how->units.len > 0)
        return refuse(w, "it has a precompiled_charsmap");
    if (how->remove_extra || how->suffix || !how->escape)
        return refuse(w, "spaces are taken out, put at the end, or kept as they are");
    /* The patterns of added tokens would have the prefix too. */
    if (how->dummy_prefix && how->user.n > 0)
        return refuse(w, "it has symbols of the user, and a space before every text");
    for (uint32_t i = 0; i < how->user.n; i++) {
        const vug_str text = how->user.sorted[i]->pattern;
        if (memchr(text.ptr, ' ', text.len))
            return refuse(w, "a symbol of the user has a space");
    }
    if (how->dummy_prefix) {
        put_prepend(w, mark);
        put(w, ",");
    }
    put_replace(w, space, mark);
    return VUG_OK;
}

static vug_status put_normalizer(const writer *w)
{
    const vug_normalizer *n = &w->t->normalizer;
    put(w, ",\n\"normalizer\":");
    put(w, n->n ? "{\"type\":\"Sequence\",\"normalizers\":[" : "null");
    for (size_t i = 0; i < n->n; i++) {
        const vug_normal_step *step = &n->step[i];
        put(w, i ? "," : "");
        if (step->kind == VUG_NORMAL_REPLACE)
            put_replace(w, step->from, step->to);
        else if (step->kind == VUG_NORMAL_PREPEND)
            put_prepend(w, step->to);
        else if (step->kind == VUG_NORMAL_FORM && step->form == VUG_NFC)
            put(w, "{\"type\":\"NFC\"}");
        else if (step->kind == VUG_NORMAL_SENTENCEPIECE)
            VUG_TRY(put_spm(w, step->spm));
        else
            return refuse(w, "of its normalizer");
    }
    put(w, n->n ? "]}" : "");
    return VUG_OK;
}

#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,"

static void put_pre_tokenizer(const writer *w)
{
    const vug_str expression = w->t->expression;
    put(w, ",\n\"pre_tokenizer\":");
    if (!w->t->decoding.byte_level) {
        put(w, "null");
    } else if (expression.len == 0) {
        put(w, BYTE_LEVEL "\"use_regex\":true}");
    } else {
        put(w, "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
               "{\"Regex\":");
        put_string(w, expression);
        put(w,
            "},\"behavior\":\"Isolated\",\"invert\":false}," BYTE_LEVEL "\"use_regex\":false}]}");
    }
}

static void put_special(const writer *w, const vug_few_ids *few, bool defined)
{
    for (size_t i = 0; i < few->n; i++) {
        const vug_str text = vug_vocab_text(&w->t->vocab, (uint32_t)few->id[i]);
        if (defined) {
            put_string(w, text);
            put(w, ":{\"id\":");
            put_string(w, text);
            vug_buf_printf(w->to, ",\"ids\":[%d],\"tokens\":[", (int)few->id[i]);
            put_string(w, text);
            put(w, "]},");
        } else {
            put(w, "{\"SpecialToken\":{\"id\":");
            put_string(w, text);
            put(w, ",\"type_id\":0}},");
        }
    }
}

static void without_comma(const writer *w)
{
    if (!w->to->bad && w->to->ptr[w->to->len - 1] == ',')
        w->to->len--;
}

static void put_post_processor(const writer *w)
{
    const vug_few_ids *before = &w->t->before, *after = &w->t->after;
    put(w, ",\n\"post_processor\":");
    if (before->n + after->n == 0) {
        put(w, "null");
        return;
    }
    put(w, "{\"type\":\"TemplateProcessing\",\"single\":[");
    put_special(w, before, false);
    put(w, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
    put_special(w, after, false);
    without_comma(w);
    put(w, "],\"pair\":[");
    for (int i = 0; i < 2; i++) {
        put_special(w, before, false);
        vug_buf_printf(w->to, "{\"Sequence\":{\"id\":\"%c\",\"type_id\":%d}},", 'A' + i, i);
        put_special(w, after, false);
    }
    without_comma(w);
    put(w, "],\"special_tokens\":{");
    put_special(w, before, true);
    /* A key comes once. */
    if (after->n > 0 && (before->n == 0 || before->id[0] != after->id[0]))
        put_special(w, after, true);
    without_comma(w);
    put(w, "}}");
}

static void put_decoder(const writer *w)
{
    const vug_decoding *d = &w->t->decoding;
    put(w, ",\n\"decoder\":");
    if (d->byte_level) {
        put(w, BYTE_LEVEL "\"use_regex\":true}");
        return;
    }
    put(w, "{\"type\":\"Sequence\",\"decoders\":[");
    for (size_t i = 0; i < d->n; i++) {
        put_replace(w, d->step[i].from, d->step[i].to);
        put(w, ",");
    }
    put(w, "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}");
    if (d->strips) {
        put(w, ",{\"type\":\"Strip\",\"content\":");
        put_string(w, d->strip.from);
        vug_buf_printf(w->to, ",\"start\":%u,\"stop\":%u}", (unsigned)d->strip.start,
                       (unsigned)d->strip.stop);
    }
    put(w, "]}");
}

/* ---- the model --------------------------------------------------------------------------- */

/* A tokenizer.json gives every merge a rank of its own. Where several are as good as each
 * other, the leftmost of which goes first, that is the same if they make one token, or are
 * runs that a user defined. */
static vug_status check_ranks(const writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    bool same = true;
    if (!bpe->first_alike)
        return VUG_OK;
    uint8_t *user = vug_alloc_zero(w->t->vocab.n_ids, 1);
    if (!user)
        return VUG_FAIL_NOMEM(w->err, "the added tokens", w->t->vocab.n_ids);
    for (size_t i = 0; i < w->t->n_added; i++)
        user[w->t->added[i].id] = !w->t->added[i].special;
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const vug_merge *m = &bpe->merge[i], *first = &bpe->merge[bpe->first_alike[i]];
        same = same && (m->result == first->result || user[m->result]);
    }
    vug_free(user);
    return same ? VUG_OK : refuse(w, "different tokens have the same score");
}

static vug_status put_vocab(const writer *w)
{
    bool first = true;
    put(w, ",\"vocab\":{");
    for (uint32_t id = 0; id < w->t->vocab.n_ids; id++) {
        const vug_str text = vug_vocab_text(&w->t->vocab, id);
        if (!text.ptr || vug_vocab_find(&w->t->vocab, text) != (int32_t)id)
            continue; /* an added token that the model does not have */
        if (!vug_utf8_valid(text))
            return refuse(w, "a token is not UTF-8");
        put(w, first ? "\n" : ",\n");
        put_string(w, text);
        vug_buf_printf(w->to, ":%u", (unsigned)id);
        first = false;
    }
    put(w, "}");
    return VUG_OK;
}

static void put_merges(const writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    put(w, ",\"merges\":[");
    for (size_t i = 0; i < bpe->n_merges; i++) {
        put(w, i ? ",\n[" : "\n[");
        put_string(w, vug_vocab_text(&w->t->vocab, bpe->merge[i].left));
        put(w, ",");
        put_string(w, vug_vocab_text(&w->t->vocab, bpe->merge[i].right));
        put(w, "]");
    }
    put(w, "]");
}

static vug_status put_model(const writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    if (w->t->is_unigram)
        return refuse(w, "its sums of scores are rounded otherwise");
    VUG_TRY(check_ranks(w));
    put(w, ",\n\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
    if (bpe->unk != VUG_NO_ID)
        put_string(w, vug_vocab_text(&w->t->vocab, bpe->unk));
    else
        put(w, "null");
    put(w, ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null");
    put_flag(w, "fuse_unk", bpe->fuse_unk);
    put_flag(w, "byte_fallback", bpe->byte_fallback);
    put_flag(w, "ignore_merges", bpe->ignore_merges);
    VUG_TRY(put_vocab(w));
    put_merges(w);
    put(w, "}");
    return VUG_OK;
}

static vug_status put_all(const writer *w)
{
    put(w, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n");
    put_added(w);
    VUG_TRY(put_normalizer(w));
    put_pre_tokenizer(w);
    put_post_processor(w);
    put_decoder(w);
    VUG_TRY(put_model(w));
    put(w, "}\n");
    return vug_buf_ok(w->to, w->err);
}

vug_status vug_tokenizer_write(const vug_tokenizer *t, const char *name, vug_text *out,
                               vug_err *err)
{
    vug_buf to = { 0 };
    const writer w = { t, name, &to, err };
    vug_status st = put_all(&w);
    if (st == VUG_OK)
        st = vug_buf_take(&to, out, err);
    vug_buf_release(&to);
    return st;
}
