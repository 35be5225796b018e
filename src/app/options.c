#include "app/option_rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/text.h"

enum {
#define COMMAND(NAME, ...) NAME = 1 << VUG_COMMAND_##NAME,
#include "app/commands.def"
#undef COMMAND
    ALL = (1 << VUG_COMMAND_COUNT) - 1,
    MODELS = RUN | SERVE | VERIFY | INSPECT | GRAPH | BENCH | PERPLEXITY |
             IMATRIX, /* commands that open one */
};

const vug_option_row vug_option_rows[VUG_OPTION_COUNT] = {
#define OPT(opt_type, field, name, short_name, default_text, least, most, bits, value_name, text) \
    { .type = VUG_OPTION_##opt_type,                                                              \
      .commands = (unsigned)(bits),                                                               \
      .at = offsetof(vug_options, field),                                                         \
      .flag = name,                                                                               \
      .def = default_text,                                                                        \
      .value = value_name,                                                                        \
      .help = text,                                                                               \
      .min = (double)(least),                                                                     \
      .max = (double)(most),                                                                      \
      .letter = short_name },
#include "app/options.def"
#undef OPT
};

static const struct {
    const char *name;
    size_t least, most;
    const char *operands;
} commands[VUG_COMMAND_COUNT] = {
#define COMMAND(NAME, name, least, most, operands, line, text, example) \
    { #name, least, most, operands },
#include "app/commands.def"
#undef COMMAND
};

const char *vug_command_name(vug_command command)
{
    return commands[command].name;
}

vug_command vug_command_find(const char *name)
{
    int c = 0;
    while (c < VUG_COMMAND_COUNT && strcmp(name, commands[c].name) != 0)
        c++;
    return (vug_command)c;
}

vug_model_use vug_command_model(vug_command command)
{
    const char *operands = commands[command].operands;
    if (strcmp(operands, "[MODEL] [PROMPT]") == 0)
        return VUG_MODEL_OR_PROMPT;
    if (strncmp(operands, "[MODEL]", 7) == 0)
        return VUG_MODEL_OR_PEBBLE;
    return strncmp(operands, "MODEL", 5) == 0 ? VUG_MODEL_FIRST : VUG_MODEL_NONE;
}

/* ---- the nearest name ------------------------------------------------------ */

enum { NAME_MAX_BYTES = 40 };

/* Levenshtein distance; a large number for long strings. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t row[NAME_MAX_BYTES + 1];
    if (n > NAME_MAX_BYTES || m > NAME_MAX_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t one_more = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < one_more ? replaced : one_more;
        }
    }
    return row[m];
}

/* The beginning of a name is as near as can be: --temp. Else half of it may be wrong; a name
 * that only shares length is no help. */
static bool nearer(const char *given, const char *name, size_t *best)
{
    const size_t n = strlen(given);
    const size_t d = n >= 3 && strncmp(given, name, n) == 0 ? 0 : distance(given, name);
    if (d >= *best || d * 2 > strlen(name))
        return false;
    *best = d;
    return true;
}

const char *vug_command_near(const char *name)
{
    const char *found = NULL;
    size_t best = SIZE_MAX;
    for (int c = 0; c < VUG_COMMAND_COUNT; c++)
        if (nearer(name, commands[c].name, &best))
            found = commands[c].name;
    return found;
}

/* What is an option of another command may be an operand of this one: -m, --model. */
static bool is_operand(const char *given, vug_command command)
{
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        const bool letter = given[0] && given[0] == row->letter && !given[1];
        if ((letter || strcmp(given, row->flag) == 0) &&
            strcasestr(commands[command].operands, row->flag))
            return true;
    }
    return false;
}

static vug_status unknown(const char *arg, vug_command command, vug_err *err)
{
    const char *given = arg + strspn(arg, "-");
    const char *found = NULL;
    size_t best = SIZE_MAX;
    char name[NAME_MAX_BYTES + 1] = { 0 };
    const size_t len = strcspn(given, "=");
    if (len <= NAME_MAX_BYTES)
        memcpy(name, given, len);
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        if (vug_option_of(row, command) && nearer(name, row->flag, &best))
            found = row->flag;
    }
    if (is_operand(name, command))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "unknown option %s; it is an operand here: vug %s %s [options]", arg,
                        commands[command].name, commands[command].operands);
    if (found)
        return VUG_FAIL(err, VUG_ARGUMENT, "unknown option %s; did you mean --%s?", arg, found);
    return VUG_FAIL(err, VUG_ARGUMENT,
                    "unknown option %s; `vug %s --help` lists them, and -- goes before a text "
                    "that begins with a dash",
                    arg, commands[command].name);
}

/* ---- values ---------------------------------------------------------------- */

static void store(vug_options *o, const vug_option_row *row, const void *value, size_t size)
{
    memcpy((char *)o + row->at, value, size);
}

static vug_status set_number(vug_options *o, const vug_option_row *row, const char *text,
                             vug_err *err)
{
    if (row->type == VUG_OPTION_f64) {
        double v;
        if (!vug_parse_f64(text, &v) || v < row->min || v > row->max)
            return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected a number from %g to %g",
                            row->flag, text, row->min, row->max);
        store(o, row, &v, sizeof(v));
        return VUG_OK;
    }
    const bool wide = row->type == VUG_OPTION_u64;
    const int64_t max = wide ? INT64_MAX : (int64_t)row->max;
    int64_t v;
    if (!vug_parse_i64(text, &v) || v < (int64_t)row->min || v > max)
        return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected a whole number from %lld to %lld",
                        row->flag, text, (long long)row->min, (long long)max);
    if (wide) {
        const uint64_t u = (uint64_t)v;
        store(o, row, &u, sizeof(u));
    } else {
        const int small = (int)v;
        store(o, row, &small, sizeof(small));
    }
    return VUG_OK;
}

/* A number and a unit: K, M, G, T are powers of 1024; "B" and "iB" may follow. */
static vug_status set_size(vug_options *o, const vug_option_row *row, const char *text,
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
    store(o, row, &bytes, sizeof(bytes));
    return VUG_OK;
}

static vug_status set_choice(vug_options *o, const vug_option_row *row, const char *text,
                             vug_err *err)
{
    const size_t len = strlen(text);
    for (const char *at = row->value; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        if (n == len && memcmp(at, text, n) == 0) {
            store(o, row, &text, sizeof(text));
            return VUG_OK;
        }
        at += n;
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "--%s %s: expected one of %s", row->flag, text, row->value);
}

/* `room` items at most can come, one per argument. */
static vug_status set_list(vug_options *o, const vug_option_row *row, const char *text, size_t room,
                           vug_err *err)
{
    vug_option_list list;
    memcpy(&list, (const char *)o + row->at, sizeof(list));
    if (!list.item)
        list.item = vug_arena_alloc(&o->arena, room, sizeof(*list.item));
    if (!list.item)
        return VUG_FAIL_NOMEM(err, "the command line", room * sizeof(*list.item));
    list.item[list.n++] = text;
    store(o, row, &list, sizeof(list));
    return VUG_OK;
}

static vug_status set(vug_options *o, const vug_option_row *row, const char *text, size_t room,
                      vug_err *err)
{
    switch (row->type) {
    case VUG_OPTION_flag: {
        const bool on = true;
        store(o, row, &on, sizeof(on));
        return VUG_OK;
    }
    case VUG_OPTION_size:
        return set_size(o, row, text, err);
    case VUG_OPTION_str:
        store(o, row, &text, sizeof(text));
        return VUG_OK;
    case VUG_OPTION_choice:
        return set_choice(o, row, text, err);
    case VUG_OPTION_list:
        return set_list(o, row, text, room, err);
    case VUG_OPTION_int:
    case VUG_OPTION_f64:
    case VUG_OPTION_u64:
        break;
    }
    return set_number(o, row, text, err);
}

/* ---- arguments ------------------------------------------------------------- */

/* The row that `arg` names, with *value behind its '=' or NULL; or NULL. */
static const vug_option_row *find(const char *arg, vug_command command, const char **value)
{
    const bool is_long = arg[1] == '-';
    const char *name = arg + (is_long ? 2 : 1);
    const size_t len = strcspn(name, "=");
    *value = name[len] == '=' ? name + len + 1 : NULL;
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        const bool same = is_long ? strlen(row->flag) == len && memcmp(name, row->flag, len) == 0
                                  : len == 1 && row->letter == name[0];
        if (same && vug_option_of(row, command))
            return row;
    }
    return NULL;
}

static vug_status check_operands(const vug_options *o, vug_command command, vug_err *err)
{
    const char *name = commands[command].name;
    const char *operands = commands[command].operands;
    if (o->help)
        return VUG_OK;
    if (o->n_operands < commands[command].least)
        return VUG_FAIL(err, VUG_ARGUMENT, "an operand is missing; usage: vug %s %s [options]",
                        name, operands);
    if (o->n_operands > commands[command].most)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "'%.80s' is one operand too many; usage: vug %s %s [options]; "
                        "a text with spaces goes in quotes",
                        o->operand[commands[command].most], name, operands);
    return VUG_OK;
}

static vug_status defaults(vug_options *o, vug_command command, vug_err *err)
{
    for (int i = 0; i < VUG_OPTION_COUNT; i++) {
        const vug_option_row *row = &vug_option_rows[i];
        if (*row->def && *row->def != ':' && vug_option_of(row, command))
            VUG_TRY(set(o, row, row->def, 1, err));
    }
    return VUG_OK;
}

vug_status vug_options_parse(vug_options *o, vug_command command, int argc, const char *const *argv,
                             vug_err *err)
{
    const size_t room = argc > 0 ? (size_t)argc + 1 : 1;
    bool only_operands = false;
    *o = (vug_options){ 0 };
    VUG_TRY(defaults(o, command, err));
    o->operand = vug_arena_alloc(&o->arena, room, sizeof(*o->operand));
    if (!o->operand)
        return VUG_FAIL_NOMEM(err, "the command line", room * sizeof(*o->operand));
    for (int a = 0; a < argc; a++) {
        const char *arg = argv[a];
        if (only_operands || arg[0] != '-' || !arg[1]) { /* "-" is standard input */
            o->operand[o->n_operands++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_operands = true;
            continue;
        }
        const char *value;
        const vug_option_row *row = find(arg, command, &value);
        if (!row)
            return unknown(arg, command, err);
        if (row->type == VUG_OPTION_flag && value)
            return VUG_FAIL(err, VUG_ARGUMENT, "--%s takes no value", row->flag);
        if (row->type != VUG_OPTION_flag && !value) {
            if (++a == argc)
                return VUG_FAIL(err, VUG_ARGUMENT, "--%s needs a value: %s", row->flag, row->value);
            value = argv[a];
        }
        VUG_TRY(set(o, row, value, room, err));
        o->given[row - vug_option_rows] = true;
    }
    return check_operands(o, command, err);
}

void vug_options_release(vug_options *o)
{
    vug_arena_release(&o->arena);
    *o = (vug_options){ 0 };
}

vug_model_options vug_options_model(const vug_options *opt)
{
    return (vug_model_options){
        .device = opt->device,
        .context = opt->context,
        .batch = opt->batch,
        .snapshots = opt->snapshots,
        .threads = opt->threads,
        .memory_limit = opt->memory_limit,
        .isa = opt->isa,
        .profile = opt->profile,
        .kv = opt->kv,
    };
}
