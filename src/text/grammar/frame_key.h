#ifndef VUG_TEXT_GRAMMAR_FRAME_KEY_H
#define VUG_TEXT_GRAMMAR_FRAME_KEY_H

#include "text/grammar/automaton.h"

/* Writes what a frame can do before it ends, whatever is below it: the part of the automaton that
 * can be reached from its state, with the states numbered in the order in which they are found.
 * Frames of different grammars with equal keys allow the same tokens. `state_min_max` is as for
 * vug_frame_mask_create. Returns false if that part is large, or out of memory. */
bool vug_frame_key_write(const vug_automaton *automaton, const uint32_t state_min_max[3],
                         vug_buf *key);

#endif
