/*
 * Which names a scope hides from its beginning on, by the rules of jinja2/idtracking.py:
 * a name that a scope assigns to without having looked at it before, and that no scope
 * around it knows, is undefined until then, also where a variable of that name was given.
 * It shows where a loop or a macro reads the name before the assignment.
 */

#include "text/template/ast.h"

/* Of a scope and those around it: each name that is read is looked for among them. */
#define MAX_NAMES 2048

typedef struct frame {
    struct frame *outer;
    vug_parser *p;
    vug_str *name; /* [n], those that the scope knows */
    size_t n, cap;
    size_t around;   /* names of the scopes around it */
    vug_tnode **end; /* of the list of those that are hidden; NULL: nobody asks */
    bool branch;     /* inside an if */
    int depth;
} frame;

static bool known(const frame *f, vug_str name, bool outside)
{
    for (; f; f = outside ? f->outer : NULL) {
        for (size_t i = 0; i < f->n; i++) {
            if (vug_str_equal(f->name[i], name))
                return true;
        }
    }
    return false;
}

static void know(frame *f, vug_str name)
{
    if (f->around + f->n >= MAX_NAMES) {
        (void)vug_parse_fail(f->p, "more than %d names in a scope and those around it", MAX_NAMES);
        return;
    }
    if (f->n == f->cap) {
        const size_t cap = f->cap ? f->cap * 2 : 8;
        vug_str *more = vug_arena_alloc(f->p->lex.arena, cap, sizeof(*more));
        if (!more) {
            (void)vug_parse_fail(f->p, "out of memory for the names of a scope");
            return;
        }
        if (f->n)
            memcpy(more, f->name, f->n * sizeof(*more));
        f->name = more;
        f->cap = cap;
    }
    f->name[f->n++] = name;
}

static void load(frame *f, vug_str name)
{
    if (!known(f, name, true))
        know(f, name);
}

static void store(frame *f, vug_str name)
{
    if (known(f, name, false))
        return;
    const bool hides = !f->branch && f->end && !known(f->outer, name, true);
    know(f, name);
    vug_tnode *node = hides ? vug_parse_node(f->p, VUG_N_NAME) : NULL;
    if (node) {
        node->name = name;
        *f->end = node;
        f->end = &node->next;
    }
}

static void store_target(frame *f, const vug_tnode *target)
{
    if (target->kind == VUG_N_NAME)
        store(f, target->name);
    else if (target->kind == VUG_N_ATTR)
        load(f, target->kid[0]->name);
    for (const vug_tnode *t = target->kind == VUG_N_TUPLE ? target->kid[0] : NULL; t; t = t->next)
        store_target(f, t);
}

/* ---- what a scope says itself, from its beginning to its end ----------------------------- */

static void visit(frame *f, const vug_tnode *node);

static void visit_list(frame *f, const vug_tnode *list)
{
    for (; list && vug_parse_ok(f->p); list = list->next)
        visit(f, list);
}

static void visit_if(frame *f, const vug_tnode *node)
{
    const bool branch = f->branch;
    for (const vug_tnode *b = node->kid[0]; b; b = b->next) {
        if (b->kid[0])
            visit(f, b->kid[0]);
        f->branch = true;
        visit_list(f, b->kid[1]);
        f->branch = branch || b->next;
    }
    f->branch = branch;
}

static void visit_kind(frame *f, const vug_tnode *node)
{
    switch (node->kind) {
    case VUG_N_NAME:
        load(f, node->name);
        return;
    case VUG_N_SET:
        visit(f, node->kid[1]);
        store_target(f, node->kid[0]);
        return;
    case VUG_N_SETBLOCK:
        store_target(f, node->kid[0]);
        return;
    case VUG_N_IF:
        visit_if(f, node);
        return;
    case VUG_N_FOR:
        visit(f, node->kid[1]);
        return;
    case VUG_N_MACRO:
        store(f, node->name);
        return;
    case VUG_N_CALLBLOCK:
    case VUG_N_FILTERBLOCK:
        visit(f, node->kid[0]);
        return;
    case VUG_N_WITH:
        for (const vug_tnode *set = node->kid[0]; set; set = set->next)
            visit(f, set->kid[1]);
        return;
    default:
        for (int i = 0; i < 5; i++)
            visit_list(f, node->kid[i]);
    }
}

static void visit(frame *f, const vug_tnode *node)
{
    if (f->depth >= VUG_RUN_MAX_DEPTH)
        (void)vug_parse_fail(f->p, "nested deeper than %d levels", VUG_RUN_MAX_DEPTH);
    f->depth++;
    if (vug_parse_ok(f->p))
        visit_kind(f, node);
    f->depth--;
}

/* ---- the scopes inside of it ----------------------------------------------------------------- */

static void enter_scopes(frame *f, vug_tnode *body);

/* A scope that knows `params` from the start, and hides what `hidden` gets. */
static void enter(frame *outer, const vug_tnode *params, vug_tnode *body, vug_tnode **hidden)
{
    frame f = { .outer = outer, .p = outer->p, .end = hidden };
    f.around = outer->around + outer->n;
    for (const vug_tnode *param = params; param; param = param->next) {
        vug_tnode **end = f.end;
        f.end = NULL; /* they have values */
        if (param->kind == VUG_N_PARAM)
            store(&f, param->name);
        else
            store_target(&f, param->kind == VUG_N_SET ? param->kid[0] : param);
        f.end = end;
    }
    for (const vug_tnode *param = params; param; param = param->next) {
        if (param->kind == VUG_N_PARAM && param->kid[0])
            visit(&f, param->kid[0]);
    }
    visit_list(&f, body);
    enter_scopes(&f, body);
}

static void enter_for(frame *f, vug_tnode *node)
{
    vug_tnode loop = { .kind = VUG_N_NAME, .name = vug_str_of("loop") };
    vug_tnode target = *node->kid[0]; /* alone, and with `loop` behind it */
    target.next = &loop;
    enter(f, &target, node->kid[3], &node->hidden);
    enter(f, NULL, node->kid[4], NULL);
}

static void enter_scope(frame *f, vug_tnode *node)
{
    switch (node->kind) {
    case VUG_N_IF:
        for (vug_tnode *b = node->kid[0]; b; b = b->next)
            enter_scopes(f, b->kid[1]);
        return;
    case VUG_N_FOR:
        enter_for(f, node);
        return;
    case VUG_N_CALLBLOCK:
        enter(f, node->kid[1]->kid[0], node->kid[1]->kid[1], &node->kid[1]->hidden);
        return;
    case VUG_N_MACRO:
    case VUG_N_WITH:
        enter(f, node->kid[0], node->kid[1], &node->hidden);
        return;
    case VUG_N_SETBLOCK:
    case VUG_N_FILTERBLOCK:
        enter(f, NULL, node->kid[1], &node->hidden);
        return;
    default:
        return;
    }
}

static void enter_scopes(frame *f, vug_tnode *body)
{
    for (; body && vug_parse_ok(f->p); body = body->next)
        enter_scope(f, body);
}

void vug_parse_scopes(vug_parser *p, vug_tnode *body, vug_tnode **hidden)
{
    frame f = { .p = p, .end = hidden };
    visit_list(&f, body);
    enter_scopes(&f, body);
}
