/*
 * The MLX backend. In a build without MLX only its message is tested; with MLX (make check-mlx)
 * also products with every format and the golden checkpoints, on the GPU or on MLX's CPU device.
 */
#include "test.h"

#include <math.h>

#include "backend/mlx/mlx.h"
#include "block_help.h"
#include "engine_help.h"
#include "linear_help.h"
#include "quant/matrix.h"
#include "sanitized.h"
#include "scratch.h"
#include "vug/checkpoint.h"

#define FOLDER "tests/golden/models"

/* Without a GPU the device is not available, but can be opened by its name. */
static bool skips(void)
{
    vug_device *device = NULL;
    vug_err err = { 0 };
    const bool opens = vug_backend_mlx.open(&(vug_device_options){ 0 }, &device, &err) == VUG_OK;
    if (opens)
        vug_backend_mlx.close(device);
    else
        print_message("%s\n", err.msg);
    return !opens;
}

static void test_missing_device_is_explained(void **state)
{
    (void)state;
    const vug_device_info info = vug_backend_mlx.describe(NULL);
    assert_string_equal(info.name, "mlx");
    assert_true(info.available == (info.reason[0] == '\0'));
    if (!skips())
        return;
    vug_model *m = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_model_open(FOLDER "/gemma3-text", &(vug_model_options){ .device = "mlx" },
                                    &m, &err),
                     VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, info.reason));
}

/* ---- products ---------------------------------------------------------------------- */

enum { OUT = 21, ROWS = 11, MAX_COLUMNS = 768 };

/* Formats that have groups of 16 are decoded to BF16. */
static bool is_decoded_to_bf16(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q2_K || dtype == VUG_DTYPE_Q3_K || dtype == VUG_DTYPE_Q6_K;
}

/* Compares with the product in double of decoded weights. Sums in F32 are off by at most columns *
 * 2^-24 of the sum of magnitudes. A weight in a block is a product and a sum, which cancel in part:
 * each has at most twice the magnitude of the largest weight. Rounding weights or activations adds
 * 2^-9 of each product. */
static void check_products(const float *y, const float *x, const float *decoded, int64_t columns,
                           double rounding)
{
    double largest = 0;
    for (int64_t i = 0; i < OUT * columns; i++)
        largest = fmax(largest, fabs((double)decoded[i]));
    for (int64_t r = 0; r < ROWS; r++) {
        for (int64_t o = 0; o < OUT; o++) {
            double sum = 0, magnitude = 0, inputs = 0;
            for (int64_t i = 0; i < columns; i++) {
                const double product =
                        (double)x[r * columns + i] * (double)decoded[o * columns + i];
                sum += product;
                magnitude += fabs(product);
                inputs += fabs((double)x[r * columns + i]);
            }
            const double bound = (double)columns * ldexp(1, -24) * 4 * largest * inputs;
            const double off = fabs((double)y[r * OUT + o] - sum);
            if (!(off <= bound + rounding * magnitude))
                fail_msg("row %d, output %d: off by %g, at most %g", (int)r, (int)o, off,
                         bound + rounding * magnitude);
        }
    }
}

static void check_format(vug_dtype dtype, int64_t columns)
{
    enum { SHIFT = 2 };
    rng r = { 5 };
    static float x[ROWS * MAX_COLUMNS], decoded[OUT * MAX_COLUMNS], y[ROWS * OUT];
    const vug_matrix matrix = random_matrix(&r, dtype, OUT, columns, SHIFT);
    rng_fill(&r, x, (size_t)(ROWS * columns));
    for (int64_t o = 0; o < OUT; o++)
        vug_matrix_decode(&matrix, o, decoded + o * columns);
    const vug_weight w = { .name = "w",
                           .dtype = dtype,
                           .rows = OUT,
                           .columns = columns,
                           .data = matrix.data,
                           .scales = matrix.scales };
    const double in_bf16 = ldexp(1, -9), in_f16 = ldexp(1, -12);
    const bool f16 = dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16;
    help_run_linear(&vug_backend_mlx, &w, VUG_ACTIVATIONS_F32, x, ROWS, y);
    check_products(y, x, decoded, columns, is_decoded_to_bf16(dtype) ? in_bf16 : 0);
    /* The input, the weight or its scales, and the output are rounded. Each may be rounded twice. */
    help_run_linear(&vug_backend_mlx, &w, VUG_ACTIVATIONS_BF16, x, ROWS, y);
    check_products(y, x, decoded, columns, f16 ? 4 * in_f16 : 8 * in_bf16);
    block_weights_free(&matrix, SHIFT);
}

static void test_products_are_those_of_decoded_weights(void **state)
{
    (void)state;
    if (skips())
        skip();
    static const vug_dtype plain[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16,
                                       VUG_DTYPE_E4M3 };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        check_format(plain[i], 768);
        check_format(plain[i], 77);
    }
    for (int i = 0; i < block_format_count(); i++)
        check_format(block_format(i), 768);
}

/* Rows and weights are scaled before they are rounded to F16: a product with powers of two as
 * factors, far beyond the range of F16, has the same bits but for the factors. */
static void test_products_in_f16_have_the_range_of_f32(void **state)
{
    (void)state;
    enum { COLUMNS = 96, X_EXPONENT = 60, W_EXPONENT = -50 };
    static float x[ROWS * COLUMNS], y[ROWS * OUT], far[ROWS * OUT];
    static uint16_t w[OUT * COLUMNS];
    rng r = { 6 };
    if (skips())
        skip();
    rng_fill(&r, x, (size_t)ROWS * COLUMNS);
    for (int i = 0; i < OUT * COLUMNS; i++) {
        const float value = rng_float(&r);
        vug_codec_of(VUG_DTYPE_BF16)->encode(&value, (uint8_t *)&w[i], 1);
    }
    const vug_weight weight = { .name = "w",
                                .dtype = VUG_DTYPE_BF16,
                                .rows = OUT,
                                .columns = COLUMNS,
                                .data = (const uint8_t *)w };
    help_run_linear(&vug_backend_mlx, &weight, VUG_ACTIVATIONS_BF16, x, ROWS, y);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = ldexpf(x[i], X_EXPONENT);
    for (int i = 0; i < OUT * COLUMNS; i++) {
        float value;
        vug_codec_of(VUG_DTYPE_BF16)->decode((const uint8_t *)&w[i], &value, 1);
        value = ldexpf(value, W_EXPONENT);
        vug_codec_of(VUG_DTYPE_BF16)->encode(&value, (uint8_t *)&w[i], 1);
    }
    help_run_linear(&vug_backend_mlx, &weight, VUG_ACTIVATIONS_BF16, x, ROWS, far);
    for (int i = 0; i < ROWS * OUT; i++)
        y[i] = ldexpf(y[i], X_EXPONENT + W_EXPONENT);
    help_same_bits(far, y, (size_t)ROWS * OUT);
}

/* ---- memory ----------------------------------------------------------------------------- */

static void test_weights_beyond_the_limit_are_not_loaded(void **state)
{
    (void)state;
    vug_device *device;
    vug_device_weights *weights = NULL;
    vug_err err = { 0 };
    if (skips())
        skip();
    /* No byte of the weight is read: the address is not valid. */
    const vug_weight w = { .name = "w",
                           .dtype = VUG_DTYPE_Q6_K,
                           .rows = 1000,
                           .columns = 1024,
                           .data = (const uint8_t *)64 };
    const vug_backend *b = &vug_backend_mlx;
    help_ok(b->open(&(vug_device_options){ .memory_limit = 2000000 }, &device, &err), &err);
    help_refused(b->weights_create(device, &w, 1, &weights, &err), &err, VUG_LIMIT, NULL,
                 "mlx: the weights need 2.0 MB (2.0 MB of them are decoded to BF16, 0.0 MB are "
                 "copies in the format of products), the memory limit is 2.0 MB");
    b->close(device);
    help_ok(b->open(&(vug_device_options){ .memory_limit = 2100000 }, &device, &err), &err);
    help_ok(b->weights_create(device, &w, 1, &weights, &err), &err);
    b->weights_destroy(weights);
    b->close(device);
}

/* Compiles the product with a weight of which no byte can be read. */
static void check_copies(const vug_weight *w, vug_activations activations, uint64_t limit,
                         const char *message)
{
    const vug_backend *b = &vug_backend_mlx;
    const vug_limits limits = { .context = VUG_KV_PAGE, .batch = 1, .rows = 1 };
    help_graph m = help_linear_graph(w, activations, 1);
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program = NULL;
    vug_err err = { 0 };
    help_ok(b->open(&(vug_device_options){ .memory_limit = limit }, &device, &err), &err);
    help_ok(b->weights_create(device, w, 1, &weights, &err), &err);
    help_refused(b->compile(weights, &m.graph, &m.plan, &limits, &program, &err), &err, VUG_LIMIT,
                 NULL, message);
    b->weights_destroy(weights);
    b->close(device);
    help_graph_release(&m);
}

/* Products may read copies of the weights, for which a limit that the weights alone meet is too
 * low. */
static void test_copies_beyond_the_limit_are_not_made(void **state)
{
    (void)state;
    if (skips())
        skip();
    const vug_weight floats = { .name = "w",
                                .dtype = VUG_DTYPE_BF16,
                                .rows = 1000,
                                .columns = 1024,
                                .data = (const uint8_t *)64 };
    vug_weight quantized = floats;
    quantized.dtype = VUG_DTYPE_MLX4;
    quantized.scales = (vug_scales){ .rows = 1,
                                     .columns = 64,
                                     .dtype = VUG_DTYPE_BF16,
                                     .stride = 16,
                                     .scale = (const uint8_t *)64,
                                     .bias = (const uint8_t *)64 };
    check_copies(&floats, VUG_ACTIVATIONS_BF16, 4000000,
                 "mlx: the weights need 4.1 MB (0.0 MB of them are decoded to BF16, 2.0 MB are "
                 "copies in the format of products), the memory limit is 4.0 MB");
    check_copies(&quantized, VUG_ACTIVATIONS_F32, 700000,
                 "mlx: the weights need 0.7 MB (0.0 MB of them are decoded to BF16, 0.1 MB are "
                 "copies in the format of products), the memory limit is 0.7 MB");
}

/* What a model's weights and their copies take is what the check has counted before they were
 * loaded. */
static void test_check_counts_what_is_loaded(void **state)
{
    (void)state;
    char message[300];
    vug_model_options open = { .device = "mlx", .activations = "f32" };
    vug_err err = { 0 };
    if (skips())
        skip();
    vug_model *m = help_model(GOLDEN("qwen3"), open);
    const uint64_t stored = vug_model_describe(m).memory.weights_copied;
    const uint64_t without = vug_model_device_memory(m).active;
    vug_model_close(m);
    open.activations = "bf16";
    m = help_model(GOLDEN("qwen3"), open);
    const uint64_t all = vug_model_describe(m).memory.weights_copied;
    const uint64_t with = vug_model_device_memory(m).active;
    vug_model_close(m);
    assert_true(all > stored);
    /* An array may lie in a larger buffer that MLX has kept. */
    const uint64_t copies = all - stored;
    assert_in_range(with - without, copies, copies + copies / 4);
    open.memory_limit = all - 1;
    (void)snprintf(message, sizeof(message),
                   "mlx: the weights need %.1f MB (0.0 MB of them are decoded to BF16, %.1f MB are "
                   "copies in the format of products), the memory limit is %.1f MB",
                   (double)all / 1e6, (double)copies / 1e6, (double)open.memory_limit / 1e6);
    m = NULL;
    help_refused(vug_model_open(GOLDEN("qwen3"), &open, &m, &err), &err, VUG_LIMIT, NULL, message);
    /* The weights fit now, but nothing else does. */
    open.memory_limit = all;
    assert_int_equal(vug_model_open(GOLDEN("qwen3"), &open, &m, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "qwen3: needs "));
}

static void test_device_memory_is_that_of_the_model(void **state)
{
    (void)state;
    if (skips())
        skip();
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .device = "mlx" });
    const vug_device_memory memory = vug_model_device_memory(m);
    const vug_memory_plan plan = vug_model_describe(m).memory;
    assert_true(memory.active >= plan.weights_copied && memory.peak >= memory.active);
    assert_true(plan.weights_copied > 0 && plan.weights_decoded == 0);
    vug_model_close(m);
    m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .device = "cpu" });
    assert_int_equal(vug_model_device_memory(m).peak, 0);
    vug_model_close(m);
}

static void test_memory_limit_is_enforced(void **state)
{
    (void)state;
    char message[300];
    const vug_model_options open = { .device = "mlx", .context = 1000 };
    vug_err err = { 0 };
    if (skips())
        skip();
    vug_model *m = help_model(GOLDEN("gemma3-text"), open);
    const vug_memory_plan plan = vug_model_describe(m).memory;
    vug_model_close(m);
    const uint64_t least = plan.total - plan.cache + plan.session_cache;
    vug_model_options limited = open;
    limited.memory_limit = least;
    vug_model_close(help_model(GOLDEN("gemma3-text"), limited));
    limited.memory_limit = least - 1;
    const uint64_t weights = plan.weights_mapped + plan.weights_copied;
    const uint64_t others = plan.tokenizer + plan.graph + plan.process; /* no draft */
    (void)snprintf(message, sizeof(message),
                   GOLDEN("gemma3-text") ": needs %.1f MB (weights %.1f, the cache of 1000 tokens "
                                         "%.1f, buffers %.1f, others %.1f), the memory limit is "
                                         "%.1f MB; a smaller context needs less",
                   (double)least / 1e6, (double)weights / 1e6, (double)plan.session_cache / 1e6,
                   (double)plan.buffers / 1e6, (double)others / 1e6,
                   (double)limited.memory_limit / 1e6);
    m = NULL;
    help_refused(vug_model_open(GOLDEN("gemma3-text"), &limited, &m, &err), &err, VUG_LIMIT, NULL,
                 message);
    assert_null(m);
}

/* The arrays of a step are gone after the next one: MLX holds as many bytes after each round of
 * steps, and the process hardly more. VUG_STEPS is the number of steps. */
static void test_steps_leak_no_memory(void **state)
{
    (void)state;
    enum { TOKENS = 70, SETTLED = 3 };
    int32_t id[TOKENS];
    const char *steps = getenv("VUG_STEPS");
    const long rounds = (steps ? strtol(steps, NULL, 10) : 560) / TOKENS;
    vug_device_memory settled = { 0 };
    uint64_t resident = 0;
    if (skips())
        skip();
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .device = "mlx" });
    vug_session *s = help_session(m);
    help_tokens(1, id, TOKENS, vug_model_describe(m).n_vocab);
    for (long round = 0; round < rounds; round++) {
        vug_session_reset(s);
        for (size_t n = 1; n <= TOKENS; n++)
            (void)help_forward(s, id, n);
        const vug_device_memory memory = vug_model_device_memory(m);
        if (round < SETTLED) { /* until the cache and the prefix tree have all their pages */
            settled = memory;
            resident = vug_memory_resident();
            continue;
        }
        assert_int_equal(memory.active, settled.active);
        /* Which freed buffer serves a new array depends on the threads of MLX. */
        assert_true(memory.cached <= 2 * settled.cached);
        /* AddressSanitizer keeps freed memory. */
        assert_true(SANITIZED || vug_memory_resident() <= resident + (1 << 20));
    }
    print_message(
            "%ld steps: %llu bytes of arrays, %llu cached; the process grew from %llu to %llu\n",
            rounds * TOKENS, (unsigned long long)settled.active, (unsigned long long)settled.cached,
            (unsigned long long)resident, (unsigned long long)vug_memory_resident());
    vug_session_destroy(s);
    vug_model_close(m);
}

/* ---- prepared steps ----------------------------------------------------------------- */

/* Forwards the first n ids with both sessions, [0] on the device and [1] on the CPU. */
static void check_step(vug_session *const s[2], const int32_t *id, size_t n, int64_t n_vocab)
{
    const float *device = help_forward(s[0], id, n), *cpu = help_forward(s[1], id, n);
    for (int64_t v = 0; v < n_vocab; v++)
        assert_true(fabsf(device[v] - cpu[v]) < 1e-4f);
}

/* While a step runs, one more token of its sequences is prepared. Another sequence at the same
 * position, or the same one at an earlier position, must not get what was prepared. */
static void test_other_steps_than_the_prepared_one(void **state)
{
    (void)state;
    enum { TOKENS = 10 };
    int32_t a[TOKENS], b[TOKENS];
    vug_model *m[2];
    vug_session *first[2], *second[2];
    if (skips())
        skip();
    for (int i = 0; i < 2; i++) {
        m[i] = help_model(GOLDEN("gemma3-text"),
                          (vug_model_options){ .device = i ? "cpu" : "mlx", .activations = "f32" });
        first[i] = help_session(m[i]);
        second[i] = help_session(m[i]);
    }
    const int64_t n_vocab = vug_model_describe(m[0]).n_vocab;
    help_tokens(1, a, TOKENS, n_vocab);
    help_tokens(2, b, TOKENS, n_vocab);
    for (size_t n = 1; n <= TOKENS / 2; n++) {
        check_step(first, a, n, n_vocab);
        check_step(second, b, n, n_vocab);
    }
    for (size_t n = TOKENS / 2 + 1; n <= TOKENS; n++)
        check_step(first, a, n, n_vocab);
    check_step(first, a, TOKENS - 2, n_vocab);
    a[TOKENS / 2] = b[0];
    check_step(first, a, TOKENS / 2 + 1, n_vocab);
    for (int i = 0; i < 2; i++) {
        vug_session_destroy(first[i]);
        vug_session_destroy(second[i]);
        vug_model_close(m[i]);
    }
}

/* ---- golden checkpoints ------------------------------------------------------------- */

static void test_golden_checkpoints_pass(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    vug_err err = { 0 };
    if (skips())
        skip();
    help_ok(vug_list_folder(FOLDER, &arena, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = vug_path_join(FOLDER, name[i].ptr);
        char *reference = vug_path_join(path, "reference.safetensors");
        vug_model *m =
                help_model(path, (vug_model_options){ .device = "mlx", .activations = "f32" });
        vug_verification v = { 0 };
        help_ok(vug_model_verify(m, reference, 0, &v, &err), &err);
        if (!v.pass)
            print_error("%s: max %g, %d of %d greedy\n", path, v.max_abs, (int)v.n_greedy_equal,
                        (int)v.n_greedy);
        assert_true(v.pass);
        vug_model_close(m);
        vug_free(reference);
        vug_free(path);
    }
    vug_arena_release(&arena);
}

/* With products in F16 the logits are still within 2e-2 of the references in F32. */
static void test_golden_checkpoints_pass_in_f16(void **state)
{
    (void)state;
    static const char *const path[] = { GOLDEN("gemma1"),    GOLDEN("gemma2"),
                                        GOLDEN("gemma3-mm"), GOLDEN("gemma3-text"),
                                        GOLDEN("llama3"),    GOLDEN("qwen2"),
                                        GOLDEN("qwen3"),     GOLDEN("qwen3-moe") };
    vug_err err = { 0 };
    if (skips())
        skip();
    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        char *reference = vug_path_join(path[i], "reference.safetensors");
        vug_model *m =
                help_model(path[i], (vug_model_options){ .device = "mlx", .activations = "bf16" });
        vug_verification v = { 0 };
        help_ok(vug_model_verify(m, reference, 2e-2, &v, &err), &err);
        if (!v.pass)
            print_error("%s: max %g, %d of %d greedy\n", path[i], v.max_abs, (int)v.n_greedy_equal,
                        (int)v.n_greedy);
        assert_true(v.pass);
        vug_model_close(m);
        vug_free(reference);
    }
}

/* ---- quantized checkpoints ------------------------------------------------------------ */

/* The last row of logits of some tokens, for vug_free. */
static float *run_tokens(const char *path, const char *device, size_t *n_vocab)
{
    enum { TOKENS = 40 };
    int32_t id[TOKENS];
    vug_model *m = help_model(path, (vug_model_options){ .device = device, .activations = "f32" });
    *n_vocab = (size_t)vug_model_describe(m).n_vocab;
    help_tokens(3, id, TOKENS, (int64_t)*n_vocab);
    float *logits = help_alone(m, id, TOKENS);
    vug_model_close(m);
    return logits;
}

/* A model with this format in all products, experts included, gives the logits of the CPU. */
static void check_quantized(const char *model, const char *type, const char *name)
{
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, name);
    vug_err err = { 0 };
    size_t n;
    help_ok(vug_convert(model, path.path, &(vug_convert_options){ .type = type }, &err), &err);
    float *on_cpu = run_tokens(path.path, "cpu", &n), *on_mlx = run_tokens(path.path, "mlx", &n);
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)on_cpu[i] - (double)on_mlx[i]);
        if (!(off <= 1e-3))
            fail_msg("%s in %s: logit %zu is off by %g", model, type, i, off);
    }
    vug_free(on_cpu);
    vug_free(on_mlx);
    scratch_remove(&dir);
}

static void test_quantized_checkpoints_have_the_logits_of_the_cpu(void **state)
{
    (void)state;
    if (skips())
        skip();
    check_quantized(GOLDEN("qwen3-moe"), "mlx4/32", "mlx4");
    check_quantized(GOLDEN("gemma4-moe"), "q4_0", "q4_0.gguf");
    check_quantized(GOLDEN("qwen3-moe"), "mxfp4", "mxfp4.gguf");
    check_quantized(GOLDEN("gemma3-text"), "mlx3/32", "mlx3");
    check_quantized(GOLDEN("gemma3-text"), "q4_k", "q4_k.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_device_is_explained),
        cmocka_unit_test(test_products_are_those_of_decoded_weights),
        cmocka_unit_test(test_products_in_f16_have_the_range_of_f32),
        cmocka_unit_test(test_weights_beyond_the_limit_are_not_loaded),
        cmocka_unit_test(test_copies_beyond_the_limit_are_not_made),
        cmocka_unit_test(test_check_counts_what_is_loaded),
        cmocka_unit_test(test_device_memory_is_that_of_the_model),
        cmocka_unit_test(test_memory_limit_is_enforced),
        cmocka_unit_test(test_steps_leak_no_memory),
        cmocka_unit_test(test_other_steps_than_the_prepared_one),
        cmocka_unit_test(test_quantized_checkpoints_have_the_logits_of_the_cpu),
        cmocka_unit_test(test_golden_checkpoints_pass),
        cmocka_unit_test(test_golden_checkpoints_pass_in_f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
