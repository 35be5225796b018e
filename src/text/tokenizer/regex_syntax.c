#include "text/tokenizer/regex_syntax.h"

#include "core/number.h"
#include "core/utf8.h"

/*
 * Translates Oniguruma's syntax (doc/RE, Ruby's dialect, which the reference uses) to PCRE2's
 * (pcre2pattern). The two agree about most of an expression; this copies it and
 *
 *   - expands the classes that they define differently (\s \w \d \h, \b),
 *   - adds to categories such as \p{L} the code points that are too new for the installed
 *     PCRE2,
 *   - refuses what only one of them has, or what means something else in the other.
 *
 * Groups do not capture, so there are no back references: an expression cannot do more than
 * a finite automaton with lookaround.
 */

/* An expanded class takes a kilobyte or two. PCRE2 would not compile an expression of this
 * size. */
enum { MAX_TRANSLATED = 256 << 10 };

typedef struct {
    vug_str in;
    size_t at;
    vug_buf *to;
    const char *what;
    vug_err *err;
} translation;

typedef struct {
    char category[3];
    uint32_t first, last;
} category_range;

static const category_range newer_ranges[] = {
#define RANGE(category, first, last) { #category, first, last },
#include "text/unicode_new_categories.def"
#undef RANGE
};

#define N_NEWER_RANGES (sizeof(newer_ranges) / sizeof(*newer_ranges))

/* White_Space (Unicode's PropList.txt) and its complement. PCRE2's \s also has U+180E. */
#define SPACE                                                                          \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
    "\\x{202f}\\x{205f}\\x{3000}"
#define NOT_SPACE                                                                  \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"   \
    "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}" \
    "\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
/* What Oniguruma's \w has besides letters, marks, decimal digits and connectors
 * (unicode/unicode_property_data.c, CR_Word): superscripts, letter numbers and circled
 * letters. */
#define OTHER_WORD                                                                         \
    "\\xb2\\xb3\\xb9\\xbc-\\xbe\\p{Nl}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-" \
    "\\x{1f169}\\x{1f170}-\\x{1f189}"

static vug_status refuse_syntax(const translation *t, size_t at, const char *why)
{
    return VUG_FAIL(t->err, VUG_UNSUPPORTED,
                    "%s: the regular expression \"%.*s\" is not supported: %s (byte %zu)", t->what,
                    VUG_STR_ARG(t->in), why, at);
}

static char peek(const translation *t, size_t ahead)
{
    if (ahead >= t->in.len - t->at)
        return '\0';
    return t->in.ptr[t->at + ahead];
}

static bool starts_with(const translation *t, const char *text)
{
    return vug_str_starts(vug_str_from(t->in, t->at), text);
}

static void write_raw(translation *t, const char *text)
{
    vug_buf_puts(t->to, text);
}

static void copy_input(translation *t, size_t n)
{
    vug_buf_append(t->to, t->in.ptr + t->at, n);
    t->at += n;
}

/* ---- classes ---------------------------------------------------------------- */

/* Writes a category of one or two letters as part of a bracketed class. */
static void write_category(translation *t, const char *name)
{
    vug_buf_printf(t->to, "\\p{%s}", name);
    for (size_t i = 0; i < N_NEWER_RANGES; i++) {
        if (newer_ranges[i].category[0] == name[0] &&
            (!name[1] || newer_ranges[i].category[1] == name[1]))
            vug_buf_printf(t->to, "\\x{%x}-\\x{%x}", (unsigned)newer_ranges[i].first,
                           (unsigned)newer_ranges[i].last);
    }
}

static void write_word(translation *t)
{
    write_category(t, "L");
    write_category(t, "M");
    write_category(t, "Nd");
    write_category(t, "Pc");
    write_raw(t, OTHER_WORD);
}

static bool is_category(vug_str name)
{
    static const char *const two = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk "
                                   "So Zs Zl Zp Cc Cf Cn Co Cs ";
    if (name.len == 1)
        return strchr("LMNPSZC", name.ptr[0]) != NULL;
    for (const char *c = two; name.len == 2 && *c; c += 3) {
        if (memcmp(c, name.ptr, 2) == 0)
            return true;
    }
    return false;
}

static bool is_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_')
            return false;
    }
    return name.len > 0 && name.len < 40;
}

/* \p{..}, \P{..}, at its backslash. */
static vug_status write_property(translation *t, bool in_class)
{
    const size_t start = t->at;
    bool negated = peek(t, 1) == 'P';
    const char *close = memchr(t->in.ptr + t->at, '}', t->in.len - t->at);
    if (peek(t, 2) != '{' || !close)
        return refuse_syntax(t, start, "a property without braces");
    t->at += 3;
    if (peek(t, 0) == '^') {
        negated = !negated;
        t->at++;
    }
    const vug_str name = { t->in.ptr + t->at, (size_t)(close - t->in.ptr) - t->at };
    t->at += name.len + 1;
    if (!is_name(name))
        return refuse_syntax(t, start, "a property that has no name");
    if (!is_category(name)) { /* a script; PCRE2 refuses unknown ones */
        vug_buf_printf(t->to, "\\%c{sc:%.*s}", negated ? 'P' : 'p', VUG_STR_ARG(name));
        return VUG_OK;
    }
    char category[3] = { 0 };
    memcpy(category, name.ptr, name.len);
    if (in_class && negated) { /* newer code points count as unassigned */
        vug_buf_printf(t->to, "\\P{%s}", category);
        return VUG_OK;
    }
    if (!in_class)
        write_raw(t, negated ? "[^" : "[");
    write_category(t, category);
    if (!in_class)
        write_raw(t, "]");
    return VUG_OK;
}

/* A shorthand class such as \s, in a bracketed class or alone. */
static vug_status write_shorthand(translation *t, char letter, bool in_class)
{
    const bool negated = letter >= 'A' && letter <= 'Z';
    if (in_class && negated && letter != 'S')
        return refuse_syntax(t, t->at, "\\W, \\D or \\H in a character class");
    if (!in_class)
        write_raw(t, negated ? "[^" : "[");
    switch (letter) {
    case 's':
        write_raw(t, SPACE);
        break;
    case 'S':
        write_raw(t, in_class ? NOT_SPACE : SPACE);
        break;
    case 'w':
    case 'W':
        write_word(t);
        break;
    case 'd':
    case 'D':
        write_category(t, "Nd");
        break;
    default: /* h, H */
        write_raw(t, "0-9A-Fa-f");
    }
    if (!in_class)
        write_raw(t, "]");
    t->at += 2;
    return VUG_OK;
}

/* \b: a word character on exactly one side; \B: the opposite. */
static void write_boundary(translation *t, bool is_boundary)
{
    static const char *const looks[2][4] = { { "(?:(?<=[", "])(?=[", "])|(?<![", "])(?![" },
                                             { "(?:(?<=[", "])(?![", "])|(?<![", "])(?=[" } };
    for (int i = 0; i < 4; i++) {
        write_raw(t, looks[is_boundary][i]);
        write_word(t);
    }
    write_raw(t, "]))");
    t->at += 2;
}

/* ---- characters -------------------------------------------------------------- */

/* \xHH, \x{H..}, \uHHHH */
static vug_status write_code_point(translation *t)
{
    const size_t start = t->at;
    const bool braces = peek(t, 1) == 'x' && peek(t, 2) == '{';
    const size_t most = braces ? 6 : peek(t, 1) == 'x' ? 2 : 4;
    uint32_t cp = 0;
    size_t n = 0;
    t->at += braces ? 3 : 2;
    for (; n < most && vug_hex_digit(peek(t, 0)) >= 0; n++, t->at++)
        cp = cp * 16 + (uint32_t)vug_hex_digit(peek(t, 0));
    if (braces && peek(t, 0) == '}')
        t->at++;
    else if (braces || n < most)
        return refuse_syntax(t, start, "an incomplete character code");
    /* Two digits are a byte in Oniguruma, and bytes from 80 on are parts of characters. */
    if (n == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff) ||
        (!braces && most == 2 && cp > 0x7f))
        return refuse_syntax(t, start, "a code that is not a character");
    vug_buf_printf(t->to, "\\x{%x}", (unsigned)cp);
    return VUG_OK;
}

/* At a backslash. */
static vug_status write_escape(translation *t, bool in_class)
{
    const char c = peek(t, 1);
    uint32_t cp;
    if (t->at + 1 == t->in.len)
        return refuse_syntax(t, t->at, "it ends in a backslash");
    if (c == 'p' || c == 'P')
        return write_property(t, in_class);
    if (c == 'x' || c == 'u')
        return write_code_point(t);
    if (strchr("sSwWdDhH", c))
        return write_shorthand(t, c, in_class);
    if (c == 'v') {
        write_raw(t, "\\x{b}");
        t->at += 2;
    } else if ((c == 'b' || c == 'B') && !in_class) {
        write_boundary(t, c == 'b');
    } else if (strchr("nrtfae", c) || (!in_class && strchr("AzZ", c))) {
        copy_input(t, 2);
    } else if (vug_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        return refuse_syntax(t, t->at, "a backslash before this letter or digit");
    } else {
        const size_t n = vug_utf8_decode(t->in.ptr + t->at + 1, t->in.len - t->at - 1, &cp);
        if (n > 1)
            t->at++; /* only ASCII characters can need the backslash */
        copy_input(t, n > 1 ? n : 2);
    }
    return VUG_OK;
}

/* ---- brackets, groups, repetition --------------------------------------------- */

static vug_status write_class(translation *t)
{
    const size_t start = t->at;
    copy_input(t, 1);
    if (peek(t, 0) == '^')
        copy_input(t, 1);
    if (peek(t, 0) == ']')
        return refuse_syntax(t, t->at, "a character class that begins with a bracket");
    while (t->at < t->in.len && peek(t, 0) != ']') {
        const char c = peek(t, 0);
        if (c == '[')
            return refuse_syntax(t, t->at, "a character class in another");
        if (starts_with(t, "&&"))
            return refuse_syntax(t, t->at, "&& in a character class");
        if (c == '\\')
            VUG_TRY(write_escape(t, true));
        else
            copy_input(t, 1);
    }
    if (t->at == t->in.len)
        return refuse_syntax(t, start, "a character class without its end");
    copy_input(t, 1);
    return VUG_OK;
}

static vug_status write_group(translation *t)
{
    static const char *const same[] = {
        "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"
    };
    if (peek(t, 1) == '*')
        return refuse_syntax(t, t->at, "(*");
    if (peek(t, 1) != '?') {
        write_raw(t, "(?:");
        t->at++;
        return VUG_OK;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (starts_with(t, same[i])) {
            copy_input(t, strlen(same[i]));
            return VUG_OK;
        }
    }
    if (t->at == 0 && starts_with(t, "(?i)")) {
        copy_input(t, 4);
        return VUG_OK;
    }
    return refuse_syntax(t, t->at, "a group of this kind");
}

static size_t count_digits(const translation *t, size_t ahead)
{
    size_t n = 0;
    while (vug_is_digit(peek(t, ahead + n)))
        n++;
    return n;
}

/* {n}, {n,}, {,m}, {n,m}; other braces are literal in both dialects. */
static vug_status write_braces(translation *t)
{
    const size_t low = count_digits(t, 1);
    const bool comma = peek(t, 1 + low) == ',';
    const size_t high = comma ? count_digits(t, 2 + low) : 0;
    const size_t n = 1 + low + comma + high;
    if (low + high == 0 || peek(t, n) != '}') {
        write_raw(t, "\\{");
        t->at++;
        return VUG_OK;
    }
    const char after = peek(t, n + 1);
    if (after == '+' || (after == '?' && !comma))
        return refuse_syntax(t, t->at + n + 1, "a second quantifier after braces");
    if (low > 0) {
        copy_input(t, n + 1);
        return VUG_OK;
    }
    write_raw(t, "{0");
    t->at++;
    copy_input(t, n);
    return VUG_OK;
}

vug_status vug_regex_translate(vug_str pattern, const char *what, vug_buf *to, vug_err *err)
{
    translation t = { .in = pattern, .to = to, .what = what, .err = err };
    uint32_t cp;
    for (size_t i = 0, n; i < pattern.len; i += n) {
        n = vug_utf8_decode(pattern.ptr + i, pattern.len - i, &cp);
        if (n == 0 || cp == 0)
            return refuse_syntax(&t, i, "it is not UTF-8 or contains a NUL");
    }
    while (t.at < pattern.len) {
        const char c = peek(&t, 0);
        if (to->len > MAX_TRANSLATED)
            return VUG_FAIL(err, VUG_LIMIT,
                            "%s: the regular expression \"%.*s\" has more than %d bytes after its "
                            "classes are expanded",
                            what, VUG_STR_ARG(pattern), MAX_TRANSLATED);
        if (c == '\\')
            VUG_TRY(write_escape(&t, false));
        else if (c == '[')
            VUG_TRY(write_class(&t));
        else if (c == '(')
            VUG_TRY(write_group(&t));
        else if (c == '{')
            VUG_TRY(write_braces(&t));
        else
            copy_input(&t, 1);
    }
    return vug_buf_ok(to, err);
}
