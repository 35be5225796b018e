#ifndef VUG_DRAWING_SVG_H
#define VUG_DRAWING_SVG_H

/* What the files that write the SVG share. */

#include "drawing/page.h"

/* Text, cut to `columns` with an ellipsis; `columns` < 0: whole (svg_elements.c). */
void vug_svg_text(vug_drawing_page *p, int x, int y, const char *css, const char *text,
                  int columns);
void vug_svg_rect(vug_drawing_page *p, const vug_layout_box *at, int round, const char *css);

/* The CSS class of an operation's boxes (legend.c). */
const char *vug_svg_class(vug_op op);
void vug_svg_style(vug_buf *to);
/* The last thing on a page, which gets its height. */
void vug_svg_legend(vug_drawing_page *p);

#endif
