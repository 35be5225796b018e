#include "text/chat.h"

#include "core/mem.h"
#include "core/text.h"
#include "text/unicode.h"

/*
 * Gemma turns, after the vendor's templates. Gemma 3 folds a leading system
 * message, untrimmed, into the first user turn. The templates of Gemma 1 and 2
 * refuse a system message; here it is folded in the same way, since the models
 * were trained on nothing else and the alternative is no answer.
 */

typedef struct {
    const char *name;
    const char *open, *close; /* of a turn */
    const char *reply;        /* how the model's role is spelled */
} family;

static const family families[] = {
    { "gemma", "<start_of_turn>", "<end_of_turn>\n", "model" },
    { "gemma2", "<start_of_turn>", "<end_of_turn>\n", "model" },
    { "gemma3", "<start_of_turn>", "<end_of_turn>\n", "model" },
};

enum { N_FAMILIES = sizeof(families) / sizeof(*families) };

static const family *find(const char *name)
{
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    }
    return NULL;
}

bool vug_chat_known(const char *name)
{
    return find(name) != NULL;
}

/* What the templates' `trim` takes away is Python's idea of whitespace: the four
 * separators U+001C to U+001F are in it beyond Unicode's. */
static bool trimmed(const char *text, size_t n)
{
    uint32_t cp;
    if (vug_utf8_next(text, n, &cp) != n)
        return false;
    return vug_is_white_space(cp) || (cp >= 0x1c && cp <= 0x1f);
}

static vug_str trim(vug_str s)
{
    for (size_t n = 1; n <= 3 && n <= s.len; n++) {
        if (trimmed(s.ptr, n)) {
            s = (vug_str){ s.ptr + n, s.len - n };
            n = 0;
        }
    }
    for (size_t n = 1; n <= 3 && n <= s.len; n++) {
        if (trimmed(s.ptr + s.len - n, n)) {
            s.len -= n;
            n = 0;
        }
    }
    return s;
}

static bool is_role(const vug_message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

static vug_status check(const vug_message *message, size_t n, vug_err *err)
{
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "a conversation needs at least one message");
    for (size_t i = 0; i < n; i++) {
        if (!message[i].role || !message[i].content)
            return VUG_FAIL(err, VUG_ARGUMENT, "message %zu lacks its role or its content", i + 1);
    }
    const size_t first = is_role(&message[0], "system");
    for (size_t i = first; i < n; i++) {
        const bool user_turn = (i - first) % 2 == 0;
        const bool reply = is_role(&message[i], "assistant") || is_role(&message[i], "model");
        if (user_turn ? !is_role(&message[i], "user") : !reply)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "conversation roles must alternate user/assistant/user/assistant: "
                            "message %zu is of role \"%.40s\" where \"%s\" was expected",
                            i + 1, message[i].role, user_turn ? "user" : "assistant");
    }
    return VUG_OK;
}

vug_status vug_chat_turns(const char *name, const char *bos, const vug_message *message, size_t n,
                          bool open_reply, vug_text *out, vug_err *err)
{
    const family *f = find(name);
    if (!f)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "no chat format is known for \"%.100s\"", name);
    VUG_TRY(check(message, n, err));
    vug_buf to = { 0 };
    vug_buf_puts(&to, bos);
    const size_t first = is_role(&message[0], "system");
    for (size_t i = first; i < n; i++) {
        vug_buf_puts(&to, f->open);
        vug_buf_puts(&to, is_role(&message[i], "user") ? "user" : f->reply);
        vug_buf_puts(&to, "\n");
        if (i == 1 && first == 1) {
            vug_buf_puts(&to, message[0].content);
            vug_buf_puts(&to, "\n\n");
        }
        const vug_str content = trim(vug_str_of(message[i].content));
        vug_buf_append(&to, content.ptr, content.len);
        vug_buf_puts(&to, f->close);
    }
    if (open_reply) {
        vug_buf_puts(&to, f->open);
        vug_buf_puts(&to, f->reply);
        vug_buf_puts(&to, "\n");
    }
    return vug_buf_take(&to, out, err);
}
