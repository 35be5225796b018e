/* Weights in blocks: how each format's elements are read. */
#include "ir/tensor.h"

void vug_matrix_decode(const vug_matrix *m, int64_t row, float *dst)
{
    const vug_dtype_info *info = vug_dtype_of(m->dtype);
    const int64_t stride = m->columns / info->elements * info->bytes;
    info->decode(m->data + row * stride, dst, (size_t)m->columns);
}

void vug_matrix_block(const vug_matrix *m, int64_t row, int64_t i, vug_block *out)
{
    const vug_dtype_info *info = vug_dtype_of(m->dtype);
    const int64_t stride = m->columns / info->elements * info->bytes;
    info->block(m->data + row * stride, i, out);
}
