#include "text/tokenizer/internal.h"

#include <stdlib.h>

#include "text/tokenizer/byte_level.h"

/* Builds a tokenizer from its parts, whatever file they come from, and closes it. */

const char vug_gpt2_regex[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

vug_status vug_tokenizer_add_regex(vug_tokenizer *t, vug_str pattern, const char *what,
                                   const vug_regex **out, vug_err *err)
{
    if (t->n_regexes == VUG_TOKENIZER_MAX_REGEXES)
        return VUG_FAIL(err, VUG_LIMIT, "%s: more than %d regular expressions", what,
                        VUG_TOKENIZER_MAX_REGEXES);
    VUG_TRY(vug_regex_compile(pattern, what, &t->regex[t->n_regexes], err));
    *out = t->regex[t->n_regexes++];
    return VUG_OK;
}

vug_status vug_tokenizer_set_byte_level(vug_tokenizer *t, const vug_byte_level_options *options,
                                        const char *name, vug_err *err)
{
    static const vug_str space = { " ", 1 };
    vug_pre_tokenizer *pre = &t->pre_tokenizer;
    VUG_ASSERT(t->normalizer.n == 0 && pre->n == 0 && t->decode.n == 0);
    const vug_str pattern = options->regex.len ? options->regex : vug_str_of(vug_gpt2_regex);
    const vug_regex *words = NULL;
    VUG_TRY(vug_tokenizer_add_regex(t, pattern, name, &words, err));
    if (options->nfc)
        t->normalizer.step[t->normalizer.n++] =
                (vug_normalizer_step){ .kind = VUG_NORMALIZER_UNICODE_FORM, .form = VUG_NFC };
    if (options->add_prefix_space)
        pre->step[pre->n++] =
                (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_PREFIX, .to = space };
    pre->step[pre->n++] = (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_SPLIT,
                                                    .pattern = { .regex = words },
                                                    .behavior = VUG_SPLIT_ISOLATED };
    pre->step[pre->n++] = (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_BYTE_LEVEL };
    t->decode.byte_level = true;
    t->decode.fused = true;
    t->bpe.ignore_merges = options->ignore_merges;
    t->bpe.unk = VUG_NO_ID;
    return VUG_OK;
}

vug_status vug_tokenizer_add_merge(vug_tokenizer *t, vug_str left, vug_str right, const char *name,
                                   vug_err *err)
{
    enum { LONGEST = 2 * VUG_TOKEN_MAX_BYTES };
    const size_t rank = t->bpe.n_merges;
    const vug_str side[2] = { left, right };
    int32_t id[3];
    for (int i = 0; i < 2; i++) {
        id[i] = vug_vocab_find(&t->vocab, side[i]);
        if (id[i] < 0)
            return VUG_FAIL(err, VUG_FORMAT, "%.200s: merge %zu: \"%.*s\" is not in the vocabulary",
                            name, rank, VUG_STR_ARG(side[i]));
    }
    vug_buf joined = { .max = LONGEST };
    vug_buf_append(&joined, left.ptr, left.len);
    vug_buf_append(&joined, right.ptr, right.len);
    id[2] = joined.bad ? -1 : vug_vocab_find(&t->vocab, (vug_str){ joined.ptr, joined.len });
    vug_buf_release(&joined);
    if (id[2] < 0)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%.200s: merge %zu: \"%.*s\" and \"%.*s\" do not join to a token of the "
                        "vocabulary",
                        name, rank, VUG_STR_ARG(left), VUG_STR_ARG(right));
    if (rank == VUG_BPE_MAX_MERGES)
        return VUG_FAIL(err, VUG_LIMIT, "%.200s: more than %d merges", name, VUG_BPE_MAX_MERGES);
    if (!vug_bpe_add_merge(&t->bpe,
                           (vug_bpe_merge){ (uint32_t)id[0], (uint32_t)id[1], (uint32_t)id[2] }))
        return VUG_FAIL_NOMEM(err, "the merges", rank * sizeof(vug_bpe_merge));
    return VUG_OK;
}

/* ---- what needs all of the file ------------------------------------------ */

static vug_status check_unique_added(const vug_tokenizer *t, const char *name, vug_err *err)
{
    vug_hash_index index = { 0 };
    if (!vug_hash_index_init(&index, t->n_added))
        return VUG_FAIL_NOMEM(err, "the added tokens", 2 * t->n_added * sizeof(uint32_t));
    vug_status st = VUG_OK;
    for (uint32_t i = 0; i < t->n_added && st == VUG_OK; i++) {
        const vug_str content = t->added[i].content;
        vug_hash_probe p = vug_hash_probe_start(&index, vug_hash_bytes(content.ptr, content.len));
        bool known = false;
        while (!known && vug_hash_probe_next(&p))
            known = vug_str_equal(t->added[p.entry].content, content);
        if (known)
            st = VUG_FAIL(err, VUG_FORMAT, "%.200s: the added token \"%.*s\" is declared twice",
                          name, VUG_STR_ARG(content));
        else if (!vug_hash_probe_insert(&index, &p, i))
            st = VUG_FAIL(err, VUG_LIMIT, "%.200s: too many hash collisions of added tokens", name);
    }
    vug_hash_index_release(&index);
    return st;
}

/* Adds the added tokens to the vocabulary, if the model does not have them. */
static vug_status add_to_vocabulary(vug_tokenizer *t, const char *name, vug_err *err)
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
                            "%.200s: the added token \"%.*s\" has id %u, which belongs to \"%.*s\"",
                            name, VUG_STR_ARG(a->content), (unsigned)a->id,
                            VUG_STR_ARG(vug_vocab_text(&t->vocab, a->id)));
        if (result != VUG_VOCAB_ADDED)
            return VUG_FAIL_NOMEM(err, "the vocabulary", t->vocab.pool.len);
    }
    return VUG_OK;
}

/* Computes the patterns of the tokens that are matched in the normalized text. */
static vug_status normalize_patterns(vug_tokenizer *t, const char *name, vug_err *err)
{
    enum { LONGEST = 4 * VUG_ADDED_TOKEN_MAX_BYTES };
    vug_pipeline_work work = { 0 };
    vug_status st = VUG_OK;
    for (size_t i = 0; i < t->n_added && st == VUG_OK; i++) {
        vug_added_token *a = &t->added[i];
        vug_str pattern;
        if (a->pattern.ptr)
            continue;
        st = vug_normalizer_apply(&t->normalizer, a->content, &work, &pattern, err);
        if (st == VUG_OK && pattern.len > LONGEST)
            st = VUG_FAIL(err, VUG_LIMIT, "%.200s: a normalized added token has more than %d bytes",
                          name, LONGEST);
        if (st == VUG_OK) {
            a->pattern = vug_arena_copy(&t->arena, pattern);
            if (!a->pattern.ptr)
                st = VUG_FAIL_NOMEM(err, "the added tokens", pattern.len);
        }
    }
    vug_pipeline_work_release(&work);
    return st;
}

/* Decides which added tokens stay text in untrusted ranges: all special ones, and of the
 * others, which the reference always matches, those that mark the structure of a
 * conversation. Qwen's <tool_call> and </tool_response> are not special: a fetched web page
 * that contains </tool_response> could end its frame and speak as the user. Two things tell
 * them from tokens that are ordinary text, such as Gemma's runs of newlines and <h1>: no
 * merge of a byte-level model results in them, while merges make all of its words; or they
 * are written <|like> or <this|>. */
static vug_status mark_control_tokens(vug_tokenizer *t, vug_err *err)
{
    uint8_t *is_merge_result = vug_alloc_zero(t->vocab.n_ids + 1, 1);
    if (!is_merge_result)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->vocab.n_ids);
    for (size_t i = 0; i < t->bpe.n_merges; i++)
        is_merge_result[t->bpe.merge[i].result] = 1;
    for (size_t i = 0; i < t->n_added; i++) {
        vug_added_token *a = &t->added[i];
        const bool word = a->content.len == 1 || is_merge_result[a->id];
        a->control = a->special || (t->decode.byte_level && !word) ||
                     vug_str_starts(a->content, "<|") || vug_str_ends(a->content, "|>");
    }
    vug_free(is_merge_result);
    return VUG_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const vug_added_token *x = *(const vug_added_token *const *)a;
    const vug_added_token *y = *(const vug_added_token *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static vug_status list_respelled(vug_tokenizer *t, vug_err *err)
{
    for (size_t i = 0; i < t->n_added; i++)
        t->n_respelled += t->added[i].pattern.ptr != t->added[i].content.ptr;
    if (t->n_respelled == 0)
        return VUG_OK;
    t->respelled = vug_alloc(t->n_respelled, sizeof(const vug_added_token *));
    if (!t->respelled)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->n_respelled * sizeof(void *));
    for (size_t i = 0, n = 0; i < t->n_added; i++) {
        if (t->added[i].pattern.ptr != t->added[i].content.ptr)
            t->respelled[n++] = &t->added[i];
    }
    qsort(t->respelled, t->n_respelled, sizeof(const vug_added_token *), compare_ids);
    return VUG_OK;
}

static void set_bit(uint8_t *bits, uint32_t id)
{
    bits[id / 8] = (uint8_t)(bits[id / 8] | 1u << (id % 8));
}

static vug_status build_added_sets(vug_tokenizer *t, const char *name, vug_err *err)
{
    VUG_TRY(normalize_patterns(t, name, err));
    VUG_TRY(mark_control_tokens(t, err));
    VUG_TRY(list_respelled(t, err));
    if (!vug_added_token_set_init(&t->added_raw, t->added, t->n_added, false) ||
        !vug_added_token_set_init(&t->added_normalized, t->added, t->n_added, true))
        return VUG_FAIL_NOMEM(err, "the added tokens", t->n_added * sizeof(void *));
    t->special_bits = vug_alloc_zero(t->vocab.n_ids / 8 + 1, 1);
    t->control_bits = vug_alloc_zero(t->vocab.n_ids / 8 + 1, 1);
    if (!t->special_bits || !t->control_bits)
        return VUG_FAIL_NOMEM(err, "the added tokens", t->vocab.n_ids / 8 + 1);
    for (size_t i = 0; i < t->n_added; i++) {
        const uint32_t id = t->added[i].id;
        if (t->added[i].special)
            set_bit(t->special_bits, id);
        if (t->added[i].control)
            set_bit(t->control_bits, id);
    }
    return VUG_OK;
}

static vug_status check_special_ids(const vug_tokenizer *t, const vug_special_ids *ids,
                                    const char *name, vug_err *err)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (!vug_vocab_text(&t->vocab, (uint32_t)ids->id[i]).ptr)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%.200s: the post-processor adds id %d, which is not a token", name,
                            (int)ids->id[i]);
    }
    return VUG_OK;
}

vug_status vug_tokenizer_seal(vug_tokenizer *t, const char *name, vug_err *err)
{
    VUG_TRY(vug_bpe_seal(&t->bpe, name, err));
    vug_safe_splits_init(&t->safe_splits, &t->bpe, &t->vocab);
    VUG_TRY(check_unique_added(t, name, err));
    VUG_TRY(add_to_vocabulary(t, name, err));
    VUG_TRY(build_added_sets(t, name, err));
    VUG_TRY(check_special_ids(t, &t->prefix, name, err));
    VUG_TRY(check_special_ids(t, &t->suffix, name, err));
    return vug_token_trie_cache_create(&t->trie, err);
}

void vug_tokenizer_close(vug_tokenizer *t)
{
    if (!t)
        return;
    vug_vocab_release(&t->vocab);
    vug_bpe_release(&t->bpe);
    vug_added_token_set_release(&t->added_raw);
    vug_added_token_set_release(&t->added_normalized);
    vug_free(t->added);
    vug_free(t->respelled);
    vug_free(t->special_bits);
    vug_free(t->control_bits);
    for (size_t i = 0; i < t->n_regexes; i++)
        vug_regex_destroy(t->regex[i]);
    vug_token_trie_cache_destroy(t->trie);
    vug_arena_release(&t->arena);
    vug_free(t);
}
