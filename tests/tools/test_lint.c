/*
 * Every rule of tools/lint, broken once: a small tree with one violation in it must
 * give that rule's message, and the same tree without it must pass.
 */
#include "test.h"

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

static void expect(const tree *t, const char *message)
{
    if (!strstr(t->last.out.ptr, message))
        fail_msg("wanted: %s\ngot: %s%s", message, t->last.out.ptr, t->last.err.ptr);
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
    const char *message; /* what the lint must say, with path and line */
} violation;

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* All rows in one tree: as many messages as there are files, each the right one. */
static void check_violations(tree *t, const violation *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(t, row[i].path, row[i].text);
    assert_int_equal(LINT(t), 1);
    for (size_t i = 0; i < n; i++)
        expect(t, row[i].message);
    if (count_lines(t->last.out.ptr) != n)
        fail_msg("wanted %zu messages, got: %s", n, t->last.out.ptr);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(remove(scratch_at(&t->dir, row[i].path).path), 0);
}

#define CHECK(t, rows) check_violations((t), (rows), sizeof(rows) / sizeof((rows)[0]))

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
    put(t, "src/backend/cpu/x86/avx2.c", "#include <immintrin.h>\n");
    put(t, "src/backend/cpu/dispatch.c",
        "int f(void)\n{\n"
        "    return __builtin_cpu_supports(\"avx2\");\n}\n");
    put(t, "src/cli/ui.c", "#include \"vug/vug.h\"\nint f(void)\n{\n    exit(0);\n}\n");
    put(t, "tests/core/test_a.c",
        "#include \"core/status.h\"\nint main(void)\n{\n    return 0;\n}\n");
    put(t, "Makefile", "all:\n\ttrue\n");
    expect_clean(t);
    expect(t, "9 files follow the rules");
    put(t, ".git/HEAD", "what git does not take for its own \n"); /* nor is it looked at */
    expect_clean(t);
    expect(t, "9 files follow the rules");
}

static void includes(void **state)
{
    static const violation rows[] = {
        { "src/core/core_a.c", "#include \"ir/ir.h\"\n",
          "src/core/core_a.c:1: core may not include ir/ir.h" },
        { "src/ir/ir_a.c", "\n#include \"passes/passes.h\"\n",
          "src/ir/ir_a.c:2: ir may not include passes/passes.h" },
        { "src/passes/passes_a.c", "#include \"flow/builder.h\"\n",
          "passes may not include flow/builder.h" },
        { "src/flow/flow_a.c", "#include \"models/models.h\"\n",
          "flow may not include models/models.h" },
        { "src/models/models_a.c", "#include \"text/text.h\"\n",
          "models may not include text/text.h" },
        { "src/weights/weights_a.c", "#include \"flow/builder.h\"\n",
          "weights may not include flow/builder.h" },
        { "src/text/text_a.c", "#include \"ir/ir.h\"\n", "text may not include ir/ir.h" },
        { "src/backend/cpu/cpu_a.c", "#include \"engine/engine.h\"\n",
          "backend may not include engine/engine.h" },
        { "src/engine/engine_a.c", "#include \"cli/options.h\"\n",
          "engine may not include cli/options.h" },
        { "src/engine/engine_b.c", "#include \"weights/directory.h\"\n",
          "weights/directory.h is private to weights: others include weights/weights.h" },
        { "src/cli/cli_a.c", "#include \"engine/engine.h\"\n",
          "cli may not include engine/engine.h" },
        { "src/core/core_b.c", "#include \"status.h\"\n", "\"status.h\" does not say its module" },
        { "src/attic/attic_a.c", "int a;\n", "src/attic/ is no known module" },
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
            repeated("#ifndef VUG_IR_IR_A_H\n#define VUG_IR_IR_A_H\n", "int a;\n", 298, "#endif\n");
    char *long_def = repeated("", "ROW(a)\n", 201, "");
    char *long_f = repeated("int a;\n\nint long_one(int a)\n{\n", "    a++;\n", 80, "}\n");
    const violation rows[] = {
        { "src/ir/ir_a.c", long_c, "src/ir/ir_a.c:801: 801 lines, at most 800" },
        { "src/ir/ir_a.h", long_h, "src/ir/ir_a.h:301: 301 lines, at most 300" },
        { "src/ir/ir_a.def", long_def, "src/ir/ir_a.def:201: 201 lines, at most 200" },
        { "src/ir/ir_b.c", long_f, "src/ir/ir_b.c:4: long_one has 81 lines, at most 80" },
        { "src/ir/ir_c.c",
          "int many(int a, int b, int c,\n         int d, void (*e)(int, int), int f, int g, int "
          "h)\n"
          "{\n    return 0;\n}\n",
          "src/ir/ir_c.c:3: many takes 8 parameters, at most 7" },
    };
    CHECK(*state, rows);
    /* A line less is fine. */
    put(*state, "src/ir/ir_a.c", strchr(long_c, '\n') + 1);
    char *fits = repeated("int fits(int a)\n{\n", "    a++;\n", 79, "}\n");
    put(*state, "src/ir/ir_b.c", fits);
    expect_clean(*state);
    vug_free(fits);
    vug_free(long_c);
    vug_free(long_h);
    vug_free(long_def);
    vug_free(long_f);
}

static void processor(void **state)
{
    static const violation rows[] = {
        { "src/backend/cpu/ref.c", "int a = __builtin_cpu_supports(\"avx2\");\n",
          "src/backend/cpu/ref.c:1: __builtin_cpu_supports: CPU features are asked about only in "
          "src/backend/cpu/dispatch.c" },
        { "src/core/os_files.c", "long a = getauxval(16);\n", "getauxval: CPU features" },
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
    put(*state, "src/ir/ir_a.c", text.ptr);
    assert_int_equal(LINT((tree *)*state), 1);
    for (size_t i = 0; i < n; i++) {
        text.len = 0;
        vug_buf_printf(&text, "src/ir/ir_a.c:%zu: %s is banned here", i + 1, everywhere[i]);
        expect(*state, text.ptr);
    }
    vug_buf_release(&text);
    put(*state, "src/ir/ir_a.c", "");
    /* The program may end itself, but has no door of its own to the heap. */
    static const violation rows[] = {
        { "src/cli/cli_a.c", "void *a = malloc(1);\n", "malloc is banned here" },
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
    static const violation rows[] = {
        { "src/ir/ir_a.c", "int a; /* " OPEN ": later */\n",
          "src/ir/ir_a.c:1: " OPEN " without an issue" },
        { "tools/a.sh", "# " BROKEN "\n", BROKEN " without an issue" },
        { "tests/a.c", "/* " UNSURE " */\n", UNSURE " without an issue" },
        { "src/ir/ir_b.c", "\tint a;\n", "src/ir/ir_b.c:1: a tab: indent with spaces" },
        { "docs/a.md", "a \n", "docs/a.md:1: spaces at the end of the line" },
        { "docs/b.md", "a\r\n", "docs/b.md:1: a line that ends in CR LF" },
        { "docs/c.md", "a\nb", "docs/c.md:2: no newline at the end of the file" },
        { "docs/d.md", "see " ONE_DISK "a\n", ONE_DISK " is a path of one machine" },
        { "tools/b.sh", "cd " ONE_HOME "a\n", ONE_HOME " is a path of one machine" },
        { "tools/c.sh", "get https://" REGISTRY "/a\n", REGISTRY " is a package registry" },
    };
    CHECK(*state, rows);
    put(*state, "src/ir/ir_a.c", "int a; /* " OPEN "(#12): with an issue */\n");
    expect_clean(*state);
}

static void files(void **state)
{
    static const violation rows[] = {
        { "src/ir/ir_a.h", "#ifndef A_H\n#define A_H\n#endif\n",
          "src/ir/ir_a.h:1: the include guard must be VUG_IR_IR_A_H" },
        { "src/backend/cpu/cpu_a.h", "int a;\n",
          "the include guard must be VUG_BACKEND_CPU_CPU_A_H" },
        { "include/vug/a.h", "int a;\n", "the include guard must be VUG_A_H" },
        { "tests/b.h", "int a;\n", "the include guard must be VUG_TESTS_B_H" },
        { "tests/core/test_a.c", "static void t(void)\n{\n}\n",
          "tests/core/test_a.c:1: a test_*.c is a program and needs a main" },
    };
    CHECK(*state, rows);
}

/* Each row names a constant that is not where it says, or a file that is not there. */
static void limits_of_the_docs(void **state)
{
    tree *t = *state;
    static const char *const head = "| what | at most | where | message |\n|---|---|---|---|\n";
    static const struct {
        const char *where, *message; /* NULL: nothing */
    } rows[] = {
        { "`MAX_A`, `src/ir/ir_a.c`", NULL },
        { "`VUG_*`, `src/ir/ir_a.c`", NULL },
        { "`MAX_A`", NULL },
        { "`src/ir/ir_a.c`", NULL },
        { "`--most`", NULL },
        { "`MAX_B`, `src/ir/ir_a.c`", "docs/limits.md:3: MAX_B is not defined in src/ir/ir_a.c" },
        { "`MAX_B`", "docs/limits.md:3: MAX_B is not defined in src/" },
        { "`src/ir/ir_b.c`", "docs/limits.md:3: there is no src/ir/ir_b.c" },
    };
    put(t, "src/ir/ir_a.c", "#define VUG_A 1\nenum { MAX_A = 2 }; /* MAX_B = 3 */\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_buf page = { 0 };
        vug_buf_printf(&page, "%s| a | 1 | %s | - |\n", head, rows[i].where);
        put(t, "docs/limits.md", page.ptr);
        vug_buf_release(&page);
        if (rows[i].message) {
            assert_int_equal(LINT(t), 1);
            expect(t, rows[i].message);
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

/* Compiles src/ir/ir_a.c of the tree into the build folder that the lint will read. */
static void compile(tree *t, const char *text)
{
    const scratch_path source = scratch_at(&t->dir, "src/ir/ir_a.c");
    const scratch_path object = scratch_at(&t->dir, "build/obj/src/ir/ir_a.o");
    const scratch_path library = scratch_at(&t->dir, "build/libvug.a");
    put(t, "src/ir/ir_a.c", text);
    put(t, "build/obj/src/ir/ir_a.o", "");
    (void)remove(library.path);
    assert_int_equal(RUN(t, "cc", "-fPIC", "-c", "-o", object.path, source.path), 0);
    assert_int_equal(RUN(t, "ar", "rcs", library.path, object.path), 0);
}

static void objects(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "static int n = 1;\nint vug_a(void)\n{\n    return n++;\n}\n",
          "writable global n in .data" },
        { "static int n;\nint vug_a(void)\n{\n    return n++;\n}\n", "writable global n in .bss" },
        { "int vug_a(void)\n{\n    static int calls;\n    return calls++;\n}\n",
          "src/ir/ir_a.c:1: writable global calls in .bss" },
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
        expect(t, rows[i].message);
    }
}

/* Compiles a file of the tree into the build folder without telling the library of it. */
static void compile_source(tree *t, const char *name, const char *text)
{
    const scratch_path source = scratch_at(&t->dir, name);
    char object[256];
    (void)snprintf(object, sizeof(object), "build/obj/%.*s.o", (int)strlen(name) - 2, name);
    put(t, name, text);
    put(t, object, "");
    assert_int_equal(
            RUN(t, "cc", "-fPIC", "-c", "-o", scratch_at(&t->dir, object).path, source.path), 0);
}

static void names_of_types_and_files(void **state)
{
    tree *t = *state;
    put(t, "src/ir/graph.h",
        "#ifndef VUG_IR_GRAPH_H\n#define VUG_IR_GRAPH_H\ntypedef struct {\n    int a;\n} "
        "vug_node;\n"
        "typedef struct vug_graph vug_graph;\n#endif\n");
    put(t, "src/ir/graph.c", "struct vug_graph {\n    int a;\n};\n");
    put(t, "src/backend/cpu/attention.c", "int a;\n");
    put(t, "src/backend/cuda/attention.c", "int a;\n");
    put(t, "src/text/internal.h",
        "#ifndef VUG_TEXT_INTERNAL_H\n#define VUG_TEXT_INTERNAL_H\n#endif\n");
    put(t, "src/core/internal.h",
        "#ifndef VUG_CORE_INTERNAL_H\n#define VUG_CORE_INTERNAL_H\n#endif\n");
    expect_clean(t);
    static const violation rows[] = {
        { "src/text/text_a.c", "typedef enum { A, B } vug_node;\n",
          "src/text/text_a.c:1: the type vug_node is also defined in src/ir/graph.h" },
        { "src/text/text_b.c",
          "int a;\nstruct vug_graph {\n    struct {\n        int b;\n    } c;\n};\n",
          "src/text/text_b.c:2: the type vug_graph is also defined in src/ir/graph.c" },
        { "src/text/text_c.c", "typedef void vug_node(int a);\n",
          "src/text/text_c.c:1: the type vug_node is also defined in src/ir/graph.h" },
        { "src/text/text_d.c", "typedef int vug_node[2];\n", "the type vug_node is also defined" },
        { "src/text/text_e.c", "typedef int (*vug_node)(int);\n",
          "the type vug_node is also defined" },
        { "src/text/graph.c", "int a;\n",
          "src/text/graph.c:1: src/ir/ also has a file named graph" },
    };
    CHECK(t, rows);
}

static void cycles(void **state)
{
    tree *t = *state;
#define HEADER(guard, text) "#ifndef " guard "\n#define " guard "\n" text "#endif\n"
    static const violation headers[] = {
        { "src/ir/ir_a.h", HEADER("VUG_IR_IR_A_H", "#include \"ir/ir_b.h\"\n"),
          "src/ir/ir_a.h:1: a cycle of includes: src/ir/ir_a.h src/ir/ir_b.h" },
        { "src/text/chat/chat_a.c", "#include \"text/tmpl/tmpl_a.h\"\n",
          "src/text/chat:1: a cycle of includes: src/text/chat src/text/tmpl" },
    };
    put(t, "src/ir/ir_b.h", HEADER("VUG_IR_IR_B_H", "#include \"ir/ir_a.h\"\n"));
    put(t, "src/text/tmpl/tmpl_a.h",
        HEADER("VUG_TEXT_TMPL_TMPL_A_H", "#include \"text/chat/c.h\"\n"));
    CHECK(t, headers);

    compile_source(t, "src/ir/ir_a.c",
                   "int vug_b(void);\nint vug_a(void);\n"
                   "int vug_a(void)\n{\n    return vug_b();\n}\n");
    compile_source(t, "src/ir/ir_b.c", "int vug_b(void);\nint vug_b(void)\n{\n    return 1;\n}\n");
    assert_int_equal(lint_built(t), 0);
    compile_source(t, "src/ir/ir_b.c",
                   "int vug_a(void);\nint vug_b(void);\n"
                   "int vug_b(void)\n{\n    return vug_a();\n}\n");
    assert_int_equal(lint_built(t), 1);
    expect(t, "src/ir/ir_a.c:1: a cycle of calls: ir_a.c ir_b.c");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_tree_passes),
        TEST(includes),
        TEST(sizes),
        TEST(processor),
        TEST(banned_functions),
        TEST(text_of_files),
        TEST(files),
        TEST(limits_of_the_docs),
        TEST(large_files),
        TEST(objects),
        TEST(names_of_types_and_files),
        TEST(cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
