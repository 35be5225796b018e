#include "core/stop_strings.h"

/*
 * The algorithm of Knuth, Morris and Pratt (1977), run for each stop: there are few, and the time
 * is linear in text and stops. Held back text needs no buffer: it is the matched part of the stop
 * that has matched most.
 */

/* The number of matched bytes after `c`, when `k` were matched before. */
static uint16_t next_match(const vug_stop_string *s, uint16_t k, char c)
{
    while (k > 0 && s->text.ptr[k] != c)
        k = s->fail[k - 1];
    return s->text.ptr[k] == c ? (uint16_t)(k + 1) : 0;
}

bool vug_stop_strings_init(vug_stop_strings *out, const vug_str *text, size_t n, vug_arena *arena)
{
    *out = (vug_stop_strings){ .n = n };
    if (n == 0)
        return true;
    out->stop = vug_arena_alloc(arena, n, sizeof(*out->stop));
    for (size_t i = 0; out->stop && i < n; i++) {
        vug_stop_string *s = &out->stop[i];
        VUG_ASSERT(text[i].len > 0 && text[i].len <= UINT16_MAX);
        s->text = text[i];
        s->fail = vug_arena_alloc(arena, text[i].len, sizeof(*s->fail));
        if (!s->fail)
            return false;
        for (size_t k = 1; k < text[i].len; k++)
            s->fail[k] = next_match(s, s->fail[k - 1], text[i].ptr[k]);
    }
    return out->stop != NULL;
}

void vug_stop_strings_reset(vug_stop_strings *stops)
{
    stops->found = false;
    for (size_t i = 0; i < stops->n; i++)
        stops->stop[i].matched = 0;
}

/* NULL without stops. */
static const vug_stop_string *longest_match(const vug_stop_strings *stops)
{
    const vug_stop_string *best = stops->n > 0 ? &stops->stop[0] : NULL;
    for (size_t i = 1; i < stops->n; i++) {
        if (stops->stop[i].matched > best->matched)
            best = &stops->stop[i];
    }
    return best;
}

/* Consumes a byte; returns the length of the longest stop that ends with it, or 0. */
static size_t match_byte(vug_stop_strings *stops, char c)
{
    size_t ended = 0;
    for (size_t i = 0; i < stops->n; i++) {
        vug_stop_string *s = &stops->stop[i];
        s->matched = next_match(s, s->matched, c);
        if (s->matched < s->text.len)
            continue;
        if (s->text.len > ended) {
            ended = s->text.len;
            stops->ended_by = s->text;
        }
        s->matched = 0;
    }
    return ended;
}

bool vug_stop_strings_push(vug_stop_strings *stops, const char *text, size_t len, vug_buf *to)
{
    if (stops->found)
        return true;
    if (stops->n == 0) {
        vug_buf_append(to, text, len);
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        /* The held bytes are those that `before` has matched; this one makes them `have`. */
        const vug_stop_string *before = longest_match(stops);
        const size_t held = before->matched, have = held + 1;
        const size_t ended = match_byte(stops, text[i]);
        const size_t keep = ended ? (stops->include ? 0 : ended) : longest_match(stops)->matched;
        const size_t out = have - keep;
        vug_buf_append(to, before->text.ptr, out < held ? out : held);
        if (out > held)
            vug_buf_append(to, text + i, 1);
        stops->found = ended > 0;
        if (stops->found)
            return true;
    }
    return false;
}

void vug_stop_strings_flush(vug_stop_strings *stops, vug_buf *to)
{
    if (stops->n == 0)
        return;
    const vug_stop_string *held = longest_match(stops);
    if (!stops->found)
        vug_buf_append(to, held->text.ptr, held->matched);
    for (size_t i = 0; i < stops->n; i++)
        stops->stop[i].matched = 0;
}
