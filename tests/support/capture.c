

#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "core/mem.h"

const char *capture_program(void)
{
    const char *named = getenv("VUG_BIN");
    return named && *named ? named : VUG_BUILD "/vug";
}

/* Files need no reader while the program writes, unlike pipes. */
static FILE *create_file(const char *text)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    const size_t n = text ? strlen(text) : 0;
    assert_int_equal(fwrite(text ? text : "", 1, n, file), n);
    assert_int_equal(fflush(file), 0);
    rewind(file);
    return file;
}

static vug_text read_file(FILE *file)
{
    vug_buf all = { 0 };
    vug_text text;
    char block[4096];
    size_t n;
    rewind(file);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        vug_buf_append(&all, block, n);
    assert_int_equal(vug_buf_take(&all, &text, NULL), VUG_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

void capture_reset_signals(void)
{
    static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    sigset_t none;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        (void)signal(all[i], SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child; never returns. */
static void run_child(FILE *in, FILE *out, FILE *err, const char *const *env,
                      const char *const *argv)
{
    capture_reset_signals();
    if (dup2(fileno(in), 0) == 0 && dup2(fileno(out), 1) == 1 && dup2(fileno(err), 2) == 2) {
        while (env && *env)
            (void)putenv((char *)*env++);
        (void)execvp(argv[0], (char *const *)argv);
        (void)fprintf(stderr, "%s: cannot run\n", argv[0]);
    }
    _exit(127);
}

captured capture(const char *input, const char *const *env, const char *const *argv)
{
    FILE *in = create_file(input), *out = create_file(NULL), *err = create_file(NULL);
    int status = 0;
    (void)fflush(NULL); /* or the child would print buffered output again */
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_child(in, out, err, env, argv);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(fclose(in), 0);
    return (captured){
        .out = read_file(out),
        .err = read_file(err),
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
    };
}

void captured_release(captured *c)
{
    vug_text_release(&c->out);
    vug_text_release(&c->err);
}

void gives(captured c, const char *out, const char *part)
{
    const bool has_part = *part ? strstr(c.err.ptr, part) != NULL : c.err.len == 0;
    if (c.code != 0 || strcmp(c.out.ptr, out) != 0 || !has_part)
        fail_msg("exit code %d: '%.600s', expected '%.600s'; '%.600s', expected '%.600s'", c.code,
                 c.out.ptr, out, c.err.ptr, part);
    captured_release(&c);
}

void refuses(captured c, const char *part)
{
    refuses_with(c, 2, part);
}

void refuses_with(captured c, int code, const char *part)
{
    if (c.code != code || !strstr(c.err.ptr, part))
        fail_msg("exit code %d, not %d: '%.2000s', expected '%s'", c.code, code, c.err.ptr, part);
    assert_int_equal(strncmp(c.err.ptr, "vug: ", 5), 0);
    assert_ptr_equal(strchr(c.err.ptr, '\n'), c.err.ptr + c.err.len - 1);
    assert_null(memchr(c.err.ptr, '\033', c.err.len));
    assert_int_equal(c.out.len, 0);
    captured_release(&c);
}
