#include "app/server/http/parse.h"

/* RFC 9112, section 7.1. Extensions and trailers are skipped, once they are seen to be such. */
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

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_text(char c)
{
    return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

/* The line before a chunk, after its first digit. */
static bool size_byte(vug_http_chunks *c, char byte)
{
    const int value = c->state == DIGITS ? digit(byte) : -1;
    if (++c->line > VUG_HTTP_MAX_CHUNK_LINE)
        return false;
    if (value >= 0) {
        if (c->left >> 56) /* no size has so many digits */
            return false;
        c->left = c->left * 16 + (uint64_t)value;
    } else if (byte == '\r') {
        c->state = SIZE_LF;
    } else if (c->state == DIGITS && byte == ';') {
        c->state = EXTENSION;
    } else {
        return c->state == EXTENSION && is_text(byte);
    }
    return true;
}

static bool trailer_byte(vug_http_chunks *c, char byte)
{
    if (++c->trailers > VUG_HTTP_MAX_HEAD)
        return false;
    if (byte == '\r' && c->state != TRAILER_NAME) {
        c->state = c->state == TRAILER ? LAST_LF : TRAILER_LF;
        return true;
    }
    if (c->state == TRAILER_VALUE)
        return is_text(byte);
    const bool ends = byte == ':' && c->state == TRAILER_NAME;
    c->state = ends ? TRAILER_VALUE : TRAILER_NAME;
    return ends || vug_http_is_token((vug_str){ &byte, 1 });
}

/* Any byte but those of data. */
static bool step(vug_http_chunks *c, char byte)
{
    switch (c->state) {
    case SIZE:
        c->left = 0;
        c->line = 0;
        c->state = DIGITS;
        return digit(byte) >= 0 && size_byte(c, byte);
    case DIGITS:
    case EXTENSION:
        return size_byte(c, byte);
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
        return trailer_byte(c, byte);
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

vug_http_progress vug_http_chunks_feed(vug_http_chunks *c, vug_str bytes, size_t max, vug_buf *to,
                                       size_t *used)
{
    size_t i = 0;
    while (i < bytes.len && c->state != DONE) {
        if (c->state != DATA) {
            if (!step(c, bytes.ptr[i++]))
                return VUG_HTTP_BAD;
            if (c->state == DATA && c->left > max - to->len)
                return VUG_HTTP_BIG;
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
    return c->state == DONE ? VUG_HTTP_DONE : VUG_HTTP_MORE;
}
