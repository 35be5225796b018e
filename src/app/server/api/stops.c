#include "app/server/api/stops.h"

/*
 * Knuth, Morris and Pratt 1977, once for each stop: they are few, and steps are then linear
 * in text and stops whatever both look like. What is held back needs no buffer: it is the
 * beginning of the stop that has matched most.
 */

/* How much of `s` matches after `c`, when `k` bytes did before. */
static uint16_t step(const vug_stop *s, uint16_t k, char c)
{
    while (k > 0 && s->text.ptr[k] != c)
        k = s->fail[k - 1];
    return s->text.ptr[k] == c ? (uint16_t)(k + 1) : 0;
}

bool vug_stops_init(vug_stops *out, const vug_str *text, size_t n, vug_arena *arena)
{
    *out = (vug_stops){ .n = n };
    if (n == 0)
        return true;
    out->stop = vug_arena_alloc(arena, n, sizeof(*out->stop));
    for (size_t i = 0; out->stop && i < n; i++) {
        vug_stop *s = &out->stop[i];
        VUG_ASSERT(text[i].len > 0 && text[i].len <= UINT16_MAX);
        s->text = text[i];
        s->fail = vug_arena_alloc(arena, text[i].len, sizeof(*s->fail));
        if (!s->fail)
            return false;
        for (size_t k = 1; k < text[i].len; k++)
            s->fail[k] = step(s, s->fail[k - 1], text[i].ptr[k]);
    }
    return out->stop != NULL;
}

void vug_stops_restart(vug_stops *stops)
{
    stops->found = false;
    for (size_t i = 0; i < stops->n; i++)
        stops->stop[i].matched = 0;
}

/* The one that has matched most; NULL without stops. */
static const vug_stop *longest(const vug_stops *stops)
{
    const vug_stop *best = stops->n > 0 ? &stops->stop[0] : NULL;
    for (size_t i = 1; i < stops->n; i++) {
        if (stops->stop[i].matched > best->matched)
            best = &stops->stop[i];
    }
    return best;
}

/* Goes on by a byte; the longest stop that ends with it, or 0. */
static size_t advance(vug_stops *stops, char c)
{
    size_t ended = 0;
    for (size_t i = 0; i < stops->n; i++) {
        vug_stop *s = &stops->stop[i];
        s->matched = step(s, s->matched, c);
        if (s->matched < s->text.len)
            continue;
        ended = s->text.len > ended ? s->text.len : ended;
        s->matched = 0;
    }
    return ended;
}

bool vug_stops_push(vug_stops *stops, const char *text, size_t len, vug_buf *to)
{
    if (stops->found)
        return true;
    if (stops->n == 0) {
        vug_buf_append(to, text, len);
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        /* Held bytes are those of `before`; with this one they are `have`. */
        const vug_stop *before = longest(stops);
        const size_t held = before->matched, have = held + 1;
        const size_t ended = advance(stops, text[i]);
        const size_t keep = ended ? ended : longest(stops)->matched;
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

void vug_stops_flush(vug_stops *stops, vug_buf *to)
{
    if (stops->n == 0)
        return;
    const vug_stop *held = longest(stops);
    if (!stops->found)
        vug_buf_append(to, held->text.ptr, held->matched);
    for (size_t i = 0; i < stops->n; i++)
        stops->stop[i].matched = 0;
}
