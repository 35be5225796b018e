#include "text/grammar/schema_nodes.h"

static vug_jv *new_node(vug_schema_compiler *s, vug_json_type type, vug_str key)
{
    vug_jv *v = vug_schema_alloc(s, 1, sizeof(*v));
    if (v)
        *v = (vug_jv){ .type = type, .key = key };
    return v;
}

/* A list or an object under construction. Its address does not change. */
vug_jv *vug_schema_new_node(vug_schema_compiler *s, vug_json_type type, const char *key)
{
    return new_node(s, type, vug_str_of(key));
}

/* Adds a member; NULLs are ignored: memory ran out. */
vug_jv *vug_schema_add_node(vug_jv *to, vug_jv *member)
{
    if (to && member)
        vug_jv_append(to, member);
    return member;
}

vug_jv *vug_schema_add_list(vug_schema_compiler *s, vug_jv *to, const char *key)
{
    return vug_schema_add_node(to, vug_schema_new_node(s, VUG_JSON_ARRAY, key));
}

vug_jv *vug_schema_add_object(vug_schema_compiler *s, vug_jv *to, const char *key)
{
    return vug_schema_add_node(to, vug_schema_new_node(s, VUG_JSON_OBJECT, key));
}

/* Adds a copy of a value that is not a schema. */
void vug_schema_add_copy(vug_schema_compiler *s, vug_jv *to, const char *key, const vug_jv *value)
{
    vug_jv *copy = vug_schema_new_node(s, value->type, key);
    if (!copy)
        return;
    const vug_str name = copy->key;
    *copy = *value;
    copy->key = name;
    copy->next = NULL;
    (void)vug_schema_add_node(to, copy);
}

void vug_schema_add_count(vug_schema_compiler *s, vug_jv *to, const char *key, double count)
{
    vug_jv *v = vug_schema_add_node(to, vug_schema_new_node(s, VUG_JSON_NUMBER, key));
    if (v)
        v->f64 = count;
}

void vug_schema_add_text(vug_schema_compiler *s, vug_jv *to, const char *key, vug_str text)
{
    vug_jv *v = vug_schema_add_node(to, vug_schema_new_node(s, VUG_JSON_STRING, key));
    if (v)
        v->str = text;
}

void vug_schema_add_boolean(vug_schema_compiler *s, vug_jv *to, vug_str key, bool value)
{
    vug_jv *v = vug_schema_add_node(to, new_node(s, VUG_JSON_BOOL, key));
    if (v)
        v->boolean = value;
}

/* Adds {VUG_KEYWORD_SAME: schema} or {VUG_KEYWORD_NEGATED: schema}, which refers to the schema
 * rather than copying it, so that it is still known as the same. */
void vug_schema_add_reference(vug_schema_compiler *s, vug_jv *to, vug_str key, const vug_jv *schema,
                              bool negated)
{
    if (schema->type == VUG_JSON_BOOL) {
        vug_schema_add_boolean(s, to, key, schema->boolean != negated);
        return;
    }
    vug_jv *v = vug_schema_add_node(to, new_node(s, VUG_JSON_OBJECT, key));
    vug_jv *target = vug_schema_add_node(
            v, vug_schema_new_node(s, VUG_JSON_NOTHING,
                                   negated ? VUG_KEYWORD_NEGATED : VUG_KEYWORD_SAME));
    if (target)
        memcpy(&target->child, &schema, sizeof(void *)); /* drops const: nobody changes it */
}

static const vug_str no_key = { 0 };

void vug_schema_add_same(vug_schema_compiler *s, vug_jv *to, const vug_jv *schema)
{
    vug_schema_add_reference(s, to, no_key, schema, false);
}

void vug_schema_add_negated(vug_schema_compiler *s, vug_jv *to, const vug_jv *schema)
{
    vug_schema_add_reference(s, to, no_key, schema, true);
}

/* A branch for values of some types. */
vug_jv *vug_schema_add_typed(vug_schema_compiler *s, vug_jv *to, unsigned types)
{
    (void)vug_schema_charge(s, 1);
    vug_jv *v = vug_schema_add_object(s, to, "");
    vug_schema_add_count(s, v, VUG_KEYWORD_TYPES, types);
    return v;
}
