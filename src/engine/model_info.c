/* What callers can read of an open model. */
#include "engine/internal.h"

vug_model_info vug_model_describe(const vug_model *model)
{
    return model->info;
}

const vug_checkpoint *vug_model_checkpoint(const vug_model *model)
{
    return &model->checkpoint;
}

const vug_tokenizer *vug_model_tokenizer(const vug_model *model, vug_err *why)
{
    if (!model->checkpoint.tokenizer && why)
        *why = model->checkpoint.no_tokenizer;
    return model->checkpoint.tokenizer;
}

const int32_t *vug_model_stop_tokens(const vug_model *model, size_t *n)
{
    *n = model->checkpoint.n_stop;
    return model->checkpoint.stop;
}

vug_sampling_defaults vug_model_sampling(const vug_model *model)
{
    return model->checkpoint.sampling;
}

size_t vug_model_tensor_count(const vug_model *model)
{
    return vug_weights_count(model->checkpoint.weights);
}

vug_tensor_info vug_model_tensor(const vug_model *model, size_t i)
{
    const vug_tensor *t = vug_weights_at(model->checkpoint.weights, i);
    vug_tensor_info info = { .name = t->name.ptr,
                             .format = vug_dtype_of(t->dtype)->name,
                             .file = t->file,
                             .rank = t->rank,
                             .bytes = t->bytes + t->scale_bytes,
                             .scale_block = { t->scales.rows, t->scales.columns } };
    for (int d = 0; d < t->rank; d++)
        info.dim[d] = t->dim[d];
    info.used = vug_checkpoint_uses(&model->checkpoint, t);
    return info;
}

vug_layer_info vug_model_layer(const vug_model *model, size_t i)
{
    const vug_kv_layout *layout = model->backend->kv_layout(model->main.compiled.program);
    const int source = layout->layer[i].source, g = layout->layer[source].group;
    const vug_kv_group *group = &layout->group[g];
    const int64_t pages =
            vug_kv_pages_of_sequence(group, model->limits.context, model->limits.batch);
    const vug_layer_config own = vug_config_layer(&model->checkpoint.config, (int64_t)i);
    uint64_t bytes = (uint64_t)pages * vug_kv_page_bytes(model->kv_pool, g);
    bytes /= (uint64_t)group->n_layers;
    return (vug_layer_info){ .cache = source != (int)i ? "shared"
                                      : group->window  ? "window"
                                                       : "full",
                             .window = group->window,
                             .slots = pages * VUG_KV_PAGE,
                             .cache_bytes = source == (int)i ? bytes : 0,
                             .source = source,
                             .n_kv_heads = own.n_kv_heads,
                             .d_head = own.d_head };
}

vug_status vug_model_graph(const vug_model *model, vug_graph_format format, bool fused,
                           vug_text *out, vug_err *err)
{
    return vug_graph_write(fused ? &model->main.compiled.fused : &model->main.compiled.graph,
                           format, out, err);
}

const char *vug_version(void)
{
    return VUG_VERSION;
}
