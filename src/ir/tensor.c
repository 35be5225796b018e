/* The matrices of a checkpoint's tensors. */
#include "ir/tensor.h"

static int64_t divide_up(int64_t n, int64_t each)
{
    return n / each + (n % each > 0);
}

int64_t vug_scale_count(const vug_scales *s, int rank, const int64_t *dim)
{
    int64_t n = divide_up(dim[rank - 2], s->rows) * divide_up(dim[rank - 1], s->columns);
    for (int i = 0; i < rank - 2; i++)
        n *= dim[i];
    return n;
}

static int64_t columns_of(const vug_tensor *t)
{
    return t->dim[t->rank - 1];
}

bool vug_tensor_has_matrix_at(const vug_tensor *t, int64_t row)
{
    return !t->scales.scale || row % t->dim[t->rank - 2] % t->scales.rows == 0;
}

vug_matrix vug_tensor_matrix_at(const vug_tensor *t, int64_t row)
{
    const int64_t columns = columns_of(t);
    vug_matrix m = { .dtype = t->dtype, .columns = columns, .scales = t->scales };
    m.data = t->data + row * vug_dtype_row(t->dtype, columns);
    if (!t->scales.scale)
        return m;
    const int64_t rows = t->dim[t->rank - 2], share = t->scales.rows;
    const int64_t each = divide_up(rows, share); /* rows of scales of a matrix */
    const int64_t first = row / rows * each + row % rows / share;
    const int64_t skipped = first * t->scales.stride * vug_dtype_of(t->scales.dtype)->bytes;
    m.scales.scale += skipped;
    if (m.scales.bias)
        m.scales.bias += skipped;
    return m;
}
