#include "text/tokenizer/spm_pieces.h"

#include <math.h>
#include <stdlib.h>

#include "core/utf8.h"

enum {
    MAX_MERGES = 1 << 20,      /* twice those of the largest published vocabulary */
    MAX_SPLIT_BYTES = 1 << 28, /* bytes looked up to derive them; Gemma needs some 2^25 */
};

void vug_spm_release(vug_spm_pieces *p)
{
    vug_free(p->score);
    vug_free(p->kind);
    *p = (vug_spm_pieces){ 0 };
}

/* ---- vocabulary -------------------------------------------------------------------- */

/* Whether a piece is matched as a whole, wherever it occurs. */
static bool is_matched_whole(vug_spm_piece_kind kind)
{
    return kind == VUG_PIECE_CONTROL || kind == VUG_PIECE_UNKNOWN || kind == VUG_PIECE_USER_DEFINED;
}

/* Turns a run of spaces into U+2581; `buffer` has room for the longest added token. */
static vug_str spaces_to_metaspaces(vug_str text, char *buffer)
{
    static const vug_str metaspace = { "\xe2\x96\x81", 3 };
    size_t n = 0;
    while (n < text.len && n < VUG_ADDED_TOKEN_MAX_BYTES && text.ptr[n] == ' ') {
        memcpy(buffer + metaspace.len * n, metaspace.ptr, metaspace.len);
        n++;
    }
    return n == text.len ? (vug_str){ buffer, metaspace.len * n } : text;
}

static vug_status grow_pieces(vug_spm_pieces *p)
{
    if (p->n < p->cap)
        return VUG_OK;
    const size_t cap = p->cap ? 2 * p->cap : 1024;
    float *score = vug_realloc(p->score, cap, sizeof(*score));
    p->score = score ? score : p->score;
    uint8_t *kind = score ? vug_realloc(p->kind, cap, 1) : NULL;
    if (!kind)
        return VUG_FAIL_NOMEM(p->err, "the pieces", cap * (sizeof(*score) + 1));
    p->kind = kind;
    p->cap = cap;
    return VUG_OK;
}

vug_status vug_spm_add(vug_spm_pieces *p, vug_str text, double score, vug_spm_piece_kind kind)
{
    vug_vocab *vocab = &p->t->vocab;
    const unsigned id = (unsigned)p->n;
    if (id >= VUG_MAX_IDS - 1)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: more than %d tokens", p->file, VUG_MAX_IDS - 1);
    if (text.len > VUG_TOKEN_MAX_BYTES)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: token %u has %zu bytes, at most %d are allowed",
                        p->file, id, text.len, VUG_TOKEN_MAX_BYTES);
    if (score != score)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: the score of token %u is not a number", p->file,
                        id);
    /* Some of Gemma's files have these as normal pieces. */
    if (vug_str_is(text, "<start_of_turn>") || vug_str_is(text, "<end_of_turn>"))
        kind = VUG_PIECE_CONTROL;
    /* Matching one inside a character would leave the rest of it. */
    if (is_matched_whole(kind) && !vug_utf8_valid(text))
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: token %u, special or user-defined, is not UTF-8",
                        p->file, id);
    VUG_TRY(grow_pieces(p));
    char buffer[3 * VUG_ADDED_TOKEN_MAX_BYTES];
    if (kind == VUG_PIECE_USER_DEFINED && p->spaces_to_metaspaces)
        text = spaces_to_metaspaces(text, buffer);
    const vug_vocab_result added = vug_vocab_add(vocab, text, id);
    p->score[p->n] = (float)score;
    p->kind[p->n] = (uint8_t)kind;
    p->n++;
    if (added != VUG_VOCAB_ADDED)
        return VUG_FAIL_NOMEM(p->err, "the vocabulary", vocab->pool.len);
    return VUG_OK;
}

vug_status vug_spm_seal(vug_spm_pieces *p)
{
    vug_vocab *vocab = &p->t->vocab;
    uint32_t which = 0;
    const vug_vocab_result sealed = vug_vocab_seal(vocab, &which);
    if (sealed == VUG_VOCAB_ADDED)
        return VUG_OK;
    if (sealed == VUG_VOCAB_NOMEM)
        return VUG_FAIL_NOMEM(p->err, "the vocabulary", vocab->pool.len);
    const vug_str text = vug_vocab_text(vocab, which);
    return VUG_FAIL(p->err, sealed == VUG_VOCAB_DUPLICATE ? VUG_FORMAT : VUG_LIMIT,
                    "%s: token %u, \"%.*s\", %s", p->file, (unsigned)which,
                    (int)(text.len < 60 ? text.len : 60), text.ptr,
                    sealed == VUG_VOCAB_DUPLICATE ? "is declared twice"
                                                  : "has too many hash collisions");
}

/* ---- pieces that are matched as a whole ------------------------------------------------ */

static vug_status add_token(vug_spm_pieces *p, uint32_t id, vug_spm_match_stage place)
{
    vug_tokenizer *t = p->t;
    const vug_str text = vug_vocab_text(&t->vocab, id);
    const bool user = p->kind[id] == VUG_PIECE_USER_DEFINED;
    if (text.len == 0)
        return VUG_OK;
    if (text.len > VUG_ADDED_TOKEN_MAX_BYTES || t->n_added == VUG_ADDED_TOKENS_MAX)
        return VUG_FAIL(p->err, VUG_LIMIT,
                        "%s: token %u, special or user-defined, has %zu bytes (at most %d), or "
                        "there are more than %zu of them",
                        p->file, (unsigned)id, text.len, VUG_ADDED_TOKEN_MAX_BYTES,
                        VUG_ADDED_TOKENS_MAX);
    const vug_str copy = vug_arena_copy(&t->arena, text);
    if (!copy.ptr)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", text.len);
    t->added[t->n_added++] =
            (vug_added_token){ .content = copy,
                               .pattern = copy,
                               .id = id,
                               .normalized = user && place == VUG_SPM_MATCH_NORMALIZED,
                               .special = !user };
    return VUG_OK;
}

vug_status vug_spm_make_added_tokens(vug_spm_pieces *p, vug_spm_match_stage user)
{
    size_t n = 0;
    for (uint32_t id = 0; id < p->n; id++)
        n += is_matched_whole(p->kind[id]);
    if (n == 0)
        return VUG_OK;
    vug_added_token *more = vug_realloc(p->t->added, p->t->n_added + n, sizeof(*more));
    if (!more)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", n * sizeof(*more));
    p->t->added = more;
    for (uint32_t id = 0; id < p->n; id++) {
        if (is_matched_whole(p->kind[id]))
            VUG_TRY(add_token(p, id, user));
    }
    return VUG_OK;
}

/* ---- merges -------------------------------------------------------------------------- */

typedef struct {
    float score;
    uint32_t len; /* bytes of the result */
    vug_bpe_merge merge;
} merge_candidate;

typedef struct {
    merge_candidate *row; /* [n] */
    size_t n, cap;
    uint64_t split_bytes;
} candidate_list;

static bool can_merge(const vug_spm_pieces *p, int32_t id)
{
    return id >= 0 && (p->kind[id] == VUG_PIECE_NORMAL || p->kind[id] == VUG_PIECE_USER_DEFINED ||
                       (p->kind[id] == VUG_PIECE_UNUSED && p->merges_unused));
}

static vug_status add_candidate(const vug_spm_pieces *p, candidate_list *all, merge_candidate c)
{
    if (p->kind[c.merge.result] == VUG_PIECE_UNUSED)
        return VUG_FAIL(p->err, VUG_UNSUPPORTED,
                        "%s: token %u is unused but the result of a merge, which is not "
                        "supported",
                        p->file, (unsigned)c.merge.result);
    if (all->n == MAX_MERGES)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: the tokens have more than %d merges", p->file,
                        MAX_MERGES);
    merge_candidate *more = vug_grow_array(all->row, &all->cap, all->n, sizeof(*more));
    if (!more)
        return VUG_FAIL_NOMEM(p->err, "the merges", (all->n + 1) * sizeof(*more));
    all->row = more;
    all->row[all->n++] = c;
    return VUG_OK;
}

/* Adds every way to build a piece from two. */
static vug_status add_splits(const vug_spm_pieces *p, uint32_t id, candidate_list *all)
{
    const vug_vocab *vocab = &p->t->vocab;
    const vug_str text = vug_vocab_text(vocab, id);
    /* User-defined pieces are merged before all others. */
    const float score = p->kind[id] == VUG_PIECE_USER_DEFINED ? INFINITY : p->score[id];
    merge_candidate c = { .score = score, .len = (uint32_t)text.len, .merge = { .result = id } };
    if (!can_merge(p, (int32_t)id))
        return VUG_OK;
    if (text.len > VUG_SPM_PIECE_MAX_BYTES)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: token %u has %zu bytes, at most %d can be merged",
                        p->file, (unsigned)id, text.len, VUG_SPM_PIECE_MAX_BYTES);
    /* Every split looks up its two parts. */
    all->split_bytes += (uint64_t)text.len * text.len;
    if (all->split_bytes > MAX_SPLIT_BYTES)
        return VUG_FAIL(p->err, VUG_LIMIT,
                        "%s: tokens too long to find their merges: the squares of their lengths "
                        "add up to more than %d bytes",
                        p->file, MAX_SPLIT_BYTES);
    uint32_t cp;
    for (size_t at = vug_utf8_decode(text.ptr, text.len, &cp); at > 0 && at < text.len;) {
        const int32_t left = vug_vocab_find(vocab, (vug_str){ text.ptr, at });
        const vug_str rest = { text.ptr + at, text.len - at };
        const int32_t right = can_merge(p, left) ? vug_vocab_find(vocab, rest) : -1;
        c.merge.left = (uint32_t)left;
        c.merge.right = (uint32_t)right;
        if (can_merge(p, right))
            VUG_TRY(add_candidate(p, all, c));
        const size_t next = vug_utf8_decode(rest.ptr, rest.len, &cp);
        at = next > 0 ? at + next : text.len;
    }
    return VUG_OK;
}

/* Best scores first. The order of equal ones matters only when the merges are written as
 * ranks; longer results first, so that runs become pieces that are as long as possible. */
static int compare_candidates(const void *a, const void *b)
{
    const merge_candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->len != y->len)
        return x->len > y->len ? -1 : 1;
    if (x->merge.result != y->merge.result)
        return x->merge.result < y->merge.result ? -1 : 1;
    return (x->merge.left > y->merge.left) - (x->merge.left < y->merge.left);
}

static vug_status store_merges(const vug_spm_pieces *p, const candidate_list *all)
{
    vug_bpe *bpe = &p->t->bpe;
    bpe->priority = vug_alloc(all->n ? all->n : 1, sizeof(*bpe->priority));
    if (!bpe->priority)
        return VUG_FAIL_NOMEM(p->err, "the merges", all->n * sizeof(*bpe->priority));
    for (size_t i = 0; i < all->n; i++) {
        const bool same_score = i > 0 && all->row[i].score == all->row[i - 1].score;
        bpe->priority[i] = same_score ? bpe->priority[i - 1] : (uint32_t)i;
        if (!vug_bpe_add_merge(bpe, all->row[i].merge))
            return VUG_FAIL_NOMEM(p->err, "the merges", all->n * sizeof(vug_bpe_merge));
    }
    return VUG_OK;
}

vug_status vug_spm_derive_merges(vug_spm_pieces *p)
{
    candidate_list all = { 0 };
    vug_status st = VUG_OK;
    for (uint32_t id = 0; id < p->n && st == VUG_OK; id++)
        st = add_splits(p, id, &all);
    if (st == VUG_OK && all.n > 1)
        qsort(all.row, all.n, sizeof(*all.row), compare_candidates);
    if (st == VUG_OK)
        st = store_merges(p, &all);
    vug_free(all.row);
    return st;
}

/* ---- steps --------------------------------------------------------------------------- */

void vug_spm_set_steps(vug_tokenizer *t, bool prefix)
{
    static const vug_str space = { " ", 1 }, metaspace = { "\xe2\x96\x81", 3 };
    if (prefix)
        t->normalizer.step[t->normalizer.n++] =
                (vug_normalizer_step){ .kind = VUG_NORMALIZER_PREPEND, .to = metaspace };
    t->normalizer.step[t->normalizer.n++] =
            (vug_normalizer_step){ .kind = VUG_NORMALIZER_REPLACE, .from = space, .to = metaspace };
    t->decode.step[t->decode.n++] =
            (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = metaspace, .to = space };
    t->decode.byte_fallback = true;
    t->decode.fused = true;
    t->decode.has_strip = prefix;
    t->decode.strip = (vug_decode_step){ .kind = VUG_DECODE_STRIP, .from = space, .start = 1 };
}
