/*
 * Opening and describing models: each failure with its error message, the numbers of a
 * description against the files, the options.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "quant/matrix.h"
#include "tiny_model.h"

#define TEXT   GOLDEN("gemma3-text")
#define CONFIG "config.json"

static vug_text read_whole(const char *path)
{
    vug_text text;
    vug_err err = { 0 };
    help_ok(vug_read_file(path, 16 << 20, &text, &err), &err);
    return text;
}

/* ---- folders that do not open --------------------------------------------------- */

static void refuse_path(const char *path, const vug_model_options *options, vug_status code,
                        const char *folder, const char *message)
{
    vug_model *m = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_model_open(path, options, &m, &err);
    assert_null(m);
    help_refused(st, &err, code, folder, message);
    /* The error message is optional, the status is not. */
    assert_int_equal(vug_model_open(path, options, &m, NULL), code);
    assert_null(m);
}

static void refuse(const scratch *dir, vug_status code, const char *message)
{
    refuse_path(dir->path, NULL, code, dir->path, message);
}

/* The golden checkpoint with `from` in its config replaced by `to`. */
static void put_config(const scratch *dir, const char *from, const char *to)
{
    vug_text config = read_whole(TEXT "/" CONFIG);
    const char *at = strstr(config.ptr, from);
    vug_buf changed = { 0 };
    assert_non_null(at);
    vug_buf_append(&changed, config.ptr, (size_t)(at - config.ptr));
    vug_buf_puts(&changed, to);
    vug_buf_puts(&changed, at + strlen(from));
    scratch_write(dir, CONFIG, changed.ptr, changed.len);
    vug_buf_release(&changed);
    vug_text_release(&config);
}

static void test_bad_paths_are_refused(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    refuse_path("no/such/folder", NULL, VUG_IO, NULL, "no/such/folder: no such file or folder");
    refuse_path("", NULL, VUG_IO, NULL, ": no such file or folder");
    refuse_path(TEXT "/model.safetensors", NULL, VUG_ARGUMENT, NULL,
                TEXT
                "/model.safetensors: is not a GGUF file; expected a GGUF file, or a checkpoint "
                "folder with config.json and *.safetensors");
    refuse(&dir, VUG_IO,
           "FOLDER: has no config.json; expected a checkpoint folder with config.json and "
           "*.safetensors, or a GGUF file");
    scratch_remove(&dir);
}

static void test_bad_configs_are_refused(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_copy(&dir, "model.safetensors");
    scratch_puts(&dir, CONFIG, "");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/config.json: line 1, column 1: expected a value, found the end");
    scratch_puts(&dir, CONFIG, "<!DOCTYPE html>");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/config.json: this is a web page, not the file; the download may require "
           "logging in");
    scratch_puts(&dir, CONFIG, "[]");
    refuse(&dir, VUG_FORMAT, "FOLDER/config.json: expected an object of config keys");
    scratch_puts(&dir, CONFIG, "{\"model_type\":\"gemma3_text\",\n  \"head_dim\": 1x}\n");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/config.json: line 2, column 16: expected ',' or '}', found 'x'");
    scratch_puts(&dir, CONFIG, "{\"architectures\":[\"Gemma3ForCausalLM\"]}");
    refuse(&dir, VUG_FORMAT, "FOLDER/config.json: key 'model_type' is missing");
    put_config(&dir, "\"gemma3_text\"", "\"mamba\"");
    refuse(&dir, VUG_UNSUPPORTED,
           "FOLDER/config.json: architecture 'mamba' is not supported; vug supports gemma, "
           "gemma2, gemma3_text, gemma3, gemma4_text, gemma4, gemma4_unified_text, "
           "gemma4_unified, llama, qwen2, qwen3, qwen3_moe");
    put_config(&dir, "\"hidden_size\": 64", "\"hidden_size\": -64");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/config.json: key 'hidden_size' must be a whole number from 1 to 1048576");
    put_config(&dir, "\"hidden_size\": 64", "\"hidden_size\": 32");
    refuse(&dir, VUG_FORMAT,
           "model.safetensors: tensor 'model.embed_tokens.weight' has shape [384,64], the config "
           "gives [384,32]");
    put_config(&dir, "\"num_hidden_layers\": 8", "\"num_hidden_layers\": 7");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/config.json: key 'layer_types' must list 7 layers, it lists 8");
    scratch_remove(&dir);
}

static void test_bad_weights_are_refused(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_copy(&dir, CONFIG);
    refuse(&dir, VUG_IO,
           "FOLDER: no weights found, expected model.safetensors, model.safetensors.index.json or "
           "model*.safetensors");
    vug_text bytes = read_whole(TEXT "/model.safetensors");
    scratch_write(&dir, "model.safetensors", bytes.ptr, bytes.len - 1);
    refuse(&dir, VUG_FORMAT,
           "model.safetensors: ends at byte 654823, tensor 'model.norm.weight' needs up to byte "
           "654824: the file is truncated");
    scratch_write(&dir, "model.safetensors", bytes.ptr, 1000);
    refuse(&dir, VUG_FORMAT,
           "model.safetensors: header length is 11104 bytes, the file has 992 after its first 8");
    scratch_write(&dir, "model.safetensors", bytes.ptr, 0);
    refuse(&dir, VUG_FORMAT,
           "model.safetensors: 0 bytes, a safetensors file begins with 8 bytes for the length of "
           "its header");
    vug_text_release(&bytes);
    scratch_remove(&dir);
}

static void test_other_files_of_a_folder(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_model(&dir, TINY_VOCAB + 1024); /* the largest allowed difference */
    vug_model_close(help_model(dir.path, (vug_model_options){ .threads = 1 }));
    tiny_tokenizer(&dir, TINY_VOCAB + 1025);
    refuse(&dir, VUG_FORMAT,
           "FOLDER/tokenizer.json: the tokenizer has 1409 ids, the embedding 384 rows: they do not "
           "match");
    scratch_puts(&dir, "tokenizer.json", "{");
    vug_model *m = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_model_open(dir.path, NULL, &m, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "tokenizer.json: line 1, column 2"));
    tiny_tokenizer(&dir, TINY_VOCAB);
    scratch_puts(&dir, "generation_config.json", "{\"temperature\":\"hot\"}");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/generation_config.json: key 'temperature' must be a number from 0 to 100");
    scratch_puts(&dir, "generation_config.json", "{\"eos_token_id\":[1,-2]}");
    refuse(&dir, VUG_FORMAT,
           "FOLDER/generation_config.json: key 'eos_token_id' must be a token id or a list of "
           "them");
    scratch_puts(&dir, "generation_config.json", "3");
    refuse(&dir, VUG_FORMAT, "FOLDER/generation_config.json: expected an object");
    scratch_remove(&dir);
}

/* ---- options ------------------------------------------------------------------------ */

static void test_bad_model_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        vug_model_options options;
        const char *message;
    } rows[] = {
        { { .context = -1 }, "context: -1, expected 1 to 16777216 tokens" },
        { { .context = 16777217 }, "context: 16777217, expected 1 to 16777216 tokens" },
        { { .batch = -1 }, "batch: -1, expected 1 to 65536 tokens" },
        { { .batch = 65537 }, "batch: 65537, expected 1 to 65536 tokens" },
        { { .snapshot_percent = -2 }, "snapshot_percent: -2, expected 1 to 100, or -1 for none" },
        { { .snapshot_percent = 101 }, "snapshot_percent: 101, expected 1 to 100, or -1 for none" },
        { { .slots = -1 }, "slots: -1, expected 1 to 65536" },
        { { .slots = 65537 }, "slots: 65537, expected 1 to 65536" },
        { { .threads = -1 }, "threads: -1, expected 1 to 1024" },
        { { .threads = 1025 }, "threads: 1025, expected 1 to 1024" },
        { { .device = "abacus" }, "unknown device 'abacus'; `vug devices` lists the devices" },
        { { .device = "" }, "unknown device ''; `vug devices` lists the devices" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        refuse_path(TEXT, &rows[i].options, VUG_ARGUMENT, NULL, rows[i].message);
    vug_model *m = NULL;
    vug_err err = { 0 };
    const vug_model_options isa = { .isa = "mmx" };
    assert_int_equal(vug_model_open(TEXT, &isa, &m, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "no kernels are named 'mmx'; available: ref"));
}

static void test_memory_limit_is_enforced(void **state)
{
    (void)state;
    vug_model *m = help_model(TEXT, (vug_model_options){ .context = 1000, .threads = 1 });
    const vug_memory_plan plan = vug_model_describe(m).memory;
    vug_model_close(m);
    const vug_model_options exact = { .context = 1000, .threads = 1, .memory_limit = plan.total };
    vug_model_close(help_model(TEXT, exact));
    const vug_model_options less = { .context = 1000,
                                     .threads = 1,
                                     .memory_limit = plan.total - 1 };
    const uint64_t weights = plan.weights_mapped + plan.weights_copied;
    const uint64_t others = plan.tokenizer + plan.graph + plan.process; /* no draft */
    assert_int_equal(weights + plan.session_cache + plan.buffers + others, plan.total);
    char message[300];
    (void)snprintf(message, sizeof(message),
                   TEXT ": needs %.1f MB (weights %.1f, the cache of 1000 tokens %.1f, buffers "
                        "%.1f, others %.1f), the memory limit is %.1f MB; a smaller context needs "
                        "less",
                   (double)plan.total / 1e6, (double)weights / 1e6,
                   (double)plan.session_cache / 1e6, (double)plan.buffers / 1e6,
                   (double)others / 1e6, (double)less.memory_limit / 1e6);
    refuse_path(TEXT, &less, VUG_LIMIT, NULL, message);
    const vug_model_options tiny = { .memory_limit = 1 };
    vug_err err = { 0 };
    assert_int_equal(vug_model_open(TEXT, &tiny, &m, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "the memory limit is 0.0 MB"));
}

typedef struct {
    uint64_t done, total;
    int calls, most;
} load_progress;

static bool watch(uint64_t done, uint64_t total, void *user)
{
    load_progress *p = user;
    assert_true(done >= p->done && done <= total);
    assert_true(p->total == 0 || p->total == total);
    p->done = done;
    p->total = total;
    return ++p->calls < p->most;
}

static void test_weights_are_loaded_with_progress(void **state)
{
    (void)state;
    load_progress p = { .most = 1 << 20 };
    vug_model_options o = { .threads = 1, .progress = watch, .user = &p };
    vug_model *m = help_model(TEXT, o);
    assert_true(p.calls > 0);
    assert_int_equal(p.total, vug_model_describe(m).memory.weights_mapped);
    assert_int_equal(p.done, p.total);
    vug_model_close(m);
    p = (load_progress){ .most = 1 };
    refuse_path(TEXT, &o, VUG_CANCELLED, NULL, TEXT ": loading was cancelled");
    p = (load_progress){ .most = 1 };
    o.lazy = true;
    vug_model_close(help_model(TEXT, o));
    assert_int_equal(p.calls, 0);
}

/* ---- descriptions --------------------------------------------------------------------- */

static void test_sums_in_any_order_are_described(void **state)
{
    (void)state;
    static const struct {
        const char *activations;
        bool invariant;
    } rows[] = { { "q8", true }, { "bf16", true }, { "bf16-fast", false }, { "f32", true } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_model *m = help_model(TEXT, (vug_model_options){ .activations = rows[i].activations });
        const vug_model_info info = vug_model_describe(m);
        assert_string_equal(info.activations, rows[i].activations);
        assert_int_equal(info.batch_invariant, rows[i].invariant);
        vug_model_close(m);
    }
}

static void test_description_matches_the_files(void **state)
{
    (void)state;
    vug_model *m = help_model(TEXT, (vug_model_options){ .threads = 2 });
    const vug_model_info i = vug_model_describe(m);
    assert_string_equal(i.path, TEXT);
    assert_string_equal(i.architecture, "gemma3");
    assert_string_equal(i.device, "cpu");
    assert_string_equal(i.activations, "q8");
    assert_null(i.activations_meaning);
    assert_true(strlen(i.kernels) > 0);
    bool norm_is_there = false;
    for (size_t t = 0; t < vug_model_tensor_count(m); t++)
        norm_is_there |= strcmp(vug_model_tensor(m, t).name, "model.norm.weight") == 0;
    assert_true(norm_is_there);
    /* config.json */
    assert_int_equal(i.n_layers, 8);
    assert_int_equal(i.d_model, 64);
    assert_int_equal(i.n_heads, 4);
    assert_int_equal(i.n_kv_heads, 2);
    assert_int_equal(i.d_head, 16);
    assert_int_equal(i.d_ffn, 128);
    assert_int_equal(i.n_vocab, 384);
    assert_int_equal(i.context_trained, 4096);
    assert_int_equal(i.context, 4096);
    assert_int_equal(i.batch, 512);
    assert_int_equal(i.threads, 2);
    assert_true(i.tied_head);
    /* The embedding; per layer q, k, v, o, the gated MLP, four norms and two of heads. */
    const int64_t q = i.n_heads * i.d_head, kv = i.n_kv_heads * i.d_head, d = i.d_model;
    const int64_t layer = d * q + 2 * d * kv + q * d + 3 * d * i.d_ffn + 4 * d + 2 * i.d_head;
    assert_int_equal(i.n_parameters, i.n_vocab * d + i.n_layers * layer + d);
    assert_int_equal(i.memory.weights_mapped, 2 * i.n_parameters);
    assert_int_equal(i.bytes_per_token, i.memory.weights_mapped);
    assert_int_equal(i.flop_per_token, 2 * i.n_layers * (layer - 4 * d - 2 * i.d_head));
    assert_int_equal(i.flop_per_logits, 2 * i.n_vocab * d);
    const vug_memory_plan *p = &i.memory;
    assert_int_equal(p->tokenizer, 0);
    assert_true(p->graph > 0 && p->buffers > 0 && p->process > 0);
    assert_int_equal(p->total, p->weights_mapped + p->weights_copied + p->tokenizer + p->graph +
                                       p->session_cache + p->buffers + p->process);
    assert_int_equal(p->device, 0); /* the CPU's memory is the machine's */
    assert_null(vug_model_tokenizer(m, NULL));

    /* The file lists every tensor once, each used. */
    uint64_t bytes = 0;
    for (size_t t = 0; t < vug_model_tensor_count(m); t++) {
        const vug_tensor_info tensor = vug_model_tensor(m, t);
        assert_string_equal(tensor.format, "BF16");
        assert_string_equal(tensor.file, "model.safetensors");
        assert_true(tensor.used);
        int64_t elements = 1;
        for (int k = 0; k < tensor.rank; k++)
            elements *= tensor.dim[k];
        assert_int_equal(tensor.bytes, 2 * elements);
        bytes += tensor.bytes;
    }
    assert_int_equal(bytes, p->weights_mapped);

    /* The norms in F32, once for all programs of the model. */
    assert_int_equal(p->weights_copied,
                     (i.n_layers * (4 * d + 2 * i.d_head) + d) * (int64_t)sizeof(float));
    vug_compiled second;
    assert_int_equal(vug_compile_model(m, &m->limits, true, &second, NULL), VUG_OK);
    assert_int_equal(m->backend->weights_bytes(m->weights), p->weights_copied);
    vug_compiled_release(&second);
    vug_model_close(m);
    vug_model_close(NULL);
}

/* There are vision tensors, which are not used. */
static void test_unused_tensors_are_not_counted(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-mm"), (vug_model_options){ .threads = 1 });
    const vug_model_info i = vug_model_describe(m);
    uint64_t used = 0;
    size_t passed_over = 0;
    for (size_t t = 0; t < vug_model_tensor_count(m); t++) {
        const vug_tensor_info tensor = vug_model_tensor(m, t);
        used += tensor.used ? tensor.bytes : 0;
        passed_over += !tensor.used;
        assert_true(tensor.used == (strstr(tensor.name, "language_model") != NULL));
    }
    assert_true(passed_over > 0);
    assert_int_equal(used, i.memory.weights_mapped);
    vug_model_close(m);
}

static void test_layers_have_the_right_caches(void **state)
{
    (void)state;
    vug_model *m =
            help_model(TEXT, (vug_model_options){ .context = 1000, .batch = 20, .threads = 1 });
    const vug_model_info info = vug_model_describe(m);
    uint64_t bytes = 0;
    for (size_t i = 0; i < 8; i++) {
        const vug_layer_info layer = vug_model_layer(m, i);
        const bool full = i == 5; /* every sixth */
        assert_string_equal(layer.cache, full ? "full" : "window");
        assert_int_equal(layer.window, full ? 0 : 16);
        /* Whole pages of 64: the context, or the window of a step of 20 tokens wherever it
         * begins, and one more. */
        assert_int_equal(layer.slots, full ? 1024 : 3 * 64);
        /* Keys and values of 2 heads of 16, in F32. */
        assert_int_equal(layer.cache_bytes, layer.slots * 2 * 2 * 16 * 4);
        bytes += layer.cache_bytes;
    }
    assert_int_equal(info.memory.session_cache, bytes);
    vug_model_close(m);
}

static void test_options_have_defaults(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_copy(&dir, "model.safetensors");
    put_config(&dir, "\"max_position_embeddings\": 4096", "\"max_position_embeddings\": 100");
    vug_model *m = help_model(dir.path, (vug_model_options){ 0 });
    vug_model_info info = vug_model_describe(m);
    assert_int_equal(info.context, 100); /* no more than the model was trained for */
    assert_int_equal(info.batch, 100);
    assert_int_equal(info.threads, vug_cpu_count());
    vug_model_close(m);
    /* A larger one can be requested. */
    m = help_model(dir.path, (vug_model_options){ .context = 200, .batch = 7, .threads = 3 });
    info = vug_model_describe(m);
    assert_int_equal(info.context, 200);
    assert_int_equal(info.batch, 7);
    assert_int_equal(info.threads, 3);
    vug_model_close(m);
    put_config(&dir, "\"max_position_embeddings\": 4096", "\"max_position_embeddings\": 131072");
    m = help_model(dir.path, (vug_model_options){ .device = "cpu", .isa = "ref", .threads = 1 });
    assert_int_equal(vug_model_describe(m).context, 4096);
    assert_int_equal(vug_model_describe(m).context_trained, 131072);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_graphs_are_drawn(void **state)
{
    (void)state;
    vug_model *m = help_model(TEXT, (vug_model_options){ .threads = 1 });
    vug_err err = { 0 };
    vug_text plain, fused, dot, svg, none = { 0 };
    help_ok(vug_model_graph(m, VUG_GRAPH_TEXT, false, &plain, &err), &err);
    help_ok(vug_model_graph(m, VUG_GRAPH_TEXT, true, &fused, &err), &err);
    help_ok(vug_model_graph(m, VUG_GRAPH_DOT, false, &dot, &err), &err);
    help_ok(vug_model_graph(m, VUG_GRAPH_SVG, true, &svg, &err), &err);
    assert_non_null(strstr(plain.ptr, "attention"));
    assert_string_not_equal(plain.ptr, fused.ptr);
    assert_int_equal(strncmp(dot.ptr, "digraph", 7), 0);
    assert_non_null(strstr(svg.ptr, "<svg"));
    help_refused(vug_model_graph(m, (vug_graph_format)7, false, &none, &err), &err, VUG_ARGUMENT,
                 NULL, "graph format 7 is not known");
    assert_null(none.ptr);
    vug_text_release(&plain);
    vug_text_release(&fused);
    vug_text_release(&dot);
    vug_text_release(&svg);
    vug_model_close(m);
}

/* ---- what generation_config.json says --------------------------------------------------- */

static vug_model *model_with(const scratch *dir, const char *generation_config)
{
    scratch_puts(dir, "generation_config.json", generation_config);
    return help_model(dir->path, (vug_model_options){ .threads = 1, .lazy = true });
}

static void test_stop_tokens_come_from_all_sources(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int32_t id[6];
        size_t n;
    } rows[] = {
        { "{}", { 1 }, 1 }, /* of config.json */
        { "{\"eos_token_id\":null}", { 1 }, 1 },
        { "{\"eos_token_id\":106}", { 1, 106 }, 2 },
        { "{\"eos_token_id\":[106,1,50,106]}", { 1, 50, 106 }, 3 },
    };
    scratch dir = scratch_make();
    tiny_copy(&dir, CONFIG);
    tiny_copy(&dir, "model.safetensors");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        vug_model *m = model_with(&dir, rows[i].json);
        size_t n;
        const int32_t *id = vug_model_stop_tokens(m, &n);
        assert_int_equal(n, rows[i].n);
        assert_memory_equal(id, rows[i].id, n * sizeof(*id));
        vug_model_close(m);
    }
    /* The end-of-turn token is found by its name. */
    tiny_tokenizer(&dir, TINY_VOCAB);
    vug_model *m = model_with(&dir, "{\"eos_token_id\":[7]}");
    size_t n;
    const int32_t *id = vug_model_stop_tokens(m, &n);
    const int32_t expected[] = { 1,
                                 vug_tokenizer_find(vug_model_tokenizer(m, NULL), "<end_of_turn>"),
                                 7 };
    assert_int_equal(n, 3);
    assert_memory_equal(id, expected, sizeof(expected));
    assert_true(vug_model_describe(m).memory.tokenizer > 0);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* A model with an unsupported tokenizer computes logits and refuses text with the tokenizer's
 * error message. A broken tokenizer is an error. */
static void test_unsupported_tokenizer_is_reported(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_err err = { 0 };
    tiny_copy(&dir, "model.safetensors");
    tiny_copy(&dir, "config.json");
    scratch_puts(&dir, "tokenizer.json",
                 "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":{\"type\":\"Nmt\"},"
                 "\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}");
    vug_model *m = help_model(dir.path, (vug_model_options){ 0 });
    assert_null(vug_model_tokenizer(m, &err));
    assert_int_equal(err.code, VUG_UNSUPPORTED);
    if (!strstr(err.msg, "the normalizer \"Nmt\" is not supported"))
        fail_msg("%s", err.msg);
    vug_session *s = help_session(m);
    vug_generation g;
    assert_int_equal(vug_generate_text(s, "Hi", 2, NULL, &g, &err), VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "Nmt"));
    vug_session_destroy(s);
    vug_model_close(m);

    scratch_puts(&dir, "tokenizer.json", "{\"version\":");
    vug_model_options none = { 0 };
    assert_int_equal(vug_model_open(dir.path, &none, &m, &err), VUG_FORMAT);
    scratch_remove(&dir);
}

static void test_generation_config_sets_sampling(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        vug_sampler_config sampler[6];
        size_t n;
    } rows[] = {
        { "{\"do_sample\":true,\"top_k\":64,\"top_p\":0.95}",
          { { VUG_SAMPLER_TEMPERATURE, 1, 0 },
            { VUG_SAMPLER_TOP_K, 64, 0 },
            { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
          3 },
        { "{\"do_sample\":true,\"temperature\":0.7,\"min_p\":0.1,\"repetition_penalty\":1.2,"
          "\"top_k\":null}",
          { { VUG_SAMPLER_REPETITION, 1.2f, 0 },
            { VUG_SAMPLER_TEMPERATURE, 0.7f, 0 },
            { VUG_SAMPLER_MIN_P, 0.1f, 0 } },
          3 },
        { "{\"do_sample\":false,\"temperature\":0.7,\"top_k\":5,\"top_p\":0.5,\"min_p\":0.1}",
          { { VUG_SAMPLER_TEMPERATURE, 0, 0 } },
          1 },
        { "{}", { { VUG_SAMPLER_TEMPERATURE, 0, 0 } }, 1 },
        { "{\"temperature\":0.5}", { { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 } }, 1 },
        { "{\"do_sample\":true,\"typical_p\":0.9,\"repeat_last_n\":64,\"xtc_probability\":0.5,"
          "\"xtc_threshold\":0.2}",
          { { VUG_SAMPLER_TEMPERATURE, 1, 0 },
            { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 },
            { VUG_SAMPLER_XTC, 0.5f, 0 },
            { VUG_SAMPLER_REPEAT_LAST_N, 64, 0 },
            { VUG_SAMPLER_XTC_THRESHOLD, 0.2f, 0 } },
          5 },
    };
    scratch dir = scratch_make();
    tiny_copy(&dir, CONFIG);
    tiny_copy(&dir, "model.safetensors");
    vug_model *m = help_model(dir.path, (vug_model_options){ .threads = 1 });
    vug_sampling_defaults s = vug_model_sampling(m);
    assert_int_equal(s.n, 1); /* without the file: temperature 1 */
    assert_int_equal(s.sampler[0].kind, VUG_SAMPLER_TEMPERATURE);
    assert_true(s.sampler[0].value == 1);
    vug_model_close(m);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        m = model_with(&dir, rows[i].json);
        s = vug_model_sampling(m);
        assert_int_equal(s.n, rows[i].n);
        for (size_t k = 0; k < s.n; k++) {
            assert_string_equal(vug_sampler_name(s.sampler[k].kind),
                                vug_sampler_name(rows[i].sampler[k].kind));
            assert_true(s.sampler[k].value == rows[i].sampler[k].value);
        }
        vug_model_close(m);
    }
    scratch_remove(&dir);
}

/* ---- devices and shapes -------------------------------------------------------------------- */

static void test_devices_are_listed(void **state)
{
    (void)state;
    bool cpu = false;
    for (size_t i = 0; i < vug_device_count(); i++) {
        const vug_device_info d = vug_device_get(i);
        assert_true(d.available || d.reason[0] != '\0');
        if (strcmp(d.name, "cpu") != 0)
            continue;
        cpu = true;
        assert_true(d.available);
        assert_int_equal(d.threads, vug_cpu_count());
        assert_int_equal(d.memory, vug_memory_size());
    }
    assert_true(cpu);
    vug_device_limits limits;
    vug_err err = { 0 };
    help_refused(vug_device_measure("abacus", 0, &limits, &err), &err, VUG_ARGUMENT, NULL,
                 "unknown device 'abacus'; `vug devices` lists the devices");
}

/* ---- random weights whose scales lie apart ---------------------------------------------- */

enum { WIDTH = 640, ROWS_SEEN = 64 };

static vug_model *synthesized(const char *type, uint64_t seed)
{
    vug_model *m = NULL;
    vug_err err = { 0 };
    const vug_model_options options = { .context = 16, .threads = 2 };
    help_ok(vug_model_synthesize("gemma-3-270m", type, seed, &options, &m, &err), &err);
    return m;
}

static const vug_tensor *tensor_of(const vug_model *m, const char *name)
{
    const vug_tensor *t = vug_weights_find(m->checkpoint.weights, vug_str_of(name));
    assert_non_null(t);
    return t;
}

/* Their standard deviation is about 1 / sqrt(in), whatever their scales. */
static void check_spread(const vug_tensor *t)
{
    float row[2048];
    const vug_matrix w = vug_tensor_matrix_at(t, 0);
    double sum = 0, squares = 0;
    assert_true(w.columns <= 2048);
    for (int64_t i = 0; i < ROWS_SEEN; i++) {
        vug_matrix_decode(&w, i, row);
        for (int64_t k = 0; k < w.columns; k++) {
            sum += (double)row[k];
            squares += (double)row[k] * (double)row[k];
        }
    }
    const double n = ROWS_SEEN * (double)w.columns, in = (double)w.columns;
    const double mean = sum / n * sqrt(in), variance = squares / n * in;
    if (fabs(mean) > 0.1 || variance < 0.9 || variance > 1.15)
        fail_msg("%s: mean %g, variance %g of what was expected", t->name.ptr, mean, variance);
}

typedef struct {
    const char *type;
    int64_t rows, columns; /* that share a scale */
    vug_dtype dtype, scales, embedding;
    bool biases;
} apart_case;

static void check_apart(const apart_case *c, const vug_tensor *t)
{
    const vug_scales *s = &t->scales;
    const int64_t out = t->dim[0], in = t->dim[1];
    const int64_t n = (out + c->rows - 1) / c->rows * ((in + c->columns - 1) / c->columns);
    assert_int_equal(t->dtype, c->dtype);
    assert_int_equal(t->bytes, out * in / 32 * vug_dtype_of(c->dtype)->bytes *
                                       (vug_dtype_of(c->dtype)->elements == 1 ? 32 : 1));
    assert_int_equal(s->dtype, c->scales);
    assert_int_equal(s->rows, c->rows);
    assert_int_equal(s->columns, c->columns);
    assert_int_equal(s->stride, (in + c->columns - 1) / c->columns);
    assert_int_equal(s->bias != NULL, c->biases);
    assert_int_equal(t->scale_bytes, n * vug_dtype_of(c->scales)->bytes * (c->biases ? 2 : 1));
    /* The last tensor is filled like the first, and differs from it. */
    const size_t size = (size_t)vug_dtype_of(c->scales)->bytes;
    const uint8_t *last = s->scale + (size_t)(n - 1) * size;
    if (c->scales != VUG_DTYPE_E8M0)
        assert_memory_not_equal(s->scale, last, size);
    assert_true(last[size - 1] != 0);
}

static void test_random_weights_with_separate_scales(void **state)
{
    (void)state;
    static const apart_case cases[] = {
        { "mlx4", 1, 64, VUG_DTYPE_MLX4, VUG_DTYPE_BF16, VUG_DTYPE_MLX4, true },
        { "MLX3/128", 1, 128, VUG_DTYPE_MLX3, VUG_DTYPE_BF16, VUG_DTYPE_MLX3, true },
        { "mlx_fp4", 1, 32, VUG_DTYPE_MLX_FP4, VUG_DTYPE_E8M0, VUG_DTYPE_MLX_FP4, false },
        { "fp8", 128, 128, VUG_DTYPE_E4M3, VUG_DTYPE_F32, VUG_DTYPE_BF16, false },
    };
    static const int32_t ids[] = { 2, 100, 7, 4000 };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vug_model *m = synthesized(cases[i].type, 1);
        const vug_tensor *embedding = tensor_of(m, "embed_tokens.weight");
        const vug_tensor *down = tensor_of(m, "layers.17.mlp.down_proj.weight");
        check_apart(&cases[i], down);
        if (cases[i].scales != VUG_DTYPE_E8M0) /* whose scales are powers of two */
            check_spread(down);
        check_apart(&cases[i], tensor_of(m, "layers.0.self_attn.k_proj.weight"));
        assert_int_equal(embedding->dtype, cases[i].embedding);
        assert_int_equal(embedding->dim[1], WIDTH);
        assert_int_equal(tensor_of(m, "norm.weight")->dtype, VUG_DTYPE_F32);

        /* The model runs; the same seed gives the same logits, another one does not. */
        float *logits = help_alone(m, ids, 4);
        const size_t n = (size_t)vug_model_describe(m).n_vocab;
        vug_model_close(m);
        for (size_t k = 0; k < n; k++)
            assert_true(isfinite(logits[k]));
        assert_true(help_difference(logits, logits + 1, n - 1) < n - 1);
        for (uint64_t seed = 1; i == 0 && seed < 3; seed++) {
            m = synthesized(cases[i].type, seed);
            float *again = help_alone(m, ids, 4);
            assert_int_equal(help_difference(logits, again, n) == n, seed == 1);
            vug_free(again);
            vug_model_close(m);
        }
        vug_free(logits);
    }
}

/* The bytes of a type, read from the error message of a limit that is too low. */
static double megabytes_of(const char *shape, const char *type)
{
    vug_model *m = NULL;
    vug_err err = { 0 };
    const vug_model_options options = { .memory_limit = 1, .threads = 1 };
    assert_int_equal(vug_model_synthesize(shape, type, 0, &options, &m, &err), VUG_LIMIT);
    const char *at = strstr(err.msg, "take ");
    char *end = NULL;
    assert_non_null(at);
    const double mb = strtod(at + strlen("take "), &end);
    assert_memory_equal(end, " MB", 3);
    return mb;
}

/* Of gemma-4-26b-a4b, 30 layers have experts' and other products with rows of 704 and 2112
 * weights, which 64 divides and 128 does not: those keep groups of 64. */
static void test_groups_are_halved_for_narrow_rows(void **state)
{
    (void)state;
    const double fours = megabytes_of("gemma-4-26b-a4b", "mlx4/64");
    const double eights = megabytes_of("gemma-4-26b-a4b", "mlx8/64");
    const double weights = (eights - fours) * 2; /* millions; 4 bits of each */
    const double kept = 30 * (128 * 704.0 + 2112) * 2816 / 1e6;
    const double saved = (weights - kept) * (0.5 - 0.25) / 8;
    const double wide = megabytes_of("gemma-4-26b-a4b", "mlx4/128");
    if (fabs(fours - saved - wide) > 1)
        fail_msg("%.1f MB, expected %.1f", wide, fours - saved);
}

static bool cancel_at_once(uint64_t done, uint64_t total, void *user)
{
    (void)done;
    (void)total;
    (void)user;
    return false;
}

static void test_cancelled_synthesis_leaves_no_folder(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path model = scratch_at(&dir, "model");
    vug_err err = { 0 };
    assert_int_equal(
            vug_synth_write("gemma-3-270m", "bf16", 0, model.path, cancel_at_once, NULL, &err),
            VUG_CANCELLED);
    assert_false(vug_file_exists(model.path));
    scratch_remove(&dir);
}

static void test_unknown_shapes_are_refused(void **state)
{
    (void)state;
    vug_model *m = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_model_synthesize("gpt-9", "bf16", 0, NULL, &m, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "unknown shape 'gpt-9'; known are "));
    for (size_t i = 0; i < vug_synth_shape_count(); i++)
        assert_non_null(strstr(err.msg, vug_synth_shape_name(i)));
    help_refused(vug_model_synthesize(vug_synth_shape_name(0), "q4", 0, NULL, &m, &err), &err,
                 VUG_ARGUMENT, NULL,
                 "type 'q4': expected bf16, f16, f32, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, "
                 "q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4, mlx_fp4, fp8, or mlx2, mlx3, mlx4, "
                 "mlx5, mlx6, mlx8 with /32, /64 or /128");
    help_refused(vug_synth_write(vug_synth_shape_name(0), "q4_0", 0, "x", NULL, NULL, &err), &err,
                 VUG_ARGUMENT, NULL, "type 'q4_0': expected bf16, f16 or f32");
    assert_null(m);
    assert_true(strlen(vug_version()) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsupported_tokenizer_is_reported),
        cmocka_unit_test(test_bad_paths_are_refused),
        cmocka_unit_test(test_bad_configs_are_refused),
        cmocka_unit_test(test_bad_weights_are_refused),
        cmocka_unit_test(test_other_files_of_a_folder),
        cmocka_unit_test(test_bad_model_options_are_refused),
        cmocka_unit_test(test_memory_limit_is_enforced),
        cmocka_unit_test(test_weights_are_loaded_with_progress),
        cmocka_unit_test(test_sums_in_any_order_are_described),
        cmocka_unit_test(test_description_matches_the_files),
        cmocka_unit_test(test_unused_tensors_are_not_counted),
        cmocka_unit_test(test_layers_have_the_right_caches),
        cmocka_unit_test(test_options_have_defaults),
        cmocka_unit_test(test_graphs_are_drawn),
        cmocka_unit_test(test_stop_tokens_come_from_all_sources),
        cmocka_unit_test(test_generation_config_sets_sampling),
        cmocka_unit_test(test_devices_are_listed),
        cmocka_unit_test(test_random_weights_with_separate_scales),
        cmocka_unit_test(test_groups_are_halved_for_narrow_rows),
        cmocka_unit_test(test_cancelled_synthesis_leaves_no_folder),
        cmocka_unit_test(test_unknown_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
