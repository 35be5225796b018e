/*
 * Fuzz targets as a plain program, for compilers without libFuzzer, for debuggers
 * and for a second look at one file:
 *
 *     build/tests/fuzz NAME FILE...
 */

#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/os.h"
#include "fuzz/fuzz.h"

enum { MAX_INPUT = 64 << 20 };

static const vug_fuzz_target *find(const char *name)
{
    for (size_t i = 0; i < VUG_FUZZ_COUNT; i++)
        if (strcmp(vug_fuzz_targets[i].name, name) == 0)
            return &vug_fuzz_targets[i];
    return NULL;
}

static int usage(void)
{
    (void)fputs("usage: fuzz NAME FILE...   NAME is one of:", stderr);
    for (size_t i = 0; i < VUG_FUZZ_COUNT; i++)
        (void)fprintf(stderr, " %s", vug_fuzz_targets[i].name);
    (void)fputc('\n', stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const vug_fuzz_target *target = argc > 2 ? find(argv[1]) : NULL;
    if (!target)
        return usage();
    for (int i = 2; i < argc; i++) {
        vug_text bytes = { 0 };
        vug_err err = { 0 };
        if (vug_read_file(argv[i], MAX_INPUT, &bytes, &err) != VUG_OK) {
            (void)fprintf(stderr, "%s\n", err.msg);
            return 2;
        }
        (void)printf("%s: %zu bytes\n", argv[i], bytes.len);
        (void)target->run((const uint8_t *)bytes.ptr, bytes.len);
        vug_text_release(&bytes);
    }
    return 0;
}
