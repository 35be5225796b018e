/* Grammars that the server keeps: found again by all that they were made of, bounded, and never
 * thrown away while a request uses them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "app/server/grammars.h"
#include "tokenizer_help.h"

typedef struct {
    const vug_tokenizer *tokenizer;
    const char *regex;
    int made;
} maker;

static vug_status make(void *arg, vug_grammar **out, vug_err *err)
{
    maker *m = arg;
    m->made++;
    return vug_grammar_create(VUG_GRAMMAR_REGEX, m->regex, strlen(m->regex), m->tokenizer, out,
                              err);
}

typedef struct {
    vug_tokenizer *tokenizer;
    vug_grammars *grammars;
    maker by;
} shop;

static shop shop_open(void)
{
    shop s = { .tokenizer = tokenizer_of((tokenizer_parts){ 0 }) };
    assert_int_equal(vug_grammars_create(NULL, &s.grammars, NULL), VUG_OK);
    s.by.tokenizer = s.tokenizer;
    return s;
}

static void shop_close(shop *s)
{
    vug_grammars_destroy(s->grammars);
    vug_tokenizer_close(s->tokenizer);
}

/* Its key is the expression, and `more`. */
static const vug_grammar *get(shop *s, const char *regex, const char *more)
{
    char key[64];
    const vug_grammar *g = NULL;
    (void)snprintf(key, sizeof(key), "%s%s", regex, more);
    s->by.regex = regex;
    assert_int_equal(vug_grammars_get(s->grammars, vug_str_of(key), make, &s->by, &g, NULL),
                     VUG_OK);
    return g;
}

static bool begins(const vug_grammar *g, int32_t id)
{
    vug_grammar_state *at;
    assert_int_equal(vug_grammar_start(g, &at, NULL), VUG_OK);
    const bool ok = vug_grammar_accept(at, id, NULL) == VUG_OK;
    vug_grammar_state_destroy(at);
    return ok;
}

enum { A = 10, B = 11 }; /* tokens */

static void test_found_again(void **state)
{
    shop s = shop_open();
    (void)state;
    const vug_grammar *a = get(&s, "a", ""), *b = get(&s, "b", ""), *again = get(&s, "a", "");
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_int_equal(s.by.made, 2);
    assert_true(begins(a, A) && !begins(a, B) && begins(b, B));
    vug_grammars_put(s.grammars, a);
    assert_true(begins(again, A));
    vug_grammars_put(s.grammars, again);
    vug_grammars_put(s.grammars, b);
    vug_grammars_put(s.grammars, NULL);
    assert_ptr_equal(get(&s, "a", ""), a);
    assert_int_equal(s.by.made, 2);
    assert_ptr_not_equal(get(&s, "a", "b"), a); /* another key */
    assert_int_equal(s.by.made, 3);
    shop_close(&s);
}

/* What cannot be made is not kept, and is tried again. */
static void test_failures(void **state)
{
    shop s = shop_open();
    const vug_grammar *g = NULL;
    vug_err err;
    (void)state;
    s.by.regex = "(";
    for (int i = 1; i <= 2; i++) {
        assert_int_not_equal(vug_grammars_get(s.grammars, vug_str_of("("), make, &s.by, &g, &err),
                             VUG_OK);
        assert_int_equal(s.by.made, i);
        assert_null(g);
    }
    shop_close(&s);
}

static void put_some(shop *s, int from, int n)
{
    for (int i = from; i < from + n; i++) {
        char more[16];
        (void)snprintf(more, sizeof(more), "%d", i);
        vug_grammars_put(s->grammars, get(s, "a", more));
    }
}

/* The one that was asked for the least recently goes, but not while it is used. */
static void test_bounded(void **state)
{
    shop s = shop_open();
    (void)state;
    const vug_grammar *used = get(&s, "b", "");
    put_some(&s, 0, VUG_GRAMMARS_MAX - 1);
    assert_int_equal(s.by.made, VUG_GRAMMARS_MAX);
    put_some(&s, 0, 1); /* the first is asked for again */
    put_some(&s, 100, 1);
    assert_int_equal(s.by.made, VUG_GRAMMARS_MAX + 1);
    put_some(&s, 0, 1); /* so it is there, and the second is not */
    assert_int_equal(s.by.made, VUG_GRAMMARS_MAX + 1);
    put_some(&s, 1, 1);
    assert_int_equal(s.by.made, VUG_GRAMMARS_MAX + 2);
    put_some(&s, 200, 3 * VUG_GRAMMARS_MAX);
    const int made = s.by.made;
    assert_true(begins(used, B));
    assert_ptr_equal(get(&s, "b", ""), used);
    assert_int_equal(s.by.made, made);
    vug_grammars_put(s.grammars, used);
    put_some(&s, 400, VUG_GRAMMARS_MAX); /* still used once */
    assert_true(begins(used, B));
    vug_grammars_put(s.grammars, used);
    put_some(&s, 500, VUG_GRAMMARS_MAX);
    s.by.made = 0;
    vug_grammars_put(s.grammars, get(&s, "b", ""));
    assert_int_equal(s.by.made, 1);
    shop_close(&s);
}

/* A key that is as large as all that may be kept is not kept once it is put back. */
static void test_bounded_in_bytes(void **state)
{
    shop s = shop_open();
    const vug_grammar *g = NULL;
    (void)state;
    char *key = vug_alloc_zero(VUG_GRAMMARS_MAX_BYTES, 1);
    assert_non_null(key);
    s.by.regex = "a";
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(vug_grammars_get(s.grammars, (vug_str){ key, VUG_GRAMMARS_MAX_BYTES },
                                          make, &s.by, &g, NULL),
                         VUG_OK);
        assert_true(begins(g, A));
        vug_grammars_put(s.grammars, g);
        assert_int_equal(s.by.made, i);
    }
    vug_free(key);
    shop_close(&s);
}

/* Those in use are not dropped: where they take too much, no other is made. */
static void test_bounded_in_use(void **state)
{
    shop s = shop_open();
    const vug_grammar *g[2] = { 0 }, *third = NULL;
    vug_err err = { 0 };
    (void)state;
    char *key = vug_alloc_zero(VUG_GRAMMARS_MAX_USED / 2, 1);
    assert_non_null(key);
    const vug_str large = { key, VUG_GRAMMARS_MAX_USED / 2 }, small = vug_str_of("small");
    s.by.regex = "a";
    for (int i = 0; i < 2; i++) {
        *key = (char)i;
        assert_int_equal(vug_grammars_get(s.grammars, large, make, &s.by, &g[i], NULL), VUG_OK);
    }
    assert_int_equal(vug_grammars_get(s.grammars, small, make, &s.by, &third, &err), VUG_NOMEM);
    assert_non_null(strstr(err.msg, "no memory for another grammar now"));
    assert_int_equal(s.by.made, 2);
    assert_int_equal(vug_grammars_get(s.grammars, large, make, &s.by, &third, NULL), VUG_OK);
    assert_ptr_equal(third, g[1]); /* what is there is found all the same */
    vug_grammars_put(s.grammars, third);
    vug_grammars_put(s.grammars, g[1]);
    assert_int_equal(vug_grammars_get(s.grammars, small, make, &s.by, &third, NULL), VUG_OK);
    vug_grammars_put(s.grammars, third);
    vug_grammars_put(s.grammars, g[0]);
    vug_free(key);
    shop_close(&s);
}

/* ---- threads -------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct {
    shop shop; /* its own maker, the others' grammars */
    unsigned seed;
    bool ok;
} customer;

static void *buy(void *arg)
{
    customer *c = arg;
    c->ok = true;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char more[16];
        (void)snprintf(more, sizeof(more), "%u",
                       (i * 7 + c->seed * i * i) % (VUG_GRAMMARS_MAX * 2));
        const bool a = (i + c->seed) % 2;
        const vug_grammar *g = get(&c->shop, a ? "a" : "b", more);
        c->ok = c->ok && begins(g, A) == a && begins(g, B) == !a;
        vug_grammars_put(c->shop.grammars, g);
    }
    return NULL;
}

static void test_threads(void **state)
{
    shop s = shop_open();
    pthread_t thread[THREADS];
    customer c[THREADS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (customer){ .shop = s, .seed = i };
        assert_int_equal(pthread_create(&thread[i], NULL, buy, &c[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(c[i].ok);
    }
    shop_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_again),    cmocka_unit_test(test_failures),
        cmocka_unit_test(test_bounded),        cmocka_unit_test(test_bounded_in_bytes),
        cmocka_unit_test(test_bounded_in_use), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
