#include "core/text.h"
#include "text/grammar/nfa.h"

/*
 * Which nodes become rules of their own. Those that contain themselves must; all others
 * could be parts of the bodies that refer to them, since a body is more deterministic
 * the more it holds. What is large and used more than once is kept apart: its states,
 * and with them the masks of these states, are then there once. But a mask pays where
 * whole tokens stay within a body, so what is short, as a character, is never kept
 * apart for its size.
 */

enum {
    LARGE = 24,     /* states */
    VAST = 4096,    /* likewise: kept apart however short it is */
    SHORT = 32,     /* bytes, at most: copied where it is used */
    UNROLLED = 64,  /* states of a repetition that is written out */
    MAX_PART = 300, /* depth of a tree that becomes one body */
};

typedef struct {
    uint32_t refs;  /* from what can be reached */
    uint32_t size;  /* NFA states if it is put into a body, about; saturated */
    uint32_t depth; /* of the tree that is put into the body with it */
    uint32_t bytes; /* of its longest text; saturated */
    uint8_t color;  /* of the depth-first search: not seen, on the way, done */
    bool recursive;
} note;

typedef struct {
    const vug_rules *rules;
    vug_rule_plan *plan;
    note *note;        /* [nodes] */
    vug_node *order;   /* those that can be reached, each after its parts */
    vug_node *path;    /* of the search */
    uint32_t *at_part; /* next part of each on the path */
    uint32_t n_order, n_path;
} planner;

/* ---- order ---------------------------------------------------------------- */

static uint32_t count_parts(const vug_rule *rule)
{
    switch (rule->kind) {
    case VUG_RULE_SEQUENCE:
    case VUG_RULE_CHOICE:
    case VUG_RULE_GRAPH:
        return rule->n;
    case VUG_RULE_REPEAT:
    case VUG_RULE_DECLARED:
    case VUG_RULE_AHEAD:
        return 1;
    case VUG_RULE_EMPTY:
    case VUG_RULE_LITERAL:
    case VUG_RULE_CLASS:
        break;
    }
    return 0;
}

static vug_node part_of(const vug_rules *rules, const vug_rule *rule, uint32_t i)
{
    if (rule->kind == VUG_RULE_GRAPH)
        return vug_rule_edges(rules, rule)[i].label;
    const bool list = rule->kind == VUG_RULE_SEQUENCE || rule->kind == VUG_RULE_CHOICE;
    return list ? vug_rule_parts(rules, rule)[i] : rule->at;
}

static void enter(planner *p, vug_node node)
{
    p->note[node].refs++;
    if (p->note[node].color == 1)
        p->note[node].recursive = true;
    if (p->note[node].color != 0)
        return;
    p->note[node].color = 1;
    p->at_part[p->n_path] = 0;
    p->path[p->n_path++] = node;
}

/* A depth-first search: what is met while it is on the way contains itself. */
static vug_status put_in_order(planner *p, vug_node root, vug_err *err)
{
    enter(p, root);
    while (p->n_path > 0) {
        const vug_node node = p->path[p->n_path - 1];
        const vug_rule *rule = vug_rule_at(p->rules, node);
        if (rule->kind == VUG_RULE_DECLARED && rule->at == VUG_RULE_UNDEFINED)
            return VUG_FAIL(err, VUG_ARGUMENT, "the rule '%.*s' is used and not defined",
                            VUG_STR_ARG(vug_rule_name(p->rules, rule)));
        if (p->at_part[p->n_path - 1] < count_parts(rule)) {
            enter(p, part_of(p->rules, rule, p->at_part[p->n_path - 1]++));
            continue;
        }
        p->n_path--;
        p->note[node].color = 2;
        p->order[p->n_order++] = node;
    }
    return VUG_OK;
}

/* ---- decisions -------------------------------------------------------------- */

static uint32_t sum(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t product(uint32_t a, uint32_t b)
{
    const uint64_t c = (uint64_t)a * b;
    return c > UINT32_MAX ? UINT32_MAX : (uint32_t)c;
}

/* As a part of a larger body. */
static uint32_t size_in(const planner *p, vug_node part)
{
    return p->plan->mark[part] & VUG_PLAN_RULE ? 1 : p->note[part].size;
}

static uint32_t longest(const note *of)
{
    return of->recursive ? UINT32_MAX : of->bytes;
}

static void measure_list(const planner *p, const vug_rule *rule, note *n)
{
    const bool choice = rule->kind == VUG_RULE_CHOICE;
    for (uint32_t i = 0; i < rule->n; i++) {
        const vug_node part = vug_rule_parts(p->rules, rule)[i];
        const note *of = &p->note[part];
        const uint32_t bytes = longest(of);
        n->size = sum(n->size, sum(size_in(p, part), choice));
        n->bytes = !choice ? sum(n->bytes, bytes) : bytes > n->bytes ? bytes : n->bytes;
    }
}

static void measure_graph(const planner *p, const vug_rule *rule, note *n)
{
    for (uint32_t i = 0; i < rule->n; i++)
        n->size = sum(n->size, sum(size_in(p, vug_rule_edges(p->rules, rule)[i].label), 1));
    n->bytes = UINT32_MAX; /* most of them have circles */
}

/* Decides, too, how a repetition is made. */
static void measure_repeat(planner *p, vug_node node, const vug_rule *rule, note *n)
{
    const note *of = &p->note[rule->at];
    const bool forever = rule->max == VUG_REPEAT_FOREVER;
    const uint32_t times = forever ? rule->n + 1 : rule->max;
    n->bytes = product(longest(of), forever ? UINT32_MAX : rule->max);
    n->size = sum(product(size_in(p, rule->at), times), times);
    if (times > 2 && n->size > UNROLLED) {
        p->plan->mark[node] |= VUG_PLAN_COUNT;
        n->size = 2;
    }
}

static void measure(planner *p, vug_node node)
{
    const vug_rule *rule = vug_rule_at(p->rules, node);
    note *n = &p->note[node];
    char utf8[4];
    n->depth = 1;
    for (uint32_t i = 0; i < count_parts(rule); i++) {
        const vug_node part = part_of(p->rules, rule, i);
        const uint32_t below = p->plan->mark[part] & VUG_PLAN_RULE ? 1 : p->note[part].depth + 1;
        n->depth = below > n->depth ? below : n->depth;
    }
    switch (rule->kind) {
    case VUG_RULE_EMPTY:
        break;
    case VUG_RULE_LITERAL:
        n->size = n->bytes = rule->n;
        break;
    case VUG_RULE_CLASS:
        n->bytes = (uint32_t)vug_utf8_put(vug_rule_ranges(p->rules, rule)[rule->n - 1].to, utf8);
        n->size = product(rule->n, 2 * n->bytes);
        break;
    case VUG_RULE_SEQUENCE:
    case VUG_RULE_CHOICE:
        measure_list(p, rule, n);
        break;
    case VUG_RULE_REPEAT:
        measure_repeat(p, node, rule, n);
        break;
    case VUG_RULE_GRAPH:
        measure_graph(p, rule, n);
        break;
    case VUG_RULE_AHEAD:
    case VUG_RULE_DECLARED:
        n->size = size_in(p, rule->at);
        n->bytes = longest(&p->note[rule->at]);
        break;
    }
}

/* Called for each node after its parts. */
static void decide(planner *p, vug_node node)
{
    const note *n = &p->note[node];
    const bool worth = n->size > LARGE && n->bytes > SHORT;
    if (n->depth > MAX_PART || (n->refs > 1 && (worth || n->size > VAST)))
        p->plan->mark[node] |= VUG_PLAN_RULE;
}

static vug_status plan_all(planner *p, vug_node root, vug_err *err)
{
    VUG_TRY(put_in_order(p, root, err));
    /* Nodes that contain themselves are rules before anything is measured. */
    for (uint32_t i = 0; i < p->n_order; i++) {
        const vug_node node = p->order[i];
        if (p->note[node].recursive)
            p->plan->mark[node] = VUG_PLAN_RULE;
    }
    for (uint32_t i = 0; i < p->n_order; i++) {
        measure(p, p->order[i]);
        decide(p, p->order[i]);
    }
    return VUG_OK;
}

vug_status vug_rule_plan_make(const vug_rules *rules, vug_node root, vug_rule_plan *plan,
                              vug_err *err)
{
    const size_t n = vug_rules_count(rules);
    planner p = { .rules = rules, .plan = plan };
    p.note = vug_alloc_zero(n, sizeof(*p.note));
    p.order = vug_alloc(n, sizeof(*p.order));
    p.path = vug_alloc(n, sizeof(*p.path));
    p.at_part = vug_alloc(n, sizeof(*p.at_part));
    plan->mark = vug_alloc_zero(n, sizeof(*plan->mark));
    vug_status st;
    if (p.note && p.order && p.path && p.at_part && plan->mark)
        st = plan_all(&p, root, err);
    else
        st = VUG_FAIL_NOMEM(err, "the plan of a grammar", n * sizeof(*p.note));
    vug_free(p.note);
    vug_free(p.order);
    vug_free(p.path);
    vug_free(p.at_part);
    return st;
}
