/*
 * Measures how long a request that is cancelled while its prompt is computed keeps its place: alone,
 * and while another request generates. Each round submits a new prompt, cancels it at another
 * moment, and waits for its end. Prints the medians and the longest times in ms.
 *
 *     bench_cancel [rounds [FOLDER | SHAPE TYPE]]
 *
 * Without a model: pebble, and random weights of the shape gemma-3-1b in Q4_0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/mem.h"
#include "core/os.h"
#include "core/random.h"
#include "vug/engine.h"

enum { MAX_ROUNDS = 1000, PROMPT = 4000, CONTEXT = 4096 };
static const double least_wait = 0.02, most_wait = 0.3; /* seconds until a request is cancelled */

static void check(vug_status st, const vug_err *err)
{
    if (st == VUG_OK)
        return;
    (void)fprintf(stderr, "bench_cancel: %s\n", err->msg);
    exit(1);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void wait_for(double seconds)
{
    const struct timespec t = { .tv_nsec = (long)(seconds * 1e9) };
    (void)nanosleep(&t, NULL);
}

static vug_stream *submit(vug_engine *engine, const int32_t *id, size_t n)
{
    static const vug_generate_options options = { .ignore_stop = true };
    const vug_request request = { .id = id, .n_ids = n, .options = &options };
    vug_stream *stream = NULL;
    vug_err err;
    check(vug_engine_submit(engine, &request, &stream, &err), &err);
    return stream;
}

/* Returns the seconds from cancelling to the end; below 0: the prompt was already computed. */
static double cancel_prompt(vug_engine *engine, const int32_t *id, double wait)
{
    vug_stream *stream = submit(engine, id, PROMPT);
    vug_event event;
    if (!vug_stream_next(stream, -1, &event) || event.kind != VUG_EVENT_PROMPT)
        exit(1);
    wait_for(wait);
    const double start = vug_now();
    vug_stream_cancel(stream);
    bool is_early = true;
    while (vug_stream_next(stream, -1, &event) && event.kind != VUG_EVENT_END)
        is_early = false;
    const double seconds = vug_now() - start;
    vug_stream_destroy(stream);
    return is_early ? seconds : -1;
}

static bool ignore_event(const vug_event *event, void *user)
{
    (void)user;
    return event->kind != VUG_EVENT_END;
}

/* A request that generates to the end of its context. */
static vug_stream *begin_other(vug_engine *engine, const int32_t *id)
{
    static const vug_generate_options options = { .ignore_stop = true };
    const vug_request request = {
        .id = id, .n_ids = 1, .options = &options, .on_event = ignore_event
    };
    vug_stream *stream = NULL;
    vug_err err;
    check(vug_engine_submit(engine, &request, &stream, &err), &err);
    return stream;
}

static void measure(vug_model *model, int rounds, bool is_shared)
{
    static double seconds[MAX_ROUNDS];
    static int32_t id[PROMPT];
    vug_engine *engine;
    vug_err err;
    size_t n = 0;
    const uint64_t n_vocab = (uint64_t)vug_model_describe(model).n_vocab;
    check(vug_engine_create(model, NULL, &engine, &err), &err);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < PROMPT; i++)
            id[i] = (int32_t)(vug_splitmix64_at((uint64_t)round * 2 + is_shared, i) % n_vocab);
        vug_stream *other = is_shared ? begin_other(engine, id) : NULL;
        const double wait = least_wait + (most_wait - least_wait) * round / rounds;
        const double s = cancel_prompt(engine, id, wait);
        if (s >= 0)
            seconds[n++] = s;
        vug_stream_destroy(other);
    }
    vug_engine_destroy(engine);
    qsort(seconds, n, sizeof(*seconds), compare_doubles);
    printf("%-28s %8zu", is_shared ? "while another one generates" : "alone", n);
    if (n > 0)
        printf(" %12.1f %12.1f", seconds[n / 2] * 1e3, seconds[n - 1] * 1e3);
    printf("\n");
}

static void measure_model(const char *name, vug_model *model, int rounds)
{
    printf("%-28s %8s %12s %12s\n", name, "requests", "median, ms", "longest, ms");
    for (int is_shared = 0; is_shared < 2; is_shared++)
        measure(model, rounds, is_shared);
    vug_model_close(model);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    const vug_model_options options = { .context = CONTEXT, .slots = 2 };
    vug_model *model;
    vug_err err;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        (void)fprintf(stderr, "bench_cancel: %d rounds, expected 1 to %d\n", rounds, MAX_ROUNDS);
        return 2;
    }
    if (argc <= 3) {
        const char *folder = argc > 2 ? argv[2] : "models/pebble";
        check(vug_model_open(folder, &options, &model, &err), &err);
        measure_model(folder, model, rounds);
    }
    if (argc != 3) {
        const char *shape = argc > 3 ? argv[2] : "gemma-3-1b", *type = argc > 3 ? argv[3] : "q4_0";
        check(vug_model_synthesize(shape, type, 1, &options, &model, &err), &err);
        measure_model(shape, model, rounds);
    }
    return 0;
}
