#include <openssl/evp.h>
#include <stdio.h>

#include "core/utf8.h"
#include "server/api/internal.h"

/* Responses of the endpoints that do not generate. */

enum { BASE64_LINE = 3 * 256 }; /* bytes that are encoded at once: a multiple of 3 */

static void write_model(const vug_api_model *model, vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_text(js, "id", model->id.ptr, model->id.len);
    vug_json_put_string(js, "object", "model");
    vug_json_put_i64(js, "created", model->created);
    vug_json_put_string(js, "owned_by", "vug");
    /* Clients read the context size under one of these names. */
    vug_json_put_i64(js, "context_length", model->context);
    vug_json_put_i64(js, "max_model_len", model->context);
    vug_json_end(js, '}');
}

void vug_api_model_write(const vug_api_model *model, vug_buf *to)
{
    write_model(model, &(vug_json_writer){ .to = to });
}

void vug_api_models_write(const vug_api_model *model, size_t n, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "object", "list");
    vug_json_begin(&js, "data", '[');
    for (size_t i = 0; i < n; i++)
        write_model(&model[i], &js);
    vug_json_end(&js, ']');
    vug_json_end(&js, '}');
}

/* A string, or an array of bytes when the piece is not valid UTF-8, as in llama.cpp's server. */
static void write_piece(vug_str piece, vug_json_writer *js)
{
    if (vug_utf8_valid(piece)) {
        vug_json_put_text(js, "piece", piece.ptr, piece.len);
        return;
    }
    vug_json_begin(js, "piece", '[');
    for (size_t i = 0; i < piece.len; i++)
        vug_json_put_i64(js, NULL, (unsigned char)piece.ptr[i]);
    vug_json_end(js, ']');
}

void vug_api_tokenize_write(const vug_api_request *request, const vug_api_tokens *tokens,
                            vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_u64(&js, "count", tokens->n);
    vug_json_put_i64(&js, "max_model_len", tokens->context);
    vug_json_begin(&js, "tokens", '[');
    for (size_t i = 0; i < tokens->n; i++) {
        const int32_t id = tokens->id[i];
        if (!request->with_pieces) {
            vug_json_put_i64(&js, NULL, id);
            continue;
        }
        vug_json_begin(&js, NULL, '{');
        vug_json_put_i64(&js, "id", id);
        write_piece(tokens->spell(id, tokens->user), &js);
        vug_json_end(&js, '}');
    }
    vug_json_end(&js, ']');
    if (request->number[VUG_FIELD_return_token_strs] != 0) {
        vug_json_begin(&js, "token_strs", '[');
        for (size_t i = 0; i < tokens->n; i++) {
            const vug_str piece = tokens->spell(tokens->id[i], tokens->user);
            vug_json_put_text(&js, NULL, piece.ptr, piece.len);
        }
        vug_json_end(&js, ']');
    }
    vug_json_end(&js, '}');
}

/* llama.cpp's server names it content, vLLM's names it prompt. */
void vug_api_detokenize_write(const char *text, size_t len, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_text(&js, "content", text, len);
    vug_json_put_text(&js, "prompt", text, len);
    vug_json_end(&js, '}');
}

void vug_api_template_write(const char *text, size_t len, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_text(&js, "prompt", text, len);
    vug_json_end(&js, '}');
}

/* ---- embeddings ---------------------------------------------------------------------- */

/* F32, little-endian. */
static void write_base64(const float *x, size_t n, vug_json_writer *js)
{
    vug_buf bytes = { 0 }, text = { 0 };
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        vug_buf_append_le(&bytes, bits, sizeof(bits));
    }
    for (size_t at = 0; at < bytes.len; at += BASE64_LINE) {
        const size_t take = bytes.len - at < BASE64_LINE ? bytes.len - at : BASE64_LINE;
        unsigned char line[BASE64_LINE / 3 * 4 + 1];
        const int len = EVP_EncodeBlock(line, (const unsigned char *)bytes.ptr + at, (int)take);
        vug_buf_append(&text, line, (size_t)len);
    }
    js->to->bad |= bytes.bad || text.bad;
    vug_json_put_text(js, "embedding", text.ptr ? text.ptr : "", text.len);
    vug_buf_release(&bytes);
    vug_buf_release(&text);
}

static void write_numbers(const float *x, size_t n, vug_json_writer *js)
{
    vug_json_begin(js, "embedding", '[');
    for (size_t i = 0; i < n; i++)
        vug_json_put_f32(js, NULL, x[i]);
    vug_json_end(js, ']');
}

void vug_api_embeddings_write(const vug_api_embeddings *e, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "object", "list");
    vug_json_begin(&js, "data", '[');
    for (size_t i = 0; i < e->n; i++) {
        vug_json_begin(&js, NULL, '{');
        vug_json_put_string(&js, "object", "embedding");
        vug_json_put_u64(&js, "index", i);
        if (e->as_base64)
            write_base64(e->x + i * e->width, e->width, &js);
        else
            write_numbers(e->x + i * e->width, e->width, &js);
        vug_json_end(&js, '}');
    }
    vug_json_end(&js, ']');
    vug_json_put_text(&js, "model", e->model.ptr, e->model.len);
    vug_json_begin(&js, "usage", '{');
    vug_json_put_u64(&js, "prompt_tokens", e->n_tokens);
    vug_json_put_u64(&js, "total_tokens", e->n_tokens);
    vug_json_end(&js, '}');
    vug_json_end(&js, '}');
}

size_t vug_api_embeddings_bytes(const vug_api_embeddings *e)
{
    const size_t number = e->as_base64 ? 6 : 16; /* "-1.1754944e-38," */
    return e->n * (e->width * number + 80) + 6 * e->model.len + 256;
}

/* ---- the server ---------------------------------------------------------------------- */

/* The request fields that set each sampler. */
static const char *const sampler_field[VUG_SAMPLER_COUNT] = {
    [VUG_SAMPLER_REPETITION] = "repetition_penalty",
    [VUG_SAMPLER_PRESENCE] = "presence_penalty",
    [VUG_SAMPLER_FREQUENCY] = "frequency_penalty",
    [VUG_SAMPLER_TEMPERATURE] = "temperature",
    [VUG_SAMPLER_TOP_K] = "top_k",
    [VUG_SAMPLER_TOP_P] = "top_p",
    [VUG_SAMPLER_MIN_P] = "min_p",
    [VUG_SAMPLER_TOP_N_SIGMA] = "top_n_sigma",
    [VUG_SAMPLER_TYPICAL_P] = "typical_p",
    [VUG_SAMPLER_XTC] = "xtc_probability",
    [VUG_SAMPLER_XTC_THRESHOLD] = "xtc_threshold",
    [VUG_SAMPLER_REPEAT_LAST_N] = "repeat_last_n",
    [VUG_SAMPLER_DRY] = "dry_multiplier",
    [VUG_SAMPLER_DRY_BASE] = "dry_base",
    [VUG_SAMPLER_DRY_ALLOWED_LENGTH] = "dry_allowed_length",
    [VUG_SAMPLER_DRY_LAST_N] = "dry_penalty_last_n",
};

void vug_api_props_write(const vug_api_props *props, vug_buf *to)
{
    char build[64];
    (void)snprintf(build, sizeof(build), "vug %s", vug_version());
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "model", props->model);
    vug_json_put_string(&js, "architecture", props->architecture);
    vug_json_put_string(&js, "build_info", build);
    vug_json_put_i64(&js, "total_slots", props->slots);
    vug_json_begin(&js, "modalities", '{');
    vug_json_put_bool(&js, "vision", false);
    vug_json_put_bool(&js, "audio", false);
    vug_json_end(&js, '}');
    vug_json_put_string(&js, "chat_template_source", props->template_source);
    vug_json_begin(&js, "default_generation_settings", '{');
    vug_json_put_i64(&js, "n_ctx", props->context);
    vug_json_begin(&js, "params", '{');
    for (size_t i = 0; i < props->sampling->n; i++) {
        const vug_sampler_config *stage = &props->sampling->sampler[i];
        if (sampler_field[stage->kind])
            vug_json_put_f32(&js, sampler_field[stage->kind], stage->value);
    }
    vug_json_end(&js, '}');
    vug_json_end(&js, '}');
    vug_json_end(&js, '}');
}

void vug_api_version_write(vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "version", vug_version());
    vug_json_end(&js, '}');
}

/* The names are those of tokenizer_config.json, which vLLM's server sends. */
void vug_api_tokenizer_info_write(const vug_api_tokenizer_info *info, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "tokenizer_class", "vug");
    vug_json_put_string(&js, "bos_token", info->bos);
    vug_json_put_string(&js, "eos_token", info->eos);
    vug_json_put_bool(&js, "add_bos_token", info->bos != NULL);
    vug_json_put_i64(&js, "vocab_size", info->size);
    vug_json_put_i64(&js, "model_max_length", info->context);
    vug_json_put_string(&js, "chat_template_source", info->template_source);
    vug_json_end(&js, '}');
}

/* id, n_ctx and is_processing are names of llama.cpp's server, the numbers of tokens those of
 * OpenAI's usage. */
void vug_api_slot_write(const vug_api_slot *slot, vug_json_writer *js)
{
    static const char *const state[] = {
#define X(id, name) [VUG_API_SLOT_##id] = (name),
        VUG_API_SLOT_STATE_TABLE(X)
#undef X
    };
    vug_json_begin(js, NULL, '{');
    vug_json_put_u64(js, "id", slot->id);
    vug_json_put_text(js, "model", slot->model.ptr, slot->model.len);
    vug_json_put_i64(js, "n_ctx", slot->context);
    vug_json_put_bool(js, "is_processing", slot->state != VUG_API_SLOT_WAITING);
    vug_json_put_string(js, "state", state[slot->state]);
    vug_json_put_i64(js, "priority", slot->priority);
    vug_json_put_u64(js, "prompt_tokens", slot->prompt_tokens);
    vug_json_put_u64(js, "cached_tokens", slot->cached_tokens);
    vug_json_put_u64(js, "completion_tokens", slot->completion_tokens);
    vug_json_put_i64(js, "max_tokens", slot->max_tokens);
    vug_json_end(js, '}');
}
