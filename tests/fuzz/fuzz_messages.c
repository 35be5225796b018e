/*
 * text/chat: a conversation is checked and adapted to a template. The first byte gives the
 * capabilities that the template lacks; messages follow, and tools behind a NUL. The result must
 * be what every template may rely on.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "text/chat/messages.h"

static void check_calls(const vug_jv *calls, const vug_template_capabilities *r)
{
    const bool may_be_text = !r->lacks[VUG_CAPABILITY_TEXT_ARGUMENTS];
    VUG_ASSERT(!calls || calls->type == VUG_JSON_ARRAY);
    for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next) {
        const vug_jv *arguments = vug_jv_get(vug_jv_get(call, "function"), "arguments");
        VUG_ASSERT(vug_jv_is(arguments, VUG_JSON_OBJECT) ||
                   (may_be_text && vug_jv_is(arguments, VUG_JSON_STRING)));
    }
}

static void check(const vug_jv *list, const vug_template_capabilities *r)
{
    const vug_jv *before = NULL;
    VUG_ASSERT(list->type == VUG_JSON_ARRAY && list->n > 0);
    for (const vug_jv *m = list->child; m; m = m->next) {
        const vug_jv *role = vug_jv_get(m, "role"), *content = vug_jv_get(m, "content");
        VUG_ASSERT(vug_jv_is(role, VUG_JSON_STRING));
        VUG_ASSERT(vug_jv_is(content, VUG_JSON_STRING) || vug_jv_is(content, VUG_JSON_ARRAY));
        if (r->lacks[VUG_CAPABILITY_PARTS] && !r->lacks[VUG_CAPABILITY_STRING])
            VUG_ASSERT(content->type == VUG_JSON_STRING);
        if (r->lacks[VUG_CAPABILITY_REPEATED_ROLE] && before && !vug_str_is(role->str, "tool"))
            VUG_ASSERT(!vug_str_equal(before->str, role->str));
        if (r->lacks[VUG_CAPABILITY_DEVELOPER])
            VUG_ASSERT(!vug_str_is(role->str, "developer"));
        if (r->lacks[VUG_CAPABILITY_CALLS])
            VUG_ASSERT(!vug_str_is(role->str, "tool") && !vug_jv_get(m, "tool_calls"));
        check_calls(vug_jv_get(m, "tool_calls"), r);
        before = role;
    }
}

int vug_fuzz_messages(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    const char *nul = n > 1 ? memchr(bytes, '\0', n - 1) : NULL;
    const size_t len = nul ? (size_t)(nul - bytes) : n - 1;
    const vug_str rest = nul ? (vug_str){ nul + 1, n - len - 2 } : (vug_str){ 0 };
    vug_template_capabilities capabilities = { 0 };
    vug_arena arena = { 0 };
    const vug_jv *list = NULL, *tools = NULL;
    vug_err err = { 0 };
    for (int i = 0; i < VUG_CAPABILITY_COUNT; i++)
        capabilities.lacks[i] = (data[0] >> i % 8 & 1) != 0; /* the last share bits */
    vug_status st = vug_messages_read((vug_str){ bytes, len }, &arena, &list, &err);
    if (st == VUG_OK)
        st = vug_messages_adapt(list, &capabilities, &arena, &list, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        check(list, &capabilities);
    st = vug_tools_read(rest, (data[0] & 0x80) != 0, &arena, &tools, NULL);
    VUG_ASSERT(st == VUG_OK || !tools);
    vug_arena_release(&arena);
    return 0;
}
