#ifndef VUG_APP_OPTION_ROWS_H
#define VUG_APP_OPTION_ROWS_H

/* The rows of options.def as data, for options.c, which parses, and help.c. */

#include "app/options.h"

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
    unsigned commands; /* bit of each command that takes it */
    size_t at;         /* offset of the field in vug_options */
    const char *flag, *def, *value, *help;
    double min, max;
    char letter;
} vug_option_row;

extern const vug_option_row vug_option_rows[VUG_OPTION_COUNT];

static inline bool vug_option_of(const vug_option_row *row, vug_command command)
{
    return (row->commands >> command & 1u) != 0;
}

#endif
