#ifndef VUG_TEXT_TEMPLATE_VALUE_H
#define VUG_TEXT_TEMPLATE_VALUE_H

/*
 * The values of a template: Python's, as far as Jinja shows them.
 *
 * Values do not change once they are made (transformers runs templates in Jinja's
 * ImmutableSandboxedEnvironment), so that strings and lists share the memory of what they
 * were cut from. Only namespaces, loops, cyclers and iterators have a state. All memory
 * belongs to the run and goes with it.
 *
 * A string carries a mark per byte: 1 for bytes that came from messages and tools. Every
 * operation takes the marks along; where they end up in the output is what the prompt
 * calls plain. In the run the first failure is kept, with the line of the template, and
 * later calls give undefined values: whoever loops asks vug_run_ok.
 */

#include "core/json.h"
#include "text/template/template.h"

/* ---- limits of a rendering -------------------------------------------------- */

#define VUG_RUN_MAX_STEPS  ((uint64_t)1 << 24) /* nodes evaluated, with what takes as long */
#define VUG_RUN_MAX_VALUES ((size_t)256 << 20) /* bytes of all values */
#define VUG_RUN_MAX_OUTPUT ((size_t)64 << 20)  /* bytes of the text, or of a string in the making */
#define VUG_RUN_MAX_DEPTH  1000                /* nodes inside of nodes, through macros too */
#define VUG_RUN_MAX_RANGE  100000              /* elements of range(), as Jinja's sandbox has it */
#define VUG_BYTES_PER_STEP 32                  /* of a string that is copied or searched */
#define VUG_CHARS_PER_STEP 4                   /* of one that is read character by character */

/* ---- values ----------------------------------------------------------------- */

/* The names are Python's, for sentences. */
#define VUG_TV_KINDS(X)       \
    X(ABSENT, "nothing")      \
    X(UNDEFINED, "Undefined") \
    X(NONE, "NoneType")       \
    X(BOOL, "bool")           \
    X(INT, "int")             \
    X(BIG, "int")             \
    X(FLOAT, "float")         \
    X(STRING, "str")          \
    X(LIST, "list")           \
    X(TUPLE, "tuple")         \
    X(RANGE, "range")         \
    X(DICT, "dict")           \
    X(VIEW, "dict_view")      \
    X(ITERATOR, "generator")  \
    X(NAMESPACE, "Namespace") \
    X(MACRO, "Macro")         \
    X(FUNCTION, "function")   \
    X(METHOD, "method")       \
    X(LOOP, "LoopContext")    \
    X(CYCLER, "Cycler")       \
    X(JOINER, "Joiner")

typedef enum {
#define X(kind, name) VUG_TV_##kind,
    VUG_TV_KINDS(X)
#undef X
} vug_tv_kind;

/* Marks: NULL, where none of the bytes is foreign; VUG_MARK_ALL, where all are; or [len]. */
typedef struct {
    const char *ptr; /* UTF-8 */
    size_t len;
    const uint8_t *mark;
} vug_tstr;

extern const uint8_t vug_mark_all[1];
#define VUG_MARK_ALL vug_mark_all

typedef struct vug_tv vug_tv;
typedef struct vug_run vug_run;
typedef struct vug_row vug_row;

/* Elements in a row. Of an iterator `at` is the next one, and what it shows is gone; of a
 * view it is what it shows. */
enum { VUG_VIEW_KEYS, VUG_VIEW_VALUES, VUG_VIEW_ITEMS };
typedef struct {
    const vug_tv *item; /* [n] */
    size_t n, at;
} vug_tseq;

/* In the order of insertion; `sorted` are the keys in an order of their own. */
typedef struct {
    const vug_tv *key, *value; /* [n] */
    const vug_tv **sorted;     /* [n] */
    size_t n;
} vug_tdict;

typedef struct {
    int64_t start, stop, step; /* as they were given */
    size_t n;
} vug_trange;

/* Why a value is undefined: a name that nothing has, or an attribute. */
typedef struct {
    const char *of; /* the Python name of what lacks it; NULL for a variable; "" for a hint */
    vug_str name;
} vug_tmissing;

/* Attributes of a namespace, variables of a scope. */
typedef struct vug_tvars {
    vug_str *name;
    vug_tv *value;
    size_t n, cap;
} vug_tvars;

typedef struct {
    const vug_row *row;
    const vug_tv *self;
} vug_tmethod;

struct vug_tmacro;
struct vug_tloop;
struct vug_tv {
    vug_tv_kind kind;
    bool safe;  /* of a string: it is markup, and what is added to it is escaped */
    bool named; /* of a tuple: its two are also .grouper and .list */
    union {
        bool boolean;
        int64_t i64;
        double f64;
        vug_tstr str; /* of BIG: the spelling */
        vug_tseq *seq;
        vug_tdict *dict;
        vug_trange *range;
        vug_tmissing *missing;
        vug_tvars *vars;
        const vug_tmethod *method;
        const vug_row *row;
        struct vug_tmacro *macro;
        struct vug_tloop *loop;
    };
};

/* A list that grows. */
typedef struct {
    vug_tv *item;
    size_t n, cap;
} vug_tlist;

extern const vug_tv vug_tv_nothing; /* ABSENT; what rows of none point at */

/* ---- the run ---------------------------------------------------------------- */

/* The string that was made last by adding: what is added to it next goes behind it, so
 * that a template which gathers its output in a variable takes linear time. */
typedef struct {
    char *ptr;
    uint8_t *mark;
    size_t used, cap;
} vug_ttail;

/* Where character `index` of a string lies, from the last time it was asked. */
typedef struct {
    const char *ptr;
    size_t len, chars; /* bytes; characters */
    size_t index, offset;
} vug_tcursor;

struct vug_run {
    const char *name; /* of the template */
    vug_arena arena;
    vug_buf out, mark; /* the output, and behind it strings in the making; a mark per byte */
    uint64_t steps;
    int depth;
    uint32_t line;
    int64_t now;
    vug_ttail tail;
    vug_tlist list_tail; /* likewise */
    vug_tcursor cursor;
    vug_tv held;   /* what a filter block filters */
    vug_status st; /* sticky */
    vug_err err;
};

static inline bool vug_run_ok(const vug_run *run)
{
    return run->st == VUG_OK;
}
/* Keeps the first failure, with name and line; gives an undefined value. */
vug_tv vug_run_fail(vug_run *run, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);
/* Counts; false when there were too many steps or something failed before. */
bool vug_run_spend(vug_run *run, size_t steps);
static inline bool vug_run_spend_bytes(vug_run *run, size_t bytes)
{
    return vug_run_spend(run, bytes / VUG_BYTES_PER_STEP);
}
/* One level down, which is a step too; the caller takes it from run->depth again. False
 * after a failure. */
bool vug_deeper(vug_run *run);
/* Zeroed; NULL and a failure past VUG_RUN_MAX_VALUES. */
void *vug_run_alloc(vug_run *run, size_t n, size_t size);

/* ---- making values ---------------------------------------------------------- */

static inline vug_tv vug_tv_none(void)
{
    return (vug_tv){ .kind = VUG_TV_NONE };
}
static inline vug_tv vug_tv_bool(bool v)
{
    return (vug_tv){ .kind = VUG_TV_BOOL, .boolean = v };
}
static inline vug_tv vug_tv_int(int64_t v)
{
    return (vug_tv){ .kind = VUG_TV_INT, .i64 = v };
}
static inline vug_tv vug_tv_float(double v)
{
    return (vug_tv){ .kind = VUG_TV_FLOAT, .f64 = v };
}
static inline vug_tv vug_tv_string(vug_tstr s)
{
    return (vug_tv){ .kind = VUG_TV_STRING, .str = s };
}
static inline vug_tv vug_tv_text(const char *text) /* which lives on */
{
    return vug_tv_string((vug_tstr){ text, strlen(text), NULL });
}
/* `of` as in vug_tmissing. */
vug_tv vug_tv_undefined(vug_run *run, const char *of, vug_str name);
vug_tv vug_tv_seq(vug_run *run, vug_tv_kind kind, const vug_tv *item, size_t n);
vug_tv vug_tv_pair(vug_run *run, vug_tv a, vug_tv b);
/* Takes over the arrays. Of equal keys the first keeps its place and the last its value. */
vug_tv vug_tv_dict(vug_run *run, vug_tv *key, vug_tv *value, size_t n);
vug_tv vug_tv_json(vug_run *run, const vug_jv *v, bool foreign, int depth);
void vug_tvars_set(vug_run *run, vug_tvars *vars, vug_str name, vug_tv value);
vug_tv *vug_tvars_get(vug_run *run, const vug_tvars *vars, vug_str name);
void vug_tlist_add(vug_run *run, vug_tlist *list, vug_tv v);

/* ---- asking values ---------------------------------------------------------- */

/* "dict object", as Jinja calls it in sentences; and Python's name of the type. */
const char *vug_tv_object(vug_tv v);
const char *vug_tv_type(vug_tv v);
static inline bool vug_tv_is_string(vug_tv v)
{
    return v.kind == VUG_TV_STRING;
}
static inline bool vug_tv_has_items(vug_tv v) /* which lie in a row */
{
    return v.kind == VUG_TV_LIST || v.kind == VUG_TV_TUPLE || v.kind == VUG_TV_VIEW;
}
static inline bool vug_tv_is_int(vug_tv v) /* True is 1 */
{
    return v.kind == VUG_TV_INT || v.kind == VUG_TV_BOOL;
}
static inline bool vug_tv_is_number(vug_tv v)
{
    return vug_tv_is_int(v) || v.kind == VUG_TV_FLOAT;
}
static inline int64_t vug_tv_i64(vug_tv v)
{
    return v.kind == VUG_TV_BOOL ? v.boolean : v.i64;
}
static inline double vug_tv_f64(vug_tv v)
{
    return v.kind == VUG_TV_FLOAT ? v.f64 : (double)vug_tv_i64(v);
}
static inline vug_str vug_tv_bytes(vug_tv v)
{
    return (vug_str){ v.str.ptr, v.str.len };
}
bool vug_tv_truth(vug_run *run, vug_tv v);
int vug_tv_order(vug_tv a, vug_tv b); /* of two numbers, exactly; 2: one of them is NaN */
bool vug_tv_equal(vug_run *run, vug_tv a, vug_tv b);
/* Below, at or above 0, or 2 as vug_tv_order; a failure where Python has no order. `op` is for the sentence. */
int vug_tv_compare(vug_run *run, vug_tv a, vug_tv b, const char *op);
bool vug_tv_in(vug_run *run, vug_tv what, vug_tv where);
/* False, and no failure, for what has no length. */
bool vug_tv_length(vug_run *run, vug_tv v, size_t *out);
vug_tv vug_tdict_get(vug_run *run, const vug_tdict *dict, vug_tv key); /* or ABSENT */
/* obj.name, obj[key] and obj[from:to:step], as Jinja's sandbox looks them up. */
vug_tv vug_tv_attr(vug_run *run, vug_tv obj, vug_str name);
vug_tv vug_tv_item(vug_run *run, vug_tv obj, vug_tv key);
vug_tv vug_tv_slice(vug_run *run, vug_tv obj, const vug_tv bound[3]);
/* Of "a.0.b", as filters with an attribute look it up. */
vug_tv vug_tv_path(vug_run *run, vug_tv obj, vug_tv path, vug_tv otherwise);
/* Fails on what an undefined value cannot do, with the reason that it is undefined. */
vug_tv vug_tv_fail_undefined(vug_run *run, vug_tv v);

/* Over the elements of anything that has some: keys, characters, .. */
typedef struct {
    vug_tv of;
    size_t at;
} vug_titer;
/* A failure when there is nothing to go through. */
vug_titer vug_tv_iterate(vug_run *run, vug_tv v);
bool vug_titer_next(vug_run *run, vug_titer *it, vug_tv *out);
int64_t vug_range_at(const vug_trange *range, int64_t i);
bool vug_tv_is_iterable(vug_tv v);
/* All elements as a list; its memory may be the value's own. */
vug_tseq vug_tv_elements(vug_run *run, vug_tv v);
void vug_tv_sort(vug_run *run, vug_tv *item, const vug_tv *key, size_t n, bool reverse);

#endif
