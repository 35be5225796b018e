/*
 * The fingerprint of a model: pages on disk are used again only for a model with the same one.
 *
 * Reading all weights at every start would take longer than computing a prompt. So a tensor
 * counts with its name, format, shape, size and samples of its bytes: its ends and evenly spaced
 * pieces. A file that is edited on purpose, in place and between the samples, is not noticed.
 */
#include "engine/internal.h"

#include "core/sha256.h"

/* Counts in the fingerprint: a change of any kernel's bits must change it. */
#define ARITHMETIC_VERSION "1"

enum { PIECES = 16, PIECE_BYTES = 256 };

static void add_text(vug_sha256 *hash, const char *text)
{
    vug_sha256_add_sized(hash, (vug_bytes){ (const uint8_t *)text, strlen(text) });
}

static void add_samples(vug_sha256 *hash, const uint8_t *bytes, uint64_t n)
{
    if (n <= (uint64_t)PIECES * PIECE_BYTES) {
        vug_sha256_add(hash, bytes, (size_t)n);
        return;
    }
    for (uint64_t i = 0; i < PIECES; i++)
        vug_sha256_add(hash, bytes + (n - PIECE_BYTES) / (PIECES - 1) * i, PIECE_BYTES);
    vug_sha256_add(hash, bytes + n - PIECE_BYTES, PIECE_BYTES);
}

static void add_tensor(vug_sha256 *hash, const vug_tensor *t)
{
    vug_buf text = { 0 };
    vug_buf_printf(&text, "%.*s %d %d", VUG_STR_ARG(t->name), (int)t->dtype, t->rank);
    for (int d = 0; d < t->rank; d++)
        vug_buf_printf(&text, " %lld", (long long)t->dim[d]);
    vug_buf_printf(&text, " %llu %llu", (unsigned long long)t->bytes,
                   (unsigned long long)t->scale_bytes);
    add_text(hash, text.ptr ? text.ptr : "");
    vug_buf_release(&text);
    add_samples(hash, t->data, t->bytes);
}

vug_status vug_model_fingerprint(const vug_model *m, vug_prefix_key *out, vug_err *err)
{
    const vug_checkpoint *c = &m->checkpoint;
    vug_sha256 hash;
    vug_text graph = { 0 };
    uint8_t digest[VUG_SHA256_BYTES];
    VUG_TRY(vug_model_graph(m, VUG_GRAPH_TEXT, true, &graph, err));
    vug_sha256_begin(&hash);
    add_text(&hash, ARITHMETIC_VERSION);
    add_text(&hash, m->backend->name);
    add_text(&hash, vug_kv_format_name(m->profile.kv));
    add_text(&hash, vug_activations_name(m->profile.activations));
    vug_sha256_add_sized(&hash, (vug_bytes){ (const uint8_t *)graph.ptr, graph.len });
    for (size_t i = 0; i < vug_weights_count(c->weights); i++) {
        const vug_tensor *t = vug_weights_at(c->weights, i);
        if (vug_checkpoint_uses(c, t))
            add_tensor(&hash, t);
    }
    vug_text_release(&graph);
    VUG_TRY(vug_sha256_finish(&hash, digest, err));
    const vug_bytes part = { digest, sizeof(digest) };
    return vug_prefix_key_root(&part, 1, out, err);
}
