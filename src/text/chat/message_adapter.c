#include "text/chat/message_adapter.h"

#include "core/json_writer.h"

/* State of an adaptation. Sticky: `good` turns false when memory runs out. */
typedef struct {
    const vug_template_capabilities *capabilities;
    vug_arena *arena;
    vug_buf text; /* content being built */
    bool good;
} message_adapter;

static bool lacks(const message_adapter *a, vug_template_capability what)
{
    return a->capabilities->lacks[what];
}

static bool is_system(vug_str role)
{
    return vug_str_is(role, "system") || vug_str_is(role, "developer");
}

static const vug_jv *check_value(message_adapter *a, const vug_jv *v)
{
    a->good = a->good && v;
    return v;
}

/* ---- contents ------------------------------------------------------------------------- */

/* Appends the text of a content, its parts joined by `between`. */
static void append_text(message_adapter *a, const vug_jv *content, const char *between)
{
    if (content->type == VUG_JSON_STRING) {
        vug_buf_append(&a->text, content->str.ptr, content->str.len);
        return;
    }
    for (const vug_jv *part = content->child; part; part = part->next) {
        const vug_str text = vug_jv_get(part, "text")->str;
        vug_buf_append(&a->text, text.ptr, text.len);
        vug_buf_puts(&a->text, part->next ? between : "");
    }
}

/* Returns the content that was built, and starts anew. */
static const vug_jv *take_text(message_adapter *a)
{
    a->good = a->good && !a->text.bad;
    const vug_str text =
            vug_arena_copy(a->arena, (vug_str){ a->text.ptr ? a->text.ptr : "", a->text.len });
    a->text.len = 0;
    a->good = a->good && text.ptr;
    return check_value(a, vug_messages_new_string(a->arena, "content", text));
}

/* Gives the template a string or a list of parts, whichever it supports. The parts of a system
 * message are always joined: some templates take only the first. */
static void adapt_content(message_adapter *a, vug_message_turn *turn)
{
    const bool parts = turn->content->type == VUG_JSON_ARRAY;
    const bool system = is_system(turn->role);
    if (parts && !lacks(a, VUG_CAPABILITY_STRING) && (lacks(a, VUG_CAPABILITY_PARTS) || system)) {
        append_text(a, turn->content, "\n");
        turn->content = take_text(a);
    } else if (!parts && lacks(a, VUG_CAPABILITY_STRING) && !lacks(a, VUG_CAPABILITY_PARTS)) {
        vug_jv *list = vug_messages_new(a->arena, VUG_JSON_ARRAY, "content");
        vug_jv *part = vug_messages_new_text_part(a->arena, turn->content->str);
        a->good = a->good && list && part;
        if (!a->good)
            return;
        vug_jv_append(list, part);
        turn->content = list;
    }
}

/* ---- roles ------------------------------------------------------------------------------ */

static void adapt_role(message_adapter *a, vug_message_turn *turn, bool first)
{
    if (lacks(a, VUG_CAPABILITY_DEVELOPER) && vug_str_is(turn->role, "developer"))
        turn->role = vug_str_of("system");
    const bool system = is_system(turn->role);
    if (system && lacks(a, first ? VUG_CAPABILITY_SYSTEM : VUG_CAPABILITY_LATE_SYSTEM))
        turn->role = vug_str_of("user");
}

static void adapt_lone_system(vug_message_turn *turn, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_system(turn[i].role))
            return;
    }
    if (n > 0)
        turn[n - 1].role = vug_str_of("user");
}

static void write_json(vug_buf *to, const vug_jv *v, int depth)
{
    if (v->type == VUG_JSON_STRING) {
        vug_json_append_string(to, v->str.ptr, v->str.len);
    } else if (v->type == VUG_JSON_NUMBER) {
        vug_buf_append(to, v->str.ptr, v->str.len);
    } else if (v->type == VUG_JSON_BOOL) {
        vug_buf_puts(to, v->boolean ? "true" : "false");
    } else if (v->type == VUG_JSON_NULL || depth == 0) {
        vug_buf_puts(to, "null");
    } else {
        const bool object = v->type == VUG_JSON_OBJECT;
        vug_buf_puts(to, object ? "{" : "[");
        for (const vug_jv *m = v->child; m; m = m->next) {
            if (object) {
                vug_json_append_string(to, m->key.ptr, m->key.len);
                vug_buf_puts(to, ": ");
            }
            write_json(to, m, depth - 1);
            vug_buf_puts(to, m->next ? ", " : "");
        }
        vug_buf_puts(to, object ? "}" : "]");
    }
}

/* For a template without tools: calls and results become text, in the Hermes format that most
 * models know. */
static void adapt_calls(message_adapter *a, vug_message_turn *turn)
{
    if (vug_str_is(turn->role, "tool")) {
        vug_buf_puts(&a->text, "<tool_response>\n");
        append_text(a, turn->content, "\n");
        vug_buf_puts(&a->text, "\n</tool_response>");
        turn->role = vug_str_of("user");
        turn->content = take_text(a);
    } else if (turn->calls) {
        append_text(a, turn->content, "\n");
        for (const vug_jv *call = turn->calls->child; call; call = call->next) {
            const vug_jv *function = vug_jv_get(call, "function");
            vug_buf_puts(&a->text, a->text.len ? "\n<tool_call>\n" : "<tool_call>\n");
            vug_buf_puts(&a->text, "{\"name\": ");
            write_json(&a->text, vug_jv_get(function, "name"), 1);
            vug_buf_puts(&a->text, ", \"arguments\": ");
            write_json(&a->text, vug_jv_get(function, "arguments"), VUG_JSON_MAX_DEPTH);
            vug_buf_puts(&a->text, "}\n</tool_call>");
        }
        turn->calls = NULL;
        turn->content = take_text(a);
    }
}

/* Results without a call become messages of the user. Others follow their calls by now. */
static void adapt_stray_results(message_adapter *a, vug_message_turn *turn, size_t n)
{
    bool called = false;
    for (size_t i = 0; i < n; i++) {
        if (!vug_str_is(turn[i].role, "tool"))
            called = turn[i].calls != NULL;
        else if (!called)
            adapt_calls(a, &turn[i]);
    }
}

/* ---- neighbours ---------------------------------------------------------------------------- */

/* Appends copies of the elements of a list. */
static void append_copies(message_adapter *a, vug_jv *to, const vug_jv *from)
{
    for (const vug_jv *v = from->child; v; v = v->next) {
        vug_jv *copy = vug_messages_copy(a->arena, v);
        a->good = a->good && copy;
        if (!copy)
            return;
        vug_jv_append(to, copy);
    }
}

/* The reasoning of turn[from..to). */
static const vug_jv *join_reasoning(message_adapter *a, const vug_message_turn *turn, size_t from,
                                    size_t to)
{
    const vug_jv *only = NULL;
    bool several = false;
    for (size_t i = from; i < to; i++) {
        const vug_jv *here = turn[i].reasoning;
        if (!here || here->str.len == 0)
            continue;
        vug_buf_puts(&a->text, only ? "\n\n" : "");
        append_text(a, here, "");
        several = only != NULL;
        only = here;
    }
    if (several)
        return take_text(a);
    a->text.len = 0;
    return only;
}

/* Joins turn[from..to) into turn[from]. */
static void join_turns(message_adapter *a, vug_message_turn *turn, size_t from, size_t to)
{
    vug_jv *calls = vug_messages_new(a->arena, VUG_JSON_ARRAY, "tool_calls");
    a->good = a->good && calls;
    for (size_t i = from; i < to && a->good; i++) {
        const size_t before = a->text.len;
        vug_buf_puts(&a->text, before ? "\n\n" : "");
        const size_t begun = a->text.len;
        append_text(a, turn[i].content, "\n");
        if (a->text.len == begun)
            a->text.len = before; /* it was empty */
        if (turn[i].calls)
            append_copies(a, calls, turn[i].calls);
    }
    turn[from].calls = a->good && calls->n ? calls : NULL;
    turn[from].content = take_text(a);
    turn[from].reasoning = join_reasoning(a, turn, from, to);
}

/* Results that a user's message follows become messages of the user. */
static void adapt_interrupted_results(message_adapter *a, vug_message_turn *turn, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        if (vug_str_is(turn[i].role, "user") && vug_str_is(turn[i - 1].role, "tool"))
            adapt_calls(a, &turn[i - 1]);
    }
}

static size_t join_neighbours(message_adapter *a, vug_message_turn *turn, size_t n)
{
    size_t to = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && vug_str_equal(turn[i].role, turn[end].role) &&
                          !vug_str_is(turn[i].role, "tool");)
            end++;
        if (end > i + 1)
            join_turns(a, turn, i, end);
        turn[to++] = turn[i];
    }
    return to;
}

/* ---- output -------------------------------------------------------------------------------------- */

static void append_copy(message_adapter *a, vug_jv *to, const vug_jv *v, const char *key)
{
    vug_jv *copy = vug_messages_copy(a->arena, v);
    a->good = a->good && copy;
    if (!copy)
        return;
    if (key)
        copy->key = vug_str_of(key);
    vug_jv_append(to, copy);
}

/* The adapted message, with the other members that were given. */
static vug_jv *build_message(message_adapter *a, const vug_message_turn *turn)
{
    static const char *const own[] = { "role",       "content",
                                       "tool_calls", "reasoning_content",
                                       "reasoning",  "function_call" };
    vug_jv *m = vug_messages_new(a->arena, VUG_JSON_OBJECT, "");
    vug_jv *role = vug_messages_new_string(a->arena, "role", turn->role);
    a->good = a->good && m && role;
    if (!a->good)
        return NULL;
    vug_jv_append(m, role);
    append_copy(a, m, turn->content, "content");
    if (turn->reasoning) {
        append_copy(a, m, turn->reasoning, "reasoning_content");
        append_copy(a, m, turn->reasoning, "reasoning");
    }
    if (turn->calls)
        append_copy(a, m, turn->calls, "tool_calls");
    for (const vug_jv *v = turn->message->child; v; v = v->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            known = known || vug_str_is(v->key, own[i]);
        if (!known)
            append_copy(a, m, v, NULL);
    }
    return a->good ? m : NULL;
}

/* Appends an empty message of the user. */
static void append_empty_user(message_adapter *a, vug_jv *list)
{
    vug_jv *m = vug_messages_new(a->arena, VUG_JSON_OBJECT, "");
    vug_jv *role = vug_messages_new_string(a->arena, "role", vug_str_of("user"));
    vug_jv *content = vug_messages_new_string(a->arena, "content", vug_str_of(""));
    a->good = a->good && m && role && content;
    if (!a->good)
        return;
    vug_jv_append(m, role);
    vug_jv_append(m, content);
    vug_jv_append(list, m);
}

const vug_jv *vug_turns_adapt(vug_message_turn *turn, size_t n,
                              const vug_template_capabilities *capabilities, vug_arena *arena)
{
    message_adapter a = { .capabilities = capabilities, .arena = arena, .good = true };
    vug_jv *list = vug_messages_new(arena, VUG_JSON_ARRAY, "");
    for (size_t i = 0; i < n; i++) {
        adapt_role(&a, &turn[i], i == 0);
        if (lacks(&a, VUG_CAPABILITY_CALLS))
            adapt_calls(&a, &turn[i]);
    }
    if (lacks(&a, VUG_CAPABILITY_LONE_SYSTEM))
        adapt_lone_system(turn, n);
    if (lacks(&a, VUG_CAPABILITY_STRAY_RESULT))
        adapt_stray_results(&a, turn, n);
    if (lacks(&a, VUG_CAPABILITY_AFTER_RESULT))
        adapt_interrupted_results(&a, turn, n);
    if ((lacks(&a, VUG_CAPABILITY_REPEATED_ROLE) || lacks(&a, VUG_CAPABILITY_AFTER_RESULT)) &&
        a.good)
        n = join_neighbours(&a, turn, n);
    bool begun = !lacks(&a, VUG_CAPABILITY_ASSISTANT_FIRST);
    for (size_t i = 0; i < n && list && a.good; i++) {
        if (!begun && vug_str_is(turn[i].role, "assistant"))
            append_empty_user(&a, list);
        begun = begun || !is_system(turn[i].role);
        adapt_content(&a, &turn[i]);
        vug_jv *m = a.good ? build_message(&a, &turn[i]) : NULL;
        if (m)
            vug_jv_append(list, m);
    }
    vug_buf_release(&a.text);
    return a.good ? list : NULL;
}
