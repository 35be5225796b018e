#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_OPERATIONS_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_OPERATIONS_H

/* What expressions do with values: arithmetic, comparing, iterating, lookup, JSON. */

#include "text/template/template_run.h"

/* ---- iterating -------------------------------------------------------------- */

/* Iterates over the elements of any value that has some: keys, characters, .. */
typedef struct {
    vug_tmpl_value of;
    size_t at;
} vug_tmpl_iter;
/* Fails where the value is not iterable. */
vug_tmpl_iter vug_tmpl_iterate(vug_tmpl_run *run, vug_tmpl_value v);
bool vug_tmpl_iter_next(vug_tmpl_run *run, vug_tmpl_iter *it, vug_tmpl_value *out);
int64_t vug_tmpl_range_at(const vug_tmpl_range *range, int64_t i);
bool vug_tmpl_is_iterable(vug_tmpl_value v);
/* All elements, which may share the value's memory. */
vug_tmpl_seq vug_tmpl_elements(vug_tmpl_run *run, vug_tmpl_value v);
/* False, without a failure: the value has no length. */
bool vug_tmpl_length(vug_tmpl_run *run, vug_tmpl_value v, size_t *out);

/* ---- comparing -------------------------------------------------------------- */

bool vug_tmpl_equal(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b);
/* Negative, 0 or positive; 2: one of them is NaN. Fails where Python has no order. `op` is for
 * the error message. */
int vug_tmpl_compare(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b, const char *op);
bool vug_tmpl_is_in(vug_tmpl_run *run, vug_tmpl_value what, vug_tmpl_value where);
/* Sorts items by their keys, stably. */
void vug_tmpl_sort(vug_tmpl_run *run, vug_tmpl_value *item, const vug_tmpl_value *key, size_t n,
                   bool reverse);

/* ---- arithmetic ------------------------------------------------------------- */

/* a + b and the other operators, by their tokens. */
#define VUG_TMPL_OP2(a, b)   ((a) << 8 | (b))
#define VUG_TMPL_OP_FLOORDIV VUG_TMPL_OP2('/', '/')
#define VUG_TMPL_OP_POWER    VUG_TMPL_OP2('*', '*')
vug_tmpl_value vug_tmpl_binary(vug_tmpl_run *run, int op, vug_tmpl_value a, vug_tmpl_value b);
vug_tmpl_value vug_tmpl_negate(vug_tmpl_run *run, vug_tmpl_value v, bool minus);

/* ---- lookup ----------------------------------------------------------------- */

/* obj.name, obj[key] and obj[from:to:step], by the rules of Jinja's sandbox. */
vug_tmpl_value vug_tmpl_get_attr(vug_tmpl_run *run, vug_tmpl_value obj, vug_str name);
vug_tmpl_value vug_tmpl_get_item(vug_tmpl_run *run, vug_tmpl_value obj, vug_tmpl_value key);
vug_tmpl_value vug_tmpl_get_slice(vug_tmpl_run *run, vug_tmpl_value obj,
                                  const vug_tmpl_value bound[3]);
/* Looks up a path such as "a.0.b", as filters with an attribute do. */
vug_tmpl_value vug_tmpl_get_path(vug_tmpl_run *run, vug_tmpl_value obj, vug_tmpl_value path,
                                 vug_tmpl_value otherwise);

/* ---- JSON ------------------------------------------------------------------- */

vug_tmpl_value vug_tmpl_from_json(vug_tmpl_run *run, const vug_jv *v, bool untrusted);
/* The arguments of json.dumps; ABSENT or None: Python's defaults. */
typedef struct {
    vug_tmpl_value indent, item_separator, key_separator;
    bool ascii, sorted;
} vug_tmpl_json_style;
vug_tmpl_value vug_tmpl_to_json(vug_tmpl_run *run, vug_tmpl_value v,
                                const vug_tmpl_json_style *style);

#endif
