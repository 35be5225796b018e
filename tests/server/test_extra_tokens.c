/* A tokenizer with a token that its model lacks, such as Gemma 3's image token. */
#include "test.h"

#include <unistd.h>

#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"

#define SPARE "{\"id\":4096,\"content\":\"<image>\",\"special\":true},"

static vug_text read_text(const char *path)
{
    vug_text text;
    vug_err err = { 0 };
    if (vug_read_file(path, 1 << 20, &text, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return text;
}

/* pebble with the token 4096. */
static void make_model(const scratch *dir)
{
    char here[1024], weights[1100];
    vug_text config = read_text("models/pebble/config.json");
    vug_text tokenizer = read_text("models/pebble/tokenizer.json");
    const char *added = strstr(tokenizer.ptr, "\"added_tokens\"");
    assert_non_null(added);
    scratch_puts(dir, "config.json", config.ptr);
    const size_t before = (size_t)(strchr(added, '[') + 1 - tokenizer.ptr);
    vug_buf more = { 0 };
    vug_buf_append(&more, tokenizer.ptr, before);
    vug_buf_puts(&more, SPARE);
    vug_buf_puts(&more, tokenizer.ptr + before);
    scratch_write(dir, "tokenizer.json", more.ptr, more.len);
    vug_buf_release(&more);
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(weights, sizeof(weights), "%s/models/pebble/model.safetensors", here);
    assert_int_equal(symlink(weights, scratch_at(dir, "model.safetensors").path), 0);
    vug_text_release(&config);
    vug_text_release(&tokenizer);
}

/* It is a 400, before the response begins. */
static void test_tokens_that_the_model_lacks(void **state)
{
    static const struct {
        const char *more, *param, *message;
    } rows[] = {
        { "\"prompt\":\"a <image> b\"", "prompt",
          "prompt has the token 4096, <image>, which this model does not support" },
        { "\"prompt\":[5,4096]", "prompt",
          "prompt: token 4096 is not one of this model's 0 to 4095" },
        { "\"prompt\":[5,4096],\"stream\":true", "prompt",
          "prompt: token 4096 is not one of this model's 0 to 4095" },
        { "\"prompt\":[5,4096],\"max_tokens\":0,\"echo\":true,\"logprobs\":1", "prompt",
          "prompt: token 4096 is not one of this model's 0 to 4095" },
        { "\"prompt\":\"a\",\"logit_bias\":{\"4096\":1}", "logit_bias",
          "logit_bias: token 4096 is not one of this model's 0 to 4095" },
    };
    scratch dir = scratch_make();
    server_fixture s;
    char body[256];
    (void)state;
    make_model(&dir);
    serve_inside(&s, dir.path, &(vug_http_options){ 0 });
    serve_inside_load(&s);
    json_response models = serve_request(&s.at, "/v1/models", NULL);
    const vug_str name = response_at(&models, "data.0.id")->str;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(body, sizeof(body), "{\"model\":\"%.*s\",%s}", VUG_STR_ARG(name),
                       rows[i].more);
        json_response a = serve_request(&s.at, "/v1/completions", body);
        assert_int_equal(a.status, 400);
        response_expect(&a, "error.param", rows[i].param);
        response_expect(&a, "error.message", rows[i].message);
        response_release(&a);
    }
    json_response a = serve_request(&s.at, "/tokenize", "{\"content\":\"<image>\"}");
    assert_true(response_number(&a, "tokens.0") == 4096);
    response_release(&a);
    response_release(&models);
    serve_inside_end(&s);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tokens_that_the_model_lacks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
