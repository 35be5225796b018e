/*
 * The graph: which inputs each operation accepts, the shape it infers, and its error
 * messages; arity and order; limits; and that verification notices a corrupt graph. The
 * dumps are in test_dump.c.
 */
#include "test.h"

#include "ir/ir.h"

/* "T,4,8" */
static vug_shape shape_from(const char *text)
{
    vug_shape s = { 0 };
    for (const char *c = text; *c; c += *c == ',') {
        int64_t dim = 0;
        static const char symbols[] = "TRPS"; /* -1, -2, .. */
        const char *symbol = strchr(symbols, *c);
        if (symbol) {
            dim = -1 - (symbol - symbols);
            c++;
        }
        for (; *c >= '0' && *c <= '9'; c++)
            dim = dim * 10 + (*c - '0');
        assert_true(s.rank < VUG_MAX_DIMS);
        s.dim[s.rank++] = dim;
    }
    return s;
}

static vug_val append(vug_graph *g, vug_node node)
{
    vug_val out = { 0 };
    vug_err err = { 0 };
    if (vug_graph_append(g, &node, &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return out;
}

/* A value of any shape: one with a symbol can only be an input. ">8,2" is
 * a router's that chooses 2 of 8. */
static vug_val value(vug_graph *g, const char *shape)
{
    if (*shape == '>') {
        const vug_shape s = shape_from(shape + 1);
        const vug_val logits = append(g, (vug_node){ .op = VUG_OP_INPUT,
                                                     .layer = -1,
                                                     .shape = { 2, { VUG_DIM_T, s.dim[0] } } });
        return append(g, (vug_node){ .op = VUG_OP_ROUTER,
                                     .layer = -1,
                                     .in = { logits },
                                     .at.router.count = (int)s.dim[1] });
    }
    const bool symbolic = strpbrk(shape, "TRPS") != NULL;
    return append(g, (vug_node){ .op = symbolic ? VUG_OP_INPUT : VUG_OP_PARAM,
                                 .layer = -1,
                                 .shape = shape_from(shape) });
}

/* ---- shapes -------------------------------------------------------------- */

static const float inv[] = { 1, 0.5f, 0.25f, 0.125f };

enum { CACHED = 7 };

/* An attention of two key/value heads of 8 and a window of 5. */
static void fill_cache(vug_graph *g, int layer)
{
    const vug_val q = value(g, "T,2,8"), k = value(g, "T,2,8"), v = value(g, "T,2,8");
    append(g, (vug_node){ .op = VUG_OP_ATTENTION,
                          .layer = layer,
                          .in = { q, k, v },
                          .at.attn = { .layer = layer, .window = 5, .scale = 1 } });
}

/* One node over inputs of the given shapes gives either a shape or a refusal. */
typedef struct {
    vug_node node;
    const char *in[VUG_MAX_INPUTS];
    const char *shape;
    const char *refusal;
} rule_row;

#define NODE(id)                                   \
    {                                              \
        .op = VUG_OP_##id, .layer = 3, .name = "x" \
    }
#define WITH(id, field)                                   \
    {                                                     \
        .op = VUG_OP_##id, .layer = 3, .name = "x", field \
    }
#define SCALED(id) WITH(id, .at.scale.by = 2)
#define SPLIT(n)   WITH(HEADS, .at.heads.count = n)
#define TABLE(n, p)                                                               \
    {                                                                             \
        .op = VUG_OP_ROPE_TABLE, .layer = 3, .name = "x", .at.table = { n, p, 1 } \
    }
/* An attention of layer `l` and window `w` over its own cache or a shared one, with `past` and
 * `mask` as flags. */
#define ATTENTION(l, w, s, p, m)                                      \
    {                                                                 \
        .op = VUG_OP_ATTENTION, .layer = 3, .name = "x", .at.attn = { \
            .layer = l,                                               \
            .window = w,                                              \
            .scale = 1,                                               \
            .shared = s,                                              \
            .past = p,                                                \
            .mask = m                                                 \
        }                                                             \
    }
#define ATTN(l, w)         ATTENTION(l, w, false, false, false)
#define GIVEN(p, m)        ATTENTION(3, 0, false, p, m)
#define SHARED(l, w, p, m) ATTENTION(l, w, true, p, m)
#define ROUTE(n)           WITH(ROUTER, .at.router.count = n)
#define MIX                WITH(EXPERTS, .at.experts.activation = VUG_OP_SILU)
#define MIX_OF \
    "expected gate and up [N,F,D] and down [N,D,F] of the N experts that the router chooses from"
#define READER(w)     SHARED(CACHED, w, false, false)
#define MASKED_READER SHARED(CACHED, 5, false, true)

static const rule_row rule_rows[] = {
    { ROUTE(2), { "T,8" }, "[T,4]", NULL },
    { ROUTE(8), { "R,8" }, "[R,16]", NULL },
    { ROUTE(9),
      { "T,8" },
      NULL,
      "inputs are [T,8], expected [T,N] with N up to 2^24 and a choice of 1 to N" },
    { ROUTE(0),
      { "T,8" },
      NULL,
      "inputs are [T,8], expected [T,N] with N up to 2^24 and a choice of 1 to N" },
    { ROUTE(1),
      { "T,16777217" },
      NULL,
      "inputs are [T,16777217], expected [T,N] with N up to 2^24 and a choice of 1 to N" },
    { ROUTE(1),
      { "T,2,4" },
      NULL,
      "inputs are [T,2,4], expected [T,N] with N up to 2^24 and a choice of 1 to N" },
    { NODE(ROUTE_SCALE), { ">8,2", "8" }, "[T,4]", NULL },
    { NODE(ROUTE_SCALE),
      { ">8,2", "4" },
      NULL,
      "inputs are [T,4] and [4], expected a router's value and a weight [N]" },
    { NODE(ROUTE_SCALE),
      { "T,4", "8" },
      NULL,
      "inputs are [T,4] and [8], expected a router's value and a weight [N]" },
    { MIX, { "T,6", ">8,2", "8,5,6", "8,5,6", "8,6,5" }, "[T,6]", NULL },
    { NODE(EXPERTS),
      { "T,6", ">8,2", "8,5,6", "8,5,6", "8,6,5" },
      NULL,
      "expected gelu or silu as activation" },
    { MIX,
      { "T,6", "T,4", "8,5,6", "8,5,6", "8,6,5" },
      NULL,
      "inputs are [T,6] and [T,4], expected [T,D] and a router's value of the same rows" },
    { MIX,
      { "R,6", ">8,2", "8,5,6", "8,5,6", "8,6,5" },
      NULL,
      "inputs are [R,6] and [T,4], expected [T,D] and a router's value of the same rows" },
    { MIX, { "T,6", ">9,2", "8,5,6", "8,5,6", "8,6,5" }, NULL, MIX_OF },
    { MIX, { "T,7", ">8,2", "8,5,6", "8,5,6", "8,6,5" }, NULL, MIX_OF },
    { MIX, { "T,6", ">8,2", "8,5,6", "8,4,6", "8,6,5" }, NULL, MIX_OF },
    { MIX, { "T,6", ">8,2", "8,5,6", "8,5,6", "7,6,5" }, NULL, MIX_OF },
    { MIX, { "T,6", ">8,2", "8,5,6", "8,5,6", "8,5,6" }, NULL, MIX_OF },
    { MIX, { "T,6", ">8,2", "5,6", "5,6", "6,5" }, NULL, MIX_OF },
    { WITH(HOST_EXPERTS, .at.host_experts.index = 1), { "T,6", ">8,2" }, "[T,6]", NULL },
    { NODE(HOST_EXPERTS),
      { "T,6", "T,4" },
      NULL,
      "inputs are [T,6] and [T,4], expected [T,D] and a router's value of the same rows" },
    { NODE(HOST_EXPERTS),
      { "T,2,3", ">8,2" },
      NULL,
      "inputs are [T,2,3] and [T,4], expected [T,D] and a router's value of the same rows" },

    { SCALED(EMBED), { "100,8", "T" }, "[T,8]", NULL },
    { SCALED(EMBED),
      { "100", "T" },
      NULL,
      "inputs are [100] and [T], expected a table [V,D] and tokens [T]" },
    { SCALED(EMBED),
      { "100,8", "T,1" },
      NULL,
      "inputs are [100,8] and [T,1], expected a table [V,D] and tokens [T]" },

    { NODE(LINEAR),
      { "1099511627776,8", "16777216,8" },
      NULL,
      "has more elements than can be counted" },
    { NODE(LINEAR), { "T,8", "16,8" }, "[T,16]", NULL },
    { NODE(LINEAR), { "R,8", "16,8" }, "[R,16]", NULL },
    { NODE(LINEAR),
      { "T,8", "16,7" },
      NULL,
      "inputs are [T,8] and [16,7], expected [T,in] and a weight [out,in]" },
    { NODE(LINEAR),
      { "T,2,8", "16,8" },
      NULL,
      "inputs are [T,2,8] and [16,8], expected [T,in] and a weight [out,in]" },
    { NODE(LINEAR),
      { "T,8", "8" },
      NULL,
      "inputs are [T,8] and [8], expected [T,in] and a weight [out,in]" },

    { NODE(RMS_NORM), { "T,8", "8" }, "[T,8]", NULL },
    { NODE(RMS_NORM), { "T,4,8", "8" }, "[T,4,8]", NULL },
    { NODE(RMS_NORM),
      { "T,4,8", "4" },
      NULL,
      "inputs are [T,4,8] and [4], expected [...,D] and a weight [D]" },
    { NODE(RMS_NORM),
      { "T,8", "1,8" },
      NULL,
      "inputs are [T,8] and [1,8], expected [...,D] and a weight [D]" },

    { TABLE(8, inv), { "T" }, "[T,8]", NULL },
    { TABLE(7, inv), { "T" }, NULL, "an even number of dimensions and half as many frequencies" },
    { TABLE(0, inv), { "T" }, NULL, "an even number of dimensions and half as many frequencies" },
    { TABLE(8, NULL), { "T" }, NULL, "an even number of dimensions and half as many frequencies" },
    { TABLE(8, inv), { "T,1" }, NULL, "an even number of dimensions and half as many frequencies" },

    { NODE(ROPE), { "T,4,8", "T,8" }, "[T,4,8]", NULL },
    { NODE(ROPE), { "T,4,8", "T,4" }, "[T,4,8]", NULL },
    { NODE(ROPE),
      { "T,4,8", "T,10" },
      NULL,
      "inputs are [T,4,8] and [T,10], expected [T,H,E] and a table [T,dims] with dims <= E" },
    { NODE(ROPE),
      { "T,4,8", "R,8" },
      NULL,
      "inputs are [T,4,8] and [R,8], expected [T,H,E] and a table [T,dims] with dims <= E" },
    { NODE(ROPE),
      { "T,32", "T,8" },
      NULL,
      "inputs are [T,32] and [T,8], expected [T,H,E] and a table [T,dims] with dims <= E" },
    { NODE(ROPE),
      { "T,4,8", "T" },
      NULL,
      "inputs are [T,4,8] and [T], expected [T,H,E] and a table [T,dims] with dims <= E" },

    { ATTN(3, 0), { "T,4,8", "T,2,8", "T,2,8" }, "[T,4,8]", NULL },
    { ATTN(3, 5), { "T,4,8", "T,4,8", "T,4,8" }, "[T,4,8]", NULL },
    { ATTN(3, 0),
      { "T,4,8", "T,3,8", "T,3,8" },
      NULL,
      "inputs are [T,4,8] and [T,3,8], expected q [T,H,E], k and v [T,K,E] with H a multiple of "
      "K" },
    { ATTN(3, 0),
      { "T,4,8", "T,2,8", "T,4,8" },
      NULL,
      "inputs are [T,4,8] and [T,2,8], expected q [T,H,E], k and v [T,K,E] with H a multiple of "
      "K" },
    { ATTN(3, 0),
      { "T,4,8", "T,2,4", "T,2,4" },
      NULL,
      "inputs are [T,4,8] and [T,2,4], expected q [T,H,E], k and v [T,K,E] with H a multiple of "
      "K" },
    { ATTN(3, 0),
      { "T,4,8", "R,2,8", "R,2,8" },
      NULL,
      "inputs are [T,4,8] and [R,2,8], expected q [T,H,E], k and v [T,K,E] with H a multiple of "
      "K" },
    { ATTN(3, 0),
      { "T,8", "T,8", "T,8" },
      NULL,
      "inputs are [T,8] and [T,8], expected q [T,H,E], k and v [T,K,E] with H a multiple of K" },
    { ATTN(-1, 0),
      { "T,4,8", "T,2,8", "T,2,8" },
      NULL,
      "needs a layer and a window that is not negative" },
    { ATTN(3, -1),
      { "T,4,8", "T,2,8", "T,2,8" },
      NULL,
      "needs a layer and a window that is not negative" },

    { GIVEN(false, true), { "T,4,8", "T,2,8", "T,2,8", "T,S" }, "[T,4,8]", NULL },
    { GIVEN(false, true), { "6,4,8", "6,2,8", "6,2,8", "6,9" }, "[6,4,8]", NULL },
    { GIVEN(false, true),
      { "T,4,8", "T,2,8", "T,2,8", "R,9" },
      NULL,
      "the mask is [R,9], expected [T,S], a row for each query" },
    { GIVEN(false, true),
      { "T,4,8", "T,2,8", "T,2,8", "T" },
      NULL,
      "the mask is [T], expected [T,S], a row for each query" },
    { GIVEN(true, false), { "T,4,8", "T,2,8", "T,2,8", "P,2,8", "P,2,8" }, "[T,4,8]", NULL },
    { GIVEN(true, false),
      { "T,4,8", "T,2,8", "T,2,8", "P,2,8", "5,2,8" },
      NULL,
      "the past is [P,2,8] and [5,2,8], expected two of [P,K,E]" },
    { GIVEN(true, false),
      { "T,4,8", "T,2,8", "T,2,8", "P,4,8", "P,4,8" },
      NULL,
      "the past is [P,4,8] and [P,4,8], expected two of [P,K,E]" },
    { GIVEN(true, true), { "T,4,8", "T,2,8", "T,2,8", "5,2,8", "5,2,8", "T,S" }, "[T,4,8]", NULL },
    { GIVEN(true, true),
      { "T,4,8", "T,2,8", "T,2,8", "5,2,8", "5,2,8", "R,S" },
      NULL,
      "the mask is [R,S], expected [T,S], a row for each query" },

    { NODE(ADD), { "T,8", "T,8" }, "[T,8]", NULL },
    { NODE(ADD), { "P,8", "P,8" }, NULL, "reads a past or a mask, which only attention can" },
    { NODE(ADD), { "T,8", "R,8" }, NULL, "inputs are [T,8] and [R,8], expected equal shapes" },
    { NODE(MUL), { "T,4,8", "T,4,8" }, "[T,4,8]", NULL },
    { NODE(MUL), { "T,8", "T,8,1" }, NULL, "inputs are [T,8] and [T,8,1], expected equal shapes" },
    { NODE(GELU), { "T,8" }, "[T,8]", NULL },
    { NODE(SILU), { "T,4,8" }, "[T,4,8]", NULL },
    { NODE(BIAS), { "T,8", "8" }, "[T,8]", NULL },
    { NODE(BIAS),
      { "T,8", "4" },
      NULL,
      "inputs are [T,8] and [4], expected [...,D] and a weight [D]" },
    { NODE(BIAS),
      { "T,8", "T,8" },
      NULL,
      "inputs are [T,8] and [T,8], expected [...,D] and a weight [D]" },
    { SCALED(SCALE), { "T,8" }, "[T,8]", NULL },
    { SCALED(SOFTCAP), { "R,8" }, "[R,8]", NULL },

    { SPLIT(4), { "T,32" }, "[T,4,8]", NULL },
    { SPLIT(5),
      { "T,32" },
      NULL,
      "inputs are [T,32], expected [T,H*E], the width a multiple of 5 heads" },
    { SPLIT(0),
      { "T,32" },
      NULL,
      "inputs are [T,32], expected [T,H*E], the width a multiple of 0 heads" },
    { SPLIT(4),
      { "T,4,8" },
      NULL,
      "inputs are [T,4,8], expected [T,H*E], the width a multiple of 4 heads" },
    { NODE(MERGE), { "T,4,8" }, "[T,32]", NULL },
    { NODE(MERGE), { "T,32" }, NULL, "inputs are [T,32], expected [T,H,E]" },

    { NODE(GATHER), { "T,8", "R" }, "[R,8]", NULL },
    { NODE(GATHER),
      { "T,4,8", "R" },
      NULL,
      "inputs are [T,4,8] and [R], expected [T,D] and rows [R]" },
    { NODE(GATHER),
      { "T,8", "R,1" },
      NULL,
      "inputs are [T,8] and [R,1], expected [T,D] and rows [R]" },

    { NODE(UNIT_NORM), { "T,4,8" }, "[T,4,8]", NULL },
    { NODE(DEINTERLEAVE), { "T,4,8" }, "[T,4,8]", NULL },
    { NODE(DEINTERLEAVE), { "T,4,7" }, NULL, "inputs are [T,4,7], expected an even width" },
    { NODE(SCALE_BY), { "T,8", "1" }, "[T,8]", NULL },
    { NODE(SCALE_BY),
      { "T,8", "8" },
      NULL,
      "inputs are [T,8] and [8], expected any value and a weight [1]" },
    { NODE(SCALE_BY),
      { "T,8", "1,1" },
      NULL,
      "inputs are [T,8] and [1,1], expected any value and a weight [1]" },
    { WITH(HEAD, .at.head.index = 3), { "T,4,8" }, "[T,8]", NULL },
    { WITH(HEAD, .at.head.index = 4),
      { "T,4,8" },
      NULL,
      "inputs are [T,4,8], expected [T,H,E] and the index of a head below H" },
    { WITH(HEAD, .at.head.index = -1),
      { "T,4,8" },
      NULL,
      "inputs are [T,4,8], expected [T,H,E] and the index of a head below H" },
    { WITH(HEAD, .at.head.index = 0),
      { "T,32" },
      NULL,
      "inputs are [T,32], expected [T,H,E] and the index of a head below H" },
    { SHARED(2, 0, false, false),
      { "T,4,8" },
      NULL,
      "no earlier attention fills the cache of layer 2" },
    { READER(5), { "T,4,8" }, "[T,4,8]", NULL },
    { READER(5), { "R,6,8" }, "[R,6,8]", NULL },
    { READER(0), { "T,4,8" }, NULL, "the cache of layer 7 has 2 heads of 8 and window 5" },
    { READER(5), { "T,3,8" }, NULL, "the cache of layer 7 has 2 heads of 8 and window 5" },
    { READER(5), { "T,4,6" }, NULL, "the cache of layer 7 has 2 heads of 8 and window 5" },
    { READER(5), { "T,32" }, NULL, "the cache of layer 7 has 2 heads of 8 and window 5" },

    { SHARED(CACHED, 5, true, false),
      { "T,4,8" },
      NULL,
      "is given a past, but reads the cache of another layer" },
    { MASKED_READER, { "T,4,8", "T,S" }, "[T,4,8]", NULL },
    { MASKED_READER,
      { "T,4,8", "R,S" },
      NULL,
      "the mask is [R,S], expected [T,S], a row for each query" },

    { NODE(GEGLU), { "T,8", "T,8" }, "[T,8]", NULL },
    { NODE(GEGLU), { "T,8", "T,9" }, NULL, "inputs are [T,8] and [T,9], expected equal shapes" },
    { NODE(SWIGLU), { "R,8", "R,8" }, "[R,8]", NULL },
    { NODE(ADD_NORM), { "T,8", "T,8", "8" }, "[T,8]", NULL },
    { NODE(ADD_NORM),
      { "T,8", "T,9", "8" },
      NULL,
      "inputs are [T,8] and [T,9], expected equal shapes" },
    { NODE(ADD_NORM),
      { "T,8", "T,8", "9" },
      NULL,
      "the norm's weight does not match the last dimension" },
    { NODE(NORM_ROPE), { "T,4,8", "8", "T,8" }, "[T,4,8]", NULL },
    { NODE(NORM_ROPE), { "T,4,8", "8", "T,4" }, "[T,4,8]", NULL },
    { NODE(NORM_ROPE),
      { "T,4,8", "4", "T,8" },
      NULL,
      "inputs are [T,4,8] and [4], expected [T,H,E] and a norm weight [E]" },
    { NODE(NORM_ROPE),
      { "T,4,8", "8", "T,9" },
      NULL,
      "expected [T,H,E] and a table [T,dims] with dims <= E" },
};

enum { RULES = sizeof(rule_rows) / sizeof(rule_rows[0]) };

/* The number of an attention's combination of flags; 0 for other operations. */
enum { WAYS = 6 };
static int way_of(const vug_node *node)
{
    const vug_attr_attention *at = &node->at.attn;
    if (node->op != VUG_OP_ATTENTION)
        return 0;
    return at->shared ? 4 + at->mask : 2 * at->past + at->mask;
}

static vug_attr_attention attention_of(int way)
{
    return (vug_attr_attention){ .shared = way >= 4,
                                 .past = way == 2 || way == 3,
                                 .mask = way % 2 == 1 };
}

static void test_shape_rules(void **state)
{
    (void)state;
    bool accepted[VUG_OP_COUNT][WAYS] = { [VUG_OP_PARAM] = { true }, [VUG_OP_INPUT] = { true } };
    for (int i = 0; i < RULES; i++) {
        const rule_row *row = &rule_rows[i];
        vug_graph g = { 0 };
        vug_err err = { 0 };
        vug_node node = row->node;
        vug_val out = { 0 };
        char text[96], want[512];
        if (vug_node_shares_cache(&node))
            fill_cache(&g, CACHED);
        for (int k = 0; k < vug_node_inputs(&node); k++)
            node.in[k] = value(&g, row->in[k]);
        const uint32_t before = g.n;
        const vug_status st = vug_graph_append(&g, &node, &out, &err);
        if (row->shape) {
            assert_int_equal(st, VUG_OK);
            assert_string_equal(vug_shape_text(&g.node[out.id].shape, text), row->shape);
            accepted[node.op][way_of(&node)] = true;
        } else {
            (void)snprintf(want, sizeof(want), "graph: layer 3, x (%s): ", vug_op_name(node.op));
            assert_int_equal(st, VUG_ARGUMENT);
            assert_memory_equal(err.msg, want, strlen(want));
            assert_string_equal(err.msg + strlen(err.msg) - strlen(row->refusal), row->refusal);
            assert_int_equal(g.n, before);
            assert_int_equal(out.id, 0);
        }
        vug_graph_release(&g);
    }
    for (int op = 0; op < VUG_OP_COUNT; op++) {
        for (int way = 0; way < (op == VUG_OP_ATTENTION ? WAYS : 1); way++) {
            if (!accepted[op][way])
                fail_msg("no row accepts the op %s (%d)", vug_op_name((vug_op)op), way);
        }
    }
}

/* The node that fills a cache must come first, also in a graph that was changed. */
static void test_caches_are_filled_before(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    fill_cache(&g, CACHED);
    const uint32_t filler = g.n - 1;
    append(&g, (vug_node){ .op = VUG_OP_ATTENTION,
                           .layer = 8,
                           .in = { value(&g, "T,4,8") },
                           .at.attn = { CACHED, 5, 1, 0, .shared = true } });
    fill_cache(&g, 9);
    assert_int_equal(vug_graph_verify(&g, &err), VUG_OK);
    g.node[filler].at.attn.layer = 9;
    g.node[g.n - 1].at.attn.layer = CACHED;
    assert_int_equal(vug_graph_verify(&g, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "graph: layer 8, attention: no earlier attention fills the cache "
                                 "of layer 7");
    vug_graph_release(&g);
}

static void test_a_layer_has_one_cache(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    vug_val out = { 0 };
    fill_cache(&g, CACHED);
    fill_cache(&g, 9);
    vug_node again = g.node[g.n - 1];
    assert_int_equal(vug_graph_append(&g, &again, &out, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "graph: layer 9, attention: is the second of its layer, which "
                                 "has one cache");
    g.node[g.n - 1].at.attn.layer = CACHED;
    assert_int_equal(vug_graph_verify(&g, &err), VUG_ARGUMENT);
    vug_graph_release(&g);
}

/* Only the value of a router, perhaps scaled, is accepted as a route. */
static void test_routes(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    vug_val out;
    const vug_val x = value(&g, "T,6"), route = value(&g, ">4,2"), w = value(&g, "4");
    const vug_val gate = value(&g, "4,5,6"), down = value(&g, "4,6,5");
    const vug_val scaled = append(&g, (vug_node){ .op = VUG_OP_ROUTE_SCALE, .in = { route, w } });
    const vug_val twice = append(&g, (vug_node){ .op = VUG_OP_SCALE, .in = { route } });
    vug_node node = { .op = VUG_OP_EXPERTS, .at.experts.activation = VUG_OP_GELU };
    const vug_val good[] = { x, scaled, gate, gate, down };
    memcpy(node.in, good, sizeof(good));
    (void)append(&g, node);
    node.in[1] = twice;
    assert_int_equal(vug_graph_append(&g, &node, &out, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "graph: layer 0, experts: inputs are [T,6] and [T,4], expected "
                                 "[T,D] and a router's value of the same rows");
    vug_graph_release(&g);
}

static void test_declared_shapes(void **state)
{
    (void)state;
    static const struct {
        vug_op op;
        vug_shape shape;
        const char *refusal; /* NULL: good */
    } rows[] = {
        { VUG_OP_PARAM, { 4, { 1, 2, 3, 4 } }, NULL },
        { VUG_OP_INPUT, { 1, { VUG_DIM_T } }, NULL },
        { VUG_OP_INPUT, { 2, { VUG_DIM_R, 7 } }, NULL },
        { VUG_OP_PARAM, { 0, { 0 } }, "graph: param: has no declared shape" },
        { VUG_OP_PARAM, { 5, { 1, 1, 1, 1 } }, "graph: param: has no declared shape" },
        { VUG_OP_PARAM, { 2, { 4, 0 } }, "graph: param: has a dimension below 1" },
        { VUG_OP_PARAM, { 1, { VUG_DIM_T } }, "graph: param: has a dimension below 1" },
        { VUG_OP_INPUT, { 2, { 4, VUG_DIM_T } }, "graph: input: has a dimension below 1" },
        { VUG_OP_PARAM,
          { 2, { INT64_MAX, 2 } },
          "graph: param: has more elements than can be counted" },
        /* Four bytes each, one too many; then with 2^20 in the symbol's place. */
        { VUG_OP_PARAM,
          { 1, { (int64_t)1 << 61 } },
          "graph: param: has more elements than can be counted" },
        { VUG_OP_PARAM, { 1, { ((int64_t)1 << 61) - 1 } }, NULL },
        { VUG_OP_INPUT,
          { 2, { VUG_DIM_T, (int64_t)1 << 41 } },
          "graph: input: has more elements than can be counted" },
        { VUG_OP_INPUT, { 2, { VUG_DIM_T, (int64_t)1 << 40 } }, NULL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_graph g = { 0 };
        vug_err err = { 0 };
        vug_val out = { 0 };
        const vug_node node = { .op = rows[i].op, .layer = -1, .shape = rows[i].shape };
        const vug_status st = vug_graph_append(&g, &node, &out, &err);
        assert_int_equal(st, rows[i].refusal ? VUG_ARGUMENT : VUG_OK);
        assert_string_equal(err.msg, rows[i].refusal ? rows[i].refusal : "");
        vug_graph_release(&g);
    }
}

static void test_shape_helpers(void **state)
{
    (void)state;
    char text[96];
    const vug_shape s = { 3, { VUG_DIM_T, 4, 8 } }, r = { 2, { VUG_DIM_R, 5 } };
    assert_int_equal(vug_shape_elements(&s, 3, 100), 96);
    assert_int_equal(vug_shape_elements(&r, 100, 2), 10);
    assert_true(vug_shape_equal(&s, &s));
    assert_false(vug_shape_equal(&s, &r));
    assert_false(vug_shape_equal(&s, &(vug_shape){ 3, { VUG_DIM_R, 4, 8 } }));
    const vug_shape widest = { 4, { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX } };
    assert_int_equal(strlen(vug_shape_text(&widest, text)), 4 * 19 + 3 + 2);
}

/* ---- operands, arity, order, limits -------------------------------------- */

/* What backends rely on: at most one vector, table and kind of index for each operation. */
static void test_operand_kinds(void **state)
{
    (void)state;
    for (int op = 0; op < VUG_OP_COUNT; op++) {
        const vug_node node = { .op = (vug_op)op, .at.attn = { .past = true, .mask = true } };
        const char *kinds = vug_node_operands(&node);
        const vug_op_class class = vug_op_class_of((vug_op)op);
        int vectors = 0, tables = 0, indices = 0;
        assert_true(strlen(kinds) <= VUG_MAX_INPUTS);
        assert_int_equal(*kinds == '\0', class == VUG_CLASS_LEAF);
        for (const char *k = kinds; *k; k++) {
            assert_non_null(strchr("xmenvtprd", *k));
            assert_true(*k == 'x' || (class != VUG_CLASS_ELEMENTWISE && class != VUG_CLASS_VIEW));
            assert_true(*k != 'm' || class == VUG_CLASS_PRODUCT);
            vectors += *k == 'n' || *k == 'v';
            tables += *k == 'e';
            indices += *k == 't' || *k == 'p' || *k == 'r';
        }
        assert_true(vectors <= 1 && tables <= 1 && indices <= 1);
    }
}

/* `node` without its inputs, of which it needs `n`. */
static void check_arity(vug_node node, int n)
{
    const char *name = vug_op_name(node.op);
    char want[128];
    vug_err err = { 0 };
    vug_graph g = { 0 };
    vug_val out = { 0 };
    const vug_val v = value(&g, "T,8");
    assert_int_equal(vug_node_inputs(&node), n);
    for (int k = 0; k < VUG_MAX_INPUTS; k++)
        node.in[k] = k < n ? v : (vug_val){ 0 };
    for (int k = 0; k < n; k++) {
        (void)snprintf(want, sizeof(want), "graph: %s: input %d is missing or not yet defined",
                       name, k);
        const uint32_t wrong[] = { 0, g.n, UINT32_MAX };
        for (int w = 0; w < 3; w++) {
            vug_node bad = node;
            bad.in[k].id = wrong[w];
            assert_int_equal(vug_graph_append(&g, &bad, &out, &err), VUG_ARGUMENT);
            assert_string_equal(err.msg, want);
        }
    }
    if (n < VUG_MAX_INPUTS) {
        node.in[n] = v;
        (void)snprintf(want, sizeof(want), "graph: %s: input %d is one too many", name, n);
        assert_int_equal(vug_graph_append(&g, &node, &out, &err), VUG_ARGUMENT);
        assert_string_equal(err.msg, want);
    }
    assert_int_equal(g.n, 2);
    vug_graph_release(&g);
}

static void test_arity(void **state)
{
    (void)state;
    static const int attention_inputs[WAYS] = { 3, 4, 5, 6, 1, 2 };
    for (int op = 0; op < VUG_OP_COUNT; op++) {
        vug_node node = { .op = (vug_op)op, .layer = -1, .shape = shape_from("8") };
        if (op != VUG_OP_ATTENTION)
            check_arity(node, (int)strlen(vug_node_operands(&node)));
        for (int way = 0; op == VUG_OP_ATTENTION && way < WAYS; way++) {
            node.at.attn = attention_of(way);
            check_arity(node, attention_inputs[way]);
        }
    }
}

static void test_limits(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    vug_val out = { 0 };
    vug_val last = value(&g, "T,8");
    const vug_node gelu = { .op = VUG_OP_GELU, .layer = -1 };
    while (g.n < VUG_MAX_NODES) {
        vug_node node = gelu;
        node.in[0] = last;
        last = append(&g, node);
    }
    vug_node more = gelu;
    more.in[0] = last;
    assert_int_equal(vug_graph_append(&g, &more, &out, &err), VUG_LIMIT);
    assert_string_equal(err.msg, "graph: more than 16384 nodes");
    for (int i = 0; i < VUG_MAX_OUTPUTS; i++)
        assert_int_equal(vug_graph_output(&g, "o", last, &err), VUG_OK);
    assert_int_equal(vug_graph_output(&g, "o", last, &err), VUG_LIMIT);
    assert_string_equal(err.msg, "graph: more than 1100 outputs");
    assert_int_equal(vug_graph_verify(&g, &err), VUG_OK);
    vug_graph_release(&g);
    assert_null(g.node);
    assert_int_equal(g.n, 0);
}

static void test_outputs(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    const vug_val v = value(&g, "T,8");
    assert_int_equal(vug_graph_output(&g, "none", (vug_val){ 0 }, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "graph: output 'none' is not a value of the graph");
    assert_int_equal(vug_graph_output(&g, "later", (vug_val){ v.id + 1 }, &err), VUG_ARGUMENT);
    assert_int_equal(g.n_outputs, 0);
    assert_int_equal(vug_graph_output(&g, "v", v, &err), VUG_OK);
    assert_int_equal(g.n_outputs, 1);
    vug_graph_release(&g);
}

/* The graph copies names and tables. */
static void test_copies(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    char name[] = "table";
    float mine[2] = { 1, 0.5f };
    const vug_val pos = value(&g, "T");
    const vug_val v = append(&g, (vug_node){ .op = VUG_OP_ROPE_TABLE,
                                             .layer = 6,
                                             .name = name,
                                             .in = { pos },
                                             .at.table = { 4, mine, 1 } });
    name[0] = '?';
    mine[1] = 9;
    assert_string_equal(vug_graph_at(&g, v)->name, "table");
    assert_true(vug_graph_at(&g, v)->at.table.inv[1] == 0.5f);
    assert_int_equal(g.n_layers, 7);
    vug_graph_release(&g);
}

/* ---- verification -------------------------------------------------------- */

static void assert_corrupt(const vug_graph *g, const char *message)
{
    vug_err err = { 0 };
    assert_int_equal(vug_graph_verify(g, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, message);
}

static void test_verify(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    const vug_val x = value(&g, "T,8"), w = value(&g, "8,8");
    const vug_node linear = { .op = VUG_OP_LINEAR, .layer = 2, .name = "q", .in = { x, w } };
    const vug_val y = append(&g, linear);
    const vug_val z = append(&g, (vug_node){ .op = VUG_OP_ADD, .layer = -1, .in = { x, y } });
    assert_int_equal(vug_graph_output(&g, "z", z, &err), VUG_OK);
    assert_int_equal(vug_graph_verify(&g, &err), VUG_OK);
    assert_int_equal(vug_graph_verify(&(vug_graph){ 0 }, &err), VUG_OK);

    vug_node *node = &g.node[y.id];
    const vug_node good = *node;
    node->shape.dim[1] = 9;
    assert_corrupt(&g, "graph: layer 2, q (linear): its shape does not follow from its inputs");
    *node = good;
    node->shape.rank = 3;
    assert_corrupt(&g, "graph: layer 2, q (linear): its shape does not follow from its inputs");
    *node = good;
    node->in[1] = x; /* [T,8] is no weight [out,8] of the shape that was noted */
    assert_int_equal(vug_graph_verify(&g, &err), VUG_ARGUMENT);
    *node = good;
    node->in[0] = y; /* itself */
    assert_corrupt(&g, "graph: layer 2, q (linear): input 0 is missing or not yet defined");
    node->in[0] = z; /* later */
    assert_corrupt(&g, "graph: layer 2, q (linear): input 0 is missing or not yet defined");
    *node = good;
    node->in[2] = x;
    assert_corrupt(&g, "graph: layer 2, q (linear): input 2 is one too many");
    *node = good;
    node->op = VUG_OP_COUNT;
    assert_corrupt(&g, "graph: node 3 has no operation");
    *node = good;
    g.node[w.id].shape.dim[1] = 7;
    assert_corrupt(&g, "graph: layer 2, q (linear): inputs are [T,8] and [8,7], expected [T,in] "
                       "and a weight [out,in]");
    g.node[w.id].shape.dim[1] = 8;
    g.output[0].value.id = g.n;
    assert_corrupt(&g, "graph: output 'z' is not a value of the graph");
    g.output[0].value = z;
    assert_int_equal(vug_graph_verify(&g, &err), VUG_OK);
    vug_graph_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_rules),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_caches_are_filled_before),
        cmocka_unit_test(test_a_layer_has_one_cache),
        cmocka_unit_test(test_declared_shapes),
        cmocka_unit_test(test_shape_helpers),
        cmocka_unit_test(test_operand_kinds),
        cmocka_unit_test(test_arity),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
