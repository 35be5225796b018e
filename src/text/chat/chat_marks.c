/* Where later prompts may branch from a prompt: found by rendering such prompts. */

#include "text/chat/chat_template.h"
#include "text/chat/message_adapter.h"
#include "text/text.h"

/* What a later message may be: nothing that people write begins like this. */
#define OTHER_TEXT "\x1a"

/* The prompts that are compared, from the earliest branch to the last as a rule. */
typedef enum {
    OTHER_CONVERSATION, /* the system message, then another question */
    EDITED_QUESTION,    /* another last question */
    NEXT_QUESTION,      /* an answer and a question follow; templates may drop thinking then */
    OTHER_ANSWER,       /* an answer follows, which the template may open in another way */
    N_VARIANTS,
} variant_kind;

static const vug_mark_kind mark_kinds[N_VARIANTS] = {
    [OTHER_CONVERSATION] = VUG_MARK_SYSTEM,
    [EDITED_QUESTION] = VUG_MARK_TURN,
    [NEXT_QUESTION] = VUG_MARK_TURN,
    [OTHER_ANSWER] = VUG_MARK_TURN,
};

_Static_assert((int)N_VARIANTS == (int)VUG_CHAT_MARKS, "every variant may have a mark");

/* ---- other conversations ---------------------------------------------------------- */

/* A list of messages that is built. Sticky: `good` turns false when memory runs out. */
typedef struct {
    vug_arena *arena;
    vug_jv *list;
    bool good;
} message_list;

static void append_message(message_list *l, vug_jv *message)
{
    l->good = l->good && message;
    if (l->good)
        vug_jv_append(l->list, message);
}

static void append_other(message_list *l, const char *role)
{
    vug_jv *message = vug_messages_new(l->arena, VUG_JSON_OBJECT, "");
    vug_jv *name = vug_messages_new_string(l->arena, "role", vug_str_of(role));
    vug_jv *content = vug_messages_new_string(l->arena, "content", vug_str_of(OTHER_TEXT));
    if (message && name && content) {
        vug_jv_append(message, name);
        vug_jv_append(message, content);
    }
    append_message(l, name && content ? message : NULL);
}

static bool has_role(const vug_jv *message, const char *role)
{
    const vug_jv *v = vug_jv_get(message, "role");
    return vug_jv_is(v, VUG_JSON_STRING) && vug_str_is(v->str, role);
}

static const vug_jv *last_with_role(const vug_jv *messages, const char *role)
{
    const vug_jv *found = NULL;
    for (const vug_jv *m = messages->child; m; m = m->next)
        found = has_role(m, role) ? m : found;
    return found;
}

/* The messages of a variant; NULL: out of memory. */
static const vug_jv *make_messages(variant_kind kind, const vug_jv *messages, vug_arena *arena)
{
    message_list l = { .arena = arena, .list = vug_messages_new(arena, VUG_JSON_ARRAY, "") };
    const vug_jv *question = last_with_role(messages, "user");
    l.good = l.list != NULL;
    for (const vug_jv *m = messages->child; m; m = m->next) {
        if (kind == OTHER_CONVERSATION && !has_role(m, "system") && !has_role(m, "developer"))
            break;
        if (kind == EDITED_QUESTION && m == question)
            append_other(&l, "user");
        else
            append_message(&l, vug_messages_copy(arena, m));
    }
    if (kind == NEXT_QUESTION || kind == OTHER_ANSWER)
        append_other(&l, "assistant");
    if (kind == NEXT_QUESTION || kind == OTHER_CONVERSATION)
        append_other(&l, "user");
    return l.good ? l.list : NULL;
}

/* ---- the branches of a prompt ------------------------------------------------------- */

typedef struct {
    const vug_chat *chat;
    const vug_tokenizer *tokenizer;
    const vug_prompt *prompt;
    size_t n_tokens;
    vug_chat_marks *out;
} branch_search;

static size_t common_bytes(const vug_prompt *a, const vug_prompt *b)
{
    size_t n = 0;
    while (n < a->text.len && n < b->text.len && a->text.ptr[n] == b->text.ptr[n])
        n++;
    return n;
}

/* The number of bytes that a variant has in common with the prompt; 0 also if the template refuses
 * it. */
static vug_status compare_variant(const branch_search *s, vug_chat_input input, vug_arena *arena,
                                  variant_kind kind, size_t *common, vug_err *err)
{
    vug_prompt variant = { 0 };
    vug_err refusal;
    *common = 0;
    input.messages = make_messages(kind, input.messages, arena);
    if (!input.messages)
        return VUG_FAIL_NOMEM(err, "messages", 0);
    const vug_status st = vug_chat_render_input(s->chat, &input, arena, &variant, &refusal);
    if (st == VUG_NOMEM)
        return VUG_FAIL_NOMEM(err, "a prompt", 0);
    if (st == VUG_OK)
        *common = common_bytes(s->prompt, &variant);
    vug_prompt_release(&variant);
    return VUG_OK;
}

/* Counts the tokens before byte `at`, less one: the last of them may be another if other text
 * follows. Encodes the shorter side. */
static vug_status count_tokens(const branch_search *s, size_t at, size_t *out, vug_err *err)
{
    const size_t len = s->prompt->text.len;
    const bool before = at <= len / 2;
    vug_tokens tokens;
    VUG_TRY(vug_prompt_encode_part(s->tokenizer, s->prompt,
                                   before ? (vug_range){ 0, at } : (vug_range){ at, len }, &tokens,
                                   err));
    const size_t n = before ? tokens.n : tokens.n < s->n_tokens ? s->n_tokens - tokens.n : 0;
    *out = n > 0 ? n - 1 : 0;
    vug_tokens_release(&tokens);
    return VUG_OK;
}

static void add_mark(vug_chat_marks *marks, vug_mark mark)
{
    for (size_t i = 0; i < marks->n; i++) {
        if (marks->mark[i].at == mark.at)
            return;
    }
    if (mark.at > 0)
        marks->mark[marks->n++] = mark;
}

static vug_status find_branches(const branch_search *s, const vug_conversation *c, vug_arena *arena,
                                vug_err *err)
{
    vug_chat_input input;
    VUG_TRY(vug_chat_read(c, arena, &input, err));
    input.no_generation_prompt = true;
    for (int kind = 0; kind < N_VARIANTS; kind++) {
        size_t common, at;
        VUG_TRY(compare_variant(s, input, arena, (variant_kind)kind, &common, err));
        VUG_TRY(count_tokens(s, common, &at, err));
        add_mark(s->out, (vug_mark){ at, mark_kinds[kind] });
    }
    return VUG_OK;
}

vug_status vug_chat_mark(const vug_chat *chat, const vug_conversation *conversation,
                         const vug_tokenizer *tokenizer, const vug_prompt *prompt, size_t n_tokens,
                         vug_chat_marks *out, vug_err *err)
{
    vug_arena arena = { 0 };
    const branch_search search = { chat, tokenizer, prompt, n_tokens, out };
    *out = (vug_chat_marks){ 0 };
    const vug_status st = find_branches(&search, conversation, &arena, err);
    vug_arena_release(&arena);
    return st;
}
