/* Which tensor of a checkpoint is which weight of its architecture. */
#include <stdio.h>
#include <stdlib.h>

#include "models/models.h"

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
    "vision_tower", "multi_modal_projector", "audio_tower", "embed_vision",
    "embed_audio",  "vision_embedder",       "rotary_emb",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- slots ---------------------------------------------------------------- */

static int64_t letter_value(const vug_config *c, char letter)
{
    switch (letter) {
    case 'D':
        return c->d_model;
    case 'E':
        return c->d_head;
    case 'F':
        return c->d_ffn;
    case 'H':
        return c->n_heads;
    case 'K':
        return c->n_kv_heads;
    case 'P':
        return c->d_head / 2;
    default:
        VUG_ASSERT(letter == 'V'); /* tables are ours */
        return c->n_vocab;
    }
}

/* "H*E D" with the config's numbers. Every letter is at most 2^24 and a dimension
 * is a product of at most two, so nothing overflows. */
static vug_shape shape_from(const vug_config *c, const char *letters)
{
    vug_shape shape = { .rank = 1, .dim = { 1 } };
    for (const char *p = letters; *p; p++) {
        if (*p == ' ')
            shape.dim[shape.rank++] = 1;
        else if (*p != '*')
            shape.dim[shape.rank - 1] *= letter_value(c, *p);
    }
    return shape;
}

static bool is_wanted(const vug_config *c, const vug_tensor_row *row)
{
    if (row->need == VUG_WITH_ATTN_BIAS)
        return c->attn_bias;
    return row->need != VUG_WITH_MLP_BIAS || c->mlp_bias;
}

size_t vug_slot_count(const vug_config *c)
{
    size_t n = 0;
    for (size_t r = 0; r < c->arch->n_rows; r++)
        n += c->arch->row[r].per_layer ? (size_t)c->n_layers : 1;
    return n;
}

/* The first slot of row `r`. */
static size_t slot_base(const vug_config *c, size_t r)
{
    size_t base = 0;
    for (size_t i = 0; i < r; i++)
        base += c->arch->row[i].per_layer ? (size_t)c->n_layers : 1;
    return base;
}

vug_slot vug_slot_at(const vug_config *c, size_t i)
{
    size_t r = 0;
    while (i >= (c->arch->row[r].per_layer ? (size_t)c->n_layers : 1)) {
        i -= c->arch->row[r].per_layer ? (size_t)c->n_layers : 1;
        r++;
    }
    const vug_tensor_row *row = &c->arch->row[r];
    vug_slot slot = { .row = row,
                      .layer = row->per_layer ? (int)i : -1,
                      .wanted = is_wanted(c, row),
                      .shape = shape_from(c, row->shape) };
    const char *layer = strstr(row->hf, "%d");
    if (layer)
        (void)snprintf(slot.name, sizeof(slot.name), "%.*s%d%s", (int)(layer - row->hf), row->hf,
                       slot.layer, layer + 2);
    else
        (void)snprintf(slot.name, sizeof(slot.name), "%s", row->hf);
    return slot;
}

/* ---- finding -------------------------------------------------------------- */

static int by_name(const void *key, const void *element)
{
    const vug_str *name = key;
    const vug_tensor *const *tensor = element;
    const size_t n = name->len < (*tensor)->name.len ? name->len : (*tensor)->name.len;
    const int order = memcmp(name->ptr, (*tensor)->name.ptr, n);
    if (order)
        return order;
    return name->len < (*tensor)->name.len ? -1 : name->len > (*tensor)->name.len;
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

static const char *find_prefix(const vug_tensor_list *list, const char *first)
{
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
    return at;
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

static vug_status check_tensor(const vug_tensor *t, const vug_slot *slot, vug_err *err)
{
    const vug_dtype_info *format = vug_dtype_of(t->dtype);
    if (!format->decode)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s' has format %s; weights must be BF16, F16 or F32",
                        t->file, VUG_STR_ARG(t->name), format->name);
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

static vug_status bind_slots(const vug_config *c, const vug_tensor_list *list, vug_binding *b,
                             vug_err *err)
{
    const char *prefix = find_prefix(list, vug_slot_at(c, VUG_SLOT_EMBEDDING).name);
    name_list missing = { 0 };
    vug_status st = VUG_OK;
    for (size_t i = 0; i < b->n_slots && st == VUG_OK; i++) {
        const vug_slot slot = vug_slot_at(c, i);
        if (!slot.wanted)
            continue;
        const size_t at = find_slot(list, prefix, &slot);
        if (at < list->n) {
            st = check_tensor(list->tensor[at], &slot, err);
            b->tensor[i] = list->tensor[at];
            b->used[at] = true;
        } else if (slot.row->need != VUG_OPTIONAL) {
            add_name(&missing, prefix, vug_str_of(slot.name));
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
    vug_binding b = { .n_slots = vug_slot_count(config), .config = config };
    b.tensor = vug_alloc_zero(b.n_slots, sizeof(const vug_tensor *));
    b.used = vug_alloc_zero(list->n, sizeof(*b.used));
    vug_status st = VUG_OK;
    if (!b.tensor || !b.used)
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
    for (size_t r = 0; r < config->arch->n_rows; r++) {
        if (strcmp(config->arch->row[r].hf, head_names[0]) == 0)
            b.tied = !b.tensor[slot_base(config, r)];
    }
    *out = b;
    return VUG_OK;
}

void vug_binding_release(vug_binding *binding)
{
    vug_free(binding->tensor);
    vug_free(binding->used);
    *binding = (vug_binding){ 0 };
}

vug_status vug_binding_weight(const void *binding, const char *name, int layer,
                              vug_weight_spec *out, vug_err *err)
{
    const vug_binding *b = binding;
    const vug_arch *arch = b->config->arch;
    for (size_t r = 0; r < arch->n_rows; r++) {
        if (strcmp(arch->row[r].name, name) != 0)
            continue;
        const bool in_layer = arch->row[r].per_layer;
        if (in_layer && layer < 0)
            break;
        const size_t slot = slot_base(b->config, r) + (in_layer ? (size_t)layer : 0);
        if (!b->tensor[slot])
            break;
        *out = (vug_weight_spec){ .slot = (int)slot,
                                  .dtype = b->tensor[slot]->dtype,
                                  .shape = shape_from(b->config, arch->row[r].shape) };
        return VUG_OK;
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "%s, layer %d: the checkpoint has no weight '%s'",
                    arch->name, layer, name);
}
