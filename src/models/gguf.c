/*
 * Configs from the metadata of GGUF files. What a file says is written down as the
 * config.json that its checkpoint was converted from, which the architecture then reads
 * like any other: defaults, limits and sentences are the same.
 *
 * Sources: llama.cpp's src/llama-arch.cpp for keys, load_hparams and each model's
 * load_arch_hparams for what is implied where a key is missing, conversion/ for what is
 * written.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "models/gguf_keys.h"
#include "models/slots.h"

#define WHOLE(field) VUG_KEY_WHOLE, false, offsetof(vug_config, field)
#define SIZE(field)  VUG_KEY_WHOLE, true, offsetof(vug_config, field)
#define OTHER        VUG_KEY_OTHER, false, 0

static const vug_key_row rows[] = {
    { "block_count", "num_hidden_layers", SIZE(n_layers) },
    { "context_length", "max_position_embeddings", SIZE(context) },
    { "embedding_length", "hidden_size", SIZE(d_model) },
    { "attention.head_count", "num_attention_heads", SIZE(n_heads) },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", VUG_KEY_REAL, true,
      offsetof(vug_config, norm_eps) },
    { "expert_count", "num_experts", WHOLE(n_experts) },
    { "expert_feed_forward_length", "moe_intermediate_size", WHOLE(d_expert) },
    { "expert_used_count", "num_experts_per_tok", WHOLE(n_chosen) },
    { "expert_used_count", "top_k_experts", OTHER },
    { "expert_weights_norm", "norm_topk_prob", OTHER },
    { "feed_forward_length", "intermediate_size", OTHER },
    { "attention.head_count_kv", "num_key_value_heads", OTHER },
    { "attention.key_length", "head_dim", OTHER },
    { "attention.key_length", "global_head_dim", OTHER },
    { "attention.shared_kv_layers", "num_kv_shared_layers", OTHER },
    { "attention.sliding_window", "sliding_window", OTHER },
    { "attention.sliding_window_pattern", "layer_types", OTHER },
    { "embedding_length_per_layer_input", "hidden_size_per_layer_input", OTHER },
    { "attn_logit_softcapping", "attn_logit_softcapping", OTHER },
    { "final_logit_softcapping", "final_logit_softcapping", OTHER },
    { "rope.freq_base", "rope_theta", OTHER },
    { "rope.scaling.factor", "factor", OTHER },
};

size_t vug_key_rows(void)
{
    return sizeof(rows) / sizeof(rows[0]);
}

const vug_key_row *vug_key_row_at(size_t i)
{
    return &rows[i];
}

const char *vug_eos_key(int i)
{
    static const char *const keys[VUG_N_EOS_KEYS] = { "tokenizer.ggml.eos_token_id",
                                                      "tokenizer.ggml.eot_token_id",
                                                      "tokenizer.ggml.eom_token_id" };
    return keys[i];
}

int64_t vug_implied_scalar(const vug_gguf_arch *gguf, const vug_config *c)
{
    return gguf->wide_layers == c->n_layers ? c->d_model / c->n_heads : c->d_head;
}

/* ---- values ------------------------------------------------------------------ */

typedef struct {
    const vug_gguf *meta;
    const vug_tensor_list *list;
    const vug_arch *arch;
    vug_config c; /* what is read on the way: sizes, for what depends on them */
    vug_buf json;
    vug_status st; /* sticky */
    vug_err err;
} source;

static void refuse(source *s, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);
static void refuse(source *s, vug_status code, const char *fmt, ...)
{
    if (s->st != VUG_OK)
        return;
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->st = VUG_FAIL(&s->err, code, "%s: %s", s->list->source, text);
}

static const vug_gguf_value *find(const source *s, const char *key)
{
    return vug_gguf_find_in(s->meta, vug_str_of(s->arch->gguf->name), key);
}

/* Of keys that may be an array with an element for each layer, that of layer `i`. */
static const vug_gguf_value *find_of(source *s, const char *key, int64_t *i)
{
    const vug_gguf_value *v = find(s, key);
    if (!v)
        return NULL;
    if (v->is_array && v->count != (uint64_t)s->c.n_layers) {
        refuse(s, VUG_FORMAT, "key '%s.%s' has %llu elements for %lld layers", s->arch->gguf->name,
               key, (unsigned long long)v->count, (long long)s->c.n_layers);
        return NULL;
    }
    *i = v->is_array ? *i : 0;
    return v;
}

static void refuse_kind(source *s, const char *key, const vug_gguf_value *v, const char *wanted)
{
    refuse(s, VUG_FORMAT, "key '%s.%s' is %s, expected %s", s->arch->gguf->name, key,
           vug_gguf_kind(v).text, wanted);
}

/* Of layer `i`; `fallback` where there is none. */
static int64_t whole(source *s, const char *key, int64_t i, int64_t fallback)
{
    const vug_gguf_value *v = find_of(s, key, &i);
    int64_t out = fallback;
    if (v && !vug_gguf_i64(v, (uint64_t)i, &out))
        refuse_kind(s, key, v, "whole numbers");
    return out;
}

static double real(source *s, const char *key, double fallback)
{
    const vug_gguf_value *v = find(s, key);
    double out = fallback;
    if (v && (v->is_array || !vug_gguf_f64(v, 0, &out)))
        refuse_kind(s, key, v, "a number");
    return out;
}

static bool truth(source *s, const char *key, int64_t i, bool fallback)
{
    const vug_gguf_value *v = find_of(s, key, &i);
    bool out = fallback;
    if (v && !vug_gguf_bool(v, (uint64_t)i, &out))
        refuse_kind(s, key, v, "true or false");
    return out;
}

static vug_str text(source *s, const char *key, const char *fallback)
{
    const vug_gguf_value *v = find(s, key);
    vug_str out = vug_str_of(fallback);
    if (v && !vug_gguf_string(v, &out))
        refuse_kind(s, key, v, "a string");
    return out;
}

static bool has_tensor(const source *s, const char *name)
{
    return vug_tensor_find(s->list, name) != NULL;
}

/* ---- members of the config.json ------------------------------------------------ */

static void put_whole(source *s, const char *name, int64_t value)
{
    vug_buf_printf(&s->json, ",\"%s\":%lld", name, (long long)value);
}

/* With a point, because transformers refuses 12 where it expects 12.0; and 1e-06, not the
 * F32 next to it with all its digits. */
static void write_real(source *s, double value)
{
    const size_t from = s->json.len;
    if ((double)(float)value == value)
        vug_json_write_f32(&s->json, (float)value);
    else
        vug_json_write_f64(&s->json, value);
    bool whole_number = s->json.len > from;
    for (size_t i = from; i < s->json.len; i++)
        whole_number = whole_number && s->json.ptr[i] != '.' && s->json.ptr[i] != 'e';
    if (whole_number)
        vug_buf_puts(&s->json, ".0");
}

static void put_real(source *s, const char *name, double value)
{
    vug_buf_printf(&s->json, ",\"%s\":", name);
    write_real(s, value);
}

static void put_truth(source *s, const char *name, bool value)
{
    vug_buf_printf(&s->json, ",\"%s\":%s", name, value ? "true" : "false");
}

static void copy_rows(source *s)
{
    for (size_t i = 0; i < vug_key_rows() && s->st == VUG_OK; i++) {
        if (rows[i].kind == VUG_KEY_OTHER)
            continue;
        if (!find(s, rows[i].gguf)) {
            if (rows[i].needed)
                refuse(s, VUG_FORMAT, "key '%s.%s' is missing", s->arch->gguf->name, rows[i].gguf);
            continue;
        }
        if (rows[i].kind == VUG_KEY_WHOLE) {
            const int64_t value = whole(s, rows[i].gguf, 0, 0);
            memcpy((char *)&s->c + rows[i].field, &value, sizeof(value));
            put_whole(s, rows[i].json, value);
        } else {
            put_real(s, rows[i].json, real(s, rows[i].gguf, 0));
        }
    }
    if (s->st == VUG_OK && (s->c.n_layers < 1 || s->c.n_layers > VUG_MAX_LAYERS))
        refuse(s, VUG_FORMAT, "key '%s.block_count' must be a whole number from 1 to %d",
               s->arch->gguf->name, VUG_MAX_LAYERS);
    if (s->st == VUG_OK && (s->c.n_heads < 1 || s->c.d_model < 1))
        refuse(s, VUG_FORMAT,
               "keys '%s.attention.head_count' and '%s.embedding_length' must be "
               "above 0",
               s->arch->gguf->name, s->arch->gguf->name);
}

/* Of models without a word for some layers: all of them have the same number. */
static int64_t same_whole(source *s, const char *key, int64_t fallback)
{
    const int64_t first = whole(s, key, 0, fallback);
    for (int64_t i = 1; i < s->c.n_layers; i++) {
        if (whole(s, key, i, fallback) != first)
            refuse(s, VUG_UNSUPPORTED, "key '%s.%s' differs between layers, which %s models do not",
                   s->arch->gguf->name, key, s->arch->gguf->name);
    }
    return first;
}

static void write_experts(source *s)
{
    if (!find(s, "expert_count"))
        put_whole(s, "num_experts", 0);
    if (s->c.n_experts == 0)
        return;
    if (s->arch->n_packs == 0)
        refuse(s, VUG_UNSUPPORTED,
               "key '%s.expert_count' is %lld: %s models with experts are not "
               "known",
               s->arch->gguf->name, (long long)s->c.n_experts, s->arch->gguf->name);
    if (!find(s, "expert_feed_forward_length") && s->c.n_chosen > 0)
        put_whole(s, "moe_intermediate_size", s->c.d_ffn / s->c.n_chosen);
    put_whole(s, "top_k_experts", s->c.n_chosen);
    put_truth(s, "enable_moe_block", true);
    put_truth(s, "norm_topk_prob", truth(s, "expert_weights_norm", 0, true));
    vug_buf_puts(&s->json, ",\"mlp_only_layers\":[");
    const char *comma = "";
    for (int64_t i = 0; i < s->c.n_layers; i++) {
        char router[64], dense[64];
        (void)snprintf(router, sizeof(router), "blk.%lld.ffn_gate_inp.weight", (long long)i);
        (void)snprintf(dense, sizeof(dense), "blk.%lld.ffn_gate.weight", (long long)i);
        if (has_tensor(s, router) || !has_tensor(s, dense))
            continue;
        vug_buf_printf(&s->json, "%s%lld", comma, (long long)i);
        comma = ",";
    }
    vug_buf_puts(&s->json, "]");
}

/* A cap of 0 is none, and so is one that is not there, but for Gemma 2. */
static void write_softcap(source *s, const char *key)
{
    const double cap = real(s, key, 0);
    if (cap != 0)
        put_real(s, key, cap);
    else if (find(s, key) || !s->arch->gguf->softcapped)
        vug_buf_printf(&s->json, ",\"%s\":null", key);
}

/* ---- layers -------------------------------------------------------------------- */

static bool is_windowed(source *s, int64_t i)
{
    static const char key[] = "attention.sliding_window_pattern";
    const vug_gguf_value *v = find(s, key);
    if (!v)
        return vug_implied_window(s->arch->gguf->period, i);
    if (v->is_array)
        return v->type == VUG_GGUF_BOOL ? truth(s, key, i, false) : whole(s, key, i, 0) != 0;
    const int64_t period = whole(s, key, 0, 0);
    return period <= 0 || vug_implied_window(period, i);
}

/* Which layers have a window: none where no key says how wide it is. */
static void write_windows(source *s)
{
    const vug_gguf_arch *a = s->arch->gguf;
    const bool pattern = find(s, "attention.sliding_window_pattern") != NULL;
    const int64_t window = whole(s, "attention.sliding_window", 0, a->window);
    if (!pattern && (a->period == 0 || a->two_widths))
        return;
    if (pattern && a->two_widths && window == 0)
        refuse(s, VUG_FORMAT, "key '%s.attention.sliding_window' is missing", a->name);
    bool any = false;
    vug_buf_puts(&s->json, ",\"layer_types\":[");
    for (int64_t i = 0; i < s->c.n_layers; i++) {
        s->c.windowed[i] = window != 0 && is_windowed(s, i);
        any = any || s->c.windowed[i];
        vug_buf_printf(&s->json, "%s\"%s_attention\"", i ? "," : "",
                       s->c.windowed[i] ? "sliding" : "full");
    }
    vug_buf_puts(&s->json, "]");
    put_truth(s, "use_sliding_window", any);
    if (any)
        put_whole(s, "sliding_window", window);
}

/* Layers of one width. */
static void write_layers(source *s)
{
    s->c.d_head = whole(s, "attention.key_length", 0, s->c.d_model / s->c.n_heads);
    s->c.d_ffn = same_whole(s, "feed_forward_length", 0);
    put_whole(s, "head_dim", s->c.d_head);
    put_whole(s, "intermediate_size", s->c.d_ffn);
    put_whole(s, "num_key_value_heads", same_whole(s, "attention.head_count_kv", s->c.n_heads));
}

/* Gemma 4's, whose kinds of layers differ, and whose last layers may read the caches of
 * earlier ones and then be twice as wide. */
static void write_two_widths(source *s)
{
    const int64_t n = s->c.n_layers;
    const int64_t shared = whole(s, "attention.shared_kv_layers", 0, 0);
    const int64_t full = whole(s, "attention.key_length", 0, s->c.d_model / s->c.n_heads);
    s->c.d_head = whole(s, "attention.key_length_swa", 0, full);
    s->c.d_ffn = whole(s, "feed_forward_length", 0, 0);
    int64_t windowed = 0, seeing = 0; /* the first layer of either kind */
    while (windowed < n - 1 && !s->c.windowed[windowed])
        windowed++;
    while (seeing < n - 1 && s->c.windowed[seeing])
        seeing++;
    const bool wide = n > 1 && s->c.d_ffn != whole(s, "feed_forward_length", n - 1, 0);
    /* Numbers beyond all sense are refused where the config is read. */
    const int64_t readers = shared > 0 && shared <= n ? n - shared : n;
    const int64_t kv = whole(s, "attention.head_count_kv", windowed, s->c.n_heads);
    char v[64];
    (void)snprintf(v, sizeof(v), "blk.%lld.attn_v.weight", (long long)seeing);
    put_whole(s, "head_dim", s->c.d_head);
    put_whole(s, "global_head_dim", full);
    put_whole(s, "num_kv_shared_layers", shared);
    put_whole(s, "intermediate_size", s->c.d_ffn);
    put_truth(s, "use_double_wide_mlp", wide);
    put_whole(s, "num_key_value_heads", kv);
    put_truth(s, "attention_k_eq_v", !has_tensor(s, v));
    put_whole(s, "hidden_size_per_layer_input", whole(s, "embedding_length_per_layer_input", 0, 0));
    vug_buf_puts(&s->json, ",\"per_layer_config\":{");
    const char *comma = "";
    for (int64_t i = 0; i < n && s->st == VUG_OK; i++) {
        const bool twice = wide && i >= readers;
        const int64_t width = whole(s, "feed_forward_length", i, 0);
        if (twice ? width % 2 != 0 || width / 2 != s->c.d_ffn : width != s->c.d_ffn)
            refuse(s, VUG_UNSUPPORTED,
                   "key '%s.feed_forward_length': layer %lld is neither as "
                   "wide as the first nor, reading another's cache, twice so",
                   s->arch->gguf->name, (long long)i);
        const int64_t own = whole(s, "attention.head_count_kv", i, s->c.n_heads);
        /* transformers takes no width from global_head_dim where this list is. */
        if (own != kv || !s->c.windowed[i]) {
            vug_buf_printf(&s->json, "%s\"%lld\":{\"head_dim\":%lld,\"num_key_value_heads\":%lld}",
                           comma, (long long)i, (long long)(s->c.windowed[i] ? s->c.d_head : full),
                           (long long)own);
            comma = ",";
        }
    }
    vug_buf_puts(&s->json, "}");
}

/* Only rotations of whole heads, and values as wide as keys, are known. */
static void check_widths(source *s)
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
        const int64_t like = whole(s, pairs[i].like, 0, s->c.d_head);
        if (whole(s, pairs[i].key, 0, like) != like)
            refuse(s, VUG_UNSUPPORTED, "key '%s.%s' is not the %lld of '%s'", s->arch->gguf->name,
                   pairs[i].key, (long long)like, pairs[i].like);
    }
    if (!truth(s, "attention.causal", 0, true))
        refuse(s, VUG_UNSUPPORTED,
               "key '%s.attention.causal' is false: embedding models are not "
               "supported",
               s->arch->gguf->name);
}

/* ---- rotations ------------------------------------------------------------------- */

static void write_yarn(source *s, double factor)
{
    const double plain = factor > 1 ? 0.1 * log(factor) + 1 : 1;
    const double times = real(s, "rope.scaling.attn_factor", 1);
    if (find(s, "rope.scaling.original_context_length"))
        put_whole(s, "original_max_position_embeddings",
                  whole(s, "rope.scaling.original_context_length", 0, 0));
    put_real(s, "beta_fast", real(s, "rope.scaling.yarn_beta_fast", 32));
    put_real(s, "beta_slow", real(s, "rope.scaling.yarn_beta_slow", 1));
    put_real(s, "attention_factor", real(s, "rope.scaling.yarn_attn_factor", plain * times));
    put_truth(s, "truncate", truth(s, "rope.scaling.truncate", 0, true));
}

/* Scaling that llama.cpp has as a tensor of divisors and no key. */
static void write_divided(source *s)
{
    if (find(s, "rope.llama3.factor")) {
        vug_buf_puts(&s->json, ",\"rope_type\":\"llama3\"");
        put_real(s, "factor", real(s, "rope.llama3.factor", 1));
        put_real(s, "low_freq_factor", real(s, "rope.llama3.low_freq_factor", 1));
        put_real(s, "high_freq_factor", real(s, "rope.llama3.high_freq_factor", 4));
        put_whole(s, "original_max_position_embeddings",
                  whole(s, "rope.llama3.original_context_length", 0, 8192));
    } else if (find(s, "rope.partial_rotary_factor") ||
               (s->arch->gguf->two_widths && !has_tensor(s, "rope_freqs.weight"))) {
        vug_buf_puts(&s->json, ",\"rope_type\":\"proportional\"");
        put_real(s, "partial_rotary_factor", real(s, "rope.partial_rotary_factor", 0.25));
    } else {
        vug_buf_puts(&s->json, ",\"rope_type\":\"default\"");
    }
}

static void write_full_rope(source *s)
{
    const vug_str type = text(s, "rope.scaling.type", "linear");
    const double factor = real(s, "rope.scaling.factor", real(s, "rope.scale_linear", 0));
    vug_buf_puts(&s->json, "{\"rope_theta\":");
    write_real(s, real(s, "rope.freq_base", 1e4));
    const bool scaled = factor != 0 && factor != 1;
    if (vug_str_is(type, "yarn")) {
        vug_buf_puts(&s->json, ",\"rope_type\":\"yarn\"");
        put_real(s, "factor", factor != 0 ? factor : 1);
        write_yarn(s, factor);
    } else if (vug_str_is(type, "linear") && scaled) {
        vug_buf_puts(&s->json, ",\"rope_type\":\"linear\"");
        put_real(s, "factor", factor);
    } else if (vug_str_is(type, "linear") || vug_str_is(type, "none")) {
        write_divided(s);
    } else {
        refuse(s, VUG_UNSUPPORTED,
               "key '%s.rope.scaling.type': '%.*s' is not known (none, linear, "
               "yarn)",
               s->arch->gguf->name, VUG_STR_ARG(type));
    }
    vug_buf_puts(&s->json, "}");
}

static void write_ropes(source *s)
{
    vug_buf_puts(&s->json, ",\"rope_parameters\":");
    if (!s->arch->gguf->two_ropes) {
        write_full_rope(s);
        return;
    }
    vug_buf_puts(&s->json, "{\"full_attention\":");
    write_full_rope(s);
    vug_buf_puts(&s->json, ",\"sliding_attention\":{\"rope_type\":\"default\"");
    put_real(s, "rope_theta", real(s, "rope.freq_base_swa", 1e4));
    vug_buf_puts(&s->json, "}}");
}

/* ---- the rest ---------------------------------------------------------------------- */

/* As many rows as the tables have; the keys that say it are not everywhere. */
static void write_vocabulary(source *s)
{
    const vug_tensor *main = vug_tensor_find(s->list, "token_embd.weight");
    const vug_tensor *own = vug_tensor_find(s->list, "per_layer_token_embd.weight");
    if (main && main->rank > 0)
        put_whole(s, "vocab_size", main->dim[0]);
    else
        refuse(s, VUG_FORMAT, "tensor 'token_embd.weight' is missing");
    if (own && own->rank > 0)
        put_whole(s, "vocab_size_per_layer_input", own->dim[0]);
    put_truth(s, "tie_word_embeddings", !has_tensor(s, "output.weight"));
    put_truth(s, "attention_bias", has_tensor(s, "blk.0.attn_q.bias"));
    put_truth(s, "mlp_bias", has_tensor(s, "blk.0.ffn_up.bias"));
}

/* Where scores are not scaled by the root of the width of heads alone. */
static void write_scale(source *s)
{
    const double scale = real(s, "attention.scale", 0);
    if (s->arch->gguf->wide_layers == 0)
        return;
    /* A whole number where one gives this scale: transformers takes no other. */
    const double scalar = scale != 0 ? round(1 / (scale * scale)) : 0;
    if (scalar >= 1 && scalar < 1e9 && (float)(1 / sqrt(scalar)) == (float)scale)
        put_whole(s, "query_pre_attn_scalar", (int64_t)scalar);
    else if (scale != 0)
        put_real(s, "query_pre_attn_scalar", 1 / (scale * scale));
    else
        put_whole(s, "query_pre_attn_scalar", vug_implied_scalar(s->arch->gguf, &s->c));
}

/* What no model needs, and other programs look for. */
static void write_bos(source *s)
{
    static const char *const keys[][2] = {
        { "tokenizer.ggml.bos_token_id", "bos_token_id" },
        { "tokenizer.ggml.padding_token_id", "pad_token_id" },
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const vug_gguf_value *v = vug_gguf_find(s->meta, vug_str_of(keys[i][0]));
        int64_t id;
        if (v && !v->is_array && vug_gguf_i64(v, 0, &id) && id >= 0 && id < INT32_MAX)
            put_whole(s, keys[i][1], id);
    }
}

static void write_ends(source *s)
{
    const vug_gguf_value *all = vug_gguf_find(s->meta, vug_str_of(VUG_ALL_EOS_KEY));
    vug_buf_puts(&s->json, ",\"eos_token_id\":[");
    int n = 0;
    int64_t id;
    for (uint64_t i = 0; all && i < all->count && i < VUG_MAX_EOS; i++) {
        if (vug_gguf_i64(all, i, &id))
            vug_buf_printf(&s->json, "%s%lld", n++ ? "," : "", (long long)id);
    }
    for (int i = 0; !all && i < VUG_N_EOS_KEYS; i++) {
        const vug_gguf_value *v = vug_gguf_find(s->meta, vug_str_of(vug_eos_key(i)));
        /* The largest number is how some files say that there is none. */
        if (v && !v->is_array && vug_gguf_i64(v, 0, &id) && id >= 0 && id < INT32_MAX)
            vug_buf_printf(&s->json, "%s%lld", n++ ? "," : "", (long long)id);
    }
    vug_buf_puts(&s->json, "]");
}

static void write_dtype(source *s)
{
    const vug_gguf_value *v = vug_gguf_find(s->meta, vug_str_of(VUG_DTYPE_KEY));
    vug_str dtype = vug_str_of(s->arch->gguf->bf16 ? "bfloat16" : "");
    if (v && !vug_gguf_string(v, &dtype))
        refuse(s, VUG_FORMAT, "key '" VUG_DTYPE_KEY "' is %s, expected a string",
               vug_gguf_kind(v).text);
    if (dtype.len == 0)
        return;
    vug_buf_puts(&s->json, ",\"dtype\":");
    vug_json_write_string(&s->json, dtype.ptr, dtype.len);
}

/* Puts the file's own names for keys into a sentence about the config.json. */
static void rename_key(const source *s, vug_err *err)
{
    for (size_t i = 0; i < vug_key_rows(); i++) {
        char quoted[64];
        vug_err said = *err;
        (void)snprintf(quoted, sizeof(quoted), "'%s'", rows[i].json);
        const char *at = strstr(said.msg, quoted);
        if (!at)
            continue;
        (void)snprintf(err->msg, sizeof(err->msg), "%.*s'%s.%s'%s", (int)(at - said.msg), said.msg,
                       s->arch->gguf->name, rows[i].gguf, at + strlen(quoted));
        return;
    }
}

static const vug_arch *find_arch(vug_str name)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        const vug_gguf_arch *gguf = vug_arch_at(i)->gguf;
        if (gguf && vug_str_is(name, gguf->name))
            return vug_arch_at(i);
    }
    return NULL;
}

vug_status vug_config_arch_gguf(const vug_gguf *meta, const char *file, const vug_arch **out,
                                vug_err *err)
{
    const vug_gguf_value *v = vug_gguf_find(meta, vug_str_of("general.architecture"));
    vug_str name;
    if (!v || !vug_gguf_string(v, &name))
        return VUG_FAIL(err, VUG_FORMAT, "%s: key 'general.architecture' is %s", file,
                        v ? "no string" : "missing");
    *out = find_arch(name);
    if (*out)
        return VUG_OK;
    vug_buf known = { 0 };
    for (size_t i = 0; i < vug_arch_count(); i++) {
        if (vug_arch_at(i)->gguf)
            vug_buf_printf(&known, "%s%s", known.len ? ", " : "", vug_arch_at(i)->gguf->name);
    }
    const vug_status st = VUG_FAIL(
            err, VUG_UNSUPPORTED, "%s: architecture '%.*s' is not known in GGUF; vug knows %s",
            file, (int)(name.len < 60 ? name.len : 60), name.ptr, known.ptr ? known.ptr : "none");
    vug_buf_release(&known);
    return st;
}

vug_status vug_config_json_of_gguf(const vug_gguf *gguf, const vug_tensor_list *list, vug_buf *out,
                                   const vug_arch **arch, vug_err *err)
{
    source s = { .meta = gguf, .list = list };
    VUG_TRY(vug_config_arch_gguf(gguf, list->source, &s.arch, err));
    *arch = s.arch;
    vug_buf_printf(&s.json, "{\"architectures\":[\"%s\"],\"model_type\":\"%s\"", s.arch->gguf->hf,
                   s.arch->model_types[0]);
    copy_rows(&s);
    if (s.st == VUG_OK)
        write_windows(&s);
    if (s.st == VUG_OK && s.arch->gguf->two_widths)
        write_two_widths(&s);
    else if (s.st == VUG_OK)
        write_layers(&s);
    if (s.st == VUG_OK) {
        check_widths(&s);
        write_experts(&s);
        write_softcap(&s, "attn_logit_softcapping");
        write_softcap(&s, "final_logit_softcapping");
        write_ropes(&s);
        write_vocabulary(&s);
        write_scale(&s);
        write_ends(&s);
        write_bos(&s);
        write_dtype(&s);
        vug_buf_puts(&s.json, "}");
    }
    if (s.st == VUG_OK)
        s.st = vug_buf_ok(&s.json, &s.err);
    if (s.st != VUG_OK) {
        if (err)
            *err = s.err;
        vug_buf_release(&s.json);
        return s.st;
    }
    *out = s.json;
    return VUG_OK;
}

vug_status vug_config_read_gguf(const vug_gguf *gguf, const vug_tensor_list *list, vug_config *out,
                                vug_err *err)
{
    source s = { .list = list };
    vug_err why;
    VUG_TRY(vug_config_json_of_gguf(gguf, list, &s.json, &s.arch, err));
    const vug_status st =
            vug_config_read((vug_str){ s.json.ptr, s.json.len }, list->source, out, &why);
    if (st != VUG_OK && err) {
        *err = why;
        rename_key(&s, err);
    }
    vug_buf_release(&s.json);
    return st;
}
