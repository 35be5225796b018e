#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_AST_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_AST_H

/*
 * The syntax tree of a template. The lexer (template_lexer.h) cuts the source into tokens, the
 * parser (template_parser.h) builds the tree, template_locals.c finds the local variables of
 * each scope, and the interpreter (template_exec.h) walks the tree.
 *
 * The interpreter is built in layers, each calling only those below: statements; expressions;
 * builtins; operations on values (template_operations.h); strings; values; the run.
 */

#include "text/template/template_operations.h"

#define VUG_TMPL_MAX_NODES   ((size_t)1 << 18)
#define VUG_TMPL_MAX_NESTING 200 /* blocks and brackets inside each other */

/* The meaning of the children of each kind. A `list` is linked by `next`. */
typedef enum {
    /* expressions */
    VUG_TMPL_NODE_CONST,        /* constant */
    VUG_TMPL_NODE_NAME,         /* name */
    VUG_TMPL_NODE_FILTER_INPUT, /* the text that a filter block filters */
    VUG_TMPL_NODE_LIST,         /* child[0]: list */
    VUG_TMPL_NODE_TUPLE,        /* child[0]: list */
    VUG_TMPL_NODE_DICT,         /* child[0]: list of keys, each followed by its value */
    VUG_TMPL_NODE_ARITHMETIC,   /* child[0]; child[1]: list of OPERAND, applied left to right */
    VUG_TMPL_NODE_COMPARE,      /* child[0]; child[1]: list of OPERAND, as in a < b < c */
    VUG_TMPL_NODE_OPERAND,      /* op, child[0] */
    VUG_TMPL_NODE_CONCAT,       /* child[0]: list */
    VUG_TMPL_NODE_AND,          /* child[0]: list */
    VUG_TMPL_NODE_OR,           /* child[0]: list */
    VUG_TMPL_NODE_NOT,          /* child[0] */
    VUG_TMPL_NODE_SIGN,         /* op '-' or '+', child[0] */
    VUG_TMPL_NODE_COND,         /* child[1] if child[0] else child[2], which may be NULL */
    VUG_TMPL_NODE_ATTR,         /* child[0].name */
    VUG_TMPL_NODE_ITEM,         /* child[0][child[1]] */
    VUG_TMPL_NODE_SLICE,        /* child[0][child[1]:child[2]:child[3]]; bounds may be NULL */
    VUG_TMPL_NODE_CALL,         /* child[0](child[1]: list of ARG) */
    VUG_TMPL_NODE_ARG,          /* child[0]; its name, if any; op '*' or 'd' (**): it is unpacked */
    VUG_TMPL_NODE_FILTER,       /* child[0]|name(child[1]: list of ARG) */
    VUG_TMPL_NODE_TEST,         /* child[0] is name(child[1]) */
    /* statements */
    VUG_TMPL_NODE_TEXT,        /* constant */
    VUG_TMPL_NODE_OUTPUT,      /* child[0] */
    VUG_TMPL_NODE_IF,          /* child[0]: list of BRANCH */
    VUG_TMPL_NODE_BRANCH,      /* child[0], or NULL for else; child[1]: list */
    VUG_TMPL_NODE_FOR,         /* for child[0] in child[1] if child[2]: child[3] else: child[4];
                                  op: recursive */
    VUG_TMPL_NODE_SET,         /* child[0] = child[1] */
    VUG_TMPL_NODE_SETBLOCK,    /* child[0] = the text of child[1], filtered by child[2] or NULL */
    VUG_TMPL_NODE_MACRO,       /* name(child[0]: list of PARAM): child[1]; op: VUG_TMPL_USES_.. */
    VUG_TMPL_NODE_PARAM,       /* name = child[0] or NULL */
    VUG_TMPL_NODE_CALLBLOCK,   /* child[0]: CALL; child[1]: the MACRO that is its `caller` */
    VUG_TMPL_NODE_FILTERBLOCK, /* child[0]: filters over FILTER_INPUT; child[1]: body */
    VUG_TMPL_NODE_WITH,        /* child[0]: list of SET; child[1]: body */
    VUG_TMPL_NODE_BREAK,
    VUG_TMPL_NODE_CONTINUE,
} vug_tmpl_node_kind;

/* Special variables that the body of a macro uses. */
enum { VUG_TMPL_USES_CALLER = 1, VUG_TMPL_USES_VARARGS = 2, VUG_TMPL_USES_KWARGS = 4 };

typedef struct vug_tmpl_node {
    vug_tmpl_node_kind kind;
    int op; /* an operator's token, or as said above */
    uint32_t line;
    bool negated; /* a test: `is not` */
    vug_str name;
    const vug_tmpl_builtin *builtin; /* a filter or test; NULL: unknown, fails when it is reached */
    vug_tmpl_value constant;
    struct vug_tmpl_node *next;
    struct vug_tmpl_node *child[5];
    struct vug_tmpl_node *locals; /* of a scope: list of NAME, undefined until assigned */
} vug_tmpl_node;

struct vug_template {
    vug_arena arena;
    const char *name;
    const vug_tmpl_node *body, *locals;
};

#endif
