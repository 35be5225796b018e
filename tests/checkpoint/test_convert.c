/* Conversion: GGUF and back is lossless, quantized weights are what the quantizers make of each
 * row, and a conversion that fails leaves no files. */
#include "test.h"

#include <dirent.h>
#include <math.h>

#include "engine_help.h"
#include "quant/matrix.h"
#include "quant/quantize.h"
#include "scratch.h"
#include "short_pebble.h"
#include "text/text.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const golden[] = {
    GOLDEN("gemma1"),       GOLDEN("gemma2"),        GOLDEN("gemma3-mixed"),
    GOLDEN("gemma3-mm"),    GOLDEN("gemma3-odd"),    GOLDEN("gemma3-rope-scaled"),
    GOLDEN("gemma3-scale"), GOLDEN("gemma3-text"),   GOLDEN("gemma4-dense"),
    GOLDEN("gemma4-e"),     GOLDEN("gemma4-mm"),     GOLDEN("gemma4-moe"),
    GOLDEN("llama3"),       GOLDEN("llama3-biases"), GOLDEN("qwen2"),
    GOLDEN("qwen3"),        GOLDEN("qwen3-moe"),     GOLDEN("qwen3-moe-packed"),
    GOLDEN("qwen3-yarn"),
};

static void convert(const char *model, const char *out, const vug_convert_options *o)
{
    vug_err err = { 0 };
    help_ok(vug_convert(model, out, o, &err), &err);
}

/* ---- nothing lost ----------------------------------------------------------------------- */

enum { N_TOKENS = 9 };

static float *logits_of(const char *path, size_t *n)
{
    vug_model *m = help_model(path, (vug_model_options){ .threads = 1, .context = 32 });
    const int64_t vocab = vug_model_describe(m).n_vocab;
    int32_t id[N_TOKENS];
    help_tokens(1, id, N_TOKENS, vocab);
    float *logits = help_alone(m, id, N_TOKENS);
    vug_model_close(m);
    *n = (size_t)vocab;
    return logits;
}

static void assert_same_model(const char *a, const char *b)
{
    size_t n, m;
    float *x = logits_of(a, &n), *y = logits_of(b, &m);
    assert_int_equal(n, m);
    help_same_bits(x, y, n);
    vug_free(x);
    vug_free(y);
}

static void test_conversion_round_trip(void **state)
{
    (void)state;
    scratch s = scratch_make();
    for (size_t i = 0; i < COUNT(golden); i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%zu.gguf", i);
        const scratch_path gguf = scratch_at(&s, name);
        (void)snprintf(name, sizeof(name), "%zu", i);
        const scratch_path folder = scratch_at(&s, name);
        convert(golden[i], gguf.path, NULL);
        convert(gguf.path, folder.path, NULL);
        assert_same_model(golden[i], gguf.path);
        assert_same_model(golden[i], folder.path);
    }
    scratch_remove(&s);
}

/* 8 bits change the logits of an architecture little: unrelated weights would change them by more
 * than their size. Gemma 4's attention, which has a scale of 1, allows an eighth. */
static void assert_near(const char *model, const char *out, const char *type)
{
    size_t n, m;
    double off = 0, size = 0;
    convert(model, out, &(vug_convert_options){ .type = type });
    float *x = logits_of(model, &n), *y = logits_of(out, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        off += fabs((double)x[i] - (double)y[i]);
        size += fabs((double)x[i]);
    }
    if (!(off < 0.3 * size))
        fail_msg("%s in %s: logits are off by %.3g of their size", model, type, off / size);
    vug_free(x);
    vug_free(y);
}

static void test_every_architecture(void **state)
{
    (void)state;
    scratch s = scratch_make();
    for (size_t i = 0; i < COUNT(golden); i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%zu.gguf", i);
        assert_near(golden[i], scratch_at(&s, name).path, "q8_0");
        (void)snprintf(name, sizeof(name), "%zu", i);
        assert_near(golden[i], scratch_at(&s, name).path, "mlx8/32");
    }
    scratch_remove(&s);
}

/* ---- the tensors of a file ----------------------------------------------------------------- */

static vug_weights *open_gguf(const char *path)
{
    vug_weights *w;
    vug_err err = { 0 };
    help_ok(vug_weights_open_gguf(path, &w, &err), &err);
    return w;
}

static const vug_tensor *find(const vug_weights *w, const char *name)
{
    const vug_tensor *t = vug_weights_find(w, vug_str_of(name));
    if (!t)
        print_error("no tensor '%s'\n", name);
    assert_non_null(t);
    return t;
}

static void test_formats_are_kept(void **state)
{
    (void)state;
    scratch s = scratch_make();
    const scratch_path path = scratch_at(&s, "a.gguf");
    convert(GOLDEN("gemma3-mixed"), path.path, NULL);
    vug_weights *w = open_gguf(path.path), *from;
    vug_err err = { 0 };
    help_ok(vug_weights_open(GOLDEN("gemma3-mixed"), &from, &err), &err);
    static const char *const pairs[][2] = {
        { "embed_tokens.weight", "token_embd.weight" },
        { "layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight" },
        { "layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight" },
        { "layers.2.mlp.up_proj.weight", "blk.2.ffn_up.weight" },
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char name[96];
        (void)snprintf(name, sizeof(name), "language_model.model.%s", pairs[i][0]);
        const vug_tensor *a = find(from, name), *b = find(w, pairs[i][1]);
        assert_int_equal(a->dtype, b->dtype);
        assert_int_equal(a->bytes, b->bytes);
        assert_memory_equal(a->data, b->data, a->bytes);
    }
    assert_int_equal(find(w, "blk.0.attn_norm.weight")->dtype, VUG_DTYPE_F32);
    vug_weights_close(w);
    vug_weights_close(from);
    scratch_remove(&s);
}

/* ---- fewer bits ------------------------------------------------------------------------------ */

enum { N_LAYERS = 4 }; /* of the shortened pebble; the tests read tensors of layers 0 to 3 */

/* pebble has rows of 256 and of 512, the golden gemma3-text rows of 64 and of 96. */
static const char pebble[] = "models/pebble", narrow[] = GOLDEN("gemma3-text");

typedef struct {
    const char *type;
    vug_dtype wide, narrow, embed;
} expectation;

static const expectation types[] = {
    { "q4_0", VUG_DTYPE_Q4_0, VUG_DTYPE_Q4_0, VUG_DTYPE_Q6_K },
    { "q4_1", VUG_DTYPE_Q4_1, VUG_DTYPE_Q4_1, VUG_DTYPE_Q6_K },
    { "q5_0", VUG_DTYPE_Q5_0, VUG_DTYPE_Q5_0, VUG_DTYPE_Q8_0 },
    { "q5_1", VUG_DTYPE_Q5_1, VUG_DTYPE_Q5_1, VUG_DTYPE_Q8_0 },
    { "q8_0", VUG_DTYPE_Q8_0, VUG_DTYPE_Q8_0, VUG_DTYPE_Q8_0 },
    { "q2_k", VUG_DTYPE_Q2_K, VUG_DTYPE_IQ4_NL, VUG_DTYPE_Q6_K },
    { "q3_k", VUG_DTYPE_Q3_K, VUG_DTYPE_IQ4_NL, VUG_DTYPE_Q6_K },
    { "q4_k", VUG_DTYPE_Q4_K, VUG_DTYPE_Q5_0, VUG_DTYPE_Q6_K },
    { "q5_k", VUG_DTYPE_Q5_K, VUG_DTYPE_Q5_1, VUG_DTYPE_Q6_K },
    { "q6_k", VUG_DTYPE_Q6_K, VUG_DTYPE_Q8_0, VUG_DTYPE_Q6_K },
    { "iq4_nl", VUG_DTYPE_IQ4_NL, VUG_DTYPE_IQ4_NL, VUG_DTYPE_Q6_K },
    { "iq4_xs", VUG_DTYPE_IQ4_XS, VUG_DTYPE_IQ4_NL, VUG_DTYPE_Q6_K },
    { "mxfp4", VUG_DTYPE_MXFP4, VUG_DTYPE_MXFP4, VUG_DTYPE_Q8_0 },
    { "bf16", VUG_DTYPE_BF16, VUG_DTYPE_BF16, VUG_DTYPE_BF16 },
};

/* Every row of the tensor is the quantized source row. */
static void assert_quantized(const vug_tensor *from, const vug_tensor *to, vug_dtype dtype,
                             const float *importance)
{
    assert_int_equal(to->dtype, dtype);
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const int64_t columns = from->dim[1];
    const size_t size = (size_t)(columns / info->elements * info->bytes);
    assert_int_equal(to->bytes, size * (size_t)from->dim[0]);
    float *x = vug_alloc((size_t)columns, sizeof(*x));
    uint8_t *expected = vug_alloc(size, 1);
    assert_non_null(x);
    assert_non_null(expected);
    const vug_matrix m = vug_tensor_matrix_at(from, 0);
    for (int64_t row = 0; row < from->dim[0]; row += 7) {
        vug_matrix_decode(&m, row, x);
        if (vug_codec_of(dtype)->encode)
            vug_codec_of(dtype)->encode(x, expected, (size_t)columns);
        else
            vug_quantize_row(dtype, x, importance, columns, expected);
        assert_memory_equal(to->data + (size_t)row * size, expected, size);
    }
    vug_free(x);
    vug_free(expected);
}

static void check_types(const char *model, bool wide)
{
    scratch s = scratch_make();
    vug_weights *from;
    vug_err err = { 0 };
    help_ok(vug_weights_open(model, &from, &err), &err);
    for (size_t i = 0; i < COUNT(types); i++) {
        const expectation *e = &types[i];
        char name[32];
        (void)snprintf(name, sizeof(name), "%s.gguf", e->type);
        const scratch_path path = scratch_at(&s, name);
        convert(model, path.path, &(vug_convert_options){ .type = e->type, .threads = 2 });
        vug_weights *to = open_gguf(path.path);
        const vug_tensor *down = find(from, "model.layers.1.mlp.down_proj.weight");
        assert_quantized(down, find(to, "blk.1.ffn_down.weight"), wide ? e->wide : e->narrow, NULL);
        if (wide)
            assert_quantized(find(from, "model.embed_tokens.weight"), find(to, "token_embd.weight"),
                             e->embed, NULL);
        assert_int_equal(find(to, "blk.1.ffn_norm.weight")->dtype, VUG_DTYPE_F32);
        vug_weights_close(to);
    }
    vug_weights_close(from);
    scratch_remove(&s);
}

static void test_every_type(void **state)
{
    (void)state;
    scratch model = scratch_make();
    short_pebble(&model, N_LAYERS);
    check_types(model.path, true);
    scratch_remove(&model);
}

static void test_rows_without_super_blocks(void **state)
{
    (void)state;
    check_types(narrow, false);
}

static void test_embedding_and_threads(void **state)
{
    (void)state;
    scratch s = scratch_make();
    const scratch_path a = scratch_at(&s, "a.gguf"), b = scratch_at(&s, "b.gguf");
    vug_convert_options o = { .type = "q4_0", .embed = "q8_0", .threads = 1 };
    vug_text x, y;
    convert(pebble, a.path, &o);
    o.threads = 3;
    convert(pebble, b.path, &o);
    assert_int_equal(vug_read_file(a.path, (size_t)1 << 30, &x, NULL), VUG_OK);
    assert_int_equal(vug_read_file(b.path, (size_t)1 << 30, &y, NULL), VUG_OK);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.ptr, y.ptr, x.len);
    vug_text_release(&x);
    vug_text_release(&y);
    vug_weights *w = open_gguf(a.path);
    assert_int_equal(find(w, "token_embd.weight")->dtype, VUG_DTYPE_Q8_0);
    vug_weights_close(w);
    scratch_remove(&s);
}

/* From blocks to other blocks, and to formats without blocks. */
static void test_from_quantized(void **state)
{
    (void)state;
    scratch s = scratch_make();
    const scratch_path a = scratch_at(&s, "a.gguf"), b = scratch_at(&s, "b.gguf"),
                       c = scratch_at(&s, "c"), d = scratch_at(&s, "d.gguf");
    convert(pebble, a.path, &(vug_convert_options){ .type = "q5_k" });
    convert(a.path, b.path, &(vug_convert_options){ .type = "q4_0" });
    convert(a.path, c.path, NULL);
    convert(a.path, d.path, NULL);
    vug_weights *from = open_gguf(a.path), *to = open_gguf(b.path), *same = open_gguf(d.path), *f32;
    vug_err err = { 0 };
    help_ok(vug_weights_open(c.path, &f32, &err), &err);
    assert_quantized(find(from, "blk.3.ffn_up.weight"), find(to, "blk.3.ffn_up.weight"),
                     VUG_DTYPE_Q4_0, NULL);
    assert_quantized(find(from, "blk.3.ffn_up.weight"),
                     find(f32, "model.layers.3.mlp.up_proj.weight"), VUG_DTYPE_F32, NULL);
    for (size_t i = 0; i < vug_weights_count(from); i++) {
        const vug_tensor *x = vug_weights_at(from, i), *y = find(same, x->name.ptr);
        assert_int_equal(x->dtype, y->dtype);
        assert_memory_equal(x->data, y->data, x->bytes);
    }
    vug_weights_close(from);
    vug_weights_close(to);
    vug_weights_close(same);
    vug_weights_close(f32);
    scratch_remove(&s);
}

/* ---- MLX ------------------------------------------------------------------------------------- */

static void check_mlx(const char *model, const scratch *s, const char *type, const char *embed,
                      vug_dtype dtype, vug_dtype embedding, int group)
{
    const scratch_path path = scratch_at(s, "mlx");
    convert(model, path.path, &(vug_convert_options){ .type = type, .embed = embed });
    vug_checkpoint c = { 0 };
    vug_err err = { 0 };
    help_ok(vug_checkpoint_open(path.path, &c, &err), &err);
    const vug_tensor *t = find(c.weights, "model.layers.2.mlp.down_proj.weight");
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->dim[1], 512);
    assert_int_equal(t->scales.columns, group);
    assert_int_equal(find(c.weights, "model.embed_tokens.weight")->dtype, embedding);
    assert_int_equal(find(c.weights, "model.norm.weight")->dtype, VUG_DTYPE_BF16);
    assert_non_null(c.tokenizer);
    /* The error is far smaller than the values, and not zero. */
    vug_weights *from;
    help_ok(vug_weights_open(model, &from, &err), &err);
    const vug_tensor *original = find(from, "model.layers.2.mlp.down_proj.weight");
    float x[512], y[512];
    double error = 0, size = 0;
    for (int64_t row = 0; row < original->dim[0]; row++) {
        const vug_matrix a = vug_tensor_matrix_at(original, 0), b = vug_tensor_matrix_at(t, 0);
        vug_matrix_decode(&a, row, x);
        vug_matrix_decode(&b, row, y);
        for (int i = 0; i < 512; i++) {
            error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
            size += (double)x[i] * (double)x[i];
        }
    }
    assert_true(error > 0 && sqrt(error / size) < 0.4);
    vug_weights_close(from);
    vug_checkpoint_release(&c);
}

static void test_mlx_folders(void **state)
{
    (void)state;
    static const struct {
        const char *type, *embed;
        vug_dtype dtype, embedding;
        int group;
    } cases[] = {
        { "mlx2/32", NULL, VUG_DTYPE_MLX2, VUG_DTYPE_MLX2, 32 },
        { "mlx3/128", "mlx6/64", VUG_DTYPE_MLX3, VUG_DTYPE_MLX6, 128 },
        { "mlx4", NULL, VUG_DTYPE_MLX4, VUG_DTYPE_MLX4, 64 },
        { "mlx5/64", "bf16", VUG_DTYPE_MLX5, VUG_DTYPE_BF16, 64 },
        { "mlx6/64", "mlx8/32", VUG_DTYPE_MLX6, VUG_DTYPE_MLX8, 64 },
        { "mlx8/64", NULL, VUG_DTYPE_MLX8, VUG_DTYPE_MLX8, 64 },
        { "mxfp4", "mlx8", VUG_DTYPE_MLX_FP4, VUG_DTYPE_MLX8, 32 },
    };
    scratch model = scratch_make();
    short_pebble(&model, N_LAYERS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        scratch s = scratch_make();
        check_mlx(model.path, &s, cases[i].type, cases[i].embed, cases[i].dtype, cases[i].embedding,
                  cases[i].group);
        scratch_remove(&s);
    }
    scratch_remove(&model);
}

/* The config no longer mentions the old formats. */
static void test_mlx_folders_are_quantized_again(void **state)
{
    (void)state;
    scratch s = scratch_make(), model = scratch_make();
    short_pebble(&model, N_LAYERS);
    const scratch_path a = scratch_at(&s, "a"), b = scratch_at(&s, "b"), c = scratch_at(&s, "c");
    convert(model.path, a.path, &(vug_convert_options){ .type = "mlx4", .embed = "mlx6" });
    convert(a.path, b.path, &(vug_convert_options){ .type = "mlx3/32" });
    convert(a.path, c.path, &(vug_convert_options){ .type = "f32" });
    static const vug_dtype expected[] = { VUG_DTYPE_MLX3, VUG_DTYPE_F32 };
    const char *const path[] = { b.path, c.path };
    for (size_t i = 0; i < COUNT(path); i++) {
        vug_checkpoint read = { 0 };
        vug_err err = { 0 };
        help_ok(vug_checkpoint_open(path[i], &read, &err), &err);
        assert_int_equal(find(read.weights, "model.layers.2.mlp.down_proj.weight")->dtype,
                         expected[i]);
        assert_int_equal(find(read.weights, "model.embed_tokens.weight")->dtype, expected[i]);
        vug_checkpoint_release(&read);
    }
    scratch_remove(&model);
    scratch_remove(&s);
}

/* ---- the tokenizer and the rest of the metadata ---------------------------------------------- */

static void test_metadata(void **state)
{
    (void)state;
    scratch s = scratch_make();
    const scratch_path path = scratch_at(&s, "p.gguf"), folder = scratch_at(&s, "p");
    convert(pebble, path.path, &(vug_convert_options){ .type = "q4_k" });
    vug_weights *w = open_gguf(path.path);
    const vug_gguf *g = vug_weights_gguf(w);
    vug_text json;
    vug_str text;
    uint64_t n;
    assert_int_equal(vug_read_file("models/pebble/tokenizer.json", (size_t)1 << 28, &json, NULL),
                     VUG_OK);
    assert_true(vug_gguf_string(vug_gguf_find(g, vug_str_of("tokenizer.huggingface.json")), &text));
    assert_int_equal(text.len, json.len);
    assert_memory_equal(text.ptr, json.ptr, json.len);
    assert_true(vug_gguf_string(vug_gguf_find(g, vug_str_of("tokenizer.chat_template")), &text));
    assert_true(vug_gguf_u64(vug_gguf_find(g, vug_str_of("general.file_type")), 0, &n));
    assert_int_equal(n, 14);
    const vug_gguf_value *tokens = vug_gguf_find(g, vug_str_of("tokenizer.ggml.tokens"));
    const vug_gguf_value *kinds = vug_gguf_find(g, vug_str_of("tokenizer.ggml.token_type"));
    const vug_gguf_value *scores = vug_gguf_find(g, vug_str_of("tokenizer.ggml.scores"));
    const vug_gguf_value *merges = vug_gguf_find(g, vug_str_of("tokenizer.ggml.merges"));
    assert_int_equal(tokens->count, 4096);
    assert_int_equal(kinds->count, 4096);
    assert_int_equal(scores->count, 4096);
    assert_int_equal(merges->count, 3732);
    /* <pad> is special, <tool_call> is user-defined, <0x00> is a byte; the first merge makes the
     * piece with the best score. */
    static const struct {
        const char *piece;
        int64_t kind;
        double score;
    } known[] = {
        { "<pad>", 3, 0 },
        { "<unk>", 2, 0 },
        { "<tool_call>", 4, 0 },
        { "<0x00>", 6, 0 },
        { "\xe2\x96\x81"
          "a",
          1, -1 },
        { "\xe2\x96\x81\"", 1, -2 },
    };
    size_t seen = 0;
    vug_gguf_strings it = vug_gguf_strings_of(tokens);
    vug_str piece;
    for (uint64_t id = 0; vug_gguf_next_string(&it, &piece); id++) {
        for (size_t k = 0; k < COUNT(known); k++) {
            int64_t kind;
            double score = 0;
            if (!vug_str_is(piece, known[k].piece))
                continue;
            assert_true(vug_gguf_i64(kinds, id, &kind) && vug_gguf_f64(scores, id, &score));
            assert_int_equal(kind, known[k].kind);
            assert_true(score == known[k].score);
            seen++;
        }
    }
    assert_int_equal(seen, COUNT(known));
    vug_weights_close(w);
    /* Converting back gives the same tokenizer. */
    convert(path.path, folder.path, NULL);
    const scratch_path again = scratch_at(&s, "p/tokenizer.json");
    vug_text copy;
    assert_int_equal(vug_read_file(again.path, (size_t)1 << 28, &copy, NULL), VUG_OK);
    assert_int_equal(copy.len, json.len);
    assert_memory_equal(copy.ptr, json.ptr, json.len);
    vug_text_release(&copy);
    vug_text_release(&json);
    scratch_remove(&s);
}

/* ---- importance ------------------------------------------------------------------------------ */

static void test_importance_is_used(void **state)
{
    (void)state;
    scratch s = scratch_make();
    const scratch_path file = scratch_at(&s, "i.gguf"), out = scratch_at(&s, "q.gguf");
    static const char text[] = "What does vug quantize do?\nIt writes weights in fewer bits.\n";
    vug_model *m = help_model(pebble, (vug_model_options){ .threads = 1, .context = 16 });
    vug_err err = { 0 };
    help_ok(vug_importance_collect(m, text, strlen(text), file.path,
                                   &(vug_importance_options){ .window = 16 }, &err),
            &err);
    /* Computes the inputs of the first product again: the norm of the embeddings. */
    vug_tokens id;
    help_ok(vug_tokenizer_encode(vug_model_tokenizer(m, NULL), text, strlen(text), 0, &id, &err),
            &err);
    vug_weights *from, *to, *sums = open_gguf(file.path);
    help_ok(vug_weights_open(pebble, &from, &err), &err);
    const vug_tensor *embed = find(from, "model.embed_tokens.weight");
    const vug_tensor *norm = find(from, "model.layers.0.input_layernorm.weight");
    const vug_tensor *sum = find(sums, "blk.0.attn_q.weight.in_sum2");
    float x[256], weight[256], collected[256];
    double expected[256] = { 0 };
    vug_codec_of(norm->dtype)->decode(norm->data, weight, 256);
    memcpy(collected, sum->data, sizeof(collected));
    for (size_t t = 0; t < id.n; t++) {
        const vug_matrix table = vug_tensor_matrix_at(embed, 0);
        double squares = 0;
        vug_matrix_decode(&table, id.id[t], x);
        for (int i = 0; i < 256; i++)
            squares += 256.0 * (double)x[i] * (double)x[i];
        for (int i = 0; i < 256; i++) {
            const double y =
                    16.0 * (double)x[i] / sqrt(squares / 256 + 1e-6) * (1 + (double)weight[i]);
            expected[i] += y * y;
        }
    }
    for (int i = 0; i < 256; i++)
        assert_true(fabs((double)collected[i] - expected[i]) <= 1e-4 * expected[i] + 1e-9);
    float counted;
    memcpy(&counted, find(sums, "blk.0.attn_q.weight.counts")->data, sizeof(counted));
    assert_true(counted == (float)id.n);
    assert_int_equal(find(sums, "blk.11.ffn_down.weight.in_sum2")->dim[1], 512);
    assert_int_equal(find(sums, "token_embd.weight.in_sum2")->dim[1], 256);
    convert(pebble, out.path, &(vug_convert_options){ .type = "q4_0", .importance = file.path });
    to = open_gguf(out.path);
    assert_quantized(find(from, "model.layers.0.self_attn.q_proj.weight"),
                     find(to, "blk.0.attn_q.weight"), VUG_DTYPE_Q4_0, collected);
    /* A file about another model is refused, not ignored. */
    const scratch_path second = scratch_at(&s, "r.gguf");
    help_refused(vug_convert(pebble, second.path,
                             &(vug_convert_options){ .type = "q4_0", .importance = out.path },
                             &err),
                 &err, VUG_FORMAT, out.path,
                 "FOLDER: has no '.in_sum2' tensor for a weight of this model, as `vug imatrix` "
                 "and llama-imatrix write them");
    vug_tokens_release(&id);
    vug_weights_close(from);
    vug_weights_close(to);
    vug_weights_close(sums);
    vug_model_close(m);
    scratch_remove(&s);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static int files_in(const scratch *s)
{
    int n = 0;
    DIR *dir = opendir(s->path);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

static bool stop_halfway(uint64_t done, uint64_t total, void *user)
{
    (void)user;
    return done < total / 2;
}

static void test_cancelled(void **state)
{
    (void)state;
    scratch s = scratch_make();
    static const char *const outs[][2] = { { "a.gguf", "q4_0" }, { "a", "mlx4" } };
    for (size_t i = 0; i < COUNT(outs); i++) {
        const scratch_path out = scratch_at(&s, outs[i][0]);
        const vug_convert_options o = { .type = outs[i][1], .progress = stop_halfway };
        vug_err err = { 0 };
        assert_int_equal(vug_convert(pebble, out.path, &o, &err), VUG_CANCELLED);
        assert_int_equal(files_in(&s), 0);
    }
    scratch_remove(&s);
}

static void refuse(const char *model, const scratch *s, const char *out,
                   const vug_convert_options *o, const char *message)
{
    vug_err err = { 0 };
    const scratch_path path = scratch_at(s, out);
    const vug_status st = vug_convert(model, path.path, o, &err);
    help_refused(st, &err, err.code, s->path, message);
    assert_int_not_equal(st, VUG_OK);
}

static void test_refused(void **state)
{
    (void)state;
    scratch s = scratch_make();
    vug_convert_options o = { .type = "q4_9" };
    refuse(pebble, &s, "x.gguf", &o,
           "type 'q4_9': expected bf16, f16, f32, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, "
           "q5_k, q6_k, iq4_nl, iq4_xs or mxfp4 for a GGUF file");
    o.type = "q4_0";
    refuse(pebble, &s, "x", &o,
           "type 'q4_0': expected bf16, f16, f32, mxfp4, or mlx2, mlx3, mlx4, mlx5, mlx6, mlx8 "
           "with /32, /64 or /128 for a folder");
    o.type = "mlx4/48";
    refuse(pebble, &s, "x", &o,
           "type 'mlx4/48': expected bf16, f16, f32, mxfp4, or mlx2, mlx3, mlx4, mlx5, mlx6, mlx8 "
           "with /32, /64 or /128 for a folder");
    o.type = NULL;
    refuse(pebble, &s, "x", &o,
           "models/pebble: is already a folder of safetensors; to convert it to GGUF, OUT must "
           "end in .gguf");
    scratch_write(&s, "x.gguf", "x", 1);
    refuse(pebble, &s, "x.gguf", &o,
           "FOLDER/x.gguf: already exists; the output must be a new file");
    assert_int_equal(files_in(&s), 1);
    scratch_remove(&s);
}

/* The error message names a weight that is not finite. */
static void test_not_finite(void **state)
{
    (void)state;
    scratch s = scratch_make();
    tiny_model(&s, TINY_VOCAB);
    const scratch_path file = scratch_at(&s, "model.safetensors");
    vug_weights *w;
    vug_err err = { 0 };
    help_ok(vug_weights_open(s.path, &w, &err), &err);
    const vug_tensor *t = find(w, "model.layers.1.mlp.up_proj.weight");
    const int64_t columns = t->dim[1];
    const size_t size = (size_t)vug_dtype_of(t->dtype)->bytes;
    const uint64_t at = t->offset + (uint64_t)(5 * columns + 3) * size;
    vug_weights_close(w);
    FILE *f = fopen(file.path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    const uint8_t nan[4] = { 0xff, 0xff, 0xff, 0xff };
    assert_int_equal(fwrite(nan, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    scratch other = scratch_make();
    const vug_convert_options o = { .type = "q8_0", .threads = 2 };
    refuse(s.path, &other, "x.gguf", &o,
           "model.safetensors: tensor 'model.layers.1.mlp.up_proj.weight': weight [5,3] is not "
           "finite, which Q8_0 cannot represent");
    assert_int_equal(files_in(&other), 0);
    scratch_remove(&other);
    scratch_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversion_round_trip),
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_formats_are_kept),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_rows_without_super_blocks),
        cmocka_unit_test(test_embedding_and_threads),
        cmocka_unit_test(test_from_quantized),
        cmocka_unit_test(test_mlx_folders),
        cmocka_unit_test(test_mlx_folders_are_quantized_again),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_importance_is_used),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
