#include "gguf_model_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine_help.h"
#include "models/common.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct {
    const vug_checkpoint *c;
    vug_tensor_spec *spec; /* [n] */
    size_t *slot;          /* [n] the first slot of each */
    vug_kept *kept;        /* [n] */
    vug_slot *named;       /* [n] */
    size_t n;
} conversion;

static void add_tensor(conversion *v, size_t i)
{
    const vug_binding *b = &v->c->binding;
    vug_slot *slot = &v->named[v->n];
    vug_kept *kept = &v->kept[v->n];
    if (!vug_slot_gguf(&v->c->config, i, slot, kept) || slot->presence != VUG_TENSOR_READ ||
        (!b->tensor[i] && *kept != VUG_KEPT_DIVISORS))
        return;
    const bool f32 = *kept == VUG_KEPT_DIVISORS || *kept == VUG_KEPT_PLUS_ONE;
    vug_tensor_spec *spec = &v->spec[v->n];
    *spec = (vug_tensor_spec){ .name = vug_str_of(slot->name),
                               .dtype = f32 ? VUG_DTYPE_F32 : b->tensor[i]->dtype,
                               .rank = slot->shape.rank };
    for (int d = 0; d < spec->rank; d++)
        spec->dim[d] = slot->shape.dim[d];
    v->slot[v->n++] = i;
}

static conversion conversion_of(const vug_checkpoint *c)
{
    const size_t n = vug_slot_count(&c->config);
    conversion v = { .c = c };
    v.spec = vug_alloc(n, sizeof(*v.spec));
    v.slot = vug_alloc(n, sizeof(*v.slot));
    v.kept = vug_alloc(n, sizeof(*v.kept));
    v.named = vug_alloc(n, sizeof(*v.named));
    assert_true(v.spec && v.slot && v.kept && v.named);
    for (size_t i = 0; i < n; i++)
        add_tensor(&v, i);
    return v;
}

static void release(conversion *v)
{
    vug_free(v->spec);
    vug_free(v->slot);
    vug_free(v->kept);
    vug_free(v->named);
}

/* One slot's bytes, as GGUF keeps them. */
static void fill_slot(const conversion *v, size_t t, size_t i, uint8_t *out)
{
    const vug_config *c = &v->c->config;
    const vug_binding *b = &v->c->binding;
    const vug_slot slot = vug_slot_at(c, i);
    const size_t n = (size_t)vug_shape_elements(&slot.shape, 0, 0);
    if (v->kept[t] == VUG_KEPT_DIVISORS && !b->tensor[i]) {
        float divisor[512];
        assert_true(n <= COUNT(divisor) && vug_rope_divisors(c, divisor));
        memcpy(out, divisor, n * sizeof(float));
        return;
    }
    const vug_dtype_info *format = vug_dtype_of(b->tensor[i]->dtype);
    const size_t size = (size_t)format->bytes;
    const int64_t columns = slot.shape.rank == 2 ? slot.shape.dim[1] : 1;
    const uint8_t *data = b->tensor[i]->data + (size_t)(b->row[i] * columns) * size;
    if (v->kept[t] == VUG_KEPT_PLUS_ONE) {
        for (size_t e = 0; e < n; e++) {
            float w;
            format->decode(data + e * size, &w, 1);
            w += 1;
            memcpy(out + e * sizeof(w), &w, sizeof(w));
        }
    } else if (v->kept[t] == VUG_KEPT_PAIRED) {
        const size_t row = n / (size_t)slot.shape.dim[0] * size;
        const int64_t head = vug_config_layer(c, slot.layer).d_head;
        for (int64_t r = 0; r < slot.shape.dim[0]; r++)
            memcpy(out + (size_t)r * row, data + (size_t)vug_paired_row(r, head) * row, row);
    } else {
        memcpy(out, data, n * size);
    }
}

/* The golden tensors are pieces by themselves. */
static vug_status fill(size_t t, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    const conversion *v = user;
    (void)err;
    assert_int_equal(at, 0);
    const size_t i = v->slot[t];
    const bool experts = v->named[t].shape.rank == 3;
    const size_t each = experts ? (size_t)v->c->config.n_experts : 1;
    assert_int_equal(n % each, 0);
    for (size_t e = 0; e < each; e++)
        fill_slot(v, t, i + e, bytes + e * (n / each));
    return VUG_OK;
}

vug_gguf help_gguf_metadata(const vug_gguf_builder *b)
{
    vug_gguf out;
    vug_err err;
    vug_reader r = vug_reader_over((vug_bytes){ (const uint8_t *)b->bytes.ptr, b->bytes.len });
    help_ok(vug_gguf_read(&r, b->n, "t.gguf", &out, &err), &err);
    return out;
}

/* Leaves out the keys of rotations that are vug's own. */
static void drop_own_keys(vug_gguf_builder *b)
{
    vug_gguf_builder less = { 0 };
    vug_gguf gguf = help_gguf_metadata(b);
    for (size_t i = 0; i < gguf.n; i++) {
        const vug_str dot = { memchr(gguf.value[i].key.ptr, '.', gguf.value[i].key.len), 0 };
        const vug_str key = { dot.ptr,
                              gguf.value[i].key.len - (size_t)(dot.ptr - gguf.value[i].key.ptr) };
        if (!vug_str_starts(key, ".rope.llama3.") && !vug_str_starts(key, ".rope.partial_"))
            vug_gguf_put_value(&less, &gguf.value[i]);
    }
    vug_gguf_release(&gguf);
    vug_gguf_builder_release(b);
    *b = less;
}

void help_write_gguf(const vug_checkpoint *c, bool own_keys, const char *path)
{
    vug_gguf_builder b = { 0 };
    vug_err err;
    conversion v = conversion_of(c);
    help_ok(vug_config_put_gguf(&c->config, &b, &err), &err);
    if (!own_keys)
        drop_own_keys(&b);
    const vug_tensor_stream stream = { .tensor = v.spec, .n = v.n, .fill = fill, .user = &v };
    help_ok(vug_gguf_write(path, &b, &stream, &err), &err);
    vug_gguf_builder_release(&b);
    release(&v);
}
