#include "test.h"

#include "server/api/batch_line.h"

/* The lines of a batch: what is read from them and, byte for byte, what is written. */

#define LINE(id, method, url, body) \
    "{\"custom_id\":" id ",\"method\":" method ",\"url\":" url ",\"body\":" body "}"
#define CHAT(id, body) LINE(id, "\"POST\"", "\"/v1/chat/completions\"", body)

static vug_status parse(const char *line, vug_arena *arena, vug_batch_request *out, vug_err *err)
{
    *err = (vug_err){ 0 };
    return vug_batch_request_parse(vug_str_of(line), arena, out, err);
}

static void test_requests(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_batch_request r;
    vug_err err;
    assert_int_equal(parse(CHAT("\"a\"", " {\"n\": [1, {}]} "), &arena, &r, &err), VUG_OK);
    assert_true(vug_str_is(r.custom_id, "a"));
    assert_int_equal(r.endpoint, VUG_API_CHAT);
    assert_true(vug_str_is(r.body, "{\"n\": [1, {}]}"));
    /* Any order, escapes, members that are not known. */
    assert_int_equal(
            parse(" { \"x\":[1], \"body\":{}, \"url\":\"\\/v1/completions\", \"method\":\"POST\","
                  " \"custom_id\":\"\\u00e9\\n\" } ",
                  &arena, &r, &err),
            VUG_OK);
    assert_true(vug_str_is(r.custom_id, "\xc3\xa9\n"));
    assert_int_equal(r.endpoint, VUG_API_COMPLETION);
    assert_true(vug_str_is(r.body, "{}"));
    vug_arena_release(&arena);
}

/* The message, and whether the id is known. */
static void assert_refused(const char *line, const char *part, bool has_id)
{
    vug_arena arena = { 0 };
    vug_batch_request r;
    vug_err err;
    assert_int_not_equal(parse(line, &arena, &r, &err), VUG_OK);
    if (!strstr(err.msg, part))
        fail_msg("'%s' does not contain '%s'", err.msg, part);
    assert_int_equal(r.custom_id.ptr != NULL, has_id);
    vug_arena_release(&arena);
}

static void test_refused_requests(void **state)
{
    (void)state;
    char id[VUG_BATCH_MAX_ID + 4] = "\"", line[VUG_BATCH_MAX_ID + 100];
    assert_refused("", "the request: line 1, column 1: expected an object", false);
    assert_refused("[]", "expected an object", false);
    assert_refused("{}", "the line has no custom_id", false);
    assert_refused("{\"custom_id\":\"a\"}", "the line has no method", true);
    assert_refused("{\"custom_id\":\"a\",\"method\":\"POST\"}", "the line has no url", true);
    assert_refused("{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\"}",
                   "the line has no body", true);
    assert_refused(LINE("\"a\"", "\"GET\"", "\"/v1/completions\"", "{}"),
                   "method is 'GET', expected POST", true);
    assert_refused(
            LINE("\"a\"", "\"POST\"", "\"/tokenize\"", "{}"),
            "url is '/tokenize', expected /v1/chat/completions, /v1/completions or /v1/embeddings",
            true);
    assert_refused(CHAT("\"a\"", "[]"), "body must be an object", true);
    assert_refused(CHAT("\"a\"", "{\"n\":}"), "the request: line 1, column", true);
    assert_refused(CHAT("\"a\"", "{}") "x", "the request: line 1, column", true);
    assert_refused(CHAT("1", "{}"), "expected a string", false);
    assert_refused(CHAT("\"\"", "{}"), "custom_id has 0 bytes, expected 1 to 512", false);
    assert_refused("{\"body\":{},\"body\":{}}", "body occurs twice", false);
    assert_refused(CHAT("\"\xff\"", "{}"), "the request: line 1", false);
    memset(id + 1, 'x', VUG_BATCH_MAX_ID);
    id[VUG_BATCH_MAX_ID + 1] = '"';
    (void)snprintf(line, sizeof(line), CHAT("%s", "{}"), id);
    vug_arena arena = { 0 };
    vug_batch_request r;
    vug_err err;
    assert_int_equal(parse(line, &arena, &r, &err), VUG_OK);
    vug_arena_release(&arena);
    (void)snprintf(line, sizeof(line), CHAT("\"y%s", "{}"), id + 1);
    assert_refused(line, "custom_id has 513 bytes", false);
}

static void test_truncated_requests(void **state)
{
    (void)state;
    static const char whole[] = CHAT("\"a\"", "{\"n\":[1,{\"x\":\"\\u00e9\"}]}");
    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        /* Of exactly this size, so that a sanitizer detects reads past the end. */
        char *line = malloc(n ? n : 1);
        vug_arena arena = { 0 };
        vug_batch_request r;
        assert_non_null(line);
        memcpy(line, whole, n);
        assert_int_not_equal(vug_batch_request_parse((vug_str){ line, n }, &arena, &r, NULL),
                             VUG_OK);
        vug_arena_release(&arena);
        free(line);
    }
}

static void test_written(void **state)
{
    (void)state;
    vug_buf to = { 0 };
    const vug_batch_request r = { .custom_id = vug_str_of("a\"b") };
    vug_batch_response_write(&r, 0x123, 200, vug_str_of("{\"x\":1}\n"), &to);
    assert_string_equal(to.ptr,
                        "{\"id\":\"batch_req_0000000000000123\",\"custom_id\":\"a\\\"b\","
                        "\"response\":{\"status_code\":200,\"request_id\":\"req_0000000000000123\","
                        "\"body\":{\"x\":1}},\"error\":null}\n");
    to.len = 0;
    vug_batch_error_write((vug_str){ 0 }, UINT64_MAX, 7, "no \"JSON\"", &to);
    assert_string_equal(to.ptr, "{\"id\":\"batch_req_ffffffffffffffff\",\"custom_id\":null,"
                                "\"response\":null,\"error\":{\"code\":\"invalid_request_line\","
                                "\"message\":\"no \\\"JSON\\\"\",\"line\":7}}\n");
    to.len = 0;
    vug_batch_error_write(r.custom_id, 0, 7, "m", &to);
    assert_non_null(strstr(to.ptr, "\"custom_id\":\"a\\\"b\","));
    vug_buf_release(&to);
}

/* What was written is read back; anything else is refused. */
static void test_results(void **state)
{
    (void)state;
    static const char *const other[] = {
        "",
        "{}",
        "[]",
        "{\"custom_id\":\"a\"}",
        "{\"custom_id\":null,\"response\":null,\"error\":null}",
        "{\"response\":{}}",
        CHAT("\"a\"", "{}"),
        "{\"custom_id\":\"a\",\"response\":{}",
        "{\"custom_id\":null,\"response\":null,\"error\":{\"line\":-1}}",
    };
    vug_arena arena = { 0 };
    vug_buf to = { 0 };
    vug_batch_result result;
    const vug_batch_request r = { .custom_id = vug_str_of("a\"b") };
    vug_batch_response_write(&r, 1, 200, vug_str_of("{\"custom_id\":\"inner\"}"), &to);
    assert_int_equal(vug_batch_result_parse((vug_str){ to.ptr, to.len - 1 }, &arena, &result, NULL),
                     VUG_OK);
    assert_true(vug_str_is(result.custom_id, "a\"b"));
    assert_int_equal(result.line, 0);
    to.len = 0;
    vug_batch_error_write((vug_str){ 0 }, 1, 7, "m", &to);
    assert_int_equal(vug_batch_result_parse((vug_str){ to.ptr, to.len - 1 }, &arena, &result, NULL),
                     VUG_OK);
    assert_null(result.custom_id.ptr);
    assert_int_equal(result.line, 7);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        if (vug_batch_result_parse(vug_str_of(other[i]), &arena, &result, NULL) == VUG_OK)
            fail_msg("accepted: %s", other[i]);
    }
    vug_buf_release(&to);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_truncated_requests),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
