#ifndef VUG_CORE_STOP_STRINGS_H
#define VUG_CORE_STOP_STRINGS_H

/*
 * Finds stop strings in a text that arrives in pieces; where it is split makes no difference. Text
 * is output as soon as it cannot begin a stop. A stop itself is output
 * only if `include` is set.
 *
 * The stop that ends first counts; among stops that end together, the longest. Pieces of whole
 * UTF-8 characters yield whole characters.
 */

#include "core/mem.h"

typedef struct {
    vug_str text;
    uint16_t *fail;   /* [len]: the longest proper prefix that also ends there */
    uint16_t matched; /* bytes of this stop that the input ends with */
} vug_stop_string;

/* Zero-initialized: no stops. Everything lives in an arena. */
typedef struct {
    vug_stop_string *stop; /* [n] */
    size_t n;
    bool include; /* the stop belongs to the text; set by the caller */
    bool found;
    vug_str ended_by; /* the stop that was found */
} vug_stop_strings;

/* Strings of 1 to UINT16_MAX bytes, which must outlive `out`. False when out of memory. */
VUG_MUST_CHECK bool vug_stop_strings_init(vug_stop_strings *out, const vug_str *text, size_t n,
                                          vug_arena *arena);
/* Begins another text. */
void vug_stop_strings_reset(vug_stop_strings *stops);
/* Appends what can be output. True when a stop was found, now or before: the text has ended. */
bool vug_stop_strings_push(vug_stop_strings *stops, const char *text, size_t len, vug_buf *to);
/* Appends what was held back, at the end of a text that no stop ended. */
void vug_stop_strings_flush(vug_stop_strings *stops, vug_buf *to);

#endif
