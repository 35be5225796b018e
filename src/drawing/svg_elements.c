/* Elements that the files of this folder write into the SVG. */
#include "drawing/svg.h"

void vug_svg_text(vug_drawing_page *p, int x, int y, const char *css, const char *text, int columns)
{
    vug_buf_printf(p->to, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, css);
    vug_xml_append(p->to, text, columns);
    vug_buf_puts(p->to, "</text>\n");
}

void vug_svg_rect(vug_drawing_page *p, const vug_layout_box *at, int round, const char *css)
{
    vug_buf_printf(p->to,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"%s\"/>\n",
                   at->x, at->y, at->w, at->h, round, css);
}
