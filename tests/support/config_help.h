#ifndef VUG_TESTS_SUPPORT_CONFIG_HELP_H
#define VUG_TESTS_SUPPORT_CONFIG_HELP_H

/* Reads configs for tests, written with ' for ". Include after cmocka.h. */

#include "models/models.h"

vug_status help_read_config(const char *text, vug_config *out, vug_err *err);
/* Fails the test unless the config is valid. */
vug_config help_config(const char *text);

#endif
