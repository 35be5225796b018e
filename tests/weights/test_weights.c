/* The directory of tensors and its safetensors reader and writer. */
#include "test.h"

#include "scratch.h"
#include "weights/weights.h"

#include <unistd.h>

/* A safetensors file in a heap block of exactly its size, so that a sanitizer detects reads
 * past its end. The data is 0, 1, 2 .. 250, 0 .. */
typedef struct {
    uint8_t *ptr;
    size_t len;
} file_block;

static file_block file_of(const char *header, size_t n_data)
{
    const size_t n = strlen(header), size = 8 + n + n_data;
    uint8_t *ptr = malloc(size);
    assert_non_null(ptr);
    for (size_t i = 0; i < 8; i++)
        ptr[i] = (uint8_t)((uint64_t)n >> 8 * i);
    for (size_t i = 0; i < n; i++)
        ptr[8 + i] = (uint8_t)header[i];
    for (size_t i = 0; i < n_data; i++)
        ptr[8 + n + i] = (uint8_t)(i % 251);
    return (file_block){ ptr, size };
}

static vug_bytes view(file_block file)
{
    return (vug_bytes){ file.ptr, file.len };
}

static vug_weights *open_good(vug_bytes file)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    if (vug_weights_open_memory(file, "a/b/model.safetensors", &w, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return w;
}

/* Opening must fail with exactly this message. */
static void expect_error(vug_bytes file, vug_status code, const char *message)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open_memory(file, "model.safetensors", &w, &err);
    assert_null(w);
    assert_string_equal(err.msg, message);
    assert_int_equal(st, code);
    assert_int_equal(err.code, code);
}

static const vug_tensor *find_tensor(const vug_weights *w, const char *name)
{
    return vug_weights_find(w, vug_str_of(name));
}

/* ---- good files ---------------------------------------------------------- */

static void test_every_dtype(void **state)
{
    (void)state;
    /* Bytes of eight elements, from the format's table of bit widths. */
    static const struct {
        const char *name;
        unsigned bytes;
    } row[] = { { "F32", 32 },    { "F16", 16 },        { "BF16", 16 },       { "F64", 64 },
                { "C64", 64 },    { "I64", 64 },        { "I32", 32 },        { "I16", 16 },
                { "I8", 8 },      { "U64", 64 },        { "U32", 32 },        { "U16", 16 },
                { "U8", 8 },      { "BOOL", 8 },        { "F8_E5M2", 8 },     { "F8_E4M3", 8 },
                { "F8_E8M0", 8 }, { "F8_E4M3FNUZ", 8 }, { "F8_E5M2FNUZ", 8 }, { "F6_E2M3", 6 },
                { "F6_E3M2", 6 }, { "F4", 4 } };
    assert_int_equal(sizeof(row) / sizeof(row[0]), VUG_DTYPE_F4 + 1);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char header[200];
        (void)snprintf(header, sizeof(header),
                       "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%u]}}",
                       row[i].name, row[i].bytes);
        const file_block file = file_of(header, row[i].bytes);
        vug_weights *w = open_good(view(file));
        const vug_tensor *t = find_tensor(w, "t");
        assert_non_null(t);
        assert_string_equal(vug_dtype_of(t->dtype)->name, row[i].name);
        assert_int_equal(t->bytes, row[i].bytes);
        vug_weights_close(w);
        free(file.ptr);
    }
}

/* No padding, so the data begins at an odd byte; keys in unusual order, an escaped name, a
 * scalar, and empty tensors at both ends. */
static const char mixed[] =
        "{\"tw\\u006f\":{\"shape\":[],\"data_offsets\":[12,16],\"dtype\":\"F32\"},"
        "\"__metadata__\":{\"format\":\"mlx\",\"by\":\"\\u00e9\"},"
        "\"zero\":{\"dtype\":\"BF16\",\"shape\":[3,0,7],\"data_offsets\":[0,0]},"
        "\"one\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
        "\"last\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[16,16]}} ";

static void test_mixed_file(void **state)
{
    (void)state;
    const file_block file = file_of(mixed, 16);
    vug_weights *w = open_good(view(file));
    static const char *const order[] = { "zero", "one", "two", "last" };
    assert_int_equal(vug_weights_count(w), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(vug_str_is(vug_weights_at(w, i)->name, order[i]));
        assert_ptr_equal(find_tensor(w, order[i]), vug_weights_at(w, i));
    }
    const vug_tensor *one = find_tensor(w, "one"), *two = find_tensor(w, "two"),
                     *zero = find_tensor(w, "zero");
    const uint64_t start = 8 + strlen(mixed);
    assert_int_equal(one->rank, 2);
    assert_int_equal(one->dim[0], 2);
    assert_int_equal(one->dim[1], 3);
    assert_int_equal(one->bytes, 12);
    assert_int_equal(one->offset, start);
    assert_int_equal(one->data[1], 1);
    assert_string_equal(one->file, "model.safetensors");
    assert_int_equal(two->rank, 0);
    assert_int_equal(two->dtype, VUG_DTYPE_F32);
    assert_ptr_equal(two->data, file.ptr + start + 12);
    assert_int_equal(zero->rank, 3);
    assert_int_equal(zero->bytes, 0);
    assert_null(find_tensor(w, "tw"));
    assert_null(find_tensor(w, "twoo"));
    assert_null(find_tensor(w, ""));
    assert_int_equal(vug_weights_mapped(w), 0);
    vug_weights_close(w);
    free(file.ptr);
}

static void test_no_tensors(void **state)
{
    (void)state;
    static const char *const headers[] = { "{}      ", "{\"__metadata__\":null}" };
    for (int i = 0; i < 2; i++) {
        const file_block file = file_of(headers[i], 0);
        vug_weights *w = open_good(view(file));
        assert_int_equal(vug_weights_count(w), 0);
        assert_null(find_tensor(w, "a"));
        vug_weights_close(w);
        free(file.ptr);
    }
}

static void test_many_tensors_are_found(void **state)
{
    (void)state;
    enum { N = 3000 };
    vug_buf text = { 0 };
    for (int i = 0; i < N; i++)
        vug_buf_printf(&text, "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                       i ? "," : "{", i * 7919 % N, i, i + 1);
    vug_buf_puts(&text, "}");
    const file_block file = file_of(text.ptr, N);
    vug_weights *w = open_good(view(file));
    assert_int_equal(vug_weights_count(w), N);
    for (int i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "t%d", i * 7919 % N);
        const vug_tensor *t = find_tensor(w, name);
        assert_non_null(t);
        assert_ptr_equal(t, vug_weights_at(w, (size_t)i));
        assert_int_equal(t->data[0], i % 251);
    }
    vug_weights_close(w);
    free(file.ptr);
    vug_buf_release(&text);
}

/* ---- each rule, broken once ---------------------------------------------- */

static void test_length_rules(void **state)
{
    (void)state;
    expect_error(
            (vug_bytes){ 0 }, VUG_FORMAT,
            "model.safetensors: 0 bytes, a safetensors file begins with 8 bytes for the length of "
            "its header");
    file_block file = file_of("{}", 120 - 2);
    static const uint8_t four_gib[8] = { 0, 0, 0, 0, 1 };
    expect_error(
            (vug_bytes){ file.ptr, 7 }, VUG_FORMAT,
            "model.safetensors: 7 bytes, a safetensors file begins with 8 bytes for the length of "
            "its header");
    memcpy(file.ptr, four_gib, 8);
    expect_error(view(file), VUG_FORMAT,
                 "model.safetensors: header length is 4294967296 bytes, the file has 120 after its "
                 "first "
                 "8");
    memset(file.ptr, 0xff, 8);
    expect_error(view(file), VUG_FORMAT,
                 "model.safetensors: header length is 18446744073709551615 bytes, the file has 120 "
                 "after "
                 "its "
                 "first 8");
    memset(file.ptr, 0, 8);
    expect_error(view(file), VUG_FORMAT,
                 "model.safetensors: header length is 0 bytes, expected at least '{}'");
    free(file.ptr);
    file = file_of(" {}", 0);
    expect_error(view(file), VUG_FORMAT, "model.safetensors: byte 0x20 at offset 8, expected '{'");
    free(file.ptr);
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    expect_error(
            (vug_bytes){ (const uint8_t *)pointer, strlen(pointer) }, VUG_FORMAT,
            "model.safetensors: this is a Git LFS pointer, not the file; run git lfs pull to fetch "
            "it");
    static const char *const page[] = { "<!DOCTYPE html>\n<html>", "<!doctype html>",
                                        "<html lang=en>" };
    for (size_t i = 0; i < sizeof(page) / sizeof(*page); i++)
        expect_error(
                (vug_bytes){ (const uint8_t *)page[i], strlen(page[i]) }, VUG_FORMAT,
                "model.safetensors: this is a web page, not the file; the download may require "
                "logging in");
}

static void test_header_limit(void **state)
{
    (void)state;
    /* A sparse file: the header is rejected before it is read. */
    const scratch dir = scratch_make();
    scratch_write(&dir, "big.safetensors", "\x01\xe1\xf5\x05\0\0\0\0{", 9); /* 100000001 */
    const scratch_path path = scratch_at(&dir, "big.safetensors");
    assert_int_equal(truncate(path.path, 100000009), 0);
    vug_weights *w = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_weights_open_file(path.path, &w, &err), VUG_LIMIT);
    assert_string_equal(err.msg,
                        "big.safetensors: header length is 100000001 bytes, at most 100000000 "
                        "are read");
    scratch_remove(&dir);
}

#define MODEL     "model.safetensors: "
#define TENSOR    "model.safetensors: tensor 'a': "
#define A(fields) "{\"a\":{" fields "}}"

static const struct {
    const char *header;
    size_t n_data;
    vug_status code;
    const char *message;
} bad[] = {
    /* the object */
    { "{\"a\":", 0, VUG_FORMAT, TENSOR "line 1, column 6: expected an object, found the end" },
    { "{} {}", 0, VUG_FORMAT,
      MODEL "byte 0x7b at offset 11, after the JSON of the header; expected only spaces there" },
    { "{}\n", 0, VUG_FORMAT,
      MODEL "byte 0x0a at offset 10, after the JSON of the header; expected only spaces there" },
    { "{\"\xff\":1}", 0, VUG_FORMAT, MODEL "line 1, column 3: byte 0xff in a string is not UTF-8" },
    { "{\"a\":[[[1]]]}", 0, VUG_FORMAT,
      TENSOR "line 1, column 6: expected an object, found an array" },
    /* names */
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
      2, VUG_FORMAT, MODEL "tensor 'a' is listed twice" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
      2, VUG_FORMAT, MODEL "tensor 'a' is listed twice" },
    /* metadata */
    { "{\"__metadata__\":{\"a\":1}}", 0, VUG_FORMAT,
      MODEL "__metadata__: line 1, column 22: expected a string, found a number" },
    { "{\"__metadata__\":[]}", 0, VUG_FORMAT,
      MODEL "__metadata__: line 1, column 17: expected an object, found an array" },
    { "{\"__metadata__\":{\"a\":\"\",\"b\":\"\",\"\\u0061\":\"\"}}", 0, VUG_FORMAT,
      MODEL "__metadata__: key 'a' occurs twice" },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, VUG_FORMAT,
      MODEL "__metadata__ occurs twice" },
    /* fields */
    { A("\"dtype\":\"U8\",\"shape\":[1]"), 1, VUG_FORMAT,
      TENSOR "data_offsets is missing, expected dtype, shape and data_offsets" },
    { A("\"dtype\":\"U8\",\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "shape is missing, expected dtype, shape and data_offsets" },
    { A("\"shape\":[1],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "dtype is missing, expected dtype, shape and data_offsets" },
    { A("\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 28: duplicate key 'dtype'" },
    { A("\"strides\":[1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 17: unknown key 'strides', expected dtype, shape and data_offsets" },
    /* dtype */
    { A("\"dtype\":\"bf16\",\"shape\":[1],\"data_offsets\":[0,2]"), 2, VUG_FORMAT,
      TENSOR "unknown dtype 'bf16', expected one of F32, F16, BF16, F64, C64, I64, I32, I16, I8, "
             "U64, U32, U16, U8, BOOL, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, "
             "F6_E2M3, F6_E3M2, F4" },
    { A("\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,2]"), 2, VUG_FORMAT,
      TENSOR "line 1, column 15: expected a string, found a number" },
    /* shape */
    { A("\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 29: expected a whole number from 0 to 9223372036854775807, found -1" },
    { A("\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 29: expected a whole number from 0 to 9223372036854775807, found "
             "1.0" },
    { A("\"dtype\":\"U8\",\"shape\":[1e0],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 29: expected a whole number from 0 to 9223372036854775807, found "
             "1e0" },
    { A("\"dtype\":\"U8\",\"shape\":[\"1\"],\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 29: expected a number, found a string" },
    { A("\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 28: expected an array, found a number" },
    { A("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]"), 1, VUG_LIMIT,
      TENSOR "line 1, column 45: shape has more than 8 dimensions" },
    /* 2^32 * 2^32 elements; 2^63 - 1 of eight bytes; a wrapped product that is 0 */
    { A("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0, VUG_FORMAT,
      TENSOR
      "U8 [4294967296,4294967296] is not a whole number of bytes, or does not fit in 64 bits" },
    { A("\"dtype\":\"F64\",\"shape\":[9223372036854775807],\"data_offsets\":[0,8]"), 8, VUG_FORMAT,
      TENSOR
      "F64 [9223372036854775807] is not a whole number of bytes, or does not fit in 64 bits" },
    { A("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, VUG_FORMAT,
      TENSOR "F4 [3] is not a whole number of bytes, or does not fit in 64 bits" },
    { A("\"dtype\":\"F6_E2M3\",\"shape\":[6],\"data_offsets\":[0,5]"), 5, VUG_FORMAT,
      TENSOR "F6_E2M3 [6] is not a whole number of bytes, or does not fit in 64 bits" },
    /* offsets */
    { A("\"dtype\":\"BF16\",\"shape\":[4,4],\"data_offsets\":[0,64]"), 64, VUG_FORMAT,
      TENSOR "data_offsets [0,64] are 64 bytes, BF16 [4,4] needs 32" },
    { A("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]"), 1, VUG_FORMAT,
      TENSOR "data_offsets [1,0] end before they begin" },
    { A("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 50: data_offsets has 1 entries, expected 2" },
    { A("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 54: data_offsets has 3 entries, expected 2" },
    { A("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 48: expected a whole number from 0 to 9223372036854775807, found -1" },
    { A("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[18446744073709551615,0]"), 1, VUG_FORMAT,
      TENSOR "line 1, column 48: expected a whole number from 0 to 9223372036854775807, found "
             "18446744073709551615" },
    /* covering the buffer */
    { A("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]"), 3, VUG_FORMAT,
      MODEL
      "tensor 'a' begins at byte 1 of the data, expected 0: the bytes between them belong to no "
      "tensor" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
      5, VUG_FORMAT,
      MODEL
      "tensor 'b' begins at byte 3 of the data, expected 2: the bytes between them belong to no "
      "tensor" },
    { "{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
      3, VUG_FORMAT,
      MODEL "tensors 'a' and 'b' overlap: the second begins at byte 1 of the data, the first ends "
            "at 2" },
    { "{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
      2, VUG_FORMAT,
      MODEL "tensors 'a' and 'b' overlap: the second begins at byte 0 of the data, the first ends "
            "at 2" },
    { A("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]"), 5, VUG_FORMAT,
      MODEL "3 bytes from byte 63 on belong to no tensor, expected the file to end there" },
    { "{}", 1, VUG_FORMAT,
      MODEL "1 bytes from byte 10 on belong to no tensor, expected the file to end there" },
    { A("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]"), 1, VUG_FORMAT,
      MODEL "ends at byte 62, tensor 'a' needs up to byte 63: the file is truncated" },
    { A("\"dtype\":\"U8\",\"shape\":[9223372036854775807],"
        "\"data_offsets\":[0,9223372036854775807]"),
      1, VUG_FORMAT,
      MODEL "ends at byte 98, tensor 'a' needs up to byte 9223372036854775904: the file is "
            "truncated" },
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const file_block file = file_of(bad[i].header, bad[i].n_data);
        expect_error(view(file), bad[i].code, bad[i].message);
        free(file.ptr);
    }
}

/* Limits that keep memory close to the size of the file; no published file reaches them. */

/* An empty tensor whose name is `width` digits. */
static void add_tensor(vug_buf *header, int width, int number)
{
    vug_buf_printf(header, "%s\"%0*d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                   header->len ? "," : "{", width, number);
}

/* Closes the header; the file opens, or fails with `message` unless that is NULL. */
static void expect_open(vug_buf *header, const char *end, const char *message)
{
    vug_buf_puts(header, end);
    const file_block file = file_of(header->ptr, 0);
    if (message)
        expect_error(view(file), VUG_LIMIT, message);
    else
        vug_weights_close(open_good(view(file)));
    free(file.ptr);
    header->len -= strlen(end);
}

static void test_limits_of_tensors(void **state)
{
    (void)state;
    vug_buf header = { 0 };
    add_tensor(&header, 1024, 0);
    expect_open(&header, "}", NULL);
    add_tensor(&header, 1025, 0);
    expect_open(&header, "}",
                "model.safetensors: tensor '0000000000000000000000000000000000000000..': a name of "
                "1025 "
                "bytes, at most 1024 are read");
    header.len = 0;
    for (int i = 0; i < 163840; i++)
        add_tensor(&header, 1, i);
    expect_open(&header, "}", NULL);
    add_tensor(&header, 1, 163840);
    expect_open(&header, "}", "model.safetensors: more than 163840 tensors");
    header.len = 0;
    for (int i = 0; i < 30000; i++)
        add_tensor(&header, 1024, i);
    expect_open(&header, "}", NULL);
    for (int i = 30000; i < 40000; i++)
        add_tensor(&header, 1024, i);
    expect_open(&header, "}",
                "model.safetensors: the names and shapes of the tensors take more than 40 MB");
    vug_buf_release(&header);
}

static void test_limits_of_metadata(void **state)
{
    (void)state;
    vug_buf header = { 0 };
    vug_buf_puts(&header, "{\"__metadata__\":{\"k\":\"\"");
    for (int i = 1; i < 65536; i++)
        vug_buf_printf(&header, ",\"%d\":\"\"", i);
    expect_open(&header, "}}", NULL);
    expect_open(&header, ",\"x\":\"\"}}",
                "model.safetensors: __metadata__: line 1, column 709810: more than 65536 keys");
    /* Values are skipped, whatever they contain. */
    header.len = 0;
    vug_buf_puts(&header, "{\"__metadata__\":{\"k\":\"");
    for (int i = 0; i < 2000000; i++)
        vug_buf_puts(&header, "\\n");
    expect_open(&header, "\"}}", NULL);
    vug_buf_release(&header);
}

static void test_deep_header(void **state)
{
    (void)state;
    char header[400] = "{\"a\":{\"dtype\":";
    for (size_t n = strlen(header), i = 0; i < 200; i++)
        header[n + i] = '[';
    const file_block file = file_of(header, 0);
    expect_error(view(file), VUG_FORMAT,
                 TENSOR "line 1, column 15: expected a string, found an array");
    free(file.ptr);
}

/* ---- damaged files ------------------------------------------------------- */

/* Opening gives readable tensors or an error message. */
static bool try_open(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open_memory((vug_bytes){ copy, n }, "m", &w, &err);
    volatile unsigned sum = 0;
    if (st == VUG_OK) {
        for (size_t i = 0; i < vug_weights_count(w); i++) {
            const vug_tensor *t = vug_weights_at(w, i);
            for (uint64_t k = 0; k < t->bytes; k++)
                sum += t->data[k];
            assert_ptr_equal(vug_weights_find(w, t->name), t);
        }
    } else {
        assert_null(w);
        assert_true(strncmp(err.msg, "m: ", 3) == 0 && strlen(err.msg) > 10);
    }
    (void)sum;
    vug_weights_close(w);
    free(copy);
    return st == VUG_OK;
}

static void test_every_truncation(void **state)
{
    (void)state;
    const file_block file = file_of(mixed, 16);
    for (size_t n = 0; n < file.len; n++)
        assert_false(try_open(file.ptr, n));
    assert_true(try_open(file.ptr, file.len));
    free(file.ptr);
}

static void test_every_flip(void **state)
{
    (void)state;
    const file_block file = file_of(mixed, 16);
    size_t good = 0;
    for (size_t i = 0; i < file.len; i++) {
        const uint8_t old = file.ptr[i];
        for (int flip = 1; flip < 256; flip++) {
            file.ptr[i] = (uint8_t)(old ^ flip);
            good += try_open(file.ptr, file.len);
        }
        file.ptr[i] = old;
    }
    /* Changes of data and of letters in names leave the file valid. */
    assert_in_range(good, 16 * 255 + 1, file.len * 255 / 2);
    free(file.ptr);
}

/* ---- added tensors ------------------------------------------------------- */

static void test_create_and_add(void **state)
{
    (void)state;
    vug_weights *w = NULL;
    assert_int_equal(vug_weights_create("random", &w, NULL), VUG_OK);
    const vug_tensor *first = NULL;
    for (int i = 0; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "t%d", i * 37 % 200);
        uint8_t *data = NULL;
        const int64_t dim[2] = { 3, i };
        assert_int_equal(vug_weights_add(w, vug_str_of(name), VUG_DTYPE_F16, 2, dim, &data, NULL),
                         VUG_OK);
        for (int k = 0; k < 6 * i; k++)
            assert_int_equal(data[k], 0);
        assert_int_equal((uintptr_t)data % 64, 0);
        memset(data, i, 6 * (size_t)i);
        if (i == 0)
            first = find_tensor(w, "t0");
    }
    assert_int_equal(vug_weights_count(w), 200);
    assert_ptr_equal(first, vug_weights_at(w, 0));
    for (int i = 1; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "t%d", i * 37 % 200);
        const vug_tensor *t = find_tensor(w, name);
        assert_ptr_equal(t, vug_weights_at(w, (size_t)i));
        assert_int_equal(t->data[6 * i - 1], i);
        assert_string_equal(t->file, "random");
    }
    uint8_t *data = NULL;
    vug_err err = { 0 };
    const vug_scales how = { .dtype = VUG_DTYPE_F32, .rows = 2, .columns = 64 };
    uint8_t *scale = NULL, *bias = NULL;
    assert_int_equal(vug_weights_add_scales(w, vug_str_of("t10"), &how, &scale, &bias, NULL),
                     VUG_OK);
    const vug_tensor *scaled = find_tensor(w, "t10"); /* [3,130] */
    assert_int_equal(scaled->scale_bytes, 12 * sizeof(float));
    assert_int_equal(scaled->scales.stride, 3);
    assert_ptr_equal(scaled->scales.scale, scale);
    assert_ptr_equal(scaled->scales.bias, scale + 6 * sizeof(float));
    assert_ptr_equal(bias, scaled->scales.bias);
    for (size_t k = 0; k < scaled->scale_bytes; k++)
        assert_int_equal(scale[k], 0);
    static const char *const without[] = { "t10", "t0", "none" };
    for (int i = 0; i < 3; i++)
        assert_int_equal(
                vug_weights_add_scales(w, vug_str_of(without[i]), &how, &scale, NULL, &err),
                VUG_ARGUMENT);
    assert_string_equal(err.msg, "random: tensor 'none' cannot be given scales: expected an added "
                                 "matrix without scales");
    int64_t dim[2] = { 1, 1 };
    assert_int_equal(vug_weights_add(w, vug_str_of("t7"), VUG_DTYPE_F32, 0, dim, &data, &err),
                     VUG_ARGUMENT);
    assert_string_equal(err.msg, "random: tensor 't7' already exists");
    assert_int_equal(vug_weights_add(w, vug_str_of("x"), VUG_DTYPE_F32, 9, dim, &data, &err),
                     VUG_ARGUMENT);
    dim[0] = INT64_MAX;
    assert_int_equal(vug_weights_add(w, vug_str_of("x"), VUG_DTYPE_F32, 2, dim, &data, &err),
                     VUG_ARGUMENT);
    dim[0] = INT64_MAX / 8;
    assert_int_equal(vug_weights_add(w, vug_str_of("x"), VUG_DTYPE_F32, 1, dim, &data, &err),
                     VUG_NOMEM);
    assert_null(data);
    assert_int_equal(vug_weights_count(w), 200);
    uint64_t done = 0;
    assert_true(vug_weights_populate(w, find_tensor(w, "t37"), &done, 6, NULL, NULL));
    assert_int_equal(done, 6);
    vug_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_mixed_file),
        cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_many_tensors_are_found),
        cmocka_unit_test(test_length_rules),
        cmocka_unit_test(test_header_limit),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_limits_of_tensors),
        cmocka_unit_test(test_limits_of_metadata),
        cmocka_unit_test(test_deep_header),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_flip),
        cmocka_unit_test(test_create_and_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
