#ifndef VUG_APP_COMMANDS_H
#define VUG_APP_COMMANDS_H

/* One function per command, in cmd_NAME.c; each returns an exit code. */

#include "app/ui.h"

#define COMMAND(NAME, name, ...) int vug_cmd_##name(vug_ui *ui, const vug_options *opt);
#include "app/commands.def"
#undef COMMAND

#endif
