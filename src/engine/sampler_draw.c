/* The draw: the greatest sum of logit / temperature and Gumbel variable (Gumbel 1954), which is a
 * sample of the softmax. Almost all Gumbel variables are never computed. */
#include <math.h>

#include "engine/candidates.h"

#define LOG2_E 0x1.71547652b82fep+0

/* ---- small first bits ------------------------------------------------------------------- */

/* Whether one of the four numbers of 16 bits may be at most `limit`, which is below 0x8000.
 * Subtracting limit + 1 sets the top bit of a smaller one, or of one above it. */
static uint64_t may_be_small(uint64_t four, int32_t limit)
{
    const uint64_t ones = UINT64_C(0x0001000100010001);
    return (four - ones * (uint64_t)(limit + 1)) & ~four & ones << 15;
}

double vug_noise_greatest_gumbel(const vug_noise *noise, int64_t n)
{
    const vug_noise_keys keys = vug_noise_keys_of(noise, VUG_NOISE_DRAW);
    uint64_t least = UINT64_C(0x7fff) << 48;
    for (int32_t quad = 0; quad < (n + 3) / 4; quad++) {
        if (!may_be_small(vug_noise_first_bits_of_four(&keys, quad), (int32_t)(least >> 48)))
            continue;
        for (int32_t id = 4 * quad; id < 4 * quad + 4 && id < n; id++) {
            const uint64_t bits = vug_noise_bits_of(&keys, id);
            least = bits < least ? bits : least;
        }
    }
    return vug_noise_gumbel(least);
}

/* ---- draw ------------------------------------------------------------------------------ */

typedef struct {
    const vug_candidates *c;
    vug_noise_keys keys;
    double inverse_temperature;
    double score; /* of `id`, the best so far */
    int32_t id;
} gumbel_draw;

/* logit / temperature, relative to the best. */
static double scaled_logit(const gumbel_draw *d, float logit)
{
    return ((double)logit - (double)d->c->first.logit) * d->inverse_temperature;
}

/* The greatest first 16 bits with which an id of at most this logit can win; -1: none can.
 *
 * A Gumbel variable is at most -log x. So x must be at most 2^y with y = (scaled logit - score)
 * log2(e). Between integers 2^y is less than its chord; the margin covers rounding. */
static int32_t winning_bits(const gumbel_draw *d, float logit)
{
    const double y = (scaled_logit(d, logit) - d->score) * LOG2_E + 0x1p-30;
    if (y >= -1)
        return 0xffff;
    if (!(y >= -65))
        return -1;
    const int32_t n = (int32_t)y - 1; /* below y by at most 1 */
    const double chord = 1 + (y - n);
    return n < -17 ? 0 : (int32_t)(chord * (double)(1 << (n + 17)) * 0.5);
}

static void try_candidate(gumbel_draw *d, const vug_candidate *one)
{
    if ((int32_t)vug_noise_first_bits(&d->keys, one->id) > winning_bits(d, one->logit))
        return;
    const double score =
            scaled_logit(d, one->logit) + vug_noise_gumbel(vug_noise_bits_of(&d->keys, one->id));
    if (score > d->score || (score == d->score && one->id < d->id)) {
        d->score = score;
        d->id = one->id;
    }
}

/* Whether the first bits of an id of the block may be at most `limit`, which is below 0x8000. */
static bool may_win(const vug_noise_keys *keys, size_t block, int32_t limit)
{
    const int32_t first = (int32_t)block * (VUG_LOGITS_BLOCK / 4);
    uint64_t found = 0;
    for (int32_t i = 0; i < VUG_LOGITS_BLOCK / 4; i++)
        found |= may_be_small(vug_noise_first_bits_of_four(keys, first + i), limit);
    return found != 0;
}

static void try_block(gumbel_draw *d, size_t block)
{
    float buffer[VUG_LOGITS_BLOCK];
    const float best = d->c->block_best[block], first = d->c->first.logit;
    const int32_t limit = winning_bits(d, best < first ? best : first);
    if (limit < 0 || (limit < 0x8000 && !may_win(&d->keys, block, limit)))
        return;
    const float *x = vug_candidates_block(d->c, block, buffer);
    for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
        const vug_candidate one = { (int32_t)(block * VUG_LOGITS_BLOCK) + j, x[j] };
        if (one.logit >= d->c->last.logit)
            try_candidate(d, &one);
    }
}

int32_t vug_candidates_draw(const vug_candidates *c, const vug_noise *noise)
{
    gumbel_draw d = { .c = c,
                      .keys = vug_noise_keys_of(noise, VUG_NOISE_DRAW),
                      .inverse_temperature = 1 / c->temperature,
                      .score = -INFINITY };
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        try_candidate(&d, &c->list[i]);
    if (c->is_list)
        return d.id;
    /* The block of the best logit is likely to have a high score. */
    const size_t likely = (size_t)c->first.id / VUG_LOGITS_BLOCK;
    try_block(&d, likely);
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (b != likely && vug_candidates_has_block(c, b))
            try_block(&d, b);
    }
    return d.id;
}
