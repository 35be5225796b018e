/* The store of pages on disk: the thread that writes, the budget, the counters. */
#include "engine/page_store.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "core/mem.h"
#include "engine/page_folder.h"
#include "engine/page_queue.h"

struct vug_page_store {
    vug_page_store_options options; /* but not its folder */
    char *path;
    vug_page_folder folder;
    vug_page_queue *queue;
    pthread_t writer;
    uint64_t since_trim; /* bytes written since the files were last counted; the writer's */
    bool warned;         /* the writer's */
    pthread_mutex_t lock;
    vug_page_store_stats stats; /* guarded by `lock`; without `queued` */
};

/* ---- the writer ------------------------------------------------------------------ */

/* How much goes at once, and how much other processes may write unseen. */
static uint64_t slack(const vug_page_store *store)
{
    return store->options.budget / 8;
}

/* Counts the files and makes room for `need` bytes. */
static void trim(vug_page_store *store, uint64_t need)
{
    const uint64_t budget = store->options.budget;
    const vug_page_folder_usage usage =
            vug_page_folder_trim(&store->folder, budget - need, budget - slack(store) - need);
    store->since_trim = 0;
    (void)pthread_mutex_lock(&store->lock);
    store->stats.bytes = usage.bytes;
    store->stats.files = usage.files;
    store->stats.removed += usage.removed;
    (void)pthread_mutex_unlock(&store->lock);
}

static void warn_once(vug_page_store *store, const vug_err *err)
{
    char message[sizeof(err->msg) + 256];
    if (store->warned || !store->options.warn)
        return;
    store->warned = true;
    (void)snprintf(message, sizeof(message), "%s: a page was not stored in the cache: %s",
                   store->path, err->msg);
    store->options.warn(store->options.user, message);
}

static void count_written(vug_page_store *store, vug_status st, size_t n)
{
    (void)pthread_mutex_lock(&store->lock);
    if (st == VUG_OK) {
        store->stats.written++;
        store->stats.written_bytes += n;
        store->stats.files++;
        store->stats.bytes += VUG_PAGE_HEADER + n;
    } else {
        store->stats.failed++;
    }
    (void)pthread_mutex_unlock(&store->lock);
}

static void write_page(vug_page_store *store, const vug_page_id *id, vug_bytes contents)
{
    const uint64_t need = VUG_PAGE_HEADER + (uint64_t)contents.len;
    vug_err err = { 0 };
    if (vug_page_folder_has(&store->folder, id, contents.len))
        return;
    /* Only this thread changes `bytes`. */
    if (store->stats.bytes + need > store->options.budget ||
        store->since_trim + need > slack(store))
        trim(store, need);
    const vug_status st =
            vug_page_folder_write(&store->folder, id, contents.ptr, contents.len, &err);
    store->since_trim += need;
    count_written(store, st, contents.len);
    if (st != VUG_OK)
        warn_once(store, &err);
}

static void *run_page_writer(void *arg)
{
    vug_page_store *store = arg;
    vug_page_id id;
    vug_bytes contents;
    trim(store, 0);
    while (vug_page_queue_front(store->queue, &id, &contents)) {
        write_page(store, &id, contents);
        vug_page_queue_pop(store->queue);
    }
    return NULL;
}

/* The writer gets no signals: they are for the program's threads, and a write beyond a limit on
 * the size of files then fails instead of ending the process (SIGXFSZ). */
static bool start_writer(vug_page_store *store)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool ok = pthread_create(&store->writer, NULL, run_page_writer, store) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* ---- the store --------------------------------------------------------------------- */

vug_status vug_page_store_open(const vug_page_store_options *options, vug_page_store **out,
                               vug_err *err)
{
    vug_page_store *store = vug_alloc_zero(1, sizeof(*store));
    if (!store)
        return VUG_FAIL_NOMEM(err, "the cache on disk", sizeof(*store));
    store->options = *options;
    store->options.folder = NULL;
    store->folder.fd = -1;
    (void)pthread_mutex_init(&store->lock, NULL);
    store->path = vug_strdup(options->folder);
    vug_status st = store->path ? VUG_OK : VUG_FAIL_NOMEM(err, "the cache on disk", 1);
    if (st == VUG_OK)
        st = vug_page_folder_open(options->folder, &store->folder, err);
    if (st == VUG_OK)
        st = vug_page_queue_create(options->queue, &store->queue, err);
    if (st == VUG_OK && !start_writer(store))
        st = VUG_FAIL(err, VUG_NOMEM, "cannot start the thread that writes the cache on disk");
    if (st == VUG_OK) {
        *out = store;
        return VUG_OK;
    }
    vug_page_queue_destroy(store->queue);
    store->queue = NULL;
    vug_page_store_close(store);
    return st;
}

void vug_page_store_close(vug_page_store *store)
{
    if (!store)
        return;
    if (store->queue) {
        vug_page_queue_end(store->queue);
        (void)pthread_join(store->writer, NULL);
    }
    vug_page_queue_destroy(store->queue);
    if (store->folder.fd >= 0)
        vug_page_folder_close(&store->folder);
    (void)pthread_mutex_destroy(&store->lock);
    vug_free(store->path);
    vug_free(store);
}

bool vug_page_store_put(vug_page_store *store, const vug_page_id *id, const void *bytes, size_t n)
{
    const uint64_t most = store->options.budget - slack(store);
    const bool queued = most >= VUG_PAGE_HEADER && n <= most - VUG_PAGE_HEADER &&
                        vug_page_queue_put(store->queue, id, bytes, n);
    if (!queued) {
        (void)pthread_mutex_lock(&store->lock);
        store->stats.dropped++;
        (void)pthread_mutex_unlock(&store->lock);
    }
    return queued;
}

bool vug_page_store_get(vug_page_store *store, const vug_page_id *id, void *bytes, size_t n)
{
    const vug_page_file_state state = vug_page_folder_read(&store->folder, id, bytes, n);
    (void)pthread_mutex_lock(&store->lock);
    store->stats.hits += state == VUG_PAGE_FILE_FOUND;
    store->stats.misses += state != VUG_PAGE_FILE_FOUND;
    store->stats.rejected += state == VUG_PAGE_FILE_REJECTED;
    (void)pthread_mutex_unlock(&store->lock);
    return state == VUG_PAGE_FILE_FOUND;
}

bool vug_page_store_has(vug_page_store *store, const vug_page_id *id, size_t n)
{
    return vug_page_folder_has(&store->folder, id, n);
}

void vug_page_store_flush(vug_page_store *store)
{
    vug_page_queue_wait(store->queue);
}

vug_page_store_stats vug_page_store_get_stats(vug_page_store *store)
{
    (void)pthread_mutex_lock(&store->lock);
    vug_page_store_stats stats = store->stats;
    (void)pthread_mutex_unlock(&store->lock);
    stats.queued = vug_page_queue_bytes(store->queue);
    return stats;
}
