#ifndef VUG_DRAWING_PANEL_H
#define VUG_DRAWING_PANEL_H

/*
 * The contents of a drawing, without positions. A panel has the boxes of one part of the
 * graph: what comes before the layers, one layer of each kind, what comes after. Weights
 * and the tables made before the layers are lines in the boxes of their readers. Other
 * values come in from other panels through entry boxes and leave through exit boxes.
 */

#include "drawing/layout.h"
#include "ir/dump.h"

#define VUG_BOX_LINES 8

typedef enum { VUG_BOX_OP, VUG_BOX_ENTRY, VUG_BOX_EXIT, VUG_BOX_OUTPUT } vug_box_kind;
typedef enum {
    VUG_LINE_NAME,
    VUG_LINE_ATTR,
    VUG_LINE_WEIGHT,
    VUG_LINE_TABLE,
    VUG_LINE_OUTPUT
} vug_line_kind;

typedef struct {
    vug_box_kind kind;
    uint32_t node;             /* the node that it shows, or whose value enters or leaves */
    int in[VUG_LAYOUT_INPUTS]; /* boxes of the panel that it reads */
    int n_in;
    const char *title; /* left of the shape */
    const char *shape;
    int n_lines;
    struct {
        vug_line_kind kind;
        const char *text;
        bool differs; /* from this line in the panel of the first kind of layer */
    } line[VUG_BOX_LINES];
} vug_draw_box;

typedef enum { VUG_PART_BEFORE, VUG_PART_LAYER, VUG_PART_AFTER } vug_panel_part;

typedef struct {
    vug_panel_part part;
    int kind; /* of a layer's panel: the kind of layer */
    int n_boxes;
    vug_draw_box *box;
} vug_draw_panel;

typedef struct {
    const vug_graph *g;
    vug_arena arena; /* owns everything */
    vug_fold fold;
    unsigned char *part;   /* [nodes]: a vug_panel_part */
    int *box_of;           /* [nodes]: in the panel being filled; -1: none */
    vug_buf text;          /* scratch */
    vug_draw_panel *panel; /* [n_panels]: before, the kinds of layers in order, after */
    int n_panels;
} vug_drawing;

/* False when out of memory. Must be released in either case. */
bool vug_drawing_init(vug_drawing *d, const vug_graph *g);
void vug_drawing_release(vug_drawing *d);

#endif
