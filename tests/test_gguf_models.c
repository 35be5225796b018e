/* GGUF files as models: every golden checkpoint, written as one, gives the same bits;
 * every config comes back from its keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine_help.h"
#include "models/common.h"
#include "scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const golden[] = {
    "gemma1",
    "gemma2",
    "gemma3-mixed",
    "gemma3-mm",
    "gemma3-odd",
    "gemma3-rope-scaled",
    "gemma3-scale",
    "gemma3-text",
    "gemma4-dense",
    "gemma4-e",
    "gemma4-mm",
    "gemma4-moe",
    "llama3",
    "llama3-biases",
    "qwen2",
    "qwen3",
    "qwen3-moe",
    "qwen3-yarn",
    "qwen3-moe-packed",
};

static scratch_path golden_at(size_t i)
{
    scratch_path p;
    (void)snprintf(p.path, sizeof(p.path), GOLDEN("%s"), golden[i]);
    return p;
}

/* ---- a checkpoint as a GGUF file --------------------------------------------------------- */

typedef struct {
    const vug_checkpoint *c;
    vug_tensor_spec *spec; /* [n] */
    size_t *slot;          /* [n] the first slot of each */
    vug_kept *kept;        /* [n] */
    vug_slot *named;       /* [n] */
    size_t n;
} conversion;

static void add_tensor(conversion *v, size_t i)
{
    const vug_binding *b = &v->c->binding;
    vug_slot *slot = &v->named[v->n];
    vug_kept *kept = &v->kept[v->n];
    if (!vug_slot_gguf(&v->c->config, i, slot, kept) || slot->presence != VUG_TENSOR_READ ||
        (!b->tensor[i] && *kept != VUG_KEPT_DIVISORS))
        return;
    const bool f32 = *kept == VUG_KEPT_DIVISORS || *kept == VUG_KEPT_PLUS_ONE;
    vug_tensor_spec *spec = &v->spec[v->n];
    *spec = (vug_tensor_spec){ .name = vug_str_of(slot->name),
                               .dtype = f32 ? VUG_DTYPE_F32 : b->tensor[i]->dtype,
                               .rank = slot->shape.rank };
    for (int d = 0; d < spec->rank; d++)
        spec->dim[d] = slot->shape.dim[d];
    v->slot[v->n++] = i;
}

static conversion conversion_of(const vug_checkpoint *c)
{
    const size_t n = vug_slot_count(&c->config);
    conversion v = { .c = c };
    v.spec = vug_alloc(n, sizeof(*v.spec));
    v.slot = vug_alloc(n, sizeof(*v.slot));
    v.kept = vug_alloc(n, sizeof(*v.kept));
    v.named = vug_alloc(n, sizeof(*v.named));
    assert_true(v.spec && v.slot && v.kept && v.named);
    for (size_t i = 0; i < n; i++)
        add_tensor(&v, i);
    return v;
}

static void release(conversion *v)
{
    vug_free(v->spec);
    vug_free(v->slot);
    vug_free(v->kept);
    vug_free(v->named);
}

/* One slot's bytes, as GGUF keeps them. */
static void fill_slot(const conversion *v, size_t t, size_t i, uint8_t *out)
{
    const vug_config *c = &v->c->config;
    const vug_binding *b = &v->c->binding;
    const vug_slot slot = vug_slot_at(c, i);
    const size_t n = (size_t)vug_shape_elements(&slot.shape, 0, 0);
    if (v->kept[t] == VUG_KEPT_DIVISORS && !b->tensor[i]) {
        float divisor[512];
        assert_true(n <= COUNT(divisor) && vug_rope_divisors(c, divisor));
        memcpy(out, divisor, n * sizeof(float));
        return;
    }
    const vug_dtype_info *format = vug_dtype_of(b->tensor[i]->dtype);
    const size_t size = (size_t)format->bytes;
    const int64_t columns = slot.shape.rank == 2 ? slot.shape.dim[1] : 1;
    const uint8_t *data = b->tensor[i]->data + (size_t)(b->row[i] * columns) * size;
    if (v->kept[t] == VUG_KEPT_PLUS_ONE) {
        for (size_t e = 0; e < n; e++) {
            float w;
            format->decode(data + e * size, &w, 1);
            w += 1;
            memcpy(out + e * sizeof(w), &w, sizeof(w));
        }
    } else if (v->kept[t] == VUG_KEPT_PAIRED) {
        const size_t row = n / (size_t)slot.shape.dim[0] * size;
        const int64_t head = vug_config_layer(c, slot.layer).d_head;
        for (int64_t r = 0; r < slot.shape.dim[0]; r++)
            memcpy(out + (size_t)r * row, data + (size_t)vug_paired_row(r, head) * row, row);
    } else {
        memcpy(out, data, n * size);
    }
}

/* The golden tensors are pieces by themselves. */
static vug_status fill(size_t t, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    const conversion *v = user;
    (void)err;
    assert_int_equal(at, 0);
    const size_t i = v->slot[t];
    const bool experts = v->named[t].shape.rank == 3;
    const size_t each = experts ? (size_t)v->c->config.n_experts : 1;
    assert_int_equal(n % each, 0);
    for (size_t e = 0; e < each; e++)
        fill_slot(v, t, i + e, bytes + e * (n / each));
    return VUG_OK;
}

static void write_gguf(const vug_checkpoint *c, const char *path)
{
    vug_gguf_builder b = { 0 };
    vug_err err;
    conversion v = conversion_of(c);
    help_ok(vug_config_put_gguf(&c->config, &b, &err), &err);
    const vug_tensor_stream stream = { v.spec, v.n, fill, NULL, &v };
    help_ok(vug_gguf_write(path, &b, &stream, &err), &err);
    vug_gguf_builder_release(&b);
    release(&v);
}

/* ---- configs ------------------------------------------------------------------------------ */

static void same_rope(const vug_rope *a, const vug_rope *b, int64_t dims)
{
    float x[512], y[512];
    assert_true(dims / 2 <= (int64_t)COUNT(x));
    vug_rope_frequencies(a, dims, x);
    vug_rope_frequencies(b, dims, y);
    help_same_bits(x, y, (size_t)(dims / 2));
    assert_int_equal(a->type, b->type);
    assert_true((float)a->attention == (float)b->attention);
}

/* All that a flow is made of. */
static void same_config(const vug_config *a, const vug_config *b)
{
    assert_ptr_equal(a->arch, b->arch);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_int_equal(a->d_model, b->d_model);
    assert_int_equal(a->n_heads, b->n_heads);
    assert_int_equal(a->n_vocab, b->n_vocab);
    assert_int_equal(a->context, b->context);
    assert_int_equal(a->n_experts, b->n_experts);
    if (a->n_experts) {
        assert_int_equal(a->n_chosen, b->n_chosen);
        assert_int_equal(a->d_expert, b->d_expert);
        assert_int_equal(a->renormalise, b->renormalise);
    }
    assert_true(a->norm_eps == b->norm_eps && a->attn_scale == b->attn_scale);
    assert_true(a->attn_softcap == b->attn_softcap && a->final_softcap == b->final_softcap);
    assert_int_equal(a->attn_bias, b->attn_bias);
    assert_int_equal(a->mlp_bias, b->mlp_bias);
    for (int64_t i = -1; i < a->n_layers; i++) {
        const vug_layer_config x = vug_config_layer(a, i), y = vug_config_layer(b, i);
        assert_int_equal(x.d_head, y.d_head);
        assert_int_equal(x.n_kv_heads, y.n_kv_heads);
        assert_int_equal(x.d_ffn, y.d_ffn);
        assert_int_equal(x.back, y.back);
        assert_int_equal(x.k_is_v, y.k_is_v);
        if (i < 0)
            continue;
        assert_int_equal(vug_config_window(a, i), vug_config_window(b, i));
        assert_int_equal(a->sparse[i], b->sparse[i]);
    }
    same_rope(&a->rope_full, &b->rope_full, vug_config_head(a, false));
    if (a->arch->gguf->two_ropes)
        same_rope(&a->rope_window, &b->rope_window, vug_config_head(a, true));
    assert_int_equal(a->d_per_layer, b->d_per_layer);
    if (a->d_per_layer)
        assert_int_equal(a->n_vocab_per_layer, b->n_vocab_per_layer);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n_eos, b->n_eos);
    assert_memory_equal(a->eos, b->eos, (size_t)a->n_eos * sizeof(*a->eos));
}

/* The tensors that a file of the config has, without their bytes. */
typedef struct {
    vug_slot *slot;
    vug_tensor *tensor;
    const vug_tensor **sorted;
    size_t n;
} imagined;

static int by_name(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.ptr, (*y)->name.ptr);
}

static imagined imagine(const vug_config *c)
{
    const size_t n = vug_slot_count(c);
    imagined m = { .n = 0 };
    m.slot = vug_alloc(n, sizeof(*m.slot));
    m.tensor = vug_alloc_zero(n, sizeof(*m.tensor));
    m.sorted = vug_alloc(n, sizeof(*m.sorted));
    assert_true(m.slot && m.tensor && m.sorted);
    for (size_t i = 0; i < n; i++) {
        vug_kept kept;
        vug_slot *slot = &m.slot[m.n];
        if (!vug_slot_gguf(c, i, slot, &kept) ||
            (strcmp(slot->row->name, "output") == 0 && c->tied) ||
            (strcmp(slot->row->name, "rope_freqs") == 0 && kept != VUG_KEPT_DIVISORS))
            continue;
        vug_tensor *t = &m.tensor[m.n];
        *t = (vug_tensor){ .name = vug_str_of(slot->name), .rank = slot->shape.rank };
        for (int d = 0; d < t->rank; d++)
            t->dim[d] = slot->shape.dim[d];
        m.sorted[m.n++] = t;
    }
    qsort(m.sorted, m.n, sizeof(vug_tensor *), by_name);
    return m;
}

static void forget(imagined *m)
{
    vug_free(m->slot);
    vug_free(m->tensor);
    vug_free(m->sorted);
}

static vug_gguf metadata_of(const vug_gguf_builder *b)
{
    vug_gguf out;
    vug_err err;
    vug_reader r = vug_reader_over((vug_bytes){ (const uint8_t *)b->bytes.ptr, b->bytes.len });
    help_ok(vug_gguf_read(&r, b->n, "t.gguf", &out, &err), &err);
    return out;
}

static vug_status read_back(const vug_gguf_builder *b, const imagined *m, vug_config *out,
                            vug_err *err)
{
    const vug_tensor_list list = { m->sorted, m->n, "t.gguf", VUG_NAMES_GGUF };
    vug_gguf gguf = metadata_of(b);
    const vug_status st = vug_config_read_gguf(&gguf, &list, out, err);
    vug_gguf_release(&gguf);
    return st;
}

static void check_config(const char *json, const char *name)
{
    vug_config *c = vug_alloc(2, sizeof(*c));
    vug_err err;
    assert_non_null(c);
    help_ok(vug_config_read(vug_str_of(json), name, &c[0], &err), &err);
    vug_gguf_builder b = { 0 };
    imagined m = imagine(&c[0]);
    help_ok(vug_config_put_gguf(&c[0], &b, &err), &err);
    help_ok(read_back(&b, &m, &c[1], &err), &err);
    same_config(&c[0], &c[1]);
    assert_int_equal(c[0].tied, c[1].tied);
    forget(&m);
    vug_gguf_builder_release(&b);
    vug_free(c);
}

static void published_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < vug_shape_rows(); i++)
        check_config(vug_shape_row_at(i)->config, vug_shape_row_at(i)->name);
}

/* What no published model says, and configs may. */
static void odd_configs(void **state)
{
    (void)state;
#define SIZES                                                                               \
    "\"hidden_size\":96,\"num_hidden_layers\":7,\"num_attention_heads\":4,\"head_dim\":24," \
    "\"num_key_value_heads\":2,\"vocab_size\":50,\"intermediate_size\":64"
#define KINDS(a, b)                                                                      \
    ",\"layer_types\":[\"" a "_attention\",\"" b "_attention\",\"" a "_attention\",\"" a \
    "_attention\",\"" b "_attention\",\"" a "_attention\",\"" b "_attention\"]"
    static const char *const configs[] = {
        "{\"model_type\":\"gemma2\"," SIZES ",\"attn_logit_softcapping\":null,"
        "\"final_logit_softcapping\":null,\"query_pre_attn_scalar\":37.5}",
        "{\"model_type\":\"gemma2\"," SIZES KINDS("full", "full") "}",
        "{\"model_type\":\"gemma2\"," SIZES KINDS("sliding", "sliding") "}",
        "{\"model_type\":\"gemma3_text\"," SIZES KINDS("full", "full") "}",
        "{\"model_type\":\"gemma3_text\"," SIZES KINDS(
                "sliding", "full") ",\"sliding_window\":9,\"final_logit_softcapping\":30.5,"
                                   "\"dtype\":\"float16\"}",
        "{\"model_type\":\"gemma3_text\"," SIZES ",\"sliding_window_pattern\":3,"
        "\"tie_word_embeddings\":false,\"eos_token_id\":[5,4,3,2,1],\"dtype\":\"float32\","
        "\"rope_local_base_freq\":777,\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":3}}",
        "{\"model_type\":\"qwen2\"," SIZES ",\"use_sliding_window\":true,\"max_window_layers\":3,"
        "\"sliding_window\":11}",
        "{\"model_type\":\"qwen3\"," SIZES ",\"attention_bias\":true,\"rope_scaling\":{"
        "\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":1000,"
        "\"beta_fast\":30,\"beta_slow\":2,\"attention_factor\":1.5,\"truncate\":false}}",
        "{\"model_type\":\"qwen3_moe\"," SIZES ",\"use_sliding_window\":true,\"num_experts\":6,"
        "\"num_experts_per_tok\":2,\"moe_intermediate_size\":40,\"norm_topk_prob\":false,"
        "\"decoder_sparse_step\":2}",
        "{\"model_type\":\"llama\"," SIZES ",\"attention_bias\":true,\"mlp_bias\":true,"
        "\"eos_token_id\":null}",
    };
#undef KINDS
#undef SIZES
    for (size_t i = 0; i < COUNT(configs); i++)
        check_config(configs[i], configs[i]);
}

/* ---- the golden checkpoints ---------------------------------------------------------------- */

static void golden_bits(void **state)
{
    (void)state;
    enum { TOKENS = 40 };
    scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    for (size_t i = 0; i < COUNT(golden); i++) {
        const scratch_path from = golden_at(i);
        int32_t id[TOKENS];
        vug_checkpoint c;
        vug_err err;
        print_message("%s\n", golden[i]);
        help_ok(vug_checkpoint_open(from.path, &c, &err), &err);
        write_gguf(&c, path.path);
        vug_checkpoint again;
        help_ok(vug_checkpoint_open(path.path, &again, &err), &err);
        assert_int_equal(again.binding.names, VUG_NAMES_GGUF);
        same_config(&c.config, &again.config);
        assert_int_equal(c.binding.tied, again.binding.tied);
        vug_checkpoint_release(&again);

        vug_model *a = help_model(from.path, (vug_model_options){ 0 });
        vug_model *b = help_model(path.path, (vug_model_options){ 0 });
        help_tokens(i, id, TOKENS, c.config.n_vocab);
        float *x = help_alone(a, id, TOKENS), *y = help_alone(b, id, TOKENS);
        help_same_bits(x, y, (size_t)c.config.n_vocab);
        vug_free(x);
        vug_free(y);
        vug_model_close(a);
        vug_model_close(b);
        vug_checkpoint_release(&c);
    }
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_shapes),
        cmocka_unit_test(odd_configs),
        cmocka_unit_test(golden_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
