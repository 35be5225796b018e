#include "text/tokenizer/regex.h"

/*
 * What an expression can cost. A backtracking matcher tries an unbounded repetition
 * that something after it can send back at every length: one of them makes a match
 * linear in what it reaches over, each further one multiplies. `\s*[\r\n]+` has one,
 * since the last repetition is never sent back; `a*a*b` has two.
 *
 * Expressions with at most one may reach as far as they like; the others, which
 * published tokenizers do not have, have their reach limited (regex.c).
 */

enum {
    MAX_DEPTH = 64,
    MANY = 16, /* repetitions from here on count as unbounded */
};

/* Of a sequence: repetitions that can be sent back, and that could be if something
 * that can fail came next. */
typedef struct {
    int risky, pending;
} cost;

typedef struct {
    cost now;       /* of the alternative that is being read */
    cost worst;     /* of those before it */
    bool unbounded; /* there is a repetition without bound in it */
    bool looks;     /* it is a lookahead or lookbehind */
} level;

typedef struct {
    size_t low;
    bool unbounded, possessive;
} repetition;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The length of the item at the beginning of `s`, which is valid: an escape, brackets
 * or a character. */
static size_t item_length(vug_str s)
{
    size_t n = 1;
    if (s.ptr[0] == '\\' && s.len > 2 && s.ptr[2] == '{' && strchr("pPx", s.ptr[1])) {
        while (n < s.len && s.ptr[n] != '}')
            n++;
        return n + 1;
    }
    if (s.ptr[0] == '\\')
        return s.len > 1 && s.ptr[1] == 'x' ? 4 : s.len > 1 && s.ptr[1] == 'u' ? 6 : 2;
    if (s.ptr[0] == '[') {
        while (n < s.len && s.ptr[n] != ']')
            n += s.ptr[n] == '\\' ? 2 : 1;
        return n + 1;
    }
    while (n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static size_t read_number(vug_str s, size_t *at)
{
    size_t n = 0;
    for (; *at < s.len && s.ptr[*at] >= '0' && s.ptr[*at] <= '9'; ++*at)
        n = n < 100000 ? n * 10 + (size_t)(s.ptr[*at] - '0') : n;
    return n;
}

/* {n}, {n,}, {,m}, {n,m}; returns its length, or 0 where it is none. */
static size_t read_braces(vug_str s, repetition *out)
{
    size_t at = 1;
    out->low = read_number(s, &at);
    size_t high = out->low;
    const bool comma = at < s.len && s.ptr[at] == ',';
    if (comma) {
        const size_t before = ++at;
        high = read_number(s, &at);
        if (at == before)
            high = MANY;
    }
    if (at >= s.len || s.ptr[at] != '}' || at == 1 || (comma && at == 2))
        return 0;
    out->unbounded = high >= MANY;
    return at + 1;
}

/* How often the item before `s` is repeated; returns the length of what says so. */
static size_t read_repetition(vug_str s, repetition *out)
{
    *out = (repetition){ .low = 1 };
    size_t n = 0;
    if (s.len > 0 && s.ptr[0] == '{') {
        n = read_braces(s, out);
        if (n == 0)
            *out = (repetition){ .low = 1 };
    } else if (s.len > 0 && strchr("*+?", s.ptr[0])) {
        out->low = s.ptr[0] == '+';
        out->unbounded = s.ptr[0] != '?';
        n = 1;
    }
    if (n > 0 && n < s.len && (s.ptr[n] == '+' || s.ptr[n] == '?')) {
        out->possessive = s.ptr[n] == '+';
        n++;
    }
    return n;
}

/* An item that must match, once at least, sends back what is before it. */
static void commit(level *l)
{
    l->now.risky += l->now.pending;
    l->now.pending = 0;
}

static void end_alternative(level *l)
{
    l->worst.risky = larger(l->worst.risky, l->now.risky);
    l->worst.pending = larger(l->worst.pending, l->now.pending);
    l->now = (cost){ 0 };
}

static void add_item(level *l, repetition r)
{
    if (r.low > 0)
        commit(l);
    l->now.pending += r.unbounded && !r.possessive;
    l->unbounded = l->unbounded || r.unbounded;
}

static void add_group(level *l, const level *group, repetition r)
{
    const bool nested = group->unbounded && r.unbounded;
    if (r.low > 0 || group->looks)
        commit(l);
    l->now.risky += group->worst.risky + 2 * nested + (group->looks && group->unbounded);
    if (!group->looks)
        l->now.pending += group->worst.pending + (r.unbounded && !r.possessive);
    l->unbounded = l->unbounded || group->unbounded || r.unbounded;
}

bool vug_regex_is_simple(vug_str s)
{
    level stack[MAX_DEPTH] = { 0 };
    size_t depth = 0;
    while (s.len > 0) {
        const char c = s.ptr[0];
        repetition r;
        size_t n = 1;
        if (c == '(') {
            if (++depth == MAX_DEPTH)
                return false;
            stack[depth] = (level){ .looks = vug_str_starts(s, "(?=") || vug_str_starts(s, "(?!") ||
                                             vug_str_starts(s, "(?<") };
            while (n < s.len && strchr("?:=!<>i-", s.ptr[n]) && s.ptr[1] == '?')
                if (strchr(":=!>", s.ptr[n++]))
                    break;
        } else if (c == ')' && depth > 0) {
            end_alternative(&stack[depth]);
            n += read_repetition(vug_str_from(s, 1), &r);
            depth--;
            add_group(&stack[depth], &stack[depth + 1], r);
        } else if (c == '|') {
            end_alternative(&stack[depth]);
        } else {
            n = item_length(s);
            n += read_repetition(vug_str_from(s, n), &r);
            add_item(&stack[depth], r);
        }
        s = vug_str_from(s, n);
    }
    end_alternative(&stack[0]);
    return stack[0].worst.risky <= 1;
}
