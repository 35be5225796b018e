/* Expressions: a walk over the tree. Every level counts, so that no template can take the
 * stack or the time away. */

#include "text/template/ast.h"
#include "text/template/text.h"

static size_t count(const vug_tnode *list)
{
    size_t n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

static vug_tv eval_name(vug_run *run, vug_tscope *scope, vug_str name)
{
    size_t scopes = 0;
    for (; scope; scope = scope->outer) {
        if (++scopes % 4 == 0) /* seldom so many are inside of each other */
            (void)vug_run_spend(run, 1);
        const vug_tv *v = vug_tvars_get(run, &scope->vars, name);
        if (v)
            return *v;
    }
    const vug_row *row = vug_function_row(name);
    if (row)
        return (vug_tv){ .kind = VUG_TV_FUNCTION, .row = row };
    return vug_tv_undefined(run, NULL, name);
}

/* ---- collections --------------------------------------------------------------------------- */

static vug_tv eval_items(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const size_t n = count(node->kid[0]);
    vug_tv *item = vug_run_alloc(run, n, sizeof(*item));
    size_t i = 0;
    for (const vug_tnode *kid = node->kid[0]; kid && item && vug_run_ok(run); kid = kid->next)
        item[i++] = vug_eval(run, scope, kid);
    if (!vug_run_ok(run))
        return vug_tv_none();
    return vug_tv_seq(run, node->kind == VUG_N_LIST ? VUG_TV_LIST : VUG_TV_TUPLE, item, n);
}

static vug_tv eval_dict(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const size_t n = count(node->kid[0]) / 2;
    vug_tv *key = vug_run_alloc(run, n, sizeof(*key));
    vug_tv *value = vug_run_alloc(run, n, sizeof(*value));
    const vug_tnode *kid = node->kid[0];
    for (size_t i = 0; i < n && key && value && vug_run_ok(run); i++) {
        key[i] = vug_eval(run, scope, kid);
        value[i] = vug_eval(run, scope, kid->next);
        kid = kid->next->next;
    }
    return vug_run_ok(run) ? vug_tv_dict(run, key, value, n) : vug_tv_none();
}

/* ---- operators -------------------------------------------------------------------------------- */

static vug_tv eval_chain(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tv v = vug_eval(run, scope, node->kid[0]);
    for (const vug_tnode *next = node->kid[1]; next && vug_run_ok(run); next = next->next) {
        const vug_tv right = vug_eval(run, scope, next->kid[0]);
        if (vug_run_ok(run))
            v = vug_tv_binary(run, next->op, v, right);
    }
    return v;
}

static bool holds(vug_run *run, int op, vug_tv a, vug_tv b)
{
    switch (op) {
    case VUG_OP2('=', '='):
        return vug_tv_equal(run, a, b);
    case VUG_OP2('!', '='):
        return !vug_tv_equal(run, a, b);
    case 'i':
        return vug_tv_in(run, a, b);
    case 'n':
        return !vug_tv_in(run, a, b);
    default:
        break;
    }
    const char text[] = { (char)(op < 256 ? op : op >> 8), op < 256 ? '\0' : '=', '\0' };
    const int order = vug_tv_compare(run, a, b, text);
    if (order == 2)
        return false;
    return text[0] == '<' ? order < 0 || (text[1] && order == 0)
                          : order > 0 || (text[1] && order == 0);
}

/* a < b < c */
static vug_tv eval_compare(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tv left = vug_eval(run, scope, node->kid[0]);
    for (const vug_tnode *next = node->kid[1]; next && vug_run_ok(run); next = next->next) {
        const vug_tv right = vug_eval(run, scope, next->kid[0]);
        if (!vug_run_ok(run) || !holds(run, next->op, left, right))
            return vug_tv_bool(false);
        left = right;
    }
    return vug_tv_bool(true);
}

/* a ~ b ~ c, all as text. */
static vug_tv eval_concat(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tv v = vug_tv_text("");
    for (const vug_tnode *kid = node->kid[0]; kid && vug_run_ok(run); kid = kid->next) {
        vug_tv right = vug_tv_str(run, vug_eval(run, scope, kid));
        right.safe = false;
        if (vug_run_ok(run))
            v = vug_tv_binary(run, '+', v, right);
    }
    return v;
}

static vug_tv eval_logic(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const bool stops = node->kind == VUG_N_OR;
    vug_tv v = vug_tv_none();
    for (const vug_tnode *kid = node->kid[0]; kid && vug_run_ok(run); kid = kid->next) {
        v = vug_eval(run, scope, kid);
        if (vug_tv_truth(run, v) == stops)
            break;
    }
    return v;
}

static vug_tv eval_cond(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    if (vug_tv_truth(run, vug_eval(run, scope, node->kid[0])))
        return vug_eval(run, scope, node->kid[1]);
    if (node->kid[2])
        return vug_eval(run, scope, node->kid[2]);
    return vug_tv_undefined(run, "",
                            vug_str_of("the inline if-expression evaluated to false and "
                                       "no else section was defined."));
}

static vug_tv eval_slice(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tv bound[3] = { 0 };
    const vug_tv of = vug_eval(run, scope, node->kid[0]);
    for (int i = 0; i < 3; i++) {
        if (node->kid[i + 1])
            bound[i] = vug_eval(run, scope, node->kid[i + 1]);
    }
    return vug_run_ok(run) ? vug_tv_slice(run, of, bound) : of;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void add_named(vug_run *run, vug_targs *args, vug_tvars *named, vug_str name, vug_tv v)
{
    if (vug_tvars_get(run, named, name))
        (void)vug_run_fail(run, VUG_FORMAT, "the argument '%.*s' is given twice",
                           VUG_STR_ARG(name));
    vug_tvars_set(run, named, name, v);
    args->name = named->name;
    args->named = named->value;
    args->n_named = named->n;
}

static void spread(vug_run *run, vug_targs *args, vug_tvars *named, vug_tv v)
{
    if (v.kind != VUG_TV_DICT) {
        (void)vug_run_fail(run, VUG_FORMAT, "argument after ** must be a mapping, not %s",
                           vug_tv_type(v));
        return;
    }
    for (size_t i = 0; i < v.dict->n && vug_run_spend(run, 1); i++) {
        if (!vug_tv_is_string(v.dict->key[i]))
            (void)vug_run_fail(run, VUG_FORMAT, "keywords must be strings");
        else
            add_named(run, args, named, vug_tv_bytes(v.dict->key[i]), v.dict->value[i]);
    }
}

vug_targs vug_eval_args(vug_run *run, vug_tscope *scope, const vug_tnode *arg)
{
    vug_targs args = { 0 };
    vug_tlist pos = { 0 };
    vug_tvars named = { 0 };
    for (; arg && vug_run_ok(run); arg = arg->next) {
        const vug_tv v = vug_eval(run, scope, arg->kid[0]);
        if (arg->op == 'd') {
            spread(run, &args, &named, v);
        } else if (arg->op == '*') {
            const vug_tseq all = vug_tv_elements(run, v);
            for (size_t i = 0; i < all.n && vug_run_ok(run); i++)
                vug_tlist_add(run, &pos, all.item[i]);
        } else if (arg->name.len > 0) {
            add_named(run, &args, &named, arg->name, v);
        } else {
            vug_tlist_add(run, &pos, v);
        }
    }
    args.pos = pos.item ? pos.item : &vug_tv_nothing;
    args.n = pos.n;
    return args;
}

static vug_tv eval_call(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const vug_tv callee = vug_eval(run, scope, node->kid[0]);
    if (!vug_run_ok(run))
        return callee;
    const vug_targs args = vug_eval_args(run, scope, node->kid[1]);
    return vug_run_ok(run) ? vug_tv_call(run, callee, &args) : callee;
}

static vug_tv eval_row(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const bool test = node->kind == VUG_N_TEST;
    const vug_tv self = vug_eval(run, scope, node->kid[0]);
    if (!vug_run_ok(run))
        return self;
    const vug_targs args = vug_eval_args(run, scope, node->kid[1]);
    if (!vug_run_ok(run))
        return self;
    if (!test)
        return node->row ? vug_row_call(run, "filter", node->row, self, &args)
                         : vug_filter_call(run, node->name, self, &args);
    return vug_tv_bool(vug_test_call(run, node->name, self, &args) != node->negated);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static vug_tv eval_kind(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tv v;
    switch (node->kind) {
    case VUG_N_CONST:
        return node->constant;
    case VUG_N_NAME:
        return eval_name(run, scope, node->name);
    case VUG_N_HELD:
        return run->held;
    case VUG_N_LIST:
    case VUG_N_TUPLE:
        return eval_items(run, scope, node);
    case VUG_N_DICT:
        return eval_dict(run, scope, node);
    case VUG_N_CHAIN:
        return eval_chain(run, scope, node);
    case VUG_N_COMPARE:
        return eval_compare(run, scope, node);
    case VUG_N_CONCAT:
        return eval_concat(run, scope, node);
    case VUG_N_AND:
    case VUG_N_OR:
        return eval_logic(run, scope, node);
    case VUG_N_NOT:
        return vug_tv_bool(!vug_tv_truth(run, vug_eval(run, scope, node->kid[0])));
    case VUG_N_SIGN:
        v = vug_eval(run, scope, node->kid[0]);
        return vug_run_ok(run) ? vug_tv_negate(run, v, node->op == '-') : v;
    case VUG_N_COND:
        return eval_cond(run, scope, node);
    case VUG_N_ATTR:
        v = vug_eval(run, scope, node->kid[0]);
        return vug_run_ok(run) ? vug_tv_attr(run, v, node->name) : v;
    case VUG_N_ITEM:
        v = vug_eval(run, scope, node->kid[0]);
        return vug_run_ok(run) ? vug_tv_item(run, v, vug_eval(run, scope, node->kid[1])) : v;
    case VUG_N_SLICE:
        return eval_slice(run, scope, node);
    case VUG_N_CALL:
        return eval_call(run, scope, node);
    case VUG_N_FILTER:
    case VUG_N_TEST:
        return eval_row(run, scope, node);
    default:
        return vug_tv_none();
    }
}

vug_tv vug_eval(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const uint32_t line = run->line;
    if (!vug_deeper(run))
        return vug_tv_none();
    run->line = node->line;
    const vug_tv v = eval_kind(run, scope, node);
    run->line = line;
    run->depth--;
    return v;
}
