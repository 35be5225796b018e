#ifndef VUG_TESTS_SUPPORT_TINY_MODEL_H
#define VUG_TESTS_SUPPORT_TINY_MODEL_H

/*
 * A checkpoint that can chat, after a fashion: the golden gemma3-text, whose
 * weights are random, with a tokenizer of its 384 ids in the manner of Gemma:
 * special tokens, bytes to fall back on, the printable characters, a few merges.
 * Include after cmocka.h.
 */

#include "scratch.h"

#define TINY_SOURCE "tests/golden/models/gemma3-text"

enum { TINY_VOCAB = 384 };

/* Copies `name` of the golden checkpoint into the folder. */
void tiny_copy(const scratch *to, const char *name);
/* Everything but reference.safetensors, and a tokenizer of `n_vocab` ids. */
void tiny_model(const scratch *to, int n_vocab);
/* A tokenizer.json alone. */
void tiny_tokenizer(const scratch *to, int n_vocab);

#endif
