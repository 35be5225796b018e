/* The config.json of a GGUF file, as far as it differs between layers: windows, widths,
 * experts. */
#include <stdio.h>

#include "models/gguf_config_keys.h"
#include "models/gguf_metadata.h"

/* ---- windows -------------------------------------------------------------------------- */

static bool is_windowed(vug_metadata_reader *r, int64_t i)
{
    static const char key[] = "attention.sliding_window_pattern";
    const vug_gguf_value *v = vug_metadata_find(r, key);
    if (!v)
        return vug_gguf_implied_window(r->arch->gguf->period, i);
    if (v->is_array)
        return v->type == VUG_GGUF_BOOL ? vug_metadata_bool(r, key, i, false)
                                        : vug_metadata_int(r, key, i, 0) != 0;
    const int64_t period = vug_metadata_int(r, key, 0, 0);
    return period <= 0 || vug_gguf_implied_window(period, i);
}

/* Layers have a window only if its width is known. */
static void write_windows(vug_metadata_reader *r)
{
    const vug_gguf_arch *a = r->arch->gguf;
    const bool pattern = vug_metadata_find(r, "attention.sliding_window_pattern") != NULL;
    const int64_t window = vug_metadata_int(r, "attention.sliding_window", 0, a->window);
    if (!pattern && (a->period == 0 || a->two_widths))
        return;
    if (pattern && a->two_widths && window == 0)
        vug_metadata_fail(r, VUG_FORMAT, "key '%s.attention.sliding_window' is missing", a->name);
    bool any = false;
    vug_json_begin(&r->json, "layer_types", '[');
    for (int64_t i = 0; i < r->sizes.n_layers; i++) {
        r->sizes.windowed[i] = window != 0 && is_windowed(r, i);
        any = any || r->sizes.windowed[i];
        vug_json_put_string(&r->json, NULL,
                            r->sizes.windowed[i] ? "sliding_attention" : "full_attention");
    }
    vug_json_end(&r->json, ']');
    vug_json_put_bool(&r->json, "use_sliding_window", any);
    if (any)
        vug_json_put_i64(&r->json, "sliding_window", window);
}

/* ---- widths --------------------------------------------------------------------------- */

/* Reads a number that must be the same in all layers. */
static int64_t read_uniform_int(vug_metadata_reader *r, const char *key, int64_t fallback)
{
    const int64_t first = vug_metadata_int(r, key, 0, fallback);
    for (int64_t i = 1; i < r->sizes.n_layers; i++) {
        if (vug_metadata_int(r, key, i, fallback) != first)
            vug_metadata_fail(r, VUG_UNSUPPORTED,
                              "key '%s.%s' differs between layers, which %s models do not",
                              r->arch->gguf->name, key, r->arch->gguf->name);
    }
    return first;
}

/* Models whose layers all have the same width. */
static void write_one_width(vug_metadata_reader *r)
{
    r->sizes.d_head =
            vug_metadata_int(r, "attention.key_length", 0, r->sizes.d_model / r->sizes.n_heads);
    r->sizes.d_ffn = read_uniform_int(r, "feed_forward_length", 0);
    vug_json_put_i64(&r->json, "head_dim", r->sizes.d_head);
    vug_json_put_i64(&r->json, "intermediate_size", r->sizes.d_ffn);
    vug_json_put_i64(&r->json, "num_key_value_heads",
                     read_uniform_int(r, "attention.head_count_kv", r->sizes.n_heads));
}

/* Gemma 4: layers with a window and layers without differ, and the last layers may read the
 * caches of earlier ones and may then be twice as wide. */
static void write_two_widths(vug_metadata_reader *r)
{
    const int64_t n = r->sizes.n_layers;
    const int64_t shared = vug_metadata_int(r, "attention.shared_kv_layers", 0, 0);
    const int64_t full =
            vug_metadata_int(r, "attention.key_length", 0, r->sizes.d_model / r->sizes.n_heads);
    r->sizes.d_head = vug_metadata_int(r, "attention.key_length_swa", 0, full);
    r->sizes.d_ffn = vug_metadata_int(r, "feed_forward_length", 0, 0);
    int64_t windowed = 0, unwindowed = 0; /* the first layer of each kind */
    while (windowed < n - 1 && !r->sizes.windowed[windowed])
        windowed++;
    while (unwindowed < n - 1 && r->sizes.windowed[unwindowed])
        unwindowed++;
    const bool wide =
            n > 1 && r->sizes.d_ffn != vug_metadata_int(r, "feed_forward_length", n - 1, 0);
    /* A nonsensical number is refused later, when the config.json is read. */
    const int64_t first_shared = shared > 0 && shared <= n ? n - shared : n;
    const int64_t kv = vug_metadata_int(r, "attention.head_count_kv", windowed, r->sizes.n_heads);
    char v[64];
    (void)snprintf(v, sizeof(v), "blk.%lld.attn_v.weight", (long long)unwindowed);
    vug_json_put_i64(&r->json, "head_dim", r->sizes.d_head);
    vug_json_put_i64(&r->json, "global_head_dim", full);
    vug_json_put_i64(&r->json, "num_kv_shared_layers", shared);
    vug_json_put_i64(&r->json, "intermediate_size", r->sizes.d_ffn);
    vug_json_put_bool(&r->json, "use_double_wide_mlp", wide);
    vug_json_put_i64(&r->json, "num_key_value_heads", kv);
    vug_json_put_bool(&r->json, "attention_k_eq_v", !vug_metadata_has_tensor(r, v));
    vug_json_put_i64(&r->json, "hidden_size_per_layer_input",
                     vug_metadata_int(r, "embedding_length_per_layer_input", 0, 0));
    vug_json_begin(&r->json, "per_layer_config", '{');
    for (int64_t i = 0; i < n && r->st == VUG_OK; i++) {
        const bool twice = wide && i >= first_shared;
        const int64_t width = vug_metadata_int(r, "feed_forward_length", i, 0);
        if (twice ? width % 2 != 0 || width / 2 != r->sizes.d_ffn : width != r->sizes.d_ffn)
            vug_metadata_fail(r, VUG_UNSUPPORTED,
                              "key '%s.feed_forward_length': layer %lld is neither as "
                              "wide as the first layer nor, with a shared cache, twice as wide",
                              r->arch->gguf->name, (long long)i);
        const int64_t own = vug_metadata_int(r, "attention.head_count_kv", i, r->sizes.n_heads);
        /* transformers ignores global_head_dim if this list is present. */
        if (own != kv || !r->sizes.windowed[i]) {
            char layer[24];
            (void)snprintf(layer, sizeof(layer), "%lld", (long long)i);
            vug_json_begin(&r->json, layer, '{');
            vug_json_put_i64(&r->json, "head_dim", r->sizes.windowed[i] ? r->sizes.d_head : full);
            vug_json_put_i64(&r->json, "num_key_value_heads", own);
            vug_json_end(&r->json, '}');
        }
    }
    vug_json_end(&r->json, '}');
}

/* RoPE must cover whole heads, and values must be as wide as keys. */
static void check_widths(vug_metadata_reader *r)
{
    static const struct {
        const char *key, *like;
    } pairs[] = {
        { "attention.value_length", "attention.key_length" },
        { "attention.value_length_swa", "attention.key_length_swa" },
        { "rope.dimension_count", "attention.key_length" },
        { "rope.dimension_count_swa", "attention.key_length_swa" },
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const int64_t like = vug_metadata_int(r, pairs[i].like, 0, r->sizes.d_head);
        if (vug_metadata_int(r, pairs[i].key, 0, like) != like)
            vug_metadata_fail(r, VUG_UNSUPPORTED, "key '%s.%s' must be %lld, as '%s' is",
                              r->arch->gguf->name, pairs[i].key, (long long)like, pairs[i].like);
    }
    if (!vug_metadata_bool(r, "attention.causal", 0, true))
        vug_metadata_fail(r, VUG_UNSUPPORTED,
                          "key '%s.attention.causal' is false: embedding models are not "
                          "supported",
                          r->arch->gguf->name);
}

/* ---- experts -------------------------------------------------------------------------- */

static void write_experts(vug_metadata_reader *r)
{
    if (!vug_metadata_find(r, "expert_count"))
        vug_json_put_i64(&r->json, "num_experts", 0);
    if (r->sizes.n_experts == 0)
        return;
    if (r->arch->n_packs == 0)
        vug_metadata_fail(r, VUG_UNSUPPORTED,
                          "key '%s.expert_count' is %lld: %s models with experts are not "
                          "supported",
                          r->arch->gguf->name, (long long)r->sizes.n_experts, r->arch->gguf->name);
    if (!vug_metadata_find(r, "expert_feed_forward_length") && r->sizes.n_experts_per_token > 0)
        vug_json_put_i64(&r->json, "moe_intermediate_size",
                         r->sizes.d_ffn / r->sizes.n_experts_per_token);
    vug_json_put_i64(&r->json, "top_k_experts", r->sizes.n_experts_per_token);
    vug_json_put_bool(&r->json, "enable_moe_block", true);
    vug_json_put_bool(&r->json, "norm_topk_prob",
                      vug_metadata_bool(r, "expert_weights_norm", 0, true));
    vug_json_begin(&r->json, "mlp_only_layers", '[');
    for (int64_t i = 0; i < r->sizes.n_layers; i++) {
        char router[64], dense[64];
        (void)snprintf(router, sizeof(router), "blk.%lld.ffn_gate_inp.weight", (long long)i);
        (void)snprintf(dense, sizeof(dense), "blk.%lld.ffn_gate.weight", (long long)i);
        if (vug_metadata_has_tensor(r, router) || !vug_metadata_has_tensor(r, dense))
            continue;
        vug_json_put_i64(&r->json, NULL, i);
    }
    vug_json_end(&r->json, ']');
}

void vug_metadata_write_layers(vug_metadata_reader *r)
{
    write_windows(r);
    if (r->st == VUG_OK && r->arch->gguf->two_widths)
        write_two_widths(r);
    else if (r->st == VUG_OK)
        write_one_width(r);
    if (r->st == VUG_OK) {
        check_widths(r);
        write_experts(r);
    }
}
