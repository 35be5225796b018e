#ifndef VUG_CLI_DEFAULT_MODEL_H
#define VUG_CLI_DEFAULT_MODEL_H

/* pebble, the small model that comes with vug, and which operands refer to it. */

#include "cli/options.h"

#define VUG_DEFAULT_MODEL "pebble"

/*
 * Resolves the MODEL operand. A missing optional MODEL is inserted, and `pebble` is replaced
 * by the path of that model, unless the user has a folder of that name. A single operand of
 * `vug run` is the PROMPT if it is empty, is `-`, or contains a blank, does not exist as a
 * file or folder, and does not start like a path (`/`, `./`, `../`, `~`).
 */
VUG_MUST_CHECK vug_status vug_default_model_resolve(vug_options *o, vug_command command,
                                                    vug_err *err);

#endif
