/*
 * Reads what config.json says about quantized weights.
 *
 * MLX (mlx-lm, utils.py, load_model and quantize_model) writes a `quantization` block and
 * the same again as `quantization_config`:
 *
 *     {"group_size": 64, "bits": 4, "mode": "affine", "model.layers.0.mlp.down_proj":
 *      {"group_size": 64, "bits": 6}, "model.layers.0.mlp.gate": false}
 *
 * Other tools write only a `quantization_config` with a `quant_method`. Of these vug supports
 * "fp8" (transformers, FineGrainedFP8Config) and refuses the rest by name.
 */
#include "engine/internal.h"
#include "models/config_keys.h"

/* The JSON tree and the directory of tensors together stay below the memory that a hostile
 * folder may use (docs/limits.md). 80,000 modules fit. */
enum { TREE_BUDGET = 20 << 20, MAX_BLOCK = 1 << 20 };

typedef struct {
    vug_config_keys *k;
    vug_str module; /* the module that the keys are about; empty: all modules */
} module_keys;

/* ---- MLX ------------------------------------------------------------------------- */

static void fail_key(const module_keys *p, vug_status code, const char *what, vug_str value)
{
    if (p->module.len)
        vug_config_keys_fail(p->k, code, "quantization of '%.*s': %s '%.*s'",
                             VUG_STR_ARG(p->module), what, VUG_STR_ARG(value));
    else
        vug_config_keys_fail(p->k, code, "quantization: %s '%.*s'", what, VUG_STR_ARG(value));
}

/* Reads a number that must be in `known`, a list that ends with 0. */
static int read_choice(const module_keys *p, const char *key, int fallback, const int *known,
                       const char *expected)
{
    const vug_jv *v = vug_key_get(p->k, key);
    if (!v)
        return fallback;
    for (int i = 0; v->type == VUG_JSON_NUMBER && v->is_int && known[i]; i++) {
        if (v->i64 == known[i])
            return known[i];
    }
    fail_key(p, VUG_FORMAT, expected, v->str);
    return fallback;
}

/* A missing key means the default of the module's mode, not the value for all modules. */
static vug_quant_scheme read_module(const module_keys *p)
{
    static const int bits[] = { 2, 3, 4, 5, 6, 8, 0 }, groups[] = { 32, 64, 128, 0 };
    static const int four[] = { 4, 0 }, thirty_two[] = { 32, 0 };
    const vug_str mode = vug_key_string(p->k, "mode", "affine");
    vug_quant_scheme how = { .rows = 1 };
    if (p->k->st != VUG_OK)
        return how;
    if (vug_str_is(mode, "affine")) {
        how.mode = VUG_QUANT_MLX_AFFINE;
        how.bits = read_choice(p, "bits", 4, bits, "bits must be 2, 3, 4, 5, 6 or 8, not");
        how.columns =
                read_choice(p, "group_size", 64, groups, "group_size must be 32, 64 or 128, not");
    } else if (vug_str_is(mode, "mxfp4")) {
        how.mode = VUG_QUANT_MLX_MXFP4;
        how.bits = read_choice(p, "bits", 4, four, "bits of mxfp4 must be 4, not");
        how.columns =
                read_choice(p, "group_size", 32, thirty_two, "group_size of mxfp4 must be 32, not");
    } else {
        fail_key(p, VUG_UNSUPPORTED, "vug reads the modes affine and mxfp4, not", mode);
    }
    return how;
}

/* Members that are objects or true describe one module each. False needs no handling: such a
 * module has no scales. */
static void read_mlx(vug_config_keys *k, const vug_jv *block, vug_arena *arena,
                     vug_quant_config *out)
{
    vug_config_keys inside = vug_config_keys_enter(k, block);
    module_keys p = { .k = &inside };
    out->all = read_module(&p);
    out->module = vug_arena_alloc(arena, block->n, sizeof(*out->module));
    if (!out->module)
        vug_config_keys_fail(&inside, VUG_NOMEM, "out of memory for %zu quantized modules",
                             block->n);
    for (const vug_jv *v = block->child; v && out->module && inside.st == VUG_OK; v = v->next) {
        vug_quant_scheme how = out->all;
        if (v->type == VUG_JSON_OBJECT) {
            p.module = v->key;
            inside.object = v;
            how = read_module(&p);
        }
        if (v->type == VUG_JSON_OBJECT || (v->type == VUG_JSON_BOOL && v->boolean))
            out->module[out->n++] = (vug_quant_module){ v->key, how };
    }
    vug_config_keys_leave(k, &inside);
}

/* ---- FP8 ------------------------------------------------------------------------- */

/* Ignores `activation_scheme`, because activations are F32 here, and the list of modules, because
 * the tensors show which are quantized. */
static void read_fp8(vug_config_keys *k, const vug_jv *block, vug_quant_config *out)
{
    vug_config_keys inside = vug_config_keys_enter(k, block);
    out->all = (vug_quant_scheme){ .mode = VUG_QUANT_FP8, .bits = 8 };
    const vug_str format = vug_key_string(&inside, "fmt", "e4m3");
    const vug_str experts = vug_key_string(&inside, "expert_dtype", "fp8");
    if (inside.st == VUG_OK && !vug_str_is(format, "e4m3"))
        vug_config_keys_fail(&inside, VUG_UNSUPPORTED,
                             "quantization_config: vug reads fp8 of fmt 'e4m3', "
                             "not '%.*s'",
                             VUG_STR_ARG(format));
    if (inside.st == VUG_OK && !vug_str_is(experts, "fp8"))
        vug_config_keys_fail(
                &inside, VUG_UNSUPPORTED,
                "quantization_config: vug reads experts of expert_dtype 'fp8', not '%.*s'",
                VUG_STR_ARG(experts));
    const vug_jv *size = vug_key_get(&inside, "weight_block_size");
    const vug_jv *rows = vug_jv_is(size, VUG_JSON_ARRAY) && size->n == 2 ? size->child : NULL;
    for (const vug_jv *v = rows; v; v = v->next) {
        if (v->type != VUG_JSON_NUMBER || !v->is_int || v->i64 < 1 || v->i64 > MAX_BLOCK)
            rows = NULL;
        if (!rows)
            break;
        *(v == rows ? &out->all.rows : &out->all.columns) = v->i64;
    }
    if (size && !rows)
        vug_config_keys_fail(&inside, VUG_FORMAT,
                             "key 'weight_block_size' must be two whole numbers from 1 to %d",
                             MAX_BLOCK);
    vug_config_keys_leave(k, &inside);
}

/* ---- the config ------------------------------------------------------------------- */

/* MLX's own block has precedence over one of the config that it was converted from. */
static const vug_jv *find_block(vug_config_keys *k)
{
    static const char *const names[] = { "quantization", "quantization_config" };
    const vug_jv *block = NULL;
    vug_config_keys text = vug_config_keys_enter(k, vug_key_object(k, "text_config"));
    for (int i = 0; i < 2 && !block && k->st == VUG_OK; i++) {
        block = vug_key_object(k, names[i]);
        vug_config_keys_leave(&text, k);
        block = block ? block : vug_key_object(&text, names[i]);
        vug_config_keys_leave(k, &text);
    }
    return block;
}

static void read_quantization(vug_config_keys *k, vug_arena *arena, vug_quant_config *out)
{
    const vug_jv *block = find_block(k);
    if (!block)
        return;
    vug_config_keys inside = vug_config_keys_enter(k, block);
    const vug_str method = vug_key_string(&inside, "quant_method", "");
    vug_config_keys_leave(k, &inside);
    if (k->st != VUG_OK)
        return;
    if (method.len == 0)
        read_mlx(k, block, arena, out);
    else if (vug_str_is(method, "fp8"))
        read_fp8(k, block, out);
    else
        vug_config_keys_fail(k, VUG_UNSUPPORTED,
                             "weights are quantized by '%.*s'; vug reads those of MLX and of 'fp8'",
                             VUG_STR_ARG(method));
}

vug_status vug_quantization_config_apply(vug_str json, const char *file, vug_weights *weights,
                                         vug_err *err)
{
    vug_arena arena = { .budget = TREE_BUDGET };
    vug_quant_config config = { .file = file };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK) {
        vug_config_keys k = { .object = top, .file = file };
        read_quantization(&k, &arena, &config);
        st = vug_config_keys_status(&k, err);
    }
    if (st == VUG_OK)
        st = vug_weights_fold_scales(weights, &config, err);
    vug_arena_release(&arena);
    return st;
}
