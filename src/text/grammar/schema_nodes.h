#ifndef VUG_TEXT_GRAMMAR_SCHEMA_NODES_H
#define VUG_TEXT_GRAMMAR_SCHEMA_NODES_H

/*
 * Schemas that the compiler makes, member by member, in its arena. `to` is a list or an object;
 * if it is NULL because memory ran out, nothing is added. Keys are those of the new members; in a
 * list they are empty.
 */

#include "text/grammar/schema_internal.h"

#define VUG_SCHEMA_NO_KEY ((vug_str){ 0 })

/* A list or an object without members. */
vug_jv *vug_schema_new_node(vug_schema_compiler *s, vug_json_type type, const char *key);
/* Appends a member and returns it. */
vug_jv *vug_schema_add_node(vug_jv *to, vug_jv *member);
vug_jv *vug_schema_add_list(vug_schema_compiler *s, vug_jv *to, const char *key);
vug_jv *vug_schema_add_object(vug_schema_compiler *s, vug_jv *to, const char *key);
/* A copy of a value that is not a schema. */
void vug_schema_add_copy(vug_schema_compiler *s, vug_jv *to, const char *key, const vug_jv *value);
void vug_schema_add_count(vug_schema_compiler *s, vug_jv *to, const char *key, double count);
void vug_schema_add_text(vug_schema_compiler *s, vug_jv *to, const char *key, vug_str text);
void vug_schema_add_boolean(vug_schema_compiler *s, vug_jv *to, vug_str key, bool value);
/* A schema that refers to another one instead of copying it, so that it is known as the same. */
void vug_schema_add_reference(vug_schema_compiler *s, vug_jv *to, vug_str key, const vug_jv *schema,
                              bool negated);
/* The same in a list. */
void vug_schema_add_same(vug_schema_compiler *s, vug_jv *to, const vug_jv *schema);
void vug_schema_add_negated(vug_schema_compiler *s, vug_jv *to, const vug_jv *schema);
/* A schema for values of some types, VUG_TYPE_*, in a list. */
vug_jv *vug_schema_add_typed(vug_schema_compiler *s, vug_jv *to, unsigned types);

#endif
