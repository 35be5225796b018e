/*
 * Graphs as text: one line per node, to read and to compare; and as DOT for Graphviz,
 * in which a run of equal layers is one cluster.
 */
#include "ir/dump.h"

#include "core/utf8.h"

/* ---- escaping -------------------------------------------------------------- */

/* The characters that XML 1.0, section 2.2, allows, without control characters. */
static bool is_printable(uint32_t c)
{
    return c >= 0x20 && (c < 0x7f || c > 0x9f) && c != 0xfffe && c != 0xffff;
}

/* The next character of a NUL-terminated text, which need not be valid: invalid UTF-8 and
 * characters that are not printable become U+FFFD. 0 at the end. */
static uint32_t next_char(const char **at)
{
    if (**at == '\0')
        return 0;
    uint32_t c = 0;
    const size_t left = strlen(*at);
    const size_t n = vug_utf8_decode(*at, left < 4 ? left : 4, &c);
    *at += n ? n : 1;
    return n && is_printable(c) ? c : 0xfffd;
}

static void append_char(vug_buf *to, uint32_t c)
{
    char bytes[4];
    vug_buf_append(to, bytes, vug_utf8_encode(c, bytes));
}

static void append_clean(vug_buf *to, const char *text)
{
    for (uint32_t c; (c = next_char(&text)) != 0;)
        append_char(to, c);
}

/* Many characters from Hangul Jamo on are two columns wide. */
static int columns_of(uint32_t c)
{
    return c >= 0x1100 && c != 0x2026 && c != 0xfffd ? 2 : 1;
}

int vug_text_columns(const char *text)
{
    int columns = 0;
    for (uint32_t c; (c = next_char(&text)) != 0;)
        columns += columns_of(c);
    return columns;
}

void vug_xml_append(vug_buf *to, const char *text, int columns)
{
    const bool cut = columns >= 0 && vug_text_columns(text) > columns;
    int used = cut ? 1 : 0; /* the ellipsis */
    for (uint32_t c; (c = next_char(&text)) != 0;) {
        used += columns_of(c);
        if (cut && used > columns)
            break;
        if (c == '<')
            vug_buf_puts(to, "&lt;");
        else if (c == '>')
            vug_buf_puts(to, "&gt;");
        else if (c == '&')
            vug_buf_puts(to, "&amp;");
        else if (c == '"')
            vug_buf_puts(to, "&quot;");
        else if (c == '\'')
            vug_buf_puts(to, "&#39;");
        else
            append_char(to, c);
    }
    if (cut)
        vug_buf_puts(to, "\xe2\x80\xa6");
}

/* Inside a quoted string, where Graphviz reads escapes and entities. */
static void append_dot(vug_buf *to, const char *text)
{
    for (uint32_t c; (c = next_char(&text)) != 0;) {
        if (c == '"' || c == '\\')
            vug_buf_puts(to, "\\");
        append_char(to, c);
        if (c == '&')
            vug_buf_puts(to, "amp;");
    }
}

/* ---- text ------------------------------------------------------------------ */

void vug_node_text(const vug_graph *g, uint32_t id, vug_buf *to)
{
    const vug_node *node = &g->node[id];
    char shape[96];
    vug_buf_printf(to, "%%%u = %s", id, vug_op_name(node->op));
    const int n = vug_node_inputs(node);
    for (int i = 0; i < n; i++)
        vug_buf_printf(to, "%s%%%u", i ? ", " : "(", node->in[i].id);
    vug_buf_printf(to, "%s %s", n ? ")" : "", vug_shape_text(&node->shape, shape));
    vug_attr_text(node, to);
    if (node->layer >= 0)
        vug_buf_printf(to, " layer %d", node->layer);
    if (node->name) {
        vug_buf_puts(to, " ");
        append_clean(to, node->name);
    }
}

void vug_graph_text(const vug_graph *g, vug_buf *to)
{
    const uint32_t nodes = g->n > 0 ? g->n - 1 : 0;
    vug_buf_puts(to, "graph ");
    append_clean(to, g->name ? g->name : "without a name");
    vug_buf_printf(to, ": %u nodes, %d layers, %u outputs\n", nodes, g->n_layers, g->n_outputs);
    for (uint32_t i = 1; i < g->n; i++) {
        vug_node_text(g, i, to);
        vug_buf_puts(to, "\n");
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        vug_buf_puts(to, "output ");
        append_clean(to, g->output[i].name);
        vug_buf_printf(to, " = %%%u\n", g->output[i].value.id);
    }
}

/* ---- DOT ------------------------------------------------------------------- */

/* The first layer of the run of equal layers that contains `layer`. */
static int run_begin(const vug_fold *f, int layer)
{
    while (layer > 0 && f->kind[layer - 1] == f->kind[layer])
        layer--;
    return layer;
}

/* The node that the drawing shows for a node of a folded layer. */
static uint32_t shown_node(const vug_graph *g, const vug_fold *f, uint32_t id)
{
    if (!vug_in_layer(f, &g->node[id]))
        return id;
    return f->node[f->start[run_begin(f, g->node[id].layer)] + f->ordinal[id]];
}

static void dot_node(const vug_graph *g, uint32_t id, const char *indent, vug_buf *to)
{
    const vug_node *node = &g->node[id];
    char shape[96];
    vug_buf label = { 0 };
    vug_attr_label(node, &label);
    vug_buf_printf(to, "%sn%u [", indent, id);
    if (node->op == VUG_OP_PARAM)
        vug_buf_puts(to, "fontsize=8, height=0.2, fillcolor=\"#fff3cf\", ");
    else if (node->op == VUG_OP_INPUT)
        vug_buf_puts(to, "shape=ellipse, ");
    vug_buf_puts(to, "label=\"");
    if (node->op != VUG_OP_PARAM)
        vug_buf_printf(to, "%s%s", vug_op_name(node->op), node->name ? " " : "");
    if (node->name)
        append_dot(to, node->name);
    vug_buf_printf(to, "\\n%s", vug_shape_text(&node->shape, shape));
    if (label.len > 0)
        vug_buf_printf(to, "%s%s", node->op == VUG_OP_PARAM ? " " : "\\n", label.ptr);
    vug_buf_puts(to, "\"];\n");
    to->bad |= label.bad;
    vug_buf_release(&label);
}

static void dot_layers(const vug_graph *g, const vug_fold *f, vug_buf *to)
{
    int end;
    for (int layer = 0; layer < f->n_layers; layer = end) {
        for (end = layer + 1; end < f->n_layers && f->kind[end] == f->kind[layer];)
            end++;
        vug_buf_printf(to, "  subgraph cluster_%d {\n    label=\"", layer);
        vug_fold_list(f, f->kind[layer], layer, end, to);
        if (end - layer > 1)
            vug_buf_printf(to, " (x %d)", end - layer);
        vug_buf_puts(to, "\"; style=rounded; color=\"#8590a0\";\n");
        for (uint32_t i = f->start[layer]; i < f->start[layer + 1]; i++)
            dot_node(g, f->node[i], "    ", to);
        vug_buf_puts(to, "  }\n");
    }
}

static void dot_edges(const vug_graph *g, const vug_fold *f, vug_buf *to)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (shown_node(g, f, i) != i)
            continue;
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++) {
            const uint32_t from = g->node[i].in[k].id;
            const bool weight = g->node[from].op == VUG_OP_PARAM;
            vug_buf_printf(to, "  n%u -> n%u%s;\n", shown_node(g, f, from), i,
                           weight ? " [color=\"#c9a227\", arrowhead=none]" : "");
        }
    }
}

void vug_graph_dot(const vug_graph *g, vug_buf *to)
{
    vug_arena arena = { 0 };
    vug_fold f;
    if (!vug_fold_init(g, &arena, &f)) {
        to->bad = true;
        vug_arena_release(&arena);
        return;
    }
    vug_buf_puts(to, "digraph \"");
    append_dot(to, g->name ? g->name : "graph");
    vug_buf_puts(to, "\" {\n"
                     "  bgcolor=white;\n"
                     "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef2f7\", "
                     "fontname=Helvetica, fontsize=10];\n");
    for (uint32_t i = 1; i < g->n; i++) {
        if (!vug_in_layer(&f, &g->node[i]))
            dot_node(g, i, "  ", to);
    }
    dot_layers(g, &f, to);
    dot_edges(g, &f, to);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        vug_buf_printf(to, "  out%u [shape=ellipse, label=\"", i);
        append_dot(to, g->output[i].name);
        vug_buf_printf(to, "\"];\n  n%u -> out%u;\n", shown_node(g, &f, g->output[i].value.id), i);
    }
    vug_buf_puts(to, "}\n");
    vug_arena_release(&arena);
}
