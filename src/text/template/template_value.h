#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_VALUE_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_VALUE_H

/*
 * The values of a template: Python's, as far as Jinja shows them. They are immutable, as in
 * transformers, which runs templates in Jinja's ImmutableSandboxedEnvironment, so strings and
 * lists share the memory of what they were cut from. Only namespaces, loops and iterators have
 * state. The run owns all memory.
 *
 * Each byte of a string carries a taint: 1 if it came from messages or tools. Every operation
 * keeps the taint; tainted bytes of the output are the untrusted ranges of the prompt.
 */

#include "core/json.h"
#include "text/template/template.h"

/* ---- values ----------------------------------------------------------------- */

/* X(kind, Python's name of the type, for error messages) */
#define VUG_TMPL_KIND_TABLE(X) \
    X(ABSENT, "nothing")       \
    X(UNDEFINED, "Undefined")  \
    X(NONE, "NoneType")        \
    X(BOOL, "bool")            \
    X(INT, "int")              \
    X(BIGINT, "int")           \
    X(FLOAT, "float")          \
    X(STRING, "str")           \
    X(LIST, "list")            \
    X(TUPLE, "tuple")          \
    X(RANGE, "range")          \
    X(DICT, "dict")            \
    X(VIEW, "dict_view")       \
    X(ITERATOR, "generator")   \
    X(NAMESPACE, "Namespace")  \
    X(MACRO, "Macro")          \
    X(FUNCTION, "function")    \
    X(METHOD, "method")        \
    X(LOOP, "LoopContext")

typedef enum {
#define X(kind, name) VUG_TMPL_##kind,
    VUG_TMPL_KIND_TABLE(X)
#undef X
} vug_tmpl_kind;

typedef struct {
    const char *ptr; /* UTF-8 */
    size_t len;
    const uint8_t *taint; /* NULL: no byte is tainted; VUG_TMPL_TAINT_ALL: all are; or [len] */
} vug_tmpl_str;

extern const uint8_t vug_tmpl_taint_all[1];
#define VUG_TMPL_TAINT_ALL vug_tmpl_taint_all

typedef struct vug_tmpl_value vug_tmpl_value;
typedef struct vug_tmpl_run vug_tmpl_run;
typedef struct vug_tmpl_builtin vug_tmpl_builtin;

/* The elements of lists, tuples, views and iterators. `at` is the next element of an iterator;
 * of a view it is one of VUG_TMPL_VIEW_.., which tells what the view shows. */
enum { VUG_TMPL_VIEW_KEYS, VUG_TMPL_VIEW_VALUES, VUG_TMPL_VIEW_ITEMS };
typedef struct {
    const vug_tmpl_value *item; /* [n] */
    size_t n, at;
} vug_tmpl_seq;

/* In the order of insertion. `sorted` points at the keys in an internal order, for searching. */
typedef struct {
    const vug_tmpl_value *key, *value; /* [n] */
    const vug_tmpl_value **sorted;     /* [n] */
    size_t n;
} vug_tmpl_dict;

typedef struct {
    int64_t start, stop, step; /* as given */
    size_t n;
} vug_tmpl_range;

/* Why a value is undefined: an unknown variable, or a missing attribute. */
typedef struct {
    const char
            *of; /* the type without that attribute; NULL: a variable; "": `name` is the reason */
    vug_str name;
} vug_tmpl_missing;

/* The attributes of a namespace, or the variables of a scope. */
typedef struct vug_tmpl_vars {
    vug_str *name;
    vug_tmpl_value *value;
    size_t n, cap;
} vug_tmpl_vars;

typedef struct {
    const vug_tmpl_builtin *builtin;
    const vug_tmpl_value *self;
} vug_tmpl_method;

typedef struct vug_tmpl_callable vug_tmpl_callable;
struct vug_tmpl_value {
    vug_tmpl_kind kind;
    union {
        bool boolean;
        int64_t i64;
        double f64;
        vug_tmpl_str str; /* of BIGINT: its digits */
        vug_tmpl_seq *seq;
        vug_tmpl_dict *dict;
        vug_tmpl_range *range;
        vug_tmpl_missing *missing;
        vug_tmpl_vars *vars;
        const vug_tmpl_method *method;
        const vug_tmpl_builtin *builtin;
        vug_tmpl_callable *callable;
    };
};

/* The arguments of a call. */
typedef struct {
    const vug_tmpl_value *pos; /* [n] */
    size_t n;
    const vug_str *name;         /* [n_named] */
    const vug_tmpl_value *named; /* [n_named] */
    size_t n_named;
} vug_tmpl_args;

/* The first member of macros and loops, whose other members only the interpreter knows. */
struct vug_tmpl_callable {
    vug_tmpl_value (*call)(vug_tmpl_run *run, vug_tmpl_callable *self, const vug_tmpl_args *args);
    /* The attribute of that name, or ABSENT. */
    vug_tmpl_value (*get_attr)(vug_tmpl_run *run, vug_tmpl_callable *self, vug_str name);
};

/* A growing array. */
typedef struct {
    vug_tmpl_value *item;
    size_t n, cap;
} vug_tmpl_list;

extern const vug_tmpl_value vug_tmpl_absent; /* ABSENT; empty arrays point at it */

/* ---- creating values ---------------------------------------------------------- */

static inline vug_tmpl_value vug_tmpl_none(void)
{
    return (vug_tmpl_value){ .kind = VUG_TMPL_NONE };
}
static inline vug_tmpl_value vug_tmpl_bool(bool v)
{
    return (vug_tmpl_value){ .kind = VUG_TMPL_BOOL, .boolean = v };
}
static inline vug_tmpl_value vug_tmpl_int(int64_t v)
{
    return (vug_tmpl_value){ .kind = VUG_TMPL_INT, .i64 = v };
}
static inline vug_tmpl_value vug_tmpl_float(double v)
{
    return (vug_tmpl_value){ .kind = VUG_TMPL_FLOAT, .f64 = v };
}
static inline vug_tmpl_value vug_tmpl_string(vug_tmpl_str s)
{
    return (vug_tmpl_value){ .kind = VUG_TMPL_STRING, .str = s };
}
static inline vug_tmpl_value vug_tmpl_text(const char *text) /* not copied */
{
    return vug_tmpl_string((vug_tmpl_str){ text, strlen(text), NULL });
}
/* `of` as in vug_tmpl_missing. */
vug_tmpl_value vug_tmpl_undefined(vug_tmpl_run *run, const char *of, vug_str name);
vug_tmpl_value vug_tmpl_new_seq(vug_tmpl_run *run, vug_tmpl_kind kind, const vug_tmpl_value *item,
                                size_t n);
/* A generator, whose elements were all computed in advance. */
vug_tmpl_value vug_tmpl_new_iterator(vug_tmpl_run *run, const vug_tmpl_list *list);
vug_tmpl_value vug_tmpl_new_pair(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b);
/* Keeps the arrays. Of equal keys the first keeps its place and gets the value of the last. */
vug_tmpl_value vug_tmpl_new_dict(vug_tmpl_run *run, vug_tmpl_value *key, vug_tmpl_value *value,
                                 size_t n);
void vug_tmpl_vars_set(vug_tmpl_run *run, vug_tmpl_vars *vars, vug_str name, vug_tmpl_value value);
vug_tmpl_value *vug_tmpl_vars_get(vug_tmpl_run *run, const vug_tmpl_vars *vars, vug_str name);
void vug_tmpl_list_append(vug_tmpl_run *run, vug_tmpl_list *list, vug_tmpl_value v);

/* ---- inspecting values ---------------------------------------------------------- */

/* For error messages: "dict object" as Jinja says, and Python's name of the type. */
const char *vug_tmpl_object_name(vug_tmpl_value v);
const char *vug_tmpl_type_name(vug_tmpl_value v);
static inline bool vug_tmpl_is_string(vug_tmpl_value v)
{
    return v.kind == VUG_TMPL_STRING;
}
static inline bool vug_tmpl_has_items(vug_tmpl_value v) /* in an array */
{
    return v.kind == VUG_TMPL_LIST || v.kind == VUG_TMPL_TUPLE || v.kind == VUG_TMPL_VIEW;
}
static inline bool vug_tmpl_is_int(vug_tmpl_value v) /* True is 1 */
{
    return v.kind == VUG_TMPL_INT || v.kind == VUG_TMPL_BOOL;
}
static inline bool vug_tmpl_is_number(vug_tmpl_value v)
{
    return vug_tmpl_is_int(v) || v.kind == VUG_TMPL_FLOAT;
}
static inline int64_t vug_tmpl_as_i64(vug_tmpl_value v)
{
    return v.kind == VUG_TMPL_BOOL ? v.boolean : v.i64;
}
static inline double vug_tmpl_as_f64(vug_tmpl_value v)
{
    return v.kind == VUG_TMPL_FLOAT ? v.f64 : (double)vug_tmpl_as_i64(v);
}
static inline vug_str vug_tmpl_as_bytes(vug_tmpl_value v)
{
    return (vug_str){ v.str.ptr, v.str.len };
}
bool vug_tmpl_is_true(vug_tmpl_value v);
int vug_tmpl_compare_numbers(vug_tmpl_value a, vug_tmpl_value b); /* exact; 2: one of them is NaN */
vug_tmpl_value vug_tmpl_dict_get(vug_tmpl_run *run, const vug_tmpl_dict *dict,
                                 vug_tmpl_value key); /* or ABSENT */
/* Fails with the reason why a value is undefined. */
vug_tmpl_value vug_tmpl_fail_undefined(vug_tmpl_run *run, vug_tmpl_value v);

#endif
