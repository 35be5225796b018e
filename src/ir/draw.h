#ifndef VUG_IR_DRAW_H
#define VUG_IR_DRAW_H

/*
 * Private to ir/: a drawing as panels, before it is ink. A panel holds the boxes
 * of one part of the graph: what comes before the layers, one layer of each
 * kind, what comes after. Weights are lines in the boxes of their readers; so
 * are tables made before the layers. Other values from elsewhere enter through
 * an entry and leave through an exit.
 */

#include "ir/draw_layout.h"
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
    uint32_t node;            /* that it shows, or whose value enters or leaves */
    int in[VUG_PLACE_INPUTS]; /* boxes of the panel that it reads */
    int n_in;
    const char *title; /* beside which stands the shape */
    const char *shape;
    int n_lines;
    struct {
        vug_line_kind kind;
        const char *text;
        bool differs; /* from the same line of the first kind of layer */
    } line[VUG_BOX_LINES];
} vug_draw_box;

typedef enum { VUG_PART_BEFORE, VUG_PART_LAYER, VUG_PART_AFTER } vug_part;

typedef struct {
    vug_part part;
    int kind; /* of layer, where it is one */
    int n_boxes;
    vug_draw_box *box;
} vug_panel;

typedef struct {
    const vug_graph *g;
    vug_arena arena; /* of everything */
    vug_fold fold;
    unsigned char *part; /* [nodes]: a vug_part */
    int *box_of;         /* [nodes]: in the panel being filled; -1: none */
    vug_buf words;       /* scratch */
    vug_panel *panel;    /* [n_panels]: before, the kinds of layers in order, after */
    int n_panels;
} vug_drawing;

/* Everything but places. On false (out of memory) it must be released as well. */
bool vug_drawing_init(vug_drawing *d, const vug_graph *g);
void vug_drawing_release(vug_drawing *d);

#endif
