/* The command of `vug bench --compare`: its placeholders, its numbers and its failures. */
#include "test.h"

#include "cli/bench_compare.h"

static const vug_compare_command example = {
    .file = "a 'model'.gguf", .prefill = 512, .decode = 64, .threads = 2
};

static void check_run(const char *command, int prefill, int decode, double want_prefill,
                      double want_decode)
{
    vug_compare_command c = example;
    vug_err err = { 0 };
    double p = -1, d = -1;
    c.command = command;
    c.prefill = prefill;
    c.decode = decode;
    if (vug_compare_run(&c, &p, &d, &err) != VUG_OK)
        fail_msg("%s: %s", command, err.msg);
    assert_true(p == want_prefill && d == want_decode);
}

static void test_last_numbers_are_the_rates(void **state)
{
    (void)state;
    check_run("echo 100 20.5", 512, 64, 100, 20.5);
    check_run("printf '1 2\\n\"avg_ts\": 1234.5,\\n\"avg_ts\":6e1}'", 512, 64, 1234.5, 60);
    check_run("echo 7 8 Q4_0 pp512 1.2.3 t-1", 512, 64, 7, 8);
    check_run("echo 7 8", 512, 0, 8, -1);
    check_run("echo 7 8", 0, 64, -1, 8);
}

static void test_placeholders_are_replaced(void **state)
{
    (void)state;
    check_run("echo {PREFILL} {DECODE}", 512, 64, 512, 64);
    check_run("echo 1{THREADS} {DECODE}{DECODE}", 512, 64, 12, 6464);
    check_run("test {FILE} = \"a 'model'.gguf\" && echo 3 {4 5", 512, 64, 4, 5);
}

static void check_failure(const char *command, vug_status code, const char *message)
{
    vug_compare_command c = example;
    vug_err err = { 0 };
    double p, d;
    c.command = command;
    assert_int_equal(vug_compare_run(&c, &p, &d, &err), code);
    if (!strstr(err.msg, message))
        fail_msg("%s: %s", command, err.msg);
}

static void test_failures(void **state)
{
    (void)state;
    check_failure("echo 1 2; false", VUG_IO, "status");
    check_failure("echo 1", VUG_FORMAT, "fewer than 2 numbers: echo 1");
    check_failure("", VUG_FORMAT, "fewer than 2 numbers");
    check_failure("echo 5 0", VUG_FORMAT, "printed 0 as tokens/s");
    check_failure("echo -3 5", VUG_FORMAT, "printed -3 as tokens/s");
}

static void test_ratios(void **state)
{
    (void)state;
    vug_compare_series *s = vug_alloc_zero(1, sizeof(*s));
    vug_buf text = { 0 };
    assert_non_null(s);
    vug_compare_print(s, "decode", 64, &text);
    assert_int_equal(text.len, 0);
    vug_compare_add(s, 30, 10);
    vug_compare_add(s, 40, 20);
    vug_compare_add(s, 10, 10);
    vug_compare_print(s, "decode", 64, &text);
    assert_non_null(strstr(text.ptr, "decode of 64"));
    assert_non_null(strstr(text.ptr, "2.00 times as fast (1.00 to 3.00)"));
    assert_true(s->rate.median == 10 && s->rate.max == 20);
    vug_buf_release(&text);
    vug_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_numbers_are_the_rates),
        cmocka_unit_test(test_placeholders_are_replaced),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
