#ifndef VUG_TESTS_SUPPORT_ENGINE_HELP_H
#define VUG_TESTS_SUPPORT_ENGINE_HELP_H

/*
 * Models and sessions for tests of the engine. Every failure fails the running test with
 * its error message.
 */

#include <stdint.h>

#include "engine/session.h"

#define GOLDEN(name) "tests/golden/models/" name

/* The device of these tests: the environment variable VUG_TEST_DEVICE, or the CPU. */
const char *help_device(void);
/* The layers of these tests' models on that device, as in vug_model_options: the environment variable
 * VUG_TEST_GPU_LAYERS, or 0. */
int help_gpu_layers(void);
vug_model *help_model(const char *path, vug_model_options options);
/* The bytes of keys and values for one session of such a model with the whole context. */
uint64_t help_context_bytes(const char *path, vug_model_options options);
vug_session *help_session(vug_model *model);
/* Brings the session to the prefix and returns its logits [n_vocab]. */
const float *help_forward(vug_session *session, const int32_t *id, size_t n);
/* The logits [n_vocab] of a new session after the prefix, for vug_free. */
/* One step over `n` sessions of a model with as many slots: `take` tokens from `id` + session
 * length of each. Their last rows of logits, [n, n_vocab], are valid until the next step. */
const float *help_joint_step(vug_session *const *session, const int32_t *const *id, size_t take,
                             size_t n);
float *help_alone(vug_model *model, const int32_t *id, size_t n);

/* Fails the test with the error message unless the status is VUG_OK. */
void help_ok(vug_status st, const vug_err *err);
/* Checks the code and the message of a failure. In `expected`, FOLDER stands for `folder`, which
 * may be NULL. */
void help_refused(vug_status st, const vug_err *err, vug_status code, const char *folder,
                  const char *expected);

/* The index of the first number whose bits differ, or `n`. */
size_t help_difference(const float *a, const float *b, size_t n);
/* Fails the test at that number. */
void help_same_bits(const float *a, const float *b, size_t n);

/* SplitMix64: 64 bits, and a value in 0 .. n-1. */
uint64_t help_bits(uint64_t *state);
uint64_t help_random(uint64_t *state, uint64_t n);
/* Random ids of `n_vocab`, without the first 8, which are special. */
void help_tokens(uint64_t seed, int32_t *id, size_t n, int64_t n_vocab);

#endif
