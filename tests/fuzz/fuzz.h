#ifndef VUG_TESTS_FUZZ_FUZZ_H
#define VUG_TESTS_FUZZ_FUZZ_H

/*
 * Fuzz targets: one file fuzz_NAME.c per parser of untrusted bytes, one row here.
 *
 * A target takes any bytes, runs the parser over them and releases everything.
 * It returns 0 whatever the bytes were; what it finds, it finds by crashing: an
 * assert of its own, or a report of a sanitizer. It must not depend on anything
 * but its input.
 *
 * The same function runs in three places: under libFuzzer (`make fuzz`, through
 * entry.c), over files (build/tests/fuzz NAME FILE..., through plain.c), and over
 * everything in regressions/NAME/ (`make check`, through tests/fuzz/test_regressions.c).
 */

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define VUG_FUZZ_TABLE(X)                                            \
    X(json) X(safetensors) X(quantized) X(gguf) X(config) X(profile) \
    X(tokenizer) X(sentencepiece) X(template) X(messages) X(reply)   \
    X(grammar) X(schema) X(unique_items) X(http) X(request) X(events) \
    X(page_file) X(batch)
/* clang-format on */

typedef int vug_fuzz_fn(const uint8_t *data, size_t n);

#define X(name) vug_fuzz_fn vug_fuzz_##name;
VUG_FUZZ_TABLE(X)
#undef X

typedef struct {
    const char *name;
    vug_fuzz_fn *run;
} vug_fuzz_target;

#define X(name) { #name, vug_fuzz_##name },
static const vug_fuzz_target vug_fuzz_targets[] = { VUG_FUZZ_TABLE(X) };
#undef X

enum { VUG_FUZZ_COUNT = sizeof(vug_fuzz_targets) / sizeof(vug_fuzz_targets[0]) };

#endif
