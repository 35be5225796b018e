#include "text/chat/messages_fit.h"

/* Sticky: `good` is false once memory was short. */
typedef struct {
    const vug_refusals *refusals;
    vug_arena *arena;
    vug_buf text; /* of a content that is put together */
    bool good;
} fitting;

static bool refuses(const fitting *f, vug_refusal what)
{
    return f->refusals->refuses[what];
}

static bool is_system(vug_str role)
{
    return vug_str_is(role, "system") || vug_str_is(role, "developer");
}

static const vug_jv *keep(fitting *f, const vug_jv *v)
{
    f->good = f->good && v;
    return v;
}

/* ---- contents ------------------------------------------------------------------------- */

/* Appends what a content says; parts are joined by `between`. */
static void say(fitting *f, const vug_jv *content, const char *between)
{
    if (content->type == VUG_JSON_STRING) {
        vug_buf_append(&f->text, content->str.ptr, content->str.len);
        return;
    }
    for (const vug_jv *part = content->child; part; part = part->next) {
        const vug_str text = vug_jv_get(part, "text")->str;
        vug_buf_append(&f->text, text.ptr, text.len);
        vug_buf_puts(&f->text, part->next ? between : "");
    }
}

/* What was said, as a content. */
static const vug_jv *said(fitting *f)
{
    f->good = f->good && !f->text.bad;
    const vug_str text =
            vug_arena_copy(f->arena, (vug_str){ f->text.ptr ? f->text.ptr : "", f->text.len });
    f->text.len = 0;
    f->good = f->good && text.ptr;
    return keep(f, vug_fit_string(f->arena, "content", text));
}

/* A string where the template wants one, a list of parts where it wants that. Of a system
 * message some templates take the first part alone: it is always joined. */
static void fit_content(fitting *f, vug_fit_turn *turn)
{
    const bool parts = turn->content->type == VUG_JSON_ARRAY;
    const bool system = is_system(turn->role);
    if (parts && !refuses(f, VUG_REFUSES_STRING) && (refuses(f, VUG_REFUSES_PARTS) || system)) {
        say(f, turn->content, "\n");
        turn->content = said(f);
    } else if (!parts && refuses(f, VUG_REFUSES_STRING) && !refuses(f, VUG_REFUSES_PARTS)) {
        vug_jv *list = vug_fit_new(f->arena, VUG_JSON_ARRAY, "content"), *last = NULL;
        vug_jv *part = vug_fit_text_part(f->arena, turn->content->str);
        f->good = f->good && list && part;
        if (!f->good)
            return;
        vug_fit_add(list, &last, part);
        turn->content = list;
    }
}

/* ---- roles ------------------------------------------------------------------------------ */

static void fit_role(fitting *f, vug_fit_turn *turn, bool first)
{
    if (refuses(f, VUG_REFUSES_DEVELOPER) && vug_str_is(turn->role, "developer"))
        turn->role = vug_str_of("system");
    const bool system = is_system(turn->role);
    if (system && refuses(f, first ? VUG_REFUSES_SYSTEM : VUG_REFUSES_LATE_SYSTEM))
        turn->role = vug_str_of("user");
}

static void fit_lone_system(vug_fit_turn *turn, size_t n)
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
        vug_json_write_string(to, v->str.ptr, v->str.len);
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
                vug_json_write_string(to, m->key.ptr, m->key.len);
                vug_buf_puts(to, ": ");
            }
            write_json(to, m, depth - 1);
            vug_buf_puts(to, m->next ? ", " : "");
        }
        vug_buf_puts(to, object ? "}" : "]");
    }
}

/* For a template without tools: what was called and what came of it, as text in the form
 * that most models know, Hermes's. */
static void fit_calls(fitting *f, vug_fit_turn *turn)
{
    if (vug_str_is(turn->role, "tool")) {
        vug_buf_puts(&f->text, "<tool_response>\n");
        say(f, turn->content, "\n");
        vug_buf_puts(&f->text, "\n</tool_response>");
        turn->role = vug_str_of("user");
        turn->content = said(f);
    } else if (turn->calls) {
        say(f, turn->content, "\n");
        for (const vug_jv *call = turn->calls->child; call; call = call->next) {
            const vug_jv *function = vug_jv_get(call, "function");
            vug_buf_puts(&f->text, f->text.len ? "\n<tool_call>\n" : "<tool_call>\n");
            vug_buf_puts(&f->text, "{\"name\": ");
            write_json(&f->text, vug_jv_get(function, "name"), 1);
            vug_buf_puts(&f->text, ", \"arguments\": ");
            write_json(&f->text, vug_jv_get(function, "arguments"), VUG_JSON_MAX_DEPTH);
            vug_buf_puts(&f->text, "}\n</tool_call>");
        }
        turn->calls = NULL;
        turn->content = said(f);
    }
}

/* Results stand behind their calls by now. */
static void fit_stray_results(fitting *f, vug_fit_turn *turn, size_t n)
{
    bool called = false;
    for (size_t i = 0; i < n; i++) {
        if (!vug_str_is(turn[i].role, "tool"))
            called = turn[i].calls != NULL;
        else if (!called)
            fit_calls(f, &turn[i]);
    }
}

/* ---- neighbours ---------------------------------------------------------------------------- */

/* The elements of a list behind those of another. */
static void add_all(fitting *f, vug_jv *to, vug_jv **last, const vug_jv *from)
{
    for (const vug_jv *v = from->child; v; v = v->next) {
        vug_jv *copy = vug_fit_copy(f->arena, v);
        f->good = f->good && copy;
        if (!copy)
            return;
        vug_fit_add(to, last, copy);
    }
}

/* What all of them thought. */
static const vug_jv *join_reasoning(fitting *f, const vug_fit_turn *turn, size_t from, size_t to)
{
    const vug_jv *only = NULL;
    bool several = false;
    for (size_t i = from; i < to; i++) {
        const vug_jv *here = turn[i].reasoning;
        if (!here || here->str.len == 0)
            continue;
        vug_buf_puts(&f->text, only ? "\n\n" : "");
        say(f, here, "");
        several = only != NULL;
        only = here;
    }
    if (several)
        return said(f);
    f->text.len = 0;
    return only;
}

/* turn[from..to) becomes turn[from]. */
static void join(fitting *f, vug_fit_turn *turn, size_t from, size_t to)
{
    vug_jv *calls = vug_fit_new(f->arena, VUG_JSON_ARRAY, "tool_calls"), *last = NULL;
    f->good = f->good && calls;
    for (size_t i = from; i < to && f->good; i++) {
        const size_t before = f->text.len;
        vug_buf_puts(&f->text, before ? "\n\n" : "");
        const size_t begun = f->text.len;
        say(f, turn[i].content, "\n");
        if (f->text.len == begun)
            f->text.len = before; /* it said nothing */
        if (turn[i].calls)
            add_all(f, calls, &last, turn[i].calls);
    }
    turn[from].calls = f->good && calls->n ? calls : NULL;
    turn[from].content = said(f);
    turn[from].reasoning = join_reasoning(f, turn, from, to);
}

/* Results of tools that a user's message follows become messages of the user. */
static void fit_interruptions(fitting *f, vug_fit_turn *turn, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        if (vug_str_is(turn[i].role, "user") && vug_str_is(turn[i - 1].role, "tool"))
            fit_calls(f, &turn[i - 1]);
    }
}

static size_t fit_neighbours(fitting *f, vug_fit_turn *turn, size_t n)
{
    size_t to = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && vug_str_equal(turn[i].role, turn[end].role) &&
                          !vug_str_is(turn[i].role, "tool");)
            end++;
        if (end > i + 1)
            join(f, turn, i, end);
        turn[to++] = turn[i];
    }
    return to;
}

/* ---- out -------------------------------------------------------------------------------------- */

static void add_copy(fitting *f, vug_jv *to, vug_jv **last, const vug_jv *v, const char *key)
{
    vug_jv *copy = vug_fit_copy(f->arena, v);
    f->good = f->good && copy;
    if (!copy)
        return;
    if (key)
        copy->key = vug_str_of(key);
    vug_fit_add(to, last, copy);
}

/* A message again, with what it said besides. */
static vug_jv *message_of(fitting *f, const vug_fit_turn *turn)
{
    static const char *const own[] = { "role",       "content",
                                       "tool_calls", "reasoning_content",
                                       "reasoning",  "function_call" };
    vug_jv *m = vug_fit_new(f->arena, VUG_JSON_OBJECT, ""), *last = NULL;
    vug_jv *role = vug_fit_string(f->arena, "role", turn->role);
    f->good = f->good && m && role;
    if (!f->good)
        return NULL;
    vug_fit_add(m, &last, role);
    add_copy(f, m, &last, turn->content, "content");
    if (turn->reasoning) {
        add_copy(f, m, &last, turn->reasoning, "reasoning_content");
        add_copy(f, m, &last, turn->reasoning, "reasoning");
    }
    if (turn->calls)
        add_copy(f, m, &last, turn->calls, "tool_calls");
    for (const vug_jv *v = turn->message->child; v; v = v->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            known = known || vug_str_is(v->key, own[i]);
        if (!known)
            add_copy(f, m, &last, v, NULL);
    }
    return f->good ? m : NULL;
}

/* A user who says nothing. */
static void add_silence(fitting *f, vug_jv *list, vug_jv **last)
{
    vug_jv *m = vug_fit_new(f->arena, VUG_JSON_OBJECT, ""), *end = NULL;
    vug_jv *role = vug_fit_string(f->arena, "role", vug_str_of("user"));
    vug_jv *content = vug_fit_string(f->arena, "content", vug_str_of(""));
    f->good = f->good && m && role && content;
    if (!f->good)
        return;
    vug_fit_add(m, &end, role);
    vug_fit_add(m, &end, content);
    vug_fit_add(list, last, m);
}

const vug_jv *vug_fit_turns(vug_fit_turn *turn, size_t n, const vug_refusals *refusals,
                            vug_arena *arena)
{
    fitting f = { .refusals = refusals, .arena = arena, .good = true };
    vug_jv *list = vug_fit_new(arena, VUG_JSON_ARRAY, ""), *last = NULL;
    for (size_t i = 0; i < n; i++) {
        fit_role(&f, &turn[i], i == 0);
        if (refuses(&f, VUG_REFUSES_CALLS))
            fit_calls(&f, &turn[i]);
    }
    if (refuses(&f, VUG_REFUSES_LONE_SYSTEM))
        fit_lone_system(turn, n);
    if (refuses(&f, VUG_REFUSES_STRAY_RESULT))
        fit_stray_results(&f, turn, n);
    if (refuses(&f, VUG_REFUSES_AFTER_RESULT))
        fit_interruptions(&f, turn, n);
    if ((refuses(&f, VUG_REFUSES_NEIGHBOURS) || refuses(&f, VUG_REFUSES_AFTER_RESULT)) && f.good)
        n = fit_neighbours(&f, turn, n);
    bool begun = !refuses(&f, VUG_REFUSES_GREETING);
    for (size_t i = 0; i < n && list && f.good; i++) {
        if (!begun && vug_str_is(turn[i].role, "assistant"))
            add_silence(&f, list, &last);
        begun = begun || !is_system(turn[i].role);
        fit_content(&f, &turn[i]);
        vug_jv *m = f.good ? message_of(&f, &turn[i]) : NULL;
        if (m)
            vug_fit_add(list, &last, m);
    }
    vug_buf_release(&f.text);
    return f.good ? list : NULL;
}
