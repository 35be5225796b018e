#include "text/tokenizer/bpe.h"

#include "core/utf8.h"

/*
 * A word starts as a doubly linked list of symbols, one per character. A merge extends the
 * left symbol and unlinks the right one. Possible merges wait in a heap, ordered by rank,
 * then by position. Entries are not removed when a neighbour changes. They are recognised as
 * stale when they are popped, by the rule of the reference (HF tokenizers,
 * models/bpe/word.rs, merge_all): an entry is valid if the pair that is there now merges to
 * the id that the entry was made for, even if with another rank.
 */

#define NONE UINT32_MAX

struct vug_bpe_symbol {
    uint32_t id; /* VUG_NO_ID: merged into another */
    uint32_t prev, next;
    uint32_t rank; /* of the merge with `next`, or NONE */
};

void vug_bpe_release(vug_bpe *bpe)
{
    vug_free(bpe->merge);
    vug_free(bpe->priority);
    vug_hash_index_release(&bpe->index);
    *bpe = (vug_bpe){ 0 };
}

uint64_t vug_bpe_memory(const vug_bpe *bpe)
{
    const size_t priorities = bpe->priority ? bpe->n_merges * sizeof(*bpe->priority) : 0;
    return priorities + bpe->cap * sizeof(*bpe->merge) + bpe->index.n_slots * sizeof(uint32_t);
}

bool vug_bpe_add_merge(vug_bpe *bpe, vug_bpe_merge merge)
{
    vug_bpe_merge *more = vug_grow_array(bpe->merge, &bpe->cap, bpe->n_merges, sizeof(*more));
    if (!more)
        return false;
    bpe->merge = more;
    bpe->merge[bpe->n_merges++] = merge;
    return true;
}

vug_status vug_bpe_seal(vug_bpe *bpe, const char *name, vug_err *err)
{
    if (bpe->n_merges > 0 && bpe->n_merges < bpe->cap) {
        vug_bpe_merge *exact = vug_realloc(bpe->merge, bpe->n_merges, sizeof(*exact));
        if (exact) {
            bpe->merge = exact;
            bpe->cap = bpe->n_merges;
        }
    }
    if (!vug_hash_index_init(&bpe->index, bpe->n_merges))
        return VUG_FAIL_NOMEM(err, name, 2 * bpe->n_merges * sizeof(uint32_t));
    for (uint32_t rank = 0; rank < bpe->n_merges; rank++) {
        const vug_bpe_merge m = bpe->merge[rank];
        vug_hash_probe p = vug_hash_probe_start(&bpe->index, vug_hash_pair(m.left, m.right));
        bool known = false;
        while (!known && vug_hash_probe_next(&p))
            known = bpe->merge[p.entry].left == m.left && bpe->merge[p.entry].right == m.right;
        if (known)
            vug_hash_probe_replace(&bpe->index, &p, rank);
        else if (!vug_hash_probe_insert(&bpe->index, &p, rank))
            return VUG_FAIL(err, VUG_LIMIT, "%s: too many hash collisions of merges", name);
    }
    return VUG_OK;
}

void vug_bpe_find_byte_tokens(const vug_vocab *vocab, uint32_t id[256])
{
    static const char digit[] = "0123456789ABCDEF";
    for (unsigned b = 0; b < 256; b++) {
        const char text[] = { '<', '0', 'x', digit[b / 16], digit[b % 16], '>' };
        const int32_t found = vug_vocab_find(vocab, (vug_str){ text, sizeof(text) });
        id[b] = found < 0 ? VUG_NO_ID : (uint32_t)found;
    }
}

static uint32_t find_rank(const vug_bpe *bpe, uint32_t left, uint32_t right)
{
    vug_hash_probe p = vug_hash_probe_start(&bpe->index, vug_hash_pair(left, right));
    while (vug_hash_probe_next(&p)) {
        if (bpe->merge[p.entry].left == left && bpe->merge[p.entry].right == right)
            return p.entry;
    }
    return NONE;
}

bool vug_id_list_push(vug_id_list *list, uint32_t id)
{
    int32_t *more = vug_grow_array(list->id, &list->cap, list->n, sizeof(*more));
    if (!more)
        return false;
    list->id = more;
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

static bool has_byte_tokens(const vug_bpe *bpe, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bpe->byte_id[(unsigned char)text[i]] == VUG_NO_ID)
            return false;
    }
    return true;
}

/* Writes at most one symbol per byte of `word` and returns their number. An unk is held
 * back until it is known whether the next character joins it; byte tokens overtake it, as
 * in the reference. */
static size_t split_into_symbols(const vug_bpe *bpe, const vug_vocab *vocab, vug_str word,
                                 vug_bpe_symbol *symbol)
{
    size_t n = 0;
    bool unknown = false;
    for (size_t i = 0; i < word.len;) {
        uint32_t cp;
        const size_t len = vug_utf8_decode(word.ptr + i, word.len - i, &cp);
        VUG_ASSERT(len > 0);
        const char *text = word.ptr + i;
        i += len;
        const int32_t id = vug_vocab_find(vocab, (vug_str){ text, len });
        if (id < 0 && bpe->byte_fallback && has_byte_tokens(bpe, text, len)) {
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

/* ---- the heap: priority in the high half, position in the low half -------- */

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

static uint64_t heap_entry(const vug_bpe *bpe, uint32_t rank, uint32_t at)
{
    const uint32_t priority = bpe->priority ? bpe->priority[rank] : rank;
    return (uint64_t)priority << 32 | at;
}

/* Whether an entry of that priority is valid for merge `rank`. */
static bool entry_matches(const vug_bpe *bpe, uint32_t priority, uint32_t rank)
{
    if (bpe->priority)
        return bpe->priority[rank] == priority;
    return bpe->merge[rank].result == bpe->merge[priority].result;
}

/* Looks up the merge of a symbol with its right neighbour and pushes it on the heap; returns
 * the new size of the heap. */
static size_t push_merge(const vug_bpe *bpe, vug_bpe_symbol *symbol, uint32_t at, uint64_t *heap,
                         size_t n)
{
    vug_bpe_symbol *left = &symbol[at];
    left->rank = left->next == NONE ? NONE : find_rank(bpe, left->id, symbol[left->next].id);
    if (left->rank == NONE)
        return n;
    heap[n] = heap_entry(bpe, left->rank, at);
    sift_up(heap, n);
    return n + 1;
}

/* A merge pops one entry and pushes at most two, and there are fewer merges than symbols:
 * the heap holds at most 2 * n entries. */
static void merge_all(const vug_bpe *bpe, vug_bpe_symbol *symbol, size_t n_symbols, uint64_t *heap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < n_symbols; i++) {
        symbol[i].prev = i > 0 ? i - 1 : NONE;
        symbol[i].next = i + 1 < n_symbols ? i + 1 : NONE;
        symbol[i].rank = i + 1 < n_symbols ? find_rank(bpe, symbol[i].id, symbol[i + 1].id) : NONE;
        if (symbol[i].rank != NONE)
            heap[n++] = heap_entry(bpe, symbol[i].rank, i);
    }
    for (size_t i = n / 2; i > 0; i--)
        sift_down(heap, n, i - 1);
    while (n > 0) {
        const uint32_t at = (uint32_t)heap[0];
        const uint32_t priority = (uint32_t)(heap[0] >> 32);
        heap[0] = heap[--n];
        if (n > 0)
            sift_down(heap, n, 0);
        vug_bpe_symbol *left = &symbol[at];
        if (left->id == VUG_NO_ID || left->rank == NONE ||
            !entry_matches(bpe, priority, left->rank))
            continue;
        vug_bpe_symbol *right = &symbol[left->next];
        left->id = bpe->merge[left->rank].result;
        left->next = right->next;
        right->id = VUG_NO_ID;
        if (left->next != NONE)
            symbol[left->next].prev = at;
        if (left->prev != NONE)
            n = push_merge(bpe, symbol, left->prev, heap, n);
        n = push_merge(bpe, symbol, at, heap, n);
    }
}

/* ---- a word -------------------------------------------------------------- */

static bool reserve_work(vug_bpe_work *work, size_t n)
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
            return vug_id_list_push(out, (uint32_t)whole);
    }
    if (!reserve_work(work, word.len))
        return false;
    const size_t n = split_into_symbols(bpe, vocab, word, work->symbol);
    if (n == 0)
        return true;
    merge_all(bpe, work->symbol, n, work->heap);
    for (uint32_t i = 0; i != NONE; i = work->symbol[i].next) {
        if (!vug_id_list_push(out, work->symbol[i].id))
            return false;
    }
    return true;
}
