/* The builder functions: each appends one node. */
#include "flow/builder.h"

#include <stdarg.h>
#include <stdio.h>

vug_flow vug_flow_begin(vug_graph *g, vug_find_weight_fn *find, const void *user)
{
    return (vug_flow){ .g = g, .find = find, .user = user, .layer = -1 };
}

void vug_flow_fail(vug_flow *f, vug_status code, const char *fmt, ...)
{
    char text[400], where[32] = "";
    va_list args;
    if (f->st != VUG_OK)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (f->layer >= 0)
        (void)snprintf(where, sizeof(where), "layer %d: ", f->layer);
    f->st = VUG_FAIL(&f->err, code, "flow: %s%s", where, text);
}

void flow_fail(vug_flow *f, const char *message)
{
    vug_flow_fail(f, VUG_ARGUMENT, "%s", message);
}

bool vug_flow_is_open(vug_flow *f)
{
    if (f->closed)
        vug_flow_fail(
                f, VUG_ARGUMENT,
                "a builder function was called after vug_flow_create; only hooks may call them");
    return f->st == VUG_OK;
}

vug_shape flow_shape(const vug_flow *f, vug_val x)
{
    return f->st == VUG_OK && vug_flow_is_value(f, x) ? vug_graph_at(f->g, x)->shape
                                                      : (vug_shape){ 0 };
}

static vug_val append_node(vug_flow *f, vug_node node)
{
    vug_val out = { 0 };
    node.layer = f->layer;
    if (vug_flow_is_open(f))
        f->st = vug_graph_append(f->g, &node, &out, &f->err);
    return out;
}

static int64_t dim_of(int64_t known, int64_t symbol)
{
    return known > 0 ? known : symbol;
}

/* The input of that name; 0: there is none. */
static vug_val find_input(const vug_flow *f, const char *name)
{
    for (uint32_t i = 1; i < f->g->n; i++) {
        const vug_node *node = &f->g->node[i];
        if (node->op == VUG_OP_INPUT && strcmp(node->name, name) == 0)
            return (vug_val){ i };
    }
    return (vug_val){ 0 };
}

vug_val flow_input(vug_flow *f, vug_input which)
{
    static const char *const names[] = {
        [VUG_INPUT_TOKENS] = "tokens",
        [VUG_INPUT_POSITIONS] = "positions",
        [VUG_INPUT_ROWS] = "rows",
    };
    if ((unsigned)which >= sizeof(names) / sizeof(names[0])) {
        flow_fail(f, "flow_input makes tokens, positions and rows; flow_data makes other inputs");
        return (vug_val){ 0 };
    }
    const vug_val existing = find_input(f, names[which]);
    if (existing.id && vug_graph_at(f->g, existing)->at.input.which != which)
        vug_flow_fail(f, VUG_ARGUMENT, "flow_input: '%s' is an input that flow_data made",
                      names[which]);
    if (existing.id)
        return existing;
    const int64_t n =
            which == VUG_INPUT_ROWS ? dim_of(f->rows, VUG_DIM_R) : dim_of(f->tokens, VUG_DIM_T);
    return append_node(f, (vug_node){ .op = VUG_OP_INPUT,
                                      .name = names[which],
                                      .shape = { 1, { n } },
                                      .at.input = { .which = which } });
}

/* Returns the input `existing`; fails unless flow_data made it with this shape. */
static vug_val reuse_data_input(vug_flow *f, vug_val existing, const vug_shape *shape)
{
    char is[96], asked[96];
    const vug_node *node = vug_graph_at(f->g, existing);
    if (node->at.input.which != VUG_INPUT_DATA)
        vug_flow_fail(f, VUG_ARGUMENT, "flow_data: '%s' is an input of the model", node->name);
    else if (!vug_shape_equal(&node->shape, shape))
        vug_flow_fail(f, VUG_ARGUMENT, "flow_data: input '%s' exists already with shape %s, not %s",
                      node->name, vug_shape_text(&node->shape, is), vug_shape_text(shape, asked));
    return existing;
}

vug_val flow_data(vug_flow *f, const char *name, vug_shape shape)
{
    if (!name || !*name) {
        flow_fail(f, "flow_data: an input needs a name");
        return (vug_val){ 0 };
    }
    if (shape.rank > 0 && shape.dim[0] == VUG_DIM_T)
        shape.dim[0] = dim_of(f->tokens, VUG_DIM_T);
    const vug_val existing = find_input(f, name);
    if (existing.id)
        return reuse_data_input(f, existing, &shape);
    return append_node(f,
                       (vug_node){ .op = VUG_OP_INPUT,
                                   .name = name,
                                   .shape = shape,
                                   .at.input = { .which = VUG_INPUT_DATA, .index = f->n_data++ } });
}

vug_val flow_weight(vug_flow *f, const char *name)
{
    vug_weight_spec spec = { 0 };
    if (!name)
        flow_fail(f, "a weight's name is missing");
    if (vug_flow_is_open(f))
        f->st = f->find(f->user, name, f->layer, &spec, &f->err);
    return append_node(f, (vug_node){ .op = VUG_OP_PARAM,
                                      .name = name,
                                      .shape = spec.shape,
                                      .at.param = { spec.slot, spec.dtype } });
}

vug_val flow_embed(vug_flow *f, vug_val table, vug_val tokens, float scale)
{
    return append_node(f, (vug_node){ .op = VUG_OP_EMBED,
                                      .name = "embed",
                                      .in = { table, tokens },
                                      .at.scale = { scale } });
}

vug_val flow_linear(vug_flow *f, vug_val x, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return append_node(f, (vug_node){ .op = VUG_OP_LINEAR, .name = name, .in = { x, w } });
}

vug_val flow_project(vug_flow *f, vug_val x, vug_val weight)
{
    return append_node(f, (vug_node){ .op = VUG_OP_LINEAR, .in = { x, weight } });
}

vug_val flow_rms_norm(vug_flow *f, vug_val x, const char *name, vug_attr_norm at)
{
    const vug_val w = flow_weight(f, name);
    return append_node(
            f, (vug_node){ .op = VUG_OP_RMS_NORM, .name = name, .in = { x, w }, .at.norm = at });
}

vug_val flow_rope_table(vug_flow *f, vug_val positions, const char *name, vug_attr_table at)
{
    return append_node(f, (vug_node){ .op = VUG_OP_ROPE_TABLE,
                                      .name = name,
                                      .in = { positions },
                                      .at.table = at });
}

vug_val flow_rope(vug_flow *f, vug_val x, vug_val table)
{
    return append_node(f, (vug_node){ .op = VUG_OP_ROPE, .in = { x, table } });
}

static void export_kv(vug_flow *f, const char *which, vug_val x)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%s.%d", which, f->layer);
    flow_output(f, name, x);
}

static vug_val past_input(vug_flow *f, const char *which, vug_val like)
{
    char name[32];
    vug_shape shape = flow_shape(f, like);
    shape.dim[0] = dim_of(f->past, VUG_DIM_P);
    (void)snprintf(name, sizeof(name), "past.%s.%d", which, f->layer);
    return flow_data(f, name, shape);
}

/* All layers with the same window share one input, which belongs to none of them. */
static vug_val mask_input(vug_flow *f, int64_t window)
{
    const int layer = f->layer;
    char name[32] = "mask";
    if (window > 0)
        (void)snprintf(name, sizeof(name), "mask.%lld", (long long)window);
    f->layer = -1;
    const vug_shape shape = { 2, { VUG_DIM_T, dim_of(f->keys, VUG_DIM_S) } };
    const vug_val mask = flow_data(f, name, shape);
    f->layer = layer;
    return mask;
}

/* A mask replaces the window. */
static vug_attr_attention attention_attrs(const vug_flow *f, const vug_attr_attn *at)
{
    return (vug_attr_attention){ .layer = at->layer,
                                 .window = f->custom_mask ? 0 : at->window,
                                 .scale = at->scale,
                                 .softcap = at->softcap,
                                 .mask = f->custom_mask };
}

vug_val flow_attention(vug_flow *f, vug_val q, vug_val k, vug_val v, vug_attr_attn at)
{
    vug_node node = { .op = VUG_OP_ATTENTION,
                      .in = { q, k, v },
                      .at.attn = attention_attrs(f, &at) };
    int n = 3;
    node.at.attn.layer = f->layer;
    node.at.attn.past = f->given_past;
    if (f->given_past) {
        node.in[n++] = past_input(f, "k", k);
        node.in[n++] = past_input(f, "v", v);
    }
    if (f->custom_mask)
        node.in[n] = mask_input(f, at.window);
    if (f->export_kv) {
        export_kv(f, "k", k);
        export_kv(f, "v", v);
    }
    return append_node(f, node);
}

vug_val flow_shared_kv_attention(vug_flow *f, vug_val q, vug_attr_attn at)
{
    vug_node node = { .op = VUG_OP_ATTENTION, .in = { q }, .at.attn = attention_attrs(f, &at) };
    node.at.attn.shared = true;
    if (f->custom_mask)
        node.in[1] = mask_input(f, at.window);
    return append_node(f, node);
}

vug_val flow_heads(vug_flow *f, vug_val x, int64_t count)
{
    return append_node(f,
                       (vug_node){ .op = VUG_OP_HEADS, .in = { x }, .at.heads = { (int)count } });
}

vug_val flow_merge(vug_flow *f, vug_val x)
{
    return append_node(f, (vug_node){ .op = VUG_OP_MERGE, .in = { x } });
}

vug_val flow_add(vug_flow *f, vug_val a, vug_val b)
{
    return append_node(f, (vug_node){ .op = VUG_OP_ADD, .in = { a, b } });
}

vug_val flow_mul(vug_flow *f, vug_val a, vug_val b)
{
    return append_node(f, (vug_node){ .op = VUG_OP_MUL, .in = { a, b } });
}

vug_val flow_scale(vug_flow *f, vug_val x, float by)
{
    return append_node(f, (vug_node){ .op = VUG_OP_SCALE, .in = { x }, .at.scale = { by } });
}

vug_val flow_gelu(vug_flow *f, vug_val x)
{
    return append_node(f, (vug_node){ .op = VUG_OP_GELU, .in = { x } });
}

vug_val flow_silu(vug_flow *f, vug_val x)
{
    return append_node(f, (vug_node){ .op = VUG_OP_SILU, .in = { x } });
}

vug_val flow_bias(vug_flow *f, vug_val x, const char *name)
{
    const vug_val b = flow_weight(f, name);
    return append_node(f, (vug_node){ .op = VUG_OP_BIAS, .name = name, .in = { x, b } });
}

vug_val flow_softcap(vug_flow *f, vug_val x, float by)
{
    if (by == 0)
        return x;
    return append_node(f, (vug_node){ .op = VUG_OP_SOFTCAP, .in = { x }, .at.scale = { by } });
}

vug_val flow_scale_by(vug_flow *f, vug_val x, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return append_node(f, (vug_node){ .op = VUG_OP_SCALE_BY, .name = name, .in = { x, w } });
}

vug_val flow_unit_norm(vug_flow *f, vug_val x, float eps)
{
    return append_node(
            f, (vug_node){ .op = VUG_OP_UNIT_NORM, .in = { x }, .at.norm = { .eps = eps } });
}

vug_val flow_deinterleave(vug_flow *f, vug_val x)
{
    return append_node(f, (vug_node){ .op = VUG_OP_DEINTERLEAVE, .in = { x } });
}

vug_val flow_head(vug_flow *f, vug_val x, int index)
{
    return append_node(f, (vug_node){ .op = VUG_OP_HEAD, .in = { x }, .at.head = { index } });
}

vug_val flow_gather(vug_flow *f, vug_val x, vug_val rows)
{
    return append_node(f, (vug_node){ .op = VUG_OP_GATHER, .in = { x, rows } });
}

vug_val flow_router(vug_flow *f, vug_val logits, vug_attr_router at)
{
    return append_node(
            f,
            (vug_node){ .op = VUG_OP_ROUTER, .name = "router", .in = { logits }, .at.router = at });
}

vug_val flow_route_scale(vug_flow *f, vug_val route, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return append_node(f, (vug_node){ .op = VUG_OP_ROUTE_SCALE, .name = name, .in = { route, w } });
}

vug_val flow_experts(vug_flow *f, vug_val x, vug_val route, vug_experts_spec of)
{
    const vug_op act = of.act == VUG_ACT_SILU ? VUG_OP_SILU : VUG_OP_GELU;
    const vug_val gate = flow_weight(f, of.gate);
    const vug_val up = flow_weight(f, of.up);
    const vug_val down = flow_weight(f, of.down);
    return append_node(f, (vug_node){ .op = VUG_OP_EXPERTS,
                                      .name = "experts",
                                      .in = { x, route, gate, up, down },
                                      .at.experts = { act } });
}

void flow_output(vug_flow *f, const char *name, vug_val x)
{
    if (!vug_flow_is_open(f))
        return;
    if (!name || !*name)
        flow_fail(f, "flow_output: an output needs a name");
    for (uint32_t i = 0; name && i < f->g->n_outputs; i++) {
        if (strcmp(f->g->output[i].name, name) == 0)
            vug_flow_fail(f, VUG_ARGUMENT, "flow_output: an output '%s' exists already", name);
    }
    if (f->st == VUG_OK)
        f->st = vug_graph_output(f->g, name, x, &f->err);
}

void flow_hidden(vug_flow *f, vug_val x)
{
    char name[32];
    if (!f->hidden)
        return;
    (void)snprintf(name, sizeof(name), "hidden.%d", f->n_hidden++);
    flow_output(f, name, x);
}
