/*
 * A model's last layers on a device of their own, and experts on the CPU. On two CPU devices every
 * result has the bits of one device; on another device (VUG_TEST_DEVICE) it differs by rounding.
 */
#include "test.h"

#include "config_help.h"
#include "engine/layer_split.h"
#include "engine_help.h"
#include "memory_checkpoint.h"
#include "scratch.h"
#include "vug/stats.h"

enum { N = 200 }; /* tokens */

/* Products in F32, so that only the order of sums differs between devices. */
#define MODEL_OPTIONS                                                                \
    {                                                                                \
        .context = 512, .batch = 64, .threads = 1, .slots = 3, .activations = "f32", \
    }

/* `layers` and `cpu_experts` as in vug_model_options; more layers than the model has: one device has
 * all. */
static vug_model *open_placed(const char *path, int layers, int cpu_experts)
{
    vug_model_options options = MODEL_OPTIONS;
    options.device = help_device();
    options.gpu_layers = layers;
    options.cpu_experts = cpu_experts;
    return help_model(path, options);
}

static vug_model *open_split(const char *path, int layers)
{
    return open_placed(path, layers, 0);
}

static vug_model *open_whole(const char *path)
{
    vug_model_options options = MODEL_OPTIONS;
    options.device = "cpu";
    options.gpu_layers = -1;
    return help_model(path, options);
}

static void assert_same(const float *a, const float *b, size_t n)
{
    if (strcmp(help_device(), "cpu") == 0) {
        help_same_bits(a, b, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        assert_float_equal(a[i], b[i], 1e-3);
}

/* ---- results ------------------------------------------------------------------- */

typedef struct {
    float *logits; /* [N, n_vocab] */
    float *hidden; /* [N, d] of the input of the last layer */
    int64_t last, d;
    size_t n_vocab;
} split_record;

static bool keep_step(const vug_step *step, void *user)
{
    split_record *r = user;
    memcpy(r->logits + (size_t)step->first * r->n_vocab, step->logits,
           (size_t)step->n * r->n_vocab * sizeof(float));
    memcpy(r->hidden + step->first * r->d, step->hidden[r->last],
           (size_t)(step->n * r->d) * sizeof(float));
    return true;
}

static split_record forward_all(vug_model *m, const int32_t *id, int chunk)
{
    const vug_model_info info = vug_model_describe(m);
    split_record r = { .last = info.n_layers - 1,
                       .d = info.d_model,
                       .n_vocab = (size_t)info.n_vocab };
    r.logits = vug_alloc_zero(N * r.n_vocab, sizeof(float));
    r.hidden = vug_alloc_zero((size_t)(N * r.d), sizeof(float));
    assert_true(r.logits && r.hidden);
    vug_session *s = help_session(m);
    const vug_forward_options o = {
        .chunk = chunk, .all_logits = true, .hidden = true, .on_step = keep_step, .user = &r
    };
    vug_err err = { 0 };
    vug_session_reset(s);
    help_ok(vug_session_forward(s, id, N, &o, &err), &err);
    vug_session_destroy(s);
    return r;
}

static void release_record(split_record *r)
{
    vug_free(r->logits);
    vug_free(r->hidden);
}

static void check_results(vug_model *m, const int32_t *id, const split_record *expected)
{
    static const int chunks[] = { 0, 7, 1 };
    const size_t n = expected->n_vocab;
    for (size_t i = 0; i < 3; i++) {
        split_record r = forward_all(m, id, chunks[i]);
        assert_same(r.logits, expected->logits, N * n);
        assert_same(r.hidden, expected->hidden, (size_t)(N * r.d));
        release_record(&r);
    }
    /* The program that computes only the last row, whose prefix is cached or not. */
    vug_session *s = help_session(m);
    assert_same(help_forward(s, id, N), expected->logits + (N - 1) * n, n);
    vug_session_reset(s);
    assert_same(help_forward(s, id, N), expected->logits + (N - 1) * n, n);
    vug_session_destroy(s);
}

/* Steps of several sequences that have reached different positions. */
static void check_joint_steps(vug_model *m, const int32_t *id, const split_record *expected)
{
    enum { SEQUENCES = 3, TAKE = 5 };
    const int32_t *const ids[SEQUENCES] = { id, id, id };
    const size_t n = expected->n_vocab;
    vug_session *s[SEQUENCES];
    for (size_t i = 0; i < SEQUENCES; i++) {
        s[i] = help_session(m);
        (void)help_forward(s[i], id, 40 * (i + 1));
    }
    for (size_t step = 1; step <= 3; step++) {
        const float *logits = help_joint_step(s, ids, TAKE, SEQUENCES);
        for (size_t i = 0; i < SEQUENCES; i++)
            assert_same(logits + i * n, expected->logits + (40 * (i + 1) + TAKE * step - 1) * n, n);
    }
    for (size_t i = 0; i < SEQUENCES; i++)
        vug_session_destroy(s[i]);
}

static void test_results_are_those_of_one_device(void **state)
{
    const char *path = *state;
    int32_t id[N];
    vug_model *whole = open_whole(path);
    help_tokens(21, id, N, vug_model_describe(whole).n_vocab);
    split_record expected = forward_all(whole, id, 0);
    const int n = (int)vug_model_describe(whole).n_layers;
    const int least = (int)vug_model_least_layers(whole);
    const int layers[] = { least, (least + n) / 2, n, n + 1 };
    vug_model_close(whole);
    for (size_t i = 0; i < 4; i++) {
        vug_model *m = open_split(path, layers[i]);
        assert_int_equal(vug_model_part_count(m), layers[i] <= n ? 2 : 1);
        check_results(m, id, &expected);
        check_joint_steps(m, id, &expected);
        vug_model_close(m);
    }
    release_record(&expected);
}

static int count_expert_layers(const vug_model *m)
{
    int n = 0;
    for (size_t i = 0; i < vug_model_part_count(m); i++)
        n += (int)vug_model_part_at(m, i).n_expert_layers;
    return n;
}

static void test_experts_on_the_cpu_change_no_result(void **state)
{
    const char *path = *state;
    int32_t id[N];
    vug_model *whole = open_whole(path);
    help_tokens(23, id, N, vug_model_describe(whole).n_vocab);
    split_record expected = forward_all(whole, id, 0);
    const int n = (int)vug_model_describe(whole).n_layers;
    vug_model_close(whole);
    int before = 0;
    for (int cpu_experts = 1; cpu_experts <= n + 1; cpu_experts++) {
        for (int layers = n - 1; layers <= n + 1; layers += 2) {
            vug_model *m = open_placed(path, layers, cpu_experts);
            check_results(m, id, &expected);
            check_joint_steps(m, id, &expected);
            /* Those of the first layer are not moved if it is on the CPU itself. */
            if (layers > n) {
                assert_in_range(count_expert_layers(m), before, cpu_experts);
                before = count_expert_layers(m);
            }
            vug_model_close(m);
        }
    }
    assert_in_range(before, 2, n);
    release_record(&expected);
}

/* ---- the cache ------------------------------------------------------------------- */

enum { V = 384 }; /* ids of a model, at most */

/* The tokens of `id` that a model with `layers` on the device and experts on the CPU finds in the folder,
 * to which it then writes the others. The logits after them are copied to `logits` [V]. */
static size_t tokens_on_disk(const scratch *dir, const char *path, int layers, int cpu_experts,
                             const int32_t *id, float *logits)
{
    vug_model_options options = MODEL_OPTIONS;
    options.device = help_device();
    options.gpu_layers = layers;
    options.cpu_experts = cpu_experts;
    options.cache_dir = dir->path;
    vug_model *m = help_model(path, options);
    vug_session *s = help_session(m);
    size_t cached = 0;
    vug_err err = { 0 };
    const size_t n_vocab = (size_t)vug_model_describe(m).n_vocab;
    assert_true(n_vocab <= V);
    help_ok(vug_session_prepare(s, id, N, NULL, &cached, &err), &err);
    memcpy(logits, help_forward(s, id, N), n_vocab * sizeof(*logits));
    vug_session_destroy(s);
    vug_model_close(m);
    return cached;
}

/* Pages in files are found again by models whose layers are on the same devices. */
static void test_pages_on_disk_belong_to_a_split(void **state)
{
    const char *path = *state;
    const scratch dir = scratch_make();
    int32_t id[N];
    float first[V], again[V], other[V];
    help_tokens(22, id, N, V);
    assert_int_equal(tokens_on_disk(&dir, path, 2, 0, id, first), 0);
    assert_int_equal(tokens_on_disk(&dir, path, 2, 0, id, again), 192);
    assert_int_equal(tokens_on_disk(&dir, path, 3, 0, id, other), 0);
    assert_same(again, first, V);
    assert_same(other, first, V);
    scratch_remove(&dir);
}

/* The bits of other devices are other bits. */
static void test_pages_on_disk_belong_to_where_experts_are(void **state)
{
    (void)state;
    const char *path = GOLDEN("qwen3-moe");
    const scratch dir = scratch_make();
    int32_t id[N];
    float logits[V];
    help_tokens(24, id, N, 44);
    assert_int_equal(tokens_on_disk(&dir, path, 4, 3, id, logits), 0);
    assert_int_equal(tokens_on_disk(&dir, path, 4, 3, id, logits), 192);
    assert_int_equal(tokens_on_disk(&dir, path, 4, 0, id, logits), 0);
    scratch_remove(&dir);
}

/* ---- what is where ----------------------------------------------------------------- */

static void test_parts_add_up(void **state)
{
    (void)state;
    vug_model *m = open_whole(GOLDEN("gemma3-text"));
    const vug_model_part whole = vug_model_part_at(m, 0);
    const uint64_t embedding = vug_model_slot_bytes(m, VUG_EMBEDDING_SLOT);
    assert_int_equal(vug_model_part_count(m), 1);
    assert_int_equal(whole.n_layers, 8);
    assert_true(vug_model_describe(m).memory.weights_mapped == whole.weights);
    vug_model_close(m);
    for (int layers = 1; layers <= 8; layers++) {
        m = open_split(GOLDEN("gemma3-text"), layers);
        const vug_model_part first = vug_model_part_at(m, 0), last = vug_model_part_at(m, 1);
        const vug_memory_plan plan = vug_model_describe(m).memory;
        assert_string_equal(first.device, "cpu");
        assert_string_equal(last.device, help_device());
        assert_int_equal(first.first_layer, 0);
        assert_int_equal(first.n_layers, 8 - layers);
        assert_int_equal(last.first_layer, 8 - layers);
        assert_int_equal(last.n_layers, layers);
        /* The tied head is on both. */
        assert_true(first.weights + last.weights == whole.weights + embedding);
        assert_true(first.session_cache + last.session_cache == plan.session_cache);
        assert_true(first.buffers + last.buffers == plan.buffers);
        assert_int_equal(first.session_cache == 0, layers == 8);
        vug_model_close(m);
    }
}

/* With `layers` of three on the device, and the experts of the first two on the CPU. */
static void check_expert_part(int layers, int n_expert_layers, const char *note)
{
    vug_model *m = open_placed(GOLDEN("gemma4-moe"), layers, 2);
    const vug_model_info info = vug_model_describe(m);
    const size_t n = vug_model_part_count(m);
    const vug_model_part experts = vug_model_part_at(m, n - 1),
                         device = vug_model_part_at(m, n - 2);
    uint64_t weights = 0, buffers = 0;
    for (size_t i = 0; i < n; i++) {
        weights += vug_model_part_at(m, i).weights;
        buffers += vug_model_part_at(m, i).buffers;
    }
    assert_string_equal(experts.device, "cpu");
    assert_int_equal(experts.n_expert_layers, n_expert_layers);
    assert_int_equal(experts.n_layers, 0);
    assert_int_equal(device.n_expert_layers, 0);
    assert_string_equal(device.device, help_device());
    /* The tied head is on both of two devices. */
    const uint64_t embedding = vug_model_slot_bytes(m, VUG_EMBEDDING_SLOT);
    assert_true(weights == info.memory.weights_mapped + (layers <= 3 ? embedding : 0));
    assert_true(buffers == info.memory.buffers);
    assert_non_null(strstr(info.note, note));
    vug_model_close(m);
}

static void test_experts_on_the_cpu_are_a_part(void **state)
{
    (void)state;
    check_expert_part(4, 2, "the CPU computes the experts of 2 of 3 layers");
    check_expert_part(2, 1, "; the CPU computes the experts of 1 of 3 layers");
    /* The second layer of this model has none. */
    vug_model *m = open_placed(GOLDEN("qwen3-moe"), 2, 2);
    assert_int_equal(vug_model_part_count(m), 2);
    assert_null(strstr(vug_model_describe(m).note, "experts"));
    vug_model_close(m);
}

static void test_the_note_says_what_runs_where(void **state)
{
    (void)state;
    static const struct {
        int layers;
        const char *note; /* its beginning */
    } rows[] = {
        { 3, "3 of 8 layers run on %s, the first 5 on the CPU" },
        { 8, "all layers run on %s, the embedding on the CPU" },
    };
    for (size_t i = 0; i < 2; i++) {
        char expected[128];
        (void)snprintf(expected, sizeof(expected), rows[i].note, help_device());
        vug_model *m = open_split(GOLDEN("gemma3-text"), rows[i].layers);
        const char *note = vug_model_describe(m).note;
        assert_non_null(note);
        assert_memory_equal(note, expected, strlen(expected));
        vug_model_close(m);
    }
    vug_model *m = open_whole(GOLDEN("gemma3-text"));
    assert_null(vug_model_describe(m).note);
    vug_model_close(m);
}

static void test_impossible_splits_are_refused(void **state)
{
    (void)state;
    vug_model *m;
    vug_err err = { 0 };
    vug_model_options options = { .device = help_device(), .gpu_layers = -2 };
    help_refused(vug_model_open(GOLDEN("gemma3-text"), &options, &m, &err), &err, VUG_ARGUMENT,
                 NULL, "gpu_layers: -2, expected -1 or more");
    options.gpu_layers = 5;
    help_refused(
            vug_model_open(GOLDEN("gemma4-e"), &options, &m, &err), &err, VUG_ARGUMENT, NULL,
            "gpu_layers: 5, expected none or at least 6: later layers read the keys and values "
            "of layer 1");
    options = (vug_model_options){ .device = help_device(), .cpu_experts = -1 };
    help_refused(vug_model_open(GOLDEN("qwen3-moe"), &options, &m, &err), &err, VUG_ARGUMENT, NULL,
                 "cpu_experts: -1, expected 0 or more");
    options.cpu_experts = 1;
    help_refused(vug_model_open(GOLDEN("gemma3-text"), &options, &m, &err), &err, VUG_ARGUMENT,
                 NULL, "cpu_experts: 1, expected 0: the model has no experts");
}

static void test_layers_for_a_gpu_that_is_not_there_are_refused(void **state)
{
    (void)state;
    vug_model *m;
    vug_err err = { 0 };
    vug_model_options options = { .gpu_layers = 3, .context = 32 };
    for (size_t i = 0; i < vug_device_count(); i++) {
        if (strcmp(vug_device_get(i).name, "cpu") != 0 && vug_device_get(i).available) {
            print_message("needs a machine without a GPU\n");
            skip();
        }
    }
    help_refused(vug_model_open(GOLDEN("gemma3-text"), &options, &m, &err), &err, VUG_ARGUMENT,
                 NULL,
                 "gpu_layers: 3, expected none: no GPU is available (`vug devices` lists the "
                 "devices)");
    options = (vug_model_options){ .cpu_experts = 1, .context = 32 };
    help_refused(vug_model_open(GOLDEN("qwen3-moe"), &options, &m, &err), &err, VUG_ARGUMENT, NULL,
                 "cpu_experts: 1, expected 0: no GPU is available (`vug devices` lists the "
                 "devices)");
    options.cpu_experts = 0;
    options.gpu_layers = -1; /* none on a GPU: nothing is missing */
    help_ok(vug_model_open(GOLDEN("gemma3-text"), &options, &m, &err), &err);
    vug_model_close(m);
}

/* A device that has no room for weights, and counts those that it is given. */
typedef struct {
    size_t given;
} counting_device;

static vug_status count_and_refuse(vug_device *device, const vug_weight *weight, size_t n,
                                   vug_device_weights **out, vug_err *err)
{
    counting_device *d = (counting_device *)(void *)device;
    (void)out;
    for (size_t i = 0; i < n; i++)
        d->given += weight[i].data != NULL;
    return VUG_FAIL(err, VUG_NOMEM, "no room");
}

static void close_counting(vug_device *device)
{
    (void)device;
}

/* The second device gets the weights of its layers, the final norm and the head. */
static void test_a_device_gets_the_weights_that_it_reads(void **state)
{
    (void)state;
    enum { FIRST = 5 };
    const vug_backend counting = { .name = "counting",
                                   .close = close_counting,
                                   .weights_create = count_and_refuse };
    counting_device second = { 0 };
    vug_model *m = open_whole(GOLDEN("gemma3-text"));
    const vug_binding *binding = &m->checkpoint.binding;
    vug_split_part part[2] = { { .backend = vug_backend_host() },
                               { &counting, (vug_device *)(void *)&second } };
    vug_graph graph;
    vug_device *split;
    vug_device_weights *weights;
    vug_err err = { 0 };
    help_ok(part[0].backend->open(&(vug_device_options){ .threads = 1 }, &part[0].device, &err),
            &err);
    help_ok(vug_model_build_graph(binding, false, &graph, &err), &err);
    help_ok(vug_layer_split_open(part, &graph, FIRST, &split, &err), &err);
    vug_graph_release(&graph);
    vug_weight *all = vug_alloc_zero(binding->n_slots, sizeof(*all));
    assert_non_null(all);
    size_t expected = 2; /* the final norm, and the embedding as the head */
    for (size_t i = 0; i < binding->n_slots; i++) {
        all[i].data = (const uint8_t *)"";
        expected += vug_weight_slot_at(binding->config, i).layer >= FIRST;
    }
    const vug_backend *backend = vug_layer_split_backend(split);
    help_refused(backend->weights_create(split, all, binding->n_slots, &weights, &err), &err,
                 VUG_NOMEM, NULL, "no room");
    assert_int_equal(second.given, expected);
    vug_free(all);
    backend->close(split);
    vug_model_close(m);
}

/* ---- memory ------------------------------------------------------------------------ */

/* As many layers as a memory limit allows; without one that any of them fits, none. */
static void test_as_many_layers_as_fit(void **state)
{
    (void)state;
    if (strcmp(help_device(), "cpu") == 0) {
        print_message("needs a device that copies weights: VUG_TEST_DEVICE=mlx or cuda\n");
        skip();
    }
    const char *path = "models/pebble";
    vug_model_options options = {
        .device = help_device(), .context = 64, .batch = 1, .threads = 1, .lazy = true
    };
    vug_model *m = help_model(path, options);
    const uint64_t whole = vug_model_describe(m).memory.total;
    assert_int_equal(vug_model_part_count(m), 1);
    vug_model_close(m);
    uint64_t total[13] = { 0 }; /* by layers on the device */
    for (int layers = 1; layers <= 12; layers++) {
        options.gpu_layers = layers;
        m = help_model(path, options);
        total[layers] = vug_model_describe(m).memory.total;
        assert_true(total[layers] > total[layers - 1]);
        vug_model_close(m);
    }
    options.gpu_layers = 0;
    for (int layers = 1; total[layers] < whole; layers++) {
        options.memory_limit = total[layers];
        m = help_model(path, options);
        assert_int_equal(vug_model_part_count(m), 2);
        assert_int_equal(vug_model_part_at(m, 1).n_layers, layers);
        assert_non_null(strstr(vug_model_describe(m).note, "there is too little memory for more"));
        vug_model_close(m);
    }
    options.memory_limit = total[1] - 1;
    m = help_model(path, options);
    assert_int_equal(vug_model_part_count(m), 1);
    assert_string_equal(vug_model_describe(m).device, "cpu");
    vug_model_close(m);
    vug_err err = { 0 };
    options.memory_limit = 1 << 20;
    assert_int_equal(vug_model_open(path, &options, &m, &err), VUG_LIMIT);
    options.memory_limit = total[12] - 1;
    options.gpu_layers = 12; /* what one asked for is not changed */
    assert_int_equal(vug_model_open(path, &options, &m, &err), VUG_LIMIT);
}

/* A model of three layers with experts of 3 MB each, which are zeros. */
static vug_model *open_wide_mixture(const vug_model_options *options)
{
    const vug_config config = help_config(
            "{'model_type': 'qwen3_moe', 'hidden_size': 64, 'intermediate_size': 64,"
            " 'num_hidden_layers': 3, 'num_attention_heads': 2, 'num_key_value_heads': 1,"
            " 'head_dim': 16, 'vocab_size': 64, 'max_position_embeddings': 128,"
            " 'num_experts': 32, 'num_experts_per_tok': 2, 'moe_intermediate_size': 256}");
    memory_checkpoint c;
    memory_checkpoint_init(&c, &config);
    for (size_t i = 0; i < vug_weight_slot_count(&config); i++) {
        vug_weight_slot slot;
        char name[sizeof(slot.name) + 8];
        if (!vug_weight_slot_tensor(&config, i, &slot) || slot.presence != VUG_TENSOR_USED ||
            slot.row->need == VUG_OPTIONAL)
            continue;
        (void)snprintf(name, sizeof(name), "model.%s", slot.name);
        (void)memory_checkpoint_add(&c, name, slot.shape.rank, slot.shape.dim);
    }
    vug_model *m;
    vug_err err = { 0 };
    help_ok(vug_model_from_weights(&config, c.weights, "mixture", options, &m, &err), &err);
    return m;
}

/* Experts leave a device that lacks memory before layers do, and no more of them than must. */
static void test_experts_leave_first(void **state)
{
    (void)state;
    enum { LAYERS = 3 };
    if (strcmp(help_device(), "cpu") == 0) {
        print_message("needs a device that copies weights: VUG_TEST_DEVICE=mlx or cuda\n");
        skip();
    }
    vug_model_options options = {
        .device = help_device(), .context = 64, .batch = 1, .threads = 1, .lazy = true
    };
    uint64_t total[LAYERS + 1];
    for (int moved = 0; moved <= LAYERS; moved++) {
        options.cpu_experts = moved;
        vug_model *m = open_wide_mixture(&options);
        total[moved] = vug_model_describe(m).memory.total;
        assert_true(moved == 0 || total[moved] < total[moved - 1]);
        vug_model_close(m);
    }
    options.cpu_experts = 0;
    for (int moved = 1; moved <= LAYERS; moved++) {
        options.memory_limit = total[moved];
        vug_model *m = open_wide_mixture(&options);
        char expected[128];
        (void)snprintf(expected, sizeof(expected),
                       "the CPU computes the experts of %d of 3 layers: there is too little memory "
                       "for more on %s",
                       moved, help_device());
        assert_int_equal(vug_model_part_count(m), 2);
        assert_int_equal(vug_model_part_at(m, 0).n_layers, LAYERS);
        assert_int_equal(vug_model_part_at(m, 1).n_expert_layers, moved);
        assert_memory_equal(vug_model_describe(m).note, expected, strlen(expected));
        vug_model_close(m);
    }
}

int main(void)
{
    static char gemma3[] = GOLDEN("gemma3-text"), gemma4[] = GOLDEN("gemma4-e");
    static char qwen3[] = GOLDEN("qwen3-moe"), llama3[] = GOLDEN("llama3");
    static char gemma4_moe[] = GOLDEN("gemma4-moe");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_results_are_those_of_one_device, gemma3),
        cmocka_unit_test_prestate(test_results_are_those_of_one_device, gemma4),
        cmocka_unit_test_prestate(test_results_are_those_of_one_device, qwen3),
        cmocka_unit_test_prestate(test_results_are_those_of_one_device, llama3),
        cmocka_unit_test_prestate(test_experts_on_the_cpu_change_no_result, qwen3),
        cmocka_unit_test_prestate(test_experts_on_the_cpu_change_no_result, gemma4_moe),
        cmocka_unit_test_prestate(test_pages_on_disk_belong_to_a_split, gemma3),
        cmocka_unit_test(test_pages_on_disk_belong_to_where_experts_are),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_experts_on_the_cpu_are_a_part),
        cmocka_unit_test(test_a_device_gets_the_weights_that_it_reads),
        cmocka_unit_test(test_the_note_says_what_runs_where),
        cmocka_unit_test(test_impossible_splits_are_refused),
        cmocka_unit_test(test_layers_for_a_gpu_that_is_not_there_are_refused),
        cmocka_unit_test(test_as_many_layers_as_fit),
        cmocka_unit_test(test_experts_leave_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
