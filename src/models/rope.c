/*
 * Rotary embeddings: their keys in configs, and the frequencies of each type.
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

static void read_type(vug_keys *k, vug_rope *rope)
{
    const vug_str name = vug_key_string(k, vug_key(k, "rope_type") ? "rope_type" : "type", NULL);
    for (size_t i = 0; i < N_TYPES; i++) {
        if (vug_str_is(name, types[i].name)) {
            rope->type = types[i].type;
            return;
        }
    }
    if (name.ptr)
        vug_keys_fail(k, VUG_UNSUPPORTED,
                      "RoPE type '%.*s' is not known (default, linear, llama3, yarn)",
                      VUG_STR_ARG(name));
}

static double needed(vug_keys *k, const vug_rope *rope, const char *key, double value)
{
    if (value == 0)
        vug_keys_fail(k, VUG_FORMAT, "RoPE type '%s' needs a key '%s' beside it",
                      types[rope->type].name, key);
    return value;
}

static void read_llama3(vug_keys *k, vug_rope *rope)
{
    rope->low = vug_key_number(k, "low_freq_factor", rope->low, 1e-6, 1e6);
    rope->high = vug_key_number(k, "high_freq_factor", rope->high, 1e-6, 1e6);
    (void)needed(k, rope, "low_freq_factor", rope->low);
    (void)needed(k, rope, "high_freq_factor", rope->high);
    if (!(rope->low < rope->high))
        vug_keys_fail(k, VUG_FORMAT, "key 'high_freq_factor' must be above 'low_freq_factor'");
}

static double mscale_of(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

/* A beta of 0 is none given, as it is to the reference. */
static void read_yarn(vug_keys *k, vug_rope *rope)
{
    const double fast = vug_key_number(k, "beta_fast", 0, 0, 1e6);
    const double slow = vug_key_number(k, "beta_slow", 0, 0, 1e6);
    const double mscale = vug_key_number(k, "mscale", 0, 0, 1e6);
    const double all_dim = vug_key_number(k, "mscale_all_dim", 0, 0, 1e6);
    rope->high = fast > 0 ? fast : 32;
    rope->low = slow > 0 ? slow : 1;
    rope->whole = vug_key_bool(k, "truncate", true);
    double attention = mscale_of(rope->factor, 1);
    if (mscale > 0 && all_dim > 0)
        attention = mscale_of(rope->factor, mscale) / mscale_of(rope->factor, all_dim);
    rope->attention = vug_key_number(k, "attention_factor", attention, 1e-6, 1e6);
    if (rope->theta <= 1)
        vug_keys_fail(k, VUG_FORMAT, "RoPE type 'yarn' needs a rope_theta above 1");
}

void vug_read_rope_set(vug_keys *k, const vug_jv *set, int64_t context, vug_rope *rope)
{
    if (rope->attention == 0)
        rope->attention = 1;
    if (!set)
        return;
    vug_keys sub = vug_keys_inside(k, set);
    rope->theta = vug_key_number(&sub, "rope_theta", rope->theta, 1, 1e12);
    rope->factor = vug_key_number(&sub, "factor", rope->factor, 1e-3, 1e6);
    rope->original = vug_key_number(&sub, "original_max_position_embeddings",
                                    rope->original > 0 ? rope->original : (double)context, 1, 1e9);
    rope->attention = 1;
    read_type(&sub, rope);
    if (vug_key_number(&sub, "partial_rotary_factor", 1, 0, 1) < 1)
        vug_keys_fail(&sub, VUG_UNSUPPORTED, "partial_rotary_factor is not supported");
    if (rope->type != VUG_ROPE_DEFAULT)
        (void)needed(&sub, rope, "factor", rope->factor);
    if (rope->type == VUG_ROPE_LLAMA3)
        read_llama3(&sub, rope);
    if (rope->type == VUG_ROPE_YARN)
        read_yarn(&sub, rope);
    vug_keys_leave(k, &sub);
}

void vug_read_rope(vug_keys *k, vug_config *c, double theta)
{
    c->rope_full.theta = vug_key_number(k, "rope_theta", theta, 1, 1e12);
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    const vug_jv *scaling = vug_key_object(k, "rope_scaling");
    if (vug_jv_get(parameters, "full_attention") || vug_jv_get(parameters, "sliding_attention"))
        vug_keys_fail(k, VUG_UNSUPPORTED,
                      "key 'rope_parameters' has a set for each kind of layer, %s has one for all",
                      c->arch->name);
    if (vug_key_number(k, "partial_rotary_factor", 1, 0, 1) < 1)
        vug_keys_fail(k, VUG_UNSUPPORTED, "partial_rotary_factor is not supported");
    vug_read_rope_set(k, scaling && scaling->n > 0 ? scaling : parameters, c->context,
                      &c->rope_full);
    c->rope_full.original =
            vug_key_number(k, "original_max_position_embeddings", c->rope_full.original, 1, 1e9);
}

/* ---- frequencies --------------------------------------------------------------- */

/* Of pair i, in tokens for one radian. */
static float period(const vug_rope *rope, int64_t i, int64_t dims)
{
    const float exponent = (float)(2 * i) / (float)dims;
    return (float)pow(rope->theta, (double)exponent);
}

/* Long waves are slowed by the factor, short ones kept, those between blended. */
static float llama3_frequency(const vug_rope *rope, float inv)
{
    const float factor = (float)rope->factor, original = (float)rope->original;
    const float low = (float)rope->low, range = (float)(rope->high - rope->low);
    const float wave = (float)(2 * pi) / inv;
    if (wave < (float)(rope->original / rope->high))
        return inv;
    if (wave > (float)(rope->original / rope->low))
        return inv / factor;
    const float smooth = (original / wave - low) / range;
    return (1 - smooth) * inv / factor + smooth * inv;
}

/* The pair that turns `turns` times in the original context, as a real number. */
static double yarn_pair(const vug_rope *rope, int64_t dims, double turns)
{
    return (double)dims * log(rope->original / (turns * 2 * pi)) / (2 * log(rope->theta));
}

/* Pairs below `from` keep their frequency, those above `to` are slowed. */
static void yarn_frequencies(const vug_rope *rope, int64_t dims, float *inv)
{
    double from = yarn_pair(rope, dims, rope->high), to = yarn_pair(rope, dims, rope->low);
    if (rope->whole) {
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
        const float base = period(rope, i, dims);
        inv[i] = 1 / ((float)rope->factor * base) * (1 - kept) + 1 / base * kept;
    }
}

bool vug_rope_divisors(const vug_config *c, float *out)
{
    const vug_rope *rope = &c->rope_full;
    const vug_rope plain = { .theta = rope->theta };
    const int64_t dims = vug_config_head(c, false);
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
        inv[i] = 1 / period(rope, i, dims);
        if (rope->type == VUG_ROPE_LINEAR ||
            (rope->type == VUG_ROPE_PROPORTIONAL && rope->factor != 0))
            inv[i] /= (float)rope->factor;
        if (rope->type == VUG_ROPE_PROPORTIONAL)
            inv[i] = (double)i < floor(rope->rotated * (double)dims / 2) ? inv[i] : 0;
        if (rope->type == VUG_ROPE_LLAMA3)
            inv[i] = llama3_frequency(rope, inv[i]);
    }
    if (rope->type == VUG_ROPE_YARN)
        yarn_frequencies(rope, dims, inv);
}
