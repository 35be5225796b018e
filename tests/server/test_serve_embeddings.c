/* /v1/embeddings, against the vectors of the library. */
#include "test.h"

#include <math.h>
#include <openssl/evp.h>

#include "serve_help.h"

enum { TEXTS = 40 };

typedef struct {
    server_process server;
    vug_model *model;
    vug_embedder *embedder;
    size_t width;
} embed_fixture;

static int set_up(void **state)
{
    static embed_fixture f; /* NOLINT: one for all tests */
    vug_err err;
    const vug_embedder_options last = { .pooling = VUG_POOLING_LAST };
    f.server = SERVE("--pooling", "last", "--context", "300");
    if (vug_model_open(SERVE_MODEL, &(vug_model_options){ .threads = 1 }, &f.model, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    f.width = (size_t)vug_model_describe(f.model).d_model;
    if (vug_embedder_create(f.model, &last, &f.embedder, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    embed_fixture *f = *state;
    vug_embedder_destroy(f->embedder);
    vug_model_close(f->model);
    return serve_end(&f->server) == 0 ? 0 : -1;
}

static float *expect(const embed_fixture *f, const char *const *text, size_t n)
{
    vug_err err;
    float *x = vug_alloc(n * f->width, sizeof(*x));
    assert_non_null(x);
    if (vug_embed_texts(f->embedder, text, n, NULL, x, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return x;
}

static json_response embed(const embed_fixture *f, const char *input, const char *more)
{
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"model\":\"pebble\",\"input\":%s%s}", input, more);
    json_response got = serve_request(&f->server, "/v1/embeddings", body.ptr);
    vug_buf_release(&body);
    return got;
}

/* Numbers are written so that they are read back as the same F32. */
static void assert_vector(const json_response *got, size_t i, const float *x, size_t width)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "data.%zu.embedding", i);
    const vug_jv *list = response_at(got, path);
    assert_non_null(list);
    assert_int_equal(list->n, width);
    const vug_jv *v = list->child;
    for (size_t k = 0; k < width; k++, v = v->next)
        assert_true((float)v->f64 == x[k]);
    (void)snprintf(path, sizeof(path), "data.%zu.index", i);
    assert_true(response_number(got, path) == (double)i);
    (void)snprintf(path, sizeof(path), "data.%zu.object", i);
    response_expect(got, path, "embedding");
}

static void test_every_kind_of_input(void **state)
{
    const embed_fixture *f = *state;
    static const char *const text[] = { "What is vug?", "hello" };
    float *x = expect(f, text, 2);
    vug_tokens ids[2];
    vug_buf tokens = { 0 };
    vug_buf_puts(&tokens, "[");
    for (size_t i = 0; i < 2; i++) {
        vug_json_writer js = { .to = &tokens };
        vug_err err;
        assert_int_equal(vug_tokenizer_encode(vug_model_tokenizer(f->model, NULL), text[i],
                                              strlen(text[i]), VUG_ENCODE_ADD_SPECIAL, &ids[i],
                                              &err),
                         VUG_OK);
        vug_buf_puts(&tokens, i ? "," : "");
        vug_json_put_i32s(&js, NULL, ids[i].id, ids[i].n);
    }
    vug_buf_puts(&tokens, "]");
    const char *const input[] = { "\"What is vug?\"", "[\"What is vug?\",\"hello\"]", tokens.ptr };
    for (size_t i = 0; i < 3; i++) {
        const size_t n = i == 0 ? 1 : 2;
        json_response got = embed(f, input[i], ",\"user\":\"u\",\"encoding_format\":\"float\"");
        assert_int_equal(got.status, 200);
        response_expect(&got, "object", "list");
        response_expect(&got, "model", "pebble");
        assert_int_equal(response_at(&got, "data")->n, n);
        for (size_t j = 0; j < n; j++)
            assert_vector(&got, j, x + j * f->width, f->width);
        const double used = (double)(ids[0].n + (n > 1 ? ids[1].n : 0));
        assert_true(response_number(&got, "usage.prompt_tokens") == used);
        assert_true(response_number(&got, "usage.total_tokens") == used);
        response_release(&got);
    }
    vug_buf_release(&tokens);
    vug_tokens_release(&ids[0]);
    vug_tokens_release(&ids[1]);
    vug_free(x);
}

/* More texts than one step has, as the Python client asks for them. */
static void test_base64(void **state)
{
    const embed_fixture *f = *state;
    char text[TEXTS][32];
    const char *at[TEXTS];
    vug_buf input = { 0 };
    for (int i = 0; i < TEXTS; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "the number %d", i);
        at[i] = text[i];
        vug_buf_printf(&input, "%s\"%s\"", i ? "," : "[", text[i]);
    }
    vug_buf_puts(&input, "]");
    float *x = expect(f, at, TEXTS);
    json_response got = embed(f, input.ptr, ",\"encoding_format\":\"base64\"");
    assert_int_equal(got.status, 200);
    for (size_t i = 0; i < TEXTS; i++) {
        unsigned char bytes[4096];
        char path[32];
        (void)snprintf(path, sizeof(path), "data.%zu.embedding", i);
        const vug_str encoded = response_at(&got, path)->str;
        assert_int_equal(encoded.len, (f->width * sizeof(float) + 2) / 3 * 4);
        assert_true(EVP_DecodeBlock(bytes, (const unsigned char *)encoded.ptr, (int)encoded.len) >=
                    (int)(f->width * sizeof(float)));
        assert_memory_equal(bytes, x + i * f->width, f->width * sizeof(float));
    }
    response_release(&got);
    vug_buf_release(&input);
    vug_free(x);
}

static void test_bad_requests_name_the_field(void **state)
{
    const embed_fixture *f = *state;
    static const struct {
        const char *input, *more, *param, *part;
    } rows[] = {
        { "\"\"", ",\"add_special_tokens\":false", "input", "nothing to embed" },
        { "[]", "", "input", "input must be a string" },
        { "[\"a\",1]", "", "input", "input mixes strings and lists of tokens" },
        { "[999999]", "", "input", "token 999999 is not one of this model's" },
        { "\"a\"", ",\"encoding_format\":\"f16\"", "encoding_format", "expected float or base64" },
        { "\"a\"", ",\"dimensions\":8", "dimensions", "are not shortened" },
        { "\"a\",\"model\":\"other\"", "", "", "twice" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_response got = embed(f, rows[i].input, rows[i].more);
        assert_int_equal(got.status, 400);
        if (*rows[i].param)
            response_expect(&got, "error.param", rows[i].param);
        const vug_str message = response_at(&got, "error.message")->str;
        if (!memmem(message.ptr, message.len, rows[i].part, strlen(rows[i].part)))
            fail_msg("'%s' is not in '%.*s'", rows[i].part, VUG_STR_ARG(message));
        response_release(&got);
    }
    vug_buf long_text = { 0 };
    vug_buf_puts(&long_text, "[5");
    for (int i = 1; i < 301; i++)
        vug_buf_puts(&long_text, ",5");
    vug_buf_puts(&long_text, "]");
    json_response got = embed(f, long_text.ptr, "");
    assert_int_equal(got.status, 400);
    response_expect(&got, "error.code", "context_length_exceeded");
    response_release(&got);
    vug_buf_release(&long_text);
    char width[40];
    (void)snprintf(width, sizeof(width), ",\"dimensions\":%zu", f->width);
    got = embed(f, "\"a\"", width);
    assert_int_equal(got.status, 200);
    response_release(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_input),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_bad_requests_name_the_field),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
