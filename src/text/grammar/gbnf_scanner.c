#include "core/number.h"
#include "core/utf8.h"
#include "text/grammar/gbnf_internal.h"

void vug_gbnf_fail_at(vug_gbnf_parser *p, size_t at, vug_status st, const char *what, vug_str name)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < p->text.len; i++) {
        column = p->text.ptr[i] == '\n' ? 1 : column + 1;
        line += p->text.ptr[i] == '\n';
    }
    if (p->st == VUG_OK)
        p->st = VUG_FAIL(p->err, st, "GBNF: line %zu, column %zu: %s%.*s", line, column, what,
                         VUG_STR_ARG(name));
}

void vug_gbnf_fail(vug_gbnf_parser *p, vug_status st, const char *what)
{
    vug_gbnf_fail_at(p, p->at, st, what, (vug_str){ 0 });
}

char vug_gbnf_peek(const vug_gbnf_parser *p)
{
    if (p->st != VUG_OK || p->at >= p->text.len)
        return '\0';
    return p->text.ptr[p->at];
}

bool vug_gbnf_skip(vug_gbnf_parser *p, const char *text)
{
    const bool found = p->st == VUG_OK && vug_str_starts(vug_str_from(p->text, p->at), text);
    p->at += found ? strlen(text) : 0;
    return found;
}

void vug_gbnf_skip_space(vug_gbnf_parser *p, bool lines)
{
    for (;; p->at++) {
        const char c = vug_gbnf_peek(p);
        if (c == '#') {
            while (p->at < p->text.len && p->text.ptr[p->at] != '\n' && p->text.ptr[p->at] != '\r')
                p->at++;
            p->at--;
        } else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) {
            return;
        }
    }
}

static uint32_t parse_hex(vug_gbnf_parser *p, int digits)
{
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        const int digit = vug_hex_digit(vug_gbnf_peek(p));
        if (digit >= 0)
            value = value << 4 | (uint32_t)digit;
        else
            vug_gbnf_fail(p, VUG_ARGUMENT, "expected a hexadecimal digit");
        p->at++;
    }
    return value;
}

static uint32_t parse_simple_escape(vug_gbnf_parser *p)
{
    static const struct {
        const char *escape;
        char character;
    } row[] = { { "\\t", '\t' }, { "\\r", '\r' }, { "\\n", '\n' }, { "\\\\", '\\' },
                { "\\\"", '"' }, { "\\[", '[' },  { "\\]", ']' } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        if (vug_gbnf_skip(p, row[i].escape))
            return (uint32_t)row[i].character;
    vug_gbnf_fail(p, VUG_ARGUMENT, "an invalid escape");
    return 0;
}

uint32_t vug_gbnf_parse_character(vug_gbnf_parser *p)
{
    const size_t start = p->at;
    uint32_t c = 0;
    if (vug_gbnf_skip(p, "\\x"))
        c = parse_hex(p, 2);
    else if (vug_gbnf_skip(p, "\\u"))
        c = parse_hex(p, 4);
    else if (vug_gbnf_skip(p, "\\U"))
        c = parse_hex(p, 8);
    else if (vug_gbnf_peek(p) == '\\')
        c = parse_simple_escape(p);
    else {
        const size_t n = vug_utf8_decode(p->text.ptr + p->at, p->text.len - p->at, &c);
        if (n == 0)
            vug_gbnf_fail(p, VUG_ARGUMENT, "invalid UTF-8");
        p->at += n;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        vug_gbnf_fail_at(p, start, VUG_ARGUMENT, "the escape is not a valid character",
                         (vug_str){ 0 });
    return c;
}
