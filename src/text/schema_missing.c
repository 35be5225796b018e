#include "text/rules.h"

/* Stands in for the JSON schema front end, which another branch has: to be deleted. */

vug_status vug_rules_schema(vug_rules *rules, vug_str text, vug_node *root, vug_err *err)
{
    (void)rules;
    (void)text;
    (void)root;
    return VUG_FAIL(err, VUG_UNSUPPORTED, "no schemas here");
}
