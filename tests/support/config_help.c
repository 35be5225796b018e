

#include "test.h"

#include "config_help.h"
#include "core/mem.h"

vug_status help_read_config(const char *text, vug_config *out, vug_err *err)
{
    char *json = vug_strdup(text);
    assert_non_null(json);
    for (char *p = json; *p; p++) {
        if (*p == '\'')
            *p = '"';
    }
    const vug_status st = vug_config_read(vug_str_of(json), "config.json", out, err);
    vug_free(json);
    return st;
}

vug_config help_config(const char *text)
{
    vug_config c = { 0 };
    vug_err err = { 0 };
    if (help_read_config(text, &c, &err) != VUG_OK)
        fail_msg("%s: %s", text, err.msg);
    return c;
}
