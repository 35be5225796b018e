/*
 * Measures the error of each quantized format on the matrices of a model: the root of the
 * squared error over that of the squared weights, unweighted and weighted by a log-normal
 * random importance of each column; and the speed in million weights per second of one core.
 *
 *     bench_quantize [MODEL [LIBGGML.so]]
 *
 * LIBGGML is a shared library with llama.cpp's ggml_quantize_chunk, for comparison; vug's
 * decoders read its blocks.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/os.h"
#include "quant/matrix.h"
#include "quant/quantize.h"
#include "weights/weights.h"

/* ggml_quantize_chunk of ggml.h, and ggml_quantize_init, which some types need before it. */
typedef size_t ggml_quantize_fn(int type, const float *src, void *dst, int64_t start,
                                int64_t n_rows, int64_t n_per_row, const float *imatrix);
typedef void ggml_init_fn(int type);

/* Sums of squares: of the error and of the weights. */
typedef struct {
    double error, size;
} loss;

typedef struct {
    loss plain, weighted; /* weighted: multiplied by importance */
    double seconds;
    int64_t n;
} error_sums;

typedef struct {
    vug_dtype dtype;
    ggml_quantize_fn *ggml; /* NULL: vug_quantize_row */
} quantizer;

static void quantize_rows(const quantizer *q, const float *x, const float *importance, int64_t rows,
                          int64_t columns, uint8_t *dst)
{
    const vug_dtype_info *info = vug_dtype_of(q->dtype);
    const size_t row = (size_t)(columns / info->elements * info->bytes);
    if (q->ggml) {
        (void)q->ggml(info->gguf, x, dst, 0, rows, columns, importance);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        vug_quantize_row(q->dtype, x + r * columns, importance, columns, dst + (size_t)r * row);
}

static void add_loss(vug_dtype dtype, const vug_tensor *t, const float *x, const uint8_t *bytes,
                     const float *w, loss *to)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const int64_t columns = t->dim[1];
    float *y = vug_alloc((size_t)columns, sizeof(*y));
    if (!y)
        exit(1);
    for (int64_t r = 0; r < t->dim[0]; r++) {
        vug_codec_of(dtype)->decode(bytes + (size_t)(r * (columns / info->elements) * info->bytes),
                                    y, (size_t)columns);
        for (int64_t i = 0; i < columns; i++) {
            const double v = (double)x[r * columns + i], e = v - (double)y[i];
            to->error += (w ? (double)w[i] : 1) * e * e;
            to->size += (w ? (double)w[i] : 1) * v * v;
        }
    }
    vug_free(y);
}

/* Log-normal numbers, the same for every format. */
static void make_importance(float *w, int64_t n)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(state >> 11) * 0x1p-53;
        }
        w[i] = (float)exp(sum - 6);
    }
}

static void measure(const quantizer *q, const vug_tensor *t, error_sums *s)
{
    const int64_t rows = t->dim[0], columns = t->dim[1];
    float *x = vug_alloc((size_t)(rows * columns), sizeof(*x));
    float *w = vug_alloc((size_t)columns, sizeof(*w));
    uint8_t *dst = vug_alloc((size_t)(rows * columns), sizeof(float));
    if (!x || !w || !dst)
        exit(1);
    const vug_matrix m = vug_tensor_matrix_at(t, 0);
    for (int64_t r = 0; r < rows; r++)
        vug_matrix_decode(&m, r, x + r * columns);
    make_importance(w, columns);
    const double start = vug_now();
    quantize_rows(q, x, NULL, rows, columns, dst);
    s->seconds += vug_now() - start;
    s->n += rows * columns;
    add_loss(q->dtype, t, x, dst, NULL, &s->plain);
    quantize_rows(q, x, w, rows, columns, dst);
    add_loss(q->dtype, t, x, dst, w, &s->weighted);
    vug_free(x);
    vug_free(w);
    vug_free(dst);
}

static error_sums measure_all(const vug_weights *weights, const quantizer *q)
{
    error_sums s = { 0 };
    for (size_t i = 0; i < vug_weights_count(weights); i++) {
        const vug_tensor *t = vug_weights_at(weights, i);
        if (t->rank == 2 && t->dim[1] % vug_dtype_of(q->dtype)->elements == 0)
            measure(q, t, &s);
    }
    return s;
}

static void print_sums(const error_sums *s)
{
    printf(" %8.5f %8.5f %6.0f", sqrt(s->plain.error / s->plain.size),
           sqrt(s->weighted.error / s->weighted.size), (double)s->n / s->seconds / 1e6);
}

int main(int argc, char **argv)
{
    vug_weights *weights;
    vug_err err;
    if (vug_weights_open(argc > 1 ? argv[1] : "models/pebble", &weights, &err) != VUG_OK) {
        (void)fprintf(stderr, "bench_quantize: %s\n", err.msg);
        return 1;
    }
    void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
    ggml_quantize_fn *ggml = NULL;
    ggml_init_fn *init = NULL;
    if (library) {
        *(void **)&ggml = dlsym(library, "ggml_quantize_chunk");
        *(void **)&init = dlsym(library, "ggml_quantize_init");
    }
    if (argc > 2 && (!ggml || !init)) {
        (void)fprintf(stderr, "bench_quantize: %s has no ggml_quantize_chunk\n", argv[2]);
        return 1;
    }
    printf("format      error weighted Mw/s%s\n", ggml ? "; the same of ggml" : "");
    for (vug_dtype d = 0; d < VUG_DTYPE_COUNT; d++) {
        if (!vug_can_quantize(d))
            continue;
        const error_sums ours = measure_all(weights, &(quantizer){ d, NULL });
        printf("%-8s", vug_dtype_of(d)->name);
        print_sums(&ours);
        if (ggml) {
            init(vug_dtype_of(d)->gguf);
            const error_sums theirs = measure_all(weights, &(quantizer){ d, ggml });
            print_sums(&theirs);
        }
        printf("\n");
    }
    if (library)
        (void)dlclose(library);
    vug_weights_close(weights);
    return 0;
}
