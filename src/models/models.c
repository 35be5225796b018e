/* Reading a config as far as all architectures share it, and the loop that makes
 * a flow of an architecture's stages. */
#include "models/models.h"

#include <math.h>

#include "models/keys.h"

/* ---- config.json ----------------------------------------------------------- */

enum { CONFIG_BUDGET = 64 << 20 };

static const vug_arch *find_arch(vug_str model_type)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = vug_arch_at(i)->model_types; *t; t++) {
            if (vug_str_is(model_type, *t))
                return vug_arch_at(i);
        }
    }
    return NULL;
}

/* Every model_type that is known, for the sentence about one that is not. */
static void list_types(char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = vug_arch_at(i)->model_types; *t; t++) {
            const size_t n = strlen(*t);
            if (at + n + 3 > size)
                return;
            if (at) {
                memcpy(out + at, ", ", 2);
                at += 2;
            }
            memcpy(out + at, *t, n + 1);
            at += n;
        }
    }
}

static vug_status read_arch(const vug_jv *top, const char *file, const vug_arch **out, vug_err *err)
{
    vug_keys k = { .object = top, .file = file };
    if (top->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "%s: expected an object of config keys", file);
    vug_str type = vug_key_string(&k, "model_type", NULL);
    if (!type.ptr && k.st == VUG_OK) {
        vug_keys text = { .object = vug_key(&k, "text_config"), .file = file };
        type = vug_key_string(&text, "model_type", NULL);
    }
    if (k.st == VUG_OK && !type.ptr)
        vug_keys_fail(&k, VUG_FORMAT, "key 'model_type' is missing");
    const vug_arch *arch = k.st == VUG_OK && type.ptr ? find_arch(type) : NULL;
    if (k.st == VUG_OK && !arch) {
        char known[256];
        list_types(known, sizeof(known));
        vug_keys_fail(&k, VUG_UNSUPPORTED, "architecture '%.*s' is not known; vug knows %s",
                      VUG_STR_ARG(type), known);
    }
    if (k.st != VUG_OK && err)
        *err = k.err;
    if (k.st == VUG_OK)
        *out = arch;
    return k.st;
}

/* "bfloat16"; transformers 4 wrote it under another key. */
static vug_dtype read_dtype(vug_keys *k)
{
    static const struct {
        const char *name;
        vug_dtype dtype;
    } names[] = {
        { "bfloat16", VUG_DTYPE_BF16 },
        { "float16", VUG_DTYPE_F16 },
        { "float32", VUG_DTYPE_F32 },
    };
    const vug_str name = vug_key_string(k, vug_key(k, "dtype") ? "dtype" : "torch_dtype", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (vug_str_is(name, names[i].name))
            return names[i].dtype;
    }
    return VUG_DTYPE_COUNT;
}

vug_layer_config vug_config_layer(const vug_config *c, int64_t i)
{
    vug_layer_config own = c->layer[i];
    own.d_head = own.d_head ? own.d_head : (int32_t)c->d_head;
    own.n_kv_heads = own.n_kv_heads ? own.n_kv_heads : (int32_t)c->n_kv_heads;
    own.d_ffn = own.d_ffn ? own.d_ffn : (int32_t)c->d_ffn;
    return own;
}

static vug_status read_tree(const vug_jv *top, const char *file, vug_config *c, vug_err *err)
{
    VUG_TRY(read_arch(top, file, &c->arch, err));
    vug_keys k = { .object = top, .file = file };
    const vug_jv *text = vug_key_object(&k, "text_config");
    if (!text)
        text = top;
    c->tied = true;
    if (k.st == VUG_OK)
        VUG_TRY(c->arch->read(text, file, c, err));
    c->tied = vug_key_bool(&k, "tie_word_embeddings", c->tied);
    c->dtype = read_dtype(&k);
    /* Null is none; only where the key is nowhere the architecture's default stays. */
    if (vug_jv_get(top, "eos_token_id") || vug_jv_get(text, "eos_token_id"))
        c->n_eos = vug_key_ids(&k, "eos_token_id", c->eos, VUG_MAX_EOS);
    if (text != top) {
        const int n = c->n_eos;
        k.object = text;
        c->tied = vug_key_bool(&k, "tie_word_embeddings", c->tied);
        c->n_eos += vug_key_ids(&k, "eos_token_id", c->eos + n, VUG_MAX_EOS - n);
        if (c->dtype == VUG_DTYPE_COUNT)
            c->dtype = read_dtype(&k);
    }
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

vug_status vug_config_read(vug_str json, const char *file, vug_config *out, vug_err *err)
{
    vug_arena arena = { .budget = CONFIG_BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK) {
        *out = (vug_config){ 0 };
        st = read_tree(top, file, out, err);
    }
    vug_arena_release(&arena);
    return st;
}

vug_status vug_config_arch(vug_str json, const char *file, const vug_arch **out, vug_err *err)
{
    vug_arena arena = { .budget = CONFIG_BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK)
        st = read_arch(top, file, out, err);
    vug_arena_release(&arena);
    return st;
}

/* ---- for architecture files ------------------------------------------------- */

float vug_embedding_scale(const vug_binding *binding)
{
    return vug_model_root(binding, binding->config->d_model);
}

float vug_model_root(const vug_binding *binding, int64_t width)
{
    const bool said = binding->config->dtype < VUG_DTYPE_COUNT;
    const vug_dtype_info *format = vug_dtype_of(said ? binding->config->dtype
                                                     : binding->tensor[VUG_SLOT_EMBEDDING]->dtype);
    const float exact = (float)sqrt((double)width);
    uint8_t bytes[sizeof(float)];
    float rounded = exact;
    if (format->elements == 1) {
        format->encode(&exact, bytes, 1);
        format->decode(bytes, &rounded, 1);
    }
    return rounded;
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val embed_stage(vug_flow *f, void *context, int layer, vug_val x)
{
    vug_stages *s = context;
    (void)layer;
    (void)x;
    return s->config->arch->embed(f, s);
}

static vug_val layer_stage(vug_flow *f, void *context, int layer, vug_val x)
{
    vug_stages *s = context;
    return s->config->arch->layer(f, s, layer, x);
}

static vug_val no_stage(vug_flow *f, void *context, int layer, vug_val x)
{
    (void)f;
    (void)context;
    (void)layer;
    return x;
}

static void check_hook(vug_flow *f, const vug_stages *s, vug_val x)
{
    char is[96], wanted[96];
    const vug_shape shape = flow_shape(f, x);
    const vug_shape expected = { 2, { flow_shape(f, s->tokens).dim[0], s->config->d_model } };
    if (shape.rank == 0)
        flow_fail(f, "the hook returned no value");
    else if (!vug_shape_equal(&shape, &expected))
        vug_flow_refuse(f, VUG_ARGUMENT, "the hook returned %s, expected %s",
                        vug_shape_text(&shape, is), vug_shape_text(&expected, wanted));
}

/* The stage, or the hook that stands in for it. */
static vug_val run_stage(vug_flow *f, vug_stages *s, vug_stage_fn *stage, vug_flow_hook *hook,
                         vug_val x)
{
    if (!hook)
        return stage(f, s, f->layer, x);
    vug_layer_spec spec = { 0 };
    if (f->layer >= 0)
        spec = vug_model_layer_spec(s->config, f->layer);
    const vug_flow_stage at = { .layer = f->layer >= 0 ? &spec : NULL,
                                .x = x,
                                .tokens = s->tokens,
                                .positions = s->positions };
    f->stage = stage;
    f->context = s;
    f->once = f->layer >= 0;
    f->done = false;
    f->hook_from = f->g->n;
    x = hook(f, &at, s->user);
    f->stage = NULL;
    check_hook(f, s, x);
    return x;
}

/* Hooks and hidden states want every row. */
static bool may_narrow(const vug_flow *f, const vug_flow_options *o)
{
    return o->outputs == VUG_OUT_LAST && !f->hidden && !o->layer && !o->after && !o->patch &&
           !o->custom_mask;
}

/* All layers: `rows` become x's own on the way where the architecture can, and then
 * are none. */
static vug_val run_layers(vug_flow *f, vug_stages *s, const vug_flow_options *o, vug_val x,
                          vug_val *rows)
{
    const vug_config *c = s->config;
    const bool narrow = c->arch->narrow && may_narrow(f, o);
    for (int i = 0; i < c->n_layers; i++) {
        if (narrow && c->layer[i].back && rows->id) {
            f->layer = -1;
            c->arch->narrow(f, s, *rows);
            x = flow_take(f, x, *rows);
            *rows = (vug_val){ 0 };
        }
        f->layer = i;
        flow_hidden(f, x);
        x = run_stage(f, s, layer_stage, o->layer, x);
    }
    f->layer = -1;
    return x;
}

static void patch(vug_flow *f, const vug_flow_options *o)
{
    f->hook_from = f->g->n;
    if (o->patch && f->st == VUG_OK)
        o->patch(f, o->user);
}

void vug_model_write(vug_flow *f, const vug_binding *binding, const vug_flow_options *o)
{
    const vug_config *c = binding->config;
    const vug_arch *arch = c->arch;
    vug_stages s = { .config = c, .binding = binding, .user = o->user };
    vug_val rows = { 0 };
    s.tokens = flow_input(f, VUG_INPUT_TOKENS);
    s.positions = flow_input(f, VUG_INPUT_POSITIONS);
    if (o->outputs == VUG_OUT_LAST)
        rows = flow_input(f, VUG_INPUT_ROWS);
    f->custom_mask = o->custom_mask;
    f->export_kv = o->export_kv;
    arch->prepare(f, &s);
    vug_val x = run_stage(f, &s, embed_stage, o->before, (vug_val){ 0 });
    if (arch->enter)
        arch->enter(f, &s, x);
    x = run_layers(f, &s, o, x, &rows);
    x = run_stage(f, &s, no_stage, o->after, x);
    patch(f, o);
    if (f->hidden)
        flow_hidden(f, arch->norm(f, &s, x));
    if (rows.id)
        x = flow_take(f, x, rows);
    x = arch->norm(f, &s, x);
    if (o->outputs == VUG_OUT_HIDDEN)
        flow_output(f, "hidden", x);
    else
        flow_output(f, "logits", arch->head(f, &s, x));
}

vug_layer_spec vug_model_layer_spec(const vug_config *c, int i)
{
    const vug_layer_config own = vug_config_layer(c, i);
    return (vug_layer_spec){ .index = i,
                             .n_layers = c->n_layers,
                             .d_model = c->d_model,
                             .n_heads = c->n_heads,
                             .n_kv_heads = own.n_kv_heads,
                             .d_head = own.d_head,
                             .d_ffn = own.d_ffn,
                             .window = c->windowed[i] ? c->window : 0,
                             .attn_scale = c->attn_scale,
                             .norm_eps = c->norm_eps };
}

vug_status vug_model_build(const vug_binding *binding, bool hidden, vug_graph *out, vug_err *err)
{
    vug_graph g = { .name = binding->config->arch->name };
    vug_flow f = vug_flow_over(&g, vug_binding_weight, binding);
    f.hidden = hidden;
    vug_model_write(&f, binding, &(vug_flow_options){ 0 });
    vug_status st = vug_flow_finish(&f, err);
    if (st == VUG_OK)
        st = vug_graph_verify(&g, err);
    if (st != VUG_OK) {
        vug_graph_release(&g);
        return st;
    }
    *out = g;
    return VUG_OK;
}
