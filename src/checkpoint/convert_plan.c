/* Plans the tensors of a new checkpoint and the sources of their rows. */
#include <stdio.h>

#include "checkpoint/convert.h"

typedef struct {
    const vug_convert_request *r;
    const vug_config *c;
    const vug_binding *b;
    vug_convert_target_list *out;
    size_t cap;
} convert_planner;

static vug_status fail_nomem(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory for the list of tensors");
}

static vug_status planner_init(convert_planner *p, const vug_convert_request *r, size_t cap,
                               vug_convert_target_list *out, vug_err *err)
{
    *out = (vug_convert_target_list){ 0 };
    *p = (convert_planner){ r, &r->checkpoint->config, &r->checkpoint->binding, out, cap };
    out->spec = vug_arena_alloc(&out->arena, cap, sizeof(*out->spec));
    out->target = vug_arena_alloc(&out->arena, cap, sizeof(*out->target));
    return out->spec && out->target ? VUG_OK : fail_nomem(err);
}

/* ---- one tensor ------------------------------------------------------------------------- */

/* Adds a target with room for `n` sources. */
static vug_convert_target *add_target(convert_planner *p, const char *name, vug_target_kind kind,
                                      int64_t n)
{
    vug_convert_target_list *out = p->out;
    VUG_ASSERT(out->n < p->cap);
    vug_convert_target *t = &out->target[out->n];
    out->spec[out->n].name = vug_arena_copy(&out->arena, vug_str_of(name));
    *t = (vug_convert_target){ .kind = kind, .n_sources = n };
    if (n)
        t->source = vug_arena_alloc(&out->arena, (size_t)n, sizeof(*t->source));
    if (!out->spec[out->n].name.ptr || (n && !t->source))
        return NULL;
    out->n++;
    return t;
}

static void set_shape(vug_tensor_spec *spec, vug_dtype dtype, int rank, const int64_t *dim)
{
    spec->dtype = dtype;
    spec->rank = rank;
    memcpy(spec->dim, dim, (size_t)rank * sizeof(*dim));
}

/* Describes the target as a weight of shape `dim` in the chosen format. MLX's formats add one or
 * two tensors for scales and biases. */
static vug_status describe_target(convert_planner *p, vug_convert_target *t,
                                  const vug_tensor_row *row, int rank, const int64_t *dim,
                                  vug_err *err)
{
    vug_tensor_spec *spec = &p->out->spec[p->out->n - 1];
    t->rows = 1;
    t->columns = rank ? dim[rank - 1] : 1;
    for (int i = 0; i + 1 < rank; i++)
        t->rows *= dim[i];
    if (rank == 1 && t->d_head) { /* paired elements of a vector are rows of 1 */
        t->rows = t->columns;
        t->columns = 1;
    }
    /* Names of scales derive from NAME.weight, so other names keep their format. */
    const int products = vug_str_ends(spec->name, ".weight") ? rank : 1;
    t->type = vug_convert_type_for(p->r->types, row, products, t->columns, t->source[0].tensor);
    t->source_name = t->source[0].tensor->name;
    set_shape(spec, t->type.dtype, rank, dim);
    if (!t->type.group)
        return VUG_OK;
    const bool affine = t->type.dtype != VUG_DTYPE_MLX_FP4;
    spec->dtype = VUG_DTYPE_U32;
    spec->dim[rank - 1] = vug_dtype_row(t->type.dtype, t->columns) / 4;
    const size_t stem = spec->name.len - strlen(".weight");
    for (int i = 0; i < 1 + affine; i++) {
        char name[256];
        (void)snprintf(name, sizeof(name), "%.*s%s", (int)stem, spec->name.ptr,
                       i ? ".biases" : ".scales");
        if (!add_target(p, name, i ? VUG_TARGET_BIASES : VUG_TARGET_SCALES, 0))
            return fail_nomem(err);
        vug_tensor_spec *side = &p->out->spec[p->out->n - 1];
        set_shape(side, affine ? VUG_DTYPE_BF16 : VUG_DTYPE_U8, rank, dim);
        side->dim[rank - 1] = t->columns / t->type.group;
    }
    return VUG_OK;
}

/* Finds the sums of squares of the inputs, as llama.cpp stores them (tools/imatrix/imatrix.cpp). */
static vug_status find_importance(convert_planner *p, const char *gguf_name, vug_convert_target *t,
                                  vug_err *err)
{
    const vug_weights *w = p->r->importance;
    char name[256];
    if (!w)
        return VUG_OK;
    (void)snprintf(name, sizeof(name), "%s.in_sum2", gguf_name);
    const vug_tensor *sum = vug_weights_find(w, vug_str_of(name));
    if (!sum)
        return VUG_OK;
    const int64_t n = sum->rank == 1 ? 1 : sum->dim[0];
    if (sum->dtype != VUG_DTYPE_F32 || sum->rank < 1 || sum->rank > 2 ||
        sum->dim[sum->rank - 1] != t->columns || (n != 1 && n != t->n_sources))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%s' does not match '%s', whose rows have %lld weights",
                        sum->file, name, gguf_name, (long long)t->columns);
    float *copy = vug_arena_alloc(&p->out->arena, (size_t)(n * t->columns), sizeof(*copy));
    if (!copy)
        return fail_nomem(err);
    /* Only relative importance matters, so the sums need not be divided by the counts. */
    memcpy(copy, sum->data, (size_t)(n * t->columns) * sizeof(*copy));
    t->importance = copy;
    t->n_importance = n;
    return VUG_OK;
}

/* ---- GGUF ---------------------------------------------------------------------------------- */

static vug_status plan_slot(convert_planner *p, size_t i, vug_err *err)
{
    vug_weight_slot slot;
    vug_gguf_storage how;
    if (!vug_weight_slot_gguf(p->c, i, &slot, &how))
        return VUG_OK;
    const vug_tensor *tensor = p->b->tensor[i];
    const bool same = p->b->names == VUG_NAMES_GGUF; /* the source stores weights the same way */
    if (!tensor && how == VUG_STORED_FREQ_FACTORS) {
        vug_convert_target *t = add_target(p, slot.name, VUG_TARGET_FREQ_FACTORS, 0);
        if (!t)
            return fail_nomem(err);
        set_shape(&p->out->spec[p->out->n - 1], VUG_DTYPE_F32, slot.shape.rank, slot.shape.dim);
        return VUG_OK;
    }
    if (!tensor)
        return VUG_OK;
    const int64_t n = slot.shape.rank == 3 ? slot.shape.dim[0] : 1;
    vug_convert_target *t = add_target(p, slot.name, VUG_TARGET_ROWS, n);
    if (!t)
        return fail_nomem(err);
    for (int64_t e = 0; e < n; e++)
        t->source[e] = (vug_row_source){ p->b->tensor[i + (size_t)e], p->b->row[i + (size_t)e] };
    t->add = !same && how == VUG_STORED_PLUS_ONE ? 1 : 0;
    t->d_head =
            !same && how == VUG_STORED_INTERLEAVED ? vug_config_layer(p->c, slot.layer).d_head : 0;
    const size_t at = p->out->n - 1;
    VUG_TRY(describe_target(p, t, slot.row, slot.shape.rank, slot.shape.dim, err));
    return find_importance(p, p->out->spec[at].name.ptr, t, err);
}

vug_status vug_convert_plan_gguf(const vug_convert_request *r, vug_convert_target_list *out,
                                 vug_err *err)
{
    convert_planner p;
    const size_t n = vug_weight_slot_count(&r->checkpoint->config);
    VUG_TRY(planner_init(&p, r, n, out, err));
    for (size_t i = 0; i < n; i++)
        VUG_TRY(plan_slot(&p, i, err));
    return VUG_OK;
}

/* ---- safetensors ----------------------------------------------------------------------------- */

/* From GGUF: tensors get the names and values that published checkpoints have. */
static vug_status plan_published(convert_planner *p, size_t i, vug_err *err)
{
    vug_weight_slot slot, kept_as;
    vug_gguf_storage how;
    const size_t n_slots = vug_weight_slot_count(p->c);
    if (!vug_weight_slot_tensor(p->c, i, &slot) || !p->b->tensor[i])
        return VUG_OK;
    char name[sizeof(slot.name) + 8];
    const bool head = strcmp(slot.row->name, "output") == 0;
    (void)snprintf(name, sizeof(name), "%s%s", head ? "" : "model.", slot.name);
    const int64_t n = slot.shape.rank == 3 ? slot.shape.dim[0] : 1;
    const int64_t parts = n > 1 ? slot.shape.dim[1] / vug_weight_slot_at(p->c, i).shape.dim[0] : 1;
    vug_convert_target *t = add_target(p, name, VUG_TARGET_ROWS, n * parts);
    if (!t)
        return fail_nomem(err);
    for (int64_t k = 0; k < n * parts; k++) {
        /* Sources go expert by expert and within an expert part by part. Slots go part by part,
         * each over all layers. */
        const size_t part = parts == 2 && k % 2 ? (size_t)(p->c->n_layers * n) : 0;
        const size_t at = i + (size_t)(k / parts) + part;
        VUG_ASSERT(at < n_slots);
        t->source[k] = (vug_row_source){ p->b->tensor[at], p->b->row[at] };
    }
    if (!vug_weight_slot_gguf(p->c, i, &kept_as, &how))
        how = VUG_STORED_AS_IS;
    if (how == VUG_STORED_FREQ_FACTORS) { /* they are part of the config */
        p->out->n--;
        return VUG_OK;
    }
    t->add = how == VUG_STORED_PLUS_ONE ? -1 : 0;
    t->d_head = how == VUG_STORED_INTERLEAVED ? vug_config_layer(p->c, slot.layer).d_head : 0;
    t->undo = true;
    VUG_TRY(describe_target(p, t, slot.row, slot.shape.rank, slot.shape.dim, err));
    return n == 1 ? find_importance(p, kept_as.name, t, err) : VUG_OK;
}

/* The first slot whose weight is in the tensor, or n_slots. */
static size_t find_slot(const vug_binding *b, const vug_tensor *tensor)
{
    size_t i = 0;
    while (i < b->n_slots && b->tensor[i] != tensor)
        i++;
    return i;
}

/* From safetensors: tensors keep their names and values. */
static vug_status plan_tensor(convert_planner *p, const vug_tensor *tensor, vug_err *err)
{
    const size_t i = find_slot(p->b, tensor);
    const bool weight = i < p->b->n_slots && vug_checkpoint_uses(p->r->checkpoint, tensor);
    vug_convert_target *t =
            add_target(p, tensor->name.ptr, weight ? VUG_TARGET_ROWS : VUG_TARGET_COPY, 1);
    if (!t)
        return fail_nomem(err);
    t->source[0] = (vug_row_source){ tensor, 0 };
    set_shape(&p->out->spec[p->out->n - 1], tensor->dtype, tensor->rank, tensor->dim);
    if (!weight)
        return VUG_OK;
    const vug_weight_slot slot = vug_weight_slot_at(p->c, i);
    VUG_TRY(describe_target(p, t, slot.row, tensor->rank, tensor->dim, err));
    vug_weight_slot kept_as;
    vug_gguf_storage how;
    if (!vug_weight_slot_gguf(p->c, i, &kept_as, &how) || tensor->rank != 2)
        return VUG_OK;
    return find_importance(p, kept_as.name, t, err);
}

vug_status vug_convert_plan_safetensors(const vug_convert_request *r, vug_convert_target_list *out,
                                        vug_err *err)
{
    convert_planner p;
    const vug_checkpoint *c = r->checkpoint;
    const bool gguf = c->binding.names == VUG_NAMES_GGUF;
    const size_t n = gguf ? vug_weight_slot_count(&c->config) : vug_weights_count(c->weights);
    VUG_TRY(planner_init(&p, r, 3 * n, out, err)); /* with scales and biases */
    for (size_t i = 0; i < n; i++)
        VUG_TRY(gguf ? plan_published(&p, i, err)
                     : plan_tensor(&p, vug_weights_at(c->weights, i), err));
    return VUG_OK;
}
