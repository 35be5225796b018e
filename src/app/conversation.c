#include "app/conversation.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/os.h"
#include "core/text.h"

static vug_status grow(vug_conversation *c, vug_err *err)
{
    if (c->n < c->cap)
        return VUG_OK;
    const size_t cap = c->cap ? c->cap * 2 : 16;
    vug_message *bigger = vug_arena_alloc(&c->arena, cap, sizeof(*bigger));
    if (!bigger)
        return VUG_FAIL_NOMEM(err, "the conversation", cap * sizeof(*bigger));
    if (c->n)
        memcpy(bigger, c->message, c->n * sizeof(*bigger));
    c->message = bigger;
    c->cap = cap;
    return VUG_OK;
}

vug_status vug_conversation_add(vug_conversation *c, const char *role, const char *content,
                                size_t len, vug_err *err)
{
    const char *nul = len ? memchr(content, '\0', len) : NULL;
    if (nul)
        return VUG_FAIL(err, VUG_FORMAT, "the %s message has a NUL byte at offset %zu", role,
                        (size_t)(nul - content));
    VUG_TRY(grow(c, err));
    const vug_str who = vug_arena_copy(&c->arena, vug_str_of(role));
    const vug_str what = vug_arena_copy(&c->arena, (vug_str){ content, len });
    if (!who.ptr || !what.ptr)
        return VUG_FAIL_NOMEM(err, "the conversation", len);
    c->message[c->n++] = (vug_message){ .role = who.ptr, .content = what.ptr };
    return VUG_OK;
}

void vug_conversation_pop(vug_conversation *c)
{
    if (c->n)
        c->n--;
}

void vug_conversation_release(vug_conversation *c)
{
    vug_arena_release(&c->arena);
    *c = (vug_conversation){ 0 };
}

/* ---- from JSON ------------------------------------------------------------- */

/* What templates trim: the white space of Unicode, with the four separators
 * that the reference's language counts in. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

static vug_str trim(vug_str s)
{
    uint32_t c = 0;
    size_t begin = 0, end = 0, n;
    while (begin < s.len && (n = vug_utf8_next(s.ptr + begin, s.len - begin, &c)) && is_space(c))
        begin += n;
    end = begin;
    for (size_t i = begin; i < s.len; i += n) {
        n = vug_utf8_next(s.ptr + i, s.len - i, &c);
        const bool space = n && is_space(c);
        n = n ? n : 1;
        if (!space)
            end = i + n;
    }
    return (vug_str){ s.ptr + begin, end - begin };
}

static vug_status join_part(const vug_jv *part, size_t i, bool whole, vug_buf *to, vug_err *err)
{
    const vug_jv *type = vug_jv_get(part, "type");
    const vug_jv *text = vug_jv_get(part, "text");
    if (!vug_jv_is(part, VUG_JSON_OBJECT) || !vug_jv_is(type, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "part %zu: expected an object with a \"type\"", i);
    if (vug_str_is(type->str, "image")) {
        vug_buf_puts(to, "<start_of_image>");
        return VUG_OK;
    }
    if (!vug_str_is(type->str, "text"))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "part %zu: type \"%.*s\" is not known; text and image are", i,
                        VUG_STR_ARG(type->str));
    if (!vug_jv_is(text, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "part %zu: \"text\" is missing or no string", i);
    const vug_str s = whole ? text->str : trim(text->str);
    vug_buf_append(to, s.ptr, s.len);
    return VUG_OK;
}

static vug_status join_content(vug_conversation *c, const vug_jv *content, bool system, vug_buf *to,
                               vug_err *err)
{
    size_t i = 0;
    if (vug_jv_is(content, VUG_JSON_STRING)) {
        vug_buf_append(to, content->str.ptr, content->str.len);
        return vug_buf_ok(to, err);
    }
    if (!vug_jv_is(content, VUG_JSON_ARRAY))
        return VUG_FAIL(err, VUG_FORMAT, "\"content\" is neither a string nor a list of parts");
    for (const vug_jv *part = content->child; part; part = part->next) {
        if (system && i > 0) {
            c->dropped_parts = true;
            break;
        }
        VUG_TRY(join_part(part, ++i, system, to, err));
    }
    return vug_buf_ok(to, err);
}

static vug_status add_message(vug_conversation *c, const vug_jv *m, vug_buf *to, vug_err *err)
{
    const vug_jv *role = vug_jv_get(m, "role");
    const vug_jv *content = vug_jv_get(m, "content");
    char who[32] = { 0 };
    if (!vug_jv_is(m, VUG_JSON_OBJECT))
        return VUG_FAIL(err, VUG_FORMAT, "expected an object with \"role\" and \"content\"");
    if (!vug_jv_is(role, VUG_JSON_STRING) || role->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "\"role\" is missing or no string");
    if (role->str.len >= sizeof(who) || memchr(role->str.ptr, '\0', role->str.len))
        return VUG_FAIL(err, VUG_FORMAT, "\"role\" \"%.*s\" is not a role", VUG_STR_ARG(role->str));
    memcpy(who, role->str.ptr, role->str.len);
    VUG_TRY(join_content(c, content, c->n == 0 && strcmp(who, "system") == 0, to, err));
    return vug_conversation_add(c, who, to->ptr ? to->ptr : "", to->len, err);
}

static vug_status add_all(vug_conversation *c, const vug_jv *root, const char *name, vug_err *err)
{
    const vug_jv *list = root;
    size_t i = 0;
    if (vug_jv_is(root, VUG_JSON_OBJECT))
        list = vug_jv_get(root, "messages");
    if (!vug_jv_is(list, VUG_JSON_ARRAY))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: expected an array of messages, or an object with such an array "
                        "under \"messages\"",
                        name);
    for (const vug_jv *m = list->child; m; m = m->next) {
        char where[32];
        vug_buf content = { 0 };
        const vug_status st = add_message(c, m, &content, err);
        vug_buf_release(&content);
        (void)snprintf(where, sizeof(where), "message %zu", ++i);
        if (st != VUG_OK)
            return vug_fail_within(err, vug_fail_within(err, st, where), name);
    }
    return VUG_OK;
}

vug_status vug_conversation_parse(vug_conversation *c, vug_str json, const char *name, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_jv *root;
    vug_status st = vug_json_tree(json, name, &arena, &root, err);
    if (st == VUG_OK)
        st = add_all(c, root, name, err);
    vug_arena_release(&arena);
    return st;
}

/* ---- to JSON --------------------------------------------------------------- */

vug_status vug_conversation_save(const vug_conversation *c, const char *path, vug_err *err)
{
    vug_buf json = { 0 };
    vug_buf_puts(&json, "[");
    for (size_t i = 0; i < c->n; i++) {
        const vug_message *m = &c->message[i];
        vug_buf_puts(&json, i ? ",\n {\"role\":" : "\n {\"role\":");
        vug_json_write_string(&json, m->role, strlen(m->role));
        vug_buf_puts(&json, ",\"content\":");
        vug_json_write_string(&json, m->content, strlen(m->content));
        vug_buf_puts(&json, "}");
    }
    vug_buf_puts(&json, "\n]\n");
    vug_status st = vug_buf_ok(&json, err);
    if (st == VUG_OK) {
        vug_out out;
        vug_out_open(&out, path);
        vug_out_write(&out, json.ptr, json.len);
        st = vug_out_commit(&out, err);
    }
    vug_buf_release(&json);
    return st;
}
