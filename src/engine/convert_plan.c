/* Which tensors a new checkpoint has, and where their rows come from. */
#include <stdio.h>

#include "engine/convert.h"

typedef struct {
    const vug_plan_request *r;
    const vug_config *c;
    const vug_binding *b;
    vug_target_list *out;
    size_t cap;
} planner;

static vug_status no_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory for the list of tensors");
}

static vug_status begin(planner *p, const vug_plan_request *r, size_t cap, vug_target_list *out,
                        vug_err *err)
{
    *out = (vug_target_list){ 0 };
    *p = (planner){ r, &r->checkpoint->config, &r->checkpoint->binding, out, cap };
    out->spec = vug_arena_alloc(&out->arena, cap, sizeof(*out->spec));
    out->target = vug_arena_alloc(&out->arena, cap, sizeof(*out->target));
    return out->spec && out->target ? VUG_OK : no_memory(err);
}

/* ---- one tensor ------------------------------------------------------------------------- */

/* Of `n` sources in the arena. */
static vug_target *add(planner *p, const char *name, vug_make make, int64_t n)
{
    vug_target_list *out = p->out;
    VUG_ASSERT(out->n < p->cap);
    vug_target *t = &out->target[out->n];
    out->spec[out->n].name = vug_arena_copy(&out->arena, vug_str_of(name));
    *t = (vug_target){ .make = make, .n_sources = n };
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

/* A weight of shape `dim`, made of the target's sources, in the format that the types say;
 * MLX's formats are two tensors more. */
static vug_status describe(planner *p, vug_target *t, const vug_tensor_row *row, int rank,
                           const int64_t *dim, vug_err *err)
{
    vug_tensor_spec *spec = &p->out->spec[p->out->n - 1];
    t->rows = 1;
    t->columns = rank ? dim[rank - 1] : 1;
    for (int i = 0; i + 1 < rank; i++)
        t->rows *= dim[i];
    if (rank == 1 && t->d_head) { /* numbers that are paired are rows of one */
        t->rows = t->columns;
        t->columns = 1;
    }
    /* Scales are called after a weight, so what is called otherwise keeps its format. */
    const int products = vug_str_ends(spec->name, ".weight") ? rank : 1;
    t->type = vug_type_of(p->r->types, row, products, t->columns, t->source[0].tensor);
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
        if (!add(p, name, i ? VUG_MAKE_BIASES : VUG_MAKE_SCALES, 0))
            return no_memory(err);
        vug_tensor_spec *side = &p->out->spec[p->out->n - 1];
        set_shape(side, affine ? VUG_DTYPE_BF16 : VUG_DTYPE_U8, rank, dim);
        side->dim[rank - 1] = t->columns / t->type.group;
    }
    return VUG_OK;
}

/* Mean squares of the inputs, as llama.cpp keeps them: sums over tokens, and their number
 * (tools/imatrix/imatrix.cpp). */
static vug_status find_importance(planner *p, const char *gguf_name, vug_target *t, vug_err *err)
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
                        "%s: tensor '%s' does not belong to '%s', whose rows have %lld weights",
                        sum->file, name, gguf_name, (long long)t->columns);
    float *copy = vug_arena_alloc(&p->out->arena, (size_t)(n * t->columns), sizeof(*copy));
    if (!copy)
        return no_memory(err);
    /* Each matrix's counts divide all of its inputs alike, and only what is relative
     * matters. */
    memcpy(copy, sum->data, (size_t)(n * t->columns) * sizeof(*copy));
    t->importance = copy;
    t->n_importance = n;
    return VUG_OK;
}

/* ---- GGUF ---------------------------------------------------------------------------------- */

static vug_status plan_slot(planner *p, size_t i, vug_err *err)
{
    vug_slot slot;
    vug_kept how;
    if (!vug_slot_gguf(p->c, i, &slot, &how))
        return VUG_OK;
    const vug_tensor *tensor = p->b->tensor[i];
    const bool same = p->b->names == VUG_NAMES_GGUF; /* they are kept alike already */
    if (!tensor && how == VUG_KEPT_DIVISORS) {
        vug_target *t = add(p, slot.name, VUG_MAKE_DIVISORS, 0);
        if (!t)
            return no_memory(err);
        set_shape(&p->out->spec[p->out->n - 1], VUG_DTYPE_F32, slot.shape.rank, slot.shape.dim);
        return VUG_OK;
    }
    if (!tensor)
        return VUG_OK;
    const int64_t n = slot.shape.rank == 3 ? slot.shape.dim[0] : 1;
    vug_target *t = add(p, slot.name, VUG_MAKE_ROWS, n);
    if (!t)
        return no_memory(err);
    for (int64_t e = 0; e < n; e++)
        t->source[e] = (vug_source){ p->b->tensor[i + (size_t)e], p->b->row[i + (size_t)e] };
    t->add = !same && how == VUG_KEPT_PLUS_ONE ? 1 : 0;
    t->d_head = !same && how == VUG_KEPT_PAIRED ? vug_config_layer(p->c, slot.layer).d_head : 0;
    const size_t at = p->out->n - 1;
    VUG_TRY(describe(p, t, slot.row, slot.shape.rank, slot.shape.dim, err));
    return find_importance(p, p->out->spec[at].name.ptr, t, err);
}

vug_status vug_plan_gguf(const vug_plan_request *r, vug_target_list *out, vug_err *err)
{
    planner p;
    const size_t n = vug_slot_count(&r->checkpoint->config);
    VUG_TRY(begin(&p, r, n, out, err));
    for (size_t i = 0; i < n; i++)
        VUG_TRY(plan_slot(&p, i, err));
    return VUG_OK;
}

/* ---- safetensors ------------------------------------------------------------------------------ */

/* From GGUF: tensors get the names and the values of published checkpoints. */
static vug_status plan_published(planner *p, size_t i, vug_err *err)
{
    vug_slot slot, kept_as;
    vug_kept how;
    const size_t n_slots = vug_slot_count(p->c);
    if (!vug_slot_tensor(p->c, i, &slot) || !p->b->tensor[i])
        return VUG_OK;
    char name[sizeof(slot.name) + 8];
    const bool head = strcmp(slot.row->name, "output") == 0;
    (void)snprintf(name, sizeof(name), "%s%s", head ? "" : "model.", slot.name);
    const int64_t n = slot.shape.rank == 3 ? slot.shape.dim[0] : 1;
    const int64_t parts = n > 1 ? slot.shape.dim[1] / vug_slot_at(p->c, i).shape.dim[0] : 1;
    vug_target *t = add(p, name, VUG_MAKE_ROWS, n * parts);
    if (!t)
        return no_memory(err);
    for (int64_t k = 0; k < n * parts; k++) {
        /* Expert by expert, the parts of each one after the other; a part's slots of all
         * layers follow each other. */
        const size_t part = parts == 2 && k % 2 ? (size_t)(p->c->n_layers * n) : 0;
        const size_t at = i + (size_t)(k / parts) + part;
        VUG_ASSERT(at < n_slots);
        t->source[k] = (vug_source){ p->b->tensor[at], p->b->row[at] };
    }
    if (!vug_slot_gguf(p->c, i, &kept_as, &how))
        how = VUG_KEPT_AS_IT_IS;
    if (how == VUG_KEPT_DIVISORS) { /* the config says them */
        p->out->n--;
        return VUG_OK;
    }
    t->add = how == VUG_KEPT_PLUS_ONE ? -1 : 0;
    t->d_head = how == VUG_KEPT_PAIRED ? vug_config_layer(p->c, slot.layer).d_head : 0;
    t->undo = true;
    VUG_TRY(describe(p, t, slot.row, slot.shape.rank, slot.shape.dim, err));
    return n == 1 ? find_importance(p, kept_as.name, t, err) : VUG_OK;
}

/* The first slot whose weight lies in the tensor; n_slots: it is none. */
static size_t slot_in(const vug_binding *b, const vug_tensor *tensor)
{
    size_t i = 0;
    while (i < b->n_slots && b->tensor[i] != tensor)
        i++;
    return i;
}

/* From safetensors: every tensor keeps its name and its values. */
static vug_status plan_tensor(planner *p, const vug_tensor *tensor, vug_err *err)
{
    const size_t i = slot_in(p->b, tensor);
    const bool weight = i < p->b->n_slots && vug_checkpoint_reads(p->r->checkpoint, tensor);
    vug_target *t = add(p, tensor->name.ptr, weight ? VUG_MAKE_ROWS : VUG_MAKE_COPY, 1);
    if (!t)
        return no_memory(err);
    t->source[0] = (vug_source){ tensor, 0 };
    set_shape(&p->out->spec[p->out->n - 1], tensor->dtype, tensor->rank, tensor->dim);
    if (!weight)
        return VUG_OK;
    const vug_slot slot = vug_slot_at(p->c, i);
    VUG_TRY(describe(p, t, slot.row, tensor->rank, tensor->dim, err));
    vug_slot kept_as;
    vug_kept how;
    if (!vug_slot_gguf(p->c, i, &kept_as, &how) || tensor->rank != 2)
        return VUG_OK;
    return find_importance(p, kept_as.name, t, err);
}

vug_status vug_plan_safetensors(const vug_plan_request *r, vug_target_list *out, vug_err *err)
{
    planner p;
    const vug_checkpoint *c = r->checkpoint;
    const bool gguf = c->binding.names == VUG_NAMES_GGUF;
    const size_t n = gguf ? vug_slot_count(&c->config) : vug_weights_count(c->weights);
    VUG_TRY(begin(&p, r, 3 * n, out, err)); /* with scales and biases */
    for (size_t i = 0; i < n; i++)
        VUG_TRY(gguf ? plan_published(&p, i, err)
                     : plan_tensor(&p, vug_weights_at(c->weights, i), err));
    return VUG_OK;
}
