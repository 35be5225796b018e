#include "text/grammar/inline_plan.h"
#include "core/utf8.h"

/*
 * Recursive expressions must become rules. All others could be inlined into the bodies that
 * refer to them, and the more a body contains, the more of it is deterministic. A large
 * expression that is used more than once becomes a rule all the same, so that its states, and
 * the masks of these states, exist once. But a mask only pays off where whole tokens stay
 * within a body. Hence expressions that match short texts only, such as one character, are
 * inlined unless they are huge. A graph with bounded paths is a rule, because the frame of its
 * body counts.
 */

enum {
    SHARED_MIN_STATES = 24,   /* larger expressions become rules if used more than once ... */
    COPIED_MAX_BYTES = 16,    /* ... unless all of their texts are this short ... */
    COPIED_MAX_STATES = 4096, /* ... and they are no larger than this */
    UNROLLED_MAX_STATES = 64, /* larger repetitions become counted loops */
    MAX_BODY_DEPTH = 300,     /* of the expression tree that becomes one body */
};

typedef struct {
    uint32_t refs;  /* uses in reachable expressions */
    uint32_t size;  /* estimated NFA states if inlined; saturating */
    uint32_t depth; /* of the tree that would be inlined */
    uint32_t bytes; /* of the longest match; saturating */
    uint8_t color;  /* in the depth-first search: 0 not seen, 1 on the path, 2 done */
    bool recursive;
} expr_info;

typedef struct {
    const vug_grammar_builder *builder;
    vug_inline_plan *plan;
    expr_info *info;         /* [exprs] */
    vug_grammar_expr *order; /* reachable expressions, each after its parts */
    vug_grammar_expr *path;  /* of the depth-first search */
    uint32_t *next_part;     /* of each expression on the path: the next part to visit */
    uint32_t n_order, n_path;
} inline_planner;

/* ---- topological order ---------------------------------------------------------------- */

static uint32_t part_count(const vug_expr_node *node)
{
    switch (node->kind) {
    case VUG_EXPR_SEQUENCE:
    case VUG_EXPR_CHOICE:
    case VUG_EXPR_GRAPH:
        return node->n;
    case VUG_EXPR_REPEAT:
    case VUG_EXPR_RULE:
    case VUG_EXPR_LOOKAHEAD:
        return 1;
    case VUG_EXPR_EMPTY:
    case VUG_EXPR_LITERAL:
    case VUG_EXPR_CLASS:
        break;
    }
    return 0;
}

static vug_grammar_expr nth_part(const vug_grammar_builder *builder, const vug_expr_node *node,
                                 uint32_t i)
{
    if (node->kind == VUG_EXPR_GRAPH)
        return vug_expr_edges(builder, node)[i].label;
    const bool list = node->kind == VUG_EXPR_SEQUENCE || node->kind == VUG_EXPR_CHOICE;
    return list ? vug_expr_parts(builder, node)[i] : node->at;
}

static void visit_expr(inline_planner *p, vug_grammar_expr expr)
{
    p->info[expr].refs++;
    if (p->info[expr].color == 1)
        p->info[expr].recursive = true;
    if (p->info[expr].color != 0)
        return;
    p->info[expr].color = 1;
    p->next_part[p->n_path] = 0;
    p->path[p->n_path++] = expr;
}

/* Depth-first search. An expression that is met again while it is on the path is recursive. */
static vug_status sort_topologically(inline_planner *p, vug_grammar_expr root, vug_err *err)
{
    visit_expr(p, root);
    while (p->n_path > 0) {
        const vug_grammar_expr expr = p->path[p->n_path - 1];
        const vug_expr_node *node = vug_expr_get(p->builder, expr);
        if (node->kind == VUG_EXPR_RULE && node->at == VUG_EXPR_UNDEFINED)
            return VUG_FAIL(err, VUG_ARGUMENT, "the rule '%.*s' is used but not defined",
                            VUG_STR_ARG(vug_expr_rule_name(p->builder, node)));
        if (p->next_part[p->n_path - 1] < part_count(node)) {
            visit_expr(p, nth_part(p->builder, node, p->next_part[p->n_path - 1]++));
            continue;
        }
        p->n_path--;
        p->info[expr].color = 2;
        p->order[p->n_order++] = expr;
    }
    return VUG_OK;
}

/* ---- decisions -------------------------------------------------------------- */

static uint32_t saturating_add(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t saturating_multiply(uint32_t a, uint32_t b)
{
    const uint64_t c = (uint64_t)a * b;
    return c > UINT32_MAX ? UINT32_MAX : (uint32_t)c;
}

/* NFA states that a part adds to the body that contains it. */
static uint32_t inlined_size(const inline_planner *p, vug_grammar_expr part)
{
    return p->plan->flags[part] & VUG_PLAN_SEPARATE_RULE ? 1 : p->info[part].size;
}

static uint32_t longest_text(const expr_info *part_info)
{
    return part_info->recursive ? UINT32_MAX : part_info->bytes;
}

static void measure_list(const inline_planner *p, const vug_expr_node *node, expr_info *info)
{
    const bool choice = node->kind == VUG_EXPR_CHOICE;
    for (uint32_t i = 0; i < node->n; i++) {
        const vug_grammar_expr part = vug_expr_parts(p->builder, node)[i];
        const expr_info *part_info = &p->info[part];
        const uint32_t bytes = longest_text(part_info);
        info->size = saturating_add(info->size, saturating_add(inlined_size(p, part), choice));
        info->bytes = !choice               ? saturating_add(info->bytes, bytes)
                      : bytes > info->bytes ? bytes
                                            : info->bytes;
    }
}

static void measure_graph(const inline_planner *p, const vug_expr_node *node, expr_info *info)
{
    for (uint32_t i = 0; i < node->n; i++)
        info->size = saturating_add(
                info->size,
                saturating_add(inlined_size(p, vug_expr_edges(p->builder, node)[i].label), 1));
    info->bytes = UINT32_MAX; /* most graphs have cycles */
}

/* Also decides whether a repetition is unrolled or becomes a counted loop. */
static void measure_repeat(inline_planner *p, vug_grammar_expr expr, const vug_expr_node *node,
                           expr_info *info)
{
    const expr_info *part_info = &p->info[node->at];
    const bool unbounded = node->max == VUG_REPEAT_UNBOUNDED;
    const uint32_t times = unbounded ? node->n + 1 : node->max;
    info->bytes = saturating_multiply(longest_text(part_info), unbounded ? UINT32_MAX : node->max);
    info->size = saturating_add(saturating_multiply(inlined_size(p, node->at), times), times);
    if (times > 2 && info->size > UNROLLED_MAX_STATES) {
        p->plan->flags[expr] |= VUG_PLAN_COUNTED_LOOP;
        info->size = 2;
    }
}

static void measure_expr(inline_planner *p, vug_grammar_expr expr)
{
    const vug_expr_node *node = vug_expr_get(p->builder, expr);
    expr_info *info = &p->info[expr];
    char utf8[4];
    info->depth = 1;
    for (uint32_t i = 0; i < part_count(node); i++) {
        const vug_grammar_expr part = nth_part(p->builder, node, i);
        const uint32_t below =
                p->plan->flags[part] & VUG_PLAN_SEPARATE_RULE ? 1 : p->info[part].depth + 1;
        info->depth = below > info->depth ? below : info->depth;
    }
    switch (node->kind) {
    case VUG_EXPR_EMPTY:
        break;
    case VUG_EXPR_LITERAL:
        info->size = info->bytes = node->n;
        break;
    case VUG_EXPR_CLASS:
        info->bytes =
                (uint32_t)vug_utf8_encode(vug_expr_ranges(p->builder, node)[node->n - 1].to, utf8);
        info->size = saturating_multiply(node->n, 2 * info->bytes);
        break;
    case VUG_EXPR_SEQUENCE:
    case VUG_EXPR_CHOICE:
        measure_list(p, node, info);
        break;
    case VUG_EXPR_REPEAT:
        measure_repeat(p, expr, node, info);
        break;
    case VUG_EXPR_GRAPH:
        measure_graph(p, node, info);
        break;
    case VUG_EXPR_LOOKAHEAD:
    case VUG_EXPR_RULE:
        info->size = inlined_size(p, node->at);
        info->bytes = longest_text(&p->info[node->at]);
        break;
    }
}

/* Called for each expression after its parts. */
static void decide_expr(inline_planner *p, vug_grammar_expr expr)
{
    const expr_info *info = &p->info[expr];
    const bool worth = info->size > SHARED_MIN_STATES && info->bytes > COPIED_MAX_BYTES;
    if (info->depth > MAX_BODY_DEPTH || vug_expr_is_bounded_graph(vug_expr_get(p->builder, expr)) ||
        (info->refs > 1 && (worth || info->size > COPIED_MAX_STATES)))
        p->plan->flags[expr] |= VUG_PLAN_SEPARATE_RULE;
}

static vug_status make_plan(inline_planner *p, vug_grammar_expr root, vug_err *err)
{
    VUG_TRY(sort_topologically(p, root, err));
    /* Recursive expressions must get their flag before anything is measured. */
    for (uint32_t i = 0; i < p->n_order; i++) {
        const vug_grammar_expr expr = p->order[i];
        if (p->info[expr].recursive || vug_expr_get(p->builder, expr)->unique_items)
            p->plan->flags[expr] = VUG_PLAN_SEPARATE_RULE;
    }
    for (uint32_t i = 0; i < p->n_order; i++) {
        measure_expr(p, p->order[i]);
        decide_expr(p, p->order[i]);
    }
    return VUG_OK;
}

vug_status vug_inline_plan_create(const vug_grammar_builder *builder, vug_grammar_expr root,
                                  vug_inline_plan *plan, vug_err *err)
{
    const size_t n = vug_grammar_expr_count(builder);
    inline_planner p = { .builder = builder, .plan = plan };
    p.info = vug_alloc_zero(n, sizeof(*p.info));
    p.order = vug_alloc(n, sizeof(*p.order));
    p.path = vug_alloc(n, sizeof(*p.path));
    p.next_part = vug_alloc(n, sizeof(*p.next_part));
    plan->flags = vug_alloc_zero(n, sizeof(*plan->flags));
    vug_status st;
    if (p.info && p.order && p.path && p.next_part && plan->flags)
        st = make_plan(&p, root, err);
    else
        st = VUG_FAIL_NOMEM(err, "the inline plan of a grammar", n * sizeof(*p.info));
    vug_free(p.info);
    vug_free(p.order);
    vug_free(p.path);
    vug_free(p.next_part);
    return st;
}
