/* Templates: parsing, and rendering within the limits. */

#include "text/template/template.h"

#include "text/template/template_exec.h"
#include "text/template/template_parser.h"

/* ---- parsing -------------------------------------------------------------------------- */

static vug_status parse_into(vug_template *tmpl, vug_str source, vug_err *err)
{
    vug_tmpl_parser p = { 0 };
    if (!tmpl->name)
        return VUG_FAIL_NOMEM(err, "the name of a template", 0);
    VUG_TRY(vug_tmpl_lexer_init(&p.lex, source, tmpl->name, &tmpl->arena, err));
    vug_tmpl_node *body = vug_tmpl_parse_body(&p);
    vug_tmpl_node *locals = NULL;
    if (vug_tmpl_parse_ok(&p))
        vug_tmpl_find_locals(&p, body, &locals);
    tmpl->body = body;
    tmpl->locals = locals;
    return p.lex.st;
}

vug_status vug_template_parse(vug_str source, const char *name, vug_template **out, vug_err *err)
{
    vug_template *tmpl = vug_alloc_zero(1, sizeof(*tmpl));
    if (!tmpl)
        return VUG_FAIL_NOMEM(err, "a template", sizeof(*tmpl));
    tmpl->name = vug_arena_copy(&tmpl->arena, vug_str_of(name)).ptr;
    const vug_status st = parse_into(tmpl, source, err);
    if (st != VUG_OK) {
        vug_template_destroy(tmpl);
        return st;
    }
    *out = tmpl;
    return VUG_OK;
}

void vug_template_destroy(vug_template *tmpl)
{
    if (!tmpl)
        return;
    vug_arena_release(&tmpl->arena);
    vug_free(tmpl);
}

/* ---- rendering ----------------------------------------------------------------------------- */

/* Collects the ranges of tainted bytes. */
static vug_status find_untrusted(const vug_tmpl_run *run, vug_prompt *out, vug_err *err)
{
    const char *taint = run->taint.ptr;
    size_t n = 0;
    for (size_t i = 0; i < run->taint.len; i++)
        n += (size_t)(taint[i] && (i == 0 || !taint[i - 1]));
    out->untrusted = vug_alloc(n ? n : 1, sizeof(*out->untrusted));
    if (!out->untrusted)
        return VUG_FAIL_NOMEM(err, "the ranges of a prompt", n * sizeof(*out->untrusted));
    for (size_t i = 0; i < run->taint.len; i++) {
        if (!taint[i])
            continue;
        if (i == 0 || !taint[i - 1])
            out->untrusted[out->n_untrusted++].from = i;
        out->untrusted[out->n_untrusted - 1].to = i + 1;
    }
    return VUG_OK;
}

static vug_status finish_render(vug_tmpl_run *run, vug_prompt *out, vug_err *err)
{
    vug_prompt prompt = { 0 };
    if (run->st != VUG_OK) {
        if (err)
            *err = run->err;
        return run->st;
    }
    VUG_TRY(find_untrusted(run, &prompt, err));
    const vug_status st = vug_buf_take(&run->out, &prompt.text, err);
    if (st != VUG_OK)
        vug_free(prompt.untrusted);
    else
        *out = prompt;
    return st;
}

vug_status vug_template_render(const vug_template *tmpl, const vug_template_var *var, size_t n,
                               int64_t now, vug_prompt *out, vug_err *err)
{
    vug_tmpl_run run = { .name = tmpl->name, .now = now };
    run.arena.budget = VUG_TMPL_MAX_MEMORY;
    vug_tmpl_scope globals = { 0 };
    vug_tmpl_scope scope = { .outer = &globals };
    for (size_t i = 0; i < n; i++)
        vug_tmpl_vars_set(&run, &globals.vars, vug_str_of(var[i].name),
                          vug_tmpl_from_json(&run, var[i].value, var[i].untrusted));
    vug_tmpl_declare_locals(&run, &scope, tmpl->locals);
    if (vug_tmpl_ok(&run))
        vug_tmpl_exec(&run, &scope, tmpl->body);
    const vug_status st = finish_render(&run, out, err);
    vug_arena_release(&run.arena);
    vug_buf_release(&run.out);
    vug_buf_release(&run.taint);
    return st;
}
