#ifndef VUG_TESTS_SUPPORT_SHORT_PEBBLE_H
#define VUG_TESTS_SUPPORT_SHORT_PEBBLE_H

/*
 * pebble with fewer layers: rows of 256 and 512 elements, as formats with blocks of 256 need
 * them, and a real tokenizer, but a fraction of the weights. Include after cmocka.h.
 */

#include "scratch.h"

/* Writes the checkpoint of pebble's first `n_layers` layers into the folder. The last one
 * attends to all tokens, the others to a window. */
void short_pebble(const scratch *to, int n_layers);

#endif
