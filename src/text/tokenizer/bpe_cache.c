#include "text/tokenizer/bpe_cache.h"

static const vug_str metaspace = { "\xe2\x96\x81", 3 }; /* U+2581 */

/* ---- where words can be split -------------------------------------------------- */

/* Whether a symbol stands for its own text: not if it is a byte or unknown. */
static bool is_literal(const vug_bpe *bpe, const vug_vocab *vocab, uint32_t id)
{
    const vug_str text = vug_vocab_text(vocab, id);
    return text.len > 0 && id != bpe->unk && !(text.len >= 6 && memcmp(text.ptr, "<0x", 3) == 0);
}

/* Whether characters without a token are dropped, so that their neighbours become adjacent. */
static bool drops_characters(const vug_bpe *bpe)
{
    bool all = bpe->byte_fallback;
    for (size_t b = 0; b < 256; b++)
        all = all && bpe->byte_id[b] != VUG_NO_ID;
    return !all && bpe->unk == VUG_NO_ID;
}

void vug_safe_splits_init(vug_safe_splits *splits, const vug_bpe *bpe, const vug_vocab *vocab)
{
    *splits = (vug_safe_splits){ 0 };
    if (bpe->ignore_merges || drops_characters(bpe) || vug_vocab_find(vocab, metaspace) < 0)
        return;
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const vug_bpe_merge m = bpe->merge[i];
        if (!is_literal(bpe, vocab, m.left) || !is_literal(bpe, vocab, m.right))
            return;
        const vug_str left = vug_vocab_text(vocab, m.left);
        if (vug_str_starts(vug_vocab_text(vocab, m.right), metaspace.ptr))
            splits->joined[(unsigned char)left.ptr[left.len - 1]] = 1;
    }
    splits->possible = true;
}

/* The length of the first part of a word. */
static size_t next_part(const vug_safe_splits *splits, vug_str word)
{
    const char *at = word.ptr + 1;
    const char *const end = word.ptr + word.len;
    while (splits->possible && (size_t)(end - at) >= metaspace.len) {
        at = memchr(at, metaspace.ptr[0], (size_t)(end - at) - (metaspace.len - 1));
        if (!at)
            break;
        if (memcmp(at, metaspace.ptr, metaspace.len) == 0 && !splits->joined[(unsigned char)at[-1]])
            return (size_t)(at - word.ptr);
        at++;
    }
    return word.len;
}

/* ---- the memo -------------------------------------------------------------------- */

enum {
    N_ENTRIES = 1 << 13,
    MAX_TEXT = 34,
    MAX_IDS = 7,
    MIN_BYTES = 2048, /* shorter texts are not worth a memo */
};

/* A part and its ids, in one cache line; empty if `len` is 0. A new part overwrites an old
 * one. */
typedef struct {
    uint8_t len, n;
    char text[MAX_TEXT];
    int32_t id[MAX_IDS];
} memo_entry;

struct vug_bpe_memo {
    memo_entry entry[N_ENTRIES];
};

bool vug_bpe_cache_init(vug_bpe_cache *cache, size_t len)
{
    if (len >= MIN_BYTES)
        cache->memo = vug_alloc_zero(1, sizeof(*cache->memo));
    return len < MIN_BYTES || cache->memo;
}

void vug_bpe_cache_release(vug_bpe_cache *cache)
{
    vug_bpe_work_release(&cache->bpe);
    vug_free(cache->memo);
    *cache = (vug_bpe_cache){ 0 };
}

/* Stores a part and its ids, ids[first..]. */
static void store_entry(memo_entry *entry, vug_str part, const vug_id_list *ids, size_t first)
{
    const size_t n = ids->n - first;
    if (n > MAX_IDS)
        return;
    entry->len = (uint8_t)part.len;
    entry->n = (uint8_t)n;
    memcpy(entry->text, part.ptr, part.len);
    if (n > 0)
        memcpy(entry->id, ids->id + first, n * sizeof(*ids->id));
}

static bool encode_part(const vug_bpe_tables *tables, vug_str part, vug_bpe_cache *cache,
                        vug_id_list *out)
{
    if (!cache->memo || part.len > MAX_TEXT)
        return vug_bpe_encode(tables->bpe, tables->vocab, part, &cache->bpe, out);
    const uint64_t hash = vug_hash_bytes(part.ptr, part.len);
    memo_entry *entry = &cache->memo->entry[(hash >> 32) % N_ENTRIES];
    if (entry->len == part.len && memcmp(entry->text, part.ptr, part.len) == 0) {
        for (size_t i = 0; i < entry->n; i++) {
            if (!vug_id_list_push(out, (uint32_t)entry->id[i]))
                return false;
        }
        return true;
    }
    const size_t before = out->n;
    if (!vug_bpe_encode(tables->bpe, tables->vocab, part, &cache->bpe, out))
        return false;
    store_entry(entry, part, out, before);
    return true;
}

bool vug_bpe_encode_cached(const vug_bpe_tables *tables, vug_str word, vug_bpe_cache *cache,
                           vug_id_list *out)
{
    while (word.len > 0) {
        const size_t n = next_part(tables->splits, word);
        if (!encode_part(tables, (vug_str){ word.ptr, n }, cache, out))
            return false;
        word = vug_str_from(word, n);
    }
    return true;
}
