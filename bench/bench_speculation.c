/*
 * Measures what speculative decoding does to the speed of answers, beginning with the second token:
 * tasks of pebble whose answers repeat their prompts, and text that repeats nothing. Each round
 * generates every answer without and with speculation, because the speed of a shared machine
 * drifts. Prints the median speed without it, the medians of the rounds' ratios, and the drafts.
 * With one thread, processor time does not depend on what else the machine does.
 *
 *     bench_speculation [rounds [threads [model [draft model]]]]
 *     bench_speculation --compare PROMPTS [threads [model [draft model]]]
 *
 * --compare generates an answer to each of PROMPTS prompts with and without speculation, every other
 * one at temperature 0, and fails at the first that differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "core/random.h"
#include "vug/vug.h"

enum { MAX_ROUNDS = 101, RANDOM_PROMPT = 256 };

static const char records[] = "{\"name\": \"Mia Flola\", \"kind\": \"cat\", \"color\": \"black\", "
                              "\"age\": 4, \"id\": 5027}\n"
                              "{\"name\": \"Tom Brask\", \"kind\": \"dog\", \"color\": \"white\", "
                              "\"age\": 7, \"id\": 4831}\n"
                              "{\"name\": \"Ada Skala\", \"kind\": \"owl\", \"color\": \"brown\", "
                              "\"age\": 2, \"id\": 8932}\n";
static const char code[] = "int count_words(const char *text)\n{\n    int n = 0;\n"
                           "    for (const char *at = text; *at; at++) {\n"
                           "        if (*at == ' ' && at[1] != ' ')\n            n++;\n    }\n"
                           "    return n;\n}\n\n"
                           "int count_words(const char *text)\n{\n    int n = 0;\n";
static const char object[] =
        "Fill this in: {\"budget\": \"...\", \"owner\": \"...\", \"place\": \"...\", \"serial\": "
        "\"...\", "
        "\"mail\": \"...\"}\nThe owner is Mina Flola. The budget is 12.13.11. The place is Old "
        "Harbour "
        "Street. serial is L8932-B4831-X22. The mail is mina.flola@harbour.example.";
static const char echo[] =
        "Repeat: the quick brown fox jumps over the lazy dog, and 4831 grey owls sleep";
static const char story[] = "Tell me a short story about a fox.";

typedef struct {
    const char *name;
    const char *text; /* NULL: random tokens */
    bool is_chat;
    float temperature;
    int max_tokens; /* that are generated, for a text that is no chat */
} bench_task;

static const bench_task tasks[] = {
    { "JSON from text", object, true, 0, 0 },
    { "a list of JSON records", records, false, 0, 256 },
    { "text after code", code, false, 0, 256 },
    { "repeating a sentence", echo, true, 0, 0 },
    { "a story, temperature 1", story, true, 1, 0 },
    { "after random tokens, greedy", NULL, false, 0, 256 },
    { "after random tokens, temperature 1", NULL, false, 1, 256 },
};
enum { N_TASKS = sizeof(tasks) / sizeof(tasks[0]) };

static void check(vug_status st, const vug_err *err)
{
    if (st == VUG_OK)
        return;
    (void)fprintf(stderr, "bench_speculation: %s\n", err->msg);
    exit(1);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare_doubles);
    return v[n / 2];
}

/* The processor time since the first token. */
typedef struct {
    clock_t first, last;
} bench_clock;

static bool read_clock(const vug_piece *piece, void *user)
{
    bench_clock *c = user;
    (void)piece;
    c->last = clock();
    c->first = c->first ? c->first : c->last;
    return true;
}

static vug_generation generate(vug_model *model, const bench_task *task,
                               const vug_generate_options *o)
{
    vug_session *session;
    vug_generation out;
    vug_err err;
    check(vug_session_create(model, &session, &err), &err);
    if (!task->text) {
        int32_t id[RANDOM_PROMPT];
        uint64_t random = o->sampling.seed;
        const uint64_t n_vocab = (uint64_t)vug_model_describe(model).n_vocab;
        for (int i = 0; i < RANDOM_PROMPT; i++)
            id[i] = (int32_t)(vug_splitmix64(&random) % n_vocab);
        check(vug_generate(session, id, RANDOM_PROMPT, o, &out, &err), &err);
    } else if (task->is_chat) {
        const vug_message message = { "user", task->text };
        check(vug_generate_chat(session, &message, 1, o, &out, &err), &err);
    } else {
        check(vug_generate_text(session, task->text, strlen(task->text), o, &out, &err), &err);
    }
    vug_session_destroy(session);
    return out;
}

typedef struct {
    double plain[MAX_ROUNDS], ratio[MAX_ROUNDS]; /* tokens per second, and by speculation */
    double cpu_ratio[MAX_ROUNDS];                /* of processor time */
    size_t n_tokens, n_drafted, n_accepted;      /* of all rounds */
} bench_result;

static double speed_of(const vug_generation *g)
{
    return (double)g->tokens.n / g->decode_s;
}

static void run_round(vug_model *model, const bench_task *task, int round, bench_result *r)
{
    const vug_sampler_config temperature = { VUG_SAMPLER_TEMPERATURE, task->temperature, 0 };
    vug_generation g[2];
    vug_generate_options o = { .sampling = { .sampler = &temperature, .n = 1 },
                               .max_tokens = task->max_tokens,
                               .ignore_stop = task->max_tokens > 0,
                               .on_piece = read_clock };
    bench_clock used[2] = { 0 };
    o.sampling.seed = (uint64_t)round;
    for (int i = 0; i < 2; i++) {
        const int with = (round + i) % 2; /* who is first alternates, too */
        o.speculation = with ? VUG_SPECULATION_LOOKUP : VUG_SPECULATION_OFF;
        o.user = &used[with];
        g[with] = generate(model, task, &o);
    }
    if (g[0].tokens.n != g[1].tokens.n ||
        memcmp(g[0].tokens.id, g[1].tokens.id, g[0].tokens.n * sizeof(int32_t)) != 0) {
        (void)fprintf(stderr, "bench_speculation: %s: the answers differ\n", task->name);
        exit(1);
    }
    r->plain[round] = speed_of(&g[0]);
    r->ratio[round] = speed_of(&g[1]) / speed_of(&g[0]);
    r->cpu_ratio[round] =
            (double)(used[0].last - used[0].first) / (double)(used[1].last - used[1].first);
    r->n_tokens += g[1].tokens.n;
    r->n_drafted += g[1].n_drafted;
    r->n_accepted += g[1].n_accepted;
    vug_generation_release(&g[0]);
    vug_generation_release(&g[1]);
}

/* A prompt of its own for each number: a task's text from some place on, or random tokens. */
static bench_task make_prompt(int number, char *text, size_t size)
{
    const bench_task *from = &tasks[number % N_TASKS];
    bench_task task = *from;
    task.temperature = number / N_TASKS % 2 ? 0.9f : 0;
    task.max_tokens = 48 + number % 64;
    if (!from->text)
        return task;
    const size_t n = strlen(from->text), skipped = (size_t)number * 7 % (n / 2);
    (void)snprintf(text, size, "%s %d", from->text + skipped, number);
    task.text = text;
    return task;
}

static void compare_answers(vug_model *model, int prompts)
{
    size_t n_tokens = 0, n_drafted = 0, n_accepted = 0;
    for (int i = 0; i < prompts; i++) {
        char text[1024];
        bench_result r = { 0 };
        const bench_task task = make_prompt(i, text, sizeof(text));
        run_round(model, &task, i % MAX_ROUNDS, &r);
        n_tokens += r.n_tokens;
        n_drafted += r.n_drafted;
        n_accepted += r.n_accepted;
    }
    printf("%d prompts: the answers are the same; %zu tokens, %zu drafts, %zu accepted\n", prompts,
           n_tokens, n_drafted, n_accepted);
}

static int measure(vug_model *model, int rounds)
{
    bench_result *result = vug_alloc_zero(N_TASKS, sizeof(*result));
    for (int round = 0; result && round < rounds; round++) {
        for (int i = 0; i < N_TASKS; i++)
            run_round(model, &tasks[i], round, &result[i]);
    }
    printf("%-36s %8s %10s %7s %10s %9s %9s\n", "", "tokens", "tokens/s", "ratio", "processor",
           "drafts", "accepted");
    for (int i = 0; result && i < N_TASKS; i++) {
        bench_result *r = &result[i];
        printf("%-36s %8zu %10.1f %7.2f %10.2f %9zu %9zu\n", tasks[i].name, r->n_tokens,
               median(r->plain, rounds), median(r->ratio, rounds), median(r->cpu_ratio, rounds),
               r->n_drafted, r->n_accepted);
    }
    vug_free(result);
    return result ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool compares = argc > 2 && strcmp(argv[1], "--compare") == 0;
    argc -= compares;
    argv += compares;
    const int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 11;
    const vug_model_options options = { .threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0,
                                        .draft = argc > 4 ? argv[4] : NULL };
    vug_model *model;
    vug_err err;
    int result = 0;
    if (n < 1 || (!compares && n > MAX_ROUNDS)) {
        (void)fprintf(stderr, "bench_speculation: %d rounds, expected 1 to %d\n", n, MAX_ROUNDS);
        return 2;
    }
    check(vug_model_open(argc > 3 ? argv[3] : "models/pebble", &options, &model, &err), &err);
    if (compares)
        compare_answers(model, n);
    else
        result = measure(model, n);
    vug_model_close(model);
    return result;
}
