#ifndef VUG_DRAWING_PAGE_H
#define VUG_DRAWING_PAGE_H

/* The page: a drawing, and the position and size of every panel on it, in pixels. */

#include "drawing/panel.h"

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

typedef struct {
    vug_layout layout;
    int x, y, w, h; /* all 0: nothing to show */
} vug_page_panel;

typedef struct {
    vug_drawing d;
    vug_page_panel *panel; /* [d.n_panels] */
    vug_buf *to;           /* the SVG */
    int width, height;
    int frame_x, frame_y, frame_w, frame_h; /* around the layers */
    int cells;                              /* in a row of the strip */
    int legend_y;
} vug_drawing_page;

static inline int vug_max_int(int a, int b)
{
    return a > b ? a : b;
}

static inline int vug_text_pixels(int columns, int tenths)
{
    return (columns * tenths + 9) / 10;
}

/* Finds the size and position of every panel and box. False when out of memory. */
bool vug_page_init(vug_drawing_page *p, const vug_graph *g);
void vug_page_release(vug_drawing_page *p);

#endif
