#ifndef VUG_IR_DRAW_LAYOUT_H
#define VUG_IR_DRAW_LAYOUT_H

/*
 * Places boxes in rows, from sources at the top to results at the bottom, and
 * routes a wire of straight pieces for every input so that none runs through a
 * box. It knows sizes and who reads whom, nothing of graphs. Pixels throughout.
 */

#include "core/mem.h"

#define VUG_PLACE_INPUTS 6
#define VUG_WIRE_POINTS  6

typedef struct {
    int w, h;
    int in[VUG_PLACE_INPUTS]; /* indexes of earlier boxes */
    int n_in;
    bool late; /* stands in the row right above its first reader */
    int x, y;  /* found: the upper left corner */
    int row;   /* found */
} vug_place;

typedef struct {
    int from, to; /* boxes */
    bool aside;   /* runs beside the boxes: it passes over some rows */
    int n;
    struct {
        int x, y;
    } at[VUG_WIRE_POINTS];
} vug_wire;

typedef struct {
    vug_place *box; /* [n_boxes], of the caller */
    int n_boxes;
    vug_wire *wire; /* found, in the arena */
    int n_wires;
    int width, height; /* found */
} vug_layout;

/* False when out of memory. */
bool vug_layout_make(vug_layout *l, vug_arena *arena);

#endif
