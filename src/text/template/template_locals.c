/*
 * Finds the local variables of scopes, by the rules of jinja2/idtracking.py. A name is local if
 * its scope assigns to it before reading it, and no outer scope knows it. It is undefined until
 * the assignment, even where the template was given a variable of that name: this shows where a
 * loop or a macro reads the name before the assignment.
 */

#include "text/template/template_parser.h"

/* Names of a scope and the scopes around it; each name that is read is searched among them. */
#define MAX_NAMES 2048

typedef struct scope_frame {
    struct scope_frame *outer;
    vug_tmpl_parser *p;
    vug_str *name; /* [n], known in the scope */
    size_t n, cap;
    size_t n_outer;             /* names in the scopes around it */
    vug_tmpl_node **locals_end; /* end of the list of locals; NULL: they are not collected */
    bool in_branch;             /* inside an if */
    int depth;
} scope_frame;

static bool is_known(const scope_frame *f, vug_str name, bool outside)
{
    for (; f; f = outside ? f->outer : NULL) {
        for (size_t i = 0; i < f->n; i++) {
            if (vug_str_equal(f->name[i], name))
                return true;
        }
    }
    return false;
}

static void add_name(scope_frame *f, vug_str name)
{
    if (f->n_outer + f->n >= MAX_NAMES) {
        (void)vug_tmpl_parse_fail(f->p, "more than %d names in a scope and those around it",
                                  MAX_NAMES);
        return;
    }
    if (f->n == f->cap) {
        const size_t cap = f->cap ? f->cap * 2 : 8;
        vug_str *more = vug_arena_alloc(f->p->lex.arena, cap, sizeof(*more));
        if (!more) {
            (void)vug_tmpl_parse_fail(f->p, "out of memory for the names of a scope");
            return;
        }
        if (f->n)
            memcpy(more, f->name, f->n * sizeof(*more));
        f->name = more;
        f->cap = cap;
    }
    f->name[f->n++] = name;
}

static void read_name(scope_frame *f, vug_str name)
{
    if (!is_known(f, name, true))
        add_name(f, name);
}

static void assign_name(scope_frame *f, vug_str name)
{
    if (is_known(f, name, false))
        return;
    const bool hides = !f->in_branch && f->locals_end && !is_known(f->outer, name, true);
    add_name(f, name);
    vug_tmpl_node *node = hides ? vug_tmpl_new_node(f->p, VUG_TMPL_NODE_NAME) : NULL;
    if (node) {
        node->name = name;
        *f->locals_end = node;
        f->locals_end = &node->next;
    }
}

static void assign_target(scope_frame *f, const vug_tmpl_node *target)
{
    if (target->kind == VUG_TMPL_NODE_NAME)
        assign_name(f, target->name);
    else if (target->kind == VUG_TMPL_NODE_ATTR)
        read_name(f, target->child[0]->name);
    for (const vug_tmpl_node *t = target->kind == VUG_TMPL_NODE_TUPLE ? target->child[0] : NULL; t;
         t = t->next)
        assign_target(f, t);
}

/* ---- the names that a scope reads and assigns, in order ----------------------------- */

static void visit(scope_frame *f, const vug_tmpl_node *node);

static void visit_list(scope_frame *f, const vug_tmpl_node *list)
{
    for (; list && vug_tmpl_parse_ok(f->p); list = list->next)
        visit(f, list);
}

static void visit_if(scope_frame *f, const vug_tmpl_node *node)
{
    const bool branch = f->in_branch;
    for (const vug_tmpl_node *b = node->child[0]; b; b = b->next) {
        if (b->child[0])
            visit(f, b->child[0]);
        f->in_branch = true;
        visit_list(f, b->child[1]);
        f->in_branch = branch || b->next;
    }
    f->in_branch = branch;
}

static void visit_kind(scope_frame *f, const vug_tmpl_node *node)
{
    switch (node->kind) {
    case VUG_TMPL_NODE_NAME:
        read_name(f, node->name);
        return;
    case VUG_TMPL_NODE_SET:
        visit(f, node->child[1]);
        assign_target(f, node->child[0]);
        return;
    case VUG_TMPL_NODE_SETBLOCK:
        assign_target(f, node->child[0]);
        return;
    case VUG_TMPL_NODE_IF:
        visit_if(f, node);
        return;
    case VUG_TMPL_NODE_FOR:
        visit(f, node->child[1]);
        return;
    case VUG_TMPL_NODE_MACRO:
        assign_name(f, node->name);
        return;
    case VUG_TMPL_NODE_CALLBLOCK:
    case VUG_TMPL_NODE_FILTERBLOCK:
        visit(f, node->child[0]);
        return;
    case VUG_TMPL_NODE_WITH:
        for (const vug_tmpl_node *set = node->child[0]; set; set = set->next)
            visit(f, set->child[1]);
        return;
    default:
        for (int i = 0; i < 5; i++)
            visit_list(f, node->child[i]);
    }
}

static void visit(scope_frame *f, const vug_tmpl_node *node)
{
    if (f->depth >= VUG_TMPL_MAX_DEPTH)
        (void)vug_tmpl_parse_fail(f->p, "nested deeper than %d levels", VUG_TMPL_MAX_DEPTH);
    f->depth++;
    if (vug_tmpl_parse_ok(f->p))
        visit_kind(f, node);
    f->depth--;
}

/* ---- inner scopes ----------------------------------------------------------------- */

static void find_in_body(scope_frame *f, vug_tmpl_node *body);

/* Finds the locals of a scope that knows `params` from the start. */
static void find_in_scope(scope_frame *outer, const vug_tmpl_node *params, vug_tmpl_node *body,
                          vug_tmpl_node **locals)
{
    scope_frame f = { .outer = outer, .p = outer->p, .locals_end = locals };
    f.n_outer = outer->n_outer + outer->n;
    for (const vug_tmpl_node *param = params; param; param = param->next) {
        vug_tmpl_node **end = f.locals_end;
        f.locals_end = NULL; /* parameters have values, they are no locals */
        if (param->kind == VUG_TMPL_NODE_PARAM)
            assign_name(&f, param->name);
        else
            assign_target(&f, param->kind == VUG_TMPL_NODE_SET ? param->child[0] : param);
        f.locals_end = end;
    }
    for (const vug_tmpl_node *param = params; param; param = param->next) {
        if (param->kind == VUG_TMPL_NODE_PARAM && param->child[0])
            visit(&f, param->child[0]);
    }
    visit_list(&f, body);
    find_in_body(&f, body);
}

static void find_in_loop(scope_frame *f, vug_tmpl_node *node)
{
    vug_tmpl_node loop = { .kind = VUG_TMPL_NODE_NAME, .name = vug_str_of("loop") };
    vug_tmpl_node target = *node->child[0]; /* a copy that `loop` follows in the list */
    target.next = &loop;
    find_in_scope(f, &target, node->child[3], &node->locals);
    find_in_scope(f, NULL, node->child[4], NULL);
}

static void find_in_statement(scope_frame *f, vug_tmpl_node *node)
{
    switch (node->kind) {
    case VUG_TMPL_NODE_IF:
        for (vug_tmpl_node *b = node->child[0]; b; b = b->next)
            find_in_body(f, b->child[1]);
        return;
    case VUG_TMPL_NODE_FOR:
        find_in_loop(f, node);
        return;
    case VUG_TMPL_NODE_CALLBLOCK:
        find_in_scope(f, node->child[1]->child[0], node->child[1]->child[1],
                      &node->child[1]->locals);
        return;
    case VUG_TMPL_NODE_MACRO:
    case VUG_TMPL_NODE_WITH:
        find_in_scope(f, node->child[0], node->child[1], &node->locals);
        return;
    case VUG_TMPL_NODE_SETBLOCK:
    case VUG_TMPL_NODE_FILTERBLOCK:
        find_in_scope(f, NULL, node->child[1], &node->locals);
        return;
    default:
        return;
    }
}

static void find_in_body(scope_frame *f, vug_tmpl_node *body)
{
    for (; body && vug_tmpl_parse_ok(f->p); body = body->next)
        find_in_statement(f, body);
}

void vug_tmpl_find_locals(vug_tmpl_parser *p, vug_tmpl_node *body, vug_tmpl_node **locals)
{
    scope_frame f = { .p = p, .locals_end = locals };
    visit_list(&f, body);
    find_in_body(&f, body);
}
