/* What a tokenizer_config.json says of the tokenizer.model beside it. */
#include <stdio.h>

#include "core/text.h"
#include "text/tokenizer/spm_pieces.h"

/* A token as a string or as an object with "content". */
static vug_str content_of(const vug_jv *v)
{
    const vug_jv *content = vug_jv_is(v, VUG_JSON_OBJECT) ? vug_jv_get(v, "content") : v;
    return vug_jv_is(content, VUG_JSON_STRING) ? content->str : (vug_str){ 0 };
}

static void read_end(const vug_spm_pieces *p, const vug_jv *top, const char *key, int64_t *id)
{
    const vug_str text = content_of(vug_jv_get(top, key));
    const int32_t found = text.len ? vug_vocab_find(&p->t->vocab, text) : -1;
    if (found >= 0)
        *id = found;
}

static bool flag_of(const vug_jv *v, const char *key, bool otherwise)
{
    const vug_jv *flag = vug_jv_get(v, key);
    return vug_jv_is(flag, VUG_JSON_BOOL) ? flag->boolean : otherwise;
}

/* A token that the model does not have. */
static vug_status add_extra(const vug_spm_pieces *p, const vug_jv *v, vug_str text)
{
    vug_tokenizer *t = p->t;
    char digits[16];
    int64_t id = -1;
    (void)snprintf(digits, sizeof(digits), "%.*s", VUG_STR_ARG(v->key));
    if (!vug_parse_i64(digits, &id) || id < 0 || id >= VUG_MAX_IDS ||
        text.len > VUG_ADDED_MAX_BYTES)
        return VUG_FAIL(
                p->err, VUG_UNSUPPORTED,
                "tokenizer_config.json: the added token \"%.*s\" has an impossible id, or more "
                "than %d bytes",
                VUG_STR_ARG(text), VUG_ADDED_MAX_BYTES);
    vug_added_token *more = t->n_added < VUG_ADDED_MAX_TOKENS
                                    ? vug_realloc(t->added, t->n_added + 1, sizeof(*more))
                                    : NULL;
    const vug_str copy = vug_arena_copy(&t->arena, text);
    t->added = more ? more : t->added;
    if (!more || !copy.ptr)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", t->n_added * sizeof(*more));
    t->added[t->n_added++] = (vug_added_token){ .content = copy,
                                                .pattern = copy,
                                                .id = (uint32_t)id,
                                                .single_word = flag_of(v, "single_word", false),
                                                .lstrip = flag_of(v, "lstrip", false),
                                                .rstrip = flag_of(v, "rstrip", false),
                                                .special = flag_of(v, "special", false) };
    return VUG_OK;
}

/* "added_tokens_decoder": what is special, whatever the model says, and what it lacks. */
static vug_status read_added(const vug_jv *top, vug_spm_pieces *p)
{
    const vug_jv *list = vug_jv_get(top, "added_tokens_decoder");
    for (const vug_jv *each = list ? list->child : NULL; each; each = each->next) {
        const vug_str text = content_of(each);
        const int32_t id = text.len ? vug_vocab_find(&p->t->vocab, text) : -1;
        if (id < 0 && text.len)
            VUG_TRY(add_extra(p, each, text));
        else if (id >= 0 && p->kind[id] != VUG_PIECE_UNKNOWN && p->kind[id] != VUG_PIECE_BYTE &&
                 flag_of(each, "special", false))
            p->kind[id] = VUG_PIECE_CONTROL;
    }
    return VUG_OK;
}

vug_status vug_spm_config(vug_str json, vug_spm_pieces *p, vug_spm_ends *ends)
{
    enum { BUDGET = 64 << 20 };
    if (json.len == 0)
        return VUG_OK;
    vug_arena arena = { .budget = BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, "tokenizer_config.json", &arena, &top, p->err);
    if (st == VUG_OK) {
        ends->add_bos = flag_of(top, "add_bos_token", ends->add_bos);
        ends->add_eos = flag_of(top, "add_eos_token", ends->add_eos);
        read_end(p, top, "bos_token", &ends->bos);
        read_end(p, top, "eos_token", &ends->eos);
        st = read_added(top, p);
    }
    vug_arena_release(&arena);
    return st;
}
