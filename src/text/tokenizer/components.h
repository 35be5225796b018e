#ifndef VUG_TEXT_TOKENIZER_COMPONENTS_H
#define VUG_TEXT_TOKENIZER_COMPONENTS_H

/*
 * The small members of a tokenizer.json around its model. Each is null, one
 * component {"type": ...} or a Sequence of them, and each kind that is supported
 * is a row. A kind, or an option of a kind, that is declared and not supported is
 * an error that names it: ignoring it would give other ids than the model was
 * trained with. Failures are kept in the reader.
 */

#include "text/tokenizer/tokenizer.h"

typedef void vug_component_fn(vug_loader *l, const vug_jv *v);

typedef struct {
    const char *type;
    vug_component_fn *read;
} vug_component;

typedef struct {
    const char *what; /* for sentences */
    const char *list; /* member of a Sequence that holds the components */
    const vug_component *row;
    size_t n_rows;
} vug_component_kind;

#define VUG_COMPONENTS(what, list, rows)                 \
    {                                                    \
        what, list, rows, sizeof(rows) / sizeof(*(rows)) \
    }

void vug_read_components(vug_loader *l, const vug_component_kind *kind, const vug_jv *v);

/* Members of a component; `of` is its name, for sentences. */

/* A string; empty, with a failure, where there is none. */
vug_str vug_component_string(vug_loader *l, const vug_jv *v, const char *of, const char *key);
bool vug_component_flag(vug_loader *l, const vug_jv *v, const char *of, const char *key,
                        bool otherwise);
/* A regular expression of the tokenizer's; NULL, with a failure, where it is none. */
const vug_regex *vug_component_regex(vug_loader *l, vug_str pattern, const char *of);
/* {"pattern": {"String": ...}} or {"pattern": {"Regex": ...}} */
vug_pattern vug_component_pattern(vug_loader *l, const vug_jv *v, const char *of);

/* Of Metaspace, as pre-tokenizer and as decoder. */
typedef struct {
    vug_str replacement; /* of a space; one character */
    bool prepend;        /* a text begins with one, too: */
    bool first_only;     /* only where everything begins */
    bool split;          /* words begin with it */
} vug_metaspace;

vug_metaspace vug_component_metaspace(vug_loader *l, const vug_jv *v, const char *of);

/* Whether `n` steps are all that fit; a failure where they are. */
bool vug_component_full(vug_loader *l, size_t n, const char *what);

#endif
