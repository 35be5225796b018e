#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_H

/*
 * Jinja templates, to the extent that published chat templates use, as transformers runs them
 * (utils/chat_template_utils.py: trim_blocks, lstrip_blocks, break and continue, its own
 * tojson). Templates are untrusted: their steps, depth and output are limited.
 */

#include "core/json.h"
#include "core/status.h"
#include "vug/chat.h"

typedef struct vug_template vug_template; /* read-only once parsed */

/* Copies `source`. Error messages give `name` and the line. */
VUG_MUST_CHECK vug_status vug_template_parse(vug_str source, const char *name, vug_template **out,
                                             vug_err *err);
void vug_template_destroy(vug_template *tmpl);

typedef struct {
    const char *name;
    const vug_jv *value;
    bool untrusted; /* text of users and tools, which taints the output */
} vug_template_var;

/* `now`: the time for strftime_now, in seconds since 1970, local time. */
VUG_MUST_CHECK vug_status vug_template_render(const vug_template *tmpl, const vug_template_var *var,
                                              size_t n, int64_t now, vug_prompt *out, vug_err *err);

#endif
