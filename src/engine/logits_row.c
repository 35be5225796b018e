#include "engine/logits_row.h"

#include <math.h>

vug_status vug_logits_row_init(vug_logits_row *row, size_t n_vocab, vug_err *err)
{
    *row = (vug_logits_row){ .n_vocab = n_vocab };
    row->logit = vug_alloc(n_vocab, sizeof(*row->logit));
    row->known = vug_alloc(VUG_MOST_FOUND, sizeof(*row->known));
    row->top = vug_alloc(VUG_MOST_FOUND, sizeof(*row->top));
    if (row->logit && row->known && row->top)
        return VUG_OK;
    vug_logits_row_release(row);
    return VUG_FAIL_NOMEM(err, "a row of logits", n_vocab * sizeof(*row->logit));
}

void vug_logits_row_release(vug_logits_row *row)
{
    vug_free(row->logit);
    vug_free(row->known);
    vug_free(row->top);
    *row = (vug_logits_row){ 0 };
}

/* Makes all logits unwanted. */
static void clear(vug_logits_row *row)
{
    for (size_t i = 0; row->n_known == 0 && i < row->n_vocab; i++)
        row->logit[i] = VUG_LOGIT_UNWANTED;
    for (size_t i = 0; i < row->n_known; i++)
        row->logit[row->known[i]] = VUG_LOGIT_UNWANTED;
}

void vug_logits_row_set(vug_logits_row *row, const vug_logits_source *from)
{
    const vug_found_logits *found = &from->found;
    row->n_top = 0;
    if (found->n == 0) {
        row->n_known = 0;
        memcpy(row->logit, from->all, row->n_vocab * sizeof(*row->logit));
        return;
    }
    clear(row);
    row->n_known = found->n;
    for (size_t i = 0; i < found->n; i++) {
        row->known[i] = found->logit[i].id;
        row->logit[found->logit[i].id] = found->logit[i].logit;
    }
    row->n_top = found->n_top;
    row->mass = found->mass;
    for (size_t i = 0; i < found->n_top; i++)
        row->top[i] = found->top[i];
}

static int32_t best_of_known(const vug_logits_row *row)
{
    int32_t best = row->known[0];
    for (size_t i = 1; i < row->n_known; i++) {
        const int32_t id = row->known[i];
        if (row->logit[id] > row->logit[best] || (row->logit[id] == row->logit[best] && id < best))
            best = id;
    }
    return best;
}

/* A GPU decodes in less time than a plain loop takes over the largest vocabularies: the maxima of
 * blocks are taken side by side. */
static int32_t best_of_all(const float *logit, size_t n)
{
    enum { LANES = 16, BLOCK = 1024 };
    float best = -INFINITY;
    size_t first = 0;
    for (size_t b = 0; b + BLOCK <= n; b += BLOCK) {
        float most[LANES], block = -INFINITY;
        memcpy(most, logit + b, sizeof(most));
        for (size_t i = LANES; i < BLOCK; i += LANES) {
            for (size_t j = 0; j < LANES; j++)
                most[j] = logit[b + i + j] > most[j] ? logit[b + i + j] : most[j];
        }
        for (size_t j = 0; j < LANES; j++)
            block = most[j] > block ? most[j] : block;
        first = block > best ? b : first;
        best = block > best ? block : best;
    }
    size_t token = first;
    for (size_t i = first; i < first + BLOCK && i < n; i++)
        token = logit[i] > logit[token] ? i : token;
    for (size_t i = n / BLOCK * BLOCK; i < n; i++)
        token = logit[i] > logit[token] ? i : token;
    return (int32_t)token;
}

int32_t vug_logits_source_best(const vug_logits_source *from, size_t n)
{
    const vug_found_logits *found = &from->found;
    if (found->n == 0)
        return best_of_all(from->all, n);
    vug_candidate best = found->logit[0];
    for (size_t i = 1; i < found->n; i++) {
        const vug_candidate *x = &found->logit[i];
        if (x->logit > best.logit || (x->logit == best.logit && x->id < best.id))
            best = *x;
    }
    return best.id;
}

int32_t vug_logits_row_best(const vug_logits_row *row)
{
    return row->n_known > 0 ? best_of_known(row) : best_of_all(row->logit, row->n_vocab);
}
