/*
 * Encoding speed on one core, in MB (1,000,000 bytes) of text per second: prose (the pages
 * of docs/, once and repeated), other scripts, and texts chosen to be slow. It measures
 * processor time and prints the best round, since the machine may be busy.
 *
 *     bench_tokenizer [rounds [TOKENIZER..]]
 *
 * Without TOKENIZERs it measures the small one of the tests and the real ones that
 * tools/tokenizers/fetch has fetched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "core/os.h"

enum { HOSTILE = 1 << 20 }; /* bytes */

static const char *const pages[] = { "architecture", "arithmetic", "contributing", "dependencies",
                                     "flow",         "formats",    "library",      "limits",
                                     "models",       "performance" };

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(const vug_tokenizer *tokenizer, const char *what, const vug_buf *text,
                    int rounds)
{
    double best = 1e9;
    size_t n = 0;
    for (int i = 0; i < rounds; i++) {
        vug_tokens tokens = { 0 };
        vug_err err;
        const double start = seconds();
        if (vug_tokenizer_encode(tokenizer, text->ptr, text->len, VUG_ENCODE_PARSE_SPECIAL, &tokens,
                                 &err) != VUG_OK) {
            printf("  %-26s %s\n", what, err.msg);
            return;
        }
        const double took = seconds() - start;
        best = took < best ? took : best;
        n = tokens.n;
        vug_tokens_release(&tokens);
    }
    printf("  %-26s %8zu bytes %8zu ids %8.1f MB/s\n", what, text->len, n,
           (double)text->len * 1e-6 / best);
}

static void repeat(vug_buf *to, const char *part, size_t bytes)
{
    to->len = 0;
    while (to->len < bytes && !to->bad)
        vug_buf_puts(to, part);
}

static void read_pages(vug_buf *to, int times)
{
    to->len = 0;
    for (int i = 0; i < times; i++) {
        for (size_t p = 0; p < sizeof(pages) / sizeof(*pages); p++) {
            char path[100];
            vug_text page = { 0 };
            (void)snprintf(path, sizeof(path), "docs/%s.md", pages[p]);
            if (vug_read_file(path, 1 << 24, &page, NULL) == VUG_OK)
                vug_buf_append(to, page.ptr, page.len);
            vug_text_release(&page);
        }
    }
}

static void measure_all(const vug_tokenizer *tokenizer, int rounds)
{
    static const char *const repeated[][2] = {
        { "Russian", "Съешь же ещё этих мягких французских булок, да выпей чаю. " },
        { "Chinese", "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。" },
        { "Korean", "다람쥐 헌 쳇바퀴에 타고파. 키스의 고유조건은 입술끼리 만나야 한다. " },
        { "decomposed", "e\u0301te\u0301 nai\u0308f A\u030angstro\u0308m " },
        { "one letter", "a" },
        { "spaces", " " },
        { "newlines", "\n" },
        { "emoji", "\U0001f600" },
        { "families", "\U0001f469\u200d\U0001f469\u200d\U0001f467" },
        { "marks, out of order", "\u0301\u0323" },
        { "apostrophes", "'" },
        { "digits", "1234567890" },
    };
    vug_buf text = { 0 };
    read_pages(&text, 1);
    measure(tokenizer, "docs/", &text, rounds);
    read_pages(&text, 16);
    measure(tokenizer, "docs/, 16 times", &text, rounds);
    for (size_t i = 0; i < sizeof(repeated) / sizeof(*repeated); i++) {
        repeat(&text, repeated[i][1], HOSTILE);
        measure(tokenizer, repeated[i][0], &text, rounds);
    }
    vug_buf_release(&text);
}

static int run(const char *path, int rounds)
{
    vug_tokenizer *tokenizer = NULL;
    vug_err err;
    const double start = seconds();
    if (vug_tokenizer_open(path, &tokenizer, &err) != VUG_OK) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    printf("%s: opened in %.0f ms, best of %d rounds\n", path, 1e3 * (seconds() - start), rounds);
    measure_all(tokenizer, rounds);
    vug_tokenizer_close(tokenizer);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const known[] = { "tests/golden/text/byte_level.json",
                                         "build/tokenizers/gemma3", "build/tokenizers/qwen3" };
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 9;
    int code = 0;
    for (int i = 2; i < argc && code == 0; i++)
        code = run(argv[i], rounds > 0 ? rounds : 1);
    for (size_t i = 0; argc < 3 && i < sizeof(known) / sizeof(*known) && code == 0; i++) {
        if (vug_file_exists(known[i]) || vug_is_folder(known[i]))
            code = run(known[i], rounds > 0 ? rounds : 1);
    }
    return code;
}
