/*
 * Out of memory: the n-th allocation fails, for every n from opening to closing, once or
 * from then on. Each time the call fails cleanly, nothing leaks, and the next run works.
 * A step allocates nothing at all.
 */
#include "test.h"

#include "alloc_hook.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "engine_help.h"
#include "flow_help.h"
#include "text/text.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"
#include "vug/embed.h"
#include "vug/engine.h"
#include "vug/grammar.h"

#define MODEL "tests/golden/models/gemma3-text"

/* A complete run of something that allocates. It releases everything, whether it fails or not.
 * `folder` contains a model with a chat template. */
typedef vug_status scenario(const char *folder, vug_err *err);

typedef struct {
    const char *name;
    scenario *run;
    const scratch *dir;
    bool caches; /* what it caches at its end may be lost */
} alloc_scenario;

enum { MOST_CACHED = 8 }; /* blocks that the prefix tree wants when a session ends */

static void one_run(const alloc_scenario *r, long n, alloc_failures how, bool *reached)
{
    vug_err err = { 0 };
    const long before = alloc_hook_live();
    alloc_hook_fail(n, how);
    const vug_status st = r->run(r->dir->path, &err);
    *reached = alloc_hook_stop();
    if (alloc_hook_live() != before)
        fail_msg("%ld blocks leaked when allocation %ld failed", alloc_hook_live() - before, n);
    if (!*reached && st != VUG_OK)
        fail_msg("failed with all the memory it wanted: %s", err.msg);
    if (st == VUG_OK) {
        /* A run may succeed without one block, but not without any but those of a cache. */
        assert_true(!*reached || how == ALLOC_ONCE ||
                    (r->caches && alloc_hook_refused() <= MOST_CACHED));
        return;
    }
    if (st != VUG_NOMEM)
        fail_msg("allocation %ld failed and the status is '%s': %s", n, vug_status_text(st),
                 err.msg);
    assert_int_equal(err.code, VUG_NOMEM);
    assert_true(err.msg[0] != '\0');
}

static void test_every_allocation_failure_is_handled(void **state)
{
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const alloc_scenario *r = *state;
    for (int how = ALLOC_ONCE; how <= ALLOC_FROM_THEN_ON; how++) {
        bool reached = true;
        long n = 0;
        for (; reached; n++)
            one_run(r, n, (alloc_failures)how, &reached);
        assert_true(n > 1); /* it allocated at all */
    }
}

/* ---- scenarios ------------------------------------------------------------- */

static vug_status json(const char *folder, vug_err *err)
{
    (void)folder;
    static const char text[] = "{\"a\\n\":[1,2.5,\"\\u00e9\"],\"b\":{\"c\":null}}";
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_buf buf = { 0 };
    vug_status st = vug_json_tree(vug_str_of(text), "text", &arena, &root, err);
    if (st == VUG_OK) {
        for (int i = 0; i < 100; i++)
            vug_json_append_string(&buf, text, sizeof(text) - 1);
        st = vug_buf_ok(&buf, err);
    }
    vug_buf_release(&buf);
    vug_arena_release(&arena);
    return st;
}

static vug_status weights(const char *folder, vug_err *err)
{
    (void)folder;
    vug_weights *w = NULL;
    vug_status st = vug_weights_open(MODEL, &w, err);
    vug_weights_close(w);
    return st;
}

/* A config in the first line, followed by the file that it describes. */
static vug_status quantized(const char *folder, vug_err *err)
{
    (void)folder;
    vug_text text = { 0 };
    vug_weights *w = NULL;
    VUG_TRY(vug_read_file("tests/fuzz/regressions/quantized/whole-mlx-mixed", 1 << 16, &text, err));
    const size_t config = (size_t)((char *)memchr(text.ptr, '\n', text.len) - text.ptr);
    const vug_bytes file = { (const uint8_t *)text.ptr + config + 1, text.len - config - 1 };
    vug_status st = vug_weights_open_memory(file, "file", &w, err);
    if (st == VUG_OK)
        st = vug_quantization_config_apply((vug_str){ text.ptr, config }, "config", w, err);
    vug_weights_close(w);
    vug_text_release(&text);
    return st;
}

static vug_status zeros(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    (void)i, (void)at, (void)user, (void)err;
    memset(bytes, 0, n);
    return VUG_OK;
}

/* Reads a file, writes another with its metadata, and reads that one. */
static vug_status gguf(const char *folder, vug_err *err)
{
    const vug_tensor_spec spec = { vug_str_of("t"), VUG_DTYPE_Q4_0, 2, { 3, 32 } };
    const vug_tensor_stream stream = { .tensor = &spec, .n = 1, .fill = zeros };
    vug_weights *from = NULL, *back = NULL;
    vug_gguf_builder metadata = { 0 };
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/copy.gguf", folder);
    vug_status st = vug_weights_open_gguf("tests/golden/gguf/python.gguf", &from, err);
    for (size_t i = 0; st == VUG_OK && i < vug_weights_gguf(from)->n; i++)
        vug_gguf_put_value(&metadata, &vug_weights_gguf(from)->value[i]);
    if (st == VUG_OK)
        st = vug_gguf_write(path, &metadata, &stream, err);
    if (st == VUG_OK)
        st = vug_weights_open_gguf(path, &back, err);
    vug_gguf_builder_release(&metadata);
    vug_weights_close(from);
    vug_weights_close(back);
    return st;
}

/* Opens a file as a model: its config, tensors, tokenizer and chat template. */
static vug_status gguf_model(const char *folder, vug_err *err)
{
    (void)folder;
    static const char path[] = "tests/fuzz/regressions/gguf/model-gemma3-pieces.gguf";
    vug_checkpoint c = { 0 };
    vug_gguf_builder metadata = { 0 };
    vug_chat *chat = NULL;
    vug_status st = vug_checkpoint_open(path, &c, err);
    if (st == VUG_OK) {
        assert_int_equal(vug_tokenizer_find(c.tokenizer, "aba"), 7);
        st = vug_config_write_gguf(&c.config, &metadata, err);
    }
    if (st == VUG_OK)
        st = vug_buf_ok(&metadata.bytes, err);
    if (st == VUG_OK)
        st = vug_chat_open(path, "models/pebble/training/chat_template.jinja", &chat, err);
    vug_chat_close(chat);
    vug_gguf_builder_release(&metadata);
    vug_checkpoint_release(&c);
    return st;
}

/* The JSON of a fuzz input ends at its NUL. */
static vug_status tokenizer_file(const char *path, vug_str text, vug_err *err)
{
    vug_text file = { 0 };
    vug_tokenizer *t = NULL;
    vug_tokens tokens = { 0 };
    vug_text back = { 0 };
    vug_status st = vug_read_file(path, 1 << 20, &file, err);
    if (st == VUG_OK)
        st = vug_tokenizer_from_json(vug_str_of(file.ptr), "small", &t, err);
    if (st == VUG_OK)
        st = vug_tokenizer_encode(t, text.ptr, text.len, VUG_ENCODE_PARSE_SPECIAL, &tokens, err);
    if (st == VUG_OK)
        st = vug_tokenizer_decode(t, tokens.id, tokens.n, false, &back, err);
    if (st == VUG_OK) {
        assert_int_equal(back.len, text.len);
        assert_memory_equal(back.ptr, text.ptr, back.len);
    }
    vug_text_release(&back);
    vug_tokens_release(&tokens);
    vug_tokenizer_close(t);
    vug_text_release(&file);
    return st;
}

#define TOKENIZERS "tests/fuzz/regressions/tokenizer/"

static vug_status tokenizer(const char *folder, vug_err *err)
{
    (void)folder;
    return tokenizer_file(TOKENIZERS "whole-gemma.bin", vug_str_of("<bos>hi hi\n\n\xe2\x82\xac"),
                          err);
}

/* A grammar with several conditions on one string. */
static vug_status grammar(const char *folder, vug_err *err)
{
    (void)folder;
    static const char schema[] = "{\"type\":\"string\",\"pattern\":\"^(?!b)(?=.*x)[a-z]+$\","
                                 "\"maxLength\":5,\"allOf\":[{\"pattern\":\"[ay]$\"}]}";
    vug_text file = { 0 };
    vug_tokenizer *tok = NULL;
    vug_grammar *made = NULL;
    vug_status st = vug_read_file(TOKENIZERS "whole-byte-level.bin", 1 << 20, &file, err);
    if (st == VUG_OK)
        st = vug_tokenizer_from_json(vug_str_of(file.ptr), "small", &tok, err);
    if (st == VUG_OK)
        st = vug_grammar_create(VUG_GRAMMAR_SCHEMA, schema, sizeof(schema) - 1, tok, &made, err);
    vug_grammar_destroy(made);
    vug_tokenizer_close(tok);
    vug_text_release(&file);
    return st;
}

/* With a regular expression, combining marks to be reordered, and a cache of words. */
static vug_status tokenizer_of_bytes(const char *folder, vug_err *err)
{
    (void)folder;
    static const char head[] = "the ab<|e|>\xc3\x89";
    char text[3000];
    memset(text, 'a', sizeof(text));
    memcpy(text, head, sizeof(head) - 1);
    return tokenizer_file(TOKENIZERS "whole-byte-level.bin", (vug_str){ text, sizeof(text) }, err);
}

static const int32_t prompt[] = { 2, 5, 7, 11, 13, 17, 19, 23 };
enum { N_PROMPT = sizeof(prompt) / sizeof(prompt[0]) };

/* Three prompt steps, an answer of three tokens, the model's description. */
static vug_status load_and_generate(const char *path, vug_model_options options, vug_err *err)
{
    const vug_generate_options generate = { .max_tokens = 3, .n_top = 2, .ignore_stop = true };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_generation out = { 0 };
    options.device = help_device();
    options.context = 32;
    options.batch = 4;
    options.threads = 2;
    vug_status st = vug_model_open(path, &options, &model, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &session, err);
    if (st == VUG_OK)
        st = vug_session_forward(session, prompt, N_PROMPT - 1, NULL, err);
    if (st == VUG_OK)
        st = vug_generate(session, prompt, N_PROMPT, &generate, &out, err);
    if (st == VUG_OK) {
        assert_int_equal(out.tokens.n, 3);
        assert_true(vug_model_describe(model).n_layers > 0);
    }
    vug_generation_release(&out);
    vug_session_destroy(session);
    vug_model_close(model);
    return st;
}

static vug_status from_load_to_close(const char *folder, vug_err *err)
{
    (void)folder;
    return load_and_generate(MODEL, (vug_model_options){ 0 }, err);
}

static vug_status on_two_devices(const char *folder, vug_err *err)
{
    (void)folder;
    return load_and_generate(MODEL, (vug_model_options){ .gpu_layers = 3 }, err);
}

static vug_status experts_on_the_cpu(const char *folder, vug_err *err)
{
    (void)folder;
    return load_and_generate(GOLDEN("gemma4-moe"), (vug_model_options){ .cpu_experts = 2 }, err);
}

static bool count_bytes(const vug_part *part, void *user)
{
    *(size_t *)user += part->len;
    return true;
}

/* A conversation that uses everything, and an answer that is parsed. */
static vug_status prompts(const vug_chat *of, const vug_tokenizer *tokenizer, vug_err *err)
{
    static const char messages[] =
            "[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]},"
            "{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"},"
            "{\"role\":\"assistant\",\"reasoning\":\"hm\",\"tool_calls\":[{\"function\":"
            "{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}]},"
            "{\"role\":\"tool\",\"content\":\"2\"}]";
    static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    const vug_conversation c = { .messages = messages,
                                 .messages_len = sizeof(messages) - 1,
                                 .tools = tools,
                                 .tools_len = sizeof(tools) - 1,
                                 .variables = "{\"x\":1}",
                                 .variables_len = 7 };
    vug_prompt whole = { 0 };
    vug_tokens tokens = { 0 };
    vug_response_parser *reply = NULL;
    size_t n_bytes = 0;
    vug_status st = vug_chat_render(of, &c, &whole, err);
    if (st == VUG_OK)
        st = vug_prompt_encode(tokenizer, &whole, &tokens, err);
    if (st == VUG_OK)
        st = vug_response_parser_create(
                &(vug_response_parser_options){ of, tokenizer, &whole, tools, sizeof(tools) - 1,
                                                false, count_bytes, &n_bytes },
                &reply, err);
    for (size_t i = 0; st == VUG_OK && i < tokens.n; i++)
        st = vug_response_parser_push(reply, tokens.id[i], err);
    if (st == VUG_OK)
        st = vug_response_parser_finish(reply, err);
    vug_response_parser_destroy(reply);
    vug_tokens_release(&tokens);
    vug_prompt_release(&whole);
    return st;
}

/* With text in and out. */
static vug_status chat(const char *folder, vug_err *err)
{
    const vug_model_options options = { .context = 64, .batch = 16, .threads = 1, .lazy = true };
    const vug_generate_options generate = { .max_tokens = 3, .ignore_stop = true };
    const vug_message hello = { "user", "hi" };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_generation out = { 0 };
    vug_status st = vug_model_open(folder, &options, &model, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &session, err);
    if (st == VUG_OK)
        st = vug_generate_text(session, "hello", 5, &generate, &out, err);
    vug_generation_release(&out);
    if (st == VUG_OK)
        st = vug_generate_chat(session, &hello, 1, &generate, &out, err);
    vug_generation_release(&out);
    if (st == VUG_OK)
        st = prompts(vug_model_chat(model, err), vug_model_tokenizer(model, err), err);
    vug_session_destroy(session);
    vug_model_close(model);
    return st;
}

/* A request that is pulled, and one that is called back. */
static bool ignore_event(const vug_event *event, void *user)
{
    (void)event;
    (void)user;
    return true;
}

static vug_status end_of_stream(vug_stream *stream, vug_err *err)
{
    vug_event event;
    do
        (void)vug_stream_next(stream, -1, &event);
    while (event.kind != VUG_EVENT_END);
    if (event.status != VUG_OK)
        *err = *event.err;
    const vug_status st = event.status;
    vug_stream_destroy(stream);
    return st;
}

static vug_status requests(const char *folder, vug_err *err)
{
    static const char *const stop[] = { "never said" };
    const vug_model_options options = { .context = 64, .batch = 16, .threads = 1, .lazy = true };
    const vug_generate_options generate = {
        .max_tokens = 3, .ignore_stop = true, .n_top = 2, .stop_string = stop, .n_stop_strings = 1
    };
    const vug_message hello = { "user", "hi" };
    const vug_request asked[] = {
        { .message = &hello, .n_messages = 1, .options = &generate },
        { .id = prompt, .n_ids = N_PROMPT, .options = &generate, .on_event = ignore_event },
    };
    vug_model *model = NULL;
    vug_engine *engine = NULL;
    vug_stream *stream;
    vug_status st = vug_model_open(folder, &options, &model, err);
    if (st == VUG_OK)
        st = vug_engine_create(model, NULL, &engine, err);
    for (int i = 0; i < 2 && st == VUG_OK; i++) {
        st = vug_engine_submit(engine, &asked[i], &stream, err);
        if (st == VUG_OK)
            st = end_of_stream(stream, err);
    }
    vug_engine_destroy(engine);
    vug_model_close(model);
    return st;
}

static vug_status embeddings(const char *folder, vug_err *err)
{
    static const char *const text[] = { "hello", "hi" };
    static float out[2 * 64];
    const vug_model_options options = { .context = 32, .batch = 8, .threads = 1, .lazy = true };
    vug_model *model = NULL;
    vug_embedder *embedder = NULL;
    vug_status st = vug_model_open(folder, &options, &model, err);
    if (st == VUG_OK)
        st = vug_embedder_create(model, NULL, &embedder, err);
    if (st == VUG_OK)
        st = vug_embed_texts(embedder, text, 2, NULL, out, err);
    vug_embedder_destroy(embedder);
    vug_model_close(model);
    return st;
}

/* The program that is compiled on first use, and two sessions. */
static vug_status all_logits(const char *folder, vug_err *err)
{
    (void)folder;
    const vug_model_options options = { .context = 32, .batch = 8, .threads = 1, .lazy = true };
    const vug_forward_options logits = { .all_logits = true }, hidden = { .hidden = true };
    vug_model *model = NULL;
    vug_session *a = NULL, *b = NULL;
    vug_status st = vug_model_open(MODEL, &options, &model, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &a, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &b, err);
    if (st == VUG_OK)
        st = vug_session_forward(a, prompt, N_PROMPT, &logits, err);
    if (st == VUG_OK)
        st = vug_session_forward(a, prompt, N_PROMPT, &hidden, err);
    if (st == VUG_OK)
        st = vug_session_forward(b, prompt, 3, NULL, err);
    vug_session_destroy(b);
    vug_session_destroy(a);
    vug_model_close(model);
    return st;
}

static vug_status verify(const char *folder, vug_err *err)
{
    (void)folder;
    const vug_model_options options = { .context = 128, .threads = 1, .lazy = true };
    vug_model *model = NULL;
    vug_verification v;
    vug_status st = vug_model_open(GOLDEN("gemma3-scale"), &options, &model, err);
    if (st == VUG_OK)
        st = vug_model_verify(model, GOLDEN("gemma3-scale") "/reference.safetensors", 0, &v, err);
    if (st == VUG_OK)
        assert_true(v.pass);
    vug_model_close(model);
    return st;
}

static void pass(const vug_blocks_check *check, void *user)
{
    (void)user;
    assert_int_equal(check->n_different, 0);
}

static vug_status blocks(const char *folder, vug_err *err)
{
    (void)folder;
    return vug_verify_blocks("tests/golden/quants.safetensors", pass, NULL, err);
}

static vug_status statistics(const char *folder, vug_err *err)
{
    const vug_model_options options = { .context = 32, .threads = 2, .lazy = true };
    static vug_tensor_statistics out[256];
    vug_model *model = NULL;
    vug_status st = vug_model_open(folder, &options, &model, err);
    if (st == VUG_OK) {
        assert_in_range(vug_model_tensor_count(model), 1, sizeof(out) / sizeof(out[0]));
        st = vug_model_statistics(model, NULL, NULL, out, err);
    }
    vug_model_close(model);
    return st;
}

/* Compared with a model, saved to a file, and compared with that file. */
static vug_status perplexity(const char *folder, vug_err *err)
{
    static const char text[] = "hello, hell";
    const vug_model_options options = { .context = 16, .threads = 2, .lazy = true };
    vug_model *model = NULL;
    vug_perplexity p;
    char *path = vug_path_join(folder, "base.safetensors");
    vug_status st = path ? VUG_OK : VUG_FAIL_NOMEM(err, folder, 0);
    if (st == VUG_OK)
        st = vug_model_open(folder, &options, &model, err);
    const vug_perplexity_options each[] = { { .base = model },
                                            { .save_logits = path },
                                            { .base_logits = path } };
    for (int i = 0; i < 3 && st == VUG_OK; i++)
        st = vug_model_perplexity(model, text, sizeof(text) - 1, &each[i], &p, err);
    if (st == VUG_OK)
        assert_true(p.top1 == 1);
    vug_model_close(model);
    vug_free(path);
    return st;
}

static vug_status experts(const char *folder, vug_err *err)
{
    (void)folder;
    const vug_model_options options = { .context = 32, .threads = 1 };
    const vug_forward_options none = { 0 };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_status st = vug_model_open(GOLDEN("qwen3-moe-packed"), &options, &model, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &session, err);
    if (st == VUG_OK)
        st = vug_session_forward(session, prompt, N_PROMPT, &none, err);
    vug_session_destroy(session);
    vug_model_close(model);
    return st;
}

static vug_status graph(const char *folder, vug_err *err)
{
    (void)folder;
    const vug_model_options options = { .context = 32, .threads = 1, .lazy = true };
    vug_model *model = NULL;
    vug_text out = { 0 };
    vug_status st = vug_model_open(MODEL, &options, &model, err);
    for (int format = VUG_GRAPH_TEXT; st == VUG_OK && format <= VUG_GRAPH_SVG; format++) {
        st = vug_model_graph(model, (vug_graph_format)format, true, &out, err);
        vug_text_release(&out);
        if (st == VUG_OK)
            st = vug_model_graph(model, (vug_graph_format)format, false, &out, err);
        vug_text_release(&out);
    }
    vug_model_close(model);
    return st;
}

static void half_of_layer_1(vug_flow *f, void *user)
{
    (void)user;
    const vug_val x = flow_find(f, 1, "attn_output");
    flow_replace(f, x, flow_scale(f, x, 0.5F));
}

/* A patched flow: its comparison with the original, its passes, and a run. */
static vug_status flows(const char *folder, vug_err *err)
{
    const vug_model_options options = { .context = 32, .batch = 8, .threads = 1, .lazy = true };
    const vug_flow_options how = {
        .past = VUG_PAST_NONE, .export_kv = true, .patch = half_of_layer_1, .profile = "decode"
    };
    vug_model *model = NULL;
    vug_flow *plain = NULL, *patched = NULL;
    vug_flow_program *program = NULL;
    vug_text text = { 0 };
    vug_status st = vug_flow_open(folder, NULL, &plain, err);
    if (st == VUG_OK)
        st = vug_model_open(MODEL, &options, &model, err);
    if (st == VUG_OK)
        st = vug_flow_create(model, &how, &patched, err);
    if (st == VUG_OK)
        st = vug_flow_compare(plain, patched, &text, err);
    vug_text_release(&text);
    if (st == VUG_OK)
        st = vug_flow_passes(patched, &text, err);
    vug_text_release(&text);
    if (st == VUG_OK)
        st = vug_flow_verify(patched, err);
    if (st == VUG_OK)
        st = vug_flow_build(patched, &program, err);
    if (st == VUG_OK) {
        vug_program_set_ids(program, "tokens", prompt, N_PROMPT);
        st = vug_program_run(program, err);
    }
    vug_program_destroy(program);
    vug_flow_destroy(patched);
    vug_flow_destroy(plain);
    vug_model_close(model);
    return st;
}

/* ---- the guard of a step ----------------------------------------------------- */

static void no_allocation_in(const char *folder, int gpu_layers, int cpu_experts)
{
    const vug_forward_options none = { 0 }, all = { .all_logits = true, .hidden = true };
    const vug_model_options options = { .gpu_layers = gpu_layers,
                                        .cpu_experts = cpu_experts,
                                        .context = 64,
                                        .batch = 4,
                                        .threads = 2 };
    vug_model *model = help_model(folder, options);
    vug_session *a = help_session(model);
    vug_err err = { 0 };
    vug_status st = vug_session_forward(a, prompt, 5, NULL, &err);
    alloc_hook_forbid();
    for (size_t n = 6; st == VUG_OK && n <= N_PROMPT; n++)
        st = vug_session_forward(a, prompt, n, NULL, &err);
    for (int i = 0; st == VUG_OK && i < 6; i++)
        st = vug_session_extend(a, prompt, N_PROMPT, &none, &err);
    (void)alloc_hook_stop();
    help_ok(st, &err);
    assert_int_equal(alloc_hook_count(), 0);

    /* Also true for all logits, from the second step on. */
    help_ok(vug_session_forward(a, prompt, N_PROMPT, &all, &err), &err);
    alloc_hook_forbid();
    st = vug_session_forward(a, prompt, N_PROMPT, &all, &err);
    (void)alloc_hook_stop();
    help_ok(st, &err);
    assert_int_equal(alloc_hook_count(), 0);
    vug_flow_program *program = help_program(model, (vug_flow_options){ .custom_mask = true });
    float *mask = help_mask(4, 4, 16);
    vug_program_set_ids(program, "tokens", prompt, 4);
    for (size_t i = 0; i < vug_program_input_count(program); i++) {
        const vug_port in = vug_program_input(program, i);
        if (!in.integers)
            vug_program_set(program, in.name, mask, 16);
    }
    alloc_hook_forbid();
    st = vug_program_run(program, &err);
    (void)alloc_hook_stop();
    help_ok(st, &err);
    assert_int_equal(alloc_hook_count(), 0);
    vug_program_destroy(program);
    vug_free(mask);
    vug_session_destroy(a);
    vug_model_close(model);
}

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    no_allocation_in(MODEL, 0, 0);
    no_allocation_in(MODEL, 3, 0);
    no_allocation_in(GOLDEN("qwen3-moe-packed"), 0, 0);
    no_allocation_in(GOLDEN("gemma4-moe"), 0, 0);
    no_allocation_in(GOLDEN("gemma4-moe"), 0, 2);
}

/* A session whose program with all logits could not be compiled still works. */
static void test_session_survives_a_failed_allocation(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const vug_forward_options hidden = { .hidden = true }, all = { .all_logits = true };
    vug_model *model =
            help_model(MODEL, (vug_model_options){ .context = 64, .batch = 8, .threads = 1 });
    const size_t bytes = (size_t)vug_model_describe(model).n_vocab * sizeof(float);
    float *alone = help_alone(model, prompt, N_PROMPT);
    bool reached = true;
    for (long n = 0; reached; n++) {
        vug_session *s = help_session(model);
        vug_err err = { 0 };
        help_ok(vug_session_forward(s, prompt, N_PROMPT, &all, &err), &err);
        alloc_hook_fail(n, ALLOC_FROM_THEN_ON);
        const vug_status st = vug_session_forward(s, prompt, N_PROMPT, &hidden, &err);
        reached = alloc_hook_stop();
        assert_int_equal(st, reached ? VUG_NOMEM : VUG_OK);
        assert_true((vug_session_logits(s) == NULL) == reached);
        assert_memory_equal(help_forward(s, prompt, N_PROMPT), alone, bytes);
        help_ok(vug_session_forward(s, prompt, N_PROMPT, &hidden, &err), &err);
        assert_memory_equal(vug_session_logits(s), alone, bytes);
        vug_session_destroy(s);
    }
    vug_free(alone);
    vug_model_close(model);
}

/* ---- the hook itself --------------------------------------------------------- */

static void test_alloc_hook_counts_and_fails(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const long before = alloc_hook_live();
    alloc_hook_fail(1, ALLOC_ONCE);
    void *a = vug_alloc(1, 1), *b = vug_alloc_zero(1, 1), *c = vug_alloc_aligned(1);
    assert_true(alloc_hook_stop());
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(alloc_hook_count(), 3);
    assert_int_equal(alloc_hook_refused(), 1);
    assert_int_equal(alloc_hook_live(), before + 2);

    alloc_hook_fail(0, ALLOC_FROM_THEN_ON);
    assert_null(vug_alloc(1, 1));
    assert_null(vug_realloc(a, 100, 1));
    assert_true(alloc_hook_stop());
    a = vug_realloc(a, 100, 1);
    assert_non_null(a);
    vug_free(a);
    vug_free(c);
    vug_free(NULL);
    assert_int_equal(alloc_hook_live(), before);

    alloc_hook_forbid();
    assert_false(alloc_hook_stop());
}

int main(void)
{
    const scratch dir = scratch_make();
    alloc_scenario rows[] = {
        { "json", json, &dir, false },
        { "grammar", grammar, &dir, false },
        { "weights", weights, &dir, false },
        { "quantized", quantized, &dir, false },
        { "gguf", gguf, &dir, false },
        { "gguf_model", gguf_model, &dir, false },
        { "tokenizer", tokenizer, &dir, false },
        { "byte-level tokenizer", tokenizer_of_bytes, &dir, false },
        { "from_load_to_close", from_load_to_close, &dir, .caches = true },
        { "on two devices", on_two_devices, &dir, .caches = true },
        { "experts on the CPU", experts_on_the_cpu, &dir, .caches = true },
        { "chat", chat, &dir, .caches = true },
        { "requests", requests, &dir, .caches = true },
        { "embeddings", embeddings, &dir, false },
        { "all logits", all_logits, &dir, .caches = true },
        { "verify", verify, &dir, .caches = true },
        { "blocks", blocks, &dir, false },
        { "graph", graph, &dir, false },
        { "statistics", statistics, &dir, false },
        { "perplexity", perplexity, &dir, .caches = true },
        { "flows", flows, &dir, false },
        { "experts", experts, &dir, .caches = true },
    };
    enum { N = sizeof(rows) / sizeof(rows[0]), OTHERS = 3 };
    struct CMUnitTest tests[N + OTHERS] = {
        cmocka_unit_test(test_alloc_hook_counts_and_fails),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_session_survives_a_failed_allocation),
    };
    for (int i = 0; i < N; i++)
        tests[OTHERS + i] = (struct CMUnitTest){
            .name = rows[i].name,
            .test_func = test_every_allocation_failure_is_handled,
            .initial_state = &rows[i],
        };
    tiny_model(&dir, TINY_VOCAB);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(&dir);
    return failed;
}
