/* `vug batch`: its options, its progress and its report. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "core/os.h"
#include "server/server.h"

static double per_second(uint64_t n, const vug_batch_report *r)
{
    return r->seconds > 0 ? (double)n / r->seconds : 0;
}

static int print_report(vug_ui *ui, const vug_options *opt, const vug_batch_report *r, int code)
{
    if (opt->json) {
        vug_json_writer js = { 0 };
        vug_json_begin(&js, NULL, '{');
        vug_json_put_u64(&js, "requests", r->requests);
        vug_json_put_u64(&js, "kept", r->kept);
        vug_json_put_u64(&js, "answered", r->answered - r->failed);
        vug_json_put_u64(&js, "failed", r->failed);
        vug_json_put_u64(&js, "prompt_tokens", r->prompt_tokens);
        vug_json_put_u64(&js, "cached_tokens", r->cached_tokens);
        vug_json_put_u64(&js, "generated_tokens", r->generated_tokens);
        vug_json_put_f64(&js, "seconds", r->seconds);
        vug_json_put_f64(&js, "requests_per_s", per_second(r->answered, r));
        vug_json_put_f64(&js, "prompt_tokens_per_s", per_second(r->prompt_tokens, r));
        vug_json_put_f64(&js, "generated_tokens_per_s", per_second(r->generated_tokens, r));
        vug_json_end(&js, '}');
        return vug_ui_print_json(&js, ui, code);
    }
    vug_buf text = { 0 };
    vug_buf_printf(&text, "requests  %llu answered, %llu failed, %llu kept\n",
                   (unsigned long long)(r->answered - r->failed), (unsigned long long)r->failed,
                   (unsigned long long)r->kept);
    vug_buf_printf(&text, "tokens    %llu of prompts (%llu cached), %llu generated\n",
                   (unsigned long long)r->prompt_tokens, (unsigned long long)r->cached_tokens,
                   (unsigned long long)r->generated_tokens);
    vug_buf_printf(
            &text,
            "speed     %.2f requests/s, %.1f prompt tokens/s, %.1f generated tokens/s; %.1f s\n",
            per_second(r->answered, r), per_second(r->prompt_tokens, r),
            per_second(r->generated_tokens, r), r->seconds);
    return vug_ui_print_styled(ui, &text, code);
}

static void note_first_failure(const vug_ui *ui, const vug_options *opt, const vug_batch_report *r)
{
    char others[80] = "";
    if (r->failed == 0)
        return;
    if (r->failed > 1)
        (void)snprintf(others, sizeof(others), "; %llu requests failed, the output has all errors",
                       (unsigned long long)r->failed);
    vug_ui_note(ui, "%s:%llu: %s%s", opt->operand[1], (unsigned long long)r->first_failed,
                r->first_failure.msg, others);
}

/* With two operands, MODEL is pebble. A MODEL in the place of INPUT means that OUTPUT is missing. */
static vug_status check_input(const char *input, vug_err *err)
{
    const size_t n = strlen(input);
    const bool gguf = n > 5 && strcmp(input + n - 5, ".gguf") == 0;
    if (gguf || vug_is_folder(input))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s is a model, not a file of requests; add what is missing: vug batch "
                        "MODEL INPUT OUTPUT",
                        input);
    return VUG_OK;
}

int vug_cmd_batch(vug_ui *ui, const vug_options *opt)
{
    vug_batch_report report;
    vug_err err;
    if (check_input(opt->operand[1], &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    vug_bar bar = vug_bar_start(ui, "answering", opt->quiet || opt->json);
    bar.unit = "requests";
    const vug_batch_options options = {
        .server = { .model_path = opt->operand[0],
                    .model = vug_options_model(opt),
                    .chat_template = opt->chat_template,
                    .aliases = { opt->alias.item, opt->alias.n },
                    .max_tokens = opt->answer_tokens,
                    .also_reasoning = opt->also_reasoning,
                    .strict_schemas = opt->strict_schemas,
                    .speculation = vug_options_speculation(opt),
                    .pooling = vug_options_pooling(opt) },
        .input = opt->operand[1],
        .output = opt->operand[2],
        .progress = vug_bar_step,
        .user = &bar,
    };
    vug_interrupt_block();
    const vug_status st = vug_batch_run(&options, &report, &err);
    vug_bar_end(&bar);
    int code = report.failed > 0 ? VUG_EXIT_CHECK : VUG_EXIT_OK;
    if (st != VUG_OK)
        code = vug_ui_fail(ui, &err);
    /* After an interruption too: what was answered counts. */
    if (st == VUG_OK || report.answered > 0)
        code = print_report(ui, opt, &report, code);
    note_first_failure(ui, opt, &report);
    return code;
}
