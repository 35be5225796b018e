/*
 * Text outside tags, by the rules of jinja2/lexer.py with trim_blocks and lstrip_blocks: the
 * newline behind a %} or #} belongs to the tag, and so do the spaces in front of a {% or {#
 * that begins its line. Comments and raw blocks are read here too.
 */

#include "text/template/template_lexer.h"
#include "text/template/template_strings.h"

/* Where the text [from, tag) ends once white space is stripped, which depends on the sign of the
 * tag that follows. */
static size_t text_end(const vug_tmpl_lexer *lex, size_t from, size_t tag, char sign, bool is_var)
{
    if (sign == '-') {
        const vug_tmpl_str text = { lex->src.ptr + from, tag - from, NULL };
        return from + vug_tmpl_strip(NULL, text, NULL, VUG_TMPL_STRIP_RIGHT).len;
    }
    if (sign == '+' || is_var)
        return tag;
    size_t line = tag;
    while (line > from && lex->src.ptr[line - 1] != '\n')
        line--;
    const bool starts = line > from || lex->line_starts;
    return starts && vug_tmpl_lexer_skip_space(lex, line) >= tag ? line : tag;
}

size_t vug_tmpl_lexer_tag_end(const vug_tmpl_lexer *lex, size_t at)
{
    if (vug_tmpl_lexer_looking_at(lex, at, "-%}"))
        return vug_tmpl_lexer_skip_space(lex, at + 3);
    if (vug_tmpl_lexer_looking_at(lex, at, "+%}"))
        return at + 3;
    if (vug_tmpl_lexer_looking_at(lex, at, "%}"))
        return at + 2 + (vug_tmpl_lexer_byte(lex, at + 2) == '\n');
    return 0;
}

static size_t skip_comment(vug_tmpl_lexer *lex, size_t tag, size_t at)
{
    for (size_t end = at; end + 1 < lex->src.len; end++) {
        if (!vug_tmpl_lexer_looking_at(lex, end, "#}"))
            continue;
        const char sign = (char)(end > at ? lex->src.ptr[end - 1] : '\0');
        if (sign == '-')
            return vug_tmpl_lexer_skip_space(lex, end + 2);
        return end + 2 + (sign != '+' && vug_tmpl_lexer_byte(lex, end + 2) == '\n');
    }
    vug_tmpl_lexer_fail(lex, tag, VUG_FORMAT, "an unterminated comment");
    return lex->src.len;
}

/* The offset behind the tag's name, with `at` behind the bracket and its sign; 0: another tag. */
static size_t skip_tag_name(const vug_tmpl_lexer *lex, size_t at, const char *name)
{
    at = vug_tmpl_lexer_skip_space(lex, at);
    return vug_tmpl_lexer_looking_at(lex, at, name)
                   ? vug_tmpl_lexer_skip_space(lex, at + strlen(name))
                   : 0;
}

static bool has_sign(const vug_tmpl_lexer *lex, size_t at)
{
    return vug_tmpl_lexer_byte(lex, at) == '-' || vug_tmpl_lexer_byte(lex, at) == '+';
}

/* '-', '+' or '\0'. */
static char sign_at(const vug_tmpl_lexer *lex, size_t at)
{
    return (char)(has_sign(lex, at) ? vug_tmpl_lexer_byte(lex, at) : '\0');
}

/* The text of a raw block, whose opening tag ends at `from`. */
static vug_tmpl_token raw_text(vug_tmpl_lexer *lex, size_t from)
{
    for (size_t tag = from; tag + 1 < lex->src.len; tag++) {
        if (!vug_tmpl_lexer_looking_at(lex, tag, "{%"))
            continue;
        const bool sign = has_sign(lex, tag + 2);
        const size_t name = skip_tag_name(lex, tag + 2 + sign, "endraw");
        const size_t end = name ? vug_tmpl_lexer_tag_end(lex, name) : 0;
        if (!end)
            continue;
        const size_t stop = text_end(lex, from, tag, sign_at(lex, tag + 2), false);
        vug_tmpl_lexer_move(lex, end);
        return vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_TEXT, from, stop);
    }
    vug_tmpl_lexer_fail(lex, from, VUG_FORMAT, "an unterminated raw block");
    return (vug_tmpl_token){ 0 };
}

/* The offset behind the opening tag of a raw block at `tag`; 0: another tag. */
static size_t raw_begins(const vug_tmpl_lexer *lex, size_t tag)
{
    const size_t at = skip_tag_name(lex, tag + 2 + has_sign(lex, tag + 2), "raw");
    if (at && vug_tmpl_lexer_looking_at(lex, at, "-%}"))
        return vug_tmpl_lexer_skip_space(lex, at + 3);
    return at && vug_tmpl_lexer_looking_at(lex, at, "%}") ? at + 2 : 0;
}

/* Reads the opening of the tag at `tag`, whose preceding text was read. */
static vug_tmpl_token open_tag(vug_tmpl_lexer *lex, size_t tag)
{
    const size_t inside = tag + 2 + has_sign(lex, tag + 2);
    const char kind = lex->src.ptr[tag + 1];
    const size_t raw = kind == '%' ? raw_begins(lex, tag) : 0;
    if (raw) {
        vug_tmpl_lexer_move(lex, raw);
        return raw_text(lex, raw);
    }
    if (kind == '#') {
        vug_tmpl_lexer_move(lex, skip_comment(lex, tag, inside));
        return (vug_tmpl_token){ .kind = VUG_TMPL_TOKEN_TEXT };
    }
    vug_tmpl_lexer_move(lex, inside);
    lex->mode = kind == '{' ? VUG_TMPL_LEX_VAR : VUG_TMPL_LEX_TAG;
    return vug_tmpl_lexer_token(
            lex, kind == '{' ? VUG_TMPL_TOKEN_OPEN_VAR : VUG_TMPL_TOKEN_OPEN_TAG, tag, inside);
}

vug_tmpl_token vug_tmpl_lexer_next_text(vug_tmpl_lexer *lex)
{
    const size_t from = lex->at;
    size_t tag = from;
    while (tag < lex->src.len && !vug_tmpl_lexer_looking_at(lex, tag, "{{") &&
           !vug_tmpl_lexer_looking_at(lex, tag, "{%") && !vug_tmpl_lexer_looking_at(lex, tag, "{#"))
        tag++;
    if (tag >= lex->src.len) {
        vug_tmpl_lexer_move(lex, lex->src.len);
        return vug_tmpl_lexer_token(lex,
                                    from < lex->src.len ? VUG_TMPL_TOKEN_TEXT : VUG_TMPL_TOKEN_END,
                                    from, lex->src.len);
    }
    const char sign = sign_at(lex, tag + 2);
    const size_t end = text_end(lex, from, tag, sign, lex->src.ptr[tag + 1] == '{');
    if (end > from) {
        const vug_tmpl_token text = vug_tmpl_lexer_token(lex, VUG_TMPL_TOKEN_TEXT, from, end);
        lex->at = tag; /* not moved to: the tag must not count as the start of a line */
        lex->line_starts = false;
        return text;
    }
    return open_tag(lex, tag);
}
