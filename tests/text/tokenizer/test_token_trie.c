#include "test.h"

#include <pthread.h>

#include "text/tokenizer/token_trie.h"
#include "tokenizer_help.h"

/* What other modules keep with the trie of a tokenizer. */

typedef struct {
    const vug_token_trie *trie;
    int *n_destroyed;
} attached;

static int n_created, n_destroyed;
static vug_status next_create;

static vug_status create_attached(const vug_token_trie *trie, void **out, vug_err *err)
{
    if (next_create != VUG_OK)
        return VUG_FAIL(err, next_create, "no attachment");
    attached *a = vug_alloc_zero(1, sizeof(*a));
    if (!a)
        return VUG_FAIL_NOMEM(err, "an attachment", sizeof(*a));
    *a = (attached){ .trie = trie, .n_destroyed = &n_destroyed };
    n_created++;
    *out = a;
    return VUG_OK;
}

static void destroy_attached(void *attachment)
{
    (*((attached *)attachment)->n_destroyed)++;
    vug_free(attachment);
}

static const vug_token_trie_attachment kind = { create_attached, destroy_attached };

static int reset_counts(void **state)
{
    (void)state;
    n_created = n_destroyed = 0;
    next_create = VUG_OK;
    return 0;
}

static void test_attachment_lives_with_its_tokenizer(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_tokenizer *other = tokenizer_of((tokenizer_parts){ 0 });
    void *first = NULL, *second = NULL, *of_other = NULL;
    const vug_token_trie *trie = NULL;
    assert_int_equal(vug_token_trie_attach(t, &kind, &first, NULL), VUG_OK);
    assert_int_equal(vug_token_trie_attach(t, &kind, &second, NULL), VUG_OK);
    assert_int_equal(vug_token_trie_get(t, &trie, NULL), VUG_OK);
    assert_non_null(first);
    assert_ptr_equal(second, first);
    assert_ptr_equal(((attached *)first)->trie, trie);
    assert_int_equal(n_created, 1);
    assert_int_equal(vug_token_trie_attach(other, &kind, &of_other, NULL), VUG_OK);
    assert_ptr_not_equal(of_other, first);
    vug_tokenizer_close(t);
    assert_int_equal(n_destroyed, 1);
    vug_tokenizer_close(other);
    assert_int_equal(n_destroyed, 2);
}

static void test_failed_attachment_is_tried_again(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    void *out = NULL;
    vug_err err = { 0 };
    next_create = VUG_NOMEM;
    assert_int_equal(vug_token_trie_attach(t, &kind, &out, &err), VUG_NOMEM);
    assert_string_equal(err.msg, "no attachment");
    assert_null(out);
    next_create = VUG_OK;
    assert_int_equal(vug_token_trie_attach(t, &kind, &out, &err), VUG_OK);
    assert_non_null(out);
    assert_int_equal(n_created, 1);
    vug_tokenizer_close(t);
    assert_int_equal(n_destroyed, 1);
}

static void test_tokenizer_without_attachment(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    const vug_token_trie *trie = NULL;
    assert_int_equal(vug_token_trie_get(t, &trie, NULL), VUG_OK);
    vug_tokenizer_close(t);
    assert_int_equal(n_destroyed, 0);
}

static void *attach_in_thread(void *tokenizer)
{
    void *out = NULL;
    return vug_token_trie_attach(tokenizer, &kind, &out, NULL) == VUG_OK ? out : NULL;
}

static void test_attached_once_by_threads(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    pthread_t thread[4];
    void *out[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, attach_in_thread, t), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], &out[i]), 0);
    assert_non_null(out[0]);
    for (size_t i = 1; i < 4; i++)
        assert_ptr_equal(out[i], out[0]);
    assert_int_equal(n_created, 1);
    vug_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_attachment_lives_with_its_tokenizer, reset_counts),
        cmocka_unit_test_setup(test_failed_attachment_is_tried_again, reset_counts),
        cmocka_unit_test_setup(test_tokenizer_without_attachment, reset_counts),
        cmocka_unit_test_setup(test_attached_once_by_threads, reset_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
