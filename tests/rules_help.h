#ifndef VUG_TESTS_RULES_HELP_H
#define VUG_TESTS_RULES_HELP_H

/*
 * What the rules of a grammar mean, in the plainest way: a recognizer that tries
 * everything and a generator that picks at random. They share nothing with the automaton
 * but the nodes, and so are what it is measured by. For small texts.
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "text/grammar/rules.h"

/* Whether the whole text is what the node says. */
bool rules_match(const vug_rules *rules, vug_node root, vug_str text);

/* A random text of the node into `to`; false where none was found: nothing matches, or it
 * became longer than `max` bytes. The same seed gives the same text. */
bool rules_generate(const vug_rules *rules, vug_node root, uint64_t *seed, size_t max, vug_buf *to);

#endif
