/*
 * Every rule of tools/lint, broken once: a small tree with one breach in it must
 * give that rule's sentence, and the same tree without it must pass.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A tree in a folder of its own, removed at the end. */
typedef struct {
    char root[64];
    char output[16384]; /* of the last run, NUL-terminated */
} tree;

static void format(char *to, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void format(char *to, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int length = vsnprintf(to, n, fmt, ap);
    va_end(ap);
    assert_true(length >= 0 && (size_t)length < n);
}

static int command_status(const char *command, char *output, size_t n)
{
    FILE *pipe = popen(command, "r"); // NOLINT(cert-env33-c): our own words
    assert_non_null(pipe);
    const size_t got = fread(output, 1, n - 1, pipe);
    output[got] = '\0';
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put(const tree *t, const char *path, const char *text)
{
    char full[256];
    format(full, sizeof(full), "%s/%s", t->root, path);
    for (char *slash = strchr(full + strlen(t->root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int lint(tree *t, const char *options)
{
    char command[256];
    format(command, sizeof(command), "python3 tools/lint %s %s 2>&1", options, t->root);
    return command_status(command, t->output, sizeof(t->output));
}

static int set_up(void **state)
{
    static tree t; // NOLINT: one test at a time
    format(t.root, sizeof(t.root), "%s", "/tmp/vug-lint-XXXXXX");
    if (!mkdtemp(t.root))
        return -1;
    *state = &t;
    return 0;
}

static int tear_down(void **state)
{
    tree *t = *state;
    char command[128];
    format(command, sizeof(command), "rm -rf %s", t->root);
    return command_status(command, t->output, sizeof(t->output));
}

/* One file that breaks one rule. */
typedef struct {
    const char *path;
    const char *text;
    const char *sentence; /* what the lint must say, with path and line */
} breach;

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* All rows in one tree: as many sentences as there are files, each the right one. */
static void check_breaches(tree *t, const breach *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(t, row[i].path, row[i].text);
    assert_int_equal(lint(t, ""), 1);
    for (size_t i = 0; i < n; i++)
        if (!strstr(t->output, row[i].sentence))
            fail_msg("wanted: %s\ngot: %s", row[i].sentence, t->output);
    if (count_lines(t->output) != n)
        fail_msg("wanted %zu sentences, got: %s", n, t->output);
    for (size_t i = 0; i < n; i++) {
        char full[256];
        format(full, sizeof(full), "%s/%s", t->root, row[i].path);
        assert_int_equal(unlink(full), 0);
    }
}

#define CHECK(t, rows) check_breaches((t), (rows), sizeof(rows) / sizeof((rows)[0]))

static void clean_tree_passes(void **state)
{
    tree *t = *state;
    put(t, "include/vug/vug.h", "#ifndef VUG_VUG_H\n#define VUG_VUG_H\n#endif\n");
    put(t, "src/core/status.h",
        "#ifndef VUG_CORE_STATUS_H\n#define VUG_CORE_STATUS_H\n#include \"vug/vug.h\"\n#endif\n");
    put(t, "src/core/mem.c",
        "#include \"core/status.h\"\nvoid *a(void)\n{\n"
        "    return malloc(1);\n}\n");
    put(t, "src/ir/ir.c",
        "#include \"core/status.h\"\n/* malloc(1) in a comment, TO DO: no */\n"
        "const char *s = \"getenv(x)\";\nint f(struct v *v)\n{\n"
        "    return v->free(v) + vug_free(v);\n}\n");
    put(t, "src/backend/cpu/avx2.c", "#include <immintrin.h>\n");
    put(t, "src/backend/cpu/dispatch.c",
        "int f(void)\n{\n"
        "    return __builtin_cpu_supports(\"avx2\");\n}\n");
    put(t, "src/app/ui.c", "#include \"vug/vug.h\"\nint f(void)\n{\n    exit(0);\n}\n");
    put(t, "tests/test_a.c", "#include \"core/status.h\"\nint main(void)\n{\n    return 0;\n}\n");
    put(t, "Makefile", "all:\n\ttrue\n");
    if (lint(t, "") != 0)
        fail_msg("%s", t->output);
    assert_non_null(strstr(t->output, "9 files follow the rules"));
}

static void includes(void **state)
{
    static const breach rows[] = {
        { "src/core/a.c", "#include \"ir/ir.h\"\n",
          "src/core/a.c:1: core may not include ir/ir.h" },
        { "src/ir/a.c", "\n#include \"vug/vug.h\"\n",
          "src/ir/a.c:2: ir may not include vug/vug.h" },
        { "src/passes/a.c", "#include \"flow/flow.h\"\n", "passes may not include flow/flow.h" },
        { "src/flow/a.c", "#include \"models/models.h\"\n",
          "flow may not include models/models.h" },
        { "src/models/a.c", "#include \"text/text.h\"\n", "models may not include text/text.h" },
        { "src/weights/a.c", "#include \"flow/flow.h\"\n", "weights may not include flow/flow.h" },
        { "src/text/a.c", "#include \"ir/ir.h\"\n", "text may not include ir/ir.h" },
        { "src/backend/cpu/a.c", "#include \"engine/engine.h\"\n",
          "backend may not include engine/engine.h" },
        { "src/engine/a.c", "#include \"app/options.h\"\n",
          "engine may not include app/options.h" },
        { "src/engine/b.c", "#include \"weights/directory.h\"\n",
          "weights/directory.h is private to weights: others include weights/weights.h" },
        { "src/app/a.c", "#include \"engine/engine.h\"\n", "app may not include engine/engine.h" },
        { "src/core/b.c", "#include \"status.h\"\n", "\"status.h\" does not say its room" },
        { "src/attic/a.c", "int a;\n", "src/attic/ is no room of the plan" },
        { "include/vug/a.h", "#ifndef VUG_A_H\n#define VUG_A_H\n#include \"core/mem.h\"\n#endif\n",
          "include/vug/a.h:3: a public header or example may not include core/mem.h" },
        { "docs/examples/a.c", "#include \"core/mem.h\"\n",
          "a public header or example may not include core/mem.h" },
    };
    CHECK(*state, rows);
}

static void repeated(char *to, size_t n, const char *before, const char *line, int times,
                     const char *after)
{
    size_t at = 0;
    format(to, n, "%s", before);
    at = strlen(to);
    for (int i = 0; i < times; i++, at += strlen(line))
        format(to + at, n - at, "%s", line);
    format(to + at, n - at, "%s", after);
}

static void sizes(void **state)
{
    static char long_c[8192], long_h[8192], long_def[8192], long_f[8192];
    repeated(long_c, sizeof(long_c), "", "int a;\n", 801, "");
    repeated(long_h, sizeof(long_h), "#ifndef VUG_IR_A_H\n#define VUG_IR_A_H\n", "int a;\n", 298,
             "#endif\n");
    repeated(long_def, sizeof(long_def), "", "ROW(a)\n", 201, "");
    repeated(long_f, sizeof(long_f), "int a;\n\nint long_one(int a)\n{\n", "    a++;\n", 80, "}\n");
    const breach rows[] = {
        { "src/ir/a.c", long_c, "src/ir/a.c:801: 801 lines, at most 800" },
        { "src/ir/a.h", long_h, "src/ir/a.h:301: 301 lines, at most 300" },
        { "src/ir/a.def", long_def, "src/ir/a.def:201: 201 lines, at most 200" },
        { "src/ir/b.c", long_f, "src/ir/b.c:4: long_one has 81 lines, at most 80" },
        { "src/ir/c.c",
          "int many(int a, int b, int c,\n         int d, void (*e)(int, int), int f, int g, int "
          "h)\n"
          "{\n    return 0;\n}\n",
          "src/ir/c.c:3: many takes 8 parameters, at most 7" },
    };
    CHECK(*state, rows);
    /* One line less of each is fine. */
    repeated(long_c, sizeof(long_c), "", "int a;\n", 800, "");
    repeated(long_f, sizeof(long_f), "int fits(int a)\n{\n", "    a++;\n", 79, "}\n");
    put(*state, "src/ir/a.c", long_c);
    put(*state, "src/ir/b.c", long_f);
    assert_int_equal(lint(*state, ""), 0);
}

static void processor(void **state)
{
    static const breach rows[] = {
        { "src/backend/cpu/ref.c", "int a = __builtin_cpu_supports(\"avx2\");\n",
          "src/backend/cpu/ref.c:1: __builtin_cpu_supports: CPU features are asked about only in "
          "src/backend/cpu/dispatch.c" },
        { "src/core/os.c", "long a = getauxval(16);\n", "getauxval: CPU features" },
        { "src/backend/cpu/ref2.c", "#include <immintrin.h>\n",
          "immintrin.h belongs into a file named for its instruction set" },
        { "src/backend/cpu/gemm.c", "#include <arm_neon.h>\n", "arm_neon.h belongs into a file" },
    };
    CHECK(*state, rows);
}

static void banned_functions(void **state)
{
    static const char *const everywhere[] = {
        "malloc", "calloc", "realloc", "free", "aligned_alloc", "sprintf", "vsprintf",
        "strcpy", "strcat", "strncpy", "atoi", "atol",          "strtok",  "getenv",
        "exit",   "abort",  "rand",    "gets", "alloca",        "setjmp",
    };
    char text[1024] = "";
    const size_t n = sizeof(everywhere) / sizeof(everywhere[0]);
    for (size_t i = 0; i < n; i++)
        format(text + strlen(text), sizeof(text) - strlen(text), "int a = %s (b);\n",
               everywhere[i]);
    put(*state, "src/ir/a.c", text);
    assert_int_equal(lint(*state, ""), 1);
    for (size_t i = 0; i < n; i++) {
        char sentence[64];
        format(sentence, sizeof(sentence), "src/ir/a.c:%zu: %s is banned here", i + 1,
               everywhere[i]);
        if (!strstr(((tree *)*state)->output, sentence))
            fail_msg("wanted: %s", sentence);
    }
    put(*state, "src/ir/a.c", "");
    /* The program may end itself, but has no door of its own to the heap. */
    static const breach rows[] = {
        { "src/app/a.c", "void *a = malloc(1);\n", "malloc is banned here" },
        { "src/core/mem.c", "char *a = getenv(\"A\");\n", "getenv is banned here" },
    };
    CHECK(*state, rows);
}

/* In two pieces, or this file would break the rules itself. */
/* clang-format off */
#define OPEN     "TO" "DO"
#define BROKEN   "FIX" "ME"
#define UNSURE   "X" "XX"
#define ONE_DISK "/wo" "rk/"
#define ONE_HOME "/ro" "ot/"
#define REGISTRY "py" "pi.org"
/* clang-format on */

static void text_of_files(void **state)
{
    static const breach rows[] = {
        { "src/ir/a.c", "int a; /* " OPEN ": later */\n",
          "src/ir/a.c:1: " OPEN " without an issue" },
        { "tools/a.sh", "# " BROKEN "\n", BROKEN " without an issue" },
        { "tests/a.c", "/* " UNSURE " */\n", UNSURE " without an issue" },
        { "src/ir/b.c", "\tint a;\n", "src/ir/b.c:1: a tab: indent with spaces" },
        { "docs/a.md", "a \n", "docs/a.md:1: spaces at the end of the line" },
        { "docs/b.md", "a\r\n", "docs/b.md:1: a line that ends in CR LF" },
        { "docs/c.md", "a\nb", "docs/c.md:2: no newline at the end of the file" },
        { "docs/d.md", "see " ONE_DISK "a\n", ONE_DISK " is a path of one machine" },
        { "tools/b.sh", "cd " ONE_HOME "a\n", ONE_HOME " is a path of one machine" },
        { "tools/c.sh", "get https://" REGISTRY "/a\n", REGISTRY " is a package registry" },
    };
    CHECK(*state, rows);
    put(*state, "src/ir/a.c", "int a; /* " OPEN "(#12): with an issue */\n");
    assert_int_equal(lint(*state, ""), 0);
}

static void files(void **state)
{
    static const breach rows[] = {
        { "src/ir/a.h", "#ifndef A_H\n#define A_H\n#endif\n",
          "src/ir/a.h:1: the include guard must be VUG_IR_A_H" },
        { "src/backend/cpu/a.h", "int a;\n", "the include guard must be VUG_BACKEND_CPU_A_H" },
        { "include/vug/a.h", "int a;\n", "the include guard must be VUG_A_H" },
        { "tests/a.h", "int a;\n", "the include guard must be VUG_TESTS_A_H" },
        { "tests/test_a.c", "static void t(void)\n{\n}\n",
          "tests/test_a.c:1: a tests/test_*.c is a program and needs a main" },
    };
    CHECK(*state, rows);
}

static void large_files(void **state)
{
    tree *t = *state;
    char command[256];
    format(command, sizeof(command), "mkdir -p %s/docs && truncate -s 1048577 %s/docs/big.bin",
           t->root, t->root);
    assert_int_equal(command_status(command, t->output, sizeof(t->output)), 0);
    assert_int_equal(lint(t, ""), 1);
    assert_non_null(strstr(t->output, "docs/big.bin:1: 1048577 bytes: a file over 1 MB"));

    format(command, sizeof(command),
           "mkdir -p %s/tests/golden && mv %s/docs/big.bin %s/tests/golden/", t->root, t->root,
           t->root);
    assert_int_equal(command_status(command, t->output, sizeof(t->output)), 0);
    assert_int_equal(lint(t, ""), 0);

    format(command, sizeof(command), "truncate -s 6291457 %s/tests/golden/big.bin", t->root);
    assert_int_equal(command_status(command, t->output, sizeof(t->output)), 0);
    assert_int_equal(lint(t, ""), 1);
    assert_non_null(strstr(t->output, "6291457 bytes, at most 6291456 in all"));
}

/* Compiles src/ir/a.c of the tree into the build folder that the lint will read. */
static void compile(tree *t, const char *text)
{
    char command[512];
    put(t, "src/ir/a.c", text);
    put(t, "build/obj/src/ir/keep", "");
    format(command, sizeof(command),
           "cd %s && cc -fPIC -c -o build/obj/src/ir/a.o src/ir/a.c && rm -f build/libvug.a && "
           "ar rcs build/libvug.a build/obj/src/ir/a.o 2>&1",
           t->root);
    assert_int_equal(command_status(command, t->output, sizeof(t->output)), 0);
}

static void objects(void **state)
{
    tree *t = *state;
    char options[128];
    format(options, sizeof(options), "--build %s/build", t->root);
    assert_int_equal(lint(t, options), 1);
    assert_non_null(strstr(t->output, "no objects here: build first"));

    /* Constants, also those the loader relocates, are no state. */
    compile(t, "static const char *const names[] = { \"a\", \"b\" };\n"
               "const char *vug_name(int i)\n{\n    return names[i];\n}\n");
    if (lint(t, options) != 0)
        fail_msg("%s", t->output);

    static const struct {
        const char *text, *sentence;
    } rows[] = {
        { "static int n = 1;\nint vug_a(void)\n{\n    return n++;\n}\n",
          "writable global n in .data" },
        { "static int n;\nint vug_a(void)\n{\n    return n++;\n}\n", "writable global n in .bss" },
        { "int vug_a(void)\n{\n    static int calls;\n    return calls++;\n}\n",
          "src/ir/a.c:1: writable global calls in .bss" },
        { "static _Thread_local int n;\nint vug_a(void)\n{\n    return n++;\n}\n",
          "writable global n in .tbss" },
        { "static const char *names[] = { \"a\" };\n"
          "const char *vug_a(int i)\n{\n    return names[i]++;\n}\n",
          "writable global names in .data" },
        { "int helper(void);\nint helper(void)\n{\n    return 1;\n}\n",
          "libvug.a:1: exports helper: external names start with vug_" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        compile(t, rows[i].text);
        assert_int_equal(lint(t, options), 1);
        if (!strstr(t->output, rows[i].sentence))
            fail_msg("wanted: %s\ngot: %s", rows[i].sentence, t->output);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_tree_passes), TEST(includes),      TEST(sizes), TEST(processor),
        TEST(banned_functions),  TEST(text_of_files), TEST(files), TEST(large_files),
        TEST(objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
