#include "flow/flow.h"

#include <stdio.h>

vug_flow vug_flow_over(vug_graph *g, vug_find_weight_fn *find, const void *user)
{
    return (vug_flow){ .g = g, .find = find, .user = user, .layer = -1 };
}

vug_status vug_flow_finish(const vug_flow *f, vug_err *err)
{
    if (f->st != VUG_OK && err)
        *err = f->err;
    return f->st;
}

static vug_val emit(vug_flow *f, vug_node node)
{
    vug_val out = { 0 };
    node.layer = f->layer;
    if (f->st == VUG_OK)
        f->st = vug_graph_append(f->g, &node, &out, &f->err);
    return out;
}

vug_val flow_input(vug_flow *f, vug_input which)
{
    static const char *const names[] = {
        [VUG_INPUT_TOKENS] = "tokens",
        [VUG_INPUT_POSITIONS] = "positions",
        [VUG_INPUT_ROWS] = "rows",
    };
    const int64_t n = which == VUG_INPUT_ROWS ? VUG_DIM_R : VUG_DIM_T;
    return emit(f, (vug_node){ .op = VUG_OP_INPUT,
                               .name = names[which],
                               .shape = { 1, { n } },
                               .at.input = { which } });
}

vug_val flow_weight(vug_flow *f, const char *name)
{
    vug_weight_spec spec = { 0 };
    if (f->st == VUG_OK)
        f->st = f->find(f->user, name, f->layer, &spec, &f->err);
    return emit(f, (vug_node){ .op = VUG_OP_PARAM,
                               .name = name,
                               .shape = spec.shape,
                               .at.param = { spec.slot, spec.dtype } });
}

vug_val flow_embed(vug_flow *f, vug_val table, vug_val tokens, float scale)
{
    return emit(f, (vug_node){ .op = VUG_OP_EMBED,
                               .name = "embed",
                               .in = { table, tokens },
                               .at.scale = { scale } });
}

vug_val flow_linear(vug_flow *f, vug_val x, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return emit(f, (vug_node){ .op = VUG_OP_LINEAR, .name = name, .in = { x, w } });
}

vug_val flow_project(vug_flow *f, vug_val x, vug_val weight)
{
    return emit(f, (vug_node){ .op = VUG_OP_LINEAR, .in = { x, weight } });
}

vug_val flow_rms_norm(vug_flow *f, vug_val x, const char *name, vug_attr_norm at)
{
    const vug_val w = flow_weight(f, name);
    return emit(f,
                (vug_node){ .op = VUG_OP_RMS_NORM, .name = name, .in = { x, w }, .at.norm = at });
}

vug_val flow_rope_table(vug_flow *f, vug_val positions, const char *name, vug_attr_table at)
{
    return emit(f, (vug_node){ .op = VUG_OP_ROPE_TABLE,
                               .name = name,
                               .in = { positions },
                               .at.table = at });
}

vug_val flow_rope(vug_flow *f, vug_val x, vug_val table)
{
    return emit(f, (vug_node){ .op = VUG_OP_ROPE, .in = { x, table } });
}

vug_val flow_attention(vug_flow *f, vug_val q, vug_val k, vug_val v, vug_attr_attn at)
{
    at.layer = f->layer;
    return emit(f, (vug_node){ .op = VUG_OP_ATTENTION, .in = { q, k, v }, .at.attn = at });
}

vug_val flow_attend(vug_flow *f, vug_val q, vug_attr_attn at)
{
    return emit(f, (vug_node){ .op = VUG_OP_ATTEND, .in = { q }, .at.attn = at });
}

vug_val flow_heads(vug_flow *f, vug_val x, int64_t count)
{
    return emit(f, (vug_node){ .op = VUG_OP_HEADS, .in = { x }, .at.heads = { (int)count } });
}

vug_val flow_merge(vug_flow *f, vug_val x)
{
    return emit(f, (vug_node){ .op = VUG_OP_MERGE, .in = { x } });
}

vug_val flow_add(vug_flow *f, vug_val a, vug_val b)
{
    return emit(f, (vug_node){ .op = VUG_OP_ADD, .in = { a, b } });
}

vug_val flow_mul(vug_flow *f, vug_val a, vug_val b)
{
    return emit(f, (vug_node){ .op = VUG_OP_MUL, .in = { a, b } });
}

vug_val flow_gelu(vug_flow *f, vug_val x)
{
    return emit(f, (vug_node){ .op = VUG_OP_GELU, .in = { x } });
}

vug_val flow_silu(vug_flow *f, vug_val x)
{
    return emit(f, (vug_node){ .op = VUG_OP_SILU, .in = { x } });
}

vug_val flow_bias(vug_flow *f, vug_val x, const char *name)
{
    const vug_val b = flow_weight(f, name);
    return emit(f, (vug_node){ .op = VUG_OP_BIAS, .name = name, .in = { x, b } });
}

vug_val flow_softcap(vug_flow *f, vug_val x, float by)
{
    if (by == 0)
        return x;
    return emit(f, (vug_node){ .op = VUG_OP_SOFTCAP, .in = { x }, .at.scale = { by } });
}

vug_val flow_scale(vug_flow *f, vug_val x, float by)
{
    return emit(f, (vug_node){ .op = VUG_OP_SCALE, .in = { x }, .at.scale = { by } });
}

vug_val flow_gain(vug_flow *f, vug_val x, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return emit(f, (vug_node){ .op = VUG_OP_GAIN, .name = name, .in = { x, w } });
}

vug_val flow_unit_norm(vug_flow *f, vug_val x, float eps)
{
    return emit(f, (vug_node){ .op = VUG_OP_UNIT_NORM, .in = { x }, .at.norm = { .eps = eps } });
}

vug_val flow_head(vug_flow *f, vug_val x, int index)
{
    return emit(f, (vug_node){ .op = VUG_OP_HEAD, .in = { x }, .at.head = { index } });
}

vug_val flow_take(vug_flow *f, vug_val x, vug_val rows)
{
    return emit(f, (vug_node){ .op = VUG_OP_TAKE, .in = { x, rows } });
}

vug_val flow_router(vug_flow *f, vug_val logits, vug_attr_router at)
{
    return emit(
            f,
            (vug_node){ .op = VUG_OP_ROUTER, .name = "router", .in = { logits }, .at.router = at });
}

vug_val flow_route_scale(vug_flow *f, vug_val route, const char *name)
{
    const vug_val w = flow_weight(f, name);
    return emit(f, (vug_node){ .op = VUG_OP_ROUTE_SCALE, .name = name, .in = { route, w } });
}

vug_val flow_experts(vug_flow *f, vug_val x, vug_val route, flow_experts_of of)
{
    const vug_val gate = flow_weight(f, of.gate);
    const vug_val up = flow_weight(f, of.up);
    const vug_val down = flow_weight(f, of.down);
    return emit(f, (vug_node){ .op = VUG_OP_EXPERTS,
                               .name = "experts",
                               .in = { x, route, gate, up, down },
                               .at.experts = { of.act } });
}

void flow_output(vug_flow *f, const char *name, vug_val x)
{
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
