/*
 * Fusion: each row of the table below is one pattern, a root operation over an
 * inner one that is used nowhere else, and the fused operation that replaces
 * both. A fused operation is defined as the ones it replaces, to the bit, so
 * fusing changes speed and memory, never a result.
 */
#include "passes/passes.h"

typedef struct {
    vug_op root;
    vug_op inner; /* feeds one of the root's first `tried` inputs */
    int tried;
    vug_op fused;
} pattern;

static const pattern patterns[] = {
    { VUG_OP_MUL, VUG_OP_GELU, 2, VUG_OP_GEGLU },
    { VUG_OP_MUL, VUG_OP_SILU, 2, VUG_OP_SWIGLU },
    { VUG_OP_ADD, VUG_OP_RMS_NORM, 2, VUG_OP_ADD_NORM },
    { VUG_OP_ROPE, VUG_OP_RMS_NORM, 1, VUG_OP_NORM_ROPE },
};

enum { N_PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/* What is known of each node while the new graph is written. */
typedef struct {
    uint32_t uses; /* by nodes and outputs */
    int refused;   /* index + 1 of the row that this root would match, but for its inner node */
    bool absorbed; /* part of a fused node */
    int pattern;   /* index + 1 of the row whose root this is; 0: none */
    int at;        /* the root's input that is the inner node, of a refused root as well */
    vug_val to;    /* in the new graph */
} note;

static void count_uses(const vug_graph *g, note *notes)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        notes[g->output[i].value.id].uses++;
    /* Users come later than what they use: one sweep backwards finds the dead. */
    for (uint32_t i = g->n - 1; i > 0; i--) {
        for (int k = 0; notes[i].uses && k < vug_op_inputs(g->node[i].op); k++)
            notes[g->node[i].in[k].id].uses++;
    }
}

size_t vug_fusion_count(void)
{
    return N_PATTERNS;
}

vug_op vug_fusion_at(size_t i)
{
    return patterns[i].fused;
}

static void match(const vug_graph *g, const vug_profile *profile, uint32_t root, note *notes)
{
    const vug_node *node = &g->node[root];
    for (size_t p = 0; p < N_PATTERNS; p++) {
        for (int k = 0; node->op == patterns[p].root && k < patterns[p].tried; k++) {
            const vug_val inner = node->in[k];
            if (g->node[inner.id].op != patterns[p].inner)
                continue;
            if (notes[inner.id].uses != 1 || profile->off[patterns[p].fused]) {
                notes[root].refused = (int)p + 1;
                notes[root].at = k;
                continue;
            }
            notes[root].pattern = (int)p + 1;
            notes[root].at = k;
            notes[inner.id].absorbed = true;
            return;
        }
    }
}

/* The fused node's inputs: of a pair (GEGLU, SWIGLU, ADD_NORM) the outer operand stands
 * where ops.def says, of a chain (NORM_ROPE) the inner's inputs come first. */
static vug_node fused_node(const vug_graph *g, const vug_node *root, const note *n)
{
    const vug_node *inner = vug_graph_at(g, root->in[n->at]);
    const vug_val other = root->in[1 - n->at];
    vug_node fused = { .op = patterns[n->pattern - 1].fused,
                       .layer = root->layer,
                       .name = inner->name ? inner->name : root->name,
                       .at = inner->at };
    switch (fused.op) {
    case VUG_OP_GEGLU:
    case VUG_OP_SWIGLU:
        fused.in[0] = inner->in[0];
        fused.in[1] = other;
        break;
    case VUG_OP_ADD_NORM:
        fused.in[0] = other;
        fused.in[1] = inner->in[0];
        fused.in[2] = inner->in[1];
        break;
    default:
        fused.in[0] = inner->in[0];
        fused.in[1] = inner->in[1];
        fused.in[2] = other;
        break;
    }
    return fused;
}

static vug_status rewrite(const vug_graph *in, note *notes, vug_graph *out, vug_err *err)
{
    for (uint32_t i = 1; i < in->n; i++) {
        if (!notes[i].uses || notes[i].absorbed)
            continue;
        vug_node node = in->node[i];
        if (notes[i].pattern)
            node = fused_node(in, &node, &notes[i]);
        for (int k = 0; k < vug_op_inputs(node.op); k++)
            node.in[k] = notes[node.in[k].id].to;
        VUG_TRY(vug_graph_append(out, &node, &notes[i].to, err));
    }
    for (uint32_t i = 0; i < in->n_outputs; i++)
        VUG_TRY(vug_graph_output(out, in->output[i].name, notes[in->output[i].value.id].to, err));
    return vug_graph_verify(out, err);
}

/* ---- report ------------------------------------------------------------------ */

static void put_reason(const vug_graph *g, const note *notes, uint32_t root, vug_buf *to)
{
    const uint32_t id = g->node[root].in[notes[root].at].id;
    const vug_node *inner = &g->node[id];
    vug_buf_printf(to, "    not %s of %s%s%%%u", vug_op_name(g->node[root].op),
                   inner->name ? inner->name : "", inner->name ? ", " : "", id);
    if (inner->layer >= 0)
        vug_buf_printf(to, ", layer %d", inner->layer);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->output[i].value.id == id) {
            vug_buf_printf(to, ": it is the output %s\n", g->output[i].name);
            return;
        }
    }
    vug_buf_printf(to, ": it is read %u times\n", notes[id].uses);
}

static bool is_refused(const note *n, size_t p)
{
    return n->uses && !n->pattern && n->refused == (int)p + 1;
}

/* The first places where the pattern was refused. */
static void report_refusals(const vug_graph *g, const note *notes, size_t p, uint32_t refused,
                            vug_buf *to)
{
    enum { SHOWN = 4 };
    uint32_t shown = 0;
    for (uint32_t i = 1; i < g->n && shown < SHOWN; i++) {
        if (is_refused(&notes[i], p)) {
            put_reason(g, notes, i, to);
            shown++;
        }
    }
    if (refused > SHOWN)
        vug_buf_printf(to, "    and %u more\n", refused - SHOWN);
}

static void report_fusion(const vug_graph *g, const vug_profile *profile, const note *notes,
                          size_t p, vug_buf *to)
{
    uint32_t fused = 0, refused = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        fused += notes[i].uses && notes[i].pattern == (int)p + 1;
        refused += is_refused(&notes[i], p);
    }
    vug_buf_printf(to, "  %-10s ", vug_op_name(patterns[p].fused));
    if (fused + refused == 0) {
        vug_buf_printf(to, "no place: the graph has no %s of %s\n", vug_op_name(patterns[p].root),
                       vug_op_name(patterns[p].inner));
        return;
    }
    vug_buf_printf(to, "%u of %u places", fused, fused + refused);
    if (profile->off[patterns[p].fused]) {
        vug_buf_puts(to, ": off in the profile\n");
        return;
    }
    vug_buf_puts(to, "\n");
    report_refusals(g, notes, p, refused, to);
}

/* ---- the pass ------------------------------------------------------------------ */

vug_status vug_fuse(const vug_graph *in, vug_graph *out, vug_err *err)
{
    static const vug_profile all = { .tile_rows = 0 };
    return vug_fuse_by(in, &all, out, NULL, err);
}

vug_status vug_fuse_by(const vug_graph *in, const vug_profile *profile, vug_graph *out,
                       vug_buf *report, vug_err *err)
{
    note *notes = vug_alloc_zero(in->n, sizeof(*notes));
    if (!notes)
        return VUG_FAIL_NOMEM(err, "fusion", in->n * sizeof(*notes));
    count_uses(in, notes);
    for (uint32_t i = 1; i < in->n; i++) {
        if (notes[i].uses)
            match(in, profile, i, notes);
    }
    if (report)
        vug_buf_puts(report, "fusion\n");
    for (size_t p = 0; report && p < N_PATTERNS; p++)
        report_fusion(in, profile, notes, p, report);
    vug_graph g = { .name = in->name };
    const vug_status st = rewrite(in, notes, &g, err);
    vug_free(notes);
    if (st != VUG_OK) {
        vug_graph_release(&g);
        return st;
    }
    *out = g;
    return VUG_OK;
}
