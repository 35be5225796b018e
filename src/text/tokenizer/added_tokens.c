#include "text/tokenizer/added_tokens.h"

#include <stdlib.h>

#include "core/utf8.h"
#include "text/tokenizer/unicode_normalize.h"
#include "text/unicode.h"

/* By pattern; of equal patterns special tokens first, then the lower id. */
static int compare_patterns(const void *a, const void *b)
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

bool vug_added_token_set_init(vug_added_token_set *set, const vug_added_token *token, size_t n,
                              bool normalized)
{
    const vug_added_token **sorted = vug_alloc(n, sizeof(const vug_added_token *));
    if (!sorted)
        return false;
    *set = (vug_added_token_set){ .sorted = sorted };
    for (size_t i = 0; i < n; i++) {
        if (token[i].normalized == normalized && token[i].pattern.len > 0)
            sorted[set->n++] = &token[i];
    }
    qsort(sorted, set->n, sizeof(const vug_added_token *), compare_patterns);
    uint32_t at = 0;
    for (unsigned b = 0; b <= 256; b++) {
        while (at < set->n && (unsigned char)sorted[at]->pattern.ptr[0] < b)
            at++;
        set->first[b] = at;
    }
    return true;
}

void vug_added_token_set_release(vug_added_token_set *set)
{
    vug_free(set->sorted);
    *set = (vug_added_token_set){ 0 };
}

/* The first of sorted[lo..hi) whose byte at `depth` is above `limit`, or hi. The patterns
 * share their first `depth` bytes and are longer than that. */
static uint32_t first_above(const vug_added_token_set *m, uint32_t lo, uint32_t hi, size_t depth,
                            int limit)
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

static const vug_added_token *find_longest(const vug_added_token_set *m, const char *text, size_t n)
{
    const unsigned char head = (unsigned char)text[0];
    uint32_t lo = m->first[head];
    uint32_t hi = m->first[head + 1];
    const vug_added_token *best = NULL;
    for (size_t depth = 1; lo < hi; depth++) {
        /* The shortest pattern of a range is its first. */
        if (m->sorted[lo]->pattern.len == depth)
            best = m->sorted[lo];
        while (lo < hi && m->sorted[lo]->pattern.len == depth)
            lo++;
        if (depth == n)
            break;
        const int c = (unsigned char)text[depth];
        lo = first_above(m, lo, hi, depth, c - 1);
        hi = first_above(m, lo, hi, depth, c);
    }
    return best;
}

/* ---- splitting ----------------------------------------------------------- */

/* The start, not before `from`, of the whitespace that ends at `end`. */
static size_t whitespace_start(vug_str text, size_t from, size_t end)
{
    while (end > from) {
        size_t start = end - 1;
        while (start > from && vug_utf8_is_continuation(text.ptr[start]))
            start--;
        uint32_t cp;
        if (vug_utf8_decode(text.ptr + start, end - start, &cp) != end - start ||
            !vug_is_white_space(cp))
            break;
        end = start;
    }
    return end;
}

static size_t whitespace_end(vug_str text, size_t at)
{
    uint32_t cp;
    size_t n;
    while ((n = vug_utf8_decode(text.ptr + at, text.len - at, &cp)) > 0 && vug_is_white_space(cp))
        at += n;
    return at;
}

/* The same in a split's text. Each run is scanned once, even if every space of it is a token
 * with `rstrip`. */
static size_t cached_whitespace_end(vug_added_token_split *s, size_t at)
{
    if (at < s->space || at > s->space_end) {
        s->space = at;
        s->space_end = whitespace_end(s->text, at);
    }
    return s->space_end;
}

static bool is_inside_word(vug_str text, size_t from, size_t to)
{
    uint32_t cp;
    size_t start = from;
    while (start > 0 && vug_utf8_is_continuation(text.ptr[--start]))
        continue;
    if (from > 0 && vug_utf8_decode(text.ptr + start, from - start, &cp) > 0 &&
        vug_unicode_is_word(cp))
        return true;
    return vug_utf8_decode(text.ptr + to, text.len - to, &cp) > 0 && vug_unicode_is_word(cp);
}

/* The untrusted range that text[from..to) overlaps, or NULL. `from` never decreases. */
static const vug_range *find_untrusted(vug_added_token_split *s, size_t from, size_t to)
{
    for (; s->n_past < s->untrusted.n; s->n_past++) {
        const vug_range *r = &s->untrusted.range[s->n_past];
        if (r->to > from && r->from < r->to)
            return r->from < to ? r : NULL;
    }
    return NULL;
}

/* Whether the token at text[from..to) stays text. Moves s->at past it. */
static bool stays_text(vug_added_token_split *s, const vug_added_token *token, size_t from,
                       size_t to)
{
    const vug_range *untrusted = token->control ? find_untrusted(s, from, to) : NULL;
    if (untrusted) {
        s->at = untrusted->to < to ? untrusted->to : to;
        return true;
    }
    s->at = to;
    return (token->special && !s->keep_special) ||
           (token->single_word && is_inside_word(s->text, from, to));
}

static bool find_next_token(vug_added_token_split *s)
{
    const vug_added_token_set *m = s->set;
    while (s->at < s->text.len) {
        const unsigned char c = (unsigned char)s->text.ptr[s->at];
        const vug_added_token *token = NULL;
        if (m->first[c] != m->first[c + 1])
            token = find_longest(m, s->text.ptr + s->at, s->text.len - s->at);
        if (!token) {
            s->at++;
            continue;
        }
        s->found_from = s->at;
        if (stays_text(s, token, s->at, s->at + token->pattern.len))
            continue;
        s->found_to = token->rstrip ? cached_whitespace_end(s, s->at) : s->at;
        /* Whitespace that the previous token included can be a token itself, but not one
         * that would include it too. */
        if (token->lstrip)
            s->found_from = s->done < s->found_from
                                    ? whitespace_start(s->text, s->done, s->found_from)
                                    : s->done;
        if (s->found_from >= s->found_to)
            continue;
        s->found = token;
        return true;
    }
    return false;
}

bool vug_added_token_split_next(vug_added_token_split *s, vug_text_span *span)
{
    if (!s->found && !find_next_token(s)) {
        if (s->done >= s->text.len)
            return false;
        *span = (vug_text_span){ vug_str_from(s->text, s->done), NULL };
        s->done = s->text.len;
        return true;
    }
    if (s->done < s->found_from) {
        *span = (vug_text_span){ { s->text.ptr + s->done, s->found_from - s->done }, NULL };
        s->done = s->found_from;
        return true;
    }
    *span = (vug_text_span){ { s->text.ptr + s->found_from, s->found_to - s->found_from },
                             s->found };
    s->done = s->found_to;
    s->found = NULL;
    return true;
}
