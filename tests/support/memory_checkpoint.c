#include "test.h"

#include "memory_checkpoint.h"

#include "core/mem.h"

void memory_checkpoint_init(memory_checkpoint *c, const vug_config *config)
{
    vug_err err = { 0 };
    *c = (memory_checkpoint){ .config = *config, .dtype = VUG_DTYPE_BF16 };
    assert_int_equal(vug_weights_create("memory", &c->weights, &err), VUG_OK);
}

uint8_t *memory_checkpoint_add(memory_checkpoint *c, const char *name, int rank, const int64_t *dim)
{
    uint8_t *data;
    vug_err err = { 0 };
    if (c->without && strstr(name, c->without))
        return NULL;
    if (vug_weights_add(c->weights, vug_str_of(name), c->dtype, rank, dim, &data, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return data;
}

static int compare_names(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    return vug_str_compare((*x)->name, (*y)->name);
}

vug_status memory_checkpoint_bind(memory_checkpoint *c, vug_err *err)
{
    const size_t n = vug_weights_count(c->weights);
    c->sorted = vug_alloc(n, sizeof(const vug_tensor *));
    assert_non_null(c->sorted);
    for (size_t i = 0; i < n; i++)
        c->sorted[i] = vug_weights_at(c->weights, i);
    qsort(c->sorted, n, sizeof(const vug_tensor *), compare_names);
    const vug_tensor_list list = { c->sorted, n, "memory", VUG_NAMES_HF };
    return vug_binding_init(&c->config, &list, &c->binding, err);
}

void memory_checkpoint_release(memory_checkpoint *c)
{
    vug_binding_release(&c->binding);
    vug_free(c->sorted);
    vug_weights_close(c->weights);
}
