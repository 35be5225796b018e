/*
 * The drawing as SVG 1.1: one file without scripts, on a background of its own so
 * that it reads the same on light and dark pages. From top to bottom: what comes
 * before the layers; the order of the kinds of layers and one layer of each
 * kind, side by side; what comes after; the legend. Text in boxes is of a fixed
 * width, so that what fits can be counted, and is cut where it does not; the
 * tooltip of a box is its whole line of the text dump.
 */
#include "ir/draw.h"

#include <stdio.h>

enum {
    MARGIN = 28,
    PAD = 18,          /* inside panels */
    HEAD = 34,         /* of a panel: its title */
    HEAD_LAYER = 58,   /* two lines */
    BETWEEN = 44,      /* panels, from top to bottom */
    SIDE_BY_SIDE = 20, /* panels, from left to right */
    WIDEST_ROW = 1800, /* of panels side by side */
    NARROWEST = 560,
    TITLE_H = 26, /* of a box without lines */
    LINE_H = 18,
    WIDEST_BOX = 330,
    CELL_W = 27, /* of the strip that shows the order of the layers */
    CELL_H = 38,
    STRIP_HEAD = 64, /* of the frame around the layers, above the cells */
    LEGEND_H = 24,
};

/* Tenths of pixels that a column of text takes; fonts differ by a percent or two. */
enum { BOLD = 74, SMALL = 68, LARGE = 150, HEADING = 82 };

static const struct {
    const char *ink, *paper;
} kind_color[] = {
    { "#2f6fb2", "#eaf2fb" }, { "#b8561e", "#fcefe6" }, { "#35825a", "#e8f5ed" },
    { "#8449ad", "#f4ecfa" }, { "#8f7412", "#faf5df" }, { "#53606f", "#eff1f4" },
};
enum { KIND_COLORS = sizeof(kind_color) / sizeof(kind_color[0]) };

typedef enum {
    CLASS_MATRIX,
    CLASS_NORM,
    CLASS_POSITION,
    CLASS_ATTENTION,
    CLASS_PLAIN,
    CLASS_VIEW,
    CLASS_COUNT
} op_class;

static const struct {
    const char *css, *ink, *paper, *legend;
} class_info[CLASS_COUNT] = {
    [CLASS_MATRIX] = { "matrix", "#3f78c3", "#e6effb", "matrix product or table row" },
    [CLASS_NORM] = { "norm", "#3f9160", "#e6f5ec", "norm" },
    [CLASS_POSITION] = { "position", "#c07f1c", "#fdf1dd", "rotary position" },
    [CLASS_ATTENTION] = { "attention", "#8449ad", "#f2e8fa", "attention, with the cache" },
    [CLASS_PLAIN] = { "plain", "#7b8794", "#f1f3f5", "element by element, rows" },
    [CLASS_VIEW] = { "view", "#9aa5b1", "#ffffff", "another view, no copy" },
};

/* Without a default, so that a new op has to be given its colour. */
static op_class class_of(vug_op op)
{
    switch (op) {
    case VUG_OP_EMBED:
    case VUG_OP_LINEAR:
    case VUG_OP_EXPERTS:
        return CLASS_MATRIX;
    case VUG_OP_RMS_NORM:
    case VUG_OP_UNIT_NORM:
    case VUG_OP_ADD_NORM:
        return CLASS_NORM;
    case VUG_OP_ROPE_TABLE:
    case VUG_OP_ROPE:
    case VUG_OP_NORM_ROPE:
        return CLASS_POSITION;
    case VUG_OP_ATTENTION:
    case VUG_OP_ATTENTION_MASK:
    case VUG_OP_ATTENTION_PAST:
    case VUG_OP_ATTENTION_PAST_MASK:
    case VUG_OP_ATTEND:
    case VUG_OP_ATTEND_MASK:
        return CLASS_ATTENTION;
    case VUG_OP_HEADS:
    case VUG_OP_MERGE:
        return CLASS_VIEW;
    case VUG_OP_PARAM:
    case VUG_OP_INPUT:
    case VUG_OP_ADD:
    case VUG_OP_MUL:
    case VUG_OP_GELU:
    case VUG_OP_SILU:
    case VUG_OP_BIAS:
    case VUG_OP_SCALE:
    case VUG_OP_SOFTCAP:
    case VUG_OP_TAKE:
    case VUG_OP_ROUTER:
    case VUG_OP_ROUTE_SCALE:
    case VUG_OP_GAIN:
    case VUG_OP_UNPAIR:
    case VUG_OP_HEAD:
    case VUG_OP_GEGLU:
    case VUG_OP_SWIGLU:
    case VUG_OP_COUNT:
        break;
    }
    return CLASS_PLAIN;
}

typedef struct {
    vug_layout layout;
    int x, y, w, h; /* all 0: nothing to show */
} sheet;

typedef struct {
    vug_drawing d;
    sheet *sheet; /* [d.n_panels] */
    vug_buf *to;
    int width, height;
    int frame_x, frame_y, frame_w, frame_h; /* around the layers */
    int cells;                              /* in a row of the strip */
    int legend_y;
} page;

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int pixels(int columns, int tenths)
{
    return (columns * tenths + 9) / 10;
}

/* ---- words ----------------------------------------------------------------- */

static void put_count(vug_buf *to, uint64_t n)
{
    uint64_t unit = 1;
    while (n / unit >= 1000)
        unit *= 1000;
    vug_buf_printf(to, "%u", (unsigned)(n / unit));
    for (; unit > 1; unit /= 1000)
        vug_buf_printf(to, ",%03u", (unsigned)(n % unit / (unit / 1000)));
}

static void put_bytes(vug_buf *to, uint64_t bytes)
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

/* By the window of its attention. */
static void put_kind_title(const vug_drawing *d, int kind, vug_buf *to)
{
    const int layer = d->fold.last[kind];
    const char *title = "no attention";
    for (uint32_t i = d->fold.start[layer]; i < d->fold.start[layer + 1]; i++) {
        const vug_node *node = &d->g->node[d->fold.node[i]];
        if (!vug_op_is_attention(node->op) && !vug_op_is_attend(node->op))
            continue;
        if (node->at.attn.window > 0) {
            vug_buf_printf(to, "sliding window %lld", (long long)node->at.attn.window);
            return;
        }
        title = vug_op_has_mask(node->op) ? "attention by a mask" : "full attention";
    }
    vug_buf_puts(to, title);
}

static char letter(int kind)
{
    return (char)(kind < 26 ? 'A' + kind : '*');
}

/* ---- measuring ------------------------------------------------------------- */

static int box_width(const vug_draw_box *box)
{
    int w = pixels(vug_columns(box->title) + 2 + vug_columns(box->shape), BOLD) + 20;
    for (int i = 0; i < box->n_lines; i++)
        w = max_int(w, pixels(vug_columns(box->line[i].text), SMALL) + 30);
    w += w % 2; /* so that middles of boxes are equal to the pixel */
    return w < WIDEST_BOX ? w : WIDEST_BOX;
}

static bool measure(page *p, int i)
{
    const vug_panel *panel = &p->d.panel[i];
    sheet *s = &p->sheet[i];
    vug_place *place = vug_arena_alloc(&p->d.arena, (size_t)panel->n_boxes, sizeof(*place));
    if (!place)
        return false;
    int widest = 0;
    for (int k = 0; k < panel->n_boxes; k++) {
        if (panel->box[k].kind == VUG_BOX_OP)
            widest = max_int(widest, box_width(&panel->box[k]));
    }
    for (int k = 0; k < panel->n_boxes; k++) {
        const vug_draw_box *box = &panel->box[k];
        const vug_node *node = &p->d.g->node[box->node];
        place[k] = (vug_place){
            .w = box->kind == VUG_BOX_OP ? widest : box_width(box),
            .h = TITLE_H + box->n_lines * LINE_H + (box->n_lines > 0 ? 3 : 0),
            .n_in = box->n_in,
            .late = box->kind == VUG_BOX_OP && node->op == VUG_OP_INPUT,
        };
        memcpy(place[k].in, box->in, sizeof(place[k].in));
    }
    s->layout = (vug_layout){ .box = place, .n_boxes = panel->n_boxes };
    if (!vug_layout_make(&s->layout, &p->d.arena))
        return false;
    const bool layer = panel->part == VUG_PART_LAYER;
    if (panel->n_boxes > 0 || layer) {
        s->w = max_int(s->layout.width + 2 * PAD, layer ? 420 : 220);
        s->h = s->layout.height + (layer ? HEAD_LAYER : HEAD) + PAD;
    }
    return true;
}

/* Layers side by side, in as many rows as it takes; gives the frame its size. */
static void place_layers(page *p)
{
    int row_w = 0, row_h = 0, y = 0, widest = NARROWEST;
    for (int i = 1; i + 1 < p->d.n_panels; i++) {
        sheet *s = &p->sheet[i];
        if (row_w > 0 && row_w + s->w > WIDEST_ROW) {
            y += row_h + SIDE_BY_SIDE;
            row_w = row_h = 0;
        }
        s->x = row_w;
        s->y = y;
        row_w += s->w + SIDE_BY_SIDE;
        row_h = max_int(row_h, s->h);
        widest = max_int(widest, row_w - SIDE_BY_SIDE);
    }
    p->frame_w = widest + 2 * PAD;
    p->cells = widest / CELL_W;
    const int rows = (p->d.fold.n_layers + p->cells - 1) / p->cells;
    const int head = STRIP_HEAD + rows * CELL_H + PAD;
    p->frame_h = head + y + row_h + PAD;
    for (int i = 1; i + 1 < p->d.n_panels; i++)
        p->sheet[i].y += head;
}

static void place_all(page *p)
{
    sheet *before = &p->sheet[0], *after = &p->sheet[p->d.n_panels - 1];
    const bool layers = p->d.fold.n_layers > 0;
    if (layers)
        place_layers(p);
    p->width = max_int(max_int(before->w, after->w), max_int(p->frame_w, NARROWEST)) + 2 * MARGIN;
    int y = MARGIN + 74;
    before->x = (p->width - before->w) / 2;
    before->y = y;
    y += before->h > 0 ? before->h + BETWEEN : 0;
    p->frame_x = (p->width - p->frame_w) / 2;
    p->frame_y = y;
    y += layers ? p->frame_h + BETWEEN : 0;
    after->x = (p->width - after->w) / 2;
    after->y = y;
    y += after->h > 0 ? after->h + BETWEEN : 0;
    for (int i = 1; i + 1 < p->d.n_panels; i++) {
        p->sheet[i].x += p->frame_x + PAD;
        p->sheet[i].y += p->frame_y;
    }
    p->legend_y = y;
}

/* ---- ink ------------------------------------------------------------------- */

static void put_text(page *p, int x, int y, const char *css, const char *text, int columns)
{
    vug_buf_printf(p->to, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, css);
    vug_put_xml(p->to, text, columns);
    vug_buf_puts(p->to, "</text>\n");
}

/* The words collected in the scratch buffer, which is empty afterwards. */
static void put_words(page *p, int x, int y, const char *css, int columns)
{
    vug_buf *words = &p->d.words;
    put_text(p, x, y, css, words->ptr && words->len ? words->ptr : "", columns);
    words->len = 0;
}

static void draw_rect(page *p, const vug_place *at, int round, const char *css)
{
    vug_buf_printf(p->to,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"%s\"/>\n",
                   at->x, at->y, at->w, at->h, round, css);
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

/* All pieces are horizontal or vertical; corners are rounded, but not where
 * several wires of one box part. */
static void draw_wire(page *p, const vug_layout *l, const vug_wire *wire, int dx, int dy)
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
        const int before = max_int(in_x * sign(in_x), in_y * sign(in_y)) / 2;
        const int after = max_int(out_x * sign(out_x), out_y * sign(out_y)) / 2;
        const int least = before < after ? before : after;
        const int r = i == 1 && siblings > 1 ? 0 : least < 6 ? least : 6;
        vug_buf_printf(p->to, "L%d %dQ%d %d %d %d", x - sign(in_x) * r + dx,
                       y - sign(in_y) * r + dy, x + dx, y + dy, x + sign(out_x) * r + dx,
                       y + sign(out_y) * r + dy);
    }
    vug_buf_puts(p->to, "\"/>\n");
}

static void draw_lines(page *p, const vug_draw_box *box, const vug_place *at)
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
            draw_rect(p, &(vug_place){ .x = at->x + 7, .y = y, .w = at->w - 14, .h = LINE_H - 2 },
                      4,
                      kind == VUG_LINE_WEIGHT  ? "chip-weight"
                      : kind == VUG_LINE_TABLE ? "chip-table"
                                               : "chip-result");
        (void)snprintf(both, sizeof(both), "small %s%s", css[kind],
                       box->line[i].differs ? " differs" : "");
        put_text(p, at->x + (chip ? 13 : 10), y + 12, both, box->line[i].text,
                 (at->w - 26) * 10 / SMALL);
    }
}

static void draw_box(page *p, const vug_draw_box *box, const vug_place *at)
{
    const vug_op op = p->d.g->node[box->node].op;
    const char *css = class_info[class_of(op)].css;
    if (box->kind == VUG_BOX_OUTPUT)
        css = "out";
    else if (box->kind != VUG_BOX_OP)
        css = "port";
    else if (op == VUG_OP_INPUT)
        css = "in";
    vug_buf_puts(p->to, "<g><title>");
    vug_node_text(p->d.g, box->node, &p->d.words);
    if (p->d.words.len > 0)
        vug_put_xml(p->to, p->d.words.ptr, -1);
    p->d.words.len = 0;
    vug_buf_puts(p->to, "</title>\n");
    draw_rect(p, at, box->kind == VUG_BOX_OP && op != VUG_OP_INPUT ? 5 : 13, css);
    const int room = (at->w - 20) * 10 / BOLD;
    const int shape = vug_columns(box->shape);
    const int shape_room = shape < room * 2 / 3 ? shape : room * 2 / 3;
    put_text(p, at->x + 10, at->y + 17, "op", box->title, room - shape_room - 1);
    put_text(p, at->x + at->w - 10, at->y + 17, "shape", box->shape, shape_room);
    draw_lines(p, box, at);
    vug_buf_puts(p->to, "</g>\n");
}

/* Of a panel that is no kind of layer. What is made of one layer for later ones, such as
 * the rows that are left of a stream, leaves the last panel. */
static const char *heading_of(const vug_drawing *d, const vug_panel *panel)
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

static void draw_head(page *p, int i)
{
    const vug_panel *panel = &p->d.panel[i];
    const sheet *s = &p->sheet[i];
    const int columns = (s->w - 2 * PAD) * 10 / HEADING;
    if (panel->part != VUG_PART_LAYER) {
        put_text(p, s->x + PAD, s->y + 23, "head", heading_of(&p->d, panel), columns);
        return;
    }
    const vug_fold *fold = &p->d.fold;
    const int color = panel->kind % KIND_COLORS;
    vug_buf_printf(p->to,
                   "<circle cx=\"%d\" cy=\"%d\" r=\"12\" fill=\"%s\"/>\n"
                   "<text x=\"%d\" y=\"%d\" class=\"badge\">%c</text>\n",
                   s->x + PAD + 12, s->y + 27, kind_color[color].ink, s->x + PAD + 12, s->y + 32,
                   letter(panel->kind));
    uint64_t elements, bytes;
    count_weights(p->d.g, fold->last[panel->kind], &elements, &bytes);
    put_kind_title(&p->d, panel->kind, &p->d.words);
    vug_buf_printf(&p->d.words, ": %d x ", fold->count[panel->kind]);
    put_count(&p->d.words, elements);
    vug_buf_puts(&p->d.words, " parameters");
    put_words(p, s->x + PAD + 34, s->y + 24, "head", columns - 5);
    vug_fold_list(fold, panel->kind, 0, fold->n_layers, &p->d.words);
    put_words(p, s->x + PAD + 34, s->y + 41, "note", (s->w - 2 * PAD - 34) * 10 / SMALL);
}

static void draw_panel(page *p, int i)
{
    const vug_panel *panel = &p->d.panel[i];
    const sheet *s = &p->sheet[i];
    if (s->w == 0)
        return;
    const bool layer = panel->part == VUG_PART_LAYER;
    draw_rect(p, &(vug_place){ .x = s->x, .y = s->y, .w = s->w, .h = s->h }, 8, "panel");
    if (layer)
        vug_buf_printf(p->to,
                       "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"4\" rx=\"2\" fill=\"%s\"/>\n",
                       s->x + 1, s->y + 1, s->w - 2, kind_color[panel->kind % KIND_COLORS].ink);
    draw_head(p, i);
    const int dx = s->x + (s->w - s->layout.width) / 2;
    const int dy = s->y + (layer ? HEAD_LAYER : HEAD);
    for (int k = 0; k < s->layout.n_wires; k++)
        draw_wire(p, &s->layout, &s->layout.wire[k], dx, dy);
    for (int k = 0; k < panel->n_boxes; k++) {
        vug_place at = s->layout.box[k];
        at.x += dx;
        at.y += dy;
        draw_box(p, &panel->box[k], &at);
    }
}

static void draw_frame(page *p)
{
    const vug_fold *fold = &p->d.fold;
    const vug_place frame = { .x = p->frame_x, .y = p->frame_y, .w = p->frame_w, .h = p->frame_h };
    if (fold->n_layers == 0)
        return;
    draw_rect(p, &frame, 10, "frame");
    vug_buf_printf(&p->d.words, "%d layer%s", fold->n_layers, fold->n_layers == 1 ? "" : "s");
    if (fold->n_kinds > 1)
        vug_buf_printf(&p->d.words, " of %d kinds", fold->n_kinds);
    else if (fold->n_layers > 1)
        vug_buf_puts(&p->d.words, ", all alike");
    put_words(p, frame.x + PAD, frame.y + 25, "head", -1);
    put_text(p, frame.x + PAD, frame.y + 45, "note",
             "in this order; one of each kind is drawn below, with what differs in bold", -1);
    for (int i = 0; i < fold->n_layers; i++) {
        const int color = fold->kind[i] % KIND_COLORS;
        const int x = frame.x + PAD + i % p->cells * CELL_W;
        const int y = frame.y + STRIP_HEAD - 8 + i / p->cells * CELL_H;
        const int mid = x + (CELL_W - 3) / 2;
        vug_buf_printf(p->to,
                       "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\" "
                       "stroke=\"%s\"/>\n",
                       x, y, CELL_W - 3, CELL_H - 4, kind_color[color].paper,
                       kind_color[color].ink);
        vug_buf_printf(p->to,
                       "<text x=\"%d\" y=\"%d\" class=\"cell\">%d</text>"
                       "<text x=\"%d\" y=\"%d\" class=\"cell\" style=\"font-weight:700;fill:%s\">"
                       "%c</text>\n",
                       mid, y + 14, i, mid, y + 28, kind_color[color].ink, letter(fold->kind[i]));
    }
}

/* Between what is stacked, where both ends exist. */
static void draw_flow(page *p, int from_y, int to_y)
{
    vug_buf_printf(p->to, "<path class=\"flow\" d=\"M%d %dL%d %d\"/>\n", p->width / 2, from_y,
                   p->width / 2, to_y - 2);
}

static void draw_flows(page *p)
{
    const sheet *before = &p->sheet[0], *after = &p->sheet[p->d.n_panels - 1];
    const bool layers = p->d.fold.n_layers > 0;
    if (before->h > 0 && layers)
        draw_flow(p, before->y + before->h, p->frame_y);
    if (layers && after->h > 0)
        draw_flow(p, p->frame_y + p->frame_h, after->y);
}

/* ---- legend and title ------------------------------------------------------ */

typedef struct {
    int x, y;
} pen;

/* Makes room for one entry and writes its words; the sample goes at the result. */
static pen legend_entry(page *p, pen *at, const char *text)
{
    const int w = 34 + pixels(vug_columns(text), SMALL) + 20;
    if (at->x + w > p->width - MARGIN) {
        at->x = MARGIN;
        at->y += LEGEND_H;
    }
    const pen sample = *at;
    put_text(p, sample.x + 34, sample.y + 12, "small attr", text, -1);
    at->x += w;
    return sample;
}

static void legend_box(page *p, pen *at, int round, const char *css, const char *text)
{
    const pen s = legend_entry(p, at, text);
    draw_rect(p, &(vug_place){ .x = s.x, .y = s.y, .w = 26, .h = 16 }, round, css);
}

static void legend_wire(page *p, pen *at, const char *css, const char *text)
{
    const pen s = legend_entry(p, at, text);
    vug_buf_printf(p->to, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>\n", css, s.x, s.y + 8, s.x + 26,
                   s.y + 8);
}

static void draw_legend(page *p)
{
    pen at = { MARGIN, p->legend_y + 16 };
    put_text(p, MARGIN, p->legend_y, "head", "legend", -1);
    for (int i = 0; i < CLASS_COUNT; i++)
        legend_box(p, &at, 4, class_info[i].css, class_info[i].legend);
    legend_box(p, &at, 8, "in", "set for each step");
    legend_box(p, &at, 8, "port", "enters or leaves this part");
    legend_box(p, &at, 8, "out", "output of the graph");
    legend_box(p, &at, 4, "chip-weight", "weight");
    legend_box(p, &at, 4, "chip-table", "made before the layers");
    legend_wire(p, &at, "wire", "value");
    legend_wire(p, &at, "wire aside", "value that passes others by, such as a residual");
    at = (pen){ MARGIN, at.y + LEGEND_H + 10 };
    put_text(p, at.x, at.y + 4, "small attr",
             "Shapes: T tokens of the step, R rows whose outputs are wanted.", -1);
    p->height = at.y + 4 + MARGIN;
}

static void draw_title(page *p)
{
    const vug_graph *g = p->d.g;
    uint64_t elements, bytes;
    uint32_t ops = 0;
    count_weights(g, -1, &elements, &bytes);
    for (uint32_t i = 1; i < g->n; i++)
        ops += g->node[i].op != VUG_OP_PARAM && g->node[i].op != VUG_OP_INPUT;
    put_text(p, MARGIN, MARGIN + 22, "title", g->name ? g->name : "a graph without a name",
             (p->width - 2 * MARGIN) * 10 / LARGE);
    vug_buf_printf(&p->d.words, "%d layers, ", g->n_layers);
    put_count(&p->d.words, elements);
    vug_buf_puts(&p->d.words, " parameters, ");
    put_bytes(&p->d.words, bytes);
    vug_buf_printf(&p->d.words, " of weights, %u operations", ops);
    put_words(p, MARGIN, MARGIN + 46, "note", (p->width - 2 * MARGIN) * 10 / SMALL);
}

static void draw_style(vug_buf *to)
{
    vug_buf_puts(to,
                 "<style>\n"
                 "text{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2933}\n"
                 ".title{font-size:24px;font-weight:700}\n"
                 ".head{font-size:13px;font-weight:700}\n"
                 ".note{font-size:11px;fill:#52606d}\n"
                 ".op{font-size:12px;font-weight:700}\n"
                 ".shape{font-size:12px;text-anchor:end;fill:#323f4b}\n"
                 ".small{font-size:11px}\n"
                 ".name{fill:#323f4b}.attr{fill:#616e7c}.weight{fill:#6b5310}\n"
                 ".table{fill:#8a5a0e}.result{fill:#0c5d56}\n"
                 ".differs{font-weight:700;fill:#b3261e}\n"
                 ".badge{font-size:13px;font-weight:700;text-anchor:middle;fill:#ffffff}\n"
                 ".cell{font-size:11px;text-anchor:middle}\n"
                 ".panel{fill:#ffffff;stroke:#cbd2d9}.frame{fill:#eef1f5;stroke:#cbd2d9}\n"
                 ".in{fill:#fff8db;stroke:#a8861d}.port{fill:#edf2f7;stroke:#7b8794}\n"
                 ".out{fill:#dff5f2;stroke:#0f7d73}\n"
                 ".chip-weight{fill:#fbf1cf}.chip-table{fill:#fbe3bd}.chip-result{fill:#cdeeea}\n"
                 ".wire{fill:none;stroke:#52606d;stroke-width:1.3;marker-end:url(#tip)}\n"
                 ".aside{stroke:#b8336a;stroke-width:1.6;marker-end:url(#tip-aside)}\n"
                 ".flow{fill:none;stroke:#52606d;stroke-width:4;marker-end:url(#tip-flow)}\n");
    for (int i = 0; i < CLASS_COUNT; i++)
        vug_buf_printf(to, ".%s{fill:%s;stroke:%s%s}\n", class_info[i].css, class_info[i].paper,
                       class_info[i].ink, i == CLASS_VIEW ? ";stroke-dasharray:4 3" : "");
    vug_buf_puts(to, "</style>\n<defs>\n");
    static const struct {
        const char *id, *color;
        int size;
    } tip[] = { { "tip", "#52606d", 8 },
                { "tip-aside", "#b8336a", 8 },
                { "tip-flow", "#52606d", 18 } };
    for (size_t i = 0; i < sizeof(tip) / sizeof(tip[0]); i++)
        vug_buf_printf(to,
                       "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" "
                       "markerWidth=\"%d\" markerHeight=\"%d\" markerUnits=\"userSpaceOnUse\" "
                       "orient=\"auto\"><path d=\"M0 0.8L8 4L0 7.2Z\" fill=\"%s\"/></marker>\n",
                       tip[i].id, tip[i].size, tip[i].size, tip[i].color);
    vug_buf_puts(to, "</defs>\n");
}

static void draw_all(page *p)
{
    draw_title(p);
    draw_frame(p);
    for (int i = 0; i < p->d.n_panels; i++)
        draw_panel(p, i);
    draw_flows(p);
    draw_legend(p);
}

void vug_graph_svg(const vug_graph *g, vug_buf *to)
{
    vug_buf ink = { 0 };
    page p = { .to = &ink };
    bool ok = vug_drawing_init(&p.d, g);
    if (ok) {
        p.sheet = vug_arena_alloc(&p.d.arena, (size_t)p.d.n_panels, sizeof(*p.sheet));
        ok = p.sheet != NULL;
    }
    for (int i = 0; ok && i < p.d.n_panels; i++)
        ok = measure(&p, i);
    if (ok) {
        place_all(&p);
        draw_all(&p); /* into a buffer of its own: the legend ends the page */
        vug_buf_printf(to,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                       "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
                       p.width, p.height, p.width, p.height);
        vug_put_xml(to, g->name ? g->name : "graph", -1);
        vug_buf_puts(to, "</title>\n");
        draw_style(to);
        vug_buf_printf(to, "<rect width=\"%d\" height=\"%d\" fill=\"#f8fafc\"/>\n", p.width,
                       p.height);
        vug_buf_append(to, ink.ptr, ink.len);
        vug_buf_puts(to, "</svg>\n");
    }
    to->bad |= !ok || ink.bad || p.d.words.bad;
    vug_buf_release(&ink);
    vug_drawing_release(&p.d);
}
