/* generation_config.json and its equivalent in GGUF metadata: the samplers that the model's
 * publisher recommends, and the tokens that end a text. */
#include <math.h>

#include "core/json_writer.h"
#include "engine/internal.h"
#include "models/config_keys.h"

void vug_checkpoint_add_stop(vug_checkpoint *c, int32_t id)
{
    size_t at = 0;
    while (at < c->n_stop && c->stop[at] < id)
        at++;
    if ((at < c->n_stop && c->stop[at] == id) || c->n_stop == VUG_MAX_STOP)
        return;
    memmove(c->stop + at + 1, c->stop + at, (c->n_stop - at) * sizeof(*c->stop));
    c->stop[at] = id;
    c->n_stop++;
}

/* The keys of sampling, in the order of VUG_SAMPLER_TABLE: those of transformers and, for settings
 * that it does not have, the fields of llama.cpp's server. The names and types in GGUF metadata are
 * llama.cpp's (gguf-py/gguf/constants.py, Keys.General). */
static const struct {
    const char *json, *gguf; /* gguf: NULL: none */
    double off, min, max;
    vug_sampler_kind kind;
    bool whole; /* i32 in GGUF; else f32 */
} sampling_keys[] = {
    { "repetition_penalty", "general.sampling.penalty_repeat", 1, 0.01, 100, VUG_SAMPLER_REPETITION,
      false },
    { "temperature", "general.sampling.temp", 1, 0, 100, VUG_SAMPLER_TEMPERATURE, false },
    { "top_k", "general.sampling.top_k", 0, 0, 1e9, VUG_SAMPLER_TOP_K, true },
    { "typical_p", NULL, 1, 0, 1, VUG_SAMPLER_TYPICAL_P, false },
    { "top_p", "general.sampling.top_p", 1, 0, 1, VUG_SAMPLER_TOP_P, false },
    { "min_p", "general.sampling.min_p", 0, 0, 1, VUG_SAMPLER_MIN_P, false },
    { "xtc_probability", "general.sampling.xtc_probability", 0, 0, 1, VUG_SAMPLER_XTC, false },
    { "repeat_last_n", "general.sampling.penalty_last_n", -1, -1, 1e9, VUG_SAMPLER_REPEAT_LAST_N,
      true },
    { "xtc_threshold", "general.sampling.xtc_threshold", 0.1, 0, 1, VUG_SAMPLER_XTC_THRESHOLD,
      false },
};

enum { N_SAMPLING_KEYS = sizeof(sampling_keys) / sizeof(sampling_keys[0]) };

/* ---- generation_config.json -------------------------------------------------------------- */

static void add_sampler(vug_sampling_defaults *s, vug_sampler_kind kind, double value)
{
    s->sampler[s->n++] = (vug_sampler_config){ .kind = kind, .value = (float)value };
}

static vug_status read_keys(const vug_jv *top, const char *file, vug_checkpoint *c, vug_err *err)
{
    vug_config_keys k = { .object = top, .file = file };
    c->n_generation_eos = vug_key_ids(&k, "eos_token_id", c->generation_eos, VUG_MAX_EOS);
    for (int i = 0; i < c->n_generation_eos; i++)
        vug_checkpoint_add_stop(c, c->generation_eos[i]);
    c->has_generation_config = true;
    /* transformers is greedy unless do_sample is set; here a temperature without do_sample
     * implies it. */
    const bool sample = vug_key_bool(&k, "do_sample", vug_key_get(&k, "temperature") != NULL);
    c->sampling = (vug_sampling_defaults){ 0 };
    for (size_t i = 0; i < N_SAMPLING_KEYS; i++) {
        const vug_sampler_kind kind = sampling_keys[i].kind;
        const double value = vug_key_number(&k, sampling_keys[i].json, sampling_keys[i].off,
                                            sampling_keys[i].min, sampling_keys[i].max);
        const bool is_penalty = kind < VUG_SAMPLER_TEMPERATURE || kind == VUG_SAMPLER_REPEAT_LAST_N;
        if (kind == VUG_SAMPLER_TEMPERATURE)
            add_sampler(&c->sampling, kind, sample ? value : 0);
        else if (value != sampling_keys[i].off && (sample || is_penalty))
            add_sampler(&c->sampling, kind, value);
    }
    return vug_config_keys_status(&k, err);
}

static vug_status parse_config(vug_str json, const char *file, vug_checkpoint *out, vug_err *err)
{
    vug_arena arena = { .budget = VUG_MAX_CONFIG };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK && top->type != VUG_JSON_OBJECT)
        st = VUG_FAIL(err, VUG_FORMAT, "%s: expected an object", file);
    if (st == VUG_OK)
        st = read_keys(top, file, out, err);
    vug_arena_release(&arena);
    return st;
}

vug_status vug_generation_config_read(const char *folder, vug_checkpoint *c, vug_err *err)
{
    char *path = vug_path_join(folder, "generation_config.json");
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_text text = { 0 };
    vug_status st = VUG_OK;
    if (vug_file_exists(path)) {
        st = vug_read_file(path, VUG_MAX_CONFIG, &text, err);
        if (st == VUG_OK)
            st = parse_config((vug_str){ text.ptr, text.len }, path, c, err);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

/* ---- GGUF ----------------------------------------------------------------------------------- */

void vug_generation_config_write_gguf(const vug_checkpoint *c, vug_gguf_builder *to)
{
    for (size_t i = 0; c->has_generation_config && i < c->sampling.n; i++) {
        for (size_t k = 0; k < N_SAMPLING_KEYS; k++) {
            const vug_sampler_config *sampler = &c->sampling.sampler[i];
            if (!sampling_keys[k].gguf || sampler->kind != sampling_keys[k].kind)
                continue;
            if (sampling_keys[k].whole)
                vug_gguf_put_i32(to, sampling_keys[k].gguf, (int32_t)sampler->value);
            else
                vug_gguf_put_f32(to, sampling_keys[k].gguf, sampler->value);
        }
    }
}

void vug_generation_config_add_eos(const vug_checkpoint *c, vug_config *config)
{
    for (int i = 0; i < c->n_generation_eos; i++) {
        bool known = config->n_eos == VUG_MAX_EOS;
        for (int k = 0; k < config->n_eos; k++)
            known = known || config->eos[k] == c->generation_eos[i];
        if (!known)
            config->eos[config->n_eos++] = c->generation_eos[i];
    }
}

static void append_number(vug_buf *to, double value)
{
    if (value == floor(value) && fabs(value) < 1e9)
        vug_buf_printf(to, "%lld", (long long)value);
    else
        vug_json_append_f32(to, (float)value);
}

vug_status vug_generation_config_gguf_to_json(const vug_gguf *gguf, const vug_config *config,
                                              vug_buf *out, vug_err *err)
{
    bool any = false, greedy = false;
    for (size_t i = 0; i < N_SAMPLING_KEYS; i++) {
        const char *key = sampling_keys[i].gguf;
        const vug_gguf_value *v = key ? vug_gguf_find(gguf, vug_str_of(key)) : NULL;
        double value;
        if (!v)
            continue;
        if (v->is_array || !vug_gguf_f64(v, 0, &value) || !isfinite(value))
            return VUG_FAIL(err, VUG_FORMAT, "%s: key '%s' is %s, expected a number", gguf->file,
                            key, vug_gguf_describe(v).text);
        vug_buf_puts(out, any ? "," : "{");
        /* llama.cpp is greedy at temperature 0, transformers without do_sample. */
        greedy = greedy || (sampling_keys[i].kind == VUG_SAMPLER_TEMPERATURE && value == 0);
        vug_buf_printf(out, "\n\"%s\":", sampling_keys[i].json);
        append_number(out, value);
        any = true;
    }
    if (!any)
        return VUG_OK;
    vug_buf_printf(out, ",\n\"do_sample\":%s", greedy ? "false" : "true");
    for (int i = 0; i < config->n_eos; i++)
        vug_buf_printf(out, "%s%d", i ? "," : ",\n\"eos_token_id\":[", (int)config->eos[i]);
    vug_buf_puts(out, config->n_eos ? "]\n}\n" : "\n}\n");
    return vug_buf_ok(out, err);
}

vug_status vug_generation_config_read_gguf(const vug_gguf *gguf, vug_checkpoint *c, vug_err *err)
{
    vug_buf json = { 0 };
    vug_status st = vug_generation_config_gguf_to_json(gguf, &c->config, &json, err);
    if (st == VUG_OK && json.len > 0)
        st = parse_config((vug_str){ json.ptr, json.len }, gguf->file, c, err);
    vug_buf_release(&json);
    return st;
}
