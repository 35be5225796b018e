#include <inttypes.h>

#include "app/server/api/answer.h"
#include "app/server/api/answer_write.h"
#include "core/text.h"

/* Answers of the endpoints that do not generate. */

void vug_api_model_write(const vug_api_model *model, vug_buf *to)
{
    vug_buf_puts(to, "{\"id\":");
    vug_json_write_string(to, model->id.ptr, model->id.len);
    /* Clients read the context under the one name or the other. */
    vug_buf_printf(to,
                   ",\"object\":\"model\",\"created\":%" PRId64 ",\"owned_by\":\"vug\","
                   "\"context_length\":%" PRId64 ",\"max_model_len\":%" PRId64 "}",
                   model->created, model->context, model->context);
}

void vug_api_models_write(const vug_api_model *model, size_t n, vug_buf *to)
{
    vug_buf_puts(to, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < n; i++) {
        vug_buf_puts(to, i ? "," : "");
        vug_api_model_write(&model[i], to);
    }
    vug_buf_puts(to, "]}");
}

/* A string, or the bytes where they are no text by themselves, as llama.cpp's server has it. */
static void write_piece(vug_str piece, vug_buf *to)
{
    uint32_t cp;
    size_t i = 0, n = 1;
    while (i < piece.len && (n = vug_utf8_next(piece.ptr + i, piece.len - i, &cp)) > 0)
        i += n;
    if (i == piece.len) {
        vug_json_write_string(to, piece.ptr, piece.len);
        return;
    }
    vug_buf_puts(to, "[");
    for (i = 0; i < piece.len; i++)
        vug_buf_printf(to, "%s%u", i ? "," : "", (unsigned char)piece.ptr[i]);
    vug_buf_puts(to, "]");
}

void vug_api_tokenize_write(const vug_api_request *request, const vug_api_tokens *tokens,
                            vug_buf *to)
{
    vug_buf_printf(to, "{\"count\":%zu,\"max_model_len\":%" PRId64 ",\"tokens\":[", tokens->n,
                   tokens->context);
    for (size_t i = 0; i < tokens->n; i++) {
        const int32_t id = tokens->id[i];
        vug_buf_printf(to, request->pieces ? "%s{\"id\":%" PRId32 ",\"piece\":" : "%s%" PRId32,
                       i ? "," : "", id);
        if (!request->pieces)
            continue;
        write_piece(tokens->spell(id, tokens->user), to);
        vug_buf_puts(to, "}");
    }
    vug_buf_puts(to, "]");
    if (request->number[VUG_FIELD_return_token_strs] != 0) {
        vug_buf_puts(to, ",\"token_strs\":[");
        for (size_t i = 0; i < tokens->n; i++) {
            const vug_str piece = tokens->spell(tokens->id[i], tokens->user);
            vug_buf_puts(to, i ? "," : "");
            vug_json_write_string(to, piece.ptr, piece.len);
        }
        vug_buf_puts(to, "]");
    }
    vug_buf_puts(to, "}");
}

/* llama.cpp's server calls it content, vLLM's prompt. */
void vug_api_detokenize_write(const char *text, size_t len, vug_buf *to)
{
    vug_buf_puts(to, "{\"content\":");
    vug_json_write_string(to, text, len);
    vug_buf_puts(to, ",\"prompt\":");
    vug_json_write_string(to, text, len);
    vug_buf_puts(to, "}");
}

void vug_api_template_write(const char *text, size_t len, vug_buf *to)
{
    vug_buf_puts(to, "{\"prompt\":");
    vug_json_write_string(to, text, len);
    vug_buf_puts(to, "}");
}

/* Fields of requests, by the stage that they become. */
static const char *const stage_field[VUG_SAMPLER_COUNT] = {
    [VUG_SAMPLER_REPETITION] = "repetition_penalty",
    [VUG_SAMPLER_PRESENCE] = "presence_penalty",
    [VUG_SAMPLER_FREQUENCY] = "frequency_penalty",
    [VUG_SAMPLER_TEMPERATURE] = "temperature",
    [VUG_SAMPLER_TOP_K] = "top_k",
    [VUG_SAMPLER_TOP_P] = "top_p",
    [VUG_SAMPLER_MIN_P] = "min_p",
};

void vug_api_props_write(const vug_api_props *props, vug_buf *to)
{
    vug_buf_puts(to, "{\"model\":");
    vug_write_name(to, props->model);
    vug_buf_puts(to, ",\"architecture\":");
    vug_write_name(to, props->architecture);
    vug_buf_printf(to,
                   ",\"build_info\":\"vug %s\",\"total_slots\":%d,"
                   "\"modalities\":{\"vision\":false,\"audio\":false},\"chat_template_source\":",
                   vug_version(), props->slots);
    vug_write_name(to, props->template_source);
    vug_buf_printf(to, ",\"default_generation_settings\":{\"n_ctx\":%" PRId64 ",\"params\":{",
                   props->context);
    bool first = true;
    for (size_t i = 0; i < props->sampling->n; i++) {
        const vug_sampler_stage *stage = &props->sampling->stage[i];
        if (!stage_field[stage->kind])
            continue;
        vug_buf_printf(to, "%s\"%s\":", first ? "" : ",", stage_field[stage->kind]);
        vug_json_write_f32(to, stage->value);
        first = false;
    }
    vug_buf_puts(to, "}}}");
}
