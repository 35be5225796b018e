#include "text/tokenizer/added.h"

#include <stdlib.h>

#include "core/text.h"
#include "text/tokenizer/normal.h"
#include "text/unicode.h"

/* By pattern; of equal ones the special one, then the one of the lower id. */
static int by_pattern(const void *a, const void *b)
{
    const vug_added_token *x = *(const vug_added_token *const *)a;
    const vug_added_token *y = *(const vug_added_token *const *)b;
    const int order = vug_str_compare(x->pattern, y->pattern);
    if (order != 0)
        return order;
    if (x->special != y->special)
        return x->special ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

bool vug_matcher_init(vug_matcher *matcher, const vug_added_token *token, size_t n, bool normalized)
{
    const vug_added_token **sorted = vug_alloc(n, sizeof(const vug_added_token *));
    if (!sorted)
        return false;
    *matcher = (vug_matcher){ .sorted = sorted };
    for (size_t i = 0; i < n; i++) {
        if (token[i].normalized == normalized && token[i].pattern.len > 0)
            sorted[matcher->n++] = &token[i];
    }
    qsort(sorted, matcher->n, sizeof(const vug_added_token *), by_pattern);
    uint32_t at = 0;
    for (unsigned b = 0; b <= 256; b++) {
        while (at < matcher->n && (unsigned char)sorted[at]->pattern.ptr[0] < b)
            at++;
        matcher->first[b] = at;
    }
    return true;
}

void vug_matcher_release(vug_matcher *matcher)
{
    vug_free(matcher->sorted);
    *matcher = (vug_matcher){ 0 };
}

/* The first of sorted[lo..hi), whose patterns share `depth` bytes and are longer
 * than that, with a byte above `limit` at `depth`; hi if there is none. */
static uint32_t above(const vug_matcher *m, uint32_t lo, uint32_t hi, size_t depth, int limit)
{
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if ((unsigned char)m->sorted[mid]->pattern.ptr[depth] > limit)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static const vug_added_token *longest(const vug_matcher *m, const char *text, size_t n)
{
    const unsigned char head = (unsigned char)text[0];
    uint32_t lo = m->first[head];
    uint32_t hi = m->first[head + 1];
    const vug_added_token *best = NULL;
    for (size_t depth = 1; lo < hi; depth++) {
        /* The shortest pattern of a range comes first. */
        if (m->sorted[lo]->pattern.len == depth)
            best = m->sorted[lo];
        while (lo < hi && m->sorted[lo]->pattern.len == depth)
            lo++;
        if (depth == n)
            break;
        const int c = (unsigned char)text[depth];
        lo = above(m, lo, hi, depth, c - 1);
        hi = above(m, lo, hi, depth, c);
    }
    return best;
}

const vug_added_token *vug_matcher_longest(const vug_matcher *matcher, vug_str text)
{
    return matcher->n > 0 && text.len > 0 ? longest(matcher, text.ptr, text.len) : NULL;
}

/* ---- splitting ----------------------------------------------------------- */

/* Where the whitespace that ends at `end` begins; not before `from`. */
static size_t space_before(vug_str text, size_t from, size_t end)
{
    while (end > from) {
        size_t start = end - 1;
        while (start > from && ((unsigned char)text.ptr[start] & 0xc0) == 0x80)
            start--;
        uint32_t cp;
        if (vug_utf8_next(text.ptr + start, end - start, &cp) != end - start ||
            !vug_is_white_space(cp))
            break;
        end = start;
    }
    return end;
}

static size_t space_after(vug_str text, size_t at)
{
    uint32_t cp;
    size_t n;
    while ((n = vug_utf8_next(text.ptr + at, text.len - at, &cp)) > 0 && vug_is_white_space(cp))
        at += n;
    return at;
}

/* The same of a split's text. Where every space is a token that takes those behind it, each is
 * in the run that the first one found. */
static size_t space_behind(vug_split *s, size_t at)
{
    if (at < s->space || at > s->space_end) {
        s->space = at;
        s->space_end = space_after(s->text, at);
    }
    return s->space_end;
}

static bool is_within_word(vug_str text, size_t from, size_t to)
{
    uint32_t cp;
    size_t start = from;
    while (start > 0 && ((unsigned char)text.ptr[--start] & 0xc0) == 0x80)
        continue;
    if (from > 0 && vug_utf8_next(text.ptr + start, from - start, &cp) > 0 && vug_is_word(cp))
        return true;
    return vug_utf8_next(text.ptr + to, text.len - to, &cp) > 0 && vug_is_word(cp);
}

/* The plain range that text[from..to) overlaps, or NULL. `from` never goes back. */
static const vug_range *plain_at(vug_split *s, size_t from, size_t to)
{
    for (; s->n_past < s->plain.n; s->n_past++) {
        const vug_range *r = &s->plain.range[s->n_past];
        if (r->to > from && r->from < r->to)
            return r->from < to ? r : NULL;
    }
    return NULL;
}

/* Whether the token that lies at text[from..to) stays text; then `at` moves on. */
static bool is_refused(vug_split *s, const vug_added_token *token, size_t from, size_t to)
{
    const vug_range *plain = token->control ? plain_at(s, from, to) : NULL;
    if (plain) {
        s->at = plain->to < to ? plain->to : to;
        return true;
    }
    s->at = to;
    return (token->special && !s->keep_special) ||
           (token->single_word && is_within_word(s->text, from, to));
}

static bool find_next(vug_split *s)
{
    const vug_matcher *m = s->matcher;
    while (s->at < s->text.len) {
        const unsigned char c = (unsigned char)s->text.ptr[s->at];
        const vug_added_token *token = NULL;
        if (m->first[c] != m->first[c + 1])
            token = longest(m, s->text.ptr + s->at, s->text.len - s->at);
        if (!token) {
            s->at++;
            continue;
        }
        s->found_from = s->at;
        if (is_refused(s, token, s->at, s->at + token->pattern.len))
            continue;
        s->found_to = token->rstrip ? space_behind(s, s->at) : s->at;
        /* Whitespace that the token before has taken can be a token itself, but
         * not one that would share it. */
        if (token->lstrip)
            s->found_from = s->done < s->found_from ? space_before(s->text, s->done, s->found_from)
                                                    : s->done;
        if (s->found_from >= s->found_to)
            continue;
        s->found = token;
        return true;
    }
    return false;
}

bool vug_split_next(vug_split *s, vug_span *span)
{
    if (!s->found && !find_next(s)) {
        if (s->done >= s->text.len)
            return false;
        *span = (vug_span){ vug_str_from(s->text, s->done), NULL };
        s->done = s->text.len;
        return true;
    }
    if (s->done < s->found_from) {
        *span = (vug_span){ { s->text.ptr + s->done, s->found_from - s->done }, NULL };
        s->done = s->found_from;
        return true;
    }
    *span = (vug_span){ { s->text.ptr + s->found_from, s->found_to - s->found_from }, s->found };
    s->done = s->found_to;
    s->found = NULL;
    return true;
}
