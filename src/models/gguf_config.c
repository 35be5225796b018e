/*
 * The config of a GGUF file. Its metadata is rewritten as the config.json from which the
 * file was converted, and the architecture reads that one like any other: defaults, limits
 * and error messages are the same.
 *
 * Sources: llama.cpp's src/llama-arch.cpp for the keys, load_hparams and load_arch_hparams
 * for what a missing key implies, conversion/ for what converters write.
 */
#include <math.h>
#include <stdio.h>

#include "models/gguf_config_keys.h"
#include "models/gguf_metadata.h"

static void copy_keys(vug_metadata_reader *r)
{
    for (size_t i = 0; i < vug_gguf_config_row_count() && r->st == VUG_OK; i++) {
        const vug_gguf_config_row *row = vug_gguf_config_row_at(i);
        if (row->kind == VUG_GGUF_CONFIG_SPECIAL)
            continue;
        if (!vug_metadata_find(r, row->gguf)) {
            if (row->needed)
                vug_metadata_fail(r, VUG_FORMAT, "key '%s.%s' is missing", r->arch->gguf->name,
                                  row->gguf);
            continue;
        }
        if (row->kind == VUG_GGUF_CONFIG_INT) {
            const int64_t value = vug_metadata_int(r, row->gguf, 0, 0);
            memcpy((char *)&r->sizes + row->field, &value, sizeof(value));
            vug_json_put_i64(&r->json, row->json, value);
        } else {
            vug_metadata_put_number(r, row->json, vug_metadata_number(r, row->gguf, 0));
        }
    }
    if (r->st == VUG_OK && (r->sizes.n_layers < 1 || r->sizes.n_layers > VUG_MAX_LAYERS))
        vug_metadata_fail(r, VUG_FORMAT, "key '%s.block_count' must be a whole number from 1 to %d",
                          r->arch->gguf->name, VUG_MAX_LAYERS);
    if (r->st == VUG_OK && (r->sizes.n_heads < 1 || r->sizes.d_model < 1))
        vug_metadata_fail(r, VUG_FORMAT,
                          "keys '%s.attention.head_count' and '%s.embedding_length' must be "
                          "above 0",
                          r->arch->gguf->name, r->arch->gguf->name);
}

/* 0 means no softcap. So does a missing key, except for Gemma 2. */
static void write_softcap(vug_metadata_reader *r, const char *key)
{
    const double cap = vug_metadata_number(r, key, 0);
    if (cap != 0)
        vug_metadata_put_number(r, key, cap);
    else if (vug_metadata_find(r, key) || !r->arch->gguf->softcapped)
        vug_json_put_string(&r->json, key, NULL);
}

/* ---- RoPE ------------------------------------------------------------------- */

static void write_yarn(vug_metadata_reader *r, double factor)
{
    const double plain = factor > 1 ? 0.1 * log(factor) + 1 : 1;
    const double times = vug_metadata_number(r, "rope.scaling.attn_factor", 1);
    if (vug_metadata_find(r, "rope.scaling.original_context_length"))
        vug_json_put_i64(&r->json, "original_max_position_embeddings",
                         vug_metadata_int(r, "rope.scaling.original_context_length", 0, 0));
    vug_metadata_put_number(r, "beta_fast",
                            vug_metadata_number(r, "rope.scaling.yarn_beta_fast", 32));
    vug_metadata_put_number(r, "beta_slow",
                            vug_metadata_number(r, "rope.scaling.yarn_beta_slow", 1));
    vug_metadata_put_number(r, "attention_factor",
                            vug_metadata_number(r, "rope.scaling.yarn_attn_factor", plain * times));
    vug_json_put_bool(&r->json, "truncate", vug_metadata_bool(r, "rope.scaling.truncate", 0, true));
}

/* RoPE types for which llama.cpp has frequency factors in a tensor, and no key. */
static void write_freq_factor_types(vug_metadata_reader *r)
{
    if (vug_metadata_find(r, "rope.llama3.factor")) {
        vug_json_put_string(&r->json, "rope_type", "llama3");
        vug_metadata_put_number(r, "factor", vug_metadata_number(r, "rope.llama3.factor", 1));
        vug_metadata_put_number(r, "low_freq_factor",
                                vug_metadata_number(r, "rope.llama3.low_freq_factor", 1));
        vug_metadata_put_number(r, "high_freq_factor",
                                vug_metadata_number(r, "rope.llama3.high_freq_factor", 4));
        vug_json_put_i64(&r->json, "original_max_position_embeddings",
                         vug_metadata_int(r, "rope.llama3.original_context_length", 0, 8192));
    } else if (vug_metadata_find(r, "rope.partial_rotary_factor") ||
               (r->arch->gguf->two_widths && !vug_metadata_has_tensor(r, "rope_freqs.weight"))) {
        vug_json_put_string(&r->json, "rope_type", "proportional");
        vug_metadata_put_number(r, "partial_rotary_factor",
                                vug_metadata_number(r, "rope.partial_rotary_factor", 0.25));
    } else {
        vug_json_put_string(&r->json, "rope_type", "default");
    }
}

static void write_full_rope(vug_metadata_reader *r, const char *name)
{
    const vug_str type = vug_metadata_string(r, "rope.scaling.type", "linear");
    const double factor = vug_metadata_number(r, "rope.scaling.factor",
                                              vug_metadata_number(r, "rope.scale_linear", 0));
    vug_json_begin(&r->json, name, '{');
    vug_metadata_put_number(r, "rope_theta", vug_metadata_number(r, "rope.freq_base", 1e4));
    const bool scaled = factor != 0 && factor != 1;
    if (vug_str_is(type, "yarn")) {
        vug_json_put_string(&r->json, "rope_type", "yarn");
        vug_metadata_put_number(r, "factor", factor != 0 ? factor : 1);
        write_yarn(r, factor);
    } else if (vug_str_is(type, "linear") && scaled) {
        vug_json_put_string(&r->json, "rope_type", "linear");
        vug_metadata_put_number(r, "factor", factor);
    } else if (vug_str_is(type, "linear") || vug_str_is(type, "none")) {
        write_freq_factor_types(r);
    } else {
        vug_metadata_fail(r, VUG_UNSUPPORTED,
                          "key '%s.rope.scaling.type': '%.*s' is not supported (none, linear, "
                          "yarn)",
                          r->arch->gguf->name, VUG_STR_ARG(type));
    }
    vug_json_end(&r->json, '}');
}

static void write_ropes(vug_metadata_reader *r)
{
    if (!r->arch->gguf->two_ropes) {
        write_full_rope(r, "rope_parameters");
        return;
    }
    vug_json_begin(&r->json, "rope_parameters", '{');
    write_full_rope(r, "full_attention");
    vug_json_begin(&r->json, "sliding_attention", '{');
    vug_json_put_string(&r->json, "rope_type", "default");
    vug_metadata_put_number(r, "rope_theta", vug_metadata_number(r, "rope.freq_base_swa", 1e4));
    vug_json_end(&r->json, '}');
    vug_json_end(&r->json, '}');
}

/* ---- the rest ---------------------------------------------------------------------- */

/* Counts come from the tensors, since not every file has the keys. */
static void write_tensor_facts(vug_metadata_reader *r)
{
    const vug_tensor *embedding = vug_tensor_list_find(r->list, "token_embd.weight");
    const vug_tensor *per_layer = vug_tensor_list_find(r->list, "per_layer_token_embd.weight");
    if (embedding && embedding->rank > 0)
        vug_json_put_i64(&r->json, "vocab_size", embedding->dim[0]);
    else
        vug_metadata_fail(r, VUG_FORMAT, "tensor 'token_embd.weight' is missing");
    if (per_layer && per_layer->rank > 0)
        vug_json_put_i64(&r->json, "vocab_size_per_layer_input", per_layer->dim[0]);
    vug_json_put_bool(&r->json, "tie_word_embeddings",
                      !vug_metadata_has_tensor(r, "output.weight"));
    vug_json_put_bool(&r->json, "attention_bias", vug_metadata_has_tensor(r, "blk.0.attn_q.bias"));
    vug_json_put_bool(&r->json, "mlp_bias", vug_metadata_has_tensor(r, "blk.0.ffn_up.bias"));
}

/* For architectures that have a key for the scale of attention scores. */
static void write_attn_scale(vug_metadata_reader *r)
{
    const double scale = vug_metadata_number(r, "attention.scale", 0);
    if (r->arch->gguf->model_scale_layers == 0)
        return;
    /* A whole number if one gives this scale, since transformers accepts no other. */
    const double scalar = scale != 0 ? round(1 / (scale * scale)) : 0;
    if (scalar >= 1 && scalar < 1e9 && (float)(1 / sqrt(scalar)) == (float)scale)
        vug_json_put_i64(&r->json, "query_pre_attn_scalar", (int64_t)scalar);
    else if (scale != 0)
        vug_metadata_put_number(r, "query_pre_attn_scalar", 1 / (scale * scale));
    else
        vug_json_put_i64(&r->json, "query_pre_attn_scalar",
                         vug_gguf_implied_attn_scalar(r->arch->gguf, &r->sizes));
}

/* vug does not need these ids; other programs do. */
static void write_bos_and_pad(vug_metadata_reader *r)
{
    static const char *const keys[][2] = {
        { "tokenizer.ggml.bos_token_id", "bos_token_id" },
        { "tokenizer.ggml.padding_token_id", "pad_token_id" },
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const vug_gguf_value *v = vug_gguf_find(r->gguf, vug_str_of(keys[i][0]));
        int64_t id;
        if (v && !v->is_array && vug_gguf_i64(v, 0, &id) && id >= 0 && id < INT32_MAX)
            vug_json_put_i64(&r->json, keys[i][1], id);
    }
}

static void write_eos(vug_metadata_reader *r)
{
    const vug_gguf_value *all = vug_gguf_find(r->gguf, vug_str_of(VUG_GGUF_EOS_IDS_KEY));
    vug_json_begin(&r->json, "eos_token_id", '[');
    int64_t id;
    for (uint64_t i = 0; all && i < all->count && i < VUG_MAX_EOS; i++) {
        if (vug_gguf_i64(all, i, &id))
            vug_json_put_i64(&r->json, NULL, id);
    }
    for (int i = 0; !all && i < VUG_N_GGUF_EOS_KEYS; i++) {
        const vug_gguf_value *v = vug_gguf_find(r->gguf, vug_str_of(vug_gguf_eos_key(i)));
        /* Some files use the largest number for none. */
        if (v && !v->is_array && vug_gguf_i64(v, 0, &id) && id >= 0 && id < INT32_MAX)
            vug_json_put_i64(&r->json, NULL, id);
    }
    vug_json_end(&r->json, ']');
}

static void write_dtype(vug_metadata_reader *r)
{
    const vug_gguf_value *v = vug_gguf_find(r->gguf, vug_str_of(VUG_GGUF_DTYPE_KEY));
    vug_str dtype = vug_str_of(r->arch->gguf->bf16 ? "bfloat16" : "");
    if (v && !vug_gguf_string(v, &dtype))
        vug_metadata_fail(r, VUG_FORMAT, "key '" VUG_GGUF_DTYPE_KEY "' is %s, expected a string",
                          vug_gguf_describe(v).text);
    if (dtype.len == 0)
        return;
    vug_json_put_text(&r->json, "dtype", dtype.ptr, dtype.len);
}

/* Replaces the config.json key in an error message by the GGUF key. */
static void rename_key_in_message(const vug_metadata_reader *r, vug_err *err)
{
    for (size_t i = 0; i < vug_gguf_config_row_count(); i++) {
        const vug_gguf_config_row *row = vug_gguf_config_row_at(i);
        char quoted[64];
        const vug_err before = *err;
        (void)snprintf(quoted, sizeof(quoted), "'%s'", row->json);
        const char *at = strstr(before.msg, quoted);
        if (!at)
            continue;
        (void)snprintf(err->msg, sizeof(err->msg), "%.*s'%s.%s'%s", (int)(at - before.msg),
                       before.msg, r->arch->gguf->name, row->gguf, at + strlen(quoted));
        return;
    }
}

static const vug_arch *find_arch_of_gguf(vug_str name)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        const vug_gguf_arch *arch = vug_arch_at(i)->gguf;
        if (arch && vug_str_is(name, arch->name))
            return vug_arch_at(i);
    }
    return NULL;
}

vug_status vug_config_read_arch_gguf(const vug_gguf *gguf, const char *file, const vug_arch **out,
                                     vug_err *err)
{
    const vug_gguf_value *v = vug_gguf_find(gguf, vug_str_of("general.architecture"));
    vug_str name;
    if (!v || !vug_gguf_string(v, &name))
        return VUG_FAIL(err, VUG_FORMAT, "%s: key 'general.architecture' is %s", file,
                        v ? "not a string" : "missing");
    *out = find_arch_of_gguf(name);
    if (*out)
        return VUG_OK;
    vug_buf known = { 0 };
    for (size_t i = 0; i < vug_arch_count(); i++) {
        if (vug_arch_at(i)->gguf)
            vug_buf_printf(&known, "%s%s", known.len ? ", " : "", vug_arch_at(i)->gguf->name);
    }
    const vug_status st = VUG_FAIL(
            err, VUG_UNSUPPORTED,
            "%s: architecture '%.*s' is not supported in GGUF; vug supports %s", file,
            (int)(name.len < 60 ? name.len : 60), name.ptr, known.ptr ? known.ptr : "none");
    vug_buf_release(&known);
    return st;
}

vug_status vug_config_gguf_to_json(const vug_gguf *gguf, const vug_tensor_list *list, vug_buf *out,
                                   const vug_arch **arch, vug_err *err)
{
    vug_metadata_reader r = { .gguf = gguf, .list = list };
    VUG_TRY(vug_config_read_arch_gguf(gguf, list->source, &r.arch, err));
    *arch = r.arch;
    vug_json_begin(&r.json, NULL, '{');
    vug_json_begin(&r.json, "architectures", '[');
    vug_json_put_string(&r.json, NULL, r.arch->gguf->hf);
    vug_json_end(&r.json, ']');
    vug_json_put_string(&r.json, "model_type", r.arch->model_types[0]);
    copy_keys(&r);
    if (r.st == VUG_OK)
        vug_metadata_write_layers(&r);
    if (r.st == VUG_OK) {
        write_softcap(&r, "attn_logit_softcapping");
        write_softcap(&r, "final_logit_softcapping");
        write_ropes(&r);
        write_tensor_facts(&r);
        write_attn_scale(&r);
        write_eos(&r);
        write_bos_and_pad(&r);
        write_dtype(&r);
        vug_json_end(&r.json, '}');
    }
    if (r.st == VUG_OK)
        r.st = vug_buf_ok(&r.json.buf, &r.err);
    if (r.st != VUG_OK) {
        if (err)
            *err = r.err;
        vug_buf_release(&r.json.buf);
        return r.st;
    }
    *out = r.json.buf;
    return VUG_OK;
}

vug_status vug_config_read_gguf(const vug_gguf *gguf, const vug_tensor_list *list, vug_config *out,
                                vug_err *err)
{
    vug_metadata_reader r = { .list = list };
    vug_buf json = { 0 };
    vug_err why;
    VUG_TRY(vug_config_gguf_to_json(gguf, list, &json, &r.arch, err));
    const vug_status st = vug_config_read((vug_str){ json.ptr, json.len }, list->source, out, &why);
    if (st != VUG_OK && err) {
        *err = why;
        rename_key_in_message(&r, err);
    }
    vug_buf_release(&json);
    return st;
}
