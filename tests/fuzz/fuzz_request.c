/*
 * Request bodies, parsed by every endpoint.
 *
 * Besides not crashing: a rejection has a message; in an accepted request, slices are valid JSON
 * and numbers are within their limits. Its stop strings are searched for in the body, at once and
 * byte by byte.
 */

#include "core/stop_strings.h"
#include "fuzz/fuzz.h"
#include "server/api/api_request.h"

static void check_json(vug_str slice, vug_json_type type)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_err err;
    if (slice.len > 0)
        VUG_ASSERT(vug_json_tree(slice, "slice", &arena, &root, &err) == VUG_OK &&
                   root->type == type);
    vug_arena_release(&arena);
}

static void check_stops(const vug_api_request *r, vug_str text, vug_arena *arena)
{
    vug_stop_strings whole, bytes;
    vug_buf a = { 0 }, b = { 0 };
    if (!vug_stop_strings_init(&whole, r->stop, r->n_stops, arena) ||
        !vug_stop_strings_init(&bytes, r->stop, r->n_stops, arena))
        return;
    (void)vug_stop_strings_push(&whole, text.ptr, text.len, &a);
    for (size_t i = 0; i < text.len; i++)
        (void)vug_stop_strings_push(&bytes, text.ptr + i, 1, &b);
    vug_stop_strings_flush(&whole, &a);
    vug_stop_strings_flush(&bytes, &b);
    VUG_ASSERT(whole.found == bytes.found && a.len == b.len);
    VUG_ASSERT(a.len == 0 ||
               (memcmp(a.ptr, b.ptr, a.len) == 0 && memcmp(a.ptr, text.ptr, a.len) == 0));
    vug_buf_release(&a);
    vug_buf_release(&b);
}

static void check_request(const vug_api_request *r, vug_str body, vug_arena *arena)
{
    const vug_sampling_defaults none = { 0 };
    vug_sampling sampling;
    vug_api_error error;
    VUG_ASSERT(r->n >= 1 && r->n <= VUG_API_MAX_CHOICES);
    VUG_ASSERT(r->max_tokens >= -1 && r->top_logprobs >= 0);
    VUG_ASSERT(r->tool_choice == VUG_TOOLS_NONE || r->n_tools > 0);
    VUG_ASSERT(r->tool_choice != VUG_TOOLS_NAMED || r->named_tool < r->n_tools);
    check_json(r->messages, VUG_JSON_ARRAY);
    check_json(r->tools, VUG_JSON_ARRAY);
    VUG_ASSERT((r->constraint_kind == VUG_CONSTRAINT_NONE) == !r->constraint_field);
    VUG_ASSERT(r->thinking_budget >= -1);
    check_json(r->template_variables, VUG_JSON_OBJECT);
    for (size_t i = 0; i < r->n_tools; i++)
        check_json(r->tool[i].parameters, VUG_JSON_OBJECT);
    if (vug_api_make_sampling(r, &none, 1, arena, &sampling))
        VUG_ASSERT(sampling.n >= 1 && sampling.n <= VUG_MAX_SAMPLERS);
    if (!vug_api_check_tokens(r, 100, &error))
        VUG_ASSERT(error.param[0] != '\0');
    check_stops(r, body, arena);
}

int vug_fuzz_request(const uint8_t *data, size_t n)
{
    const vug_str body = { (const char *)data, n };
    for (int e = 0; e < VUG_API_ENDPOINT_COUNT; e++) {
        vug_arena arena = { 0 };
        vug_api_request request;
        vug_api_error error = { 0 };
        if (vug_api_parse_request((vug_api_endpoint)e, body, &arena, &request, &error))
            check_request(&request, body, &arena);
        else
            VUG_ASSERT(error.message[0] != '\0' && vug_api_error_status(error.kind) >= 400);
        vug_arena_release(&arena);
    }
    return 0;
}
