/*
 * Profiles: the keys, where a profile is looked for, and that it does what it says and changes
 * no result.
 */
#include "test.h"

#include "engine_help.h"
#include "flow_help.h"
#include "tiny_model.h"

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

static void test_every_key(void **state)
{
    (void)state;
    vug_profile profile;
    vug_err err = { 0 };
    help_ok(vug_profile_read(vug_str_of(whole_profile), "p.toml", &profile, &err), &err);
    assert_string_equal(profile.name, "p.toml");
    int n_fusions = 0;
    for (vug_op op = 0; op < VUG_OP_COUNT; op++) {
        assert_int_equal(profile.off[op], vug_op_is_fused(op) && op != VUG_OP_ADD_NORM);
        n_fusions += vug_op_is_fused(op);
    }
    assert_true(n_fusions >= 3);
    assert_int_equal(profile.kv, VUG_KV_Q8);
    assert_int_equal(profile.tile_rows, 5);
    assert_int_equal(profile.budget, (uint64_t)3 << 30);
    assert_int_equal(profile.activations, VUG_ACTIVATIONS_F32);
    help_ok(vug_profile_read(vug_str_of("[fusion]\nnorm_rope = false\n[memory]\nbudget = 77"),
                             "p.toml", &profile, &err),
            &err);
    assert_true(profile.off[VUG_OP_NORM_ROPE] && !profile.off[VUG_OP_GEGLU]);
    assert_int_equal(profile.budget, 77);
    assert_int_equal(profile.activations, VUG_ACTIVATIONS_Q8);
    help_ok(vug_profile_read(vug_str_of("[precision]\nactivations = \"q8\""), "p.toml", &profile,
                             &err),
            &err);
    assert_int_equal(profile.activations, VUG_ACTIVATIONS_Q8);
    assert_int_equal(profile.tile_rows, 0);
    assert_int_equal(profile.kv, VUG_KV_F32);
    help_ok(vug_profile_read(vug_str_of("[precision]\nactivations = \"bf16\""), "p.toml", &profile,
                             &err),
            &err);
    assert_int_equal(profile.activations, VUG_ACTIVATIONS_BF16);
}

static void test_keys_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "all = true", "line 1: key 'all' belongs to no table" },
        { "[fusions]", "line 1: unknown table [fusions]; the tables are fusion, precision, "
                       "weights, attention and memory" },
        { "[fusion]\nrope = true", "line 2: unknown key 'rope' in [fusion]; its keys: all, "
                                   "geglu, swiglu, add_norm, norm_rope" },
        { "[fusion]\ngeglu = \"on\"", "line 2: fusion.geglu must be true or false" },
        { "[fusion]\ngeglu = true\n\ngeglu = true",
          "line 4: fusion.geglu appeared already on line 2" },
        { "[fusion]\n[memory]\n[fusion]", "line 3: fusion appeared already on line 1" },
        { "[precision]\nkv = \"q4\"",
          "line 2: precision.kv must be \"f32\", \"f16\", \"bf16\" or \"q8\"" },
        { "[precision]\nkv = 8",
          "line 2: precision.kv must be \"f32\", \"f16\", \"bf16\" or \"q8\"" },
        { "[precision]\nactivations = 32",
          "line 2: precision.activations must be \"q8\", \"bf16\", \"bf16-fast\" or \"f32\"" },
        { "[precision]\nweights = \"f32\"",
          "line 2: unknown key 'weights' in [precision]; its keys: activations, kv" },
        { "[weights]\npacking = \"panels\"",
          "line 2: weights.packing must be \"none\", the only choice so far" },
        { "[attention]\ntile_rows = 0",
          "line 2: attention.tile_rows must be a whole number from 1 to 4096" },
        { "[attention]\ntile_rows = 4097",
          "line 2: attention.tile_rows must be a whole number from 1 to 4096" },
        { "[attention]\nblock = 64",
          "line 2: unknown key 'block' in [attention]; its keys: tile_rows" },
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

/* Every truncated file and every flipped bit gives a profile or an error message. */
static void test_damaged_files_are_refused(void **state)
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

static void test_profile_beside_the_weights_is_used(void **state)
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
    assert_contains(text.ptr,
                    "vug.toml\nfusion\n  geglu      0 of 8 matches fused: off in the profile\n");
    assert_contains(text.ptr, "  add_norm   16 of 16 matches fused\n");
    assert_contains(text.ptr, "  swiglu     no match: the graph has no mul of silu\n");
    assert_contains(text.ptr, "memory plan (tokens in a step: 8)\n");
    assert_contains(text.ptr, " MB: weights ");
    assert_contains(text.ptr, "\n  no budget\n");
    vug_text_release(&text);
    text = passes_of(m, "decode");
    assert_contains(text.ptr, "profile decode\nfusion\n  geglu      8 of 8 matches fused\n");
    vug_text_release(&text);
    text = passes_of(m, scratch_at(&dir, "other.toml").path);
    assert_contains(text.ptr, "  norm_rope  0 of 16 matches fused: off in the profile\n");
    assert_contains(text.ptr, "attention\n  tiles of at most 2 rows\n");
    assert_contains(text.ptr, "precision\n  activations in f32\n");
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

/* Without a file the mode decides on the profile, unless the model was opened with one. */
static void test_built_in_profiles(void **state)
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

static void test_report_of_refused_fusions(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ 0 });
    vug_flow *flow = help_flow(m, (vug_flow_options){ .patch = read_twice });
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_flow_passes(flow, &text, &err), &err);
    assert_contains(text.ptr, "profile prefill\n");
    assert_null(strstr(text.ptr, "attention\n"));
    assert_contains(text.ptr, "  add_norm   15 of 17 matches fused\n"
                              "    not add of post_attn_norm, %");
    assert_contains(text.ptr, ", layer 2: it is the output norm\n");
    assert_contains(text.ptr, "  norm_rope  15 of 16 matches fused\n"
                              "    not rope of attn_q_norm, %");
    assert_contains(text.ptr, ", layer 3: it is read 3 times\n");
    vug_text_release(&text);
    vug_flow_destroy(flow);
    vug_model_close(m);
}

/* Fused or not, wide tiles or narrow, ref or the best: the same bits. */
static void test_no_profile_changes_a_result(void **state)
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
            assert_int_equal(m->profile.tile_rows, m->main.compiled.plan.tile_rows);
            assert_int_equal(m->main.compiled.plan.tile_rows, rows[i / 2]);
            assert_int_equal(m->main.compiled.plan.activations,
                             i / 2 == 2 ? VUG_ACTIVATIONS_F32 : VUG_ACTIVATIONS_Q8);
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

/* Each fusion can be disabled by its own key, and no bit changes. */
static void test_each_fusion_can_be_disabled(void **state)
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
        for (vug_op op = 0; op < VUG_OP_COUNT; op++) {
            char profile[64];
            if (!vug_op_is_fused(op))
                continue;
            const scratch_path path = scratch_at(&dir, "p.toml");
            (void)snprintf(profile, sizeof(profile), "[fusion]\n%s = false\n", vug_op_name(op));
            scratch_puts(&dir, "p.toml", profile);
            const vug_flow_options o = { .profile = path.path };
            vug_flow *flow = help_flow(m, o);
            vug_graph fused = { 0 };
            vug_err err = { 0 };
            const vug_flow_object *object = vug_flow_object_of(flow);
            help_ok(vug_fuse_with(&object->graph, &object->profile, &fused, NULL, &err), &err);
            for (uint32_t n = 1; n < fused.n; n++)
                assert_int_not_equal(fused.node[n].op, op);
            vug_graph_release(&fused);
            vug_flow_destroy(flow);
            vug_text text = passes_of(m, path.path);
            assert_non_null(strstr(text.ptr, vug_op_name(op))); /* the pass has a pattern for it */
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
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_keys_that_are_refused),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_profile_beside_the_weights_is_used),
        cmocka_unit_test(test_built_in_profiles),
        cmocka_unit_test(test_report_of_refused_fusions),
        cmocka_unit_test(test_no_profile_changes_a_result),
        cmocka_unit_test(test_each_fusion_can_be_disabled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
