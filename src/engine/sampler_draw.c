/* The draw: the greatest sum of logit / temperature and Gumbel variable (Gumbel 1954), which is a
 * sample of the softmax. Almost all Gumbel variables are never computed. */
#include <math.h>

#include "core/portable_math.h"
#include "core/random.h"
#include "engine/candidates.h"

#define LOG2_E 0x1.71547652b82fep+0

/* ---- noise --------------------------------------------------------------------------- */

/* The first 16 of the 64 bits are a part of a hash that four neighbouring ids share, the others are
 * a hash of their own. So one hash can show for four ids that they will not win. */
typedef struct {
    uint64_t first, rest;
} noise_keys;

static noise_keys keys_of(const vug_noise *noise, vug_noise_domain domain)
{
    const uint64_t key = vug_splitmix64_at(noise->seed, (uint64_t)domain);
    const uint64_t at = vug_splitmix64_at(key, noise->position + 1);
    return (noise_keys){ vug_splitmix64_at(at, 1), vug_splitmix64_at(at, 2) };
}

static uint64_t first_bits_of_four(const noise_keys *keys, int32_t quad)
{
    return vug_splitmix64_at(keys->first, (uint64_t)quad);
}

static uint32_t first_bits(const noise_keys *keys, int32_t id)
{
    return (uint32_t)(first_bits_of_four(keys, id / 4) >> id % 4 * 16) & 0xffff;
}

static uint64_t all_bits(const noise_keys *keys, int32_t id)
{
    const uint64_t rest = vug_splitmix64_at(keys->rest, (uint64_t)id) >> 16;
    return (uint64_t)first_bits(keys, id) << 48 | rest;
}

uint64_t vug_noise_bits(const vug_noise *noise, vug_noise_domain domain, int32_t id)
{
    const noise_keys keys = keys_of(noise, domain);
    return all_bits(&keys, id);
}

/* -log(1 - x) is log1p of a small x, which decides the large variables, by the series of
 * log((1 + s) / (1 - s)) with s = x / (2 - x) <= 1/7; otherwise 1 - x is exact. */
double vug_noise_gumbel(uint64_t bits)
{
    double exponential;
    if (bits < UINT64_C(1) << 62) {
        const double x = ((double)bits + 0.5) * 0x1p-64;
        const double s = x / (2 - x), z = s * s;
        double sum = 0;
        for (int k = 19; k >= 3; k -= 2)
            sum = (sum + 1.0 / k) * z;
        exponential = 2 * s + 2 * s * sum;
    } else {
        exponential = -vug_portable_log(((double)~bits + 0.5) * 0x1p-64);
    }
    return -vug_portable_log(exponential);
}

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
    const noise_keys keys = keys_of(noise, VUG_NOISE_DRAW);
    uint64_t least = UINT64_C(0x7fff) << 48;
    for (int32_t quad = 0; quad < (n + 3) / 4; quad++) {
        if (!may_be_small(first_bits_of_four(&keys, quad), (int32_t)(least >> 48)))
            continue;
        for (int32_t id = 4 * quad; id < 4 * quad + 4 && id < n; id++) {
            const uint64_t bits = all_bits(&keys, id);
            least = bits < least ? bits : least;
        }
    }
    return vug_noise_gumbel(least);
}

/* ---- draw ------------------------------------------------------------------------------ */

typedef struct {
    const vug_candidates *c;
    noise_keys keys;
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
    if ((int32_t)first_bits(&d->keys, one->id) > winning_bits(d, one->logit))
        return;
    const double score =
            scaled_logit(d, one->logit) + vug_noise_gumbel(all_bits(&d->keys, one->id));
    if (score > d->score || (score == d->score && one->id < d->id)) {
        d->score = score;
        d->id = one->id;
    }
}

/* Whether the first bits of an id of the block may be at most `limit`, which is below 0x8000. */
static bool may_win(const noise_keys *keys, size_t block, int32_t limit)
{
    const int32_t first = (int32_t)block * (VUG_LOGITS_BLOCK / 4);
    uint64_t found = 0;
    for (int32_t i = 0; i < VUG_LOGITS_BLOCK / 4; i++)
        found |= may_be_small(first_bits_of_four(keys, first + i), limit);
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
                      .keys = keys_of(noise, VUG_NOISE_DRAW),
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
