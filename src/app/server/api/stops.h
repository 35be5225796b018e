#ifndef VUG_APP_SERVER_API_STOPS_H
#define VUG_APP_SERVER_API_STOPS_H

/*
 * Stop strings, found in a text that comes in pieces. Of what was pushed, everything goes
 * out that cannot be the beginning of a stop; of a stop itself nothing ever does. The
 * pieces' borders make no difference.
 *
 * Of several stops the one that ends first counts, and of those that end together the
 * longest. Pieces of whole characters give whole characters.
 */

#include "core/mem.h"

typedef struct {
    vug_str text;
    uint16_t *fail;   /* [len]: the longest proper prefix that ends there, too */
    uint16_t matched; /* bytes of `text` that the text so far ends with */
} vug_stop;

/* All-zero: there are none. Everything lives in an arena. */
typedef struct {
    vug_stop *stop; /* [n] */
    size_t n;
    bool found;
} vug_stops;

/* Strings of 1 to UINT16_MAX bytes, which must outlive `out`. False when out of memory. */
VUG_MUST_CHECK bool vug_stops_init(vug_stops *out, const vug_str *text, size_t n, vug_arena *arena);
/* Another text begins. */
void vug_stops_restart(vug_stops *stops);
/* Appends what may go out. True when a stop was found, now or before: the text ends. */
bool vug_stops_push(vug_stops *stops, const char *text, size_t len, vug_buf *to);
/* At the end of a text that no stop ended: what was held back. */
void vug_stops_flush(vug_stops *stops, vug_buf *to);

#endif
