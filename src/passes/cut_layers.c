/* Cuts a graph into two, for layers on two devices. */
#include "passes/passes.h"

/* What is known of each node while the parts are built. */
typedef struct {
    int part;       /* the part that computes it; not of a copied node */
    bool copied;    /* each part that reads it has it */
    bool needed[2]; /* whether the part has it */
    bool crosses;   /* an output of the first part and data of the second */
    vug_val to[2];  /* its value in the parts */
} cut_note;

/* Both parts have weights and inputs. A table of positions is cheaper to compute than to copy to
 * another device. */
static bool is_copied(const vug_node *node, const cut_note *notes)
{
    if (vug_op_class_of(node->op) == VUG_CLASS_LEAF || node->op == VUG_OP_ROPE_TABLE)
        return true;
    return node->op == VUG_OP_GATHER && notes[node->in[0].id].copied;
}

/* A node is in the second part if its layer is, or if it reads a value of that part. */
static void assign_parts(const vug_graph *g, int layer, cut_note *notes)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        notes[i].copied = is_copied(node, notes);
        if (notes[i].copied)
            continue;
        notes[i].part = node->layer >= layer;
        for (int k = 0; k < vug_node_inputs(node); k++)
            notes[i].part |= notes[node->in[k].id].part;
    }
}

/* An attention without keys and values of its own must have its device's pages. */
static vug_status check_caches(const vug_graph *g, const cut_note *notes, vug_err *err)
{
    int part[VUG_MAX_LAYERS] = { 0 };
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_ATTENTION)
            continue;
        const int source = node->at.attn.layer;
        if (source < 0 || source >= VUG_MAX_LAYERS)
            continue; /* no cache has a place for it: compiling fails */
        if (!vug_node_shares_cache(node))
            part[source] = notes[i].part;
        else if (part[source] != notes[i].part)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "layer %d reads the keys and values of layer %d, so both must be on "
                            "the same device",
                            node->layer, source);
    }
    return VUG_OK;
}

/* Readers come after what they read, so one backward sweep finds what each part needs. */
static void find_needed(const vug_graph *g, cut_note *notes)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        cut_note *note = &notes[g->output[i].value.id];
        note->needed[note->part] = true;
    }
    for (uint32_t i = g->n - 1; i > 0; i--) {
        for (int p = 0; p < 2; p++) {
            for (int k = 0; notes[i].needed[p] && k < vug_node_inputs(&g->node[i]); k++) {
                cut_note *in = &notes[g->node[i].in[k].id];
                in->crosses |= !in->copied && in->part != p;
                in->needed[in->copied ? p : in->part] = true;
            }
        }
    }
}

/* Appends data input `source` to a part. */
static vug_status append_data(vug_cut *cut, int p, vug_node node, vug_cut_data source, vug_val *to,
                              vug_err *err)
{
    vug_cut_part *part = &cut->part[p];
    node.at.input = (vug_attr_input){ .which = VUG_INPUT_DATA, .index = part->n_data };
    part->data[part->n_data++] = source;
    return vug_graph_append(&part->graph, &node, to, err);
}

static vug_status append_node(vug_cut *cut, int p, const vug_graph *g, uint32_t i, cut_note *notes,
                              vug_err *err)
{
    vug_node node = g->node[i];
    if (node.op == VUG_OP_INPUT && node.at.input.which == VUG_INPUT_DATA)
        return append_data(cut, p, node, (vug_cut_data){ .index = node.at.input.index },
                           &notes[i].to[p], err);
    for (int k = 0; k < vug_node_inputs(&node); k++)
        node.in[k] = notes[node.in[k].id].to[p];
    return vug_graph_append(&cut->part[p].graph, &node, &notes[i].to[p], err);
}

/* Makes node `i` of the first part an output of it and data of the second. */
static vug_status append_crossing(vug_cut *cut, const vug_graph *g, uint32_t i, cut_note *notes,
                                  vug_err *err)
{
    const vug_node data = {
        .op = VUG_OP_INPUT, .layer = -1, .shape = g->node[i].shape, .name = "crossing"
    };
    const vug_cut_data source = { .crosses = true, .index = (int)cut->part[0].graph.n_outputs };
    VUG_TRY(vug_graph_output(&cut->part[0].graph, "crossing", notes[i].to[0], err));
    return append_data(cut, 1, data, source, &notes[i].to[1], err);
}

static vug_status append_nodes(vug_cut *cut, const vug_graph *g, cut_note *notes, vug_err *err)
{
    for (uint32_t i = 1; i < g->n; i++) {
        for (int p = 0; p < 2; p++) {
            if (notes[i].needed[p])
                VUG_TRY(append_node(cut, p, g, i, notes, err));
        }
        if (notes[i].crosses)
            VUG_TRY(append_crossing(cut, g, i, notes, err));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const cut_note *note = &notes[g->output[i].value.id];
        vug_graph *part = &cut->part[note->part].graph;
        cut->output[i] = (vug_cut_output){ note->part, (int)part->n_outputs };
        VUG_TRY(vug_graph_output(part, g->output[i].name, note->to[note->part], err));
    }
    for (int p = 0; p < 2; p++)
        VUG_TRY(vug_graph_verify(&cut->part[p].graph, err));
    return VUG_OK;
}

static vug_status build_parts(vug_cut *cut, const vug_graph *g, int layer, cut_note *notes,
                              vug_err *err)
{
    assign_parts(g, layer, notes);
    VUG_TRY(check_caches(g, notes, err));
    find_needed(g, notes);
    size_t data = (size_t)vug_graph_data_count(g);
    for (uint32_t i = 1; i < g->n; i++)
        data += notes[i].crosses;
    cut->output = vug_alloc(g->n_outputs, sizeof(*cut->output));
    for (int p = 0; p < 2; p++) {
        cut->part[p].graph.name = g->name;
        cut->part[p].data = vug_alloc(data, sizeof(*cut->part[p].data));
    }
    if (!cut->output || !cut->part[0].data || !cut->part[1].data)
        return VUG_FAIL_NOMEM(err, "the parts of a graph", data * sizeof(*cut->part[0].data));
    return append_nodes(cut, g, notes, err);
}

vug_status vug_cut_layers(const vug_graph *g, int layer, vug_cut *out, vug_err *err)
{
    *out = (vug_cut){ 0 };
    cut_note *notes = vug_alloc_zero(g->n, sizeof(*notes));
    if (!notes)
        return VUG_FAIL_NOMEM(err, "the parts of a graph", g->n * sizeof(*notes));
    const vug_status st = build_parts(out, g, layer, notes, err);
    vug_free(notes);
    if (st != VUG_OK)
        vug_cut_release(out);
    return st;
}

void vug_cut_release(vug_cut *cut)
{
    for (int p = 0; p < 2; p++) {
        vug_graph_release(&cut->part[p].graph);
        vug_free(cut->part[p].data);
    }
    vug_free(cut->output);
    *cut = (vug_cut){ 0 };
}
