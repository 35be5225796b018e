#include "engine/prompt_lookup.h"

enum { LEAST_BITS = 10, MOST_BITS = 20 };

/* Numbers of tokens that are looked up, the longest first. */
static const size_t key_length[] = { 8, 4, 3, 2, VUG_LEAST_MATCH };
enum { KEYS = sizeof(key_length) / sizeof(*key_length) };

vug_status vug_prompt_lookup_init(vug_prompt_lookup *l, size_t n_tokens, vug_err *err)
{
    int bits = LEAST_BITS;
    while (bits < MOST_BITS && (size_t)1 << bits < n_tokens * KEYS)
        bits++;
    *l = (vug_prompt_lookup){ .bits = bits };
    l->position = vug_alloc_zero((size_t)1 << bits, sizeof(*l->position));
    if (!l->position)
        return VUG_FAIL_NOMEM(err, "prompt lookup", sizeof(*l->position) << bits);
    return VUG_OK;
}

void vug_prompt_lookup_release(vug_prompt_lookup *l)
{
    vug_free(l->position);
    *l = (vug_prompt_lookup){ 0 };
}

/* The place in the table for the `length` tokens before `end`. */
static uint32_t *find_entry(const vug_prompt_lookup *l, const int32_t *end, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 1; i <= length; i++)
        hash = (hash ^ (uint32_t)end[-(ptrdiff_t)i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &l->position[hash >> (64 - l->bits)];
}

void vug_prompt_lookup_add(vug_prompt_lookup *l, const int32_t *text, size_t n)
{
    for (; l->n < n; l->n++) {
        for (int k = 0; k < KEYS; k++) {
            if (key_length[k] <= l->n)
                *find_entry(l, text + l->n, key_length[k]) = (uint32_t)l->n;
        }
    }
}

/* The number of equal tokens before text[at] and at the end of id [n]. */
static size_t match_length(const int32_t *text, size_t at, const int32_t *id, size_t n)
{
    const size_t most = at < n ? at : n;
    size_t length = 0;
    while (length < most && length < VUG_MOST_MATCH && text[at - 1 - length] == id[n - 1 - length])
        length++;
    return length;
}

size_t vug_prompt_lookup_find(const vug_prompt_lookup *l, const int32_t *text, const int32_t *id,
                              size_t n, size_t *position)
{
    for (int k = 0; k < KEYS; k++) {
        *position = key_length[k] <= n ? *find_entry(l, id + n, key_length[k]) : 0;
        const size_t match = match_length(text, *position, id, n);
        if (match >= key_length[k]) /* otherwise another entry has taken the place */
            return match;
    }
    return 0;
}
