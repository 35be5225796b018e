/*
 * An architecture in one file and one row. The linker takes the registry below, which is the
 * library's and a toy, in place of models/registry.c. The toy ignores the order of tokens:
 * embeddings, in each layer a gated matrix product, a norm, a head.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "flow_help.h"
#include "models/config_keys.h"
#include "scratch.h"

/* ---- the architecture --------------------------------------------------------------- */

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "mix", "layers.%d.mix.weight", "mix", "D D", VUG_NEEDED },
};

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    c->n_layers = vug_key_int(&k, "num_hidden_layers", VUG_REQUIRED, 1, VUG_MAX_LAYERS);
    c->d_model = vug_key_int(&k, "hidden_size", VUG_REQUIRED, 1, 1 << 16);
    c->n_vocab = vug_key_int(&k, "vocab_size", VUG_REQUIRED, 1, 1 << 20);
    c->context = vug_key_int(&k, "max_position_embeddings", 64, 1, 1 << 20);
    c->norm_eps = 1e-5F;
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

static vug_val embed(vug_flow *f, vug_model_context *s)
{
    return flow_embed(f, s->embedding, s->tokens, 1);
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    (void)s;
    (void)i;
    return flow_add(f, x, flow_mul(f, flow_gelu(f, flow_linear(f, x, "mix")), x));
}

static vug_val norm(vug_flow *f, vug_model_context *s, vug_val x)
{
    return flow_rms_norm(f, x, "output_norm", (vug_attr_norm){ .eps = s->config->norm_eps });
}

static vug_val head(vug_flow *f, vug_model_context *s, vug_val x)
{
    return flow_project(f, x, s->binding->tied ? s->embedding : flow_weight(f, "output"));
}

static const char *const model_types[] = { "toy", NULL };

static const vug_arch toy = { .name = "toy",
                              .model_types = model_types,
                              .chat_family = "gemma3",
                              .row = rows,
                              .n_rows = sizeof(rows) / sizeof(rows[0]),
                              .read_config = read_config,
                              .embed = embed,
                              .layer = layer,
                              .norm = norm,
                              .head = head };

/* ---- the registry, with its row -------------------------------------------------------- */

#define ARCH(name) extern const vug_arch vug_arch_##name;
#include "models/registry.def"
#undef ARCH

static const vug_arch *const registry[] = {
#define ARCH(name) &vug_arch_##name,
#include "models/registry.def"
#undef ARCH
    &toy,
};

size_t vug_arch_count(void)
{
    return sizeof(registry) / sizeof(registry[0]);
}

const vug_arch *vug_arch_at(size_t i)
{
    return registry[i];
}

/* ---- a checkpoint -------------------------------------------------------------------------- */

enum { V = 11, D = 6, L = 2, N = 5 };

typedef struct {
    float embed[V][D], norm[D], mix[L][D][D];
} weights;

static void put_tensor(vug_buf *header, const char *name, const char *shape, size_t *at, size_t n)
{
    vug_buf_printf(header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                   *at ? "," : "{", name, shape, *at, *at + n);
    *at += n;
}

static void write_checkpoint(const scratch *dir, const weights *w)
{
    vug_buf file = { 0 }, header = { 0 };
    size_t at = 0;
    put_tensor(&header, "model.embed_tokens.weight", "[11,6]", &at, sizeof(w->embed));
    put_tensor(&header, "model.norm.weight", "[6]", &at, sizeof(w->norm));
    put_tensor(&header, "model.layers.0.mix.weight", "[6,6]", &at, sizeof(w->mix[0]));
    put_tensor(&header, "model.layers.1.mix.weight", "[6,6]", &at, sizeof(w->mix[1]));
    vug_buf_puts(&header, "}");
    const uint64_t n = header.len;
    vug_buf_append(&file, &n, sizeof(n));
    vug_buf_append(&file, header.ptr, header.len);
    vug_buf_append(&file, w, sizeof(*w));
    scratch_write(dir, "model.safetensors", file.ptr, file.len);
    scratch_puts(dir, "config.json",
                 "{\"model_type\":\"toy\",\"num_hidden_layers\":2,\"hidden_size\":6,"
                 "\"vocab_size\":11}");
    vug_buf_release(&file);
    vug_buf_release(&header);
}

/* The toy in double, for one token. */
static void compute_expected(const weights *w, int32_t id, double *logits)
{
    double x[D], y[D], squares = 0;
    for (int i = 0; i < D; i++)
        x[i] = (double)w->embed[id][i];
    for (int l = 0; l < L; l++) {
        for (int o = 0; o < D; o++) {
            double s = 0;
            for (int i = 0; i < D; i++)
                s += (double)w->mix[l][o][i] * x[i];
            const double u = sqrt(2 / 3.14159265358979323846) * (s + 0.044715 * s * s * s);
            y[o] = x[o] + 0.5 * s * (1 + tanh(u)) * x[o];
        }
        memcpy(x, y, sizeof(x));
    }
    for (int i = 0; i < D; i++)
        squares += x[i] * x[i];
    for (int i = 0; i < D; i++)
        x[i] = x[i] / sqrt(squares / D + 1e-5) * (double)w->norm[i];
    for (int v = 0; v < V; v++) {
        logits[v] = 0;
        for (int i = 0; i < D; i++)
            logits[v] += (double)w->embed[v][i] * x[i];
    }
}

/* Logits are sums of a few small numbers, so rounding in F32 stays below this bound. */
static void check_logits(const weights *w, int32_t id, const float *logits)
{
    double want[V];
    compute_expected(w, id, want);
    for (int v = 0; v < V; v++)
        assert_true(fabs((double)logits[v] - want[v]) <= 1e-5);
}

static void test_toy_runs(void **state)
{
    (void)state;
    static const int32_t id[N] = { 3, 0, 10, 7, 7 };
    scratch dir = scratch_make();
    weights w;
    uint64_t seed = 4;
    float *number = (float *)(void *)&w;
    for (size_t i = 0; i < sizeof(w) / sizeof(float); i++)
        number[i] = (float)((double)help_random(&seed, 2001) / 1000 - 1);
    write_checkpoint(&dir, &w);

    vug_model *m = help_model(dir.path, (vug_model_options){ 0 });
    assert_string_equal(vug_model_describe(m).architecture, "toy");
    vug_session *s = help_session(m);
    check_logits(&w, id[N - 1], help_forward(s, id, N));
    vug_session_destroy(s);
    vug_flow_program *program = help_program(m, (vug_flow_options){ .outputs = VUG_OUT_ALL });
    const float *logits = help_run_tokens(program, id, N, "logits");
    for (int i = 0; i < N; i++)
        check_logits(&w, id[i], logits + (ptrdiff_t)i * V);
    vug_program_destroy(program);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_other_architectures_remain(void **state)
{
    (void)state;
    vug_model_close(help_model(GOLDEN("gemma3-text"), (vug_model_options){ 0 }));
    assert_true(vug_arch_count() > 1);
    assert_ptr_equal(vug_arch_at(vug_arch_count() - 1), &toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toy_runs),
        cmocka_unit_test(test_other_architectures_remain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
