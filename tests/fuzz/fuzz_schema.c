/*
 * text/schema: any bytes as a JSON schema.
 *
 * Beyond not crashing: a failure has a sentence, and what is compiled is a whole grammar.
 */

#include "fuzz/fuzz.h"
#include "text/rules.h"

int vug_fuzz_schema(const uint8_t *data, size_t n)
{
    vug_err err = { 0 };
    vug_node root = VUG_NODE_EMPTY;
    vug_rules *rules = vug_rules_create();
    if (!rules)
        return 0;
    const vug_status st = vug_rules_schema(rules, (vug_str){ (const char *)data, n }, &root, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        VUG_ASSERT(vug_rules_ok(rules, NULL) == VUG_OK);
    vug_rules_destroy(rules);
    return 0;
}
