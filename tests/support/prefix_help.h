#ifndef VUG_TESTS_SUPPORT_PREFIX_HELP_H
#define VUG_TESTS_SUPPORT_PREFIX_HELP_H

/*
 * Sequences over a prefix tree, as an engine runs them, on a device whose pages hold a hash of
 * all tokens up to each position. So a page tells which prefix it was computed for, and reading
 * another one is noticed.
 */

#include "engine/prefix_tree.h"
#include "kv_help.h"

#define BLOCK ((size_t)VUG_KV_PAGE)       /* tokens */
#define UNIT  ((uint64_t)VUG_KV_PAGE * 8) /* bytes of the smallest page */

enum { HELP_BLOCKS = 24, HELP_TOKENS = HELP_BLOCKS * VUG_KV_PAGE };

typedef struct {
    help_kv_device device;
    vug_kv_pool *pool;
    vug_prefix_tree *tree;
    const vug_kv_layout *layout;
} help_prefix_cache;

/* Groups with these windows whose pages have `units` times UNIT bytes; the budget is in such
 * units. */
typedef struct {
    int n_groups;
    int64_t window[4];
    int units[4];
    uint64_t budget;
    double snapshot_share;
} help_prefix_config;

/* One full group. */
extern const help_prefix_config help_prefix_full;
/* Group 0 is full, group 1 has a window of 100 tokens. */
extern const help_prefix_config help_prefix_sliding;

void help_prefix_open(help_prefix_cache *c, const help_prefix_config *config);
/* With these groups. */
void help_prefix_open_full(help_prefix_cache *c, uint64_t budget);
void help_prefix_open_sliding(help_prefix_cache *c, uint64_t budget, double snapshot_share);
/* Every sequence has ended: fails if a page is still in use after the tree is gone. */
void help_prefix_close(help_prefix_cache *c);
vug_prefix_key help_prefix_key(uint8_t n);

typedef struct {
    uint8_t key;
    int32_t id[HELP_TOKENS];
    size_t n;         /* tokens whose keys and values are computed */
    size_t published; /* tokens of the blocks that the tree knows */
    bool private;     /* the tree had no memory: publishes nothing more */
    vug_prefix_match match;
    vug_prefix_node *node;
    vug_page table[VUG_KV_MAX_GROUPS][HELP_BLOCKS];
} help_sequence;

/* Looks the prompt up and checks every page that it gets. */
void help_sequence_start(help_prefix_cache *c, help_sequence *s, uint8_t key, const int32_t *id,
                         size_t n, size_t most);
/* Computes the next tokens and publishes the blocks that they fill. A page that is shared is
 * copied before it is written. False: the pool has no page left; n tells how far it came. */
bool help_sequence_advance(help_prefix_cache *c, help_sequence *s, const int32_t *id, size_t n);
/* Releases pages of sliding groups, all but one, that lie behind the window. */
void help_sequence_slide(help_prefix_cache *c, help_sequence *s);
/* Whether the sequence itself holds the pages that boundary `p` <= n needs. */
bool help_sequence_holds(const help_prefix_cache *c, const help_sequence *s, size_t p);
/* Goes back to its first `n` tokens, whose pages it holds. */
void help_sequence_back(help_prefix_cache *c, help_sequence *s, size_t n);
/* Publishes the last tokens. */
void help_sequence_publish_last(help_prefix_cache *c, help_sequence *s);
/* Releases everything. */
void help_sequence_drop(help_prefix_cache *c, help_sequence *s);
/* Publishes the last tokens and releases everything. */
void help_sequence_end(help_prefix_cache *c, help_sequence *s);

/* ---- in few words ------------------------------------------------------------------ */

typedef struct {
    int32_t id[HELP_TOKENS];
} help_token_ids;

/* Tokens that no other seed has. */
help_token_ids help_sequence_tokens(int seed);
/* A sequence of a key that computes `n` tokens. */
help_sequence help_sequence_run(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n);
/* The same, and the sequence ends. */
void help_sequence_cache(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n);
/* The tokens of a prompt that could be reused. */
size_t help_prefix_reusable(const help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n);
/* The statistics of the tree, after its invariants are checked. */
vug_prefix_stats help_prefix_stats(const help_prefix_cache *c);
/* Takes and releases pages of a group as a sequence would. */
void help_kv_take(help_prefix_cache *c, int g, vug_page *page, int n);
void help_kv_release(help_prefix_cache *c, int g, const vug_page *page, int n);

#endif
