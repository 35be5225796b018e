#ifndef VUG_CLI_COMMAND_TABLE_H
#define VUG_CLI_COMMAND_TABLE_H

/* The rows of commands.def as data. */

#include <stddef.h>

typedef enum {
#define COMMAND(NAME, ...) VUG_COMMAND_##NAME,
#include "cli/commands.def"
#undef COMMAND
    VUG_COMMAND_COUNT
} vug_command;

typedef struct {
    const char *name;
    size_t min_operands, max_operands;
    const char *operands, *summary, *description, *example;
} vug_command_row;

extern const vug_command_row vug_command_rows[VUG_COMMAND_COUNT];

/* VUG_COMMAND_COUNT if there is no command of that name. */
vug_command vug_command_find(const char *name);
/* The command that a misspelt name probably means, or NULL. */
const char *vug_command_suggest(const char *name);

/* What the first operand of a command is. */
typedef enum {
    VUG_MODEL_NONE,
    VUG_MODEL_REQUIRED,
    VUG_MODEL_OPTIONAL,
    VUG_MODEL_OR_PROMPT, /* optional; a single operand may be the prompt instead */
} vug_model_operand;
vug_model_operand vug_command_model(vug_command command);

#endif
