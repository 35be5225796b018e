/*
 * The drawing as SVG 1.1: one file without scripts, with its own background so that it
 * looks the same on light and dark pages. Text in boxes has a fixed width, so that it
 * can be cut where it does not fit; the tooltip of a box is its whole line of the text
 * dump.
 */
#include "drawing/svg.h"

#include "drawing/drawing.h"

#include <stdio.h>

static const struct {
    const char *dark, *light;
} kind_color[] = {
    { "#2f6fb2", "#eaf2fb" }, { "#b8561e", "#fcefe6" }, { "#35825a", "#e8f5ed" },
    { "#8449ad", "#f4ecfa" }, { "#8f7412", "#faf5df" }, { "#53606f", "#eff1f4" },
};
enum { KIND_COLORS = sizeof(kind_color) / sizeof(kind_color[0]) };

/* ---- text ----------------------------------------------------------------- */

static void append_count(vug_buf *to, uint64_t n)
{
    uint64_t unit = 1;
    while (n / unit >= 1000)
        unit *= 1000;
    vug_buf_printf(to, "%u", (unsigned)(n / unit));
    for (; unit > 1; unit /= 1000)
        vug_buf_printf(to, ",%03u", (unsigned)(n % unit / (unit / 1000)));
}

static void append_size(vug_buf *to, uint64_t bytes)
{
    static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int i = 0;
    for (; i < 5 && bytes >= 1000u << 10; i++)
        bytes /= 1024;
    vug_buf_printf(to, "%u.%u %s", (unsigned)(bytes / 1024), (unsigned)(bytes % 1024 * 10 / 1024),
                   unit[i]);
}

/* Weights of one layer, or (-1) of the graph, where a tied one counts once. */
static void count_weights(const vug_graph *g, int layer, uint64_t *elements, uint64_t *bytes)
{
    *elements = *bytes = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        bool counts = node->op == VUG_OP_PARAM && (layer < 0 || node->layer == layer);
        for (uint32_t k = 1; counts && layer < 0 && k < i; k++)
            counts = g->node[k].op != VUG_OP_PARAM ||
                     g->node[k].at.param.slot != node->at.param.slot;
        if (!counts)
            continue;
        uint64_t size = 0;
        const uint64_t n = (uint64_t)vug_shape_elements(&node->shape, 1, 1);
        if (vug_dtype_size(node->at.param.dtype, n, &size))
            *bytes += size;
        *elements += n;
    }
}

/* Names a kind of layer by the window of its attention. */
static void append_kind_title(const vug_drawing *d, int kind, vug_buf *to)
{
    const int layer = d->fold.last[kind];
    const char *title = "no attention";
    for (uint32_t i = d->fold.start[layer]; i < d->fold.start[layer + 1]; i++) {
        const vug_node *node = &d->g->node[d->fold.node[i]];
        if (node->op != VUG_OP_ATTENTION)
            continue;
        if (node->at.attn.window > 0) {
            vug_buf_printf(to, "sliding window %lld", (long long)node->at.attn.window);
            return;
        }
        title = vug_node_has_mask(node) ? "attention by a mask" : "full attention";
    }
    vug_buf_puts(to, title);
}

static char kind_letter(int kind)
{
    return (char)(kind < 26 ? 'A' + kind : '*');
}

/* ---- boxes and wires ------------------------------------------------------------------- */

/* Writes the text that was collected in d.text, and empties it. */
static void write_scratch(vug_drawing_page *p, int x, int y, const char *css, int columns)
{
    vug_buf *text = &p->d.text;
    vug_svg_text(p, x, y, css, text->ptr && text->len ? text->ptr : "", columns);
    text->len = 0;
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

/* All pieces are horizontal or vertical. Corners are rounded, except where several wires of
 * one box separate. */
static void draw_wire(vug_drawing_page *p, const vug_layout *l, const vug_layout_wire *wire, int dx,
                      int dy)
{
    int siblings = 0;
    for (int i = 0; i < l->n_wires; i++)
        siblings += l->wire[i].from == wire->from;
    vug_buf_printf(p->to, "<path class=\"%s\" d=\"M%d %d", wire->aside ? "wire aside" : "wire",
                   wire->at[0].x + dx, wire->at[0].y + dy);
    for (int i = 1; i < wire->n; i++) {
        const int x = wire->at[i].x, y = wire->at[i].y;
        if (i + 1 == wire->n) {
            vug_buf_printf(p->to, "L%d %d", x + dx, y + dy);
            break;
        }
        const int in_x = x - wire->at[i - 1].x, in_y = y - wire->at[i - 1].y;
        const int out_x = wire->at[i + 1].x - x, out_y = wire->at[i + 1].y - y;
        const int before = vug_max_int(in_x * sign(in_x), in_y * sign(in_y)) / 2;
        const int after = vug_max_int(out_x * sign(out_x), out_y * sign(out_y)) / 2;
        const int least = before < after ? before : after;
        const int r = i == 1 && siblings > 1 ? 0 : least < 6 ? least : 6;
        vug_buf_printf(p->to, "L%d %dQ%d %d %d %d", x - sign(in_x) * r + dx,
                       y - sign(in_y) * r + dy, x + dx, y + dy, x + sign(out_x) * r + dx,
                       y + sign(out_y) * r + dy);
    }
    vug_buf_puts(p->to, "\"/>\n");
}

static void draw_lines(vug_drawing_page *p, const vug_draw_box *box, const vug_layout_box *at)
{
    static const char *const css[] = {
        [VUG_LINE_NAME] = "name",   [VUG_LINE_ATTR] = "attr",     [VUG_LINE_WEIGHT] = "weight",
        [VUG_LINE_TABLE] = "table", [VUG_LINE_OUTPUT] = "result",
    };
    for (int i = 0; i < box->n_lines; i++) {
        const int y = at->y + TITLE_H - 1 + i * LINE_H;
        const vug_line_kind kind = box->line[i].kind;
        const bool chip = kind >= VUG_LINE_WEIGHT;
        char both[64];
        if (chip)
            vug_svg_rect(
                    p,
                    &(vug_layout_box){ .x = at->x + 7, .y = y, .w = at->w - 14, .h = LINE_H - 2 },
                    4,
                    kind == VUG_LINE_WEIGHT  ? "chip-weight"
                    : kind == VUG_LINE_TABLE ? "chip-table"
                                             : "chip-result");
        (void)snprintf(both, sizeof(both), "small %s%s", css[kind],
                       box->line[i].differs ? " differs" : "");
        vug_svg_text(p, at->x + (chip ? 13 : 10), y + 12, both, box->line[i].text,
                     (at->w - 26) * 10 / SMALL);
    }
}

static void draw_box(vug_drawing_page *p, const vug_draw_box *box, const vug_layout_box *at)
{
    const vug_op op = p->d.g->node[box->node].op;
    const char *css = vug_svg_class(op);
    if (box->kind == VUG_BOX_OUTPUT)
        css = "out";
    else if (box->kind != VUG_BOX_OP)
        css = "port";
    else if (op == VUG_OP_INPUT)
        css = "in";
    vug_buf_puts(p->to, "<g><title>");
    vug_node_text(p->d.g, box->node, &p->d.text);
    if (p->d.text.len > 0)
        vug_xml_append(p->to, p->d.text.ptr, -1);
    p->d.text.len = 0;
    vug_buf_puts(p->to, "</title>\n");
    vug_svg_rect(p, at, box->kind == VUG_BOX_OP && op != VUG_OP_INPUT ? 5 : 13, css);
    const int columns = (at->w - 20) * 10 / BOLD;
    const int shape = vug_text_columns(box->shape);
    const int shape_columns = shape < columns * 2 / 3 ? shape : columns * 2 / 3;
    vug_svg_text(p, at->x + 10, at->y + 17, "op", box->title, columns - shape_columns - 1);
    vug_svg_text(p, at->x + at->w - 10, at->y + 17, "shape", box->shape, shape_columns);
    draw_lines(p, box, at);
    vug_buf_puts(p->to, "</g>\n");
}

/* The heading of a panel outside the layers. If the last panel has an exit, some of its
 * values are computed between layers. */
static const char *heading_of(const vug_drawing *d, const vug_draw_panel *panel)
{
    if (d->fold.n_layers == 0)
        return "the graph";
    if (panel->part != VUG_PART_AFTER)
        return "before the layers";
    for (int i = 0; i < panel->n_boxes; i++) {
        if (panel->box[i].kind == VUG_BOX_EXIT)
            return "between and after the layers";
    }
    return "after the layers";
}

static void draw_head(vug_drawing_page *p, int i)
{
    const vug_draw_panel *panel = &p->d.panel[i];
    const vug_page_panel *s = &p->panel[i];
    const int columns = (s->w - 2 * PAD) * 10 / HEADING;
    if (panel->part != VUG_PART_LAYER) {
        vug_svg_text(p, s->x + PAD, s->y + 23, "head", heading_of(&p->d, panel), columns);
        return;
    }
    const vug_fold *fold = &p->d.fold;
    const int color = panel->kind % KIND_COLORS;
    vug_buf_printf(p->to,
                   "<circle cx=\"%d\" cy=\"%d\" r=\"12\" fill=\"%s\"/>\n"
                   "<text x=\"%d\" y=\"%d\" class=\"badge\">%c</text>\n",
                   s->x + PAD + 12, s->y + 27, kind_color[color].dark, s->x + PAD + 12, s->y + 32,
                   kind_letter(panel->kind));
    uint64_t elements, bytes;
    count_weights(p->d.g, fold->last[panel->kind], &elements, &bytes);
    append_kind_title(&p->d, panel->kind, &p->d.text);
    vug_buf_printf(&p->d.text, ": %d x ", fold->count[panel->kind]);
    append_count(&p->d.text, elements);
    vug_buf_puts(&p->d.text, " parameters");
    write_scratch(p, s->x + PAD + 34, s->y + 24, "head", columns - 5);
    vug_fold_list(fold, panel->kind, 0, fold->n_layers, &p->d.text);
    write_scratch(p, s->x + PAD + 34, s->y + 41, "note", (s->w - 2 * PAD - 34) * 10 / SMALL);
}

static void draw_panel(vug_drawing_page *p, int i)
{
    const vug_draw_panel *panel = &p->d.panel[i];
    const vug_page_panel *s = &p->panel[i];
    if (s->w == 0)
        return;
    const bool layer = panel->part == VUG_PART_LAYER;
    vug_svg_rect(p, &(vug_layout_box){ .x = s->x, .y = s->y, .w = s->w, .h = s->h }, 8, "panel");
    if (layer)
        vug_buf_printf(p->to,
                       "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"4\" rx=\"2\" fill=\"%s\"/>\n",
                       s->x + 1, s->y + 1, s->w - 2, kind_color[panel->kind % KIND_COLORS].dark);
    draw_head(p, i);
    const int dx = s->x + (s->w - s->layout.width) / 2;
    const int dy = s->y + (layer ? HEAD_LAYER : HEAD);
    for (int k = 0; k < s->layout.n_wires; k++)
        draw_wire(p, &s->layout, &s->layout.wire[k], dx, dy);
    for (int k = 0; k < panel->n_boxes; k++) {
        vug_layout_box at = s->layout.box[k];
        at.x += dx;
        at.y += dy;
        draw_box(p, &panel->box[k], &at);
    }
}

static void draw_frame(vug_drawing_page *p)
{
    const vug_fold *fold = &p->d.fold;
    const vug_layout_box frame = {
        .x = p->frame_x, .y = p->frame_y, .w = p->frame_w, .h = p->frame_h
    };
    if (fold->n_layers == 0)
        return;
    vug_svg_rect(p, &frame, 10, "frame");
    vug_buf_printf(&p->d.text, "%d layer%s", fold->n_layers, fold->n_layers == 1 ? "" : "s");
    if (fold->n_kinds > 1)
        vug_buf_printf(&p->d.text, " of %d kinds", fold->n_kinds);
    else if (fold->n_layers > 1)
        vug_buf_puts(&p->d.text, ", all alike");
    write_scratch(p, frame.x + PAD, frame.y + 25, "head", -1);
    vug_svg_text(p, frame.x + PAD, frame.y + 45, "note",
                 "in this order; one of each kind is drawn below, with what differs in bold", -1);
    for (int i = 0; i < fold->n_layers; i++) {
        const int color = fold->kind[i] % KIND_COLORS;
        const int x = frame.x + PAD + i % p->cells * CELL_W;
        const int y = frame.y + STRIP_HEAD - 8 + i / p->cells * CELL_H;
        const int mid = x + (CELL_W - 3) / 2;
        vug_buf_printf(p->to,
                       "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\" "
                       "stroke=\"%s\"/>\n",
                       x, y, CELL_W - 3, CELL_H - 4, kind_color[color].light,
                       kind_color[color].dark);
        vug_buf_printf(p->to,
                       "<text x=\"%d\" y=\"%d\" class=\"cell\">%d</text>"
                       "<text x=\"%d\" y=\"%d\" class=\"cell\" style=\"font-weight:700;fill:%s\">"
                       "%c</text>\n",
                       mid, y + 14, i, mid, y + 28, kind_color[color].dark,
                       kind_letter(fold->kind[i]));
    }
}

/* An arrow from one panel down to the next. */
static void draw_flow(vug_drawing_page *p, int from_y, int to_y)
{
    vug_buf_printf(p->to, "<path class=\"flow\" d=\"M%d %dL%d %d\"/>\n", p->width / 2, from_y,
                   p->width / 2, to_y - 2);
}

static void draw_flows(vug_drawing_page *p)
{
    const vug_page_panel *before = &p->panel[0], *after = &p->panel[p->d.n_panels - 1];
    const bool layers = p->d.fold.n_layers > 0;
    if (before->h > 0 && layers)
        draw_flow(p, before->y + before->h, p->frame_y);
    if (layers && after->h > 0)
        draw_flow(p, p->frame_y + p->frame_h, after->y);
}

/* ---- title and page -------------------------------------------------------- */

static void draw_title(vug_drawing_page *p)
{
    const vug_graph *g = p->d.g;
    uint64_t elements, bytes;
    uint32_t ops = 0;
    count_weights(g, -1, &elements, &bytes);
    for (uint32_t i = 1; i < g->n; i++)
        ops += vug_op_class_of(g->node[i].op) != VUG_CLASS_LEAF;
    vug_svg_text(p, MARGIN, MARGIN + 22, "title", g->name ? g->name : "a graph without a name",
                 (p->width - 2 * MARGIN) * 10 / LARGE);
    vug_buf_printf(&p->d.text, "%d layers, ", g->n_layers);
    append_count(&p->d.text, elements);
    vug_buf_puts(&p->d.text, " parameters, ");
    append_size(&p->d.text, bytes);
    vug_buf_printf(&p->d.text, " of weights, %u operations", ops);
    write_scratch(p, MARGIN, MARGIN + 46, "note", (p->width - 2 * MARGIN) * 10 / SMALL);
}

static void draw_all(vug_drawing_page *p)
{
    draw_title(p);
    draw_frame(p);
    for (int i = 0; i < p->d.n_panels; i++)
        draw_panel(p, i);
    draw_flows(p);
    vug_svg_legend(p);
}

void vug_graph_svg(const vug_graph *g, vug_buf *to)
{
    vug_buf body = { 0 };
    vug_drawing_page p;
    const bool ok = vug_page_init(&p, g);
    p.to = &body;
    if (ok) {
        draw_all(&p); /* into another buffer: the legend decides on the page's height */
        vug_buf_printf(to,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                       "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
                       p.width, p.height, p.width, p.height);
        vug_xml_append(to, g->name ? g->name : "graph", -1);
        vug_buf_puts(to, "</title>\n");
        vug_svg_style(to);
        vug_buf_printf(to, "<rect width=\"%d\" height=\"%d\" fill=\"#f8fafc\"/>\n", p.width,
                       p.height);
        vug_buf_append(to, body.ptr, body.len);
        vug_buf_puts(to, "</svg>\n");
    }
    to->bad |= !ok || body.bad || p.d.text.bad;
    vug_buf_release(&body);
    vug_page_release(&p);
}
