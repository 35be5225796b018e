#include "test.h"

#include <stdlib.h>

#include "core/utf8.h"
#include "text/grammar/group_trie.h"
#include "tokenizer_help.h"
#include "vug/vug.h"

/* The tokens of real vocabularies by groups of characters, and which nodes of the token trie are
 * members of a node. */

typedef struct {
    vug_tokenizer *tokenizer;
    const vug_token_trie *trie;
    vug_group_trie groups;
    uint32_t *parent; /* [nodes of the group trie] */
} both_tries;

/* The path of a token, as its definition says. Returns its length. */
static size_t path_of(vug_str text, uint8_t *path)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len;) {
        uint32_t c;
        const size_t len = vug_utf8_decode(text.ptr + i, text.len - i, &c);
        if (len == 1) {
            path[n++] = (uint8_t)vug_byte_group_of_ascii(c);
        } else if (len > 1) {
            const bool space = c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
                               c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
            path[n++] = VUG_GROUP_NOT_ASCII;
            path[n++] = c == 0x2028 || c == 0x2029 ? VUG_GROUP_LINE_END
                        : space                    ? VUG_GROUP_SPACE
                                                   : VUG_GROUP_OTHER;
        } else {
            path[n++] = VUG_GROUP_NOT_ASCII;
            path[n++] = (uint8_t)(VUG_GROUP_FIRST_BYTE + ((uint8_t)text.ptr[i] - 0x80));
        }
        i += len ? len : 1;
    }
    return n;
}

static both_tries tries_of_trie(const vug_token_trie *trie)
{
    both_tries b = { .trie = trie };
    assert_int_equal(vug_group_trie_init(&b.groups, b.trie, NULL), VUG_OK);
    b.parent = vug_alloc_zero(b.groups.n_nodes, sizeof(*b.parent));
    assert_non_null(b.parent);
    for (uint32_t i = 0; i < b.groups.n_nodes; i++)
        for (uint32_t c = i + 1; c < b.groups.node[i].end; c = b.groups.node[c].end)
            b.parent[c] = i;
    return b;
}

static both_tries tries_of(vug_tokenizer *tokenizer)
{
    const vug_token_trie *trie;
    assert_int_equal(vug_token_trie_get(tokenizer, &trie, NULL), VUG_OK);
    both_tries b = tries_of_trie(trie);
    b.tokenizer = tokenizer;
    return b;
}

static void release_tries(both_tries *b)
{
    vug_free(b->parent);
    vug_group_trie_release(&b->groups);
    vug_tokenizer_close(b->tokenizer);
}

/* The text of a token in the tries. */
static void append_text(const both_tries *b, int32_t id, vug_buf *text)
{
    text->len = 0;
    if (vug_tokenizer_is_special(b->tokenizer, id))
        assert_true(vug_token_marked_bytes(b->tokenizer, id, text));
    else
        assert_true(vug_tokenizer_append_bytes(b->tokenizer, id, text));
}

static void check_token(const both_tries *b, uint32_t node, vug_str text)
{
    const vug_group_trie_node *all = b->groups.node;
    uint8_t *path = vug_alloc(2 * text.len + 1, 1);
    assert_non_null(path);
    size_t n = path_of(text, path);
    assert_int_equal(n, all[node].depth);
    for (uint32_t at = node; n > 0; at = b->parent[at])
        if (all[at].group != path[--n])
            fail_msg("'%.*s': group %u instead of %u at %zu", VUG_STR_ARG(text), all[at].group,
                     path[n], n);
    vug_free(path);
}

/* Added tokens that are not special are in the tries twice, and are left out here. */
static void check_tokens(both_tries *b)
{
    const vug_group_trie_node *all = b->groups.node;
    uint8_t *seen = vug_alloc_zero((size_t)vug_tokenizer_size(b->tokenizer), 1);
    vug_buf text = { 0 };
    assert_non_null(seen);
    for (uint32_t i = 0; i < b->groups.n_nodes; i++)
        for (uint32_t k = all[i].first; k < all[i + 1].first; k++)
            seen[b->groups.id[k]]++;
    for (uint32_t i = 0; i < b->groups.n_nodes; i++) {
        for (uint32_t k = all[i].first; k < all[i + 1].first; k++) {
            if (seen[b->groups.id[k]] != 1)
                continue;
            append_text(b, b->groups.id[k], &text);
            check_token(b, i, (vug_str){ text.ptr, text.len });
        }
    }
    for (uint32_t k = 0; k < b->trie->n_tokens; k++)
        assert_true(seen[b->trie->id[k]] == 1 || seen[b->trie->id[k]] == 2);
    assert_int_equal(all[b->groups.n_nodes].first, b->trie->n_tokens);
    vug_free(seen);
    vug_buf_release(&text);
}

/* How many tokens are below each node of the token trie, with its own. The caller frees it. */
static uint32_t *count_tokens(const vug_token_trie *trie)
{
    uint32_t *n = vug_alloc(trie->n_nodes, sizeof(*n));
    assert_non_null(n);
    for (size_t i = trie->n_nodes; i-- > 0;) {
        n[i] = trie->node[i + 1].first - trie->node[i].first;
        for (uint32_t c = trie->node[i].child; c < trie->node[i + 1].child; c++)
            n[i] += n[c];
    }
    return n;
}

/* The tokens below the members of a node are those below the node, if its groups can be mixed. */
static void check_members(const both_tries *b)
{
    const vug_group_trie_node *all = b->groups.node;
    uint32_t *n_below = count_tokens(b->trie);
    for (uint32_t i = 1; i < b->groups.n_nodes; i++) {
        const bool ascii = all[i].group < VUG_BYTE_GROUP_ASCII;
        const bool first_not_ascii = all[i].group == VUG_GROUP_NOT_ASCII &&
                                     all[b->parent[i]].group < VUG_BYTE_GROUP_ASCII;
        uint32_t n = 0;
        for (uint32_t k = all[i].member; k < all[i + 1].member; k++)
            n += n_below[b->groups.member[k]];
        if (ascii || first_not_ascii)
            assert_int_equal(n, all[all[i].end].first - all[i].first);
        else if (all[i].group != VUG_GROUP_NOT_ASCII)
            assert_int_equal(n, 0);
    }
    vug_free(n_below);
}

static void check_vocabulary(vug_tokenizer *tokenizer)
{
    both_tries b = tries_of(tokenizer);
    check_tokens(&b);
    check_members(&b);
    release_tries(&b);
}

static void test_vocabulary_of_characters(void **state)
{
    (void)state;
    check_vocabulary(tokenizer_gemma3());
}

static void test_vocabulary_with_parts_of_characters(void **state)
{
    (void)state;
    check_vocabulary(tokenizer_real("qwen3"));
}

static void test_small_vocabularies(void **state)
{
    (void)state;
    check_vocabulary(tokenizer_of((tokenizer_parts){ 0 }));
    vug_tokenizer *pebble = NULL;
    assert_int_equal(vug_tokenizer_open("models/pebble", &pebble, NULL), VUG_OK);
    check_vocabulary(pebble);
}

/* The trie of one token whose bytes are the text, which need not be UTF-8. */
static void check_single_token(vug_str text)
{
    enum { MAX_TEXT = 8 };
    vug_token_trie_node node[MAX_TEXT + 2] = { 0 };
    uint64_t below[MAX_TEXT + 1] = { 0 };
    int32_t id = 0;
    assert_true(text.len <= MAX_TEXT);
    for (uint32_t i = 0; i <= text.len + 1; i++) {
        const bool is_last = i > text.len;
        node[i].child = is_last ? i : i + 1;
        node[i].first = is_last;
        if (i > 0 && !is_last)
            node[i].byte = (uint8_t)text.ptr[i - 1] & 0xff;
    }
    const vug_token_trie trie = { .node = node,
                                  .below = below,
                                  .id = &id,
                                  .n_nodes = text.len + 1,
                                  .n_tokens = 1,
                                  .longest = text.len };
    both_tries b = tries_of_trie(&trie);
    const uint32_t last = (uint32_t)b.groups.n_nodes - 1;
    assert_int_equal(b.groups.node[last].first, 0);
    assert_int_equal(b.groups.node[last + 1].first, 1);
    check_token(&b, last, text);
    release_tries(&b);
}

/* A character may break off at each of its bytes: before a byte that begins another one, before an
 * ASCII character, and at the end of a token. */
static void test_broken_characters(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\x80",
        "\xff",
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3"
        "A",
        "\xe2\x82"
        "A",
        "\xf0\x9f\x98"
        "A",
        "\xe2\xc3\xa9",
        "\xe2\x82\xe2\x82\xac",
        "\xf0\x9f\x98\xf0\x9f\x98\x80",
        "\xf0\x9f\x98\xff",
        "\xe2\x82\xac"
        "A",
        "\xf0\x9f\x98\x80",
        "\xe0\x80\xaf",
        "\xed\xa0\x80",
        "a\xe2\x82 b",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        check_single_token((vug_str){ texts[i], strlen(texts[i]) });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_characters),
        cmocka_unit_test(test_small_vocabularies),
        cmocka_unit_test(test_vocabulary_of_characters),
        cmocka_unit_test(test_vocabulary_with_parts_of_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
