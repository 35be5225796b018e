/* Which tensor of a checkpoint is which weight of its architecture. */
#include <stdio.h>
#include <stdlib.h>

#include "models/slots.h"

/* What text checkpoints and the text halves of multimodal ones put before their
 * names; longer ones first, since they contain the shorter. Source: the key
 * mappings of transformers 4 and 5 and of mlx-lm. */
static const char *const prefixes[] = {
    "model.language_model.model.",
    "model.language_model.",
    "language_model.model.",
    "language_model.",
    "model.",
    "",
};

/* A separate head lies outside the text prefix. */
static const char *const head_names[] = {
    "lm_head.weight",
    "language_model.lm_head.weight",
    "model.language_model.lm_head.weight",
    "model.lm_head.weight",
};

/* Parts of checkpoints that the text model does not use. */
static const char *const passed_over[] = {
    "vision_tower", "multi_modal_projector",
    "audio_tower",  "embed_vision",
    "embed_audio",  "vision_embedder",
    "rotary_emb",   ".input_min",
    ".input_max", /* ranges of activations, left by training for few bits */
    ".output_min",  ".output_max",
    ".input_scale", "activation_scale", /* of activations in 8 bits, which stay F32 here */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- finding -------------------------------------------------------------- */

static int by_name(const void *key, const void *element)
{
    const vug_tensor *const *tensor = element;
    return vug_str_compare(*(const vug_str *)key, (*tensor)->name);
}

/* Index in the list, or list->n. */
static size_t find(const vug_tensor_list *list, const char *prefix, const char *name)
{
    char full[192];
    (void)snprintf(full, sizeof(full), "%s%s", prefix, name);
    const vug_str key = vug_str_of(full);
    const vug_tensor *const *at =
            list->n ? bsearch(&key, list->tensor, list->n, sizeof(const vug_tensor *), by_name)
                    : NULL;
    return at ? (size_t)(at - list->tensor) : list->n;
}

const vug_tensor *vug_tensor_find(const vug_tensor_list *list, const char *name)
{
    const size_t at = find(list, "", name);
    return at < list->n ? list->tensor[at] : NULL;
}

static const char *find_prefix(const vug_tensor_list *list, const char *first)
{
    if (list->names == VUG_NAMES_GGUF)
        return "";
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (find(list, prefixes[i], first) < list->n)
            return prefixes[i];
    }
    return "model.";
}

static size_t find_slot(const vug_tensor_list *list, const char *prefix, const vug_slot *slot)
{
    size_t at = find(list, prefix, slot->name);
    const bool head = strcmp(slot->name, head_names[0]) == 0;
    for (size_t i = 0; head && at == list->n && i < COUNT(head_names); i++)
        at = find(list, head_names[i], "");
    if (slot->row->need == VUG_OPTIONAL && at == list->n)
        at = find(list, slot->name, "");
    const size_t n = strlen(slot->name), tail = strlen(".weight");
    if (at == list->n && (n < tail || strcmp(slot->name + n - tail, ".weight") != 0)) {
        char longer[sizeof(slot->name) + 8];
        (void)snprintf(longer, sizeof(longer), "%s.weight", slot->name);
        at = find(list, prefix, longer);
    }
    return at;
}

/* Where a slot's weight lies. */
typedef struct {
    size_t at;       /* in the list; list->n: nowhere */
    vug_slot tensor; /* what the tensor must be */
    int64_t row;     /* at which the weight begins in it */
} home;

/* In a tensor of its own or, of an expert, in one with others. */
static home find_home(const vug_config *c, const vug_tensor_list *list, const char *prefix,
                      const vug_slot *slot)
{
    home own = { .at = find_slot(list, prefix, slot), .tensor = *slot };
    for (size_t p = 0; own.at == list->n && slot->expert >= 0 && p < c->arch->n_packs; p++) {
        const vug_pack_row *pack = &c->arch->pack[p];
        const int part = vug_slot_part(pack, slot);
        if (part < 0)
            continue;
        const vug_slot whole = vug_slot_packed(c, list->names, pack, slot);
        const int64_t parts = pack->part[1] ? 2 : 1;
        const size_t at = find_slot(list, prefix, &whole);
        if (at < list->n)
            own = (home){ at, whole, (slot->expert * parts + part) * slot->shape.dim[0] };
    }
    return own;
}

static bool is_passed_over(vug_str name)
{
    for (size_t p = 0; p < COUNT(passed_over); p++) {
        const size_t n = strlen(passed_over[p]);
        for (size_t i = 0; i + n <= name.len; i++) {
            if (memcmp(name.ptr + i, passed_over[p], n) == 0)
                return true;
        }
    }
    return false;
}

/* ---- checking -------------------------------------------------------------- */

/* Vectors are numbers by themselves; matrices may be in blocks, and have scales. */
static vug_status check_format(const vug_tensor *t, vug_err *err)
{
    const vug_dtype_info *format = vug_dtype_of(t->dtype);
    const bool known = format->decode || t->scales.scale;
    if (!known && t->dtype == VUG_DTYPE_U32)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s' has format U32 and no scales beside it; as a weight of "
                        "MLX it would have them",
                        t->file, VUG_STR_ARG(t->name));
    if (!known || (t->rank < 2 && format->elements > 1))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: tensor '%.*s' has format %s; %s", t->file,
                        VUG_STR_ARG(t->name), format->name,
                        known ? "a vector must be BF16, F16 or F32"
                              : "weights must be BF16, F16, F32 or quantized (docs/formats.md)");
    return VUG_OK;
}

static vug_status check_tensor(const vug_tensor *t, const vug_slot *slot, vug_err *err)
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

/* A sentence about several tensors: their number and the first names. */
typedef struct {
    size_t n;
    vug_buf names;
} name_list;

static void add_name(name_list *list, const char *prefix, vug_str name)
{
    enum { SHOWN = 4 };
    if (list->n < SHOWN)
        vug_buf_printf(&list->names, "%s%s%.*s", list->n ? ", " : "", prefix, VUG_STR_ARG(name));
    else if (list->n == SHOWN)
        vug_buf_puts(&list->names, ", ...");
    list->n++;
}

static vug_status refuse_names(const char *source, name_list *list, const char *what, vug_err *err)
{
    vug_status st = VUG_OK;
    if (list->n)
        st = VUG_FAIL(err, VUG_FORMAT, "%s: %zu tensor%s %s: %s", source, list->n,
                      list->n == 1 ? "" : "s", what, list->names.ptr ? list->names.ptr : "");
    vug_buf_release(&list->names);
    return st;
}

/* Packs of which the checkpoint has one in some layer, as bits. */
static unsigned packs_in(const vug_config *c, const vug_tensor_list *list, const char *prefix)
{
    unsigned found = 0;
    VUG_ASSERT(c->arch->n_packs <= 32); /* tables are ours */
    for (size_t p = 0; p < c->arch->n_packs; p++) {
        vug_slot slot = { .row = c->arch->row, .expert = -1 };
        for (slot.layer = 0; slot.layer < c->n_layers; slot.layer++) {
            const vug_slot whole = vug_slot_packed(c, list->names, &c->arch->pack[p], &slot);
            if (find_slot(list, prefix, &whole) < list->n)
                found |= 1u << p;
        }
    }
    return found;
}

/* The pack that a slot is missed in: one whose like other layers have, or else the
 * published one. */
static const vug_pack_row *missing_pack(const vug_config *c, unsigned packs, vug_names names,
                                        const vug_slot *slot)
{
    for (size_t p = 0; slot->expert >= 0 && p < c->arch->n_packs; p++) {
        if (packs & 1u << p && vug_slot_part(&c->arch->pack[p], slot) >= 0)
            return &c->arch->pack[p];
    }
    return packs && names == VUG_NAMES_HF ? NULL : vug_slot_pack(c, names, slot);
}

/* Adds the tensor that is missing, of packed experts the pack, once. */
static void add_missing(const vug_config *c, unsigned packs, const vug_tensor_list *list,
                        const vug_slot *slot, name_list *missing)
{
    const char *prefix = find_prefix(list, vug_slot_named(c, list->names, VUG_SLOT_EMBEDDING).name);
    const vug_pack_row *pack = missing_pack(c, packs, list->names, slot);
    if (!pack)
        add_name(missing, prefix, vug_str_of(slot->name));
    else if (vug_slot_part(pack, slot) == 0 && slot->expert == 0)
        add_name(missing, prefix, vug_str_of(vug_slot_packed(c, list->names, pack, slot).name));
}

/* Tensor `at` of the list becomes slot `i`, which begins at one of its rows. */
static vug_status bind_slot(vug_binding *b, size_t i, const vug_tensor *t, const home *h,
                            vug_err *err)
{
    VUG_TRY(check_tensor(t, &h->tensor, err));
    if (t->rank >= 2 && t->dim[t->rank - 1] % vug_dtype_of(t->dtype)->elements != 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s': a row of %lld is no whole number of blocks of %s",
                        t->file, VUG_STR_ARG(t->name), (long long)t->dim[t->rank - 1],
                        vug_dtype_of(t->dtype)->name);
    if (t->rank >= 2 && !vug_tensor_begins(t, h->row))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s': %lld rows share a scale, and its parts begin between",
                        t->file, VUG_STR_ARG(t->name), (long long)t->scales.rows);
    b->tensor[i] = t;
    b->row[i] = h->row;
    return VUG_OK;
}

static vug_status bind_slots(const vug_config *c, const vug_tensor_list *list, vug_binding *b,
                             vug_err *err)
{
    const char *prefix = find_prefix(list, vug_slot_named(c, list->names, VUG_SLOT_EMBEDDING).name);
    const unsigned packs = packs_in(c, list, prefix);
    name_list missing = { 0 };
    vug_status st = VUG_OK;
    for (size_t i = 0; i < b->n_slots && st == VUG_OK; i++) {
        const vug_slot slot = vug_slot_named(c, list->names, i);
        if (slot.presence == VUG_TENSOR_NONE)
            continue;
        const home h = find_home(c, list, prefix, &slot);
        if (h.at < list->n)
            b->used[h.at] = true;
        if (slot.presence == VUG_TENSOR_UNREAD)
            continue;
        if (h.at < list->n) {
            st = bind_slot(b, i, list->tensor[h.at], &h, err);
            b->bound[h.at] = true;
        } else if (slot.row->need != VUG_OPTIONAL) {
            add_missing(c, packs, list, &slot, &missing);
        }
    }
    if (st != VUG_OK) {
        vug_buf_release(&missing.names);
        return st;
    }
    return refuse_names(list->source, &missing, "missing", err);
}

vug_status vug_bind(const vug_config *config, const vug_tensor_list *list, vug_binding *out,
                    vug_err *err)
{
    vug_binding b = { .n_slots = vug_slot_count(config), .config = config, .names = list->names };
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
            if (!b.used[i] && !is_passed_over(list->tensor[i]->name))
                add_name(&extra, "", list->tensor[i]->name);
        }
        char what[96];
        (void)snprintf(what, sizeof(what), "that %s does not have", config->arch->name);
        st = refuse_names(list->source, &extra, what, err);
    }
    if (st != VUG_OK) {
        vug_binding_release(&b);
        return st;
    }
    const size_t head = vug_slot_of(config, "output", -1);
    b.tied = head == b.n_slots || !b.tensor[head];
    *out = b;
    return VUG_OK;
}

vug_status vug_bind_none(const vug_config *config, vug_binding *out, vug_err *err)
{
    static const vug_tensor f32 = { .dtype = VUG_DTYPE_F32 }, f16 = { .dtype = VUG_DTYPE_F16 },
                            bf16 = { .dtype = VUG_DTYPE_BF16 };
    const vug_tensor *some = config->dtype == VUG_DTYPE_F32   ? &f32
                             : config->dtype == VUG_DTYPE_F16 ? &f16
                                                              : &bf16;
    vug_binding b = { .n_slots = vug_slot_count(config), .config = config, .tied = config->tied };
    b.tensor = vug_alloc_zero(b.n_slots, sizeof(const vug_tensor *));
    if (!b.tensor)
        return VUG_FAIL_NOMEM(err, "the table of weights", b.n_slots * sizeof(void *));
    for (size_t i = 0; i < b.n_slots; i++) {
        const vug_slot slot = vug_slot_at(config, i);
        const bool head = strcmp(slot.row->hf, head_names[0]) == 0;
        const bool there = head ? !config->tied : slot.row->need != VUG_OPTIONAL;
        if (there && slot.presence == VUG_TENSOR_READ)
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

bool vug_binding_has(const vug_binding *b, const char *name, int layer)
{
    const size_t slot = vug_slot_of(b->config, name, layer);
    return slot < b->n_slots && b->tensor[slot];
}

vug_status vug_binding_weight(const void *binding, const char *name, int layer,
                              vug_weight_spec *out, vug_err *err)
{
    const vug_binding *b = binding;
    if (!vug_binding_has(b, name, layer))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s, layer %d: the checkpoint has no weight '%s'",
                        b->config->arch->name, layer, name);
    const size_t slot = vug_slot_of(b->config, name, layer);
    const vug_slot at = vug_slot_at(b->config, slot);
    vug_shape shape = at.shape;
    if (at.expert >= 0)
        shape = (vug_shape){ 3, { b->config->n_experts, shape.dim[0], shape.dim[1] } };
    *out = (vug_weight_spec){ .slot = (int)slot, .dtype = b->tensor[slot]->dtype, .shape = shape };
    return VUG_OK;
}
