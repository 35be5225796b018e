/* The targets of assignments and loops. */

#include "text/template/template_parser.h"

vug_tmpl_node *vug_tmpl_parse_target_name(vug_tmpl_parser *p)
{
    static const char *const constant[] = { "true", "false", "none", "True", "False", "None" };
    for (size_t i = 0; i < sizeof(constant) / sizeof(constant[0]); i++) {
        if (vug_tmpl_at_name(p, constant[i]))
            return vug_tmpl_parse_fail(p, "'%s' cannot be assigned to", constant[i]);
    }
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_NAME);
    if (node)
        node->name = vug_tmpl_expect_name(p);
    return node;
}

vug_tmpl_node *vug_tmpl_parse_targets(vug_tmpl_parser *p, bool attributes)
{
    vug_tmpl_node *first = vug_tmpl_parse_target(p, attributes);
    if (!first || !vug_tmpl_at_op(p, ','))
        return first;
    vug_tmpl_node *tuple = vug_tmpl_new_node(p, VUG_TMPL_NODE_TUPLE);
    vug_tmpl_node *last = first;
    if (tuple)
        tuple->child[0] = first;
    while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_op(p, ',')) {
        if (p->token.kind != VUG_TMPL_TOKEN_NAME && !vug_tmpl_at_op(p, '('))
            break;
        if (vug_tmpl_at_name(p, "in"))
            break;
        last->next = vug_tmpl_parse_target(p, attributes);
        if (!last->next)
            return NULL;
        last = last->next;
    }
    return tuple;
}

vug_tmpl_node *vug_tmpl_parse_target(vug_tmpl_parser *p, bool attributes)
{
    if (vug_tmpl_skip_op(p, '(')) {
        vug_tmpl_node *inner =
                vug_tmpl_parse_enter(p) ? vug_tmpl_parse_targets(p, attributes) : NULL;
        vug_tmpl_parse_leave(p);
        return inner && vug_tmpl_expect_op(p, ')') ? inner : NULL;
    }
    vug_tmpl_node *name = vug_tmpl_parse_target_name(p);
    if (!attributes || !name || !vug_tmpl_skip_op(p, '.'))
        return name;
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_ATTR);
    if (node) {
        node->child[0] = name;
        node->name = vug_tmpl_expect_name(p);
    }
    return node;
}
