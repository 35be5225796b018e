/* Weights may be any bytes: infinite scales, NaNs, exponents that no quantizer writes. A model with
 * such weights computes nonsense, or fails because it computes no numbers, in every format and on
 * every path, but does no other harm. */
#include "test.h"

#include "engine_help.h"
#include "scratch.h"
#include "short_pebble.h"
#include "vug/checkpoint.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { N_TOKENS = 9, N_ANSWER = 4, N_LAYERS = 2, ALIGNMENT = 32 };

/* The offset of the tensors in a file of `size` bytes: they end with the file, except for
 * padding. */
static size_t data_offset(const char *path, size_t size)
{
    vug_weights *w;
    vug_err err = { 0 };
    help_ok(vug_is_gguf(path) ? vug_weights_open_gguf(path, &w, &err)
                              : vug_weights_open(path, &w, &err),
            &err);
    const uint8_t *first = NULL, *last = NULL;
    for (size_t i = 0; i < vug_weights_count(w); i++) {
        const vug_tensor *t = vug_weights_at(w, i);
        first = !first || t->data < first ? t->data : first;
        last = t->data + t->bytes > last ? t->data + t->bytes : last;
    }
    const size_t n = (size_t)(last - first);
    vug_weights_close(w);
    const size_t padded = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return size - (vug_is_gguf(path) ? padded : n);
}

static const uint8_t patterns[][4] = {
    { 0xff, 0xff, 0xff, 0xff }, /* NaNs; exponents of 255 */
    { 0x00, 0x7c, 0x00, 0x7c }, /* infinite in F16 */
    { 0x80, 0x7f, 0x80, 0xff }, /* in BF16, of both signs */
    { 0x00, 0x00, 0x00, 0x00 },
};

/* Fills bytes with a pattern, or with random bytes that keep some of the old ones. */
static void corrupt(char *bytes, size_t n, size_t how)
{
    uint64_t random = how;
    for (size_t i = 0; i < n; i++) {
        if (how < COUNT(patterns))
            bytes[i] = (char)patterns[how][i % 4];
        else if (how == COUNT(patterns) || help_random(&random, 64) == 0)
            bytes[i] = (char)help_random(&random, 256);
    }
}

enum { N_WAYS = COUNT(patterns) + 2 };

static void write_all(const char *path, const vug_text *bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes->ptr, 1, bytes->len, f), bytes->len);
    assert_int_equal(fclose(f), 0);
}

static void answer(const char *path, vug_model_options o, const vug_sampling *sampling)
{
    o.threads = 1;
    o.context = 32;
    vug_model *m = help_model(path, o);
    vug_session *s = help_session(m);
    const int64_t vocab = vug_model_describe(m).n_vocab;
    int32_t id[N_TOKENS];
    help_tokens(1, id, N_TOKENS, vocab);
    const vug_generate_options how = {
        .max_tokens = N_ANSWER, .sampling = *sampling, .n_top = 2, .ignore_stop = true
    };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    const vug_status st = vug_generate(s, id, N_TOKENS, &how, &g, &err);
    if (st != VUG_FORMAT || !strstr(err.msg, "not finite numbers"))
        help_ok(st, &err);
    assert_int_equal(g.tokens.n, st == VUG_OK ? N_ANSWER : 0);
    for (size_t i = 0; i < g.tokens.n; i++)
        assert_in_range(g.tokens.id[i], 0, vocab - 1);
    vug_generation_release(&g);
    vug_session_destroy(s);
    vug_model_close(m);
}

static void answer_all_ways(const char *path)
{
    static const vug_sampler_config greedy[] = { { VUG_SAMPLER_TEMPERATURE, 0, 0 } };
    static const vug_sampler_config drawn[] = { { VUG_SAMPLER_TEMPERATURE, 1.5f, 0 },
                                                { VUG_SAMPLER_TOP_K, 20, 0 },
                                                { VUG_SAMPLER_TOP_P, 0.9f, 0 },
                                                { VUG_SAMPLER_MIN_P, 0.1f, 0 } };
    const vug_sampling a = { .sampler = greedy, .n = COUNT(greedy), .seed = 1 };
    const vug_sampling b = { .sampler = drawn, .n = COUNT(drawn), .seed = 1 };
    answer(path, (vug_model_options){ 0 }, &a);
    answer(path, (vug_model_options){ .kv = "q8" }, &b);
    answer(path, (vug_model_options){ .isa = "ref", .kv = "f16" }, &b);
}

/* Damages the file `path` of a model (the model itself for a GGUF file) in every way. */
static void check(const char *model, const char *path)
{
    vug_text file;
    vug_err err = { 0 };
    help_ok(vug_read_file(path, (size_t)1 << 30, &file, &err), &err);
    const size_t at = data_offset(model, file.len);
    for (size_t how = 0; how < N_WAYS; how++) {
        corrupt(file.ptr + at, file.len - at, how);
        write_all(path, &file);
        answer_all_ways(model);
    }
    vug_text_release(&file);
}

static void check_type(const char *golden, const char *type)
{
    scratch s = scratch_make();
    vug_err err = { 0 };
    const bool fp4 = strcmp(type, "mlx_fp4") == 0, folder = strncmp(type, "mlx", 3) == 0;
    const scratch_path out = scratch_at(&s, folder ? "out" : "out.gguf");
    const char *named = fp4 ? "mxfp4" : type;
    help_ok(vug_convert(golden, out.path,
                        &(vug_convert_options){ .type = named, .embed = named, .head = named },
                        &err),
            &err);
    check(out.path, folder ? scratch_at(&s, "out/model.safetensors").path : out.path);
    scratch_remove(&s);
}

static void test_every_format(void **state)
{
    (void)state;
    static const char *const types[] = { "bf16", "f16",  "f32",    "q4_0",    "q4_1",    "q5_0",
                                         "q5_1", "q8_0", "iq4_nl", "mxfp4",   "mlx2/32", "mlx3/32",
                                         "mlx4", "mlx5", "mlx6",   "mlx8/32", "mlx_fp4" };
    for (size_t i = 0; i < COUNT(types); i++)
        check_type(GOLDEN("gemma3-text"), types[i]);
}

static void test_super_blocks(void **state)
{
    (void)state;
    static const char *const types[] = { "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs" };
    scratch pebble = scratch_make();
    short_pebble(&pebble, N_LAYERS);
    for (size_t i = 0; i < COUNT(types); i++)
        check_type(pebble.path, types[i]);
    scratch_remove(&pebble);
}

/* Routers choose experts by NaNs. */
static void test_every_architecture(void **state)
{
    (void)state;
    static const char *const golden[] = {
        GOLDEN("gemma1"),     GOLDEN("gemma2"),    GOLDEN("gemma4-e"),
        GOLDEN("gemma4-moe"), GOLDEN("qwen3-moe"), GOLDEN("qwen2"),
        GOLDEN("qwen3"),      GOLDEN("llama3"),    GOLDEN("qwen3-yarn"),
    };
    for (size_t i = 0; i < COUNT(golden); i++) {
        check_type(golden[i], "bf16");
        check_type(golden[i], "q8_0");
    }
}

/* Importance that is infinite, negative or NaN: every weight still gets a valid value. */
static void test_any_importance(void **state)
{
    (void)state;
    static const char *const outs[N_WAYS][2] = { { "a.gguf", "q4_k" },  { "b.gguf", "q8_0" },
                                                 { "c.gguf", "mxfp4" }, { "d", "mlx4" },
                                                 { "e.gguf", "q2_k" },  { "f.gguf", "iq4_xs" } };
    scratch s = scratch_make(), pebble = scratch_make();
    short_pebble(&pebble, N_LAYERS);
    const scratch_path file = scratch_at(&s, "i.gguf");
    vug_model *m = help_model(pebble.path, (vug_model_options){ .threads = 1, .context = 16 });
    vug_err err = { 0 };
    help_ok(vug_importance_collect(m, "a b", 3, file.path, NULL, &err), &err);
    vug_model_close(m);
    vug_text bytes;
    help_ok(vug_read_file(file.path, (size_t)1 << 30, &bytes, &err), &err);
    const size_t at = data_offset(file.path, bytes.len);
    for (size_t how = 0; how < N_WAYS; how++) {
        corrupt(bytes.ptr + at, bytes.len - at, how);
        write_all(file.path, &bytes);
        const scratch_path out = scratch_at(&s, outs[how][0]);
        const vug_convert_options o = { .type = outs[how][1], .importance = file.path };
        help_ok(vug_convert(pebble.path, out.path, &o, &err), &err);
        answer_all_ways(out.path);
    }
    vug_text_release(&bytes);
    scratch_remove(&pebble);
    scratch_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_super_blocks),
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_any_importance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
