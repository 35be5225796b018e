/*
 * Random conversations on several threads, with little memory and a cache on disk, in processes
 * that are killed and started again: every row of logits is that of a cold run, to the bit.
 *
 * The environment variable VUG_CONVERSATIONS sets the number of conversations with each model,
 * VUG_TEST_DEVICE another device than the CPU; if that is not batch-invariant, rows are
 * those of a cold run up to a tolerance.
 */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_help.h"
#include "random_conversation.h"
#include "sanitized.h"
#include "scratch.h"

enum {
    THREADS = 6,
    SYSTEMS = 4,
    MOST_PER_LIFE = 40, /* conversations of a process before it is killed */
    FEW = SANITIZED ? 2 : 6,
};

/* What a process tells its parent: the end of a conversation, or of its life. */
typedef struct {
    enum { FOUND_ON_DISK, COMPLETE, FAILED, ENDED } what;
    int index; /* of the conversation */
    size_t n_compared, n_cancelled, n_found;
    char message[256];
} report;

/* A process: what it runs, and where it reports. */
typedef struct {
    const char *path, *folder;
    uint64_t seed;           /* of the options of its model */
    const bool *is_complete; /* [n] conversations that need not run again */
    int n;
    int to;
    vug_model *model, *cold;
    pthread_mutex_t lock; /* guards `next` */
    int next;
    vug_cancel_token cancel[THREADS];
} process_life;

typedef struct {
    process_life *life;
    int index; /* of the thread */
} life_thread;

/* ---- in a child process, where an assert of cmocka would be no good ------------------------- */

/* Reports of a pipe are not cut: they are smaller than PIPE_BUF. */
static void send_report(const process_life *l, const report *r)
{
    if (write(l->to, r, sizeof(*r)) != (ssize_t)sizeof(*r))
        _exit(2);
}

static void fail_life(const process_life *l, int index, const char *message)
{
    report r = { .what = FAILED, .index = index };
    (void)snprintf(r.message, sizeof(r.message), "%s", message);
    send_report(l, &r);
    _exit(1);
}

static int next_conversation(process_life *l)
{
    (void)pthread_mutex_lock(&l->lock);
    while (l->next < l->n && l->is_complete[l->next])
        l->next++;
    const int index = l->next++;
    (void)pthread_mutex_unlock(&l->lock);
    return index;
}

static void *run_conversations(void *arg)
{
    const life_thread *t = arg;
    process_life *l = t->life;
    random_conversation c = { .model = l->model,
                              .cold = l->cold,
                              .tolerance = vug_model_describe(l->cold).batch_invariant ? 0 : 1e-3,
                              .n_vocab = (size_t)vug_model_describe(l->model).n_vocab,
                              .n_systems = SYSTEMS,
                              .own = &l->cancel[t->index],
                              .other = &l->cancel[(t->index + 1) % THREADS] };
    if (random_conversation_init(&c) != VUG_OK)
        fail_life(l, -1, c.err.msg);
    for (int i; (i = next_conversation(l)) < l->n;) {
        if (random_conversation_run(&c, (uint64_t)i) != VUG_OK)
            fail_life(l, i, c.err.msg);
        const report r = {
            .what = COMPLETE, .index = i, .n_compared = c.n_compared, .n_cancelled = c.n_cancelled
        };
        send_report(l, &r);
        c.n_compared = c.n_cancelled = 0;
    }
    random_conversation_release(&c);
    return NULL;
}

static vug_model *open_model(const process_life *l, const vug_model_options *o)
{
    vug_model *m = NULL;
    vug_err err = { 0 };
    vug_model_options options = *o;
    options.device = help_device();
    options.gpu_layers = help_gpu_layers();
    if (vug_model_open(l->path, &options, &m, &err) != VUG_OK)
        fail_life(l, -1, err.msg);
    return m;
}

/* Steps of few or many tokens, memory for one to three contexts, much or little of the disk. */
static void open_models(process_life *l)
{
    uint64_t random = l->seed;
    /* The largest batch, with which a context takes most memory. */
    const vug_model_options cold = { .context = CONVERSATION_CONTEXT, .batch = 128, .threads = 1 };
    l->cold = open_model(l, &cold);
    const uint64_t whole = vug_model_describe(l->cold).memory.session_cache;
    const vug_model_options o = {
        .context = CONVERSATION_CONTEXT,
        .batch = 16 << help_random(&random, 4),
        .slots = 1 + (int)help_random(&random, THREADS),
        .threads = 1 + (int)help_random(&random, 2),
        .kv_memory = whole * (1 + help_random(&random, 3)),
        .cache_dir = l->folder,
        .cache_size = help_random(&random, 2) ? 0 : 16 * whole,
    };
    l->model = open_model(l, &o);
}

/* The tokens of system turns that an earlier process has left on disk. */
static size_t count_found(const process_life *l)
{
    size_t all = 0;
    int32_t id[CONVERSATION_SYSTEM];
    vug_err err = { 0 };
    vug_session *s = NULL;
    if (vug_session_create(l->model, &s, &err) != VUG_OK)
        fail_life(l, -1, err.msg);
    for (size_t i = 0; i < SYSTEMS; i++) {
        size_t found = 0;
        const size_t n =
                random_conversation_system(i, (size_t)vug_model_describe(l->model).n_vocab, id);
        if (vug_session_prepare(s, id, n, NULL, &found, &err) != VUG_OK)
            fail_life(l, -1, err.msg);
        all += found;
    }
    vug_session_destroy(s);
    return all;
}

/* No page is lost: when all sessions are closed, only the tree holds some. */
static void check_pages(const process_life *l)
{
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(l->model->kv_pool);
    const vug_prefix_stats tree = vug_prefix_get_stats(l->model->prefix_tree);
    if (pool.used != tree.bytes || tree.evictable != tree.bytes)
        fail_life(l, -1, "pages are in use, but not by sessions");
    vug_prefix_clear(l->model->prefix_tree);
    if (vug_kv_pool_get_stats(l->model->kv_pool).pages != 0)
        fail_life(l, -1, "pages are lost");
}

static void live(process_life *l)
{
    pthread_t thread[THREADS];
    life_thread t[THREADS];
    open_models(l);
    const report found = { .what = FOUND_ON_DISK, .n_found = count_found(l) };
    send_report(l, &found);
    for (int i = 0; i < THREADS; i++) {
        t[i] = (life_thread){ l, i };
        if (pthread_create(&thread[i], NULL, run_conversations, &t[i]) != 0)
            fail_life(l, -1, "cannot start a thread");
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(thread[i], NULL);
    check_pages(l);
    vug_model_close(l->model);
    vug_model_close(l->cold);
    const report r = { .what = ENDED };
    send_report(l, &r);
    _exit(0);
}

/* ---- in the parent ------------------------------------------------------------------------- */

typedef struct {
    bool *is_complete; /* [n] */
    int n, n_complete;
    size_t n_compared, n_cancelled, n_found;
    bool ended; /* the last process was not killed */
} outcome;

/* Reads what a process reports until it ends, and kills it after `most` conversations; 0: never. */
static void follow(outcome *o, int from, pid_t child, int most)
{
    report r;
    while (read(from, &r, sizeof(r)) == (ssize_t)sizeof(r)) {
        o->n_found += r.n_found;
        o->ended = r.what == ENDED;
        if (r.what == FAILED)
            fail_msg("conversation %d: %s", r.index, r.message);
        if (r.what != COMPLETE)
            continue;
        o->n_complete += !o->is_complete[r.index];
        o->is_complete[r.index] = true;
        o->n_compared += r.n_compared;
        o->n_cancelled += r.n_cancelled;
        if (--most == 0)
            assert_int_equal(kill(child, SIGKILL), 0);
    }
}

static void run_process(outcome *o, const char *path, const char *folder, uint64_t seed, int most)
{
    int pipe_of[2];
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        process_life l = { .path = path,
                           .folder = folder,
                           .seed = seed,
                           .is_complete = o->is_complete,
                           .n = o->n,
                           .to = pipe_of[1],
                           .lock = PTHREAD_MUTEX_INITIALIZER };
        live(&l);
    }
    assert_int_equal(close(pipe_of[1]), 0);
    follow(o, pipe_of[0], child, most);
    assert_int_equal(close(pipe_of[0]), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL && most > 0
                                    : WEXITSTATUS(status) == 0 && o->ended);
}

static int count_conversations(void)
{
    const char *given = getenv("VUG_CONVERSATIONS");
    return given ? (int)strtol(given, NULL, 10) : FEW;
}

/* A few processes are killed; the last one runs to its end. */
static void test_rows_are_those_of_cold_runs(void **state)
{
    const char *path = *state;
    const scratch dir = scratch_make();
    uint64_t random = 7;
    outcome o = { .n = count_conversations() };
    assert_in_range(o.n, 2, 1000000);
    o.is_complete = calloc((size_t)o.n, sizeof(bool));
    assert_non_null(o.is_complete);
    for (uint64_t i = 0; !o.ended; i++) {
        const int left = o.n - o.n_complete;
        const int limit = left / 2 < MOST_PER_LIFE ? left / 2 + 1 : MOST_PER_LIFE;
        const bool is_killed = i == 0 || left > 3;
        const int most = is_killed ? 1 + (int)help_random(&random, (uint64_t)limit) : 0;
        run_process(&o, path, dir.path, i, most);
    }
    assert_int_equal(o.n_complete, o.n);
    assert_true(o.n_compared > (size_t)o.n * 10);
    assert_true(o.n_found > 0); /* by processes after the first */
    if (getenv("VUG_CONVERSATIONS"))
        print_message("%s: %d conversations, %zu rows of logits, %zu calls cancelled\n", path, o.n,
                      o.n_compared, o.n_cancelled);
    free(o.is_complete);
    scratch_remove(&dir);
}

int main(void)
{
    static char pebble[] = "models/pebble", gemma4[] = GOLDEN("gemma4-e");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_rows_are_those_of_cold_runs, gemma4),
        cmocka_unit_test_prestate(test_rows_are_those_of_cold_runs, pebble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
