/*
 * Models of published shapes with random weights: in memory, to measure a machine's
 * speed without a download, or written as a checkpoint, for tests.
 *
 * Weights are uniform with the variance 1/in that keeps activations at the scale of
 * trained models; norm weights are near the value that does not scale. Block-quantized
 * weights have about the same variance (synth_blocks.c).
 */
#include <math.h>
#include <stdio.h>

#include "checkpoint/internal.h"
#include "core/pool.h"
#include "core/random.h"
#include "quant/codec.h"

#define E4M3_MAX 448.0f

/* ---- random weights ------------------------------------------------------------------ */

/* Fills elements first .. first + n - 1 of a tensor with values at most `scale` from `centre`. */
static void fill_values(uint64_t seed, uint64_t first, size_t n, float centre, float scale,
                        vug_dtype dtype, uint8_t *out)
{
    float values[1024];
    for (size_t at = 0; at < n; at += sizeof(values) / sizeof(values[0])) {
        size_t k = n - at < 1024 ? n - at : 1024;
        for (size_t i = 0; i < k; i++) {
            const int32_t r = (int32_t)(vug_hash64(seed + first + at + i) >> 32);
            values[i] = centre + (float)r * 0x1p-31f * scale;
        }
        vug_codec_of(dtype)->encode(values, out + at * (size_t)vug_dtype_of(dtype)->bytes, k);
    }
}

/* Fills blocks of a tensor; in formats without blocks they are single elements. */
static void fill_blocks(uint64_t seed, uint64_t first, size_t n, float centre, float scale,
                        vug_dtype dtype, uint8_t *out)
{
    if (vug_random_supports(dtype))
        vug_random_blocks(dtype, seed, first, n, scale / sqrtf(3), out);
    else
        fill_values(seed, first, n, centre, scale, dtype, out);
}

static float scale_of(const vug_weight_slot *slot)
{
    const int64_t in = slot->shape.dim[slot->shape.rank - 1];
    return slot->shape.rank == 1 ? 0.05f : sqrtf(3.0f / (float)in);
}

/* The weight with which a norm does not scale; 0 for other tensors. */
static float centre_of(const vug_weight_slot *slot, const vug_config *c)
{
    const bool norm = slot->shape.rank == 1 && !strstr(slot->row->name, "_bias");
    return norm ? c->arch->norm_weight : 0;
}

/* ---- shapes --------------------------------------------------------------------------- */

size_t vug_synth_shape_count(void)
{
    return vug_model_shape_count();
}

const char *vug_synth_shape_name(size_t i)
{
    return vug_model_shape_at(i)->name;
}

typedef struct {
    const vug_model_shape *row;
    vug_config config;
    vug_weight_type type;
    uint64_t seed;
} synth;

/* The type of a tensor. As in published checkpoints, vectors beside block-quantized weights are
 * F32, and the embedding and the head beside FP8 are BF16. Rows that are not a multiple of the
 * block or group size get a smaller one, or F32. */
static vug_weight_type type_of(const synth *s, const vug_weight_slot *slot)
{
    vug_weight_type type = s->type;
    const int64_t in = slot->shape.dim[slot->shape.rank - 1];
    const char *name = slot->row->name;
    const bool end = strcmp(name, "token_embd") == 0 || strcmp(name, "output") == 0;
    if (type.dtype <= VUG_DTYPE_BF16)
        return type;
    if (slot->shape.rank == 1)
        return (vug_weight_type){ VUG_DTYPE_F32, 0 };
    if (type.dtype == VUG_DTYPE_E4M3)
        return end ? (vug_weight_type){ VUG_DTYPE_BF16, 0 } : type;
    if (vug_dtype_of(type.dtype)->elements == 256 && in % 256 != 0)
        type.dtype = vug_dtype_without_super_blocks(type.dtype);
    while (type.group > 32 && in % type.group != 0)
        type.group /= 2;
    return in % 32 == 0 ? type : (vug_weight_type){ VUG_DTYPE_F32, 0 };
}

/* Scales that are stored apart; their format is VUG_DTYPE_COUNT if there are none. */
static vug_scales scales_of(vug_weight_type type)
{
    vug_scales out = { .dtype = VUG_DTYPE_BF16, .rows = 1, .columns = type.group };
    if (!type.group)
        out.dtype = VUG_DTYPE_COUNT;
    if (type.dtype == VUG_DTYPE_MLX_FP4)
        out.dtype = VUG_DTYPE_E8M0;
    if (type.dtype == VUG_DTYPE_E4M3) {
        out.dtype = VUG_DTYPE_F32;
        out.rows = type.group;
    }
    return out;
}

/* Only MLX's integer formats have biases. */
static bool has_biases(vug_weight_type type)
{
    return scales_of(type).dtype == VUG_DTYPE_BF16;
}

static uint64_t blocks_of(const synth *s, const vug_weight_slot *slot)
{
    const int elements = vug_dtype_of(type_of(s, slot).dtype)->elements;
    return (uint64_t)vug_shape_elements(&slot->shape, 0, 0) / (uint64_t)elements;
}

static uint64_t bytes_of(const synth *s, const vug_weight_slot *slot)
{
    const vug_weight_type type = type_of(s, slot);
    const vug_scales scales = scales_of(type);
    const uint64_t bytes = blocks_of(s, slot) * (uint64_t)vug_dtype_of(type.dtype)->bytes;
    if (!type.group)
        return bytes;
    const int64_t n = vug_scale_count(&scales, slot->shape.rank, slot->shape.dim);
    return bytes +
           (uint64_t)n * (uint64_t)vug_dtype_of(scales.dtype)->bytes * (has_biases(type) ? 2 : 1);
}

static vug_status find_shape(const char *shape, uint64_t seed, synth *out, vug_err *err)
{
    *out = (synth){ .seed = vug_hash64(seed) };
    vug_buf known = { 0 };
    for (size_t i = 0; i < vug_model_shape_count(); i++) {
        if (strcmp(vug_synth_shape_name(i), shape) == 0)
            out->row = vug_model_shape_at(i);
        vug_buf_printf(&known, "%s%s", i ? ", " : "", vug_synth_shape_name(i));
    }
    vug_status st = VUG_OK;
    if (!out->row)
        st = VUG_FAIL(err, VUG_ARGUMENT, "unknown shape '%s'; known are %s", shape,
                      known.ptr ? known.ptr : "none");
    vug_buf_release(&known);
    VUG_TRY(st);
    return vug_config_read(vug_str_of(out->row->config), shape, &out->config, err);
}

/* Whether published checkpoints of these shapes lack the tensor. The head is the only optional
 * tensor that some of them have. */
static bool is_left_out(const vug_config *c, const vug_weight_slot *slot)
{
    const bool head = strcmp(slot->row->name, "output") == 0;
    return slot->presence != VUG_TENSOR_USED ||
           (slot->row->need == VUG_OPTIONAL && (!head || c->tied));
}

/* ---- in memory --------------------------------------------------------------------------- */

typedef struct {
    vug_weight_type type;
    uint8_t *data, *scales, *biases;
    uint64_t first_seed;
    uint64_t n, n_scales; /* blocks; or 0 */
    float centre, scale;
} tensor_fill;

/* The thread's part of `n` items. */
static void thread_share(uint64_t n, int thread, int n_threads, uint64_t *from, size_t *count)
{
    *from = n * (uint64_t)thread / (uint64_t)n_threads;
    *count = (size_t)(n * ((uint64_t)thread + 1) / (uint64_t)n_threads - *from);
}

static void fill_part(void *arg, int thread, int n_threads)
{
    const tensor_fill *f = arg;
    const vug_scales kind = scales_of(f->type);
    const bool fp8 = f->type.dtype == VUG_DTYPE_E4M3;
    uint64_t from;
    size_t n;
    thread_share(f->n, thread, n_threads, &from, &n);
    fill_blocks(f->first_seed, from, n, f->centre, fp8 ? E4M3_MAX : f->scale, f->type.dtype,
                f->data + from * (uint64_t)vug_dtype_of(f->type.dtype)->bytes);
    if (!f->n_scales)
        return;
    thread_share(f->n_scales, thread, n_threads, &from, &n);
    const uint64_t skipped = from * (uint64_t)vug_dtype_of(kind.dtype)->bytes;
    const uint64_t seed = vug_hash64(f->first_seed);
    if (fp8) /* no two scales are equal */
        fill_values(seed, from, n, f->scale / E4M3_MAX, f->scale / E4M3_MAX / 4, kind.dtype,
                    f->scales + skipped);
    else
        vug_random_scales(f->type.dtype, seed, from, n, f->scale / sqrtf(3), f->scales + skipped,
                          f->biases ? f->biases + skipped : NULL);
}

/* The bytes of all weights; published shapes do not overflow. */
static uint64_t weight_bytes(const synth *s)
{
    uint64_t bytes = 0;
    vug_weight_slot slot;
    for (size_t i = 0; i < vug_weight_slot_count(&s->config); i++) {
        if (vug_weight_slot_tensor(&s->config, i, &slot) && !is_left_out(&s->config, &slot))
            bytes += bytes_of(s, &slot);
    }
    return bytes;
}

/* Adds a tensor to the directory and fills it on all threads. */
static vug_status fill_tensor(const synth *s, size_t i, const vug_weight_slot *slot, vug_pool *pool,
                              vug_weights *weights, vug_err *err)
{
    const vug_shape *shape = &slot->shape;
    const vug_str name = vug_str_of(slot->name);
    tensor_fill f = { .type = type_of(s, slot),
                      .first_seed = vug_hash64(s->seed + i),
                      .n = blocks_of(s, slot),
                      .centre = centre_of(slot, &s->config),
                      .scale = scale_of(slot) };
    VUG_TRY(vug_weights_add(weights, name, f.type.dtype, shape->rank, shape->dim, &f.data, err));
    if (f.type.group) {
        const vug_scales how = scales_of(f.type);
        f.n_scales = (uint64_t)vug_scale_count(&how, shape->rank, shape->dim);
        VUG_TRY(vug_weights_add_scales(weights, name, &how, &f.scales,
                                       has_biases(f.type) ? &f.biases : NULL, err));
    }
    vug_pool_run(pool, fill_part, &f);
    return VUG_OK;
}

static vug_status fill_directory(const synth *s, vug_pool *pool, const vug_model_options *o,
                                 vug_weights *weights, vug_err *err)
{
    const uint64_t total = weight_bytes(s);
    uint64_t done = 0;
    if (o->memory_limit && total > o->memory_limit)
        return VUG_FAIL(err, VUG_LIMIT, "%s: the weights take %.1f MB, the memory limit is %.1f MB",
                        s->row->name, (double)total / 1e6, (double)o->memory_limit / 1e6);
    for (size_t i = 0; i < vug_weight_slot_count(&s->config); i++) {
        vug_weight_slot slot;
        if (!vug_weight_slot_tensor(&s->config, i, &slot) || is_left_out(&s->config, &slot))
            continue;
        VUG_TRY(fill_tensor(s, i, &slot, pool, weights, err));
        done += bytes_of(s, &slot);
        if (o->progress && !o->progress(done, total, o->user))
            return VUG_FAIL(err, VUG_CANCELLED, "%s: stopped", s->row->name);
    }
    return VUG_OK;
}

vug_status vug_model_synthesize(const char *shape, const char *type, uint64_t seed,
                                const vug_model_options *options, vug_model **out, vug_err *err)
{
    const vug_model_options none = { 0 };
    vug_model_options o = options ? *options : none;
    synth s;
    VUG_TRY(find_shape(shape, seed, &s, err));
    VUG_TRY(vug_weight_type_parse(type, VUG_TYPES_ALL, &s.type, err));
    vug_pool *pool;
    VUG_TRY(vug_pool_create(o.threads ? o.threads : vug_cpu_count(), &pool, err));
    vug_weights *weights = NULL;
    vug_status st = vug_weights_create(shape, &weights, err);
    if (st == VUG_OK)
        st = fill_directory(&s, pool, &o, weights, err);
    vug_pool_destroy(pool);
    if (st != VUG_OK) {
        vug_weights_close(weights);
        return st;
    }
    return vug_model_from_weights(&s.config, weights, shape, &o, out, err);
}

/* ---- as a checkpoint ------------------------------------------------------------------------ */

typedef struct {
    const synth *s;
    const size_t *slot; /* the slot of each tensor */
} synth_writer;

static vug_status fill_piece(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                             vug_err *err)
{
    (void)err;
    const synth_writer *w = user;
    const vug_dtype_info *format = vug_dtype_of(w->s->type.dtype);
    vug_weight_slot slot;
    (void)vug_weight_slot_tensor(&w->s->config, w->slot[i], &slot);
    const size_t size = (size_t)format->bytes;
    fill_values(vug_hash64(w->s->seed + w->slot[i]), at / size, n / size,
                centre_of(&slot, &w->s->config), scale_of(&slot), w->s->type.dtype, bytes);
    return VUG_OK;
}

static vug_status write_text(const char *dir, const char *name, const char *text, vug_err *err)
{
    char *path = vug_path_join(dir, name);
    if (!path)
        return VUG_FAIL_NOMEM(err, dir, strlen(dir));
    vug_out out;
    vug_out_open(&out, path);
    vug_out_write(&out, text, strlen(text));
    vug_out_write(&out, "\n", 1);
    vug_free(path);
    return vug_out_commit(&out, err);
}

static vug_status write_weights(const synth *s, const char *dir, vug_progress_fn *progress,
                                void *user, vug_err *err)
{
    const size_t n_slots = vug_weight_slot_count(&s->config);
    vug_arena arena = { 0 };
    size_t *slots = vug_arena_alloc(&arena, n_slots, sizeof(*slots));
    vug_tensor_spec *spec = vug_arena_alloc(&arena, n_slots, sizeof(*spec));
    char *path = vug_path_join(dir, "model.safetensors");
    vug_status st = slots && spec && path ? VUG_OK : VUG_FAIL_NOMEM(err, dir, n_slots);
    size_t n = 0;
    for (size_t i = 0; st == VUG_OK && i < n_slots; i++) {
        vug_weight_slot slot;
        if (!vug_weight_slot_tensor(&s->config, i, &slot) || is_left_out(&s->config, &slot))
            continue;
        char name[sizeof(slot.name) + 8];
        const bool optional = slot.row->need == VUG_OPTIONAL; /* a head, outside the prefix */
        (void)snprintf(name, sizeof(name), "%s%s", optional ? "" : "model.", slot.name);
        spec[n] = (vug_tensor_spec){ .name = vug_arena_copy(&arena, vug_str_of(name)),
                                     .dtype = s->type.dtype,
                                     .rank = slot.shape.rank };
        memcpy(spec[n].dim, slot.shape.dim, sizeof(slot.shape.dim));
        if (!spec[n].name.ptr)
            st = VUG_FAIL_NOMEM(err, dir, sizeof(name));
        slots[n++] = i;
    }
    synth_writer w = { s, slots };
    const vug_tensor_stream tensors = { spec, n, fill_piece, &w, progress, user };
    if (st == VUG_OK)
        st = vug_safetensors_write(path, &tensors, err);
    vug_free(path);
    vug_arena_release(&arena);
    return st;
}

vug_status vug_synth_write(const char *shape, const char *type, uint64_t seed, const char *dir,
                           vug_progress_fn *progress, void *user, vug_err *err)
{
    synth s;
    VUG_TRY(find_shape(shape, seed, &s, err));
    VUG_TRY(vug_weight_type_parse(type, VUG_TYPES_PLAIN, &s.type, err));
    VUG_TRY(vug_make_folder(dir, err));
    vug_status st = write_weights(&s, dir, progress, user, err);
    /* Last, because a folder is a checkpoint once it has a config. */
    if (st == VUG_OK)
        st = write_text(dir, "config.json", s.row->config, err);
    if (st != VUG_OK)
        vug_folder_abandon(dir); /* else the same call would find a folder in its way */
    return st;
}
