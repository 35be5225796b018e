#ifndef VUG_MODELS_WEIGHT_SLOTS_H
#define VUG_MODELS_WEIGHT_SLOTS_H

/* Weight slots, as far as only the files of this folder need them. */

#include "models/common.h"

/* The slot of weight `name`, for experts that of the first; vug_weight_slot_count if there is
 * none. */
size_t vug_weight_slot_find(const vug_config *c, const char *name, int layer);
/* vug_weight_slot_at in this naming; the name is "" if that has none. */
vug_weight_slot vug_weight_slot_named(const vug_config *c, vug_tensor_naming names, size_t i);

/* Which part of the pack the slot's row is; -1: none. */
int vug_weight_slot_part(const vug_expert_pack_row *pack, const vug_weight_slot *slot);
/* The pack's tensor in the layer of `slot`. */
vug_weight_slot vug_weight_slot_packed(const vug_config *c, vug_tensor_naming names,
                                       const vug_expert_pack_row *pack,
                                       const vug_weight_slot *slot);
/* The pack in which published checkpoints store the slot; NULL: none. */
const vug_expert_pack_row *vug_weight_slot_pack(const vug_config *c, vug_tensor_naming names,
                                                const vug_weight_slot *slot);

#endif
