/*
 * Steps with one token of each sequence are padded to one of a few numbers of sequences, so that a
 * graph which was recorded for one number serves others.
 *
 * A sequence of padding is the last one again, with its pages: it reads what that one reads and
 * writes the same bits to the same places. Its results follow those of the step, and nobody reads
 * them.
 */
#include "backend/cuda/step_graph.h"

/* Kernels of products take 8 rows at a time. */
enum { ROWS_TOGETHER = 8 };

struct vug_cuda_padding {
    int32_t token[VUG_CUDA_REPEATED_SEQUENCES];
    int32_t position[VUG_CUDA_REPEATED_SEQUENCES];
    int32_t row[VUG_CUDA_REPEATED_SEQUENCES];
    vug_span span[VUG_CUDA_REPEATED_SEQUENCES];
    vug_logits_wanted wanted[VUG_CUDA_REPEATED_SEQUENCES];
};

vug_status vug_cuda_padding_create(vug_cuda_padding **out, vug_err *err)
{
    *out = vug_alloc_zero(1, sizeof(**out));
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "the padding of steps", sizeof(**out));
}

void vug_cuda_padding_destroy(vug_cuda_padding *padding)
{
    vug_free(padding);
}

/* 1, 2, 4, 8, a multiple of 8, or `most`. */
static int64_t padded_number(int64_t n, int64_t most)
{
    int64_t padded = 1;
    while (padded < n)
        padded = padded < ROWS_TOGETHER ? 2 * padded : padded + ROWS_TOGETHER;
    return padded < most ? padded : most;
}

/* Copies elements from[0 .. n - 1] and repeats the last one up to to[padded - 1]. */
#define COPY_REPEATED(to, from, n, padded)            \
    do {                                              \
        for (int64_t i_ = 0; i_ < (padded); i_++)     \
            (to)[i_] = (from)[i_ < (n) ? i_ : (n)-1]; \
    } while (0)

int64_t vug_cuda_pad_step(const vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens,
                          vug_step_in *out)
{
    const vug_limits *limits = &ws->program->limits;
    vug_cuda_padding *p = ws->padding;
    *out = *in;
    if (in->n_spans != tokens || tokens == 0 || !vug_cuda_repeats(ws, in, tokens))
        return tokens;
    const int64_t padded = padded_number(tokens, limits->batch);
    const int64_t rows = padded_number(in->n_rows, limits->rows);
    if (in->token) {
        COPY_REPEATED(p->token, in->token, tokens, padded);
        out->token = p->token;
    }
    COPY_REPEATED(p->span, in->span, tokens, padded);
    out->span = p->span;
    out->n_spans = (int)padded;
    if (in->position) {
        COPY_REPEATED(p->position, in->position, tokens, padded);
        out->position = p->position;
    }
    if (in->n_rows == 0)
        return padded;
    COPY_REPEATED(p->row, in->row, in->n_rows, rows);
    out->row = p->row;
    out->n_rows = rows;
    if (in->wanted) {
        COPY_REPEATED(p->wanted, in->wanted, in->n_rows, rows);
        out->wanted = p->wanted;
    }
    return padded;
}
