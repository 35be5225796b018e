/* Parts of layers that several architectures have, built from the flow's operations. */
#include <math.h>

#include "models/common.h"
#include "quant/codec.h"

/* ---- scales ------------------------------------------------------------------ */

float vug_embedding_scale(const vug_binding *binding)
{
    return vug_model_rounded_sqrt(binding, binding->config->d_model);
}

/* Quantized tensors tell the original format by the format of their scales. */
static vug_dtype original_format(const vug_tensor *embedding)
{
    return embedding->scales.scale ? embedding->scales.dtype : embedding->dtype;
}

float vug_model_rounded_sqrt(const vug_binding *binding, int64_t width)
{
    vug_dtype dtype = binding->config->dtype;
    if (dtype == VUG_DTYPE_COUNT)
        dtype = original_format(binding->tensor[VUG_EMBEDDING_SLOT]);
    /* No model was trained in a block format. */
    const bool trained_in =
            dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16;
    const vug_codec *codec = vug_codec_of(trained_in ? dtype : VUG_DTYPE_BF16);
    const float exact = (float)sqrt((double)width);
    uint8_t bytes[sizeof(float)];
    float rounded;
    codec->encode(&exact, bytes, 1);
    codec->decode(bytes, &rounded, 1);
    return rounded;
}

/* ---- layers ------------------------------------------------------------------ */

vug_val vug_model_embedding(vug_flow *f, vug_model_context *s)
{
    return flow_embed(f, s->embedding, s->tokens, 1);
}

vug_val vug_model_scaled_embedding(vug_flow *f, vug_model_context *s)
{
    return flow_embed(f, s->embedding, s->tokens, vug_embedding_scale(s->binding));
}

vug_val vug_model_norm(vug_flow *f, const vug_model_context *s, vug_val x, const char *name)
{
    const vug_config *c = s->config;
    const bool gguf = s->binding->names == VUG_NAMES_GGUF; /* stores 1 + w */
    const vug_attr_norm at = { .eps = c->norm_eps, .bias = gguf ? 0 : 1 - c->arch->norm_weight };
    return flow_rms_norm(f, x, name, at);
}

vug_val vug_model_affine(vug_flow *f, vug_val x, const char *weight, const char *bias, bool biased)
{
    const vug_val y = flow_linear(f, x, weight);
    return biased ? flow_bias(f, y, bias) : y;
}

vug_val vug_model_glu(vug_flow *f, vug_val x, vug_activation act)
{
    vug_val gate = flow_linear(f, x, "ffn_gate");
    gate = act == VUG_ACT_GELU ? flow_gelu(f, gate) : flow_silu(f, gate);
    return flow_linear(f, flow_mul(f, gate, flow_linear(f, x, "ffn_up")), "ffn_down");
}

vug_val vug_model_add_gemma_blocks(vug_flow *f, const vug_model_context *s, vug_val x, vug_val h)
{
    x = flow_add(f, x, vug_model_norm(f, s, h, "post_attn_norm"));
    h = vug_model_glu(f, vug_model_norm(f, s, x, "ffn_norm"), VUG_ACT_GELU);
    return flow_add(f, x, vug_model_norm(f, s, h, "post_ffn_norm"));
}

vug_val vug_model_output_norm(vug_flow *f, vug_model_context *s, vug_val x)
{
    return vug_model_norm(f, s, x, "output_norm");
}

vug_val vug_model_logits(vug_flow *f, vug_model_context *s, vug_val x)
{
    x = flow_project(f, x, s->binding->tied ? s->embedding : flow_weight(f, "output"));
    return flow_softcap(f, x, s->config->final_softcap);
}

/* ---- RoPE ---------------------------------------------------------------- */

vug_val vug_model_rope_table(vug_flow *f, const vug_model_context *s, const char *name,
                             const vug_rope *rope, int64_t dims)
{
    float inv[VUG_MAX_PAIRS];
    VUG_ASSERT(dims / 2 <= VUG_MAX_PAIRS);
    vug_rope_frequencies(rope, dims, inv);
    const float factor = (float)rope->attention_factor;
    return flow_rope_table(f, s->positions, name,
                           (vug_attr_table){ .dims = (int)dims, .inv = inv, .factor = factor });
}

void vug_model_prepare_rope(vug_flow *f, vug_model_context *s, vug_val x)
{
    (void)x;
    s->rope_full = vug_model_rope_table(f, s, "rope", &s->config->rope_full, s->config->d_head);
}

static const vug_tensor *find_freq_factors(const vug_binding *binding)
{
    vug_weight_spec spec;
    const vug_status st = vug_binding_find_weight(binding, "rope_freqs", -1, &spec, NULL);
    return st == VUG_OK ? binding->tensor[spec.slot] : NULL;
}

/* Frequency factors of these types only repeat the config for programs that do not have the
 * type, and with less precision. */
static bool type_implies_factors(const vug_rope *rope)
{
    return rope->type == VUG_ROPE_LLAMA3 || rope->type == VUG_ROPE_PROPORTIONAL;
}

vug_val vug_model_rope_table_with_factors(vug_flow *f, const vug_model_context *s, const char *name,
                                          int64_t dims)
{
    const vug_rope *rope = &s->config->rope_full;
    const vug_tensor *t = find_freq_factors(s->binding);
    if (!t || type_implies_factors(rope) || f->st != VUG_OK)
        return vug_model_rope_table(f, s, name, rope, dims);
    float inv[VUG_MAX_PAIRS], factor[VUG_MAX_PAIRS];
    VUG_ASSERT(dims / 2 <= VUG_MAX_PAIRS);
    const vug_rope plain = { .theta = rope->theta };
    vug_rope_frequencies(&plain, dims, inv);
    vug_codec_of(t->dtype)->decode(t->data, factor, (size_t)(dims / 2));
    for (int64_t i = 0; i < dims / 2; i++) {
        if (f->st == VUG_OK && !(factor[i] >= 1e-6F && factor[i] <= 1e30F))
            f->st = VUG_FAIL(&f->err, VUG_FORMAT, "%s: tensor '%.*s': factor %lld is %g", t->file,
                             VUG_STR_ARG(t->name), (long long)i, (double)factor[i]);
        /* Files write a huge factor for a pair that does not rotate. */
        inv[i] = factor[i] < 1e9F ? inv[i] / factor[i] : 0;
    }
    return flow_rope_table(f, s->positions, name,
                           (vug_attr_table){ .dims = (int)dims, .inv = inv, .factor = 1 });
}

vug_val vug_model_rope_halves(vug_flow *f, const vug_model_context *s, vug_val x)
{
    const vug_gguf_arch *gguf = s->config->arch->gguf;
    const bool interleaved = s->binding->names == VUG_NAMES_GGUF && gguf && gguf->interleaved_rope;
    return interleaved ? flow_deinterleave(f, x) : x;
}
