#ifndef VUG_TESTS_SUPPORT_TEMPLATE_HELP_H
#define VUG_TESTS_SUPPORT_TEMPLATE_HELP_H

/* Templates, rendered for a test. */

#include "text/template/template.h"

enum { TEMPLATE_MAX_VARIABLES = 24 };

/* Renders `source` with the members of the JSON object `variables`, all of them untrusted, at
 * 2023-11-14 22:13:20 UTC. */
vug_status template_render(const char *source, const char *variables, vug_prompt *out,
                           vug_err *err);
void template_release(vug_prompt *prompt);
/* Fails the test unless the text is `want`. */
void template_expect(const char *source, const char *variables, const char *want);
/* Fails the test unless rendering fails with that message. */
void template_refuse(const char *source, const char *variables, const char *message);
/* The members of an object as variables; returns how many. */
size_t template_variables(const vug_jv *object, vug_arena *arena, vug_template_var *var);

#endif
