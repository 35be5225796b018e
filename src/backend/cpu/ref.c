/*
 * What the operations compute, to the bit. Where an operation has a choice (the order of a
 * sum, what is fused, how exp is approximated) this file makes it, and every kernel follows.
 */
#include <math.h>
#include <string.h>

#include "backend/cpu/ref.h"

#include "backend/cpu/cpu.h"
#include "quant/matrix.h"

/* ---- functions of one number ---------------------------------------------- */

static float power_of_two(int32_t n)
{
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/*
 * exp(x) = 2^n exp(r), r = x - n ln 2, |r| <= ln(2)/2. exp(r) = 1 + r + r^2 p(r),
 * p of degree 4 by the Remez exchange for the least relative error (3.1e-9).
 *
 * Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits. 2^n is applied as two
 * factors, so that results can be subnormal.
 */
float vug_ref_exp(float x)
{
    x = -104.0f > x ? -104.0f : x;
    x = 89.0f < x ? 89.0f : x;
    const float shifted = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f);
    const float n = shifted - 0x1.8p+23f;
    float r = fmaf(n, -0x1.62e43p-1f, x);
    r = fmaf(n, 0x1.05c61p-29f, r);

    float p = 0x1.6a23c8p-10f;
    p = fmaf(p, r, 0x1.123a2p-7f);
    p = fmaf(p, r, 0x1.5558f2p-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    p = fmaf(p, r, 0x1.fffffcp-2f);
    p = fmaf(p, r * r, r) + 1.0f;

    if (isnan(x))
        return x;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof(bits));
    const int32_t power = bits - 0x4b400000;
    const int32_t half = power >> 1;
    return p * power_of_two(half) * power_of_two(power - half);
}

/*
 * Below 0.625 an odd polynomial, x + x^3 q(x^2), q of degree 4 by the Remez exchange (relative
 * error 4.4e-9). Above, 1 - 2 / (exp(2|x|) + 1), which is accurate there.
 */
float vug_ref_tanh(float x)
{
    const float a = fabsf(x), z = x * x;
    float q = -0x1.75e1bp-8f;
    q = fmaf(q, z, 0x1.522694p-6f);
    q = fmaf(q, z, -0x1.b83c58p-5f);
    q = fmaf(q, z, 0x1.110726p-3f);
    q = fmaf(q, z, -0x1.555532p-2f);
    const float small = fmaf(q * z, x, x);
    const float large = 1.0f - 2.0f / (vug_ref_exp(2.0f * a) + 1.0f);
    return a < 0.625f ? small : copysignf(large, x);
}

/* The constants are -2 sqrt(2/pi) and 0.044715 times that. */
float vug_ref_gelu(float x)
{
    const float v = x * fmaf(x * x, -0.0713548162726f, -1.5957691216057f);
    return x / (1.0f + vug_ref_exp(v));
}

float vug_ref_silu(float x)
{
    return x / (1.0f + vug_ref_exp(-x));
}

/* ---- sums ----------------------------------------------------------------- */

float vug_ref_sum_lanes(const float *s)
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* ---- linear --------------------------------------------------------------- */

float vug_ref_decode_element(vug_dtype dtype, const uint8_t *row, int64_t i)
{
    float x;
    vug_codec_of(dtype)->decode(row + i * vug_dtype_of(dtype)->bytes, &x, 1);
    return x;
}

/* One output of one row: a sum over blocks, lanes of a block and elements of a lane. */
static float sum_of_products(const float *x, vug_dtype dtype, const uint8_t *w, int64_t n)
{
    const int64_t kc = vug_cpu_kc(n);
    float sum = 0;
    for (int64_t k = 0; k < n; k += kc) {
        const int64_t end = k + kc < n ? k + kc : n;
        for (int64_t j = k; j < k + VUG_CPU_LANES && j < end; j++) {
            float s = 0;
            for (int64_t i = j; i < end; i += VUG_CPU_LANES)
                s = fmaf(x[i], vug_ref_decode_element(dtype, w, i), s);
            sum = j == 0 ? s : sum + s;
        }
    }
    return sum;
}

void vug_ref_quantize_block(const float *x, int8_t *q, float *scale, int16_t *sum)
{
    float max = 0;
    for (int i = 0; i < VUG_CPU_Q8_BLOCK; i++)
        max = fabsf(x[i]) > max ? fabsf(x[i]) : max;
    const float r = max > 0 ? 127 / max : 0;
    *scale = max / 127;
    sum[0] = sum[1] = 0;
    for (int i = 0; i < VUG_CPU_Q8_BLOCK; i++) {
        const float near = rintf(x[i] * r);
        q[i] = (int8_t)(isnan(near) ? 0 : near > 127 ? 127 : near < -127 ? -127 : near);
        sum[i / 16] = (int16_t)(sum[i / 16] + q[i]);
    }
}

/* Adds the product of block `i` of a row of weights and of x to its lane. */
static float add_block_product(const float *x, const vug_matrix *w, int64_t row, int64_t i,
                               float lane)
{
    vug_block block;
    int8_t q[VUG_CPU_Q8_BLOCK];
    float scale;
    int16_t sum[2];
    vug_matrix_block(w, row, i, &block);
    vug_ref_quantize_block(x + i * VUG_CPU_Q8_BLOCK, q, &scale, sum);
    int32_t products = 0, minimums = 0;
    for (int s = 0; s < 2; s++) {
        int32_t half = 0;
        for (int e = 16 * s; e < 16 * s + 16; e++)
            half += block.q[e] * q[e];
        products += block.factor[s] * half;
        minimums += block.minimum[s] * sum[s];
    }
    const float t = fmaf(block.scale, (float)products, block.offset * (float)minimums);
    return fmaf(scale, t, lane);
}

static float sum_of_blocks(const float *x, const vug_matrix *w, int64_t row)
{
    const int64_t blocks = w->columns / VUG_CPU_Q8_BLOCK;
    float lane[VUG_CPU_LANES] = { 0 };
    for (int64_t i = 0; i < blocks; i++)
        lane[i % VUG_CPU_LANES] = add_block_product(x, w, row, i, lane[i % VUG_CPU_LANES]);
    float sum = 0;
    for (int64_t j = 0; j < VUG_CPU_LANES; j++)
        sum += lane[j];
    return sum;
}

void vug_ref_linear(const float *x, int64_t rows, const vug_matrix *w, int64_t out, float *y)
{
    const bool blocks = vug_codec_of(w->dtype)->block != NULL;
    const int64_t in = w->columns, row_bytes = in * vug_dtype_of(w->dtype)->bytes;
    for (int64_t t = 0; t < rows; t++) {
        for (int64_t o = 0; o < out; o++)
            y[t * out + o] =
                    blocks ? sum_of_blocks(x + t * in, w, o)
                           : sum_of_products(x + t * in, w->dtype, w->data + o * row_bytes, in);
    }
}

/* ---- norm and rope -------------------------------------------------------- */

static float inverse_rms(const float *x, float eps, int64_t n)
{
    float lane[VUG_CPU_LANES] = { 0 };
    for (int64_t i = 0; i < n; i++)
        lane[i % VUG_CPU_LANES] = fmaf(x[i], x[i], lane[i % VUG_CPU_LANES]);
    return 1.0f / sqrtf(vug_ref_sum_lanes(lane) / (float)n + eps);
}

void vug_ref_rms_norm(const float *x, const float *w, float eps, float *out, int64_t n)
{
    const float r = inverse_rms(x, eps, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] * r) * w[i];
}

void vug_ref_unit_norm(const float *x, float eps, float *out, int64_t n)
{
    const float r = inverse_rms(x, eps, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * r;
}

/* The angle is rounded to F32, as in the reference models; its cosine and sine are computed in
 * double and rounded once. */
void vug_ref_rope_table(const vug_attr_table *at, int32_t position, float *out)
{
    const int64_t h = at->dims / 2;
    for (int64_t i = 0; i < h; i++) {
        const float angle = (float)position * at->inv[i];
        out[i] = (float)cos((double)angle) * at->factor;
        out[i + h] = (float)sin((double)angle) * at->factor;
    }
}

void vug_ref_deinterleave(const float *x, float *out, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        out[i] = x[2 * i];
        out[i + n / 2] = x[2 * i + 1];
    }
}

void vug_ref_rope(const float *x, const float *table, int64_t dims, float *out, int64_t n)
{
    const int64_t h = dims / 2;
    for (int64_t i = 0; i < h; i++) {
        const float c = table[i], s = table[i + h];
        out[i] = fmaf(x[i], c, -(x[i + h] * s));
        out[i + h] = fmaf(x[i + h], c, x[i] * s);
    }
    for (int64_t i = dims; i < n; i++)
        out[i] = x[i];
}

/* ---- experts --------------------------------------------------------------- */

/* The sort key of a logit. */
static float rank_of(float logit)
{
    return isnan(logit) ? -INFINITY : logit;
}

/* An insertion sort that keeps the best `count`. It sorts logits, because different logits can
 * have equal probabilities after rounding. The softmax is relative to the best logit. The sum
 * over all experts is taken in the order of indices, the sum over the chosen ones from the
 * best on. */
void vug_ref_router(const float *logits, int64_t n, const vug_attr_router *at, float *out)
{
    float *weight = out + at->count, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i < at->count ? i : at->count;
        for (; j > 0 && rank_of(logits[i]) > rank_of(logits[(int64_t)out[j - 1]]); j--) {
            if (j < at->count)
                out[j] = out[j - 1];
        }
        if (j < at->count)
            out[j] = (float)i;
    }
    const float best = logits[(int64_t)out[0]];
    for (int64_t j = 0; j < at->count; j++) {
        weight[j] = vug_ref_exp(logits[(int64_t)out[j]] - best);
        sum += at->renormalise ? weight[j] : 0;
    }
    for (int64_t i = 0; !at->renormalise && i < n; i++)
        sum += vug_ref_exp(logits[i] - best);
    for (int64_t j = 0; j < at->count; j++)
        weight[j] /= sum;
}

void vug_ref_route_scale(const float *route, const float *w, int64_t k, float *out)
{
    for (int64_t j = 0; j < k; j++) {
        out[j] = route[j];
        out[k + j] = route[k + j] * w[(int64_t)route[j]];
    }
}

static float activate(vug_op op, float x)
{
    return op == VUG_OP_SILU ? vug_ref_silu(x) : vug_ref_gelu(x);
}

void vug_ref_experts(const float *x, const float *route, int64_t k,
                     const vug_ref_expert_weights *experts, float *scratch, float *out)
{
    for (int64_t j = 0; j < k; j++) {
        const int64_t e = (int64_t)route[j];
        const int64_t width = experts->gate[e].columns, hidden = experts->down[e].columns;
        float *gate = scratch, *up = gate + hidden, *y = up + hidden;
        vug_ref_linear(x, 1, &experts->gate[e], hidden, gate);
        vug_ref_linear(x, 1, &experts->up[e], hidden, up);
        for (int64_t i = 0; i < hidden; i++)
            gate[i] = activate(experts->activation, gate[i]) * up[i];
        vug_ref_linear(gate, 1, &experts->down[e], width, y);
        for (int64_t i = 0; i < width; i++)
            out[i] = j == 0 ? y[i] * route[k] : fmaf(y[i], route[k + j], out[i]);
    }
}

/* ---- operations by row ------------------------------------------------------- */

static float *out_row(const vug_cpu_row_job *job, int64_t row)
{
    return job->out + row * job->width;
}

static const float *in_row(const vug_cpu_row_job *job, int64_t row)
{
    return job->in[0] + row * job->width;
}

void vug_cpu_row_rope_table(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    (void)kernels;
    vug_ref_rope_table(&job->node->at.table, job->index[row], out_row(job, row));
}

void vug_cpu_row_deinterleave(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job,
                              int64_t row)
{
    (void)kernels;
    vug_ref_deinterleave(in_row(job, row), out_row(job, row), job->width);
}

void vug_cpu_row_gather(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    (void)kernels;
    memcpy(out_row(job, row), in_row(job, job->index[row]), (size_t)job->width * sizeof(float));
}

void vug_cpu_row_router(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    (void)kernels;
    const int64_t experts = job->in_shape[0]->dim[1];
    vug_ref_router(job->in[0] + row * experts, experts, &job->node->at.router, out_row(job, row));
}

void vug_cpu_row_route_scale(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job,
                             int64_t row)
{
    (void)kernels;
    vug_ref_route_scale(in_row(job, row), job->w, job->width / 2, out_row(job, row));
}

void vug_cpu_row_head(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    (void)kernels;
    const int64_t heads = job->in_shape[0]->dim[1];
    memcpy(out_row(job, row), in_row(job, row * heads + job->node->at.head.index),
           (size_t)job->width * sizeof(float));
}
