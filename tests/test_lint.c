/*
 * Every rule of tools/lint, broken once: a small tree with one breach in it must
 * give that rule's sentence, and the same tree without it must pass.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "capture.h"
#include "core/mem.h"
#include "scratch.h"

typedef struct {
    scratch dir;
    captured last; /* run of the lint, or of a compiler */
} tree;

static int run(tree *t, const char *const *argv)
{
    captured_release(&t->last);
    t->last = capture(NULL, NULL, argv);
    return t->last.code;
}

#define RUN(t, ...) run((t), (const char *const[]){ __VA_ARGS__, NULL })
#define LINT(t)     RUN((t), "python3", "tools/lint", (t)->dir.path)

static void put(const tree *t, const char *name, const char *text)
{
    scratch_path full = scratch_at(&t->dir, name);
    for (char *slash = strchr(full.path + strlen(t->dir.path) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full.path, 0755);
        *slash = '/';
    }
    scratch_puts(&t->dir, name, text);
}

/* A file of so many bytes, all of them zero. */
static void put_bytes(const tree *t, const char *name, off_t n)
{
    put(t, name, "");
    assert_int_equal(truncate(scratch_at(&t->dir, name).path, n), 0);
}

static void expect(const tree *t, const char *sentence)
{
    if (!strstr(t->last.out.ptr, sentence))
        fail_msg("wanted: %s\ngot: %s%s", sentence, t->last.out.ptr, t->last.err.ptr);
}

static void expect_clean(tree *t)
{
    if (LINT(t) != 0)
        fail_msg("%s%s", t->last.out.ptr, t->last.err.ptr);
}

static int set_up(void **state)
{
    static tree t; // NOLINT: one test at a time
    t.dir = scratch_make();
    *state = &t;
    return 0;
}

static int tear_down(void **state)
{
    tree *t = *state;
    scratch_remove(&t->dir);
    captured_release(&t->last);
    return 0;
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
    assert_int_equal(LINT(t), 1);
    for (size_t i = 0; i < n; i++)
        expect(t, row[i].sentence);
    if (count_lines(t->last.out.ptr) != n)
        fail_msg("wanted %zu sentences, got: %s", n, t->last.out.ptr);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(remove(scratch_at(&t->dir, row[i].path).path), 0);
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
    expect_clean(t);
    expect(t, "9 files follow the rules");
    put(t, ".git/HEAD", "what git does not take for its own \n"); /* nor is it looked at */
    expect_clean(t);
    expect(t, "9 files follow the rules");
}

static void includes(void **state)
{
    static const breach rows[] = {
        { "src/core/a.c", "#include \"ir/ir.h\"\n",
          "src/core/a.c:1: core may not include ir/ir.h" },
        { "src/ir/a.c", "\n#include \"passes/passes.h\"\n",
          "src/ir/a.c:2: ir may not include passes/passes.h" },
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

static char *repeated(const char *before, const char *line, int times, const char *after)
{
    vug_buf buf = { 0 };
    vug_buf_puts(&buf, before);
    for (int i = 0; i < times; i++)
        vug_buf_puts(&buf, line);
    vug_buf_puts(&buf, after);
    assert_int_equal(vug_buf_ok(&buf, NULL), VUG_OK);
    return buf.ptr;
}

static void sizes(void **state)
{
    char *long_c = repeated("", "int a;\n", 801, "");
    char *long_h =
            repeated("#ifndef VUG_IR_A_H\n#define VUG_IR_A_H\n", "int a;\n", 298, "#endif\n");
    char *long_def = repeated("", "ROW(a)\n", 201, "");
    char *long_f = repeated("int a;\n\nint long_one(int a)\n{\n", "    a++;\n", 80, "}\n");
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
    /* A line less is fine. */
    put(*state, "src/ir/a.c", strchr(long_c, '\n') + 1);
    char *fits = repeated("int fits(int a)\n{\n", "    a++;\n", 79, "}\n");
    put(*state, "src/ir/b.c", fits);
    expect_clean(*state);
    vug_free(fits);
    vug_free(long_c);
    vug_free(long_h);
    vug_free(long_def);
    vug_free(long_f);
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
    vug_buf text = { 0 };
    const size_t n = sizeof(everywhere) / sizeof(everywhere[0]);
    for (size_t i = 0; i < n; i++)
        vug_buf_printf(&text, "int a = %s (b);\n", everywhere[i]);
    put(*state, "src/ir/a.c", text.ptr);
    assert_int_equal(LINT((tree *)*state), 1);
    for (size_t i = 0; i < n; i++) {
        text.len = 0;
        vug_buf_printf(&text, "src/ir/a.c:%zu: %s is banned here", i + 1, everywhere[i]);
        expect(*state, text.ptr);
    }
    vug_buf_release(&text);
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
    expect_clean(*state);
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

/* Each row names a constant that is not where it says, or a file that is not there. */
static void limits_of_the_docs(void **state)
{
    tree *t = *state;
    static const char *const head = "| what | at most | where | sentence |\n|---|---|---|---|\n";
    static const struct {
        const char *where, *sentence; /* NULL: nothing */
    } rows[] = {
        { "`MAX_A`, `src/ir/a.c`", NULL },
        { "`VUG_*`, `src/ir/a.c`", NULL },
        { "`MAX_A`", NULL },
        { "`src/ir/a.c`", NULL },
        { "`--most`", NULL },
        { "`MAX_B`, `src/ir/a.c`", "docs/limits.md:3: MAX_B is not defined in src/ir/a.c" },
        { "`MAX_B`", "docs/limits.md:3: MAX_B is not defined in src/" },
        { "`src/ir/b.c`", "docs/limits.md:3: there is no src/ir/b.c" },
    };
    put(t, "src/ir/a.c", "#define VUG_A 1\nenum { MAX_A = 2 }; /* MAX_B = 3 */\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_buf page = { 0 };
        vug_buf_printf(&page, "%s| a | 1 | %s | - |\n", head, rows[i].where);
        put(t, "docs/limits.md", page.ptr);
        vug_buf_release(&page);
        if (rows[i].sentence) {
            assert_int_equal(LINT(t), 1);
            expect(t, rows[i].sentence);
        } else {
            expect_clean(t);
        }
    }
}

static void large_files(void **state)
{
    tree *t = *state;
    put_bytes(t, "tests/golden/a.bin", (1 << 20) + 1);
    expect_clean(t);
    put_bytes(t, "docs/a.bin", (1 << 20) + 1);
    assert_int_equal(LINT(t), 1);
    expect(t, "docs/a.bin:1: 1048577 bytes: a file over 1 MB");
    put_bytes(t, "docs/a.bin", 1 << 20);
    expect_clean(t);
    put_bytes(t, "tests/golden/a.bin", (8 << 20) + 1);
    assert_int_equal(LINT(t), 1);
    expect(t, "tests/golden:1: 8388609 bytes, at most 8388608 in all");
}

static int lint_built(tree *t)
{
    return RUN(t, "python3", "tools/lint", "--build", scratch_at(&t->dir, "build").path,
               t->dir.path);
}

/* Compiles src/ir/a.c of the tree into the build folder that the lint will read. */
static void compile(tree *t, const char *text)
{
    const scratch_path source = scratch_at(&t->dir, "src/ir/a.c");
    const scratch_path object = scratch_at(&t->dir, "build/obj/src/ir/a.o");
    const scratch_path library = scratch_at(&t->dir, "build/libvug.a");
    put(t, "src/ir/a.c", text);
    put(t, "build/obj/src/ir/a.o", "");
    (void)remove(library.path);
    assert_int_equal(RUN(t, "cc", "-fPIC", "-c", "-o", object.path, source.path), 0);
    assert_int_equal(RUN(t, "ar", "rcs", library.path, object.path), 0);
}

static void objects(void **state)
{
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
    tree *t = *state;
    assert_int_equal(lint_built(t), 1);
    expect(t, "no objects here: build first");
    /* Constants, also those the loader relocates, are no state. */
    compile(t, "static const char *const names[] = { \"a\", \"b\" };\n"
               "const char *vug_name(int i)\n{\n    return names[i];\n}\n");
    assert_int_equal(lint_built(t), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        compile(t, rows[i].text);
        assert_int_equal(lint_built(t), 1);
        expect(t, rows[i].sentence);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_tree_passes), TEST(includes),      TEST(sizes), TEST(processor),
        TEST(banned_functions),  TEST(text_of_files), TEST(files), TEST(limits_of_the_docs),
        TEST(large_files),       TEST(objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
