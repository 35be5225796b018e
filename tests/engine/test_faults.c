/*
 * What goes wrong in a request stays with it: a NaN fails one request and is not published, and a
 * cancelled request leaves a step that others share. No test waits for time to pass.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "core/cancel.h"
#include "engine/scheduler_state.h"
#include "engine_help.h"
#include "running_extensions.h"
#include "scratch.h"

enum { V = 384 }; /* the largest vocabulary of the models here */

/* ---- a NaN ---------------------------------------------------------------------------------- */

enum { NAN_V = 61, NAN_ID = 31, LENGTH = 200 };

/* A copy of a golden checkpoint with untied embeddings, of which that of NAN_ID is made of NaNs. */
static void write_nan_model(const scratch *to)
{
    static const char *const file[] = { "config.json", "model.safetensors" };
    vug_checkpoint c = { 0 };
    vug_err err = { 0 };
    help_ok(vug_checkpoint_open(GOLDEN("qwen2"), &c, &err), &err);
    const vug_tensor *t = NULL;
    for (size_t i = 0; i < c.n; i++) {
        if (vug_str_equal(c.sorted[i]->name, vug_str_of("model.embed_tokens.weight")))
            t = c.sorted[i];
    }
    if (!t) {
        fail_msg("there are no embeddings");
        return;
    }
    const size_t row_bytes = t->bytes / NAN_V;
    for (size_t f = 0; f < 2; f++) {
        vug_text text;
        const scratch from = { GOLDEN("qwen2") };
        help_ok(vug_read_file(scratch_at(&from, file[f]).path, (size_t)1 << 24, &text, &err), &err);
        uint8_t *at =
                f == 1 ? memmem(text.ptr, text.len, t->data + NAN_ID * row_bytes, row_bytes) : NULL;
        assert_true(f == 0 || at);
        if (at)
            memset(at, 0xff, row_bytes);
        scratch_write(to, file[f], text.ptr, text.len);
        vug_text_release(&text);
    }
    vug_checkpoint_release(&c);
}

static void some_tokens(uint64_t seed, int32_t *id, size_t n)
{
    help_tokens(seed, id, n, NAN_V);
    for (size_t i = 0; i < n; i++)
        id[i] = id[i] == NAN_ID ? NAN_ID + 1 : id[i];
}

static vug_model *open_nan_model(const scratch *dir)
{
    write_nan_model(dir);
    return help_model(dir->path,
                      (vug_model_options){ .context = 512, .batch = 64, .slots = 2, .threads = 1 });
}

static void test_nan_fails_one_request_of_a_step(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_model *m = open_nan_model(&dir);
    int32_t id[2][LENGTH];
    vug_scheduled sequence[2];
    running_extension e[2] = { 0 };
    for (size_t i = 0; i < 2; i++) {
        some_tokens(i + 1, id[i], LENGTH);
        add_sequence(m->scheduler, &sequence[i], id[i], LENGTH);
        e[i].sequence = &sequence[i];
        e[i].job = (vug_extension){ .token = id[i], .n = 10 };
    }
    id[1][5] = NAN_ID;
    start_together(m->scheduler, e, 2);
    vug_scheduler_release_device(m->scheduler);
    join_all(e, 2);
    help_ok(e[0].st, &e[0].err);
    float *alone = help_alone(m, id[0], 10);
    help_same_bits(e[0].logits.logit, alone, NAN_V);
    vug_free(alone);
    assert_int_equal(e[1].st, VUG_FORMAT);
    assert_string_equal(e[1].err.msg,
                        "the model computes logits that are not finite numbers after tokens 0 to 9 "
                        "(the last is id 32): its weights may be damaged");
    assert_int_equal(sequence[1].kv.n_tokens, 0);
    for (size_t i = 0; i < 2; i++) {
        vug_scheduler_remove(m->scheduler, &sequence[i]);
        vug_logits_row_release(&e[i].logits);
    }
    vug_model_close(m);
    scratch_remove(&dir);
}

/* What the tree has of a prompt. */
static size_t count_published(vug_model *m, const int32_t *id, size_t n)
{
    return vug_prefix_peek(m->prefix_tree, &m->prefix_key, id, n, n);
}

/* The NaN lies in the second chunk of a prompt, long before the rows that somebody wants. */
static void test_nan_is_not_published(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_model *m = open_nan_model(&dir);
    vug_session *s = help_session(m);
    const vug_generate_options o = { .max_tokens = 4, .ignore_stop = true };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    int32_t id[LENGTH];
    some_tokens(3, id, LENGTH);
    id[100] = NAN_ID;
    assert_int_equal(vug_generate(s, id, LENGTH, &o, &g, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "not finite numbers after tokens 64 to 127"));
    assert_int_equal(count_published(m, id, LENGTH), 64);
    /* The same session goes on with other tokens. */
    id[100] = NAN_ID + 1;
    help_ok(vug_generate(s, id, LENGTH, &o, &g, &err), &err);
    assert_int_equal(g.n_cached, 64);
    assert_int_equal(count_published(m, id, LENGTH), LENGTH / VUG_KV_PAGE * VUG_KV_PAGE);
    vug_generation_release(&g);
    float *alone = help_alone(m, id, LENGTH);
    help_same_bits(help_forward(s, id, LENGTH), alone, NAN_V);
    vug_free(alone);
    vug_session_destroy(s);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* A draft whose logits are NaNs is not computed, as far as anybody sees. */
static void test_nan_of_a_draft_fails_nobody(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_model *m = open_nan_model(&dir);
    if (!vug_model_describe(m).batch_invariant) {
        /* Such a device multiplies the values that a token does not see by 0, which leaves a NaN. */
        print_message("the device computes a token together with those after it\n");
        vug_model_close(m);
        scratch_remove(&dir);
        skip();
    }
    vug_session *s = help_session(m);
    const vug_forward_options none = { 0 };
    vug_err err = { 0 };
    int32_t id[20];
    some_tokens(4, id, 20);
    float *alone = help_alone(m, id, 12);
    (void)help_forward(s, id, 10);
    id[12] = NAN_ID;
    help_ok(vug_session_extend_with_drafts(s, id + 10, 4, 3, &none, &err), &err);
    assert_true(vug_session_accept_draft(s, id[11]));
    help_same_bits(vug_session_logits(s), alone, NAN_V);
    assert_false(vug_session_accept_draft(s, NAN_ID));
    assert_int_equal(vug_session_length(s), 12);
    assert_int_equal(vug_session_extend_with_drafts(s, id + 12, 1, 0, &none, &err), VUG_FORMAT);
    assert_int_equal(vug_session_length(s), 12);
    vug_free(alone);
    vug_session_destroy(s);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* ---- cancelled calls -------------------------------------------------------------------------- */

/* The backend's `run` has no argument for a test. */
static struct {
    const vug_backend *backend; /* the real one */
    vug_cancel_token cancel;    /* of a call in the step */
    int shared, lone;           /* steps of several sequences, and of one */
} stopped;

/* Cancels one call during a step of two, which goes on until the scheduler gives it up. */
static vug_status run_until_stopped(const vug_program *program, vug_workspace *workspace,
                                    const vug_step_in *in, const float **output, vug_err *err)
{
    if (in->n_spans == 1)
        stopped.lone++;
    else if (stopped.shared++ == 0) {
        vug_cancel_token_trigger(&stopped.cancel);
        while (!vug_is_cancelled(in->cancel))
            (void)sched_yield();
    }
    return stopped.backend->run(program, workspace, in, output, err);
}

static void test_cancelled_call_leaves_a_shared_step(void **state)
{
    (void)state;
    enum { N = 10 };
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 512, .slots = 2, .threads = 1 });
    vug_scheduler *s = m->scheduler;
    vug_backend backend = *m->main.compiled.backend;
    stopped.backend = m->main.compiled.backend;
    stopped.shared = stopped.lone = 0;
    vug_cancel_token_reset(&stopped.cancel);
    backend.run = run_until_stopped;
    backend.start = NULL;
    m->main.compiled.backend = &backend;
    int32_t id[2][N];
    vug_scheduled sequence[2];
    running_extension e[2] = { 0 };
    for (size_t i = 0; i < 2; i++) {
        help_tokens(i, id[i], N, V);
        add_sequence(s, &sequence[i], id[i], N);
        e[i].sequence = &sequence[i];
        e[i].job = (vug_extension){ .token = id[i],
                                    .n = N,
                                    .cancel = i == 0 ? &stopped.cancel : NULL };
    }
    start_together(s, e, 2);
    s->per_token_s = 1000; /* the step is expected to take hours */
    vug_scheduler_release_device(s);
    join_all(e, 2);
    m->main.compiled.backend = stopped.backend;
    assert_int_equal(e[0].st, VUG_CANCELLED);
    assert_int_equal(sequence[0].kv.n_tokens, 0);
    help_ok(e[1].st, &e[1].err);
    assert_int_equal(sequence[1].kv.n_tokens, N);
    assert_int_equal(stopped.shared, 1);
    assert_int_equal(stopped.lone, 1);
    float *alone = help_alone(m, id[1], N);
    help_same_bits(e[1].logits.logit, alone, V);
    vug_free(alone);
    for (size_t i = 0; i < 2; i++) {
        vug_scheduler_remove(s, &sequence[i]);
        vug_logits_row_release(&e[i].logits);
    }
    vug_model_close(m);
}

/* A call ends although what keeps the device busy does not. */
static void test_cancelled_call_does_not_wait_for_others(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 512, .slots = 2, .threads = 1 });
    int32_t id[10];
    vug_scheduled sequence;
    vug_cancel_token cancel = { 0 };
    help_tokens(1, id, 10, V);
    add_sequence(m->scheduler, &sequence, id, 10);
    running_extension e = { .sequence = &sequence,
                            .job = { .token = id, .n = 10, .cancel = &cancel } };
    start_together(m->scheduler, &e, 1);
    vug_cancel_token_trigger(&cancel);
    join_all(&e, 1);
    assert_int_equal(e.st, VUG_CANCELLED);
    vug_scheduler_release_device(m->scheduler);
    vug_scheduler_remove(m->scheduler, &sequence);
    vug_logits_row_release(&e.logits);
    vug_model_close(m);
}

static void test_steps_that_end_soon_are_not_given_up(void **state)
{
    (void)state;
    const double seen = 100;
    /* The end is near. */
    assert_false(vug_scheduler_should_stop(seen, seen + VUG_CANCEL_S / 2, seen));
    assert_true(vug_scheduler_should_stop(seen, seen + VUG_CANCEL_S * 2, seen));
    /* The step takes longer than predicted. */
    assert_false(vug_scheduler_should_stop(seen + VUG_CANCEL_S / 2, seen, seen));
    assert_true(vug_scheduler_should_stop(seen + VUG_CANCEL_S * 2, seen, seen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_fails_one_request_of_a_step),
        cmocka_unit_test(test_nan_is_not_published),
        cmocka_unit_test(test_nan_of_a_draft_fails_nobody),
        cmocka_unit_test(test_cancelled_call_leaves_a_shared_step),
        cmocka_unit_test(test_cancelled_call_does_not_wait_for_others),
        cmocka_unit_test(test_steps_that_end_soon_are_not_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
