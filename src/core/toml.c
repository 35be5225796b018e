/* A reader for the subset of TOML that toml.h describes. */
#include "core/toml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/utf8.h"

vug_toml vug_toml_over(vug_str text, const char *file)
{
    return (vug_toml){ .rest = text, .file = file, .table = { "", 0 } };
}

void vug_toml_fail(vug_toml *t, int line, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (t->st != VUG_OK)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    t->st = VUG_FAIL(&t->err, VUG_FORMAT, "%s: line %d: %s", t->file, line, text);
}

/* ---- characters ------------------------------------------------------------ */

static void skip_blanks(vug_str *s)
{
    while (s->len > 0 && (*s->ptr == ' ' || *s->ptr == '\t')) {
        s->ptr++;
        s->len--;
    }
}

static bool skip_char(vug_str *s, char c)
{
    if (s->len == 0 || *s->ptr != c)
        return false;
    s->ptr++;
    s->len--;
    return true;
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || vug_is_digit(c) || c == '_' ||
           c == '-';
}

/* The longest prefix of bare characters. */
static vug_str take_bare(vug_str *s)
{
    vug_str word = { s->ptr, 0 };
    while (s->len > 0 && is_bare(*s->ptr)) {
        s->ptr++;
        s->len--;
        word.len++;
    }
    return word;
}

/* Valid UTF-8 with no control characters except tabs. */
static bool is_text(vug_str line)
{
    while (line.len > 0) {
        uint32_t c;
        const size_t n = vug_utf8_decode(line.ptr, line.len, &c);
        if (n == 0 || (c < 0x20 && c != '\t') || c == 0x7f)
            return false;
        line.ptr += n;
        line.len -= n;
    }
    return true;
}

/* ---- a line ------------------------------------------------------------------ */

static bool next_line(vug_toml *t, vug_str *line)
{
    if (t->rest.len == 0)
        return false;
    const char *end = memchr(t->rest.ptr, '\n', t->rest.len);
    const size_t n = end ? (size_t)(end - t->rest.ptr) : t->rest.len;
    *line = (vug_str){ t->rest.ptr, n };
    t->rest.ptr += n + (end ? 1 : 0);
    t->rest.len -= n + (end ? 1 : 0);
    t->line++;
    if (end && n > 0 && line->ptr[n - 1] == '\r')
        line->len--;
    if (line->len > VUG_TOML_MAX_LINE)
        vug_toml_fail(t, t->line, "%zu bytes, a line may have at most %d", line->len,
                      VUG_TOML_MAX_LINE);
    else if (!is_text(*line))
        vug_toml_fail(t, t->line, "contains a control character or invalid UTF-8");
    return t->st == VUG_OK;
}

/* Only a comment may follow. */
static void expect_line_end(vug_toml *t, vug_str rest)
{
    skip_blanks(&rest);
    if (rest.len > 0 && *rest.ptr != '#')
        vug_toml_fail(t, t->line, "expected the end of the line, found '%.*s'", VUG_STR_ARG(rest));
}

static void read_table(vug_toml *t, vug_str line, vug_toml_entry *out)
{
    if (skip_char(&line, '['))
        vug_toml_fail(t, t->line, "arrays of tables are not supported");
    skip_blanks(&line);
    t->table = take_bare(&line);
    skip_blanks(&line);
    if (t->table.len == 0 || !skip_char(&line, ']'))
        vug_toml_fail(t, t->line, "expected the name of a table, as in [fusion]");
    expect_line_end(t, line);
    *out = (vug_toml_entry){ .line = t->line, .table = t->table };
}

static void read_string(vug_toml *t, vug_str *rest, vug_toml_entry *out)
{
    out->type = VUG_TOML_STRING;
    out->string = (vug_str){ rest->ptr, 0 };
    while (rest->len > 0 && *rest->ptr != '"') {
        if (*rest->ptr == '\\')
            vug_toml_fail(t, t->line, "escapes in strings are not supported");
        rest->ptr++;
        rest->len--;
        out->string.len++;
    }
    if (!skip_char(rest, '"'))
        vug_toml_fail(t, t->line, "unterminated string");
    else if (out->string.len == 0 && rest->len > 0 && *rest->ptr == '"')
        vug_toml_fail(t, t->line, "multi-line strings are not supported");
}

/* Digits with single underscores between them, without leading zeros. */
static bool parse_integer(vug_str word, int64_t *out)
{
    char digits[24];
    size_t n = 0;
    for (size_t i = 0; i < word.len; i++) {
        const char c = word.ptr[i];
        const bool sign = i == 0 && (c == '-' || c == '+');
        const bool between = i > 0 && i + 1 < word.len && vug_is_digit(word.ptr[i - 1]) &&
                             vug_is_digit(word.ptr[i + 1]);
        if (!vug_is_digit(c) && !sign && !(c == '_' && between))
            return false;
        if (c == '_' || c == '+')
            continue;
        if (n + 1 >= sizeof(digits))
            return false;
        digits[n++] = c;
    }
    digits[n] = '\0';
    const char *first = digits[0] == '-' ? digits + 1 : digits;
    return vug_is_digit(first[0]) && !(first[0] == '0' && first[1]) && vug_parse_i64(digits, out);
}

static void read_value(vug_toml *t, vug_str *rest, vug_toml_entry *out)
{
    if (skip_char(rest, '"')) {
        read_string(t, rest, out);
        return;
    }
    vug_str word = { rest->ptr, 0 };
    while (rest->len > 0 && !strchr(" \t#", *rest->ptr)) {
        rest->ptr++;
        rest->len--;
        word.len++;
    }
    out->boolean = vug_str_is(word, "true");
    if (out->boolean || vug_str_is(word, "false"))
        out->type = VUG_TOML_BOOL;
    else if (parse_integer(word, &out->integer))
        out->type = VUG_TOML_INTEGER;
    else
        vug_toml_fail(t, t->line, "expected a \"string\", an integer, true or false, found '%.*s'",
                      VUG_STR_ARG(word));
}

static void read_pair(vug_toml *t, vug_str line, vug_toml_entry *out)
{
    *out = (vug_toml_entry){ .line = t->line, .table = t->table };
    out->key = take_bare(&line);
    skip_blanks(&line);
    if (out->key.len == 0 || !skip_char(&line, '=')) {
        vug_toml_fail(t, t->line, "expected a line such as key = value");
        return;
    }
    skip_blanks(&line);
    read_value(t, &line, out);
    if (t->st == VUG_OK)
        expect_line_end(t, line);
}

bool vug_toml_next(vug_toml *t, vug_toml_entry *out)
{
    vug_str line;
    while (t->st == VUG_OK && next_line(t, &line)) {
        skip_blanks(&line);
        if (line.len == 0 || *line.ptr == '#')
            continue;
        if (skip_char(&line, '['))
            read_table(t, line, out);
        else
            read_pair(t, line, out);
        return t->st == VUG_OK;
    }
    return false;
}
