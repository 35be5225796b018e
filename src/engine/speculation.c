#include "engine/speculation.h"

#include <math.h>

#define LEAST_GAIN     1.05
#define LOSS_PER_TOKEN 0.01 /* steps */
#define FIRST_BALANCE  0.5
#define MOST_BALANCE   1.0 /* so that a long success does not pay for a long failure */
#define MOST_SECONDS   4.0 /* times those of a step without drafts; more has other reasons */
#define PLAIN_WEIGHT   0.25

enum {
    FIRST_PLAIN = 2,  /* steps without drafts, to know their time */
    PLAIN_EVERY = 32, /* steps: the time of a step without drafts changes */
};

vug_status vug_speculation_init(vug_speculation *s, size_t n_tokens, vug_err *err)
{
    *s = (vug_speculation){ .balance = FIRST_BALANCE };
    return vug_prompt_lookup_init(&s->lookup, n_tokens, err);
}

void vug_speculation_release(vug_speculation *s)
{
    vug_prompt_lookup_release(&s->lookup);
    *s = (vug_speculation){ 0 };
}

size_t vug_speculation_draft(vug_speculation *s, const int32_t *id, size_t n, int32_t *draft,
                             size_t most)
{
    if (s->n_tokens > 0)
        s->balance += LOSS_PER_TOKEN * (double)(n - s->n_tokens);
    s->balance = fmin(s->balance, MOST_BALANCE);
    s->n_tokens = n;
    if (s->n_plain < FIRST_PLAIN || s->since_plain >= PLAIN_EVERY || s->balance <= 0)
        return 0;
    return vug_prompt_lookup_draft(&s->lookup, id, n, draft, most);
}

void vug_speculation_add_step(vug_speculation *s, size_t n, size_t n_draft, double seconds)
{
    s->since_plain++;
    s->n_drafted += n_draft;
    if (s->n_plain > 0)
        seconds = fmin(seconds, MOST_SECONDS * s->plain_s);
    /* Also if the step had several tokens beside the drafts: that makes the gain look smaller. */
    if (n_draft > 0)
        s->balance += 1 / LEAST_GAIN - fmax(seconds / s->plain_s, 1);
    else if (n == 1) {
        s->plain_s += (seconds - s->plain_s) * (s->n_plain > 0 ? PLAIN_WEIGHT : 1);
        s->n_plain += s->n_plain < FIRST_PLAIN;
        s->since_plain = 0;
    }
}

void vug_speculation_accept(vug_speculation *s)
{
    s->balance += 1 / LEAST_GAIN;
    s->n_accepted++;
}
