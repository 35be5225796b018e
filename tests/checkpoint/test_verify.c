/*
 * The golden checkpoints: every folder of tests/golden/models is verified with every
 * row of CPU kernels that runs here. All must agree with the reference and, as
 * backend/cpu/kernels.h promises, with each other to the bit on one, two and three threads.
 * Then the verification itself: its numbers, and the references it refuses.
 */
#include "test.h"

#include <math.h>
#include <unistd.h>

#include "backend/cpu/kernels.h"
#include "core/os.h"
#include "engine_help.h"
#include "scratch.h"
#include "vug/checkpoint.h"

#define FOLDER "tests/golden/models"

static const double tolerance = 2e-4;

/* ---- every checkpoint ------------------------------------------------------------ */

static void verify(vug_model *m, const char *path, const char *isa, int threads)
{
    char *reference = vug_path_join(path, "reference.safetensors");
    vug_verification v = { 0 };
    vug_err err = { 0 };
    assert_non_null(reference);
    help_ok(vug_model_verify(m, reference, 0, &v, &err), &err);
    if (!v.pass)
        print_error("%s, %s, %d threads: max %g, %d of %d greedy, first layer %d\n", path, isa,
                    threads, v.max_abs, (int)v.n_greedy_equal, (int)v.n_greedy,
                    v.first_diverging_layer);
    assert_true(v.pass);
    assert_true(v.tolerance == (strstr(path, "gemma4") ? 1e-3 : tolerance));
    assert_true(v.max_abs <= v.tolerance && v.mean_abs <= v.max_abs);
    assert_true(v.chunked_identical && v.stepwise_identical);
    assert_true(v.n_greedy > 0 && v.n_greedy_equal == v.n_greedy);
    assert_int_equal(v.first_diverging_layer, -1);
    assert_true(fabs(v.mean_kl) < 1e-6);
    assert_true(v.top1 == 1);
    vug_free(reference);
}

/* Compares the last logits of a prompt that is longer than the windows with those of the first
 * call, which `first` [n_vocab] keeps for vug_free. */
static void compare_logits(vug_model *m, float **first)
{
    enum { TOKENS = 90 };
    const int64_t vocab = vug_model_describe(m).n_vocab;
    int32_t id[TOKENS];
    help_tokens(7, id, TOKENS, vocab);
    float *logits = help_alone(m, id, TOKENS);
    if (!*first) {
        *first = logits;
    } else {
        assert_memory_equal(logits, *first, (size_t)vocab * sizeof(float));
        vug_free(logits);
    }
}

static void verify_folder(const char *path)
{
    enum { MAX_THREADS = 3 };
    float *first = NULL;
    for (int row = 0; row < vug_cpu_kernels_count(); row++) {
        const char *isa = vug_cpu_kernels_at(row)->name;
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            vug_model *m = help_model(path, (vug_model_options){ .isa = isa, .threads = threads });
            /* The reference kernels are slow: they are verified once, and compared for each count. */
            if (strcmp(isa, "ref") != 0 || threads == MAX_THREADS)
                verify(m, path, isa, threads);
            compare_logits(m, &first);
            vug_model_close(m);
        }
    }
    vug_free(first);
}

static void test_golden_checkpoints_pass(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n, n_verified = 0;
    vug_err err = { 0 };
    help_ok(vug_list_folder(FOLDER, &arena, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = vug_path_join(FOLDER, name[i].ptr);
        assert_non_null(path);
        verify_folder(path);
        vug_free(path);
        n_verified++;
    }
    assert_true(n_verified >= 19); /* tests/golden/README.md */
    vug_arena_release(&arena);
}

/* Activations in BF16 change logits, but not with the kernels, the threads or the chunks. */
static void test_bf16_activations(void **state)
{
    (void)state;
    static const char *const models[] = { "gemma3-text", "qwen2", "gemma4-moe" };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        char *path = vug_path_join(FOLDER, models[i]);
        char *reference = vug_path_join(path, "reference.safetensors");
        float *first = NULL;
        for (int row = 0; row < vug_cpu_kernels_count(); row++) {
            vug_model *m =
                    help_model(path, (vug_model_options){ .isa = vug_cpu_kernels_at(row)->name,
                                                          .threads = 1 + row % 2,
                                                          .activations = "bf16" });
            vug_verification v = { 0 };
            vug_err err = { 0 };
            assert_string_equal(vug_model_describe(m).activations, "bf16");
            help_ok(vug_model_verify(m, reference, 0, &v, &err), &err);
            assert_true(v.chunked_identical && v.stepwise_identical);
            assert_true(v.max_abs > v.tolerance);
            assert_true(fabs(v.mean_kl) < 0.01);
            compare_logits(m, &first);
            vug_model_close(m);
        }
        vug_free(first);
        vug_free(reference);
        vug_free(path);
    }
}

/* ---- references that differ or lie ------------------------------------------------- */

enum { T = 9, V = 384 };

/* A reference of gemma3-scale with the model's own results, except for the changes that a test
 * makes. */
typedef struct {
    int32_t id[T];
    float logits[T][V];
    int32_t greedy[2];
    int32_t position[3];
    int n_positions;  /* 0: all, without the tensor */
    int64_t rows;     /* of input_ids */
    bool id_as_float; /* the same bytes under another name */
} fake;

static bool keep(const vug_step *step, void *user)
{
    fake *f = user;
    memcpy(f->logits[step->first], step->logits, (size_t)(step->n * V) * sizeof(float));
    return true;
}

static int32_t best(const float *row)
{
    int32_t at = 0;
    for (int32_t i = 1; i < V; i++)
        at = row[i] > row[at] ? i : at;
    return at;
}

/* The greedy continuation that begins with `first`. */
static void continue_with(vug_session *s, fake *f, int32_t first)
{
    int32_t seen[T + 1];
    memcpy(seen, f->id, sizeof(f->id));
    seen[T] = f->greedy[0] = first;
    f->greedy[1] = best(help_forward(s, seen, T + 1));
}

static void make_fake(vug_model *m, fake *f)
{
    vug_err err = { 0 };
    const vug_forward_options o = { .all_logits = true, .on_step = keep, .user = f };
    vug_session *s = help_session(m);
    *f = (fake){ .rows = T };
    help_tokens(3, f->id, T, V);
    help_ok(vug_session_forward(s, f->id, T, &o, &err), &err);
    continue_with(s, f, best(f->logits[T - 1]));
    vug_session_destroy(s);
}

static vug_status fill(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    const fake *f = user;
    const void *source[] = { f->id, f->logits, f->greedy, f->position };
    (void)err;
    memcpy(bytes, (const uint8_t *)source[i] + at, n);
    return VUG_OK;
}

static scratch_path write_fake(const scratch *dir, fake *f)
{
    const scratch_path path = scratch_at(dir, "reference.safetensors");
    const vug_dtype ids = f->id_as_float ? VUG_DTYPE_F32 : VUG_DTYPE_I32;
    const vug_tensor_spec spec[] = {
        { vug_str_of("input_ids"), ids, 1, { f->rows } },
        { vug_str_of("logits"), VUG_DTYPE_F32, 2, { f->n_positions ? f->n_positions : T, V } },
        { vug_str_of("greedy"), VUG_DTYPE_I32, 1, { 2 } },
        { vug_str_of("positions"), VUG_DTYPE_I32, 1, { f->n_positions } },
    };
    vug_err err = { 0 };
    const vug_tensor_stream tensors = {
        .tensor = spec, .n = f->n_positions ? 4 : 3, .fill = fill, .user = f
    };
    help_ok(vug_safetensors_write(path.path, &tensors, &err), &err);
    return path;
}

static void judge(vug_model *m, const scratch *dir, fake *f, vug_verification *v)
{
    const scratch_path path = write_fake(dir, f);
    vug_err err = { 0 };
    help_ok(vug_model_verify(m, path.path, 0, v, &err), &err);
}

static void refuse(vug_model *m, const scratch *dir, fake *f, vug_status code, const char *expected)
{
    const scratch_path path = write_fake(dir, f);
    vug_verification v;
    vug_err err = { 0 };
    help_refused(vug_model_verify(m, path.path, 0, &v, &err), &err, code, dir->path, expected);
}

static void test_comparison_numbers_are_right(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_model *m = help_model(GOLDEN("gemma3-scale"), (vug_model_options){ .threads = 1 });
    fake *f = vug_alloc(1, sizeof(*f));
    vug_verification v;
    make_fake(m, f);
    judge(m, &dir, f, &v);
    assert_true(v.pass && v.max_abs == 0 && v.mean_abs == 0 && v.top1 == 1);
    assert_true(v.tolerance == tolerance && v.n_tokens == T && v.n_vocab == V);
    assert_true(v.n_greedy == 2 && v.n_greedy_equal == 2 && v.n_greedy_ties == 0);

    /* One logit differs by 0.5: that is the largest difference and, divided by T*V, the mean. */
    float *one = &f->logits[T - 1][best(f->logits[T - 1])];
    *one += 0.5F;
    judge(m, &dir, f, &v);
    assert_false(v.pass);
    assert_true(fabs(v.max_abs - 0.5) < 1e-6);
    assert_true(fabs(v.mean_abs - 0.5 / (T * V)) < 1e-9);
    assert_true(v.mean_kl > 0 && v.top1 == 1);
    *one = NAN;
    judge(m, &dir, f, &v);
    assert_false(v.pass);
    assert_true(isinf(v.max_abs));

    /* Another continuation counts up to the first different token. */
    make_fake(m, f);
    f->greedy[1] ^= 1;
    judge(m, &dir, f, &v);
    assert_false(v.pass);
    assert_true(v.n_greedy_equal == 1 && v.max_abs == 0);
    vug_free(f);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* gemma3-scale with logits between -1e-3 and 1e-3, so that tokens with positive ones tie. */
static vug_model *open_flat_model(const scratch *dir)
{
    static const char none[] = "\"final_logit_softcapping\": null";
    static const char flat[] = "\"final_logit_softcapping\": 1e-3";
    char here[1024], weights[1100];
    vug_text config;
    vug_err err = { 0 };
    help_ok(vug_read_file(GOLDEN("gemma3-scale") "/config.json", 1 << 20, &config, &err), &err);
    char *at = strstr(config.ptr, none);
    assert_non_null(at);
    memcpy(at, flat, strlen(flat));
    scratch_write(dir, "config.json", config.ptr, config.len);
    vug_text_release(&config);
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(weights, sizeof(weights), "%s/" GOLDEN("gemma3-scale") "/model.safetensors",
                   here);
    assert_int_equal(symlink(weights, scratch_at(dir, "model.safetensors").path), 0);
    return help_model(dir->path, (vug_model_options){ .threads = 1 });
}

static void test_tokens_that_tie_count_as_equal(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_model *m = open_flat_model(&dir);
    fake *f = vug_alloc(1, sizeof(*f));
    vug_verification v;
    make_fake(m, f);
    int32_t other = f->greedy[0] + 1, worst = 0;
    while (f->logits[T - 1][other % V] <= 0)
        other++;
    for (int32_t i = 1; i < V; i++)
        worst = f->logits[T - 1][i] < f->logits[T - 1][worst] ? i : worst;
    vug_session *s = help_session(m);
    continue_with(s, f, other % V);
    judge(m, &dir, f, &v);
    assert_true(v.pass && v.n_greedy_equal == 2 && v.n_greedy_ties == 1);
    continue_with(s, f, worst);
    judge(m, &dir, f, &v);
    assert_true(!v.pass && v.n_greedy_equal == 0 && v.n_greedy_ties == 0);
    vug_session_destroy(s);
    vug_free(f);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_logits_of_some_positions(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_model *m = help_model(GOLDEN("gemma3-scale"), (vug_model_options){ .threads = 1 });
    fake *f = vug_alloc(1, sizeof(*f));
    vug_verification v;
    make_fake(m, f);
    f->n_positions = 3;
    const int32_t wanted[] = { 1, 4, T - 1 };
    for (int i = 0; i < 3; i++) {
        f->position[i] = wanted[i];
        memmove(f->logits[i], f->logits[wanted[i]], sizeof(f->logits[i]));
    }
    judge(m, &dir, f, &v);
    assert_true(v.pass && v.max_abs == 0 && v.n_positions == 3 && v.n_tokens == T);

    /* The rows belong to exactly these positions. */
    f->position[1] = 5;
    judge(m, &dir, f, &v);
    assert_false(v.pass);
    assert_true(v.max_abs > 0);
    f->position[1] = 1;
    refuse(m, &dir, f, VUG_FORMAT,
           "FOLDER/reference.safetensors: tensor 'positions' does not ascend at 1");
    f->position[1] = T;
    refuse(m, &dir, f, VUG_FORMAT,
           "FOLDER/reference.safetensors: tensor 'positions': 9 at 1, expected 0 to 8");
    vug_free(f);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_bad_references_are_refused(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_model *m = help_model(GOLDEN("gemma3-scale"), (vug_model_options){ .context = T + 1 });
    fake *f = vug_alloc(1, sizeof(*f));
    vug_verification v;
    vug_err err = { 0 };
    make_fake(m, f);
    refuse(m, &dir, f, VUG_LIMIT,
           "FOLDER/reference.safetensors: 9 tokens and 2 to continue, the context holds 10");
    vug_model_close(m);
    m = help_model(GOLDEN("gemma3-scale"), (vug_model_options){ 0 });
    f->id[4] = V;
    refuse(m, &dir, f, VUG_FORMAT,
           "FOLDER/reference.safetensors: tensor 'input_ids': 384 at 4, expected 0 to 383");
    f->rows = T - 1;
    refuse(m, &dir, f, VUG_FORMAT,
           "FOLDER/reference.safetensors: logits are [9,384] for 8 positions, the model has 384 "
           "ids");
    f->id_as_float = true;
    refuse(m, &dir, f, VUG_FORMAT,
           "FOLDER/reference.safetensors: tensor 'input_ids' is F32 of rank 1, expected I32 of "
           "rank 1");
    help_refused(vug_model_verify(m, GOLDEN("gemma3-scale") "/model.safetensors", 0, &v, &err),
                 &err, VUG_FORMAT, NULL,
                 GOLDEN("gemma3-scale") "/model.safetensors: has no tensor 'input_ids'");
    vug_free(f);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* With a tolerance below the rounding of F32 some hidden state must diverge. */
static void test_first_diverging_layer_is_reported(void **state)
{
    (void)state;
    vug_verification v;
    vug_err err = { 0 };
    vug_model *m = help_model(GOLDEN("gemma3-odd"), (vug_model_options){ 0 });
    help_ok(vug_model_verify(m, GOLDEN("gemma3-odd") "/reference.safetensors", 1e-9, &v, &err),
            &err);
    assert_false(v.pass);
    assert_in_range(v.first_diverging_layer, 0, 2);
    assert_true(v.diverging_max_abs > 1e-9 && v.diverging_max_abs < tolerance);
    vug_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_checkpoints_pass),
        cmocka_unit_test(test_bf16_activations),
        cmocka_unit_test(test_comparison_numbers_are_right),
        cmocka_unit_test(test_tokens_that_tie_count_as_equal),
        cmocka_unit_test(test_logits_of_some_positions),
        cmocka_unit_test(test_bad_references_are_refused),
        cmocka_unit_test(test_first_diverging_layer_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
