#include "text/tokenizer/bpe.h"

#include "core/text.h"

/*
 * A word starts as one symbol per character and is a doubly linked list of
 * symbols from then on; a merge lengthens the left one and unlinks the right
 * one. What can be merged waits in a heap by rank, then place. Entries are not
 * removed when a neighbour changes: they are recognised as stale when they come
 * up, by the rule of the reference (HF tokenizers, models/bpe/word.rs,
 * merge_all), which asks whether the pair that is there now gives the id that
 * the entry was made for. That the rank may have changed does not matter to it.
 */

#define NONE UINT32_MAX

struct vug_symbol {
    uint32_t id; /* VUG_NO_ID: merged into another */
    uint32_t prev, next;
    uint32_t rank; /* of the merge with `next`, or NONE */
};

void vug_bpe_release(vug_bpe *bpe)
{
    vug_free(bpe->merge);
    vug_free(bpe->first_alike);
    vug_index_release(&bpe->index);
    *bpe = (vug_bpe){ 0 };
}

uint64_t vug_bpe_memory(const vug_bpe *bpe)
{
    const size_t alike = bpe->first_alike ? bpe->n_merges * sizeof(*bpe->first_alike) : 0;
    return alike + bpe->cap * sizeof(*bpe->merge) + bpe->index.n_slots * sizeof(uint32_t);
}

bool vug_bpe_add(vug_bpe *bpe, vug_merge merge)
{
    if (bpe->n_merges == bpe->cap) {
        const size_t cap = bpe->cap ? bpe->cap * 2 : 1024;
        vug_merge *more = vug_realloc(bpe->merge, cap, sizeof(*more));
        if (!more)
            return false;
        bpe->merge = more;
        bpe->cap = cap;
    }
    bpe->merge[bpe->n_merges++] = merge;
    return true;
}

vug_status vug_bpe_seal(vug_bpe *bpe, const char *name, vug_err *err)
{
    if (bpe->n_merges > 0 && bpe->n_merges < bpe->cap) {
        vug_merge *exact = vug_realloc(bpe->merge, bpe->n_merges, sizeof(*exact));
        if (exact) {
            bpe->merge = exact;
            bpe->cap = bpe->n_merges;
        }
    }
    if (!vug_index_init(&bpe->index, bpe->n_merges))
        return VUG_FAIL_NOMEM(err, name, 2 * bpe->n_merges * sizeof(uint32_t));
    for (uint32_t rank = 0; rank < bpe->n_merges; rank++) {
        const vug_merge m = bpe->merge[rank];
        vug_probe p = vug_probe_start(&bpe->index, vug_hash_pair(m.left, m.right));
        bool known = false;
        while (!known && vug_probe_next(&p))
            known = bpe->merge[p.entry].left == m.left && bpe->merge[p.entry].right == m.right;
        if (known)
            vug_probe_replace(&bpe->index, &p, rank);
        else if (!vug_probe_insert(&bpe->index, &p, rank))
            return VUG_FAIL(err, VUG_LIMIT, "%s: the merges are made to collide", name);
    }
    return VUG_OK;
}

static uint32_t rank_of(const vug_bpe *bpe, uint32_t left, uint32_t right)
{
    vug_probe p = vug_probe_start(&bpe->index, vug_hash_pair(left, right));
    while (vug_probe_next(&p)) {
        if (bpe->merge[p.entry].left == left && bpe->merge[p.entry].right == right)
            return p.entry;
    }
    return NONE;
}

bool vug_id_push(vug_id_list *list, uint32_t id)
{
    if (list->n == list->cap) {
        const size_t cap = list->cap ? list->cap * 2 : 64;
        int32_t *more = vug_realloc(list->id, cap, sizeof(*more));
        if (!more)
            return false;
        list->id = more;
        list->cap = cap;
    }
    list->id[list->n++] = (int32_t)id;
    return true;
}

void vug_bpe_work_release(vug_bpe_work *work)
{
    vug_free(work->symbol);
    vug_free(work->heap);
    *work = (vug_bpe_work){ 0 };
}

/* ---- from characters to symbols ------------------------------------------ */

static bool has_all_bytes(const vug_bpe *bpe, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bpe->byte_id[(unsigned char)text[i]] == VUG_NO_ID)
            return false;
    }
    return true;
}

/* Writes at most one symbol per byte of `word` and returns how many. An unk waits
 * until it is known whether the next character joins it; byte tokens overtake it,
 * as in the reference. */
static size_t split(const vug_bpe *bpe, const vug_vocab *vocab, vug_str word, vug_symbol *symbol)
{
    size_t n = 0;
    bool unknown = false;
    for (size_t i = 0; i < word.len;) {
        uint32_t cp;
        const size_t len = vug_utf8_next(word.ptr + i, word.len - i, &cp);
        VUG_ASSERT(len > 0);
        const char *text = word.ptr + i;
        i += len;
        const int32_t id = vug_vocab_find(vocab, (vug_str){ text, len });
        if (id < 0 && bpe->byte_fallback && has_all_bytes(bpe, text, len)) {
            for (size_t b = 0; b < len; b++)
                symbol[n++].id = bpe->byte_id[(unsigned char)text[b]];
            continue;
        }
        if (unknown && (id >= 0 || !bpe->fuse_unk)) {
            symbol[n++].id = bpe->unk;
            unknown = false;
        }
        if (id >= 0)
            symbol[n++].id = (uint32_t)id;
        else
            unknown = bpe->unk != VUG_NO_ID;
    }
    if (unknown)
        symbol[n++].id = bpe->unk;
    return n;
}

/* ---- the heap: rank in the high half, place in the low half --------------- */

static void sift_down(uint64_t *heap, size_t n, size_t at)
{
    const uint64_t key = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

static void sift_up(uint64_t *heap, size_t at)
{
    const uint64_t key = heap[at];
    while (at > 0 && heap[(at - 1) / 2] > key) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = key;
}

static uint64_t entry_of(const vug_bpe *bpe, uint32_t rank, uint32_t at)
{
    const uint32_t order = bpe->first_alike ? bpe->first_alike[rank] : rank;
    return (uint64_t)order << 32 | at;
}

/* Whether an entry of that order may have been made for merge `rank`. */
static bool is_of(const vug_bpe *bpe, uint32_t order, uint32_t rank)
{
    if (bpe->first_alike)
        return bpe->first_alike[rank] == order;
    return bpe->merge[rank].result == bpe->merge[order].result;
}

/* Notes what the symbol and its right neighbour merge to; returns the grown size
 * of the heap. */
static size_t consider(const vug_bpe *bpe, vug_symbol *symbol, uint32_t at, uint64_t *heap,
                       size_t n)
{
    vug_symbol *left = &symbol[at];
    left->rank = left->next == NONE ? NONE : rank_of(bpe, left->id, symbol[left->next].id);
    if (left->rank == NONE)
        return n;
    heap[n] = entry_of(bpe, left->rank, at);
    sift_up(heap, n);
    return n + 1;
}

/* A merge takes one entry from the heap and adds at most two, and there are fewer
 * merges than symbols: the heap holds at most 2 * n entries. */
static void merge_all(const vug_bpe *bpe, vug_symbol *symbol, size_t n_symbols, uint64_t *heap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < n_symbols; i++) {
        symbol[i].prev = i > 0 ? i - 1 : NONE;
        symbol[i].next = i + 1 < n_symbols ? i + 1 : NONE;
        symbol[i].rank = i + 1 < n_symbols ? rank_of(bpe, symbol[i].id, symbol[i + 1].id) : NONE;
        if (symbol[i].rank != NONE)
            heap[n++] = entry_of(bpe, symbol[i].rank, i);
    }
    for (size_t i = n / 2; i > 0; i--)
        sift_down(heap, n, i - 1);
    while (n > 0) {
        const uint32_t at = (uint32_t)heap[0];
        const uint32_t order = (uint32_t)(heap[0] >> 32);
        heap[0] = heap[--n];
        if (n > 0)
            sift_down(heap, n, 0);
        vug_symbol *left = &symbol[at];
        if (left->id == VUG_NO_ID || left->rank == NONE || !is_of(bpe, order, left->rank))
            continue;
        vug_symbol *right = &symbol[left->next];
        left->id = bpe->merge[left->rank].result;
        left->next = right->next;
        right->id = VUG_NO_ID;
        if (left->next != NONE)
            symbol[left->next].prev = at;
        if (left->prev != NONE)
            n = consider(bpe, symbol, left->prev, heap, n);
        n = consider(bpe, symbol, at, heap, n);
    }
}

/* ---- a word -------------------------------------------------------------- */

static bool reserve(vug_bpe_work *work, size_t n)
{
    if (n > work->symbol_cap) {
        vug_free(work->symbol);
        work->symbol = vug_alloc(n, sizeof(*work->symbol));
        work->symbol_cap = work->symbol ? n : 0;
    }
    if (2 * n > work->heap_cap) {
        vug_free(work->heap);
        work->heap = vug_alloc(2 * n, sizeof(*work->heap));
        work->heap_cap = work->heap ? 2 * n : 0;
    }
    return work->symbol && work->heap;
}

bool vug_bpe_encode(const vug_bpe *bpe, const vug_vocab *vocab, vug_str word, vug_bpe_work *work,
                    vug_id_list *out)
{
    VUG_ASSERT(word.len <= VUG_BPE_MAX_WORD);
    if (word.len == 0)
        return true;
    if (bpe->ignore_merges) {
        const int32_t whole = vug_vocab_find(vocab, word);
        if (whole >= 0)
            return vug_id_push(out, (uint32_t)whole);
    }
    if (!reserve(work, word.len))
        return false;
    const size_t n = split(bpe, vocab, word, work->symbol);
    if (n == 0)
        return true;
    merge_all(bpe, work->symbol, n, work->heap);
    for (uint32_t i = 0; i != NONE; i = work->symbol[i].next) {
        if (!vug_id_push(out, work->symbol[i].id))
            return false;
    }
    return true;
}
