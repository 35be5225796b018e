/* The colours of a drawing, and its legend. */
#include "drawing/svg.h"

typedef enum {
    STYLE_MATRIX,
    STYLE_NORM,
    STYLE_POSITION,
    STYLE_ATTENTION,
    STYLE_PLAIN,
    STYLE_VIEW,
    STYLE_COUNT
} op_style;

static const struct {
    const char *css, *dark, *light, *legend;
} style_info[STYLE_COUNT] = {
    [STYLE_MATRIX] = { "matrix", "#3f78c3", "#e6effb", "matrix product or table row" },
    [STYLE_NORM] = { "norm", "#3f9160", "#e6f5ec", "norm" },
    [STYLE_POSITION] = { "position", "#c07f1c", "#fdf1dd", "rotary position" },
    [STYLE_ATTENTION] = { "attention", "#8449ad", "#f2e8fa", "attention, with the cache" },
    [STYLE_PLAIN] = { "plain", "#7b8794", "#f1f3f5", "element by element, rows" },
    [STYLE_VIEW] = { "view", "#9aa5b1", "#ffffff", "another view, no copy" },
};

static const op_style style_of[VUG_CLASS_COUNT] = {
    [VUG_CLASS_LEAF] = STYLE_PLAIN,          [VUG_CLASS_VIEW] = STYLE_VIEW,
    [VUG_CLASS_LOOKUP] = STYLE_MATRIX,       [VUG_CLASS_PRODUCT] = STYLE_MATRIX,
    [VUG_CLASS_ATTENTION] = STYLE_ATTENTION, [VUG_CLASS_NORM] = STYLE_NORM,
    [VUG_CLASS_ROPE] = STYLE_POSITION,       [VUG_CLASS_ROWS] = STYLE_PLAIN,
    [VUG_CLASS_ELEMENTWISE] = STYLE_PLAIN,
};

const char *vug_svg_class(vug_op op)
{
    return style_info[style_of[vug_op_class_of(op)]].css;
}

void vug_svg_style(vug_buf *to)
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
    for (int i = 0; i < STYLE_COUNT; i++)
        vug_buf_printf(to, ".%s{fill:%s;stroke:%s%s}\n", style_info[i].css, style_info[i].light,
                       style_info[i].dark, i == STYLE_VIEW ? ";stroke-dasharray:4 3" : "");
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

typedef struct {
    int x, y;
} legend_pen;

/* Writes the text of the next entry, on a new line if this one is full; returns the position of its
 * sample. */
static legend_pen legend_entry(vug_drawing_page *p, legend_pen *at, const char *text)
{
    const int w = 34 + vug_text_pixels(vug_text_columns(text), SMALL) + 20;
    if (at->x + w > p->width - MARGIN) {
        at->x = MARGIN;
        at->y += LEGEND_H;
    }
    const legend_pen sample = *at;
    vug_svg_text(p, sample.x + 34, sample.y + 12, "small attr", text, -1);
    at->x += w;
    return sample;
}

static void legend_box(vug_drawing_page *p, legend_pen *at, int round, const char *css,
                       const char *text)
{
    const legend_pen s = legend_entry(p, at, text);
    vug_svg_rect(p, &(vug_layout_box){ .x = s.x, .y = s.y, .w = 26, .h = 16 }, round, css);
}

static void legend_wire(vug_drawing_page *p, legend_pen *at, const char *css, const char *text)
{
    const legend_pen s = legend_entry(p, at, text);
    vug_buf_printf(p->to, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>\n", css, s.x, s.y + 8, s.x + 26,
                   s.y + 8);
}

void vug_svg_legend(vug_drawing_page *p)
{
    legend_pen at = { MARGIN, p->legend_y + 16 };
    vug_svg_text(p, MARGIN, p->legend_y, "head", "legend", -1);
    for (int i = 0; i < STYLE_COUNT; i++)
        legend_box(p, &at, 4, style_info[i].css, style_info[i].legend);
    legend_box(p, &at, 8, "in", "set for each step");
    legend_box(p, &at, 8, "port", "enters or leaves this part");
    legend_box(p, &at, 8, "out", "output of the graph");
    legend_box(p, &at, 4, "chip-weight", "weight");
    legend_box(p, &at, 4, "chip-table", "made before the layers");
    legend_wire(p, &at, "wire", "value");
    legend_wire(p, &at, "wire aside", "value that passes others by, such as a residual");
    at = (legend_pen){ MARGIN, at.y + LEGEND_H + 10 };
    vug_svg_text(p, at.x, at.y + 4, "small attr",
                 "Shapes: T tokens of the step, R rows whose logits are computed.", -1);
    p->height = at.y + 4 + MARGIN;
}
