#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_H

/*
 * The Jinja that published chat templates are written in, as transformers runs it
 * (utils/chat_template_utils.py: trim_blocks, lstrip_blocks, break and continue, its
 * own tojson). A template is untrusted: its steps, depth and output are limited.
 */

#include "core/json.h"
#include "core/status.h"
#include "vug/chat.h"

typedef struct vug_template vug_template; /* read-only once parsed */

/* `source` is copied; `name` is for sentences, which give the line. */
VUG_MUST_CHECK vug_status vug_template_parse(vug_str source, const char *name, vug_template **out,
                                             vug_err *err);
void vug_template_destroy(vug_template *tmpl);

typedef struct {
    const char *name;
    const vug_jv *value;
    bool foreign; /* its strings are somebody's text: where they end up is `plain` */
} vug_template_var;

/* `now` is what strftime_now formats, in seconds since 1970, local time. */
VUG_MUST_CHECK vug_status vug_template_render(const vug_template *tmpl, const vug_template_var *var,
                                              size_t n, int64_t now, vug_prompt *out, vug_err *err);

#endif
