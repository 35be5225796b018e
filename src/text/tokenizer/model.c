#include "text/tokenizer/tokenizer.h"

/*
 * The "model" member: a quarter of a million tokens and twice as many merges in
 * 33 MB of JSON, read in one pass. The strings are used where they lie in the
 * file; only the pool of spellings is a copy.
 */

enum { WINDOW = 2 << 20 }; /* bytes of the file that are in memory at a time */

void vug_load_breathe(vug_loader *l)
{
    if (l->temp.held > WINDOW)
        vug_arena_release(&l->temp);
    const size_t pos = l->json.pos;
    if (!l->file || pos < l->populated)
        return;
    if (l->populated > 0)
        vug_map_forget(l->file, l->populated - WINDOW, WINDOW);
    const size_t from = pos / WINDOW * WINDOW;
    const size_t left = l->file->bytes.len - from;
    vug_map_populate(l->file, from, left < WINDOW ? left : WINDOW);
    l->populated = from + WINDOW;
}

vug_str vug_load_copy(vug_loader *l, vug_str text)
{
    const vug_str copy = vug_arena_copy(&l->t->arena, text);
    if (!copy.ptr)
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for a string of %zu bytes", text.len);
    return copy;
}

/* ---- vocabulary ---------------------------------------------------------- */

static void fail_vocab(vug_loader *l, vug_vocab_result result, uint32_t id)
{
    const vug_str text = vug_vocab_text(&l->t->vocab, id);
    switch (result) {
    case VUG_VOCAB_ADDED:
        break;
    case VUG_VOCAB_NOMEM:
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the vocabulary");
        break;
    case VUG_VOCAB_TAKEN:
        vug_json_fail(&l->json, VUG_FORMAT, "id %u belongs to \"%.*s\" already", (unsigned)id,
                      VUG_STR_ARG(text));
        break;
    case VUG_VOCAB_DUPLICATE:
        vug_json_fail(&l->json, VUG_FORMAT,
                      "the vocabulary that ends here has the token \"%.*s\" twice",
                      VUG_STR_ARG(text));
        break;
    case VUG_VOCAB_COLLIDES:
        vug_json_fail(&l->json, VUG_LIMIT, "the vocabulary that ends here is made to collide");
        break;
    }
}

/* {"token": id} */
static void read_tokens(vug_loader *l)
{
    vug_json *j = &l->json;
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
        vug_load_breathe(l);
    }
}

static void read_vocab(vug_loader *l)
{
    if (vug_json_peek(&l->json) == VUG_JSON_ARRAY)
        vug_load_unigram_vocab(l);
    else
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

static bool is_joined(const vug_vocab *vocab, uint32_t id, vug_str a, vug_str b)
{
    const vug_str text = vug_vocab_text(vocab, id);
    return text.ptr && text.len == a.len + b.len &&
           vug_str_equal((vug_str){ text.ptr, a.len }, a) &&
           vug_str_equal(vug_str_from(text, a.len), b);
}

/* The id of a + b, or -1. Merges come in the order of what they make, so the
 * last result or the one after it is nearly always right. */
static int32_t find_joined(vug_loader *l, uint32_t hint, vug_str a, vug_str b)
{
    for (uint32_t id = hint; id <= hint + 1; id++) {
        if (is_joined(&l->t->vocab, id, a, b))
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

/* Merges that are read and not looked up yet. */
typedef struct {
    vug_str side[2 * BATCH]; /* left, right, left, .. */
    size_t pos[BATCH];       /* in the file, for failures */
    size_t n;
    uint32_t hint; /* the last result */
} merge_batch;

static void add_merge(vug_loader *l, merge_batch *batch, const vug_str *side, const int32_t *id)
{
    vug_bpe *bpe = &l->t->bpe;
    if (id[0] < 0 || id[1] < 0) {
        vug_json_fail(&l->json, VUG_FORMAT, "merge %zu: \"%.*s\" is not in the vocabulary",
                      bpe->n_merges, VUG_STR_ARG(side[id[0] >= 0]));
        return;
    }
    const int32_t result = find_joined(l, batch->hint, side[0], side[1]);
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
    if (!vug_bpe_add(bpe, (vug_merge){ (uint32_t)id[0], (uint32_t)id[1], (uint32_t)result }))
        vug_json_fail(&l->json, VUG_NOMEM, "out of memory for the merges");
}

static void add_batch(vug_loader *l, merge_batch *batch)
{
    vug_json *j = &l->json;
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
    vug_load_breathe(l);
}

/* ["a", "b"] */
static bool read_pair(vug_json *j, vug_str *a, vug_str *b)
{
    vug_json_enter_array(j);
    if (vug_json_element(j))
        *a = vug_json_string(j);
    if (vug_json_element(j))
        *b = vug_json_string(j);
    if (vug_json_ok(j) && (!a->ptr || !b->ptr || vug_json_element(j)))
        vug_json_fail(j, VUG_FORMAT, "a merge is no pair of strings");
    return vug_json_ok(j);
}

/* "a b", the older form, in which tokens cannot hold spaces. */
static bool read_line(vug_json *j, vug_str *a, vug_str *b)
{
    const vug_str line = vug_json_string(j);
    const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    if (vug_json_ok(j) && space) {
        *a = (vug_str){ line.ptr, (size_t)(space - line.ptr) };
        *b = (vug_str){ space + 1, line.len - a->len - 1 };
        if (b->len == 0 || !memchr(b->ptr, ' ', b->len))
            return true;
    }
    vug_json_fail(j, VUG_FORMAT, "a merge is no two tokens with one space between them");
    return false;
}

static void read_merges(vug_loader *l)
{
    vug_json *j = &l->json;
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
        else if (pair ? read_pair(j, &side[0], &side[1]) : read_line(j, &side[0], &side[1]))
            batch.n++;
        if (batch.n == BATCH)
            add_batch(l, &batch);
    }
    if (vug_json_ok(j))
        add_batch(l, &batch);
    l->has_merges = true;
}

/* ---- the model ----------------------------------------------------------- */

void vug_find_bytes(const vug_vocab *vocab, uint32_t id[256])
{
    static const char digit[] = "0123456789ABCDEF";
    for (unsigned b = 0; b < 256; b++) {
        const char text[] = { '<', '0', 'x', digit[b / 16], digit[b % 16], '>' };
        const int32_t found = vug_vocab_find(vocab, (vug_str){ text, sizeof(text) });
        id[b] = found < 0 ? VUG_NO_ID : (uint32_t)found;
    }
}

static bool read_flag(vug_json *j)
{
    if (vug_json_peek(j) != VUG_JSON_NULL)
        return vug_json_bool(j);
    vug_json_skip(j);
    return false;
}

/* A member that must be null or have the one harmless value. */
static void want_nothing(vug_json *j, vug_str key)
{
    const vug_json_type type = vug_json_peek(j);
    const size_t at = j->pos;
    bool harmless = false;
    if (type == VUG_JSON_NULL || type == VUG_JSON_NOTHING)
        vug_json_skip(j), harmless = true;
    else if (type == VUG_JSON_NUMBER)
        harmless = vug_json_f64(j) == 0;
    else if (type == VUG_JSON_STRING)
        harmless = vug_json_string(j).len == 0;
    if (harmless)
        return;
    j->pos = at;
    vug_json_fail(j, VUG_UNSUPPORTED, "the model's \"%.*s\" is not supported", VUG_STR_ARG(key));
}

static void read_type(vug_loader *l)
{
    vug_json *j = &l->json;
    const size_t at = j->pos;
    const vug_str type = vug_json_string(j);
    l->says_unigram = vug_str_is(type, "Unigram");
    if (!vug_json_ok(j) || l->says_unigram || vug_str_is(type, "BPE"))
        return;
    j->pos = at;
    vug_json_fail(j, VUG_UNSUPPORTED,
                  "a model of type \"%.*s\" is not supported, only BPE and Unigram are",
                  VUG_STR_ARG(type));
}

/* Merges before the vocabulary they speak of are read at the end. */
static void read_member(vug_loader *l, vug_str key, vug_json *later)
{
    vug_json *j = &l->json;
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
            l->unk = vug_load_copy(l, vug_json_string(j));
    } else if (vug_str_is(key, "unk_id")) {
        if (vug_json_peek(j) == VUG_JSON_NULL)
            vug_json_skip(j);
        else
            l->unk_id = vug_json_i64(j, 0, VUG_MAX_IDS - 1);
    } else if (vug_str_is(key, "byte_fallback")) {
        bpe->byte_fallback = read_flag(j);
    } else if (vug_str_is(key, "fuse_unk")) {
        bpe->fuse_unk = read_flag(j);
    } else if (vug_str_is(key, "ignore_merges")) {
        bpe->ignore_merges = read_flag(j);
    } else if (vug_str_is(key, "dropout") || vug_str_is(key, "continuing_subword_prefix") ||
               vug_str_is(key, "end_of_word_suffix")) {
        want_nothing(j, key);
    } else {
        vug_json_skip(j);
    }
}

void vug_load_model(vug_loader *l)
{
    vug_json *j = &l->json;
    vug_json later = { 0 };
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key))
        read_member(l, key, &later);
    if (vug_json_ok(j) && later.src.ptr && l->has_vocab) {
        const vug_json end = *j;
        *j = later;
        l->populated = 0;
        read_merges(l);
        if (vug_json_ok(j))
            *j = end;
    }
    const bool unigram = l->t->is_unigram;
    if (vug_json_ok(j) && (!l->has_vocab || (!l->has_merges && !unigram)))
        vug_json_fail(j, VUG_FORMAT, "the model that ends here lacks its \"%s\"",
                      l->has_vocab ? "merges" : "vocab");
    else if (vug_json_ok(j) && l->says_unigram != unigram)
        vug_json_fail(j, VUG_FORMAT,
                      "the model that ends here is of a type whose \"vocab\" is another kind");
    if (vug_json_ok(j) && unigram)
        vug_load_unigram(l);
    if (!vug_json_ok(j) || unigram)
        return;
    vug_find_bytes(&l->t->vocab, l->t->bpe.byte_id);
    const int32_t unk = l->unk.ptr ? vug_vocab_find(&l->t->vocab, l->unk) : -1;
    l->t->bpe.unk = unk < 0 ? VUG_NO_ID : (uint32_t)unk;
    if (l->unk.ptr && unk < 0)
        vug_json_fail(j, VUG_FORMAT, "the unk_token \"%.*s\" is not in the vocabulary",
                      VUG_STR_ARG(l->unk));
}
