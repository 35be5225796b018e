#include "test.h"

#include "backend/cpu/cpu.h"
#include "backend_help.h"

const vug_attr_norm help_norm_attr = { .eps = 1e-6f, .bias = 1 };

static vug_val norm(help_graph *m, vug_val x, int64_t width)
{
    return help_append(m, (vug_node){ .op = VUG_OP_RMS_NORM,
                                      .in = { x, help_weight(m, 0, width) },
                                      .at.norm = help_norm_attr });
}

static vug_val add_norm(help_graph *m, bool fused, vug_val x, vug_val a)
{
    if (!fused)
        return help_op2(m, VUG_OP_ADD, x, norm(m, a, D));
    return help_append(m, (vug_node){ .op = VUG_OP_ADD_NORM,
                                      .in = { x, a, help_weight(m, 0, D) },
                                      .at.norm = help_norm_attr });
}

static vug_val norm_rope(help_graph *m, bool fused, vug_val x, vug_val table)
{
    if (!fused)
        return help_op2(m, VUG_OP_ROPE, norm(m, x, E), table);
    return help_append(m, (vug_node){ .op = VUG_OP_NORM_ROPE,
                                      .in = { x, help_weight(m, 0, E), table },
                                      .at.norm = help_norm_attr });
}

static vug_val block(help_graph *m, bool fused, vug_val x, vug_val table)
{
    const vug_attr_attention attn = { .layer = m->layer,
                                      .window = m->layer == 1 ? 0 : 20,
                                      .scale = 0.3f,
                                      .softcap = m->layer == 2 ? 9.0f : 0 };
    const vug_val h = norm(m, x, D);
    vug_val q = help_linear(m, h, (int64_t)HEADS * E, D);
    if (m->layer == 1)
        q = help_op2(m, VUG_OP_BIAS, q, help_weight(m, 0, (int64_t)HEADS * E));
    q = help_heads(m, q, HEADS);
    vug_val k = help_heads(m, help_linear(m, h, (int64_t)KV * E, D), KV);
    const vug_val v = help_heads(m, help_linear(m, h, (int64_t)KV * E, D), KV);
    q = norm_rope(m, fused, q, table);
    k = norm_rope(m, fused, k, table);
    const vug_val a = help_append(
            m, (vug_node){ .op = VUG_OP_ATTENTION, .in = { q, k, v }, .at.attn = attn });
    const vug_val merged = help_append(m, (vug_node){ .op = VUG_OP_MERGE, .in = { a } });
    x = add_norm(m, fused, x, help_linear(m, merged, D, (int64_t)HEADS * E));

    const vug_val f = norm(m, x, D);
    const vug_val gate = help_linear(m, f, FFN, D), up = help_linear(m, f, FFN, D);
    const bool silu = m->layer == 1;
    const vug_op alone = silu ? VUG_OP_SILU : VUG_OP_GELU;
    const vug_val act =
            fused ? help_op2(m, silu ? VUG_OP_SWIGLU : VUG_OP_GEGLU, gate, up)
                  : help_op2(m, VUG_OP_MUL,
                             help_append(m, (vug_node){ .op = alone, .in = { gate } }), up);
    return add_norm(m, fused, x, help_linear(m, act, D, FFN));
}

/* A block that shares the cache of layer 0, with a query for each row of x. It also uses one
 * head of the result alone and multiplies by a scale. */
static vug_val shared_block(help_graph *m, vug_val x, vug_val table)
{
    const vug_attr_attention attn = { .layer = 0, .window = 20, .scale = 1.1f, .shared = true };
    vug_val q = help_heads(m, help_linear(m, norm(m, x, D), (int64_t)HEADS * E, D), HEADS);
    q = help_append(m, (vug_node){ .op = VUG_OP_DEINTERLEAVE, .in = { q } });
    q = help_op2(m, VUG_OP_ROPE, q, table);
    q = help_append(m, (vug_node){ .op = VUG_OP_UNIT_NORM, .in = { q }, .at.norm = { 1e-5f, 0 } });
    const vug_val a =
            help_append(m, (vug_node){ .op = VUG_OP_ATTENTION, .in = { q }, .at.attn = attn });
    const vug_val one =
            help_append(m, (vug_node){ .op = VUG_OP_HEAD, .in = { a }, .at.head = { 2 } });
    const vug_val merged = help_append(m, (vug_node){ .op = VUG_OP_MERGE, .in = { a } });
    x = help_op2(m, VUG_OP_ADD, x, help_linear(m, merged, D, (int64_t)HEADS * E));
    x = help_op2(m, VUG_OP_ADD, x, help_linear(m, one, D, E));
    return help_op2(m, VUG_OP_SCALE_BY, x, help_weight(m, 0, 1));
}

help_graph help_small_model(bool fused)
{
    static const float inv[3] = { 1, 0.1f, 0.01f }; /* half of each head is rotated */
    help_graph m = { .r = { 31 }, .layer = -1, .blocks = true };
    const vug_val tokens = help_input(&m, VUG_INPUT_TOKENS);
    const vug_val positions = help_input(&m, VUG_INPUT_POSITIONS);
    const vug_val rows = help_input(&m, VUG_INPUT_ROWS);
    const vug_val table = help_append(
            &m,
            (vug_node){ .op = VUG_OP_ROPE_TABLE, .in = { positions }, .at.table = { 6, inv, 1 } });
    const vug_val embedding = help_weight(&m, V, D);
    vug_val x = help_append(
            &m,
            (vug_node){ .op = VUG_OP_EMBED, .in = { embedding, tokens }, .at.scale = { 6.5f } });
    for (m.layer = 0; m.layer < LAYERS; m.layer++)
        x = block(&m, fused, x, table);
    x = shared_block(&m, x, table);
    m.layer = -1;
    x = help_append(&m, (vug_node){ .op = VUG_OP_SCALE, .in = { x }, .at.scale = { 0.5f } });
    m.layer = LAYERS + 1;
    vug_val last = help_op2(&m, VUG_OP_GATHER, x, rows);
    last = shared_block(&m, last, help_op2(&m, VUG_OP_GATHER, table, rows));
    m.layer = -1;
    last = norm(&m, last, D);
    const vug_val logits =
            help_append(&m, (vug_node){ .op = VUG_OP_SOFTCAP,
                                        .in = { help_op2(&m, VUG_OP_LINEAR, last, embedding) },
                                        .at.scale = { 20 } });
    assert_int_equal(vug_graph_output(&m.graph, "logits", logits, NULL), VUG_OK);
    assert_int_equal(vug_graph_output(&m.graph, "hidden", x, NULL), VUG_OK);
    help_plan(&m, BATCH);
    return m;
}

backend_setup help_backend_setup(const help_graph *m, const char *isa, int threads)
{
    backend_setup s = { .b = &vug_backend_cpu };
    vug_err err = { 0 };
    const vug_device_options options = { .isa = isa, .threads = threads };
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    vug_status st = s.b->open(&options, &s.device, &err);
    if (st == VUG_OK)
        st = s.b->weights_create(s.device, m->weight, (size_t)m->n_weights, &s.weights, &err);
    if (st == VUG_OK)
        st = s.b->compile(s.weights, &m->graph, &m->plan, &limits, &s.program, &err);
    if (st == VUG_OK)
        st = vug_kv_fixed_init(&s.kv, s.b, s.device, s.b->kv_layout(s.program), &limits, 2, &err);
    if (st == VUG_OK)
        st = s.b->workspace_create(s.program, &s.workspace, &err);
    if (st != VUG_OK)
        fail_msg("%s", err.msg);
    return s;
}

void help_backend_teardown(backend_setup *s)
{
    vug_kv_fixed_release(&s->kv);
    s->b->workspace_destroy(s->workspace);
    s->b->release(s->program);
    s->b->weights_destroy(s->weights);
    s->b->close(s->device);
}
