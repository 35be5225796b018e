#ifndef VUG_SERVER_ANSWER_CACHE_H
#define VUG_SERVER_ANSWER_CACHE_H

/*
 * The tokens of generated answers, kept between requests: when a client sends an answer back, the
 * prompt gets the tokens that were sampled, which the KV cache holds, and not those that the
 * tokenizer makes of the text. Bounded: the least recently used answers go first. Thread-safe.
 */

#include "core/mem.h"
#include "core/sha256.h"

#define VUG_ANSWER_CACHE_BYTES ((size_t)8 << 20)

typedef struct vug_answer_cache vug_answer_cache;

/* A hash of what clients see of an answer, and of the conversation before it. */
typedef struct {
    uint8_t byte[VUG_SHA256_BYTES];
} vug_answer_key;

typedef struct {
    const int32_t *id; /* [n] without the stop token */
    size_t n;
    vug_str opening;  /* the end of its prompt: what the template wrote after the last message */
    vug_str thinking; /* its thinking, which clients may leave out; may be empty */
} vug_answer;

VUG_MUST_CHECK vug_status vug_answer_cache_create(size_t max_bytes, vug_answer_cache **out,
                                                  vug_err *err);
/* Accepts NULL. */
void vug_answer_cache_destroy(vug_answer_cache *cache);
/* Keeps a copy, in place of an earlier answer of that key, unless memory is short. */
void vug_answer_cache_add(vug_answer_cache *cache, const vug_answer_key *key,
                          const vug_answer *answer);
/* Copies the answer of that key into `arena`; false: there is none, or memory is short. */
bool vug_answer_cache_get(vug_answer_cache *cache, const vug_answer_key *key, vug_arena *arena,
                          vug_answer *out);

#endif
