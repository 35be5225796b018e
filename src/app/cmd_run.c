#include "app/answer.h"
#include "app/commands.h"
#include "core/os.h"

static int with_model(vug_ui *ui, const vug_options *opt, vug_model *model, vug_str prompt,
                      double load_s)
{
    vug_answerer a;
    vug_err err;
    int code;
    if (!vug_model_tokenizer(model, &err))
        return vug_ui_fail(ui, &err);
    vug_status st = vug_answerer_init(&a, ui, opt, model, &err);
    if (st == VUG_OK)
        st = vug_session_create(model, &a.session, &err);
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else {
        vug_partner partner = vug_answerer_partner(&a);
        a.load_s = load_s;
        code = vug_partner_meet(&partner, prompt);
        vug_session_destroy(a.session);
    }
    vug_answerer_release(&a);
    return code;
}

static int open_and_run(vug_ui *ui, const vug_options *opt, vug_str prompt)
{
    vug_model_options how = vug_options_model(opt);
    vug_model *model;
    vug_err err;
    if (prompt.ptr)
        how.snapshots = 0; /* nothing follows */
    vug_bar bar = vug_bar_start(ui, "loading", opt->quiet);
    how.progress = vug_bar_step;
    how.user = &bar;
    const double start = vug_now();
    const vug_status st = vug_model_open(opt->operand[0], &how, &model, &err);
    vug_bar_end(&bar);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code = with_model(ui, opt, model, prompt, vug_now() - start);
    vug_model_close(model);
    return code;
}

int vug_cmd_run(vug_ui *ui, const vug_options *opt)
{
    return vug_partner_prompt(ui, opt, 1, open_and_run);
}
