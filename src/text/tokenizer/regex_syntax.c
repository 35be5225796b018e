#include "text/tokenizer/regex.h"

#include "core/text.h"

/*
 * From Oniguruma's syntax (doc/RE, Ruby's dialect, which the reference uses) to PCRE2's
 * (pcre2pattern). Both read most of an expression alike; this walks over it and
 *
 *   - writes out the classes that the two define differently (\s \w \d \h, \b),
 *   - adds to categories such as \p{L} the code points that the installed PCRE2 may be
 *     too old to know,
 *   - refuses what only one of them has, or what means something else in the other.
 *
 * Groups capture nothing, so there is nothing to refer back to: without references
 * an expression cannot do more than a finite automaton with lookaround.
 */

/* A class of characters becomes a list of ranges, a kilobyte or two. PCRE2 would not
 * compile more than a part of this. */
enum { MAX_SPELLING = 256 << 10 };

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
} range;

static const range newer[] = {
#define RANGE(category, first, last) { #category, first, last },
#include "text/unicode_new.def"
#undef RANGE
};

#define N_NEWER (sizeof(newer) / sizeof(*newer))

/* White_Space (Unicode's PropList.txt) and what is not. PCRE2's \s has U+180E, too. */
#define SPACE                                                                          \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
    "\\x{202f}\\x{205f}\\x{3000}"
#define NOT_SPACE                                                                  \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"   \
    "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}" \
    "\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
/* Besides letters, marks, decimal digits and connectors, what Oniguruma's \w has
 * (unicode/unicode_property_data.c, CR_Word): superscripts, letter numbers and letters
 * in circles. */
#define OTHER_WORD                                                                         \
    "\\xb2\\xb3\\xb9\\xbc-\\xbe\\p{Nl}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-" \
    "\\x{1f169}\\x{1f170}-\\x{1f189}"

static vug_status refuse(const translation *t, size_t at, const char *why)
{
    return VUG_FAIL(t->err, VUG_UNSUPPORTED,
                    "%s: the regular expression \"%.*s\" is not supported: %s (byte %zu)", t->what,
                    VUG_STR_ARG(t->in), why, at);
}

static char look(const translation *t, size_t ahead)
{
    if (ahead >= t->in.len - t->at)
        return '\0';
    return t->in.ptr[t->at + ahead];
}

static bool comes(const translation *t, const char *text)
{
    return vug_str_starts(vug_str_from(t->in, t->at), text);
}

static void put(translation *t, const char *text)
{
    vug_buf_puts(t->to, text);
}

static void copy(translation *t, size_t n)
{
    vug_buf_append(t->to, t->in.ptr + t->at, n);
    t->at += n;
}

/* ---- classes ---------------------------------------------------------------- */

/* The members of a category of one or two letters, as they stand in brackets. */
static void put_category(translation *t, const char *name)
{
    vug_buf_printf(t->to, "\\p{%s}", name);
    for (size_t i = 0; i < N_NEWER; i++) {
        if (newer[i].category[0] == name[0] && (!name[1] || newer[i].category[1] == name[1]))
            vug_buf_printf(t->to, "\\x{%x}-\\x{%x}", (unsigned)newer[i].first,
                           (unsigned)newer[i].last);
    }
}

static void put_word(translation *t)
{
    put_category(t, "L");
    put_category(t, "M");
    put_category(t, "Nd");
    put_category(t, "Pc");
    put(t, OTHER_WORD);
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
static vug_status put_property(translation *t, bool in_class)
{
    const size_t start = t->at;
    bool negated = look(t, 1) == 'P';
    const char *close = memchr(t->in.ptr + t->at, '}', t->in.len - t->at);
    if (look(t, 2) != '{' || !close)
        return refuse(t, start, "a property without braces");
    t->at += 3;
    if (look(t, 0) == '^') {
        negated = !negated;
        t->at++;
    }
    const vug_str name = { t->in.ptr + t->at, (size_t)(close - t->in.ptr) - t->at };
    t->at += name.len + 1;
    if (!is_name(name))
        return refuse(t, start, "a property that has no name");
    if (!is_category(name)) { /* a script; which are known, PCRE2 will say */
        vug_buf_printf(t->to, "\\%c{sc:%.*s}", negated ? 'P' : 'p', VUG_STR_ARG(name));
        return VUG_OK;
    }
    char category[3] = { 0 };
    memcpy(category, name.ptr, name.len);
    if (in_class && negated) { /* a newer code point counts as one that PCRE2 does not know */
        vug_buf_printf(t->to, "\\P{%s}", category);
        return VUG_OK;
    }
    if (!in_class)
        put(t, negated ? "[^" : "[");
    put_category(t, category);
    if (!in_class)
        put(t, "]");
    return VUG_OK;
}

/* A letter that stands for a class, in brackets or not. */
static vug_status put_shorthand(translation *t, char letter, bool in_class)
{
    const bool negated = letter >= 'A' && letter <= 'Z';
    if (in_class && negated && letter != 'S')
        return refuse(t, t->at, "\\W, \\D or \\H in brackets");
    if (!in_class)
        put(t, negated ? "[^" : "[");
    switch (letter) {
    case 's':
        put(t, SPACE);
        break;
    case 'S':
        put(t, in_class ? NOT_SPACE : SPACE);
        break;
    case 'w':
    case 'W':
        put_word(t);
        break;
    case 'd':
    case 'D':
        put_category(t, "Nd");
        break;
    default: /* h, H */
        put(t, "0-9A-Fa-f");
    }
    if (!in_class)
        put(t, "]");
    t->at += 2;
    return VUG_OK;
}

/* \b: a word on one side and none on the other; \B: not so. */
static void put_boundary(translation *t, bool is_boundary)
{
    static const char *const looks[2][4] = { { "(?:(?<=[", "])(?=[", "])|(?<![", "])(?![" },
                                             { "(?:(?<=[", "])(?![", "])|(?<![", "])(?=[" } };
    for (int i = 0; i < 4; i++) {
        put(t, looks[is_boundary][i]);
        put_word(t);
    }
    put(t, "]))");
    t->at += 2;
}

/* ---- characters -------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \xHH, \x{H..}, \uHHHH */
static vug_status put_code(translation *t)
{
    const size_t start = t->at;
    const bool braces = look(t, 1) == 'x' && look(t, 2) == '{';
    const size_t most = braces ? 6 : look(t, 1) == 'x' ? 2 : 4;
    uint32_t cp = 0;
    size_t n = 0;
    t->at += braces ? 3 : 2;
    for (; n < most && hex(look(t, 0)) >= 0; n++, t->at++)
        cp = cp * 16 + (uint32_t)hex(look(t, 0));
    if (braces && look(t, 0) == '}')
        t->at++;
    else if (braces || n < most)
        return refuse(t, start, "a code that is not written out");
    /* Two digits are a byte there, and bytes from 80 on are parts of characters. */
    if (n == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff) ||
        (!braces && most == 2 && cp > 0x7f))
        return refuse(t, start, "a code that is no character");
    vug_buf_printf(t->to, "\\x{%x}", (unsigned)cp);
    return VUG_OK;
}

/* At a backslash. */
static vug_status put_escape(translation *t, bool in_class)
{
    const char c = look(t, 1);
    uint32_t cp;
    if (t->at + 1 == t->in.len)
        return refuse(t, t->at, "it ends in a backslash");
    if (c == 'p' || c == 'P')
        return put_property(t, in_class);
    if (c == 'x' || c == 'u')
        return put_code(t);
    if (strchr("sSwWdDhH", c))
        return put_shorthand(t, c, in_class);
    if (c == 'v') {
        put(t, "\\x{b}");
        t->at += 2;
    } else if ((c == 'b' || c == 'B') && !in_class) {
        put_boundary(t, c == 'b');
    } else if (strchr("nrtfae", c) || (!in_class && strchr("AzZ", c))) {
        copy(t, 2);
    } else if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        return refuse(t, t->at, "a backslash before this letter or digit");
    } else {
        const size_t n = vug_utf8_next(t->in.ptr + t->at + 1, t->in.len - t->at - 1, &cp);
        if (n > 1)
            t->at++; /* only what is ASCII can need its backslash */
        copy(t, n > 1 ? n : 2);
    }
    return VUG_OK;
}

/* ---- brackets, groups, repetition --------------------------------------------- */

static vug_status put_brackets(translation *t)
{
    const size_t start = t->at;
    copy(t, 1);
    if (look(t, 0) == '^')
        copy(t, 1);
    if (look(t, 0) == ']')
        return refuse(t, t->at, "brackets that begin with a bracket");
    while (t->at < t->in.len && look(t, 0) != ']') {
        const char c = look(t, 0);
        if (c == '[')
            return refuse(t, t->at, "brackets in brackets");
        if (comes(t, "&&"))
            return refuse(t, t->at, "&& in brackets");
        if (c == '\\')
            VUG_TRY(put_escape(t, true));
        else
            copy(t, 1);
    }
    if (t->at == t->in.len)
        return refuse(t, start, "brackets that do not end");
    copy(t, 1);
    return VUG_OK;
}

static vug_status put_group(translation *t)
{
    static const char *const same[] = {
        "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"
    };
    if (look(t, 1) == '*')
        return refuse(t, t->at, "(*");
    if (look(t, 1) != '?') {
        put(t, "(?:");
        t->at++;
        return VUG_OK;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (comes(t, same[i])) {
            copy(t, strlen(same[i]));
            return VUG_OK;
        }
    }
    if (t->at == 0 && comes(t, "(?i)")) {
        copy(t, 4);
        return VUG_OK;
    }
    return refuse(t, t->at, "a group of this kind");
}

static size_t digits(const translation *t, size_t ahead)
{
    size_t n = 0;
    while (look(t, ahead + n) >= '0' && look(t, ahead + n) <= '9')
        n++;
    return n;
}

/* {n}, {n,}, {,m}, {n,m}; other braces are themselves in both. */
static vug_status put_braces(translation *t)
{
    const size_t low = digits(t, 1);
    const bool comma = look(t, 1 + low) == ',';
    const size_t high = comma ? digits(t, 2 + low) : 0;
    const size_t n = 1 + low + comma + high;
    if (low + high == 0 || look(t, n) != '}') {
        put(t, "\\{");
        t->at++;
        return VUG_OK;
    }
    const char after = look(t, n + 1);
    if (after == '+' || (after == '?' && !comma))
        return refuse(t, t->at + n + 1, "a second repetition after braces");
    if (low > 0) {
        copy(t, n + 1);
        return VUG_OK;
    }
    put(t, "{0");
    t->at++;
    copy(t, n);
    return VUG_OK;
}

vug_status vug_regex_translate(vug_str pattern, const char *what, vug_buf *to, vug_err *err)
{
    translation t = { .in = pattern, .to = to, .what = what, .err = err };
    uint32_t cp;
    for (size_t i = 0, n; i < pattern.len; i += n) {
        n = vug_utf8_next(pattern.ptr + i, pattern.len - i, &cp);
        if (n == 0 || cp == 0)
            return refuse(&t, i, "it is not UTF-8, or has a NUL");
    }
    while (t.at < pattern.len) {
        const char c = look(&t, 0);
        if (to->len > MAX_SPELLING)
            return VUG_FAIL(err, VUG_LIMIT,
                            "%s: the regular expression \"%.*s\" has more than %d bytes when its "
                            "classes are written out",
                            what, VUG_STR_ARG(pattern), MAX_SPELLING);
        if (c == '\\')
            VUG_TRY(put_escape(&t, false));
        else if (c == '[')
            VUG_TRY(put_brackets(&t));
        else if (c == '(')
            VUG_TRY(put_group(&t));
        else if (c == '{')
            VUG_TRY(put_braces(&t));
        else
            copy(&t, 1);
    }
    return vug_buf_ok(to, err);
}
