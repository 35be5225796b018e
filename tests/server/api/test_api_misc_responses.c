

#include "test.h"

#include "server/api/api_response.h"

/* Responses that are neither chats nor completions, byte for byte. */

static vug_str spell(int32_t id, void *user)
{
    static const char *const piece[] = { "a", "\xc3", "\"" };
    (void)user;
    return vug_str_of(piece[id]);
}

static void test_other_endpoints(void **state)
{
    (void)state;
    vug_buf to = { 0 };
    const vug_api_model models[] = { { vug_str_of("org/m"), 5, 4096 }, { vug_str_of("n"), 6, 8 } };
    vug_api_models_write(models, 2, &to);
    assert_string_equal(to.ptr,
                        "{\"object\":\"list\",\"data\":[{\"id\":\"org/m\",\"object\":\"model\","
                        "\"created\":5,\"owned_by\":\"vug\",\"context_length\":4096,"
                        "\"max_model_len\":4096},{\"id\":\"n\",\"object\":\"model\",\"created\":6,"
                        "\"owned_by\":\"vug\",\"context_length\":8,\"max_model_len\":8}]}");
    const int32_t id[] = { 0, 1, 2 };
    const vug_api_tokens tokens = { .id = id, .n = 3, .context = 9, .spell = spell };
    vug_api_request request = { 0 };
    to.len = 0;
    vug_api_tokenize_write(&request, &tokens, &to);
    assert_string_equal(to.ptr, "{\"count\":3,\"max_model_len\":9,\"tokens\":[0,1,2]}");
    to.len = 0;
    request.with_pieces = true;
    request.number[VUG_FIELD_return_token_strs] = 1;
    vug_api_tokenize_write(&request, &tokens, &to);
    assert_string_equal(to.ptr, "{\"count\":3,\"max_model_len\":9,\"tokens\":[{\"id\":0,\"piece\":"
                                "\"a\"},{\"id\":1,\"piece\":[195]},{\"id\":2,\"piece\":\"\\\"\"}],"
                                "\"token_strs\":[\"a\",\"\xef\xbf\xbd\",\"\\\"\"]}");
    to.len = 0;
    vug_api_detokenize_write("a\n", 2, &to);
    vug_api_template_write("<x>", 3, &to);
    assert_string_equal(to.ptr, "{\"content\":\"a\\n\",\"prompt\":\"a\\n\"}{\"prompt\":\"<x>\"}");
    to.len = 0;
    const vug_sampling_defaults sampling = {
        .sampler = { { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 }, { VUG_SAMPLER_TOP_K, 64, 0 } }, .n = 2
    };
    const vug_api_props props = { "m", "gemma3", NULL, 4096, 2, &sampling };
    vug_api_props_write(&props, &to);
    assert_string_equal(
            to.ptr, "{\"model\":\"m\",\"architecture\":\"gemma3\",\"build_info\":\"vug " VUG_VERSION
                    "\",\"total_slots\":2,\"modalities\":{\"vision\":false,\"audio\":false},"
                    "\"chat_template_source\":null,\"default_generation_settings\":{\"n_ctx\":4096,"
                    "\"params\":{\"temperature\":0.5,\"top_k\":64}}}");
    to.len = 0;
    vug_json_writer js = { .to = &to };
    const vug_api_slot slot = { .id = 7,
                                .model = { "m", 1 },
                                .context = 4096,
                                .state = VUG_API_SLOT_PROMPT,
                                .priority = -1,
                                .prompt_tokens = 9,
                                .cached_tokens = 4,
                                .completion_tokens = 0,
                                .max_tokens = -1 };
    vug_api_slot_write(&slot, &js);
    assert_string_equal(to.ptr, "{\"id\":7,\"model\":\"m\",\"n_ctx\":4096,\"is_processing\":true,"
                                "\"state\":\"prompt\",\"priority\":-1,\"prompt_tokens\":9,"
                                "\"cached_tokens\":4,\"completion_tokens\":0,\"max_tokens\":-1}");
    vug_buf_release(&to);
}

static void test_embeddings(void **state)
{
    (void)state;
    static const float x[] = { 0.5f, -1, 0x1p-126f, -0x1.fffffep127f };
    vug_api_embeddings e = { .model = vug_str_of("m"), .x = x, .n = 2, .width = 2, .n_tokens = 7 };
    vug_buf to = { 0 };
    vug_api_embeddings_write(&e, &to);
    assert_string_equal(to.ptr,
                        "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,"
                        "\"embedding\":[0.5,-1]},{\"object\":\"embedding\",\"index\":1,"
                        "\"embedding\":[1.1754944e-38,-3.4028235e38]}],\"model\":\"m\","
                        "\"usage\":{\"prompt_tokens\":7,\"total_tokens\":7}}");
    assert_true(to.len <= vug_api_embeddings_bytes(&e));
    to.len = 0;
    e.as_base64 = true;
    e.n = 1;
    e.width = 4;
    vug_api_embeddings_write(&e, &to);
    assert_string_equal(to.ptr,
                        "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,"
                        "\"embedding\":\"AAAAPwAAgL8AAIAA//9//w==\"}],\"model\":\"m\","
                        "\"usage\":{\"prompt_tokens\":7,\"total_tokens\":7}}");
    assert_true(to.len <= vug_api_embeddings_bytes(&e));
    vug_buf_release(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_other_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
