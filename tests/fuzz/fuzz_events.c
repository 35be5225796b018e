/*
 * app/remote: what a server answers to a chat, as events and as one body.
 *
 * Beyond not crashing: what is heard does not depend on how the bytes were cut.
 */

#include "app/remote/events.h"
#include "app/remote/heard.h"
#include "fuzz/fuzz.h"

typedef struct {
    vug_events events;
    vug_heard heard;
    vug_buf parts; /* each with its kind in front */
} listener;

static bool on_part(const vug_part *part, void *user)
{
    vug_buf *to = user;
    VUG_ASSERT(part->len > 0);
    VUG_ASSERT(part->kind == VUG_PART_CONTENT || part->kind == VUG_PART_THINKING);
    vug_buf_append(to, part->kind == VUG_PART_CONTENT ? "C" : "T", 1);
    vug_buf_append(to, part->text, part->len);
    return true;
}

static void on_token(const vug_shown_token *token, const vug_shown_token *top, size_t n_top,
                     void *user)
{
    VUG_ASSERT(token->id >= -1 && n_top <= VUG_MAX_TOP_LOGPROBS);
    vug_buf_append(user, token->text.ptr, token->text.len);
    for (size_t i = 0; i < n_top; i++)
        vug_buf_append(user, top[i].text.ptr, top[i].text.len);
}

static vug_status on_event(vug_str data, void *user, vug_err *err)
{
    return vug_heard_event(user, data, err);
}

static vug_status feed(listener *l, vug_str bytes)
{
    vug_err err;
    return vug_events_feed(&l->events, bytes, on_event, &l->heard, &err);
}

static void begin(listener *l)
{
    *l = (listener){
        .heard = { .name = "server", .on_part = on_part, .on_token = on_token, .user = &l->parts }
    };
}

static void same(const vug_buf *a, const vug_buf *b)
{
    VUG_ASSERT(a->len == b->len && (!a->len || memcmp(a->ptr, b->ptr, a->len) == 0));
}

static void compare(const listener *a, const listener *b)
{
    same(&a->parts, &b->parts);
    VUG_ASSERT(a->heard.n_calls == b->heard.n_calls);
    for (size_t i = 0; i < a->heard.n_calls; i++) {
        same(&a->heard.call[i].id, &b->heard.call[i].id);
        same(&a->heard.call[i].name, &b->heard.call[i].name);
        same(&a->heard.call[i].arguments, &b->heard.call[i].arguments);
    }
    VUG_ASSERT(strcmp(a->heard.finish, b->heard.finish) == 0);
    VUG_ASSERT(a->heard.done == b->heard.done && a->heard.has_usage == b->heard.has_usage);
}

static void end(listener *l)
{
    vug_events_release(&l->events);
    vug_heard_release(&l->heard);
    vug_buf_release(&l->parts);
}

int vug_fuzz_events(const uint8_t *data, size_t n)
{
    const vug_str bytes = { (const char *)data, n };
    listener whole, cut;
    char text[640];
    vug_err err;
    begin(&whole);
    begin(&cut);
    const vug_status st = feed(&whole, bytes);
    vug_status cut_st = VUG_OK;
    for (size_t i = 0; i < n && cut_st == VUG_OK; i++)
        cut_st = feed(&cut, (vug_str){ bytes.ptr + i, 1 });
    VUG_ASSERT(st == cut_st);
    compare(&whole, &cut);
    end(&whole);
    end(&cut);
    begin(&whole);
    (void)!vug_heard_event(&whole.heard, bytes, &err);
    end(&whole);
    (void)vug_heard_error(bytes, text, sizeof(text));
    return 0;
}
