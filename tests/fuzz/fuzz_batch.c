/*
 * A line of a batch, as input and as output.
 *
 * Besides not crashing: an accepted request has an id and a body that is an object, and a line that
 * answers it is read back as its answer.
 */

#include "core/json.h"
#include "fuzz/fuzz.h"
#include "server/api/batch_line.h"

static void check_answer(const vug_batch_request *request)
{
    vug_arena arena = { 0 };
    vug_buf to = { 0 };
    vug_batch_result result;
    const vug_jv *body;
    VUG_ASSERT(request->custom_id.len > 0 && request->custom_id.len <= VUG_BATCH_MAX_ID);
    VUG_ASSERT(request->endpoint == VUG_API_CHAT || request->endpoint == VUG_API_COMPLETION);
    VUG_ASSERT(request->body.len >= 2 && request->body.ptr[0] == '{');
    vug_batch_response_write(request, 1, 200, request->body, &to);
    if (vug_json_tree(request->body, "body", &arena, &body, NULL) == VUG_OK) {
        VUG_ASSERT(vug_batch_result_parse((vug_str){ to.ptr, to.len - 1 }, &arena, &result, NULL) ==
                   VUG_OK);
        VUG_ASSERT(vug_str_equal(result.custom_id, request->custom_id));
    }
    vug_buf_release(&to);
    vug_arena_release(&arena);
}

int vug_fuzz_batch(const uint8_t *data, size_t n)
{
    const vug_str line = { (const char *)data, n };
    vug_arena arena = { 0 };
    vug_batch_request request;
    vug_batch_result result;
    vug_err err = { 0 };
    const vug_status st = vug_batch_request_parse(line, &arena, &request, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        check_answer(&request);
    err = (vug_err){ 0 };
    VUG_ASSERT((vug_batch_result_parse(line, &arena, &result, &err) == VUG_OK) ==
               (err.msg[0] == '\0'));
    vug_arena_release(&arena);
    return 0;
}
