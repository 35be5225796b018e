#include "ir/ir.h"

#include <stdio.h>

int64_t vug_shape_elements(const vug_shape *shape, int64_t tokens, int64_t rows)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t d = shape->dim[i];
        n *= d == VUG_DIM_T ? tokens : d == VUG_DIM_R ? rows : d;
    }
    return n;
}

bool vug_shape_equal(const vug_shape *a, const vug_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

const char *vug_shape_text(const vug_shape *shape, char *buffer)
{
    enum { SIZE = 96 };
    int at = 0;
    buffer[at++] = '[';
    for (int i = 0; i < shape->rank; i++) {
        const char *comma = i ? "," : "";
        if (shape->dim[i] < 0)
            at += snprintf(buffer + at, (size_t)(SIZE - at), "%s%c", comma,
                           shape->dim[i] < VUG_DIM_S ? '?' : "?TRPS"[-shape->dim[i]]);
        else
            at += snprintf(buffer + at, (size_t)(SIZE - at), "%s%lld", comma,
                           (long long)shape->dim[i]);
    }
    (void)snprintf(buffer + at, (size_t)(SIZE - at), "]");
    return buffer;
}
