#include "text/tokenizer/regex_cost.h"

#include "core/number.h"
#include "core/utf8.h"

/*
 * Estimates what an expression can cost. A backtracking matcher tries an unbounded repetition
 * at every length if something after it can fail. One such repetition makes a match linear in
 * what it reaches over, and each further one multiplies. `\s*[\r\n]+` has one, since nothing
 * after the last repetition can fail; `a*a*b` has two.
 *
 * Expressions with at most one may reach over any distance. Others, which no published
 * tokenizer has, are limited (regex.c).
 */

enum {
    MAX_DEPTH = 64,
    MANY = 16, /* a repetition of that many or more counts as unbounded */
};

/* Unbounded repetitions of a sequence: those that can be backtracked into, and those that
 * could be if something that can fail came next. */
typedef struct {
    int backtracked, pending;
} match_cost;

typedef struct {
    match_cost now;     /* of the current alternative */
    match_cost worst;   /* of the previous alternatives */
    bool unbounded;     /* contains an unbounded repetition */
    bool is_lookaround; /* it is a lookahead or lookbehind */
} group_level;

typedef struct {
    size_t low;
    bool unbounded, possessive;
} repetition;

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* The length of the first item of `s`, which is valid: an escape, a character class or a
 * character. */
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
    while (n < s.len && vug_utf8_is_continuation(s.ptr[n]))
        n++;
    return n;
}

static size_t read_number(vug_str s, size_t *at)
{
    size_t n = 0;
    for (; *at < s.len && vug_is_digit(s.ptr[*at]); ++*at)
        n = n < 100000 ? n * 10 + (size_t)(s.ptr[*at] - '0') : n;
    return n;
}

/* {n}, {n,}, {,m}, {n,m}; returns its length, or 0 if it is not a quantifier. */
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

/* Reads the quantifier at the beginning of `s`; returns its length, 0 if there is none. */
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

/* An item that must match can fail, so the pending repetitions can be backtracked into. */
static void count_pending(group_level *l)
{
    l->now.backtracked += l->now.pending;
    l->now.pending = 0;
}

static void end_alternative(group_level *l)
{
    l->worst.backtracked = max_int(l->worst.backtracked, l->now.backtracked);
    l->worst.pending = max_int(l->worst.pending, l->now.pending);
    l->now = (match_cost){ 0 };
}

static void add_item(group_level *l, repetition r)
{
    if (r.low > 0)
        count_pending(l);
    l->now.pending += r.unbounded && !r.possessive;
    l->unbounded = l->unbounded || r.unbounded;
}

static void add_group(group_level *l, const group_level *group, repetition r)
{
    const bool nested = group->unbounded && r.unbounded;
    if (r.low > 0 || group->is_lookaround)
        count_pending(l);
    l->now.backtracked +=
            group->worst.backtracked + 2 * nested + (group->is_lookaround && group->unbounded);
    if (!group->is_lookaround)
        l->now.pending += group->worst.pending + (r.unbounded && !r.possessive);
    l->unbounded = l->unbounded || group->unbounded || r.unbounded;
}

bool vug_regex_is_linear(vug_str s)
{
    group_level stack[MAX_DEPTH] = { 0 };
    size_t depth = 0;
    while (s.len > 0) {
        const char c = s.ptr[0];
        repetition r;
        size_t n = 1;
        if (c == '(') {
            if (++depth == MAX_DEPTH)
                return false;
            stack[depth] = (group_level){ .is_lookaround = vug_str_starts(s, "(?=") ||
                                                           vug_str_starts(s, "(?!") ||
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
    return stack[0].worst.backtracked <= 1;
}
