#include "text/tokenizer/unigram.h"

#include <stdlib.h>

#include "core/text.h"

void vug_unigram_release(vug_unigram *u)
{
    vug_free(u->node);
    vug_free(u->score);
    *u = (vug_unigram){ 0 };
}

uint64_t vug_unigram_memory(const vug_unigram *u)
{
    return u->n_nodes * sizeof(*u->node) + u->n_ids * sizeof(*u->score);
}

/* ---- the tree of pieces ------------------------------------------------------------ */

/* What lies below a node: pieces that share its bytes. */
typedef struct {
    size_t from, to;
    size_t depth;
} branch;

typedef struct {
    vug_unigram_node *node;
    branch *branch; /* of each node */
    uint32_t n, cap;
} tree;

static int by_text(const void *a, const void *b)
{
    const vug_unigram_piece *x = a, *y = b;
    const int order = vug_str_compare(x->text, y->text);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static bool push(tree *t, branch b, uint8_t byte)
{
    if (t->n == t->cap) {
        const uint32_t cap = t->cap ? 2 * t->cap : 1024;
        vug_unigram_node *node = vug_realloc(t->node, cap, sizeof(*node));
        t->node = node ? node : t->node;
        branch *more = node ? vug_realloc(t->branch, cap, sizeof(*more)) : NULL;
        if (!more)
            return false;
        t->branch = more;
        t->cap = cap;
    }
    t->node[t->n] = (vug_unigram_node){ .id = VUG_NO_ID, .byte = byte };
    t->branch[t->n++] = b;
    return true;
}

/* The children of node `at`, behind all nodes there are: level by level, they come out
 * as neighbours. False when there are too many, or memory is out. */
static bool branch_out(tree *t, uint32_t at, const vug_unigram_piece *piece)
{
    branch b = t->branch[at];
    /* The shortest comes first; of equal ones the last, as in the references. */
    while (b.from < b.to && piece[b.from].text.len == b.depth)
        t->node[at].id = piece[b.from++].id;
    t->node[at].first = t->n;
    while (b.from < b.to) {
        const char byte = piece[b.from].text.ptr[b.depth];
        branch child = { b.from, b.from, b.depth + 1 };
        while (child.to < b.to && piece[child.to].text.ptr[b.depth] == byte)
            child.to++;
        if (t->n == VUG_UNIGRAM_MAX_NODES || !push(t, child, (uint8_t)byte))
            return false;
        t->node[at].n++;
        b.from = child.to;
    }
    return true;
}

vug_status vug_unigram_seal(vug_unigram *u, vug_unigram_piece *piece, size_t n, const char *name,
                            vug_err *err)
{
    tree t = { 0 };
    if (n > 1)
        qsort(piece, n, sizeof(*piece), by_text);
    bool fits = push(&t, (branch){ 0, n, 0 }, 0);
    for (uint32_t at = 0; fits && at < t.n; at++)
        fits = branch_out(&t, at, piece);
    vug_free(t.branch);
    u->node = t.node;
    u->n_nodes = t.n;
    if (!fits)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: the pieces are a tree of more than %u nodes, or memory is out", name,
                        (unsigned)VUG_UNIGRAM_MAX_NODES);
    for (uint32_t i = 0; i < t.node->n; i++)
        u->root[t.node[t.node->first + i].byte] = t.node->first + i;
    return VUG_OK;
}

/* The child of a node, or 0. */
static uint32_t child_of(const vug_unigram *u, uint32_t at, uint8_t byte)
{
    uint32_t low = u->node[at].first, high = low + u->node[at].n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (u->node[middle].byte == byte)
            return middle;
        if (u->node[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- the best path ------------------------------------------------------------------- */

/* The best way to an end of a piece. */
struct vug_unigram_end {
    double score;
    uint32_t id;
    uint32_t from; /* where its last piece begins, NOWHERE while there is none */
};

#define NOWHERE UINT32_MAX

void vug_unigram_work_release(vug_unigram_work *work)
{
    vug_free(work->end);
    *work = (vug_unigram_work){ 0 };
}

static bool reserve(vug_unigram_work *work, size_t n)
{
    if (n <= work->cap)
        return true;
    vug_free(work->end);
    work->end = vug_alloc(n, sizeof(*work->end));
    work->cap = work->end ? n : 0;
    return work->end != NULL;
}

static void offer(const vug_unigram *u, vug_unigram_end *end, double score, uint32_t from,
                  uint32_t id)
{
    if (u->sentencepiece)
        score = (double)(float)score;
    if (end->from != NOWHERE && score <= end->score)
        return;
    end->score = score;
    end->from = from;
    end->id = id;
}

/* SentencePiece starts to count anew where a sum has become so small that floats say
 * little of what is added to it (seen of its release 0.2.3). No end is further away than a
 * piece. */
static void count_anew(vug_unigram_end *end, size_t left)
{
    const float least = -1e5F, base = (float)end->score;
    if (base >= least)
        return;
    for (size_t i = 0; i <= left && i <= VUG_UNIGRAM_MAX_PIECE; i++) {
        if (end[i].from != NOWHERE)
            end[i].score = (double)((float)end[i].score - base);
    }
}

/* All pieces that begin at `from`; a character that is none is unknown. */
static void offer_pieces(const vug_unigram *u, vug_str word, size_t from, size_t character,
                         vug_unigram_end *end)
{
    const double before = end[from].score;
    bool single = false;
    uint32_t at = u->root[(uint8_t)word.ptr[from]];
    for (size_t to = from + 1; at != 0; to++) {
        const uint32_t id = u->node[at].id;
        if (id != VUG_NO_ID) {
            offer(u, &end[to], u->score[id] + before, (uint32_t)from, id);
            single = single || to == from + character;
        }
        at = to < word.len ? child_of(u, at, (uint8_t)word.ptr[to]) : 0;
    }
    if (!single)
        offer(u, &end[from + character], u->unk_score + before, (uint32_t)from, u->unk);
}

static void find_best(const vug_unigram *u, vug_str word, vug_unigram_end *end)
{
    for (size_t i = 0; i <= word.len; i++)
        end[i] = (vug_unigram_end){ .from = NOWHERE };
    for (size_t from = 0; from < word.len;) {
        uint32_t cp;
        const size_t n = vug_utf8_next(word.ptr + from, word.len - from, &cp);
        VUG_ASSERT(n > 0);
        if (u->sentencepiece)
            count_anew(&end[from], word.len - from);
        offer_pieces(u, word, from, n, end);
        from += n;
    }
    /* From ends to where pieces begin; turned around, to where each next one ends. */
    uint32_t next = NOWHERE;
    for (uint32_t at = (uint32_t)word.len; at != NOWHERE;) {
        const uint32_t before = at > 0 ? end[at].from : NOWHERE;
        end[at].from = next;
        next = at;
        at = before;
    }
}

/* ---- ids ------------------------------------------------------------------------------- */

static bool put_bytes(const vug_unigram *u, vug_str text, vug_id_list *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!vug_id_push(out, u->byte_id[(uint8_t)text.ptr[i]]))
            return false;
    }
    return true;
}

static bool has_bytes(const vug_unigram *u, vug_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (u->byte_id[(uint8_t)text.ptr[i]] == VUG_NO_ID)
            return false;
    }
    return u->byte_fallback;
}

/* One unknown character, or a run of them. */
static bool put_unknown(const vug_unigram *u, const vug_vocab *vocab, vug_str text,
                        vug_id_list *out)
{
    const int32_t id = u->sentencepiece ? -1 : vug_vocab_find(vocab, text);
    if (id < 0 && has_bytes(u, text))
        return put_bytes(u, text, out);
    return vug_id_push(out, id < 0 ? u->unk : (uint32_t)id);
}

bool vug_unigram_encode(const vug_unigram *u, const vug_vocab *vocab, vug_str word,
                        vug_unigram_work *work, vug_id_list *out)
{
    VUG_ASSERT(word.len <= VUG_BPE_MAX_WORD);
    if (word.len == 0)
        return true;
    if (!reserve(work, word.len + 1))
        return false;
    const vug_unigram_end *end = work->end;
    find_best(u, word, work->end);
    for (uint32_t from = 0; from < word.len;) {
        uint32_t to = end[from].from;
        bool fits = true;
        if (end[to].id == u->unk) {
            while (u->fuse_unk && to < word.len && end[end[to].from].id == u->unk)
                to = end[to].from;
            fits = put_unknown(u, vocab, (vug_str){ word.ptr + from, to - from }, out);
        } else {
            fits = vug_id_push(out, end[to].id);
        }
        if (!fits)
            return false;
        from = to;
    }
    return true;
}
