/*
 * text/template. The input is a template and its variables as a JSON object, with a NUL
 * between. Output must be UTF-8, and its untrusted ranges must ascend without touching.
 */

#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "text/template/template.h"

enum { MAX_VARIABLES = 16 };

static void check(const vug_prompt *prompt)
{
    size_t end = 0;
    for (size_t i = 0; i < prompt->n_untrusted; i++) {
        VUG_ASSERT(prompt->untrusted[i].from >= end + (i > 0));
        VUG_ASSERT(prompt->untrusted[i].to > prompt->untrusted[i].from);
        end = prompt->untrusted[i].to;
    }
    VUG_ASSERT(end <= prompt->text.len);
    uint32_t cp;
    for (size_t at = 0, n; at < prompt->text.len; at += n) {
        n = vug_utf8_decode(prompt->text.ptr + at, prompt->text.len - at, &cp);
        VUG_ASSERT(n > 0);
    }
}

static void render(const vug_template *tmpl, const vug_jv *object, vug_arena *arena)
{
    vug_template_var var[MAX_VARIABLES];
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    size_t n = 0;
    for (const vug_jv *m = object ? object->child : NULL; m && n < MAX_VARIABLES; m = m->next) {
        const char *name = vug_arena_copy(arena, m->key).ptr;
        if (name) {
            var[n] = (vug_template_var){ name, m, n % 2 == 0 };
            n++;
        }
    }
    const vug_status st = vug_template_render(tmpl, var, n, 1700000000, &prompt, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        check(&prompt);
    vug_text_release(&prompt.text);
    vug_free(prompt.untrusted);
}

int vug_fuzz_template(const uint8_t *data, size_t n)
{
    const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
    const size_t len = nul ? (size_t)(nul - data) : n;
    const vug_str variables = { (const char *)data + len + 1, nul ? n - len - 1 : 0 };
    vug_arena arena = { .budget = 64 << 20 };
    const vug_jv *object = NULL;
    vug_template *tmpl = NULL;
    if (nul && vug_json_tree(variables, "variables", &arena, &object, NULL) != VUG_OK)
        object = NULL;
    if (vug_template_parse((vug_str){ (const char *)data, len }, "t", &tmpl, NULL) == VUG_OK)
        render(tmpl, object && object->type == VUG_JSON_OBJECT ? object : NULL, &arena);
    vug_template_destroy(tmpl);
    vug_arena_release(&arena);
    return 0;
}
