/*
 * Attributes as exact text, as labels for people, and compared. Each attribute struct
 * of ops.def has one function of each kind here; a new struct without them does not
 * compile.
 */
#include "ir/dump.h"

#include <stdio.h>

/* The decimal point of the locale may differ from '.', and even have several bytes. */
static void append_float(vug_buf *to, float v, int digits)
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

enum { EXACT = 9, BRIEF = 4 }; /* digits; nine distinguish any two floats */

static void append_named(vug_buf *to, const char *name, float v, int digits)
{
    vug_buf_puts(to, name);
    append_float(to, v, digits);
}

/* Whether the bits are equal: signs of zero differ, a NaN equals itself. */
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

/* FNV-1a, so that the text shows a change in the middle of a table. */
static uint32_t digest(const float *v, size_t n)
{
    const unsigned char *byte = (const unsigned char *)v;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n * sizeof(*v); i++)
        hash = (hash ^ byte[i]) * 16777619u;
    return hash;
}

/* ---- exact text ------------------------------------------------------------ */

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
    append_named(to, "eps ", node->at.norm.eps, EXACT);
    append_named(to, " bias ", node->at.norm.bias, EXACT);
}

static void text_table(const vug_node *node, vug_buf *to)
{
    const vug_attr_table *at = &node->at.table;
    const size_t half = (size_t)at->dims / 2;
    vug_buf_printf(to, "dims %d", at->dims);
    append_named(to, " factor ", at->factor, EXACT);
    append_named(to, " inv ", at->inv[0], EXACT);
    append_named(to, " .. ", at->inv[half - 1], EXACT);
    vug_buf_printf(to, " #%08x", digest(at->inv, half));
}

static void text_attn(const vug_node *node, vug_buf *to)
{
    const vug_attr_attention *at = &node->at.attn;
    vug_buf_printf(to, "cache %d window %lld", at->layer, (long long)at->window);
    append_named(to, " scale ", at->scale, EXACT);
    append_named(to, " softcap ", at->softcap, EXACT);
    vug_buf_puts(to, at->shared ? " shared" : "");
    vug_buf_puts(to, at->past ? " past" : "");
    vug_buf_puts(to, at->mask ? " mask" : "");
}

static void text_scale(const vug_node *node, vug_buf *to)
{
    append_named(to, "by ", node->at.scale.by, EXACT);
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

static void text_host_experts(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "index %d", node->at.host_experts.index);
}

static void text_head(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "index %d", node->at.head.index);
}

/* ---- labels ---------------------------------------------------------------- */

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
    append_named(to, "eps ", node->at.norm.eps, BRIEF);
    if (node->at.norm.bias != 0)
        append_named(to, ", weight + ", node->at.norm.bias, BRIEF);
}

static void label_table(const vug_node *node, vug_buf *to)
{
    const vug_attr_table *at = &node->at.table;
    append_named(to, "inv ", at->inv[0], BRIEF);
    append_named(to, " .. ", at->inv[at->dims / 2 - 1], BRIEF);
    if (at->factor != 1)
        append_named(to, ", times ", at->factor, BRIEF);
}

static void label_attn(const vug_node *node, vug_buf *to)
{
    const vug_attr_attention *at = &node->at.attn;
    if (at->window > 0)
        vug_buf_printf(to, "window %lld", (long long)at->window);
    else
        vug_buf_puts(to, at->mask ? "by a mask" : "all tokens");
    if (at->past)
        vug_buf_puts(to, ", past given");
    if (at->shared)
        vug_buf_printf(to, ", cache of layer %d", at->layer);
    append_named(to, ", scale ", at->scale, BRIEF);
    if (at->softcap != 0)
        append_named(to, ", softcap ", at->softcap, BRIEF);
}

static void label_scale(const vug_node *node, vug_buf *to)
{
    append_named(to, "by ", node->at.scale.by, BRIEF);
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

static void label_host_experts(const vug_node *node, vug_buf *to)
{
    (void)node;
    vug_buf_puts(to, "on the host");
}

static void label_head(const vug_node *node, vug_buf *to)
{
    vug_buf_printf(to, "head %d", node->at.head.index);
}

/* ---- comparison ------------------------------------------------------------ */

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
    const vug_attr_attention *s = &a->at.attn, *t = &b->at.attn;
    /* Layers that share a cache are equal only if it is the same cache. */
    const bool own = !s->shared;
    return s->shared == t->shared && s->past == t->past && s->mask == t->mask &&
           s->layer - (own ? a->layer : 0) == t->layer - (own ? b->layer : 0) &&
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

/* Each layer has its own. */
static bool alike_host_experts(const vug_node *a, const vug_node *b)
{
    (void)a;
    (void)b;
    return true;
}

/* Each layer selects its own head of what was computed for all layers. */
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
#define OP(id, name, class, by, operands, attrs, rule) \
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
