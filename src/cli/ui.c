#include "cli/ui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "core/os.h"
#include "core/utf8.h"

static vug_style choose_style(bool terminal)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    const bool plain = (no_color && *no_color) || !term || strcmp(term, "dumb") == 0;
    if (!terminal || plain)
        return (vug_style){ "", "", "", "", "" };
    return (vug_style){ "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[0m" };
}

vug_ui vug_ui_init(void)
{
    const bool out = isatty(STDOUT_FILENO) == 1, err = isatty(STDERR_FILENO) == 1;
    return (vug_ui){
        .out_terminal = out,
        .err_terminal = err,
        .out = choose_style(out),
        .err = choose_style(err),
    };
}

/* ---- output ---------------------------------------------------------------- */

static bool remember_failure(vug_ui *ui)
{
    if (!ui->out_errno)
        ui->out_errno = errno ? errno : EIO;
    return false;
}

bool vug_ui_write(vug_ui *ui, const char *bytes, size_t n)
{
    if (ui->out_errno)
        return false;
    errno = 0;
    return n == 0 || fwrite(bytes, 1, n, stdout) == n || remember_failure(ui);
}

bool vug_ui_flush(vug_ui *ui)
{
    if (ui->out_errno)
        return false;
    errno = 0;
    return fflush(stdout) == 0 || remember_failure(ui);
}

/* C0 except \n and \t, DEL, and C1: a terminal may treat them as commands. */
static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
}

/* Calls put(to, bytes, n) with text that is safe to print on a terminal. */
static bool sanitise(const char *text, size_t n, bool put(void *, const char *, size_t), void *to)
{
    size_t from = 0, i = 0;
    bool ok = true;
    while (i < n) {
        uint32_t c = 0xfffd;
        const size_t len = vug_utf8_decode(text + i, n - i, &c);
        if (len && !is_control(c)) {
            i += len;
            continue;
        }
        ok = put(to, text + from, i - from) && put(to, "\xef\xbf\xbd", 3) && ok;
        i += len ? len : 1;
        from = i;
    }
    return put(to, text + from, n - from) && ok;
}

static bool write_stdout(void *ui, const char *bytes, size_t n)
{
    return vug_ui_write(ui, bytes, n);
}

static bool write_stderr(void *unused, const char *bytes, size_t n)
{
    (void)unused;
    return fwrite(bytes, 1, n, stderr) == n;
}

static bool append_as_line(void *to, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vug_buf_append(to, bytes[i] == '\n' || bytes[i] == '\t' ? " " : bytes + i, 1);
    return true;
}

void vug_ui_append_line(const char *text, size_t n, vug_buf *to)
{
    (void)sanitise(text, n, append_as_line, to);
}

bool vug_ui_write_text(vug_ui *ui, const char *text, size_t n)
{
    if (ui->out_terminal)
        (void)sanitise(text, n, write_stdout, ui);
    else
        (void)vug_ui_write(ui, text, n);
    return vug_ui_flush(ui);
}

void vug_ui_write_dim(const vug_ui *ui, const char *text, size_t n)
{
    (void)fputs(ui->err.dim, stderr);
    if (ui->err_terminal)
        (void)sanitise(text, n, write_stderr, NULL);
    else
        (void)write_stderr(NULL, text, n);
    (void)fputs(ui->err.off, stderr);
}

static int print_buffer(vug_ui *ui, vug_buf *buf, int code,
                        bool put(vug_ui *, const char *, size_t))
{
    vug_err err;
    if (vug_buf_ok(buf, &err) != VUG_OK)
        code = vug_ui_fail(ui, &err);
    else
        (void)put(ui, buf->ptr, buf->len);
    vug_buf_release(buf);
    return code;
}

int vug_ui_print(vug_ui *ui, vug_buf *buf)
{
    return print_buffer(ui, buf, VUG_EXIT_OK, vug_ui_write_text);
}

int vug_ui_print_styled(vug_ui *ui, vug_buf *buf, int code)
{
    return print_buffer(ui, buf, code, vug_ui_write);
}

int vug_ui_print_json(vug_json_writer *json, vug_ui *ui, int code)
{
    vug_buf_puts(&json->buf, "\n");
    return vug_ui_print_styled(ui, &json->buf, code);
}

int vug_ui_finish(vug_ui *ui, int code)
{
    if (vug_ui_flush(ui) || ui->out_errno == EPIPE)
        return code;
    vug_ui_note(ui, "standard output: %s", strerror(ui->out_errno));
    return VUG_EXIT_SYSTEM;
}

void vug_ui_note(const vug_ui *ui, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "%svug:%s ", ui->err.bad, ui->err.off);
    (void)sanitise(text, strlen(text), write_stderr, NULL);
    (void)fputc('\n', stderr);
}

int vug_ui_fail(const vug_ui *ui, const vug_err *err)
{
    vug_ui_note(ui, "%s", err->msg);
    switch (err->code) {
    case VUG_OK:
        return VUG_EXIT_OK;
    case VUG_NOMEM:
    case VUG_WRITE:
    case VUG_DEVICE:
        return VUG_EXIT_SYSTEM;
    case VUG_CANCELLED:
        return VUG_EXIT_INTERRUPTED;
    default:
        return VUG_EXIT_USAGE;
    }
}

/* ---- progress -------------------------------------------------------------- */

static const double bar_after_s = 0.2, bar_every_s = 0.05;
enum { BAR_CELLS = 30 };

vug_bar vug_bar_start(const vug_ui *ui, const char *label, bool off)
{
    return (vug_bar){ .ui = ui, .label = label, .start = vug_now(), .off = off };
}

static void draw_bar(vug_bar *bar, uint64_t done, uint64_t total)
{
    if (bar->off || !bar->ui->err_terminal || total == 0)
        return;
    const double now = vug_now();
    if (now - bar->start < bar_after_s || now - bar->drawn < bar_every_s)
        return;
    const double part = done < total ? (double)done / (double)total : 1;
    const int full = (int)(part * BAR_CELLS);
    char what[64];
    if (bar->unit)
        (void)snprintf(what, sizeof(what), "%s %s, %.1f/s", vug_human_count((double)total).text,
                       bar->unit, (double)done / (now - bar->start));
    else
        (void)snprintf(what, sizeof(what), "%s", vug_human_bytes(total).text);
    (void)fprintf(stderr, "\r%s [%.*s%*s] %3d%% of %s\033[K", bar->label, full,
                  "##############################", BAR_CELLS - full, "", (int)(part * 100), what);
    (void)fflush(stderr);
    bar->drawn = now;
    bar->shown = true;
}

bool vug_bar_step(uint64_t done, uint64_t total, void *user)
{
    draw_bar(user, done, total);
    return !vug_interrupt_pending();
}

void vug_bar_end(vug_bar *bar)
{
    if (bar->shown)
        (void)fputs("\r\033[K", stderr);
    bar->shown = false;
}

/* ---- sizes ----------------------------------------------------------------- */

vug_human vug_human_bytes(uint64_t bytes)
{
    static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    vug_human out;
    double v = (double)bytes / 1024;
    size_t u = 0;
    if (bytes < 1024) {
        (void)snprintf(out.text, sizeof(out.text), "%d B", (int)bytes);
        return out;
    }
    while (v >= 1023.995 && u + 1 < sizeof(unit) / sizeof(*unit)) {
        v /= 1024;
        u++;
    }
    (void)snprintf(out.text, sizeof(out.text), "%.2f %s", v, unit[u]);
    return out;
}

vug_human vug_human_count(double n)
{
    static const char unit[] = " kMGTPE";
    vug_human out;
    size_t u = 0;
    while (n >= 999.95 && u + 2 < sizeof(unit)) {
        n /= 1000;
        u++;
    }
    if (u == 0)
        (void)snprintf(out.text, sizeof(out.text), "%.4g", n);
    else
        (void)snprintf(out.text, sizeof(out.text), "%.1f %c", n, unit[u]);
    return out;
}
