/* The keys of prefixes. The expected values were computed with Python's hashlib. */
#include "test.h"

#include "engine/prefix_key.h"

#define PART(text)                                \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

static void assert_key(const vug_prefix_key *key, const char *hex)
{
    char text[2 * VUG_PREFIX_KEY + 1];
    for (size_t i = 0; i < VUG_PREFIX_KEY; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key->byte[i]);
    assert_string_equal(text, hex);
}

static void test_values(void **state)
{
    (void)state;
    const vug_bytes part[] = { PART("weights"), PART(""), PART("graph") };
    const int32_t id[] = { 2, -1, 262143, 65536 };
    vug_prefix_key key;
    assert_int_equal(vug_prefix_key_root(part, 3, &key, NULL), VUG_OK);
    assert_key(&key, "ad6679c2c8efe60d95ae1869a065b75542ec592ad8526b0eeaa39a04f0557702");
    assert_int_equal(vug_prefix_key_next(&key, id, 4, &key, NULL), VUG_OK);
    assert_key(&key, "7423f35038a3abea96a8899106bedb94e160305197623182c8edd0e25806e6a4");
}

/* Order and borders of the parts count. */
static void test_roots_differ(void **state)
{
    (void)state;
    const vug_bytes list[][3] = {
        { PART("ab"), PART("c"), PART("") }, { PART("a"), PART("bc"), PART("") },
        { PART("c"), PART("ab"), PART("") }, { PART(""), PART("ab"), PART("c") },
        { PART("abc"), PART(""), PART("") },
    };
    enum { LISTS = sizeof(list) / sizeof(list[0]) };
    vug_prefix_key key[LISTS + 2];
    for (size_t i = 0; i < LISTS; i++)
        assert_int_equal(vug_prefix_key_root(list[i], 3, &key[i], NULL), VUG_OK);
    assert_int_equal(vug_prefix_key_root(list[0], 2, &key[LISTS], NULL), VUG_OK);
    assert_int_equal(vug_prefix_key_root(NULL, 0, &key[LISTS + 1], NULL), VUG_OK);
    for (size_t i = 0; i < LISTS + 2; i++) {
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&key[i], &key[j], sizeof(key[i]));
    }
}

/* Equal tokens after different prefixes, and different tokens after equal ones. */
static void test_chains_differ(void **state)
{
    (void)state;
    const int32_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
    vug_prefix_key root, one, two, three;
    assert_int_equal(vug_prefix_key_root(NULL, 0, &root, NULL), VUG_OK);
    assert_int_equal(vug_prefix_key_next(&root, a, 3, &one, NULL), VUG_OK);
    assert_int_equal(vug_prefix_key_next(&root, b, 3, &two, NULL), VUG_OK);
    assert_int_equal(vug_prefix_key_next(&one, a, 3, &three, NULL), VUG_OK);
    assert_memory_not_equal(&one, &two, sizeof(one));
    assert_memory_not_equal(&one, &three, sizeof(one));
    assert_int_equal(vug_prefix_key_next(&root, a, 2, &two, NULL), VUG_OK);
    assert_memory_not_equal(&one, &two, sizeof(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_roots_differ),
        cmocka_unit_test(test_chains_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
