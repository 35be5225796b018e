#ifndef VUG_SAMPLING_H
#define VUG_SAMPLING_H

/*
 * How the next token is chosen from the logits: plain values, part of vug.h.
 *
 * A chain of samplers changes logits and drops tokens; then one token is drawn. The draw is a
 * function of the logits, the chain, the seed and the token's position, not of a stream of random
 * numbers: the same logits give the same token, alone or in a batch, in any order.
 *
 * docs/sampling.md defines every sampler and the draw.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(id, name, default, min, max, help): what holds without the sampler, at which it does nothing,
 * and the inclusive range. TEMPERATURE comes after those that change single logits and before those
 * that drop tokens. From REPEAT_LAST_N on these are no samplers but parameters of the others; their
 * place in a chain has no effect.
 *
 * Sources: repetition, Keskar et al. 2019 (CTRL), section 4.1; presence and frequency, the OpenAI
 * API; DRY, github.com/oobabooga/text-generation-webui/pull/5677; top-n-sigma, Tang et al. 2024,
 * arXiv 2411.07641; typical-p, Meister et al. 2022, arXiv 2202.00666; top-p, Holtzman et al. 2019,
 * arXiv 1904.09751; min-p, Nguyen et al. 2024, arXiv 2407.01082; XTC,
 * github.com/oobabooga/text-generation-webui/pull/6335. */
#define VUG_SAMPLER_TABLE(X)                                                                      \
    X(REPETITION, "repetition", 1, 0.01, 100, "divide logits of seen tokens by this")             \
    X(PRESENCE, "presence", 0, -100, 100, "subtract this from tokens generated before")           \
    X(FREQUENCY, "frequency", 0, -100, 100, "subtract this for each time a token came before")    \
    X(DRY, "dry", 0, 0, 100, "subtract this, times a power, from tokens that continue a repeat")  \
    X(BIAS, "bias", 0, -1000, 1000, "add this to the logit of one token")                         \
    X(TEMPERATURE, "temperature", 1, 0, 100, "divide logits by this; 0 takes the best token")     \
    X(TOP_N_SIGMA, "top-n-sigma", 0, 0, 1000,                                                     \
      "keep logits within this many deviations of the "                                           \
      "best; 0 keeps all")                                                                        \
    X(TOP_K, "top-k", 0, 0, 1e9, "keep this many of the best tokens; 0 keeps all")                \
    X(TYPICAL_P, "typical-p", 1, 0, 1, "keep the most typical tokens that hold this probability") \
    X(TOP_P, "top-p", 1, 0, 1, "keep the best tokens that hold this much probability")            \
    X(MIN_P, "min-p", 0, 0, 1, "keep tokens at least this likely relative to the best")           \
    X(XTC, "xtc", 0, 0, 1, "probability to drop all likely tokens but the least likely of them")  \
    X(REPEAT_LAST_N, "repeat-last-n", -1, -1, 1e9, "tokens that penalties look at; -1: all")      \
    X(DRY_BASE, "dry-base", 1.75, 1, 100, "the base of the power of dry")                         \
    X(DRY_ALLOWED_LENGTH, "dry-allowed-length", 2, 0, 1e9, "repeats shorter than this are free")  \
    X(DRY_LAST_N, "dry-last-n", -1, -1, 1e9, "tokens that dry looks at; -1: all")                 \
    X(XTC_THRESHOLD, "xtc-threshold", 0.1, 0, 1, "the probability from which a token is likely")

typedef enum {
#define X(id, name, off, min, max, help) VUG_SAMPLER_##id,
    VUG_SAMPLER_TABLE(X)
#undef X
            VUG_SAMPLER_COUNT
} vug_sampler_kind;

typedef struct {
    vug_sampler_kind kind;
    float value;
    int32_t token; /* for BIAS */
} vug_sampler_config;

#define VUG_MAX_SAMPLERS (1024 + VUG_SAMPLER_COUNT) /* biases, and one of every other kind */

/* Limits of the lists below. */
#define VUG_MAX_BANNED_WORDS 1024
#define VUG_MAX_BANNED_IDS   64 /* tokens of one banned word */
#define VUG_MAX_DRY_BREAKERS 64
#define VUG_MAX_DRY_BREAKER  64 /* bytes */

/* All pointers must stay valid during the call. All-zero samples at temperature 1. A chain with
 * TEMPERATURE 0 is greedy: it takes the highest logit after penalties and biases, the lowest id
 * among equals. */
typedef struct {
    const vug_sampler_config *sampler; /* [n] the chain */
    size_t n;
    uint64_t seed;          /* the same seed, prompt and model give the same answer */
    const int32_t *allowed; /* [n_allowed] no other token is sampled; NULL: all may be */
    size_t n_allowed;
    const char *const *banned_word; /* [n_banned_words] no answer has one of them as the tokenizer
                                       spells it, alone or after a space, unless a grammar forces
                                       it */
    size_t n_banned_words;
    const char *const *dry_breaker; /* [n_dry_breakers] texts across which DRY sees no repeats;
                                       NULL: the end of a line, ":", "\"" and "*" */
    size_t n_dry_breakers;
} vug_sampling;

/* At most one sampler of each kind but BIAS, in the order of VUG_SAMPLER_TABLE. */
typedef struct {
    vug_sampler_config sampler[VUG_SAMPLER_COUNT];
    size_t n;
} vug_sampling_defaults;

#ifdef __cplusplus
}
#endif

#endif
