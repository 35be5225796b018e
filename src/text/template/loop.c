/* Loops, and what `loop` shows of them (jinja2/runtime.py, LoopContext). */

#include "text/template/ast.h"
#include "text/template/text.h"

/* The next element that the loop's `if` lets through. */
static bool pull(vug_run *run, vug_tloop *loop, vug_tv *out)
{
    while (vug_titer_next(run, &loop->items, out)) {
        if (!loop->filter)
            return true;
        loop->filter->vars.n = 0;
        vug_assign(run, loop->filter, loop->node->kid[0], *out);
        if (!vug_run_ok(run))
            return false;
        if (vug_tv_truth(run, vug_eval(run, loop->filter, loop->node->kid[2])))
            return vug_run_ok(run);
    }
    return false;
}

static bool advance(vug_run *run, vug_tloop *loop)
{
    vug_tv next = loop->after;
    loop->after = (vug_tv){ 0 };
    if (next.kind == VUG_TV_ABSENT && !pull(run, loop, &next))
        return false;
    loop->index0++;
    loop->before = loop->now;
    loop->now = next;
    return true;
}

static bool peek(vug_run *run, vug_tloop *loop)
{
    if (loop->after.kind == VUG_TV_ABSENT && !pull(run, loop, &loop->after))
        loop->after = (vug_tv){ 0 };
    return loop->after.kind != VUG_TV_ABSENT;
}

/* How many there are in all; those that are still to come are looked for once. */
static int64_t loop_length(vug_run *run, vug_tloop *loop)
{
    const vug_tv of = loop->items.of;
    const int64_t seen = loop->index0 + 1 + (loop->after.kind != VUG_TV_ABSENT);
    size_t n = 0;
    if (loop->filter) {
        vug_tlist rest = { 0 };
        for (vug_tv v; pull(run, loop, &v);)
            vug_tlist_add(run, &rest, v);
        loop->filter = NULL;
        loop->items = (vug_titer){ .of = vug_tv_seq(run, VUG_TV_ITERATOR, rest.item, rest.n) };
        return seen + (int64_t)rest.n;
    }
    if (of.kind == VUG_TV_ITERATOR)
        return seen + (int64_t)(of.seq->n - of.seq->at);
    (void)vug_tv_length(run, of, &n);
    return (int64_t)n;
}

static vug_tv neighbour(vug_run *run, vug_tv v, const char *reason)
{
    return v.kind != VUG_TV_ABSENT ? v : vug_tv_undefined(run, "", vug_str_of(reason));
}

vug_tv vug_loop_attr(vug_run *run, vug_tloop *loop, vug_str name)
{
    if (vug_str_is(name, "index"))
        return vug_tv_int(loop->index0 + 1);
    if (vug_str_is(name, "index0"))
        return vug_tv_int(loop->index0);
    if (vug_str_is(name, "first"))
        return vug_tv_bool(loop->index0 == 0);
    if (vug_str_is(name, "last"))
        return vug_tv_bool(!peek(run, loop));
    if (vug_str_is(name, "length"))
        return vug_tv_int(loop_length(run, loop));
    if (vug_str_is(name, "revindex"))
        return vug_tv_int(loop_length(run, loop) - loop->index0);
    if (vug_str_is(name, "revindex0"))
        return vug_tv_int(loop_length(run, loop) - loop->index0 - 1);
    if (vug_str_is(name, "depth"))
        return vug_tv_int(loop->depth0 + 1);
    if (vug_str_is(name, "depth0"))
        return vug_tv_int(loop->depth0);
    if (vug_str_is(name, "previtem"))
        return neighbour(run, loop->index0 > 0 ? loop->before : (vug_tv){ 0 },
                         "there is no previous item");
    if (vug_str_is(name, "nextitem")) {
        (void)peek(run, loop);
        return neighbour(run, loop->after, "there is no next item");
    }
    return (vug_tv){ 0 };
}

/* The scope is one for all rounds, as Jinja's variables are; it is emptied before each. */
static vug_flow exec_rounds(vug_run *run, vug_tscope *scope, vug_tloop *loop)
{
    const vug_tnode *node = loop->node;
    bool whole = false; /* some round came to its end, which is what Jinja's else asks */
    while (vug_run_ok(run) && advance(run, loop)) {
        loop->scope->vars.n = 0;
        vug_tvars_set(run, &loop->scope->vars, vug_str_of("loop"),
                      (vug_tv){ .kind = VUG_TV_LOOP, .loop = loop });
        vug_assign(run, loop->scope, node->kid[0], loop->now);
        vug_hide(run, loop->scope, node->hidden);
        const vug_flow flow = vug_exec(run, loop->scope, node->kid[3]);
        whole |= flow == VUG_FLOW_ON;
        if (flow == VUG_FLOW_BREAK)
            break;
    }
    if (whole || !node->kid[4] || !vug_run_ok(run))
        return VUG_FLOW_ON;
    vug_tscope *inner = vug_scope_inside(run, scope, NULL);
    return inner ? vug_exec(run, inner, node->kid[4]) : VUG_FLOW_ON;
}

vug_flow vug_exec_loop(vug_run *run, vug_tscope *scope, const vug_tnode *node, vug_tv over,
                       int64_t depth0)
{
    vug_tloop *loop = vug_run_alloc(run, 1, sizeof(*loop));
    vug_tscope *body = vug_scope_inside(run, scope, NULL);
    vug_tscope *filter = node->kid[2] ? vug_scope_inside(run, scope, NULL) : NULL;
    if (!loop || !body || !vug_run_ok(run))
        return VUG_FLOW_ON;
    *loop = (vug_tloop){ .node = node, .scope = body, .filter = filter, .index0 = -1 };
    loop->depth0 = depth0;
    loop->items = vug_tv_iterate(run, over);
    return exec_rounds(run, scope, loop);
}

vug_tv vug_loop_call(vug_run *run, vug_tloop *loop, const vug_targs *args)
{
    if (!loop->node->op)
        return vug_run_fail(run, VUG_FORMAT, "a loop must be marked 'recursive' to be called");
    if (args->n != 1 || args->n_named)
        return vug_run_fail(run, VUG_FORMAT, "loop(..) takes what it goes through");
    const size_t from = vug_make(run);
    if (!vug_deeper(run))
        return vug_tv_none();
    (void)vug_exec_loop(run, loop->scope->outer, loop->node, args->pos[0], loop->depth0 + 1);
    run->depth--;
    return vug_made(run, from);
}
