/* The state of a loop, and the variable `loop`, which shows it (jinja2/runtime.py, LoopContext). */

#include "text/template/template_exec.h"

/* The next element that passes the loop's `if`. */
static bool next_item(vug_tmpl_run *run, vug_tmpl_loop *loop, vug_tmpl_value *out)
{
    while (vug_tmpl_iter_next(run, &loop->items, out)) {
        if (!loop->filter_scope)
            return true;
        loop->filter_scope->vars.n = 0;
        vug_tmpl_assign(run, loop->filter_scope, loop->node->child[0], *out);
        if (!vug_tmpl_ok(run))
            return false;
        if (vug_tmpl_is_true(vug_tmpl_eval(run, loop->filter_scope, loop->node->child[2])))
            return vug_tmpl_ok(run);
    }
    return false;
}

bool vug_tmpl_loop_advance(vug_tmpl_run *run, vug_tmpl_loop *loop)
{
    vug_tmpl_value next = loop->next;
    loop->next = (vug_tmpl_value){ 0 };
    if (next.kind == VUG_TMPL_ABSENT && !next_item(run, loop, &next))
        return false;
    loop->index0++;
    loop->previous = loop->current;
    loop->current = next;
    return true;
}

static bool peek_item(vug_tmpl_run *run, vug_tmpl_loop *loop)
{
    if (loop->next.kind == VUG_TMPL_ABSENT && !next_item(run, loop, &loop->next))
        loop->next = (vug_tmpl_value){ 0 };
    return loop->next.kind != VUG_TMPL_ABSENT;
}

/* How many elements there are in all. With an `if`, the remaining ones are collected once. */
static int64_t loop_length(vug_tmpl_run *run, vug_tmpl_loop *loop)
{
    const vug_tmpl_value of = loop->items.of;
    const int64_t seen = loop->index0 + 1 + (loop->next.kind != VUG_TMPL_ABSENT);
    size_t n = 0;
    if (loop->filter_scope) {
        vug_tmpl_list rest = { 0 };
        for (vug_tmpl_value v; next_item(run, loop, &v);)
            vug_tmpl_list_append(run, &rest, v);
        loop->filter_scope = NULL;
        loop->items = (vug_tmpl_iter){ .of = vug_tmpl_new_seq(run, VUG_TMPL_ITERATOR, rest.item,
                                                              rest.n) };
        return seen + (int64_t)rest.n;
    }
    if (of.kind == VUG_TMPL_ITERATOR)
        return seen + (int64_t)(of.seq->n - of.seq->at);
    (void)vug_tmpl_length(run, of, &n);
    return (int64_t)n;
}

static vug_tmpl_value item_or_undefined(vug_tmpl_run *run, vug_tmpl_value v, const char *reason)
{
    return v.kind != VUG_TMPL_ABSENT ? v : vug_tmpl_undefined(run, "", vug_str_of(reason));
}

vug_tmpl_value vug_tmpl_loop_get_attr(vug_tmpl_run *run, vug_tmpl_callable *self, vug_str name)
{
    vug_tmpl_loop *loop = (vug_tmpl_loop *)self;
    if (vug_str_is(name, "index"))
        return vug_tmpl_int(loop->index0 + 1);
    if (vug_str_is(name, "index0"))
        return vug_tmpl_int(loop->index0);
    if (vug_str_is(name, "first"))
        return vug_tmpl_bool(loop->index0 == 0);
    if (vug_str_is(name, "last"))
        return vug_tmpl_bool(!peek_item(run, loop));
    if (vug_str_is(name, "length"))
        return vug_tmpl_int(loop_length(run, loop));
    if (vug_str_is(name, "revindex"))
        return vug_tmpl_int(loop_length(run, loop) - loop->index0);
    if (vug_str_is(name, "revindex0"))
        return vug_tmpl_int(loop_length(run, loop) - loop->index0 - 1);
    if (vug_str_is(name, "depth"))
        return vug_tmpl_int(loop->depth0 + 1);
    if (vug_str_is(name, "depth0"))
        return vug_tmpl_int(loop->depth0);
    if (vug_str_is(name, "previtem"))
        return item_or_undefined(run, loop->index0 > 0 ? loop->previous : (vug_tmpl_value){ 0 },
                                 "there is no previous item");
    if (vug_str_is(name, "nextitem")) {
        (void)peek_item(run, loop);
        return item_or_undefined(run, loop->next, "there is no next item");
    }
    return (vug_tmpl_value){ 0 };
}
