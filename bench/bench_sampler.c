/*
 * Measures the time to sample one token with each sampler and with usual chains, for vocabularies
 * of Llama 2, Qwen and Gemma. Prints medians in microseconds, after a repetition window of some
 * hundred tokens.
 *
 * Logits are of two kinds: "peaked", a bulk with a few likely tokens, as models have them, and
 * "flat", normally distributed, as models with random weights have them.
 *
 *     bench_sampler [samples [vocabulary]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/os.h"
#include "core/random.h"
#include "engine/sampler.h"

enum { MAX_CHAIN = 6, MAX_SAMPLES = 4096, PROMPT = 500, ROWS = 4, MAX_VOCAB = 262144 };

typedef struct {
    const char *name;
    vug_sampler_config chain[MAX_CHAIN];
    size_t n;
} bench_chain;

static const bench_chain chains[] = {
    { "temperature 0 (greedy)", { { VUG_SAMPLER_TEMPERATURE, 0, 0 } }, 1 },
    { "temperature 1", { { VUG_SAMPLER_TEMPERATURE, 1, 0 } }, 1 },
    { "top-n-sigma 1", { { VUG_SAMPLER_TOP_N_SIGMA, 1, 0 } }, 1 },
    { "top-k 64", { { VUG_SAMPLER_TOP_K, 64, 0 } }, 1 },
    { "top-k 1000", { { VUG_SAMPLER_TOP_K, 1000, 0 } }, 1 },
    { "typical-p 0.9", { { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 } }, 1 },
    { "top-p 0.95", { { VUG_SAMPLER_TOP_P, 0.95f, 0 } }, 1 },
    { "min-p 0.05", { { VUG_SAMPLER_MIN_P, 0.05f, 0 } }, 1 },
    { "xtc 1", { { VUG_SAMPLER_XTC, 1, 0 }, { VUG_SAMPLER_XTC_THRESHOLD, 0.1f, 0 } }, 2 },
    { "repetition 1.1", { { VUG_SAMPLER_REPETITION, 1.1f, 0 } }, 1 },
    { "dry 0.8", { { VUG_SAMPLER_DRY, 0.8f, 0 } }, 1 },
    { "Gemma: temperature 1, top-k 64, top-p 0.95",
      { { VUG_SAMPLER_TEMPERATURE, 1, 0 },
        { VUG_SAMPLER_TOP_K, 64, 0 },
        { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
      3 },
    { "Qwen: temperature 0.6, top-k 20, top-p 0.95, presence 1",
      { { VUG_SAMPLER_PRESENCE, 1, 0 },
        { VUG_SAMPLER_TEMPERATURE, 0.6f, 0 },
        { VUG_SAMPLER_TOP_K, 20, 0 },
        { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
      4 },
    { "Llama: temperature 0.6, top-p 0.9",
      { { VUG_SAMPLER_TEMPERATURE, 0.6f, 0 }, { VUG_SAMPLER_TOP_P, 0.9f, 0 } },
      2 },
    { "dry, temperature 1, min-p 0.05, xtc 0.5",
      { { VUG_SAMPLER_DRY, 0.8f, 0 },
        { VUG_SAMPLER_TEMPERATURE, 1, 0 },
        { VUG_SAMPLER_MIN_P, 0.05f, 0 },
        { VUG_SAMPLER_XTC, 0.5f, 0 } },
      4 },
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A normal variable: the sum of twelve uniform ones. */
static float normal(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(vug_splitmix64(random) >> 11) * 0x1p-53;
    return (float)sum;
}

static void fill_logits(float *logits, int64_t n, bool peaked, uint64_t *random)
{
    for (int64_t i = 0; i < n; i++)
        logits[i] = peaked ? 2.5f * normal(random) - 4 : normal(random);
    for (int i = 0; i < 30 && peaked; i++)
        logits[vug_splitmix64(random) % (uint64_t)n] = 18 - 0.4f * (float)i;
}

/* The median time of a sample in microseconds; below 0 when out of memory. */
static double measure(const bench_chain *b, float *const *logits, int64_t n_vocab, int n_samples)
{
    static double time[MAX_SAMPLES];
    static int32_t prompt[PROMPT];
    const vug_sampling sampling = { .sampler = b->chain, .n = b->n, .seed = 1 };
    const vug_sampler_model model = { n_vocab, n_vocab, PROMPT + MAX_SAMPLES, NULL };
    vug_sampler s;
    if (vug_sampler_init(&s, &sampling, &model, NULL) != VUG_OK)
        return -1;
    uint64_t random = 5;
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = (int32_t)(vug_splitmix64(&random) % 300 * 97 % (uint64_t)n_vocab);
    vug_status st = vug_sampler_set_prompt(&s, prompt, PROMPT, NULL);
    for (int i = 0; i < n_samples && st == VUG_OK; i++) {
        const double start = vug_now();
        const int32_t id = vug_sampler_sample(&s, logits[i % ROWS], NULL);
        st = vug_sampler_accept(&s, id, NULL);
        time[i] = vug_now() - start;
    }
    vug_sampler_release(&s);
    qsort(time, (size_t)n_samples, sizeof(*time), compare_doubles);
    return st == VUG_OK ? time[n_samples / 2] * 1e6 : -1;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = { 32000, 151936, MAX_VOCAB };
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 201;
    const int64_t only = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const int n_samples = n < 1 || n > MAX_SAMPLES ? MAX_SAMPLES : (int)n;
    float *const all = calloc((size_t)ROWS * MAX_VOCAB, sizeof(float));
    float *logits[ROWS];
    if (!all)
        return 1;
    for (int row = 0; row < ROWS; row++)
        logits[row] = all + (size_t)row * MAX_VOCAB;
    printf("%-8s %-57s %8s %8s   (microseconds)\n", "logits", "chain", "peaked", "flat");
    for (size_t v = 0; v < sizeof(sizes) / sizeof(sizes[0]); v++) {
        for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
            double median[2];
            for (int flat = 0; flat < 2 && (!only || only == sizes[v]); flat++) {
                uint64_t random = 9;
                for (int row = 0; row < ROWS; row++)
                    fill_logits(logits[row], sizes[v], !flat, &random);
                median[flat] = measure(&chains[i], logits, sizes[v], n_samples);
            }
            if (!only || only == sizes[v])
                printf("%-8lld %-57s %8.1f %8.1f\n", (long long)sizes[v], chains[i].name, median[0],
                       median[1]);
        }
    }
    free(all);
    return 0;
}
