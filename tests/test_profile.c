/*
 * Profiles: the TOML that is read and what is refused of it, the keys, where a
 * profile comes from, and that it does what it says and changes no result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/toml.h"
#include "engine_help.h"
#include "flow_help.h"
#include "tiny_model.h"

/* ---- TOML -------------------------------------------------------------------------- */

static void entries(void **state)
{
    (void)state;
    static const char all[] = "# a comment\n"
                              "top=1\r\n"
                              "\n"
                              "  [ a-b ] # another\n"
                              "s = \"x # y\" \t# and a third\n"
                              "t\t=\t-1_000\n"
                              "empty = \"\"\n"
                              "f = false\n"
                              "n = +0\n"
                              "[b]\n"
                              "last = 9223372036854775807";
    static const struct {
        const char *table, *key;
        int line;
        vug_toml_type type;
        const char *string;
        int64_t whole;
    } rows[] = {
        { "", "top", 2, VUG_TOML_WHOLE, "", 1 },
        { "a-b", "", 4, VUG_TOML_STRING, "", 0 },
        { "a-b", "s", 5, VUG_TOML_STRING, "x # y", 0 },
        { "a-b", "t", 6, VUG_TOML_WHOLE, "", -1000 },
        { "a-b", "empty", 7, VUG_TOML_STRING, "", 0 },
        { "a-b", "f", 8, VUG_TOML_BOOL, "", 0 },
        { "a-b", "n", 9, VUG_TOML_WHOLE, "", 0 },
        { "b", "", 10, VUG_TOML_STRING, "", 0 },
        { "b", "last", 11, VUG_TOML_WHOLE, "", INT64_MAX },
    };
    vug_toml t = vug_toml_over(vug_str_of(all), "f.toml");
    vug_toml_entry e;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(vug_toml_next(&t, &e));
        assert_true(vug_str_is(e.table, rows[i].table));
        assert_true(vug_str_is(e.key, rows[i].key));
        assert_int_equal(e.line, rows[i].line);
        assert_int_equal(e.type, rows[i].type);
        assert_true(!rows[i].string[0] || vug_str_is(e.string, rows[i].string));
        assert_int_equal(e.whole, rows[i].whole);
    }
    assert_false(vug_toml_next(&t, &e));
    assert_int_equal(t.st, VUG_OK);
    t = vug_toml_over(vug_str_of(""), "f.toml");
    assert_false(vug_toml_next(&t, &e));
    assert_int_equal(t.st, VUG_OK);
}

static void toml_that_is_refused(void **state)
{
    (void)state;
    static const char value[] = "expected a \"string\", a whole number, true or false";
    static const struct {
        const char *text, *why, *found;
    } rows[] = {
        { "a", "expected a line such as key = value", NULL },
        { "= 1", "expected a line such as key = value", NULL },
        { "a.b = 1", "expected a line such as key = value", NULL },
        { "\"a\" = 1", "expected a line such as key = value", NULL },
        { "a = 1 2", "expected the end of the line, found '2'", NULL },
        { "a = \"x\"y", "expected the end of the line, found 'y'", NULL },
        { "a = \"x", "a string without its end", NULL },
        { "a = \"x\\n\"", "escapes in strings are not read", NULL },
        { "a = \"\"\"x\"\"\"", "strings of several lines are not read", NULL },
        { "a =", value, "" },
        { "a = 'x'", value, "'x'" },
        { "a = 1.5", value, "1.5" },
        { "a = 0x10", value, "0x10" },
        { "a = 007", value, "007" },
        { "a = 1__0", value, "1__0" },
        { "a = _1", value, "_1" },
        { "a = 9223372036854775808", value, "9223372036854775808" },
        { "a = -", value, "-" },
        { "a = True", value, "True" },
        { "a = [1]", value, "[1]" },
        { "[a", "expected the name of a table, as in [fusion]", NULL },
        { "[]", "expected the name of a table, as in [fusion]", NULL },
        { "[a.b]", "expected the name of a table, as in [fusion]", NULL },
        { "[[a]]", "arrays of tables are not read", NULL },
        { "[a] b", "expected the end of the line, found 'b'", NULL },
        { "a = 1 # \x01", "holds a control character, or bytes that are not UTF-8", NULL },
        { "a = \"\xff\"", "holds a control character, or bytes that are not UTF-8", NULL },
        { "a = 1\rb = 2", "holds a control character, or bytes that are not UTF-8", NULL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128], why[256], expected[320];
        (void)snprintf(text, sizeof(text), "\n%s\n", rows[i].text);
        vug_toml t = vug_toml_over(vug_str_of(text), "f.toml");
        vug_toml_entry e;
        while (vug_toml_next(&t, &e))
            ;
        if (rows[i].found)
            (void)snprintf(why, sizeof(why), "%s, found '%s'", rows[i].why, rows[i].found);
        else
            (void)snprintf(why, sizeof(why), "%s", rows[i].why);
        (void)snprintf(expected, sizeof(expected), "f.toml: line 2: %s", why);
        assert_int_equal(t.st, VUG_FORMAT);
        assert_string_equal(t.err.msg, expected);
    }
    char line[VUG_TOML_MAX_LINE + 2];
    memset(line, '#', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    vug_toml t = vug_toml_over(vug_str_of(line), "f.toml");
    vug_toml_entry e;
    assert_false(vug_toml_next(&t, &e));
    assert_string_equal(t.err.msg, "f.toml: line 1: 1001 bytes, a line may have 1000");
}

/* ---- keys --------------------------------------------------------------------------- */

static const char whole_profile[] = "[fusion]\n"
                                    "all = false\n"
                                    "add_norm = true\n"
                                    "[precision]\n"
                                    "activations = \"f32\"\n"
                                    "kv = \"q8\"\n"
                                    "[weights]\n"
                                    "packing = \"none\"\n"
                                    "[attention]\n"
                                    "tile_rows = 5\n"
                                    "[memory]\n"
                                    "budget = \"3G\"\n";

static void every_key(void **state)
{
    (void)state;
    vug_profile profile;
    vug_err err = { 0 };
    help_ok(vug_profile_read(vug_str_of(whole_profile), "p.toml", &profile, &err), &err);
    assert_string_equal(profile.name, "p.toml");
    assert_true(vug_fusion_count() >= 3);
    for (size_t i = 0; i < vug_fusion_count(); i++)
        assert_int_equal(profile.off[vug_fusion_at(i)], vug_fusion_at(i) != VUG_OP_ADD_NORM);
    assert_int_equal(profile.kv, VUG_KV_Q8);
    assert_int_equal(profile.tile_rows, 5);
    assert_int_equal(profile.budget, (uint64_t)3 << 30);
    assert_true(profile.exact_activations);
    help_ok(vug_profile_read(vug_str_of("[fusion]\nnorm_rope = false\n[memory]\nbudget = 77"),
                             "p.toml", &profile, &err),
            &err);
    assert_true(profile.off[VUG_OP_NORM_ROPE] && !profile.off[VUG_OP_GEGLU]);
    assert_int_equal(profile.budget, 77);
    assert_false(profile.exact_activations);
    help_ok(vug_profile_read(vug_str_of("[precision]\nactivations = \"q8\""), "p.toml", &profile,
                             &err),
            &err);
    assert_false(profile.exact_activations);
    assert_int_equal(profile.tile_rows, 0);
    assert_int_equal(profile.kv, VUG_KV_F32);
}

static void keys_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "all = true", "line 1: key 'all' is in no table" },
        { "[fusions]", "line 1: table [fusions] is not known; there are fusion, precision, "
                       "weights, attention and memory" },
        { "[fusion]\nrope = true", "line 2: key 'rope' is not known in [fusion]; its keys: all, "
                                   "geglu, swiglu, add_norm, norm_rope" },
        { "[fusion]\ngeglu = \"on\"", "line 2: fusion.geglu must be true or false" },
        { "[fusion]\ngeglu = true\n\ngeglu = true", "line 4: fusion.geglu was on line 2 already" },
        { "[fusion]\n[memory]\n[fusion]", "line 3: fusion was on line 1 already" },
        { "[precision]\nkv = \"q4\"",
          "line 2: precision.kv must be \"f32\", \"f16\", \"bf16\" or \"q8\"" },
        { "[precision]\nkv = 8",
          "line 2: precision.kv must be \"f32\", \"f16\", \"bf16\" or \"q8\"" },
        { "[precision]\nactivations = 32",
          "line 2: precision.activations must be \"q8\" or \"f32\"" },
        { "[precision]\nweights = \"f32\"",
          "line 2: key 'weights' is not known in [precision]; its keys: activations, kv" },
        { "[weights]\npacking = \"panels\"",
          "line 2: weights.packing must be \"none\", which is all there is so far" },
        { "[attention]\ntile_rows = 0",
          "line 2: attention.tile_rows must be a whole number from 1 to 4096" },
        { "[attention]\ntile_rows = 4097",
          "line 2: attention.tile_rows must be a whole number from 1 to 4096" },
        { "[attention]\nblock = 64",
          "line 2: key 'block' is not known in [attention]; its keys: tile_rows" },
        { "[memory]\nbudget = 0",
          "line 2: memory.budget must be bytes above 0, as 1000000 or \"4G\"" },
        { "[memory]\nbudget = \"G\"",
          "line 2: memory.budget must be bytes above 0, as 1000000 or \"4G\"" },
        { "[memory]\nbudget = \"4g\"",
          "line 2: memory.budget must be bytes above 0, as 1000000 or \"4G\"" },
        { "[memory]\nbudget = \"-4G\"",
          "line 2: memory.budget must be bytes above 0, as 1000000 or \"4G\"" },
        { "[memory]\nbudget = \"99999999999T\"",
          "line 2: memory.budget must be bytes above 0, as 1000000 or \"4G\"" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_profile profile = { .tile_rows = 77 };
        vug_err err = { 0 };
        char expected[256];
        (void)snprintf(expected, sizeof(expected), "p.toml: %s", rows[i].why);
        const vug_status st = vug_profile_read(vug_str_of(rows[i].text), "p.toml", &profile, &err);
        assert_string_equal(err.msg, expected);
        assert_int_equal(st, VUG_FORMAT);
        assert_int_equal(profile.tile_rows, 77);
    }
}

/* Every truncation and every flip of a bit: a profile or a sentence, nothing else. */
static void damaged(void **state)
{
    (void)state;
    enum { N = sizeof(whole_profile) - 1, BITS = 8 * N };
    vug_profile profile;
    vug_err err;
    for (size_t n = 0; n <= N; n++) {
        char *copy = vug_alloc(n ? n : 1, 1); /* its end is the heap's */
        assert_non_null(copy);
        memcpy(copy, whole_profile, n);
        const vug_status st = vug_profile_read((vug_str){ copy, n }, "p.toml", &profile, &err);
        assert_true(st == VUG_OK || st == VUG_FORMAT);
        for (size_t at = 0; n == N && at < BITS; at++) {
            uint8_t *byte = (uint8_t *)copy + at / 8;
            *byte ^= (uint8_t)(1U << at % 8);
            const vug_status flipped =
                    vug_profile_read((vug_str){ copy, n }, "p.toml", &profile, &err);
            assert_true(flipped == VUG_OK || flipped == VUG_FORMAT);
            *byte ^= (uint8_t)(1U << at % 8);
        }
        vug_free(copy);
    }
}

/* ---- where it comes from, and what it does ---------------------------------------------- */

static vug_text passes_of(const vug_model *m, const char *profile)
{
    vug_text text = { 0 };
    vug_err err = { 0 };
    vug_flow *flow = help_flow(m, (vug_flow_options){ .profile = profile, .step = 8 });
    help_ok(vug_flow_passes(flow, &text, &err), &err);
    vug_flow_destroy(flow);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not hold '%s'", text, part);
}

static void beside_the_weights(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    tiny_model(&dir, TINY_VOCAB);
    scratch_puts(&dir, "vug.toml", "[fusion]\ngeglu = false\n");
    scratch_puts(&dir, "other.toml",
                 "[fusion]\nall = false\n[attention]\ntile_rows = 2\n"
                 "[precision]\nactivations = \"f32\"\n"
                 "[memory]\nbudget = 4194304000\n");
    vug_model *m = help_model(dir.path, (vug_model_options){ 0 });
    vug_text text = passes_of(m, NULL);
    assert_contains(text.ptr, "vug.toml\nfusion\n  geglu      0 of 8 places: off in the profile\n");
    assert_contains(text.ptr, "  add_norm   16 of 16 places\n");
    assert_contains(text.ptr, "  swiglu     no place: the graph has no mul of silu\n");
    assert_contains(text.ptr, "memory plan (tokens in a step: 8)\n");
    assert_contains(text.ptr, " MB: weights ");
    assert_contains(text.ptr, "\n  no budget\n");
    vug_text_release(&text);
    text = passes_of(m, "decode");
    assert_contains(text.ptr, "profile decode\nfusion\n  geglu      8 of 8 places\n");
    vug_text_release(&text);
    text = passes_of(m, scratch_at(&dir, "other.toml").path);
    assert_contains(text.ptr, "  norm_rope  0 of 16 places: off in the profile\n");
    assert_contains(text.ptr, "attention\n  tiles of at most 2 rows\n");
    assert_contains(text.ptr, "precision\n  activations in F32\n");
    assert_contains(text.ptr, "\n  the budget is 4194.3 MB\n");
    vug_text_release(&text);
    vug_model_close(m);

    vug_err err = { 0 };
    scratch_puts(&dir, "vug.toml", "[memory]\nbudget = \"100K\"\n");
    assert_int_equal(vug_model_open(dir.path, NULL, &m, &err), VUG_LIMIT);
    assert_contains(err.msg, "the profile's budget is 0.1 MB");
    m = help_model(dir.path, (vug_model_options){ .profile = "prefill" });
    const vug_flow_options small = { .profile = scratch_at(&dir, "vug.toml").path };
    vug_flow *flow = help_flow(m, small);
    vug_flow_program *program = NULL;
    assert_int_equal(vug_flow_build(flow, &program, &err), VUG_LIMIT);
    assert_contains(err.msg, "the budget of profile");
    vug_flow_destroy(flow);
    vug_model_close(m);
    scratch_puts(&dir, "vug.toml", "[memory]\nbudget = 1\nbudget = 1\n");
    assert_int_equal(vug_model_open(dir.path, NULL, &m, &err), VUG_FORMAT);
    scratch_remove(&dir);
}

/* Without a file the mode names the profile, unless the model was opened by another. */
static void built_in_profiles(void **state)
{
    (void)state;
    static const struct {
        const char *model, *flow;
        vug_flow_mode mode;
        const char *name;
    } rows[] = {
        { NULL, NULL, VUG_FLOW_PREFILL, "profile prefill\n" },
        { NULL, NULL, VUG_FLOW_DECODE, "profile decode\n" },
        { NULL, "prefill", VUG_FLOW_DECODE, "profile prefill\n" },
        { "decode", NULL, VUG_FLOW_DECODE, "profile decode\n" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_text text = { 0 };
        vug_err err = { 0 };
        vug_model *m = help_model(GOLDEN("qwen3"), (vug_model_options){ .profile = rows[i].model });
        vug_flow *flow =
                help_flow(m, (vug_flow_options){ .mode = rows[i].mode, .profile = rows[i].flow });
        help_ok(vug_flow_passes(flow, &text, &err), &err);
        assert_memory_equal(text.ptr, rows[i].name, strlen(rows[i].name));
        vug_text_release(&text);
        vug_flow_destroy(flow);
        vug_model_close(m);
    }
}

static void read_twice(vug_flow *f, void *user)
{
    (void)user;
    const vug_val norm = flow_find(f, 2, "post_attn_norm");
    flow_output(f, "norm", norm);
    const vug_val rope = flow_find(f, 3, "attn_q_norm");
    flow_output(f, "twice", flow_add(f, rope, rope));
}

static void why_a_fusion_was_refused(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ 0 });
    vug_flow *flow = help_flow(m, (vug_flow_options){ .patch = read_twice });
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_flow_passes(flow, &text, &err), &err);
    assert_contains(text.ptr, "profile prefill\n");
    assert_null(strstr(text.ptr, "attention\n"));
    assert_contains(text.ptr, "  add_norm   15 of 17 places\n"
                              "    not add of post_attn_norm, %");
    assert_contains(text.ptr, ", layer 2: it is the output norm\n");
    assert_contains(text.ptr, "  norm_rope  15 of 16 places\n"
                              "    not rope of attn_q_norm, %");
    assert_contains(text.ptr, ", layer 3: it is read 3 times\n");
    vug_text_release(&text);
    vug_flow_destroy(flow);
    vug_model_close(m);
}

/* Fused or not, wide tiles or narrow, ref or the best: the same bits. */
static void no_profile_changes_a_result(void **state)
{
    (void)state;
    static const char *const models[] = { GOLDEN("gemma3-text"), GOLDEN("gemma3-odd") };
    static const char *const isa[] = { NULL, "ref" };
    static const char *const profiles[] = {
        "[fusion]\nall = false\n",
        "[attention]\ntile_rows = 1\n",
        ("[fusion]\nadd_norm = false\n[attention]\ntile_rows = 7\n"
         "[precision]\nactivations = \"f32\"\n"),
    };
    static const int rows[] = { 0, 1, 7 };
    enum { N = 70 };
    scratch dir = scratch_make();
    for (size_t k = 0; k < 2; k++) {
        vug_model *plain = help_model(models[k], (vug_model_options){ 0 });
        const size_t vocab = (size_t)vug_model_describe(plain).n_vocab;
        int32_t id[N];
        help_tokens(5, id, N, (int64_t)vocab);
        float *want = help_alone(plain, id, N);
        for (size_t i = 0; i < 2 * sizeof(profiles) / sizeof(profiles[0]); i++) {
            const scratch_path path = scratch_at(&dir, "p.toml");
            scratch_puts(&dir, "p.toml", profiles[i / 2]);
            vug_model *m = help_model(
                    models[k], (vug_model_options){ .isa = isa[i % 2], .profile = path.path });
            assert_int_equal(m->profile.tile_rows, m->main.plan.tile_rows);
            assert_int_equal(m->main.plan.tile_rows, rows[i / 2]);
            assert_int_equal(m->main.plan.exact_activations, i / 2 == 2);
            float *logits = help_alone(m, id, N);
            help_same_bits(logits, want, vocab);
            vug_free(logits);
            vug_flow_program *program = help_program(m, (vug_flow_options){ 0 });
            help_same_bits(help_run_tokens(program, id, N, "logits"), want, vocab);
            vug_program_destroy(program);
            vug_model_close(m);
        }
        vug_free(want);
        vug_model_close(plain);
    }
    scratch_remove(&dir);
}

/* Each fusion is a key by itself: it alone is off, and no bit changes. */
static void each_fusion_alone(void **state)
{
    (void)state;
    static const char *const models[] = { GOLDEN("gemma4-e"), GOLDEN("qwen3-moe") };
    enum { N = 20 };
    scratch dir = scratch_make();
    for (size_t k = 0; k < 2; k++) {
        vug_model *m = help_model(models[k], (vug_model_options){ 0 });
        const size_t vocab = (size_t)vug_model_describe(m).n_vocab;
        int32_t id[N];
        help_tokens(6, id, N, (int64_t)vocab);
        float *want = help_alone(m, id, N);
        for (size_t i = 0; i < vug_fusion_count(); i++) {
            char profile[64];
            const scratch_path path = scratch_at(&dir, "p.toml");
            (void)snprintf(profile, sizeof(profile), "[fusion]\n%s = false\n",
                           vug_op_name(vug_fusion_at(i)));
            scratch_puts(&dir, "p.toml", profile);
            const vug_flow_options o = { .profile = path.path };
            vug_flow *flow = help_flow(m, o);
            vug_graph fused = { 0 };
            vug_err err = { 0 };
            const vug_flow_object *object = vug_flow_object_of(flow);
            help_ok(vug_fuse_by(&object->graph, &object->profile, &fused, NULL, &err), &err);
            for (uint32_t n = 1; n < fused.n; n++)
                assert_int_not_equal(fused.node[n].op, vug_fusion_at(i));
            vug_graph_release(&fused);
            vug_flow_destroy(flow);
            vug_text text = passes_of(m, path.path);
            const char *off = strstr(text.ptr, "off in the profile");
            assert_true(!off || !strstr(off + 1, "off in the profile"));
            vug_text_release(&text);
            vug_flow_program *program = help_program(m, o);
            help_same_bits(help_run_tokens(program, id, N, "logits"), want, vocab);
            vug_program_destroy(program);
        }
        vug_free(want);
        vug_model_close(m);
    }
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),
        cmocka_unit_test(toml_that_is_refused),
        cmocka_unit_test(every_key),
        cmocka_unit_test(keys_that_are_refused),
        cmocka_unit_test(damaged),
        cmocka_unit_test(beside_the_weights),
        cmocka_unit_test(built_in_profiles),
        cmocka_unit_test(why_a_fusion_was_refused),
        cmocka_unit_test(no_profile_changes_a_result),
        cmocka_unit_test(each_fusion_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
