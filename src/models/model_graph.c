/* Builds a model's flow: calls the phases of the architecture, or the hooks in their place. */
#include "models/models.h"

static vug_val embed_phase(vug_flow *f, void *context, int layer, vug_val x)
{
    vug_model_context *s = context;
    (void)layer;
    (void)x;
    return s->config->arch->embed(f, s);
}

static vug_val layer_phase(vug_flow *f, void *context, int layer, vug_val x)
{
    vug_model_context *s = context;
    return s->config->arch->layer(f, s, layer, x);
}

static vug_val identity_phase(vug_flow *f, void *context, int layer, vug_val x)
{
    (void)f;
    (void)context;
    (void)layer;
    return x;
}

static void check_hook_result(vug_flow *f, const vug_model_context *s, vug_val x)
{
    char found[96], wanted[96];
    const vug_shape shape = flow_shape(f, x);
    const vug_shape expected = { 2, { flow_shape(f, s->tokens).dim[0], s->config->d_model } };
    if (shape.rank == 0)
        flow_fail(f, "the hook returned no value");
    else if (!vug_shape_equal(&shape, &expected))
        vug_flow_fail(f, VUG_ARGUMENT, "the hook returned %s, expected %s",
                      vug_shape_text(&shape, found), vug_shape_text(&expected, wanted));
}

static vug_layer_spec make_layer_spec(const vug_config *c, int i)
{
    const vug_layer_config own = vug_config_layer(c, i);
    return (vug_layer_spec){ .index = i,
                             .n_layers = c->n_layers,
                             .d_model = c->d_model,
                             .n_heads = c->n_heads,
                             .n_kv_heads = own.n_kv_heads,
                             .d_head = own.d_head,
                             .d_ffn = own.d_ffn,
                             .window = vug_config_window(c, i),
                             .attn_scale = c->attn_scale,
                             .norm_eps = c->norm_eps };
}

/* Runs the hook if there is one, else the phase. */
static vug_val run_phase(vug_flow *f, vug_model_context *s, vug_phase_fn *phase,
                         vug_flow_hook *hook, vug_val x)
{
    if (!hook)
        return phase(f, s, f->layer, x);
    vug_layer_spec spec = { 0 };
    if (f->layer >= 0)
        spec = make_layer_spec(s->config, f->layer);
    const vug_flow_phase at = { .layer = f->layer >= 0 ? &spec : NULL,
                                .x = x,
                                .tokens = s->tokens,
                                .positions = s->positions };
    f->phase = phase;
    f->context = s;
    f->once = f->layer >= 0;
    f->done = false;
    f->hook_from = f->g->n;
    x = hook(f, &at, s->user);
    f->phase = NULL;
    check_hook_result(f, s, x);
    return x;
}

/* Hooks and hidden states need every row. */
static bool may_select_rows(const vug_flow *f, const vug_flow_options *o)
{
    return o->outputs == VUG_OUT_LAST && !f->hidden && !o->layer && !o->after && !o->patch &&
           !o->custom_mask;
}

/* Runs all layers. Where the architecture allows, x is reduced to `rows` on the way, and
 * `rows` is cleared. */
static vug_val run_layers(vug_flow *f, vug_model_context *s, const vug_flow_options *o, vug_val x,
                          vug_val *rows)
{
    const vug_config *c = s->config;
    const bool selects = c->arch->select_rows && may_select_rows(f, o);
    for (int i = 0; i < c->n_layers; i++) {
        if (selects && c->layer[i].kv_layers_back && rows->id) {
            f->layer = -1;
            c->arch->select_rows(f, s, *rows);
            x = flow_gather(f, x, *rows);
            *rows = (vug_val){ 0 };
        }
        f->layer = i;
        flow_hidden(f, x);
        x = run_phase(f, s, layer_phase, o->layer, x);
    }
    f->layer = -1;
    return x;
}

static void run_patch(vug_flow *f, const vug_flow_options *o)
{
    f->hook_from = f->g->n;
    if (o->patch && f->st == VUG_OK)
        o->patch(f, o->user);
}

void vug_model_write_flow(vug_flow *f, const vug_binding *binding, const vug_flow_options *o)
{
    const vug_config *c = binding->config;
    const vug_arch *arch = c->arch;
    vug_model_context s = { .config = c, .binding = binding, .user = o->user };
    vug_val rows = { 0 };
    s.tokens = flow_input(f, VUG_INPUT_TOKENS);
    s.positions = flow_input(f, VUG_INPUT_POSITIONS);
    if (o->outputs == VUG_OUT_LAST)
        rows = flow_input(f, VUG_INPUT_ROWS);
    s.embedding = flow_weight(f, arch->row[0].name);
    f->custom_mask = o->custom_mask;
    f->export_kv = o->export_kv;
    vug_val x = run_phase(f, &s, embed_phase, o->before, (vug_val){ 0 });
    if (arch->prepare)
        arch->prepare(f, &s, x);
    x = run_layers(f, &s, o, x, &rows);
    x = run_phase(f, &s, identity_phase, o->after, x);
    run_patch(f, o);
    if (f->hidden)
        flow_hidden(f, arch->norm(f, &s, x));
    if (rows.id)
        x = flow_gather(f, x, rows);
    x = arch->norm(f, &s, x);
    if (o->outputs == VUG_OUT_HIDDEN)
        flow_output(f, "hidden", x);
    else
        flow_output(f, "logits", arch->head(f, &s, x));
}

vug_status vug_model_build_graph(const vug_binding *binding, bool hidden, vug_graph *out,
                                 vug_err *err)
{
    vug_graph g = { .name = binding->config->arch->name };
    vug_flow f = vug_flow_begin(&g, vug_binding_find_weight, binding);
    f.hidden = hidden;
    vug_model_write_flow(&f, binding, &(vug_flow_options){ 0 });
    vug_status st = vug_flow_finish(&f, err);
    if (st == VUG_OK)
        st = vug_graph_verify(&g, err);
    if (st != VUG_OK) {
        vug_graph_release(&g);
        return st;
    }
    *out = g;
    return VUG_OK;
}
