#ifndef VUG_APP_PEBBLE_H
#define VUG_APP_PEBBLE_H

/* pebble, the small model that comes with vug: where it lies, and who means it. */

#include "app/options.h"

#define VUG_PEBBLE "pebble"

/*
 * Makes the operands what a command reads: the word `pebble` where a MODEL stands
 * becomes the folder of the model, unless the user has a folder of that name; and a
 * command whose MODEL may be left out gets it in front when it was. A single operand
 * is left as MODEL unless it can only be a text: it is empty, `-`, or has a blank, and
 * is no folder and does not begin as a path does (`/`, `./`, `../`, `~`).
 */
VUG_MUST_CHECK vug_status vug_pebble_operands(vug_options *o, vug_command command, vug_err *err);

#endif
