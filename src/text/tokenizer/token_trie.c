#include "text/tokenizer/token_trie.h"

#include <stdlib.h>

#include "core/pool.h"
#include "text/tokenizer/internal.h"

struct vug_token_trie_cache {
    vug_mutex *lock;
    vug_token_trie *trie; /* NULL until first use */
    void *attached;       /* NULL until first use */
    void (*destroy_attached)(void *attached);
};

/* A token to be sorted. Most differ in their first 8 bytes. */
typedef struct {
    uint64_t prefix; /* the first 8 bytes in big-endian order, padded with zeros */
    const char *ptr;
    uint32_t len;
    int32_t id;
} token_spelling;

typedef struct {
    vug_buf bytes; /* the spellings of all tokens */
    token_spelling *token;
    size_t n;
    uint32_t *level; /* [longest + 2]: the next node to make at each depth */
    vug_token_trie *trie;
} trie_builder;

bool vug_token_marked_bytes(const vug_tokenizer *t, int32_t id, vug_buf *to)
{
    static const char marker = (char)VUG_TOKEN_MARKER_BYTE;
    size_t len = 0;
    const char *name = vug_tokenizer_token(t, id, &len);
    if (!name || len == 0)
        return false;
    vug_buf_append(to, &marker, 1);
    vug_buf_append(to, name, len);
    vug_buf_append(to, &marker, 1);
    return true;
}

/* ---- sorting the tokens --------------------------------------------------------- */

static uint64_t prefix_of(const char *ptr, size_t len)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++)
        prefix = prefix << 8 | (i < len ? (uint8_t)ptr[i] : 0u);
    return prefix;
}

static int compare_spellings(const void *a, const void *b)
{
    const token_spelling *x = a, *y = b;
    const int order = vug_str_compare((vug_str){ x->ptr, x->len }, (vug_str){ y->ptr, y->len });
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

/* A radix sort by prefix, from its last byte to its first; then tokens of equal prefix are sorted. */
static bool sort_tokens(trie_builder *b)
{
    token_spelling *from = b->token;
    token_spelling *to = vug_alloc(b->n + 1, sizeof(*to));
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
        token_spelling *const next = from;
        from = to;
        to = next;
    }
    vug_free(to); /* after eight passes, `from` is the original array */
    for (size_t i = 0, end; i < b->n; i = end) {
        for (end = i + 1; end < b->n && from[end].prefix == from[i].prefix;)
            end++;
        if (end - i > 1)
            qsort(from + i, end - i, sizeof(*from), compare_spellings);
    }
    return true;
}

/* Adds a token whose spelling was appended since `before`. */
static void add_spelling(trie_builder *b, int32_t id, size_t before)
{
    const size_t len = b->bytes.len - before;
    if (b->bytes.bad)
        return;
    if (len > 0)
        b->token[b->n++] = (token_spelling){ .len = (uint32_t)len, .id = id };
    if (len > b->trie->longest)
        b->trie->longest = len;
}

/* Drops what was appended since `before` if it contains the marker byte, and says so. */
static bool drop_marked(trie_builder *b, size_t before)
{
    if (b->bytes.bad || b->bytes.len == before ||
        !memchr(b->bytes.ptr + before, VUG_TOKEN_MARKER_BYTE, b->bytes.len - before))
        return false;
    b->bytes.len = before;
    return true;
}

/* Adds a token between marker bytes. */
static void add_marked(trie_builder *b, const vug_tokenizer *t, int32_t id)
{
    const size_t before = b->bytes.len;
    if (vug_token_marked_bytes(t, id, &b->bytes))
        add_spelling(b, id, before);
}

/* The buffer may move while it grows, so pointers into it are set afterwards. */
static vug_status collect_spellings(trie_builder *b, const vug_tokenizer *t, vug_err *err)
{
    const int32_t size = vug_tokenizer_size(t);
    const size_t most = (size_t)size + t->n_added + 1;
    b->token = vug_alloc(most, sizeof(*b->token));
    if (!b->token)
        return VUG_FAIL_NOMEM(err, "the spellings of tokens", most * sizeof(*b->token));
    for (int32_t id = 0; id < size; id++) {
        const size_t before = b->bytes.len;
        if (vug_tokenizer_is_special(t, id))
            add_marked(b, t, id);
        else if (vug_tokenizer_append_bytes(t, id, &b->bytes) && !drop_marked(b, before))
            add_spelling(b, id, before);
    }
    for (size_t i = 0; i < t->n_added; i++)
        if (!t->added[i].special)
            add_marked(b, t, (int32_t)t->added[i].id);
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

/* How many leading bytes token i shares with token i - 1. */
static size_t shared_prefix(const trie_builder *b, size_t i)
{
    if (i == 0)
        return 0;
    const token_spelling *x = &b->token[i - 1], *y = &b->token[i];
    const size_t most = x->len < y->len ? x->len : y->len;
    size_t n = 0;
    while (n < most && x->ptr[n] == y->ptr[n])
        n++;
    return n;
}

/* level[d] becomes the first node of depth d, level[longest + 1] the number of nodes. */
static bool count_nodes(trie_builder *b)
{
    size_t n = 1;
    for (size_t i = 0; i < b->n; i++) {
        for (size_t d = shared_prefix(b, i) + 1; d <= b->token[i].len; d++) {
            b->level[d]++;
            n++;
        }
    }
    b->trie->n_nodes = n;
    if (n > VUG_TOKEN_TRIE_MAX_NODES)
        return false;
    uint32_t next = 1;
    for (size_t d = 1; d <= b->trie->longest + 1; d++) {
        const uint32_t here = b->level[d];
        b->level[d] = next;
        next += here;
    }
    return true;
}

/* Makes the nodes and counts the tokens of each. Leaves the node of each token in `prefix`. */
static void make_nodes(trie_builder *b)
{
    vug_token_trie_node *node = b->trie->node;
    uint32_t last = 0;
    node[0].child = 1;
    for (size_t i = 0; i < b->n; i++) {
        for (size_t d = shared_prefix(b, i) + 1; d <= b->token[i].len; d++) {
            last = b->level[d]++;
            node[last].byte = (uint8_t)b->token[i].ptr[d - 1];
            node[last].child = b->level[d + 1];
        }
        node[last].first++;
        b->token[i].prefix = last;
    }
    node[b->trie->n_nodes].child = (uint32_t)b->trie->n_nodes;
}

/* Turns counts into offsets. Tokens of equal spelling are adjacent and keep their order. */
static void place_token_ids(trie_builder *b)
{
    vug_token_trie *t = b->trie;
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

/* ---- what is below each node ------------------------------------------------- */

unsigned vug_byte_group_of_ascii(unsigned c)
{
    enum { LOWER, UPPER, DIGIT, CONTROL, TAB, LINE_FEED, CARRIAGE_RETURN, FIRST_OTHER };
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c == '\t')
        return TAB;
    if (c == '\n')
        return LINE_FEED;
    if (c == '\r')
        return CARRIAGE_RETURN;
    if (c < ' ')
        return CONTROL;
    const unsigned letters_and_digits = c < '0' ? 0 : c < 'A' ? 10 : c < 'a' ? 36 : 62;
    return FIRST_OTHER + c - ' ' - letters_and_digits;
}

/* Where a byte of UTF-8 leads (RFC 3629, section 4). */
typedef enum {
    UTF8_BOUNDARY, /* between characters */
    UTF8_LAST_1,   /* before the last, the last two or the last three bytes */
    UTF8_LAST_2,
    UTF8_LAST_3,
    UTF8_AFTER_E0,
    UTF8_AFTER_ED,
    UTF8_AFTER_F0,
    UTF8_AFTER_F4,
    UTF8_ILL_FORMED,
} utf8_state;

static utf8_state utf8_lead(unsigned byte)
{
    if (byte < 0x80)
        return UTF8_BOUNDARY;
    if (byte < 0xc2 || byte > 0xf4)
        return UTF8_ILL_FORMED;
    if (byte < 0xe0)
        return UTF8_LAST_1;
    if (byte < 0xf0)
        return byte == 0xe0 ? UTF8_AFTER_E0 : byte == 0xed ? UTF8_AFTER_ED : UTF8_LAST_2;
    return byte == 0xf0 ? UTF8_AFTER_F0 : byte == 0xf4 ? UTF8_AFTER_F4 : UTF8_LAST_3;
}

static utf8_state utf8_next(utf8_state state, unsigned byte)
{
    static const struct {
        uint8_t from, to; /* the bytes that may follow */
        uint8_t next;
    } follow[] = {
        [UTF8_LAST_1] = { 0x80, 0xbf, UTF8_BOUNDARY },
        [UTF8_LAST_2] = { 0x80, 0xbf, UTF8_LAST_1 },
        [UTF8_LAST_3] = { 0x80, 0xbf, UTF8_LAST_2 },
        [UTF8_AFTER_E0] = { 0xa0, 0xbf, UTF8_LAST_1 },
        [UTF8_AFTER_ED] = { 0x80, 0x9f, UTF8_LAST_1 },
        [UTF8_AFTER_F0] = { 0x90, 0xbf, UTF8_LAST_2 },
        [UTF8_AFTER_F4] = { 0x80, 0x8f, UTF8_LAST_2 },
    };
    if (state == UTF8_BOUNDARY)
        return utf8_lead(byte);
    const bool follows =
            state != UTF8_ILL_FORMED && follow[state].from <= byte && byte <= follow[state].to;
    return follows ? (utf8_state)follow[state].next : UTF8_ILL_FORMED;
}

/* Children have higher numbers than their parents: one pass up finds the states of UTF-8, and one
 * pass down joins the groups. */
static bool find_groups_below(vug_token_trie *t)
{
    uint8_t *state = vug_alloc_zero(t->n_nodes, sizeof(*state));
    if (!state)
        return false;
    for (size_t i = 0; i < t->n_nodes; i++)
        for (uint32_t c = t->node[i].child; c < t->node[i + 1].child; c++)
            state[c] = (uint8_t)utf8_next((utf8_state)state[i], t->node[c].byte);
    for (size_t i = t->n_nodes; i-- > 0;) {
        uint64_t groups = 0;
        for (uint32_t c = t->node[i].child; c < t->node[i + 1].child; c++) {
            const unsigned byte = t->node[c].byte;
            const uint64_t own = state[c] == UTF8_ILL_FORMED ? VUG_BYTE_GROUP_ILL_FORMED
                                 : byte >= 0x80              ? VUG_BYTE_GROUP_BEYOND
                                                : (uint64_t)1 << vug_byte_group_of_ascii(byte);
            groups |= own | t->below[c];
        }
        t->below[i] = groups;
    }
    vug_free(state);
    return true;
}

static vug_status build_trie(trie_builder *b, const vug_tokenizer *tokenizer, vug_err *err)
{
    vug_token_trie *t = b->trie;
    VUG_TRY(collect_spellings(b, tokenizer, err));
    b->level = vug_alloc_zero(t->longest + 2, sizeof(*b->level));
    if (!b->level)
        return VUG_FAIL_NOMEM(err, "the token trie", t->longest * sizeof(*b->level));
    if (!count_nodes(b))
        return VUG_FAIL(err, VUG_LIMIT,
                        "the vocabulary has a token trie of %zu nodes, grammars support at most "
                        "%zu",
                        t->n_nodes, VUG_TOKEN_TRIE_MAX_NODES);
    t->n_tokens = b->n;
    t->node = vug_alloc_zero(t->n_nodes + 1, sizeof(*t->node));
    t->id = vug_alloc(t->n_tokens + 1, sizeof(*t->id));
    t->below = vug_alloc(t->n_nodes, sizeof(*t->below));
    if (!t->node || !t->id || !t->below)
        return VUG_FAIL_NOMEM(err, "the token trie", t->n_nodes * sizeof(*t->node));
    make_nodes(b);
    place_token_ids(b);
    return find_groups_below(t)
                   ? VUG_OK
                   : VUG_FAIL_NOMEM(err, "the token trie", t->n_nodes * sizeof(*t->node));
}

/* ---- lifetime --------------------------------------------------------------------- */

static void destroy_trie(vug_token_trie *t)
{
    if (!t)
        return;
    vug_free(t->node);
    vug_free(t->below);
    vug_free(t->id);
    vug_free(t);
}

static vug_status create_trie(const vug_tokenizer *tokenizer, vug_token_trie **out, vug_err *err)
{
    trie_builder b = { .trie = vug_alloc_zero(1, sizeof(*b.trie)) };
    vug_status st = VUG_OK;
    if (b.trie)
        st = build_trie(&b, tokenizer, err);
    else
        st = VUG_FAIL_NOMEM(err, "the token trie", sizeof(*b.trie));
    vug_buf_release(&b.bytes);
    vug_free(b.token);
    vug_free(b.level);
    if (st == VUG_OK)
        *out = b.trie;
    else
        destroy_trie(b.trie);
    return st;
}

vug_status vug_token_trie_get(const vug_tokenizer *tokenizer, const vug_token_trie **out,
                              vug_err *err)
{
    vug_token_trie_cache *cache = tokenizer->trie;
    vug_status st = VUG_OK;
    vug_mutex_lock(cache->lock);
    if (!cache->trie)
        st = create_trie(tokenizer, &cache->trie, err);
    *out = cache->trie;
    vug_mutex_unlock(cache->lock);
    return st;
}

vug_status vug_token_trie_attach(const vug_tokenizer *tokenizer,
                                 const vug_token_trie_attachment *kind, void **out, vug_err *err)
{
    vug_token_trie_cache *cache = tokenizer->trie;
    const vug_token_trie *trie = NULL;
    VUG_TRY(vug_token_trie_get(tokenizer, &trie, err));
    vug_status st = VUG_OK;
    vug_mutex_lock(cache->lock);
    if (!cache->attached) {
        st = kind->create(trie, &cache->attached, err);
        cache->destroy_attached = kind->destroy;
    }
    *out = cache->attached;
    vug_mutex_unlock(cache->lock);
    return st;
}

vug_status vug_token_trie_cache_create(vug_token_trie_cache **out, vug_err *err)
{
    vug_token_trie_cache *cache = vug_alloc_zero(1, sizeof(*cache));
    if (!cache)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*cache));
    const vug_status st = vug_mutex_create(&cache->lock, err);
    if (st != VUG_OK) {
        vug_free(cache);
        return st;
    }
    *out = cache;
    return VUG_OK;
}

void vug_token_trie_cache_destroy(vug_token_trie_cache *cache)
{
    if (!cache)
        return;
    vug_mutex_destroy(cache->lock);
    if (cache->attached)
        cache->destroy_attached(cache->attached);
    destroy_trie(cache->trie);
    vug_free(cache);
}
