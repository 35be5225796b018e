/*
 * The options of flows: each runs, and gives the bits of the plain path, which is a
 * session of the same model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_help.h"
#include "flow_help.h"

enum { TOKENS = 40, STEPS = 6, ALL = TOKENS + STEPS, WINDOW = 16 };

/* A model, and what sessions say of ALL tokens: more than twice its window. */
typedef struct {
    vug_model *model;
    size_t layers, width, vocab, kv; /* kv: K*E */
    int32_t id[ALL];
    float *logits; /* [ALL, vocab] */
    float *hidden; /* [ALL, width] of the final norm */
} plain;

static bool keep_step(const vug_step *step, void *user)
{
    plain *p = user;
    memcpy(p->logits + (size_t)step->first * p->vocab, step->logits,
           (size_t)step->n * p->vocab * sizeof(float));
    memcpy(p->hidden + (size_t)step->first * p->width, step->hidden[p->layers],
           (size_t)step->n * p->width * sizeof(float));
    return true;
}

static int set_up(void **state)
{
    plain *p = vug_alloc_zero(1, sizeof(*p));
    assert_non_null(p);
    p->model = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .threads = 2 });
    const vug_model_info info = vug_model_describe(p->model);
    p->layers = (size_t)info.n_layers;
    p->width = (size_t)info.d_model;
    p->vocab = (size_t)info.n_vocab;
    p->kv = (size_t)(info.n_kv_heads * info.d_head);
    p->logits = vug_alloc(ALL * p->vocab, sizeof(float));
    p->hidden = vug_alloc(ALL * p->width, sizeof(float));
    help_tokens(3, p->id, ALL, info.n_vocab);
    vug_session *s = help_session(p->model);
    const vug_forward_options how = {
        .all_logits = true, .hidden = true, .on_step = keep_step, .user = p
    };
    vug_err err = { 0 };
    help_ok(vug_session_forward(s, p->id, ALL, &how, &err), &err);
    vug_session_destroy(s);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    plain *p = *state;
    vug_model_close(p->model);
    vug_free(p->logits);
    vug_free(p->hidden);
    vug_free(p);
    return 0;
}

static const float *logits_of(const plain *p, size_t token)
{
    return p->logits + token * p->vocab;
}

/* ---- outputs, tokens ------------------------------------------------------------------ */

static void the_default_is_a_session(void **state)
{
    const plain *p = *state;
    vug_flow_program *program = help_program(p->model, (vug_flow_options){ 0 });
    assert_int_equal(vug_program_past(program, 0), 0);
    (void)help_run_tokens(program, p->id, TOKENS, "logits");
    help_same_bits(help_output(program, "logits", p->vocab), logits_of(p, TOKENS - 1), p->vocab);
    assert_int_equal(vug_program_past(program, 0), TOKENS);
    for (size_t i = TOKENS; i < ALL; i++) {
        (void)help_run_tokens(program, p->id + i, 1, "logits");
        help_same_bits(help_output(program, "logits", p->vocab), logits_of(p, i), p->vocab);
    }
    vug_program_reset(program);
    assert_int_equal(vug_program_past(program, 0), 0);
    help_same_bits(help_run_tokens(program, p->id, 7, "logits"), logits_of(p, 6), p->vocab);
    vug_program_destroy(program);
}

static void all_logits_and_hidden(void **state)
{
    const plain *p = *state;
    vug_flow_program *all = help_program(p->model, (vug_flow_options){ .outputs = VUG_OUT_ALL });
    (void)help_run_tokens(all, p->id, ALL, "logits");
    help_same_bits(help_output(all, "logits", ALL * p->vocab), p->logits, ALL * p->vocab);
    vug_program_destroy(all);
    vug_flow_program *hidden =
            help_program(p->model, (vug_flow_options){ .outputs = VUG_OUT_HIDDEN });
    assert_null(help_run_tokens(hidden, p->id, ALL, "logits"));
    help_same_bits(help_output(hidden, "hidden", ALL * p->width), p->hidden, ALL * p->width);
    vug_program_destroy(hidden);
}

static void a_fixed_number_of_tokens(void **state)
{
    const plain *p = *state;
    vug_flow_options o = { .tokens = TOKENS, .past = VUG_PAST_NONE };
    for (int outputs = VUG_OUT_LAST; outputs <= VUG_OUT_HIDDEN; outputs++) {
        o.outputs = (vug_flow_outputs)outputs;
        vug_flow_program *program = help_program(p->model, o);
        for (size_t i = 0; i < vug_program_input_count(program); i++)
            assert_int_equal(vug_program_input(program, i).shape.dim[0], TOKENS);
        for (int again = 0; again < 2; again++) {
            (void)help_run_tokens(program, p->id, TOKENS, "logits");
            assert_int_equal(vug_program_past(program, 0), 0);
            if (outputs == VUG_OUT_LAST)
                help_same_bits(help_output(program, "logits", p->vocab), logits_of(p, TOKENS - 1),
                               p->vocab);
            else if (outputs == VUG_OUT_ALL)
                help_same_bits(help_output(program, "logits", TOKENS * p->vocab), p->logits,
                               TOKENS * p->vocab);
            else
                help_same_bits(help_output(program, "hidden", TOKENS * p->width), p->hidden,
                               TOKENS * p->width);
        }
        vug_program_set_ids(program, "tokens", p->id, TOKENS - 1);
        help_no_run(program, "program: sequence 0 has 39 tokens, expected 40");
        assert_null(vug_program_get(program, "logits", NULL));
        vug_program_destroy(program);
    }
}

static void decode_is_one_token(void **state)
{
    const plain *p = *state;
    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .mode = VUG_FLOW_DECODE });
    assert_int_equal(vug_program_input(program, 0).shape.dim[0], 1);
    for (size_t i = 0; i < ALL; i++)
        help_same_bits(help_run_tokens(program, p->id + i, 1, "logits"), logits_of(p, i), p->vocab);
    vug_program_set_ids(program, "tokens", p->id, 2);
    help_no_run(program, "program: sequence 0 has 2 tokens, expected 1");
    vug_program_destroy(program);
}

/* ---- batches -------------------------------------------------------------------------- */

enum { BATCH = 3 };

/* Prefixes of the same text of different lengths, and what comes after each. */
static void three_sequences(void **state)
{
    const plain *p = *state;
    static const size_t length[BATCH] = { 5, 38, 17 };
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        for (int past = VUG_PAST_CACHED; past <= VUG_PAST_NONE; past++) {
            vug_flow_program *program =
                    help_program(p->model, (vug_flow_options){ .batch = symbolic ? VUG_SYMBOLIC : 3,
                                                               .past = (vug_flow_past)past });
            int32_t id[BATCH * ALL];
            vug_sequence sequence[BATCH];
            size_t n = 0;
            for (int i = 0; i < BATCH; i++) {
                memcpy(id + n, p->id, length[i] * sizeof(*id));
                sequence[i] = (vug_sequence){ .tokens = (int64_t)length[i] };
                n += length[i];
            }
            vug_program_split(program, sequence, BATCH);
            (void)help_run_tokens(program, id, n, "logits");
            const float *logits = help_output(program, "logits", BATCH * p->vocab);
            for (size_t i = 0; i < BATCH; i++)
                help_same_bits(logits + i * p->vocab, logits_of(p, length[i] - 1), p->vocab);
            if (past == VUG_PAST_NONE) {
                vug_program_destroy(program);
                continue;
            }
            const vug_sequence more[BATCH] = { { 1, 0 }, { 3, 0 }, { 2, 0 } };
            n = 0;
            for (int i = 0; i < BATCH; i++) {
                memcpy(id + n, p->id + length[i], (size_t)more[i].tokens * sizeof(*id));
                n += (size_t)more[i].tokens;
            }
            vug_program_split(program, more, BATCH);
            logits = help_run_tokens(program, id, n, "logits");
            for (size_t i = 0; i < BATCH; i++)
                help_same_bits(logits + i * p->vocab,
                               logits_of(p, length[i] + (size_t)more[i].tokens - 1), p->vocab);
            vug_program_destroy(program);
        }
    }
}

/* Static in everything: each sequence the same text, cut into equal parts. */
static void three_sequences_of_one_length(void **state)
{
    const plain *p = *state;
    vug_flow_program *program = help_program(
            p->model, (vug_flow_options){ .batch = BATCH, .tokens = 10, .outputs = VUG_OUT_ALL });
    assert_int_equal(vug_program_output(program, 0).shape.dim[0], 30);
    for (size_t at = 0; at < TOKENS; at += 10) {
        int32_t id[BATCH * 10];
        for (size_t i = 0; i < BATCH; i++)
            memcpy(id + i * 10, p->id + at, 10 * sizeof(*id));
        (void)help_run_tokens(program, id, BATCH * 10, "logits");
        const float *logits = help_output(program, "logits", BATCH * 10 * p->vocab);
        for (size_t i = 0; i < BATCH; i++)
            help_same_bits(logits + i * 10 * p->vocab, logits_of(p, at), 10 * p->vocab);
    }
    vug_program_destroy(program);
}

static void fewer_sequences_than_there_may_be(void **state)
{
    const plain *p = *state;
    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .batch = VUG_SYMBOLIC, .max_batch = 2 });
    help_same_bits(help_run_tokens(program, p->id, TOKENS, "logits"), logits_of(p, TOKENS - 1),
                   p->vocab);
    const vug_sequence three[3] = { { 1, 0 }, { 1, 0 }, { 1, 0 } };
    vug_program_split(program, three, 3);
    help_no_run(program, "program: 3 sequences, it was built for at most 2");
    vug_program_destroy(program);
    program = help_program(p->model, (vug_flow_options){ .batch = 2 });
    vug_program_split(program, three, 1);
    vug_program_set_ids(program, "tokens", p->id, 1);
    help_no_run(program, "program: split into 1 sequences, it is for 2");
    vug_program_split(program, NULL, 0);
    vug_program_set_ids(program, "tokens", p->id, 3);
    help_no_run(program, "program: 3 tokens with 0 past do not divide among 2 sequences; "
                         "vug_program_split says how");
    vug_program_destroy(program);
}

/* ---- a past that is given -------------------------------------------------------------- */

/* The keys and values of every layer, as runs export them. */
typedef struct {
    float *k[8], *v[8]; /* [ALL, kv] */
    size_t n;           /* tokens */
} history;

static history new_history(const plain *p)
{
    history h = { .n = 0 };
    assert_int_equal(p->layers, 8);
    for (size_t i = 0; i < p->layers; i++) {
        h.k[i] = vug_alloc(ALL * p->kv, sizeof(float));
        h.v[i] = vug_alloc(ALL * p->kv, sizeof(float));
        assert_true(h.k[i] && h.v[i]);
    }
    return h;
}

static void release_history(history *h)
{
    for (int i = 0; i < 8; i++) {
        vug_free(h->k[i]);
        vug_free(h->v[i]);
    }
}

/* What the last run exported of `n` tokens from row `first` on. */
static void append_history(const plain *p, history *h, const vug_flow_program *program,
                           size_t first, size_t n)
{
    for (size_t i = 0; i < p->layers; i++) {
        char k[16], v[16];
        (void)snprintf(k, sizeof(k), "k.%zu", i);
        (void)snprintf(v, sizeof(v), "v.%zu", i);
        memcpy(h->k[i] + h->n * p->kv, vug_program_get(program, k, NULL) + first * p->kv,
               n * p->kv * sizeof(float));
        memcpy(h->v[i] + h->n * p->kv, vug_program_get(program, v, NULL) + first * p->kv,
               n * p->kv * sizeof(float));
    }
    h->n += n;
}

static void set_history(const plain *p, const history *h, vug_flow_program *program)
{
    for (size_t i = 0; i < p->layers; i++) {
        char k[16], v[16];
        (void)snprintf(k, sizeof(k), "past.k.%zu", i);
        (void)snprintf(v, sizeof(v), "past.v.%zu", i);
        vug_program_set(program, k, h->k[i], h->n * p->kv);
        vug_program_set(program, v, h->v[i], h->n * p->kv);
    }
}

/* A prefill that exports, then tokens one by one after what was exported so far. */
static void decoding_from_what_was_exported(void **state)
{
    const plain *p = *state;
    history h = new_history(p);
    vug_flow_program *prefill =
            help_program(p->model, (vug_flow_options){ .past = VUG_PAST_NONE, .export_kv = true });
    help_same_bits(help_run_tokens(prefill, p->id, TOKENS, "logits"), logits_of(p, TOKENS - 1),
                   p->vocab);
    (void)help_output(prefill, "k.0", TOKENS * p->kv);
    (void)help_output(prefill, "v.7", TOKENS * p->kv);
    append_history(p, &h, prefill, 0, TOKENS);
    vug_program_destroy(prefill);
    vug_flow_program *decode = help_program(p->model, (vug_flow_options){ .mode = VUG_FLOW_DECODE,
                                                                          .past = VUG_PAST_GIVEN,
                                                                          .export_kv = true });
    for (size_t i = TOKENS; i < ALL; i++) {
        set_history(p, &h, decode);
        help_same_bits(help_run_tokens(decode, p->id + i, 1, "logits"), logits_of(p, i), p->vocab);
        append_history(p, &h, decode, 0, 1);
    }
    vug_program_destroy(decode);

    /* Exactly so many, and several tokens at once. */
    h.n = TOKENS;
    vug_flow_program *fixed = help_program(p->model, (vug_flow_options){ .past = VUG_PAST_GIVEN,
                                                                         .past_tokens = TOKENS,
                                                                         .tokens = STEPS,
                                                                         .outputs = VUG_OUT_ALL });
    set_history(p, &h, fixed);
    (void)help_run_tokens(fixed, p->id + TOKENS, STEPS, "logits");
    help_same_bits(help_output(fixed, "logits", STEPS * p->vocab), logits_of(p, TOKENS),
                   STEPS * p->vocab);
    h.n = TOKENS - 1;
    set_history(p, &h, fixed);
    help_no_run(fixed, "program: input 'past.k.0' has 1248 numbers, expected [40,2,16]");
    vug_program_destroy(fixed);
    release_history(&h);
}

/* A past of none is a prefill. */
static void no_past_is_given(void **state)
{
    const plain *p = *state;
    history h = new_history(p);
    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .past = VUG_PAST_GIVEN });
    help_same_bits(help_run_tokens(program, p->id, TOKENS, "logits"), logits_of(p, TOKENS - 1),
                   p->vocab);
    set_history(p, &h, program);
    help_same_bits(help_run_tokens(program, p->id, 9, "logits"), logits_of(p, 8), p->vocab);
    vug_program_destroy(program);
    release_history(&h);
}

/* Three sequences after pasts of their own lengths. */
static void pasts_of_three_sequences(void **state)
{
    const plain *p = *state;
    static const int64_t past[BATCH] = { 30, 4, 19 }, more[BATCH] = { 1, 5, 2 };
    history h = new_history(p);
    vug_flow_program *prefill =
            help_program(p->model, (vug_flow_options){ .past = VUG_PAST_NONE, .export_kv = true });
    (void)help_run_tokens(prefill, p->id, TOKENS, "logits");
    /* They take more room than one text has. */
    for (size_t i = 0; i < p->layers; i++) {
        h.k[i] = vug_realloc(h.k[i], 2 * ALL * p->kv, sizeof(float));
        h.v[i] = vug_realloc(h.v[i], 2 * ALL * p->kv, sizeof(float));
    }
    for (int i = 0; i < BATCH; i++)
        append_history(p, &h, prefill, 0, (size_t)past[i]);
    vug_program_destroy(prefill);

    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .batch = BATCH, .past = VUG_PAST_GIVEN });
    vug_sequence sequence[BATCH];
    int32_t id[BATCH * ALL];
    size_t n = 0;
    for (int i = 0; i < BATCH; i++) {
        sequence[i] = (vug_sequence){ .tokens = more[i], .past = past[i] };
        memcpy(id + n, p->id + past[i], (size_t)more[i] * sizeof(*id));
        n += (size_t)more[i];
    }
    set_history(p, &h, program);
    vug_program_split(program, sequence, BATCH);
    const float *logits = help_run_tokens(program, id, n, "logits");
    for (size_t i = 0; i < BATCH; i++)
        help_same_bits(logits + i * p->vocab, logits_of(p, (size_t)(past[i] + more[i]) - 1),
                       p->vocab);
    vug_program_destroy(program);
    release_history(&h);
}

/* ---- masks ------------------------------------------------------------------------------- */

static void the_built_in_masks_as_inputs(void **state)
{
    const plain *p = *state;
    float *full = help_mask(TOKENS, TOKENS, 0), *window = help_mask(TOKENS, TOKENS, WINDOW);
    for (int64_t tokens = 0; tokens <= TOKENS; tokens += TOKENS) {
        vug_flow_program *program =
                help_program(p->model, (vug_flow_options){ .tokens = tokens,
                                                           .past = VUG_PAST_NONE,
                                                           .outputs = VUG_OUT_ALL,
                                                           .custom_mask = true });
        vug_program_set(program, "mask", full, (size_t)TOKENS * TOKENS);
        vug_program_set(program, "mask.16", window, (size_t)TOKENS * TOKENS);
        (void)help_run_tokens(program, p->id, TOKENS, "logits");
        help_same_bits(help_output(program, "logits", TOKENS * p->vocab), p->logits,
                       TOKENS * p->vocab);
        vug_program_set(program, "mask.16", full, 9);
        help_no_run(program, "program: input 'mask.16' has 9 numbers, expected [40,40]");
        vug_program_set(program, "mask.16", NULL, 1);
        help_no_run(program, tokens ? "program: input 'mask.16' [40,40] is not set"
                                    : "program: input 'mask.16' [T,S] is not set");
        vug_program_destroy(program);
    }
    /* After a cache, token by token. */
    vug_flow_program *cached =
            help_program(p->model, (vug_flow_options){ .custom_mask = true, .step = 8 });
    for (size_t at = 0; at < TOKENS; at += 8) {
        float *a = help_mask(8, at + 8, 0), *b = help_mask(8, at + 8, WINDOW);
        vug_program_set(cached, "mask", a, 8 * (at + 8));
        vug_program_set(cached, "mask.16", b, 8 * (at + 8));
        help_same_bits(help_run_tokens(cached, p->id + at, 8, "logits"), logits_of(p, at + 7),
                       p->vocab);
        vug_free(a);
        vug_free(b);
    }
    vug_program_destroy(cached);
    vug_free(full);
    vug_free(window);
}

/* Two texts in one sequence, kept apart by mask and positions, are two sequences. */
static void a_mask_packs_two_texts(void **state)
{
    const plain *p = *state;
    enum { A = 10, B = 14, N = A + B };
    float *mask = help_mask(N, N, 0); /* both are shorter than the window */
    int32_t id[N], position[N];
    for (int t = 0; t < N; t++) {
        id[t] = p->id[t < A ? t : t - A];
        position[t] = t < A ? t : t - A;
        for (int key = 0; t >= A && key < A; key++)
            mask[t * N + key] = -INFINITY;
    }
    vug_flow_program *program = help_program(p->model, (vug_flow_options){ .past = VUG_PAST_NONE,
                                                                           .outputs = VUG_OUT_ALL,
                                                                           .custom_mask = true });
    vug_program_set(program, "mask", mask, (size_t)N * N);
    vug_program_set(program, "mask.16", mask, (size_t)N * N);
    vug_program_set_ids(program, "positions", position, N);
    const float *logits = help_run_tokens(program, id, N, "logits");
    help_same_bits(logits, p->logits, A * p->vocab);
    /* Sums are cut at places that the second text's own do not share: rounding. */
    for (size_t i = 0; i < B * p->vocab; i++)
        assert_true(fabsf(logits[A * p->vocab + i] - p->logits[i]) <= 1e-4F);
    mask[3 * N] = mask[3 * N + 1] = mask[3 * N + 2] = mask[3 * N + 3] = -INFINITY;
    help_no_run(program, "mask: row 3 sees none of its 24 keys");
    vug_program_destroy(program);
    vug_free(mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_a_session),
        cmocka_unit_test(all_logits_and_hidden),
        cmocka_unit_test(a_fixed_number_of_tokens),
        cmocka_unit_test(decode_is_one_token),
        cmocka_unit_test(three_sequences),
        cmocka_unit_test(three_sequences_of_one_length),
        cmocka_unit_test(fewer_sequences_than_there_may_be),
        cmocka_unit_test(decoding_from_what_was_exported),
        cmocka_unit_test(no_past_is_given),
        cmocka_unit_test(pasts_of_three_sequences),
        cmocka_unit_test(the_built_in_masks_as_inputs),
        cmocka_unit_test(a_mask_packs_two_texts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
