#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>

/*
 * The top level of a tokenizer.json: the order of its members is free, so added
 * tokens and the post-processor are checked against the vocabulary at the end.
 */

/* ---- added tokens -------------------------------------------------------- */

static void read_added_token(vug_loader *l)
{
    vug_json *j = &l->json;
    vug_added_token a = { .id = VUG_NO_ID };
    vug_str key;
    const size_t at = j->pos;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_str_is(key, "id"))
            a.id = (uint32_t)vug_json_u64(j, VUG_MAX_IDS - 1);
        else if (vug_str_is(key, "content"))
            a.content = vug_json_string(j);
        else if (vug_str_is(key, "single_word"))
            a.single_word = vug_json_bool(j);
        else if (vug_str_is(key, "lstrip"))
            a.lstrip = vug_json_bool(j);
        else if (vug_str_is(key, "rstrip"))
            a.rstrip = vug_json_bool(j);
        else if (vug_str_is(key, "normalized"))
            a.normalized = vug_json_bool(j);
        else if (vug_str_is(key, "special"))
            a.special = vug_json_bool(j);
        else
            vug_json_skip(j);
    }
    if (!vug_json_ok(j))
        return;
    const size_t end = j->pos;
    j->pos = at;
    vug_tokenizer *t = l->t;
    if (a.id == VUG_NO_ID || a.content.len == 0)
        vug_json_fail(j, VUG_FORMAT, "an added token lacks its id or its content");
    else if (a.content.len > VUG_ADDED_MAX_BYTES)
        vug_json_fail(j, VUG_LIMIT, "an added token of %zu bytes, at most %d are allowed",
                      a.content.len, VUG_ADDED_MAX_BYTES);
    else if (t->n_added == VUG_ADDED_MAX_TOKENS)
        vug_json_fail(j, VUG_LIMIT, "more than %zu added tokens", VUG_ADDED_MAX_TOKENS);
    if (t->n_added == l->added_cap && vug_json_ok(j)) {
        const size_t cap = l->added_cap ? l->added_cap * 2 : 64;
        vug_added_token *more = vug_realloc(t->added, cap, sizeof(*more));
        if (more) {
            t->added = more;
            l->added_cap = cap;
        } else {
            vug_json_fail(j, VUG_NOMEM, "out of memory for the added tokens");
        }
    }
    a.content = vug_load_copy(l, a.content);
    a.pattern = a.normalized ? (vug_str){ 0 } : a.content;
    if (!vug_json_ok(j))
        return;
    j->pos = end;
    t->added[t->n_added++] = a;
}

static void read_added(vug_loader *l)
{
    vug_json_enter_array(&l->json);
    while (vug_json_element(&l->json)) {
        read_added_token(l);
        vug_load_breathe(l);
    }
}

/* ---- the top level ------------------------------------------------------- */

/* Reads a small member as a tree; failures of what it means point at its start. */
static void read_small(vug_loader *l, void load(vug_loader *l, const vug_jv *v))
{
    vug_json *j = &l->json;
    (void)vug_json_peek(j);
    const size_t at = j->pos;
    const vug_jv *v = vug_json_value(j);
    const size_t end = j->pos;
    if (!v)
        return;
    j->pos = at;
    load(l, v);
    if (vug_json_ok(j))
        j->pos = end;
    vug_load_breathe(l);
}

static const struct {
    const char *key;
    void (*large)(vug_loader *l);
    void (*small)(vug_loader *l, const vug_jv *v);
} members[] = {
    { "added_tokens", read_added, NULL },
    { "model", vug_load_model, NULL },
    { "normalizer", NULL, vug_load_normalizer },
    { "pre_tokenizer", NULL, vug_load_pre_tokenizer },
    { "post_processor", NULL, vug_load_post_processor },
    { "decoder", NULL, vug_load_decoder },
};

enum { N_MEMBERS = sizeof(members) / sizeof(*members), MODEL = 1, DECODER = 5 };

static void read_member(vug_loader *l, vug_str key, unsigned *seen)
{
    for (unsigned i = 0; i < N_MEMBERS; i++) {
        if (!vug_str_is(key, members[i].key))
            continue;
        if (*seen >> i & 1)
            vug_json_fail(&l->json, VUG_FORMAT, "a second \"%s\"", members[i].key);
        *seen |= 1u << i;
        if (members[i].large)
            members[i].large(l);
        else
            read_small(l, members[i].small);
        return;
    }
    vug_json_skip(&l->json);
}

static void read_file(vug_loader *l)
{
    unsigned seen = 0;
    vug_str key;
    vug_json_enter_object(&l->json);
    while (vug_json_key(&l->json, &key))
        read_member(l, key, &seen);
    if (vug_json_ok(&l->json) && !(seen >> MODEL & 1))
        vug_json_fail(&l->json, VUG_FORMAT, "the tokenizer that ends here lacks its \"model\"");
    if (!(seen >> DECODER & 1))
        l->t->decoding.spaced = true;
}

/* ---- what needs all of the file ------------------------------------------ */

static vug_status check_unique(const vug_tokenizer *t, const char *name, vug_err *err)
{
    vug_index index = { 0 };
    if (!vug_index_init(&index, t->n_added))
        return VUG_FAIL_NOMEM(err, "the added tokens", 2 * t->n_added * sizeof(uint32_t));
    vug_status st = VUG_OK;
    for (uint32_t i = 0; i < t->n_added && st == VUG_OK; i++) {
        const vug_str content = t->added[i].content;
        vug_probe p = vug_probe_start(&index, vug_hash_bytes(content.ptr, content.len));
        bool known = false;
        while (!known && vug_probe_next(&p))
            known = vug_str_equal(t->added[p.entry].content, content);
        if (known)
            st = VUG_FAIL(err, VUG_FORMAT, "%.200s: the added token \"%.*s\" comes twice", name,
                          VUG_STR_ARG(content));
        else if (!vug_probe_insert(&index, &p, i))
            st = VUG_FAIL(err, VUG_LIMIT, "%.200s: the added tokens are made to collide", name);
    }
    vug_index_release(&index);
    return st;
}

/* Gives the added tokens their place in the vocabulary. */
static vug_status place_added(vug_tokenizer *t, const char *name, vug_err *err)
{
    for (size_t i = 0; i < t->n_added; i++) {
        const vug_added_token *a = &t->added[i];
        const int32_t in_model = vug_vocab_find(&t->vocab, a->content);
        if (in_model >= 0 && (uint32_t)in_model != a->id)
            return VUG_FAIL(
                    err, VUG_FORMAT,
                    "%.200s: the added token \"%.*s\" has id %u, the vocabulary gives it %d", name,
                    VUG_STR_ARG(a->content), (unsigned)a->id, (int)in_model);
        if (in_model >= 0)
            continue;
        const vug_vocab_result result = vug_vocab_add(&t->vocab, a->content, a->id);
        if (result == VUG_VOCAB_TAKEN)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%.200s: the added token \"%.*s\" has id %u, which is that of \"%.*s\"",
                            name, VUG_STR_ARG(a->content), (unsigned)a->id,
                            VUG_STR_ARG(vug_vocab_text(&t->vocab, a->id)));
        if (result != VUG_VOCAB_ADDED)
            return VUG_FAIL_NOMEM(err, "the vocabulary", t->vocab.pool.len);
    }
    return VUG_OK;
}

/* Those that are looked for in the normalized text and do not say how they look there. */
static vug_status normalize_patterns(vug_tokenizer *t, const char *name, vug_err *err)
{
    enum { LONGEST = 4 * VUG_ADDED_MAX_BYTES };
    vug_steps_work work = { 0 };
    vug_status st = VUG_OK;
    for (size_t i = 0; i < t->n_added && st == VUG_OK; i++) {
        vug_added_token *a = &t->added[i];
        vug_str pattern;
        if (a->pattern.ptr)
            continue;
        st = vug_normalize(&t->normalizer, a->content, &work, &pattern, err);
        if (st == VUG_OK && pattern.len > LONGEST)
            st = VUG_FAIL(err, VUG_LIMIT, "%.200s: a normalized added token has more than %d bytes",
                          name, LONGEST);
        if (st == VUG_OK) {
            a->pattern = vug_arena_copy(&t->arena, pattern);
            if (!a->pattern.ptr)
                st = VUG_FAIL_NOMEM(err, "the added tokens", pattern.len);
        }
    }
    vug_steps_work_release(&work);
    return st;
}

/* Which added tokens stay text where somebody else wrote them: all special ones, and of
 * the others, which the reference always matches, those that mark the structure of a
 * conversation. Qwen's <tool_call> or </tool_response> are not special: a web page that
 * a tool fetched and that spells the latter would step out of its frame, and speak as
 * the user. Two things tell them from tokens that merely are words of the text, such as
 * Gemma's runs of newlines and <h1>: no merge of a byte-level model makes them, though
 * merges make all its words; or they are spelled <|so> or <so|>. */
static vug_status mark_control(vug_tokenizer *t, vug_err *err)
{
    uint8_t *made = vug_alloc_zero(t->vocab.n_ids + 1, 1);
    if (!made)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->vocab.n_ids);
    for (size_t i = 0; i < t->bpe.n_merges; i++)
        made[t->bpe.merge[i].result] = 1;
    for (size_t i = 0; i < t->n_added; i++) {
        vug_added_token *a = &t->added[i];
        const bool word = a->content.len == 1 || made[a->id];
        a->control = a->special || (t->decoding.byte_level && !word) ||
                     vug_str_starts(a->content, "<|") || vug_str_ends(a->content, "|>");
    }
    vug_free(made);
    return VUG_OK;
}

static int by_id(const void *a, const void *b)
{
    const vug_added_token *x = *(const vug_added_token *const *)a;
    const vug_added_token *y = *(const vug_added_token *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static vug_status list_renamed(vug_tokenizer *t, vug_err *err)
{
    for (size_t i = 0; i < t->n_added; i++)
        t->n_renamed += t->added[i].pattern.ptr != t->added[i].content.ptr;
    if (t->n_renamed == 0)
        return VUG_OK;
    t->renamed = vug_alloc(t->n_renamed, sizeof(const vug_added_token *));
    if (!t->renamed)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->n_renamed * sizeof(void *));
    for (size_t i = 0, n = 0; i < t->n_added; i++) {
        if (t->added[i].pattern.ptr != t->added[i].content.ptr)
            t->renamed[n++] = &t->added[i];
    }
    qsort(t->renamed, t->n_renamed, sizeof(const vug_added_token *), by_id);
    return VUG_OK;
}

static vug_status build_matchers(vug_tokenizer *t, const char *name, vug_err *err)
{
    VUG_TRY(normalize_patterns(t, name, err));
    VUG_TRY(mark_control(t, err));
    VUG_TRY(list_renamed(t, err));
    if (!vug_matcher_init(&t->raw, t->added, t->n_added, false) ||
        !vug_matcher_init(&t->normalized, t->added, t->n_added, true))
        return VUG_FAIL_NOMEM(err, "the added tokens", t->n_added * sizeof(void *));
    t->special = vug_alloc_zero(t->vocab.n_ids / 8 + 1, 1);
    if (!t->special)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->vocab.n_ids / 8 + 1);
    for (size_t i = 0; i < t->n_added; i++) {
        const uint32_t id = t->added[i].id;
        if (t->added[i].special)
            t->special[id / 8] = (uint8_t)(t->special[id / 8] | 1u << (id % 8));
    }
    return VUG_OK;
}

static vug_status check_few(const vug_tokenizer *t, const vug_few_ids *few, const char *name,
                            vug_err *err)
{
    for (size_t i = 0; i < few->n; i++) {
        if (!vug_vocab_text(&t->vocab, (uint32_t)few->id[i]).ptr)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%.200s: the post-processor adds id %d, which is no token", name,
                            (int)few->id[i]);
    }
    return VUG_OK;
}

vug_status vug_tokenizer_seal(vug_tokenizer *t, const char *name, vug_err *err)
{
    VUG_TRY(vug_bpe_seal(&t->bpe, name, err));
    vug_cuts_init(&t->cuts, &t->bpe, &t->vocab);
    VUG_TRY(check_unique(t, name, err));
    VUG_TRY(place_added(t, name, err));
    VUG_TRY(build_matchers(t, name, err));
    VUG_TRY(check_few(t, &t->before, name, err));
    VUG_TRY(check_few(t, &t->after, name, err));
    return vug_trie_keeper_create(&t->trie, err);
}

vug_status vug_tokenizer_load(vug_tokenizer *t, vug_str json, const char *name,
                              const vug_mapping *file, vug_err *err)
{
    enum { TEMP = 64 << 20 };
    vug_loader l = { .t = t, .file = file, .temp = { .budget = TEMP }, .unk_id = -1 };
    l.json = vug_json_over(json, name, &l.temp);
    vug_load_breathe(&l);
    read_file(&l);
    vug_status st = vug_json_finish(&l.json, err);
    vug_arena_release(&l.temp);
    vug_buf_release(&l.joined);
    return st == VUG_OK ? vug_tokenizer_seal(t, name, err) : st;
}
