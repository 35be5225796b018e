/*
 * Tokens of a template, by the rules of jinja2/lexer.py with trim_blocks and
 * lstrip_blocks: the newline behind a %} or #} belongs to the tag, and so do the spaces
 * in front of a {% or {# that begins its line.
 */

#include <stdarg.h>
#include <stdio.h>

#include "core/text.h"
#include "text/template/ast.h"
#include "text/template/text.h"

enum { OUTSIDE, IN_VAR, IN_TAG };

void vug_lexer_fail(vug_lexer *lex, size_t at, vug_status code, const char *fmt, ...)
{
    if (lex->st != VUG_OK)
        return;
    char sentence[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    uint32_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < at && i < lex->src.len; i++) {
        if (lex->src.ptr[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    lex->st = VUG_FAIL(lex->err, code, "%s: line %u, column %zu: %s", lex->name, line,
                       at - start + 1, sentence);
}

vug_status vug_lexer_init(vug_lexer *lex, vug_str source, const char *name, vug_arena *arena,
                          vug_err *err)
{
    *lex = (vug_lexer){ .name = name, .arena = arena, .err = err, .line = 1 };
    lex->line_starts = true;
    if (source.len > VUG_TPL_MAX_SOURCE)
        return VUG_FAIL(err, VUG_FORMAT, "%s: %zu bytes, a template may have %zu", name, source.len,
                        VUG_TPL_MAX_SOURCE);
    char *to = vug_arena_alloc(arena, source.len + 1, 1);
    if (!to)
        return VUG_FAIL_NOMEM(err, "a template", source.len);
    size_t n = 0;
    for (size_t i = 0; i < source.len;) {
        uint32_t cp = 0;
        const size_t len = vug_utf8_next(source.ptr + i, source.len - i, &cp);
        if (len == 0)
            return VUG_FAIL(err, VUG_FORMAT, "%s: not UTF-8: byte 0x%02x at offset %zu", name,
                            (unsigned char)source.ptr[i], i);
        memcpy(to + n, source.ptr + i, len);
        if (cp == '\r')
            to[n] = '\n';
        n += len;
        i += len;
        if (cp == '\r' && i < source.len && source.ptr[i] == '\n')
            i++;
    }
    if (n > 0 && to[n - 1] == '\n')
        n--;
    lex->src = (vug_str){ to, n };
    return VUG_OK;
}

static bool looking_at(const vug_lexer *lex, size_t at, const char *text)
{
    return at <= lex->src.len && vug_str_starts(vug_str_from(lex->src, at), text);
}

static char byte_at(const vug_lexer *lex, size_t at)
{
    return (char)(at < lex->src.len ? lex->src.ptr[at] : '\0');
}

/* Behind the white space at `at`. */
static size_t skip_space(const vug_lexer *lex, size_t at)
{
    uint32_t cp;
    while (at < lex->src.len) {
        const size_t n = vug_utf8_next(lex->src.ptr + at, lex->src.len - at, &cp);
        if (n == 0 || !vug_py_is_space(cp))
            break;
        at += n;
    }
    return at;
}

/* The line that byte `at`, which is not before the last one asked for, lies in. */
static uint32_t line_of(vug_lexer *lex, size_t at)
{
    for (; lex->counted < at; lex->counted++)
        lex->line += lex->src.ptr[lex->counted] == '\n';
    return lex->line;
}

static void move(vug_lexer *lex, size_t to)
{
    if (to > lex->at)
        lex->line_starts = lex->src.ptr[to - 1] == '\n';
    lex->at = to;
}

static vug_token token_of(vug_lexer *lex, vug_token_kind kind, size_t from, size_t to)
{
    return (vug_token){ .kind = kind,
                        .line = line_of(lex, from),
                        .at = from,
                        .text = { lex->src.ptr + from, to - from } };
}

/* ---- outside of tags ------------------------------------------------------------ */

/* Where the text [from, tag) ends, given the sign behind the tag's opening bracket. */
static size_t text_end(const vug_lexer *lex, size_t from, size_t tag, char sign, bool is_var)
{
    if (sign == '-') {
        const vug_tstr text = { lex->src.ptr + from, tag - from, NULL };
        return from + vug_tstr_strip(NULL, text, NULL, VUG_STRIP_RIGHT).len;
    }
    if (sign == '+' || is_var)
        return tag;
    size_t line = tag;
    while (line > from && lex->src.ptr[line - 1] != '\n')
        line--;
    const bool starts = line > from || lex->line_starts;
    return starts && skip_space(lex, line) >= tag ? line : tag;
}

/* Behind "%}" with its signs at `at`, or 0 where there is none. */
static size_t close_tag(const vug_lexer *lex, size_t at)
{
    if (looking_at(lex, at, "-%}"))
        return skip_space(lex, at + 3);
    if (looking_at(lex, at, "+%}"))
        return at + 3;
    if (looking_at(lex, at, "%}"))
        return at + 2 + (byte_at(lex, at + 2) == '\n');
    return 0;
}

static size_t skip_comment(vug_lexer *lex, size_t tag, size_t at)
{
    for (size_t end = at; end + 1 < lex->src.len; end++) {
        if (!looking_at(lex, end, "#}"))
            continue;
        const char sign = (char)(end > at ? lex->src.ptr[end - 1] : '\0');
        if (sign == '-')
            return skip_space(lex, end + 2);
        return end + 2 + (sign != '+' && byte_at(lex, end + 2) == '\n');
    }
    vug_lexer_fail(lex, tag, VUG_FORMAT, "a comment that has no end");
    return lex->src.len;
}

/* Behind "{% NAME", where `at` is behind the bracket and its sign; 0: another tag. */
static size_t skip_tag_name(const vug_lexer *lex, size_t at, const char *name)
{
    at = skip_space(lex, at);
    return looking_at(lex, at, name) ? skip_space(lex, at + strlen(name)) : 0;
}

static bool has_sign(const vug_lexer *lex, size_t at)
{
    return byte_at(lex, at) == '-' || byte_at(lex, at) == '+';
}

/* '-', '+' or '\0'. */
static char sign_at(const vug_lexer *lex, size_t at)
{
    return (char)(has_sign(lex, at) ? byte_at(lex, at) : '\0');
}

/* The text of a raw block, whose opening tag ends at `from`. */
static vug_token raw_text(vug_lexer *lex, size_t from)
{
    for (size_t tag = from; tag + 1 < lex->src.len; tag++) {
        if (!looking_at(lex, tag, "{%"))
            continue;
        const bool sign = has_sign(lex, tag + 2);
        const size_t name = skip_tag_name(lex, tag + 2 + sign, "endraw");
        const size_t end = name ? close_tag(lex, name) : 0;
        if (!end)
            continue;
        const size_t stop = text_end(lex, from, tag, sign_at(lex, tag + 2), false);
        move(lex, end);
        return token_of(lex, VUG_T_TEXT, from, stop);
    }
    vug_lexer_fail(lex, from, VUG_FORMAT, "a raw block that has no end");
    return (vug_token){ 0 };
}

/* Behind the opening tag of a raw block at `tag`, or 0. */
static size_t raw_begins(const vug_lexer *lex, size_t tag)
{
    const size_t at = skip_tag_name(lex, tag + 2 + has_sign(lex, tag + 2), "raw");
    if (at && looking_at(lex, at, "-%}"))
        return skip_space(lex, at + 3);
    return at && looking_at(lex, at, "%}") ? at + 2 : 0;
}

/* The tag at `tag`, with the text before it already taken. */
static vug_token open_tag(vug_lexer *lex, size_t tag)
{
    const size_t inside = tag + 2 + has_sign(lex, tag + 2);
    const char kind = lex->src.ptr[tag + 1];
    const size_t raw = kind == '%' ? raw_begins(lex, tag) : 0;
    if (raw) {
        move(lex, raw);
        return raw_text(lex, raw);
    }
    if (kind == '#') {
        move(lex, skip_comment(lex, tag, inside));
        return (vug_token){ .kind = VUG_T_TEXT };
    }
    move(lex, inside);
    lex->mode = kind == '{' ? IN_VAR : IN_TAG;
    return token_of(lex, kind == '{' ? VUG_T_OPEN_VAR : VUG_T_OPEN_TAG, tag, inside);
}

static vug_token next_outside(vug_lexer *lex)
{
    const size_t from = lex->at;
    size_t tag = from;
    while (tag < lex->src.len && !looking_at(lex, tag, "{{") && !looking_at(lex, tag, "{%") &&
           !looking_at(lex, tag, "{#"))
        tag++;
    if (tag >= lex->src.len) {
        move(lex, lex->src.len);
        return token_of(lex, from < lex->src.len ? VUG_T_TEXT : VUG_T_END, from, lex->src.len);
    }
    const char sign = sign_at(lex, tag + 2);
    const size_t end = text_end(lex, from, tag, sign, lex->src.ptr[tag + 1] == '{');
    if (end > from) {
        const vug_token text = token_of(lex, VUG_T_TEXT, from, end);
        lex->at = tag; /* line_starts is as it was, for the tag knows of no text before it */
        lex->line_starts = false;
        return text;
    }
    return open_tag(lex, tag);
}

/* ---- inside of tags --------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

/* Digits with single underscores between. */
static size_t skip_digits(const vug_lexer *lex, size_t at)
{
    while (is_digit(byte_at(lex, at)) ||
           (byte_at(lex, at) == '_' && is_digit(byte_at(lex, at + 1))))
        at++;
    return at;
}

static size_t float_end(const vug_lexer *lex, size_t digits)
{
    size_t end = digits;
    if (byte_at(lex, end) == '.' && is_digit(byte_at(lex, end + 1)))
        end = skip_digits(lex, end + 1);
    const char e = byte_at(lex, end);
    if (e == 'e' || e == 'E') {
        const size_t sign = byte_at(lex, end + 1) == '+' || byte_at(lex, end + 1) == '-';
        if (is_digit(byte_at(lex, end + 1 + sign)))
            end = skip_digits(lex, end + 1 + sign);
    }
    return end;
}

static size_t radix_end(const vug_lexer *lex, size_t at)
{
    size_t end = at + 2;
    while (is_name(byte_at(lex, end)) && (unsigned char)byte_at(lex, end) < 0x80)
        end++;
    return end;
}

static vug_token number(vug_lexer *lex)
{
    const size_t from = lex->at;
    size_t end = skip_digits(lex, from);
    const char radix = byte_at(lex, from + 1);
    const bool prefixed = byte_at(lex, from) == '0' && radix && strchr("xXoObB", radix);
    const size_t real = prefixed ? end : float_end(lex, end);
    vug_token t;
    if (real > end) {
        t = token_of(lex, VUG_T_NUMBER, from, end = real);
        t.value = vug_tv_float(0);
        if (!vug_parse_py_float(t.text, &t.value.f64))
            vug_lexer_fail(lex, from, VUG_FORMAT, "a number that is none");
    } else {
        end = prefixed ? radix_end(lex, from) : end;
        t = token_of(lex, VUG_T_NUMBER, from, end);
        t.value = vug_tv_int(0);
        if (!vug_parse_py_int(t.text, 0, &t.value.i64))
            vug_lexer_fail(lex, from, VUG_FORMAT,
                           "expected a whole number of at most 64 bits, found %.*s",
                           VUG_STR_ARG(t.text));
    }
    move(lex, end);
    return t;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The code point of `digits` hexadecimal digits at `at`. */
static uint32_t hex(vug_lexer *lex, size_t at, int digits)
{
    uint32_t cp = 0;
    for (int i = 0; i < digits; i++) {
        const int d = hex_digit(byte_at(lex, at + (size_t)i));
        if (d < 0) {
            vug_lexer_fail(lex, at, VUG_FORMAT, "expected %d hexadecimal digits", digits);
            return 0;
        }
        cp = cp << 4 | (uint32_t)d;
    }
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        vug_lexer_fail(lex, at, VUG_FORMAT, "an escape that stands for no character");
    return cp;
}

/* The escape behind the backslash at `at`: writes what it stands for to to[*n], returns
 * where it ends. */
static size_t escape(vug_lexer *lex, size_t at, char *to, size_t *n)
{
    static const char letter[] = "abfnrtv\\'\"";
    static const char stands[] = "\a\b\f\n\r\t\v\\'\"";
    const char c = byte_at(lex, at + 1);
    const char *simple = c ? strchr(letter, c) : NULL;
    if (simple) {
        to[(*n)++] = stands[simple - letter];
        return at + 2;
    }
    if (c == '\n')
        return at + 2;
    if (c == 'N') {
        vug_lexer_fail(lex, at, VUG_UNSUPPORTED, "characters by name, \\N, are not read");
        return at + 2;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits) {
        *n += vug_utf8_put(hex(lex, at + 2, digits), to + *n);
        return at + 2 + (size_t)digits;
    }
    if (c >= '0' && c <= '7') {
        uint32_t cp = 0;
        size_t end = at + 1;
        for (; end < at + 4 && byte_at(lex, end) >= '0' && byte_at(lex, end) <= '7'; end++)
            cp = cp << 3 | (uint32_t)(byte_at(lex, end) - '0');
        *n += vug_utf8_put(cp, to + *n);
        return end;
    }
    to[(*n)++] = '\\';
    return at + 1;
}

static vug_token string(vug_lexer *lex)
{
    const size_t from = lex->at;
    const char quote = lex->src.ptr[from];
    size_t end = from + 1;
    while (end < lex->src.len && lex->src.ptr[end] != quote)
        end += lex->src.ptr[end] == '\\' ? 2 : 1;
    if (end >= lex->src.len) {
        vug_lexer_fail(lex, from, VUG_FORMAT, "a string that has no end");
        return (vug_token){ 0 };
    }
    vug_token t = token_of(lex, VUG_T_STRING, from, end + 1);
    /* No escape is longer than what it is spelled with. */
    char *to = vug_arena_alloc(lex->arena, end - from + 4, 1);
    if (!to) {
        vug_lexer_fail(lex, from, VUG_NOMEM, "out of memory for a string");
        return t;
    }
    size_t n = 0;
    for (size_t at = from + 1; at < end && lex->st == VUG_OK;) {
        if (lex->src.ptr[at] == '\\')
            at = escape(lex, at, to, &n);
        else
            to[n++] = lex->src.ptr[at++];
    }
    t.value = vug_tv_string((vug_tstr){ to, n, NULL });
    move(lex, end + 1);
    return t;
}

static bool bracket(vug_lexer *lex, size_t at, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        if (lex->n_open == VUG_TPL_MAX_DEPTH) {
            vug_lexer_fail(lex, at, VUG_FORMAT, "more than %d brackets inside of each other",
                           VUG_TPL_MAX_DEPTH);
            return false;
        }
        lex->open[lex->n_open++] = (char)(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
        if (lex->n_open == 0 || lex->open[lex->n_open - 1] != c) {
            vug_lexer_fail(lex, at, VUG_FORMAT, "unexpected '%c'", c);
            return false;
        }
        lex->n_open--;
    }
    return true;
}

static vug_token operator_at(vug_lexer *lex)
{
    static const char two[][3] = { "//", "**", "==", "!=", ">=", "<=" };
    const size_t from = lex->at;
    const char c = lex->src.ptr[from];
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
        if (looking_at(lex, from, two[i])) {
            vug_token t = token_of(lex, VUG_T_OP, from, from + 2);
            t.op = VUG_OP2(two[i][0], two[i][1]);
            move(lex, from + 2);
            return t;
        }
    }
    if (!strchr("+-/*%~[](){}><=.:|,;", c)) {
        vug_lexer_fail(lex, from, VUG_FORMAT, "unexpected character '%c'", c >= ' ' ? c : '?');
        return (vug_token){ 0 };
    }
    if (!bracket(lex, from, c))
        return (vug_token){ 0 };
    vug_token t = token_of(lex, VUG_T_OP, from, from + 1);
    t.op = (unsigned char)c;
    move(lex, from + 1);
    return t;
}

/* The end of the tag at the reader, or a token with kind VUG_T_END. */
static vug_token tag_end(vug_lexer *lex)
{
    const size_t from = lex->at;
    size_t end = 0;
    if (lex->mode == IN_TAG)
        end = close_tag(lex, from);
    else if (looking_at(lex, from, "-}}"))
        end = skip_space(lex, from + 3);
    else if (looking_at(lex, from, "}}"))
        end = from + 2;
    if (!end)
        return (vug_token){ 0 };
    const vug_token t =
            token_of(lex, lex->mode == IN_TAG ? VUG_T_CLOSE_TAG : VUG_T_CLOSE_VAR, from, from + 2);
    lex->mode = OUTSIDE;
    move(lex, end);
    return t;
}

static vug_token next_inside(vug_lexer *lex)
{
    if (lex->n_open == 0) {
        const vug_token end = tag_end(lex);
        if (end.kind != VUG_T_END)
            return end;
    }
    const size_t start = skip_space(lex, lex->at);
    if (start > lex->at) {
        move(lex, start);
        return next_inside(lex); /* once: what follows is not white space */
    }
    if (lex->at >= lex->src.len) {
        if (lex->n_open)
            vug_lexer_fail(lex, lex->at, VUG_FORMAT, "unexpected end, expected '%c'",
                           lex->open[lex->n_open - 1]);
        else
            vug_lexer_fail(lex, lex->at, VUG_FORMAT, "unexpected end inside of a tag");
        return (vug_token){ 0 };
    }
    const char c = lex->src.ptr[lex->at];
    if (is_digit(c))
        return number(lex);
    if (c == '"' || c == '\'')
        return string(lex);
    if (!is_name(c))
        return operator_at(lex);
    size_t end = lex->at;
    while (is_name(byte_at(lex, end)))
        end++;
    const vug_token t = token_of(lex, VUG_T_NAME, lex->at, end);
    move(lex, end);
    return t;
}

vug_token vug_lexer_next(vug_lexer *lex)
{
    vug_token t = { .kind = VUG_T_TEXT };
    while (lex->st == VUG_OK && t.kind == VUG_T_TEXT && t.text.len == 0)
        t = lex->mode == OUTSIDE ? next_outside(lex) : next_inside(lex);
    return lex->st == VUG_OK ? t : (vug_token){ .kind = VUG_T_END, .at = lex->at };
}
