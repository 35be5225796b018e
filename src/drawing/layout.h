#ifndef VUG_DRAWING_LAYOUT_H
#define VUG_DRAWING_LAYOUT_H

/*
 * Places boxes in rows, from sources at the top to results at the bottom, and routes
 * a wire of straight pieces for every input, so that no wire crosses a box. It knows
 * sizes and connections of boxes, but not graphs. All lengths are pixels.
 */

#include "core/mem.h"

#define VUG_LAYOUT_INPUTS 6
#define VUG_WIRE_POINTS   6

typedef struct {
    int w, h;
    int in[VUG_LAYOUT_INPUTS]; /* indexes of earlier boxes */
    int n_in;
    bool late; /* place it in the row right above its first reader */
    int x, y;  /* result: the upper left corner */
    int row;   /* result */
} vug_layout_box;

typedef struct {
    int from, to; /* boxes */
    bool aside;   /* runs beside the boxes, past one row or more */
    int n;
    struct {
        int x, y;
    } at[VUG_WIRE_POINTS];
} vug_layout_wire;

typedef struct {
    vug_layout_box *box; /* [n_boxes], owned by the caller */
    int n_boxes;
    vug_layout_wire *wire; /* result, in the arena */
    int n_wires;
    int width, height; /* result */
} vug_layout;

/* False when out of memory. */
bool vug_layout_init(vug_layout *l, vug_arena *arena);

#endif
