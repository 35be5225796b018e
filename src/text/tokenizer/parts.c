#include "text/tokenizer/tokenizer.h"

#include "text/tokenizer/bytelevel.h"

/* A tokenizer that is put together from parts: what tokenizer.json files and the
 * arrays of GGUF files have in common. */

const char vug_gpt2_expression[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

vug_status vug_tokenizer_regex(vug_tokenizer *t, vug_str pattern, const char *what,
                               const vug_regex **out, vug_err *err)
{
    if (t->n_regexes == VUG_MAX_REGEXES)
        return VUG_FAIL(err, VUG_LIMIT, "%s: more than %d regular expressions", what,
                        VUG_MAX_REGEXES);
    VUG_TRY(vug_regex_compile(pattern, what, &t->regex[t->n_regexes], err));
    *out = t->regex[t->n_regexes++];
    return VUG_OK;
}

vug_status vug_tokenizer_set_byte_level(vug_tokenizer *t, const vug_byte_level *how,
                                        const char *name, vug_err *err)
{
    static const vug_str space = { " ", 1 };
    vug_pre_tokenizer *pre = &t->pre_tokenizer;
    VUG_ASSERT(t->normalizer.n == 0 && pre->n == 0 && t->decoding.n == 0);
    const vug_str expression =
            how->expression.len ? how->expression : vug_str_of(vug_gpt2_expression);
    const vug_regex *words = NULL;
    VUG_TRY(vug_tokenizer_regex(t, expression, name, &words, err));
    if (how->nfc)
        t->normalizer.step[t->normalizer.n++] =
                (vug_normal_step){ .kind = VUG_NORMAL_FORM, .form = VUG_NFC };
    if (how->add_prefix_space)
        pre->step[pre->n++] = (vug_words_step){ .kind = VUG_WORDS_PREFIX, .to = space };
    pre->step[pre->n++] = (vug_words_step){ .kind = VUG_WORDS_SPLIT,
                                            .pattern = { .regex = words },
                                            .behavior = VUG_SPLIT_ISOLATED };
    pre->step[pre->n++] = (vug_words_step){ .kind = VUG_WORDS_BYTES };
    t->decoding.byte_level = true;
    t->decoding.fused = true;
    t->bpe.ignore_merges = how->ignore_merges;
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
    if (!vug_bpe_add(&t->bpe, (vug_merge){ (uint32_t)id[0], (uint32_t)id[1], (uint32_t)id[2] }))
        return VUG_FAIL_NOMEM(err, "the merges", rank * sizeof(vug_merge));
    return VUG_OK;
}
