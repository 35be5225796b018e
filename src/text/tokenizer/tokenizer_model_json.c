#include "text/tokenizer/internal.h"

/*
 * The "model" member: a quarter of a million tokens and twice as many merges in 33 MB of
 * JSON, read in one pass. Strings are used in place; only the vocabulary copies them.
 */

enum { WINDOW = 2 << 20 }; /* bytes of the file that are in memory at a time */

void vug_tokenizer_trim_memory(vug_tokenizer_loader *l)
{
    if (l->temp.held > WINDOW)
        vug_arena_release(&l->temp);
    const size_t pos = l->json.pos;
    if (!l->file || pos < l->prefetched)
        return;
    if (l->prefetched > 0)
        vug_map_evict(l->file, l->prefetched - WINDOW, WINDOW);
    const size_t from = pos / WINDOW * WINDOW;
    const size_t left = l->file->bytes.len - from;
    vug_map_populate(l->file, from, left < WINDOW ? left : WINDOW);
    l->prefetched = from + WINDOW;
}

vug_str vug_tokenizer_copy_string(vug_tokenizer_loader *l, vug_str text)
{
    const vug_str copy = vug_arena_copy(&l->t->arena, text);
    if (!copy.ptr)
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for a string of %zu bytes", text.len);
    return copy;
}

/* ---- vocabulary ---------------------------------------------------------- */

static void fail_vocab(vug_tokenizer_loader *l, vug_vocab_result result, uint32_t id)
{
    const vug_str text = vug_vocab_text(&l->t->vocab, id);
    switch (result) {
    case VUG_VOCAB_ADDED:
        break;
    case VUG_VOCAB_NOMEM:
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the vocabulary");
        break;
    case VUG_VOCAB_TAKEN:
        vug_json_fail(&l->json, VUG_FORMAT, "id %u already belongs to \"%.*s\"", (unsigned)id,
                      VUG_STR_ARG(text));
        break;
    case VUG_VOCAB_DUPLICATE:
        vug_json_fail(&l->json, VUG_FORMAT,
                      "the vocabulary that ends here has the token \"%.*s\" twice",
                      VUG_STR_ARG(text));
        break;
    case VUG_VOCAB_COLLIDES:
        vug_json_fail(&l->json, VUG_LIMIT,
                      "too many hash collisions in the vocabulary that ends here");
        break;
    }
}

/* {"token": id} */
static void read_tokens(vug_tokenizer_loader *l)
{
    vug_json_reader *j = &l->json;
    vug_str token;
    vug_json_enter_object(j);
    while (vug_json_key(j, &token)) {
        const uint32_t id = (uint32_t)vug_json_u64(j, VUG_MAX_IDS - 1);
        if (!vug_json_ok(j))
            return;
        if (token.len > VUG_TOKEN_MAX_BYTES) {
            vug_json_fail(j, VUG_LIMIT, "a token of %zu bytes, at most %d are allowed", token.len,
                          VUG_TOKEN_MAX_BYTES);
            return;
        }
        const vug_vocab_result result = vug_vocab_add(&l->t->vocab, token, id);
        if (result != VUG_VOCAB_ADDED)
            fail_vocab(l, result, id);
        vug_tokenizer_trim_memory(l);
    }
}

static void fail_model_type(vug_json_reader *j, vug_str type)
{
    vug_json_fail(j, VUG_UNSUPPORTED,
                  "tokenizer model type %.*s is not supported: no supported family uses it",
                  VUG_STR_ARG(type));
}

/* Only the vocabulary of a Unigram model is an array. */
static void read_vocab(vug_tokenizer_loader *l)
{
    if (vug_json_peek(&l->json) == VUG_JSON_ARRAY)
        fail_model_type(&l->json, vug_str_of("Unigram"));
    read_tokens(l);
    if (!vug_json_ok(&l->json))
        return;
    uint32_t which = 0;
    const vug_vocab_result sealed = vug_vocab_seal(&l->t->vocab, &which);
    if (sealed != VUG_VOCAB_ADDED)
        fail_vocab(l, sealed, which);
    l->has_vocab = true;
}

/* ---- merges -------------------------------------------------------------- */

static bool is_concatenation(const vug_vocab *vocab, uint32_t id, vug_str a, vug_str b)
{
    const vug_str text = vug_vocab_text(vocab, id);
    return text.ptr && text.len == a.len + b.len &&
           vug_str_equal((vug_str){ text.ptr, a.len }, a) &&
           vug_str_equal(vug_str_from(text, a.len), b);
}

/* The id of a + b, or -1. Merges usually come in the order of their results, so the last
 * result or the one after it is tried first. */
static int32_t find_concatenation(vug_tokenizer_loader *l, uint32_t hint, vug_str a, vug_str b)
{
    for (uint32_t id = hint; id <= hint + 1; id++) {
        if (is_concatenation(&l->t->vocab, id, a, b))
            return (int32_t)id;
    }
    l->joined.len = 0;
    vug_buf_append(&l->joined, a.ptr, a.len);
    vug_buf_append(&l->joined, b.ptr, b.len);
    if (l->joined.bad) {
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the merges");
        return -1;
    }
    return vug_vocab_find(&l->t->vocab, (vug_str){ l->joined.ptr, l->joined.len });
}

enum { BATCH = VUG_VOCAB_BATCH / 2 };

/* Merges that are read but not looked up yet. */
typedef struct {
    vug_str side[2 * BATCH]; /* left, right, left, .. */
    size_t pos[BATCH];       /* offsets in the file, for error messages */
    size_t n;
    uint32_t hint; /* the last result */
} merge_batch;

static void add_merge(vug_tokenizer_loader *l, merge_batch *batch, const vug_str *side,
                      const int32_t *id)
{
    vug_bpe *bpe = &l->t->bpe;
    if (id[0] < 0 || id[1] < 0) {
        vug_json_fail(&l->json, VUG_FORMAT, "merge %zu: \"%.*s\" is not in the vocabulary",
                      bpe->n_merges, VUG_STR_ARG(side[id[0] >= 0]));
        return;
    }
    const int32_t result = find_concatenation(l, batch->hint, side[0], side[1]);
    if (result < 0) {
        vug_json_fail(&l->json, VUG_FORMAT,
                      "merge %zu: \"%.*s\" and \"%.*s\" do not join to a token of the vocabulary",
                      bpe->n_merges, VUG_STR_ARG(side[0]), VUG_STR_ARG(side[1]));
        return;
    }
    if (bpe->n_merges == VUG_BPE_MAX_MERGES) {
        vug_json_fail(&l->json, VUG_LIMIT, "more than %d merges", VUG_BPE_MAX_MERGES);
        return;
    }
    batch->hint = (uint32_t)result;
    if (!vug_bpe_add_merge(bpe,
                           (vug_bpe_merge){ (uint32_t)id[0], (uint32_t)id[1], (uint32_t)result }))
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the merges");
}

static void add_merge_batch(vug_tokenizer_loader *l, merge_batch *batch)
{
    vug_json_reader *j = &l->json;
    int32_t id[2 * BATCH];
    const size_t end = j->pos;
    vug_vocab_find_many(&l->t->vocab, batch->side, 2 * batch->n, id);
    for (size_t i = 0; i < batch->n && vug_json_ok(j); i++) {
        j->pos = batch->pos[i];
        add_merge(l, batch, &batch->side[2 * i], &id[2 * i]);
    }
    if (vug_json_ok(j))
        j->pos = end;
    batch->n = 0;
    vug_tokenizer_trim_memory(l);
}

/* ["a", "b"] */
static bool read_merge_pair(vug_json_reader *j, vug_str *a, vug_str *b)
{
    vug_json_enter_array(j);
    if (vug_json_element(j))
        *a = vug_json_string(j);
    if (vug_json_element(j))
        *b = vug_json_string(j);
    if (vug_json_ok(j) && (!a->ptr || !b->ptr || vug_json_element(j)))
        vug_json_fail(j, VUG_FORMAT, "a merge is not a pair of strings");
    return vug_json_ok(j);
}

/* "a b", the older form, in which tokens cannot contain spaces. */
static bool read_merge_string(vug_json_reader *j, vug_str *a, vug_str *b)
{
    const vug_str line = vug_json_string(j);
    const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    if (vug_json_ok(j) && space) {
        *a = (vug_str){ line.ptr, (size_t)(space - line.ptr) };
        *b = (vug_str){ space + 1, line.len - a->len - 1 };
        if (b->len == 0 || !memchr(b->ptr, ' ', b->len))
            return true;
    }
    vug_json_fail(j, VUG_FORMAT, "a merge is not two tokens separated by one space");
    return false;
}

static void read_merges(vug_tokenizer_loader *l)
{
    vug_json_reader *j = &l->json;
    merge_batch batch;
    batch.n = 0;
    batch.hint = 0;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        vug_str *side = &batch.side[2 * batch.n];
        side[0] = side[1] = (vug_str){ 0 };
        batch.pos[batch.n] = j->pos;
        const bool pair = vug_json_peek(j) == VUG_JSON_ARRAY;
        if (!pair && vug_str_starts(vug_str_from(j->src, j->pos), "\"#version"))
            vug_json_skip(j);
        else if (pair ? read_merge_pair(j, &side[0], &side[1])
                      : read_merge_string(j, &side[0], &side[1]))
            batch.n++;
        if (batch.n == BATCH)
            add_merge_batch(l, &batch);
    }
    if (vug_json_ok(j))
        add_merge_batch(l, &batch);
    l->has_merges = true;
}

/* ---- the model ----------------------------------------------------------- */

static bool read_flag(vug_json_reader *j)
{
    if (vug_json_peek(j) != VUG_JSON_NULL)
        return vug_json_bool(j);
    vug_json_skip(j);
    return false;
}

/* A member that must be null, zero or empty. */
static void check_unused(vug_json_reader *j, vug_str key)
{
    const vug_json_type type = vug_json_peek(j);
    const size_t at = j->pos;
    bool unused = false;
    if (type == VUG_JSON_NULL || type == VUG_JSON_NOTHING)
        vug_json_skip(j), unused = true;
    else if (type == VUG_JSON_NUMBER)
        unused = vug_json_f64(j) == 0;
    else if (type == VUG_JSON_STRING)
        unused = vug_json_string(j).len == 0;
    if (unused)
        return;
    j->pos = at;
    vug_json_fail(j, VUG_UNSUPPORTED, "the model's \"%.*s\" is not supported", VUG_STR_ARG(key));
}

static void read_type(vug_tokenizer_loader *l)
{
    vug_json_reader *j = &l->json;
    const size_t at = j->pos;
    const vug_str type = vug_json_string(j);
    if (!vug_json_ok(j) || vug_str_is(type, "BPE"))
        return;
    j->pos = at;
    fail_model_type(j, type);
}

/* Merges that come before the vocabulary are read at the end. */
static void read_member(vug_tokenizer_loader *l, vug_str key, vug_json_reader *later)
{
    vug_json_reader *j = &l->json;
    vug_bpe *bpe = &l->t->bpe;
    if (vug_str_is(key, "type")) {
        read_type(l);
    } else if (vug_str_is(key, "vocab")) {
        if (l->has_vocab)
            vug_json_fail(j, VUG_FORMAT, "a second \"vocab\"");
        read_vocab(l);
    } else if (vug_str_is(key, "merges")) {
        if (l->has_merges || later->src.ptr)
            vug_json_fail(j, VUG_FORMAT, "a second \"merges\"");
        if (l->has_vocab) {
            read_merges(l);
        } else {
            *later = *j;
            vug_json_skip(j);
        }
    } else if (vug_str_is(key, "unk_token")) {
        if (vug_json_peek(j) == VUG_JSON_NULL)
            vug_json_skip(j);
        else
            l->unk = vug_tokenizer_copy_string(l, vug_json_string(j));
    } else if (vug_str_is(key, "byte_fallback")) {
        bpe->byte_fallback = read_flag(j);
    } else if (vug_str_is(key, "fuse_unk")) {
        bpe->fuse_unk = read_flag(j);
    } else if (vug_str_is(key, "ignore_merges")) {
        bpe->ignore_merges = read_flag(j);
    } else if (vug_str_is(key, "dropout") || vug_str_is(key, "continuing_subword_prefix") ||
               vug_str_is(key, "end_of_word_suffix")) {
        check_unused(j, key);
    } else {
        vug_json_skip(j);
    }
}

void vug_tokenizer_load_model(vug_tokenizer_loader *l)
{
    vug_json_reader *j = &l->json;
    vug_json_reader later = { 0 };
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key))
        read_member(l, key, &later);
    if (vug_json_ok(j) && later.src.ptr && l->has_vocab) {
        const vug_json_reader end = *j;
        *j = later;
        l->prefetched = 0;
        read_merges(l);
        if (vug_json_ok(j))
            *j = end;
    }
    if (vug_json_ok(j) && (!l->has_vocab || !l->has_merges))
        vug_json_fail(j, VUG_FORMAT, "the model that ends here lacks its \"%s\"",
                      l->has_vocab ? "merges" : "vocab");
    if (!vug_json_ok(j))
        return;
    vug_bpe_find_byte_tokens(&l->t->vocab, l->t->bpe.byte_id);
    const int32_t unk = l->unk.ptr ? vug_vocab_find(&l->t->vocab, l->unk) : -1;
    l->t->bpe.unk = unk < 0 ? VUG_NO_ID : (uint32_t)unk;
    if (l->unk.ptr && unk < 0)
        vug_json_fail(j, VUG_FORMAT, "the unk_token \"%.*s\" is not in the vocabulary",
                      VUG_STR_ARG(l->unk));
}
