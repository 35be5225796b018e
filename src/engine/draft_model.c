#include "engine/draft_model.h"

/* ---- the same tokens ------------------------------------------------------------------- */

static vug_status same_text(const vug_tokenizer *a, const vug_tokenizer *b, int32_t id, bool *same,
                            vug_err *err)
{
    vug_text x = { 0 }, y = { 0 };
    vug_status st = vug_tokenizer_bytes(a, id, &x, err);
    if (st == VUG_OK)
        st = vug_tokenizer_bytes(b, id, &y, err);
    *same = st == VUG_OK && x.len == y.len && (x.len == 0 || memcmp(x.ptr, y.ptr, x.len) == 0);
    vug_text_release(&x);
    vug_text_release(&y);
    return st;
}

vug_status vug_draft_model_check(const vug_model *model, const vug_model *draft, vug_err *err)
{
    const vug_tokenizer *a = model->checkpoint.tokenizer, *b = draft->checkpoint.tokenizer;
    const int64_t n = a ? vug_tokenizer_size(a) : model->info.n_vocab,
                  n_draft = b ? vug_tokenizer_size(b) : draft->info.n_vocab;
    if ((a == NULL) != (b == NULL))
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "the draft model %s has %s tokenizer and %s has %s: a draft model needs the "
                "same one",
                draft->path, b ? "a" : "no", model->path, a ? "one" : "none");
    if (n != n_draft || draft->info.n_vocab < (n < model->info.n_vocab ? n : model->info.n_vocab))
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "the draft model %s has %lld tokens and %s has %lld: a draft model needs the "
                "same tokenizer",
                draft->path, (long long)n_draft, model->path, (long long)n);
    for (int32_t id = 0; a && id < n; id++) {
        bool same;
        VUG_TRY(same_text(a, b, id, &same, err));
        if (!same)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "token %d of the draft model %s is not that of %s: a draft model needs "
                            "the same tokenizer",
                            id, draft->path, model->path);
    }
    return VUG_OK;
}

/* ---- drafts ---------------------------------------------------------------------------- */

vug_status vug_draft_session_create(const vug_session *target, vug_session **out, vug_err *err)
{
    const vug_prefix_key *root = &target->sequence.root;
    VUG_TRY(vug_session_create(target->model->draft, out, err));
    const vug_status st = vug_session_set_namespace(*out, root->byte, sizeof(root->byte), err);
    if (st != VUG_OK)
        vug_session_destroy(*out);
    return st;
}

/* Takes back the drafts of the last call that the answer does not have. */
static void take_back(vug_session *s, const vug_token_history *history)
{
    const vug_kv_sequence *kv = &s->sequence.kv;
    size_t same = 0;
    while (same < kv->n_tokens && same + 1 < history->n && kv->token[same] == history->id[same])
        same++;
    vug_scheduler_truncate(s->model->scheduler, &s->sequence, same);
}

bool vug_draft_session_write(vug_session *s, vug_sampler *sampler, int32_t *draft, size_t n,
                             const vug_cancel_token *cancel)
{
    const vug_token_history *history = &sampler->history;
    const vug_forward_options options = { .cancel = cancel };
    size_t cached, written = 0, n_accepted = 0;
    if (history->n + n > (size_t)s->model->info.context)
        return false;
    take_back(s, history);
    vug_status st = vug_session_prepare(s, history->id, history->n, cancel, &cached, NULL);
    if (st == VUG_OK)
        st = vug_session_extend(s, history->id + cached, history->n - cached, &options, NULL);
    while (st == VUG_OK) {
        draft[written] = vug_sampler_sample(sampler, vug_session_logits(s), NULL);
        if (draft[written] < 0)
            st = VUG_UNSUPPORTED; /* the settings allow no token */
        else if (++written == n)
            break;
        if (st == VUG_OK)
            st = vug_sampler_accept(sampler, draft[written - 1], NULL);
        n_accepted += st == VUG_OK;
        if (st == VUG_OK)
            st = vug_session_extend(s, &draft[written - 1], 1, &options, NULL);
    }
    vug_sampler_rollback(sampler, n_accepted);
    vug_scheduler_pause(s->model->scheduler, &s->sequence);
    return st == VUG_OK;
}
