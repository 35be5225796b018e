/* The source of a template: reading positions and lines. */

#include <stdarg.h>
#include <stdio.h>

#include "core/utf8.h"
#include "text/template/template_lexer.h"
#include "text/template/template_strings.h"

void vug_tmpl_lexer_fail(vug_tmpl_lexer *lex, size_t at, vug_status code, const char *fmt, ...)
{
    if (lex->st != VUG_OK)
        return;
    char message[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, ap);
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
                       at - start + 1, message);
}

vug_status vug_tmpl_lexer_init(vug_tmpl_lexer *lex, vug_str source, const char *name,
                               vug_arena *arena, vug_err *err)
{
    *lex = (vug_tmpl_lexer){ .name = name, .arena = arena, .err = err, .line = 1 };
    lex->line_starts = true;
    if (source.len > VUG_TMPL_MAX_SOURCE)
        return VUG_FAIL(err, VUG_FORMAT, "%s: %zu bytes, a template may have %zu", name, source.len,
                        VUG_TMPL_MAX_SOURCE);
    char *to = vug_arena_alloc(arena, source.len + 1, 1);
    if (!to)
        return VUG_FAIL_NOMEM(err, "a template", source.len);
    size_t n = 0;
    for (size_t i = 0; i < source.len;) {
        uint32_t cp = 0;
        const size_t len = vug_utf8_decode(source.ptr + i, source.len - i, &cp);
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

bool vug_tmpl_lexer_looking_at(const vug_tmpl_lexer *lex, size_t at, const char *text)
{
    return at <= lex->src.len && vug_str_starts(vug_str_from(lex->src, at), text);
}

char vug_tmpl_lexer_byte(const vug_tmpl_lexer *lex, size_t at)
{
    return (char)(at < lex->src.len ? lex->src.ptr[at] : '\0');
}

size_t vug_tmpl_lexer_skip_space(const vug_tmpl_lexer *lex, size_t at)
{
    uint32_t cp;
    while (at < lex->src.len) {
        const size_t n = vug_utf8_decode(lex->src.ptr + at, lex->src.len - at, &cp);
        if (n == 0 || !vug_tmpl_is_space(cp))
            break;
        at += n;
    }
    return at;
}

/* The line of byte `at`, which must not lie before the last one asked for. */
static uint32_t line_of(vug_tmpl_lexer *lex, size_t at)
{
    for (; lex->counted < at; lex->counted++)
        lex->line += lex->src.ptr[lex->counted] == '\n';
    return lex->line;
}

void vug_tmpl_lexer_move(vug_tmpl_lexer *lex, size_t to)
{
    if (to > lex->at)
        lex->line_starts = lex->src.ptr[to - 1] == '\n';
    lex->at = to;
}

vug_tmpl_token vug_tmpl_lexer_token(vug_tmpl_lexer *lex, vug_tmpl_token_kind kind, size_t from,
                                    size_t to)
{
    return (vug_tmpl_token){ .kind = kind,
                             .line = line_of(lex, from),
                             .at = from,
                             .text = { lex->src.ptr + from, to - from } };
}
