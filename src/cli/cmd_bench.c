#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_compare.h"
#include "cli/bench_ops.h"
#include "cli/bench_sequences.h"
#include "cli/commands.h"
#include "core/json_writer.h"
#include "core/os.h"

/*
 * A decode step reads every weight that one token uses, so the read bandwidth limits it. A prefill
 * multiplies every weight with every token, so the multiply-add rate limits it. Probes measure
 * both limits on the same device with the same threads. The speed of a machine drifts and depends
 * on its other load, so the probes run three times, around the runs, and the best counts: a
 * limit that a run exceeds is none.
 *
 * The warm-up fills the whole context, and nothing is allocated after it. The peak memory is read
 * then, before the probes allocate theirs.
 */

enum { N_PROBES = 3 };

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    vug_model *model;
    vug_session *session;
    vug_model_info info;
    int32_t *id; /* [context] */
    vug_sampler_config sampler[3];
    double load_s;
    uint64_t peak_bytes;
    vug_device_memory device_memory; /* all 0: the device has no memory of its own */
    vug_device_limits probe[N_PROBES], limits;
    int n_probes;
    vug_rate_series prefill, decode;
    vug_head_stats head; /* of the last decode */
    vug_compare_series prefill_compared, decode_compared;
    vug_bench_ops prefill_ops, decode_ops; /* of a run more, with --ops */
} benchmark;

/* ---- runs -------------------------------------------------------------------------- */

/* Tokens spread over the whole embedding table, as in real text, and the same in each run (Knuth's
 * MMIX linear congruential generator). */
static void choose_tokens(int32_t *id, int64_t n, int64_t n_vocab)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        id[i] = (int32_t)((state >> 33) % (uint64_t)n_vocab);
    }
}

static vug_status fill_context(benchmark *b, size_t n, vug_err *err)
{
    vug_session_reset(b->session);
    choose_tokens(b->id, b->info.context, b->info.n_vocab);
    return n ? vug_session_forward(b->session, b->id, n, NULL, err) : VUG_OK;
}

static vug_status run_prefill(benchmark *b, double *tokens_per_s, vug_err *err)
{
    const size_t depth = (size_t)b->opt->depth, n = (size_t)b->opt->prefill;
    VUG_TRY(fill_context(b, depth, err));
    const double start = vug_now();
    VUG_TRY(vug_session_forward(b->session, b->id, depth + n, NULL, err));
    *tokens_per_s = (double)n / (vug_now() - start);
    return VUG_OK;
}

/* Without --temperature it is 0, which takes the greatest logit and ends the chain. */
static vug_sampling decode_sampling(benchmark *b)
{
    const vug_options *opt = b->opt;
    b->sampler[0] =
            (vug_sampler_config){ VUG_SAMPLER_TEMPERATURE, (float)opt->bench_temperature, 0 };
    b->sampler[1] = (vug_sampler_config){ VUG_SAMPLER_TOP_K, (float)opt->bench_top_k, 0 };
    b->sampler[2] = (vug_sampler_config){ VUG_SAMPLER_TOP_P, (float)opt->bench_top_p, 0 };
    return (vug_sampling){ .sampler = b->sampler, .n = 3 };
}

/* An answer of `n` tokens, as requests have them. */
static vug_status run_decode(benchmark *b, size_t n, double *tokens_per_s, vug_err *err)
{
    const size_t depth = (size_t)b->opt->depth;
    const vug_generate_options options = { .sampling = decode_sampling(b),
                                           .max_tokens = (int)n,
                                           .ignore_stop = true,
                                           .speculation = VUG_SPECULATION_OFF };
    vug_generation got = { 0 };
    VUG_TRY(fill_context(b, depth, err));
    const vug_head_stats before = vug_model_head_stats(b->model);
    const double start = vug_now();
    const vug_status st = vug_generate(b->session, b->id, depth + 1, &options, &got, err);
    *tokens_per_s = (double)n / (vug_now() - start);
    vug_generation_release(&got);
    VUG_TRY(st);
    const vug_head_stats after = vug_model_head_stats(b->model);
    b->head = (vug_head_stats){ .rows = after.rows - before.rows,
                                .screened = after.screened - before.screened,
                                .logits = after.logits - before.logits,
                                .of = after.of - before.of,
                                .saved_bytes = after.saved_bytes - before.saved_bytes };
    return VUG_OK;
}

/* Both do nothing for runs that are skipped. */
static vug_status add_prefill(benchmark *b, vug_err *err)
{
    double rate;
    if (b->opt->prefill == 0)
        return VUG_OK;
    VUG_TRY(run_prefill(b, &rate, err));
    vug_rate_series_add(&b->prefill, rate);
    return VUG_OK;
}

/* All tokens of one sequence, or of several side by side; `times_ops`: what their operations take. */
static vug_status decode_all(benchmark *b, bool times_ops, double *tokens_per_s, vug_err *err)
{
    const vug_bench_sequences side_by_side = { .model = b->model,
                                               .n_sequences = b->opt->sequences,
                                               .depth = b->opt->depth,
                                               .n = b->opt->decode,
                                               .sampling = decode_sampling(b),
                                               .times_ops = times_ops };
    if (b->opt->sequences > 1)
        return vug_bench_sequences_run(&side_by_side, tokens_per_s, err);
    if (times_ops)
        vug_model_time_ops(b->model, true);
    return run_decode(b, (size_t)b->opt->decode, tokens_per_s, err);
}

static vug_status add_decode(benchmark *b, vug_err *err)
{
    double rate;
    if (b->opt->decode == 0)
        return VUG_OK;
    VUG_TRY(decode_all(b, false, &rate, err));
    vug_rate_series_add(&b->decode, rate);
    return VUG_OK;
}

/* Runs vug and the other program, in turn, because the speed of a machine drifts. */
static vug_status run_round(benchmark *b, vug_err *err)
{
    const vug_compare_command command = { .command = b->opt->compare,
                                          .file = b->info.path,
                                          .prefill = b->opt->prefill,
                                          .decode = b->opt->decode,
                                          .threads = b->info.threads };
    double prefill, decode;
    VUG_TRY(add_prefill(b, err));
    VUG_TRY(add_decode(b, err));
    VUG_TRY(vug_compare_run(&command, &prefill, &decode, err));
    if (command.prefill)
        vug_compare_add(&b->prefill_compared, b->prefill.run[b->prefill.n - 1], prefill);
    if (command.decode)
        vug_compare_add(&b->decode_compared, b->decode.run[b->decode.n - 1], decode);
    return VUG_OK;
}

/* Times the operations of one more run of each kind. With one sequence, operations of the tokens
 * before it count, too, so --ops excludes --depth. */
static vug_status time_ops(benchmark *b, vug_err *err)
{
    const vug_options *opt = b->opt;
    double tokens_per_s;
    if (opt->prefill) {
        vug_model_time_ops(b->model, true);
        VUG_TRY(run_prefill(b, &tokens_per_s, err));
        VUG_TRY(vug_bench_ops_init(&b->prefill_ops, b->model, opt->prefill / tokens_per_s, err));
    }
    if (opt->decode) {
        const double tokens = (double)opt->decode * (opt->sequences > 1 ? opt->sequences : 1);
        VUG_TRY(decode_all(b, true, &tokens_per_s, err));
        VUG_TRY(vug_bench_ops_init(&b->decode_ops, b->model, tokens / tokens_per_s, err));
    }
    vug_model_time_ops(b->model, false);
    return VUG_OK;
}

static vug_status measure_limits(benchmark *b, vug_err *err)
{
    return vug_device_measure(b->info.device, b->info.threads, &b->probe[b->n_probes++], err);
}

static vug_status run_all(benchmark *b, vug_err *err)
{
    const vug_options *opt = b->opt;
    const size_t warm = opt->decode < 8 ? (size_t)opt->decode : 8;
    double ignored;
    VUG_TRY(fill_context(b, (size_t)b->info.context, err));
    if (warm)
        VUG_TRY(run_decode(b, warm, &ignored, err));
    b->peak_bytes = vug_memory_peak();
    b->device_memory = vug_model_device_memory(b->model);
    VUG_TRY(measure_limits(b, err));
    for (int r = 0; !opt->compare && r < opt->repeat; r++)
        VUG_TRY(add_prefill(b, err));
    for (int r = 0; opt->compare && r < opt->repeat; r++)
        VUG_TRY(run_round(b, err));
    VUG_TRY(measure_limits(b, err));
    for (int r = 0; !opt->compare && r < opt->repeat; r++)
        VUG_TRY(add_decode(b, err));
    if (opt->ops)
        VUG_TRY(time_ops(b, err));
    return measure_limits(b, err);
}

/* ---- fractions of the peak ---------------------------------------------------------- */

/* Only the last token has logits. */
static double prefill_flop(const vug_model_info *m, double n)
{
    return (double)m->flop_per_token * n + (double)m->flop_per_logits;
}

static double prefill_fraction(const benchmark *b)
{
    const double n = b->opt->prefill;
    const double peak = vug_bench_peak_flop(&b->limits);
    if (n <= 0 || peak <= 0)
        return 0;
    return prefill_flop(&b->info, n) / n * b->prefill.median / peak;
}

/* Bytes of weights that a step of the last decode read. */
static double decode_bytes(const benchmark *b)
{
    const double saved = b->head.rows > 0 ? b->head.saved_bytes / (double)b->head.rows : 0;
    return (double)b->info.bytes_per_token - saved;
}

/* A step reads the weights once, for a token of each sequence. */
static double decode_fraction(const benchmark *b)
{
    if (b->limits.read_bytes_per_s <= 0)
        return 0;
    return decode_bytes(b) * b->decode.median / b->opt->sequences / b->limits.read_bytes_per_s;
}

static void evaluate(benchmark *b)
{
    vug_device_limits *best = &b->limits;
    for (int i = 0; i < N_PROBES; i++) {
        const vug_device_limits *probe = &b->probe[i];
        best->read_bytes_per_s = fmax(best->read_bytes_per_s, probe->read_bytes_per_s);
        best->f32_flop_per_s = fmax(best->f32_flop_per_s, probe->f32_flop_per_s);
        best->bf16_flop_per_s = fmax(best->bf16_flop_per_s, probe->bf16_flop_per_s);
    }
    vug_rate_series_summarise(&b->prefill);
    vug_rate_series_summarise(&b->decode);
}

/* ---- reports ------------------------------------------------------------------------- */

static void print_series(const vug_rate_series *s, const char *name, int n, const char *roof,
                         double fraction, vug_buf *to)
{
    char what[40];
    if (s->n == 0)
        return;
    (void)snprintf(what, sizeof(what), "%s of %d", name, n);
    vug_buf_printf(to, "  %-18s %10.2f %10.2f %10.2f   %5.1f %% of %s\n", what, s->median, s->min,
                   s->max, fraction * 100, roof);
}

static void print_limits(const vug_device_limits *limits, vug_buf *to)
{
    vug_buf_printf(to, "  this machine       %s/s read, %sFLOP/s in F32",
                   vug_human_bytes((uint64_t)limits->read_bytes_per_s).text,
                   vug_human_count(limits->f32_flop_per_s).text);
    if (limits->bf16_flop_per_s > 0)
        vug_buf_printf(to, ", %sFLOP/s in BF16", vug_human_count(limits->bf16_flop_per_s).text);
    vug_buf_printf(to, "\n");
}

static void print_report(benchmark *b, vug_buf *to)
{
    const vug_options *opt = b->opt;
    const vug_model_info *m = &b->info;
    vug_buf_printf(to, "%s, %s parameters, on %s (%s)", opt->shape ? opt->shape : m->path,
                   vug_human_count((double)m->n_parameters).text, m->device, m->kernels);
    if (m->threads > 0)
        vug_buf_printf(to, ", %d threads", m->threads);
    vug_buf_printf(to, "\n");
    vug_buf_printf(to, "  after %d tokens, %d runs   median        min        max   tokens/s\n",
                   opt->depth, opt->repeat);
    print_series(&b->prefill, "prefill", opt->prefill, "the multiply-add peak", prefill_fraction(b),
                 to);
    print_series(&b->decode, "decode", opt->decode, "the read bandwidth", decode_fraction(b), to);
    if (opt->sequences > 1)
        vug_buf_printf(to, "  sequences          %d, whose decoded tokens count together\n",
                       opt->sequences);
    if (opt->compare)
        vug_buf_printf(to, "  the other program\n");
    vug_compare_print(&b->prefill_compared, "prefill", opt->prefill, to);
    vug_compare_print(&b->decode_compared, "decode", opt->decode, to);
    vug_bench_ops_print(&b->prefill_ops, "prefill", &b->limits, to);
    vug_bench_ops_print(&b->decode_ops, "decode", &b->limits, to);
    print_limits(&b->limits, to);
    vug_buf_printf(to, "  weights            %s read per token\n",
                   vug_human_bytes((uint64_t)decode_bytes(b)).text);
    if (b->head.screened > 0)
        vug_buf_printf(
                to,
                "  head               %.2f %% of the logits computed, in %.0f %% of the steps\n",
                (double)b->head.logits / (double)b->head.of * 100,
                (double)b->head.screened / (double)b->head.rows * 100);
    if (opt->bench_temperature > 0)
        vug_buf_printf(to, "  sampling           temperature %g, top-k %g, top-p %g\n",
                       opt->bench_temperature, opt->bench_top_k, opt->bench_top_p);
    vug_buf_printf(to, "  KV cache format    %s\n", m->kv);
    vug_buf_printf(to, "  activations        %s", m->activations);
    if (m->activations_meaning)
        vug_buf_printf(to, " (%s)", m->activations_meaning);
    vug_buf_printf(to, "\n");
    vug_buf_printf(to, "  peak memory        %s\n", vug_human_bytes(b->peak_bytes).text);
    if (b->device_memory.peak > 0)
        vug_buf_printf(to, "  device memory      %s in use, %s cached, at most %s in use\n",
                       vug_human_bytes(b->device_memory.active).text,
                       vug_human_bytes(b->device_memory.cached).text,
                       vug_human_bytes(b->device_memory.peak).text);
    vug_buf_printf(to, "  load time          %.2f s\n", b->load_s);
}

static void write_series(const vug_rate_series *s, const char *key, int n, const char *fraction_key,
                         double fraction, vug_json_writer *js)
{
    if (s->n == 0)
        return;
    vug_json_begin(js, key, '{');
    vug_json_put_i64(js, "tokens", n);
    vug_json_put_f64(js, "median_tokens_per_s", s->median);
    vug_json_put_f64(js, "min_tokens_per_s", s->min);
    vug_json_put_f64(js, "max_tokens_per_s", s->max);
    vug_json_put_f64(js, fraction_key, fraction);
    vug_json_begin(js, "runs_tokens_per_s", '[');
    for (int i = 0; i < s->n; i++)
        vug_json_put_f64(js, NULL, s->run[i]);
    vug_json_end(js, ']');
    vug_json_end(js, '}');
}

static void write_limits(const vug_device_limits *limits, vug_json_writer *js)
{
    vug_json_put_f64(js, "read_bytes_per_s", limits->read_bytes_per_s);
    vug_json_put_f64(js, "f32_flop_per_s", limits->f32_flop_per_s);
    if (limits->bf16_flop_per_s > 0)
        vug_json_put_f64(js, "bf16_flop_per_s", limits->bf16_flop_per_s);
}

static void write_probes(const benchmark *b, vug_json_writer *js)
{
    vug_json_begin(js, "machine", '{');
    write_limits(&b->limits, js);
    vug_json_begin(js, "probes", '[');
    for (int i = 0; i < N_PROBES; i++) {
        vug_json_begin(js, NULL, '{');
        write_limits(&b->probe[i], js);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
    vug_json_end(js, '}');
}

static void write_report(benchmark *b, vug_json_writer *js)
{
    const vug_options *opt = b->opt;
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "model", opt->shape ? opt->shape : b->info.path);
    vug_json_put_string(js, "architecture", b->info.architecture);
    vug_json_put_string(js, "device", b->info.device);
    vug_json_put_string(js, "kernels", b->info.kernels);
    vug_json_put_i64(js, "threads", b->info.threads);
    vug_json_put_i64(js, "batch", b->info.batch);
    vug_json_put_i64(js, "depth", opt->depth);
    vug_json_put_i64(js, "sequences", opt->sequences);
    vug_json_put_f64(js, "temperature", opt->bench_temperature);
    vug_json_put_f64(js, "top_k", opt->bench_top_k);
    vug_json_put_f64(js, "top_p", opt->bench_top_p);
    vug_json_put_string(js, "kv", b->info.kv);
    vug_json_put_string(js, "activations", b->info.activations);
    vug_json_put_i64(js, "parameters", b->info.n_parameters);
    vug_json_put_i64(js, "active_parameters", b->info.n_active_parameters);
    vug_json_put_u64(js, "bytes_per_token", b->info.bytes_per_token);
    vug_json_put_f64(js, "flop_of_prefill", prefill_flop(&b->info, opt->prefill));
    vug_json_put_u64(js, "head_rows", b->head.rows);
    vug_json_put_u64(js, "head_rows_screened", b->head.screened);
    vug_json_put_u64(js, "head_logits", b->head.of);
    vug_json_put_u64(js, "head_logits_computed", b->head.logits);
    vug_json_put_f64(js, "load_s", b->load_s);
    vug_json_put_u64(js, "peak_memory_bytes", b->peak_bytes);
    vug_json_put_u64(js, "device_active_bytes", b->device_memory.active);
    vug_json_put_u64(js, "device_cached_bytes", b->device_memory.cached);
    vug_json_put_u64(js, "device_peak_bytes", b->device_memory.peak);
    write_series(&b->prefill, "prefill", opt->prefill, "fraction_of_flop_peak", prefill_fraction(b),
                 js);
    write_series(&b->decode, "decode", opt->decode, "fraction_of_read_bandwidth",
                 decode_fraction(b), js);
    if (opt->compare) {
        vug_json_begin(js, "compare", '{');
        vug_json_put_string(js, "command", opt->compare);
        vug_compare_write(&b->prefill_compared, "prefill", js);
        vug_compare_write(&b->decode_compared, "decode", js);
        vug_json_end(js, '}');
    }
    if (opt->ops) {
        vug_json_begin(js, "ops", '{');
        vug_bench_ops_write(&b->prefill_ops, "prefill", &b->limits, js);
        vug_bench_ops_write(&b->decode_ops, "decode", &b->limits, js);
        vug_json_end(js, '}');
    }
    write_probes(b, js);
    vug_json_end(js, '}');
}

/* ---- the command --------------------------------------------------------------------- */

static vug_status open_model(benchmark *b, vug_err *err)
{
    const vug_options *opt = b->opt;
    vug_model_options model_options = vug_options_model(opt);
    vug_bar bar = vug_bar_start(b->ui, "loading", opt->json);
    const double start = vug_now();
    model_options.progress = vug_bar_step;
    model_options.user = &bar;
    model_options.context = opt->depth + (opt->prefill > opt->decode ? opt->prefill : opt->decode);
    if (opt->sequences > 1) {
        model_options.context++; /* a sequence has a token at least before it decodes */
        model_options.slots = opt->sequences;
    }
    const vug_status st = opt->shape
                                  ? vug_model_synthesize(opt->shape, opt->type, opt->weight_seed,
                                                         &model_options, &b->model, err)
                                  : vug_model_open(opt->operand[0], &model_options, &b->model, err);
    vug_bar_end(&bar);
    b->load_s = vug_now() - start;
    return st;
}

static vug_status prepare_benchmark(benchmark *b, vug_err *err)
{
    VUG_TRY(open_model(b, err));
    b->info = vug_model_describe(b->model);
    b->id = vug_alloc_zero((size_t)b->info.context, sizeof(*b->id));
    if (!b->id)
        return VUG_FAIL_NOMEM(err, "the tokens of a run", b->info.context);
    return vug_session_create(b->model, &b->session, err);
}

static const char *usage_error(const vug_options *opt)
{
    if (opt->shape && opt->n_operands)
        return "bench takes a MODEL or --shape, not both";
    if (!opt->shape && opt->n_operands == 0)
        return "bench needs a MODEL folder or --shape NAME; `vug synth` lists the shapes";
    if (opt->prefill == 0 && opt->decode == 0)
        return "nothing to measure: both --prefill and --decode are 0";
    if (opt->compare && opt->depth)
        return "--compare has no placeholder for --depth; give one of them";
    if (opt->compare && opt->shape && strstr(opt->compare, "{FILE}"))
        return "--shape has no file that --compare could replace {FILE} with";
    if (opt->sequences > 1 && opt->compare)
        return "--compare measures one sequence; leave out --sequences";
    if (opt->ops && opt->depth && opt->sequences <= 1)
        return "--ops counts the tokens of --depth as well; leave one out, or add --sequences";
    if ((opt->given[VUG_OPTION_bench_top_k] || opt->given[VUG_OPTION_bench_top_p]) &&
        opt->bench_temperature == 0)
        return "--top-k and --top-p need a --temperature above 0";
    if (!opt->shape && (opt->given[VUG_OPTION_type] || opt->given[VUG_OPTION_weight_seed]))
        return "--type and --seed require --shape";
    return NULL;
}

int vug_cmd_bench(vug_ui *ui, const vug_options *opt)
{
    vug_err err;
    if (usage_error(opt)) {
        vug_ui_note(ui, "%s", usage_error(opt));
        return VUG_EXIT_USAGE;
    }
    benchmark *b = vug_alloc_zero(1, sizeof(*b));
    if (!b) {
        vug_ui_note(ui, "out of memory");
        return VUG_EXIT_SYSTEM;
    }
    b->ui = ui;
    b->opt = opt;
    vug_status st = prepare_benchmark(b, &err);
    if (st == VUG_OK)
        st = run_all(b, &err);
    if (st == VUG_OK)
        evaluate(b);
    int code;
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else if (opt->json) {
        vug_json_writer js = { 0 };
        write_report(b, &js);
        code = vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    } else {
        vug_buf text = { 0 };
        print_report(b, &text);
        code = vug_ui_print(ui, &text);
    }
    if (b->session)
        vug_session_destroy(b->session);
    vug_model_close(b->model);
    vug_bench_ops_release(&b->prefill_ops);
    vug_bench_ops_release(&b->decode_ops);
    vug_free(b->id);
    vug_free(b);
    return code;
}
