/*
 * Hooks of flows, texts and comparisons of flows, and the combinations and hooks that are
 * refused when a flow is created.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "flow_help.h"
#include "scratch.h"

enum { TOKENS = 24, LAYERS = 8, WIDTH = 64, VOCAB = 384 };

typedef struct {
    vug_model *model;
    int32_t id[TOKENS];
    float *logits;             /* [VOCAB] of the last token */
    float *hidden[LAYERS + 1]; /* [TOKENS, WIDTH] */
} hooks_reference;

static bool keep_step(const vug_step *step, void *user)
{
    hooks_reference *p = user;
    for (int i = 0; i <= LAYERS; i++)
        memcpy(p->hidden[i], step->hidden[i], sizeof(float) * TOKENS * WIDTH);
    memcpy(p->logits, step->logits, sizeof(float) * VOCAB);
    return true;
}

static int set_up(void **state)
{
    hooks_reference *p = vug_alloc_zero(1, sizeof(*p));
    vug_err err = { 0 };
    assert_non_null(p);
    p->model = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .threads = 2 });
    p->logits = vug_alloc(VOCAB, sizeof(float));
    for (int i = 0; i <= LAYERS; i++)
        p->hidden[i] = vug_alloc((size_t)TOKENS * WIDTH, sizeof(float));
    help_tokens(11, p->id, TOKENS, VOCAB);
    vug_session *s = help_session(p->model);
    const vug_forward_options how = { .hidden = true, .on_step = keep_step, .user = p };
    help_ok(vug_session_forward(s, p->id, TOKENS, &how, &err), &err);
    vug_session_destroy(s);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    hooks_reference *p = *state;
    vug_model_close(p->model);
    vug_free(p->logits);
    for (int i = 0; i <= LAYERS; i++)
        vug_free(p->hidden[i]);
    vug_free(p);
    return 0;
}

/* Runs the text through a flow with these hooks; the caller's program. */
static vug_flow_program *run_with(const hooks_reference *p, vug_flow_options o)
{
    vug_flow_program *program = help_program(p->model, o);
    (void)help_run_tokens(program, p->id, TOKENS, "logits");
    return program;
}

static void same_logits(const hooks_reference *p, const vug_flow_program *program)
{
    help_same_bits(help_output(program, "logits", VOCAB), p->logits, VOCAB);
}

static bool other_logits(const hooks_reference *p, const vug_flow_program *program)
{
    return help_difference(help_output(program, "logits", VOCAB), p->logits, VOCAB) < VOCAB;
}

/* ---- a function for each layer ------------------------------------------------------- */

static vug_val default_layer(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    const vug_layer_spec *layer = phase->layer;
    int *n = user;
    assert_int_equal(layer->index, (*n)++);
    assert_int_equal(layer->n_layers, LAYERS);
    assert_int_equal(layer->d_model, WIDTH);
    assert_int_equal(layer->n_heads, 4);
    assert_int_equal(layer->n_kv_heads, 2);
    assert_int_equal(layer->d_head, 16);
    assert_int_equal(layer->d_ffn, 128);
    assert_int_equal(layer->window, layer->index == 5 ? 0 : 16);
    assert_true(layer->attn_scale > 0.2F && layer->norm_eps == 1e-6F);
    assert_int_equal(flow_shape(f, phase->tokens).rank, 1);
    assert_int_equal(flow_shape(f, phase->x).dim[1], WIDTH);
    return flow_default(f, phase->x);
}

static void test_default_phase_changes_nothing(void **state)
{
    const hooks_reference *p = *state;
    int n = 0;
    vug_flow_program *program =
            run_with(p, (vug_flow_options){ .layer = default_layer, .user = &n });
    assert_int_equal(n, LAYERS);
    same_logits(p, program);
    vug_program_destroy(program);
}

/* Wraps the default: makes the input of every layer an output and changes one layer's output. */
static vug_val changed_layer(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    char name[32];
    (void)user;
    (void)snprintf(name, sizeof(name), "in.%d", (int)phase->layer->index);
    flow_output(f, name, phase->x);
    const vug_val x = flow_default(f, phase->x);
    if (phase->layer->index != 3)
        return x;
    flow_output(f, "three", x);
    return flow_scale(f, x, 2);
}

static void test_a_changed_phase(void **state)
{
    const hooks_reference *p = *state;
    vug_flow_program *program = run_with(p, (vug_flow_options){ .layer = changed_layer });
    const size_t n = (size_t)TOKENS * WIDTH;
    for (int i = 0; i <= 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "in.%d", i);
        help_same_bits(help_output(program, name, n), p->hidden[i], n);
    }
    const float *three = help_output(program, "three", n), *four = help_output(program, "in.4", n);
    help_same_bits(three, p->hidden[4], n);
    for (size_t i = 0; i < n; i++)
        assert_true(four[i] == 2 * three[i]);
    assert_true(other_logits(p, program));
    vug_program_destroy(program);
}

/* A phase of our own: the layer without its attention, built as the model builds it. */
static vug_val own_layer(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    const vug_attr_norm norm = { .eps = phase->layer->norm_eps, .bias = 1 };
    if (phase->layer->index != *(const int *)user)
        return flow_default(f, phase->x);
    const vug_val h = flow_rms_norm(f, phase->x, "ffn_norm", norm);
    const vug_val gate = flow_gelu(f, flow_linear(f, h, "ffn_gate"));
    const vug_val up = flow_linear(f, h, "ffn_up");
    const vug_val down = flow_linear(f, flow_mul(f, gate, up), "ffn_down");
    return flow_add(f, phase->x, flow_rms_norm(f, down, "post_ffn_norm", norm));
}

/* A patch with the same effect: it scales the attention block's contribution by zero. */
static void no_attention(vug_flow *f, void *user)
{
    assert_true(flow_has(f, *(const int *)user, "attn_output"));
    assert_false(flow_has(f, *(const int *)user, "attn_out"));
    const vug_val out = flow_find(f, *(const int *)user, "attn_output");
    flow_replace(f, out, flow_scale(f, out, 0));
}

static void test_custom_phase_equals_a_patch(void **state)
{
    const hooks_reference *p = *state;
    int layer = 4;
    vug_flow_program *own = run_with(p, (vug_flow_options){ .layer = own_layer, .user = &layer });
    vug_flow_program *patched =
            run_with(p, (vug_flow_options){ .patch = no_attention, .user = &layer });
    assert_true(other_logits(p, own));
    help_same_bits(help_output(own, "logits", VOCAB), help_output(patched, "logits", VOCAB), VOCAB);
    vug_program_destroy(own);
    vug_program_destroy(patched);
}

/* ---- before, after, patch -------------------------------------------------------------- */

/* Embeddings from outside in place of the model's. */
static vug_val given_embeddings(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    assert_null(phase->layer);
    assert_int_equal(phase->x.id, 0);
    return flow_data(f, "embeddings", (vug_shape){ 2, { VUG_DIM_T, WIDTH } });
}

static void test_before_the_layers(void **state)
{
    const hooks_reference *p = *state;
    vug_flow_program *program =
            help_program(p->model, (vug_flow_options){ .before = given_embeddings });
    const vug_sequence all = { .tokens = TOKENS };
    help_no_run(program, "program: no tokens");
    vug_program_split(program, &all, 1);
    help_no_run(program, "program: input 'embeddings' [T,64] is not set");
    vug_program_set(program, "embeddings", p->hidden[0], (size_t)TOKENS * WIDTH);
    vug_program_reset(program);
    help_run(program);
    same_logits(p, program);
    vug_program_destroy(program);
}

/* A vector that is added for every token, as one input. */
static vug_val steer(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    const vug_val by = flow_data(f, "steer", (vug_shape){ 2, { VUG_DIM_T, WIDTH } });
    const vug_val x = flow_add(f, flow_default(f, phase->x), by);
    flow_output(f, "after", x);
    return x;
}

static void test_after_the_layers(void **state)
{
    const hooks_reference *p = *state;
    const size_t n = (size_t)TOKENS * WIDTH;
    float *by = vug_alloc_zero(n, sizeof(*by));
    assert_non_null(by);
    vug_flow_program *program = help_program(p->model, (vug_flow_options){ .after = steer });
    vug_program_set(program, "steer", by, n);
    (void)help_run_tokens(program, p->id, TOKENS, "logits");
    same_logits(p, program);
    vug_program_reset(program);
    by[n - 1] = 3;
    help_run(program);
    assert_true(other_logits(p, program));
    vug_program_destroy(program);
    vug_free(by);
}

static void the_same_again(vug_flow *f, void *user)
{
    (void)user;
    const vug_val x = flow_find(f, 2, "ffn_down");
    flow_replace(f, x, flow_scale(f, flow_scale(f, x, 0.5F), 2));
}

static void chained(vug_flow *f, void *user)
{
    (void)user;
    const vug_val x = flow_find(f, 2, "ffn_down");
    const vug_val half = flow_scale(f, x, 0.5F), twice = flow_scale(f, half, 4);
    flow_replace(f, x, twice);
    /* All later readers of x read `twice`, including this one. */
    flow_output(f, "sum", flow_add(f, x, x));
    flow_output(f, "half", half);
    flow_replace(f, twice, flow_scale(f, twice, 1));
}

static void test_a_patch_over_the_whole(void **state)
{
    const hooks_reference *p = *state;
    vug_flow_program *program = run_with(p, (vug_flow_options){ .patch = the_same_again });
    same_logits(p, program);
    vug_program_destroy(program);
    program = run_with(p, (vug_flow_options){ .patch = chained });
    const size_t n = (size_t)TOKENS * WIDTH;
    const float *sum = help_output(program, "sum", n), *half = help_output(program, "half", n);
    for (size_t i = 0; i < n; i++)
        assert_true(sum[i] == 8 * half[i]);
    vug_program_destroy(program);
}

/* Asking for an input again returns the same input, for data and for the step's own inputs. */
static vug_val steer_all(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    assert_int_equal(flow_input(f, VUG_INPUT_TOKENS).id, phase->tokens.id);
    assert_int_equal(flow_input(f, VUG_INPUT_POSITIONS).id, phase->positions.id);
    const vug_val by = flow_data(f, "steer", (vug_shape){ 2, { VUG_DIM_T, WIDTH } });
    return flow_add(f, flow_default(f, phase->x), by);
}

static void test_one_input_for_all_layers(void **state)
{
    const hooks_reference *p = *state;
    for (int64_t tokens = 0; tokens <= TOKENS; tokens += TOKENS) {
        float *by = vug_alloc_zero((size_t)TOKENS * WIDTH, sizeof(*by));
        assert_non_null(by);
        vug_flow_program *program =
                help_program(p->model, (vug_flow_options){ .layer = steer_all, .tokens = tokens });
        assert_int_equal(vug_program_input_count(program), 3);
        vug_program_set(program, "steer", by, (size_t)TOKENS * WIDTH);
        (void)help_run_tokens(program, p->id, TOKENS, "logits");
        same_logits(p, program);
        vug_program_destroy(program);
        vug_free(by);
    }
}

/* The input `rows` names the last row of each sequence, whatever the outputs are. */
static vug_val last_rows(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    if (phase->layer->index == 4)
        flow_output(f, "last", flow_gather(f, phase->x, flow_input(f, VUG_INPUT_ROWS)));
    return flow_default(f, phase->x);
}

static void test_the_last_row_of_each_sequence(void **state)
{
    const hooks_reference *p = *state;
    static const vug_sequence split[] = { { 5, 0 }, { TOKENS, 0 }, { 9, 0 } };
    enum { ALL = 5 + TOKENS + 9 };
    int32_t id[ALL];
    memcpy(id, p->id, 5 * sizeof(*id));
    memcpy(id + 5, p->id, TOKENS * sizeof(*id));
    memcpy(id + 5 + TOKENS, p->id, 9 * sizeof(*id));
    for (int outputs = VUG_OUT_LAST; outputs <= VUG_OUT_HIDDEN; outputs++) {
        vug_flow_program *program =
                help_program(p->model, (vug_flow_options){ .batch = VUG_SYMBOLIC,
                                                           .outputs = (vug_flow_outputs)outputs,
                                                           .layer = last_rows });
        vug_program_split(program, split, 3);
        (void)help_run_tokens(program, id, ALL, "last");
        const float *last = help_output(program, "last", (size_t)3 * WIDTH);
        for (int i = 0; i < 3; i++)
            help_same_bits(last + (ptrdiff_t)i * WIDTH,
                           p->hidden[4] + (split[i].tokens - 1) * WIDTH, WIDTH);
        vug_program_destroy(program);
    }
}

/* ---- refused --------------------------------------------------------------------------- */

static vug_val narrow(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    const vug_val x = flow_default(f, phase->x);
    return phase->layer->index == 3 ? flow_linear(f, x, "attn_k") : x;
}

static vug_val nothing(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    return phase->layer->index == 7 ? (vug_val){ 0 } : flow_default(f, phase->x);
}

static vug_val twice(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    return flow_default(f, flow_default(f, phase->x));
}

static vug_val unknown_weight(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    return flow_linear(f, phase->x, "ffn_gated");
}

static vug_val wrong_words(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    return flow_add(f, phase->x, phase->tokens);
}

static vug_val own_complaint(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    flow_fail(f, "too wide for this patch");
    return flow_default(f, phase->x);
}

static vug_val head_input(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)phase;
    (void)user;
    return flow_input(f, VUG_INPUT_DATA);
}

static void no_such_value(vug_flow *f, void *user)
{
    (void)user;
    (void)flow_find(f, 3, "attn_out");
}

static void another_shape(vug_flow *f, void *user)
{
    (void)user;
    flow_replace(f, flow_find(f, 3, "attn_output"), flow_find(f, 3, "ffn_gate"));
}

static void reads_itself(vug_flow *f, void *user)
{
    (void)user;
    flow_replace(f, flow_find(f, 3, "attn_output"), flow_find(f, 3, "ffn_down"));
}

static void default_in_a_patch(vug_flow *f, void *user)
{
    (void)user;
    (void)flow_default(f, (vug_val){ 1 });
}

static vug_val output_twice(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    flow_output(f, "x", phase->x);
    return flow_default(f, phase->x);
}

static void a_second_of_logits(vug_flow *f, void *user)
{
    (void)user;
    flow_output(f, "logits", flow_find(f, 1, "ffn_down"));
}

static void output_without_a_name(vug_flow *f, void *user)
{
    (void)user;
    flow_output(f, NULL, flow_find(f, 1, "ffn_down"));
}

static void find_without_a_name(vug_flow *f, void *user)
{
    (void)user;
    assert_false(flow_has(f, -1, NULL));
    (void)flow_find(f, -1, NULL);
}

static vug_val weight_without_a_name(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    return flow_linear(f, phase->x, NULL);
}

static vug_val data_without_a_name(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)phase;
    (void)user;
    return flow_data(f, NULL, (vug_shape){ 2, { VUG_DIM_T, WIDTH } });
}

static vug_val data_of_two_shapes(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    const int64_t width = phase->layer->index == 4 ? WIDTH / 2 : WIDTH;
    (void)flow_data(f, "by", (vug_shape){ 2, { VUG_DIM_T, width } });
    return phase->x;
}

static vug_val data_called_tokens(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)phase;
    (void)user;
    return flow_data(f, "tokens", (vug_shape){ 1, { VUG_DIM_T } });
}

static vug_val data_called_rows(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    (void)flow_data(f, "rows", (vug_shape){ 2, { VUG_DIM_T, WIDTH } });
    (void)flow_input(f, VUG_INPUT_ROWS);
    return phase->x;
}

static vug_val two_attentions(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    (void)user;
    const vug_val x = flow_heads(f, phase->x, 4);
    (void)flow_attention(f, x, x, x, (vug_attr_attn){ .scale = 1 });
    return flow_default(f, phase->x);
}

static void test_hooks_that_are_refused(void **state)
{
    const hooks_reference *p = *state;
    static const struct {
        vug_flow_options o;
        const char *why;
    } rows[] = {
        { { .layer = narrow }, "flow: layer 3: the hook returned [T,32], expected [T,64]" },
        { { .layer = narrow, .tokens = 5, .batch = 2 },
          "flow: layer 3: the hook returned [10,32], expected [10,64]" },
        { { .layer = nothing }, "flow: layer 7: the hook returned no value" },
        { { .layer = twice },
          "flow: layer 0: flow_default was called twice in a layer, which has one cache" },
        { { .layer = unknown_weight },
          "gemma3, layer 0: the checkpoint has no weight 'ffn_gated'" },
        { { .layer = wrong_words },
          "graph: layer 0, add: inputs are [T,64] and [T], expected equal shapes" },
        { { .layer = own_complaint }, "flow: layer 0: too wide for this patch" },
        { { .before = head_input },
          "flow: flow_input makes tokens, positions and rows; flow_data makes other inputs" },
        { { .patch = no_such_value },
          "flow: no value 'attn_out' in layer 3, where the names are: attn_norm, attn_q, attn_k, "
          "attn_v, attn_q_norm, attn_k_norm, attn_output, post_attn_norm, ffn_norm, ffn_gate, "
          "ffn_up, ffn_down, post_ffn_norm" },
        { { .patch = another_shape },
          "flow: flow_replace: attn_output of layer 3 has shape [T,64], its replacement [T,128]" },
        { { .patch = reads_itself },
          "flow: after the replacements, rms_norm of layer 3 would depend on itself" },
        { { .layer = output_twice }, "flow: layer 1: flow_output: an output 'x' exists already" },
        { { .patch = a_second_of_logits }, "flow: flow_output: an output 'logits' exists already" },
        { { .patch = output_without_a_name }, "flow: flow_output: an output needs a name" },
        { { .patch = find_without_a_name },
          "flow: no value '(none)' outside the layers, where the names are: tokens, positions, "
          "rows, embed, rope_full, rope_window" },
        { { .layer = weight_without_a_name }, "flow: layer 0: a weight's name is missing" },
        { { .layer = data_without_a_name }, "flow: layer 0: flow_data: an input needs a name" },
        { { .layer = data_of_two_shapes },
          "flow: layer 4: flow_data: input 'by' exists already with shape [T,64], not [T,32]" },
        { { .before = data_called_tokens }, "flow: flow_data: 'tokens' is an input of the model" },
        { { .after = data_called_rows, .outputs = VUG_OUT_HIDDEN },
          "flow: flow_input: 'rows' is an input that flow_data made" },
        { { .layer = two_attentions },
          "graph: layer 0, attention: is the second of its layer, which has one cache" },
        { { .patch = default_in_a_patch },
          "flow: flow_default may only be called by hooks that replace a phase" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        help_no_flow(p->model, rows[i].o, rows[i].why);
}

static void test_combinations_that_are_refused(void **state)
{
    const hooks_reference *p = *state;
    static const struct {
        vug_flow_options o;
        const char *why;
    } rows[] = {
        { { .batch = 3, .past = VUG_PAST_GIVEN, .past_tokens = 16 },
          "flow: several sequences with symbolic numbers of tokens cannot all have a past of "
          "exactly 16 tokens; fix tokens, or leave past_tokens symbolic" },
        { { .batch = VUG_SYMBOLIC, .past = VUG_PAST_GIVEN, .past_tokens = 16 },
          "flow: any number of sequences with symbolic numbers of tokens cannot all have a past of "
          "exactly 16 tokens; fix tokens, or leave past_tokens symbolic" },
        { { .mode = VUG_FLOW_DECODE, .tokens = 2 },
          "flow: decode takes one token per sequence, tokens is 2" },
        { { .mode = VUG_FLOW_DECODE, .past = VUG_PAST_NONE },
          "flow: decode without a past would attend to single tokens only; past must be "
          "cached or given" },
        { { .past_tokens = 4 }, "flow: past_tokens is 4, which needs the past VUG_PAST_GIVEN" },
        { { .batch = -2 }, "flow: batch is -2, expected 1 to 4096, 0 or VUG_SYMBOLIC" },
        { { .tokens = 1 << 21 },
          "flow: tokens is 2097152, expected 1 to 1048576, 0 or VUG_SYMBOLIC" },
        { { .outputs = (vug_flow_outputs)3 }, "flow: mode 0, past 0 or outputs 3 is not known" },
        { { .batch = 3, .tokens = 9, .step = 20 }, "flow: 3 sequences of 9 tokens, step is 20" },
        { { .tokens = 9, .past = VUG_PAST_GIVEN, .past_tokens = 12, .context = 20 },
          "flow: sequences of 21 tokens with their past and steps of 9 tokens; the context holds "
          "20, a step at most 1048576" },
        { { .profile = "no/such.toml" }, "no/such.toml: cannot open: No such file or directory" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        help_no_flow(p->model, rows[i].o, rows[i].why);
}

static void test_inputs_that_are_refused(void **state)
{
    const hooks_reference *p = *state;
    vug_flow_program *program = help_program(p->model, (vug_flow_options){ .context = 20 });
    const float x[1] = { 0 };
    const int32_t bad[1] = { VOCAB };
    vug_program_set_ids(program, "token", p->id, 1);
    help_no_run(program, "program: there is no input 'token'");
    vug_program_set(program, NULL, x, 1);
    help_no_run(program, "program: there is no input '(none)'");
    vug_program_set(program, "tokens", x, 1);
    help_no_run(program, "program: input 'tokens' takes int32_t");
    help_no_run(program, "program: no tokens");
    vug_program_set_ids(program, "tokens", p->id, 21);
    help_no_run(program, "program: sequence 0 has 21 tokens after 0, the context holds 20");
    vug_program_set_ids(program, "tokens", bad, 1);
    help_no_run(program, "token 384 is outside the vocabulary of 384");
    vug_program_set_ids(program, "tokens", p->id, 2);
    vug_program_split(program, &(vug_sequence){ 0 }, 1);
    help_no_run(program, "program: sequence 0 has 0 tokens, expected 1 or more");
    vug_program_split(program, NULL, 0);
    vug_program_set_ids(program, "positions", p->id, 1);
    help_no_run(program, "program: input 'positions' has 1 numbers, expected [2]");
    vug_program_set_ids(program, "positions", NULL, 0);
    help_run(program);
    vug_program_destroy(program);
    program = help_program(p->model, (vug_flow_options){ .past = VUG_PAST_GIVEN });
    vug_program_set_ids(program, "tokens", p->id, 2);
    vug_program_split(program, &(vug_sequence){ 2, -1 }, 1);
    help_no_run(program, "program: sequence 0 has a past of -1");
    vug_program_destroy(program);
}

/* A builder function that is called after vug_flow_create makes all later calls fail. */
static void test_late_builder_calls_are_refused(void **state)
{
    const hooks_reference *p = *state;
    static const char why[] =
            "flow: a builder function was called after vug_flow_create; only hooks may call them";
    for (int word = 0; word < 4; word++) {
        vug_flow *flow = help_flow(p->model, (vug_flow_options){ 0 });
        vug_flow_program *program = NULL;
        vug_err err = { 0 };
        const vug_val x = flow_find(flow, 3, "attn_output");
        assert_int_equal(flow_shape(flow, x).dim[1], WIDTH);
        if (word == 0)
            (void)flow_scale(flow, x, 2);
        else if (word == 1)
            flow_output(flow, "late", x);
        else if (word == 2)
            flow_replace(flow, x, x);
        else
            (void)flow_weight(flow, "attn_q");
        assert_int_equal(vug_flow_verify(flow, &err), VUG_ARGUMENT);
        assert_string_equal(err.msg, why);
        assert_int_equal(vug_flow_build(flow, &program, &err), VUG_ARGUMENT);
        assert_string_equal(err.msg, why);
        vug_flow_destroy(flow);
    }
}

/* ---- texts ------------------------------------------------------------------------------- */

static void compared(const vug_flow *a, const vug_flow *b, const char *expected)
{
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_flow_compare(a, b, &text, &err), &err);
    assert_string_equal(text.ptr, expected);
    vug_text_release(&text);
}

static void one_scale(vug_flow *f, void *user)
{
    const vug_val x = flow_find(f, 1, "attn_output");
    flow_replace(f, x, flow_scale(f, x, *(const float *)user));
}

static void test_flows_compared(void **state)
{
    const hooks_reference *p = *state;
    float by = 0.5F;
    vug_flow *a = help_flow(p->model, (vug_flow_options){ 0 });
    vug_flow *b = help_flow(p->model, (vug_flow_options){ 0 });
    vug_flow *c = help_flow(p->model, (vug_flow_options){ .patch = one_scale, .user = &by });
    vug_flow *d = help_flow(p->model, (vug_flow_options){ .mode = VUG_FLOW_DECODE });
    compared(a, b, "");
    compared(a, c,
             "- graph gemma3: 307 nodes, 8 layers, 1 outputs\n"
             "+ graph gemma3: 308 nodes, 8 layers, 1 outputs\n"
             "- rms_norm(attn_output, post_attn_norm) [T,64] {eps 9.99999997e-07 bias 1} layer 1 "
             "post_attn_norm\n"
             "+ scale(attn_output) [T,64] {by 0.5} layer 1\n"
             "+ rms_norm(scale, post_attn_norm) [T,64] {eps 9.99999997e-07 bias 1} layer 1 "
             "post_attn_norm\n");
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_flow_compare(a, d, &text, &err), &err);
    assert_non_null(strstr(text.ptr, "- input [T] {tokens} tokens\n"));
    assert_non_null(strstr(text.ptr, "+ input [1] {tokens} tokens\n"));
    vug_text_release(&text);
    vug_flow_destroy(a);
    vug_flow_destroy(b);
    vug_flow_destroy(c);
    vug_flow_destroy(d);
}

static vug_text text_of(const vug_flow *flow, vug_graph_format format, bool fused)
{
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_flow_text(flow, format, fused, &text, &err), &err);
    return text;
}

/* A folder with only a config gives the same graph as the checkpoint. */
static void test_flow_from_a_config_alone(void **state)
{
    const hooks_reference *p = *state;
    scratch dir = scratch_make();
    vug_text config;
    vug_err err = { 0 };
    help_ok(vug_read_file(GOLDEN("gemma3-text") "/config.json", 1 << 20, &config, &err), &err);
    scratch_write(&dir, "config.json", config.ptr, config.len);
    vug_text_release(&config);
    vug_flow *whole = help_flow(p->model, (vug_flow_options){ 0 }), *alone = NULL;
    help_ok(vug_flow_open(dir.path, NULL, &alone, &err), &err);
    help_ok(vug_flow_verify(alone, &err), &err);
    for (int format = VUG_GRAPH_TEXT; format <= VUG_GRAPH_SVG; format++) {
        for (int fused = 0; fused < 2; fused++) {
            vug_text a = text_of(whole, (vug_graph_format)format, fused);
            vug_text b = text_of(alone, (vug_graph_format)format, fused);
            assert_string_equal(a.ptr, b.ptr);
            vug_text_release(&a);
            vug_text_release(&b);
        }
    }
    compared(whole, alone, "");
    vug_flow_program *program = NULL;
    assert_int_equal(vug_flow_build(alone, &program, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "flow: it was opened from a config alone, which has no weights to "
                                 "run with");
    vug_flow_destroy(alone);
    vug_flow_destroy(whole);
    assert_int_equal(vug_flow_open("no/such/folder", NULL, &alone, &err), VUG_IO);
    scratch_remove(&dir);
}

/* The config says that the head is not tied and weights are F16. */
static void test_a_config_with_a_head(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-odd"), (vug_model_options){ 0 });
    vug_flow *whole = help_flow(m, (vug_flow_options){ 0 }), *alone = NULL;
    vug_err err = { 0 };
    help_ok(vug_flow_open(GOLDEN("gemma3-odd"), NULL, &alone, &err), &err);
    compared(whole, alone, "");
    vug_flow_destroy(alone);
    vug_flow_destroy(whole);
    vug_model_close(m);
}

/* A flow with all options, masks, a past and replaced values can be drawn. */
static void test_every_option_is_drawn(void **state)
{
    const hooks_reference *p = *state;
    float by = 0.5F;
    vug_flow *flow = help_flow(p->model, (vug_flow_options){ .mode = VUG_FLOW_DECODE,
                                                             .batch = 2,
                                                             .past = VUG_PAST_GIVEN,
                                                             .past_tokens = 9,
                                                             .export_kv = true,
                                                             .custom_mask = true,
                                                             .outputs = VUG_OUT_ALL,
                                                             .patch = one_scale,
                                                             .user = &by });
    vug_text text = text_of(flow, VUG_GRAPH_TEXT, true);
    assert_non_null(strstr(text.ptr, "= input [18,2,16] {data 0} layer 0 past.k.0\n"));
    assert_non_null(strstr(text.ptr, "= input [2,10] {data 2} mask.16\n"));
    assert_non_null(strstr(text.ptr, "output v.7 = "));
    vug_text_release(&text);
    text = text_of(flow, VUG_GRAPH_SVG, true);
    assert_non_null(strstr(text.ptr, "</svg>"));
    vug_text_release(&text);
    text = text_of(flow, VUG_GRAPH_DOT, false);
    assert_non_null(strstr(text.ptr, "by a mask, past given"));
    vug_text_release(&text);
    vug_flow_destroy(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_phase_changes_nothing),
        cmocka_unit_test(test_a_changed_phase),
        cmocka_unit_test(test_custom_phase_equals_a_patch),
        cmocka_unit_test(test_before_the_layers),
        cmocka_unit_test(test_after_the_layers),
        cmocka_unit_test(test_a_patch_over_the_whole),
        cmocka_unit_test(test_one_input_for_all_layers),
        cmocka_unit_test(test_the_last_row_of_each_sequence),
        cmocka_unit_test(test_hooks_that_are_refused),
        cmocka_unit_test(test_late_builder_calls_are_refused),
        cmocka_unit_test(test_combinations_that_are_refused),
        cmocka_unit_test(test_inputs_that_are_refused),
        cmocka_unit_test(test_flows_compared),
        cmocka_unit_test(test_flow_from_a_config_alone),
        cmocka_unit_test(test_a_config_with_a_head),
        cmocka_unit_test(test_every_option_is_drawn),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
