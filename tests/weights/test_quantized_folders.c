/*
 * Checkpoint folders with quantized weights. Each is paired with a folder of the same values
 * in F32. Both must have equal weights in the same slots and bit-identical logits with F32
 * activations; with 8-bit activations the logits must be close.
 */
#include "test.h"

#include <math.h>

#include "capture.h"
#include "engine_help.h"
#include "kernel_help.h"
#include "quant/matrix.h"
#include "quantized_help.h"

/* D, F, heads, head width, vocabulary, experts: all multiples of the largest group. */
#define SIZES                                                                                \
    "\"hidden_size\":128,\"intermediate_size\":256,\"num_hidden_layers\":2,"                 \
    "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":32,\"vocab_size\":70," \
    "\"max_position_embeddings\":64,\"rms_norm_eps\":1e-6,\"dtype\":\"bfloat16\""
#define LLAMA \
    "\"model_type\":\"llama\",\"attention_bias\":true,\"mlp_bias\":true,\"rope_theta\":1e4," SIZES
#define QWEN3  "\"model_type\":\"qwen3\",\"tie_word_embeddings\":true,\"rope_theta\":1e4," SIZES
#define GEMMA3 "\"model_type\":\"gemma3_text\",\"sliding_window\":8," SIZES
#define MIXTURE                                                                      \
    "\"model_type\":\"qwen3_moe\",\"num_experts\":4,\"num_experts_per_tok\":2,"      \
    "\"moe_intermediate_size\":128,\"norm_topk_prob\":true,\"mlp_only_layers\":[0]," \
    "\"rope_theta\":1e4," SIZES

typedef enum { EACH, APART, TOGETHER } layout; /* of experts: separate tensors or stacks */

typedef struct {
    const char *config;  /* keys of the model */
    const char *said;    /* the config of the quantization */
    made_how how;        /* of all matrices except those below */
    const char *part[2]; /* substrings of their names */
    made_how other[2];
    layout experts;
    bool head; /* has a head that is not the embedding */
} folder_of;

/* ---- making pairs -------------------------------------------------------------------- */

typedef struct {
    const folder_of *of;
    made_file quantized, plain;
    rng r;
} pair_maker;

static made_how how_of(const folder_of *of, const char *name, int rank)
{
    for (int i = 0; i < 2; i++) {
        if (rank > 1 && of->part[i] && strstr(name, of->part[i]))
            return of->other[i];
    }
    return rank > 1 ? of->how : (made_how){ .scales = VUG_DTYPE_BF16 };
}

static void make(pair_maker *m, const char *name, int rank, made_dims dim)
{
    const made_how how = how_of(m->of, name, rank), plain = { .scales = VUG_DTYPE_F32 };
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dim.n[i];
    float *x = calloc((size_t)n + 1, sizeof(*x));
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = rng_float(&m->r) * (rank > 1 ? 0.15f : 1);
    made_matrix(&m->quantized, name, rank, dim, x, &how);
    made_matrix(&m->plain, name, rank, dim, x, &plain);
    free(x);
}

/* The stack that holds the weight `name` of all experts; false when an earlier one holds it. */
static bool stack_of(const folder_of *of, const vug_weight_slot *slot, const char *name, char *out,
                     size_t size)
{
    const char *experts = strstr(name, "experts.0."), *which = strrchr(name, '_') - 4;
    const int n = experts ? (int)(experts - name) : 0;
    if (slot->expert != 0)
        return false;
    if (of->experts == APART)
        (void)snprintf(out, size, "%.*sswitch_mlp.%s", n, name, experts + strlen("experts.0."));
    else if (strncmp(which, "gate", 4) == 0)
        (void)snprintf(out, size, "%.*sexperts.gate_up_proj", n, name);
    else if (strncmp(which, "down", 4) == 0)
        (void)snprintf(out, size, "%.*sexperts.down_proj", n, name);
    else
        return false;
    return true;
}

static void make_slot(pair_maker *m, const vug_config *c, const vug_weight_slot *slot)
{
    char name[192], stack[192];
    const bool head = strcmp(slot->name, "lm_head.weight") == 0;
    if (slot->presence != VUG_TENSOR_USED ||
        (slot->row->need == VUG_OPTIONAL && !(head && m->of->head)))
        return;
    (void)snprintf(name, sizeof(name), "%s%s", head ? "" : "model.", slot->name);
    made_dims dim = { { slot->shape.dim[0], slot->shape.rank > 1 ? slot->shape.dim[1] : 0 } };
    if (slot->expert < 0 || m->of->experts == EACH) {
        make(m, name, slot->shape.rank, dim);
        return;
    }
    if (!stack_of(m->of, slot, name, stack, sizeof(stack)))
        return;
    const int64_t parts = strstr(stack, "gate_up") ? 2 : 1;
    make(m, stack, 3, (made_dims){ { c->n_experts, parts * dim.n[0], dim.n[1] } });
}

static void make_folders(const folder_of *of, uint64_t seed, const scratch *quantized,
                         const scratch *plain)
{
    static pair_maker m;
    static vug_config c;
    char json[1024];
    vug_err err = { 0 };
    m.of = of;
    m.r = (rng){ seed };
    (void)snprintf(json, sizeof(json), "{%s}", of->config);
    help_ok(vug_config_read(vug_str_of(json), "config.json", &c, &err), &err);
    scratch_puts(plain, "config.json", json);
    (void)snprintf(json, sizeof(json), "{%s,%s}", of->config, of->said);
    scratch_puts(quantized, "config.json", json);
    for (size_t i = 0; i < vug_weight_slot_count(&c); i++) {
        const vug_weight_slot slot = vug_weight_slot_at(&c, i);
        make_slot(&m, &c, &slot);
    }
    made_write(&m.quantized, quantized, "model.safetensors");
    made_write(&m.plain, plain, "model.safetensors");
    made_release(&m.quantized);
    made_release(&m.plain);
}

/* ---- the pairs ------------------------------------------------------------------------- */

#define SAID(mode, bits, group, more)                                                        \
    "\"quantization\":{\"mode\":\"" mode "\",\"bits\":" #bits ",\"group_size\":" #group more \
    "},\"quantization_config\":{\"mode\":\"" mode "\",\"bits\":" #bits                       \
    ",\"group_size\":" #group more "}"
#define AFFINE(bits, group, scales)                                    \
    {                                                                  \
        VUG_QUANT_MLX_AFFINE, bits, 1, group, VUG_DTYPE_##scales, NULL \
    }
#define FP4                                               \
    {                                                     \
        VUG_QUANT_MLX_MXFP4, 4, 1, 32, VUG_DTYPE_U8, NULL \
    }
#define FP8(rows, columns, scales, tail)                          \
    {                                                             \
        VUG_QUANT_FP8, 8, rows, columns, VUG_DTYPE_##scales, tail \
    }
#define PLAIN                    \
    {                            \
        .scales = VUG_DTYPE_BF16 \
    }
#define SAID_FP8(more) "\"quantization_config\":{\"quant_method\":\"fp8\"" more "}"

static const folder_of folders[] = {
    { .config = LLAMA, .said = SAID("affine", 2, 32, ""), .how = AFFINE(2, 32, F16) },
    { .config = LLAMA, .said = SAID("affine", 2, 64, ""), .how = AFFINE(2, 64, BF16) },
    { .config = LLAMA, .said = SAID("affine", 2, 128, ""), .how = AFFINE(2, 128, BF16) },
    { .config = LLAMA,
      .said = SAID("affine", 3, 32, ""),
      .how = AFFINE(3, 32, BF16),
      .head = true },
    { .config = LLAMA, .said = SAID("affine", 3, 64, ""), .how = AFFINE(3, 64, F32) },
    { .config = QWEN3, .said = SAID("affine", 3, 128, ""), .how = AFFINE(3, 128, BF16) },
    { .config = QWEN3, .said = SAID("affine", 4, 32, ""), .how = AFFINE(4, 32, BF16) },
    { .config = GEMMA3, .said = SAID("affine", 4, 64, ""), .how = AFFINE(4, 64, BF16) },
    { .config = LLAMA, .said = SAID("affine", 4, 128, ""), .how = AFFINE(4, 128, F16) },
    { .config = LLAMA, .said = SAID("affine", 5, 32, ""), .how = AFFINE(5, 32, BF16) },
    { .config = GEMMA3, .said = SAID("affine", 5, 64, ""), .how = AFFINE(5, 64, BF16) },
    { .config = LLAMA, .said = SAID("affine", 5, 128, ""), .how = AFFINE(5, 128, BF16) },
    { .config = LLAMA, .said = SAID("affine", 6, 32, ""), .how = AFFINE(6, 32, BF16) },
    { .config = LLAMA, .said = SAID("affine", 6, 64, ""), .how = AFFINE(6, 64, BF16) },
    { .config = QWEN3, .said = SAID("affine", 6, 128, ""), .how = AFFINE(6, 128, F32) },
    { .config = LLAMA, .said = SAID("affine", 8, 32, ""), .how = AFFINE(8, 32, BF16) },
    { .config = QWEN3, .said = SAID("affine", 8, 64, ""), .how = AFFINE(8, 64, BF16) },
    { .config = GEMMA3, .said = SAID("affine", 8, 128, ""), .how = AFFINE(8, 128, F16) },
    { .config = QWEN3, .said = SAID("mxfp4", 4, 32, ""), .how = FP4 },
    /* Mixed formats. */
    { .config = LLAMA,
      .said = SAID("affine", 4, 64,
                   ",\"model.layers.0.mlp.down_proj\":{\"group_size\":32,\"bits\":6},"
                   "\"model.layers.1.mlp.down_proj\":{\"group_size\":32,\"bits\":6},"
                   "\"model.layers.0.self_attn.v_proj\":false,"
                   "\"model.layers.7.self_attn.v_proj\":{\"bits\":3},"
                   "\"lm_head\":true"),
      .how = AFFINE(4, 64, BF16),
      .part = { "down_proj", "0.self_attn.v_proj" },
      .other = { AFFINE(6, 32, BF16), PLAIN },
      .head = true },
    /* Experts in separate tensors, in MLX's stacks, and with gate and up in one stack. */
    { .config = MIXTURE, .said = SAID("affine", 4, 64, ""), .how = AFFINE(4, 64, BF16) },
    { .config = MIXTURE,
      .said = SAID("affine", 3, 32,
                   ",\"model.layers.1.mlp.gate\":{\"group_size\":64,\"bits\":8},"
                   "\"model.layers.1.mlp.switch_mlp.up_proj\":{\"mode\":\"mxfp4\"}"),
      .how = AFFINE(3, 32, BF16),
      .part = { "mlp.gate.weight", "switch_mlp.up_proj" },
      .other = { AFFINE(8, 64, BF16), FP4 },
      .experts = APART },
    { .config = MIXTURE,
      .said = SAID_FP8(",\"weight_block_size\":[64,96]"),
      .how = FP8(64, 96, BF16, NULL),
      .part = { "embed", "mlp.gate." },
      .other = { PLAIN, PLAIN },
      .experts = TOGETHER },
    /* FP8 as it is published, and with one scale per row or per matrix. */
    { .config = QWEN3,
      .said = SAID_FP8(",\"fmt\":\"e4m3\",\"activation_scheme\":\"dynamic\","
                       "\"modules_to_not_convert\":[\"lm_head\"],\"weight_block_size\":[128,128]"),
      .how = FP8(128, 128, BF16, NULL),
      .part = { "embed" },
      .other = { PLAIN } },
    { .config = LLAMA,
      .said = SAID_FP8(",\"activation_scheme\":\"static\""),
      .how = FP8(1, 1024, F32, "_scale"),
      .part = { "embed", "down_proj" },
      .other = { FP8(1024, 1024, F32, "_scale"), FP8(1024, 1024, BF16, NULL) },
      .head = true },
};

enum { N_FOLDERS = sizeof(folders) / sizeof(folders[0]) };

typedef struct {
    scratch quantized, plain;
} folder_pair;

static folder_pair make_pair(size_t i)
{
    const folder_pair p = { scratch_make(), scratch_make() };
    make_folders(&folders[i], i + 1, &p.quantized, &p.plain);
    return p;
}

static void remove_pair(const folder_pair *p)
{
    scratch_remove(&p->quantized);
    scratch_remove(&p->plain);
}

/* ---- tests ------------------------------------------------------------------------------- */

/* A stack holds the experts one after another, each with its gate before its up. */
static void assert_row(const vug_tensor *t, const vug_weight_slot *slot, int64_t row)
{
    const int64_t rows = slot->shape.dim[0], parts = t->rank > 2 ? t->dim[1] / rows : 1;
    const bool second = parts == 2 && strstr(slot->name, "up_proj");
    const int64_t before = t->rank > 2 ? slot->expert * parts + second : 0;
    assert_int_equal(row, before * rows);
}

static void assert_same_weights(const vug_checkpoint *a, const vug_checkpoint *b)
{
    float x[256], y[256];
    assert_int_equal(a->binding.n_slots, b->binding.n_slots);
    assert_int_equal(a->binding.tied, b->binding.tied);
    for (size_t i = 0; i < a->binding.n_slots; i++) {
        const vug_weight_slot slot = vug_weight_slot_at(&a->config, i);
        const vug_tensor *t = a->binding.tensor[i], *u = b->binding.tensor[i];
        assert_int_equal(t != NULL, u != NULL);
        if (!t || slot.shape.rank < 2)
            continue;
        assert_row(t, &slot, a->binding.row[i]);
        const vug_matrix m = vug_tensor_matrix_at(t, a->binding.row[i]);
        const vug_matrix n = vug_tensor_matrix_at(u, b->binding.row[i]);
        for (int64_t r = 0; r < slot.shape.dim[0]; r++) {
            vug_matrix_decode(&m, r, x);
            vug_matrix_decode(&n, r, y);
            check_bits(x, y, (size_t)slot.shape.dim[1], slot.name);
        }
    }
}

/* Each slot of every folder is bound to the rows that were quantized for it. */
static void test_slots_are_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FOLDERS; i++) {
        const folder_pair p = make_pair(i);
        static vug_checkpoint a, b;
        vug_err err = { 0 };
        help_ok(vug_checkpoint_open(p.quantized.path, &a, &err), &err);
        help_ok(vug_checkpoint_open(p.plain.path, &b, &err), &err);
        assert_same_weights(&a, &b);
        vug_checkpoint_release(&a);
        vug_checkpoint_release(&b);
        remove_pair(&p);
    }
}

/* ---- logits ------------------------------------------------------------------------------- */

enum { N_TOKENS = 11, V = 70 };

static void logits_of(const scratch *dir, const char *isa, float out[2][V])
{
    static const int32_t id[N_TOKENS] = { 2, 9, 33, 69, 12, 40, 8, 27, 51, 64, 19 };
    vug_model *model = help_model(dir->path, (vug_model_options){ .isa = isa, .threads = 2 });
    vug_session *session = help_session(model);
    memcpy(out[0], help_forward(session, id, N_TOKENS - 1), sizeof(out[0]));
    /* Also for a step of one token. */
    memcpy(out[1], help_forward(session, id, N_TOKENS), sizeof(out[1]));
    vug_session_destroy(session);
    vug_model_close(model);
}

/* |a - b| / |b|, Euclidean. */
static double distance(const float *a, const float *b)
{
    double d = 0, n = 0;
    for (int i = 0; i < V; i++) {
        d += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        n += (double)b[i] * (double)b[i];
    }
    return sqrt(d / n);
}

static void test_f32_activations(void **state)
{
    (void)state;
    static const char *const isas[] = { "ref", NULL };
    for (size_t i = 0; i < N_FOLDERS; i++) {
        const folder_pair p = make_pair(i);
        scratch_puts(&p.quantized, "vug.toml", "[precision]\nactivations = \"f32\"\n");
        for (int k = 0; k < 2; k++) {
            float got[2][V], want[2][V];
            logits_of(&p.quantized, isas[k], got);
            logits_of(&p.plain, isas[k], want);
            check_bits(got[0], want[0], sizeof(got) / sizeof(float), folders[i].said);
        }
        remove_pair(&p);
    }
}

/* A number of a block is off by at most half a step of amax / 127, so 32 of them by
 * sqrt(32) / 254 of their norm. The products in sequence are those of queries, keys and
 * values, of the output, of gate and up, and of down in each layer, and of the head. FP8 is
 * not computed in blocks. */
static void test_q8_activations(void **state)
{
    (void)state;
    enum { PRODUCTS = 2 * 4 + 1 };
    const double bound = PRODUCTS * sqrt(32) / 254;
    for (size_t i = 0; i < N_FOLDERS; i++) {
        const folder_pair p = make_pair(i);
        float got[2][V], want[2][V];
        logits_of(&p.quantized, NULL, got);
        logits_of(&p.plain, NULL, want);
        const double d = fmax(distance(got[0], want[0]), distance(got[1], want[1]));
        const bool fp8 = folders[i].how.mode == VUG_QUANT_FP8;
        if (fp8 ? d > 0 : !(d > 0 && d < bound))
            fail_msg("%s: logits differ by %g of their norm", folders[i].said, d);
        remove_pair(&p);
    }
}

/* ---- vug inspect ---------------------------------------------------------------------------- */

static void assert_shows(const folder_of *of, const char *const *lines)
{
    const folder_pair p = { scratch_make(), scratch_make() };
    make_folders(of, 5, &p.quantized, &p.plain);
    captured c = VUG("inspect", "--tensors", p.quantized.path);
    for (; *lines; lines++) {
        if (!strstr(c.out.ptr, *lines))
            fail_msg("no '%s' in: %s", *lines, c.out.ptr);
    }
    assert_null(strstr(c.out.ptr, "scale")); /* no tensor of scales, by any name */
    captured_release(&c);
    remove_pair(&p);
}

/* Bytes include the scales: with 4 bits, groups of 32 and BF16 a weight has 5 bits. */
static void test_inspect(void **state)
{
    (void)state;
    static const folder_of mlx = { .config = QWEN3,
                                   .said = SAID("affine", 4, 32,
                                                ",\"model.embed_tokens\":{\"mode\":\"mxfp4\"}"),
                                   .how = AFFINE(4, 32, BF16),
                                   .part = { "embed" },
                                   .other = { FP4 } };
    static const folder_of fp8 = { .config = QWEN3,
                                   .said = SAID_FP8(",\"weight_block_size\":[64,32]"),
                                   .how = FP8(64, 32, F32, NULL),
                                   .part = { "down_proj", "o_proj" },
                                   .other = { FP8(1, 256, F32, NULL), FP8(128, 128, BF16, NULL) } };
    assert_shows(&mlx,
                 (const char *const[]){
                         "\n  MLX4/32             14   180.00 KiB   5.00 bits per weight\n",
                         "\n  MLX_FP4/32           1     4.65 KiB   4.25 bits per weight\n",
                         "\n  MLX4/32         [128,256]         20.00 KiB  model.safetensors: "
                         "model.layers.1.mlp.down_proj.weight\n",
                         NULL });
    assert_shows(&fp8,
                 (const char *const[]){ "\n  F8_E4M3/64x32   [256,128]         32.06 KiB ",
                                        "\n  F8_E4M3/row     [128,256]         32.50 KiB ",
                                        "\n  F8_E4M3/tensor  [128,128]         16.00 KiB ", NULL });
}

/* ---- errors ------------------------------------------------------------------------------- */

/* Well-formed files that the model cannot use. */
static void test_bad_slots(void **state)
{
    (void)state;
    static const struct {
        folder_of of;
        vug_status code;
        const char *message;
    } row[] = {
        { { .config = MIXTURE,
            .said = SAID_FP8(",\"weight_block_size\":[96,128]"),
            .how = FP8(96, 128, BF16, NULL),
            .part = { "embed" },
            .other = { PLAIN },
            .experts = TOGETHER },
          VUG_UNSUPPORTED,
          "model.safetensors: tensor 'model.layers.1.mlp.experts.gate_up_proj': 96 rows share a "
          "scale, and a part begins between them" },
        /* Twice the bits with half the group have the same shapes; only the model can tell. */
        { { .config = QWEN3, .said = SAID("affine", 4, 64, ""), .how = AFFINE(8, 32, BF16) },
          VUG_FORMAT,
          "model.safetensors: tensor 'model.embed_tokens.weight' has shape [70,256], the config "
          "gives [70,128]" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const folder_pair p = { scratch_make(), scratch_make() };
        static vug_checkpoint c;
        vug_err err = { 0 };
        make_folders(&row[i].of, i + 1, &p.quantized, &p.plain);
        help_refused(vug_checkpoint_open(p.quantized.path, &c, &err), &err, row[i].code, NULL,
                     row[i].message);
        remove_pair(&p);
    }
}

static void test_bad_formats(void **state)
{
    (void)state;
    static const struct {
        vug_dtype dtype;
        const char *message;
    } row[] = {
        { VUG_DTYPE_U32, "has format U32 but no scales; weights of MLX have them" },
        { VUG_DTYPE_I8,
          "has format I8; weights must be BF16, F16, F32 or quantized (docs/formats.md)" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        static made_file f;
        static vug_checkpoint c;
        const scratch dir = scratch_make();
        char message[256];
        vug_err err = { 0 };
        (void)made_add(&f, VUG_DTYPE_F32, 2, (made_dims){ { 70, 128 } },
                       "model.embed_tokens.weight");
        (void)made_add(&f, row[i].dtype, 1, (made_dims){ { 128 } }, "model.norm.weight");
        made_write(&f, &dir, "model.safetensors");
        made_release(&f);
        scratch_puts(&dir, "config.json", "{" QWEN3 "}");
        (void)snprintf(message, sizeof(message), "model.safetensors: tensor 'model.norm.weight' %s",
                       row[i].message);
        help_refused(vug_checkpoint_open(dir.path, &c, &err), &err, VUG_UNSUPPORTED, NULL, message);
        scratch_remove(&dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_bound), cmocka_unit_test(test_f32_activations),
        cmocka_unit_test(test_q8_activations),  cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_bad_slots),       cmocka_unit_test(test_bad_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
