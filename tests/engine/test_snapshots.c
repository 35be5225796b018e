/* Sessions that go back to a snapshot of their windows: every row of logits equals, to the bit,
 * that of a session that was never further. */
#include "test.h"

#include "engine_help.h"
#include "short_pebble.h"

/* Pebble has windows of 128 tokens, which are several blocks of a cache. */
enum { LONG = 480 };

typedef struct {
    scratch folder;
    vug_model *model;
    vug_session *session; /* has read `id` */
    int32_t id[LONG];
    float *logits; /* [LONG][n_vocab] of a session that was never further */
    size_t n_vocab;
} long_prompt;

static bool keep_logits(const vug_step *step, void *user)
{
    long_prompt *p = user;
    memcpy(p->logits + (size_t)step->first * p->n_vocab, step->logits,
           (size_t)step->n * p->n_vocab * sizeof(float));
    return true;
}

static void check_next(long_prompt *p, vug_session *s, size_t n)
{
    help_same_bits(help_forward(s, p->id, n), p->logits + (n - 1) * p->n_vocab, p->n_vocab);
}

static void long_begin(long_prompt *p, int snapshots)
{
    const vug_model_options as = {
        .context = LONG, .batch = 16, .threads = 1, .snapshots = snapshots
    };
    const vug_forward_options how = { .all_logits = true, .on_step = keep_logits, .user = p };
    vug_err err = { 0 };
    p->folder = scratch_make();
    short_pebble(&p->folder, 4);
    p->model = help_model(p->folder.path, as);
    p->n_vocab = (size_t)vug_model_describe(p->model).n_vocab;
    p->logits = vug_alloc(LONG * p->n_vocab, sizeof(float));
    assert_non_null(p->logits);
    help_tokens(1, p->id, LONG, (int64_t)p->n_vocab);
    vug_session *alone = help_session(p->model);
    help_ok(vug_session_forward(alone, p->id, LONG, &how, &err), &err);
    vug_session_destroy(alone);
    p->session = help_session(p->model);
    check_next(p, p->session, LONG);
}

static void long_end(long_prompt *p)
{
    vug_session_destroy(p->session);
    vug_model_close(p->model);
    scratch_remove(&p->folder);
    vug_free(p->logits);
}

/* Going back by n tokens computes little more than n tokens again. */
static void test_snapshots_cover_the_sequence(void **state)
{
    (void)state;
    for (int snapshots = 4; snapshots <= 32; snapshots *= 8) {
        long_prompt p;
        long_begin(&p, snapshots);
        vug_session *copy = help_session(p.model);
        for (size_t n = 2; n < LONG; n += 5) {
            size_t same;
            const size_t cached = vug_session_cached(p.session, p.id, n, &same);
            assert_int_equal(same, n);
            assert_true(n - cached <= (snapshots == 4 ? LONG - n + 64 : 16));
            vug_session_copy(copy, p.session, p.id, n);
            assert_int_equal(vug_session_length(copy), cached);
            check_next(&p, copy, n);
        }
        vug_session_destroy(copy);
        long_end(&p);
    }
}

/* The window is restored, tokens before it are not. */
static void test_going_back_restores_a_snapshot(void **state)
{
    (void)state;
    long_prompt p;
    long_begin(&p, 32);
    for (size_t n = LONG - 130; n > 20; n -= 13)
        check_next(&p, p.session, n);
    long_end(&p);
}

/* A snapshot is dropped with its tokens. */
static void test_snapshots_of_other_tokens_are_dropped(void **state)
{
    enum { ALIKE = 50 };
    (void)state;
    long_prompt p;
    long_begin(&p, 32);
    int32_t other[LONG];
    help_tokens(2, other, LONG, (int64_t)p.n_vocab);
    memcpy(other, p.id, ALIKE * sizeof(*other));
    (void)help_forward(p.session, other, LONG);
    for (size_t n = 200; n > ALIKE; n -= 15) {
        float *alone = help_alone(p.model, other, n);
        help_same_bits(help_forward(p.session, other, n), alone, p.n_vocab);
        vug_free(alone);
    }
    long_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots_cover_the_sequence),
        cmocka_unit_test(test_going_back_restores_a_snapshot),
        cmocka_unit_test(test_snapshots_of_other_tokens_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
