/*
 * The speed of the cache on disk: SHA-256 alone, putting pages until they are written, and getting
 * them back while the system still holds the files in memory, in 1,000,000 bytes per second. Prints
 * medians of the rounds. It makes a folder of its own in `folder` (/tmp) and removes it.
 *
 *     bench_page_store [folder [MiB of a page [rounds]]]
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/os.h"
#include "core/random.h"
#include "core/sha256.h"
#include "engine/page_store.h"

enum { PAGES = 16, MAX_ROUNDS = 64 };

typedef struct {
    vug_page_store *store;
    uint8_t *page; /* [n] */
    size_t n;
    uint32_t next; /* a number for the next page */
} page_bench;

static vug_page_id id_of(uint32_t i)
{
    vug_page_id id = { .part = 0 };
    for (size_t k = 0; k < VUG_PREFIX_KEY; k++)
        id.key.byte[k] = (uint8_t)vug_hash64((uint64_t)i * 64 + k);
    return id;
}

static double hash_pages(page_bench *b)
{
    uint8_t out[VUG_SHA256_BYTES];
    const double start = vug_now();
    for (int i = 0; i < PAGES; i++) {
        vug_sha256 hash;
        vug_sha256_begin(&hash);
        vug_sha256_add(&hash, b->page, b->n);
        if (vug_sha256_finish(&hash, out, NULL) != VUG_OK)
            return 0;
    }
    return vug_now() - start;
}

/* How long the caller waits, and how long until the pages are written. */
static double put_pages(page_bench *b, double *caller)
{
    const double start = vug_now();
    for (uint32_t i = 0; i < PAGES; i++) {
        const vug_page_id id = id_of(b->next + i);
        if (!vug_page_store_put(b->store, &id, b->page, b->n))
            (void)fputs("a page was dropped\n", stderr);
    }
    *caller = vug_now() - start;
    vug_page_store_flush(b->store);
    return vug_now() - start;
}

static double get_pages(page_bench *b)
{
    const double start = vug_now();
    for (uint32_t i = 0; i < PAGES; i++) {
        const vug_page_id id = id_of(b->next + i);
        if (!vug_page_store_get(b->store, &id, b->page, b->n))
            (void)fputs("a page is missing\n", stderr);
    }
    return vug_now() - start;
}

static int compare_seconds(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_median(const page_bench *b, const char *what, double *seconds, int rounds)
{
    qsort(seconds, (size_t)rounds, sizeof(*seconds), compare_seconds);
    (void)printf("%-22s %7.0f MB/s\n", what,
                 (double)PAGES * (double)b->n / 1e6 / seconds[rounds / 2]);
}

static void run(page_bench *b, int rounds)
{
    double hash[MAX_ROUNDS], caller[MAX_ROUNDS], put[MAX_ROUNDS], get[MAX_ROUNDS];
    for (size_t i = 0; i < b->n; i++)
        b->page[i] = (uint8_t)vug_hash64(i);
    for (int i = 0; i < rounds; i++) {
        hash[i] = hash_pages(b);
        put[i] = put_pages(b, &caller[i]);
        get[i] = get_pages(b);
        b->next += PAGES;
    }
    print_median(b, "SHA-256", hash, rounds);
    print_median(b, "put, until it returns", caller, rounds);
    print_median(b, "put, until written", put, rounds);
    print_median(b, "get", get, rounds);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

int main(int argc, char **argv)
{
    char folder[512];
    const long megabytes = argc > 2 ? strtol(argv[2], NULL, 10) : 4;
    const long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : 9;
    const int len =
            snprintf(folder, sizeof(folder), "%s/vug-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (len >= (int)sizeof(folder) || megabytes < 1 || megabytes > 256 || rounds < 1 ||
        rounds > MAX_ROUNDS) {
        (void)fputs("usage: bench_page_store [folder [MiB of a page [rounds]]]\n", stderr);
        return 2;
    }
    page_bench b = { .n = (size_t)megabytes << 20 };
    vug_err err;
    const vug_page_store_options options = { .folder = folder,
                                             .budget = (uint64_t)64 * b.n,
                                             .queue = (PAGES + 1) * b.n };
    b.page = vug_alloc(b.n, 1);
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    if (!b.page || vug_page_store_open(&options, &b.store, &err) != VUG_OK) {
        (void)fprintf(stderr, "%s\n", b.page ? err.msg : "out of memory");
        return 1;
    }
    run(&b, (int)rounds);
    vug_page_store_close(b.store);
    vug_free(b.page);
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : 1;
}
