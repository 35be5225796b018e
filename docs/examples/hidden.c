/* Prints the hidden states of every layer, with a hook that makes each layer's input an output.
 *     cc -Iinclude docs/examples/hidden.c build/libvug.a -lpcre2-8 -lutf8proc -lcrypto -lm -pthread -o hidden
 *     ./hidden MODEL TOKEN... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "vug/flow.h"

/* "hidden.3" is the input of layer 3; the layer itself is unchanged. */
static vug_val watch(vug_flow *f, const vug_flow_phase *phase, void *user)
{
    char name[32];
    (void)user;
    (void)snprintf(name, sizeof(name), "hidden.%d", (int)phase->layer->index);
    flow_output(f, name, phase->x);
    return flow_default(f, phase->x);
}

/* The root mean square of the last token's row of each layer. */
static void print(const vug_flow_program *program, size_t tokens)
{
    for (size_t i = 0; i < vug_program_output_count(program); i++) {
        const vug_port out = vug_program_output(program, i);
        const size_t width = (size_t)out.shape.dim[1];
        size_t n;
        const float *x = vug_program_get(program, out.name, &n);
        double squares = 0;
        for (size_t k = n - width; k < n; k++)
            squares += (double)x[k] * (double)x[k];
        (void)printf("%-10s %zu x %zu, last row %.4f\n", out.name, tokens, width,
                     sqrt(squares / (double)width));
    }
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    const vug_flow_options how = { .outputs = VUG_OUT_HIDDEN, .layer = watch };
    int32_t id[MOST];
    size_t n = 0;
    vug_model *model = NULL;
    vug_flow *flow = NULL;
    vug_flow_program *program = NULL;
    vug_err err;
    for (; n < MOST && (int)n + 2 < argc; n++)
        id[n] = (int32_t)strtol(argv[n + 2], NULL, 10);
    vug_status st = vug_model_open(argc > 1 ? argv[1] : ".", NULL, &model, &err);
    if (st == VUG_OK)
        st = vug_flow_create(model, &how, &flow, &err);
    if (st == VUG_OK)
        st = vug_flow_build(flow, &program, &err);
    if (st == VUG_OK) {
        vug_program_set_ids(program, "tokens", id, n);
        st = vug_program_run(program, &err);
    }
    if (st == VUG_OK)
        print(program, n);
    else
        (void)fprintf(stderr, "hidden: %s\n", err.msg);
    vug_program_destroy(program);
    vug_flow_destroy(flow);
    vug_model_close(model);
    return st == VUG_OK ? 0 : 1;
}
