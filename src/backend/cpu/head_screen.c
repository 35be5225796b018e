/* The copy of a head in Q4_0, and the bound for what it changes. */
#include "backend/cpu/head_screen.h"

#include <math.h>

#include "quant/matrix.h"

enum {
    BLOCK = 32,
    LANES = 8,
    BLOCK_BYTES = 18, /* a scale in F16, then 16 bytes with two weights each */
    ROWS_PER_CHUNK = 64,
};

/* ---- which heads ------------------------------------------------------------ */

/* Formats in which every weight is a number times a scale, so that the error of a product is
 * relative to the norms of its operands; and twice as large as the copy, or nearly. */
static bool has_format(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16 ||
           dtype == VUG_DTYPE_Q8_0 || dtype == VUG_DTYPE_Q6_K;
}

bool vug_cpu_head_screen_supports(const vug_cpu_env *env, const vug_weight *head)
{
    const bool is_rounded = head->dtype == VUG_DTYPE_BF16 ? env->activations != VUG_ACTIVATIONS_Q8
                                                          : env->activations == VUG_ACTIVATIONS_F32;
    return has_format(head->dtype) && !head->scales.scale && !is_rounded &&
           head->columns % BLOCK == 0 && head->rows <= INT32_MAX;
}

uint64_t vug_cpu_head_screen_bytes(const vug_weight *head)
{
    const uint64_t row = (uint64_t)head->columns / BLOCK * BLOCK_BYTES + 2 * sizeof(float);
    return (uint64_t)head->rows * row;
}

vug_status vug_cpu_head_screen_create(const vug_weight *head, vug_cpu_head_screen **out,
                                      vug_err *err)
{
    const size_t rows = (size_t)head->rows;
    const size_t row_bytes = (size_t)head->columns / BLOCK * BLOCK_BYTES;
    vug_cpu_head_screen *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the screen of the head", sizeof(*s));
    s->head = (vug_matrix){ head->dtype, head->data, head->columns, head->scales };
    s->rows = head->rows;
    s->data = vug_alloc(rows, row_bytes);
    s->residual = vug_alloc(rows, sizeof(*s->residual));
    s->norm = vug_alloc(rows, sizeof(*s->norm));
    if (!s->data || !s->residual || !s->norm) {
        vug_cpu_head_screen_destroy(s);
        return VUG_FAIL_NOMEM(err, "the screen of the head", vug_cpu_head_screen_bytes(head));
    }
    s->copy = (vug_matrix){ .dtype = VUG_DTYPE_Q4_0, .data = s->data, .columns = head->columns };
    s->next_pause = 1;
    *out = s;
    return VUG_OK;
}

void vug_cpu_head_screen_destroy(vug_cpu_head_screen *s)
{
    if (!s)
        return;
    vug_free(s->data);
    vug_free(s->residual);
    vug_free(s->norm);
    vug_free(s);
}

/* ---- copying rows ----------------------------------------------------------- */

/* The weight of the largest magnitude becomes -8, the end of the range that has one value more. */
static float choose_scale(const float *w)
{
    float most[LANES] = { 0 }, least[LANES] = { 0 };
    for (int i = 0; i < BLOCK; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            most[j] = w[i + j] > most[j] ? w[i + j] : most[j];
            least[j] = w[i + j] < least[j] ? w[i + j] : least[j];
        }
    }
    for (int j = 1; j < LANES; j++) {
        most[0] = most[j] > most[0] ? most[j] : most[0];
        least[0] = least[j] < least[0] ? least[j] : least[0];
    }
    return (most[0] > -least[0] ? most[0] : least[0]) * -0.125f;
}

/* Sums of squares. */
typedef struct {
    double residual, norm;
} square_sums;

/* Stores the weights of a block as integers, 8 being 0. Adding 1.5 * 2^23 rounds a number and leaves
 * the integer in its low bits; what is not finite becomes any integer, and its residual NaN. */
static void round_block(const float *w, float scale, float by, uint8_t *to, float *lacks)
{
    float shifted[BLOCK];
    uint32_t bits[BLOCK];
    int32_t q[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        shifted[i] = w[i] * by + 8 + 0x1.8p23f;
    memcpy(bits, shifted, sizeof(bits));
    for (int i = 0; i < BLOCK; i++) {
        q[i] = (int32_t)(bits[i] - 0x4b400000); /* the bits of 1.5 * 2^23 */
        q[i] = q[i] > 0 ? q[i] : 0;
        q[i] = q[i] < 15 ? q[i] : 15;
        lacks[i] = w[i] - scale * (float)(q[i] - 8);
    }
    for (int i = 0; i < BLOCK / 2; i++)
        to[i] = (uint8_t)(q[i] | q[i + BLOCK / 2] << 4);
}

/* The sum of squares of x [BLOCK] times `by`. */
static float sum_scaled_squares(const float *x, float by)
{
    float sum[LANES] = { 0 };
    for (int i = 0; i < BLOCK; i += LANES) {
        for (int j = 0; j < LANES; j++)
            sum[j] += x[i + j] * by * (x[i + j] * by);
    }
    for (int j = 1; j < LANES; j++)
        sum[0] += sum[j];
    return sum[0];
}

/* Squares are added in units of the scale, in which no weight is beyond 9: none overflows, and what
 * vanishes is below 2^-100. A block whose scale is 0 has weights below 2^-20, no square of which
 * overflows. */
static void copy_block(const float *w, float scale, uint8_t *to, square_sums *sums)
{
    const float by = scale != 0 ? 1 / scale : 0, unit = scale != 0 ? by : 0x1p24f;
    const double square = scale != 0 ? (double)scale * (double)scale : 0x1p-48;
    float lacks[BLOCK];
    round_block(w, scale, by, to, lacks);
    sums->residual += ((double)sum_scaled_squares(lacks, unit) + 0x1p-100) * square;
    sums->norm += ((double)sum_scaled_squares(w, unit) + 0x1p-100) * square;
}

/* The root of a sum of squares, rounded up; infinite if it is NaN. The margin is for the rounding of
 * the sum, of its terms, and of weights that are products of two scales. */
static float root_of(double sum)
{
    const double root = sqrt(sum) * (1 + 0x1p-20);
    return root <= 0x1p100 ? nextafterf((float)root, INFINITY) : INFINITY;
}

/* `scratch`: see vug_cpu_head_screen_scratch_floats. */
static void copy_row(vug_cpu_head_screen *s, int64_t row, float *scratch)
{
    const int64_t n = s->copy.columns, blocks = n / BLOCK;
    float *w = scratch, *scale = w + n;
    uint8_t *stored = (uint8_t *)(void *)(scale + blocks);
    uint8_t *to = s->data + row * blocks * BLOCK_BYTES;
    square_sums sums = { .residual = 0 };
    vug_matrix_decode(&s->head, row, w);
    for (int64_t b = 0; b < blocks; b++)
        scale[b] = choose_scale(w + b * BLOCK);
    const vug_codec *f16 = vug_codec_of(VUG_DTYPE_F16);
    f16->encode(scale, stored, (size_t)blocks);
    f16->decode(stored, scale, (size_t)blocks);
    for (int64_t b = 0; b < blocks; b++, to += BLOCK_BYTES) {
        memcpy(to, stored + 2 * b, 2);
        copy_block(w + b * BLOCK, scale[b], to + 2, &sums);
    }
    s->residual[row] = root_of(sums.residual);
    s->norm[row] = root_of(sums.norm);
}

int64_t vug_cpu_head_screen_scratch_floats(int64_t columns)
{
    const int64_t blocks = columns / BLOCK;
    return columns + blocks + (blocks + 1) / 2;
}

typedef struct {
    const vug_cpu_env *env;
    vug_cpu_head_screen *screen;
    int64_t first, end;
    vug_cpu_work_queue queue;
} copy_job;

static void copy_rows(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    copy_job *j = arg;
    float *scratch = j->env->scratch + thread * j->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_work_queue_next(&j->queue)) < j->queue.n;) {
        const int64_t first = j->first + i * ROWS_PER_CHUNK, end = first + ROWS_PER_CHUNK;
        for (int64_t row = first; row < end && row < j->end; row++)
            copy_row(j->screen, row, scratch);
    }
}

void vug_cpu_head_screen_build(const vug_cpu_env *env, vug_cpu_head_screen *s)
{
    const int64_t part = (s->rows + VUG_CPU_HEAD_SCREEN_PARTS - 1) / VUG_CPU_HEAD_SCREEN_PARTS;
    const int64_t left = s->rows - s->built, n = left < part ? left : part;
    copy_job job = { .env = env, .screen = s, .first = s->built, .end = s->built + n };
    vug_cpu_parallel_for(env, &job.queue, (n + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK,
                         n * s->copy.columns, copy_rows, &job);
    if (!vug_is_cancelled(env->cancel)) /* of a cancelled job some chunks are missing */
        s->built += n;
}
