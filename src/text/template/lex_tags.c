/* Tokens inside {{ }} and {% %}. */

#include "core/number.h"
#include "core/utf8.h"
#include "text/template/template_lexer.h"
#include "text/template/template_strings.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

/* Skips digits, which single underscores may separate. */
static size_t skip_digits(const vug_tmpl_lexer *lex, size_t at)
{
    while (is_digit(vug_tmpl_lexer_byte(lex, at)) ||
           (vug_tmpl_lexer_byte(lex, at) == '_' && is_digit(vug_tmpl_lexer_byte(lex, at + 1))))
        at++;
    return at;
}

static size_t float_end(const vug_tmpl_lexer *lex, size_t digits)
{
    size_t end = digits;
    if (vug_tmpl_lexer_byte(lex, end) == '.' && is_digit(vug_tmpl_lexer_byte(lex, end + 1)))
        end = skip_digits(lex, end + 1);
    const char e = vug_tmpl_lexer_byte(lex, end);
    if (e == 'e' || e == 'E') {
        const size_t sign = vug_tmpl_lexer_byte(lex, end + 1) == '+' ||
                            vug_tmpl_lexer_byte(lex, end + 1) == '-';
        if (is_digit(vug_tmpl_lexer_byte(lex, end + 1 + sign)))
            end = skip_digits(lex, end + 1 + sign);
    }
    return end;
}

static size_t radix_end(const vug_tmpl_lexer *lex, size_t at)
{
    size_t end = at + 2;
    while (is_name_byte(vug_tmpl_lexer_byte(lex, end)) &&
           (unsigned char)vug_tmpl_lexer_byte(lex, end) < 0x80)
        end++;
    return end;
}

static vug_tmpl_token read_number(vug_tmpl_lexer *lex)
{
    const size_t from = lex->at;
    size_t end = skip_digits(lex, from);
    const char radix = vug_tmpl_lexer_byte(lex, from + 1);
    const bool prefixed = vug_tmpl_lexer_byte(lex, from) == '0' && radix && strchr("xXoObB", radix);
    const size_t real = prefixed ? end : float_end(lex, end);
    vug_tmpl_token t;
    if (real > end) {
        t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_NUMBER, from, end = real);
        t.value = vug_tmpl_float(0);
        if (!vug_tmpl_parse_float(t.text, &t.value.f64))
            vug_tmpl_lexer_fail(lex, from, VUG_FORMAT, "an invalid number");
    } else {
        end = prefixed ? radix_end(lex, from) : end;
        t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_NUMBER, from, end);
        t.value = vug_tmpl_int(0);
        if (!vug_tmpl_parse_int(t.text, 0, &t.value.i64))
            vug_tmpl_lexer_fail(lex, from, VUG_FORMAT,
                                "expected a whole number of at most 64 bits, found %.*s",
                                VUG_STR_ARG(t.text));
    }
    vug_tmpl_lexer_move(lex, end);
    return t;
}

/* The code point of `digits` hexadecimal digits at `at`. */
static uint32_t read_hex(vug_tmpl_lexer *lex, size_t at, int digits)
{
    uint32_t cp = 0;
    for (int i = 0; i < digits; i++) {
        const int d = vug_hex_digit(vug_tmpl_lexer_byte(lex, at + (size_t)i));
        if (d < 0) {
            vug_tmpl_lexer_fail(lex, at, VUG_FORMAT, "expected %d hexadecimal digits", digits);
            return 0;
        }
        cp = cp << 4 | (uint32_t)d;
    }
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        vug_tmpl_lexer_fail(lex, at, VUG_FORMAT, "an escape of an invalid character");
    return cp;
}

/* Decodes the escape at the backslash `at` to to[*n]; returns the offset behind it. */
static size_t read_escape(vug_tmpl_lexer *lex, size_t at, char *to, size_t *n)
{
    static const char letter[] = "abfnrtv\\'\"";
    static const char stands[] = "\a\b\f\n\r\t\v\\'\"";
    const char c = vug_tmpl_lexer_byte(lex, at + 1);
    const char *simple = c ? strchr(letter, c) : NULL;
    if (simple) {
        to[(*n)++] = stands[simple - letter];
        return at + 2;
    }
    if (c == '\n')
        return at + 2;
    if (c == 'N') {
        vug_tmpl_lexer_fail(lex, at, VUG_UNSUPPORTED, "characters by name, \\N, are not supported");
        return at + 2;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits) {
        *n += vug_utf8_encode(read_hex(lex, at + 2, digits), to + *n);
        return at + 2 + (size_t)digits;
    }
    if (c >= '0' && c <= '7') {
        uint32_t cp = 0;
        size_t end = at + 1;
        for (; end < at + 4 && vug_tmpl_lexer_byte(lex, end) >= '0' &&
               vug_tmpl_lexer_byte(lex, end) <= '7';
             end++)
            cp = cp << 3 | (uint32_t)(vug_tmpl_lexer_byte(lex, end) - '0');
        *n += vug_utf8_encode(cp, to + *n);
        return end;
    }
    to[(*n)++] = '\\';
    return at + 1;
}

static vug_tmpl_token read_string(vug_tmpl_lexer *lex)
{
    const size_t from = lex->at;
    const char quote = lex->src.ptr[from];
    size_t end = from + 1;
    while (end < lex->src.len && lex->src.ptr[end] != quote)
        end += lex->src.ptr[end] == '\\' ? 2 : 1;
    if (end >= lex->src.len) {
        vug_tmpl_lexer_fail(lex, from, VUG_FORMAT, "an unterminated string");
        return (vug_tmpl_token){ 0 };
    }
    vug_tmpl_token t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_STRING, from, end + 1);
    /* No decoded escape is longer than its spelling. */
    char *to = vug_arena_alloc(lex->arena, end - from + 4, 1);
    if (!to) {
        vug_tmpl_lexer_fail(lex, from, VUG_NOMEM, "out of memory for a string");
        return t;
    }
    size_t n = 0;
    for (size_t at = from + 1; at < end && lex->st == VUG_OK;) {
        if (lex->src.ptr[at] == '\\')
            at = read_escape(lex, at, to, &n);
        else
            to[n++] = lex->src.ptr[at++];
    }
    t.value = vug_tmpl_string((vug_tmpl_str){ to, n, NULL });
    vug_tmpl_lexer_move(lex, end + 1);
    return t;
}

static bool track_bracket(vug_tmpl_lexer *lex, size_t at, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        if (lex->n_open == VUG_TMPL_MAX_NESTING) {
            vug_tmpl_lexer_fail(lex, at, VUG_FORMAT, "more than %d nested brackets",
                                VUG_TMPL_MAX_NESTING);
            return false;
        }
        lex->open[lex->n_open++] = (char)(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
        if (lex->n_open == 0 || lex->open[lex->n_open - 1] != c) {
            vug_tmpl_lexer_fail(lex, at, VUG_FORMAT, "unexpected '%c'", c);
            return false;
        }
        lex->n_open--;
    }
    return true;
}

static vug_tmpl_token read_operator(vug_tmpl_lexer *lex)
{
    static const char two[][3] = { "//", "**", "==", "!=", ">=", "<=" };
    const size_t from = lex->at;
    const char c = lex->src.ptr[from];
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
        if (vug_tmpl_lexer_looking_at(lex, from, two[i])) {
            vug_tmpl_token t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_OP, from, from + 2);
            t.op = VUG_TMPL_OP2(two[i][0], two[i][1]);
            vug_tmpl_lexer_move(lex, from + 2);
            return t;
        }
    }
    if (!strchr("+-/*%~[](){}><=.:|,;", c)) {
        vug_tmpl_lexer_fail(lex, from, VUG_FORMAT, "unexpected character '%c'", c >= ' ' ? c : '?');
        return (vug_tmpl_token){ 0 };
    }
    if (!track_bracket(lex, from, c))
        return (vug_tmpl_token){ 0 };
    vug_tmpl_token t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_OP, from, from + 1);
    t.op = (unsigned char)c;
    vug_tmpl_lexer_move(lex, from + 1);
    return t;
}

/* The token that closes the tag here; its kind is VUG_TMPL_TOKEN_END where there is none. */
static vug_tmpl_token tag_end(vug_tmpl_lexer *lex)
{
    const size_t from = lex->at;
    size_t end = 0;
    if (lex->mode == VUG_TMPL_LEX_TAG)
        end = vug_tmpl_lexer_tag_end(lex, from);
    else if (vug_tmpl_lexer_looking_at(lex, from, "-}}"))
        end = vug_tmpl_lexer_skip_space(lex, from + 3);
    else if (vug_tmpl_lexer_looking_at(lex, from, "}}"))
        end = from + 2;
    if (!end)
        return (vug_tmpl_token){ 0 };
    const vug_tmpl_token t = vug_tmpl_lexer_token(
            lex,
            lex->mode == VUG_TMPL_LEX_TAG ? VUG_TMPL_TOKEN_CLOSE_TAG : VUG_TMPL_TOKEN_CLOSE_VAR,
            from, from + 2);
    lex->mode = VUG_TMPL_LEX_TEXT;
    vug_tmpl_lexer_move(lex, end);
    return t;
}

static vug_tmpl_token next_inside(vug_tmpl_lexer *lex)
{
    if (lex->n_open == 0) {
        const vug_tmpl_token end = tag_end(lex);
        if (end.kind != VUG_TMPL_TOKEN_END)
            return end;
    }
    const size_t start = vug_tmpl_lexer_skip_space(lex, lex->at);
    if (start > lex->at) {
        vug_tmpl_lexer_move(lex, start);
        return next_inside(lex); /* recurses once: no white space follows */
    }
    if (lex->at >= lex->src.len) {
        if (lex->n_open)
            vug_tmpl_lexer_fail(lex, lex->at, VUG_FORMAT, "unexpected end, expected '%c'",
                                lex->open[lex->n_open - 1]);
        else
            vug_tmpl_lexer_fail(lex, lex->at, VUG_FORMAT, "unexpected end inside a tag");
        return (vug_tmpl_token){ 0 };
    }
    const char c = lex->src.ptr[lex->at];
    if (is_digit(c))
        return read_number(lex);
    if (c == '"' || c == '\'')
        return read_string(lex);
    if (!is_name_byte(c))
        return read_operator(lex);
    size_t end = lex->at;
    while (is_name_byte(vug_tmpl_lexer_byte(lex, end)))
        end++;
    const vug_tmpl_token t = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_NAME, lex->at, end);
    vug_tmpl_lexer_move(lex, end);
    return t;
}

vug_tmpl_token vug_tmpl_lexer_next(vug_tmpl_lexer *lex)
{
    vug_tmpl_token t = { .kind = VUG_TMPL_TOKEN_TEXT };
    while (lex->st == VUG_OK && t.kind == VUG_TMPL_TOKEN_TEXT && t.text.len == 0)
        t = lex->mode == VUG_TMPL_LEX_TEXT ? vug_tmpl_lexer_next_text(lex) : next_inside(lex);
    return lex->st == VUG_OK ? t : (vug_tmpl_token){ .kind = VUG_TMPL_TOKEN_END, .at = lex->at };
}
