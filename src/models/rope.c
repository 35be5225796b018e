/*
 * Rotary embeddings (RoPE): their config keys, and the frequencies of each type.
 * Sources: Su et al. 2021; Peng et al. 2023 (YaRN); for keys, defaults and rounding
 * transformers' modeling_rope_utils.py.
 */
#include <math.h>

#include "models/common.h"

static const double pi = 3.14159265358979323846;

/* ---- config ------------------------------------------------------------------ */

static const struct {
    const char *name;
    vug_rope_type type;
} types[] = {
    { "default", VUG_ROPE_DEFAULT },
    { "linear", VUG_ROPE_LINEAR },
    { "llama3", VUG_ROPE_LLAMA3 },
    { "yarn", VUG_ROPE_YARN },
};

enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static void read_type(vug_config_keys *k, vug_rope *rope)
{
    const vug_str name =
            vug_key_string(k, vug_key_get(k, "rope_type") ? "rope_type" : "type", NULL);
    for (size_t i = 0; i < N_TYPES; i++) {
        if (vug_str_is(name, types[i].name)) {
            rope->type = types[i].type;
            return;
        }
    }
    if (name.ptr)
        vug_config_keys_fail(k, VUG_UNSUPPORTED,
                             "RoPE type '%.*s' is not supported (default, linear, llama3, yarn)",
                             VUG_STR_ARG(name));
}

static void require_key(vug_config_keys *k, const vug_rope *rope, const char *key, double value)
{
    if (value == 0)
        vug_config_keys_fail(k, VUG_FORMAT, "RoPE type '%s' needs the key '%s'",
                             types[rope->type].name, key);
}

static void read_llama3(vug_config_keys *k, vug_rope *rope)
{
    rope->low = vug_key_number(k, "low_freq_factor", rope->low, 1e-6, 1e6);
    rope->high = vug_key_number(k, "high_freq_factor", rope->high, 1e-6, 1e6);
    require_key(k, rope, "low_freq_factor", rope->low);
    require_key(k, rope, "high_freq_factor", rope->high);
    if (!(rope->low < rope->high))
        vug_config_keys_fail(k, VUG_FORMAT,
                             "key 'high_freq_factor' must be above 'low_freq_factor'");
}

static double yarn_mscale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

/* As in the reference, a beta of 0 counts as absent. */
static void read_yarn(vug_config_keys *k, vug_rope *rope)
{
    const double fast = vug_key_number(k, "beta_fast", 0, 0, 1e6);
    const double slow = vug_key_number(k, "beta_slow", 0, 0, 1e6);
    const double mscale = vug_key_number(k, "mscale", 0, 0, 1e6);
    const double all_dim = vug_key_number(k, "mscale_all_dim", 0, 0, 1e6);
    rope->high = fast > 0 ? fast : 32;
    rope->low = slow > 0 ? slow : 1;
    rope->truncate = vug_key_bool(k, "truncate", true);
    double attention = yarn_mscale(rope->factor, 1);
    if (mscale > 0 && all_dim > 0)
        attention = yarn_mscale(rope->factor, mscale) / yarn_mscale(rope->factor, all_dim);
    rope->attention_factor = vug_key_number(k, "attention_factor", attention, 1e-6, 1e6);
    if (rope->theta <= 1)
        vug_config_keys_fail(k, VUG_FORMAT, "RoPE type 'yarn' needs a rope_theta above 1");
}

void vug_config_read_rope_set(vug_config_keys *k, const vug_jv *set, int64_t context,
                              vug_rope *rope)
{
    if (rope->attention_factor == 0)
        rope->attention_factor = 1;
    if (!set)
        return;
    vug_config_keys sub = vug_config_keys_enter(k, set);
    rope->theta = vug_key_number(&sub, "rope_theta", rope->theta, 1, 1e12);
    rope->factor = vug_key_number(&sub, "factor", rope->factor, 1e-3, 1e6);
    rope->original_context = vug_key_number(
            &sub, "original_max_position_embeddings",
            rope->original_context > 0 ? rope->original_context : (double)context, 1, 1e9);
    rope->attention_factor = 1;
    read_type(&sub, rope);
    if (vug_key_number(&sub, "partial_rotary_factor", 1, 0, 1) < 1)
        vug_config_keys_fail(&sub, VUG_UNSUPPORTED, "partial_rotary_factor is not supported");
    if (rope->type != VUG_ROPE_DEFAULT)
        require_key(&sub, rope, "factor", rope->factor);
    if (rope->type == VUG_ROPE_LLAMA3)
        read_llama3(&sub, rope);
    if (rope->type == VUG_ROPE_YARN)
        read_yarn(&sub, rope);
    vug_config_keys_leave(k, &sub);
}

void vug_config_read_rope(vug_config_keys *k, vug_config *c, double theta)
{
    c->rope_full.theta = vug_key_number(k, "rope_theta", theta, 1, 1e12);
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    const vug_jv *scaling = vug_key_object(k, "rope_scaling");
    if (vug_jv_get(parameters, "full_attention") || vug_jv_get(parameters, "sliding_attention"))
        vug_config_keys_fail(k, VUG_UNSUPPORTED,
                             "key 'rope_parameters' has an object for each kind of layer, but %s "
                             "needs one for all layers",
                             c->arch->name);
    if (vug_key_number(k, "partial_rotary_factor", 1, 0, 1) < 1)
        vug_config_keys_fail(k, VUG_UNSUPPORTED, "partial_rotary_factor is not supported");
    vug_config_read_rope_set(k, scaling && scaling->n > 0 ? scaling : parameters, c->context,
                             &c->rope_full);
    c->rope_full.original_context = vug_key_number(k, "original_max_position_embeddings",
                                                   c->rope_full.original_context, 1, 1e9);
}

/* ---- frequencies --------------------------------------------------------------- */

/* Tokens in which pair i rotates by one radian. */
static float tokens_per_radian(const vug_rope *rope, int64_t i, int64_t dims)
{
    const float exponent = (float)(2 * i) / (float)dims;
    return (float)pow(rope->theta, (double)exponent);
}

/* Divides the frequency of long waves by the factor, keeps short waves, blends in between. */
static float llama3_frequency(const vug_rope *rope, float inv)
{
    const float factor = (float)rope->factor, original = (float)rope->original_context;
    const float low = (float)rope->low, range = (float)(rope->high - rope->low);
    const float wave = (float)(2 * pi) / inv;
    if (wave < (float)(rope->original_context / rope->high))
        return inv;
    if (wave > (float)(rope->original_context / rope->low))
        return inv / factor;
    const float smooth = (original / wave - low) / range;
    return (1 - smooth) * inv / factor + smooth * inv;
}

/* The pair that makes `turns` turns in the original context, as a real number. */
static double yarn_pair(const vug_rope *rope, int64_t dims, double turns)
{
    return (double)dims * log(rope->original_context / (turns * 2 * pi)) / (2 * log(rope->theta));
}

/* Pairs below `from` keep their frequency; above `to` it is divided by the factor. */
static void yarn_frequencies(const vug_rope *rope, int64_t dims, float *inv)
{
    double from = yarn_pair(rope, dims, rope->high), to = yarn_pair(rope, dims, rope->low);
    if (rope->truncate) {
        from = floor(from);
        to = ceil(to);
    }
    from = from > 0 ? from : 0;
    to = to < (double)(dims - 1) ? to : (double)(dims - 1);
    if (from == to)
        to += 0.001;
    for (int64_t i = 0; i < dims / 2; i++) {
        float slowed = ((float)i - (float)from) / (float)(to - from);
        slowed = slowed > 0 ? slowed : 0;
        slowed = slowed < 1 ? slowed : 1;
        const float kept = 1 - slowed;
        const float base = tokens_per_radian(rope, i, dims);
        inv[i] = 1 / ((float)rope->factor * base) * (1 - kept) + 1 / base * kept;
    }
}

bool vug_rope_freq_factors(const vug_config *c, float *out)
{
    const vug_rope *rope = &c->rope_full;
    const vug_rope plain = { .theta = rope->theta };
    const int64_t dims = vug_config_d_head(c, false);
    float inv[VUG_MAX_PAIRS];
    VUG_ASSERT(dims / 2 <= VUG_MAX_PAIRS);
    if (rope->type != VUG_ROPE_LLAMA3 && rope->type != VUG_ROPE_PROPORTIONAL)
        return false;
    if (!out)
        return true;
    vug_rope_frequencies(&plain, dims, out);
    vug_rope_frequencies(rope, dims, inv);
    for (int64_t i = 0; i < dims / 2; i++)
        out[i] = inv[i] > 0 ? out[i] / inv[i] : 1e30F;
    return true;
}

void vug_rope_frequencies(const vug_rope *rope, int64_t dims, float *inv)
{
    for (int64_t i = 0; i < dims / 2; i++) {
        inv[i] = 1 / tokens_per_radian(rope, i, dims);
        if (rope->type == VUG_ROPE_LINEAR ||
            (rope->type == VUG_ROPE_PROPORTIONAL && rope->factor != 0))
            inv[i] /= (float)rope->factor;
        if (rope->type == VUG_ROPE_PROPORTIONAL)
            inv[i] = (double)i < floor(rope->rotary_fraction * (double)dims / 2) ? inv[i] : 0;
        if (rope->type == VUG_ROPE_LLAMA3)
            inv[i] = llama3_frequency(rope, inv[i]);
    }
    if (rope->type == VUG_ROPE_YARN)
        yarn_frequencies(rope, dims, inv);
}
