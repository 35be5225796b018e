#ifndef VUG_APP_SERVER_GRAMMARS_H
#define VUG_APP_SERVER_GRAMMARS_H

/*
 * Grammars that are kept between requests, with the masks that were found: agents send the
 * same tools with each request. A grammar is known by a key, which says all that it was made
 * of. Any thread may call; one grammar may be used by several requests at once.
 */

#include "app/server/metrics.h"
#include "vug/grammar.h"

/* Those that no request uses are kept up to these; what is asked for the least recently goes. */
#define VUG_GRAMMARS_MAX       32
#define VUG_GRAMMARS_MAX_BYTES ((size_t)128 << 20) /* with their keys and masks */
/* No other is made while those that requests use take more, as they were made. */
#define VUG_GRAMMARS_MAX_USED ((size_t)256 << 20)

typedef struct vug_grammars vug_grammars;

VUG_MUST_CHECK vug_status vug_grammars_create(vug_metrics *metrics, vug_grammars **out,
                                              vug_err *err);
/* When none is in use. Accepts NULL. */
void vug_grammars_destroy(vug_grammars *grammars);

typedef vug_status vug_grammar_maker(void *arg, vug_grammar **out, vug_err *err);

/* The grammar of that key, from `make` if it is not there: in use until it is put back.
 * VUG_NOMEM also where others take too much. */
VUG_MUST_CHECK vug_status vug_grammars_get(vug_grammars *grammars, vug_str key,
                                           vug_grammar_maker *make, void *arg,
                                           const vug_grammar **out, vug_err *err);
/* Accepts NULL for the grammar. */
void vug_grammars_put(vug_grammars *grammars, const vug_grammar *grammar);

#endif
