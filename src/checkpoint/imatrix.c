/*
 * The importance matrix: for each input of a matrix product, the sum of its squares over a text.
 *
 * Builds the model's flow again with the inputs of its products as outputs, and runs it over
 * windows of the text on any backend.
 */
#include <stdio.h>

#include "checkpoint/internal.h"
#include "text/text.h"

/* An input of one or more matrix products. */
typedef struct {
    vug_val value;
    char name[24]; /* of the output */
    int64_t width;
    double *sum; /* [width] of squares */
} imatrix_input;

typedef struct {
    char name[160]; /* of the weight in GGUF */
    size_t input;
} imatrix_product;

typedef struct {
    vug_model *model;
    const vug_importance_options *o;
    const char *name; /* of the text */
    vug_arena arena;
    imatrix_input *input;     /* [n_inputs] */
    imatrix_product *product; /* [n_products] */
    size_t n_inputs, n_products;
    vug_flow_program *program;
    const int32_t *front; /* [n_front] */
    size_t n_front;
    int64_t window, counted, chunks; /* tokens; windows */
    int32_t *row;                    /* [window] */
} imatrix_run;

/* ---- the graph --------------------------------------------------------------------------- */

/* Finds the input `x`; a new one becomes an output of the graph. */
static vug_status find_input(imatrix_run *w, vug_graph *g, vug_val x, size_t *out, vug_err *err)
{
    for (*out = 0; *out < w->n_inputs; (*out)++) {
        if (w->input[*out].value.id == x.id)
            return VUG_OK;
    }
    imatrix_input *in = &w->input[w->n_inputs++];
    const vug_shape shape = vug_graph_at(g, x)->shape;
    *in = (imatrix_input){ .value = x, .width = shape.dim[shape.rank - 1] };
    (void)snprintf(in->name, sizeof(in->name), "input.%zu", *out);
    in->sum = vug_arena_alloc(&w->arena, (size_t)in->width, sizeof(*in->sum));
    if (!in->sum)
        return VUG_FAIL_NOMEM(err, "sums of squares", (uint64_t)in->width * sizeof(*in->sum));
    return vug_graph_output(g, in->name, x, err);
}

static vug_status add_product(imatrix_run *w, vug_graph *g, vug_val x, int param, vug_err *err)
{
    const vug_config *c = &vug_model_checkpoint(w->model)->config;
    vug_weight_slot slot;
    vug_gguf_storage kept;
    if (!vug_weight_slot_gguf(c, (size_t)param, &slot, &kept))
        return VUG_OK;
    for (size_t i = 0; i < w->n_products; i++) {
        if (strcmp(w->product[i].name, slot.name) == 0)
            return VUG_OK;
    }
    imatrix_product *p = &w->product[w->n_products++];
    (void)snprintf(p->name, sizeof(p->name), "%s", slot.name);
    return find_input(w, g, x, &p->input, err);
}

static vug_status find_products(imatrix_run *w, vug_graph *g, vug_err *err)
{
    const uint32_t n = g->n;
    w->input = vug_arena_alloc(&w->arena, (size_t)n + 1, sizeof(*w->input));
    w->product = vug_arena_alloc(&w->arena, 2 * (size_t)n + 1, sizeof(*w->product));
    if (!w->input || !w->product)
        return VUG_FAIL_NOMEM(err, "a list of products", n * sizeof(*w->product));
    for (uint32_t i = 1; i < n; i++) {
        const vug_node node = g->node[i];
        /* An expert's gate and up projections read x. */
        const int first = node.op == VUG_OP_LINEAR ? 1 : 2;
        const int last = node.op == VUG_OP_LINEAR ? 1 : 3;
        if (node.op != VUG_OP_LINEAR && node.op != VUG_OP_EXPERTS)
            continue;
        for (int k = first; k <= last; k++) {
            const vug_node *param = vug_graph_at(g, node.in[k]);
            if (param->op == VUG_OP_PARAM)
                VUG_TRY(add_product(w, g, node.in[0], param->at.param.slot, err));
        }
    }
    return VUG_OK;
}

/* The head reads the output of the final norm, which is the output of this flow. */
static vug_status add_head(imatrix_run *w, vug_graph *g, vug_err *err)
{
    const vug_binding *b = &vug_model_checkpoint(w->model)->binding;
    const vug_config *c = &vug_model_checkpoint(w->model)->config;
    const vug_val x = g->output[0].value;
    size_t slot = VUG_EMBEDDING_SLOT;
    for (size_t i = 0; !b->tied && i < b->n_slots; i++) {
        if (b->tensor[i] && strcmp(vug_weight_slot_at(c, i).row->name, "output") == 0)
            slot = i;
    }
    return add_product(w, g, x, (int)slot, err);
}

static vug_status build_program(imatrix_run *w, vug_err *err)
{
    const vug_flow_options options = {
        .past = VUG_PAST_NONE, .outputs = VUG_OUT_HIDDEN, .context = w->window, .step = w->window
    };
    vug_flow *flow;
    VUG_TRY(vug_flow_create(w->model, &options, &flow, err));
    vug_graph *g = vug_flow_graph(flow);
    vug_status st = find_products(w, g, err);
    if (st == VUG_OK)
        st = add_head(w, g, err);
    if (st == VUG_OK)
        st = vug_flow_build(flow, &w->program, err);
    vug_flow_destroy(flow);
    return st;
}

/* ---- the text ------------------------------------------------------------------------------- */

static void add_squares(const imatrix_run *w, size_t n)
{
    for (size_t i = 0; i < w->n_inputs; i++) {
        const imatrix_input *in = &w->input[i];
        const float *x = vug_program_get(w->program, in->name, NULL);
        for (size_t t = w->n_front; t < n; t++) {
            for (int64_t k = 0; k < in->width; k++) {
                const double v = (double)x[(int64_t)t * in->width + k];
                in->sum[k] += v * v;
            }
        }
    }
}

static vug_status read_windows(imatrix_run *w, const vug_tokens *id, vug_err *err)
{
    const size_t per_window = (size_t)w->window - w->n_front;
    for (size_t at = 0; at < id->n; at += per_window) {
        const size_t n = id->n - at < per_window ? id->n - at : per_window;
        memcpy(w->row + w->n_front, id->id + at, n * sizeof(*w->row));
        vug_program_set_ids(w->program, "tokens", w->row, w->n_front + n);
        VUG_TRY(vug_program_run(w->program, err));
        add_squares(w, w->n_front + n);
        w->counted += (int64_t)n;
        w->chunks++;
        if (w->o->progress && !w->o->progress((uint64_t)w->counted, id->n, w->o->user))
            return VUG_FAIL(err, VUG_CANCELLED, "%s: stopped", w->name);
    }
    return VUG_OK;
}

static vug_status init_run(imatrix_run *w, const vug_tokenizer *tokenizer, vug_err *err)
{
    const int64_t holds = vug_model_describe(w->model).context;
    w->front = vug_tokenizer_prefix(tokenizer, &w->n_front);
    w->window = w->o->window ? w->o->window : holds < 512 ? holds : 512;
    if (w->window <= (int64_t)w->n_front || w->window > holds)
        return VUG_FAIL(err, VUG_ARGUMENT, "windows of %lld tokens, expected %zu to %lld",
                        (long long)w->window, w->n_front + 1, (long long)holds);
    w->row = vug_arena_alloc(&w->arena, (size_t)w->window, sizeof(*w->row));
    if (!w->row)
        return VUG_FAIL_NOMEM(err, "a window", (uint64_t)w->window * sizeof(*w->row));
    if (w->n_front)
        memcpy(w->row, w->front, w->n_front * sizeof(*w->row));
    return build_program(w, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Each product has a tensor of sums, then one of the count. */
static vug_status fill_sums(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                            vug_err *err)
{
    const imatrix_run *w = user;
    const imatrix_input *in = &w->input[w->product[i / 2].input];
    const float counted = (float)w->counted;
    (void)err;
    for (size_t k = 0; k < n / sizeof(float); k++) {
        const float sum = i % 2 ? counted : (float)in->sum[at / sizeof(float) + k];
        memcpy(bytes + k * sizeof(float), &sum, sizeof(sum));
    }
    return VUG_OK;
}

static vug_status write_sums(imatrix_run *w, const char *out, vug_err *err)
{
    vug_tensor_spec *spec = vug_arena_alloc(&w->arena, 2 * w->n_products, sizeof(*spec));
    if (!spec)
        return VUG_FAIL_NOMEM(err, out, 2 * w->n_products * sizeof(*spec));
    for (size_t i = 0; i < 2 * w->n_products; i++) {
        const imatrix_product *p = &w->product[i / 2];
        char name[sizeof(p->name) + 16];
        (void)snprintf(name, sizeof(name), "%s.%s", p->name, i % 2 ? "counts" : "in_sum2");
        spec[i] = (vug_tensor_spec){ .name = vug_arena_copy(&w->arena, vug_str_of(name)),
                                     .dtype = VUG_DTYPE_F32,
                                     .rank = 2,
                                     .dim = { 1, i % 2 ? 1 : w->input[p->input].width } };
        if (!spec[i].name.ptr)
            return VUG_FAIL_NOMEM(err, out, sizeof(name));
    }
    const vug_str text = vug_str_of(w->name);
    vug_gguf_builder metadata = { 0 };
    vug_gguf_put_string(&metadata, "general.type", vug_str_of("imatrix"));
    vug_gguf_put_strings(&metadata, "imatrix.datasets", &text, 1);
    vug_gguf_put_u32(&metadata, "imatrix.chunk_count", (uint32_t)w->chunks);
    vug_gguf_put_u32(&metadata, "imatrix.chunk_size", (uint32_t)w->window);
    const vug_tensor_stream stream = {
        .tensor = spec, .n = 2 * w->n_products, .fill = fill_sums, .user = w
    };
    const vug_status st = vug_gguf_write(out, &metadata, &stream, err);
    vug_gguf_builder_release(&metadata);
    return st;
}

vug_status vug_importance_collect(vug_model *model, const char *text, size_t len, const char *out,
                                  const vug_importance_options *options, vug_err *err)
{
    const vug_importance_options none = { 0 };
    imatrix_run w = { .model = model, .o = options ? options : &none };
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    vug_tokens id = { 0 };
    w.name = w.o->name ? w.o->name : "the text";
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    vug_status st = vug_tokenizer_encode(tokenizer, text, len, VUG_ENCODE_PARSE_SPECIAL, &id, err);
    if (st == VUG_OK && id.n == 0)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%s: no tokens", w.name);
    if (st == VUG_OK)
        st = init_run(&w, tokenizer, err);
    if (st == VUG_OK)
        st = read_windows(&w, &id, err);
    if (st == VUG_OK)
        st = write_sums(&w, out, err);
    vug_program_destroy(w.program);
    vug_tokens_release(&id);
    vug_arena_release(&w.arena);
    return st;
}
