#include "core/json_writer.h"
#include "core/utf8.h"
#include "text/tokenizer/internal.h"

/*
 * Writes a tokenizer that was read from GGUF arrays or a tokenizer.model as a tokenizer.json.
 * vug and HF tokenizers, whose format it is, get the same ids from it. What the format cannot
 * express is refused.
 */

typedef struct {
    const vug_tokenizer *t;
    const char *name;
    vug_buf *to;
    vug_err *err;
} tokenizer_writer;

static vug_status fail_unsupported(const tokenizer_writer *w, const char *what)
{
    return VUG_FAIL(w->err, VUG_UNSUPPORTED, "%s: cannot be written as a tokenizer.json: %s",
                    w->name, what);
}

static void write_raw(const tokenizer_writer *w, const char *text)
{
    vug_buf_puts(w->to, text);
}

static void write_string(const tokenizer_writer *w, vug_str text)
{
    vug_json_append_string(w->to, text.ptr, text.len);
}

static void write_flag(const tokenizer_writer *w, const char *key, bool value)
{
    vug_buf_printf(w->to, ",\"%s\":%s", key, value ? "true" : "false");
}

/* ---- added tokens -------------------------------------------------------------------- */

static void write_added_tokens(const tokenizer_writer *w)
{
    write_raw(w, "\"added_tokens\":[");
    for (size_t i = 0; i < w->t->n_added; i++) {
        const vug_added_token *a = &w->t->added[i];
        vug_buf_printf(w->to, "%s\n{\"id\":%u,\"content\":", i ? "," : "", (unsigned)a->id);
        write_string(w, a->content);
        write_flag(w, "single_word", a->single_word);
        write_flag(w, "lstrip", a->lstrip);
        write_flag(w, "rstrip", a->rstrip);
        write_flag(w, "normalized", a->normalized);
        write_flag(w, "special", a->special);
        write_raw(w, "}");
    }
    write_raw(w, "]");
}

/* ---- steps ----------------------------------------------------------------------------- */

static void write_replace(const tokenizer_writer *w, vug_str from, vug_str to)
{
    write_raw(w, "{\"type\":\"Replace\",\"pattern\":{\"String\":");
    write_string(w, from);
    write_raw(w, "},\"content\":");
    write_string(w, to);
    write_raw(w, "}");
}

static void write_prepend(const tokenizer_writer *w, vug_str text)
{
    write_raw(w, "{\"type\":\"Prepend\",\"prepend\":");
    write_string(w, text);
    write_raw(w, "}");
}

/* HF tokenizers match the normalized content of such a token; here the pattern is the content. */
static vug_status check_normalized_tokens(const tokenizer_writer *w, bool prepends)
{
    for (size_t i = 0; i < w->t->n_added; i++) {
        const vug_added_token *a = &w->t->added[i];
        if (a->normalized && prepends)
            return fail_unsupported(
                    w, "user-defined symbols together with a space in front of every text");
        if (a->normalized && memchr(a->content.ptr, ' ', a->content.len))
            return fail_unsupported(w, "a user-defined symbol contains a space");
    }
    return VUG_OK;
}

static vug_status write_normalizer(const tokenizer_writer *w)
{
    const vug_normalizer *n = &w->t->normalizer;
    VUG_TRY(check_normalized_tokens(w, n->n > 0 && n->step[0].kind == VUG_NORMALIZER_PREPEND));
    write_raw(w, ",\n\"normalizer\":");
    write_raw(w, n->n ? "{\"type\":\"Sequence\",\"normalizers\":[" : "null");
    for (size_t i = 0; i < n->n; i++) {
        const vug_normalizer_step *step = &n->step[i];
        write_raw(w, i ? "," : "");
        if (step->kind == VUG_NORMALIZER_REPLACE)
            write_replace(w, step->from, step->to);
        else if (step->kind == VUG_NORMALIZER_PREPEND)
            write_prepend(w, step->to);
        else if (step->kind == VUG_NORMALIZER_UNICODE_FORM && step->form == VUG_NFC)
            write_raw(w, "{\"type\":\"NFC\"}");
        else
            return fail_unsupported(w, "this normalizer");
    }
    write_raw(w, n->n ? "]}" : "");
    return VUG_OK;
}

#define BYTE_LEVEL_START \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,"

static void write_pre_tokenizer(const tokenizer_writer *w)
{
    const vug_str regex = w->t->pre_tokenizer_regex;
    write_raw(w, ",\n\"pre_tokenizer\":");
    if (!w->t->decode.byte_level) {
        write_raw(w, "null");
    } else if (regex.len == 0) {
        write_raw(w, BYTE_LEVEL_START "\"use_regex\":true}");
    } else {
        write_raw(w, "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
                     "{\"Regex\":");
        write_string(w, regex);
        write_raw(w, "},\"behavior\":\"Isolated\",\"invert\":false}," BYTE_LEVEL_START
                     "\"use_regex\":false}]}");
    }
}

static void write_special_ids(const tokenizer_writer *w, const vug_special_ids *ids, bool defined)
{
    for (size_t i = 0; i < ids->n; i++) {
        const vug_str text = vug_vocab_text(&w->t->vocab, (uint32_t)ids->id[i]);
        if (defined) {
            write_string(w, text);
            write_raw(w, ":{\"id\":");
            write_string(w, text);
            vug_buf_printf(w->to, ",\"ids\":[%d],\"tokens\":[", (int)ids->id[i]);
            write_string(w, text);
            write_raw(w, "]},");
        } else {
            write_raw(w, "{\"SpecialToken\":{\"id\":");
            write_string(w, text);
            write_raw(w, ",\"type_id\":0}},");
        }
    }
}

static void drop_comma(const tokenizer_writer *w)
{
    if (!w->to->bad && w->to->ptr[w->to->len - 1] == ',')
        w->to->len--;
}

static void write_post_processor(const tokenizer_writer *w)
{
    const vug_special_ids *prefix = &w->t->prefix, *suffix = &w->t->suffix;
    write_raw(w, ",\n\"post_processor\":");
    if (prefix->n + suffix->n == 0) {
        write_raw(w, "null");
        return;
    }
    write_raw(w, "{\"type\":\"TemplateProcessing\",\"single\":[");
    write_special_ids(w, prefix, false);
    write_raw(w, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
    write_special_ids(w, suffix, false);
    drop_comma(w);
    write_raw(w, "],\"pair\":[");
    for (int i = 0; i < 2; i++) {
        write_special_ids(w, prefix, false);
        vug_buf_printf(w->to, "{\"Sequence\":{\"id\":\"%c\",\"type_id\":%d}},", 'A' + i, i);
        write_special_ids(w, suffix, false);
    }
    drop_comma(w);
    write_raw(w, "],\"special_tokens\":{");
    write_special_ids(w, prefix, true);
    /* A key must not occur twice. */
    if (suffix->n > 0 && (prefix->n == 0 || prefix->id[0] != suffix->id[0]))
        write_special_ids(w, suffix, true);
    drop_comma(w);
    write_raw(w, "}}");
}

static void write_decoder(const tokenizer_writer *w)
{
    const vug_decode_pipeline *d = &w->t->decode;
    write_raw(w, ",\n\"decoder\":");
    if (d->byte_level) {
        write_raw(w, BYTE_LEVEL_START "\"use_regex\":true}");
        return;
    }
    write_raw(w, "{\"type\":\"Sequence\",\"decoders\":[");
    for (size_t i = 0; i < d->n; i++) {
        write_replace(w, d->step[i].from, d->step[i].to);
        write_raw(w, ",");
    }
    write_raw(w, "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}");
    if (d->has_strip) {
        write_raw(w, ",{\"type\":\"Strip\",\"content\":");
        write_string(w, d->strip.from);
        vug_buf_printf(w->to, ",\"start\":%u,\"stop\":%u}", (unsigned)d->strip.start,
                       (unsigned)d->strip.stop);
    }
    write_raw(w, "]}");
}

/* ---- the model --------------------------------------------------------------------------- */

/* A tokenizer.json gives every merge a rank of its own. If several have the same score, so
 * that the leftmost goes first, that gives the same ids only if they result in one token or
 * in user-defined tokens. */
static vug_status check_priorities(const tokenizer_writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    bool same = true;
    if (!bpe->priority)
        return VUG_OK;
    uint8_t *user = vug_alloc_zero(w->t->vocab.n_ids, 1);
    if (!user)
        return VUG_FAIL_NOMEM(w->err, "the added tokens", w->t->vocab.n_ids);
    for (size_t i = 0; i < w->t->n_added; i++)
        user[w->t->added[i].id] = !w->t->added[i].special;
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const vug_bpe_merge *m = &bpe->merge[i], *first = &bpe->merge[bpe->priority[i]];
        same = same && (m->result == first->result || user[m->result]);
    }
    vug_free(user);
    return same ? VUG_OK : fail_unsupported(w, "different tokens have the same score");
}

static vug_status write_vocab(const tokenizer_writer *w)
{
    bool first = true;
    write_raw(w, ",\"vocab\":{");
    for (uint32_t id = 0; id < w->t->vocab.n_ids; id++) {
        const vug_str text = vug_vocab_text(&w->t->vocab, id);
        if (!text.ptr || vug_vocab_find(&w->t->vocab, text) != (int32_t)id)
            continue; /* an added token that is not in the model */
        if (!vug_utf8_valid(text))
            return fail_unsupported(w, "a token is not UTF-8");
        write_raw(w, first ? "\n" : ",\n");
        write_string(w, text);
        vug_buf_printf(w->to, ":%u", (unsigned)id);
        first = false;
    }
    write_raw(w, "}");
    return VUG_OK;
}

static void write_merges(const tokenizer_writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    write_raw(w, ",\"merges\":[");
    for (size_t i = 0; i < bpe->n_merges; i++) {
        write_raw(w, i ? ",\n[" : "\n[");
        write_string(w, vug_vocab_text(&w->t->vocab, bpe->merge[i].left));
        write_raw(w, ",");
        write_string(w, vug_vocab_text(&w->t->vocab, bpe->merge[i].right));
        write_raw(w, "]");
    }
    write_raw(w, "]");
}

static vug_status write_model(const tokenizer_writer *w)
{
    const vug_bpe *bpe = &w->t->bpe;
    VUG_TRY(check_priorities(w));
    write_raw(w, ",\n\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
    if (bpe->unk != VUG_NO_ID)
        write_string(w, vug_vocab_text(&w->t->vocab, bpe->unk));
    else
        write_raw(w, "null");
    write_raw(w, ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null");
    write_flag(w, "fuse_unk", bpe->fuse_unk);
    write_flag(w, "byte_fallback", bpe->byte_fallback);
    write_flag(w, "ignore_merges", bpe->ignore_merges);
    VUG_TRY(write_vocab(w));
    write_merges(w);
    write_raw(w, "}");
    return VUG_OK;
}

static vug_status write_all(const tokenizer_writer *w)
{
    write_raw(w, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n");
    write_added_tokens(w);
    VUG_TRY(write_normalizer(w));
    write_pre_tokenizer(w);
    write_post_processor(w);
    write_decoder(w);
    VUG_TRY(write_model(w));
    write_raw(w, "}\n");
    return vug_buf_ok(w->to, w->err);
}

vug_status vug_tokenizer_write_json(const vug_tokenizer *t, const char *name, vug_text *out,
                                    vug_err *err)
{
    vug_buf to = { 0 };
    const tokenizer_writer w = { t, name, &to, err };
    vug_status st = write_all(&w);
    if (st == VUG_OK)
        st = vug_buf_take(&to, out, err);
    vug_buf_release(&to);
    return st;
}
