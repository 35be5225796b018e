#ifndef VUG_CLI_HELP_H
#define VUG_CLI_HELP_H

/* Help texts, appended to `to`. */

#include "cli/command_table.h"
#include "core/mem.h"

void vug_help_all(vug_buf *to);
void vug_help_command(vug_buf *to, vug_command command);

#endif
