#include "engine/token_history.h"

#include <string.h>

vug_status vug_history_init(vug_token_history *h, const vug_history_options *options, vug_err *err)
{
    const size_t v = (size_t)options->n_vocab;
    vug_token_history new = { .options = *options };
    new.id = vug_alloc(options->max_tokens, sizeof(*new.id));
    bool ok = new.id != NULL;
    if (options->count) {
        new.n_in_prompt = vug_alloc_zero(v, sizeof(*new.n_in_prompt));
        new.n_in_answer = vug_alloc_zero(v, sizeof(*new.n_in_answer));
        new.counted = vug_alloc(v, sizeof(*new.counted));
        new.is_counted = vug_alloc_zero(v, sizeof(*new.is_counted));
        ok = ok && new.n_in_prompt &&new.n_in_answer &&new.counted &&new.is_counted;
    }
    if (!ok) {
        vug_history_release(&new);
        return VUG_FAIL_NOMEM(err, "the sampler's history", options->max_tokens * sizeof(*new.id));
    }
    *h = new;
    return VUG_OK;
}

void vug_history_release(vug_token_history *h)
{
    vug_free(h->id);
    vug_free(h->n_in_prompt);
    vug_free(h->n_in_answer);
    vug_free(h->counted);
    vug_free(h->is_counted);
    *h = (vug_token_history){ 0 };
}

/* Adds or removes the token at `at` in the counts. */
static void count_token(vug_token_history *h, size_t at, bool add)
{
    const int32_t id = h->id[at];
    uint32_t *count = at < h->n_prompt ? &h->n_in_prompt[id] : &h->n_in_answer[id];
    *count += add ? 1 : UINT32_MAX;
    if (add && !h->is_counted[id]) {
        h->is_counted[id] = 1;
        h->counted[h->n_counted++] = id;
    }
}

static size_t find_window(const vug_token_history *h)
{
    const size_t window = (size_t)h->options.window;
    return h->options.window < 0 || h->n < window ? 0 : h->n - window;
}

static void append_token(vug_token_history *h, int32_t id)
{
    VUG_ASSERT(h->n < h->options.max_tokens && id >= 0 && id < h->options.n_vocab);
    h->id[h->n++] = id;
    if (!h->options.count)
        return;
    count_token(h, h->n - 1, true);
    for (const size_t from = find_window(h); h->window_from < from; h->window_from++)
        count_token(h, h->window_from, false);
}

static void drop_tokens(vug_token_history *h, size_t n)
{
    for (; n > 0; n--) {
        if (h->options.count && h->window_from < h->n)
            count_token(h, h->n - 1, false);
        h->n--;
        if (!h->options.count)
            continue;
        for (const size_t from = find_window(h); h->window_from > from;) {
            if (--h->window_from < h->n)
                count_token(h, h->window_from, true);
        }
    }
}

void vug_history_set_prompt(vug_token_history *h, const int32_t *id, size_t n)
{
    drop_tokens(h, h->n);
    h->n_prompt = n;
    for (size_t i = 0; i < n; i++)
        append_token(h, id[i]);
}

void vug_history_push(vug_token_history *h, int32_t id)
{
    append_token(h, id);
}

void vug_history_pop(vug_token_history *h, size_t n)
{
    VUG_ASSERT(n <= h->n - h->n_prompt);
    drop_tokens(h, n);
}

const int32_t *vug_history_distinct(vug_token_history *h, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n_counted; i++) {
        const int32_t id = h->counted[i];
        if (h->n_in_prompt[id] || h->n_in_answer[id])
            h->counted[kept++] = id;
        else
            h->is_counted[id] = 0;
    }
    h->n_counted = *n = kept;
    return h->counted;
}
