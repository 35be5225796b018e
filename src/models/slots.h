#ifndef VUG_MODELS_SLOTS_H
#define VUG_MODELS_SLOTS_H

/* What only bind.c needs of slots. */

#include "models/models.h"

/* The slot of weight `name`, of experts the first; vug_slot_count where the config has
 * none. */
size_t vug_slot_of(const vug_config *c, const char *name, int layer);
/* Names it by the pattern `hf`, with its layer and expert. */
void vug_slot_set_name(vug_slot *slot, const char *hf);

/* The place of the slot's row in a pack; -1: it is not in it. */
int vug_slot_part(const vug_pack_row *pack, const vug_slot *slot);
/* The tensor that has the slot among those of all experts. */
vug_slot vug_slot_packed(const vug_config *c, const vug_pack_row *pack, const vug_slot *slot);

#endif
