#ifndef VUG_ENGINE_KV_SEQUENCE_H
#define VUG_ENGINE_KV_SEQUENCE_H

/*
 * The cached tokens of one sequence: their ids, and the page of every block of positions. The
 * sequence owns one reference of each page in its tables. Steps of a program fill the pages; these
 * functions decide which pages a step writes, publish whole blocks in the prefix tree, and
 * release the pages behind a sliding window.
 *
 * Not thread-safe: the owner of the pool serializes calls with steps of the device.
 */

#include "engine/kv_disk.h"

enum { VUG_MAX_MARKS = 8 };

typedef struct {
    vug_kv_pool *pool;
    vug_prefix_tree *tree;
    vug_kv_disk *disk;     /* NULL: published blocks are not written to disk */
    vug_prefix_node *node; /* of the last published block; NULL: the sequence publishes nothing */
    bool is_private;       /* it publishes nothing and uses nothing that others published */
    vug_prefix_key key;    /* of the empty prefix */
    vug_prefix_key chain;  /* of the published blocks; kept for the disk only */
    int32_t *token;        /* [n_tokens] those of the sequence; room for `capacity` */
    size_t n_tokens, capacity;
    vug_cache_miss miss; /* of the last prefix that it began with */
    size_t n;            /* tokens that are cached: all, unless the pages were taken away since */
    vug_page *table[VUG_KV_MAX_GROUPS]; /* [blocks of the capacity]; 0: no page */
    size_t first[VUG_KV_MAX_GROUPS];    /* blocks before this one have no page */
    size_t end;                         /* blocks from this one on have no page */
    vug_mark mark[VUG_MAX_MARKS];       /* [n_marks], of blocks that are not published */
    size_t n_marks;
} vug_kv_sequence;

/* What sequences of a model share. */
typedef struct {
    vug_kv_pool *pool;
    vug_prefix_tree *tree;
    vug_kv_disk *disk; /* NULL: none */
} vug_kv_shared;

/* An empty sequence of up to `capacity` tokens. The caller releases it even on failure. */
VUG_MUST_CHECK vug_status vug_kv_sequence_init(vug_kv_sequence *sequence,
                                               const vug_kv_shared *shared, size_t capacity,
                                               vug_err *err);
void vug_kv_sequence_release(vug_kv_sequence *sequence);

/* Begins an empty sequence with the longest prefix of id [n], of at most `most` tokens, that the
 * tree can provide. */
void vug_kv_sequence_begin(vug_kv_sequence *sequence, const vug_prefix_key *key, const int32_t *id,
                           size_t n, size_t most);
/* Begins an empty sequence that neither uses nor adds cached prefixes. */
void vug_kv_sequence_begin_private(vug_kv_sequence *sequence);
/* Provides pages for the next `n` tokens, which must fit the capacity. */
VUG_MUST_CHECK vug_status vug_kv_sequence_reserve(vug_kv_sequence *sequence, size_t n,
                                                  vug_err *err);
/* Appends tokens whose keys and values a step has written. They may be the sequence's own next
 * tokens, computed again. */
void vug_kv_sequence_append(vug_kv_sequence *sequence, const int32_t *id, size_t n);
/* Appends a token whose keys and values a step has written, unless the pages were taken away
 * since; then it is computed again, with the tokens before it. */
void vug_kv_sequence_accept(vug_kv_sequence *sequence, int32_t id);
/* Marks a boundary: it is pinned now, if its block is published, or when that is. At most
 * VUG_MAX_MARKS wait; later ones are ignored. */
void vug_kv_sequence_mark(vug_kv_sequence *sequence, vug_mark mark);
/* Keeps the first `n` tokens only. Returns false, and keeps all, if a page that is published or was
 * taken away has some of the others. */
bool vug_kv_sequence_truncate(vug_kv_sequence *sequence, size_t n);
/* Publishes a copy of the last page, if it is not whole, so that other sequences can begin with all
 * tokens. Does nothing if there is no memory. */
void vug_kv_sequence_publish_copy(vug_kv_sequence *sequence);
/* Publishes the last tokens and empties the sequence. */
void vug_kv_sequence_end(vug_kv_sequence *sequence);
/* Takes the pages away after they were published; the tokens stay. */
void vug_kv_sequence_suspend(vug_kv_sequence *sequence);
/* Begins again with what is still cached of a suspended sequence's tokens. */
void vug_kv_sequence_resume(vug_kv_sequence *sequence);
/* Bytes of the pages that the sequence holds, alone or with others. */
uint64_t vug_kv_sequence_held(const vug_kv_sequence *sequence);
/* Bytes of the pages that the sequence lacks for its next `n` tokens. */
uint64_t vug_kv_sequence_lacks(const vug_kv_sequence *sequence, size_t n);
static inline bool vug_kv_sequence_has_pages(const vug_kv_sequence *sequence)
{
    return sequence->end > 0;
}

/* The tables for a step; valid until the sequence is released. */
static inline const vug_page *const *vug_kv_sequence_table(const vug_kv_sequence *sequence)
{
    return (const vug_page *const *)sequence->table;
}

#endif
