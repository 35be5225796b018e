/* The program from the outside: help, error messages, exit codes, JSON. */
#include "test.h"

#include <signal.h>
#include <unistd.h>

#include "capture.h"
#include "cli/options.h"
#include "core/json.h"
#include "core/os.h"
#include "tiny_model.h"

#define GOLDEN TINY_SOURCE

/* ---- assertions --------------------------------------------------------------- */

static void assert_has(const vug_text *text, const char *part)
{
    if (!strstr(text->ptr, part))
        fail_msg("'%s' is not in '%.2000s'", part, text->ptr);
}

static void assert_success(const captured *c)
{
    if (c->code != 0)
        fail_msg("exit code %d: %s", c->code, c->err.ptr);
    assert_null(memchr(c->out.ptr, '\033', c->out.len));
    assert_null(memchr(c->err.ptr, '\033', c->err.len));
}

/* One line of JSON; `key` must be a member unless it is NULL. */
static void assert_json(captured c, int code, const char *key)
{
    vug_arena arena = { 0 };
    const vug_jv *root;
    vug_err err;
    if (c.code != code)
        fail_msg("exit code %d: %s", c.code, c.err.ptr);
    assert_true(c.out.len > 0 && strchr(c.out.ptr, '\n') == c.out.ptr + c.out.len - 1);
    if (vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "output", &arena, &root, &err) != VUG_OK)
        fail_msg("%s: %s", err.msg, c.out.ptr);
    if (key && !vug_jv_get(root, key))
        fail_msg("no \"%s\" in %s", key, c.out.ptr);
    vug_arena_release(&arena);
    captured_release(&c);
}

/* ---- help ---------------------------------------------------------------------- */

static void test_every_command_has_help(void **state)
{
    (void)state;
    for (int i = 0; i < VUG_COMMAND_COUNT; i++) {
        char usage[64], flag[64];
        const char *name = vug_command_rows[i].name;
        captured c = VUG(name, "--help");
        assert_success(&c);
        (void)snprintf(usage, sizeof(usage), "usage: vug %s ", name);
        assert_int_equal(strncmp(c.out.ptr, usage, strlen(usage)), 0);
        assert_has(&c.out, "\nOptions:\n");
        assert_has(&c.out, "\nExample:\n  vug ");
        assert_has(&c.out, "\nExit codes:\n");
        assert_has(&c.out, "130  interrupted");
        for (int k = 0; k < VUG_OPTION_COUNT; k++) {
            (void)snprintf(flag, sizeof(flag), "--%s", vug_option_rows[k].flag);
            if (vug_option_applies(&vug_option_rows[k], (vug_command)i))
                assert_has(&c.out, flag);
        }
        captured again = VUG("help", name);
        assert_string_equal(c.out.ptr, again.out.ptr);
        captured_release(&again);
        captured_release(&c);
    }
}

/* Two commands may have different options of one name. */
static void test_help_depends_on_the_command(void **state)
{
    (void)state;
    captured c = VUG("serve", "--help");
    assert_has(&c.out, "per answer for chat requests that\n");
    assert_has(&c.out, "print nothing to stdout");
    captured_release(&c);
    c = VUG("run", "--help");
    assert_has(&c.out, "maximum number of tokens to generate; 0 means");
    assert_has(&c.out, "print no progress bar");
    captured_release(&c);
}

static void test_help_and_version(void **state)
{
    (void)state;
    captured c = VUG("help");
    assert_success(&c);
    for (int i = 0; i < VUG_COMMAND_COUNT; i++)
        assert_has(&c.out, vug_command_rows[i].name);
    captured_release(&c);
    c = VUG("--version");
    assert_success(&c);
    assert_has(&c.out, vug_version());
    captured_release(&c);
    c = capture(NULL, NULL, (const char *const[]){ capture_program(), NULL });
    assert_int_equal(c.code, 2);
    assert_has(&c.err, "usage: vug COMMAND");
    captured_release(&c);
    refuses(VUG("verfy"), "did you mean verify?");
    refuses(VUG("help", "nothing"), "unknown command 'nothing'");
    refuses(VUG("devices", "x"), "vug: unexpected operand 'x'; usage: vug devices [options]\n");
}

/* ---- run ----------------------------------------------------------------------- */

static void test_run_rejects_bad_usage(void **state)
{
    const scratch *tiny = *state;
    const char *m = tiny->path;
    refuses(VUG("run", "no/such/folder", "hi"), "no/such/folder");
    refuses(VUG("run", m, ""), "the prompt is empty");
    refuses(VUG("run", m, " \t\n"), "the prompt is empty");
    refuses(VUG_IN("", "run", m), "the prompt is empty");
    refuses(VUG_IN("\n", "run", m, "--raw"), "the prompt is empty");
    refuses(VUG("run", m, "hi", "--top-p", "2"), "--top-p 2: expected a number from 0 to 1");
    refuses(VUG("run", m, "hi", "--tok-k", "2"), "--top-k");
    refuses(VUG("run", m, "hi", "there"), "'there'");
    refuses(VUG("run", m, "hi", "--raw", "--system", "s"), "--system");
    refuses(VUG("run", m, "hi", "--logit-bias", "5"), "ID=X");
    refuses(VUG("run", m, "hi", "--logit-bias", "384=1"), "0 to 383");
    refuses(VUG("run", m, "hi", "--logit-bias", "3=1001"), "1000");
    refuses(VUG("run", m, "hi", "--sampler-order", "top-k,heat"), "'heat'");
    refuses(VUG("run", m, "hi", "--sampler-order", "top-k,top-k"), "twice");
    refuses(VUG("run", m, "hi", "--sampler-order", "top-k", "--min-p", "0.1"), "min-p");
    refuses(VUG("run", m, "hi", "--sampler-order", "xtc-threshold"), "'xtc-threshold'");
    refuses(VUG("run", m, "hi", "--sampler-order", "top-k,bias", "--top-k", "1", "--logit-bias",
                "5=1"),
            "bias comes after top-k");
    refuses(VUG("run", m, "hi", "--typical-p", "2"), "--typical-p 2: expected a number");
    refuses(VUG("run", m, "hi", "--bad-word", ""), "a banned word is empty");
    refuses(VUG("run", m, "hi", "--device", "abacus"), "abacus");
    refuses(VUG("run", m, "hi", "--isa", "abacus"), "abacus");
    refuses(VUG("run", m, "hi", "--memory-limit", "1M"), "1");
    refuses(VUG("run", GOLDEN, "hi"), "tokenizer.json");
}

static void test_run_rejects_a_long_prompt(void **state)
{
    const scratch *tiny = *state;
    captured c = VUG("run", tiny->path, "a prompt of more than sixteen tokens", "--context", "16");
    assert_has(&c.err, "16");
    refuses(c, "tokens");
    /* The message has both numbers: the prompt's and the context's. */
    c = VUG("run", tiny->path, "--raw", "wwwwwwwwwwwwwwwwwwww", "--context", "16");
    assert_has(&c.err, "21");
    refuses(c, "16");
}

static void test_run_answers(void **state)
{
    const scratch *tiny = *state;
    const char *m = tiny->path;
    captured c = VUG("run", m, "hello", "-n", "8", "--temperature", "0", "--ignore-eos");
    assert_success(&c);
    assert_true(c.out.len > 1 && c.out.ptr[c.out.len - 1] == '\n');
    assert_has(&c.err, "tokens/s");
    assert_has(&c.err, "answer 8 tokens");
    /* The same prompt from a pipe, without its final newline. */
    captured piped =
            VUG_IN("hello\n", "run", m, "-n", "8", "--temperature=0", "--ignore-eos", "-q");
    assert_success(&piped);
    assert_string_equal(piped.out.ptr, c.out.ptr);
    assert_int_equal(piped.err.len, 0);
    captured_release(&piped);
    captured_release(&c);
    c = VUG("run", m, "hello", "-n", "4", "--seed", "7", "--temperature", "1", "--ignore-eos");
    captured same = VUG("run", m, "hello", "-n", "4", "--seed", "7", "--temperature", "1",
                        "--ignore-eos", "--sampler-order", "temperature,top-k");
    assert_string_equal(c.out.ptr, same.out.ptr);
    captured_release(&same);
    captured_release(&c);
}

/* The token with the bias is "A": options that keep it from being repeated. */
static void test_run_takes_all_samplers(void **state)
{
    const scratch *tiny = *state;
    const char *m = tiny->path;
#define WITH(...)                                                                                 \
    VUG("run", m, "hello", "-n", "4", "-q", "--temperature", "0", "--ignore-eos", "--logit-bias", \
        "296=10", __VA_ARGS__)
    gives(WITH("--raw"), "AAAA\n", "");
    static const char *const rows[][4] = {
        { "--bad-word", "A", "--min-tokens", "1" },
        { "--dry-multiplier", "100", "--dry-allowed-length", "1" },
        { "--presence-penalty", "100", "--repeat-last-n", "1" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        captured c = WITH("--raw", rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
        assert_success(&c);
        assert_null(strstr(c.out.ptr, "AAA"));
        captured_release(&c);
    }
    /* A window of no tokens turns penalties off. */
    gives(WITH("--raw", "--presence-penalty", "100", "--repeat-last-n", "0"), "AAAA\n", "");
    gives(WITH("--raw", "--dry-multiplier", "100", "--dry-sequence-breaker", "A"), "AAAA\n", "");
#undef WITH
}

/* Greedy decoding repeats the token with the bias. */
static void test_run_prints_logprobs(void **state)
{
    const scratch *tiny = *state;
    captured c = VUG("run", tiny->path, "hello", "-n", "3", "--temperature", "0", "--logit-bias",
                     "296=1000", "--logprobs", "2", "-q");
    assert_success(&c);
    assert_string_equal(c.out.ptr, "AAA\n");
    assert_has(&c.err, "296");
    assert_has(&c.err, "\"A\"");
    captured_release(&c);
}

static void test_run_prints_json(void **state)
{
    const scratch *tiny = *state;
    vug_arena arena = { 0 };
    const vug_jv *root;
    captured c = VUG("run", tiny->path, "hello", "-n", "3", "--temperature", "0", "--logit-bias",
                     "296=1000", "--logprobs", "2", "--json");
    assert_success(&c);
    assert_int_equal(c.err.len, 0);
    assert_int_equal(vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "run", &arena, &root, NULL),
                     VUG_OK);
    assert_true(vug_str_is(vug_jv_get(root, "text")->str, "AAA"));
    assert_true(vug_str_is(vug_jv_get(root, "finish")->str, "length"));
    assert_int_equal(vug_jv_get(root, "tokens")->n, 3);
    assert_int_equal(vug_jv_get(root, "tokens")->child->i64, 296);
    assert_int_equal(vug_jv_get(root, "logprobs")->n, 3);
    assert_int_equal(vug_jv_get(vug_jv_get(root, "logprobs")->child, "top")->n, 2);
    assert_non_null(vug_jv_get(vug_jv_get(root, "timings"), "decode_tokens_per_s"));
    vug_arena_release(&arena);
    captured_release(&c);
}

/* ---- broken checkpoints ---------------------------------------------------------- */

/* Inspects a copy of the golden checkpoint with other contents of the file `name`. */
static captured with_file(const char *name, const void *bytes, size_t n)
{
    const scratch s = scratch_make();
    tiny_copy(&s, "config.json");
    tiny_copy(&s, "model.safetensors");
    scratch_write(&s, name, bytes, n);
    const captured c = VUG("inspect", s.path);
    scratch_remove(&s);
    return c;
}

static captured with_text(const char *name, const char *text)
{
    return with_file(name, text, strlen(text));
}

/* Replaces the first `from` in config.json. */
static captured with_config(const char *from, const char *to)
{
    vug_text config;
    vug_buf changed = { 0 };
    assert_int_equal(vug_read_file(GOLDEN "/config.json", 1 << 20, &config, NULL), VUG_OK);
    const char *at = strstr(config.ptr, from);
    assert_non_null(at);
    vug_buf_append(&changed, config.ptr, (size_t)(at - config.ptr));
    vug_buf_puts(&changed, to);
    vug_buf_puts(&changed, at + strlen(from));
    const captured c = with_text("config.json", changed.ptr);
    vug_buf_release(&changed);
    vug_text_release(&config);
    return c;
}

static void test_broken_config_is_reported(void **state)
{
    (void)state;
    captured c = with_text("config.json", "{\"model_type\": \"gemma3_text\",\n oops}");
    assert_has(&c.err, "config.json");
    assert_has(&c.err, "column 2");
    refuses(c, "line 2");
    c = with_config("Gemma3ForCausalLM", "AbacusForCausalLM");
    refuses(with_config("gemma3_text", "abacus"), "gemma3");
    captured_release(&c);
    refuses(with_config("\"hidden_size\": 64", "\"hidden_size\": 63"), "63");
    refuses(with_config("\"num_hidden_layers\": 8", "\"num_hidden_layers\": -8"),
            "num_hidden_layers");
}

static void test_broken_weights_are_reported(void **state)
{
    vug_text weights;
    (void)state;
    assert_int_equal(vug_read_file(GOLDEN "/model.safetensors", 1 << 24, &weights, NULL), VUG_OK);
    refuses(with_file("model.safetensors", weights.ptr, weights.len - 1), "model.safetensors");
    refuses(with_file("model.safetensors", weights.ptr, 7), "model.safetensors");
    refuses(with_file("model.safetensors", "\xff\xff\xff\xff\0\0\0\0{}", 10), "model.safetensors");
    char *shape = strstr(weights.ptr + 8, "\"shape\":[");
    assert_non_null(shape);
    shape[9]++; /* a first dimension larger than the data */
    refuses(with_file("model.safetensors", weights.ptr, weights.len), "model.safetensors");
    vug_text_release(&weights);
    refuses(with_text("model.safetensors.index.json",
                      "{\"weight_map\":{\"model.norm.weight\":\"model-2.safetensors\"}}"),
            "model-2.safetensors");
}

static void test_missing_files_are_reported(void **state)
{
    const scratch s = scratch_make();
    (void)state;
    refuses(VUG("inspect", s.path), "config.json");
    tiny_copy(&s, "config.json");
    refuses(VUG("inspect", s.path), "safetensors");
    refuses(VUG("verify", s.path), "safetensors");
    refuses(VUG("graph", s.path), "safetensors");
    refuses(VUG("tokenize", s.path, "x"), "tokenizer.json");
    scratch_puts(&s, "tokenizer.json", "version https://git-lfs.github.com/spec/v1\n");
    refuses(VUG("tokenize", s.path, "x"), "tokenizer.json: this is a Git LFS pointer");
    scratch_remove(&s);
}

static void test_tokenizer_must_match_the_model(void **state)
{
    const scratch s = scratch_make();
    (void)state;
    tiny_model(&s, TINY_VOCAB + 2000);
    captured c = VUG("run", s.path, "hi");
    assert_has(&c.err, "384");
    refuses(c, "2384");
    scratch_remove(&s);
}

/* ---- verify ----------------------------------------------------------------------- */

static void test_verify_compares_logits(void **state)
{
    (void)state;
    captured c = VUG("verify", GOLDEN);
    assert_success(&c);
    assert_has(&c.out, "24 of 24 equal");
    assert_has(&c.out, "identical to the bit");
    assert_has(&c.out, "\npass\n");
    captured_release(&c);
    assert_json(VUG("verify", GOLDEN, "--json"), 0, "max_abs");
    /* No engine is this exact. */
    c = VUG("verify", GOLDEN, "--tol", "1e-9");
    assert_int_equal(c.code, 1);
    assert_has(&c.out, "FAIL");
    captured_release(&c);
    assert_json(VUG("verify", GOLDEN, "--tol", "1e-9", "--json"), 1, "pass");
    refuses(VUG("verify", GOLDEN, "--reference", "no/such/file"), "no/such/file");
    refuses(VUG("verify", "models/pebble"), "vug: models/pebble/reference.safetensors: no such "
                                            "file; name a file of reference logits "
                                            "with --reference FILE\n");
}

#define BLOCKS "tests/golden/quants.safetensors"

static void test_verify_compares_blocks(void **state)
{
    (void)state;
    captured c = VUG("verify", "--blocks", BLOCKS);
    assert_success(&c);
    assert_has(&c.out, "Q4_K                       3 x 512, identical to the bit\n");
    assert_has(&c.out, "mlx.b6.g128 ");
    assert_has(&c.out, "\npass\n");
    captured_release(&c);
    assert_json(VUG("verify", "--blocks", BLOCKS, "--json"), 0, "formats");
    refuses(VUG("verify"), "MODEL folder or --blocks");
    refuses(VUG("verify", GOLDEN, "--blocks", BLOCKS), "not both");
    refuses(VUG("verify", "--blocks", BLOCKS, "--tol", "1"), "require a MODEL");
    refuses(VUG("verify", "--blocks", "tests/golden/pebble/reference.safetensors"), "TYPE.blocks");

    /* The last byte of the file is the sign of the last weight. */
    const scratch s = scratch_make();
    vug_text file = { 0 };
    vug_err err;
    assert_int_equal(vug_read_file(BLOCKS, 1 << 20, &file, &err), VUG_OK);
    char *bytes = vug_alloc(file.len, 1);
    assert_non_null(bytes);
    memcpy(bytes, file.ptr, file.len);
    bytes[file.len - 1] ^= (char)0x80;
    scratch_write(&s, "other.safetensors", bytes, file.len);
    vug_free(bytes);
    vug_text_release(&file);
    const scratch_path other = scratch_at(&s, "other.safetensors");
    c = VUG("verify", "--blocks", other.path);
    assert_int_equal(c.code, 1);
    assert_has(&c.out, "Q4_K                       3 x 512, identical");
    assert_has(&c.out, "3 x 512, 1 differ: ");
    assert_has(&c.out, " at [2,511], expected ");
    assert_has(&c.out, "\nFAIL\n");
    captured_release(&c);
    assert_json(VUG("verify", "--blocks", other.path, "--json"), 1, "pass");
    scratch_remove(&s);
}

/* ---- perplexity ------------------------------------------------------------------- */

static void test_perplexity_scores_and_compares(void **state)
{
    const scratch *tiny = *state;
    const scratch_path file = scratch_at(tiny, "text.txt"), base = scratch_at(tiny, "base.st");
    const char *m = tiny->path;
    scratch_puts(tiny, "text.txt", "hello hello, what is this?\n");
    captured c = VUG("perplexity", m, file.path, "--context", "16", "--stride", "4");
    assert_success(&c);
    assert_has(&c.out, " windows of 16, one every 4\n");
    assert_has(&c.out, " tokens, 27 bytes\n");
    assert_has(&c.out, "\n  bits per byte ");
    assert_null(strstr(c.out.ptr, "KL"));
    assert_has(&c.err, " tokens/s\n");
    captured_release(&c);
    c = VUG_IN("hello hello, what is this?\n", "perplexity", m, "-", "--against", m, "-q");
    assert_success(&c);
    assert_int_equal(c.err.len, 0);
    assert_has(&c.out, "mean 0, median 0, ");
    assert_has(&c.out, "100.00 %");
    captured_release(&c);
    assert_json(VUG("perplexity", m, file.path, "--json", "--save-logits", base.path), 0, "score");
    c = VUG("perplexity", m, file.path, "--json", "--logits", base.path);
    assert_int_equal(c.err.len, 0);
    assert_has(&c.out, "\"top1\":1,");
    assert_json(c, 0, "kl");
}

static void test_perplexity_rejects_bad_usage(void **state)
{
    const scratch *tiny = *state;
    const scratch_path file = scratch_at(tiny, "text.txt");
    const char *m = tiny->path, *f = file.path;
    scratch_puts(tiny, "text.txt", "hello\n");
    refuses(VUG("perplexity", m), "missing operand");
    refuses(VUG("perplexity", m, "no/such/file"), "no/such/file: cannot open");
    refuses(VUG("perplexity", "no/such/folder", f), "no/such/folder: no such file or folder");
    refuses(VUG("perplexity", m, f, "--against", "no/such/base"), "no/such/base");
    refuses(VUG("perplexity", m, f, "--logits", "no/such/logits"), "no/such/logits");
    refuses(VUG("perplexity", m, f, "--logits", f), "text.txt");
    refuses(VUG("perplexity", m, f, "--logits", f, "--against", m), "only one of");
    refuses(VUG("perplexity", m, f, "--stride", "9", "--context", "9"),
            "a window every 9 tokens, expected 1 to 8");
    refuses_with(VUG("perplexity", m, f, "--save-logits", "no/such/folder/f"), 3,
                 "no/such/folder/f: cannot write");
    refuses(VUG_IN("", "perplexity", m, "-"), "standard input: 0 tokens");
    refuses(VUG_IN("ab\xff", "perplexity", m, "-"), "standard input: not UTF-8");
    refuses(VUG("perplexity", GOLDEN, f), "tokenizer.json");
}

/* ---- tokenize ---------------------------------------------------------------------- */

static void test_tokenize_prints_ids(void **state)
{
    const scratch *tiny = *state;
    captured c = VUG("tokenize", tiny->path, "hell A");
    assert_success(&c);
    assert_has(&c.out, "\"hell\"\n");
    assert_has(&c.out, "     296  \"A\"\n");
    captured_release(&c);
    /* From a pipe, the final newline counts, too. */
    c = VUG_IN("A\n", "tokenize", scratch_at(tiny, "tokenizer.json").path, "--special");
    assert_string_equal(c.out.ptr, "       2  \"<bos>\"\n     296  \"A\"\n     263  \"\\n\"\n");
    captured_release(&c);
    c = VUG("tokenize", tiny->path, "<end_of_turn>", "--json");
    assert_string_equal(c.out.ptr, "{\"ids\":[5],\"pieces\":[\"<end_of_turn>\"],"
                                   "\"decoded\":\"<end_of_turn>\"}\n");
    captured_release(&c);
}

static void test_tokenize_reads_lines(void **state)
{
    const scratch *tiny = *state;
    const scratch_path path = scratch_at(tiny, "lines.jsonl");
    scratch_puts(tiny, "lines.jsonl",
                 "{\"text\":\"A\\u0042\"}\r\n{\"ids\":[1,{}],\"text\":\"\"}\n{\"text\":\" \\\"\"}");
    captured c = VUG("tokenize", tiny->path, "--jsonl", path.path);
    assert_success(&c);
    assert_string_equal(c.out.ptr, "{\"ids\":[296,297],\"decoded\":\"AB\"}\n"
                                   "{\"ids\":[],\"decoded\":\"\"}\n"
                                   "{\"ids\":[262,265],\"decoded\":\" \\\"\"}\n");
    captured_release(&c);
    static const char *const bad[] = { "{\"text\":1}",
                                       "{\"text\":\"a\"",
                                       "[]",
                                       "{}",
                                       "",
                                       "{\"text\":\"\\ud800\"}",
                                       "{\"text\":\"a\",\"text\":\"b\"}" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char lines[128];
        (void)snprintf(lines, sizeof(lines), "{\"text\":\"A\"}\n%s\n{\"text\":\"B\"}\n", bad[i]);
        scratch_puts(tiny, "lines.jsonl", lines);
        c = VUG("tokenize", tiny->path, "--jsonl", path.path);
        assert_int_equal(c.code, 2);
        assert_has(&c.err, "lines.jsonl:2: ");
        /* The line before it is printed. */
        assert_has(&c.out, "\"decoded\":\"A\"}\n");
        captured_release(&c);
    }
    refuses(VUG("tokenize", tiny->path, "--jsonl", "no/such/file"), "no/such/file");
    refuses(VUG("tokenize", tiny->path, "x", "--jsonl", path.path), "not both");
}

/* Longer than any read block. */
static void test_tokenize_reads_long_lines(void **state)
{
    enum { N = 3 << 20 };
    const scratch *tiny = *state;
    vug_buf line = { 0 };
    for (int i = 0; i < 2; i++) {
        vug_buf_puts(&line, "{\"text\":\"");
        for (int k = 0; k < N / 8; k++)
            vug_buf_puts(&line, "AB AB AB");
        vug_buf_puts(&line, "\"}\n");
    }
    assert_int_equal(vug_buf_ok(&line, NULL), VUG_OK);
    scratch_write(tiny, "lines.jsonl", line.ptr, line.len);
    vug_buf_release(&line);
    captured c = VUG("tokenize", tiny->path, "--jsonl", scratch_at(tiny, "lines.jsonl").path);
    assert_success(&c);
    const char *second = strchr(c.out.ptr, '\n') + 1;
    assert_int_equal((size_t)(second - c.out.ptr) * 2, c.out.len);
    assert_memory_equal(c.out.ptr, second, (size_t)(second - c.out.ptr));
    captured_release(&c);
}

/* ---- template ----------------------------------------------------------------------- */

static void test_template_renders_messages(void **state)
{
    const scratch *tiny = *state;
    captured c =
            VUG_IN("[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":"
                   "[{\"type\":\"text\",\"text\":\" \\u2003a\\u00a0\"},{\"type\":\"text\",\"text\":"
                   "\"\\u3000b c\\n\"}]}]",
                   "template", tiny->path, "--messages", "-");
    assert_success(&c);
    assert_string_equal(c.out.ptr, "<bos><start_of_turn>user\nS\n\nab c<end_of_turn>\n"
                                   "<start_of_turn>model\n");
    captured_release(&c);
    scratch_puts(tiny, "chat.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}");
    c = VUG("template", tiny->path, "--messages", scratch_at(tiny, "chat.json").path,
            "--no-generation-prompt");
    assert_success(&c);
    assert_string_equal(c.out.ptr, "<bos><start_of_turn>user\nx<end_of_turn>\n");
    captured_release(&c);
}

static void test_template_rejects_bad_messages(void **state)
{
    static const struct {
        const char *json, *part;
    } cases[] = {
        { "[{\"role\":\"user\",\n \"content\":}]", "line 2" },
        { "7", "expected an array" },
        { "{}", "messages" },
        { "[7]", "messages[0]: " },
        { "[{\"content\":\"x\"}]", "\"role\"" },
        { "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"oracle\"}]", "messages[1]: " },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"smell\"}]}]", "\"smell\"" },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", "content[0]" },
    };
    const scratch *tiny = *state;
    const scratch_path path = scratch_at(tiny, "chat.json");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scratch_puts(tiny, "chat.json", cases[i].json);
        refuses(VUG("template", tiny->path, "--messages", path.path), cases[i].part);
    }
    scratch_puts(tiny, "chat.json", "[{\"role\":\"assistant\",\"content\":\"x\"}]");
    refuses(VUG("template", tiny->path, "--messages", path.path, "--strict-template"), "alternate");
    refuses(VUG("template", tiny->path), "--messages");
    refuses(VUG("template", tiny->path, "--messages", "no/such/file"), "no/such/file");
}

/* ---- other commands ------------------------------------------------------------------ */

static void test_commands_print_json(void **state)
{
    const scratch *tiny = *state;
    assert_json(VUG("inspect", GOLDEN, "--json"), 0, "tensors");
    assert_json(VUG("graph", GOLDEN, "--json"), 0, "graph");
    assert_json(VUG("devices", "--json"), 0, NULL);
    assert_json(VUG("synth", "--json"), 0, NULL);
    assert_json(VUG_IN("[{\"role\":\"user\",\"content\":\"x\"}]", "template", tiny->path,
                       "--messages", "-", "--json"),
                0, "text");
    assert_json(VUG("bench", GOLDEN, "-p", "16", "-n", "4", "-d", "3", "-r", "2", "--json"), 0,
                "decode");
    assert_json(VUG("bench", GOLDEN, "-p", "16", "-n", "4", "-r", "2", "--compare", "echo 3 4",
                    "--json"),
                0, "compare");
    assert_json(VUG("bench", GOLDEN, "-p", "16", "-n", "4", "-r", "1", "--ops", "--json"), 0,
                "ops");
    assert_json(VUG("bench", GOLDEN, "-p", "0", "-n", "4", "-r", "1", "--sequences", "3", "--json"),
                0, "sequences");
    assert_json(VUG("bench", GOLDEN, "-p", "0", "-n", "4", "-r", "1", "--sequences", "3", "--ops",
                    "--json"),
                0, "ops");
}

static void test_inspect_prints_text(void **state)
{
    (void)state;
    captured c = VUG("inspect", GOLDEN);
    assert_success(&c);
    assert_has(&c.out, "gemma3");
    assert_has(&c.out, "7 x window of 16 tokens");
    assert_has(&c.out, ": 0-4, 6-7\n");
    assert_null(strstr(c.out.ptr, "model.norm.weight"));
    captured_release(&c);
    c = VUG("inspect", GOLDEN, "--context", "640", "--batch", "16", "--slots", "3");
    assert_has(&c.out, "KV cache, whole context of all slots");
    assert_has(&c.out, "KV cache of one slot");
    assert_has(&c.out, "a snapshot of sliding windows");
    captured_release(&c);
    c = VUG("inspect", GOLDEN, "--tensors");
    assert_has(&c.out, "model.norm.weight");
    captured_release(&c);
}

/* A key or value of a head of width 16 takes 20 bytes in q8. */
static void test_kv_format_is_applied(void **state)
{
    (void)state;
    captured c = VUG("inspect", GOLDEN, "--context", "640", "--kv", "q8");
    assert_success(&c);
    assert_has(&c.out, "keys and values in q8\n");
    assert_has(&c.out, "1 x full   640 slots of 2 x 16, 50.00 KiB each: 5\n");
    captured_release(&c);
    c = VUG("inspect", GOLDEN, "--context", "640");
    assert_has(&c.out, "keys and values in f32\n");
    assert_has(&c.out, "1 x full   640 slots of 2 x 16, 160.00 KiB each: 5\n");
    captured_release(&c);
    c = VUG("verify", GOLDEN, "--kv", "f16", "--tol", "0.05");
    assert_success(&c);
    assert_has(&c.out, "token by token             identical to the bit\n");
    captured_release(&c);
    refuses(VUG("verify", GOLDEN, "--kv", "q4"), "f32|f16|bf16|q8");
    assert_json(VUG("inspect", GOLDEN, "--kv", "bf16", "--json"), 0, "kv");
}

static void test_graph_writes_a_file(void **state)
{
    const scratch *tiny = *state;
    const scratch_path path = scratch_at(tiny, "graph.svg");
    captured c = VUG("graph", GOLDEN, "--format", "svg", "--fused", "--out", path.path);
    vug_text svg;
    assert_success(&c);
    assert_int_equal(c.out.len, 0);
    assert_int_equal(vug_read_file(path.path, 1 << 24, &svg, NULL), VUG_OK);
    assert_has(&svg, "</svg>");
    vug_text_release(&svg);
    captured_release(&c);
    refuses_with(VUG("graph", GOLDEN, "--out", "no/such/folder/g"), 3, "no/such/folder/g");
}

/* All commands take a profile; graph reports its effects. */
static void test_profiles_and_modes(void **state)
{
    const scratch *tiny = *state;
    const scratch_path good = scratch_at(tiny, "good.toml"), bad = scratch_at(tiny, "bad.toml");
    scratch_puts(tiny, "good.toml", "[fusion]\nadd_norm = false\n");
    scratch_puts(tiny, "bad.toml", "[fusion]\nadd_norms = false\n");
    captured c = VUG("graph", GOLDEN, "--fused", "--mode", "decode", "--profile", good.path);
    assert_success(&c);
    assert_has(&c.out, "%1 = input [1] {tokens} tokens\n");
    assert_has(&c.out, "  geglu      8 of 8 matches fused\n");
    assert_has(&c.out, "  add_norm   0 of 16 matches fused: off in the profile\n");
    assert_null(strstr(c.out.ptr, "= add_norm("));
    captured_release(&c);
    assert_json(VUG("graph", GOLDEN, "--json", "--profile", good.path), 0, "passes");
    c = VUG("graph", GOLDEN, "--format", "dot", "--profile", good.path);
    assert_success(&c);
    assert_null(strstr(c.out.ptr, "memory plan"));
    captured_release(&c);
    c = VUG("verify", GOLDEN, "--profile", good.path);
    assert_success(&c);
    captured_release(&c);
    static const char *const commands[] = { "graph", "verify", "inspect", "bench" };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        refuses(VUG(commands[i], GOLDEN, "--profile", bad.path),
                "bad.toml: line 2: unknown key 'add_norms' in [fusion]");
    refuses(VUG("graph", GOLDEN, "--profile", "no/such.toml"), "no/such.toml");
    refuses(VUG("graph", GOLDEN, "--mode", "both"), "prefill|decode");

    scratch alone = scratch_make();
    tiny_copy(&alone, "config.json");
    refuses(VUG("graph", alone.path), "safetensors");
    captured with = VUG("graph", GOLDEN);
    c = VUG("graph", alone.path, "--config");
    assert_success(&c);
    assert_string_equal(c.out.ptr, with.out.ptr);
    captured_release(&with);
    captured_release(&c);
    scratch_remove(&alone);
}

static void test_bench_and_synth_reject_bad_usage(void **state)
{
    const scratch *tiny = *state;
    refuses(VUG("bench"), "--shape");
    refuses(VUG("bench", GOLDEN, "--shape", "gemma-3-1b"), "not both");
    refuses(VUG("bench", "--shape", "abacus-1"), "abacus-1");
    refuses(VUG("bench", GOLDEN, "-p", "0", "-n", "0"), "nothing to measure");
    refuses(VUG("bench", GOLDEN, "--type", "f32"), "--type");
    refuses(VUG("bench", GOLDEN, "--ops", "-d", "3"), "--depth");
    refuses(VUG("bench", GOLDEN, "--compare", "echo 1 2", "-d", "3"), "--depth");
    refuses(VUG("bench", GOLDEN, "--compare", "echo 1 2", "--sequences", "3"), "--sequences");
    refuses(VUG("bench", "--shape", "gemma-3-1b", "--compare", "echo {FILE}"), "{FILE}");
    refuses(VUG("synth", "gemma-3-1b"), "DIR");
    refuses(VUG("synth", "gemma-3-1b", tiny->path), "exists");
    refuses(VUG("synth", "abacus-1", "/tmp/vug-no-such-shape"), "abacus-1");
}

/* ---- output ----------------------------------------------------------------------------- */

static void test_full_disk_is_reported(void **state)
{
    char command[600];
    (void)state;
    if (!vug_file_exists("/dev/full")) {
        print_message("this system has no /dev/full\n");
        skip();
    }
    (void)snprintf(command, sizeof(command), "exec '%s' inspect " GOLDEN " >/dev/full",
                   capture_program());
    refuses_with(capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL }), 3,
                 "standard output: ");
}

static void test_closed_pipe_is_no_error(void **state)
{
    const scratch *tiny = *state;
    char command[900];
    (void)snprintf(command, sizeof(command),
                   "{ '%s' run '%s' hello -q -n 400 --ignore-eos; echo \"code $?\" >&2; } | true",
                   capture_program(), tiny->path);
    captured c = capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL });
    assert_string_equal(c.err.ptr, "code 0\n");
    captured_release(&c);
}

static int make_tiny(void **state)
{
    static scratch tiny;
    tiny = scratch_make();
    tiny_model(&tiny, TINY_VOCAB);
    *state = &tiny;
    return 0;
}

static int remove_tiny(void **state)
{
    scratch_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_has_help),
        cmocka_unit_test(test_help_depends_on_the_command),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_run_rejects_bad_usage),
        cmocka_unit_test(test_run_rejects_a_long_prompt),
        cmocka_unit_test(test_run_answers),
        cmocka_unit_test(test_run_takes_all_samplers),
        cmocka_unit_test(test_run_prints_logprobs),
        cmocka_unit_test(test_run_prints_json),
        cmocka_unit_test(test_broken_config_is_reported),
        cmocka_unit_test(test_broken_weights_are_reported),
        cmocka_unit_test(test_missing_files_are_reported),
        cmocka_unit_test(test_tokenizer_must_match_the_model),
        cmocka_unit_test(test_verify_compares_logits),
        cmocka_unit_test(test_verify_compares_blocks),
        cmocka_unit_test(test_perplexity_scores_and_compares),
        cmocka_unit_test(test_perplexity_rejects_bad_usage),
        cmocka_unit_test(test_tokenize_prints_ids),
        cmocka_unit_test(test_tokenize_reads_lines),
        cmocka_unit_test(test_tokenize_reads_long_lines),
        cmocka_unit_test(test_template_renders_messages),
        cmocka_unit_test(test_template_rejects_bad_messages),
        cmocka_unit_test(test_commands_print_json),
        cmocka_unit_test(test_inspect_prints_text),
        cmocka_unit_test(test_kv_format_is_applied),
        cmocka_unit_test(test_graph_writes_a_file),
        cmocka_unit_test(test_profiles_and_modes),
        cmocka_unit_test(test_bench_and_synth_reject_bad_usage),
        cmocka_unit_test(test_full_disk_is_reported),
        cmocka_unit_test(test_closed_pipe_is_no_error),
    };
    return cmocka_run_group_tests(tests, make_tiny, remove_tiny);
}
