/* Finds the tensor of a checkpoint that has each weight of the architecture. */
#include <stdio.h>
#include <stdlib.h>

#include "models/weight_slots.h"
#include "quant/codec.h"

/* The prefixes of the text model's tensors in text and multimodal checkpoints, longer ones
 * first. Source: the key mappings of transformers 4 and 5 and of mlx-lm. */
static const char *const prefixes[] = {
    "model.language_model.model.",
    "model.language_model.",
    "language_model.model.",
    "language_model.",
    "model.",
    "",
};

/* Names of a separate head, which does not have the text model's prefix. */
static const char *const head_names[] = {
    "lm_head.weight",
    "language_model.lm_head.weight",
    "model.language_model.lm_head.weight",
    "model.lm_head.weight",
};

/* Names with these parts are not used by the text model. */
static const char *const skipped[] = {
    "vision_tower", "multi_modal_projector",
    "audio_tower",  "embed_vision",
    "embed_audio",  "vision_embedder",
    "rotary_emb",   ".input_min",
    ".input_max", /* activation ranges from quantization-aware training */
    ".output_min",  ".output_max",
    ".input_scale", "activation_scale", /* for activations in 8 bits; vug's stay F32 */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- finding -------------------------------------------------------------- */

static int by_name(const void *key, const void *element)
{
    const vug_tensor *const *tensor = element;
    return vug_str_compare(*(const vug_str *)key, (*tensor)->name);
}

/* Index in the list, or list->n. */
static size_t find_index(const vug_tensor_list *list, const char *prefix, const char *name)
{
    char full[192];
    (void)snprintf(full, sizeof(full), "%s%s", prefix, name);
    const vug_str key = vug_str_of(full);
    const vug_tensor *const *at =
            list->n ? bsearch(&key, list->tensor, list->n, sizeof(const vug_tensor *), by_name)
                    : NULL;
    return at ? (size_t)(at - list->tensor) : list->n;
}

const vug_tensor *vug_tensor_list_find(const vug_tensor_list *list, const char *name)
{
    const size_t at = find_index(list, "", name);
    return at < list->n ? list->tensor[at] : NULL;
}

static const char *find_prefix(const vug_tensor_list *list, const char *first)
{
    if (list->names == VUG_NAMES_GGUF)
        return "";
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (find_index(list, prefixes[i], first) < list->n)
            return prefixes[i];
    }
    return "model.";
}

static size_t find_slot(const vug_tensor_list *list, const char *prefix,
                        const vug_weight_slot *slot)
{
    size_t at = find_index(list, prefix, slot->name);
    const bool head = strcmp(slot->name, head_names[0]) == 0;
    for (size_t i = 0; head && at == list->n && i < COUNT(head_names); i++)
        at = find_index(list, head_names[i], "");
    if (slot->row->need == VUG_OPTIONAL && at == list->n)
        at = find_index(list, slot->name, "");
    const size_t n = strlen(slot->name), tail = strlen(".weight");
    if (at == list->n && (n < tail || strcmp(slot->name + n - tail, ".weight") != 0)) {
        char longer[sizeof(slot->name) + 8];
        (void)snprintf(longer, sizeof(longer), "%s.weight", slot->name);
        at = find_index(list, prefix, longer);
    }
    return at;
}

/* Where the weight of a slot is stored. */
typedef struct {
    size_t index;           /* in the list; list->n: nowhere */
    vug_weight_slot tensor; /* the tensor's name and shape */
    int64_t row;            /* of the tensor at which the weight begins */
} weight_location;

/* In a tensor of its own, or, for an expert, in a pack. */
static weight_location find_weight(const vug_config *c, const vug_tensor_list *list,
                                   const char *prefix, const vug_weight_slot *slot)
{
    weight_location found = { .index = find_slot(list, prefix, slot), .tensor = *slot };
    for (size_t p = 0; found.index == list->n && slot->expert >= 0 && p < c->arch->n_packs; p++) {
        const vug_expert_pack_row *pack = &c->arch->pack[p];
        const int part = vug_weight_slot_part(pack, slot);
        if (part < 0)
            continue;
        const vug_weight_slot whole = vug_weight_slot_packed(c, list->names, pack, slot);
        const int64_t parts = pack->part[1] ? 2 : 1;
        const size_t at = find_slot(list, prefix, &whole);
        if (at < list->n)
            found = (weight_location){ at, whole,
                                       (slot->expert * parts + part) * slot->shape.dim[0] };
    }
    return found;
}

static bool is_skipped(vug_str name)
{
    for (size_t p = 0; p < COUNT(skipped); p++) {
        const size_t n = strlen(skipped[p]);
        for (size_t i = 0; i + n <= name.len; i++) {
            if (memcmp(name.ptr + i, skipped[p], n) == 0)
                return true;
        }
    }
    return false;
}

/* ---- checking -------------------------------------------------------------- */

/* Only matrices may be quantized. */
static vug_status check_format(const vug_tensor *t, vug_err *err)
{
    const vug_dtype_info *format = vug_dtype_of(t->dtype);
    const bool known = vug_codec_of(t->dtype)->decode || t->scales.scale;
    if (!known && t->dtype == VUG_DTYPE_U32)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s' has format U32 but no scales; "
                        "weights of MLX have them",
                        t->file, VUG_STR_ARG(t->name));
    if (!known || (t->rank < 2 && format->elements > 1))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: tensor '%.*s' has format %s; %s", t->file,
                        VUG_STR_ARG(t->name), format->name,
                        known ? "a vector must be BF16, F16 or F32"
                              : "weights must be BF16, F16, F32 or quantized (docs/formats.md)");
    return VUG_OK;
}

static vug_status check_tensor(const vug_tensor *t, const vug_weight_slot *slot, vug_err *err)
{
    VUG_TRY(check_format(t, err));
    bool same = t->rank == slot->shape.rank;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dim[i] == slot->shape.dim[i];
    if (same)
        return VUG_OK;
    char expected[96], found[96];
    vug_shape shape = { .rank = t->rank < VUG_MAX_DIMS ? t->rank : VUG_MAX_DIMS };
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = t->dim[i];
    return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' has shape %s, the config gives %s", t->file,
                    VUG_STR_ARG(t->name), vug_shape_text(&shape, found),
                    vug_shape_text(&slot->shape, expected));
}

/* Tensors for an error message: their number and the first names. */
typedef struct {
    size_t n;
    vug_buf names;
} name_list;

static void add_name(name_list *list, const char *prefix, vug_str name)
{
    enum { MAX_SHOWN = 4 };
    if (list->n < MAX_SHOWN)
        vug_buf_printf(&list->names, "%s%s%.*s", list->n ? ", " : "", prefix, VUG_STR_ARG(name));
    else if (list->n == MAX_SHOWN)
        vug_buf_puts(&list->names, ", ...");
    list->n++;
}

static vug_status fail_if_any(const char *source, name_list *list, const char *what, vug_err *err)
{
    vug_status st = VUG_OK;
    if (list->n)
        st = VUG_FAIL(err, VUG_FORMAT, "%s: %zu tensor%s %s: %s", source, list->n,
                      list->n == 1 ? "" : "s", what, list->names.ptr ? list->names.ptr : "");
    vug_buf_release(&list->names);
    return st;
}

/* A bit for each pack that the checkpoint has in any layer. */
static unsigned find_packs(const vug_config *c, const vug_tensor_list *list, const char *prefix)
{
    unsigned found = 0;
    VUG_ASSERT(c->arch->n_packs <= 32); /* tables are constants */
    for (size_t p = 0; p < c->arch->n_packs; p++) {
        vug_weight_slot slot = { .row = c->arch->row, .expert = -1 };
        for (slot.layer = 0; slot.layer < c->n_layers; slot.layer++) {
            const vug_weight_slot whole =
                    vug_weight_slot_packed(c, list->names, &c->arch->pack[p], &slot);
            if (find_slot(list, prefix, &whole) < list->n)
                found |= 1u << p;
        }
    }
    return found;
}

/* The pack that should have had a slot: one that other layers have, or else that of published
 * checkpoints. */
static const vug_expert_pack_row *find_missing_pack(const vug_config *c, unsigned packs,
                                                    vug_tensor_naming names,
                                                    const vug_weight_slot *slot)
{
    for (size_t p = 0; slot->expert >= 0 && p < c->arch->n_packs; p++) {
        if (packs & 1u << p && vug_weight_slot_part(&c->arch->pack[p], slot) >= 0)
            return &c->arch->pack[p];
    }
    return packs && names == VUG_NAMES_HF ? NULL : vug_weight_slot_pack(c, names, slot);
}

/* Adds the missing tensor's name; packed experts add their pack once. */
static void add_missing(const vug_config *c, unsigned packs, const vug_tensor_list *list,
                        const vug_weight_slot *slot, name_list *missing)
{
    const char *prefix =
            find_prefix(list, vug_weight_slot_named(c, list->names, VUG_EMBEDDING_SLOT).name);
    const vug_expert_pack_row *pack = find_missing_pack(c, packs, list->names, slot);
    if (!pack)
        add_name(missing, prefix, vug_str_of(slot->name));
    else if (vug_weight_slot_part(pack, slot) == 0 && slot->expert == 0)
        add_name(missing, prefix,
                 vug_str_of(vug_weight_slot_packed(c, list->names, pack, slot).name));
}

static vug_status bind_slot(vug_binding *b, size_t i, const vug_tensor *t,
                            const weight_location *at, vug_err *err)
{
    VUG_TRY(check_tensor(t, &at->tensor, err));
    if (t->rank >= 2 && t->dim[t->rank - 1] % vug_dtype_of(t->dtype)->elements != 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s': rows of %lld elements are not whole blocks of %s",
                        t->file, VUG_STR_ARG(t->name), (long long)t->dim[t->rank - 1],
                        vug_dtype_of(t->dtype)->name);
    if (t->rank >= 2 && !vug_tensor_has_matrix_at(t, at->row))
        return VUG_FAIL(
                err, VUG_UNSUPPORTED,
                "%s: tensor '%.*s': %lld rows share a scale, and a part begins between them",
                t->file, VUG_STR_ARG(t->name), (long long)t->scales.rows);
    b->tensor[i] = t;
    b->row[i] = at->row;
    return VUG_OK;
}

static vug_status bind_slots(const vug_config *c, const vug_tensor_list *list, vug_binding *b,
                             vug_err *err)
{
    const char *prefix =
            find_prefix(list, vug_weight_slot_named(c, list->names, VUG_EMBEDDING_SLOT).name);
    const unsigned packs = find_packs(c, list, prefix);
    name_list missing = { 0 };
    vug_status st = VUG_OK;
    for (size_t i = 0; i < b->n_slots && st == VUG_OK; i++) {
        const vug_weight_slot slot = vug_weight_slot_named(c, list->names, i);
        if (slot.presence == VUG_TENSOR_ABSENT)
            continue;
        const weight_location at = find_weight(c, list, prefix, &slot);
        if (at.index < list->n)
            b->used[at.index] = true;
        if (slot.presence == VUG_TENSOR_IGNORED)
            continue;
        if (at.index < list->n) {
            st = bind_slot(b, i, list->tensor[at.index], &at, err);
            b->bound[at.index] = true;
        } else if (slot.row->need != VUG_OPTIONAL) {
            add_missing(c, packs, list, &slot, &missing);
        }
    }
    if (st != VUG_OK) {
        vug_buf_release(&missing.names);
        return st;
    }
    return fail_if_any(list->source, &missing, "missing", err);
}

vug_status vug_binding_init(const vug_config *config, const vug_tensor_list *list, vug_binding *out,
                            vug_err *err)
{
    vug_binding b = { .n_slots = vug_weight_slot_count(config),
                      .config = config,
                      .names = list->names };
    b.tensor = vug_alloc_zero(b.n_slots, sizeof(const vug_tensor *));
    b.row = vug_alloc_zero(b.n_slots, sizeof(*b.row));
    b.used = vug_alloc_zero(list->n, sizeof(*b.used));
    b.bound = vug_alloc_zero(list->n, sizeof(*b.bound));
    vug_status st = VUG_OK;
    if (!b.tensor || !b.row || !b.used || !b.bound)
        st = VUG_FAIL_NOMEM(err, list->source, b.n_slots * sizeof(void *));
    if (st == VUG_OK)
        st = bind_slots(config, list, &b, err);
    if (st == VUG_OK) {
        name_list extra = { 0 };
        for (size_t i = 0; i < list->n; i++) {
            if (!b.used[i] && !is_skipped(list->tensor[i]->name))
                add_name(&extra, "", list->tensor[i]->name);
        }
        char what[96];
        (void)snprintf(what, sizeof(what), "that %s does not have", config->arch->name);
        st = fail_if_any(list->source, &extra, what, err);
    }
    if (st != VUG_OK) {
        vug_binding_release(&b);
        return st;
    }
    const size_t head = vug_weight_slot_find(config, "output", -1);
    b.tied = head == b.n_slots || !b.tensor[head];
    *out = b;
    return VUG_OK;
}

vug_status vug_binding_init_without_data(const vug_config *config, vug_binding *out, vug_err *err)
{
    static const vug_tensor f32 = { .dtype = VUG_DTYPE_F32 }, f16 = { .dtype = VUG_DTYPE_F16 },
                            bf16 = { .dtype = VUG_DTYPE_BF16 };
    const vug_tensor *some = config->dtype == VUG_DTYPE_F32   ? &f32
                             : config->dtype == VUG_DTYPE_F16 ? &f16
                                                              : &bf16;
    vug_binding b = { .n_slots = vug_weight_slot_count(config),
                      .config = config,
                      .tied = config->tied };
    b.tensor = vug_alloc_zero(b.n_slots, sizeof(const vug_tensor *));
    if (!b.tensor)
        return VUG_FAIL_NOMEM(err, "the table of weights", b.n_slots * sizeof(void *));
    for (size_t i = 0; i < b.n_slots; i++) {
        const vug_weight_slot slot = vug_weight_slot_at(config, i);
        const bool head = strcmp(slot.row->hf, head_names[0]) == 0;
        const bool there = head ? !config->tied : slot.row->need != VUG_OPTIONAL;
        if (there && slot.presence == VUG_TENSOR_USED)
            b.tensor[i] = some;
    }
    *out = b;
    return VUG_OK;
}

void vug_binding_release(vug_binding *binding)
{
    vug_free(binding->tensor);
    vug_free(binding->row);
    vug_free(binding->used);
    vug_free(binding->bound);
    *binding = (vug_binding){ 0 };
}

bool vug_binding_has_weight(const vug_binding *b, const char *name, int layer)
{
    const size_t slot = vug_weight_slot_find(b->config, name, layer);
    return slot < b->n_slots && b->tensor[slot];
}

vug_status vug_binding_find_weight(const void *binding, const char *name, int layer,
                                   vug_weight_spec *out, vug_err *err)
{
    const vug_binding *b = binding;
    if (!vug_binding_has_weight(b, name, layer))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s, layer %d: the checkpoint has no weight '%s'",
                        b->config->arch->name, layer, name);
    const size_t slot = vug_weight_slot_find(b->config, name, layer);
    const vug_weight_slot at = vug_weight_slot_at(b->config, slot);
    vug_shape shape = at.shape;
    if (at.expert >= 0)
        shape = (vug_shape){ 3, { b->config->n_experts, shape.dim[0], shape.dim[1] } };
    *out = (vug_weight_spec){ .slot = (int)slot, .dtype = b->tensor[slot]->dtype, .shape = shape };
    return VUG_OK;
}
