#include "text/grammar/trie_traversal.h"

vug_status vug_trie_traversal_init(vug_trie_traversal *t, const vug_token_trie *trie,
                                   vug_grammar_matcher *matcher, vug_err *err)
{
    const size_t n = trie->longest + 1;
    *t = (vug_trie_traversal){ .trie = trie,
                               .matcher = matcher,
                               .path = vug_alloc(n, sizeof(*t->path)) };
    return t->path ? VUG_OK : VUG_FAIL_NOMEM(err, "a token mask", n * sizeof(*t->path));
}

void vug_trie_traversal_release(vug_trie_traversal *t)
{
    vug_free(t->path);
    *t = (vug_trie_traversal){ 0 };
}
