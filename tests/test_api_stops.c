#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/server/api/stops.h"

/* Stops against the plainest search: look for all of them after each byte. */

enum { MAX_STOPS = 4 };

typedef struct {
    const char *stop[MAX_STOPS];
    const char *text;
    const char *out; /* NULL: what the search says */
} example;

static size_t count(const char *const *stop)
{
    size_t n = 0;
    while (n < MAX_STOPS && stop[n])
        n++;
    return n;
}

/* The bytes of `text` before the stop that ends first, the longest of those. */
static size_t search(const char *const *stop, const char *text, bool *found)
{
    const size_t len = strlen(text);
    for (size_t end = 1; end <= len; end++) {
        size_t best = 0;
        for (size_t i = 0; i < count(stop); i++) {
            const size_t n = strlen(stop[i]);
            if (n <= end && n > best && memcmp(text + end - n, stop[i], n) == 0)
                best = n;
        }
        if (best) {
            *found = true;
            return end - best;
        }
    }
    *found = false;
    return len;
}

static void push_pieces(const example *e, size_t piece, vug_stops *stops)
{
    vug_buf out = { 0 };
    const size_t len = strlen(e->text);
    bool found = false, wanted;
    const size_t want = search(e->stop, e->text, &wanted);
    for (size_t at = 0; at < len; at += piece ? piece : len) {
        const size_t here = piece && piece < len - at ? piece : len - at;
        found = vug_stops_push(stops, e->text + at, here, &out);
        assert_true(out.len <= want);
    }
    vug_stops_flush(stops, &out);
    assert_int_equal(found, wanted);
    assert_int_equal(out.len, want);
    if (want)
        assert_memory_equal(out.ptr, e->text, want);
    if (e->out) {
        assert_int_equal(want, strlen(e->out));
        assert_memory_equal(e->text, e->out, want);
    }
    vug_buf_release(&out);
}

/* In pieces of `piece` bytes; 0: whole. What is out after a piece stays out. A text that broke off
 * before leaves nothing behind. */
static void try_pieces(const example *e, size_t piece)
{
    vug_arena arena = { 0 };
    vug_buf out = { 0 };
    vug_str text[MAX_STOPS] = { 0 };
    vug_stops stops;
    const size_t n = count(e->stop);
    for (size_t i = 0; i < n; i++)
        text[i] = vug_str_of(e->stop[i]);
    assert_true(vug_stops_init(&stops, text, n, &arena));
    push_pieces(e, piece, &stops);
    for (size_t i = 0; i < n; i++) {
        for (size_t cut = 1; cut <= text[i].len; cut++) {
            vug_stops_restart(&stops);
            (void)vug_stops_push(&stops, text[i].ptr, cut, &out);
            vug_stops_restart(&stops);
            push_pieces(e, piece, &stops);
        }
    }
    vug_buf_release(&out);
    vug_arena_release(&arena);
}

static const example examples[] = {
    { { "END" }, "all of ENDless", "all of " },
    { { "END" }, "an EN at the EN", "an EN at the EN" },
    { { "\n\nUser:" }, "yes\n\nUse\n\nUser: no", "yes\n\nUse" },
    { { "aab" }, "aaab", "a" },
    { { "abab" }, "abaabab!", "aba" },
    { { "abcd", "bc" }, "xabcd", "xa" }, /* the one that ends first */
    { { "bc", "abc" }, "xabc", "x" },    /* of those the longest */
    { { "abc", "bc" }, "xabc", "x" },
    { { "ababac" }, "abababac", "ab" },
    { { "abcX", "bcd" }, "abcd", "a" }, /* held for one, ended by another */
    { { "aaaaaaaX", "aab" }, "aaaaaab", "aaaa" },
    { { "\xc3\xa8" }, "caf\xc3\xa9 tr\xc3\xa8s", "caf\xc3\xa9 tr" },
    { { "x" }, "x", "" },
    { { "x" }, "", "" },
    { { NULL }, "no stops at all", "no stops at all" },
};

static void finds_stops_across_borders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        for (size_t piece = 0; piece <= strlen(examples[i].text); piece++)
            try_pieces(&examples[i], piece);
    }
}

/* Every text of ten a's and b's, against pairs of stops of a's and b's. */
static void agrees_with_a_plain_search(void **state)
{
    (void)state;
    static const char *const words[] = { "a", "ab", "aba", "bb", "abab", "ababaa", "babba" };
    enum { WORDS = sizeof(words) / sizeof(words[0]), LENGTH = 10 };
    for (unsigned bits = 0; bits < 1u << LENGTH; bits++) {
        char text[LENGTH + 1] = { 0 };
        for (unsigned i = 0; i < LENGTH; i++)
            text[i] = (char)('a' + (bits >> i & 1u));
        for (size_t a = 0; a < WORDS; a++) {
            const example e = { { words[a], words[(a + bits) % WORDS] }, text, NULL };
            try_pieces(&e, bits % 4);
        }
    }
}

/* What is held back is exactly what could still become a stop. */
static void holds_back_no_more_than_needed(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_buf out = { 0 };
    vug_stops stops;
    const vug_str stop = vug_str_of("</end>");
    assert_true(vug_stops_init(&stops, &stop, 1, &arena));
    assert_false(vug_stops_push(&stops, "a</", 3, &out));
    assert_string_equal(out.ptr, "a");
    assert_false(vug_stops_push(&stops, "en", 2, &out));
    assert_string_equal(out.ptr, "a");
    assert_false(vug_stops_push(&stops, "<", 1, &out));
    assert_string_equal(out.ptr, "a</en");
    assert_false(vug_stops_push(&stops, "b", 1, &out));
    assert_string_equal(out.ptr, "a</en<b");
    assert_true(vug_stops_push(&stops, "</end>more", 10, &out));
    assert_true(vug_stops_push(&stops, "more", 4, &out));
    vug_stops_flush(&stops, &out);
    assert_string_equal(out.ptr, "a</en<b");
    vug_buf_release(&out);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_stops_across_borders),
        cmocka_unit_test(agrees_with_a_plain_search),
        cmocka_unit_test(holds_back_no_more_than_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
