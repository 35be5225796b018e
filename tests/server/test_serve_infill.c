/* Gaps that are filled: /infill and `suffix`, with a pebble whose tokenizer has the marks. */
#include "test.h"

#include <unistd.h>

#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"

/* Tokens of pebble and the marks that they become. */
static const struct {
    const char *token, *mark;
} renamed[] = {
    { "<tool_call>", "<|fim_prefix|>" },     { "</tool_call>", "<|fim_suffix|>" },
    { "<tool_response>", "<|fim_middle|>" }, { "</tool_response>", "<|file_sep|>" },
    { "<mask>", "<|repo_name|>" },
};
enum { N_MARKS = sizeof(renamed) / sizeof(renamed[0]), N_GAP_MARKS = 3 };

static vug_text read_text(const char *path)
{
    vug_text text;
    vug_err err = { 0 };
    if (vug_read_file(path, 1 << 20, &text, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return text;
}

/* The tokenizer with the first `n` marks. */
static void write_tokenizer(const scratch *dir, int n)
{
    vug_text tokenizer = read_text("models/pebble/tokenizer.json");
    vug_buf out = { 0 };
    const char *at = tokenizer.ptr;
    while (*at) {
        int i = 0;
        while (i < n && strncmp(at, renamed[i].token, strlen(renamed[i].token)) != 0)
            i++;
        vug_buf_append(&out, i < n ? renamed[i].mark : at, i < n ? strlen(renamed[i].mark) : 1);
        at += i < n ? strlen(renamed[i].token) : 1;
    }
    scratch_write(dir, "tokenizer.json", out.ptr, out.len);
    vug_buf_release(&out);
    vug_text_release(&tokenizer);
}

typedef struct {
    scratch dir;
    server_fixture server;
} infill_fixture;

static infill_fixture fixture_open(int n_marks)
{
    infill_fixture f = { .dir = scratch_make() };
    char here[1024], weights[1100];
    vug_text config = read_text("models/pebble/config.json");
    scratch_puts(&f.dir, "config.json", config.ptr);
    write_tokenizer(&f.dir, n_marks);
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(weights, sizeof(weights), "%s/models/pebble/model.safetensors", here);
    assert_int_equal(symlink(weights, scratch_at(&f.dir, "model.safetensors").path), 0);
    vug_text_release(&config);
    return f;
}

static void fixture_serve(infill_fixture *f)
{
    serve_inside(&f->server, f->dir.path, &(vug_http_options){ 0 });
    serve_inside_load(&f->server);
}

static void fixture_close(infill_fixture *f)
{
    serve_inside_end(&f->server);
    scratch_remove(&f->dir);
}

/* The ids of the prompt of a native answer, as its prompt_logprobs list them: all but the first. */
static void expect_prompt(const infill_fixture *f, const char *fields, const char *text)
{
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{%s,\"n_predict\":1,\"temperature\":0,\"prompt_logprobs\":0}", fields);
    json_response got = serve_request(&f->server.at, "/infill", body);
    (void)snprintf(body, sizeof(body), "{\"prompt\":\"%s\"}", text);
    json_response want = serve_request(&f->server.at, "/tokenize", body);
    if (got.status != 200)
        fail_msg("%s", got.text.ptr);
    const vug_jv *list = response_at(&got, "prompt_logprobs");
    const vug_jv *ids = response_at(&want, "tokens");
    assert_int_equal(list->n, ids->n);
    const vug_jv *entry = list->child->next, *id = ids->child->next;
    for (; entry; entry = entry->next, id = id->next)
        assert_true(vug_str_equal(entry->child->key, id->str));
    response_release(&got);
    response_release(&want);
}

static void test_prompts_have_the_marks(void **state)
{
    (void)state;
    infill_fixture f = fixture_open(N_MARKS);
    fixture_serve(&f);
    expect_prompt(&f, "\"input_prefix\":\"Once \",\"input_suffix\":\" time\"",
                  "<|fim_prefix|>Once <|fim_suffix|> time<|fim_middle|>");
    expect_prompt(&f, "\"input_prefix\":\"Once\",\"input_suffix\":\"time\",\"prompt\":\" upon\"",
                  "<|fim_prefix|>Once<|fim_suffix|>time<|fim_middle|> upon");
    expect_prompt(&f,
                  "\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"input_extra\":["
                  "{\"filename\":\"x.c\",\"text\":\"int x;\"},{\"text\":\"y\"}]",
                  "<|repo_name|>project\\n<|file_sep|>x.c\\nint x;<|file_sep|>file\\ny"
                  "<|file_sep|>file\\n<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
    fixture_close(&f);
}

/* What a text spells is text; a mark that the model writes ends the answer. */
static void test_marks_in_texts_and_answers(void **state)
{
    (void)state;
    infill_fixture f = fixture_open(N_MARKS);
    fixture_serve(&f);
    json_response spelled = serve_request(
            &f.server.at, "/infill",
            "{\"input_prefix\":\"<|fim_suffix|>\",\"input_suffix\":\"\",\"n_predict\":1}");
    assert_int_equal(spelled.status, 200);
    assert_true(response_number(&spelled, "tokens_evaluated") > 5);
    json_response ended =
            serve_request(&f.server.at, "/infill",
                          "{\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"n_predict\":5,"
                          "\"allowed_token_ids\":[10]}");
    response_expect(&ended, "stop_type", "eos");
    response_expect(&ended, "content", "");
    response_release(&spelled);
    response_release(&ended);
    fixture_close(&f);
}

static void test_a_completion_with_a_suffix_is_the_same(void **state)
{
    (void)state;
    infill_fixture f = fixture_open(N_MARKS);
    fixture_serve(&f);
    json_response infill = serve_request(&f.server.at, "/infill",
                                         "{\"input_prefix\":\"Once\",\"input_suffix\":\"time\","
                                         "\"temperature\":0,\"n_predict\":6}");
    json_response completion = serve_request(&f.server.at, "/v1/completions",
                                             "{\"prompt\":\"Once\",\"suffix\":\"time\","
                                             "\"temperature\":0,\"max_tokens\":6}");
    const vug_str text = response_at(&infill, "content")->str;
    assert_true(text.len > 0);
    assert_true(vug_str_equal(response_at(&completion, "choices.0.text")->str, text));
    assert_true(response_number(&completion, "usage.prompt_tokens") ==
                response_number(&infill, "tokens_evaluated"));
    response_release(&infill);
    response_release(&completion);
    fixture_close(&f);
}

static void test_models_without_marks(void **state)
{
    static const struct {
        int n_marks;
        const char *path, *body, *param, *message;
    } rows[] = {
        { 0, "/infill", "{\"input_prefix\":\"a\",\"input_suffix\":\"b\"}", "input_prefix",
          "this model cannot fill in the middle: its tokenizer has no token <|fim_prefix|>" },
        { 0, "/v1/completions", "{\"prompt\":\"a\",\"suffix\":\"b\"}", "suffix",
          "this model cannot fill in the middle: its tokenizer has no token <|fim_prefix|>" },
        { N_GAP_MARKS, "/infill",
          "{\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"input_extra\":[{\"text\":\"c\"}]}",
          "input_extra",
          "input_extra: this model has no token between files, such as <|file_sep|>" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        infill_fixture f = fixture_open(rows[i].n_marks);
        fixture_serve(&f);
        json_response a = serve_request(&f.server.at, rows[i].path, rows[i].body);
        assert_int_equal(a.status, 400);
        response_expect(&a, "error.param", rows[i].param);
        response_expect(&a, "error.message", rows[i].message);
        response_release(&a);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts_have_the_marks),
        cmocka_unit_test(test_marks_in_texts_and_answers),
        cmocka_unit_test(test_a_completion_with_a_suffix_is_the_same),
        cmocka_unit_test(test_models_without_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
