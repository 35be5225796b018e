/*
 * What config.json says of quantized weights.
 *
 * MLX (mlx-lm, utils.py, load_model and quantize_model) writes a `quantization` block and
 * the same again as `quantization_config`:
 *
 *     {"group_size": 64, "bits": 4, "mode": "affine", "model.layers.0.mlp.down_proj":
 *      {"group_size": 64, "bits": 6}, "model.layers.0.mlp.gate": false}
 *
 * Others write a `quantization_config` alone, with a `quant_method`; of those vug reads
 * "fp8" (transformers, FineGrainedFP8Config) and refuses the rest by name.
 */
#include "engine/engine.h"
#include "models/keys.h"

/* The tree lives beside the directory of tensors: together they stay below what a hostile
 * folder may cost (docs/limits.md). 80,000 modules fit. */
enum { TREE_BUDGET = 20 << 20, MAX_BLOCK = 1 << 20 };

typedef struct {
    vug_keys *k;
    vug_str module; /* that is spoken of; of no length: all of them */
} place;

/* ---- MLX ------------------------------------------------------------------------- */

static void refuse(const place *p, vug_status code, const char *what, vug_str value)
{
    if (p->module.len)
        vug_keys_fail(p->k, code, "quantization of '%.*s': %s '%.*s'", VUG_STR_ARG(p->module), what,
                      VUG_STR_ARG(value));
    else
        vug_keys_fail(p->k, code, "quantization: %s '%.*s'", what, VUG_STR_ARG(value));
}

/* A number out of a list that ends with 0. */
static int read_one_of(const place *p, const char *key, int fallback, const int *known,
                       const char *expected)
{
    const vug_jv *v = vug_key(p->k, key);
    if (!v)
        return fallback;
    for (int i = 0; v->type == VUG_JSON_NUMBER && v->is_int && known[i]; i++) {
        if (v->i64 == known[i])
            return known[i];
    }
    refuse(p, VUG_FORMAT, expected, v->str);
    return fallback;
}

/* Without a key a module has the default of its mode, not that of all modules. */
static vug_scaled read_module(const place *p)
{
    static const int bits[] = { 2, 3, 4, 5, 6, 8, 0 }, groups[] = { 32, 64, 128, 0 };
    static const int four[] = { 4, 0 }, thirty_two[] = { 32, 0 };
    const vug_str mode = vug_key_string(p->k, "mode", "affine");
    vug_scaled how = { .rows = 1 };
    if (p->k->st != VUG_OK)
        return how;
    if (vug_str_is(mode, "affine")) {
        how.mode = VUG_SCALED_AFFINE;
        how.bits = read_one_of(p, "bits", 4, bits, "bits must be 2, 3, 4, 5, 6 or 8, not");
        how.columns =
                read_one_of(p, "group_size", 64, groups, "group_size must be 32, 64 or 128, not");
    } else if (vug_str_is(mode, "mxfp4")) {
        how.mode = VUG_SCALED_MXFP4;
        how.bits = read_one_of(p, "bits", 4, four, "bits of mxfp4 must be 4, not");
        how.columns =
                read_one_of(p, "group_size", 32, thirty_two, "group_size of mxfp4 must be 32, not");
    } else {
        refuse(p, VUG_UNSUPPORTED, "vug reads the modes affine and mxfp4, not", mode);
    }
    return how;
}

/* Members that are objects or true speak of one module each; false says what the absence
 * of scales says by itself. */
static void read_mlx(vug_keys *k, const vug_jv *block, vug_arena *arena, vug_quantization *out)
{
    vug_keys inside = vug_keys_inside(k, block);
    place p = { .k = &inside };
    out->all = read_module(&p);
    out->module = vug_arena_alloc(arena, block->n, sizeof(*out->module));
    if (!out->module)
        vug_keys_fail(&inside, VUG_NOMEM, "out of memory for %zu quantized modules", block->n);
    for (const vug_jv *v = block->child; v && out->module && inside.st == VUG_OK; v = v->next) {
        vug_scaled how = out->all;
        if (v->type == VUG_JSON_OBJECT) {
            p.module = v->key;
            inside.object = v;
            how = read_module(&p);
        }
        if (v->type == VUG_JSON_OBJECT || (v->type == VUG_JSON_BOOL && v->boolean))
            out->module[out->n++] = (vug_scaled_module){ v->key, how };
    }
    vug_keys_leave(k, &inside);
}

/* ---- FP8 ------------------------------------------------------------------------- */

/* Activations are F32 here, whatever `activation_scheme` is; which modules are quantized
 * the tensors say themselves. */
static void read_fp8(vug_keys *k, const vug_jv *block, vug_quantization *out)
{
    vug_keys inside = vug_keys_inside(k, block);
    out->all = (vug_scaled){ .mode = VUG_SCALED_FP8, .bits = 8 };
    const vug_str format = vug_key_string(&inside, "fmt", "e4m3");
    const vug_str experts = vug_key_string(&inside, "expert_dtype", "fp8");
    if (inside.st == VUG_OK && !vug_str_is(format, "e4m3"))
        vug_keys_fail(&inside, VUG_UNSUPPORTED,
                      "quantization_config: vug reads fp8 of fmt 'e4m3', "
                      "not '%.*s'",
                      VUG_STR_ARG(format));
    if (inside.st == VUG_OK && !vug_str_is(experts, "fp8"))
        vug_keys_fail(&inside, VUG_UNSUPPORTED,
                      "quantization_config: vug reads experts of expert_dtype 'fp8', not '%.*s'",
                      VUG_STR_ARG(experts));
    const vug_jv *size = vug_key(&inside, "weight_block_size");
    const vug_jv *rows = vug_jv_is(size, VUG_JSON_ARRAY) && size->n == 2 ? size->child : NULL;
    for (const vug_jv *v = rows; v; v = v->next) {
        if (v->type != VUG_JSON_NUMBER || !v->is_int || v->i64 < 1 || v->i64 > MAX_BLOCK)
            rows = NULL;
        if (!rows)
            break;
        *(v == rows ? &out->all.rows : &out->all.columns) = v->i64;
    }
    if (size && !rows)
        vug_keys_fail(&inside, VUG_FORMAT,
                      "key 'weight_block_size' must be two whole numbers from 1 to %d", MAX_BLOCK);
    vug_keys_leave(k, &inside);
}

/* ---- the config ------------------------------------------------------------------- */

/* MLX's own block wins over what the config that it was converted from may say. */
static const vug_jv *find_block(vug_keys *k)
{
    static const char *const names[] = { "quantization", "quantization_config" };
    const vug_jv *block = NULL;
    vug_keys text = vug_keys_inside(k, vug_key_object(k, "text_config"));
    for (int i = 0; i < 2 && !block && k->st == VUG_OK; i++) {
        block = vug_key_object(k, names[i]);
        vug_keys_leave(&text, k);
        block = block ? block : vug_key_object(&text, names[i]);
        vug_keys_leave(k, &text);
    }
    return block;
}

static void read_said(vug_keys *k, vug_arena *arena, vug_quantization *out)
{
    const vug_jv *block = find_block(k);
    if (!block)
        return;
    vug_keys inside = vug_keys_inside(k, block);
    const vug_str method = vug_key_string(&inside, "quant_method", "");
    vug_keys_leave(k, &inside);
    if (k->st != VUG_OK)
        return;
    if (method.len == 0)
        read_mlx(k, block, arena, out);
    else if (vug_str_is(method, "fp8"))
        read_fp8(k, block, out);
    else
        vug_keys_fail(k, VUG_UNSUPPORTED,
                      "weights are quantized by '%.*s'; vug reads those of MLX and of 'fp8'",
                      VUG_STR_ARG(method));
}

vug_status vug_checkpoint_fold(vug_str json, const char *file, vug_weights *weights, vug_err *err)
{
    vug_arena arena = { .budget = TREE_BUDGET };
    vug_quantization said = { .file = file };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK) {
        vug_keys k = { .object = top, .file = file };
        read_said(&k, &arena, &said);
        st = vug_keys_end(&k, err);
    }
    if (st == VUG_OK)
        st = vug_weights_fold(weights, &said, err);
    vug_arena_release(&arena);
    return st;
}
