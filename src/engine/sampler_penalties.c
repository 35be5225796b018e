/* The samplers that change single logits. */
#include <math.h>

#include "engine/sampler.h"
#include "text/text.h"

/* ---- changed logits ------------------------------------------------------------------ */

vug_status vug_changed_logits_init(vug_changed_logits *c, int64_t n_vocab, vug_err *err)
{
    const size_t v = (size_t)n_vocab;
    *c = (vug_changed_logits){ 0 };
    c->is_changed = vug_alloc_zero((v + 31) / 32, sizeof(*c->is_changed));
    c->value = vug_alloc(v, sizeof(*c->value));
    c->id = vug_alloc(v, sizeof(*c->id));
    if (c->is_changed && c->value && c->id)
        return VUG_OK;
    vug_changed_logits_release(c);
    return VUG_FAIL_NOMEM(err, "the sampler's changed logits",
                          v * (sizeof(*c->value) + sizeof(*c->id)) + v / 8);
}

void vug_changed_logits_release(vug_changed_logits *c)
{
    vug_free(c->is_changed);
    vug_free(c->value);
    vug_free(c->id);
    *c = (vug_changed_logits){ 0 };
}

void vug_changed_logits_clear(vug_changed_logits *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->is_changed[c->id[i] / 32] = 0;
    c->n = 0;
}

float *vug_changed_logits_at(vug_changed_logits *c, const float *logits, int32_t id)
{
    const uint32_t bit = UINT32_C(1) << id % 32;
    if (!(c->is_changed[id / 32] & bit)) {
        c->is_changed[id / 32] |= bit;
        c->value[id] = logits[id];
        c->id[c->n++] = id;
    }
    return &c->value[id];
}

/* ---- penalties ------------------------------------------------------------------------ */

static void change_logit(vug_adjustments *to, const vug_logit_change *change)
{
    if (to->list) {
        if (to->n < VUG_MOST_CHANGES)
            to->list[to->n] = *change;
        to->n++;
        return;
    }
    float *logit = vug_changed_logits_at(to->changed, to->logits, change->id);
    *logit = vug_change_logit(*logit, change);
}

void vug_lower_logit(vug_adjustments *to, int32_t id, float value)
{
    const vug_logit_change change = { .id = id, .value = value, .stage = to->stage };
    change_logit(to, &change);
}

static void penalize_repetition(vug_adjustments *to, int32_t id, float value)
{
    const vug_logit_change change = {
        .id = id, .value = value, .stage = to->stage, .is_repetition = true
    };
    change_logit(to, &change);
}

void vug_penalize_seen(vug_adjustments *to, const vug_sampler_config *config,
                       vug_token_history *history)
{
    size_t n;
    const int32_t *id = vug_history_distinct(history, &n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t answer = history->n_in_answer[id[i]];
        if (config->kind == VUG_SAMPLER_REPETITION)
            penalize_repetition(to, id[i], config->value);
        else if (answer > 0 && config->kind == VUG_SAMPLER_PRESENCE)
            vug_lower_logit(to, id[i], config->value);
        else if (answer > 0)
            vug_lower_logit(to, id[i], (float)answer * config->value);
    }
}

/* ---- DRY ------------------------------------------------------------------------------- */

enum { MAX_DRY_MATCH = 50 }; /* as in the original: longer repeats count as so long */

/* The number of tokens before `end` that equal those at the end of the history. */
static int match_length(const vug_token_history *h, const vug_dry *dry, size_t from, size_t end)
{
    int n = 0;
    while (n < MAX_DRY_MATCH && end - from > (size_t)n) {
        const size_t last = h->n - 1 - (size_t)n;
        if (h->id[end - 1 - (size_t)n] != h->id[last] || (dry->is_breaker && dry->is_breaker[last]))
            break;
        n++;
    }
    return n;
}

static float dry_penalty(float multiplier, const vug_dry *dry, int length)
{
    double penalty = (double)multiplier;
    for (int64_t i = dry->allowed_length; i < length; i++)
        penalty *= dry->base;
    return penalty < 1e30 ? (float)penalty : 1e30f;
}

void vug_penalize_repeats(vug_adjustments *to, float multiplier, const vug_dry *dry,
                          const vug_token_history *h)
{
    const bool all = dry->window < 0 || (size_t)dry->window >= h->n;
    const size_t from = all ? 0 : h->n - (size_t)dry->window;
    /* The longest match before each token that could follow. */
    for (size_t i = from + 1; i < h->n; i++) {
        const bool is_breaker = dry->is_breaker && dry->is_breaker[i];
        const int n = is_breaker ? 0 : match_length(h, dry, from, i);
        if (n > dry->length[h->id[i]])
            dry->length[h->id[i]] = (uint8_t)n;
    }
    for (size_t i = from + 1; i < h->n; i++) {
        const int n = dry->length[h->id[i]];
        if (n > 0 && n >= dry->allowed_length)
            vug_lower_logit(to, h->id[i], dry_penalty(multiplier, dry, n));
        dry->length[h->id[i]] = 0;
    }
}

/* Whether `text` occurs in the bytes so that it ends after the first `from`. */
static bool ends_after(const char *bytes, size_t n, size_t from, const char *text)
{
    const size_t len = strlen(text);
    for (size_t end = from + 1 > len ? from + 1 : len; end <= n; end++) {
        if (memcmp(bytes + end - len, text, len) == 0)
            return true;
    }
    return false;
}

/* The first token of those that a text of `reach` bytes before the last token may touch. */
static size_t find_reach(const vug_tokenizer *tokenizer, const int32_t *id, size_t n, size_t reach,
                         vug_buf *scratch)
{
    size_t first = n - 1;
    for (; first > 0 && scratch->len < reach && n - first <= VUG_MAX_DRY_BREAKER; first--)
        (void)vug_tokenizer_append_bytes(tokenizer, id[first - 1], scratch);
    scratch->len = 0;
    return first;
}

vug_status vug_dry_find_breaker(const vug_sampler_settings *settings,
                                const vug_tokenizer *tokenizer, const int32_t *id, size_t n,
                                bool *found, vug_err *err)
{
    vug_buf bytes = { 0 };
    size_t reach = 0, before = 0;
    for (size_t i = 0; i < settings->n_breakers; i++) {
        const size_t len = strlen(settings->breaker[i]);
        reach = len - 1 > reach ? len - 1 : reach;
    }
    for (size_t i = find_reach(tokenizer, id, n, reach, &bytes); i < n; i++) {
        before = bytes.len;
        (void)vug_tokenizer_append_bytes(tokenizer, id[i], &bytes);
    }
    *found = false;
    for (size_t i = 0; i < settings->n_breakers && bytes.ptr; i++)
        *found = *found || ends_after(bytes.ptr, bytes.len, before, settings->breaker[i]);
    const vug_status st = vug_buf_ok(&bytes, err);
    vug_buf_release(&bytes);
    return st;
}
