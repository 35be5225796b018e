#ifndef VUG_BACKEND_CUDA_TOKEN_DRAW_H
#define VUG_BACKEND_CUDA_TOKEN_DRAW_H

/*
 * Draws of tokens from the logits of a row by one block (vug_draw), with the bits of the engine's sampler
 * (engine/sampler_draw.c, engine/token_mass.h): docs/sampling.md defines them.
 */

#include "backend/cuda/device_code.h"
#include "backend/cuda/step_kernels.h"

enum {
    DRAW_THREADS = 1024, /* of the block */
    DRAW_WARPS = DRAW_THREADS / WARP,
};

static_assert((int)VUG_MOST_FOUND == (int)DRAW_THREADS, "a thread has one token of a list");

static constexpr double LOG2_E = 0x1.71547652b82fep+0;

/* What a draw computes with. */
struct row_draw {
    vug_noise_keys keys;
    double inverse_temperature;
    float best; /* the greatest logit */
};

struct scored_token {
    double score;
    vug_candidate token;
};

static __device__ row_draw draw_of(const vug_draw &draw, float best)
{
    return { vug_noise_keys_of(&draw.noise, VUG_NOISE_DRAW), 1 / draw.temperature, best };
}

/* Whether an id may be taken. The bits of a warp's 32 ids are in one word. */
static __device__ __forceinline__ bool is_allowed(const uint32_t *allowed, int id)
{
    return !allowed || (allowed[id / 32] >> id % 32 & 1);
}

/* ---- scores ------------------------------------------------------------------------------------- */

/* logit / temperature, relative to the best, and the Gumbel variable. */
static __device__ double score_of(const row_draw &draw, const vug_candidate &one)
{
    return ((double)one.logit - (double)draw.best) * draw.inverse_temperature +
           vug_noise_gumbel(vug_noise_bits_of(&draw.keys, one.id));
}

/* The score of an id, but not relative to the best logit, within 0.009 and 2^-22 of its size. `first` has
 * the first 16 bits of the id's noise.
 *
 * For x = (first + 1/2) / 2^16 the Gumbel variable is off by at most 1 / (2 first) for a small x, and by
 * 1 / (2 (2^16 - first)) for a large one; near both ends all bits count. */
static __device__ __forceinline__ float rough_score(const vug_noise_keys &keys,
                                                    float inverse_temperature, uint32_t first,
                                                    const vug_candidate &one)
{
    enum { END = 64 };
    float gumbel;
    if (first < END || first >= 0x10000 - END)
        gumbel = (float)vug_noise_gumbel(vug_noise_bits_of(&keys, one.id));
    else
        gumbel = -__logf(-__logf(1 - ((float)first + 0.5f) * 0x1p-16f));
    return one.logit * inverse_temperature + gumbel;
}

/* What rough scores may be off by, the greatest one's and the drawn one's together. */
static __device__ float rough_error(float greatest)
{
    return 0.02f + 0x1p-20f * (fabsf(greatest) + 64);
}

/* Calls take(token, rough score) for the allowed ids of begin .. end - 1, of which `begin` is a multiple of
 * 4. All lanes of a warp take part. */
template <typename F>
static __device__ __forceinline__ void score_chunk(const vug_noise_keys &keys,
                                                   float inverse_temperature, const float *logits,
                                                   const uint32_t *allowed, int begin, int end,
                                                   F take)
{
    const int lane = threadIdx.x % WARP;
    for (int at = begin; at < end; at += 4 * WARP) {
        const uint64_t four = vug_noise_first_bits_of_four(&keys, at / 4 + lane);
        const uint32_t low = (uint32_t)four, high = (uint32_t)(four >> 32);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int from = 8 * i + lane / 4;
            const uint32_t low_half = __shfl_sync(0xffffffffu, low, from);
            const uint32_t high_half = __shfl_sync(0xffffffffu, high, from);
            const uint32_t half = lane % 4 < 2 ? low_half : high_half;
            const int id = at + WARP * i + lane;
            if (id >= end || !is_allowed(allowed, id))
                continue;
            const vug_candidate one = { id, logits[id] };
            take(one, rough_score(keys, inverse_temperature, half >> lane % 2 * 16 & 0xffff, one));
        }
    }
}

/* ---- the best of a block -------------------------------------------------------------------------- */

static __device__ bool is_better(const scored_token &a, const scored_token &b)
{
    return a.score > b.score || (a.score == b.score && a.token.id < b.token.id);
}

static __device__ scored_token warp_best(scored_token best)
{
    for (int d = WARP / 2; d > 0; d /= 2) {
        const scored_token other = { __shfl_xor_sync(0xffffffffu, best.score, d),
                                     { __shfl_xor_sync(0xffffffffu, best.token.id, d),
                                       __shfl_xor_sync(0xffffffffu, best.token.logit, d) } };
        if (is_better(other, best))
            best = other;
    }
    return best;
}

/* The best of all threads, in the first one. */
static __device__ vug_candidate block_best(const scored_token &own)
{
    __shared__ scored_token of_warp[DRAW_WARPS];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const scored_token best = warp_best(own);
    if (lane == 0)
        of_warp[warp] = best;
    __syncthreads();
    return warp == 0 ? warp_best(of_warp[lane]).token : best.token;
}

static constexpr scored_token NO_TOKEN = { -INFINITY, { INT_MAX, 0 } };

/* ---- masses ---------------------------------------------------------------------------------------- */

/* Octaves per difference of logits. */
static __device__ float mass_scale(const vug_draw &draw)
{
    const double scale = LOG2_E / draw.temperature;
    return scale < 0x1p100 ? (float)scale : 0x1p100f;
}

/* The mass of a logit, as vug_mass_octaves and vug_mass_of_octaves compute it with vectors of GNU C. */
static __device__ uint64_t mass_of(float logit, float best, float scale)
{
    const float octaves = (logit - best) * scale, y = octaves > -42.0f ? octaves : -42.0f;
    const float shifted = y + 0x1.8p23f;
    const float f = y - (shifted - 0x1.8p23f);
    float p = 0x1.5bba14p-10f * f + 0x1.3cea88p-7f;
    p = p * f + 0x1.c6b752p-5f;
    p = p * f + 0x1.ebf9bcp-3f;
    p = p * f + 0x1.62e42ap-1f;
    p = p * f + 1.0f;
    const float power = __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
    const double rounded = (double)power + 0x1.8p12;
    return (uint64_t)__double_as_longlong(rounded) - UINT64_C(0x40b8000000000000);
}

/* The sum over the threads of a block, the same in each. */
static __device__ uint64_t block_sum(uint64_t x)
{
    __shared__ uint64_t of_warp[DRAW_WARPS];
    for (int d = WARP / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    __syncthreads();
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = x;
    __syncthreads();
    x = of_warp[threadIdx.x % WARP];
    for (int d = WARP / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* The sum over this thread and those before it in the block. */
static __device__ uint64_t sum_before(uint64_t x)
{
    __shared__ uint64_t of_warp[DRAW_WARPS];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int d = 1; d < WARP; d *= 2) {
        const uint64_t before = __shfl_up_sync(0xffffffffu, x, d);
        x += lane >= d ? before : 0;
    }
    __syncthreads();
    if (lane == WARP - 1)
        of_warp[warp] = x;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        x += of_warp[i];
    return x;
}

/* ---- draws from lists -------------------------------------------------------------------------------- */

/* Sorts list [n], n <= DRAW_THREADS in shared memory, from the best token on, the lower id first among
 * equals. Each thread gets the token at its place. */
static __device__ vug_candidate sort_list(vug_candidate *list, int n)
{
    const int i = threadIdx.x;
    vug_candidate own = { INT_MAX, -FLT_MAX };
    int place = i;
    if (i < n) {
        own = list[i];
        place = 0;
        for (int j = 0; j < n; j++)
            place += list[j].logit > own.logit ||
                     (list[j].logit == own.logit && list[j].id < own.id);
    }
    __syncthreads();
    list[place] = own;
    __syncthreads();
    return list[i];
}

/* Draws from a list of a row's best tokens in shared memory. The first thread gets the token. False in all
 * threads: the list has too few. */
static __device__ bool draw_from_list(const vug_cuda_wanted &wanted, const float *logits,
                                      vug_candidate *list, int n, vug_candidate *token)
{
    const vug_draw &draw = wanted.draw;
    const vug_candidate own = sort_list(list, n);
    const int i = threadIdx.x;
    const float best = list[0].logit;
    int kept = draw.top_k > 0 && draw.top_k < n ? (int)draw.top_k : n;
    if (draw.top_p < 1) {
        const float scale = mass_scale(draw);
        const uint64_t upto = sum_before(i < kept ? mass_of(own.logit, best, scale) : 0);
        uint64_t listed = i < kept ? mass_of(own.logit, best, scale) : 0;
        if (draw.top_k == 0) {
            listed = 0;
            for (int id = i; id < wanted.n_ids; id += DRAW_THREADS)
                listed += is_allowed(wanted.allowed, id) ? mass_of(logits[id], best, scale) : 0;
        }
        const double needed = draw.top_p * (double)block_sum(listed);
        const int fewer = __syncthreads_count(i < kept && (double)upto < needed);
        if (fewer == kept)
            return false;
        kept = fewer + 1;
    }
    if (draw.min_p > 0) {
        const double limit = (double)best + vug_portable_log(draw.min_p) * draw.temperature;
        const int likely = __syncthreads_count(i < kept && (double)own.logit >= limit);
        kept = likely > 0 ? likely : 1;
    }
    const row_draw d = draw_of(draw, best);
    *token = block_best(i < kept ? scored_token{ score_of(d, own), own } : NO_TOKEN);
    return true;
}

#endif
