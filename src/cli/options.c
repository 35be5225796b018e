#include "cli/options.h"

#include <math.h>
#include <string.h>

#include "cli/suggest.h"
#include "core/number.h"

enum {
#define COMMAND(NAME, ...) NAME = 1 << VUG_COMMAND_##NAME,
#include "cli/commands.def"
#undef COMMAND
    ALL = (1 << VUG_COMMAND_COUNT) - 1,
    /* Commands that open a model. */
    MODELS = RUN | SERVE | BATCH | VERIFY | INSPECT | GRAPH | BENCH | PERPLEXITY | IMATRIX | EMBED,
};

const vug_option_row vug_option_rows[VUG_OPTION_COUNT] = {
#define OPT(opt_type, field, name, short_name, def, least, most, bits, value_name, text) \
    { .type = VUG_OPTION_##opt_type,                                                     \
      .commands = (unsigned)(bits),                                                      \
      .offset = offsetof(vug_options, field),                                            \
      .flag = name,                                                                      \
      .default_text = def,                                                               \
      .value = value_name,                                                               \
      .help = text,                                                                      \
      .min = (double)(least),                                                            \
      .max = (double)(most),                                                             \
      .letter = short_name },
#include "cli/options.def"
#undef OPT
};

/* ---- unknown options ------------------------------------------------------- */

/* `vug chat` has an option --model; other commands have an operand MODEL instead. */
static bool is_operand(const char *given, vug_command command)
{
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        const bool letter = given[0] && given[0] == row->letter && !given[1];
        if ((letter || strcmp(given, row->flag) == 0) &&
            strcasestr(vug_command_rows[command].operands, row->flag))
            return true;
    }
    return false;
}

static vug_status fail_unknown(const char *arg, vug_command command, vug_err *err)
{
    const char *given = arg + strspn(arg, "-");
    const char *found = NULL;
    size_t best = SIZE_MAX;
    char name[VUG_SUGGEST_MAX_NAME + 1] = { 0 };
    const size_t len = strcspn(given, "=");
    if (len <= VUG_SUGGEST_MAX_NAME)
        memcpy(name, given, len);
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        if (vug_option_applies(row, command) && vug_suggest_better(name, row->flag, &best))
            found = row->flag;
    }
    if (is_operand(name, command))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "unknown option %s; give it as an operand: vug %s %s [options]", arg,
                        vug_command_rows[command].name, vug_command_rows[command].operands);
    if (found)
        return VUG_FAIL(err, VUG_ARGUMENT, "unknown option %s; did you mean --%s?", arg, found);
    return VUG_FAIL(err, VUG_ARGUMENT,
                    "unknown option %s; `vug %s --help` lists the options; put -- before an "
                    "operand that starts with a dash",
                    arg, vug_command_rows[command].name);
}

/* ---- values ---------------------------------------------------------------- */

static void store_value(vug_options *o, const vug_option_row *row, const void *value, size_t size)
{
    memcpy((char *)o + row->offset, value, size);
}

static vug_status parse_number(vug_options *o, const vug_option_row *row, const char *text,
                               vug_err *err)
{
    if (row->type == VUG_OPTION_f64) {
        double v;
        if (!vug_parse_f64(text, &v) || v < row->min || v > row->max)
            return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected a number from %g to %g",
                            row->flag, text, row->min, row->max);
        store_value(o, row, &v, sizeof(v));
        return VUG_OK;
    }
    const bool is_u64 = row->type == VUG_OPTION_u64;
    const int64_t max = is_u64 ? INT64_MAX : (int64_t)row->max;
    int64_t v;
    if (!vug_parse_i64(text, &v) || v < (int64_t)row->min || v > max)
        return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected a whole number from %lld to %lld",
                        row->flag, text, (long long)row->min, (long long)max);
    if (is_u64) {
        const uint64_t u = (uint64_t)v;
        store_value(o, row, &u, sizeof(u));
    } else {
        const int small = (int)v;
        store_value(o, row, &small, sizeof(small));
    }
    return VUG_OK;
}

/* A number and a unit: K, M, G and T are powers of 1024; "B" or "iB" may follow. */
static vug_status parse_size(vug_options *o, const vug_option_row *row, const char *text,
                             vug_err *err)
{
    static const char units[] = "KMGT";
    char number[32] = { 0 };
    const size_t digits = strspn(text, "0123456789.");
    const char *unit = text + digits;
    double v = 0;
    bool ok = digits > 0 && digits < sizeof(number);
    if (ok) {
        memcpy(number, text, digits);
        ok = vug_parse_f64(number, &v);
    }
    const char *found = *unit ? strchr(units, *unit >= 'a' ? *unit - 'a' + 'A' : *unit) : NULL;
    if (found) {
        v = ldexp(v, 10 * (int)(found - units + 1));
        unit++;
        if (strcmp(unit, "iB") == 0)
            unit++;
    }
    if (*unit == 'B')
        unit++;
    if (!ok || *unit || v < row->min || v >= ldexp(1, 63))
        return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected a number of bytes such as 4G or 512M",
                        row->flag, text);
    const uint64_t bytes = (uint64_t)v;
    store_value(o, row, &bytes, sizeof(bytes));
    return VUG_OK;
}

static vug_status parse_choice(vug_options *o, const vug_option_row *row, const char *text,
                               vug_err *err)
{
    const size_t len = strlen(text);
    for (const char *at = row->value; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        if (n == len && memcmp(at, text, n) == 0) {
            store_value(o, row, &text, sizeof(text));
            return VUG_OK;
        }
        at += n;
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected one of %s", row->flag, text, row->value);
}

/* A list has at most `capacity` items: one per argument. */
static vug_status append_to_list(vug_options *o, const vug_option_row *row, const char *text,
                                 size_t capacity, vug_err *err)
{
    vug_option_list list;
    memcpy(&list, (const char *)o + row->offset, sizeof(list));
    if (!list.item)
        list.item = vug_arena_alloc(&o->arena, capacity, sizeof(*list.item));
    if (!list.item)
        return VUG_FAIL_NOMEM(err, "the command line", capacity * sizeof(*list.item));
    list.item[list.n++] = text;
    store_value(o, row, &list, sizeof(list));
    return VUG_OK;
}

static vug_status set_option(vug_options *o, const vug_option_row *row, const char *text,
                             size_t capacity, vug_err *err)
{
    switch (row->type) {
    case VUG_OPTION_flag: {
        const bool on = true;
        store_value(o, row, &on, sizeof(on));
        return VUG_OK;
    }
    case VUG_OPTION_size:
        return parse_size(o, row, text, err);
    case VUG_OPTION_str:
        store_value(o, row, &text, sizeof(text));
        return VUG_OK;
    case VUG_OPTION_choice:
        return parse_choice(o, row, text, err);
    case VUG_OPTION_list:
        return append_to_list(o, row, text, capacity, err);
    case VUG_OPTION_int:
    case VUG_OPTION_f64:
    case VUG_OPTION_u64:
        break;
    }
    return parse_number(o, row, text, err);
}

/* ---- arguments ------------------------------------------------------------- */

/* Returns the row that `arg` names, or NULL. *value is the text after '=', or NULL. */
static const vug_option_row *find_option(const char *arg, vug_command command, const char **value)
{
    const bool is_long = arg[1] == '-';
    const char *name = arg + (is_long ? 2 : 1);
    const size_t len = strcspn(name, "=");
    *value = name[len] == '=' ? name + len + 1 : NULL;
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        const bool same = is_long ? strlen(row->flag) == len && memcmp(name, row->flag, len) == 0
                                  : len == 1 && row->letter == name[0];
        if (same && vug_option_applies(row, command))
            return row;
    }
    return NULL;
}

static vug_status check_operands(const vug_options *o, vug_command command, vug_err *err)
{
    const char *name = vug_command_rows[command].name;
    const char *operands = vug_command_rows[command].operands;
    const size_t most = vug_command_rows[command].max_operands;
    if (o->help)
        return VUG_OK;
    if (o->n_operands < vug_command_rows[command].min_operands)
        return VUG_FAIL(err, VUG_ARGUMENT, "missing operand; usage: vug %s %s [options]", name,
                        operands);
    if (o->n_operands > most && most == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "unexpected operand '%.80s'; usage: vug %s [options]",
                        o->operand[0], name);
    if (o->n_operands > most)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "unexpected operand '%.80s'; usage: vug %s %s [options]; put text with "
                        "spaces in quotes",
                        o->operand[most], name, operands);
    return VUG_OK;
}

static vug_status set_defaults(vug_options *o, vug_command command, vug_err *err)
{
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        if (*row->default_text && *row->default_text != ':' && vug_option_applies(row, command))
            VUG_TRY(set_option(o, row, row->default_text, 1, err));
    }
    return VUG_OK;
}

vug_status vug_options_parse(vug_options *o, vug_command command, int argc, const char *const *argv,
                             vug_err *err)
{
    const size_t capacity = argc > 0 ? (size_t)argc + 1 : 1;
    bool only_operands = false;
    *o = (vug_options){ 0 };
    VUG_TRY(set_defaults(o, command, err));
    o->operand = vug_arena_alloc(&o->arena, capacity, sizeof(*o->operand));
    if (!o->operand)
        return VUG_FAIL_NOMEM(err, "the command line", capacity * sizeof(*o->operand));
    for (int a = 0; a < argc; a++) {
        const char *arg = argv[a];
        if (only_operands || arg[0] != '-' || !arg[1]) { /* "-" means standard input */
            o->operand[o->n_operands++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_operands = true;
            continue;
        }
        const char *value;
        const vug_option_row *row = find_option(arg, command, &value);
        if (!row)
            return fail_unknown(arg, command, err);
        if (row->type == VUG_OPTION_flag && value)
            return VUG_FAIL(err, VUG_ARGUMENT, "--%s takes no value", row->flag);
        if (row->type != VUG_OPTION_flag && !value) {
            if (++a == argc)
                return VUG_FAIL(err, VUG_ARGUMENT, "--%s needs a value: %s", row->flag, row->value);
            value = argv[a];
        }
        VUG_TRY(set_option(o, row, value, capacity, err));
        o->given[row - vug_option_rows] = true;
    }
    return check_operands(o, command, err);
}

void vug_options_release(vug_options *o)
{
    vug_arena_release(&o->arena);
    *o = (vug_options){ 0 };
}

vug_speculation_mode vug_options_speculation(const vug_options *opt)
{
    return strcmp(opt->speculate, "off") == 0 ? VUG_SPECULATION_OFF : VUG_SPECULATION_LOOKUP;
}

vug_pooling vug_options_pooling(const vug_options *opt)
{
    int pooling = 0;
    while (pooling + 1 < VUG_POOLING_COUNT &&
           strcmp(opt->pooling, vug_pooling_name((vug_pooling)pooling)) != 0)
        pooling++;
    return (vug_pooling)pooling;
}

vug_model_options vug_options_model(const vug_options *opt)
{
    return (vug_model_options){
        .device = opt->device,
        .gpu_layers =
                opt->given[VUG_OPTION_gpu_layers] && opt->gpu_layers == 0 ? -1 : opt->gpu_layers,
        .cpu_experts = opt->cpu_experts,
        .context = opt->context,
        .batch = opt->batch,
        .snapshot_percent = opt->snapshots ? opt->snapshots : -1,
        .kv_memory = opt->kv_memory,
        .cache_dir = opt->cache_dir,
        .cache_size = opt->cache_size,
        .slots = opt->slots,
        .threads = opt->threads,
        .memory_limit = opt->memory_limit,
        .isa = opt->isa,
        .draft = opt->draft,
        .profile = opt->profile,
        .kv = opt->kv,
        .activations = opt->activations,
        .head_screen = opt->head_screen,
    };
}
