#include "text/chat/reply.h"

#include "core/text.h"
#include "text/chat/messages.h"

/*
 * An answer is content until a mark opens thinking or a call. It is looked at byte by
 * byte, so that how it was cut into tokens cannot matter; what might become a mark, and
 * blanks that might lie in front of one, wait until that is known.
 */

/* ---- parts ---------------------------------------------------------------------------- */

static void hand(vug_reply *r, vug_part_kind kind, const char *text, size_t len)
{
    const vug_part part = { .kind = kind, .call = r->n_calls, .text = text, .len = len };
    r->deaf = r->deaf || !r->on_part(&part, r->user);
}

/* Bytes at the end of a text that begin a character. */
static size_t unfinished(const char *text, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const unsigned char lead = (unsigned char)text[n - k];
        if (lead >= 0xc0)
            return vug_utf8_incomplete(text + n - k, k) ? k : 0;
        if (lead < 0x80)
            return 0;
    }
    return 0;
}

/* What was gathered; with `all` also a character that is not complete. */
static void flush(vug_reply *r, bool all)
{
    char *text = r->out.ptr;
    if (!text)
        return;
    const size_t keep = all ? 0 : unfinished(text, r->out.len);
    const size_t n = r->out.len - keep;
    if (n)
        hand(r, r->kind, text, n);
    memmove(text, text + n, keep);
    r->out.len = keep;
}

static void put(vug_reply *r, vug_part_kind kind, const char *bytes, size_t n)
{
    if (kind != r->kind)
        flush(r, true);
    r->kind = kind;
    vug_buf_append(&r->out, bytes, n);
}

static void event(vug_reply *r, vug_part_kind kind, vug_str text)
{
    flush(r, true);
    hand(r, kind, text.ptr ? text.ptr : "", text.len);
}

/* ---- text ------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The blanks that waited turn out to be part of the text; line ends between a mark and
 * the first content are not. */
static void give_blanks(vug_reply *r)
{
    size_t from = 0;
    if (r->after_mark && !r->said) {
        while (from < r->blank.len && (r->blank.ptr[from] == '\n' || r->blank.ptr[from] == '\r'))
            from++;
    }
    if (r->blank.len > from)
        put(r, VUG_PART_CONTENT, r->blank.ptr + from, r->blank.len - from);
    r->blank.len = 0;
    r->after_mark = false;
}

static void content_byte(vug_reply *r, char b)
{
    if (is_blank(b)) {
        vug_buf_append(&r->blank, &b, 1);
        return;
    }
    give_blanks(r);
    put(r, VUG_PART_CONTENT, &b, 1);
    r->said = true;
}

/* Thinking begins after its label and line ends, and ends before line ends. */
static void thinking_byte(vug_reply *r, char b)
{
    const char *label = r->syntax.label ? r->syntax.label : "";
    if (label[r->labelled] && label[r->labelled] == b) {
        r->labelled++;
        return;
    }
    const size_t came = label[r->labelled] ? r->labelled : 0;
    if (came) {
        put(r, VUG_PART_THINKING, label, came);
        r->after_mark = false;
    }
    r->labelled = strlen(label);
    if (b == '\n') {
        if (!r->after_mark)
            vug_buf_append(&r->blank, &b, 1);
        return;
    }
    put(r, VUG_PART_THINKING, r->blank.ptr ? r->blank.ptr : "", r->blank.len);
    put(r, VUG_PART_THINKING, &b, 1);
    r->blank.len = 0;
    r->after_mark = false;
}

static void text_byte(vug_reply *r, char b)
{
    if (r->place == VUG_IN_THINKING)
        thinking_byte(r, b);
    else
        content_byte(r, b);
}

static void text_bytes(vug_reply *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_byte(r, bytes[i]);
}

/* ---- thinking ----------------------------------------------------------------------------- */

static void open_thinking(vug_reply *r)
{
    r->place = VUG_IN_THINKING;
    r->labelled = 0;
    r->blank.len = 0;
    r->after_mark = true;
}

static void close_thinking(vug_reply *r)
{
    const char *label = r->syntax.label ? r->syntax.label : "";
    const size_t n = strlen(label);
    /* A label whose line end is missing is one all the same. */
    if (r->labelled && r->labelled + 1 < n)
        put(r, VUG_PART_THINKING, label, r->labelled);
    r->place = VUG_IN_CONTENT;
    r->blank.len = 0;
    r->after_mark = true;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void byte(vug_reply *r, char b);

static void open_call(vug_reply *r, const char *spelling)
{
    r->place = VUG_IN_CALL;
    r->call = vug_call_begin(r->syntax.form, r->by_id[VUG_MARK_QUOTE], r->tools);
    r->named = false;
    r->mark_before_call = r->after_mark;
    r->raw.len = 0;
    vug_buf_puts(&r->raw, spelling);
}

static void close_call(vug_reply *r)
{
    event(r, VUG_PART_CALL_END, (vug_str){ 0 });
    vug_call_release(&r->call);
    r->n_calls++;
    r->n_held = 0;
    r->place = VUG_IN_CONTENT;
    r->after_mark = true;
}

/* It was no call: what was written is content. Its last `n` bytes, the beginning of a tag,
 * are looked at again, for they may belong to a mark. */
static void drop_call(vug_reply *r, size_t n)
{
    char again[VUG_MARK_MAX];
    if (r->named)
        event(r, VUG_PART_CALL_DROP, (vug_str){ 0 });
    r->failed = r->failed || r->call.failed || r->raw.bad;
    vug_call_release(&r->call);
    r->place = VUG_IN_CONTENT;
    r->after_mark = r->mark_before_call;
    r->n_held = 0;
    n = r->raw.bad || n > r->raw.len || n > sizeof(again) ? 0 : n;
    r->raw.len -= n;
    if (n)
        memcpy(again, r->raw.ptr + r->raw.len, n);
    for (size_t i = 0; i < r->raw.len; i++)
        content_byte(r, r->raw.ptr[i]);
    r->raw.len = 0;
    for (size_t i = 0; i < n; i++)
        byte(r, again[i]);
}

/* JSON that may be the whole answer is a call only of a tool that there is. */
static bool is_welcome(const vug_reply *r)
{
    const vug_str name = { r->call.name.ptr, r->call.name.len };
    return r->syntax.form != VUG_CALL_LLAMA3 || vug_call_tool(r->tools, name);
}

/* False: it is no call any more, and the symbol is still to be looked at. */
static bool call_symbol(vug_reply *r, int symbol)
{
    const size_t pending = r->call.matched;
    const size_t before = r->call.args.len;
    if (!vug_call_step(&r->call, symbol) || (r->call.named && !r->named && !is_welcome(r))) {
        drop_call(r, pending);
        return false;
    }
    if (symbol == VUG_CALL_QUOTE)
        vug_buf_puts(&r->raw, r->syntax.mark[VUG_MARK_QUOTE]);
    else
        vug_buf_append(&r->raw, &(char){ (char)symbol }, 1);
    const vug_buf *args = &r->call.args;
    size_t from = before;
    if (r->call.named && !r->named) {
        event(r, VUG_PART_CALL, (vug_str){ r->call.name.ptr, r->call.name.len });
        r->named = true;
        from = 0;
    }
    if (r->named && args->len > from)
        put(r, VUG_PART_ARGUMENTS, args->ptr + from, args->len - from);
    return true;
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void on_mark(vug_reply *r, vug_mark mark)
{
    const char *spelling = r->syntax.mark[mark];
    if (r->place == VUG_IN_THINKING)
        close_thinking(r);
    else if (mark == VUG_MARK_THINK)
        open_thinking(r);
    else
        open_call(r, spelling);
}

/* Whether the mark means something where the answer stands. */
static bool is_meant(const vug_reply *r, vug_mark mark)
{
    if (r->place == VUG_IN_THINKING)
        return mark == VUG_MARK_THINK_END;
    if (mark == VUG_MARK_THINK)
        return r->by_id[mark] || (!r->said && r->n_calls == 0);
    return mark == VUG_MARK_CALL;
}

/* The mark, as letters, that begins with the `n` bytes at `text`; or COUNT. */
static vug_mark spelled(const vug_reply *r, const char *text, size_t n)
{
    for (int m = 0; m < VUG_MARK_COUNT; m++) {
        const char *mark = r->syntax.mark[m];
        if (mark && !r->by_id[m] && is_meant(r, (vug_mark)m) && strncmp(mark, text, n) == 0)
            return (vug_mark)m;
    }
    return VUG_MARK_COUNT;
}

/* Outside of calls; every mark begins with `<` and has no other. */
static void open_byte(vug_reply *r, char b)
{
    if (b == '{' && r->syntax.form == VUG_CALL_LLAMA3 && r->syntax.mark[VUG_MARK_CALL] &&
        r->tools && r->place == VUG_IN_CONTENT && !r->said && r->n_held == 0) {
        open_call(r, "");
        (void)call_symbol(r, b);
        return;
    }
    vug_mark mark = VUG_MARK_COUNT;
    if (r->n_held < VUG_MARK_MAX - 1 && b) {
        r->held[r->n_held] = b;
        mark = spelled(r, r->held, r->n_held + 1);
    }
    if (mark != VUG_MARK_COUNT) {
        r->n_held++;
        if (r->syntax.mark[mark][r->n_held] == '\0') {
            r->n_held = 0;
            on_mark(r, mark);
        }
        return;
    }
    const size_t held = r->n_held;
    r->n_held = 0;
    text_bytes(r, r->held, held);
    if (held && b == '<')
        open_byte(r, b);
    else
        text_byte(r, b);
}

/* The closing mark, or where it is missing that of another call, as far as it came. */
static const char *closing(const vug_reply *r, char b)
{
    static const vug_mark marks[] = { VUG_MARK_CALL_END, VUG_MARK_CALL };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = r->syntax.mark[marks[i]];
        if (mark && b && r->n_held < VUG_MARK_MAX - 1 && strncmp(mark, r->held, r->n_held) == 0 &&
            mark[r->n_held] == b)
            return mark;
    }
    return NULL;
}

/* A call that is complete waits for its closing mark. */
static void closing_byte(vug_reply *r, char b)
{
    if (r->n_held == 0 && is_blank(b)) {
        vug_buf_append(&r->raw, &b, 1);
        return;
    }
    if (r->syntax.form == VUG_CALL_LLAMA3 && r->n_held == 0 && (b == ';' || b == '{')) {
        close_call(r);
        if (b == '{')
            open_byte(r, b);
        return;
    }
    const char *mark = closing(r, b);
    if (!mark) {
        drop_call(r, r->n_held);
        byte(r, b);
        return;
    }
    vug_buf_append(&r->raw, &b, 1);
    r->held[r->n_held++] = b;
    if (mark[r->n_held] == '\0') {
        close_call(r);
        if (mark == r->syntax.mark[VUG_MARK_CALL])
            open_call(r, mark);
    }
}

static void byte(vug_reply *r, char b)
{
    if (r->deaf)
        return;
    if (r->place != VUG_IN_CALL)
        open_byte(r, b);
    else if (r->call.complete)
        closing_byte(r, b);
    else if (!call_symbol(r, (unsigned char)b))
        byte(r, b);
}

/* ---- the door ------------------------------------------------------------------------------- */

static vug_status check(const vug_reply *r, vug_err *err)
{
    if (r->failed || r->call.failed || r->out.bad || r->blank.bad || r->raw.bad)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: taking an answer apart");
    return VUG_OK;
}

vug_status vug_reply_feed(vug_reply *r, vug_str text, vug_err *err)
{
    for (size_t i = 0; i < text.len; i++)
        byte(r, text.ptr[i]);
    flush(r, false);
    return check(r, err);
}

/* A mark's token, where the answer stands. */
static void token(vug_reply *r, vug_mark mark, bool special)
{
    const char *spelling = r->syntax.mark[mark];
    if (r->place == VUG_IN_CALL && r->call.complete &&
        (mark == VUG_MARK_CALL_END || mark == VUG_MARK_CALL)) {
        close_call(r);
        if (mark == VUG_MARK_CALL)
            open_call(r, spelling);
    } else if (r->place == VUG_IN_CALL && mark == VUG_MARK_QUOTE && !r->call.complete) {
        if (!call_symbol(r, VUG_CALL_QUOTE))
            token(r, mark, special);
    } else if (r->place == VUG_IN_CALL && vug_call_in_text(&r->call)) {
        for (const char *s = spelling; *s; s++)
            byte(r, *s);
    } else if (r->place == VUG_IN_CALL) {
        drop_call(r, 0);
        token(r, mark, special);
    } else if (is_meant(r, mark)) {
        on_mark(r, mark);
    } else if (!special) {
        text_bytes(r, spelling, strlen(spelling));
    }
}

vug_status vug_reply_feed_mark(vug_reply *r, vug_mark mark, bool special, vug_err *err)
{
    const size_t held = r->n_held;
    if (r->deaf)
        return check(r, err);
    if (held && r->place == VUG_IN_CALL) {
        drop_call(r, 0);
    } else {
        r->n_held = 0;
        text_bytes(r, r->held, held);
    }
    token(r, mark, special);
    flush(r, false);
    return check(r, err);
}

/* An answer that ends in a call: it may lack the closing mark, or its rest. */
static void finish_call(vug_reply *r)
{
    if (r->call.complete)
        close_call(r);
    else if (!r->named)
        drop_call(r, 0);
}

vug_status vug_reply_finish(vug_reply *r, vug_err *err)
{
    if (r->decoder) {
        const char *text;
        size_t len;
        VUG_TRY(vug_decoder_finish(r->decoder, &text, &len, err));
        VUG_TRY(vug_reply_feed(r, (vug_str){ text, len }, err));
    }
    if (r->place == VUG_IN_CALL) {
        finish_call(r);
    } else {
        text_bytes(r, r->held, r->n_held);
        r->n_held = 0;
    }
    if (r->blank.len && (r->place == VUG_IN_THINKING || !r->after_mark))
        put(r, r->place == VUG_IN_THINKING ? VUG_PART_THINKING : VUG_PART_CONTENT, r->blank.ptr,
            r->blank.len);
    r->blank.len = 0;
    flush(r, true);
    return check(r, err);
}

bool vug_reply_is_thinking(const vug_reply *r)
{
    return r->place == VUG_IN_THINKING;
}

bool vug_reply_is_over(const vug_reply *r)
{
    return r->deaf;
}

const char *vug_reply_thinking_end(const vug_reply *r)
{
    return r->syntax.thinking_end;
}

static vug_status read_tools(vug_reply *r, vug_str json, vug_err *err)
{
    const vug_str copy = json.len ? vug_arena_copy(&r->arena, json) : json;
    if (json.len && !copy.ptr)
        return VUG_FAIL_NOMEM(err, "tools", json.len);
    return vug_tools_read(copy, true, &r->arena, &r->tools, err);
}

vug_status vug_reply_over(const vug_syntax *syntax, bool thinking, vug_str tools,
                          vug_part_fn *on_part, void *user, vug_reply **out, vug_err *err)
{
    vug_reply *r = vug_alloc_zero(1, sizeof(*r));
    if (!r)
        return VUG_FAIL_NOMEM(err, "an answer", sizeof(*r));
    r->syntax = *syntax;
    r->on_part = on_part;
    r->user = user;
    if (thinking)
        open_thinking(r);
    const vug_status st = read_tools(r, tools, err);
    if (st != VUG_OK) {
        vug_reply_destroy(r);
        return st;
    }
    *out = r;
    return VUG_OK;
}

void vug_reply_destroy(vug_reply *r)
{
    if (!r)
        return;
    vug_call_release(&r->call);
    vug_buf_release(&r->raw);
    vug_buf_release(&r->blank);
    vug_buf_release(&r->out);
    vug_arena_release(&r->arena);
    vug_decoder_destroy(r->decoder);
    vug_free(r);
}
