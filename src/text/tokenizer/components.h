#ifndef VUG_TEXT_TOKENIZER_COMPONENTS_H
#define VUG_TEXT_TOKENIZER_COMPONENTS_H

/*
 * The small members of a tokenizer.json around its model. Each is null, one component
 * {"type": ...} or a Sequence of them. Every supported type is a row of a table. A type or
 * an option that a file declares and vug does not support is an error that names it:
 * ignoring it would give other ids than the model was trained with. Failures are kept in
 * l->json.
 */

#include "text/tokenizer/internal.h"

typedef void vug_component_fn(vug_tokenizer_loader *l, const vug_jv *v);

typedef struct {
    const char *type;
    vug_component_fn *read;
} vug_component;

typedef struct {
    const char *what; /* for error messages */
    const char *list; /* the member of a Sequence that lists its components */
    const vug_component *row;
    size_t n_rows;
} vug_component_kind;

#define VUG_COMPONENTS(what, list, rows)                 \
    {                                                    \
        what, list, rows, sizeof(rows) / sizeof(*(rows)) \
    }

void vug_components_read(vug_tokenizer_loader *l, const vug_component_kind *kind, const vug_jv *v);

/* Readers of a component's members; `of` is its name for error messages. */

/* A string; empty, with a failure, if there is none. */
vug_str vug_component_string(vug_tokenizer_loader *l, const vug_jv *v, const char *of,
                             const char *key);
bool vug_component_flag(vug_tokenizer_loader *l, const vug_jv *v, const char *of, const char *key,
                        bool fallback);
/* A regular expression that the tokenizer owns; NULL, with a failure, if it is invalid. */
const vug_regex *vug_component_regex(vug_tokenizer_loader *l, vug_str pattern, const char *of);
/* {"pattern": {"String": ...}} or {"pattern": {"Regex": ...}} */
vug_pattern vug_component_pattern(vug_tokenizer_loader *l, const vug_jv *v, const char *of);

/* The options of Metaspace, which is a pre-tokenizer and a decoder. */
typedef struct {
    vug_str replacement; /* the character that replaces a space */
    bool prepend;        /* it is put in front of a text */
    bool first_only;     /* but only at the beginning of the whole input */
    bool split;          /* words begin with it */
} vug_metaspace;

vug_metaspace vug_component_metaspace(vug_tokenizer_loader *l, const vug_jv *v, const char *of);

/* True, with a failure, if there is no room for a step after `n` of them. */
bool vug_component_check_full(vug_tokenizer_loader *l, size_t n, const char *what);

#endif
