

#include "test.h"

#include "core/json_writer.h"
#include "core/os.h"
#include "tiny_model.h"

/* The order of ids: these, 256 bytes, the space's stand-in, ASCII, merges, filler. */
static const char *const special[] = { "<pad>", "<eos>",           "<bos>",
                                       "<unk>", "<start_of_turn>", "<end_of_turn>" };
static const char *const merges[][2] = { { "h", "e" }, { "l", "l" }, { "he", "ll" } };

enum {
    N_SPECIAL = sizeof(special) / sizeof(*special),
    N_MERGES = sizeof(merges) / sizeof(*merges)
};

static void put_entry(vug_buf *to, const char *text, size_t len, int *id)
{
    vug_buf_puts(to, *id ? "," : "");
    vug_json_append_string(to, text, len);
    vug_buf_printf(to, ":%d", (*id)++);
}

static void put_vocab(vug_buf *to, int n_vocab)
{
    char text[32];
    int id = 0;
    for (size_t i = 0; i < N_SPECIAL; i++)
        put_entry(to, special[i], strlen(special[i]), &id);
    for (int byte = 0; byte < 256; byte++) {
        const int n = snprintf(text, sizeof(text), "<0x%02X>", (unsigned)byte);
        put_entry(to, text, (size_t)n, &id);
    }
    put_entry(to, "\xe2\x96\x81", 3, &id);
    put_entry(to, "\n", 1, &id);
    for (int c = '!'; c <= '~'; c++) {
        text[0] = (char)c;
        put_entry(to, text, 1, &id);
    }
    for (size_t i = 0; i < N_MERGES; i++) {
        const int n = snprintf(text, sizeof(text), "%s%s", merges[i][0], merges[i][1]);
        put_entry(to, text, (size_t)n, &id);
    }
    while (id < n_vocab) {
        const int n = snprintf(text, sizeof(text), "<unused%d>", id);
        put_entry(to, text, (size_t)n, &id);
    }
}

void tiny_tokenizer(const scratch *to, int n_vocab)
{
    vug_buf json = { 0 };
    vug_buf_puts(&json,
                 "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    for (size_t i = 0; i < N_SPECIAL; i++)
        vug_buf_printf(&json,
                       "%s{\"id\":%zu,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,"
                       "\"rstrip\":false,\"normalized\":false,\"special\":true}",
                       i ? "," : "", i, special[i]);
    vug_buf_puts(
            &json,
            "],\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
            "\"content\":\"\xe2\x96\x81\"},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":"
            "{\"String\":\" \"},\"behavior\":\"MergedWithPrevious\",\"invert\":false},"
            "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
            "{\"id\":\"<bos>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
            "\"pair\":[],\"special_tokens\":{\"<bos>\":{\"id\":\"<bos>\",\"ids\":[2],"
            "\"tokens\":[\"<bos>\"]}}},\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
            "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
            "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\","
            "\"dropout\":null,\"unk_token\":\"<unk>\",\"continuing_subword_prefix\":null,"
            "\"end_of_word_suffix\":null,\"fuse_unk\":true,\"byte_fallback\":true,"
            "\"ignore_merges\":false,\"vocab\":{");
    put_vocab(&json, n_vocab);
    vug_buf_puts(&json, "},\"merges\":[");
    for (size_t i = 0; i < N_MERGES; i++)
        vug_buf_printf(&json, "%s[\"%s\",\"%s\"]", i ? "," : "", merges[i][0], merges[i][1]);
    vug_buf_puts(&json, "]}}");
    assert_int_equal(vug_buf_ok(&json, NULL), VUG_OK);
    scratch_write(to, "tokenizer.json", json.ptr, json.len);
    vug_buf_release(&json);
}

void tiny_copy(const scratch *to, const char *name)
{
    vug_text bytes;
    char from[256];
    (void)snprintf(from, sizeof(from), TINY_SOURCE "/%s", name);
    assert_int_equal(vug_read_file(from, 16 << 20, &bytes, NULL), VUG_OK);
    scratch_write(to, name, bytes.ptr, bytes.len);
    vug_text_release(&bytes);
}

void tiny_model(const scratch *to, int n_vocab)
{
    tiny_copy(to, "config.json");
    tiny_copy(to, "generation_config.json");
    tiny_copy(to, "model.safetensors");
    tiny_tokenizer(to, n_vocab);
}
