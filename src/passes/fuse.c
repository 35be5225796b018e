/*
 * Fusion: each row of the table below is one pattern, which is a root operation, an inner
 * operation that only the root reads, and the fused operation that replaces both. A
 * fused operation is defined, to the bit, as the operations it replaces, so fusion
 * changes speed and memory, never a result.
 */
#include "passes/passes.h"

typedef struct {
    vug_op root;
    vug_op inner; /* the node at one of the root's first `tried` inputs */
    int tried;
    vug_op fused;
    const char *in; /* of the fused node: a and b are the inner one's, o the root's other one */
} fusion_pattern;

static const fusion_pattern patterns[] = {
    { VUG_OP_MUL, VUG_OP_GELU, 2, VUG_OP_GEGLU, "ao" },
    { VUG_OP_MUL, VUG_OP_SILU, 2, VUG_OP_SWIGLU, "ao" },
    { VUG_OP_ADD, VUG_OP_RMS_NORM, 2, VUG_OP_ADD_NORM, "oab" },
    { VUG_OP_ROPE, VUG_OP_RMS_NORM, 1, VUG_OP_NORM_ROPE, "abo" },
};

enum { N_PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/* What is known of each node while the new graph is built. */
typedef struct {
    uint32_t uses; /* readers: live nodes and outputs */
    int rejected;  /* index + 1 of the row that matched but was not applied; 0: none */
    bool absorbed; /* an inner node that becomes part of a fused node */
    int pattern;   /* index + 1 of the row whose root this is; 0: none */
    int at;        /* which input of a root, fused or rejected, is the inner node */
    vug_val to;    /* its value in the new graph */
} fusion_note;

static void count_uses(const vug_graph *g, fusion_note *notes)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        notes[g->output[i].value.id].uses++;
    /* Readers come after what they read, so one backward sweep finds the dead nodes. */
    for (uint32_t i = g->n - 1; i > 0; i--) {
        for (int k = 0; notes[i].uses && k < vug_node_inputs(&g->node[i]); k++)
            notes[g->node[i].in[k].id].uses++;
    }
}

static void match_patterns(const vug_graph *g, const vug_profile *profile, uint32_t root,
                           fusion_note *notes)
{
    const vug_node *node = &g->node[root];
    for (size_t p = 0; p < N_PATTERNS; p++) {
        for (int k = 0; node->op == patterns[p].root && k < patterns[p].tried; k++) {
            const vug_val inner = node->in[k];
            if (g->node[inner.id].op != patterns[p].inner)
                continue;
            if (notes[inner.id].uses != 1 || profile->off[patterns[p].fused]) {
                notes[root].rejected = (int)p + 1;
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

static vug_node fused_node(const vug_graph *g, const vug_node *root, const fusion_note *n)
{
    const fusion_pattern *row = &patterns[n->pattern - 1];
    const vug_node *inner = vug_graph_at(g, root->in[n->at]);
    vug_node fused = { .op = row->fused,
                       .layer = root->layer,
                       .name = inner->name ? inner->name : root->name,
                       .at = inner->at };
    for (int i = 0; row->in[i]; i++)
        fused.in[i] = row->in[i] == 'o' ? root->in[1 - n->at] : inner->in[row->in[i] - 'a'];
    return fused;
}

static vug_status rewrite_graph(const vug_graph *in, fusion_note *notes, vug_graph *out,
                                vug_err *err)
{
    for (uint32_t i = 1; i < in->n; i++) {
        if (!notes[i].uses || notes[i].absorbed)
            continue;
        vug_node node = in->node[i];
        if (notes[i].pattern)
            node = fused_node(in, &node, &notes[i]);
        for (int k = 0; k < vug_node_inputs(&node); k++)
            node.in[k] = notes[node.in[k].id].to;
        VUG_TRY(vug_graph_append(out, &node, &notes[i].to, err));
    }
    for (uint32_t i = 0; i < in->n_outputs; i++)
        VUG_TRY(vug_graph_output(out, in->output[i].name, notes[in->output[i].value.id].to, err));
    return vug_graph_verify(out, err);
}

/* ---- report ------------------------------------------------------------------ */

static void report_reason(const vug_graph *g, const fusion_note *notes, uint32_t root, vug_buf *to)
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

static bool is_rejected(const fusion_note *n, size_t p)
{
    return n->uses && !n->pattern && n->rejected == (int)p + 1;
}

/* The first few matches that were rejected. */
static void report_rejections(const vug_graph *g, const fusion_note *notes, size_t p,
                              uint32_t rejected, vug_buf *to)
{
    enum { SHOWN = 4 };
    uint32_t shown = 0;
    for (uint32_t i = 1; i < g->n && shown < SHOWN; i++) {
        if (is_rejected(&notes[i], p)) {
            report_reason(g, notes, i, to);
            shown++;
        }
    }
    if (rejected > SHOWN)
        vug_buf_printf(to, "    and %u more\n", rejected - SHOWN);
}

static void report_fusion(const vug_graph *g, const vug_profile *profile, const fusion_note *notes,
                          size_t p, vug_buf *to)
{
    uint32_t fused = 0, rejected = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        fused += notes[i].uses && notes[i].pattern == (int)p + 1;
        rejected += is_rejected(&notes[i], p);
    }
    vug_buf_printf(to, "  %-10s ", vug_op_name(patterns[p].fused));
    if (fused + rejected == 0) {
        vug_buf_printf(to, "no match: the graph has no %s of %s\n", vug_op_name(patterns[p].root),
                       vug_op_name(patterns[p].inner));
        return;
    }
    vug_buf_printf(to, "%u of %u matches fused", fused, fused + rejected);
    if (profile->off[patterns[p].fused]) {
        vug_buf_puts(to, ": off in the profile\n");
        return;
    }
    vug_buf_puts(to, "\n");
    report_rejections(g, notes, p, rejected, to);
}

/* ---- the pass ------------------------------------------------------------------ */

vug_status vug_fuse(const vug_graph *in, vug_graph *out, vug_err *err)
{
    static const vug_profile all = { .tile_rows = 0 };
    return vug_fuse_with(in, &all, out, NULL, err);
}

vug_status vug_fuse_with(const vug_graph *in, const vug_profile *profile, vug_graph *out,
                         vug_buf *report, vug_err *err)
{
    fusion_note *notes = vug_alloc_zero(in->n, sizeof(*notes));
    if (!notes)
        return VUG_FAIL_NOMEM(err, "fusion", in->n * sizeof(*notes));
    count_uses(in, notes);
    for (uint32_t i = 1; i < in->n; i++) {
        if (notes[i].uses)
            match_patterns(in, profile, i, notes);
    }
    if (report)
        vug_buf_puts(report, "fusion\n");
    for (size_t p = 0; report && p < N_PATTERNS; p++)
        report_fusion(in, profile, notes, p, report);
    vug_graph g = { .name = in->name };
    const vug_status st = rewrite_graph(in, notes, &g, err);
    vug_free(notes);
    if (st != VUG_OK) {
        vug_graph_release(&g);
        return st;
    }
    *out = g;
    return VUG_OK;
}
