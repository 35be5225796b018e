/* Decodes with a program that keeps nothing: each step gets the past that earlier steps
 * exported, and custom masks. A second program, with a cache, runs for comparison.
 *     cc -Iinclude docs/examples/stateless.c build/libvug.a -lpcre2-8 -lutf8proc -lcrypto -lm -pthread -o stateless
 *     ./stateless MODEL STEPS TOKEN... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vug/flow.h"

enum { MOST = 256 }; /* tokens */

/* An input past.X.N with the output X.N that extends it, or a mask. */
typedef struct {
    vug_port port;
    long window; /* of a mask; 0: none */
    size_t row;  /* floats per token of a past */
    float *x;    /* a past of up to MOST tokens, or a mask's row */
} input;

typedef struct {
    vug_flow_program *program;
    input *in;
    size_t n_in, past; /* past: tokens so far */
} stateless;

static bool is_past(const input *in)
{
    return strncmp(in->port.name, "past.", 5) == 0;
}

static bool find_inputs(stateless *s)
{
    s->n_in = vug_program_input_count(s->program);
    s->in = calloc(s->n_in, sizeof(*s->in));
    for (size_t i = 0; s->in && i < s->n_in; i++) {
        input *in = &s->in[i];
        in->port = vug_program_input(s->program, i);
        if (in->port.integers)
            continue;
        in->row = is_past(in) ? (size_t)(in->port.shape.dim[1] * in->port.shape.dim[2]) : 1;
        in->window = strncmp(in->port.name, "mask.", 5) ? 0 : strtol(in->port.name + 5, NULL, 10);
        in->x = calloc(MOST * in->row, sizeof(float));
        if (!in->x)
            return false;
    }
    return s->in != NULL;
}

/* One token at position s->past; its logits, or NULL. */
static const float *step(stateless *s, int32_t id, size_t *n, vug_err *err)
{
    const long here = (long)s->past;
    for (size_t i = 0; i < s->n_in; i++) {
        const input *in = &s->in[i];
        for (long key = 0; in->x && !is_past(in) && key <= here; key++)
            in->x[key] = in->window == 0 || here - key < in->window ? 0 : -INFINITY;
        if (in->x)
            vug_program_set(s->program, in->port.name, in->x,
                            is_past(in) ? s->past * in->row : s->past + 1);
    }
    vug_program_set_ids(s->program, "tokens", &id, 1);
    if (vug_program_run(s->program, err) != VUG_OK)
        return NULL;
    for (size_t i = 0; i < s->n_in; i++) {
        const input *in = &s->in[i];
        if (in->x && is_past(in))
            memcpy(in->x + s->past * in->row, vug_program_get(s->program, in->port.name + 5, NULL),
                   in->row * sizeof(float));
    }
    s->past++;
    return vug_program_get(s->program, "logits", n);
}

static int32_t best(const float *logits, size_t n)
{
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        at = logits[i] > logits[at] ? i : at;
    return (int32_t)at;
}

/* The prompt token by token, then `steps` generated tokens, with both programs. */
static vug_status decode(stateless *s, vug_flow_program *cached, const char *const *prompt,
                         size_t n_prompt, size_t steps, vug_err *err)
{
    int32_t id = 0;
    for (size_t i = 0; i < n_prompt + steps && i < MOST; i++) {
        size_t n = 0;
        if (i < n_prompt)
            id = (int32_t)strtol(prompt[i], NULL, 10);
        const float *logits = step(s, id, &n, err);
        if (!logits)
            return err->code;
        vug_program_set_ids(cached, "tokens", &id, 1);
        const vug_status st = vug_program_run(cached, err);
        if (st != VUG_OK)
            return st;
        const bool same =
                !memcmp(logits, vug_program_get(cached, "logits", NULL), n * sizeof(*logits));
        (void)printf("position %zu: token %d, then %d; %s\n", i, id, best(logits, n),
                     same ? "the same bits as with a cache" : "NOT what the cache gives");
        id = best(logits, n);
    }
    return VUG_OK;
}

static vug_status build(const vug_model *model, const vug_flow_options *how, vug_flow_program **out,
                        vug_err *err)
{
    vug_flow *flow;
    vug_status st = vug_flow_create(model, how, &flow, err);
    if (st != VUG_OK)
        return st;
    st = vug_flow_build(flow, out, err);
    vug_flow_destroy(flow);
    return st;
}

int main(int argc, char **argv)
{
    const vug_flow_options given = { .mode = VUG_FLOW_DECODE,
                                     .past = VUG_PAST_GIVEN,
                                     .export_kv = true,
                                     .custom_mask = true },
                           kept = { .mode = VUG_FLOW_DECODE };
    stateless s = { 0 };
    vug_model *model = NULL;
    vug_flow_program *cached = NULL;
    vug_err err = { 0 };
    vug_status st = vug_model_open(argc > 1 ? argv[1] : ".", NULL, &model, &err);
    if (st == VUG_OK)
        st = build(model, &given, &s.program, &err);
    if (st == VUG_OK)
        st = build(model, &kept, &cached, &err);
    if (st == VUG_OK && !find_inputs(&s)) {
        (void)snprintf(err.msg, sizeof(err.msg), "out of memory");
        st = VUG_NOMEM;
    }
    if (st == VUG_OK && argc > 3)
        st = decode(&s, cached, (const char *const *)argv + 3, (size_t)argc - 3,
                    (size_t)strtoul(argv[2], NULL, 10), &err);
    if (st != VUG_OK)
        (void)fprintf(stderr, "stateless: %s\n", err.msg);
    for (size_t i = 0; s.in && i < s.n_in; i++)
        free(s.in[i].x);
    free(s.in);
    vug_program_destroy(s.program);
    vug_program_destroy(cached);
    vug_model_close(model);
    return st == VUG_OK ? 0 : 1;
}
