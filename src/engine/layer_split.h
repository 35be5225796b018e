#ifndef VUG_ENGINE_LAYER_SPLIT_H
#define VUG_ENGINE_LAYER_SPLIT_H

/*
 * A model's layers on two devices, which look like one to the rest of the engine: a backend whose
 * programs are two programs, one for each device. A step runs the first program, gives the second
 * one the values that cross, such as the hidden state, and runs it. The groups of the first
 * program's caches come first, then those of the second one; each device has the pages of its own.
 */

#include "backend/backend.h"

typedef struct {
    const vug_backend *backend;
    vug_device *device;
} vug_split_part;

/* Takes the devices of both parts, also on failure. `graph` is the model's: the layers from `layer`
 * on, and what depends on them, are on the second device, which gets the weights that they read.
 * Fails if they read keys and values of earlier layers. */
VUG_MUST_CHECK vug_status vug_layer_split_open(const vug_split_part part[2], const vug_graph *graph,
                                               int layer, vug_device **out, vug_err *err);
/* The backend of the device, with which it is used and closed. It has no `open`, no `measure`, and lives
 * as long as the device. */
const vug_backend *vug_layer_split_backend(const vug_device *split);
/* The first layer of the second part. */
int vug_layer_split_layer(const vug_device *split);

/* What one of the two devices has of a program. */
typedef struct {
    const vug_backend *backend;
    const vug_device *device;
    const vug_graph *graph;    /* of its program */
    uint64_t weights;          /* bytes of the device's memory that hold weights */
    vug_program_sizes program; /* all-zero: nothing of the program runs there */
} vug_split_share;

vug_split_share vug_layer_split_share(const vug_program *program, int part);

#endif
