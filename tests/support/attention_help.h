#ifndef VUG_TESTS_SUPPORT_ATTENTION_HELP_H
#define VUG_TESTS_SUPPORT_ATTENTION_HELP_H

/* Sequences of queries, keys and values for tests of the CPU's attention. A failure fails the
 * running test. */

#include "backend/cpu/attention.h"
#include "kernel_help.h"

/* A sequence, and what attention must compute. */
typedef struct {
    int64_t n, heads, kv_heads, width, window;
    vug_cpu_score_params score;
    vug_kv_format kv;
    const float *mask; /* [n,n]; NULL: causal order and window */
    float *q, *k, *v;
    float *want;                  /* by ref.c */
    float *rounded_k, *rounded_v; /* as the cache rounds them */
} attention_sequence;

/* Random queries, keys and values; the other fields are zero. */
attention_sequence help_sequence(rng *r, int64_t n, int64_t heads, int64_t kv_heads, int64_t width);
/* Computes `want` by ref.c. */
void help_sequence_expect(attention_sequence *s);
void help_sequence_release(attention_sequence *s);

/* A list of shapes and windows, in each format of keys and values: case i has shape
 * i % HELP_SHAPES and format i / HELP_SHAPES. */
enum { HELP_SHAPES = 11, HELP_CASES = HELP_SHAPES * VUG_KV_COUNT };
attention_sequence help_sequence_at(int i, rng *r);

/* The cache of a layer for steps of up to `batch` tokens, and threads. */
typedef struct {
    vug_kv_group group;
    vug_cpu_kv_cache cache;
    vug_limits limits;
    vug_cpu_env env;
} attention_setup;

attention_setup help_attention_setup(const attention_sequence *s, int64_t batch, int threads);
void help_attention_teardown(attention_setup *f);

/* The pages of some sequences, in reverse order. A window has only the pages that a step can see;
 * its blocks take turns with them. They hold NaN until a token is written to them. */
typedef struct {
    vug_kv kv;
    vug_page **table; /* [sequences] */
    int sequences;
} attention_pages;

attention_pages help_pages(const attention_setup *f, int sequences);
void help_pages_release(attention_pages *pages);
/* The tables of sequence `i`. */
const vug_page *const *help_table(const attention_pages *pages, int i);
/* One step: appends to the cache, then computes attention. */
void help_append_and_attend(const attention_setup *f, const vug_cpu_attention_job *job);

#endif
