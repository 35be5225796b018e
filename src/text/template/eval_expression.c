/* Evaluates expressions. Every level of the tree is charged, so that no template can exhaust the
 * stack or run forever. */

#include "text/template/builtins.h"
#include "text/template/template_exec.h"
#include "text/template/template_strings.h"

static size_t count_nodes(const vug_tmpl_node *list)
{
    size_t n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

static vug_tmpl_value eval_name(vug_tmpl_run *run, vug_tmpl_scope *scope, vug_str name)
{
    size_t scopes = 0;
    for (; scope; scope = scope->outer) {
        if (++scopes % 4 == 0) /* deep nesting costs extra */
            (void)vug_tmpl_charge(run, 1);
        const vug_tmpl_value *v = vug_tmpl_vars_get(run, &scope->vars, name);
        if (v)
            return *v;
    }
    const vug_tmpl_builtin *builtin = vug_tmpl_find_function(name);
    if (builtin)
        return (vug_tmpl_value){ .kind = VUG_TMPL_FUNCTION, .builtin = builtin };
    return vug_tmpl_undefined(run, NULL, name);
}

/* ---- collections --------------------------------------------------------------------------- */

static vug_tmpl_value eval_items(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                 const vug_tmpl_node *node)
{
    const size_t n = count_nodes(node->child[0]);
    vug_tmpl_value *item = vug_tmpl_alloc(run, n, sizeof(*item));
    size_t i = 0;
    for (const vug_tmpl_node *child = node->child[0]; child && item && vug_tmpl_ok(run);
         child = child->next)
        item[i++] = vug_tmpl_eval(run, scope, child);
    if (!vug_tmpl_ok(run))
        return vug_tmpl_none();
    return vug_tmpl_new_seq(run, node->kind == VUG_TMPL_NODE_LIST ? VUG_TMPL_LIST : VUG_TMPL_TUPLE,
                            item, n);
}

static vug_tmpl_value eval_dict(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    const size_t n = count_nodes(node->child[0]) / 2;
    vug_tmpl_value *key = vug_tmpl_alloc(run, n, sizeof(*key));
    vug_tmpl_value *value = vug_tmpl_alloc(run, n, sizeof(*value));
    const vug_tmpl_node *child = node->child[0];
    for (size_t i = 0; i < n && key && value && vug_tmpl_ok(run); i++) {
        key[i] = vug_tmpl_eval(run, scope, child);
        value[i] = vug_tmpl_eval(run, scope, child->next);
        child = child->next->next;
    }
    return vug_tmpl_ok(run) ? vug_tmpl_new_dict(run, key, value, n) : vug_tmpl_none();
}

/* ---- operators -------------------------------------------------------------------------------- */

static vug_tmpl_value eval_arithmetic(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                      const vug_tmpl_node *node)
{
    vug_tmpl_value v = vug_tmpl_eval(run, scope, node->child[0]);
    for (const vug_tmpl_node *next = node->child[1]; next && vug_tmpl_ok(run); next = next->next) {
        const vug_tmpl_value right = vug_tmpl_eval(run, scope, next->child[0]);
        if (vug_tmpl_ok(run))
            v = vug_tmpl_binary(run, next->op, v, right);
    }
    return v;
}

static bool compare_operands(vug_tmpl_run *run, int op, vug_tmpl_value a, vug_tmpl_value b)
{
    switch (op) {
    case VUG_TMPL_OP2('=', '='):
        return vug_tmpl_equal(run, a, b);
    case VUG_TMPL_OP2('!', '='):
        return !vug_tmpl_equal(run, a, b);
    case 'i':
        return vug_tmpl_is_in(run, a, b);
    case 'n':
        return !vug_tmpl_is_in(run, a, b);
    default:
        break;
    }
    const char text[] = { (char)(op < 256 ? op : op >> 8), op < 256 ? '\0' : '=', '\0' };
    const int order = vug_tmpl_compare(run, a, b, text);
    if (order == 2)
        return false;
    return text[0] == '<' ? order < 0 || (text[1] && order == 0)
                          : order > 0 || (text[1] && order == 0);
}

/* a < b < c */
static vug_tmpl_value eval_compare(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                   const vug_tmpl_node *node)
{
    vug_tmpl_value left = vug_tmpl_eval(run, scope, node->child[0]);
    for (const vug_tmpl_node *next = node->child[1]; next && vug_tmpl_ok(run); next = next->next) {
        const vug_tmpl_value right = vug_tmpl_eval(run, scope, next->child[0]);
        if (!vug_tmpl_ok(run) || !compare_operands(run, next->op, left, right))
            return vug_tmpl_bool(false);
        left = right;
    }
    return vug_tmpl_bool(true);
}

/* a ~ b ~ c, joined as strings. */
static vug_tmpl_value eval_concat(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                  const vug_tmpl_node *node)
{
    vug_tmpl_value v = vug_tmpl_text("");
    for (const vug_tmpl_node *child = node->child[0]; child && vug_tmpl_ok(run);
         child = child->next) {
        vug_tmpl_value right = vug_tmpl_to_str(run, vug_tmpl_eval(run, scope, child));
        if (vug_tmpl_ok(run))
            v = vug_tmpl_binary(run, '+', v, right);
    }
    return v;
}

static vug_tmpl_value eval_logic(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                 const vug_tmpl_node *node)
{
    const bool stops = node->kind == VUG_TMPL_NODE_OR;
    vug_tmpl_value v = vug_tmpl_none();
    for (const vug_tmpl_node *child = node->child[0]; child && vug_tmpl_ok(run);
         child = child->next) {
        v = vug_tmpl_eval(run, scope, child);
        if (vug_tmpl_is_true(v) == stops)
            break;
    }
    return v;
}

static vug_tmpl_value eval_cond(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    if (vug_tmpl_is_true(vug_tmpl_eval(run, scope, node->child[0])))
        return vug_tmpl_eval(run, scope, node->child[1]);
    if (node->child[2])
        return vug_tmpl_eval(run, scope, node->child[2]);
    return vug_tmpl_undefined(run, "",
                              vug_str_of("the inline if-expression evaluated to false and "
                                         "no else section was defined."));
}

static vug_tmpl_value eval_slice(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                 const vug_tmpl_node *node)
{
    vug_tmpl_value bound[3] = { 0 };
    const vug_tmpl_value of = vug_tmpl_eval(run, scope, node->child[0]);
    for (int i = 0; i < 3; i++) {
        if (node->child[i + 1])
            bound[i] = vug_tmpl_eval(run, scope, node->child[i + 1]);
    }
    return vug_tmpl_ok(run) ? vug_tmpl_get_slice(run, of, bound) : of;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void add_named(vug_tmpl_run *run, vug_tmpl_args *args, vug_tmpl_vars *named, vug_str name,
                      vug_tmpl_value v)
{
    if (vug_tmpl_vars_get(run, named, name))
        (void)vug_tmpl_fail(run, VUG_FORMAT, "the argument '%.*s' is given twice",
                            VUG_STR_ARG(name));
    vug_tmpl_vars_set(run, named, name, v);
    args->name = named->name;
    args->named = named->value;
    args->n_named = named->n;
}

static void add_unpacked(vug_tmpl_run *run, vug_tmpl_args *args, vug_tmpl_vars *named,
                         vug_tmpl_value v)
{
    if (v.kind != VUG_TMPL_DICT) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "argument after ** must be a mapping, not %s",
                            vug_tmpl_type_name(v));
        return;
    }
    for (size_t i = 0; i < v.dict->n && vug_tmpl_charge(run, 1); i++) {
        if (!vug_tmpl_is_string(v.dict->key[i]))
            (void)vug_tmpl_fail(run, VUG_FORMAT, "keywords must be strings");
        else
            add_named(run, args, named, vug_tmpl_as_bytes(v.dict->key[i]), v.dict->value[i]);
    }
}

vug_tmpl_args vug_tmpl_eval_args(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *arg)
{
    vug_tmpl_args args = { 0 };
    vug_tmpl_list pos = { 0 };
    vug_tmpl_vars named = { 0 };
    for (; arg && vug_tmpl_ok(run); arg = arg->next) {
        const vug_tmpl_value v = vug_tmpl_eval(run, scope, arg->child[0]);
        if (arg->op == 'd') {
            add_unpacked(run, &args, &named, v);
        } else if (arg->op == '*') {
            const vug_tmpl_seq all = vug_tmpl_elements(run, v);
            for (size_t i = 0; i < all.n && vug_tmpl_ok(run); i++)
                vug_tmpl_list_append(run, &pos, all.item[i]);
        } else if (arg->name.len > 0) {
            add_named(run, &args, &named, arg->name, v);
        } else {
            vug_tmpl_list_append(run, &pos, v);
        }
    }
    args.pos = pos.item ? pos.item : &vug_tmpl_absent;
    args.n = pos.n;
    return args;
}

vug_tmpl_value vug_tmpl_call(vug_tmpl_run *run, vug_tmpl_value callee, const vug_tmpl_args *args)
{
    switch (callee.kind) {
    case VUG_TMPL_FUNCTION:
        return vug_tmpl_call_builtin(run, "function", callee.builtin, vug_tmpl_none(), args);
    case VUG_TMPL_METHOD:
        return vug_tmpl_call_builtin(run, "method", callee.method->builtin, *callee.method->self,
                                     args);
    case VUG_TMPL_MACRO:
    case VUG_TMPL_LOOP:
        return callee.callable->call(run, callee.callable, args);
    case VUG_TMPL_UNDEFINED:
        return vug_tmpl_fail_undefined(run, callee);
    default:
        return vug_tmpl_fail(run, VUG_FORMAT, "'%s' object is not callable",
                             vug_tmpl_type_name(callee));
    }
}

static vug_tmpl_value eval_call(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    const vug_tmpl_value callee = vug_tmpl_eval(run, scope, node->child[0]);
    if (!vug_tmpl_ok(run))
        return callee;
    const vug_tmpl_args args = vug_tmpl_eval_args(run, scope, node->child[1]);
    return vug_tmpl_ok(run) ? vug_tmpl_call(run, callee, &args) : callee;
}

static vug_tmpl_value eval_filter_or_test(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                          const vug_tmpl_node *node)
{
    const bool test = node->kind == VUG_TMPL_NODE_TEST;
    const vug_tmpl_value self = vug_tmpl_eval(run, scope, node->child[0]);
    if (!vug_tmpl_ok(run))
        return self;
    const vug_tmpl_args args = vug_tmpl_eval_args(run, scope, node->child[1]);
    if (!vug_tmpl_ok(run))
        return self;
    if (!test)
        return node->builtin ? vug_tmpl_call_builtin(run, "filter", node->builtin, self, &args)
                             : vug_tmpl_call_filter(run, node->name, self, &args);
    return vug_tmpl_bool(vug_tmpl_call_test(run, node->name, self, &args) != node->negated);
}

/* ---- dispatch ---------------------------------------------------------------------- */

static vug_tmpl_value eval_kind(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    vug_tmpl_value v;
    switch (node->kind) {
    case VUG_TMPL_NODE_CONST:
        return node->constant;
    case VUG_TMPL_NODE_NAME:
        return eval_name(run, scope, node->name);
    case VUG_TMPL_NODE_FILTER_INPUT:
        return run->filter_input;
    case VUG_TMPL_NODE_LIST:
    case VUG_TMPL_NODE_TUPLE:
        return eval_items(run, scope, node);
    case VUG_TMPL_NODE_DICT:
        return eval_dict(run, scope, node);
    case VUG_TMPL_NODE_ARITHMETIC:
        return eval_arithmetic(run, scope, node);
    case VUG_TMPL_NODE_COMPARE:
        return eval_compare(run, scope, node);
    case VUG_TMPL_NODE_CONCAT:
        return eval_concat(run, scope, node);
    case VUG_TMPL_NODE_AND:
    case VUG_TMPL_NODE_OR:
        return eval_logic(run, scope, node);
    case VUG_TMPL_NODE_NOT:
        return vug_tmpl_bool(!vug_tmpl_is_true(vug_tmpl_eval(run, scope, node->child[0])));
    case VUG_TMPL_NODE_SIGN:
        v = vug_tmpl_eval(run, scope, node->child[0]);
        return vug_tmpl_ok(run) ? vug_tmpl_negate(run, v, node->op == '-') : v;
    case VUG_TMPL_NODE_COND:
        return eval_cond(run, scope, node);
    case VUG_TMPL_NODE_ATTR:
        v = vug_tmpl_eval(run, scope, node->child[0]);
        return vug_tmpl_ok(run) ? vug_tmpl_get_attr(run, v, node->name) : v;
    case VUG_TMPL_NODE_ITEM:
        v = vug_tmpl_eval(run, scope, node->child[0]);
        return vug_tmpl_ok(run)
                       ? vug_tmpl_get_item(run, v, vug_tmpl_eval(run, scope, node->child[1]))
                       : v;
    case VUG_TMPL_NODE_SLICE:
        return eval_slice(run, scope, node);
    case VUG_TMPL_NODE_CALL:
        return eval_call(run, scope, node);
    case VUG_TMPL_NODE_FILTER:
    case VUG_TMPL_NODE_TEST:
        return eval_filter_or_test(run, scope, node);
    default:
        return vug_tmpl_none();
    }
}

vug_tmpl_value vug_tmpl_eval(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    const uint32_t line = run->line;
    if (!vug_tmpl_descend(run))
        return vug_tmpl_none();
    run->line = node->line;
    const vug_tmpl_value v = eval_kind(run, scope, node);
    run->line = line;
    run->depth--;
    return v;
}
