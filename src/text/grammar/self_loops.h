#ifndef VUG_TEXT_GRAMMAR_SELF_LOOPS_H
#define VUG_TEXT_GRAMMAR_SELF_LOOPS_H

#include "text/grammar/matcher.h"

/*
 * The groups of bytes (token_trie.h) after which a stack set is the same as before: all but '"' and
 * '\' in a JSON string, for example. For characters beyond ASCII, it is the same after every
 * whole character. A text of such bytes need not be tried. None if the text may end within such a
 * character, or if the matcher failed.
 */
uint64_t vug_self_loop_groups(vug_grammar_matcher *matcher, vug_stack_set stacks);

#endif
