/* Templates from outside: parsing, and a rendering with its limits. */

#include "text/template/template.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/template/ast.h"
#include "text/template/text.h"

/* ---- parsing -------------------------------------------------------------------------- */

static vug_status parse_into(vug_template *tmpl, vug_str source, vug_err *err)
{
    vug_parser p = { 0 };
    if (!tmpl->name)
        return VUG_FAIL_NOMEM(err, "the name of a template", 0);
    VUG_TRY(vug_lexer_init(&p.lex, source, tmpl->name, &tmpl->arena, err));
    vug_tnode *body = vug_parse_body(&p);
    vug_tnode *hidden = NULL;
    if (vug_parse_ok(&p))
        vug_parse_scopes(&p, body, &hidden);
    tmpl->body = body;
    tmpl->hidden = hidden;
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

/* ---- the run ---------------------------------------------------------------------------- */

vug_tv vug_run_fail(vug_run *run, vug_status code, const char *fmt, ...)
{
    if (!run || run->st != VUG_OK)
        return vug_tv_none();
    char sentence[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    run->st = VUG_FAIL(&run->err, code, "%s: line %u: %s", run->name, run->line, sentence);
    return vug_tv_none();
}

bool vug_run_spend(vug_run *run, size_t steps)
{
    if (run->st != VUG_OK)
        return false;
    run->steps += steps;
    if (run->steps <= VUG_RUN_MAX_STEPS)
        return true;
    (void)vug_run_fail(run, VUG_FORMAT, "more than %llu steps",
                       (unsigned long long)VUG_RUN_MAX_STEPS);
    return false;
}

void *vug_run_alloc(vug_run *run, size_t n, size_t size)
{
    if (run->st != VUG_OK)
        return NULL;
    void *out = vug_arena_alloc(&run->arena, n, size);
    if (!out)
        (void)vug_run_fail(run, VUG_NOMEM, "out of memory: values of more than %zu bytes",
                           VUG_RUN_MAX_VALUES);
    return out;
}

/* ---- rendering ----------------------------------------------------------------------------- */

/* The stretches of marked bytes. */
static vug_status find_plain(const vug_run *run, vug_prompt *out, vug_err *err)
{
    const char *mark = run->mark.ptr;
    size_t n = 0;
    for (size_t i = 0; i < run->mark.len; i++)
        n += (size_t)(mark[i] && (i == 0 || !mark[i - 1]));
    out->plain = vug_alloc(n ? n : 1, sizeof(*out->plain));
    if (!out->plain)
        return VUG_FAIL_NOMEM(err, "the ranges of a prompt", n * sizeof(*out->plain));
    for (size_t i = 0; i < run->mark.len; i++) {
        if (!mark[i])
            continue;
        if (i == 0 || !mark[i - 1])
            out->plain[out->n_plain++].from = i;
        out->plain[out->n_plain - 1].to = i + 1;
    }
    return VUG_OK;
}

static vug_status finish(vug_run *run, vug_prompt *out, vug_err *err)
{
    vug_prompt prompt = { 0 };
    if (run->st != VUG_OK) {
        if (err)
            *err = run->err;
        return run->st;
    }
    VUG_TRY(find_plain(run, &prompt, err));
    const vug_status st = vug_buf_take(&run->out, &prompt.text, err);
    if (st != VUG_OK)
        vug_free(prompt.plain);
    else
        *out = prompt;
    return st;
}

vug_status vug_template_render(const vug_template *tmpl, const vug_template_var *var, size_t n,
                               int64_t now, vug_prompt *out, vug_err *err)
{
    vug_run run = { .name = tmpl->name, .now = now };
    run.arena.budget = VUG_RUN_MAX_VALUES;
    vug_tscope globals = { 0 };
    vug_tscope scope = { .outer = &globals };
    for (size_t i = 0; i < n; i++)
        vug_tvars_set(&run, &globals.vars, vug_str_of(var[i].name),
                      vug_tv_json(&run, var[i].value, var[i].foreign, 0));
    vug_hide(&run, &scope, tmpl->hidden);
    if (vug_run_ok(&run))
        (void)vug_exec(&run, &scope, tmpl->body);
    const vug_status st = finish(&run, out, err);
    vug_arena_release(&run.arena);
    vug_buf_release(&run.out);
    vug_buf_release(&run.mark);
    return st;
}
