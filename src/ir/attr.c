/*
 * Attributes in words and compared. Each attribute struct of ops.def has one
 * function of each kind here; a new struct without them does not compile.
 */
#include "ir/dump.h"

#include <stdio.h>

/* The locale may have another decimal point than '.', of several bytes even. */
static void put_float(vug_buf *to, float v, int digits)
{
    char text[64], out[64];
    size_t n = 0;
    (void)snprintf(text, sizeof(text), "%.*g", digits, (double)v);
    for (const char *c = text; *c; c++) {
        if (strchr("0123456789+-einfa", *c))
            out[n++] = *c;
        else if (n > 0 && out[n - 1] != '.')
            out[n++] = '.';
    }
    vug_buf_append(to, out, n);
}

enum { EXACT = 9, BRIEF = 4 }; /* digits; nine tell any two floats apart */

static void put_named(vug_buf *to, const char *name, float v, int digits)
{
    vug_buf_puts(to, name);
    put_float(to, v, digits);
}

/* The same bits: a sign of zero counts, and a NaN is like itself. */
static bool same_float(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    return x == y;
}

static const char *input_name(vug_input which)
{
    switch (which) {
    case VUG_INPUT_TOKENS:
        return "tokens";
    case VUG_INPUT_POSITIONS:
        return "positions";
    case VUG_INPUT_ROWS:
        return "rows";
    case VUG_INPUT_DATA:
        return "data";
    }
    return "unknown";
}

/* FNV-1a, so that a change in the middle of a table shows. */
static uint32_t digest(const float *v, size_t n)
{
    const unsigned char *byte = (const unsigned char *)v;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n * sizeof(*v); i++)
        hash = (hash ^ byte[i]) * 16777619u;
    return hash;
}

/* ---- exactly --------------------------------------------------------------- */

static void text_none(const vug_node *node, vug_buf *to)
{
    (void)node;
    (void)to;
}

static void text_param(const vug_node *node, vug_buf *to)
{
    const int first = node->at.param.slot, n = (int)vug_param_slots(node);
    vug_buf_printf(to, "%s slot%s %d", vug_dtype_of(node->at.param.dtype)->name, n > 1 ? "s" : "",
                   first);
    if (n > 1)
        vug_buf_printf(to, " to %d", first + n - 1);
}

static void text_input(const vug_node *node, vug_buf *to)
{
    vug_buf_puts(to, input_name(node->at.input.which));
    if (node->at.input.which == VUG_INPUT_DATA)
        vug_buf_printf(to, " %d", node->at.input.index);
}

static void text_norm(const vug_node *node, vug_buf *to)
{
    put_named(to, "eps ", node->at.norm.eps, EXACT);
    put_named(to, " bias ", node->at.norm.bias, EXACT);
}

static void text_table(const vug_node *node, vug_buf *to)
{
    const vug_attr_table *at = &node->at.table;
    const size_t half = (size_t)at->dims / 2;
    vug_buf_printf(to, "dims %d", at->dims);
    put_named(to, " factor ", at->factor, EXACT);
    put_named(to, " inv ", at->inv[0], EXACT);
    put_named(to, " .. ", at->inv[half - 1], EXACT);
    vug_buf_printf(to, " #%08x", digest(at->inv, half));
}

static void text_attn(const vug_node *node, vug_buf *to)
{
    const vug_attr_attn *at = &node->at.attn;
    vug_buf_printf(to, "cache %d window %lld", at->layer, (long long)at->window);
    put_named(to, " scale ", at->scale, EXACT);
    put_named(to, " softcap ", at->softcap, EXACT);
}

static void text_scale(const vug_node *node, vug_buf *to)
{
    put_named(to, "by ", node->at.scale.by, EXACT);
}

static void text_heads(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "count %d", node->at.heads.count);
}

static void text_router(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "count %d%s", node->at.router.count,
                   node->at.router.renormalise ? " renormalised" : "");
}

static void text_experts(const vug_node *node, vug_buf *to)
{
    vug_buf_puts(to, vug_op_name(node->at.experts.activation));
}

static void text_head(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "index %d", node->at.head.index);
}

/* ---- briefly --------------------------------------------------------------- */

static void label_none(const vug_node *node, vug_buf *to)
{
    text_none(node, to);
}

static void label_param(const vug_node *node, vug_buf *to)
{
    vug_buf_puts(to, vug_dtype_of(node->at.param.dtype)->name);
}

static void label_input(const vug_node *node, vug_buf *to)
{
    vug_buf_puts(to, input_name(node->at.input.which));
}

static void label_norm(const vug_node *node, vug_buf *to)
{
    put_named(to, "eps ", node->at.norm.eps, BRIEF);
    if (node->at.norm.bias != 0)
        put_named(to, ", weight + ", node->at.norm.bias, BRIEF);
}

static void label_table(const vug_node *node, vug_buf *to)
{
    const vug_attr_table *at = &node->at.table;
    put_named(to, "inv ", at->inv[0], BRIEF);
    put_named(to, " .. ", at->inv[at->dims / 2 - 1], BRIEF);
    if (at->factor != 1)
        put_named(to, ", times ", at->factor, BRIEF);
}

static void label_attn(const vug_node *node, vug_buf *to)
{
    const vug_attr_attn *at = &node->at.attn;
    if (at->window > 0)
        vug_buf_printf(to, "window %lld", (long long)at->window);
    else
        vug_buf_puts(to, "all tokens");
    if (vug_op_is_attend(node->op))
        vug_buf_printf(to, ", cache of layer %d", at->layer);
    put_named(to, ", scale ", at->scale, BRIEF);
    if (at->softcap != 0)
        put_named(to, ", softcap ", at->softcap, BRIEF);
}

static void label_scale(const vug_node *node, vug_buf *to)
{
    put_named(to, "by ", node->at.scale.by, BRIEF);
}

static void label_heads(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "%d heads", node->at.heads.count);
}

static void label_router(const vug_node *node, vug_buf *to)
{
    text_router(node, to);
}

static void label_experts(const vug_node *node, vug_buf *to)
{
    text_experts(node, to);
}

static void label_head(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "head %d", node->at.head.index);
}

/* ---- alike ----------------------------------------------------------------- */

static bool alike_none(const vug_node *a, const vug_node *b)
{
    (void)a;
    (void)b;
    return true;
}

static bool alike_param(const vug_node *a, const vug_node *b)
{
    return a->at.param.dtype == b->at.param.dtype;
}

static bool alike_input(const vug_node *a, const vug_node *b)
{
    return a->at.input.which == b->at.input.which;
}

static bool alike_norm(const vug_node *a, const vug_node *b)
{
    return same_float(a->at.norm.eps, b->at.norm.eps) &&
           same_float(a->at.norm.bias, b->at.norm.bias);
}

static bool alike_table(const vug_node *a, const vug_node *b)
{
    const vug_attr_table *s = &a->at.table, *t = &b->at.table;
    return s->dims == t->dims && same_float(s->factor, t->factor) &&
           memcmp(s->inv, t->inv, (size_t)s->dims / 2 * sizeof(*s->inv)) == 0;
}

static bool alike_attn(const vug_node *a, const vug_node *b)
{
    const vug_attr_attn *s = &a->at.attn, *t = &b->at.attn;
    /* Layers that share a cache are alike when it is the same one. */
    const bool own = !vug_op_is_attend(a->op);
    return s->layer - (own ? a->layer : 0) == t->layer - (own ? b->layer : 0) &&
           s->window == t->window && same_float(s->scale, t->scale) &&
           same_float(s->softcap, t->softcap);
}

static bool alike_scale(const vug_node *a, const vug_node *b)
{
    return same_float(a->at.scale.by, b->at.scale.by);
}

static bool alike_heads(const vug_node *a, const vug_node *b)
{
    return a->at.heads.count == b->at.heads.count;
}

static bool alike_router(const vug_node *a, const vug_node *b)
{
    return a->at.router.count == b->at.router.count &&
           a->at.router.renormalise == b->at.router.renormalise;
}

static bool alike_experts(const vug_node *a, const vug_node *b)
{
    return a->at.experts.activation == b->at.experts.activation;
}

/* A layer takes its own of what was computed for all of them. */
static bool alike_head(const vug_node *a, const vug_node *b)
{
    return a->at.head.index - a->layer == b->at.head.index - b->layer;
}

/* ---- by operation ---------------------------------------------------------- */

static const struct {
    void (*text)(const vug_node *node, vug_buf *to);
    void (*label)(const vug_node *node, vug_buf *to);
    bool (*alike)(const vug_node *a, const vug_node *b);
} attrs_of[VUG_OP_COUNT] = {
#define OP(id, name, n_in, attrs, rule) \
    [VUG_OP_##id] = { text_##attrs, label_##attrs, alike_##attrs },
#include "ir/ops.def"
#undef OP
};

void vug_attr_text(const vug_node *node, vug_buf *to)
{
    if (attrs_of[node->op].text == text_none)
        return;
    vug_buf_puts(to, " {");
    attrs_of[node->op].text(node, to);
    vug_buf_puts(to, "}");
}

void vug_attr_label(const vug_node *node, vug_buf *to)
{
    attrs_of[node->op].label(node, to);
}

bool vug_attr_alike(const vug_node *a, const vug_node *b)
{
    return a->op == b->op && attrs_of[a->op].alike(a, b);
}
