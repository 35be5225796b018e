/*
 * The parser of answers. An answer is content until a marker opens thinking or a call. It is
 * read byte by byte, so that the cut into tokens cannot matter. Letters that may become a
 * marker, and white space that may precede one, are held back until that is known.
 */

#include "text/chat/response_parser.h"

#include "text/chat/messages.h"

/* ---- calls -------------------------------------------------------------------------------- */

static void feed_byte(vug_response_parser *r, char b);

static void open_call(vug_response_parser *r, const char *spelling)
{
    r->state = VUG_RESPONSE_IN_CALL;
    r->call = vug_call_parser_begin(r->format.call_format, r->by_id[VUG_MARKER_QUOTE], r->tools);
    r->call_named = false;
    r->after_marker_before_call = r->after_marker;
    r->call_text.len = 0;
    vug_buf_puts(&r->call_text, spelling);
}

static void close_call(vug_response_parser *r)
{
    vug_response_send(r, VUG_PART_CALL_END, (vug_str){ 0 });
    vug_call_parser_release(&r->call);
    r->n_calls++;
    r->n_held = 0;
    r->state = VUG_RESPONSE_IN_CONTENT;
    r->after_marker = true;
}

/* It was no call: its text becomes content. The last `n` bytes, the beginning of a tag, are
 * read again, for they may belong to a marker. */
static void drop_call(vug_response_parser *r, size_t n)
{
    char again[VUG_MARKER_MAX_BYTES];
    if (r->call_named)
        vug_response_send(r, VUG_PART_CALL_DROP, (vug_str){ 0 });
    r->failed = r->failed || r->call.failed || r->call_text.bad;
    vug_call_parser_release(&r->call);
    r->state = VUG_RESPONSE_IN_CONTENT;
    r->after_marker = r->after_marker_before_call;
    r->n_held = 0;
    n = r->call_text.bad || n > r->call_text.len || n > sizeof(again) ? 0 : n;
    r->call_text.len -= n;
    if (n)
        memcpy(again, r->call_text.ptr + r->call_text.len, n);
    vug_response_write_content(r, r->call_text.ptr, r->call_text.len);
    r->call_text.len = 0;
    for (size_t i = 0; i < n; i++)
        feed_byte(r, again[i]);
}

/* Where a call needs no markers, only JSON that names a known tool is a call. */
static bool is_allowed_call(const vug_response_parser *r)
{
    const vug_str name = { r->call.name.ptr, r->call.name.len };
    return r->format.call_format != VUG_TOOL_CALL_LLAMA3 || vug_find_tool(r->tools, name);
}

/* Feeds a byte or VUG_CALL_QUOTE to the call. False: it is no call, and the symbol was not read. */
static bool feed_call(vug_response_parser *r, int symbol)
{
    const size_t pending = r->call.matched;
    const size_t before = r->call.args.len;
    if (!vug_call_parser_step(&r->call, symbol) ||
        (r->call.named && !r->call_named && !is_allowed_call(r))) {
        drop_call(r, pending);
        return false;
    }
    if (symbol == VUG_CALL_QUOTE)
        vug_buf_puts(&r->call_text, r->format.marker[VUG_MARKER_QUOTE]);
    else
        vug_buf_append(&r->call_text, &(char){ (char)symbol }, 1);
    const vug_buf *args = &r->call.args;
    size_t from = before;
    if (r->call.named && !r->call_named) {
        vug_response_send(r, VUG_PART_CALL, (vug_str){ r->call.name.ptr, r->call.name.len });
        r->call_named = true;
        from = 0;
    }
    if (r->call_named && args->len > from)
        vug_response_write(r, VUG_PART_ARGUMENTS, args->ptr + from, args->len - from);
    return true;
}

/* ---- markers ---------------------------------------------------------------------------------- */

static void on_marker(vug_response_parser *r, vug_marker marker)
{
    const char *spelling = r->format.marker[marker];
    if (r->state == VUG_RESPONSE_IN_THINKING)
        vug_response_close_thinking(r);
    else if (marker == VUG_MARKER_THINK)
        vug_response_open_thinking(r);
    else
        open_call(r, spelling);
}

/* Whether the marker has a meaning in the current state. */
static bool has_meaning(const vug_response_parser *r, vug_marker marker)
{
    if (r->state == VUG_RESPONSE_IN_THINKING)
        return marker == VUG_MARKER_THINK_END;
    if (marker == VUG_MARKER_THINK)
        return r->by_id[marker] || (!r->has_content && r->n_calls == 0);
    return marker == VUG_MARKER_CALL;
}

/* The marker whose spelling begins with the `n` bytes at `text`; COUNT: none. */
static vug_marker find_spelled_marker(const vug_response_parser *r, const char *text, size_t n)
{
    for (int m = 0; m < VUG_MARKER_COUNT; m++) {
        const char *marker = r->format.marker[m];
        if (marker && !r->by_id[m] && has_meaning(r, (vug_marker)m) &&
            strncmp(marker, text, n) == 0)
            return (vug_marker)m;
    }
    return VUG_MARKER_COUNT;
}

/* A byte outside calls. Every marker begins with '<' and has no other '<'. */
static void feed_text_byte(vug_response_parser *r, char b)
{
    if (b == '{' && r->format.call_format == VUG_TOOL_CALL_LLAMA3 &&
        r->format.marker[VUG_MARKER_CALL] && r->tools && r->state == VUG_RESPONSE_IN_CONTENT &&
        !r->has_content && r->n_held == 0) {
        open_call(r, "");
        (void)feed_call(r, b);
        return;
    }
    vug_marker marker = VUG_MARKER_COUNT;
    if (r->n_held < VUG_MARKER_MAX_BYTES - 1 && b) {
        r->held[r->n_held] = b;
        marker = find_spelled_marker(r, r->held, r->n_held + 1);
    }
    if (marker != VUG_MARKER_COUNT) {
        r->n_held++;
        if (r->format.marker[marker][r->n_held] == '\0') {
            r->n_held = 0;
            on_marker(r, marker);
        }
        return;
    }
    const size_t held = r->n_held;
    r->n_held = 0;
    vug_response_write_text(r, r->held, held);
    if (held && b == '<')
        feed_text_byte(r, b);
    else
        vug_response_write_text(r, &b, 1);
}

/* The marker that closes the call, or opens the next one where that is missing, if the bytes
 * held back and `b` begin it; or NULL. */
static const char *closing_marker(const vug_response_parser *r, char b)
{
    static const vug_marker markers[] = { VUG_MARKER_CALL_END, VUG_MARKER_CALL };
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        const char *marker = r->format.marker[markers[i]];
        if (marker && b && r->n_held < VUG_MARKER_MAX_BYTES - 1 &&
            strncmp(marker, r->held, r->n_held) == 0 && marker[r->n_held] == b)
            return marker;
    }
    return NULL;
}

/* A byte behind a complete call, which waits for its closing marker. */
static void feed_closing_byte(vug_response_parser *r, char b)
{
    if (r->n_held == 0 && vug_call_is_blank(b)) {
        vug_buf_append(&r->call_text, &b, 1);
        return;
    }
    if (r->format.call_format == VUG_TOOL_CALL_LLAMA3 && r->n_held == 0 && (b == ';' || b == '{')) {
        close_call(r);
        if (b == '{')
            feed_text_byte(r, b);
        return;
    }
    const char *marker = closing_marker(r, b);
    if (!marker) {
        drop_call(r, r->n_held);
        feed_byte(r, b);
        return;
    }
    vug_buf_append(&r->call_text, &b, 1);
    r->held[r->n_held++] = b;
    if (marker[r->n_held] == '\0') {
        close_call(r);
        if (marker == r->format.marker[VUG_MARKER_CALL])
            open_call(r, marker);
    }
}

static void feed_byte(vug_response_parser *r, char b)
{
    if (r->stopped)
        return;
    if (r->state != VUG_RESPONSE_IN_CALL)
        feed_text_byte(r, b);
    else if (r->call.complete)
        feed_closing_byte(r, b);
    else if (!feed_call(r, (unsigned char)b))
        feed_byte(r, b);
}

/* ---- interface ------------------------------------------------------------------------------ */

static vug_status check_memory(const vug_response_parser *r, vug_err *err)
{
    if (r->failed || r->call.failed || r->out.bad || r->blanks.bad || r->call_text.bad)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: parsing an answer");
    return VUG_OK;
}

vug_status vug_response_parser_feed(vug_response_parser *r, vug_str text, vug_err *err)
{
    for (size_t i = 0; i < text.len; i++)
        feed_byte(r, text.ptr[i]);
    vug_response_flush(r, false);
    return check_memory(r, err);
}

/* A marker that came as a token. */
static void feed_marker(vug_response_parser *r, vug_marker marker, bool special)
{
    const char *spelling = r->format.marker[marker];
    if (r->state == VUG_RESPONSE_IN_CALL && r->call.complete &&
        (marker == VUG_MARKER_CALL_END || marker == VUG_MARKER_CALL)) {
        close_call(r);
        if (marker == VUG_MARKER_CALL)
            open_call(r, spelling);
    } else if (r->state == VUG_RESPONSE_IN_CALL && marker == VUG_MARKER_QUOTE &&
               !r->call.complete) {
        if (!feed_call(r, VUG_CALL_QUOTE))
            feed_marker(r, marker, special);
    } else if (r->state == VUG_RESPONSE_IN_CALL && vug_call_parser_in_text(&r->call)) {
        for (const char *s = spelling; *s; s++)
            feed_byte(r, *s);
    } else if (r->state == VUG_RESPONSE_IN_CALL) {
        drop_call(r, 0);
        feed_marker(r, marker, special);
    } else if (has_meaning(r, marker)) {
        on_marker(r, marker);
    } else if (!special) {
        vug_response_write_text(r, spelling, strlen(spelling));
    }
}

vug_status vug_response_parser_feed_marker(vug_response_parser *r, vug_marker marker, bool special,
                                           vug_err *err)
{
    const size_t held = r->n_held;
    if (r->stopped)
        return check_memory(r, err);
    if (held && r->state == VUG_RESPONSE_IN_CALL) {
        drop_call(r, 0);
    } else {
        r->n_held = 0;
        vug_response_write_text(r, r->held, held);
    }
    feed_marker(r, marker, special);
    vug_response_flush(r, false);
    return check_memory(r, err);
}

/* The answer ends inside a call, which may lack its closing marker or more. */
static void finish_call(vug_response_parser *r)
{
    if (r->call.complete)
        close_call(r);
    else if (!r->call_named)
        drop_call(r, 0);
}

vug_status vug_response_parser_finish(vug_response_parser *r, vug_err *err)
{
    if (r->decoder) {
        const char *text;
        size_t len;
        VUG_TRY(vug_decoder_finish(r->decoder, &text, &len, err));
        VUG_TRY(vug_response_parser_feed(r, (vug_str){ text, len }, err));
    }
    if (r->state == VUG_RESPONSE_IN_CALL) {
        finish_call(r);
    } else {
        vug_response_write_text(r, r->held, r->n_held);
        r->n_held = 0;
    }
    vug_response_finish_text(r);
    return check_memory(r, err);
}

bool vug_response_parser_is_thinking(const vug_response_parser *r)
{
    return r->state == VUG_RESPONSE_IN_THINKING;
}

bool vug_response_parser_is_stopped(const vug_response_parser *r)
{
    return r->stopped;
}

const char *vug_response_parser_thinking_end(const vug_response_parser *r)
{
    return r->format.thinking_end;
}

static vug_status read_tools(vug_response_parser *r, vug_str json, vug_err *err)
{
    const vug_str copy = json.len ? vug_arena_copy(&r->arena, json) : json;
    if (json.len && !copy.ptr)
        return VUG_FAIL_NOMEM(err, "tools", json.len);
    return vug_tools_read(copy, true, &r->arena, &r->tools, err);
}

vug_status vug_response_parser_create_untokenized(const vug_output_format *format, bool thinking,
                                                  vug_str tools, vug_part_fn *on_part, void *user,
                                                  vug_response_parser **out, vug_err *err)
{
    vug_response_parser *r = vug_alloc_zero(1, sizeof(*r));
    if (!r)
        return VUG_FAIL_NOMEM(err, "an answer", sizeof(*r));
    r->format = *format;
    r->on_part = on_part;
    r->user = user;
    if (thinking)
        vug_response_open_thinking(r);
    const vug_status st = read_tools(r, tools, err);
    if (st != VUG_OK) {
        vug_response_parser_destroy(r);
        return st;
    }
    *out = r;
    return VUG_OK;
}

void vug_response_parser_destroy(vug_response_parser *r)
{
    if (!r)
        return;
    vug_call_parser_release(&r->call);
    vug_buf_release(&r->call_text);
    vug_buf_release(&r->blanks);
    vug_buf_release(&r->out);
    vug_arena_release(&r->arena);
    vug_decoder_destroy(r->decoder);
    vug_free(r);
}
