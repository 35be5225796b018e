/* A config as the metadata of a GGUF file: what gguf.c reads, the other way. */
#include <math.h>
#include <stdio.h>

#include "models/gguf_keys.h"

typedef struct {
    const vug_config *c;
    const vug_gguf_arch *a;
    vug_gguf_builder *to;
} target;

typedef struct {
    char text[96];
} full_key;

static full_key key_of(const target *t, const char *name)
{
    full_key key;
    (void)snprintf(key.text, sizeof(key.text), "%s.%s", t->a->name, name);
    return key;
}

static void put_whole(const target *t, const char *name, int64_t value)
{
    vug_gguf_put_u32(t->to, key_of(t, name).text, (uint32_t)value);
}

static void put_real(const target *t, const char *name, double value)
{
    vug_gguf_put_f32(t->to, key_of(t, name).text, (float)value);
}

static void put_truth(const target *t, const char *name, bool value)
{
    vug_gguf_put_bool(t->to, key_of(t, name).text, value);
}

static void put_rows(const target *t)
{
    for (size_t i = 0; i < vug_key_rows(); i++) {
        const vug_key_row *row = vug_key_row_at(i);
        const char *field = (const char *)t->c + row->field;
        int64_t whole = 0;
        float real = 0;
        if (row->kind == VUG_KEY_WHOLE)
            memcpy(&whole, field, sizeof(whole));
        else if (row->kind == VUG_KEY_REAL)
            memcpy(&real, field, sizeof(real));
        if (whole != 0 && (row->needed || t->c->n_experts > 0))
            put_whole(t, row->gguf, whole);
        else if (row->kind == VUG_KEY_REAL)
            put_real(t, row->gguf, (double)real);
    }
}

/* One number where all layers have the same. */
static void put_each(const target *t, const char *name, const int32_t *each)
{
    bool same = true;
    for (int64_t i = 1; i < t->c->n_layers; i++)
        same = same && each[i] == each[0];
    if (same)
        put_whole(t, name, each[0]);
    else
        vug_gguf_put_i32s(t->to, key_of(t, name).text, each, (size_t)t->c->n_layers);
}

static void put_layers(const target *t)
{
    const vug_config *c = t->c;
    int32_t kv[VUG_MAX_LAYERS] = { 0 }, ffn[VUG_MAX_LAYERS] = { 0 };
    int64_t shared = 0;
    for (int64_t i = 0; i < c->n_layers; i++) {
        kv[i] = vug_config_layer(c, i).n_kv_heads;
        ffn[i] = vug_config_layer(c, i).d_ffn;
        shared += c->layer[i].back != 0;
    }
    put_each(t, "attention.head_count_kv", kv);
    put_each(t, "feed_forward_length", ffn);
    const int64_t full = vug_config_head(c, false), windowed = vug_config_head(c, true);
    put_whole(t, "attention.key_length", full);
    put_whole(t, "attention.value_length", full);
    put_whole(t, "rope.dimension_count", full);
    if (!t->a->two_widths)
        return;
    put_whole(t, "attention.key_length_swa", windowed);
    put_whole(t, "attention.value_length_swa", windowed);
    put_whole(t, "rope.dimension_count_swa", windowed);
    put_whole(t, "attention.shared_kv_layers", shared);
    put_whole(t, "embedding_length_per_layer_input", c->d_per_layer);
}

/* ---- windows ----------------------------------------------------------------------- */

static bool has_period(const vug_config *c, int64_t period)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i] != vug_implied_window(period, i))
            return false;
    }
    return true;
}

/* A period is what other programs read; where layers have none, they cannot. */
static void put_pattern(const target *t)
{
    static const char key[] = "attention.sliding_window_pattern";
    if (t->a->two_widths || t->a->period == 0) {
        vug_gguf_put_bools(t->to, key_of(t, key).text, t->c->windowed, (size_t)t->c->n_layers);
        return;
    }
    for (int64_t period = 1; period <= t->c->n_layers + 1; period++) {
        if (has_period(t->c, period)) {
            put_whole(t, key, period);
            return;
        }
    }
    vug_gguf_put_bools(t->to, key_of(t, key).text, t->c->windowed, (size_t)t->c->n_layers);
}

static void put_windows(const target *t)
{
    bool any = false;
    for (int64_t i = 0; i < t->c->n_layers; i++)
        any = any || t->c->windowed[i];
    if (any || t->a->two_widths)
        put_whole(t, "attention.sliding_window", t->c->window);
    if (any ? !has_period(t->c, t->a->period) || t->a->two_widths
            : t->a->two_widths || t->a->window != 0)
        put_pattern(t);
}

/* ---- rotations ----------------------------------------------------------------------- */

static void put_yarn(const target *t, const vug_rope *rope)
{
    const double plain = rope->factor > 1 ? 0.1 * log(rope->factor) + 1 : 1;
    put_whole(t, "rope.scaling.original_context_length", (int64_t)rope->original);
    put_real(t, "rope.scaling.yarn_beta_fast", rope->high);
    put_real(t, "rope.scaling.yarn_beta_slow", rope->low);
    if ((float)rope->attention != (float)plain) {
        put_real(t, "rope.scaling.yarn_attn_factor", rope->attention);
        put_real(t, "rope.scaling.attn_factor", rope->attention / plain);
    }
    if (!rope->whole)
        put_truth(t, "rope.scaling.truncate", false);
}

static vug_status put_ropes(const target *t, vug_err *err)
{
    const vug_rope *rope = &t->c->rope_full, *other = &t->c->rope_window;
    put_real(t, "rope.freq_base", rope->theta);
    if (t->a->two_ropes)
        put_real(t, "rope.freq_base_swa", other->theta);
    if (t->a->two_ropes && other->type != VUG_ROPE_DEFAULT)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "GGUF has no key for a RoPE scaling of layers with a window");
    switch (rope->type) {
    case VUG_ROPE_DEFAULT:
        break;
    case VUG_ROPE_LINEAR:
    case VUG_ROPE_YARN:
        vug_gguf_put_string(t->to, key_of(t, "rope.scaling.type").text,
                            vug_str_of(rope->type == VUG_ROPE_YARN ? "yarn" : "linear"));
        put_real(t, "rope.scaling.factor", rope->factor);
        if (rope->type == VUG_ROPE_YARN)
            put_yarn(t, rope);
        break;
    case VUG_ROPE_LLAMA3:
        put_real(t, "rope.llama3.factor", rope->factor);
        put_real(t, "rope.llama3.low_freq_factor", rope->low);
        put_real(t, "rope.llama3.high_freq_factor", rope->high);
        put_whole(t, "rope.llama3.original_context_length", (int64_t)rope->original);
        break;
    case VUG_ROPE_PROPORTIONAL:
        /* The divisors say a factor as well. */
        if (rope->factor == 0 || rope->factor == 1)
            put_real(t, "rope.partial_rotary_factor", rope->rotated);
        break;
    }
    return VUG_OK;
}

/* ---- the rest -------------------------------------------------------------------------- */

static void put_scales(const target *t)
{
    const vug_config *c = t->c;
    if (c->attn_softcap != 0 || t->a->softcapped)
        put_real(t, "attn_logit_softcapping", (double)c->attn_softcap);
    if (c->final_softcap != 0 || t->a->softcapped)
        put_real(t, "final_logit_softcapping", (double)c->final_softcap);
    const float implied = (float)(1 / sqrt((double)vug_implied_scalar(t->a, c)));
    if (t->a->wide_layers && c->attn_scale != implied)
        put_real(t, "attention.scale", (double)c->attn_scale);
    if (c->n_experts > 0)
        put_truth(t, "expert_weights_norm", c->renormalise);
}

static void put_ends(const target *t)
{
    const vug_config *c = t->c;
    for (int i = 0; i < c->n_eos && i < VUG_N_EOS_KEYS; i++)
        vug_gguf_put_u32(t->to, vug_eos_key(i), (uint32_t)c->eos[i]);
    if (c->n_eos > VUG_N_EOS_KEYS)
        vug_gguf_put_i32s(t->to, VUG_ALL_EOS_KEY, c->eos, (size_t)c->n_eos);
}

/* Also that the config does not say it, where another one is implied. */
static void put_dtype(const target *t)
{
    const vug_dtype dtype = t->c->dtype;
    const char *name = dtype == VUG_DTYPE_BF16  ? "bfloat16"
                       : dtype == VUG_DTYPE_F16 ? "float16"
                       : dtype == VUG_DTYPE_F32 ? "float32"
                                                : "";
    if (*name || t->a->bf16)
        vug_gguf_put_string(t->to, VUG_DTYPE_KEY, vug_str_of(name));
}

vug_status vug_config_put_gguf(const vug_config *config, vug_gguf_builder *to, vug_err *err)
{
    const target t = { config, config->arch->gguf, to };
    if (!t.a)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "architecture %s has no name in GGUF",
                        config->arch->name);
    vug_gguf_put_string(to, "general.architecture", vug_str_of(t.a->name));
    put_rows(&t);
    put_layers(&t);
    put_windows(&t);
    VUG_TRY(put_ropes(&t, err));
    put_scales(&t);
    put_whole(&t, "vocab_size", config->n_vocab);
    put_ends(&t);
    put_dtype(&t);
    return VUG_OK;
}
