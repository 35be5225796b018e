#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "text/tokenizer/gguf_token_arrays.h"
#include "text/tokenizer/pre_tokenizer_presets.h"
#include "text/tokenizer/spm_pieces.h"

/*
 * Writes a tokenizer.json into the metadata of a GGUF file: whole, as vug reads it again, and
 * as the arrays that llama.cpp reads.
 */

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    vug_str text;
    int64_t id;
} piece_id;

typedef struct {
    vug_gguf_token_arrays a;
    piece_id *by_text; /* [a.n], sorted */
    float *score;      /* [a.n] */
    vug_gguf_builder *to;
} gguf_tokenizer_output;

/* ---- scores --------------------------------------------------------------------------------- */

static int compare_pieces(const void *a, const void *b)
{
    return vug_str_compare(((const piece_id *)a)->text, ((const piece_id *)b)->text);
}

static void sort_pieces(gguf_tokenizer_output *o)
{
    for (int64_t id = 0; id < o->a.n; id++)
        o->by_text[id] = (piece_id){ o->a.piece[id].ptr ? o->a.piece[id] : vug_str_of(""), id };
    qsort(o->by_text, (size_t)o->a.n, sizeof(*o->by_text), compare_pieces);
}

/* The id of a piece, or -1. */
static int64_t find_id(const gguf_tokenizer_output *o, vug_str text)
{
    int64_t low = 0, high = o->a.n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (vug_str_compare(o->by_text[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->a.n && vug_str_equal(o->by_text[low].text, text) ? o->by_text[low].id : -1;
}

/* The score of a piece is minus the rank of the first merge that results in it: as in
 * SentencePiece, the earliest merge has the best score. */
static void set_scores(gguf_tokenizer_output *o)
{
    char text[2 * VUG_SPM_PIECE_MAX_BYTES];
    for (size_t i = o->a.n_merges; i-- > 0;) {
        const vug_gguf_merge *m = &o->a.merges[i];
        if (m->left.len + m->right.len > sizeof(text))
            continue;
        if (m->left.len)
            memcpy(text, m->left.ptr, m->left.len);
        if (m->right.len)
            memcpy(text + m->left.len, m->right.ptr, m->right.len);
        const int64_t id = find_id(o, (vug_str){ text, m->left.len + m->right.len });
        if (id >= 0)
            o->score[id] = -(float)(i + 1);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void write_pieces(const gguf_tokenizer_output *o)
{
    const vug_gguf_token_arrays *a = &o->a;
    vug_gguf_begin_strings(o->to, KEY("tokens"), (uint64_t)a->n);
    for (int64_t id = 0; id < a->n; id++) {
        char unused[32];
        (void)snprintf(unused, sizeof(unused), "[PAD%lld]", (long long)id);
        vug_gguf_put_element(o->to, a->piece[id].ptr ? a->piece[id] : vug_str_of(unused));
    }
    vug_gguf_put_i32s(o->to, KEY("token_type"), a->kind, (size_t)a->n);
    if (a->byte_fallback)
        vug_gguf_put_f32s(o->to, KEY("scores"), o->score, (size_t)a->n);
}

static void write_merges(const gguf_tokenizer_output *o)
{
    const vug_gguf_token_arrays *a = &o->a;
    vug_buf text = { 0 };
    vug_gguf_begin_strings(o->to, KEY("merges"), a->n_merges);
    for (size_t i = 0; i < a->n_merges; i++) {
        text.len = 0;
        vug_buf_append(&text, a->merges[i].left.ptr, a->merges[i].left.len);
        vug_buf_puts(&text, " ");
        vug_buf_append(&text, a->merges[i].right.ptr, a->merges[i].right.len);
        o->to->bytes.bad |= text.bad;
        vug_gguf_put_element(o->to, (vug_str){ text.ptr, text.len });
    }
    vug_buf_release(&text);
}

static void write_special_ids(const gguf_tokenizer_output *o, const vug_tokenizer *t,
                              int64_t unknown)
{
    size_t n = 0;
    const int32_t *prefix = t ? vug_tokenizer_prefix(t, &n) : NULL;
    const int64_t padding = find_id(o, vug_str_of("<pad>"));
    if (n > 0)
        vug_gguf_put_u32(o->to, KEY("bos_token_id"), (uint32_t)prefix[0]);
    if (unknown >= 0)
        vug_gguf_put_u32(o->to, KEY("unknown_token_id"), (uint32_t)unknown);
    if (padding >= 0)
        vug_gguf_put_u32(o->to, KEY("padding_token_id"), (uint32_t)padding);
    vug_gguf_put_bool(o->to, KEY("add_bos_token"), n > 0);
    vug_gguf_put_bool(o->to, KEY("add_eos_token"), false);
}

/* llama.cpp's names for a kind of tokenizer; `model` is NULL if it has none. */
typedef struct {
    const char *model, *pre;
} llama_cpp_names;

static llama_cpp_names find_names(const vug_gguf_token_arrays *a)
{
    /* BPE with byte fallback is named after Gemma 4, the first architecture for which
     * llama.cpp read its merges, or after llama, whose scores it always read. */
    if (a->bpe && a->byte_fallback)
        return a->prefix ? (llama_cpp_names){ "llama", "default" }
                         : (llama_cpp_names){ "gemma4", "gemma4" };
    if (!a->bpe || !a->byte_level || a->other || a->prefix || a->n_splits != 1)
        return (llama_cpp_names){ 0 };
    const vug_pre_tokenizer_preset *preset =
            vug_pre_tokenizer_preset_by_regex(a->regex, a->ignore_merges);
    return preset ? (llama_cpp_names){ "gpt2", preset->name } : (llama_cpp_names){ 0 };
}

static vug_status write_arrays(gguf_tokenizer_output *o, const vug_tokenizer_json_source *source,
                               vug_err *err)
{
    const llama_cpp_names names = find_names(&o->a);
    if (!names.model)
        return VUG_OK;
    o->by_text = vug_alloc((size_t)o->a.n, sizeof(*o->by_text));
    o->score = vug_alloc_zero((size_t)o->a.n, sizeof(*o->score));
    if (!o->by_text || !o->score)
        return VUG_FAIL_NOMEM(err, source->name, (uint64_t)o->a.n * sizeof(*o->by_text));
    sort_pieces(o);
    set_scores(o);
    const int64_t unknown = o->a.unknown.len ? find_id(o, o->a.unknown) : -1;
    if (unknown >= 0)
        o->a.kind[unknown] = VUG_PIECE_UNKNOWN;
    vug_gguf_put_string(o->to, KEY("model"), vug_str_of(names.model));
    vug_gguf_put_string(o->to, KEY("pre"), vug_str_of(names.pre));
    write_pieces(o);
    write_merges(o);
    write_special_ids(o, source->tokenizer, unknown);
    if (o->a.byte_fallback)
        vug_gguf_put_bool(o->to, KEY("add_space_prefix"), o->a.prefix);
    return VUG_OK;
}

vug_status vug_tokenizer_write_gguf(const vug_tokenizer_json_source *source, int64_t n_vocab,
                                    vug_gguf_builder *to, vug_err *err)
{
    gguf_tokenizer_output o = { .to = to };
    vug_status st = vug_gguf_token_arrays_read(&o.a, n_vocab, source->json, source->name, err);
    if (st == VUG_OK)
        st = write_arrays(&o, source, err);
    if (st == VUG_OK)
        vug_gguf_put_string(to, "tokenizer.huggingface.json", source->json);
    vug_free(o.by_text);
    vug_free(o.score);
    vug_gguf_token_arrays_release(&o.a);
    return st;
}
