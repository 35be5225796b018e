/*
 * The options of flows: each runs, and its results are bit-identical to those of a session
 * of the same model.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "flow_help.h"
#include "tiny_model.h"

enum { TOKENS = 40, STEPS = 6, ALL = TOKENS + STEPS, WINDOW = 16 };

/* A model and the results of a session for ALL tokens, which are more than twice its window. */
typedef struct {
    vug_model *model;
    size_t layers, width, vocab, kv; /* kv: K*E */
    int32_t id[ALL];
    float *logits; /* [ALL, vocab] */
    float *hidden; /* [ALL, width] of the final norm */
} flow_reference;

static bool keep_step(const vug_step *step, void *user)
{
    flow_reference *p = user;
    memcpy(p->logits + (size_t)step->first * p->vocab, step->logits,
           (size_t)step->n * p->vocab * sizeof(float));
    memcpy(p->hidden + (size_t)step->first * p->width, step->hidden[p->layers],
           (size_t)step->n * p->width * sizeof(float));
    return true;
}

static int set_up(void **state)
{
    flow_reference *p = vug_alloc_zero(1, sizeof(*p));
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
    flow_reference *p = *state;
    vug_model_close(p->model);
    vug_free(p->logits);
    vug_free(p->hidden);
    vug_free(p);
    return 0;
}

static const float *logits_of(const flow_reference *p, size_t token)
{
    return p->logits + token * p->vocab;
}

/* ---- outputs, tokens ------------------------------------------------------------------ */

static void test_default_flow_equals_a_session(void **state)
{
    const flow_reference *p = *state;
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

static void test_all_logits_and_hidden_states(void **state)
{
    const flow_reference *p = *state;
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

static void test_a_fixed_number_of_tokens(void **state)
{
    const flow_reference *p = *state;
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

static void test_decode_takes_one_token(void **state)
{
    const flow_reference *p = *state;
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

/* Different texts of different lengths, and the expected logits of each. */
typedef struct {
    int32_t id[BATCH][ALL];
    float *logits[BATCH]; /* [ALL, vocab] */
} texts;

static texts three_texts(const flow_reference *p)
{
    texts t;
    vug_flow_program *all = help_program(
            p->model, (vug_flow_options){ .past = VUG_PAST_NONE, .outputs = VUG_OUT_ALL });
    for (uint64_t i = 0; i < BATCH; i++) {
        const size_t bytes = ALL * p->vocab * sizeof(float);
        help_tokens(50 + i, t.id[i], ALL, (int64_t)p->vocab);
        t.logits[i] = vug_alloc(bytes, 1);
        assert_non_null(t.logits[i]);
        memcpy(t.logits[i], help_run_tokens(all, t.id[i], ALL, "logits"), bytes);
    }
    vug_program_destroy(all);
    /* A session gives the same. */
    float *alone = help_alone(p->model, t.id[1], ALL);
    help_same_bits(t.logits[1] + (ALL - 1) * p->vocab, alone, p->vocab);
    vug_free(alone);
    return t;
}

static void release_texts(texts *t)
{
    for (int i = 0; i < BATCH; i++)
        vug_free(t->logits[i]);
}

/* One run of tokens from[i] .. from[i] + n[i] - 1 of each text. */
static void run_three(const flow_reference *p, const texts *t, vug_flow_program *program,
                      const int64_t *from, const int64_t *n)
{
    int32_t id[BATCH * ALL];
    vug_sequence sequence[BATCH];
    size_t at = 0;
    for (int i = 0; i < BATCH; i++) {
        memcpy(id + at, t->id[i] + from[i], (size_t)n[i] * sizeof(*id));
        sequence[i] = (vug_sequence){ .tokens = n[i], .past = from[i] };
        at += (size_t)n[i];
    }
    vug_program_split(program, sequence, BATCH);
    (void)help_run_tokens(program, id, at, "logits");
    const float *logits = help_output(program, "logits", BATCH * p->vocab);
    for (size_t i = 0; i < BATCH; i++)
        help_same_bits(logits + i * p->vocab,
                       t->logits[i] + (size_t)(from[i] + n[i] - 1) * p->vocab, p->vocab);
}

static void test_three_sequences(void **state)
{
    const flow_reference *p = *state;
    static const int64_t none[BATCH] = { 0 }, length[BATCH] = { 5, 38, 17 },
                         more[BATCH] = { 1, 3, 2 };
    texts t = three_texts(p);
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        for (int past = VUG_PAST_CACHED; past <= VUG_PAST_NONE; past++) {
            vug_flow_program *program =
                    help_program(p->model, (vug_flow_options){ .batch = symbolic ? VUG_SYMBOLIC : 3,
                                                               .past = (vug_flow_past)past });
            run_three(p, &t, program, none, length);
            if (past == VUG_PAST_CACHED) {
                run_three(p, &t, program, length, more);
                assert_int_equal(vug_program_past(program, 1), 41);
            }
            vug_program_destroy(program);
        }
    }
    release_texts(&t);
}

/* All sizes are fixed: each text is cut into equal parts. */
static void test_three_sequences_of_one_length(void **state)
{
    const flow_reference *p = *state;
    enum { PART = 10 };
    texts t = three_texts(p);
    vug_flow_program *program = help_program(
            p->model, (vug_flow_options){ .batch = BATCH, .tokens = PART, .outputs = VUG_OUT_ALL });
    const size_t rows = (size_t)vug_program_output(program, 0).shape.dim[0];
    assert_int_equal(rows, 30);
    for (size_t at = 0; at < TOKENS; at += PART) {
        int32_t id[BATCH * PART], *part = id;
        for (size_t i = 0; i < BATCH; i++, part += PART)
            memcpy(part, t.id[i] + at, PART * sizeof(*id));
        (void)help_run_tokens(program, id, rows, "logits");
        const float *logits = help_output(program, "logits", rows * p->vocab);
        for (size_t i = 0; i < BATCH; i++)
            help_same_bits(logits + i * PART * p->vocab, t.logits[i] + at * p->vocab,
                           PART * p->vocab);
    }
    vug_program_destroy(program);
    release_texts(&t);
}

static void test_fewer_sequences_than_the_maximum(void **state)
{
    const flow_reference *p = *state;
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
    help_no_run(program, "program: 1 sequences, it was built for 2");
    vug_program_split(program, NULL, 0);
    vug_program_set_ids(program, "tokens", p->id, 3);
    help_no_run(program, "program: 3 tokens with a past of 0 cannot be divided equally among "
                         "2 sequences; use vug_program_split");
    vug_program_destroy(program);
}

/* With a fixed number of tokens, their count gives the number of sequences of a symbolic batch. */
static void test_batch_follows_from_fixed_tokens(void **state)
{
    const flow_reference *p = *state;
    vug_flow_program *program = help_program(
            p->model, (vug_flow_options){ .mode = VUG_FLOW_DECODE, .batch = VUG_SYMBOLIC });
    for (size_t at = 0; at < 3; at++) {
        const int32_t same[] = { p->id[at], p->id[at], p->id[at] };
        (void)help_run_tokens(program, same, 3, "logits");
        const float *logits = help_output(program, "logits", 3 * p->vocab);
        for (size_t i = 0; i < 3; i++)
            help_same_bits(logits + i * p->vocab, logits_of(p, at), p->vocab);
    }
    vug_program_set_ids(program, "tokens", p->id, 17);
    help_no_run(program, "program: 17 sequences, it was built for at most 16");
    vug_program_destroy(program);
    program = help_program(p->model, (vug_flow_options){ .batch = VUG_SYMBOLIC, .tokens = 4 });
    vug_program_set_ids(program, "tokens", p->id, 10);
    help_no_run(program, "program: 10 tokens with a past of 0 cannot be divided equally among "
                         "3 sequences; use vug_program_split");
    (void)help_run_tokens(program, p->id, 4, "logits");
    help_same_bits(help_output(program, "logits", p->vocab), logits_of(p, 3), p->vocab);
    vug_program_destroy(program);
}

/* The most tokens of a run when `step` is 0, and the error message that names the option. */
static void test_step_size_follows_from_options(void **state)
{
    const flow_reference *p = *state;
    static const struct {
        vug_flow_options o;
        size_t most, more; /* tokens that fit, that do not; 0: refused for another reason */
    } rows[] = {
        { { 0 }, 2, 3 },
        { { .step = 5 }, 5, 6 },
        { { .batch = 3 }, 3, 6 },
        { { .batch = VUG_SYMBOLIC, .tokens = 2 }, 32, 0 },
        { { .batch = VUG_SYMBOLIC, .tokens = 4, .step = 8 }, 8, 12 },
        { { .batch = VUG_SYMBOLIC, .max_batch = 3, .mode = VUG_FLOW_DECODE }, 3, 0 },
    };
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .batch = 2 });
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[128];
        vug_flow_program *program = help_program(m, rows[i].o);
        (void)help_run_tokens(program, p->id, rows[i].most, "logits");
        (void)snprintf(why, sizeof(why),
                       "program: more than %zu tokens in a run; the option 'step' sets the limit",
                       rows[i].most);
        vug_program_set_ids(program, "tokens", p->id, rows[i].more);
        if (rows[i].more)
            help_no_run(program, why);
        vug_program_destroy(program);
    }
    vug_model_close(m);
}

static uint64_t cache_bytes(const flow_reference *p, vug_flow_options o)
{
    vug_compiled compiled;
    vug_err err = { 0 };
    vug_flow *flow = help_flow(p->model, o);
    const vug_flow_object *object = vug_flow_object_of(flow);
    help_ok(vug_compile_flow(p->model, &object->graph, &object->profile, &object->limits, &compiled,
                             &err),
            &err);
    const vug_flow_memory bytes = vug_flow_count_memory(object, &compiled);
    assert_int_equal(bytes.total, bytes.weights + bytes.program + bytes.buffers +
                                          bytes.cache * (uint64_t)object->options.max_batch);
    vug_compiled_release(&compiled);
    vug_flow_destroy(flow);
    return bytes.cache;
}

/* Caches are as long as the options let sequences become, not as long as the context. */
static void test_memory_is_sized_by_the_options(void **state)
{
    const flow_reference *p = *state;
    const uint64_t whole = cache_bytes(p, (vug_flow_options){ 0 });
    const uint64_t ten = cache_bytes(p, (vug_flow_options){ .context = 10, .step = 10 });
    assert_true(ten < whole / 2);
    assert_int_equal(cache_bytes(p, (vug_flow_options){ .past = VUG_PAST_NONE, .tokens = 10 }),
                     ten);
    assert_int_equal(cache_bytes(p, (vug_flow_options){ .past = VUG_PAST_NONE, .step = 10 }), ten);
    assert_int_equal(
            cache_bytes(
                    p, (vug_flow_options){ .past = VUG_PAST_GIVEN, .past_tokens = 3, .tokens = 7 }),
            cache_bytes(p,
                        (vug_flow_options){ .past = VUG_PAST_GIVEN, .context = 10, .tokens = 7 }));
    assert_int_equal(cache_bytes(p, (vug_flow_options){ .batch = 3 }), whole);
}

/* ---- given past ------------------------------------------------------------------------ */

/* The keys and values of every layer, as runs export them. */
typedef struct {
    float *k[8], *v[8]; /* [ALL, kv] */
    size_t n;           /* tokens */
} history;

static history new_history(const flow_reference *p)
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

/* Appends what the last run exported for `n` tokens from row `first` on. */
static void append_history(const flow_reference *p, history *h, const vug_flow_program *program,
                           size_t first, size_t n)
{
    for (size_t i = 0; i < p->layers; i++) {
        char k[32], v[32];
        (void)snprintf(k, sizeof(k), "k.%zu", i);
        (void)snprintf(v, sizeof(v), "v.%zu", i);
        memcpy(h->k[i] + h->n * p->kv, vug_program_get(program, k, NULL) + first * p->kv,
               n * p->kv * sizeof(float));
        memcpy(h->v[i] + h->n * p->kv, vug_program_get(program, v, NULL) + first * p->kv,
               n * p->kv * sizeof(float));
    }
    h->n += n;
}

static void set_history(const flow_reference *p, const history *h, vug_flow_program *program)
{
    for (size_t i = 0; i < p->layers; i++) {
        char k[32], v[32];
        (void)snprintf(k, sizeof(k), "past.k.%zu", i);
        (void)snprintf(v, sizeof(v), "past.v.%zu", i);
        vug_program_set(program, k, h->k[i], h->n * p->kv);
        vug_program_set(program, v, h->v[i], h->n * p->kv);
    }
}

/* A prefill that exports, then tokens one by one after what was exported so far. */
static void test_decoding_from_an_exported_past(void **state)
{
    const flow_reference *p = *state;
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

    /* A fixed past, and several tokens at once. */
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

/* With an empty past, a run is a prefill. */
static void test_no_past_is_given(void **state)
{
    const flow_reference *p = *state;
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

/* Three texts after pasts of different lengths. */
static void test_pasts_of_three_sequences(void **state)
{
    const flow_reference *p = *state;
    static const int64_t past[BATCH] = { 30, 4, 12 }, more[BATCH] = { 1, 5, 2 };
    texts t = three_texts(p);
    history h = new_history(p); /* of all three, one after another */
    vug_flow_program *prefill =
            help_program(p->model, (vug_flow_options){ .past = VUG_PAST_NONE, .export_kv = true });
    for (int i = 0; i < BATCH; i++) {
        (void)help_run_tokens(prefill, t.id[i], (size_t)past[i], "logits");
        append_history(p, &h, prefill, 0, (size_t)past[i]);
    }
    vug_program_destroy(prefill);
    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .batch = BATCH, .past = VUG_PAST_GIVEN });
    set_history(p, &h, program);
    run_three(p, &t, program, past, more);
    vug_program_destroy(program);
    release_history(&h);
    release_texts(&t);
}

/* ---- masks ------------------------------------------------------------------------------- */

static void test_built_in_masks_as_custom_masks(void **state)
{
    const flow_reference *p = *state;
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

/* Two texts in one sequence, separated by mask and positions, give the results of two. */
static void test_a_mask_packs_two_texts(void **state)
{
    const flow_reference *p = *state;
    enum { A = 10, B = 14, N = A + B, THREE = 3 * N };
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
    /* Sums are split at other positions than when the second text is alone: rounding differs. */
    for (size_t i = 0; i < B * p->vocab; i++)
        assert_true(fabsf(logits[A * p->vocab + i] - p->logits[i]) <= 1e-4F);
    for (size_t key = 0; key < 4; key++)
        mask[THREE + key] = -INFINITY;
    help_no_run(program, "mask: row 3 sees none of its 24 keys");
    vug_program_destroy(program);
    vug_free(mask);
}

/* ---- every architecture ----------------------------------------------------------------- */

/* Inputs of a program without a cache: pasts that grow by what is exported, masks. */
typedef struct {
    const char *name;
    size_t row; /* floats per token; 0: not a past */
    size_t window;
    float *x;
} given;

static size_t find_given(const vug_flow_program *program, given *out, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < vug_program_input_count(program); i++) {
        const vug_port port = vug_program_input(program, i);
        if (port.integers)
            continue;
        const bool past = strncmp(port.name, "past.", 5) == 0;
        assert_true(n < most);
        out[n] = (given){ .name = port.name };
        if (past)
            out[n].row = (size_t)(port.shape.dim[1] * port.shape.dim[2]);
        else if (port.name[4] == '.')
            out[n].window = (size_t)strtoul(port.name + 5, NULL, 10);
        out[n].x = vug_alloc(past ? ALL * out[n].row : ALL, sizeof(float));
        assert_non_null(out[n++].x);
    }
    return n;
}

/* One token at position `at`. */
static void step_given(vug_flow_program *program, given *in, size_t n_in, size_t at,
                       const int32_t *id)
{
    for (size_t i = 0; i < n_in; i++) {
        for (size_t key = 0; in[i].row == 0 && key <= at; key++)
            in[i].x[key] = in[i].window == 0 || at - key < in[i].window ? 0 : -INFINITY;
        vug_program_set(program, in[i].name, in[i].x, in[i].row ? at * in[i].row : at + 1);
    }
    (void)help_run_tokens(program, id, 1, "logits");
    for (size_t i = 0; i < n_in; i++) {
        if (in[i].row)
            memcpy(in[i].x + at * in[i].row, help_output(program, in[i].name + 5, in[i].row),
                   in[i].row * sizeof(float));
    }
}

/* Token by token, with a cache and with a given past: both give the bits of a prefill. */
static void check_folder(const char *folder)
{
    enum { MOST = 512 };
    vug_model *m = help_model(folder, (vug_model_options){ .context = ALL });
    const size_t vocab = (size_t)vug_model_describe(m).n_vocab;
    int32_t id[ALL];
    help_tokens(21, id, ALL, (int64_t)vocab);
    vug_flow_program *whole =
            help_program(m, (vug_flow_options){ .past = VUG_PAST_NONE, .outputs = VUG_OUT_ALL });
    vug_flow_program *cached = help_program(m, (vug_flow_options){ .mode = VUG_FLOW_DECODE });
    vug_flow_program *stateless = help_program(m, (vug_flow_options){ .mode = VUG_FLOW_DECODE,
                                                                      .past = VUG_PAST_GIVEN,
                                                                      .export_kv = true,
                                                                      .custom_mask = true });
    given in[MOST];
    const size_t n_in = find_given(stateless, in, MOST);
    const float *want = help_run_tokens(whole, id, ALL, "logits");
    for (size_t at = 0; at < ALL; at++) {
        (void)help_run_tokens(cached, id + at, 1, "logits");
        help_same_bits(help_output(cached, "logits", vocab), want + at * vocab, vocab);
        step_given(stateless, in, n_in, at, id + at);
        help_same_bits(help_output(stateless, "logits", vocab), want + at * vocab, vocab);
    }
    for (size_t i = 0; i < n_in; i++)
        vug_free(in[i].x);
    vug_program_destroy(stateless);
    vug_program_destroy(cached);
    vug_program_destroy(whole);
    vug_model_close(m);
}

static void test_every_golden_model(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    assert_int_equal(vug_list_folder("tests/golden/models", &arena, &name, &n, NULL), VUG_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char folder[256];
        (void)snprintf(folder, sizeof(folder), "tests/golden/models/%s", name[i].ptr);
        check_folder(folder);
    }
    vug_arena_release(&arena);
}

/* ---- masks and positions ------------------------------------------------------------------- */

/* Masks that show all tokens to every layer give the results of a model with a wider window. */
static void test_masks_wider_than_the_window(void **state)
{
    const flow_reference *p = *state;
    enum { LONG = 104, STEP = 8 };
    scratch dir = scratch_make();
    vug_text config;
    assert_int_equal(vug_read_file(GOLDEN("gemma3-text") "/config.json", 1 << 20, &config, NULL),
                     VUG_OK);
    char *window = strstr(config.ptr, "\"sliding_window\": 16");
    assert_non_null(window);
    for (const char *c = "\"sliding_window\":512"; *c; c++)
        *window++ = *c;
    scratch_write(&dir, "config.json", config.ptr, config.len);
    vug_text_release(&config);
    tiny_copy(&dir, "model.safetensors");
    vug_model *wide = help_model(dir.path, (vug_model_options){ 0 });
    int32_t id[LONG];
    help_tokens(9, id, LONG, (int64_t)p->vocab);
    vug_session *s = help_session(wide);
    vug_flow_program *cached =
            help_program(p->model, (vug_flow_options){ .custom_mask = true, .step = STEP });
    for (size_t at = 0; at < LONG; at += STEP) {
        float *all = help_mask(STEP, at + STEP, 0);
        vug_program_set(cached, "mask", all, STEP * (at + STEP));
        vug_program_set(cached, "mask.16", all, STEP * (at + STEP));
        help_same_bits(help_run_tokens(cached, id + at, STEP, "logits"),
                       help_forward(s, id, at + STEP), p->vocab);
        vug_free(all);
    }
    vug_program_destroy(cached);
    vug_session_destroy(s);
    vug_model_close(wide);
    scratch_remove(&dir);
}

static void test_custom_positions(void **state)
{
    const flow_reference *p = *state;
    int32_t position[TOKENS];
    vug_flow_program *program = help_program(p->model, (vug_flow_options){ .past = VUG_PAST_NONE });
    for (int32_t t = 0; t < TOKENS; t++)
        position[t] = t;
    vug_program_set_ids(program, "positions", position, TOKENS);
    help_same_bits(help_run_tokens(program, p->id, TOKENS, "logits"), logits_of(p, TOKENS - 1),
                   p->vocab);
    for (int32_t t = 0; t < TOKENS; t++)
        position[t] = 3 * t;
    const float *logits = help_run_tokens(program, p->id, TOKENS, "logits");
    float most = 0;
    for (size_t i = 0; i < p->vocab; i++)
        most = fmaxf(most, fabsf(logits[i] - logits_of(p, TOKENS - 1)[i]));
    assert_true(most > 1e-2F);
    vug_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_flow_equals_a_session),
        cmocka_unit_test(test_all_logits_and_hidden_states),
        cmocka_unit_test(test_a_fixed_number_of_tokens),
        cmocka_unit_test(test_decode_takes_one_token),
        cmocka_unit_test(test_three_sequences),
        cmocka_unit_test(test_three_sequences_of_one_length),
        cmocka_unit_test(test_fewer_sequences_than_the_maximum),
        cmocka_unit_test(test_batch_follows_from_fixed_tokens),
        cmocka_unit_test(test_step_size_follows_from_options),
        cmocka_unit_test(test_memory_is_sized_by_the_options),
        cmocka_unit_test(test_decoding_from_an_exported_past),
        cmocka_unit_test(test_no_past_is_given),
        cmocka_unit_test(test_pasts_of_three_sequences),
        cmocka_unit_test(test_built_in_masks_as_custom_masks),
        cmocka_unit_test(test_a_mask_packs_two_texts),
        cmocka_unit_test(test_every_golden_model),
        cmocka_unit_test(test_masks_wider_than_the_window),
        cmocka_unit_test(test_custom_positions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
