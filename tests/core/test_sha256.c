/* SHA-256, against the vectors of FIPS 180-4. */
#include "test.h"

#include "core/sha256.h"

static void assert_hash(const uint8_t hash[VUG_SHA256_BYTES], const char *hex)
{
    char text[2 * VUG_SHA256_BYTES + 1];
    for (size_t i = 0; i < VUG_SHA256_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(text, hex);
}

/* In parts of `step` bytes. */
static void hash_text(const char *text, size_t n, size_t step, uint8_t out[VUG_SHA256_BYTES])
{
    vug_sha256 hash;
    vug_sha256_begin(&hash);
    for (size_t i = 0; i < n; i += step)
        vug_sha256_add(&hash, text + i, n - i < step ? n - i : step);
    assert_int_equal(vug_sha256_finish(&hash, out, NULL), VUG_OK);
}

static void test_vectors(void **state)
{
    (void)state;
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    uint8_t out[VUG_SHA256_BYTES];
    hash_text("", 0, 1, out);
    assert_hash(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_text("abc", 3, 3, out);
    assert_hash(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t step = 1; step <= sizeof(two_blocks); step++) {
        hash_text(two_blocks, sizeof(two_blocks) - 1, step, out);
        assert_hash(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}

static void test_long_input(void **state)
{
    (void)state;
    enum { N = 1000000 };
    char *text = malloc(N);
    uint8_t out[VUG_SHA256_BYTES];
    assert_non_null(text);
    memset(text, 'a', N);
    hash_text(text, N, 4099, out);
    assert_hash(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

/* The length comes before the bytes. */
static void test_sized(void **state)
{
    (void)state;
    uint8_t sized[VUG_SHA256_BYTES], plain[VUG_SHA256_BYTES];
    vug_sha256 hash;
    char text[8 + 0x1234] = { 0x34, 0x12 };
    vug_sha256_begin(&hash);
    vug_sha256_add_sized(&hash, (vug_bytes){ (const uint8_t *)text + 8, sizeof(text) - 8 });
    assert_int_equal(vug_sha256_finish(&hash, sized, NULL), VUG_OK);
    hash_text(text, sizeof(text), sizeof(text), plain);
    assert_memory_equal(sized, plain, sizeof(sized));
}

/* A hash that is finished has been released, and a second use is an error. */
static void test_finished(void **state)
{
    (void)state;
    uint8_t out[VUG_SHA256_BYTES];
    vug_err err = { 0 };
    vug_sha256 hash;
    vug_sha256_begin(&hash);
    assert_int_equal(vug_sha256_finish(&hash, out, &err), VUG_OK);
    vug_sha256_add(&hash, "a", 1);
    assert_int_equal(vug_sha256_finish(&hash, out, &err), VUG_NOMEM);
    assert_true(err.msg[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_long_input),
        cmocka_unit_test(test_sized),
        cmocka_unit_test(test_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
