/* Reads the tokenizer_config.json next to a tokenizer.model. */
#include <stdio.h>

#include "core/number.h"
#include "text/tokenizer/spm_pieces.h"

/* A token as a string or as an object with "content". */
static vug_str token_content(const vug_jv *v)
{
    const vug_jv *content = vug_jv_is(v, VUG_JSON_OBJECT) ? vug_jv_get(v, "content") : v;
    return vug_jv_is(content, VUG_JSON_STRING) ? content->str : (vug_str){ 0 };
}

static void read_token_id(const vug_spm_pieces *p, const vug_jv *top, const char *key, int64_t *id)
{
    const vug_str text = token_content(vug_jv_get(top, key));
    const int32_t found = text.len ? vug_vocab_find(&p->t->vocab, text) : -1;
    if (found >= 0)
        *id = found;
}

static bool read_flag(const vug_jv *v, const char *key, bool fallback)
{
    const vug_jv *flag = vug_jv_get(v, key);
    return vug_jv_is(flag, VUG_JSON_BOOL) ? flag->boolean : fallback;
}

/* Adds a token that the model lacks. */
static vug_status add_missing_token(const vug_spm_pieces *p, const vug_jv *v, vug_str text)
{
    vug_tokenizer *t = p->t;
    char digits[16];
    int64_t id = -1;
    (void)snprintf(digits, sizeof(digits), "%.*s", VUG_STR_ARG(v->key));
    if (!vug_parse_i64(digits, &id) || id < 0 || id >= VUG_MAX_IDS ||
        text.len > VUG_ADDED_TOKEN_MAX_BYTES)
        return VUG_FAIL(
                p->err, VUG_UNSUPPORTED,
                "tokenizer_config.json: the added token \"%.*s\" has an invalid id, or more "
                "than %d bytes",
                VUG_STR_ARG(text), VUG_ADDED_TOKEN_MAX_BYTES);
    vug_added_token *more = t->n_added < VUG_ADDED_TOKENS_MAX
                                    ? vug_realloc(t->added, t->n_added + 1, sizeof(*more))
                                    : NULL;
    const vug_str copy = vug_arena_copy(&t->arena, text);
    t->added = more ? more : t->added;
    if (!more || !copy.ptr)
        return VUG_FAIL_NOMEM(p->err, "the added tokens", t->n_added * sizeof(*more));
    t->added[t->n_added++] = (vug_added_token){ .content = copy,
                                                .pattern = copy,
                                                .id = (uint32_t)id,
                                                .single_word = read_flag(v, "single_word", false),
                                                .lstrip = read_flag(v, "lstrip", false),
                                                .rstrip = read_flag(v, "rstrip", false),
                                                .special = read_flag(v, "special", false) };
    return VUG_OK;
}

/* "added_tokens_decoder" overrides which pieces are special, and adds tokens. */
static vug_status read_added_tokens(const vug_jv *top, vug_spm_pieces *p)
{
    const vug_jv *list = vug_jv_get(top, "added_tokens_decoder");
    for (const vug_jv *each = list ? list->child : NULL; each; each = each->next) {
        const vug_str text = token_content(each);
        const int32_t id = text.len ? vug_vocab_find(&p->t->vocab, text) : -1;
        if (id < 0 && text.len)
            VUG_TRY(add_missing_token(p, each, text));
        else if (id >= 0 && p->kind[id] != VUG_PIECE_UNKNOWN && p->kind[id] != VUG_PIECE_BYTE &&
                 read_flag(each, "special", false))
            p->kind[id] = VUG_PIECE_CONTROL;
    }
    return VUG_OK;
}

vug_status vug_spm_read_config(vug_str json, vug_spm_pieces *p, vug_spm_bos_eos *bos_eos)
{
    enum { BUDGET = 64 << 20 };
    if (json.len == 0)
        return VUG_OK;
    vug_arena arena = { .budget = BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, "tokenizer_config.json", &arena, &top, p->err);
    if (st == VUG_OK) {
        bos_eos->add_bos = read_flag(top, "add_bos_token", bos_eos->add_bos);
        bos_eos->add_eos = read_flag(top, "add_eos_token", bos_eos->add_eos);
        read_token_id(p, top, "bos_token", &bos_eos->bos);
        read_token_id(p, top, "eos_token", &bos_eos->eos);
        st = read_added_tokens(top, p);
    }
    vug_arena_release(&arena);
    return st;
}
