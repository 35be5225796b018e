#include <stdlib.h>

#include "text/chat/messages_fit.h"

/* ---- values ------------------------------------------------------------------------- */

vug_jv *vug_fit_new(vug_arena *arena, vug_json_type type, const char *key)
{
    vug_jv *v = vug_arena_alloc(arena, 1, sizeof(*v));
    if (v) {
        v->type = type;
        v->key = vug_str_of(key);
    }
    return v;
}

vug_jv *vug_fit_string(vug_arena *arena, const char *key, vug_str text)
{
    vug_jv *v = vug_fit_new(arena, VUG_JSON_STRING, key);
    if (v)
        v->str = text;
    return v;
}

void vug_fit_add(vug_jv *to, vug_jv **last, vug_jv *v)
{
    *(*last ? &(*last)->next : &to->child) = v;
    *last = v;
    to->n++;
}

vug_jv *vug_fit_copy(vug_arena *arena, const vug_jv *v)
{
    vug_jv *copy = vug_fit_new(arena, v->type, "");
    if (copy) {
        *copy = *v;
        copy->next = NULL;
    }
    return copy;
}

vug_jv *vug_fit_text_part(vug_arena *arena, vug_str text)
{
    vug_jv *part = vug_fit_new(arena, VUG_JSON_OBJECT, ""), *last = NULL;
    vug_jv *type = vug_fit_string(arena, "type", vug_str_of("text"));
    vug_jv *said = vug_fit_string(arena, "text", text);
    if (!part || !type || !said)
        return NULL;
    vug_fit_add(part, &last, type);
    vug_fit_add(part, &last, said);
    return part;
}

/* ---- results of tools ----------------------------------------------------------------- */

typedef struct {
    vug_str id;
    size_t turn, at; /* which of all calls */
} call_mark;

typedef struct {
    size_t behind;   /* the turn it stands at or, as a result, behind */
    size_t call, at; /* the call it answers, from 1; and where it stood */
    vug_fit_turn turn;
} place;

static int by_id(const void *a, const void *b)
{
    const call_mark *x = a, *y = b;
    const int order = vug_str_compare(x->id, y->id);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->behind != y->behind)
        return x->behind < y->behind ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static vug_str id_in(const vug_jv *object, const char *key)
{
    const vug_jv *id = vug_jv_get(object, key);
    return vug_jv_is(id, VUG_JSON_STRING) ? id->str : (vug_str){ 0 };
}

/* The calls of all turns, sorted; NULL when out of memory. */
static call_mark *marks_of(const vug_fit_turn *turn, size_t n, size_t *n_calls, vug_arena *arena)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += turn[i].calls ? turn[i].calls->n : 0;
    call_mark *mark = vug_arena_alloc(arena, count, sizeof(*mark));
    *n_calls = count;
    count = 0;
    for (size_t i = 0; i < n && mark; i++) {
        for (const vug_jv *call = turn[i].calls ? turn[i].calls->child : NULL; call;
             call = call->next, count++)
            mark[count] = (call_mark){ id_in(call, "id"), i, count };
    }
    if (mark && count > 0)
        qsort(mark, count, sizeof(*mark), by_id);
    return mark;
}

/* The last call of that id in front of a turn: clients count anew in each. */
static const call_mark *call_of(const call_mark *mark, size_t n, vug_str id, size_t turn)
{
    size_t from = 0, to = n;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = vug_str_compare(mark[middle].id, id);
        if (order < 0 || (order == 0 && mark[middle].turn < turn))
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 && vug_str_equal(mark[from - 1].id, id) ? &mark[from - 1] : NULL;
}

bool vug_fit_results(vug_fit_turn *turn, size_t n, vug_arena *arena)
{
    size_t n_calls;
    const call_mark *mark = marks_of(turn, n, &n_calls, arena);
    place *placed = vug_arena_alloc(arena, n, sizeof(*placed));
    if (!mark || !placed)
        return false;
    /* Calls of neighbours are answered behind the last of these. */
    for (size_t i = n; i-- > 0;) {
        const bool joins = i + 1 < n && vug_str_is(turn[i].role, "assistant") &&
                           vug_str_is(turn[i + 1].role, "assistant");
        placed[i] = (place){ .behind = joins ? placed[i + 1].behind : i, .at = i, .turn = turn[i] };
    }
    for (size_t i = 0; i < n; i++) {
        const call_mark *call =
                vug_str_is(turn[i].role, "tool")
                        ? call_of(mark, n_calls, id_in(turn[i].message, "tool_call_id"), i)
                        : NULL;
        if (call)
            placed[i] = (place){ placed[call->turn].behind, call->at + 1, i, turn[i] };
    }
    qsort(placed, n, sizeof(*placed), by_place);
    for (size_t i = 0; i < n; i++)
        turn[i] = placed[i].turn;
    return true;
}
