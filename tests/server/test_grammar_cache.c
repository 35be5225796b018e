/* The grammar cache: lookups by key, limits, no eviction of grammars in use. */
#include "test.h"

#include <pthread.h>

#include "server/grammar_cache.h"
#include "tokenizer_help.h"

typedef struct {
    const vug_tokenizer *tokenizer;
    const char *regex;
    int made;
} grammar_maker;

static vug_status make_grammar(void *arg, vug_grammar **out, vug_err *err)
{
    grammar_maker *m = arg;
    m->made++;
    return vug_grammar_create(VUG_GRAMMAR_REGEX, m->regex, strlen(m->regex), m->tokenizer, out,
                              err);
}

typedef struct {
    vug_tokenizer *tokenizer;
    vug_grammar_cache *grammars;
    grammar_maker by;
} grammar_fixture;

static grammar_fixture fixture_open(void)
{
    grammar_fixture s = { .tokenizer = tokenizer_of((tokenizer_parts){ 0 }) };
    assert_int_equal(vug_grammar_cache_create(NULL, &s.grammars, NULL), VUG_OK);
    s.by.tokenizer = s.tokenizer;
    return s;
}

static void fixture_close(grammar_fixture *s)
{
    vug_grammar_cache_destroy(s->grammars);
    vug_tokenizer_close(s->tokenizer);
}

static vug_status try_get(grammar_fixture *s, vug_str key, const vug_grammar **out, vug_err *err)
{
    return vug_grammar_cache_get(s->grammars, key, make_grammar, &s->by, out, err);
}

/* The key is the regex and `more`. */
static const vug_grammar *get_grammar(grammar_fixture *s, const char *regex, const char *more)
{
    char key[64];
    const vug_grammar *g = NULL;
    (void)snprintf(key, sizeof(key), "%s%s", regex, more);
    s->by.regex = regex;
    assert_int_equal(try_get(s, vug_str_of(key), &g, NULL), VUG_OK);
    return g;
}

static bool accepts_first(const vug_grammar *g, int32_t id)
{
    vug_grammar_state *at;
    assert_int_equal(vug_grammar_state_create(g, &at, NULL), VUG_OK);
    const bool ok = vug_grammar_accept(at, id, NULL) == VUG_OK;
    vug_grammar_state_destroy(at);
    return ok;
}

enum { A = 10, B = 11 }; /* tokens */

static void test_second_lookup_finds_the_grammar(void **state)
{
    grammar_fixture s = fixture_open();
    (void)state;
    const vug_grammar *a = get_grammar(&s, "a", ""), *b = get_grammar(&s, "b", ""),
                      *again = get_grammar(&s, "a", "");
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_int_equal(s.by.made, 2);
    assert_true(accepts_first(a, A) && !accepts_first(a, B) && accepts_first(b, B));
    vug_grammar_cache_release(s.grammars, a);
    assert_true(accepts_first(again, A));
    vug_grammar_cache_release(s.grammars, again);
    vug_grammar_cache_release(s.grammars, b);
    vug_grammar_cache_release(s.grammars, NULL);
    assert_ptr_equal(get_grammar(&s, "a", ""), a);
    assert_int_equal(s.by.made, 2);
    assert_ptr_not_equal(get_grammar(&s, "a", "b"), a); /* another key */
    assert_int_equal(s.by.made, 3);
    fixture_close(&s);
}

/* A failed compilation is not cached and is retried. */
static void test_failures_are_not_cached(void **state)
{
    grammar_fixture s = fixture_open();
    const vug_grammar *g = NULL;
    vug_err err;
    (void)state;
    s.by.regex = "(";
    for (int i = 1; i <= 2; i++) {
        assert_int_not_equal(try_get(&s, vug_str_of("("), &g, &err), VUG_OK);
        assert_int_equal(s.by.made, i);
        assert_null(g);
    }
    fixture_close(&s);
}

static void use_grammars(grammar_fixture *s, int from, int n)
{
    for (int i = from; i < from + n; i++) {
        char more[16];
        (void)snprintf(more, sizeof(more), "%d", i);
        vug_grammar_cache_release(s->grammars, get_grammar(s, "a", more));
    }
}

/* The least recently used grammar is evicted, but not while in use. */
static void test_evicts_least_recently_used(void **state)
{
    grammar_fixture s = fixture_open();
    (void)state;
    const vug_grammar *used = get_grammar(&s, "b", "");
    use_grammars(&s, 0, VUG_GRAMMAR_CACHE_MAX - 1);
    assert_int_equal(s.by.made, VUG_GRAMMAR_CACHE_MAX);
    use_grammars(&s, 0, 1); /* use the first again */
    use_grammars(&s, 100, 1);
    assert_int_equal(s.by.made, VUG_GRAMMAR_CACHE_MAX + 1);
    use_grammars(&s, 0, 1); /* the first is cached, the second is not */
    assert_int_equal(s.by.made, VUG_GRAMMAR_CACHE_MAX + 1);
    use_grammars(&s, 1, 1);
    assert_int_equal(s.by.made, VUG_GRAMMAR_CACHE_MAX + 2);
    use_grammars(&s, 200, 3 * VUG_GRAMMAR_CACHE_MAX);
    const int made = s.by.made;
    assert_true(accepts_first(used, B));
    assert_ptr_equal(get_grammar(&s, "b", ""), used);
    assert_int_equal(s.by.made, made);
    vug_grammar_cache_release(s.grammars, used);
    use_grammars(&s, 400, VUG_GRAMMAR_CACHE_MAX); /* still in use once */
    assert_true(accepts_first(used, B));
    vug_grammar_cache_release(s.grammars, used);
    use_grammars(&s, 500, VUG_GRAMMAR_CACHE_MAX);
    s.by.made = 0;
    vug_grammar_cache_release(s.grammars, get_grammar(&s, "b", ""));
    assert_int_equal(s.by.made, 1);
    fixture_close(&s);
}

/* A key as large as the cache is evicted on release. */
static void test_evicts_by_bytes(void **state)
{
    grammar_fixture s = fixture_open();
    const vug_grammar *g = NULL;
    (void)state;
    char *key = vug_alloc_zero(VUG_GRAMMAR_CACHE_MAX_BYTES, 1);
    assert_non_null(key);
    s.by.regex = "a";
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(try_get(&s, (vug_str){ key, VUG_GRAMMAR_CACHE_MAX_BYTES }, &g, NULL),
                         VUG_OK);
        assert_true(accepts_first(g, A));
        vug_grammar_cache_release(s.grammars, g);
        assert_int_equal(s.by.made, i);
    }
    vug_free(key);
    fixture_close(&s);
}

/* Grammars in use are not evicted; when they take too much, no other is compiled. */
static void test_rejects_when_too_much_is_in_use(void **state)
{
    grammar_fixture s = fixture_open();
    const vug_grammar *g[2] = { 0 }, *third = NULL;
    vug_err err = { 0 };
    (void)state;
    char *key = vug_alloc_zero(VUG_GRAMMAR_CACHE_MAX_IN_USE / 2, 1);
    assert_non_null(key);
    const vug_str large = { key, VUG_GRAMMAR_CACHE_MAX_IN_USE / 2 }, small = vug_str_of("small");
    s.by.regex = "a";
    for (int i = 0; i < 2; i++) {
        *key = (char)i;
        assert_int_equal(try_get(&s, large, &g[i], NULL), VUG_OK);
    }
    assert_int_equal(try_get(&s, small, &third, &err), VUG_NOMEM);
    assert_non_null(strstr(err.msg, "enough memory for another grammar now"));
    assert_int_equal(s.by.made, 2);
    assert_int_equal(try_get(&s, large, &third, NULL), VUG_OK);
    assert_ptr_equal(third, g[1]); /* cached grammars are still found */
    vug_grammar_cache_release(s.grammars, third);
    vug_grammar_cache_release(s.grammars, g[1]);
    assert_int_equal(try_get(&s, small, &third, NULL), VUG_OK);
    vug_grammar_cache_release(s.grammars, third);
    vug_grammar_cache_release(s.grammars, g[0]);
    vug_free(key);
    fixture_close(&s);
}

/* ---- threads -------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct {
    grammar_fixture fixture; /* its own maker, the shared cache */
    unsigned seed;
    bool ok;
} grammar_user;

static void *use_repeatedly(void *arg)
{
    grammar_user *c = arg;
    c->ok = true;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char more[16];
        (void)snprintf(more, sizeof(more), "%u",
                       (i * 7 + c->seed * i * i) % (VUG_GRAMMAR_CACHE_MAX * 2));
        const bool a = (i + c->seed) % 2;
        const vug_grammar *g = get_grammar(&c->fixture, a ? "a" : "b", more);
        c->ok = c->ok && accepts_first(g, A) == a && accepts_first(g, B) == !a;
        vug_grammar_cache_release(c->fixture.grammars, g);
    }
    return NULL;
}

static void test_threads_share_grammars(void **state)
{
    grammar_fixture s = fixture_open();
    pthread_t thread[THREADS];
    grammar_user c[THREADS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (grammar_user){ .fixture = s, .seed = i };
        assert_int_equal(pthread_create(&thread[i], NULL, use_repeatedly, &c[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(c[i].ok);
    }
    fixture_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_lookup_finds_the_grammar),
        cmocka_unit_test(test_failures_are_not_cached),
        cmocka_unit_test(test_evicts_least_recently_used),
        cmocka_unit_test(test_evicts_by_bytes),
        cmocka_unit_test(test_rejects_when_too_much_is_in_use),
        cmocka_unit_test(test_threads_share_grammars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
