/*
 * Folding of scales into weights: the resulting directory and rows, the effect of the
 * config, and errors.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "kernel_help.h"
#include "quant/matrix.h"
#include "quantized_help.h"

typedef struct {
    made_block bytes;
    vug_weights *weights;
} opened_file;

static opened_file open_made(const made_file *f)
{
    vug_err err = { 0 };
    opened_file o = { .bytes = made_bytes(f) };
    help_ok(vug_weights_open_memory((vug_bytes){ o.bytes.ptr, o.bytes.len }, "model.safetensors",
                                    &o.weights, &err),
            &err);
    return o;
}

static void close_made(opened_file *o)
{
    vug_weights_close(o->weights);
    free(o->bytes.ptr);
}

static vug_status fold_scales(const opened_file *o, const char *config, vug_err *err)
{
    return vug_quantization_config_apply(vug_str_of(config), "config.json", o->weights, err);
}

static opened_file open_folded(const made_file *f, const char *config)
{
    vug_err err = { 0 };
    opened_file o = open_made(f);
    help_ok(fold_scales(&o, config, &err), &err);
    return o;
}

static void expect_error(const made_file *f, const char *config, vug_status code,
                         const char *message)
{
    vug_err err = { 0 };
    opened_file o = open_made(f);
    help_refused(fold_scales(&o, config, &err), &err, code, NULL, message);
    close_made(&o);
}

static const vug_tensor *find_tensor(const opened_file *o, const char *name)
{
    return vug_weights_find(o->weights, vug_str_of(name));
}

/* Checks every row of a matrix or of a stack of matrices. */
static void assert_rows(const vug_tensor *t, const float *want)
{
    const int64_t in = t->dim[t->rank - 1], out = t->dim[t->rank - 2];
    int64_t matrices = 1;
    float *row = guarded_floats((size_t)in);
    for (int i = 0; i < t->rank - 2; i++)
        matrices *= t->dim[i];
    for (int64_t r = 0; r < matrices * out; r++) {
        const vug_matrix m = vug_tensor_matrix_at(t, r - r % out);
        vug_matrix_decode(&m, r % out, row);
        check_bits(row, want + r * in, (size_t)in, t->name.ptr);
        check_guards(row, (size_t)in);
    }
    free_guarded(row);
}

static float *values(uint64_t seed, int64_t n)
{
    rng r = { seed };
    float *x = calloc((size_t)n + 1, sizeof(*x));
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = rng_float(&r) * ldexpf(1, (int)(rng_bits(&r) % 8) - 4);
    return x;
}

/* ---- MLX ----------------------------------------------------------------------------- */

static void test_every_width_and_group(void **state)
{
    (void)state;
    enum { OUT = 5, IN = 256, SIZE = OUT * IN };
    static const int bits[] = { 2, 3, 4, 5, 6, 8 };
    static const vug_dtype formats[] = { VUG_DTYPE_MLX2, VUG_DTYPE_MLX3, VUG_DTYPE_MLX4,
                                         VUG_DTYPE_MLX5, VUG_DTYPE_MLX6, VUG_DTYPE_MLX8 };
    static const vug_dtype scales[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
    for (int i = 0; i < 6 * 3 * 3; i++) {
        const made_how how = { VUG_QUANT_MLX_AFFINE, bits[i % 6],    1,
                               32 << i / 6 % 3,      scales[i / 18], NULL };
        static made_file f;
        char config[96];
        float *x = values((uint64_t)i + 1, SIZE);
        made_matrix(&f, "a.weight", 2, (made_dims){ { OUT, IN } }, x, &how);
        (void)made_add(&f, VUG_DTYPE_BF16, 1, (made_dims){ { OUT } }, "a.bias");
        (void)snprintf(config, sizeof(config), "{\"quantization\":{\"bits\":%d,\"group_size\":%d}}",
                       how.bits, (int)how.columns);
        opened_file o = open_folded(&f, config);
        const vug_tensor *t = find_tensor(&o, "a.weight");
        assert_int_equal(vug_weights_count(o.weights), 3); /* with the odd byte and the bias */
        assert_null(find_tensor(&o, "a.scales"));
        assert_null(find_tensor(&o, "a.biases"));
        assert_int_equal(find_tensor(&o, "a.bias")->dtype, VUG_DTYPE_BF16);
        assert_int_equal(t->dtype, formats[i % 6]);
        assert_int_equal(t->rank, 2);
        assert_int_equal(t->dim[0], OUT);
        assert_int_equal(t->dim[1], IN);
        assert_int_equal(t->bytes, OUT * IN * how.bits / 8);
        assert_int_equal(t->scale_bytes,
                         (int64_t)2 * OUT * (IN / how.columns) * vug_dtype_of(how.scales)->bytes);
        assert_int_equal((uintptr_t)(t->data - o.bytes.ptr) % 2, 1);
        assert_int_equal((uintptr_t)(t->scales.scale - o.bytes.ptr) % 2, 0);
        assert_rows(t, x);
        close_made(&o);
        made_release(&f);
        free(x);
    }
}

static void test_mxfp4(void **state)
{
    (void)state;
    enum { OUT = 7, IN = 96, SIZE = OUT * IN };
    static const made_how how = { VUG_QUANT_MLX_MXFP4, 4, 1, 32, VUG_DTYPE_U8, NULL };
    static made_file f;
    float *x = values(9, SIZE);
    made_matrix(&f, "a.weight", 2, (made_dims){ { OUT, IN } }, x, &how);
    opened_file o = open_folded(&f, "{\"quantization_config\":{\"mode\":\"mxfp4\"}}");
    const vug_tensor *t = find_tensor(&o, "a.weight");
    assert_int_equal(t->dtype, VUG_DTYPE_MLX_FP4);
    assert_int_equal(t->dim[1], IN);
    assert_int_equal(t->scales.dtype, VUG_DTYPE_E8M0);
    assert_null(t->scales.bias);
    assert_int_equal(t->scale_bytes, OUT * 3);
    assert_rows(t, x);
    close_made(&o);
    made_release(&f);
    free(x);
}

/* The object may also be in text_config, and MLX's takes precedence over others. */
static void test_config_overrides(void **state)
{
    (void)state;
    enum { OUT = 3, IN = 128, EACH = OUT * IN };
    static const char config[] =
            "{\"text_config\":{\"quantization\":{\"group_size\":64,\"bits\":4,\"mode\":\"affine\","
            "\"nobody\":{\"bits\":8},\"nobody.else\":false,\"f\":{},\"e\":true,"
            "\"b\":{\"group_size\":32,\"bits\":6},\"d\":false,\"c\":{\"mode\":\"mxfp4\"},"
            "\"g\":false}},"
            "\"quantization_config\":null}";
    static const made_how how[] = {
        { VUG_QUANT_MLX_AFFINE, 4, 1, 64, VUG_DTYPE_BF16, NULL }, /* a: the default */
        { VUG_QUANT_MLX_AFFINE, 6, 1, 32, VUG_DTYPE_F16, NULL },  /* b */
        { VUG_QUANT_MLX_MXFP4, 4, 1, 32, VUG_DTYPE_U8, NULL },    /* c */
        { .scales = VUG_DTYPE_BF16 },                             /* d */
        { VUG_QUANT_MLX_AFFINE, 4, 1, 64, VUG_DTYPE_F32, NULL },  /* e */
        { VUG_QUANT_MLX_AFFINE, 4, 1, 64, VUG_DTYPE_BF16, NULL }, /* f */
        { VUG_QUANT_MLX_AFFINE, 3, 1, 64, VUG_DTYPE_BF16, NULL }, /* g: by its shape */
    };
    static const vug_dtype formats[] = { VUG_DTYPE_MLX4, VUG_DTYPE_MLX6, VUG_DTYPE_MLX_FP4,
                                         VUG_DTYPE_BF16, VUG_DTYPE_MLX4, VUG_DTYPE_MLX4,
                                         VUG_DTYPE_MLX3 };
    enum { N = sizeof(how) / sizeof(how[0]) };
    static made_file f;
    float *x = values(4, (int64_t)N * EACH);
    for (int i = 0; i < N; i++) {
        const char name[] = { (char)('a' + i), '.', 'w', 'e', 'i', 'g', 'h', 't', '\0' };
        made_matrix(&f, name, 2, (made_dims){ { OUT, IN } }, x + (size_t)i * EACH, &how[i]);
    }
    opened_file o = open_folded(&f, config);
    for (int i = 0; i < N; i++) {
        const char name[] = { (char)('a' + i), '.', 'w', 'e', 'i', 'g', 'h', 't', '\0' };
        const vug_tensor *t = find_tensor(&o, name);
        assert_int_equal(t->dtype, formats[i]);
        assert_rows(t, x + (size_t)i * EACH);
    }
    /* A weight with scales is quantized, even if the config says that it is not. */
    close_made(&o);
    o = open_folded(&f, "{\"quantization\":{\"b\":{\"bits\":6,\"group_size\":32},"
                        "\"c\":{\"mode\":\"mxfp4\"},\"a\":false}}");
    assert_int_equal(find_tensor(&o, "a.weight")->dtype, VUG_DTYPE_MLX4);
    close_made(&o);
    made_release(&f);
    free(x);
}

static void test_stacks(void **state)
{
    (void)state;
    enum { N = 3, OUT = 4, IN = 64, ALL = N * OUT * IN };
    static const made_how affine = { VUG_QUANT_MLX_AFFINE, 5, 1, 32, VUG_DTYPE_BF16, NULL };
    static made_file f;
    float *x = values(5, ALL);
    made_matrix(&f, "a.weight", 3, (made_dims){ { N, OUT, IN } }, x, &affine);
    opened_file o = open_folded(&f, "{\"quantization\":{\"bits\":5,\"group_size\":32}}");
    assert_rows(find_tensor(&o, "a.weight"), x);
    /* A row in the middle of a matrix uses its own scales. */
    const vug_matrix m = vug_tensor_matrix_at(find_tensor(&o, "a.weight"), 2 * OUT + 1);
    float row[IN];
    vug_matrix_decode(&m, 2, row);
    check_bits(row, x + (size_t)(2 * OUT + 3) * IN, IN, "row 3 of matrix 2");
    close_made(&o);
    made_release(&f);
    free(x);
}

/* ---- FP8 ------------------------------------------------------------------------------- */

#define FP8(more) "{\"quantization_config\":{\"quant_method\":\"fp8\"" more "}}"

static void test_fp8_blocks(void **state)
{
    (void)state;
    enum { N = 2, OUT = 50, IN = 70, ALL = N * OUT * IN };
    static const struct {
        made_how how;
        int rank;
        const char *config;
        int64_t rows, columns;
    } row[] = {
        { { VUG_QUANT_FP8, 8, 32, 32, VUG_DTYPE_F32, NULL },
          2,
          FP8(",\"weight_block_size\":[32,32],\"activation_scheme\":\"dynamic\""),
          32,
          32 },
        { { VUG_QUANT_FP8, 8, 32, 32, VUG_DTYPE_BF16, NULL },
          3,
          FP8(",\"fmt\":\"e4m3\",\"weight_block_size\":[32,32]"),
          32,
          32 },
        { { VUG_QUANT_FP8, 8, 32, 32, VUG_DTYPE_E8M0, NULL },
          2,
          FP8(",\"weight_block_size\":[32,32],\"scale_fmt\":\"ue8m0\""),
          32,
          32 },
        /* Blocks of equal size need no config, and may differ from it. */
        { { VUG_QUANT_FP8, 8, 25, 35, VUG_DTYPE_F16, NULL }, 3, "{}", 25, 35 },
        { { VUG_QUANT_FP8, 8, 25, 70, VUG_DTYPE_F32, NULL },
          3,
          FP8(",\"weight_block_size\":[128,128]"),
          25,
          70 },
        /* One scale per row, and per matrix. */
        { { VUG_QUANT_FP8, 8, 1, IN, VUG_DTYPE_F32, "_scale" },
          2,
          FP8(",\"weight_block_size\":null"),
          1,
          IN },
        { { VUG_QUANT_FP8, 8, OUT, IN, VUG_DTYPE_F32, "_scale" }, 2, FP8(""), OUT, IN },
        { { VUG_QUANT_FP8, 8, OUT, IN, VUG_DTYPE_F32, NULL }, 3, FP8(""), OUT, IN },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        static made_file f;
        float *x = values(i + 20, ALL);
        const made_dims two = { { OUT, IN } }, three = { { N, OUT, IN } };
        made_matrix(&f, "a.weight", row[i].rank, row[i].rank == 3 ? three : two, x, &row[i].how);
        opened_file o = open_folded(&f, row[i].config);
        const vug_tensor *t = find_tensor(&o, "a.weight");
        assert_int_equal(vug_weights_count(o.weights), 1);
        assert_int_equal(t->dtype, VUG_DTYPE_E4M3);
        assert_int_equal(t->scales.rows, row[i].rows);
        assert_int_equal(t->scales.columns, row[i].columns);
        assert_rows(t, x);
        close_made(&o);
        made_release(&f);
        free(x);
    }
}

/* Scales with fewer dimensions: a scalar, a vector. */
static void test_fp8_scale_ranks(void **state)
{
    (void)state;
    enum { N = 4, OUT = 6, IN = 40, ALL = N * OUT * IN };
    static const struct {
        int64_t rows;
        int rank, scale_rank;
        made_dims scales;
    } row[] = {
        { OUT, 2, 0, { { 0 } } }, { OUT, 2, 1, { { 1 } } }, { OUT, 2, 2, { { 1, 1 } } },
        { 1, 2, 1, { { OUT } } }, { OUT, 3, 1, { { N } } },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const made_how how = { VUG_QUANT_FP8, 8, row[i].rows, IN, VUG_DTYPE_F32, NULL };
        static made_file f;
        float *x = values(i + 40, ALL);
        const made_dims two = { { OUT, IN } }, three = { { N, OUT, IN } };
        made_matrix(&f, "a.weight", row[i].rank, row[i].rank == 3 ? three : two, x, &how);
        made_tensor *scales = made_find(&f, "a.weight_scale_inv");
        scales->rank = row[i].scale_rank;
        memcpy(scales->dim, row[i].scales.n, sizeof(scales->dim));
        opened_file o = open_folded(&f, FP8(",\"weight_block_size\":[128,128]"));
        assert_rows(find_tensor(&o, "a.weight"), x);
        close_made(&o);
        made_release(&f);
        free(x);
    }
}

/* ---- errors ---------------------------------------------------------------------------- */

#define MLX(more) "{\"quantization\":{" more "}}"

static void test_bad_configs(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        vug_status code;
        const char *message;
    } row[] = {
        { "{\"quantization\":4}", VUG_FORMAT, "key 'quantization' must be an object" },
        { "{\"quantization\":[]}", VUG_FORMAT, "key 'quantization' must be an object" },
        { "{\"quantization_config\":\"awq\"}", VUG_FORMAT,
          "key 'quantization_config' must be an object" },
        { "{\"text_config\":{\"quantization\":false}}", VUG_FORMAT,
          "key 'quantization' must be an object" },
        { "{\"text_config\":7}", VUG_FORMAT, "key 'text_config' must be an object" },
        { MLX("\"bits\":7"), VUG_FORMAT, "quantization: bits must be 2, 3, 4, 5, 6 or 8, not '7'" },
        { MLX("\"bits\":4.5"), VUG_FORMAT,
          "quantization: bits must be 2, 3, 4, 5, 6 or 8, not '4.5'" },
        { MLX("\"bits\":\"4\""), VUG_FORMAT,
          "quantization: bits must be 2, 3, 4, 5, 6 or 8, not '4'" },
        { MLX("\"group_size\":0"), VUG_FORMAT,
          "quantization: group_size must be 32, 64 or 128, not '0'" },
        { MLX("\"group_size\":9223372036854775807"), VUG_FORMAT,
          "quantization: group_size must be 32, 64 or 128, not '9223372036854775807'" },
        { MLX("\"group_size\":1e400"), VUG_FORMAT, NULL },
        { MLX("\"mode\":3"), VUG_FORMAT, "key 'mode' must be a string" },
        { MLX("\"mode\":\"nvfp4\""), VUG_UNSUPPORTED,
          "quantization: vug reads the modes affine and mxfp4, not 'nvfp4'" },
        { MLX("\"mode\":\"mxfp8\""), VUG_UNSUPPORTED,
          "quantization: vug reads the modes affine and mxfp4, not 'mxfp8'" },
        { MLX("\"mode\":\"mxfp4\",\"group_size\":64"), VUG_FORMAT,
          "quantization: group_size of mxfp4 must be 32, not '64'" },
        { MLX("\"mode\":\"mxfp4\",\"bits\":8"), VUG_FORMAT,
          "quantization: bits of mxfp4 must be 4, not '8'" },
        { MLX("\"m.x\":{\"bits\":1}"), VUG_FORMAT,
          "quantization of 'm.x': bits must be 2, 3, 4, 5, 6 or 8, not '1'" },
        { MLX("\"m.x\":{\"mode\":\"nvfp4\"}"), VUG_UNSUPPORTED,
          "quantization of 'm.x': vug reads the modes affine and mxfp4, not 'nvfp4'" },
        { "{\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4}}", VUG_UNSUPPORTED,
          "weights are quantized by 'awq'; vug reads those of MLX and of 'fp8'" },
        { "{\"quantization_config\":{\"quant_method\":\"gptq\"}}", VUG_UNSUPPORTED,
          "weights are quantized by 'gptq'; vug reads those of MLX and of 'fp8'" },
        { "{\"text_config\":{\"quantization_config\":{\"quant_method\":\"bitsandbytes\"}}}",
          VUG_UNSUPPORTED,
          "weights are quantized by 'bitsandbytes'; vug reads those of MLX and of 'fp8'" },
        { "{\"quantization_config\":{\"quant_method\":8}}", VUG_FORMAT,
          "key 'quant_method' must be a string" },
        { FP8(",\"fmt\":\"e5m2\""), VUG_UNSUPPORTED,
          "quantization_config: vug reads fp8 of fmt 'e4m3', not 'e5m2'" },
        { FP8(",\"expert_dtype\":\"fp4\""), VUG_UNSUPPORTED,
          "quantization_config: vug reads experts of expert_dtype 'fp8', not 'fp4'" },
        { FP8(",\"weight_block_size\":[128]"), VUG_FORMAT,
          "key 'weight_block_size' must be two whole numbers from 1 to 1048576" },
        { FP8(",\"weight_block_size\":[128,0]"), VUG_FORMAT,
          "key 'weight_block_size' must be two whole numbers from 1 to 1048576" },
        { FP8(",\"weight_block_size\":[0,128]"), VUG_FORMAT,
          "key 'weight_block_size' must be two whole numbers from 1 to 1048576" },
        { FP8(",\"weight_block_size\":128"), VUG_FORMAT,
          "key 'weight_block_size' must be two whole numbers from 1 to 1048576" },
        { FP8(",\"weight_block_size\":[1048577,1]"), VUG_FORMAT,
          "key 'weight_block_size' must be two whole numbers from 1 to 1048576" },
    };
    static made_file f;
    (void)made_add(&f, VUG_DTYPE_F32, 1, (made_dims){ { 1 } }, "a");
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        vug_err err = { 0 };
        char message[256];
        opened_file o = open_made(&f);
        const vug_status st = fold_scales(&o, row[i].config, &err);
        (void)snprintf(message, sizeof(message), "config.json: %s",
                       row[i].message ? row[i].message : "");
        if (row[i].message)
            help_refused(st, &err, row[i].code, NULL, message);
        assert_int_equal(st, row[i].code);
        close_made(&o);
    }
    made_release(&f);
}

/* A change to the format or the shape of tensor `name` that must be rejected. */
typedef struct {
    const char *name;
    vug_dtype dtype;
    int rank;
    made_dims dim;
    const char *config;
    const char *message;
} wrong_tensor;

static void expect_wrong_tensor(const wrong_tensor *w, made_file *good)
{
    made_tensor *t = made_find(good, w->name);
    const made_tensor kept = *t;
    uint64_t n = 1, bytes = 0;
    t->dtype = w->dtype;
    t->rank = w->rank;
    for (int i = 0; i < w->rank; i++) {
        t->dim[i] = w->dim.n[i];
        n *= (uint64_t)t->dim[i];
    }
    assert_true(vug_dtype_size(t->dtype, n, &bytes));
    t->n = (size_t)bytes;
    t->bytes = calloc(t->n + 1, 1);
    expect_error(good, w->config, VUG_FORMAT, w->message);
    free(t->bytes);
    *t = kept;
}

#define DIMS(...)       \
    {                   \
        {               \
            __VA_ARGS__ \
        }               \
    }
#define WRONG(name, type, rank, dims, config, message)            \
    {                                                             \
        name, VUG_DTYPE_##type, rank, dims, config, FILE_ message \
    }
#define NO_GRID "; with F8_E4M3 [6,4], expected one scale per block, row or matrix"
#define FILE_   "model.safetensors: tensor "
#define FOUR    MLX("\"bits\":4,\"group_size\":64")
#define NO_BITS "; with 64 weights per scale, as config.json says, that is not a bit width of MLX"

static const wrong_tensor wrong[] = {
    WRONG("a.scales", BF16, 2, DIMS(3, 2), FOUR,
          "'a.scales' is BF16 [3,2]; with U32 [4,16], expected the same leading dimensions"),
    WRONG("a.scales", BF16, 2, DIMS(4, 3), FOUR,
          "'a.weight' has shape [4,16] and its scales have [4,3]" NO_BITS),
    WRONG("a.scales", BF16, 2, DIMS(4, 0), FOUR,
          "'a.weight' has shape [4,16] and its scales have [4,0]" NO_BITS),
    WRONG("a.scales", BF16, 2, DIMS(4, 8), FOUR,
          "'a.weight' has shape [4,16] and its scales have [4,8]" NO_BITS),
    WRONG("a.scales", BF16, 2, DIMS(0, INT64_C(1) << 60), FOUR,
          "'a.weight' has shape [4,16] and its scales have [0,1152921504606846976]" NO_BITS),
    WRONG("a.scales", BF16, 1, DIMS(8), FOUR,
          "'a.scales' is BF16 [8]; with U32 [4,16], expected matrices"),
    WRONG("a.scales", BF16, 3, DIMS(1, 4, 2), FOUR,
          "'a.scales' is BF16 [1,4,2]; with U32 [4,16], expected the same leading dimensions"),
    WRONG("a.scales", U8, 2, DIMS(4, 2), FOUR,
          "'a.scales' is U8 [4,2]; with U32 [4,16], scales must be BF16, F16 or F32"),
    WRONG("a.biases", F16, 2, DIMS(4, 2), FOUR,
          "'a.biases' is F16 [4,2]; with BF16 [4,2], biases must have the format and shape of the "
          "scales"),
    WRONG("a.biases", BF16, 2, DIMS(4, 1), FOUR,
          "'a.biases' is BF16 [4,1]; with BF16 [4,2], biases must have the format and shape of the "
          "scales"),
    WRONG("a.weight", U32, 1, DIMS(64), FOUR,
          "'a.scales' is BF16 [4,2]; with U32 [64], expected matrices"),
    WRONG("a.weight", U32, 2, DIMS(4, 0), FOUR,
          "'a.weight' has shape [4,0] and its scales have [4,2]" NO_BITS),
    WRONG("a.weight", U32, 2, DIMS(0, INT64_C(1) << 60), FOUR,
          "'a.weight' has shape [0,1152921504606846976] and its scales have [4,2]" NO_BITS),
    WRONG("a.weight", U32, 2, DIMS(4, 28), FOUR,
          "'a.weight' has shape [4,28] and its scales have [4,2]" NO_BITS),
    WRONG("a.weight", U32, 2, DIMS(4, 16), "{}",
          "'a.weight' has scales, but config.json has no 'quantization' that says how many weights "
          "share one"),
    WRONG("a.weight", U32, 2, DIMS(4, 24), MLX("\"a\":{\"bits\":4}"),
          "'a.weight' has 6 bits per weight by its shape, config.json says 4"),
    WRONG("a.weight", U32, 2, DIMS(4, 24), MLX("\"a\":true"),
          "'a.weight' has 6 bits per weight by its shape, config.json says 4"),
    WRONG("a.weight", U32, 2, DIMS(4, 8), MLX("\"mode\":\"mxfp4\""),
          "'a.scales' is BF16 [4,2]; with U32 [4,8], scales of mxfp4 must be U8"),
    WRONG("c_scale", U8, 2, DIMS(2, 2), FOUR,
          "'c_scale' is U8 [2,2]; with F8_E4M3 [6,4], scales must be F32, BF16, F16 or F8_E8M0"),
    WRONG("c_scale", F32, 2, DIMS(4, 2), FOUR, "'c_scale' is F32 [4,2]" NO_GRID),
    WRONG("c_scale", F32, 2, DIMS(0, 2), FOUR, "'c_scale' is F32 [0,2]" NO_GRID),
    WRONG("c_scale", F32, 1, DIMS(4), FOUR, "'c_scale' is F32 [4]" NO_GRID),
    WRONG("c_scale", F32, 3, DIMS(1, 2, 2), FOUR,
          "'c_scale' is F32 [1,2,2]; with F8_E4M3 [6,4], expected one scale per block, row or "
          "matrix"),
    WRONG("c_scale", F32, 1, DIMS(3), FOUR, "'c_scale' is F32 [3]" NO_GRID),
    WRONG("c", E4M3, 1, DIMS(4), FOUR,
          "'c_scale' is F32 [2,2]; with F8_E4M3 [4], expected one scale per block, row or matrix"),
    WRONG("c", E4M3, 2, DIMS(0, 4), FOUR,
          "'c_scale' is F32 [2,2]; with F8_E4M3 [0,4], expected one scale per block, row or "
          "matrix"),
    WRONG("c", E4M3, 3, DIMS(2, 2, 2), FOUR,
          "'c_scale' is F32 [2,2]; with F8_E4M3 [2,2,2], expected one scale per block, row or "
          "matrix"),
};

static void tensors_that_are_refused(void **state)
{
    (void)state;
    static made_file f;
    float *x = values(3, 512);
    const made_how affine = { VUG_QUANT_MLX_AFFINE, 4, 1, 64, VUG_DTYPE_BF16, NULL };
    const made_how fp8 = { VUG_QUANT_FP8, 8, 3, 2, VUG_DTYPE_F32, "_scale" };
    made_matrix(&f, "a.weight", 2, (made_dims){ { 4, 128 } }, x, &affine);
    made_matrix(&f, "c", 2, (made_dims){ { 6, 4 } }, x, &fp8);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        expect_wrong_tensor(&wrong[i], &f);
    (void)snprintf(made_find(&f, "a.biases")->name, 16, "b.biases");
    expect_error(&f, FOUR, VUG_FORMAT,
                 FILE_ "'a.weight' has scales but no biases, expected 'a.biases'");
    (void)snprintf(made_find(&f, "c_scale")->name, 16, "d_scale");
    (void)snprintf(made_find(&f, "a.scales")->name, 16, "b.scales");
    expect_error(&f, FP8(""), VUG_FORMAT, FILE_ "'c' is F8_E4M3 and has no 'c_scale_inv'");
    made_release(&f);
    made_matrix(&f, "c", 2, (made_dims){ { 5, 4 } }, x, &fp8);
    expect_error(&f, FP8(",\"weight_block_size\":[4,4]"), VUG_FORMAT,
                 FILE_
                 "'c_scale' is F32 [2,2]; with F8_E4M3 [5,4], expected one scale per block, row or "
                 "matrix");
    made_release(&f);
    /* mxfp4 with biases. */
    const made_how mx = { VUG_QUANT_MLX_MXFP4, 4, 1, 32, VUG_DTYPE_U8, NULL };
    made_matrix(&f, "a.weight", 2, (made_dims){ { 4, 128 } }, x, &mx);
    (void)made_add(&f, VUG_DTYPE_U8, 2, (made_dims){ { 4, 4 } }, "a.biases");
    expect_error(&f, MLX("\"mode\":\"mxfp4\""), VUG_FORMAT,
                 FILE_ "'a.biases' is U8 [4,4]; with U32 [4,16], mxfp4 has no biases");
    made_release(&f);
    free(x);
}

/* Reads every scale of every folded tensor. */
static void read_all(const opened_file *o)
{
    float row[512];
    for (size_t i = 0; i < vug_weights_count(o->weights); i++) {
        const vug_tensor *t = vug_weights_at(o->weights, i);
        assert_ptr_equal(vug_weights_find(o->weights, t->name), t);
        if (!t->scales.scale || t->dim[t->rank - 1] > 512)
            continue;
        for (int64_t r = 0; r < t->dim[t->rank - 2]; r++) {
            const vug_matrix m = vug_tensor_matrix_at(t, 0);
            vug_matrix_decode(&m, r, row);
        }
    }
}

/* Tensors of both kinds, for a config that describes both. */
static void make_both(made_file *f)
{
    float *x = values(3, 512);
    const made_how affine = { VUG_QUANT_MLX_AFFINE, 4, 1, 64, VUG_DTYPE_BF16, NULL };
    const made_how mx = { VUG_QUANT_MLX_MXFP4, 4, 1, 32, VUG_DTYPE_U8, NULL };
    const made_how fp8 = { VUG_QUANT_FP8, 8, 3, 2, VUG_DTYPE_F32, NULL };
    made_matrix(f, "a.weight", 2, (made_dims){ { 4, 128 } }, x, &affine);
    made_matrix(f, "b.weight", 2, (made_dims){ { 2, 64 } }, x, &mx);
    made_matrix(f, "c", 2, (made_dims){ { 6, 4 } }, x, &fp8);
    free(x);
}

static void test_every_flip_of_the_config(void **state)
{
    (void)state;
    static const char *const configs[] = {
        MLX("\"group_size\":64,\"bits\":4,\"b\":{\"mode\":\"mxfp4\"},\"c\":false,\"x.y\":true"),
        "{\"text_config\":{\"quantization_config\":{\"quant_method\":\"fp8\","
        "\"weight_block_size\":[3,2]}}}",
    };
    static made_file f;
    make_both(&f);
    for (size_t c = 0; c < 2; c++) {
        const size_t n = strlen(configs[c]);
        char *text = malloc(n);
        for (size_t i = 0; i < 10 * n; i++) {
            const size_t len = i < n ? i : n;
            vug_err err = { 0 };
            memcpy(text, configs[c], n);
            if (i >= n)
                text[i % n] =
                        (char)((unsigned char)text[i % n] ^ (i / n < 9 ? 1u << (i / n - 1) : 0x55));
            opened_file o = open_made(&f);
            const vug_status st = vug_quantization_config_apply((vug_str){ text, len },
                                                                "config.json", o.weights, &err);
            assert_int_equal(st == VUG_OK, err.msg[0] == '\0');
            if (st == VUG_OK)
                read_all(&o);
            close_made(&o);
        }
        free(text);
    }
    made_release(&f);
}

/* Flips bits of the header only; data may have any value, NaN scales included. */
static void test_every_flip_of_the_header(void **state)
{
    (void)state;
    static made_file f;
    make_both(&f);
    const made_block good = made_bytes(&f);
    const size_t header = 8 + good.ptr[0] + 256u * good.ptr[1];
    uint8_t *bytes = malloc(good.len);
    size_t folded = 0;
    for (size_t i = 8; i < header; i++) {
        for (int bit = 0; bit < 8; bit++) {
            vug_err err = { 0 };
            opened_file o = { .bytes = { bytes, good.len } };
            memcpy(bytes, good.ptr, good.len);
            memset(bytes + header, 0xff, good.len - header);
            bytes[i] = (uint8_t)(bytes[i] ^ 1u << bit);
            if (vug_weights_open_memory((vug_bytes){ o.bytes.ptr, o.bytes.len },
                                        "model.safetensors", &o.weights, &err) != VUG_OK)
                continue;
            if (fold_scales(&o, MLX("\"b\":{\"mode\":\"mxfp4\"}"), &err) == VUG_OK) {
                read_all(&o);
                folded++;
            }
            vug_weights_close(o.weights);
        }
    }
    assert_true(folded > 0);
    free(bytes);
    free(good.ptr);
    made_release(&f);
}

/* Tensors may be added to a folded directory; the sanitizer checks that all memory is freed. */
static void test_add_after_fold(void **state)
{
    (void)state;
    vug_weights *w;
    vug_err err = { 0 };
    uint8_t *data;
    const int64_t words[2] = { 2, 8 }, scales[2] = { 2, 1 };
    help_ok(vug_weights_create("memory", &w, &err), &err);
    help_ok(vug_weights_add(w, vug_str_of("z.weight"), VUG_DTYPE_U32, 2, words, &data, &err), &err);
    help_ok(vug_weights_add(w, vug_str_of("z.scales"), VUG_DTYPE_F32, 2, scales, &data, &err),
            &err);
    help_ok(vug_weights_add(w, vug_str_of("z.biases"), VUG_DTYPE_F32, 2, scales, &data, &err),
            &err);
    help_ok(vug_weights_add(w, vug_str_of("a"), VUG_DTYPE_F32, 2, scales, &data, &err), &err);
    help_ok(vug_quantization_config_apply(vug_str_of(MLX("")), "config.json", w, &err), &err);
    assert_int_equal(vug_weights_count(w), 2);
    assert_string_equal(vug_weights_at(w, 0)->name.ptr, "z.weight");
    assert_string_equal(vug_weights_at(w, 1)->name.ptr, "a");
    help_ok(vug_weights_add(w, vug_str_of("z.scales"), VUG_DTYPE_F32, 2, scales, &data, &err),
            &err);
    assert_int_equal(vug_weights_count(w), 3);
    assert_non_null(vug_weights_find(w, vug_str_of("z.scales")));
    uint64_t done = 0;
    assert_true(vug_weights_populate(w, vug_weights_at(w, 0), &done, 0, NULL, NULL));
    assert_int_equal(done, 64 + 8 + 8);
    vug_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width_and_group),
        cmocka_unit_test(test_mxfp4),
        cmocka_unit_test(test_config_overrides),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_fp8_blocks),
        cmocka_unit_test(test_fp8_scale_ranks),
        cmocka_unit_test(test_bad_configs),
        cmocka_unit_test(tensors_that_are_refused),
        cmocka_unit_test(test_every_flip_of_the_config),
        cmocka_unit_test(test_every_flip_of_the_header),
        cmocka_unit_test(test_add_after_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
