/* Skips one layer of a model and scales another layer's attention. The patch is the first 30
 * lines. Prints what it changed in the graph, then the best token with and without it.
 *     cc -Iinclude docs/examples/patch.c build/libvug.a -lpcre2-8 -lutf8proc -lcrypto -lm -pthread -o patch
 *     ./patch MODEL SKIPPED SCALED FACTOR TOKEN... */
#include <stdio.h>
#include <stdlib.h>

#include "vug/flow.h"

typedef struct {
    int skipped, scaled;
    float factor;
} patch;

static vug_val skip(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    const patch *p = user;
    return phase->layer->index == p->skipped ? phase->x : flow_default(f, phase->x);
}

static void turn_down(vug_flow *f, void *user)
{
    const patch *p = user;
    /* If a norm follows, as in Gemma, it would cancel a factor before it. */
    const bool norm = flow_has(f, p->scaled, "post_attn_norm");
    const vug_val attention = flow_find(f, p->scaled, norm ? "post_attn_norm" : "attn_output");
    flow_replace(f, attention, flow_scale(f, attention, p->factor));
}

/* ---- the rest is the same for any flow --------------------------------------------- */

static vug_status best(const vug_flow *flow, const int32_t *id, size_t n, size_t *out, vug_err *err)
{
    vug_flow_program *program = NULL;
    vug_status st = vug_flow_build(flow, &program, err);
    if (st == VUG_OK) {
        vug_program_set_ids(program, "tokens", id, n);
        st = vug_program_run(program, err);
    }
    if (st == VUG_OK) {
        size_t vocab;
        const float *logits = vug_program_get(program, "logits", &vocab);
        *out = 0;
        for (size_t i = 1; i < vocab; i++)
            *out = logits[i] > logits[*out] ? i : *out;
    }
    vug_program_destroy(program);
    return st;
}

int main(int argc, char **argv)
{
    enum { MOST = 64, FIRST = 5 };
    if (argc <= FIRST)
        return fputs("patch: expected MODEL SKIPPED SCALED FACTOR TOKEN...\n", stderr) < 0 ? 2 : 1;
    patch p = { .skipped = (int)strtol(argv[2], NULL, 10),
                .scaled = (int)strtol(argv[3], NULL, 10),
                .factor = strtof(argv[4], NULL) };
    const vug_flow_options how = { .layer = skip, .patch = turn_down, .user = &p };
    int32_t id[MOST];
    size_t n = 0, with = 0, without = 0;
    vug_model *model = NULL;
    vug_flow *plain = NULL, *patched = NULL;
    vug_text changes = { 0 };
    vug_err err;
    for (; n < MOST && FIRST + (int)n < argc; n++)
        id[n] = (int32_t)strtol(argv[FIRST + n], NULL, 10);
    vug_status st = vug_model_open(argv[1], NULL, &model, &err);
    if (st == VUG_OK)
        st = vug_flow_create(model, NULL, &plain, &err);
    if (st == VUG_OK)
        st = vug_flow_create(model, &how, &patched, &err);
    if (st == VUG_OK)
        st = vug_flow_compare(plain, patched, &changes, &err);
    if (st == VUG_OK)
        st = best(plain, id, n, &without, &err);
    if (st == VUG_OK)
        st = best(patched, id, n, &with, &err);
    if (st == VUG_OK)
        (void)printf("%sbest token %zu, patched %zu\n", changes.ptr, without, with);
    else
        (void)fprintf(stderr, "patch: %s\n", err.msg);
    vug_text_release(&changes);
    vug_flow_destroy(patched);
    vug_flow_destroy(plain);
    vug_model_close(model);
    return st == VUG_OK ? 0 : 1;
}
