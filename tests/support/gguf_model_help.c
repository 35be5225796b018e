#include "test.h"

#include "gguf_model_help.h"

#include "engine_help.h"
#include "models/common.h"
#include "quant/codec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct {
    const vug_checkpoint *c;
    vug_tensor_spec *spec;     /* [n] */
    size_t *slot;              /* [n] the first slot of each */
    vug_gguf_storage *storage; /* [n] */
    vug_weight_slot *tensor;   /* [n] */
    size_t n;
} gguf_conversion;

static void add_tensor(gguf_conversion *v, size_t i)
{
    const vug_binding *b = &v->c->binding;
    vug_weight_slot *slot = &v->tensor[v->n];
    vug_gguf_storage *storage = &v->storage[v->n];
    if (!vug_weight_slot_gguf(&v->c->config, i, slot, storage) ||
        slot->presence != VUG_TENSOR_USED || (!b->tensor[i] && *storage != VUG_STORED_FREQ_FACTORS))
        return;
    const bool f32 = *storage == VUG_STORED_FREQ_FACTORS || *storage == VUG_STORED_PLUS_ONE;
    vug_tensor_spec *spec = &v->spec[v->n];
    *spec = (vug_tensor_spec){ .name = vug_str_of(slot->name),
                               .dtype = f32 ? VUG_DTYPE_F32 : b->tensor[i]->dtype,
                               .rank = slot->shape.rank };
    for (int d = 0; d < spec->rank; d++)
        spec->dim[d] = slot->shape.dim[d];
    v->slot[v->n++] = i;
}

static gguf_conversion plan_conversion(const vug_checkpoint *c)
{
    const size_t n = vug_weight_slot_count(&c->config);
    gguf_conversion v = { .c = c };
    v.spec = vug_alloc(n, sizeof(*v.spec));
    v.slot = vug_alloc(n, sizeof(*v.slot));
    v.storage = vug_alloc(n, sizeof(*v.storage));
    v.tensor = vug_alloc(n, sizeof(*v.tensor));
    assert_true(v.spec && v.slot && v.storage && v.tensor);
    for (size_t i = 0; i < n; i++)
        add_tensor(&v, i);
    return v;
}

static void release_conversion(gguf_conversion *v)
{
    vug_free(v->spec);
    vug_free(v->slot);
    vug_free(v->storage);
    vug_free(v->tensor);
}

/* Writes one slot's bytes as GGUF stores them. */
static void fill_slot(const gguf_conversion *v, size_t t, size_t i, uint8_t *out)
{
    const vug_config *c = &v->c->config;
    const vug_binding *b = &v->c->binding;
    const vug_weight_slot slot = vug_weight_slot_at(c, i);
    const size_t n = (size_t)vug_shape_elements(&slot.shape, 0, 0);
    if (v->storage[t] == VUG_STORED_FREQ_FACTORS && !b->tensor[i]) {
        float factor[512];
        assert_true(n <= COUNT(factor) && vug_rope_freq_factors(c, factor));
        memcpy(out, factor, n * sizeof(float));
        return;
    }
    const vug_dtype_info *format = vug_dtype_of(b->tensor[i]->dtype);
    const size_t size = (size_t)format->bytes;
    const int64_t columns = slot.shape.rank == 2 ? slot.shape.dim[1] : 1;
    const uint8_t *data = b->tensor[i]->data + (size_t)(b->row[i] * columns) * size;
    if (v->storage[t] == VUG_STORED_PLUS_ONE) {
        for (size_t e = 0; e < n; e++) {
            float w;
            vug_codec_of(b->tensor[i]->dtype)->decode(data + e * size, &w, 1);
            w += 1;
            memcpy(out + e * sizeof(w), &w, sizeof(w));
        }
    } else if (v->storage[t] == VUG_STORED_INTERLEAVED) {
        const size_t row = n / (size_t)slot.shape.dim[0] * size;
        const int64_t head = vug_config_layer(c, slot.layer).d_head;
        for (int64_t r = 0; r < slot.shape.dim[0]; r++)
            memcpy(out + (size_t)r * row, data + (size_t)vug_rope_interleaved_row(r, head) * row,
                   row);
    } else {
        memcpy(out, data, n * size);
    }
}

/* Golden tensors are small enough to be written at once. */
static vug_status fill_tensor(size_t t, uint64_t at, uint8_t *bytes, size_t n, void *user,
                              vug_err *err)
{
    const gguf_conversion *v = user;
    (void)err;
    assert_int_equal(at, 0);
    const size_t i = v->slot[t];
    const bool experts = v->tensor[t].shape.rank == 3;
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

/* Drops vug's own RoPE keys. */
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
    gguf_conversion v = plan_conversion(c);
    help_ok(vug_config_write_gguf(&c->config, &b, &err), &err);
    if (!own_keys)
        drop_own_keys(&b);
    const vug_tensor_stream stream = {
        .tensor = v.spec, .n = v.n, .fill = fill_tensor, .user = &v
    };
    help_ok(vug_gguf_write(path, &b, &stream, &err), &err);
    vug_gguf_builder_release(&b);
    release_conversion(&v);
}
