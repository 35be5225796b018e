/* Running another program alternately with vug. */
#include "cli/bench_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"

enum { MAX_OUTPUT = 1 << 20, MAX_RATES = 2 };

/* ---- the command -------------------------------------------------------------------- */

/* Quotes `text` for sh. */
static void append_quoted(const char *text, vug_buf *to)
{
    vug_buf_puts(to, "'");
    for (; *text; text++) {
        if (*text == '\'')
            vug_buf_puts(to, "'\\''");
        else
            vug_buf_append(to, text, 1);
    }
    vug_buf_puts(to, "'");
}

/* Appends the value of the placeholder that `at` begins with. Returns its length; 0: none. */
static size_t append_placeholder(const vug_compare_command *c, const char *at, vug_buf *to)
{
    const struct {
        const char *name;
        int value;
    } number[] = { { "{PREFILL}", c->prefill },
                   { "{DECODE}", c->decode },
                   { "{THREADS}", c->threads } };
    static const char file[] = "{FILE}";
    if (strncmp(at, file, strlen(file)) == 0) {
        append_quoted(c->file, to);
        return strlen(file);
    }
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
        if (strncmp(at, number[i].name, strlen(number[i].name)) == 0) {
            vug_buf_printf(to, "%d", number[i].value);
            return strlen(number[i].name);
        }
    }
    return 0;
}

static void append_command(const vug_compare_command *c, vug_buf *to)
{
    for (const char *at = c->command; *at;) {
        const size_t n = append_placeholder(c, at, to);
        if (n == 0)
            vug_buf_append(to, at, 1);
        at += n ? n : 1;
    }
    vug_buf_append(to, "", 1); /* an empty buffer is not terminated */
}

/* Runs a command and appends at most MAX_OUTPUT bytes of its output, with a 0 at the end. */
static vug_status run_command(const char *command, vug_buf *output, vug_err *err)
{
    char piece[4096];
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return VUG_FAIL(err, VUG_IO, "--compare: sh cannot be started");
    for (size_t n; (n = fread(piece, 1, sizeof(piece), pipe)) > 0;) {
        if (output->len + n <= MAX_OUTPUT)
            vug_buf_append(output, piece, n);
    }
    vug_buf_append(output, "", 1);
    const int status = pclose(pipe);
    if (status != 0)
        return VUG_FAIL(err, VUG_IO, "--compare: the command failed (status %d): %s", status,
                        command);
    return vug_buf_ok(output, err);
}

/* ---- its numbers ------------------------------------------------------------------------ */

static bool is_part_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || vug_is_digit(c) || c == '_' ||
           c == '.' || c == '-' || c == '+';
}

/* The last `n` numbers of a text, in their order. Returns false if there are fewer. */
static bool last_numbers(char *text, int n, double *number)
{
    int found = 0;
    for (char *end = text + strlen(text); end > text && found < n;) {
        char *begin = end;
        while (begin > text && is_part_of_word(begin[-1]))
            begin--;
        *end = 0;
        double value;
        if (begin < end && vug_parse_f64(begin, &value))
            number[n - ++found] = value;
        end = begin < end ? begin : end - 1;
    }
    return found == n;
}

static vug_status run_and_parse(const vug_compare_command *c, vug_buf *command, vug_buf *output,
                                double *prefill, double *decode, vug_err *err)
{
    double *to[MAX_RATES], number[MAX_RATES] = { 0 };
    int n = 0;
    if (c->prefill > 0)
        to[n++] = prefill;
    if (c->decode > 0)
        to[n++] = decode;
    append_command(c, command);
    VUG_TRY(vug_buf_ok(command, err));
    VUG_TRY(run_command((const char *)command->ptr, output, err));
    if (!last_numbers((char *)output->ptr, n, number))
        return VUG_FAIL(err, VUG_FORMAT, "--compare: the command printed fewer than %d numbers: %s",
                        n, (const char *)command->ptr);
    for (int i = 0; i < n; i++) {
        if (!(number[i] > 0))
            return VUG_FAIL(err, VUG_FORMAT, "--compare: the command printed %g as tokens/s: %s",
                            number[i], (const char *)command->ptr);
        *to[i] = number[i];
    }
    return VUG_OK;
}

vug_status vug_compare_run(const vug_compare_command *command, double *prefill, double *decode,
                           vug_err *err)
{
    vug_buf line = { 0 }, output = { 0 };
    const vug_status st = run_and_parse(command, &line, &output, prefill, decode, err);
    vug_buf_release(&line);
    vug_buf_release(&output);
    return st;
}

/* ---- reports ---------------------------------------------------------------------------- */

void vug_compare_add(vug_compare_series *s, double rate, double other)
{
    vug_rate_series_add(&s->rate, other);
    vug_rate_series_add(&s->ratio, rate / other);
}

static void summarise(vug_compare_series *s)
{
    vug_rate_series_summarise(&s->rate);
    vug_rate_series_summarise(&s->ratio);
}

void vug_compare_print(vug_compare_series *s, const char *name, int n, vug_buf *to)
{
    char what[40];
    if (s->rate.n == 0)
        return;
    summarise(s);
    (void)snprintf(what, sizeof(what), "  %s of %d", name, n);
    vug_buf_printf(to, "  %-18s %10.2f %10.2f %10.2f   vug is %.2f times as fast (%.2f to %.2f)\n",
                   what, s->rate.median, s->rate.min, s->rate.max, s->ratio.median, s->ratio.min,
                   s->ratio.max);
}

void vug_compare_write(vug_compare_series *s, const char *key, vug_json_writer *js)
{
    if (s->rate.n == 0)
        return;
    summarise(s);
    vug_json_begin(js, key, '{');
    vug_json_put_f64(js, "median_tokens_per_s", s->rate.median);
    vug_json_put_f64(js, "median_ratio", s->ratio.median);
    vug_json_put_f64(js, "min_ratio", s->ratio.min);
    vug_json_put_f64(js, "max_ratio", s->ratio.max);
    vug_json_begin(js, "runs_tokens_per_s", '[');
    for (int i = 0; i < s->rate.n; i++)
        vug_json_put_f64(js, NULL, s->rate.run[i]);
    vug_json_end(js, ']');
    vug_json_end(js, '}');
}
