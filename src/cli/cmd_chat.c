#include "cli/chat_runner.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/remote/openai_client.h"

/* Prints which model answers, before an interactive chat. */
static void print_model(const vug_openai_client *c)
{
    vug_buf line = { 0 };
    vug_buf_printf(&line, "%.*s at %s\n", VUG_STR_ARG(c->request.model),
                   vug_http_client_name(c->http));
    if (line.ptr)
        vug_ui_write_dim(c->printer.ui, line.ptr, line.len);
    vug_buf_release(&line);
}

static int connect_and_run(vug_ui *ui, const vug_options *opt, vug_str prompt)
{
    vug_openai_client client;
    vug_err err;
    int code;
    vug_status st = vug_openai_client_init(&client, ui, opt, &err);
    vug_interrupt_install();
    if (st == VUG_OK)
        st = vug_openai_client_select_model(&client, &err);
    vug_interrupt_restore();
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else {
        vug_chat_backend backend = vug_openai_client_interface(&client);
        if (!prompt.ptr && !opt->quiet)
            print_model(&client);
        code = vug_chat_runner_run(&backend, prompt);
    }
    vug_openai_client_release(&client);
    return code;
}

int vug_cmd_chat(vug_ui *ui, const vug_options *opt)
{
    return vug_chat_runner_with_prompt(ui, opt, 0, connect_and_run);
}
