#ifndef VUG_CLI_COMMANDS_H
#define VUG_CLI_COMMANDS_H

/* One function per command, in cmd_NAME.c, that returns the exit code. */

#include "cli/options.h"
#include "cli/ui.h"

#define COMMAND(NAME, name, ...) int vug_cmd_##name(vug_ui *ui, const vug_options *opt);
#include "cli/commands.def"
#undef COMMAND

#endif
