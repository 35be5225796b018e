#include "server/http/chunked_body.h"

#include "core/number.h"
#include "server/http/request_head.h"

/* RFC 9112, section 7.1. Extensions and trailers are checked and then ignored. */
enum {
    SIZE, /* before the first digit */
    DIGITS,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER, /* before the first byte of its line */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    DONE,
};

static bool is_text_byte(char c)
{
    return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

/* A byte of the line before a chunk, after the first digit. */
static bool accept_size_byte(vug_http_chunked_body *c, char byte)
{
    const int value = c->state == DIGITS ? vug_hex_digit(byte) : -1;
    if (++c->line > VUG_HTTP_MAX_CHUNK_LINE)
        return false;
    if (value >= 0) {
        if (c->left >> 56) /* more digits than any valid size */
            return false;
        c->left = c->left * 16 + (uint64_t)value;
    } else if (byte == '\r') {
        c->state = SIZE_LF;
    } else if (c->state == DIGITS && byte == ';') {
        c->state = EXTENSION;
    } else {
        return c->state == EXTENSION && is_text_byte(byte);
    }
    return true;
}

static bool accept_trailer_byte(vug_http_chunked_body *c, char byte)
{
    if (++c->trailers > VUG_HTTP_MAX_HEAD)
        return false;
    if (byte == '\r' && c->state != TRAILER_NAME) {
        c->state = c->state == TRAILER ? LAST_LF : TRAILER_LF;
        return true;
    }
    if (c->state == TRAILER_VALUE)
        return is_text_byte(byte);
    const bool ends = byte == ':' && c->state == TRAILER_NAME;
    c->state = ends ? TRAILER_VALUE : TRAILER_NAME;
    return ends || vug_http_is_token((vug_str){ &byte, 1 });
}

/* Any byte that is not chunk data. */
static bool accept_byte(vug_http_chunked_body *c, char byte)
{
    switch (c->state) {
    case SIZE:
        c->left = 0;
        c->line = 0;
        c->state = DIGITS;
        return vug_hex_digit(byte) >= 0 && accept_size_byte(c, byte);
    case DIGITS:
    case EXTENSION:
        return accept_size_byte(c, byte);
    case SIZE_LF:
        c->state = c->left ? DATA : TRAILER;
        return byte == '\n';
    case DATA_CR:
        c->state = DATA_LF;
        return byte == '\r';
    case DATA_LF:
        c->state = SIZE;
        return byte == '\n';
    case TRAILER:
    case TRAILER_NAME:
    case TRAILER_VALUE:
        return accept_trailer_byte(c, byte);
    case TRAILER_LF:
        c->state = TRAILER;
        return byte == '\n';
    case LAST_LF:
        c->state = DONE;
        return byte == '\n';
    default:
        return false;
    }
}

vug_http_body_result vug_http_chunked_body_feed(vug_http_chunked_body *c, vug_str bytes, size_t max,
                                                vug_buf *to, size_t *used)
{
    size_t i = 0;
    while (i < bytes.len && c->state != DONE) {
        if (c->state != DATA) {
            if (!accept_byte(c, bytes.ptr[i++]))
                return VUG_HTTP_BODY_MALFORMED;
            if (c->state == DATA && c->left > max - to->len)
                return VUG_HTTP_BODY_TOO_LARGE;
            continue;
        }
        const size_t n = bytes.len - i < c->left ? bytes.len - i : (size_t)c->left;
        vug_buf_append(to, bytes.ptr + i, n);
        i += n;
        c->left -= n;
        if (!c->left)
            c->state = DATA_CR;
    }
    *used = i;
    return c->state == DONE ? VUG_HTTP_BODY_COMPLETE : VUG_HTTP_BODY_INCOMPLETE;
}
