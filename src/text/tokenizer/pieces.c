#include "text/tokenizer/pieces.h"

static const vug_str mark = { "\xe2\x96\x81", 3 };

/* ---- where words can be cut -------------------------------------------------- */

/* What a symbol stands for in the text is its spelling, unless it came from bytes or is
 * unknown. */
static bool is_spelled(const vug_bpe *bpe, const vug_vocab *vocab, uint32_t id)
{
    const vug_str text = vug_vocab_text(vocab, id);
    return text.len > 0 && id != bpe->unk && !(text.len >= 6 && memcmp(text.ptr, "<0x", 3) == 0);
}

/* Whether a character without a token is dropped, and its neighbours become each other's. */
static bool drops_characters(const vug_bpe *bpe)
{
    bool all = bpe->byte_fallback;
    for (size_t b = 0; b < 256; b++)
        all = all && bpe->byte_id[b] != VUG_NO_ID;
    return !all && bpe->unk == VUG_NO_ID;
}

void vug_cuts_init(vug_cuts *cuts, const vug_bpe *bpe, const vug_vocab *vocab)
{
    *cuts = (vug_cuts){ 0 };
    if (bpe->ignore_merges || drops_characters(bpe) || vug_vocab_find(vocab, mark) < 0)
        return;
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const vug_merge m = bpe->merge[i];
        if (!is_spelled(bpe, vocab, m.left) || !is_spelled(bpe, vocab, m.right))
            return;
        const vug_str left = vug_vocab_text(vocab, m.left);
        if (vug_str_starts(vug_vocab_text(vocab, m.right), mark.ptr))
            cuts->joined[(unsigned char)left.ptr[left.len - 1]] = 1;
    }
    cuts->possible = true;
}

/* The length of the piece that the word begins with. */
static size_t piece_of(const vug_cuts *cuts, vug_str word)
{
    const char *at = word.ptr + 1;
    const char *const end = word.ptr + word.len;
    while (cuts->possible && (size_t)(end - at) >= mark.len) {
        at = memchr(at, mark.ptr[0], (size_t)(end - at) - (mark.len - 1));
        if (!at)
            break;
        if (memcmp(at, mark.ptr, mark.len) == 0 && !cuts->joined[(unsigned char)at[-1]])
            return (size_t)(at - word.ptr);
        at++;
    }
    return word.len;
}

/* ---- what came before --------------------------------------------------------- */

enum {
    PLACES = 1 << 13,
    MEMO_TEXT = 34,
    MEMO_IDS = 7,
    WORTH_IT = 2048, /* bytes of a text */
};

/* A piece and its ids, in one cache line; `len` is 0 where there is none. A new piece
 * takes the place of an old one. */
typedef struct {
    uint8_t len, n;
    char text[MEMO_TEXT];
    int32_t id[MEMO_IDS];
} memo_entry;

struct vug_memo {
    memo_entry entry[PLACES];
};

bool vug_pieces_prepare(vug_pieces_work *work, size_t len)
{
    if (len >= WORTH_IT)
        work->memo = vug_alloc_zero(1, sizeof(*work->memo));
    return len < WORTH_IT || work->memo;
}

void vug_pieces_release(vug_pieces_work *work)
{
    vug_bpe_work_release(&work->bpe);
    vug_free(work->memo);
    *work = (vug_pieces_work){ 0 };
}

/* A piece became the ids from `first` on. */
static void remember(memo_entry *entry, vug_str piece, const vug_id_list *ids, size_t first)
{
    const size_t n = ids->n - first;
    if (n > MEMO_IDS)
        return;
    entry->len = (uint8_t)piece.len;
    entry->n = (uint8_t)n;
    memcpy(entry->text, piece.ptr, piece.len);
    if (n > 0)
        memcpy(entry->id, ids->id + first, n * sizeof(*ids->id));
}

static bool encode_piece(const vug_pieces *how, vug_str piece, vug_pieces_work *work,
                         vug_id_list *out)
{
    if (!work->memo || piece.len > MEMO_TEXT)
        return vug_bpe_encode(how->bpe, how->vocab, piece, &work->bpe, out);
    const uint64_t hash = vug_hash_bytes(piece.ptr, piece.len);
    memo_entry *entry = &work->memo->entry[(hash >> 32) % PLACES];
    if (entry->len == piece.len && memcmp(entry->text, piece.ptr, piece.len) == 0) {
        for (size_t i = 0; i < entry->n; i++) {
            if (!vug_id_push(out, (uint32_t)entry->id[i]))
                return false;
        }
        return true;
    }
    const size_t before = out->n;
    if (!vug_bpe_encode(how->bpe, how->vocab, piece, &work->bpe, out))
        return false;
    remember(entry, piece, out, before);
    return true;
}

bool vug_pieces_encode(const vug_pieces *how, vug_str word, vug_pieces_work *work, vug_id_list *out)
{
    while (word.len > 0) {
        const size_t n = piece_of(how->cuts, word);
        if (!encode_piece(how, (vug_str){ word.ptr, n }, work, out))
            return false;
        word = vug_str_from(word, n);
    }
    return true;
}
