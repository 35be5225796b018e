/* What a config says about one layer. */
#include "models/models.h"

vug_layer_config vug_config_layer(const vug_config *c, int64_t i)
{
    vug_layer_config own = i >= 0 ? c->layer[i] : (vug_layer_config){ 0 };
    own.d_head = own.d_head ? own.d_head : (int32_t)c->d_head;
    own.n_kv_heads = own.n_kv_heads ? own.n_kv_heads : (int32_t)c->n_kv_heads;
    own.d_ffn = own.d_ffn ? own.d_ffn : (int32_t)c->d_ffn;
    return own;
}

int64_t vug_config_d_head(const vug_config *c, bool windowed)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i] == windowed)
            return vug_config_layer(c, i).d_head;
    }
    return c->d_head;
}

int64_t vug_config_window(const vug_config *c, int64_t i)
{
    return c->windowed[i] ? c->window : 0;
}
