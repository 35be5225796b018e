#ifndef VUG_TEXT_GRAMMAR_AUTOMATON_DISTANCE_H
#define VUG_TEXT_GRAMMAR_AUTOMATON_DISTANCE_H

#include "text/grammar/automaton.h"

/* Sets `counts_edges` and `distance` of all states. VUG_STATE_NONE is the distance of a state of a
 * bounded graph from which its end cannot be reached. */
VUG_MUST_CHECK vug_status vug_automaton_find_distances(vug_automaton *automaton, vug_err *err);

#endif
