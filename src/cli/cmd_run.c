#include "cli/chat_runner.h"
#include "cli/commands.h"
#include "cli/local_backend.h"
#include "core/os.h"

static int run_model(vug_ui *ui, const vug_options *opt, vug_model *model, vug_str prompt,
                     double load_s)
{
    vug_local_backend local;
    vug_err err;
    int code;
    if (!vug_model_tokenizer(model, &err))
        return vug_ui_fail(ui, &err);
    vug_status st = vug_local_backend_init(&local, ui, opt, model, &err);
    if (st == VUG_OK)
        st = vug_session_create(model, &local.session, &err);
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else {
        vug_chat_backend backend = vug_local_backend_interface(&local);
        local.load_s = load_s;
        code = vug_chat_runner_run(&backend, prompt);
        vug_session_destroy(local.session);
    }
    vug_local_backend_release(&local);
    return code;
}

static int open_and_run(vug_ui *ui, const vug_options *opt, vug_str prompt)
{
    vug_model_options model_options = vug_options_model(opt);
    vug_model *model;
    vug_err err;
    if (prompt.ptr)
        model_options.snapshot_percent = -1; /* there is no next prompt */
    vug_bar bar = vug_bar_start(ui, "loading", opt->quiet);
    model_options.progress = vug_bar_step;
    model_options.user = &bar;
    const double start = vug_now();
    const vug_status st = vug_model_open(opt->operand[0], &model_options, &model, &err);
    vug_bar_end(&bar);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    const vug_model_info info = vug_model_describe(model);
    const uint64_t decoded = info.memory.weights_decoded;
    if (info.note && !opt->quiet)
        vug_ui_note(ui, "%s", info.note);
    if (decoded > 0 && !opt->quiet)
        vug_ui_note(ui, "weights in formats that the device does not have take %s as BF16",
                    vug_human_bytes(decoded).text);
    const int code = run_model(ui, opt, model, prompt, vug_now() - start);
    vug_model_close(model);
    return code;
}

int vug_cmd_run(vug_ui *ui, const vug_options *opt)
{
    return vug_chat_runner_with_prompt(ui, opt, 1, open_and_run);
}
