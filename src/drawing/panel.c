/* Chooses the boxes of a drawing and writes their text. */
#include "drawing/panel.h"

#include <stdio.h>

/* ---- parts ----------------------------------------------------------------- */

/*
 * A node outside the layers comes after them if it reads one of their values, or if
 * only such nodes read it, such as the input "rows".
 */
static bool find_parts(vug_drawing *d)
{
    enum { READ_BEFORE = 1, READ_AFTER = 2 };
    const vug_graph *g = d->g;
    unsigned char *readers = vug_arena_alloc(&d->arena, g->n, 1);
    if (!readers)
        return false;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        d->part[i] = vug_in_layer(&d->fold, node) ? VUG_PART_LAYER : VUG_PART_BEFORE;
        for (int k = 0; d->part[i] != VUG_PART_LAYER && k < vug_node_inputs(node); k++) {
            if (d->part[node->in[k].id] != VUG_PART_BEFORE)
                d->part[i] = VUG_PART_AFTER;
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        readers[g->output[i].value.id] = READ_BEFORE;
    for (uint32_t i = g->n; i-- > 1;) {
        const vug_node *node = &g->node[i];
        if (d->part[i] == VUG_PART_BEFORE && readers[i] == READ_AFTER)
            d->part[i] = VUG_PART_AFTER;
        const int mark = d->part[i] == VUG_PART_AFTER ? READ_AFTER : READ_BEFORE;
        for (int k = 0; k < vug_node_inputs(node); k++)
            readers[node->in[k].id] = (unsigned char)(readers[node->in[k].id] | mark);
    }
    return true;
}

/* A layer's panel shows the last layer of its kind, which follows another layer if any
 * layer of that kind does. */
static bool is_inside(const vug_drawing *d, const vug_draw_panel *p, uint32_t id)
{
    if (d->part[id] != p->part)
        return false;
    return p->part != VUG_PART_LAYER || d->g->node[id].layer == d->fold.last[p->kind];
}

/* Tables and inputs of the step are lines in boxes, not wires across panels. */
static bool is_shown_as_line(const vug_node *node)
{
    return node->op == VUG_OP_ROPE_TABLE || node->op == VUG_OP_INPUT;
}

/* ---- text ----------------------------------------------------------------- */

/* Moves the scratch text into the arena; NULL when out of memory. */
static const char *keep_text(vug_drawing *d)
{
    const vug_str text = { d->text.ptr, d->text.len };
    const char *kept = d->text.bad ? NULL : vug_arena_copy(&d->arena, text).ptr;
    d->text.len = 0;
    return kept;
}

static void add_line(vug_drawing *d, vug_draw_box *box, vug_line_kind kind)
{
    const char *text = keep_text(d);
    if (!text)
        d->text.bad = true;
    if (box->n_lines == VUG_BOX_LINES || !text)
        return;
    box->line[box->n_lines].kind = kind;
    box->line[box->n_lines].text = text;
    box->n_lines++;
}

static void append_name(vug_drawing *d, uint32_t id)
{
    const vug_node *node = &d->g->node[id];
    if (node->name)
        vug_buf_puts(&d->text, node->name);
    else
        vug_buf_printf(&d->text, "%s %%%u", vug_op_name(node->op), id);
}

static void add_weight(vug_drawing *d, vug_draw_box *box, uint32_t id)
{
    const vug_node *weight = &d->g->node[id];
    char shape[96];
    append_name(d, id);
    vug_buf_printf(&d->text, " %s %s", vug_shape_text(&weight->shape, shape),
                   vug_dtype_of(weight->at.param.dtype)->name);
    add_line(d, box, VUG_LINE_WEIGHT);
}

/* Whether the value's name differs from those of its weight and its operation. */
static bool has_own_name(const vug_graph *g, const vug_node *node)
{
    if (!node->name || strcmp(node->name, vug_op_name(node->op)) == 0)
        return false;
    for (int k = 0; k < vug_node_inputs(node); k++) {
        const vug_node *in = &g->node[node->in[k].id];
        if (in->op == VUG_OP_PARAM && in->name && strcmp(in->name, node->name) == 0)
            return false;
    }
    return true;
}

/* Lists the outputs that this value is in any layer of the kind: "hidden.1 .. hidden.4". */
static void add_outputs(vug_drawing *d, const vug_draw_panel *p, vug_draw_box *box)
{
    const vug_graph *g = d->g;
    const char *first = NULL, *last = NULL;
    int n = 0;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const uint32_t id = g->output[i].value.id;
        if (d->part[id] != VUG_PART_LAYER || d->fold.kind[g->node[id].layer] != p->kind ||
            d->fold.ordinal[id] != d->fold.ordinal[box->node])
            continue;
        first = first ? first : g->output[i].name;
        last = g->output[i].name;
        n++;
    }
    if (n == 0)
        return;
    vug_buf_printf(&d->text, "output %s", first);
    if (n > 1)
        vug_buf_printf(&d->text, " .. %s (%d)", last, n);
    add_line(d, box, VUG_LINE_OUTPUT);
}

static void set_title(vug_drawing *d, vug_draw_box *box, const char *title, const char *more)
{
    char shape[96];
    vug_buf_puts(&d->text, title);
    vug_buf_puts(&d->text, more);
    box->title = keep_text(d);
    vug_buf_puts(&d->text, vug_shape_text(&d->g->node[box->node].shape, shape));
    box->shape = keep_text(d);
    if (!box->title || !box->shape)
        d->text.bad = true;
}

/* ---- boxes ----------------------------------------------------------------- */

static void describe_box(vug_drawing *d, const vug_draw_panel *p, vug_draw_box *box)
{
    const vug_node *node = &d->g->node[box->node];
    char number[16] = "";
    if (!node->name && is_shown_as_line(node))
        (void)snprintf(number, sizeof(number), " %%%u", box->node);
    set_title(d, box, vug_op_name(node->op), number);
    if (has_own_name(d->g, node)) {
        vug_buf_puts(&d->text, node->name);
        add_line(d, box, VUG_LINE_NAME);
    }
    for (int k = 0; k < vug_node_inputs(node); k++) {
        const uint32_t in = node->in[k].id;
        if (d->g->node[in].op == VUG_OP_PARAM) {
            add_weight(d, box, in);
        } else if (!is_inside(d, p, in) && is_shown_as_line(&d->g->node[in])) {
            append_name(d, in);
            add_line(d, box, VUG_LINE_TABLE);
        }
    }
    if (node->op != VUG_OP_HEADS && node->op != VUG_OP_INPUT) {
        vug_attr_label(node, &d->text);
        if (d->text.len > 0)
            add_line(d, box, VUG_LINE_ATTR);
    }
    if (p->part == VUG_PART_LAYER)
        add_outputs(d, p, box);
}

static vug_draw_box *add_box(vug_draw_panel *p, vug_box_kind kind, uint32_t node)
{
    p->box[p->n_boxes] = (vug_draw_box){ .kind = kind, .node = node };
    return &p->box[p->n_boxes++];
}

static void connect_from(vug_draw_box *box, int from)
{
    if (from >= 0)
        box->in[box->n_in++] = from;
}

static void add_entries(vug_drawing *d, vug_draw_panel *p)
{
    const vug_graph *g = d->g;
    for (uint32_t i = 1; i < g->n; i++) {
        for (int k = 0; is_inside(d, p, i) && k < vug_node_inputs(&g->node[i]); k++) {
            const uint32_t in = g->node[i].in[k].id;
            const vug_node *from = &g->node[in];
            if (is_inside(d, p, in) || d->box_of[in] >= 0 || from->op == VUG_OP_PARAM ||
                is_shown_as_line(from))
                continue;
            char title[64];
            const int back = g->node[i].layer - from->layer;
            if (d->part[in] != VUG_PART_LAYER)
                (void)snprintf(title, sizeof(title), "from %s", vug_op_name(from->op));
            else if (p->part == VUG_PART_AFTER)
                (void)snprintf(title, sizeof(title), "from layer %d", from->layer);
            else
                (void)snprintf(title, sizeof(title),
                               back == 1 ? "from the layer before" : "from %d layers before", back);
            d->box_of[in] = p->n_boxes;
            set_title(d, add_box(p, VUG_BOX_ENTRY, in), title, "");
        }
    }
}

static void add_exits(vug_drawing *d, vug_draw_panel *p, bool *leaves)
{
    const vug_graph *g = d->g;
    memset(leaves, 0, g->n * sizeof(*leaves));
    for (uint32_t i = 1; i < g->n; i++) {
        for (int k = 0; !is_inside(d, p, i) && k < vug_node_inputs(&g->node[i]); k++)
            leaves[g->node[i].in[k].id] = true;
    }
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!leaves[i] || !is_inside(d, p, i) || node->op == VUG_OP_PARAM || is_shown_as_line(node))
            continue;
        vug_draw_box *box = add_box(p, VUG_BOX_EXIT, i);
        const bool ends = p->part == VUG_PART_LAYER && d->fold.first[p->kind] == g->n_layers - 1;
        set_title(d, box,
                  p->part != VUG_PART_LAYER ? "to the layers"
                  : ends                    ? "out of the layers"
                                            : "to the next layer",
                  "");
        connect_from(box, d->box_of[i]);
    }
    for (uint32_t i = 0; i < g->n_outputs && p->part != VUG_PART_LAYER; i++) {
        const uint32_t id = g->output[i].value.id;
        if (!is_inside(d, p, id) || d->box_of[id] < 0)
            continue;
        vug_draw_box *box = add_box(p, VUG_BOX_OUTPUT, id);
        set_title(d, box, "output ", g->output[i].name);
        connect_from(box, d->box_of[id]);
    }
}

static bool fill_panel(vug_drawing *d, vug_draw_panel *p)
{
    const vug_graph *g = d->g;
    size_t most = g->n_outputs;
    for (uint32_t i = 0; i < g->n; i++) {
        d->box_of[i] = -1;
        most += i > 0 && is_inside(d, p, i) ? 2 + VUG_MAX_INPUTS : 0;
    }
    p->box = vug_arena_alloc(&d->arena, most, sizeof(*p->box));
    bool *leaves = vug_arena_alloc(&d->arena, g->n, sizeof(*leaves));
    if (!p->box || !leaves)
        return false;
    add_entries(d, p);
    for (uint32_t i = 1; i < g->n; i++) {
        if (!is_inside(d, p, i) || g->node[i].op == VUG_OP_PARAM)
            continue;
        d->box_of[i] = p->n_boxes;
        vug_draw_box *box = add_box(p, VUG_BOX_OP, i);
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++)
            connect_from(box, d->box_of[g->node[i].in[k].id]);
        describe_box(d, p, box);
    }
    add_exits(d, p, leaves);
    return !d->text.bad;
}

/* ---- drawing ------------------------------------------------------------- */

static bool same_lines(const vug_draw_box *a, const vug_draw_box *b)
{
    bool same = a->n_lines == b->n_lines;
    for (int i = 0; same && i < a->n_lines; i++)
        same = a->line[i].kind == b->line[i].kind;
    return same;
}

/* If two kinds of layers have the same boxes, marks the lines in which they differ in both. */
static void mark_differences(vug_draw_panel *a, vug_draw_panel *b)
{
    if (a->n_boxes != b->n_boxes)
        return;
    for (int i = 0; i < a->n_boxes; i++) {
        vug_draw_box *s = &a->box[i], *t = &b->box[i];
        for (int k = 0; same_lines(s, t) && k < s->n_lines; k++) {
            if (s->line[k].kind != VUG_LINE_OUTPUT && strcmp(s->line[k].text, t->line[k].text) != 0)
                s->line[k].differs = t->line[k].differs = true;
        }
    }
}

bool vug_drawing_init(vug_drawing *d, const vug_graph *g)
{
    *d = (vug_drawing){ .g = g };
    if (!vug_fold_init(g, &d->arena, &d->fold))
        return false;
    d->part = vug_arena_alloc(&d->arena, g->n, sizeof(*d->part));
    d->box_of = vug_arena_alloc(&d->arena, g->n, sizeof(*d->box_of));
    d->n_panels = d->fold.n_kinds + 2;
    d->panel = vug_arena_alloc(&d->arena, (size_t)d->n_panels, sizeof(*d->panel));
    if (!d->part || !d->box_of || !d->panel || !find_parts(d))
        return false;
    for (int i = 0; i < d->n_panels; i++) {
        vug_draw_panel *p = &d->panel[i];
        p->kind = i - 1;
        p->part = i == 0 ? VUG_PART_BEFORE : i == d->n_panels - 1 ? VUG_PART_AFTER : VUG_PART_LAYER;
        if (!fill_panel(d, p))
            return false;
        if (p->part == VUG_PART_LAYER && p->kind > 0)
            mark_differences(&d->panel[1], p);
    }
    return true;
}

void vug_drawing_release(vug_drawing *d)
{
    vug_buf_release(&d->text);
    vug_arena_release(&d->arena);
}
