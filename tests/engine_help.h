#ifndef VUG_TESTS_ENGINE_HELP_H
#define VUG_TESTS_ENGINE_HELP_H

/*
 * Models and sessions for tests of the engine: whatever fails fails the running
 * test with its sentence. Include after cmocka.h.
 */

#include <stdint.h>

#include "engine/session.h"

#define GOLDEN(name) "tests/golden/models/" name

vug_model *help_model(const char *path, vug_model_options options);
vug_session *help_session(vug_model *model);
/* Brings the session to the prefix and returns its logits [n_vocab]. */
const float *help_forward(vug_session *session, const int32_t *id, size_t n);
/* What a session that has seen nothing else says: [n_vocab], for vug_free. */
float *help_alone(vug_model *model, const int32_t *id, size_t n);

/* Fails the test with the sentence unless the status is VUG_OK. */
void help_ok(vug_status st, const vug_err *err);
/* `expected` against a refusal's sentence and code; in it every FOLDER stands for
 * `folder`, which may be NULL. */
void help_refused(vug_status st, const vug_err *err, vug_status code, const char *folder,
                  const char *expected);

/* The first number that differs in its bits; `n` when none does. */
size_t help_difference(const float *a, const float *b, size_t n);
/* Fails the test at that number. */
void help_same_bits(const float *a, const float *b, size_t n);

/* SplitMix64: 64 bits, and a value in 0 .. n-1. */
uint64_t help_bits(uint64_t *state);
uint64_t help_random(uint64_t *state, uint64_t n);
/* Any ids of `n_vocab`, but none of the first 8, which are special. */
void help_tokens(uint64_t seed, int32_t *id, size_t n, int64_t n_vocab);

#endif
