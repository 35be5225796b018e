/* The words of models: what architectures say alike, in terms of the flow's own. */
#include <math.h>

#include "models/common.h"

/* ---- scales ------------------------------------------------------------------ */

float vug_embedding_scale(const vug_binding *binding)
{
    return vug_model_root(binding, binding->config->d_model);
}

/* The format that values had beside the embedding: its own, or that of its scales. */
static vug_dtype format_beside(const vug_tensor *embedding)
{
    return embedding->scales.scale ? embedding->scales.dtype : embedding->dtype;
}

float vug_model_root(const vug_binding *binding, int64_t width)
{
    vug_dtype dtype = binding->config->dtype;
    if (dtype == VUG_DTYPE_COUNT)
        dtype = format_beside(binding->tensor[VUG_SLOT_EMBEDDING]);
    /* A format that checkpoints are made smaller in says nothing of training. */
    const bool trained_in =
            dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16;
    const vug_dtype_info *format = vug_dtype_of(trained_in ? dtype : VUG_DTYPE_BF16);
    const float exact = (float)sqrt((double)width);
    uint8_t bytes[sizeof(float)];
    float rounded;
    format->encode(&exact, bytes, 1);
    format->decode(bytes, &rounded, 1);
    return rounded;
}

/* ---- layers ------------------------------------------------------------------ */

vug_val vug_model_embedding(vug_flow *f, vug_stages *s)
{
    return flow_embed(f, s->embedding, s->tokens, 1);
}

vug_val vug_model_scaled_embedding(vug_flow *f, vug_stages *s)
{
    return flow_embed(f, s->embedding, s->tokens, vug_embedding_scale(s->binding));
}

vug_val vug_model_norm(vug_flow *f, const vug_stages *s, vug_val x, const char *name)
{
    const vug_config *c = s->config;
    const bool added = s->binding->names == VUG_NAMES_GGUF; /* what is to be added is in them */
    const vug_attr_norm at = { .eps = c->norm_eps, .bias = added ? 0 : 1 - c->arch->norm_weight };
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

vug_val vug_model_output_norm(vug_flow *f, vug_stages *s, vug_val x)
{
    return vug_model_norm(f, s, x, "output_norm");
}

vug_val vug_model_logits(vug_flow *f, vug_stages *s, vug_val x)
{
    x = flow_project(f, x, s->binding->tied ? s->embedding : flow_weight(f, "output"));
    return flow_softcap(f, x, s->config->final_softcap);
}

/* ---- rotation ---------------------------------------------------------------- */

vug_val vug_model_rope(vug_flow *f, const vug_stages *s, const char *name, const vug_rope *rope,
                       int64_t dims)
{
    float inv[VUG_MAX_PAIRS];
    VUG_ASSERT(dims / 2 <= VUG_MAX_PAIRS);
    vug_rope_frequencies(rope, dims, inv);
    const float factor = (float)rope->attention;
    return flow_rope_table(f, s->positions, name,
                           (vug_attr_table){ .dims = (int)dims, .inv = inv, .factor = factor });
}

void vug_model_one_rope(vug_flow *f, vug_stages *s, vug_val x)
{
    (void)x;
    s->rope_full = vug_model_rope(f, s, "rope", &s->config->rope_full, s->config->d_head);
}

static const vug_tensor *divisors_of(const vug_binding *binding)
{
    vug_weight_spec spec;
    const vug_status st = vug_binding_weight(binding, "rope_freqs", -1, &spec, NULL);
    return st == VUG_OK ? binding->tensor[spec.slot] : NULL;
}

/* A type that says as much as divisors do, and exactly, counts before them: files that
 * have both repeat it for programs that have no such type. */
static bool says_divisors(const vug_rope *rope)
{
    return rope->type == VUG_ROPE_LLAMA3 || rope->type == VUG_ROPE_PROPORTIONAL;
}

vug_val vug_model_rope_divided(vug_flow *f, const vug_stages *s, const char *name, int64_t dims)
{
    const vug_rope *rope = &s->config->rope_full;
    const vug_tensor *t = divisors_of(s->binding);
    if (!t || says_divisors(rope) || f->st != VUG_OK)
        return vug_model_rope(f, s, name, rope, dims);
    float inv[VUG_MAX_PAIRS], divisor[VUG_MAX_PAIRS];
    VUG_ASSERT(dims / 2 <= VUG_MAX_PAIRS);
    const vug_rope plain = { .theta = rope->theta };
    vug_rope_frequencies(&plain, dims, inv);
    vug_dtype_of(t->dtype)->decode(t->data, divisor, (size_t)(dims / 2));
    for (int64_t i = 0; i < dims / 2; i++) {
        if (f->st == VUG_OK && !(divisor[i] >= 1e-6F && divisor[i] <= 1e30F))
            f->st = VUG_FAIL(&f->err, VUG_FORMAT, "%s: tensor '%.*s': divisor %lld is %g", t->file,
                             VUG_STR_ARG(t->name), (long long)i, (double)divisor[i]);
        /* So large a one is how files say that a pair does not turn. */
        inv[i] = divisor[i] < 1e9F ? inv[i] / divisor[i] : 0;
    }
    return flow_rope_table(f, s->positions, name,
                           (vug_attr_table){ .dims = (int)dims, .inv = inv, .factor = 1 });
}

vug_val vug_model_halves(vug_flow *f, const vug_stages *s, vug_val x)
{
    const vug_gguf_arch *gguf = s->config->arch->gguf;
    const bool neighbours = s->binding->names == VUG_NAMES_GGUF && gguf && gguf->neighbours;
    return neighbours ? flow_unpair(f, x) : x;
}
