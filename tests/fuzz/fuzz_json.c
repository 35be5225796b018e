/*
 * core: the JSON reader, the tree and the writer, on arbitrary bytes.
 *
 * Besides not crashing: skipping accepts whatever the tree accepts; a string or a number
 * that is read and written again reads back to the same value.
 */

#include <math.h>

#include "core/json.h"
#include "core/json_writer.h"
#include "fuzz/fuzz.h"

static void write_and_read_string(vug_str text)
{
    vug_buf buf = { 0 };
    vug_arena arena = { 0 };
    vug_json_append_string(&buf, text.ptr, text.len);
    vug_json_reader j = vug_json_reader_over((vug_str){ buf.ptr, buf.len }, "written", &arena);
    vug_str back = vug_json_string(&j);
    VUG_ASSERT(vug_json_finish(&j, NULL) == VUG_OK);
    VUG_ASSERT(vug_str_equal(back, text));
    vug_arena_release(&arena);
    vug_buf_release(&buf);
}

static void write_and_read_number(double v)
{
    vug_buf buf = { 0 };
    vug_arena arena = { 0 };
    vug_json_append_f64(&buf, v);
    vug_json_reader j = vug_json_reader_over((vug_str){ buf.ptr, buf.len }, "written", &arena);
    if (isfinite(v))
        VUG_ASSERT(vug_json_f64(&j) == v);
    else
        vug_json_skip(&j);
    VUG_ASSERT(vug_json_finish(&j, NULL) == VUG_OK);
    vug_arena_release(&arena);
    vug_buf_release(&buf);
}

/* Reads a value of any type. The reader limits the nesting. */
static void read_value(vug_json_reader *j) // NOLINT(misc-no-recursion)
{
    vug_str key;
    switch (vug_json_peek(j)) {
    case VUG_JSON_OBJECT:
        vug_json_enter_object(j);
        while (vug_json_key(j, &key))
            read_value(j);
        break;
    case VUG_JSON_ARRAY:
        vug_json_enter_array(j);
        while (vug_json_element(j))
            read_value(j);
        break;
    case VUG_JSON_STRING: {
        vug_str text = vug_json_string(j);
        if (vug_json_ok(j))
            write_and_read_string(text);
        break;
    }
    case VUG_JSON_NUMBER: {
        double v = vug_json_f64(j);
        if (vug_json_ok(j))
            write_and_read_number(v);
        break;
    }
    case VUG_JSON_BOOL:
        (void)vug_json_bool(j);
        break;
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        vug_json_skip(j);
        break;
    }
}

static vug_status skip_all(vug_str src)
{
    vug_arena arena = { .budget = 64 << 20 };
    vug_json_reader j = vug_json_reader_over(src, "input", &arena);
    vug_json_skip(&j);
    vug_status st = vug_json_finish(&j, NULL);
    vug_arena_release(&arena);
    return st;
}

static vug_status read_all(vug_str src)
{
    vug_arena arena = { .budget = 64 << 20 };
    vug_json_reader j = vug_json_reader_over(src, "input", &arena);
    read_value(&j);
    vug_status st = vug_json_finish(&j, NULL);
    vug_arena_release(&arena);
    return st;
}

static vug_status tree(vug_str src)
{
    const vug_jv *root = NULL;
    vug_arena arena = { .budget = 64 << 20 };
    vug_err err = { 0 };
    vug_status st = vug_json_tree(src, "input", &arena, &root, &err);
    VUG_ASSERT((st == VUG_OK) == (root != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (root)
        (void)vug_jv_get(root, "model_type");
    vug_arena_release(&arena);
    return st;
}

/* Reads with every typed reader: each must fail or return a value in range. */
static void wrong_kinds(vug_str src)
{
    vug_arena arena = { .budget = 64 << 20 };
    vug_json_reader j = vug_json_reader_over(src, "input", &arena);
    int64_t i = vug_json_i64(&j, -5, 100);
    VUG_ASSERT(!vug_json_ok(&j) || (i >= -5 && i <= 100));
    j = vug_json_reader_over(src, "input", &arena);
    uint64_t u = vug_json_u64(&j, 1000);
    VUG_ASSERT(!vug_json_ok(&j) || u <= 1000);
    j = vug_json_reader_over(src, "input", &arena);
    vug_json_enter_object(&j);
    (void)vug_json_string(&j);
    (void)vug_json_bool(&j);
    vug_arena_release(&arena);
}

int vug_fuzz_json(const uint8_t *data, size_t n)
{
    vug_str src = { (const char *)data, n };
    vug_status skipped = skip_all(src);
    vug_status read = read_all(src);
    if (tree(src) == VUG_OK)
        VUG_ASSERT(skipped == VUG_OK);
    if (read == VUG_OK)
        VUG_ASSERT(skipped == VUG_OK);
    wrong_kinds(src);
    return 0;
}
