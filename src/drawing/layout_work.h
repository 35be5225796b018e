#ifndef VUG_DRAWING_LAYOUT_WORK_H
#define VUG_DRAWING_LAYOUT_WORK_H

/* What layout.c, which places boxes, and wires.c, which routes between them, share. */

#include "drawing/layout.h"

typedef enum { VUG_ROUTE_DOWN, VUG_ROUTE_LEFT, VUG_ROUTE_RIGHT } vug_wire_route;

typedef struct {
    int from, to;
    bool skip; /* another path leads from `from` to `to` */
    vug_wire_route route;
    int lane;   /* of VUG_ROUTE_LEFT and VUG_ROUTE_RIGHT: counted from the boxes outwards */
    bool side;  /* enters at the side, side_y below the box's top */
    int side_y; /* pixels */
    int port_x; /* where it enters at the top, unless at the side */
} vug_layout_edge;

/* The horizontal piece, in the channel below a row, of all wires from one box. */
typedef struct {
    int row, from;
    int x1, x2;
    int track; /* -1: straight down */
} vug_layout_bend;

typedef struct {
    vug_layout *l;
    vug_layout_edge *edge; /* by reader */
    int *first_edge;       /* [boxes + 1] into edge */
    int n_edges, n_rows;
    int n_lanes[3];          /* by route */
    int *unit;               /* [boxes]: the middle, in half columns */
    int *order;              /* [boxes]: by row, then from left to right */
    int *start;              /* [n_rows + 1] into order */
    int *bottom;             /* [n_rows]: y where the channel below begins */
    int *scratch, *scratch2; /* [boxes + 1] */
    vug_layout_bend *bend;   /* by row, then by box */
    int n_bends;
} vug_layout_work;

static inline int vug_layout_middle(const vug_layout_work *w, int box)
{
    return w->l->box[box].x + w->l->box[box].w / 2;
}

static inline int vug_layout_row(const vug_layout_work *w, int box)
{
    return w->l->box[box].row;
}

static inline bool vug_layout_is_long(const vug_layout_work *w, const vug_layout_edge *e)
{
    return vug_layout_row(w, e->to) - vug_layout_row(w, e->from) > 1;
}

/* Decides on the lanes, ports and tracks of all wires, and so on the height of the channels
 * between rows; then makes the wires. Boxes have their rows and columns (wires.c). */
void vug_layout_route(vug_layout_work *w);

#endif
