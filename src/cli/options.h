#ifndef VUG_CLI_OPTIONS_H
#define VUG_CLI_OPTIONS_H

/* The command line: the rows of options.def as a struct, as data, and as a parser. */

#include "cli/command_table.h"
#include "core/mem.h"
#include "core/status.h"
#include "vug/embed.h"

/* One for each row of options.def. */
typedef enum {
#define OPT(type, field, ...) VUG_OPTION_##field,
#include "cli/options.def"
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
#include "cli/options.def"
#undef OPT
    bool given[VUG_OPTION_COUNT]; /* set by the user, not by a default */
    const char **operand;         /* [n_operands], in argv; has room for one more */
    size_t n_operands;
    vug_arena arena; /* owns `operand` and the lists */
} vug_options;

typedef enum {
    VUG_OPTION_flag,
    VUG_OPTION_int,
    VUG_OPTION_f64,
    VUG_OPTION_u64,
    VUG_OPTION_size,
    VUG_OPTION_str,
    VUG_OPTION_choice,
    VUG_OPTION_list,
} vug_option_type;

typedef struct {
    vug_option_type type;
    unsigned commands; /* bits of the commands that take the option */
    size_t offset;     /* of the field in vug_options */
    const char *flag, *default_text, *value, *help;
    double min, max;
    char letter;
} vug_option_row;

extern const vug_option_row vug_option_rows[VUG_OPTION_COUNT];

static inline bool vug_option_applies(const vug_option_row *row, vug_command command)
{
    return (row->commands >> command & 1u) != 0;
}

/* Parses argv[0..argc), the arguments after the command name. Strings are borrowed. With
 * --help the number of operands is not checked. */
VUG_MUST_CHECK vug_status vug_options_parse(vug_options *o, vug_command command, int argc,
                                            const char *const *argv, vug_err *err);
void vug_options_release(vug_options *o);
/* The options for opening a model. */
vug_speculation_mode vug_options_speculation(const vug_options *opt);
vug_pooling vug_options_pooling(const vug_options *opt);
vug_model_options vug_options_model(const vug_options *o);

#endif
