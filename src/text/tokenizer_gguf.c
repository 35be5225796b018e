#include "text/tokenizer.h"

#include <stdlib.h>

#include "core/text.h"

/*
 * The tokenizer inside a GGUF file. One that vug wrote is a tokenizer.json as it was.
 * Others are arrays: of SentencePiece, the pieces with their scores and kinds, from
 * which its byte-pair encoding is made (Kudo and Richardson 2018; bpe_model.cc): of all
 * pairs of neighbours that join to a piece, the one of the best score goes first, of
 * equal ones the leftmost. So any split of a piece into two pieces is a merge, and its
 * rank is the score of what comes out.
 */

#define KEY(name) "tokenizer.ggml." name

enum {
    MAX_PIECE = 256,      /* bytes of one that is split, which takes their square */
    MAX_MERGES = 1 << 20, /* twice those of the largest published vocabulary */
};

typedef enum {
    KIND_NORMAL = 1,
    KIND_UNKNOWN = 2,
    KIND_CONTROL = 3,
    KIND_USER = 4,
    KIND_UNUSED = 5,
    KIND_BYTE = 6,
} piece_kind;

typedef struct {
    double score;
    vug_merge merge;
} candidate;

typedef struct {
    const vug_gguf *gguf;
    vug_tokenizer *t;
    const vug_gguf_value *tokens, *scores, *kinds; /* of as many elements; kinds may be NULL */
    candidate *candidate;                          /* [n] */
    size_t n, cap;
    vug_err *err;
} pieces;

/* ---- keys ------------------------------------------------------------------------ */

static const vug_gguf_value *find(const vug_gguf *gguf, const char *key)
{
    return vug_gguf_find(gguf, vug_str_of(key));
}

static vug_status wrong(const pieces *p, const char *key, const char *wanted)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (!v)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is missing", p->gguf->file, key);
    return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %s, expected %s", p->gguf->file, key,
                    vug_gguf_kind(v).text, wanted);
}

static vug_status read_flag(const pieces *p, const char *key, bool *out)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (v && (v->is_array || !vug_gguf_bool(v, 0, out)))
        return wrong(p, key, "true or false");
    return VUG_OK;
}

/* The id of a token; `otherwise` where no key says it. */
static vug_status read_id(const pieces *p, const char *key, uint32_t otherwise, uint32_t *out)
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

static vug_status find_arrays(pieces *p)
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

/* Old files have Gemma's turns as pieces like any other. */
static piece_kind kind_of(const pieces *p, uint32_t id)
{
    int64_t kind = KIND_NORMAL;
    const vug_str text = vug_vocab_text(&p->t->vocab, id);
    if (p->kinds && !vug_gguf_i64(p->kinds, id, &kind))
        return KIND_UNUSED;
    if (vug_str_is(text, "<start_of_turn>") || vug_str_is(text, "<end_of_turn>"))
        return KIND_CONTROL;
    return kind >= KIND_NORMAL && kind <= KIND_BYTE ? (piece_kind)kind : KIND_UNUSED;
}

/* ---- vocabulary -------------------------------------------------------------------- */

static vug_status read_vocabulary(pieces *p)
{
    vug_vocab *vocab = &p->t->vocab;
    vug_gguf_strings it = vug_gguf_strings_of(p->tokens);
    uint32_t id = 0;
    for (vug_str text; vug_gguf_next(&it, &text); id++) {
        if (text.len > VUG_TOKEN_MAX_BYTES)
            return VUG_FAIL(p->err, VUG_LIMIT, "%s: token %u has %zu bytes, at most %d are allowed",
                            p->gguf->file, (unsigned)id, text.len, VUG_TOKEN_MAX_BYTES);
        if (vug_vocab_add(vocab, text, id) != VUG_VOCAB_ADDED)
            return VUG_FAIL_NOMEM(p->err, "the vocabulary", vocab->pool.len);
    }
    uint32_t which = 0;
    const vug_vocab_result sealed = vug_vocab_seal(vocab, &which);
    if (sealed == VUG_VOCAB_ADDED)
        return VUG_OK;
    if (sealed == VUG_VOCAB_NOMEM)
        return VUG_FAIL_NOMEM(p->err, "the vocabulary", vocab->pool.len);
    const vug_str text = vug_vocab_text(vocab, which);
    return VUG_FAIL(p->err, sealed == VUG_VOCAB_DUPLICATE ? VUG_FORMAT : VUG_LIMIT,
                    "%s: token %u, \"%.*s\", %s", p->gguf->file, (unsigned)which,
                    (int)(text.len < 60 ? text.len : 60), text.ptr,
                    sealed == VUG_VOCAB_DUPLICATE ? "comes twice" : "is made to collide");
}

static vug_status add_added(pieces *p, uint32_t id, bool special)
{
    vug_tokenizer *t = p->t;
    const vug_str text = vug_vocab_text(&t->vocab, id);
    if (text.len == 0)
        return VUG_OK;
    if (text.len > VUG_ADDED_MAX_BYTES || t->n_added == VUG_ADDED_MAX_TOKENS)
        return VUG_FAIL(p->err, VUG_LIMIT,
                        "%s: token %u, of a kind of its own, has %zu bytes (at most %d), or there "
                        "are more than %zu like it",
                        p->gguf->file, (unsigned)id, text.len, VUG_ADDED_MAX_BYTES,
                        VUG_ADDED_MAX_TOKENS);
    const vug_str copy = vug_arena_copy(&t->arena, text);
    if (!copy.ptr)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", text.len);
    t->added[t->n_added++] =
            (vug_added_token){ .content = copy, .pattern = copy, .id = id, .special = special };
    return VUG_OK;
}

static vug_status read_added(pieces *p)
{
    size_t n = 0;
    for (uint32_t id = 0; id < p->tokens->count; id++) {
        const piece_kind kind = kind_of(p, id);
        n += kind == KIND_CONTROL || kind == KIND_UNKNOWN || kind == KIND_USER;
    }
    if (n == 0)
        return VUG_OK;
    p->t->added = vug_alloc(n, sizeof(*p->t->added));
    if (!p->t->added)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", n * sizeof(*p->t->added));
    for (uint32_t id = 0; id < p->tokens->count; id++) {
        const piece_kind kind = kind_of(p, id);
        if (kind == KIND_CONTROL || kind == KIND_UNKNOWN || kind == KIND_USER)
            VUG_TRY(add_added(p, id, kind != KIND_USER));
    }
    return VUG_OK;
}

/* ---- merges -------------------------------------------------------------------------- */

static bool can_merge(const pieces *p, int32_t id)
{
    if (id < 0)
        return false;
    const piece_kind kind = kind_of(p, (uint32_t)id);
    return kind == KIND_NORMAL || kind == KIND_USER;
}

static vug_status add_candidate(pieces *p, candidate c)
{
    if (p->n == MAX_MERGES)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: the tokens have more than %d merges", p->gguf->file,
                        MAX_MERGES);
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 1024;
        candidate *more = vug_realloc(p->candidate, cap, sizeof(*more));
        if (!more)
            return VUG_FAIL_NOMEM(p->err, "the merges", cap * sizeof(*more));
        p->candidate = more;
        p->cap = cap;
    }
    p->candidate[p->n++] = c;
    return VUG_OK;
}

/* Every way to put the piece together from two. */
static vug_status split_piece(pieces *p, uint32_t id)
{
    const vug_vocab *vocab = &p->t->vocab;
    const vug_str text = vug_vocab_text(vocab, id);
    candidate c = { .merge = { .result = id } };
    if (!can_merge(p, (int32_t)id))
        return VUG_OK;
    if (!vug_gguf_f64(p->scores, id, &c.score) || c.score != c.score)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: the score of token %u is no number", p->gguf->file,
                        (unsigned)id);
    if (text.len > MAX_PIECE)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: token %u has %zu bytes, at most %d can be merged",
                        p->gguf->file, (unsigned)id, text.len, MAX_PIECE);
    uint32_t cp;
    for (size_t at = vug_utf8_next(text.ptr, text.len, &cp); at > 0 && at < text.len;) {
        const int32_t left = vug_vocab_find(vocab, (vug_str){ text.ptr, at });
        const vug_str rest = { text.ptr + at, text.len - at };
        const int32_t right = can_merge(p, left) ? vug_vocab_find(vocab, rest) : -1;
        c.merge.left = (uint32_t)left;
        c.merge.right = (uint32_t)right;
        if (can_merge(p, right))
            VUG_TRY(add_candidate(p, c));
        const size_t next = vug_utf8_next(rest.ptr, rest.len, &cp);
        at = next > 0 ? at + next : text.len;
    }
    return VUG_OK;
}

/* Best scores first; the rest only so that the order is always the same. */
static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->merge.result != y->merge.result)
        return x->merge.result < y->merge.result ? -1 : 1;
    return (x->merge.left > y->merge.left) - (x->merge.left < y->merge.left);
}

static vug_status make_merges(pieces *p)
{
    vug_bpe *bpe = &p->t->bpe;
    for (uint32_t id = 0; id < p->tokens->count; id++)
        VUG_TRY(split_piece(p, id));
    if (p->n > 1)
        qsort(p->candidate, p->n, sizeof(*p->candidate), by_score);
    bpe->first_alike = vug_alloc(p->n ? p->n : 1, sizeof(*bpe->first_alike));
    if (!bpe->first_alike)
        return VUG_FAIL_NOMEM(p->err, "the merges", p->n * sizeof(*bpe->first_alike));
    for (size_t i = 0; i < p->n; i++) {
        const bool alike = i > 0 && p->candidate[i].score == p->candidate[i - 1].score;
        bpe->first_alike[i] = alike ? bpe->first_alike[i - 1] : (uint32_t)i;
        if (!vug_bpe_add(bpe, p->candidate[i].merge))
            return VUG_FAIL_NOMEM(p->err, "the merges", p->n * sizeof(vug_merge));
    }
    return VUG_OK;
}

/* ---- the whole ------------------------------------------------------------------------- */

/* A space is U+2581 in pieces; older models have one before every text, too. */
static vug_status set_steps(pieces *p)
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

static vug_status set_ends(pieces *p)
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
    vug_find_bytes(t);
    return VUG_OK;
}

static vug_status read_pieces(pieces *p)
{
    VUG_TRY(find_arrays(p));
    VUG_TRY(read_vocabulary(p));
    VUG_TRY(read_added(p));
    VUG_TRY(make_merges(p));
    VUG_TRY(set_steps(p));
    VUG_TRY(set_ends(p));
    return vug_tokenizer_seal(p->t, p->gguf->file, p->err);
}

static vug_status from_pieces(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    pieces p = { .gguf = gguf, .t = t, .err = err };
    const vug_status st = read_pieces(&p);
    vug_free(p.candidate);
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
