#include "text/grammar/trie.h"

#include <stdlib.h>

#include "text/grammar/rules.h"
#include "text/tokenizer/tokenizer.h"

struct vug_trie_keeper {
    vug_lock *lock;
    vug_trie *trie; /* NULL until it is asked for */
};

/* A token to be sorted: most are told apart by their first bytes. */
typedef struct {
    uint64_t prefix; /* 8 bytes, the first one highest, zeros behind the end */
    const char *ptr;
    uint32_t len;
    int32_t id;
} spelling;

typedef struct {
    vug_buf bytes; /* of all tokens */
    spelling *token;
    size_t n;
    uint32_t *level; /* [longest + 2]: the next node of each depth */
    vug_trie *trie;
} builder;

bool vug_token_itself(const vug_tokenizer *t, int32_t id, vug_buf *to)
{
    static const char mark = (char)VUG_RULES_TOKEN_BYTE;
    size_t len = 0;
    const char *name = vug_tokenizer_token(t, id, &len);
    if (!name || len == 0)
        return false;
    vug_buf_append(to, &mark, 1);
    vug_buf_append(to, name, len);
    vug_buf_append(to, &mark, 1);
    return true;
}

/* ---- tokens in order --------------------------------------------------------- */

static uint64_t prefix_of(const char *ptr, size_t len)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++)
        prefix = prefix << 8 | (i < len ? (uint8_t)ptr[i] : 0u);
    return prefix;
}

static int by_bytes(const void *a, const void *b)
{
    const spelling *x = a, *y = b;
    const int order = vug_str_compare((vug_str){ x->ptr, x->len }, (vug_str){ y->ptr, y->len });
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

/* By prefix, byte by byte from the last one (a radix sort), then what has the same one. */
static bool sort_tokens(builder *b)
{
    spelling *from = b->token;
    spelling *to = vug_alloc(b->n + 1, sizeof(*to));
    if (!to)
        return false;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t place[257] = { 0 };
        for (size_t i = 0; i < b->n; i++)
            place[(from[i].prefix >> shift & 0xff) + 1]++;
        for (size_t i = 0; i < 256; i++)
            place[i + 1] += place[i];
        for (size_t i = 0; i < b->n; i++)
            to[place[from[i].prefix >> shift & 0xff]++] = from[i];
        spelling *const next = from;
        from = to;
        to = next;
    }
    vug_free(to); /* eight times over: the tokens are where they were */
    for (size_t i = 0, end; i < b->n; i = end) {
        for (end = i + 1; end < b->n && from[end].prefix == from[i].prefix;)
            end++;
        if (end - i > 1)
            qsort(from + i, end - i, sizeof(*from), by_bytes);
    }
    return true;
}

/* What has been appended since `before`. */
static void put_spelling(builder *b, int32_t id, size_t before)
{
    const size_t len = b->bytes.len - before;
    if (b->bytes.bad)
        return;
    if (len > 0)
        b->token[b->n++] = (spelling){ .len = (uint32_t)len, .id = id };
    if (len > b->trie->longest)
        b->trie->longest = len;
}

/* The byte that only tokens themselves have, in what has been appended: it is taken away. */
static bool has_mark(builder *b, size_t before)
{
    if (b->bytes.bad || b->bytes.len == before ||
        !memchr(b->bytes.ptr + before, VUG_RULES_TOKEN_BYTE, b->bytes.len - before))
        return false;
    b->bytes.len = before;
    return true;
}

/* The token itself, and not its letters. */
static void put_itself(builder *b, const vug_tokenizer *t, int32_t id)
{
    const size_t before = b->bytes.len;
    if (vug_token_itself(t, id, &b->bytes))
        put_spelling(b, id, before);
}

/* The bytes may move while they are collected: pointers come afterwards. */
static vug_status collect(builder *b, const vug_tokenizer *t, vug_err *err)
{
    const int32_t size = vug_tokenizer_size(t);
    const size_t most = (size_t)size + t->n_added + 1;
    b->token = vug_alloc(most, sizeof(*b->token));
    if (!b->token)
        return VUG_FAIL_NOMEM(err, "the spellings of tokens", most * sizeof(*b->token));
    for (int32_t id = 0; id < size; id++) {
        const size_t before = b->bytes.len;
        if (vug_token_is_special(t, id))
            put_itself(b, t, id);
        else if (vug_token_bytes(t, id, &b->bytes) && !has_mark(b, before))
            put_spelling(b, id, before);
    }
    for (size_t i = 0; i < t->n_added; i++)
        if (!t->added[i].special)
            put_itself(b, t, (int32_t)t->added[i].id);
    VUG_TRY(vug_buf_ok(&b->bytes, err));
    const char *at = b->bytes.ptr;
    for (size_t i = 0; i < b->n; i++) {
        b->token[i].ptr = at;
        b->token[i].prefix = prefix_of(at, b->token[i].len);
        at += b->token[i].len;
    }
    if (!sort_tokens(b))
        return VUG_FAIL_NOMEM(err, "the spellings of tokens", b->n * sizeof(*b->token));
    return VUG_OK;
}

/* ---- nodes ------------------------------------------------------------------- */

/* How many bytes token i shares with the one before it. */
static size_t shared(const builder *b, size_t i)
{
    if (i == 0)
        return 0;
    const spelling *x = &b->token[i - 1], *y = &b->token[i];
    const size_t most = x->len < y->len ? x->len : y->len;
    size_t n = 0;
    while (n < most && x->ptr[n] == y->ptr[n])
        n++;
    return n;
}

/* level[d] becomes the first node of depth d, level[longest + 1] the number of nodes. */
static bool count_nodes(builder *b)
{
    size_t n = 1;
    for (size_t i = 0; i < b->n; i++) {
        for (size_t d = shared(b, i) + 1; d <= b->token[i].len; d++) {
            b->level[d]++;
            n++;
        }
    }
    b->trie->n_nodes = n;
    if (n > VUG_TRIE_MAX_NODES)
        return false;
    uint32_t next = 1;
    for (size_t d = 1; d <= b->trie->longest + 1; d++) {
        const uint32_t here = b->level[d];
        b->level[d] = next;
        next += here;
    }
    return true;
}

/* Makes the nodes, counts the tokens of each; the node of a token is left in `prefix`. */
static void make_nodes(builder *b)
{
    vug_trie_node *node = b->trie->node;
    uint32_t last = 0;
    node[0].child = 1;
    for (size_t i = 0; i < b->n; i++) {
        for (size_t d = shared(b, i) + 1; d <= b->token[i].len; d++) {
            last = b->level[d]++;
            node[last].byte = (uint8_t)b->token[i].ptr[d - 1];
            node[last].child = b->level[d + 1];
        }
        node[last].first++;
        b->token[i].prefix = last;
    }
    node[b->trie->n_nodes].child = (uint32_t)b->trie->n_nodes;
}

/* From counts to places. Equal spellings are neighbours, so that their order holds. */
static void place_tokens(builder *b)
{
    vug_trie *t = b->trie;
    uint32_t next = 0;
    for (size_t i = 0; i <= t->n_nodes; i++) {
        const uint32_t here = t->node[i].first;
        t->node[i].first = next & 0xffffff;
        next += here;
    }
    uint64_t before = UINT64_MAX;
    uint32_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        const uint64_t node = b->token[i].prefix;
        at = node == before ? at + 1 : t->node[node].first;
        t->id[at] = b->token[i].id;
        before = node;
    }
}

static vug_status build(builder *b, const vug_tokenizer *tokenizer, vug_err *err)
{
    vug_trie *t = b->trie;
    VUG_TRY(collect(b, tokenizer, err));
    b->level = vug_alloc_zero(t->longest + 2, sizeof(*b->level));
    if (!b->level)
        return VUG_FAIL_NOMEM(err, "the tree of tokens", t->longest * sizeof(*b->level));
    if (!count_nodes(b))
        return VUG_FAIL(err, VUG_LIMIT,
                        "a vocabulary whose spellings make a tree of %zu nodes, at most %zu are "
                        "used for grammars",
                        t->n_nodes, VUG_TRIE_MAX_NODES);
    t->n_tokens = b->n;
    t->node = vug_alloc_zero(t->n_nodes + 1, sizeof(*t->node));
    t->id = vug_alloc(t->n_tokens + 1, sizeof(*t->id));
    if (!t->node || !t->id)
        return VUG_FAIL_NOMEM(err, "the tree of tokens", t->n_nodes * sizeof(*t->node));
    make_nodes(b);
    place_tokens(b);
    return VUG_OK;
}

/* ---- life --------------------------------------------------------------------- */

static void destroy(vug_trie *t)
{
    if (!t)
        return;
    vug_free(t->node);
    vug_free(t->id);
    vug_free(t);
}

static vug_status create(const vug_tokenizer *tokenizer, vug_trie **out, vug_err *err)
{
    builder b = { .trie = vug_alloc_zero(1, sizeof(*b.trie)) };
    vug_status st = VUG_OK;
    if (b.trie)
        st = build(&b, tokenizer, err);
    else
        st = VUG_FAIL_NOMEM(err, "the tree of tokens", sizeof(*b.trie));
    vug_buf_release(&b.bytes);
    vug_free(b.token);
    vug_free(b.level);
    if (st == VUG_OK)
        *out = b.trie;
    else
        destroy(b.trie);
    return st;
}

vug_status vug_trie_of(const vug_tokenizer *tokenizer, const vug_trie **out, vug_err *err)
{
    vug_trie_keeper *keeper = tokenizer->trie;
    vug_status st = VUG_OK;
    vug_lock_take(keeper->lock);
    if (!keeper->trie)
        st = create(tokenizer, &keeper->trie, err);
    *out = keeper->trie;
    vug_lock_leave(keeper->lock);
    return st;
}

vug_status vug_trie_keeper_create(vug_trie_keeper **out, vug_err *err)
{
    vug_trie_keeper *keeper = vug_alloc_zero(1, sizeof(*keeper));
    if (!keeper)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*keeper));
    const vug_status st = vug_lock_create(&keeper->lock, err);
    if (st != VUG_OK) {
        vug_free(keeper);
        return st;
    }
    *out = keeper;
    return VUG_OK;
}

void vug_trie_keeper_destroy(vug_trie_keeper *keeper)
{
    if (!keeper)
        return;
    vug_lock_destroy(keeper->lock);
    destroy(keeper->trie);
    vug_free(keeper);
}
