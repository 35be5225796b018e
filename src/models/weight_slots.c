/* Which tensors a config asks for: the rows of its architecture's table, expanded. */
#include <stdio.h>

#include "models/weight_slots.h"

/* `layer` is -1 outside the layers. */
static int64_t letter_value(const vug_config *c, int layer, char letter)
{
    const vug_layer_config own = vug_config_layer(c, layer);
    switch (letter) {
    case '1':
        return 1;
    case 'D':
        return c->d_model;
    case 'E':
        return own.d_head;
    case 'F':
        return own.d_ffn;
    case 'H':
        return c->n_heads;
    case 'I':
        return c->d_per_layer;
    case 'K':
        return own.n_kv_heads;
    case 'L':
        return c->n_layers;
    case 'N':
        return c->n_experts;
    case 'P':
        return (layer < 0 ? vug_config_d_head(c, false) : own.d_head) / 2;
    case 'U':
        return c->n_vocab_per_layer;
    case 'X':
        return c->d_expert;
    default:
        VUG_ASSERT(letter == 'V'); /* tables are constants */
        return c->n_vocab;
    }
}

/* Evaluates "H*E D". Every letter is at most 2^25 and a dimension is a product of at most
 * two, so nothing overflows. */
static vug_shape evaluate_shape(const vug_config *c, int layer, const char *letters)
{
    vug_shape shape = { .rank = 1, .dim = { 1 } };
    for (const char *p = letters; *p; p++) {
        if (*p == ' ')
            shape.dim[shape.rank++] = 1;
        else if (*p != '*')
            shape.dim[shape.rank - 1] *= letter_value(c, layer, *p);
    }
    return shape;
}

static bool is_in_config(const vug_config *c, const vug_tensor_row *row)
{
    if (row->need == VUG_WITH_ATTN_BIAS)
        return c->attn_bias;
    return row->need != VUG_WITH_MLP_BIAS || c->mlp_bias;
}

/* How many "%d" the name has: 1 for the layer, 2 with the expert. */
static int count_numbers(const vug_tensor_row *row)
{
    const char *layer = strstr(row->hf, "%d");
    if (!layer)
        return 0;
    return strstr(layer + 2, "%d") ? 2 : 1;
}

static size_t slots_per_layer(const vug_config *c, const vug_tensor_row *row)
{
    return count_numbers(row) == 2 ? (size_t)c->n_experts : 1;
}

static size_t slots_of_row(const vug_config *c, const vug_tensor_row *row)
{
    return count_numbers(row) ? (size_t)c->n_layers * slots_per_layer(c, row) : 1;
}

size_t vug_weight_slot_count(const vug_config *c)
{
    size_t n = 0;
    for (size_t r = 0; r < c->arch->n_rows; r++)
        n += slots_of_row(c, &c->arch->row[r]);
    return n;
}

size_t vug_weight_slot_find(const vug_config *c, const char *name, int layer)
{
    const vug_tensor_row *row = c->arch->row, *end = row + c->arch->n_rows;
    size_t first = 0;
    for (; row < end && strcmp(row->name, name) != 0; row++)
        first += slots_of_row(c, row);
    if (row < end && count_numbers(row) == 0)
        return first;
    if (row == end || layer < 0 || layer >= c->n_layers || slots_per_layer(c, row) == 0)
        return vug_weight_slot_count(c);
    return first + (size_t)layer * slots_per_layer(c, row);
}

static void set_hf_name(vug_weight_slot *slot, const char *hf)
{
    const int number[2] = { slot->layer, slot->expert };
    size_t at = 0;
    slot->name[0] = '\0';
    for (int i = 0; *hf && at < sizeof(slot->name) - 1;) {
        if (i < 2 && hf[0] == '%' && hf[1] == 'd') {
            at += (size_t)snprintf(slot->name + at, sizeof(slot->name) - at, "%d", number[i++]);
            hf += 2;
        } else {
            slot->name[at++] = *hf++;
            slot->name[at] = '\0';
        }
    }
    VUG_ASSERT(at < sizeof(slot->name)); /* tables are constants */
}

static void set_gguf_name(vug_weight_slot *slot, const char *gguf)
{
    const char *tail = gguf && !strchr(gguf, '.') ? ".weight" : "";
    if (slot->layer >= 0 && gguf)
        (void)snprintf(slot->name, sizeof(slot->name), "blk.%d.%s%s", slot->layer, gguf, tail);
    else
        (void)snprintf(slot->name, sizeof(slot->name), "%s%s", gguf ? gguf : "", tail);
}

static void set_name(vug_weight_slot *slot, vug_tensor_naming names, const char *hf,
                     const char *gguf)
{
    if (names == VUG_NAMES_GGUF)
        set_gguf_name(slot, gguf);
    else
        set_hf_name(slot, hf);
}

vug_weight_slot vug_weight_slot_named(const vug_config *c, vug_tensor_naming names, size_t i)
{
    const vug_tensor_row *row = c->arch->row;
    for (; i >= slots_of_row(c, row); row++)
        i -= slots_of_row(c, row);
    vug_weight_slot slot = { .row = row, .layer = -1, .expert = -1 };
    if (count_numbers(row))
        slot.layer = (int)(i / slots_per_layer(c, row));
    if (count_numbers(row) == 2)
        slot.expert = (int)(i % slots_per_layer(c, row));
    slot.shape = evaluate_shape(c, slot.layer, row->shape);
    if (!is_in_config(c, row))
        slot.presence = VUG_TENSOR_ABSENT;
    else if (c->arch->presence)
        slot.presence = c->arch->presence(c, row, slot.layer);
    set_name(&slot, names, row->hf, row->gguf);
    return slot;
}

vug_weight_slot vug_weight_slot_at(const vug_config *c, size_t i)
{
    return vug_weight_slot_named(c, VUG_NAMES_HF, i);
}

/* ---- packed experts -------------------------------------------------------- */

int vug_weight_slot_part(const vug_expert_pack_row *pack, const vug_weight_slot *slot)
{
    for (int i = 0; i < (int)(sizeof(pack->part) / sizeof(pack->part[0])); i++) {
        if (pack->part[i] && strcmp(pack->part[i], slot->row->name) == 0)
            return i;
    }
    return -1;
}

/* Every number is at most 2^24 and there are at most two parts: nothing overflows. */
vug_weight_slot vug_weight_slot_packed(const vug_config *c, vug_tensor_naming names,
                                       const vug_expert_pack_row *pack, const vug_weight_slot *slot)
{
    vug_weight_slot whole = *slot;
    const int parts = pack->part[1] ? 2 : 1;
    whole.shape =
            (vug_shape){ 3, { c->n_experts, parts * slot->shape.dim[0], slot->shape.dim[1] } };
    set_name(&whole, names, pack->hf, pack->gguf);
    return whole;
}

/* GGUF files get no packs of two parts, because llama.cpp reads them for few architectures. */
const vug_expert_pack_row *vug_weight_slot_pack(const vug_config *c, vug_tensor_naming names,
                                                const vug_weight_slot *slot)
{
    const bool gguf = names == VUG_NAMES_GGUF;
    for (size_t p = 0; slot->expert >= 0 && (gguf || c->arch->packed) && p < c->arch->n_packs;
         p++) {
        const vug_expert_pack_row *pack = &c->arch->pack[p];
        if (vug_weight_slot_part(pack, slot) >= 0 && !(gguf && pack->part[1]))
            return pack;
    }
    return NULL;
}

static bool find_slot_tensor(const vug_config *c, vug_tensor_naming names, size_t i,
                             vug_weight_slot *out)
{
    *out = vug_weight_slot_named(c, names, i);
    if (out->presence == VUG_TENSOR_ABSENT)
        return false;
    const vug_expert_pack_row *pack = vug_weight_slot_pack(c, names, out);
    if (!pack)
        return true;
    const bool first = vug_weight_slot_part(pack, out) == 0 && out->expert == 0;
    *out = vug_weight_slot_packed(c, names, pack, out);
    return first;
}

bool vug_weight_slot_tensor(const vug_config *c, size_t i, vug_weight_slot *out)
{
    return find_slot_tensor(c, VUG_NAMES_HF, i, out);
}

/* ---- GGUF -------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

/* If an architecture's norms add 1, converters add it to every tensor named norm. */
bool vug_weight_slot_gguf(const vug_config *c, size_t i, vug_weight_slot *out,
                          vug_gguf_storage *storage)
{
    if (!find_slot_tensor(c, VUG_NAMES_GGUF, i, out))
        return false;
    const char *name = out->row->name;
    *storage = VUG_STORED_AS_IS;
    if (c->arch->norm_weight == 0 && ends_with(out->row->hf, "norm.weight"))
        *storage = VUG_STORED_PLUS_ONE;
    else if (c->arch->gguf && c->arch->gguf->interleaved_rope &&
             (strncmp(name, "attn_q", 6) == 0 || strncmp(name, "attn_k", 6) == 0))
        *storage = VUG_STORED_INTERLEAVED;
    else if (strcmp(name, "rope_freqs") == 0 && vug_rope_freq_factors(c, NULL))
        *storage = VUG_STORED_FREQ_FACTORS;
    return true;
}

int64_t vug_rope_interleaved_row(int64_t row, int64_t d_head)
{
    const int64_t at = row % d_head;
    return row - at + at % 2 * (d_head / 2) + at / 2;
}
