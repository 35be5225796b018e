/* Option parsing: every row of options.def, every way to write an option. */
#include "test.h"

#include "cli/options.h"

#define PARSE(o, command, err, ...)                                                          \
    vug_options_parse((o), VUG_COMMAND_##command,                                            \
                      (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *)), \
                      (const char *const[]){ __VA_ARGS__ }, (err))

static void assert_message_has(const vug_err *err, const char *part)
{
    if (!strstr(err->msg, part))
        fail_msg("'%s' does not say '%s'", err->msg, part);
}

static void test_defaults(void **state)
{
    vug_options o;
    (void)state;
    assert_int_equal(vug_options_parse(&o, VUG_COMMAND_BENCH, 0, NULL, NULL), VUG_OK);
    assert_int_equal(o.prefill, 512);
    assert_int_equal(o.decode, 128);
    assert_int_equal(o.depth, 0);
    assert_int_equal(o.repeat, 5);
    assert_string_equal(o.type, "bf16");
    assert_null(o.shape);
    assert_false(o.given[VUG_OPTION_prefill]);
    vug_options_release(&o);
    vug_err err;
    assert_int_equal(PARSE(&o, VERIFY, &err, "M"), VUG_OK);
    assert_true(o.tol == 0); /* chosen by the architecture */
    vug_options_release(&o);
}

static void test_every_way_to_write_an_option(void **state)
{
    vug_options o;
    vug_err err;
    (void)state;
    assert_int_equal(PARSE(&o, RUN, &err, "M", "-n", "128", "--top-p=0.5", "--temperature", "0",
                           "--raw", "--presence-penalty", "-1.5", "text"),
                     VUG_OK);
    assert_int_equal(o.max_tokens, 128);
    assert_true(o.top_p == 0.5);
    assert_true(o.temperature == 0 && o.given[VUG_OPTION_temperature]);
    assert_true(o.presence == -1.5);
    assert_true(o.raw);
    assert_false(o.given[VUG_OPTION_seed]);
    assert_int_equal(o.n_operands, 2);
    assert_string_equal(o.operand[1], "text");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, RUN, &err, "M", "-q", "--", "-n"), VUG_OK);
    assert_true(o.quiet);
    assert_int_equal(o.n_operands, 2);
    assert_string_equal(o.operand[1], "-n");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, RUN, &err, "M", "-"), VUG_OK);
    assert_string_equal(o.operand[1], "-");
    vug_options_release(&o);
}

static void test_lists_and_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        { "4G", (uint64_t)4 << 30 },
        { "512M", (uint64_t)512 << 20 },
        { "1.5k", 1536 },
        { "7", 7 },
        { "2GiB", (uint64_t)2 << 30 },
        { "3TB", (uint64_t)3 << 40 },
        { "100B", 100 },
    };
    static const char *const bad[] = { "", "G", "4X", "4GG", "-1", "4 G", "1e3", "99999999999T" };
    vug_options o;
    vug_err err;
    (void)state;
    assert_int_equal(PARSE(&o, RUN, &err, "M", "--logit-bias", "1=2", "--logit-bias=3=-4"), VUG_OK);
    assert_int_equal(o.logit_bias.n, 2);
    assert_string_equal(o.logit_bias.item[1], "3=-4");
    vug_options_release(&o);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        assert_int_equal(PARSE(&o, RUN, &err, "M", "--memory-limit", sizes[i].text), VUG_OK);
        assert_true(o.memory_limit == sizes[i].bytes);
        vug_options_release(&o);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(PARSE(&o, RUN, &err, "M", "--memory-limit", bad[i]), VUG_ARGUMENT);
        assert_message_has(&err, "512M");
        vug_options_release(&o);
    }
}

/* Every numeric option accepts its bounds and rejects values beyond them. */
static void test_every_range_is_checked(void **state)
{
    int n_tried = 0;
    (void)state;
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        if (row->type != VUG_OPTION_int && row->type != VUG_OPTION_f64)
            continue;
        for (int c = 0; c < VUG_COMMAND_COUNT; c++) {
            if (!vug_option_applies(row, (vug_command)c))
                continue;
            char text[6][80];
            const char *const argv[] = { text[0], text[1], "--help" };
            const char *const beyond[] = { text[2], text[3], text[4], text[5] };
            vug_options o;
            vug_err err;
            (void)snprintf(text[0], 80, "--%s=%.17g", row->flag, row->min);
            (void)snprintf(text[1], 80, "--%s=%.17g", row->flag, row->max);
            (void)snprintf(text[2], 80, "--%s=%.17g", row->flag, row->min - 1);
            (void)snprintf(text[3], 80, "--%s=%.17g", row->flag, row->max + 1);
            (void)snprintf(text[4], 80, "--%s=1x", row->flag);
            (void)snprintf(text[5], 80, "--%s=nan", row->flag);
            assert_int_equal(vug_options_parse(&o, (vug_command)c, 3, argv, &err), VUG_OK);
            assert_true(o.given[i]);
            vug_options_release(&o);
            for (size_t k = 0; k < 4; k++) {
                assert_int_equal(vug_options_parse(&o, (vug_command)c, 1, &beyond[k], &err),
                                 VUG_ARGUMENT);
                assert_message_has(&err, row->flag);
                assert_message_has(&err, " from ");
                vug_options_release(&o);
            }
            n_tried++;
        }
    }
    assert_true(n_tried > 20);
}

static void test_options_of_a_command_are_distinct(void **state)
{
    (void)state;
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        for (int k = i + 1; k < VUG_OPTION_COUNT; k++) {
            const vug_option_row *a = &vug_option_rows[i], *b = &vug_option_rows[k];
            if (!(a->commands & b->commands))
                continue;
            assert_string_not_equal(a->flag, b->flag);
            assert_true(!a->letter || a->letter != b->letter);
        }
    }
}

static void test_bad_usage_is_reported(void **state)
{
    vug_options o;
    vug_err err;
    (void)state;
    assert_int_equal(PARSE(&o, RUN, &err, "M", "--temprature", "1"), VUG_ARGUMENT);
    assert_message_has(&err, "did you mean --temperature?");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, RUN, &err, "M", "--temp", "1"), VUG_ARGUMENT);
    assert_message_has(&err, "did you mean --temperature?");
    vug_options_release(&o);
    static const char *const operand[] = { "-m", "--model", "--model=M" };
    for (size_t i = 0; i < sizeof(operand) / sizeof(*operand); i++) {
        assert_int_equal(PARSE(&o, RUN, &err, operand[i], "M"), VUG_ARGUMENT);
        assert_message_has(&err, "give it as an operand: vug run [MODEL] [PROMPT] [options]");
        vug_options_release(&o);
    }
    assert_int_equal(PARSE(&o, RUN, &err, "M", "--qqqqqqqq"), VUG_ARGUMENT);
    assert_message_has(&err, "vug run --help");
    vug_options_release(&o);
    /* Another command's option. */
    assert_int_equal(PARSE(&o, DEVICES, &err, "--prefill", "1"), VUG_ARGUMENT);
    assert_message_has(&err, "unknown option --prefill");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, RUN, &err, "M", "-n"), VUG_ARGUMENT);
    assert_message_has(&err, "--max-tokens needs a value");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, RUN, &err, "M", "--raw=1"), VUG_ARGUMENT);
    assert_message_has(&err, "--raw takes no value");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, GRAPH, &err, "M", "--format", "png"), VUG_ARGUMENT);
    assert_message_has(&err, "text|dot|svg");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, GRAPH, &err, "M", "--format", "tex"), VUG_ARGUMENT);
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, INSPECT, &err, "--json"), VUG_ARGUMENT);
    assert_message_has(&err, "usage: vug inspect MODEL");
    vug_options_release(&o);
    assert_int_equal(PARSE(&o, VERIFY, &err, "M", "N"), VUG_ARGUMENT);
    assert_message_has(&err, "'N'");
    vug_options_release(&o);
}

static void test_misspelt_commands_get_suggestions(void **state)
{
    (void)state;
    assert_string_equal(vug_command_suggest("tokenise"), "tokenize");
    assert_string_equal(vug_command_suggest("rum"), "run");
    assert_null(vug_command_suggest("xxxxxx"));
    assert_null(vug_command_suggest("a-name-that-is-longer-than-any-command-has-been-so-far"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_way_to_write_an_option),
        cmocka_unit_test(test_lists_and_sizes),
        cmocka_unit_test(test_every_range_is_checked),
        cmocka_unit_test(test_options_of_a_command_are_distinct),
        cmocka_unit_test(test_bad_usage_is_reported),
        cmocka_unit_test(test_misspelt_commands_get_suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
