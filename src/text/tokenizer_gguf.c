#include <math.h>

#include "text/pieces.h"

/*
 * The tokenizer inside a GGUF file. One that vug wrote is a tokenizer.json as it was.
 * Others are arrays: of SentencePiece, the pieces with their scores and kinds.
 */

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    const vug_gguf *gguf;
    vug_tokenizer *t;
    const vug_gguf_value *tokens, *scores, *kinds; /* of as many elements; kinds may be NULL */
    vug_err *err;
} source;

/* ---- keys ------------------------------------------------------------------------ */

static const vug_gguf_value *find(const vug_gguf *gguf, const char *key)
{
    return vug_gguf_find(gguf, vug_str_of(key));
}

static vug_status wrong(const source *p, const char *key, const char *wanted)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (!v)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is missing", p->gguf->file, key);
    return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %s, expected %s", p->gguf->file, key,
                    vug_gguf_kind(v).text, wanted);
}

static vug_status read_flag(const source *p, const char *key, bool *out)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (v && (v->is_array || !vug_gguf_bool(v, 0, out)))
        return wrong(p, key, "true or false");
    return VUG_OK;
}

/* The id of a token; `otherwise` where no key says it. */
static vug_status read_id(const source *p, const char *key, uint32_t otherwise, uint32_t *out)
{
    const vug_gguf_value *v = find(p->gguf, key);
    uint64_t id = otherwise;
    if (v && (v->is_array || !vug_gguf_u64(v, 0, &id)))
        return wrong(p, key, "a token id");
    if (id >= p->tokens->count)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %llu, and there are %llu tokens",
                        p->gguf->file, key, (unsigned long long)id,
                        (unsigned long long)p->tokens->count);
    *out = (uint32_t)id;
    return VUG_OK;
}

static vug_status find_arrays(source *p)
{
    p->tokens = find(p->gguf, KEY("tokens"));
    p->scores = find(p->gguf, KEY("scores"));
    p->kinds = find(p->gguf, KEY("token_type"));
    if (!p->tokens || !p->tokens->is_array || p->tokens->type != VUG_GGUF_STRING)
        return wrong(p, KEY("tokens"), "an array of strings");
    if (p->tokens->count == 0 || p->tokens->count >= VUG_MAX_IDS)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: %llu tokens, expected 1 to %d", p->gguf->file,
                        (unsigned long long)p->tokens->count, VUG_MAX_IDS - 1);
    if (!p->scores || !p->scores->is_array || p->scores->count != p->tokens->count)
        return wrong(p, KEY("scores"), "an array with a score for each token");
    if (p->kinds && (!p->kinds->is_array || p->kinds->count != p->tokens->count))
        return wrong(p, KEY("token_type"), "an array with a number for each token");
    return VUG_OK;
}

static vug_piece_kind kind_of(const source *p, uint64_t id)
{
    int64_t kind = VUG_PIECE_NORMAL;
    const bool known = !p->kinds || vug_gguf_i64(p->kinds, id, &kind);
    return known && kind >= VUG_PIECE_NORMAL && kind <= VUG_PIECE_BYTE ? (vug_piece_kind)kind
                                                                       : VUG_PIECE_UNUSED;
}

static vug_status add_pieces(const source *p, vug_pieces *to)
{
    vug_gguf_strings it = vug_gguf_strings_of(p->tokens);
    uint64_t id = 0;
    for (vug_str text; vug_gguf_next(&it, &text); id++) {
        double score;
        if (!vug_gguf_f64(p->scores, id, &score))
            score = NAN;
        VUG_TRY(vug_pieces_add(to, text, score, kind_of(p, id)));
    }
    VUG_TRY(vug_pieces_seal(to));
    VUG_TRY(vug_pieces_find_whole(to, VUG_USER_RAW));
    return vug_pieces_merge(to);
}

/* ---- the whole ------------------------------------------------------------------------- */

/* A space is U+2581 in pieces; older models have one before every text, too. */
static vug_status set_steps(source *p)
{
    static const vug_str space = { " ", 1 }, mark = { "\xe2\x96\x81", 3 };
    vug_tokenizer *t = p->t;
    bool prefix = true;
    VUG_TRY(read_flag(p, KEY("add_space_prefix"), &prefix));
    if (prefix)
        t->normalizer.step[t->normalizer.n++] =
                (vug_normal_step){ .kind = VUG_NORMAL_PREPEND, .to = mark };
    t->normalizer.step[t->normalizer.n++] =
            (vug_normal_step){ .kind = VUG_NORMAL_REPLACE, .from = space, .to = mark };
    t->decoding.step[t->decoding.n++] =
            (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = mark, .to = space };
    t->decoding.byte_fallback = true;
    t->decoding.fused = true;
    t->decoding.strips = prefix;
    t->decoding.strip = (vug_decode_step){ .kind = VUG_DECODE_STRIP, .from = space, .start = 1 };
    return VUG_OK;
}

static vug_status set_ends(source *p)
{
    vug_tokenizer *t = p->t;
    bool bos = true, eos = false;
    uint32_t id;
    VUG_TRY(read_flag(p, KEY("add_bos_token"), &bos));
    VUG_TRY(read_flag(p, KEY("add_eos_token"), &eos));
    if (bos) {
        VUG_TRY(read_id(p, KEY("bos_token_id"), 1, &id));
        t->before.id[t->before.n++] = (int32_t)id;
    }
    if (eos) {
        VUG_TRY(read_id(p, KEY("eos_token_id"), 2, &id));
        t->after.id[t->after.n++] = (int32_t)id;
    }
    VUG_TRY(read_id(p, KEY("unknown_token_id"), 0, &t->bpe.unk));
    t->bpe.byte_fallback = true;
    t->bpe.fuse_unk = true;
    vug_find_bytes(&t->vocab, t->bpe.byte_id);
    return VUG_OK;
}

static vug_status read_pieces(source *p)
{
    VUG_TRY(find_arrays(p));
    vug_pieces all = { .t = p->t, .file = p->gguf->file, .err = p->err };
    const vug_status st = add_pieces(p, &all);
    vug_pieces_release(&all);
    VUG_TRY(st);
    VUG_TRY(set_steps(p));
    VUG_TRY(set_ends(p));
    return vug_tokenizer_seal(p->t, p->gguf->file, p->err);
}

static vug_status from_pieces(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    source p = { .gguf = gguf, .t = t, .err = err };
    const vug_status st = read_pieces(&p);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_gguf(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    const vug_gguf_value *json = find(gguf, "tokenizer.huggingface.json");
    const vug_gguf_value *model = find(gguf, KEY("model"));
    vug_str text;
    if (json && vug_gguf_string(json, &text))
        return vug_tokenizer_read(text, gguf->file, out, err);
    if (!model || !vug_gguf_string(model, &text))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: has no tokenizer, so there is no text in or out",
                        gguf->file);
    if (!vug_str_is(text, "llama"))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: a tokenizer of kind '%.*s' is not read yet, so there is no text in or "
                        "out",
                        gguf->file, (int)(text.len < 40 ? text.len : 40), text.ptr);
    return from_pieces(gguf, out, err);
}

vug_status vug_tokenizer_gguf_file(vug_bytes file, const char *name, vug_tokenizer **out,
                                   vug_err *err)
{
    enum { HEADER = 24 };
    vug_reader r = vug_reader_over(file);
    if (file.len < HEADER)
        return VUG_FAIL(err, VUG_FORMAT, "%s: %zu bytes, a GGUF file has at least %d", name,
                        file.len, HEADER);
    (void)vug_read_span(&r, 4);
    const uint32_t version = vug_read_u32le(&r);
    (void)vug_read_u64le(&r); /* tensors */
    const uint64_t n = vug_read_u64le(&r);
    if (version != 2 && version != 3)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: GGUF version %u, expected 2 or 3", name,
                        (unsigned)version);
    vug_gguf gguf;
    VUG_TRY(vug_gguf_read(&r, n, name, &gguf, err));
    const vug_status st = vug_tokenizer_gguf(&gguf, out, err);
    vug_gguf_release(&gguf);
    return st;
}
