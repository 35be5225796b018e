#ifndef VUG_TESTS_SUPPORT_GRAMMAR_REFERENCE_H
#define VUG_TESTS_SUPPORT_GRAMMAR_REFERENCE_H

/*
 * The reference for what expressions match, as simple as possible: a recognizer that tries
 * everything and a generator that picks at random. They share only the expressions with the
 * automaton, which is tested against them. For small texts.
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "text/grammar/grammar_builder.h"

/* Whether the expression matches the whole text. */
bool reference_matches(const vug_grammar_builder *builder, vug_grammar_expr root, vug_str text);

/* Appends a random text that the expression matches. False if nothing matches or the text became
 * longer than `max` bytes. The same seed gives the same text. */
bool reference_generate(const vug_grammar_builder *builder, vug_grammar_expr root, uint64_t *seed,
                        size_t max, vug_buf *to);

#endif
