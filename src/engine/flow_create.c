/* Creates flows: checks their options and builds their graphs. */
#include "engine/internal.h"

enum { DEFAULT_BATCH = 16, MAX_SEQUENCES = 1 << 12, MAX_STEP_TOKENS = 1 << 20 };

/* ---- options ----------------------------------------------------------------------- */

static vug_status check_range(const char *name, int64_t n, int64_t max, vug_err *err)
{
    if (n >= VUG_SYMBOLIC && n <= max)
        return VUG_OK;
    return VUG_FAIL(err, VUG_ARGUMENT, "flow: %s is %lld, expected 1 to %lld, 0 or VUG_SYMBOLIC",
                    name, (long long)n, (long long)max);
}

static vug_status check_ranges(const vug_flow_options *o, vug_err *err)
{
    VUG_TRY(check_range("batch", o->batch, MAX_SEQUENCES, err));
    VUG_TRY(check_range("max_batch", o->max_batch, MAX_SEQUENCES, err));
    VUG_TRY(check_range("tokens", o->tokens, MAX_STEP_TOKENS, err));
    VUG_TRY(check_range("past_tokens", o->past_tokens, MAX_STEP_TOKENS, err));
    VUG_TRY(check_range("step", o->step, MAX_STEP_TOKENS, err));
    VUG_TRY(check_range("context", o->context, 1 << 24, err));
    if ((unsigned)o->mode > VUG_FLOW_DECODE || (unsigned)o->past > VUG_PAST_GIVEN ||
        (unsigned)o->outputs > VUG_OUT_HIDDEN)
        return VUG_FAIL(err, VUG_ARGUMENT, "flow: mode %d, past %d or outputs %d is not known",
                        (int)o->mode, (int)o->past, (int)o->outputs);
    return VUG_OK;
}

/* Refuses combinations that no program can have. */
static vug_status check_combination(const vug_flow_options *o, vug_err *err)
{
    if (o->mode == VUG_FLOW_DECODE && o->tokens > 1)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "flow: decode takes one token per sequence, tokens is %lld",
                        (long long)o->tokens);
    if (o->mode == VUG_FLOW_DECODE && o->past == VUG_PAST_NONE)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "flow: decode without a past would attend to single tokens only; past must "
                        "be cached or given");
    if (o->past_tokens > 0 && o->past != VUG_PAST_GIVEN)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "flow: past_tokens is %lld, which needs the past VUG_PAST_GIVEN",
                        (long long)o->past_tokens);
    if (o->past_tokens > 0 && o->tokens < 1 && o->mode != VUG_FLOW_DECODE && o->batch != 0 &&
        o->batch != 1)
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "flow: %s sequences with symbolic numbers of tokens cannot all have a past of "
                "exactly %lld tokens; fix tokens, or leave past_tokens symbolic",
                o->batch == VUG_SYMBOLIC ? "any number of" : "several", (long long)o->past_tokens);
    return VUG_OK;
}

static int64_t fixed_product(int64_t a, int64_t b)
{
    return a > 0 && b > 0 ? a * b : 0;
}

/* Sets T, R, P and S if the options fix them. Ranges were checked: nothing overflows. */
static void fix_dimensions(vug_flow_object *flow)
{
    const vug_flow_options *o = &flow->options;
    const int64_t past = o->past == VUG_PAST_NONE ? 0 : o->past_tokens;
    vug_flow *f = &flow->builder;
    f->tokens = fixed_product(o->batch, o->tokens);
    f->rows = o->batch > 0 ? o->batch : 0;
    f->past = o->past == VUG_PAST_GIVEN ? fixed_product(o->batch, o->past_tokens) : 0;
    f->keys = o->tokens > 0 && (o->past == VUG_PAST_NONE || o->past_tokens > 0) ? past + o->tokens
                                                                                : 0;
    f->given_past = o->past == VUG_PAST_GIVEN;
}

/* Sets the most tokens of a run: all tokens of sequences of a fixed length, or `step` if that is
 * less; otherwise the model's batch, but at least one per sequence. */
static vug_status fix_step(const vug_flow_options *o, vug_limits *limits, vug_err *err)
{
    const int64_t all = fixed_product(o->max_batch, o->tokens);
    if (o->step > 0 && o->batch > 0 && all > o->step)
        return VUG_FAIL(err, VUG_ARGUMENT, "flow: %lld sequences of %lld tokens, step is %lld",
                        (long long)o->batch, (long long)o->tokens, (long long)o->step);
    if (o->step > 0 && (all == 0 || o->step < all))
        limits->batch = o->step;
    else if (all > 0)
        limits->batch = all;
    else if (limits->batch < o->max_batch)
        limits->batch = o->max_batch;
    return VUG_OK;
}

/* The greatest length of a sequence, for which memory is allocated. */
static int64_t max_sequence_length(const vug_flow_options *o, const vug_limits *limits)
{
    int64_t length = limits->context;
    if (o->past == VUG_PAST_NONE)
        length = o->tokens > 0 ? o->tokens : limits->batch;
    else if (o->past_tokens > 0 && o->tokens > 0)
        length = o->past_tokens + o->tokens;
    return length < limits->context ? length : limits->context;
}

static vug_status fix_limits(vug_flow_object *flow, vug_err *err)
{
    const vug_flow_options *o = &flow->options;
    vug_limits *limits = &flow->limits;
    VUG_TRY(flow->model ? VUG_OK
                        : vug_limits_choose(&(vug_model_options){ 0 }, flow->config, limits, err));
    if (flow->model)
        *limits = flow->model->limits;
    if (o->context > 0)
        limits->context = o->context;
    VUG_TRY(fix_step(o, limits, err));
    const int64_t length =
            (o->tokens > 0 ? o->tokens : 1) + (o->past_tokens > 0 ? o->past_tokens : 0);
    if (length > limits->context || limits->batch > MAX_STEP_TOKENS)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "flow: sequences of %lld tokens with their past and steps of %lld tokens; "
                        "the context holds %lld, a step at most %d",
                        (long long)length, (long long)limits->batch, (long long)limits->context,
                        MAX_STEP_TOKENS);
    limits->context = max_sequence_length(o, limits);
    limits->rows = o->max_batch;
    return VUG_OK;
}

/* Checks the options and replaces zeros by their defaults. */
static vug_status resolve_options(vug_flow_object *flow, vug_err *err)
{
    vug_flow_options *o = &flow->options;
    VUG_TRY(check_ranges(o, err));
    VUG_TRY(check_combination(o, err));
    o->batch = o->batch ? o->batch : 1;
    o->max_batch = o->batch > 0 ? o->batch : o->max_batch > 0 ? o->max_batch : DEFAULT_BATCH;
    if (o->mode == VUG_FLOW_DECODE)
        o->tokens = 1;
    o->tokens = o->tokens > 0 ? o->tokens : VUG_SYMBOLIC;
    o->past_tokens = o->past_tokens > 0 ? o->past_tokens : VUG_SYMBOLIC;
    fix_dimensions(flow);
    return fix_limits(flow, err);
}

/* ---- building ---------------------------------------------------------------------- */

static const char *mode_name(const vug_flow_options *o)
{
    return o->mode == VUG_FLOW_DECODE ? "decode" : "prefill";
}

/* A flow without a profile of its own uses the model's, unless that is a built-in one. */
static vug_status load_flow_profile(vug_flow_object *flow, const char *folder, vug_err *err)
{
    const vug_flow_options *o = &flow->options;
    if (o->profile || !flow->model || flow->model->profile.built_in)
        VUG_TRY(vug_profile_load(o->profile, folder, mode_name(o), &flow->profile, err));
    else
        flow->profile = flow->model->profile;
    if (flow->model && flow->model->kv_given)
        flow->profile.kv = flow->model->profile.kv;
    if (flow->model && flow->model->activations_given)
        flow->profile.activations = flow->model->profile.activations;
    return VUG_OK;
}

static vug_status build_graph(vug_flow_object *flow, const vug_binding *binding, vug_err *err)
{
    flow->graph.name = flow->config->arch->name;
    flow->builder = vug_flow_begin(&flow->graph, vug_binding_find_weight, binding);
    VUG_TRY(resolve_options(flow, err));
    vug_model_write_flow(&flow->builder, binding, &flow->options);
    VUG_TRY(vug_flow_finish(&flow->builder, err));
    return vug_graph_verify(&flow->graph, err);
}

static vug_status create_flow(const vug_flow_options *options, vug_flow_object **out, vug_err *err)
{
    vug_flow_object *flow = vug_alloc_zero(1, sizeof(*flow));
    if (!flow)
        return VUG_FAIL_NOMEM(err, "a flow", sizeof(*flow));
    if (options)
        flow->options = *options;
    *out = flow;
    return VUG_OK;
}

static vug_status finish_flow(vug_flow_object *flow, vug_status st, vug_flow **out)
{
    if (st != VUG_OK) {
        vug_flow_destroy(&flow->builder);
        return st;
    }
    /* Only builder functions need these, and they are refused from now on. */
    flow->builder.closed = true;
    flow->config = NULL;
    flow->builder.user = NULL;
    flow->options.profile = NULL;
    *out = &flow->builder;
    return VUG_OK;
}

vug_status vug_flow_create(const vug_model *model, const vug_flow_options *options, vug_flow **out,
                           vug_err *err)
{
    vug_flow_object *flow;
    VUG_TRY(create_flow(options, &flow, err));
    flow->model = model;
    flow->config = &model->checkpoint.config;
    vug_status st = load_flow_profile(flow, NULL, err);
    if (st == VUG_OK)
        st = build_graph(flow, &model->checkpoint.binding, err);
    return finish_flow(flow, st, out);
}

vug_status vug_flow_open(const char *folder, const vug_flow_options *options, vug_flow **out,
                         vug_err *err)
{
    vug_flow_object *flow;
    vug_binding binding = { 0 };
    VUG_TRY(create_flow(options, &flow, err));
    vug_config *config = vug_alloc_zero(1, sizeof(*config));
    vug_status st = VUG_OK;
    if (!config)
        st = VUG_FAIL_NOMEM(err, folder, sizeof(*config));
    if (st == VUG_OK)
        st = vug_checkpoint_read_config(folder, config, err);
    flow->config = config;
    if (st == VUG_OK)
        st = load_flow_profile(flow, folder, err);
    if (st == VUG_OK)
        st = vug_binding_init_without_data(config, &binding, err);
    if (st == VUG_OK)
        st = build_graph(flow, &binding, err);
    vug_binding_release(&binding);
    vug_free(config);
    return finish_flow(flow, st, out);
}

void vug_flow_destroy(vug_flow *f)
{
    vug_flow_object *flow = (vug_flow_object *)(void *)f;
    if (!flow)
        return;
    vug_free(flow->builder.replacement);
    vug_graph_release(&flow->graph);
    vug_free(flow);
}
