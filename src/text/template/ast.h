#ifndef VUG_TEXT_TEMPLATE_AST_H
#define VUG_TEXT_TEMPLATE_AST_H

/*
 * A template's way: lex.c makes tokens of it, nodes.c, parse.c, primary.c and stmt.c a tree,
 * scope.c finds what its scopes hide; eval.c, exec.c, loop.c and macro.c walk the tree. What
 * it can call stands in the tables of rows.h, what it works on in value.h and text.h.
 */

#include "text/template/rows.h"

/* ---- limits of a template ------------------------------------------------------ */

#define VUG_TPL_MAX_SOURCE ((size_t)1 << 20) /* bytes */
#define VUG_TPL_MAX_NODES  ((size_t)1 << 18)
#define VUG_TPL_MAX_DEPTH  200 /* blocks and brackets inside of each other */

/* ---- nodes ---------------------------------------------------------------------- */

/* What the kids of each kind are. `list`: linked by `next`. */
typedef enum {
    /* expressions */
    VUG_N_CONST,   /* constant */
    VUG_N_NAME,    /* name */
    VUG_N_HELD,    /* what a filter block filters */
    VUG_N_LIST,    /* kid[0]: list */
    VUG_N_TUPLE,   /* likewise */
    VUG_N_DICT,    /* kid[0]: list of keys, each followed by its value */
    VUG_N_CHAIN,   /* kid[0], then kid[1]: list of N_OPERAND, from left to right */
    VUG_N_COMPARE, /* likewise */
    VUG_N_OPERAND, /* op, kid[0] */
    VUG_N_CONCAT,  /* kid[0]: list */
    VUG_N_AND,     /* kid[0]: list */
    VUG_N_OR,      /* kid[0]: list */
    VUG_N_NOT,     /* kid[0] */
    VUG_N_SIGN,    /* op '-' or '+', kid[0] */
    VUG_N_COND,    /* kid[1] if kid[0] else kid[2], which may be NULL */
    VUG_N_ATTR,    /* kid[0].name */
    VUG_N_ITEM,    /* kid[0][kid[1]] */
    VUG_N_SLICE,   /* kid[0][kid[1]:kid[2]:kid[3]], each of which may be NULL */
    VUG_N_CALL,    /* kid[0](kid[1]: list of N_ARG) */
    VUG_N_ARG,     /* kid[0]; name if it has one; op '*' or 'd' (**) where it holds several */
    VUG_N_FILTER,  /* kid[0]|name(kid[1]: list of N_ARG) */
    VUG_N_TEST,    /* kid[0] is name(kid[1]) */
    /* statements */
    VUG_N_TEXT,        /* constant */
    VUG_N_OUTPUT,      /* kid[0] */
    VUG_N_IF,          /* kid[0]: list of N_BRANCH */
    VUG_N_BRANCH,      /* kid[0] or NULL for else; kid[1]: list */
    VUG_N_FOR,         /* for kid[0] in kid[1] if kid[2]: kid[3] else: kid[4]; op: recursive */
    VUG_N_SET,         /* kid[0] = kid[1] */
    VUG_N_SETBLOCK,    /* kid[0] = the text of kid[1], through kid[2] if that is not NULL */
    VUG_N_MACRO,       /* name(kid[0]: list of N_PARAM): kid[1]; op: VUG_USES_.. */
    VUG_N_PARAM,       /* name = kid[0] or NULL */
    VUG_N_CALLBLOCK,   /* kid[0]: N_CALL; kid[1]: the N_MACRO that is its caller */
    VUG_N_FILTERBLOCK, /* kid[0]: filters over N_HELD; kid[1]: body */
    VUG_N_WITH,        /* kid[0]: list of N_SET; kid[1]: body */
    VUG_N_BREAK,
    VUG_N_CONTINUE,
} vug_node_kind;

/* What the body of a macro asks for. */
enum { VUG_USES_CALLER = 1, VUG_USES_VARARGS = 2, VUG_USES_KWARGS = 4 };

typedef struct vug_tnode {
    vug_node_kind kind;
    int op; /* of an operator its token */
    uint32_t line;
    bool negated; /* of a test */
    vug_str name;
    const vug_row *row; /* of a filter or test; NULL where a run that gets there fails */
    vug_tv constant;
    struct vug_tnode *next;
    struct vug_tnode *kid[5];
    struct vug_tnode *hidden; /* of what has a scope: list of N_NAME, undefined at first */
} vug_tnode;

struct vug_template {
    vug_arena arena;
    const char *name;
    const vug_tnode *body, *hidden;
};

/* ---- tokens ---------------------------------------------------------------------- */

typedef enum {
    VUG_T_END,
    VUG_T_TEXT,      /* outside of tags */
    VUG_T_OPEN_VAR,  /* {{ */
    VUG_T_CLOSE_VAR, /* }} */
    VUG_T_OPEN_TAG,  /* {% */
    VUG_T_CLOSE_TAG, /* %} */
    VUG_T_NAME,
    VUG_T_STRING, /* value: decoded */
    VUG_T_NUMBER, /* value */
    VUG_T_OP,     /* op: its character, or VUG_OP2 of its two */
} vug_token_kind;

#define VUG_OP2(a, b) ((a) << 8 | (b))

typedef struct {
    vug_token_kind kind;
    int op;
    uint32_t line;
    size_t at;    /* byte of the source */
    vug_str text; /* as it is written */
    vug_tv value;
} vug_token;

typedef struct {
    const char *name;
    vug_str src; /* newlines are \n */
    size_t at;
    uint32_t line;
    size_t counted;               /* newlines are counted up to here */
    int mode;                     /* outside of tags, in {{ or in {% */
    bool line_starts;             /* what was read last ended with a newline, or nothing was */
    char open[VUG_TPL_MAX_DEPTH]; /* brackets */
    int n_open;
    vug_arena *arena;
    vug_status st; /* sticky */
    vug_err *err;
} vug_lexer;

/* `source` in the form that Jinja reads: \n for newlines, the last one dropped. */
VUG_MUST_CHECK vug_status vug_lexer_init(vug_lexer *lex, vug_str source, const char *name,
                                         vug_arena *arena, vug_err *err);
vug_token vug_lexer_next(vug_lexer *lex);
/* Keeps the first failure, with line and column of byte `at`. */
void vug_lexer_fail(vug_lexer *lex, size_t at, vug_status code, const char *fmt, ...)
        VUG_PRINTF(4, 5);

/* ---- the parser ------------------------------------------------------------------- */

typedef struct {
    vug_lexer lex;
    vug_token token, ahead; /* the current one; the next, if it was looked at */
    bool looked;
    size_t nodes;
    int depth;
    int loops;                /* that break would leave */
    int uses;                 /* VUG_USES_.. since the innermost macro began */
    bool soft;                /* inside an if: what is not known fails when it is reached */
    const vug_tnode *unknown; /* the first filter or test that nobody knows */
} vug_parser;

vug_tnode *vug_parse_node(vug_parser *p, vug_node_kind kind);
/* With two kids, on the line of the first. */
vug_tnode *vug_parse_with(vug_parser *p, vug_node_kind kind, vug_tnode *a, vug_tnode *b);
void vug_parse_next(vug_parser *p);
const vug_token *vug_parse_ahead(vug_parser *p);
bool vug_parse_is_op(const vug_parser *p, int op);
bool vug_parse_is_name(const vug_parser *p, const char *name);
bool vug_parse_skip_op(vug_parser *p, int op);
bool vug_parse_skip_name(vug_parser *p, const char *name);
bool vug_parse_expect_op(vug_parser *p, int op);
/* A name token, which is skipped; empty and a failure when there is none. */
vug_str vug_parse_expect_name(vug_parser *p);
void *vug_parse_fail(vug_parser *p, const char *fmt, ...) VUG_PRINTF(2, 3);
void *vug_parse_unexpected(vug_parser *p, const char *expected);
bool vug_parse_enter(vug_parser *p); /* one level down, or a failure */
static inline void vug_parse_leave(vug_parser *p)
{
    p->depth--;
}
static inline bool vug_parse_ok(const vug_parser *p)
{
    return p->lex.st == VUG_OK;
}

/* At the end of a statement: fails if it has something unknown. */
void vug_parse_settle(vug_parser *p);
vug_tnode *vug_parse_expression(vug_parser *p, bool conditional);
/* What operators stand between; with the filters and tests behind it. */
vug_tnode *vug_parse_unary(vug_parser *p, bool filters);
/* Expressions with commas between are a tuple. `until`: a name that ends it, or NULL. */
vug_tnode *vug_parse_tuple(vug_parser *p, bool conditional, const char *until, bool parens);
vug_tnode *vug_parse_filters(vug_parser *p, vug_tnode *operand); /* begins at a name */
vug_tnode *vug_parse_body(vug_parser *p);                        /* the whole template */
/* Finds what each scope of a parsed body hides, and what the body itself does. */
void vug_parse_scopes(vug_parser *p, vug_tnode *body, vug_tnode **hidden);

/* ---- running it ------------------------------------------------------------------- */

typedef struct vug_tscope {
    struct vug_tscope *outer;
    vug_tvars vars;
} vug_tscope;

typedef struct vug_tmacro {
    const vug_tnode *node;
    vug_tscope *scope; /* that it was defined in */
} vug_tmacro;

typedef struct vug_tloop {
    const vug_tnode *node;
    vug_tscope *scope;  /* of its body */
    vug_tscope *filter; /* of its `if` */
    vug_titer items;
    vug_tv before, now, after; /* ABSENT where there is none */
    int64_t index0, depth0;
    vug_tv changed;
} vug_tloop;

typedef enum { VUG_FLOW_ON, VUG_FLOW_BREAK, VUG_FLOW_CONTINUE } vug_flow;

vug_tv vug_eval(vug_run *run, vug_tscope *scope, const vug_tnode *node);
vug_targs vug_eval_args(vug_run *run, vug_tscope *scope, const vug_tnode *arg);
/* Statements; what they print is put. Nothing more runs after a failure. */
vug_flow vug_exec(vug_run *run, vug_tscope *scope, const vug_tnode *body);
void vug_assign(vug_run *run, vug_tscope *scope, const vug_tnode *target, vug_tv value);
/* A scope with the names that it hides. */
vug_tscope *vug_scope_inside(vug_run *run, vug_tscope *outer, const vug_tnode *hidden);
/* What a body prints, as a string. */
vug_tv vug_captured(vug_run *run, vug_tscope *scope, const vug_tnode *body, vug_flow *flow);
vug_flow vug_exec_loop(vug_run *run, vug_tscope *scope, const vug_tnode *node, vug_tv over,
                       int64_t depth0);
vug_flow vug_exec_call(vug_run *run, vug_tscope *scope, const vug_tnode *node); /* call block */
vug_tv vug_macro_of(vug_run *run, vug_tscope *scope, const vug_tnode *node);
/* Names that are undefined until they are assigned to. */
void vug_hide(vug_run *run, vug_tscope *scope, const vug_tnode *hidden);

#endif
