#include "engine/candidates.h"

#include <float.h>
#include <math.h>

/* ---- memory -------------------------------------------------------------------- */

vug_status vug_candidates_init(vug_candidates *c, int64_t n, vug_err *err)
{
    *c = (vug_candidates){ .view = { .n = n } };
    const size_t ids = (size_t)n, blocks = vug_candidates_blocks(c);
    c->list = vug_alloc(ids, sizeof(*c->list));
    c->block_best = vug_alloc(blocks, sizeof(*c->block_best));
    c->histogram = vug_alloc(VUG_MASS_BINS, sizeof(*c->histogram));
    if (c->list && c->block_best && c->histogram)
        return VUG_OK;
    vug_candidates_release(c);
    return VUG_FAIL_NOMEM(err, "the sampler",
                          ids * sizeof(*c->list) + blocks * sizeof(*c->block_best) +
                                  VUG_MASS_BINS * sizeof(*c->histogram));
}

void vug_candidates_release(vug_candidates *c)
{
    vug_free(c->list);
    vug_free(c->block_best);
    vug_free(c->histogram);
    *c = (vug_candidates){ 0 };
}

/* ---- blocks --------------------------------------------------------------------- */

/* Bits of 64 ids from a word of 32 on; words from n_words on are `rest`. */
static uint64_t load_bits(const uint32_t *word, size_t at, size_t n_words, uint32_t rest)
{
    const uint64_t low = word && at < n_words ? word[at] : rest;
    const uint64_t high = word && at + 1 < n_words ? word[at + 1] : rest;
    return low | high << 32;
}

/* The bits of the ids of a block that the view allows. */
static uint64_t allowed_bits(const vug_logits_view *v, size_t block)
{
    const size_t first = block * VUG_LOGITS_BLOCK, left = (size_t)v->n - first;
    uint64_t bits = UINT64_MAX;
    if (v->allowed)
        bits = load_bits(v->allowed, block * 2, ((size_t)v->n + 31) / 32, 0);
    return left < VUG_LOGITS_BLOCK ? bits & ((UINT64_C(1) << left) - 1) : bits;
}

static void clear_outside(const vug_candidates *c, size_t block, float *x)
{
    const int32_t first = (int32_t)(block * VUG_LOGITS_BLOCK);
    for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
        const vug_candidate one = { first + j, x[j] };
        if (!vug_candidates_has(c, &one))
            x[j] = -INFINITY;
    }
}

const float *vug_candidates_block(const vug_candidates *c, size_t block, float *buffer)
{
    const vug_logits_view *v = &c->view;
    float *const x = buffer;
    const size_t first = block * VUG_LOGITS_BLOCK;
    const uint64_t allowed = allowed_bits(v, block);
    uint64_t changed = load_bits(v->is_changed, block * 2, ((size_t)v->n + 31) / 32, 0);
    if (allowed == UINT64_MAX && !changed && !c->is_cut && !c->only_infinite)
        return v->logits + first;
    for (size_t j = 0; j < VUG_LOGITS_BLOCK; j++)
        x[j] = allowed >> j & 1 ? v->logits[first + j] : -INFINITY;
    for (changed &= allowed; changed; changed &= changed - 1) {
        const size_t j = (size_t)__builtin_ctzll(changed);
        x[j] = v->changed[first + j];
    }
    for (size_t j = 0; j < VUG_LOGITS_BLOCK && c->only_infinite; j++)
        x[j] = x[j] > FLT_MAX ? 0 : -INFINITY;
    if (c->is_cut)
        clear_outside(c, block, x);
    return x;
}

/* The best of 64 logits; NaN counts as -infinity. */
static float best_of_block(const float *x)
{
    const vug_f32x4 none = vug_f32x4_of(-INFINITY);
    vug_f32x4 a = none, b = none, c = none, d = none;
    for (int i = 0; i < VUG_LOGITS_BLOCK; i += 16) {
        const vug_f32x4 p = vug_f32x4_load(x + i), q = vug_f32x4_load(x + i + 4);
        const vug_f32x4 r = vug_f32x4_load(x + i + 8), s = vug_f32x4_load(x + i + 12);
        a = vug_f32x4_choose(p > a, p, a);
        b = vug_f32x4_choose(q > b, q, b);
        c = vug_f32x4_choose(r > c, r, c);
        d = vug_f32x4_choose(s > d, s, d);
    }
    a = vug_f32x4_choose(a > b, a, b);
    c = vug_f32x4_choose(c > d, c, d);
    a = vug_f32x4_choose(a > c, a, c);
    const float left = a[0] > a[1] ? a[0] : a[1], right = a[2] > a[3] ? a[2] : a[3];
    return left > right ? left : right;
}

/* ---- start ----------------------------------------------------------------------- */

/* Finds the best logit of each block and the best of all in `first`. */
static void scan_blocks(vug_candidates *c)
{
    float buffer[VUG_LOGITS_BLOCK];
    size_t best = 0;
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        c->block_best[b] = best_of_block(vug_candidates_block(c, b, buffer));
        if (c->block_best[b] > c->block_best[best])
            best = b;
    }
    const float *x = vug_candidates_block(c, best, buffer);
    c->first = (vug_candidate){ (int32_t)(best * VUG_LOGITS_BLOCK), c->block_best[best] };
    for (int j = 0; j < VUG_LOGITS_BLOCK; j++) {
        if (x[j] == c->first.logit) {
            c->first.id += j;
            break;
        }
    }
}

static bool has_bit(const uint32_t *bits, int32_t id)
{
    return bits[id / 32] >> (id % 32) & 1;
}

/* Makes a list of the known logits, which are finite. */
static bool list_known(vug_candidates *c)
{
    const vug_logits_view *v = &c->view;
    size_t n = 0;
    for (size_t i = 0; i < v->n_known; i++) {
        const int32_t id = v->known[i];
        if (id >= v->n || (v->allowed && !has_bit(v->allowed, id)))
            continue;
        const bool changed = v->is_changed && has_bit(v->is_changed, id);
        const float logit = changed ? v->changed[id] : v->logits[id];
        if (logit >= -FLT_MAX)
            c->list[n++] = (vug_candidate){ id, logit };
    }
    if (n == 0)
        return false;
    vug_candidates_sort(c->list, n);
    c->first = c->list[0];
    c->n_list = n;
    c->is_list = true;
    return true;
}

bool vug_candidates_start(vug_candidates *c, const vug_logits_view *view)
{
    c->view = *view;
    c->temperature = 1;
    c->is_cut = c->is_list = c->only_infinite = false;
    c->last = (vug_candidate){ INT32_MAX, -FLT_MAX };
    if (view->known)
        return list_known(c);
    scan_blocks(c);
    if (c->first.logit > FLT_MAX) {
        c->only_infinite = true;
        scan_blocks(c);
    }
    return c->first.logit >= -FLT_MAX;
}

/* ---- lists ------------------------------------------------------------------------ */

/* A heap with the last candidate of the ranking at its root. */
static void sift_down(vug_candidate *list, size_t n, size_t at)
{
    const vug_candidate item = list[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && vug_candidate_is_before(&list[child], &list[child + 1]))
            child++;
        if (!vug_candidate_is_before(&item, &list[child]))
            break;
        list[at] = list[child];
        at = child;
    }
    list[at] = item;
}

static void make_heap(vug_candidate *list, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(list, n, i);
}

/* Orders a heap. */
static void sort_heap(vug_candidate *list, size_t n)
{
    while (n > 1) {
        const vug_candidate last = list[0];
        list[0] = list[--n];
        list[n] = last;
        sift_down(list, n, 0);
    }
}

void vug_candidates_sort(vug_candidate *list, size_t n)
{
    make_heap(list, n);
    sort_heap(list, n);
}

void vug_candidates_shorten(vug_candidates *c)
{
    float buffer[VUG_LOGITS_BLOCK];
    size_t n = 0;
    if (c->is_list)
        return;
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!vug_candidates_has_block(c, b))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            if (!(x[j] >= c->last.logit))
                continue;
            if (n == VUG_SHORT_CANDIDATES)
                return;
            c->list[n++] = (vug_candidate){ (int32_t)(b * VUG_LOGITS_BLOCK) + j, x[j] };
        }
    }
    vug_candidates_sort(c->list, n);
    c->n_list = n;
    c->is_list = true;
}

/* A heap [k] of the best of all that are offered; before it is full, it is in no order. */
static void offer(vug_candidate *heap, size_t *n, size_t k, vug_candidate one)
{
    if (*n == k) {
        if (!vug_candidate_is_before(&one, &heap[0]))
            return;
        heap[0] = one;
        sift_down(heap, k, 0);
        return;
    }
    heap[(*n)++] = one;
    if (*n == k)
        make_heap(heap, k);
}

/* A logit that the best k candidates reach: that of the k-th best block. */
static float limit_of_best(vug_candidates *c, size_t k)
{
    size_t n = 0;
    for (size_t b = 0; b < vug_candidates_blocks(c); b++)
        offer(c->list, &n, k, (vug_candidate){ (int32_t)b, c->block_best[b] });
    return n == k && c->list[0].logit > c->last.logit ? c->list[0].logit : c->last.logit;
}

void vug_candidates_best(vug_candidates *c, size_t k)
{
    float buffer[VUG_LOGITS_BLOCK];
    size_t n = 0;
    /* After a cut at the upper end, blocks may not have their best logits any more. */
    float limit = c->is_cut ? c->last.logit : limit_of_best(c, k);
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!(c->block_best[b] >= limit))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            if (x[j] >= limit)
                offer(c->list, &n, k, (vug_candidate){ (int32_t)(b * VUG_LOGITS_BLOCK) + j, x[j] });
        }
        if (n == k && c->list[0].logit > limit)
            limit = c->list[0].logit;
    }
    vug_candidates_sort(c->list, n);
    c->n_list = n;
    c->is_list = true;
}

/* ---- cutting ----------------------------------------------------------------------- */

void vug_candidates_keep_part(vug_candidates *c, size_t from, size_t to)
{
    memmove(c->list, c->list + from, (to - from) * sizeof(*c->list));
    c->n_list = to - from;
    c->first = c->list[0];
}

void vug_candidates_keep_interval(vug_candidates *c, vug_candidate first, vug_candidate last)
{
    c->first = first;
    c->last = last;
    c->is_cut = true;
    vug_candidates_shorten(c);
}
