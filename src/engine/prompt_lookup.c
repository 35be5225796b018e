#include "engine/prompt_lookup.h"

enum {
    LEAST_MATCH = VUG_LEAST_MATCH, /* tokens that are looked up, the longest first */
    LONGEST_KEY = 4,
    LEAST_BITS = 10,
    MOST_BITS = 20,
};

vug_status vug_prompt_lookup_init(vug_prompt_lookup *l, size_t n_tokens, vug_err *err)
{
    int bits = LEAST_BITS;
    while (bits < MOST_BITS && (size_t)1 << bits < n_tokens * (LONGEST_KEY - LEAST_MATCH + 1))
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

/* The number of tokens before positions `a` < `b` that are equal. */
static size_t match_length(const int32_t *id, size_t a, size_t b)
{
    size_t n = 0;
    while (n < a && n < VUG_MOST_MATCH && id[a - 1 - n] == id[b - 1 - n])
        n++;
    return n;
}

/* Adds the positions up to `n`, without it: a position does not follow itself. */
static void add_positions(vug_prompt_lookup *l, const int32_t *id, size_t n)
{
    for (; l->n < n; l->n++) {
        for (size_t length = LEAST_MATCH; length <= LONGEST_KEY && length <= l->n; length++)
            *find_entry(l, id + l->n, length) = (uint32_t)l->n;
    }
}

size_t vug_prompt_lookup_draft(vug_prompt_lookup *l, const int32_t *id, size_t n, int32_t *draft,
                               size_t most)
{
    add_positions(l, id, n);
    for (size_t length = LONGEST_KEY; length >= LEAST_MATCH; length--) {
        const size_t from = length < n ? *find_entry(l, id + n, length) : 0;
        const size_t match = match_length(id, from, n);
        if (match < length)
            continue; /* another entry has taken the place, or there is none */
        for (size_t i = 0; i < most; i++)
            draft[i] = from + i < n ? id[from + i] : draft[from + i - n];
        return match;
    }
    return 0;
}
