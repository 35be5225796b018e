#include "app/remote/heard.h"

/*
 * Log-probabilities: of chats a list of tokens under "content", of completions lists side by
 * side, the best of each place as an object. llama.cpp's server writes the first for both.
 */

static vug_shown_token token_of(const vug_jv *v)
{
    const vug_jv *id = vug_jv_get(v, "id"), *text = vug_jv_get(v, "token");
    const vug_jv *logprob = vug_jv_get(v, "logprob");
    return (vug_shown_token){
        .id = id && id->is_int && id->i64 >= 0 ? id->i64 : -1,
        .text = vug_jv_is(text, VUG_JSON_STRING) ? text->str : (vug_str){ "", 0 },
        .logprob = vug_jv_is(logprob, VUG_JSON_NUMBER) ? logprob->f64 : 0,
    };
}

static const vug_jv *first_of(const vug_jv *list)
{
    return vug_jv_is(list, VUG_JSON_ARRAY) ? list->child : NULL;
}

static void hear_list(const vug_heard *h, const vug_jv *list)
{
    for (const vug_jv *v = first_of(list); v; v = v->next) {
        const vug_shown_token token = token_of(v);
        vug_shown_token top[VUG_MAX_TOP_LOGPROBS];
        size_t n = 0;
        for (const vug_jv *t = first_of(vug_jv_get(v, "top_logprobs"));
             t && n < VUG_MAX_TOP_LOGPROBS; t = t->next)
            top[n++] = token_of(t);
        h->on_token(&token, top, n, h->user);
    }
}

static void hear_columns(const vug_heard *h, const vug_jv *logprobs)
{
    const vug_jv *logprob = first_of(vug_jv_get(logprobs, "token_logprobs"));
    const vug_jv *best = first_of(vug_jv_get(logprobs, "top_logprobs"));
    for (const vug_jv *v = first_of(vug_jv_get(logprobs, "tokens")); v; v = v->next) {
        const vug_jv *t = vug_jv_is(best, VUG_JSON_OBJECT) ? best->child : NULL;
        const vug_shown_token token = {
            .id = -1,
            .text = vug_jv_is(v, VUG_JSON_STRING) ? v->str : (vug_str){ "", 0 },
            .logprob = vug_jv_is(logprob, VUG_JSON_NUMBER) ? logprob->f64 : 0,
        };
        vug_shown_token top[VUG_MAX_TOP_LOGPROBS];
        size_t n = 0;
        for (; t && n < VUG_MAX_TOP_LOGPROBS; t = t->next)
            if (t->type == VUG_JSON_NUMBER)
                top[n++] = (vug_shown_token){ .id = -1, .text = t->key, .logprob = t->f64 };
        h->on_token(&token, top, n, h->user);
        logprob = logprob ? logprob->next : NULL;
        best = best ? best->next : NULL;
    }
}

void vug_heard_logprobs(const vug_heard *h, const vug_jv *logprobs)
{
    if (!h->on_token || !vug_jv_is(logprobs, VUG_JSON_OBJECT))
        return;
    hear_list(h, vug_jv_get(logprobs, "content"));
    hear_list(h, vug_jv_get(logprobs, "refusal"));
    hear_columns(h, logprobs);
}
