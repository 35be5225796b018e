#ifndef VUG_TESTS_CONFIG_HELP_H
#define VUG_TESTS_CONFIG_HELP_H

/* Configs for tests, with ' for ". Include after cmocka.h. */

#include "models/models.h"

vug_status help_read_config(const char *text, vug_config *out, vug_err *err);
/* One that must be good. */
vug_config help_config(const char *text);

#endif
