/*
 * Every combination of a flow's options, on models with every kind of layer: three texts
 * of different lengths, each run compared to the bit with a session of each text alone.
 * Half of the combinations run without any fusion.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "flow_help.h"
#include "scratch.h"

enum { TEXTS = 3, ALL = 46, MOST_INPUTS = 64 };

/* A model, and the results of sessions for the texts. */
typedef struct {
    vug_model *model;
    size_t layers, width, vocab;
    int32_t id[TEXTS][ALL];
    float *logits[TEXTS];        /* [ALL,vocab] */
    float *hidden[TEXTS];        /* [ALL,width] of the final norm */
    vug_flow_program *kv[TEXTS]; /* that ran the text: its keys and values */
    const char *unfused;         /* a profile */
    int now;                     /* the current text */
} options_reference;

static bool keep_step(const vug_step *step, void *user)
{
    const options_reference *p = user;
    memcpy(p->logits[p->now] + (size_t)step->first * p->vocab, step->logits,
           (size_t)step->n * p->vocab * sizeof(float));
    memcpy(p->hidden[p->now] + (size_t)step->first * p->width, step->hidden[p->layers],
           (size_t)step->n * p->width * sizeof(float));
    return true;
}

static void read_texts(options_reference *p, const char *folder, const char *kv)
{
    vug_err err = { 0 };
    p->model = help_model(folder, (vug_model_options){ .context = ALL, .threads = 1, .kv = kv });
    const vug_model_info info = vug_model_describe(p->model);
    p->layers = (size_t)info.n_layers;
    p->width = (size_t)info.d_model;
    p->vocab = (size_t)info.n_vocab;
    vug_session *s = help_session(p->model);
    const vug_forward_options how = {
        .all_logits = true, .hidden = true, .on_step = keep_step, .user = p
    };
    for (p->now = 0; p->now < TEXTS; p->now++) {
        const int i = p->now;
        help_tokens(31 + (uint64_t)i, p->id[i], ALL, info.n_vocab);
        p->logits[i] = vug_alloc(ALL * p->vocab, sizeof(float));
        p->hidden[i] = vug_alloc(ALL * p->width, sizeof(float));
        assert_true(p->logits[i] && p->hidden[i]);
        help_ok(vug_session_forward(s, p->id[i], ALL, &how, &err), &err);
        p->kv[i] = help_program(p->model,
                                (vug_flow_options){ .past = VUG_PAST_NONE, .export_kv = true });
        (void)help_run_tokens(p->kv[i], p->id[i], ALL, "logits");
    }
    vug_session_destroy(s);
}

static void release_texts(options_reference *p)
{
    for (int i = 0; i < TEXTS; i++) {
        vug_free(p->logits[i]);
        vug_free(p->hidden[i]);
        vug_program_destroy(p->kv[i]);
    }
    vug_model_close(p->model);
}

/* ---- one run ------------------------------------------------------------------------- */

/* Texts from position past[i] on, n[i] tokens of each. */
typedef struct {
    int texts;
    int64_t past[TEXTS], n[TEXTS];
} text_parts;

static int64_t tokens_of(const text_parts *at)
{
    int64_t n = 0;
    for (int i = 0; i < at->texts; i++)
        n += at->n[i];
    return n;
}

/* The keys or values of the given past, one sequence after another. */
static void put_past(const options_reference *p, const text_parts *at, const char *name, size_t row,
                     vug_buf *to)
{
    for (int i = 0; i < at->texts; i++)
        vug_buf_append(to, vug_program_get(p->kv[i], name, NULL),
                       (size_t)at->past[i] * row * sizeof(float));
}

/* The built-in rule as a mask [T,S]; columns after the end of a sequence are hidden. */
static void put_mask(const text_parts *at, int64_t window, vug_buf *to)
{
    int64_t keys = 0;
    for (int i = 0; i < at->texts; i++)
        keys = at->past[i] + at->n[i] > keys ? at->past[i] + at->n[i] : keys;
    for (int i = 0; i < at->texts; i++) {
        for (int64_t t = at->past[i]; t < at->past[i] + at->n[i]; t++) {
            for (int64_t key = 0; key < keys; key++) {
                const bool seen = key <= t && (window == 0 || t - key < window);
                vug_buf_append(to, seen ? &(float){ 0 } : &(float){ -INFINITY }, sizeof(float));
            }
        }
    }
}

static void set_inputs(const options_reference *p, const text_parts *at, vug_flow_program *program,
                       vug_buf *kept)
{
    const size_t n = vug_program_input_count(program);
    assert_true(n <= MOST_INPUTS);
    for (size_t i = 0; i < n; i++) {
        const vug_port port = vug_program_input(program, i);
        vug_buf *to = &kept[i];
        if (port.integers)
            continue;
        if (strncmp(port.name, "past.", 5) == 0)
            put_past(p, at, port.name + 5, (size_t)(port.shape.dim[1] * port.shape.dim[2]), to);
        else
            put_mask(at, port.name[4] ? strtol(port.name + 5, NULL, 10) : 0, to);
        vug_program_set(program, port.name, (const float *)(const void *)to->ptr,
                        to->len / sizeof(float));
    }
}

/* Rows of an output against those of the texts, `width` numbers each; `last`: one row
 * of each text. */
static void check_rows(const text_parts *at, const float *got, float *const *want, size_t width,
                       bool last)
{
    for (int i = 0; i < at->texts; i++) {
        const size_t n = last ? 1 : (size_t)at->n[i];
        const size_t first = (size_t)(at->past[i] + at->n[i]) - n;
        help_same_bits(got, want[i] + first * width, n * width);
        got += n * width;
    }
}

static void check_kv(const options_reference *p, const text_parts *at,
                     const vug_flow_program *program, vug_port out)
{
    const size_t row = (size_t)(out.shape.dim[1] * out.shape.dim[2]);
    const float *got = help_output(program, out.name, (size_t)tokens_of(at) * row);
    for (int i = 0; i < at->texts; i++) {
        const float *want = vug_program_get(p->kv[i], out.name, NULL);
        help_same_bits(got, want + (size_t)at->past[i] * row, (size_t)at->n[i] * row);
        got += (size_t)at->n[i] * row;
    }
}

static void run_part(const options_reference *p, const vug_flow_options *o, const text_parts *at,
                     vug_flow_program *program)
{
    int32_t id[TEXTS * ALL];
    vug_sequence split[TEXTS];
    vug_buf kept[MOST_INPUTS] = { { 0 } };
    size_t n = 0;
    for (int i = 0; i < at->texts; i++) {
        memcpy(id + n, p->id[i] + at->past[i], (size_t)at->n[i] * sizeof(*id));
        split[i] = (vug_sequence){ at->n[i], at->past[i] };
        n += (size_t)at->n[i];
    }
    vug_program_split(program, split, (size_t)at->texts);
    set_inputs(p, at, program, kept);
    (void)help_run_tokens(program, id, n, "logits");
    const size_t outputs = vug_program_output_count(program);
    assert_int_equal(outputs, 1 + (o->export_kv ? vug_program_output_count(p->kv[0]) - 1 : 0));
    for (size_t i = 0; i < outputs; i++) {
        const vug_port out = vug_program_output(program, i);
        if (strcmp(out.name, "hidden") == 0)
            check_rows(at, help_output(program, "hidden", n * p->width), p->hidden, p->width,
                       false);
        else if (strcmp(out.name, "logits") == 0)
            check_rows(at, vug_program_get(program, "logits", NULL), p->logits, p->vocab,
                       o->outputs == VUG_OUT_LAST);
        else
            check_kv(p, at, program, out);
    }
    for (int i = 0; i < MOST_INPUTS; i++)
        vug_buf_release(&kept[i]);
}

/* ---- combinations ---------------------------------------------------------------------- */

/* Sizes that fit the options: texts exceed windows, and short and long texts are mixed. */
static void run_parts(const options_reference *p, const vug_flow_options *o, int texts)
{
    text_parts at = { .texts = texts, .n = { 5, 36, 17 } };
    const bool one = o->mode == VUG_FLOW_DECODE, fixed = o->tokens > 0 || one;
    const int64_t past[TEXTS] = { 30, 0, 12 }, more[TEXTS] = { 1, 5, 2 };
    vug_flow_program *program = help_program(p->model, *o);
    for (int i = 0; i < TEXTS; i++) {
        if (o->past == VUG_PAST_GIVEN) {
            at.past[i] = o->past_tokens > 0 ? o->past_tokens : past[i];
            at.n[i] = more[i];
        }
        if (fixed)
            at.n[i] = one ? 1 : o->tokens;
    }
    run_part(p, o, &at, program);
    for (int again = 0; o->past == VUG_PAST_CACHED && again < (one ? 18 : 2); again++) {
        for (int i = 0; i < TEXTS; i++) {
            at.past[i] += at.n[i];
            at.n[i] = fixed ? at.n[i] : more[i];
        }
        run_part(p, o, &at, program);
    }
    vug_program_destroy(program);
}

/* Tokens 0: symbolic, 1: fixed, 2: decode. Past 3: given and fixed. */
static void run_combination(const options_reference *p, int tokens, int64_t batch, int past,
                            bool fuse, vug_flow_options o)
{
    o.mode = tokens == 2 ? VUG_FLOW_DECODE : VUG_FLOW_PREFILL;
    o.tokens = tokens == 1 ? (past == VUG_PAST_NONE ? 24 : 7) : 0;
    o.batch = batch;
    o.max_batch = batch > 0 ? 0 : TEXTS;
    o.step = (int64_t)TEXTS * ALL;
    o.past = past == 3 ? VUG_PAST_GIVEN : (vug_flow_past)past;
    o.past_tokens = past == 3 ? 20 : 0;
    o.profile = fuse ? NULL : p->unfused;
    if (tokens == 2 && past == VUG_PAST_NONE)
        return; /* vug_flow_create refuses this and the next combination */
    if (tokens == 0 && past == 3 && batch != 1)
        return;
    run_parts(p, &o, batch > 0 ? (int)batch : TEXTS);
    if (batch == VUG_SYMBOLIC)
        run_parts(p, &o, 2);
}

static void check_model(const char *folder, const char *kv)
{
    static const int64_t batches[] = { 1, TEXTS, VUG_SYMBOLIC };
    options_reference p = { 0 };
    scratch dir = scratch_make();
    const scratch_path profile = scratch_at(&dir, "unfused.toml");
    scratch_puts(&dir, "unfused.toml", "[fusion]\nall = false\n");
    p.unfused = profile.path;
    read_texts(&p, folder, kv);
    for (int tokens = 0; tokens < 3; tokens++) {
        for (int i = 0; i < 3 * 4 * 3 * 4; i++) {
            const int batch = i % 3, past = i / 3 % 4, outputs = i / 12 % 3, rest = i / 36;
            const vug_flow_options o = { .outputs = (vug_flow_outputs)outputs,
                                         .export_kv = rest % 2,
                                         .custom_mask = rest / 2 };
            run_combination(&p, tokens, batches[batch], past, (batch + past + outputs + rest) % 2,
                            o);
        }
    }
    release_texts(&p);
    scratch_remove(&dir);
}

/* Windows and full layers. */
static void test_gemma3(void **state)
{
    (void)state;
    check_model(GOLDEN("gemma3-text"), NULL);
}

/* Caches that layers share, heads of two widths, embeddings per layer. */
static void test_gemma4_e(void **state)
{
    (void)state;
    check_model(GOLDEN("gemma4-e"), NULL);
}

/* Values that are keys, dense and expert parts in one layer. */
static void test_gemma4_moe(void **state)
{
    (void)state;
    check_model(GOLDEN("gemma4-moe"), NULL);
}

/* Experts. */
static void test_qwen3_moe(void **state)
{
    (void)state;
    check_model(GOLDEN("qwen3-moe"), NULL);
}

/* Biases, no norms of heads. */
static void test_llama3(void **state)
{
    (void)state;
    check_model(GOLDEN("llama3-biases"), NULL);
}

/* A given past is rounded like the contents of a cache. */
static void test_gemma3_in_8_bits(void **state)
{
    (void)state;
    check_model(GOLDEN("gemma3-text"), "q8");
}

static void test_gemma4_e_in_f16(void **state)
{
    (void)state;
    check_model(GOLDEN("gemma4-e"), "f16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemma3),          cmocka_unit_test(test_gemma4_e),
        cmocka_unit_test(test_gemma4_moe),      cmocka_unit_test(test_qwen3_moe),
        cmocka_unit_test(test_llama3),          cmocka_unit_test(test_gemma3_in_8_bits),
        cmocka_unit_test(test_gemma4_e_in_f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
