#include "text/tokenizer/tokenizer.h"

/*
 * The "model" member of a tokenizer.json of type Unigram: "vocab" is a list of
 * ["piece", score], by id. As HF tokenizers (models/unigram/model.rs) every one of them
 * may be cut from a text, those of bytes and of control tokens too.
 */

static bool keep_score(vug_loader *l, double score)
{
    vug_unigram *u = &l->t->unigram;
    if (u->n_ids == l->score_cap) {
        const size_t cap = l->score_cap ? 2 * l->score_cap : 1024;
        double *more = vug_realloc(u->score, cap, sizeof(*more));
        if (!more) {
            vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the scores");
            return false;
        }
        u->score = more;
        l->score_cap = cap;
    }
    u->score[u->n_ids++] = score;
    return true;
}

static void read_piece(vug_loader *l)
{
    vug_json *j = &l->json;
    vug_str text = { 0 };
    double score = 0;
    vug_json_enter_array(j);
    if (vug_json_element(j))
        text = vug_json_string(j);
    if (vug_json_element(j))
        score = vug_json_f64(j);
    if (vug_json_ok(j) && (!text.ptr || vug_json_element(j)))
        vug_json_fail(j, VUG_FORMAT, "a piece is no string with a score");
    const uint32_t id = (uint32_t)l->t->unigram.n_ids;
    if (text.len > VUG_UNIGRAM_MAX_PIECE)
        vug_json_fail(j, VUG_LIMIT, "a piece of %zu bytes, at most %d are allowed", text.len,
                      VUG_UNIGRAM_MAX_PIECE);
    else if (id == VUG_MAX_IDS - 1)
        vug_json_fail(j, VUG_LIMIT, "more than %d pieces", VUG_MAX_IDS - 1);
    if (vug_json_ok(j) && keep_score(l, score) &&
        vug_vocab_add(&l->t->vocab, text, id) != VUG_VOCAB_ADDED)
        vug_json_fail(j, VUG_NOMEM, "out of memory for the vocabulary");
}

void vug_load_unigram_vocab(vug_loader *l)
{
    vug_json_enter_array(&l->json);
    while (vug_json_element(&l->json)) {
        read_piece(l);
        vug_load_breathe(l);
    }
    l->t->is_unigram = true;
}

/* All pieces in the tree, and what is worse than the worst of them. */
static vug_status make_tree(vug_loader *l, vug_err *err)
{
    vug_unigram *u = &l->t->unigram;
    vug_unigram_piece *piece = vug_alloc(u->n_ids, sizeof(*piece));
    size_t n = 0;
    if (!piece)
        return VUG_FAIL_NOMEM(err, "the pieces", u->n_ids * sizeof(*piece));
    u->unk_score = u->score[0];
    for (uint32_t id = 0; id < u->n_ids; id++) {
        const vug_str text = vug_vocab_text(&l->t->vocab, id);
        u->unk_score = u->score[id] < u->unk_score ? u->score[id] : u->unk_score;
        if (text.len > 0)
            piece[n++] = (vug_unigram_piece){ text, id };
    }
    u->unk_score -= VUG_UNIGRAM_PENALTY;
    const vug_status st = vug_unigram_seal(u, piece, n, "the model", err);
    vug_free(piece);
    return st;
}

void vug_load_unigram(vug_loader *l)
{
    vug_unigram *u = &l->t->unigram;
    vug_json *j = &l->json;
    vug_err err;
    /* The reference takes a model without it, and refuses texts with unknown characters. */
    if (l->unk_id < 0 || (uint64_t)l->unk_id >= u->n_ids) {
        vug_json_fail(j, VUG_FORMAT, "the unk_id %lld is no piece of the Unigram model's %zu",
                      (long long)l->unk_id, u->n_ids);
        return;
    }
    u->unk = (uint32_t)l->unk_id;
    u->fuse_unk = true;
    u->byte_fallback = l->t->bpe.byte_fallback;
    vug_find_bytes(&l->t->vocab, u->byte_id);
    if (make_tree(l, &err) != VUG_OK)
        vug_json_fail(j, err.code, "%s", err.msg);
}
