#include <stdlib.h>

#include "text/chat/message_adapter.h"

/* ---- values ------------------------------------------------------------------------- */

vug_jv *vug_messages_new(vug_arena *arena, vug_json_type type, const char *key)
{
    vug_jv *v = vug_arena_alloc(arena, 1, sizeof(*v));
    if (v) {
        v->type = type;
        v->key = vug_str_of(key);
    }
    return v;
}

vug_jv *vug_messages_new_string(vug_arena *arena, const char *key, vug_str text)
{
    vug_jv *v = vug_messages_new(arena, VUG_JSON_STRING, key);
    if (v)
        v->str = text;
    return v;
}

vug_jv *vug_messages_copy(vug_arena *arena, const vug_jv *v)
{
    vug_jv *copy = vug_messages_new(arena, v->type, "");
    if (copy) {
        *copy = *v;
        copy->next = NULL;
    }
    return copy;
}

vug_jv *vug_messages_new_text_part(vug_arena *arena, vug_str text)
{
    vug_jv *part = vug_messages_new(arena, VUG_JSON_OBJECT, "");
    vug_jv *type = vug_messages_new_string(arena, "type", vug_str_of("text"));
    vug_jv *content = vug_messages_new_string(arena, "text", text);
    if (!part || !type || !content)
        return NULL;
    vug_jv_append(part, type);
    vug_jv_append(part, content);
    return part;
}

/* ---- the order of results ----------------------------------------------------------------- */

typedef struct {
    vug_str id;
    size_t turn, at; /* the message it is in; its number among all calls */
} call_position;

typedef struct {
    size_t behind;   /* a result: the message that it follows; else its own place */
    size_t call, at; /* the call that it answers, from 1; its place before */
    vug_message_turn turn;
} turn_position;

static int by_id(const void *a, const void *b)
{
    const call_position *x = a, *y = b;
    const int order = vug_str_compare(x->id, y->id);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_position(const void *a, const void *b)
{
    const turn_position *x = a, *y = b;
    if (x->behind != y->behind)
        return x->behind < y->behind ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static vug_str get_id(const vug_jv *object, const char *key)
{
    const vug_jv *id = vug_jv_get(object, key);
    return vug_jv_is(id, VUG_JSON_STRING) ? id->str : (vug_str){ 0 };
}

/* The calls of all messages, sorted by id; NULL: out of memory. */
static call_position *sorted_calls(const vug_message_turn *turn, size_t n, size_t *n_calls,
                                   vug_arena *arena)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += turn[i].calls ? turn[i].calls->n : 0;
    call_position *calls = vug_arena_alloc(arena, count, sizeof(*calls));
    *n_calls = count;
    count = 0;
    for (size_t i = 0; i < n && calls; i++) {
        for (const vug_jv *call = turn[i].calls ? turn[i].calls->child : NULL; call;
             call = call->next, count++)
            calls[count] = (call_position){ get_id(call, "id"), i, count };
    }
    if (calls && count > 0)
        qsort(calls, count, sizeof(*calls), by_id);
    return calls;
}

/* The last call of that id before a message: some clients use ids again in each. */
static const call_position *find_call(const call_position *calls, size_t n, vug_str id, size_t turn)
{
    size_t from = 0, to = n;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = vug_str_compare(calls[middle].id, id);
        if (order < 0 || (order == 0 && calls[middle].turn < turn))
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 && vug_str_equal(calls[from - 1].id, id) ? &calls[from - 1] : NULL;
}

bool vug_turns_sort_results(vug_message_turn *turn, size_t n, vug_arena *arena)
{
    size_t n_calls;
    const call_position *calls = sorted_calls(turn, n, &n_calls, arena);
    turn_position *placed = vug_arena_alloc(arena, n, sizeof(*placed));
    if (!calls || !placed)
        return false;
    /* Neighbouring assistant messages get the results of all their calls behind the last one. */
    for (size_t i = n; i-- > 0;) {
        const bool joins = i + 1 < n && vug_str_is(turn[i].role, "assistant") &&
                           vug_str_is(turn[i + 1].role, "assistant");
        placed[i] = (turn_position){ .behind = joins ? placed[i + 1].behind : i,
                                     .at = i,
                                     .turn = turn[i] };
    }
    for (size_t i = 0; i < n; i++) {
        const call_position *call =
                vug_str_is(turn[i].role, "tool")
                        ? find_call(calls, n_calls, get_id(turn[i].message, "tool_call_id"), i)
                        : NULL;
        if (call)
            placed[i] = (turn_position){ placed[call->turn].behind, call->at + 1, i, turn[i] };
    }
    qsort(placed, n, sizeof(*placed), by_position);
    for (size_t i = 0; i < n; i++)
        turn[i] = placed[i].turn;
    return true;
}
