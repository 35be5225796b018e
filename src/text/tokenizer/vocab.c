#include "text/tokenizer/vocab.h"

void vug_vocab_release(vug_vocab *vocab)
{
    vug_buf_release(&vocab->pool);
    vug_free(vocab->at);
    vug_hash_index_release(&vocab->index);
    *vocab = (vug_vocab){ 0 };
}

uint64_t vug_vocab_memory(const vug_vocab *vocab)
{
    return vocab->pool.cap + (vocab->cap + vocab->index.n_slots) * sizeof(uint32_t);
}

static bool reserve_id(vug_vocab *vocab, uint32_t id)
{
    if (id < vocab->n_ids)
        return true;
    if (id >= vocab->cap) {
        size_t cap = vocab->cap ? vocab->cap : 1024;
        while (cap <= id)
            cap *= 2;
        uint32_t *at = vug_realloc(vocab->at, cap, sizeof(*at));
        if (!at)
            return false;
        vocab->at = at;
        vocab->cap = cap;
    }
    memset(vocab->at + vocab->n_ids, 0, (id + 1 - vocab->n_ids) * sizeof(*vocab->at));
    vocab->n_ids = (size_t)id + 1;
    return true;
}

vug_vocab_result vug_vocab_add(vug_vocab *vocab, vug_str text, uint32_t id)
{
    VUG_ASSERT(text.len <= VUG_TOKEN_MAX_BYTES && id < VUG_MAX_IDS);
    if (!reserve_id(vocab, id))
        return VUG_VOCAB_NOMEM;
    if (vocab->at[id] != 0)
        return VUG_VOCAB_TAKEN;
    const char length[2] = { (char)(text.len & 0xff), (char)(text.len >> 8) };
    vug_buf_append(&vocab->pool, length, sizeof(length));
    const size_t at = vocab->pool.len;
    vug_buf_append(&vocab->pool, text.ptr, text.len);
    vug_buf_append(&vocab->pool, "", 1);
    if (vocab->pool.bad)
        return VUG_VOCAB_NOMEM;
    vocab->at[id] = (uint32_t)at;
    vocab->n_tokens++;
    return VUG_VOCAB_ADDED;
}

/* True with the probe at `text`; false with the probe where it would be inserted. */
static bool look_up(const vug_vocab *vocab, vug_str text, vug_hash_probe *p)
{
    *p = vug_hash_probe_start(&vocab->index, vug_hash_bytes(text.ptr, text.len));
    while (vug_hash_probe_next(p)) {
        if (vug_str_equal(vug_vocab_text(vocab, p->entry), text))
            return true;
    }
    return false;
}

vug_vocab_result vug_vocab_seal(vug_vocab *vocab, uint32_t *which)
{
    if (!vug_hash_index_init(&vocab->index, vocab->n_tokens))
        return VUG_VOCAB_NOMEM;
    for (uint32_t id = 0; id < vocab->n_ids; id++) {
        if (vocab->at[id] == 0)
            continue;
        vug_hash_probe p;
        *which = id;
        if (look_up(vocab, vug_vocab_text(vocab, id), &p))
            return VUG_VOCAB_DUPLICATE;
        if (!vug_hash_probe_insert(&vocab->index, &p, id))
            return VUG_VOCAB_COLLIDES;
    }
    return VUG_VOCAB_ADDED;
}

int32_t vug_vocab_find(const vug_vocab *vocab, vug_str text)
{
    vug_hash_probe p;
    return look_up(vocab, text, &p) ? (int32_t)p.entry : -1;
}

void vug_vocab_find_many(const vug_vocab *vocab, const vug_str *text, size_t n, int32_t *id)
{
    VUG_ASSERT(n <= VUG_VOCAB_BATCH);
    uint64_t hash[VUG_VOCAB_BATCH];
    const unsigned char *found[VUG_VOCAB_BATCH];
    /* The loads of each loop are independent of each other: slots, then pool offsets, then
     * lengths and texts. */
    for (size_t i = 0; i < n; i++)
        hash[i] = vug_hash_bytes(text[i].ptr, text[i].len);
    for (size_t i = 0; i < n; i++) {
        vug_hash_probe p = vug_hash_probe_start(&vocab->index, hash[i]);
        id[i] = vug_hash_probe_next(&p) ? (int32_t)p.entry : -1;
    }
    for (size_t i = 0; i < n; i++)
        found[i] = id[i] < 0 ? NULL : (const unsigned char *)vocab->pool.ptr + vocab->at[id[i]];
    for (size_t i = 0; i < n; i++) {
        if (id[i] < 0)
            continue;
        /* The first candidate is nearly always the right one. */
        const size_t len = (size_t)found[i][-2] | (size_t)found[i][-1] << 8;
        if (len != text[i].len || memcmp(found[i], text[i].ptr, len) != 0)
            id[i] = vug_vocab_find(vocab, text[i]);
    }
}
