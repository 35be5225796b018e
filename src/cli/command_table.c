#include "cli/command_table.h"

#include <string.h>

#include "cli/suggest.h"

const vug_command_row vug_command_rows[VUG_COMMAND_COUNT] = {
#define COMMAND(NAME, name, ...) { #name, __VA_ARGS__ },
#include "cli/commands.def"
#undef COMMAND
};

vug_command vug_command_find(const char *name)
{
    int c = 0;
    while (c < VUG_COMMAND_COUNT && strcmp(name, vug_command_rows[c].name) != 0)
        c++;
    return (vug_command)c;
}

const char *vug_command_suggest(const char *name)
{
    const char *found = NULL;
    size_t best = SIZE_MAX;
    for (int c = 0; c < VUG_COMMAND_COUNT; c++)
        if (vug_suggest_better(name, vug_command_rows[c].name, &best))
            found = vug_command_rows[c].name;
    return found;
}

vug_model_operand vug_command_model(vug_command command)
{
    const char *operands = vug_command_rows[command].operands;
    if (strcmp(operands, "[MODEL] [PROMPT]") == 0)
        return VUG_MODEL_OR_PROMPT;
    if (strncmp(operands, "[MODEL]", 7) == 0)
        return VUG_MODEL_OPTIONAL;
    return strncmp(operands, "MODEL", 5) == 0 ? VUG_MODEL_REQUIRED : VUG_MODEL_NONE;
}
