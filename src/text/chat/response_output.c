/* The text of an answer: which of its bytes are content or thinking, and sending them. */

#include "core/utf8.h"
#include "text/chat/response_parser.h"

/* ---- parts ---------------------------------------------------------------------------- */

static void send_part(vug_response_parser *r, vug_part_kind kind, const char *text, size_t len)
{
    const vug_part part = { .kind = kind, .call = r->n_calls, .text = text, .len = len };
    r->stopped = r->stopped || !r->on_part(&part, r->user);
}

/* How many bytes at the end of a text begin a character without completing it. */
static size_t incomplete_bytes(const char *text, size_t n)
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

void vug_response_flush(vug_response_parser *r, bool all)
{
    char *text = r->out.ptr;
    if (!text)
        return;
    const size_t keep = all ? 0 : incomplete_bytes(text, r->out.len);
    const size_t n = r->out.len - keep;
    if (n)
        send_part(r, r->out_kind, text, n);
    memmove(text, text + n, keep);
    r->out.len = keep;
}

void vug_response_write(vug_response_parser *r, vug_part_kind kind, const char *bytes, size_t n)
{
    if (kind != r->out_kind)
        vug_response_flush(r, true);
    r->out_kind = kind;
    vug_buf_append(&r->out, bytes, n);
}

void vug_response_send(vug_response_parser *r, vug_part_kind kind, vug_str text)
{
    vug_response_flush(r, true);
    send_part(r, kind, text.ptr ? text.ptr : "", text.len);
}

/* ---- content ---------------------------------------------------------------------------- */

/* Writes the white space that was held back: it is content after all. Line ends between a
 * marker and the first content are not. */
static void write_blanks(vug_response_parser *r)
{
    size_t from = 0;
    if (r->after_marker && !r->has_content) {
        while (from < r->blanks.len && (r->blanks.ptr[from] == '\n' || r->blanks.ptr[from] == '\r'))
            from++;
    }
    if (r->blanks.len > from)
        vug_response_write(r, VUG_PART_CONTENT, r->blanks.ptr + from, r->blanks.len - from);
    r->blanks.len = 0;
    r->after_marker = false;
}

void vug_response_write_content(vug_response_parser *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (vug_call_is_blank(bytes[i])) {
            vug_buf_append(&r->blanks, &bytes[i], 1);
            continue;
        }
        write_blanks(r);
        vug_response_write(r, VUG_PART_CONTENT, &bytes[i], 1);
        r->has_content = true;
    }
}

/* ---- thinking ------------------------------------------------------------------------------ */

static const char *thinking_label(const vug_response_parser *r)
{
    return r->format.thinking_label ? r->format.thinking_label : "";
}

/* Thinking begins behind its label and line ends, and ends before line ends. */
static void write_thinking_byte(vug_response_parser *r, char b)
{
    const char *label = thinking_label(r);
    if (label[r->label_matched] && label[r->label_matched] == b) {
        r->label_matched++;
        return;
    }
    const size_t part_of_label = label[r->label_matched] ? r->label_matched : 0;
    if (part_of_label) {
        vug_response_write(r, VUG_PART_THINKING, label, part_of_label);
        r->after_marker = false;
    }
    r->label_matched = strlen(label);
    if (b == '\n') {
        if (!r->after_marker)
            vug_buf_append(&r->blanks, &b, 1);
        return;
    }
    vug_response_write(r, VUG_PART_THINKING, r->blanks.ptr ? r->blanks.ptr : "", r->blanks.len);
    vug_response_write(r, VUG_PART_THINKING, &b, 1);
    r->blanks.len = 0;
    r->after_marker = false;
}

void vug_response_open_thinking(vug_response_parser *r)
{
    r->state = VUG_RESPONSE_IN_THINKING;
    r->label_matched = 0;
    r->blanks.len = 0;
    r->after_marker = true;
}

void vug_response_close_thinking(vug_response_parser *r)
{
    const char *label = thinking_label(r);
    /* A label that lacks only its line end is still the label. */
    if (r->label_matched && r->label_matched + 1 < strlen(label))
        vug_response_write(r, VUG_PART_THINKING, label, r->label_matched);
    r->state = VUG_RESPONSE_IN_CONTENT;
    r->blanks.len = 0;
    r->after_marker = true;
}

void vug_response_write_text(vug_response_parser *r, const char *bytes, size_t n)
{
    if (r->state != VUG_RESPONSE_IN_THINKING) {
        vug_response_write_content(r, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        write_thinking_byte(r, bytes[i]);
}

void vug_response_finish_text(vug_response_parser *r)
{
    const bool thinking = r->state == VUG_RESPONSE_IN_THINKING;
    if (r->blanks.len && (thinking || !r->after_marker))
        vug_response_write(r, thinking ? VUG_PART_THINKING : VUG_PART_CONTENT, r->blanks.ptr,
                           r->blanks.len);
    r->blanks.len = 0;
    vug_response_flush(r, true);
}
