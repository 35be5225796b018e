#include "cli/bench_sequences.h"

#include <pthread.h>
#include <string.h>

#include "core/mem.h"
#include "core/os.h"
#include "core/random.h"
#include "core/status.h"

typedef struct {
    const vug_bench_sequences *bench;
    vug_session *session;
    int32_t *id; /* [depth + 1] */
    uint64_t seed;
    pthread_t thread;
    vug_status st;
    vug_err err;
} bench_sequence;

typedef void *thread_fn(void *sequence);

static size_t tokens_before(const vug_bench_sequences *b)
{
    return b->depth > 0 ? (size_t)b->depth : 1;
}

static void *read_prompt(void *argument)
{
    bench_sequence *s = argument;
    vug_session_reset(s->session);
    s->st = vug_session_forward(s->session, s->id, tokens_before(s->bench), NULL, &s->err);
    return NULL;
}

/* Decodes as requests do: the next step waits for a sequence until it has ended. */
static void *decode(void *argument)
{
    bench_sequence *s = argument;
    vug_generate_options options = { .sampling = s->bench->sampling,
                                     .max_tokens = s->bench->n,
                                     .ignore_stop = true };
    options.sampling.seed += s->seed;
    const size_t before = tokens_before(s->bench);
    vug_generation got = { 0 };
    if (s->st != VUG_OK)
        return NULL;
    s->id[before] = vug_session_best_token(s->session);
    s->st = vug_generate(s->session, s->id, before + 1, &options, &got, &s->err);
    vug_generation_release(&got);
    return NULL;
}

/* Runs a function for each sequence and waits for all. */
static vug_status run_threads(bench_sequence *sequence, size_t n, thread_fn *run, vug_err *err)
{
    size_t started = 0;
    while (started < n &&
           pthread_create(&sequence[started].thread, NULL, run, &sequence[started]) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(sequence[i].thread, NULL);
    if (started < n)
        return VUG_FAIL(err, VUG_NOMEM, "cannot start %zu threads", n);
    for (size_t i = 0; i < n; i++) {
        if (sequence[i].st != VUG_OK) {
            *err = sequence[i].err;
            return sequence[i].st;
        }
    }
    return VUG_OK;
}

/* Each sequence has tokens of its own, so that none finds what another has computed. */
static vug_status create_sequence(bench_sequence *s, const vug_bench_sequences *b, uint64_t seed,
                                  vug_err *err)
{
    const size_t n = tokens_before(b) + 1;
    const uint64_t n_vocab = (uint64_t)vug_model_describe(b->model).n_vocab;
    s->bench = b;
    s->seed = seed;
    s->id = vug_alloc(n, sizeof(*s->id));
    if (!s->id)
        return VUG_FAIL_NOMEM(err, "the tokens of a sequence", n * sizeof(*s->id));
    for (size_t i = 0; i < n; i++)
        s->id[i] = (int32_t)(vug_splitmix64_at(seed, i) % n_vocab);
    return vug_session_create(b->model, &s->session, err);
}

vug_status vug_bench_sequences_run(const vug_bench_sequences *b, double *tokens_per_s, vug_err *err)
{
    const size_t n = (size_t)b->n_sequences;
    bench_sequence *sequence = vug_alloc_zero(n, sizeof(*sequence));
    if (!sequence)
        return VUG_FAIL_NOMEM(err, "the sequences", n * sizeof(*sequence));
    vug_status st = VUG_OK;
    for (size_t i = 0; i < n && st == VUG_OK; i++)
        st = create_sequence(&sequence[i], b, i, err);
    if (st == VUG_OK)
        st = run_threads(sequence, n, read_prompt, err);
    if (b->times_ops)
        vug_model_time_ops(b->model, true);
    const double start = vug_now();
    if (st == VUG_OK)
        st = run_threads(sequence, n, decode, err);
    *tokens_per_s = (double)b->n_sequences * b->n / (vug_now() - start);
    for (size_t i = 0; i < n; i++) {
        vug_session_destroy(sequence[i].session);
        vug_free(sequence[i].id);
    }
    vug_free(sequence);
    return st;
}
