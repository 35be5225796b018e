#include "app/ui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os.h"
#include "core/text.h"

static vug_style style_of(bool terminal)
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
        .out = style_of(out),
        .err = style_of(err),
    };
}

/* ---- output ---------------------------------------------------------------- */

static bool failed(vug_ui *ui)
{
    if (!ui->out_errno)
        ui->out_errno = errno ? errno : EIO;
    return false;
}

bool vug_ui_out(vug_ui *ui, const char *bytes, size_t n)
{
    if (ui->out_errno)
        return false;
    errno = 0;
    return n == 0 || fwrite(bytes, 1, n, stdout) == n || failed(ui);
}

bool vug_ui_flush(vug_ui *ui)
{
    if (ui->out_errno)
        return false;
    errno = 0;
    return fflush(stdout) == 0 || failed(ui);
}

/* C0 but for \n and \t, DEL, and C1: what a terminal may take as a command. */
static bool steers(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
}

/* Calls put(to, bytes, n) with text that is safe for a terminal. */
static bool sanitise(const char *text, size_t n, bool put(void *, const char *, size_t), void *to)
{
    size_t from = 0, i = 0;
    bool ok = true;
    while (i < n) {
        uint32_t c = 0xfffd;
        const size_t len = vug_utf8_next(text + i, n - i, &c);
        if (len && !steers(c)) {
            i += len;
            continue;
        }
        ok = put(to, text + from, i - from) && put(to, "\xef\xbf\xbd", 3) && ok;
        i += len ? len : 1;
        from = i;
    }
    return put(to, text + from, n - from) && ok;
}

static bool put_out(void *ui, const char *bytes, size_t n)
{
    return vug_ui_out(ui, bytes, n);
}

static bool put_err(void *unused, const char *bytes, size_t n)
{
    (void)unused;
    return fwrite(bytes, 1, n, stderr) == n;
}

static bool put_line(void *to, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vug_buf_append(to, bytes[i] == '\n' || bytes[i] == '\t' ? " " : bytes + i, 1);
    return true;
}

void vug_ui_line(const char *text, size_t n, vug_buf *to)
{
    (void)sanitise(text, n, put_line, to);
}

bool vug_ui_text(vug_ui *ui, const char *text, size_t n)
{
    if (ui->out_terminal)
        (void)sanitise(text, n, put_out, ui);
    else
        (void)vug_ui_out(ui, text, n);
    return vug_ui_flush(ui);
}

void vug_ui_dim(const vug_ui *ui, const char *text, size_t n)
{
    (void)fputs(ui->err.dim, stderr);
    if (ui->err_terminal)
        (void)sanitise(text, n, put_err, NULL);
    else
        (void)put_err(NULL, text, n);
    (void)fputs(ui->err.off, stderr);
}

static int print(vug_ui *ui, vug_buf *buf, int code, bool put(vug_ui *, const char *, size_t))
{
    vug_err err;
    if (vug_buf_ok(buf, &err) != VUG_OK)
        code = vug_ui_fail(ui, &err);
    else
        (void)put(ui, buf->ptr, buf->len);
    vug_buf_release(buf);
    return code;
}

int vug_ui_print(vug_ui *ui, vug_buf *buf, int code)
{
    return print(ui, buf, code, vug_ui_text);
}

int vug_ui_print_styled(vug_ui *ui, vug_buf *buf, int code)
{
    return print(ui, buf, code, vug_ui_out);
}

int vug_ui_finish(vug_ui *ui, int code)
{
    if (vug_ui_flush(ui) || ui->out_errno == EPIPE)
        return code;
    vug_ui_note(ui, "standard output: %s", strerror(ui->out_errno));
    return VUG_EXIT_MACHINE;
}

void vug_ui_note(const vug_ui *ui, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "%svug:%s ", ui->err.bad, ui->err.off);
    (void)sanitise(text, strlen(text), put_err, NULL);
    (void)fputc('\n', stderr);
}

int vug_ui_fail(const vug_ui *ui, const vug_err *err)
{
    vug_ui_note(ui, "%s", err->msg);
    switch (err->code) {
    case VUG_OK:
        return VUG_EXIT_OK;
    case VUG_NOMEM:
        return VUG_EXIT_MACHINE;
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

bool vug_bar_step(uint64_t done, uint64_t total, void *user)
{
    vug_bar *bar = user;
    if (bar->off || !bar->ui->err_terminal || total == 0)
        return true;
    const double now = vug_now();
    if (now - bar->start < bar_after_s || now - bar->drawn < bar_every_s)
        return true;
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
    return true;
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
