#include "text/tokenizer/internal.h"

/*
 * The top level of a tokenizer.json. The order of its members is free, so added tokens and
 * the post-processor are checked against the vocabulary at the end.
 */

/* ---- added tokens -------------------------------------------------------- */

static void read_added_token(vug_tokenizer_loader *l)
{
    vug_json_reader *j = &l->json;
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
    else if (a.content.len > VUG_ADDED_TOKEN_MAX_BYTES)
        vug_json_fail(j, VUG_LIMIT, "an added token of %zu bytes, at most %d are allowed",
                      a.content.len, VUG_ADDED_TOKEN_MAX_BYTES);
    else if (t->n_added == VUG_ADDED_TOKENS_MAX)
        vug_json_fail(j, VUG_LIMIT, "more than %zu added tokens", VUG_ADDED_TOKENS_MAX);
    if (vug_json_ok(j)) {
        vug_added_token *more = vug_grow_array(t->added, &l->added_cap, t->n_added, sizeof(*more));
        if (more)
            t->added = more;
        else
            vug_json_fail(j, VUG_NOMEM, "out of memory for the added tokens");
    }
    a.content = vug_tokenizer_copy_string(l, a.content);
    a.pattern = a.normalized ? (vug_str){ 0 } : a.content;
    if (!vug_json_ok(j))
        return;
    j->pos = end;
    t->added[t->n_added++] = a;
}

static void read_added_tokens(vug_tokenizer_loader *l)
{
    vug_json_enter_array(&l->json);
    while (vug_json_element(&l->json)) {
        read_added_token(l);
        vug_tokenizer_trim_memory(l);
    }
}

/* ---- the top level ------------------------------------------------------- */

/* Reads a small member as a tree. Errors in its meaning are reported at its start. */
static void read_small_member(vug_tokenizer_loader *l,
                              void read(vug_tokenizer_loader *l, const vug_jv *v))
{
    vug_json_reader *j = &l->json;
    (void)vug_json_peek(j);
    const size_t at = j->pos;
    const vug_jv *v = vug_json_value(j);
    const size_t end = j->pos;
    if (!v)
        return;
    j->pos = at;
    read(l, v);
    if (vug_json_ok(j))
        j->pos = end;
    vug_tokenizer_trim_memory(l);
}

static const struct {
    const char *key;
    void (*read_large)(vug_tokenizer_loader *l);
    void (*read_small)(vug_tokenizer_loader *l, const vug_jv *v);
} members[] = {
    { "added_tokens", read_added_tokens, NULL },
    { "model", vug_tokenizer_load_model, NULL },
    { "normalizer", NULL, vug_tokenizer_load_normalizer },
    { "pre_tokenizer", NULL, vug_tokenizer_load_pre_tokenizer },
    { "post_processor", NULL, vug_tokenizer_load_post_processor },
    { "decoder", NULL, vug_tokenizer_load_decoder },
};

enum { N_MEMBERS = sizeof(members) / sizeof(*members), MODEL = 1, DECODER = 5 };

static void read_member(vug_tokenizer_loader *l, vug_str key, unsigned *seen)
{
    for (unsigned i = 0; i < N_MEMBERS; i++) {
        if (!vug_str_is(key, members[i].key))
            continue;
        if (*seen >> i & 1)
            vug_json_fail(&l->json, VUG_FORMAT, "a second \"%s\"", members[i].key);
        *seen |= 1u << i;
        if (members[i].read_large)
            members[i].read_large(l);
        else
            read_small_member(l, members[i].read_small);
        return;
    }
    vug_json_skip(&l->json);
}

static void read_file(vug_tokenizer_loader *l)
{
    unsigned seen = 0;
    vug_str key;
    vug_json_enter_object(&l->json);
    while (vug_json_key(&l->json, &key))
        read_member(l, key, &seen);
    if (vug_json_ok(&l->json) && !(seen >> MODEL & 1))
        vug_json_fail(&l->json, VUG_FORMAT, "the tokenizer that ends here lacks its \"model\"");
    if (!(seen >> DECODER & 1))
        l->t->decode.joins_with_spaces = true;
}

static vug_status load_tokenizer(vug_tokenizer *t, vug_str json, const char *name,
                                 const vug_mapping *file, vug_err *err)
{
    enum { TEMP = 64 << 20 };
    vug_tokenizer_loader l = { .t = t, .file = file, .temp = { .budget = TEMP } };
    l.json = vug_json_reader_over(json, name, &l.temp);
    vug_tokenizer_trim_memory(&l);
    read_file(&l);
    vug_status st = vug_json_finish(&l.json, err);
    vug_arena_release(&l.temp);
    vug_buf_release(&l.joined);
    return st == VUG_OK ? vug_tokenizer_seal(t, name, err) : st;
}

vug_status vug_tokenizer_open_json(vug_str json, const char *name, const vug_mapping *file,
                                   vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    const vug_status st = load_tokenizer(t, json, name, file, err);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_from_json(vug_str json, const char *name, vug_tokenizer **out,
                                   vug_err *err)
{
    return vug_tokenizer_open_json(json, name, NULL, out, err);
}
