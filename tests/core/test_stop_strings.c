

#include "test.h"

#include "core/stop_strings.h"

/* Stop strings against a naive search for all of them after each byte. */

enum { MAX_STOPS = 4 };

typedef struct {
    const char *stop[MAX_STOPS];
    const char *text;
    const char *out; /* NULL: as the search finds */
} example;

static size_t count(const char *const *stop)
{
    size_t n = 0;
    while (n < MAX_STOPS && stop[n])
        n++;
    return n;
}

/* The length of `text` before the stop that ends first, or the longest of these. */
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

static void push_pieces(const example *e, size_t piece, vug_stop_strings *stops)
{
    vug_buf out = { 0 };
    const size_t len = strlen(e->text);
    bool found = false, wanted;
    const size_t want = search(e->stop, e->text, &wanted);
    for (size_t at = 0; at < len; at += piece ? piece : len) {
        const size_t here = piece && piece < len - at ? piece : len - at;
        found = vug_stop_strings_push(stops, e->text + at, here, &out);
        assert_true(out.len <= want);
    }
    vug_stop_strings_flush(stops, &out);
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

/* Pushes pieces of `piece` bytes; 0: all at once. Output is never taken back. An aborted text
 * before leaves no trace. */
static void try_pieces(const example *e, size_t piece)
{
    vug_arena arena = { 0 };
    vug_buf out = { 0 };
    vug_str text[MAX_STOPS] = { 0 };
    vug_stop_strings stops;
    const size_t n = count(e->stop);
    for (size_t i = 0; i < n; i++)
        text[i] = vug_str_of(e->stop[i]);
    assert_true(vug_stop_strings_init(&stops, text, n, &arena));
    push_pieces(e, piece, &stops);
    for (size_t i = 0; i < n; i++) {
        for (size_t cut = 1; cut <= text[i].len; cut++) {
            vug_stop_strings_reset(&stops);
            (void)vug_stop_strings_push(&stops, text[i].ptr, cut, &out);
            vug_stop_strings_reset(&stops);
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
    { { "abcd", "bc" }, "xabcd", "xa" }, /* the first to end */
    { { "bc", "abc" }, "xabc", "x" },    /* the longest of several */
    { { "abc", "bc" }, "xabc", "x" },
    { { "ababac" }, "abababac", "ab" },
    { { "abcX", "bcd" }, "abcd", "a" }, /* held back for one, ended by another */
    { { "aaaaaaaX", "aab" }, "aaaaaab", "aaaa" },
    { { "\xc3\xa8" }, "caf\xc3\xa9 tr\xc3\xa8s", "caf\xc3\xa9 tr" },
    { { "x" }, "x", "" },
    { { "x" }, "", "" },
    { { NULL }, "no stops at all", "no stops at all" },
};

static void test_finds_stops_across_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        for (size_t piece = 0; piece <= strlen(examples[i].text); piece++)
            try_pieces(&examples[i], piece);
    }
}

/* All texts of ten a's and b's with all pairs of short stops. */
static void test_agrees_with_naive_search(void **state)
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

/* Only what can still become a stop is held back. */
static void test_holds_back_no_more_than_needed(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_buf out = { 0 };
    vug_stop_strings stops;
    const vug_str stop = vug_str_of("</end>");
    assert_true(vug_stop_strings_init(&stops, &stop, 1, &arena));
    assert_false(vug_stop_strings_push(&stops, "a</", 3, &out));
    assert_string_equal(out.ptr, "a");
    assert_false(vug_stop_strings_push(&stops, "en", 2, &out));
    assert_string_equal(out.ptr, "a");
    assert_false(vug_stop_strings_push(&stops, "<", 1, &out));
    assert_string_equal(out.ptr, "a</en");
    assert_false(vug_stop_strings_push(&stops, "b", 1, &out));
    assert_string_equal(out.ptr, "a</en<b");
    assert_true(vug_stop_strings_push(&stops, "</end>more", 10, &out));
    assert_true(vug_stop_strings_push(&stops, "more", 4, &out));
    vug_stop_strings_flush(&stops, &out);
    assert_string_equal(out.ptr, "a</en<b");
    vug_buf_release(&out);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_stops_across_pieces),
        cmocka_unit_test(test_agrees_with_naive_search),
        cmocka_unit_test(test_holds_back_no_more_than_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
