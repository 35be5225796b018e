/*
 * Positions everything on the page, from top to bottom: what comes before the layers; the
 * order of the kinds of layers and one layer of each kind, side by side; what comes after;
 * the legend.
 */
#include "drawing/page.h"

static int box_width(const vug_draw_box *box)
{
    int w = vug_text_pixels(vug_text_columns(box->title) + 2 + vug_text_columns(box->shape), BOLD) +
            20;
    for (int i = 0; i < box->n_lines; i++)
        w = vug_max_int(w, vug_text_pixels(vug_text_columns(box->line[i].text), SMALL) + 30);
    w += w % 2; /* so that middles of boxes are equal to the pixel */
    return w < WIDEST_BOX ? w : WIDEST_BOX;
}

static bool measure_panel(vug_drawing_page *p, int i)
{
    const vug_draw_panel *panel = &p->d.panel[i];
    vug_page_panel *s = &p->panel[i];
    vug_layout_box *place = vug_arena_alloc(&p->d.arena, (size_t)panel->n_boxes, sizeof(*place));
    if (!place)
        return false;
    int widest = 0;
    for (int k = 0; k < panel->n_boxes; k++) {
        if (panel->box[k].kind == VUG_BOX_OP)
            widest = vug_max_int(widest, box_width(&panel->box[k]));
    }
    for (int k = 0; k < panel->n_boxes; k++) {
        const vug_draw_box *box = &panel->box[k];
        const vug_node *node = &p->d.g->node[box->node];
        place[k] = (vug_layout_box){
            .w = box->kind == VUG_BOX_OP ? widest : box_width(box),
            .h = TITLE_H + box->n_lines * LINE_H + (box->n_lines > 0 ? 3 : 0),
            .n_in = box->n_in,
            .late = box->kind == VUG_BOX_OP && node->op == VUG_OP_INPUT,
        };
        memcpy(place[k].in, box->in, sizeof(place[k].in));
    }
    s->layout = (vug_layout){ .box = place, .n_boxes = panel->n_boxes };
    if (!vug_layout_init(&s->layout, &p->d.arena))
        return false;
    const bool layer = panel->part == VUG_PART_LAYER;
    if (panel->n_boxes > 0 || layer) {
        s->w = vug_max_int(s->layout.width + 2 * PAD, layer ? 420 : 220);
        s->h = s->layout.height + (layer ? HEAD_LAYER : HEAD) + PAD;
    }
    return true;
}

/* Layers side by side, in as many rows as it takes; gives the frame its size. */
static void place_layers(vug_drawing_page *p)
{
    int row_w = 0, row_h = 0, y = 0, widest = NARROWEST;
    for (int i = 1; i + 1 < p->d.n_panels; i++) {
        vug_page_panel *s = &p->panel[i];
        if (row_w > 0 && row_w + s->w > WIDEST_ROW) {
            y += row_h + SIDE_BY_SIDE;
            row_w = row_h = 0;
        }
        s->x = row_w;
        s->y = y;
        row_w += s->w + SIDE_BY_SIDE;
        row_h = vug_max_int(row_h, s->h);
        widest = vug_max_int(widest, row_w - SIDE_BY_SIDE);
    }
    p->frame_w = widest + 2 * PAD;
    p->cells = widest / CELL_W;
    const int rows = (p->d.fold.n_layers + p->cells - 1) / p->cells;
    const int head = STRIP_HEAD + rows * CELL_H + PAD;
    p->frame_h = head + y + row_h + PAD;
    for (int i = 1; i + 1 < p->d.n_panels; i++)
        p->panel[i].y += head;
}

static void place_all(vug_drawing_page *p)
{
    vug_page_panel *before = &p->panel[0], *after = &p->panel[p->d.n_panels - 1];
    const bool layers = p->d.fold.n_layers > 0;
    if (layers)
        place_layers(p);
    p->width = vug_max_int(vug_max_int(before->w, after->w), vug_max_int(p->frame_w, NARROWEST)) +
               2 * MARGIN;
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
        p->panel[i].x += p->frame_x + PAD;
        p->panel[i].y += p->frame_y;
    }
    p->legend_y = y;
}

bool vug_page_init(vug_drawing_page *p, const vug_graph *g)
{
    *p = (vug_drawing_page){ 0 };
    if (!vug_drawing_init(&p->d, g))
        return false;
    p->panel = vug_arena_alloc(&p->d.arena, (size_t)p->d.n_panels, sizeof(*p->panel));
    if (!p->panel)
        return false;
    for (int i = 0; i < p->d.n_panels; i++) {
        if (!measure_panel(p, i))
            return false;
    }
    place_all(p);
    return true;
}

void vug_page_release(vug_drawing_page *p)
{
    vug_drawing_release(&p->d);
}
