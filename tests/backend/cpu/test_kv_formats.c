/*
 * The formats of the KV cache, with whole models. Every golden checkpoint gives the same bits
 * with every kernel set, number of threads and chunk size, and logits at a bounded distance
 * from those of F32. Also rewinding sessions, reported sizes, and where the format is set.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/kernels.h"
#include "engine_help.h"
#include "flow_help.h"
#include "scratch.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"

#define FOLDER "tests/golden/models"

/* ---- every checkpoint ------------------------------------------------------------ */

static vug_verification verify(const char *path, vug_kv_format kv, int threads)
{
    char *reference = vug_path_join(path, "reference.safetensors");
    vug_verification v = { 0 };
    vug_err err = { 0 };
    vug_model *m = help_model(
            path,
            (vug_model_options){ .kv = vug_kv_format_name(kv), .threads = threads, .batch = 64 });
    assert_non_null(reference);
    help_ok(vug_model_verify(m, reference, 1e6, &v, &err), &err);
    if (!v.chunked_identical || !v.stepwise_identical)
        print_error("%s in %s: %d %d\n", path, vug_kv_format_name(kv), v.chunked_identical,
                    v.stepwise_identical);
    assert_true(v.chunked_identical && v.stepwise_identical);
    vug_free(reference);
    vug_model_close(m);
    return v;
}

/* Runs a text longer than the windows with every kernel set. */
static void check_kernel_sets(const char *path, vug_kv_format kv, int64_t n_vocab)
{
    enum { TOKENS = 90 };
    int32_t id[TOKENS];
    float *first = NULL;
    help_tokens(7, id, TOKENS, n_vocab);
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        vug_model *m = help_model(path, (vug_model_options){ .kv = vug_kv_format_name(kv),
                                                             .isa = vug_cpu_kernels_at(i)->name,
                                                             .threads = 1 + i % 3,
                                                             .batch = 37 + 53 * i });
        float *logits = help_alone(m, id, TOKENS);
        if (first)
            help_same_bits(logits, first, (size_t)n_vocab);
        vug_free(first);
        first = logits;
        vug_model_close(m);
    }
    vug_free(first);
}

/*
 * A run in F32 rounds every number that it computes, including keys and values, by a relative
 * error of up to 2^-24, and its logits are `exact.mean_abs` from the reference. If only keys and
 * values are rounded more coarsely, the distance grows at most by the ratio of the relative
 * errors: 2^-11 in F16, 2^-8 in BF16. In 8 bits the error is half a step of amax / 127, and the
 * largest of 32 numbers is at most sqrt(32) times their root mean square.
 */
static void check_distance(const char *path, vug_kv_format kv, const vug_verification *exact,
                           const vug_verification *v)
{
    const double share[VUG_KV_COUNT] = { 0x1p-24, 0x1p-11, 0x1p-8, sqrt(32) / 254 };
    const double most = exact->mean_abs * (share[kv] / 0x1p-24);
    if (v->mean_abs > most || v->mean_abs < 10 * exact->mean_abs)
        fail_msg("%s in %s: %g from the reference, F32 %g, at most %g", path,
                 vug_kv_format_name(kv), v->mean_abs, exact->mean_abs, most);
}

static void check_folder(const char *path)
{
    const vug_verification exact = verify(path, VUG_KV_F32, 1);
    double before = 0;
    for (int kv = VUG_KV_F16; kv < VUG_KV_COUNT; kv++) {
        const vug_verification v = verify(path, (vug_kv_format)kv, 1 + kv % 2);
        check_distance(path, (vug_kv_format)kv, &exact, &v);
        assert_true(v.mean_abs > 1.2 * before); /* coarser formats are further away */
        before = v.mean_abs;
        check_kernel_sets(path, (vug_kv_format)kv, v.n_vocab);
    }
}

static void test_golden_checkpoints(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n, seen = 0;
    vug_err err = { 0 };
    help_ok(vug_list_folder(FOLDER, &arena, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char path[256];
        (void)snprintf(path, sizeof(path), FOLDER "/%.*s", VUG_STR_ARG(name[i]));
        check_folder(path);
        seen++;
    }
    assert_true(seen > 15);
    vug_arena_release(&arena);
}

/* ---- sessions ---------------------------------------------------------------------- */

/* Rewinding a session within the ring buffer and beyond it, then continuing with another text. */
static void test_rewinding(void **state)
{
    (void)state;
    static const char *const path[] = { GOLDEN("gemma3-text"), GOLDEN("gemma4-e") };
    enum { TOKENS = 120 };
    static const size_t length[] = { 100, 90, 97, 20, 21, 120, 119, 60 };
    for (int i = 0; i < 2 * VUG_KV_COUNT; i++) {
        vug_model *m = help_model(
                path[i % 2], (vug_model_options){ .kv = vug_kv_format_name((vug_kv_format)(i / 2)),
                                                  .context = TOKENS,
                                                  .batch = 16 });
        const size_t vocab = (size_t)vug_model_describe(m).n_vocab;
        vug_session *s = help_session(m);
        int32_t id[TOKENS];
        help_tokens(3, id, TOKENS, (int64_t)vocab);
        for (size_t k = 0; k < sizeof(length) / sizeof(length[0]); k++) {
            const size_t n = length[k];
            id[n - 5] = (int32_t)(9 + k); /* another text from here on */
            float *alone = help_alone(m, id, n);
            help_same_bits(help_forward(s, id, n), alone, vocab);
            vug_free(alone);
        }
        vug_session_destroy(s);
        vug_model_close(m);
    }
}

/* ---- bytes -------------------------------------------------------------------------- */

/* The reported size is the sum over the layers, and follows the formula: a head of 32 elements
 * takes 128, 64, 64 or 36 bytes. */
static void test_reported_bytes(void **state)
{
    (void)state;
    static const uint64_t head[VUG_KV_COUNT] = { 128, 64, 64, 36 };
    for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
        vug_model *m = help_model(
                "models/pebble",
                (vug_model_options){ .kv = vug_kv_format_name((vug_kv_format)kv), .lazy = true });
        const vug_model_info info = vug_model_describe(m);
        uint64_t sum = 0;
        assert_string_equal(info.kv, vug_kv_format_name((vug_kv_format)kv));
        for (int64_t i = 0; i < info.n_layers; i++) {
            const vug_layer_info layer = vug_model_layer(m, (size_t)i);
            assert_int_equal(layer.d_head, 32);
            assert_int_equal(layer.cache_bytes,
                             2 * (uint64_t)(layer.slots * layer.n_kv_heads) * head[kv]);
            sum += layer.cache_bytes;
        }
        assert_int_equal(info.memory.session_cache, sum);
        vug_model_close(m);
    }
}

/* ---- where the format is set ----------------------------------------------------------- */

static void check_choice(const char *folder, vug_model_options options, const char *flow_profile,
                         const char *model_kv, const char *flow_kv)
{
    vug_model *m = help_model(folder, options);
    vug_text text = { 0 };
    vug_err err = { 0 };
    char line[64];
    assert_string_equal(vug_model_describe(m).kv, model_kv);
    vug_flow *flow = help_flow(m, (vug_flow_options){ .profile = flow_profile });
    help_ok(vug_flow_passes(flow, &text, &err), &err);
    (void)snprintf(line, sizeof(line), "attention\n  keys and values in %s\n", flow_kv);
    assert_int_equal(strstr(text.ptr, line) != NULL, strcmp(flow_kv, "f32") != 0);
    vug_text_release(&text);
    vug_flow_destroy(flow);
    vug_model_close(m);
}

static void test_options_override_profiles(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_model(&dir, TINY_VOCAB);
    scratch_puts(&dir, "other.toml", "[precision]\nkv = \"bf16\"\n");
    const scratch_path other = scratch_at(&dir, "other.toml");
    check_choice(dir.path, (vug_model_options){ 0 }, NULL, "f32", "f32");
    check_choice(dir.path, (vug_model_options){ 0 }, other.path, "f32", "bf16");
    check_choice(dir.path, (vug_model_options){ .kv = "q8" }, NULL, "q8", "q8");
    check_choice(dir.path, (vug_model_options){ .kv = "q8" }, other.path, "q8", "q8");
    check_choice(dir.path, (vug_model_options){ .profile = other.path }, NULL, "bf16", "bf16");
    scratch_puts(&dir, "vug.toml", "[precision]\nkv = \"f16\"\n");
    check_choice(dir.path, (vug_model_options){ 0 }, NULL, "f16", "f16");
    check_choice(dir.path, (vug_model_options){ 0 }, other.path, "f16", "bf16");
    check_choice(dir.path, (vug_model_options){ 0 }, "prefill", "f16", "f32");
    check_choice(dir.path, (vug_model_options){ .kv = "f32" }, other.path, "f32", "f32");
    vug_model *m = NULL;
    vug_err err = { 0 };
    help_refused(vug_model_open(dir.path, &(vug_model_options){ .kv = "q4" }, &m, &err), &err,
                 VUG_ARGUMENT, NULL, "kv: 'q4', expected \"f32\", \"f16\", \"bf16\" or \"q8\"");
    scratch_remove(&dir);
}

/* A flow computes with the format that it reports. */
static void test_flow_uses_its_own_format(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    scratch_puts(&dir, "q8.toml", "[precision]\nkv = \"q8\"\n");
    const scratch_path profile = scratch_at(&dir, "q8.toml");
    enum { TOKENS = 50 };
    int32_t id[TOKENS];
    vug_model *plain = help_model(GOLDEN("qwen3"), (vug_model_options){ 0 });
    vug_model *rounded = help_model(GOLDEN("qwen3"), (vug_model_options){ .kv = "q8" });
    const size_t vocab = (size_t)vug_model_describe(plain).n_vocab;
    help_tokens(5, id, TOKENS, (int64_t)vocab);
    float *want = help_alone(rounded, id, TOKENS), *exact = help_alone(plain, id, TOKENS);
    vug_flow_program *p = help_program(plain, (vug_flow_options){ .profile = profile.path });
    const float *got = help_run_tokens(p, id, TOKENS, "logits");
    help_same_bits(got, want, vocab);
    assert_true(help_difference(got, exact, vocab) < vocab);
    vug_program_destroy(p);
    vug_free(want);
    vug_free(exact);
    vug_model_close(plain);
    vug_model_close(rounded);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_checkpoints),
        cmocka_unit_test(test_rewinding),
        cmocka_unit_test(test_reported_bytes),
        cmocka_unit_test(test_options_override_profiles),
        cmocka_unit_test(test_flow_uses_its_own_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
