/* Writes a config as the metadata of a GGUF file, for gguf_config.c to read back. */
#include <math.h>
#include <stdio.h>

#include "models/gguf_config_keys.h"

typedef struct {
    const vug_config *c;
    const vug_gguf_arch *a;
    vug_gguf_builder *to;
} metadata_writer;

typedef struct {
    char text[96];
} gguf_key;

static gguf_key full_key(const metadata_writer *w, const char *name)
{
    gguf_key key;
    (void)snprintf(key.text, sizeof(key.text), "%s.%s", w->a->name, name);
    return key;
}

static void put_int(const metadata_writer *w, const char *name, int64_t value)
{
    vug_gguf_put_u32(w->to, full_key(w, name).text, (uint32_t)value);
}

static void put_float(const metadata_writer *w, const char *name, double value)
{
    vug_gguf_put_f32(w->to, full_key(w, name).text, (float)value);
}

static void put_bool(const metadata_writer *w, const char *name, bool value)
{
    vug_gguf_put_bool(w->to, full_key(w, name).text, value);
}

static void put_keys(const metadata_writer *w)
{
    for (size_t i = 0; i < vug_gguf_config_row_count(); i++) {
        const vug_gguf_config_row *row = vug_gguf_config_row_at(i);
        const char *field = (const char *)w->c + row->field;
        int64_t whole = 0;
        float real = 0;
        if (row->kind == VUG_GGUF_CONFIG_INT)
            memcpy(&whole, field, sizeof(whole));
        else if (row->kind == VUG_GGUF_CONFIG_FLOAT)
            memcpy(&real, field, sizeof(real));
        if (whole != 0 && (row->needed || w->c->n_experts > 0))
            put_int(w, row->gguf, whole);
        else if (row->kind == VUG_GGUF_CONFIG_FLOAT)
            put_float(w, row->gguf, (double)real);
    }
}

/* An array, or one number if all layers have the same. */
static void put_per_layer(const metadata_writer *w, const char *name, const int32_t *each)
{
    bool same = true;
    for (int64_t i = 1; i < w->c->n_layers; i++)
        same = same && each[i] == each[0];
    if (same)
        put_int(w, name, each[0]);
    else
        vug_gguf_put_i32s(w->to, full_key(w, name).text, each, (size_t)w->c->n_layers);
}

static void put_layers(const metadata_writer *w)
{
    const vug_config *c = w->c;
    int32_t kv[VUG_MAX_LAYERS] = { 0 }, ffn[VUG_MAX_LAYERS] = { 0 };
    int64_t shared = 0;
    for (int64_t i = 0; i < c->n_layers; i++) {
        kv[i] = vug_config_layer(c, i).n_kv_heads;
        ffn[i] = vug_config_layer(c, i).d_ffn;
        shared += c->layer[i].kv_layers_back != 0;
    }
    put_per_layer(w, "attention.head_count_kv", kv);
    put_per_layer(w, "feed_forward_length", ffn);
    const int64_t full = vug_config_d_head(c, false), windowed = vug_config_d_head(c, true);
    put_int(w, "attention.key_length", full);
    put_int(w, "attention.value_length", full);
    put_int(w, "rope.dimension_count", full);
    if (!w->a->two_widths)
        return;
    put_int(w, "attention.key_length_swa", windowed);
    put_int(w, "attention.value_length_swa", windowed);
    put_int(w, "rope.dimension_count_swa", windowed);
    put_int(w, "attention.shared_kv_layers", shared);
    put_int(w, "embedding_length_per_layer_input", c->d_per_layer);
}

/* ---- windows ----------------------------------------------------------------------- */

static bool has_period(const vug_config *c, int64_t period)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i] != vug_gguf_implied_window(period, i))
            return false;
    }
    return true;
}

/* Other programs read a period; an array only if no period fits. */
static void put_pattern(const metadata_writer *w)
{
    static const char key[] = "attention.sliding_window_pattern";
    if (w->a->two_widths || w->a->period == 0) {
        vug_gguf_put_bools(w->to, full_key(w, key).text, w->c->windowed, (size_t)w->c->n_layers);
        return;
    }
    for (int64_t period = 1; period <= w->c->n_layers + 1; period++) {
        if (has_period(w->c, period)) {
            put_int(w, key, period);
            return;
        }
    }
    vug_gguf_put_bools(w->to, full_key(w, key).text, w->c->windowed, (size_t)w->c->n_layers);
}

static void put_windows(const metadata_writer *w)
{
    bool any = false;
    for (int64_t i = 0; i < w->c->n_layers; i++)
        any = any || w->c->windowed[i];
    if (any || w->a->two_widths)
        put_int(w, "attention.sliding_window", w->c->window);
    if (any ? !has_period(w->c, w->a->period) || w->a->two_widths
            : w->a->two_widths || w->a->window != 0)
        put_pattern(w);
}

/* ---- RoPE ----------------------------------------------------------------------- */

static void put_yarn(const metadata_writer *w, const vug_rope *rope)
{
    const double plain = rope->factor > 1 ? 0.1 * log(rope->factor) + 1 : 1;
    put_int(w, "rope.scaling.original_context_length", (int64_t)rope->original_context);
    put_float(w, "rope.scaling.yarn_beta_fast", rope->high);
    put_float(w, "rope.scaling.yarn_beta_slow", rope->low);
    if ((float)rope->attention_factor != (float)plain) {
        put_float(w, "rope.scaling.yarn_attn_factor", rope->attention_factor);
        put_float(w, "rope.scaling.attn_factor", rope->attention_factor / plain);
    }
    if (!rope->truncate)
        put_bool(w, "rope.scaling.truncate", false);
}

static vug_status put_ropes(const metadata_writer *w, vug_err *err)
{
    const vug_rope *rope = &w->c->rope_full, *other = &w->c->rope_window;
    put_float(w, "rope.freq_base", rope->theta);
    if (w->a->two_ropes)
        put_float(w, "rope.freq_base_swa", other->theta);
    if (w->a->two_ropes && other->type != VUG_ROPE_DEFAULT)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "GGUF has no key for the RoPE scaling of layers with a window");
    switch (rope->type) {
    case VUG_ROPE_DEFAULT:
        break;
    case VUG_ROPE_LINEAR:
    case VUG_ROPE_YARN:
        vug_gguf_put_string(w->to, full_key(w, "rope.scaling.type").text,
                            vug_str_of(rope->type == VUG_ROPE_YARN ? "yarn" : "linear"));
        put_float(w, "rope.scaling.factor", rope->factor);
        if (rope->type == VUG_ROPE_YARN)
            put_yarn(w, rope);
        break;
    case VUG_ROPE_LLAMA3:
        put_float(w, "rope.llama3.factor", rope->factor);
        put_float(w, "rope.llama3.low_freq_factor", rope->low);
        put_float(w, "rope.llama3.high_freq_factor", rope->high);
        put_int(w, "rope.llama3.original_context_length", (int64_t)rope->original_context);
        break;
    case VUG_ROPE_PROPORTIONAL:
        /* With a factor, the frequency factors express both. */
        if (rope->factor == 0 || rope->factor == 1)
            put_float(w, "rope.partial_rotary_factor", rope->rotary_fraction);
        break;
    }
    return VUG_OK;
}

/* ---- the rest -------------------------------------------------------------------------- */

static void put_scales(const metadata_writer *w)
{
    const vug_config *c = w->c;
    if (c->attn_softcap != 0 || w->a->softcapped)
        put_float(w, "attn_logit_softcapping", (double)c->attn_softcap);
    if (c->final_softcap != 0 || w->a->softcapped)
        put_float(w, "final_logit_softcapping", (double)c->final_softcap);
    const float implied = (float)(1 / sqrt((double)vug_gguf_implied_attn_scalar(w->a, c)));
    if (w->a->model_scale_layers && c->attn_scale != implied)
        put_float(w, "attention.scale", (double)c->attn_scale);
    if (c->n_experts > 0)
        put_bool(w, "expert_weights_norm", c->renormalise);
}

static void put_eos(const metadata_writer *w)
{
    const vug_config *c = w->c;
    for (int i = 0; i < c->n_eos && i < VUG_N_GGUF_EOS_KEYS; i++)
        vug_gguf_put_u32(w->to, vug_gguf_eos_key(i), (uint32_t)c->eos[i]);
    if (c->n_eos > VUG_N_GGUF_EOS_KEYS)
        vug_gguf_put_i32s(w->to, VUG_GGUF_EOS_IDS_KEY, c->eos, (size_t)c->n_eos);
}

/* "" means unknown, where a missing key would imply BF16. */
static void put_dtype(const metadata_writer *w)
{
    const vug_dtype dtype = w->c->dtype;
    const char *name = dtype == VUG_DTYPE_BF16  ? "bfloat16"
                       : dtype == VUG_DTYPE_F16 ? "float16"
                       : dtype == VUG_DTYPE_F32 ? "float32"
                                                : "";
    if (*name || w->a->bf16)
        vug_gguf_put_string(w->to, VUG_GGUF_DTYPE_KEY, vug_str_of(name));
}

vug_status vug_config_write_gguf(const vug_config *config, vug_gguf_builder *to, vug_err *err)
{
    const metadata_writer w = { config, config->arch->gguf, to };
    if (!w.a)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "architecture %s does not exist in GGUF",
                        config->arch->name);
    vug_gguf_put_string(to, "general.architecture", vug_str_of(w.a->name));
    put_keys(&w);
    put_layers(&w);
    put_windows(&w);
    VUG_TRY(put_ropes(&w, err));
    put_scales(&w);
    put_int(&w, "vocab_size", config->n_vocab);
    put_eos(&w);
    put_dtype(&w);
    return VUG_OK;
}
