#ifndef VUG_MODELS_SLOTS_H
#define VUG_MODELS_SLOTS_H

/* What only bind.c needs of slots. */

#include "models/common.h"

/* The slot of weight `name`, of experts the first; vug_slot_count where the config has
 * none. */
size_t vug_slot_of(const vug_config *c, const char *name, int layer);
/* vug_slot_at with these names; "" where they have none for it. */
vug_slot vug_slot_named(const vug_config *c, vug_names names, size_t i);

/* bind.c; NULL when there is none of that very name. */
const vug_tensor *vug_tensor_find(const vug_tensor_list *list, const char *name);

/* The place of the slot's row in a pack; -1: it is not in it. */
int vug_slot_part(const vug_pack_row *pack, const vug_slot *slot);
/* The tensor that has the slot, or any slot of its layer, among those of all experts. */
vug_slot vug_slot_packed(const vug_config *c, vug_names names, const vug_pack_row *pack,
                         const vug_slot *slot);
/* The pack in which published checkpoints keep the slot; NULL: in none. */
const vug_pack_row *vug_slot_pack(const vug_config *c, vug_names names, const vug_slot *slot);

#endif
