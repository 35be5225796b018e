#ifndef VUG_APP_OPTIONS_H
#define VUG_APP_OPTIONS_H

/* The command line: commands.def and options.def made into types. */

#include "core/mem.h"
#include "core/status.h"

typedef enum {
#define COMMAND(NAME, ...) VUG_COMMAND_##NAME,
#include "app/commands.def"
#undef COMMAND
    VUG_COMMAND_COUNT
} vug_command;

/* One for each row of options.def. */
typedef enum {
#define OPT(type, field, ...) VUG_OPTION_##field,
#include "app/options.def"
#undef OPT
    VUG_OPTION_COUNT
} vug_option;

typedef struct {
    const char **item; /* [n] */
    size_t n;
} vug_option_list;

#define VUG_OPTION_TYPE_flag   bool
#define VUG_OPTION_TYPE_int    int
#define VUG_OPTION_TYPE_f64    double
#define VUG_OPTION_TYPE_u64    uint64_t
#define VUG_OPTION_TYPE_size   uint64_t
#define VUG_OPTION_TYPE_str    const char *
#define VUG_OPTION_TYPE_choice const char *
#define VUG_OPTION_TYPE_list   vug_option_list

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order is that of --help */
typedef struct {
#define OPT(type, field, ...) VUG_OPTION_TYPE_##type field;
#include "app/options.def"
#undef OPT
    bool given[VUG_OPTION_COUNT]; /* by the user, not by a default */
    const char **operand;         /* [n_operands]; of argv, with room for one more */
    size_t n_operands;
    vug_arena arena; /* of operand and lists */
} vug_options;

/* Reads argv[0..argc), which begins after the command's name. The strings are
 * borrowed. With --help operands are not counted. */
VUG_MUST_CHECK vug_status vug_options_parse(vug_options *o, vug_command command, int argc,
                                            const char *const *argv, vug_err *err);
void vug_options_release(vug_options *o);
/* What they say about opening a model. */
vug_model_options vug_options_model(const vug_options *o);

/* VUG_COMMAND_COUNT when there is none of that name. */
vug_command vug_command_find(const char *name);
const char *vug_command_name(vug_command command);
/* The command whose name is nearest to a misspelt one, or NULL. */
const char *vug_command_near(const char *name);

/* What the first operand of a command is, as its row says: "MODEL", "[MODEL]". */
typedef enum {
    VUG_MODEL_NONE,
    VUG_MODEL_FIRST,
    VUG_MODEL_OR_PEBBLE, /* may be left out */
    VUG_MODEL_OR_PROMPT, /* likewise, and a single operand may be the prompt */
} vug_model_use;
vug_model_use vug_command_model(vug_command command);

/* Help texts, appended to `to`. */
void vug_help_all(vug_buf *to);
void vug_help_command(vug_buf *to, vug_command command);

#endif
