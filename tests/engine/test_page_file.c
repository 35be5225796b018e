/* The format of page files. The bytes of the header were computed with Python's hashlib. */
#include "test.h"

#include "engine/page_file.h"

static const uint8_t expected[VUG_PAGE_HEADER] = {
    'v',  'u',  'g',  'p',  'a',  'g',  'e',  '\n', 1,    0,    0,    0,    4,    3,    2,
    1,    15,   0,    0,    0,    0,    0,    0,    0,    0,    1,    2,    3,    4,    5,
    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,   16,   17,   18,   19,   20,
    21,   22,   23,   24,   25,   26,   27,   28,   29,   30,   31,   0x13, 0xc4, 0xd9, 0xf9,
    0x5e, 0x1f, 0x58, 0x92, 0x80, 0xc9, 0xda, 0x3e, 0x3d, 0xd6, 0x39, 0x8d, 0xdc, 0xa9, 0xf8,
    0x25, 0xc0, 0xe5, 0x21, 0x37, 0xf5, 0xe9, 0x27, 0xa0, 0xf8, 0x3f, 0xe8, 0xe6,
};
static const char contents[] = "keys and values";

static vug_page_id example_id(void)
{
    vug_page_id id = { .part = 0x01020304 };
    for (size_t i = 0; i < VUG_PREFIX_KEY; i++)
        id.key.byte[i] = (uint8_t)i;
    return id;
}

static vug_status check(const uint8_t *header, const vug_page_id *id, const char *text, size_t n)
{
    return vug_page_header_check(header, id, (vug_bytes){ (const uint8_t *)text, n }, NULL);
}

static void test_bytes(void **state)
{
    (void)state;
    const vug_page_id id = example_id();
    uint8_t header[VUG_PAGE_HEADER];
    assert_int_equal(vug_page_header_write(
                             &id, (vug_bytes){ (const uint8_t *)contents, sizeof(contents) - 1 },
                             header, NULL),
                     VUG_OK);
    assert_memory_equal(header, expected, sizeof(header));
    assert_int_equal(check(expected, &id, contents, sizeof(contents) - 1), VUG_OK);
}

static void test_every_flip(void **state)
{
    (void)state;
    const vug_page_id id = example_id();
    for (size_t i = 0; i < 8 * (size_t)VUG_PAGE_HEADER; i++) {
        uint8_t header[VUG_PAGE_HEADER];
        memcpy(header, expected, sizeof(header));
        header[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(check(header, &id, contents, sizeof(contents) - 1), VUG_FORMAT);
    }
    for (size_t i = 0; i < 8 * (sizeof(contents) - 1); i++) {
        char text[sizeof(contents)];
        memcpy(text, contents, sizeof(text));
        text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
        assert_int_equal(check(expected, &id, text, sizeof(contents) - 1), VUG_FORMAT);
    }
}

/* A valid file of another page. */
static void test_another_page(void **state)
{
    (void)state;
    vug_page_id id = example_id();
    for (size_t n = 0; n < sizeof(contents) - 1; n++)
        assert_int_equal(check(expected, &id, contents, n), VUG_FORMAT);
    id.part++;
    assert_int_equal(check(expected, &id, contents, sizeof(contents) - 1), VUG_FORMAT);
    id.part--;
    id.key.byte[31]++;
    assert_int_equal(check(expected, &id, contents, sizeof(contents) - 1), VUG_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_every_flip),
        cmocka_unit_test(test_another_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
