/* Conversion of everything beside the weights, to GGUF and back: tokenizers that are arrays or a
 * tokenizer.model, sampling defaults, ids in the config. */
#include "test.h"

#include "engine_help.h"
#include "scratch.h"
#include "text/text.h"
#include "vug/checkpoint.h"

static const char pebble[] = "models/pebble";

static void count_note(const char *message, void *user)
{
    int *n = user;
    print_message("%s\n", message);
    assert_non_null(strstr(message, "the new checkpoint has no tokenizer: "));
    (*n)++;
}

static int convert(const char *model, const char *out)
{
    vug_err err = { 0 };
    int notes = 0;
    const vug_convert_options o = { .note = count_note, .user = &notes };
    help_ok(vug_convert(model, out, &o, &err), &err);
    return notes;
}

static vug_text read(const char *path)
{
    vug_text text;
    vug_err err = { 0 };
    help_ok(vug_read_file(path, (size_t)1 << 28, &text, &err), &err);
    return text;
}

static bool has(const vug_text *text, const char *part)
{
    return strstr(text->ptr, part) != NULL;
}

/* Both tokenizers encode and decode a text in the same way. */
static void assert_same_ids(const char *a, const char *b)
{
    vug_text text = read("docs/architecture.md");
    vug_tokenizer *x, *y;
    vug_tokens i, k;
    vug_err err = { 0 };
    help_ok(vug_tokenizer_open(a, &x, &err), &err);
    help_ok(vug_tokenizer_open(b, &y, &err), &err);
    const unsigned flags = VUG_ENCODE_ADD_SPECIAL | VUG_ENCODE_PARSE_SPECIAL;
    help_ok(vug_tokenizer_encode(x, text.ptr, text.len, flags, &i, &err), &err);
    help_ok(vug_tokenizer_encode(y, text.ptr, text.len, flags, &k, &err), &err);
    assert_int_equal(i.n, k.n);
    assert_memory_equal(i.id, k.id, i.n * sizeof(*i.id));
    vug_tokens_release(&i);
    vug_tokens_release(&k);
    vug_tokenizer_close(x);
    vug_tokenizer_close(y);
    vug_text_release(&text);
}

/* The file with an X at offset `at` after the first `where`. */
static void corrupt(const scratch *s, const char *from, const char *to, const char *where,
                    size_t at)
{
    vug_text file = read(scratch_at(s, from).path);
    const size_t n = strlen(where);
    size_t i = 0;
    while (i + n <= file.len && memcmp(file.ptr + i, where, n) != 0)
        i++;
    assert_true(i + n <= file.len);
    file.ptr[i + at] = 'X';
    scratch_write(s, to, file.ptr, file.len);
    vug_text_release(&file);
}

/* A file that has only the arrays becomes a folder with a tokenizer.json. */
static void test_tokenizer_arrays_round_trip(void **state)
{
    (void)state;
    scratch s = scratch_make();
    assert_int_equal(convert(pebble, scratch_at(&s, "a.gguf").path), 0);
    corrupt(&s, "a.gguf", "b.gguf", "tokenizer.huggingface.json", 0);
    assert_same_ids(pebble, scratch_at(&s, "b.gguf").path);
    assert_int_equal(convert(scratch_at(&s, "b.gguf").path, scratch_at(&s, "b").path), 0);
    assert_true(vug_file_exists(scratch_at(&s, "b/tokenizer.json").path));
    assert_same_ids(pebble, scratch_at(&s, "b").path);
    /* An unsupported kind gives a note. */
    corrupt(&s, "b.gguf", "c.gguf", "tokenizer.ggml.model\x08\0\0\0\x06", 20 + 4 + 8);
    assert_int_equal(convert(scratch_at(&s, "c.gguf").path, scratch_at(&s, "c").path), 1);
    assert_false(vug_file_exists(scratch_at(&s, "c/tokenizer.json").path));
    scratch_remove(&s);
}

static void copy_in(const scratch *s, const char *folder, const char *from, const char *name)
{
    char to[64];
    vug_text file = read(from);
    (void)snprintf(to, sizeof(to), "%s/%s", folder, name);
    scratch_write(s, to, file.ptr, file.len);
    vug_text_release(&file);
}

#define SPM "tests/golden/text/sentencepiece/"

/* A tokenizer.model becomes a tokenizer.json and, if possible, arrays. */
static void test_sentencepiece_round_trip(void **state)
{
    (void)state;
    scratch s = scratch_make();
    static const char *const files[] = { "config.json", "model.safetensors" };
    static const char *const folders[] = { "bpe", "symbols" };
    for (int i = 0; i < 2; i++) {
        char from[64];
        assert_int_equal(mkdir(scratch_at(&s, folders[i]).path, 0700), 0);
        for (int k = 0; k < 2; k++) {
            (void)snprintf(from, sizeof(from), "models/pebble/%s", files[k]);
            copy_in(&s, folders[i], from, files[k]);
        }
    }
    copy_in(&s, "bpe", SPM "bpe-llama.model", "tokenizer.model");
    copy_in(&s, "symbols", SPM "bpe-bytes.model", "tokenizer.model");
    assert_int_equal(convert(scratch_at(&s, "bpe").path, scratch_at(&s, "bpe.gguf").path), 0);
    assert_same_ids(scratch_at(&s, "bpe").path, scratch_at(&s, "bpe.gguf").path);
    corrupt(&s, "bpe.gguf", "arrays.gguf", "tokenizer.huggingface.json", 0);
    assert_same_ids(scratch_at(&s, "bpe").path, scratch_at(&s, "arrays.gguf").path);
    assert_int_equal(convert(scratch_at(&s, "symbols").path, scratch_at(&s, "symbols.gguf").path),
                     1);
    scratch_remove(&s);
}

static void assert_sampling(const vug_sampling_defaults *a, const vug_sampling_defaults *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(a->sampler[i].kind, b->sampler[i].kind);
        assert_true(a->sampler[i].value == b->sampler[i].value);
    }
}

static void check_generation(const char *generation, const char *part)
{
    scratch s = scratch_make();
    vug_checkpoint from = { 0 }, gguf = { 0 }, back = { 0 };
    vug_err err = { 0 };
    assert_int_equal(mkdir(scratch_at(&s, "a").path, 0700), 0);
    copy_in(&s, "a", "models/pebble/config.json", "config.json");
    copy_in(&s, "a", "models/pebble/model.safetensors", "model.safetensors");
    if (generation)
        scratch_puts(&s, "a/generation_config.json", generation);
    convert(scratch_at(&s, "a").path, scratch_at(&s, "a.gguf").path);
    convert(scratch_at(&s, "a.gguf").path, scratch_at(&s, "b").path);
    help_ok(vug_checkpoint_open(scratch_at(&s, "a").path, &from, &err), &err);
    help_ok(vug_checkpoint_open(scratch_at(&s, "a.gguf").path, &gguf, &err), &err);
    help_ok(vug_checkpoint_open(scratch_at(&s, "b").path, &back, &err), &err);
    assert_sampling(&from.sampling, &gguf.sampling);
    assert_sampling(&from.sampling, &back.sampling);
    assert_int_equal(from.n_stop, back.n_stop);
    assert_memory_equal(from.stop, gguf.stop, from.n_stop * sizeof(*from.stop));
    assert_memory_equal(from.stop, back.stop, from.n_stop * sizeof(*from.stop));
    const scratch_path written = scratch_at(&s, "b/generation_config.json");
    assert_int_equal(vug_file_exists(written.path), part != NULL);
    if (part) {
        vug_text text = read(written.path);
        if (!has(&text, part))
            fail_msg("%s", text.ptr);
        vug_text_release(&text);
    }
    vug_checkpoint_release(&from);
    vug_checkpoint_release(&gguf);
    vug_checkpoint_release(&back);
    scratch_remove(&s);
}

static void test_generation_config_round_trip(void **state)
{
    (void)state;
    check_generation(
            "{\"eos_token_id\":[1,6,7,9],\"do_sample\":true,\"temperature\":0.7,\"top_k\":20,"
            "\"top_p\":0.8,\"min_p\":0.05,\"repetition_penalty\":1.05,\"repeat_last_n\":64,"
            "\"xtc_probability\":0.5,\"xtc_threshold\":0.25}",
            "\"temperature\":0.7");
    check_generation("{\"eos_token_id\":5,\"do_sample\":false}", "\"do_sample\":false");
    check_generation(NULL, NULL);
}

/* The config gets the ids, and no empty keys. */
static void test_config_round_trip(void **state)
{
    (void)state;
    scratch s = scratch_make();
    convert(pebble, scratch_at(&s, "a.gguf").path);
    convert(scratch_at(&s, "a.gguf").path, scratch_at(&s, "a").path);
    vug_text text = read(scratch_at(&s, "a/config.json").path);
    assert_true(has(&text, "\"bos_token_id\":2"));
    assert_true(has(&text, "\"pad_token_id\":0"));
    assert_true(has(&text, "\"dtype\":\"bfloat16\""));
    vug_text_release(&text);
    /* The config does not have it. */
    assert_int_equal(mkdir(scratch_at(&s, "from").path, 0700), 0);
    copy_in(&s, "from", "models/pebble/model.safetensors", "model.safetensors");
    copy_in(&s, "from", "models/pebble/config.json", "config.json");
    corrupt(&s, "from/config.json", "from/config.json", "dtype\"", 0);
    convert(scratch_at(&s, "from").path, scratch_at(&s, "b.gguf").path);
    convert(scratch_at(&s, "b.gguf").path, scratch_at(&s, "b").path);
    text = read(scratch_at(&s, "b/config.json").path);
    assert_false(has(&text, "dtype"));
    vug_text_release(&text);
    scratch_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenizer_arrays_round_trip),
        cmocka_unit_test(test_sentencepiece_round_trip),
        cmocka_unit_test(test_generation_config_round_trip),
        cmocka_unit_test(test_config_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
