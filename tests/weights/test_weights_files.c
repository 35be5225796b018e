/* Checkpoint folders, shards and the safetensors writer, on disk. */
#include "test.h"

#include "scratch.h"
#include "weights/weights.h"

#include <unistd.h>

#define INDEX "model.safetensors.index.json"

/* Writes a file with one-byte tensors named as in "a b c"; byte i is 10 + i. */
static void put_shard(const scratch *dir, const char *file, const char *names)
{
    vug_buf header = { 0 };
    int n = 0;
    for (const char *at = names; *at; n++) {
        const size_t len = strcspn(at, " ");
        vug_buf_printf(&header,
                       "%s\"%.*s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                       n ? "," : "{", (int)len, at, n, n + 1);
        at += len + (at[len] == ' ');
    }
    vug_buf_puts(&header, n ? "}" : "{}");
    vug_buf bytes = { 0 };
    const uint64_t length = header.len;
    for (int i = 0; i < 8; i++)
        vug_buf_append(&bytes, &(uint8_t){ (uint8_t)(length >> 8 * i) }, 1);
    vug_buf_append(&bytes, header.ptr, header.len);
    for (int i = 0; i < n; i++)
        vug_buf_append(&bytes, &(uint8_t){ (uint8_t)(10 + i) }, 1);
    scratch_write(dir, file, bytes.ptr, bytes.len);
    vug_buf_release(&header);
    vug_buf_release(&bytes);
}

static vug_weights *open_good(const scratch *dir)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    if (vug_weights_open(dir->path, &w, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return w;
}

/* Opening must fail with this message, in which FOLDER stands for the path. */
static void expect_error(const scratch *dir, vug_status code, const char *message)
{
    vug_buf expected = { 0 };
    const char *folder = strstr(message, "FOLDER");
    if (folder) {
        vug_buf_append(&expected, message, (size_t)(folder - message));
        vug_buf_puts(&expected, dir->path);
        vug_buf_puts(&expected, folder + strlen("FOLDER"));
    } else {
        vug_buf_puts(&expected, message);
    }
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open(dir->path, &w, &err);
    assert_null(w);
    assert_string_equal(err.msg, expected.ptr);
    assert_int_equal(st, code);
    vug_buf_release(&expected);
}

static void expect_tensor(const vug_weights *w, const char *name, const char *file, int byte)
{
    const vug_tensor *t = vug_weights_find(w, vug_str_of(name));
    assert_non_null(t);
    assert_string_equal(t->file, file);
    assert_int_equal(t->data[0], byte);
}

/* ---- folders ------------------------------------------------------------- */

static void test_single_file(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    put_shard(&dir, "model.safetensors", "a b");
    /* Ignored when that file exists. */
    scratch_puts(&dir, "model-old.safetensors", "nonsense");
    scratch_puts(&dir, "config.json", "{}");
    vug_weights *w = open_good(&dir);
    assert_int_equal(vug_weights_count(w), 2);
    expect_tensor(w, "b", "model.safetensors", 11);
    const vug_tensor *b = vug_weights_at(w, 1);
    assert_int_equal(vug_weights_mapped(w), b->offset + 1);
    vug_weights_close(w);
    scratch_remove(&dir);
}

static void test_shards_without_index(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    put_shard(&dir, "model-00002-of-00002.safetensors", "c");
    put_shard(&dir, "model-00001-of-00002.safetensors", "b a");
    scratch_puts(&dir, "consolidated.safetensors", "nonsense");
    vug_weights *w = open_good(&dir);
    static const char *const order[] = { "b", "a", "c" };
    assert_int_equal(vug_weights_count(w), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(vug_str_is(vug_weights_at(w, i)->name, order[i]));
    expect_tensor(w, "a", "model-00001-of-00002.safetensors", 11);
    expect_tensor(w, "c", "model-00002-of-00002.safetensors", 10);
    vug_weights_close(w);
    put_shard(&dir, "model-00002-of-00002.safetensors", "c a");
    expect_error(&dir, VUG_FORMAT,
                 "FOLDER: tensor 'a' is in model-00001-of-00002.safetensors and in "
                 "model-00002-of-00002.safetensors, expected once");
    scratch_remove(&dir);
}

static void test_shards_with_index(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    put_shard(&dir, "two.safetensors", "c");
    put_shard(&dir, "one.safetensors", "b a");
    put_shard(&dir, "model-stray.safetensors", "a");
    scratch_puts(&dir, INDEX,
                 "{\"metadata\":{\"total_size\":99,\"x\":[1,{}]},\n"
                 "\"weight_map\":{\"a\":\"one.safetensors\",\"c\":\"two.safetensors\"}}\n");
    vug_weights *w = open_good(&dir);
    assert_int_equal(vug_weights_count(w), 3);
    expect_tensor(w, "a", "one.safetensors", 11);
    expect_tensor(w, "b", "one.safetensors", 10);
    expect_tensor(w, "c", "two.safetensors", 10);
    vug_weights_close(w);
    put_shard(&dir, "two.safetensors", "c a");
    expect_error(&dir, VUG_FORMAT,
                 "FOLDER: tensor 'a' is in one.safetensors and in two.safetensors, expected once");
    scratch_remove(&dir);
}

static void test_linked_shards(void **state)
{
    (void)state;
    const scratch blobs = scratch_make(), dir = scratch_make();
    put_shard(&blobs, "0123abcd", "a");
    const scratch_path from = scratch_at(&blobs, "0123abcd");
    const scratch_path to = scratch_at(&dir, "model-1.safetensors");
    assert_int_equal(symlink(from.path, to.path), 0);
    vug_weights *w = open_good(&dir);
    expect_tensor(w, "a", "model-1.safetensors", 10);
    vug_weights_close(w);
    scratch_puts(&dir, INDEX, "{\"weight_map\":{\"a\":\"model-1.safetensors\"}}");
    w = open_good(&dir);
    expect_tensor(w, "a", "model-1.safetensors", 10);
    vug_weights_close(w);
    /* A link to nothing. */
    scratch_remove(&blobs);
    expect_error(&dir, VUG_IO,
                 INDEX ": weight_map names 'model-1.safetensors', which does not exist in FOLDER");
    scratch_remove(&dir);
}

static void test_index_names_plain_files_only(void **state)
{
    (void)state;
    static const char *const names[] = { "../x", "/etc/passwd", "a/b", "a\\\\b", "..",  ".",
                                         "",     "C:x",         "x..", "c:",     "./x", "x\\u0000y",
                                         "x/" };
    const scratch dir = scratch_make();
    put_shard(&dir, "x", "a");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[120];
        (void)snprintf(text, sizeof(text), "{\"weight_map\":{\"a\":\"%s\"}}", names[i]);
        scratch_puts(&dir, INDEX, text);
        vug_weights *w = NULL;
        vug_err err = { 0 };
        assert_int_equal(vug_weights_open(dir.path, &w, &err), VUG_FORMAT);
        assert_non_null(strstr(err.msg, "for tensor 'a', expected the plain name of a file in the "
                                        "same folder"));
    }
    scratch_puts(&dir, INDEX, "{\"weight_map\":{\"a\":\"../x\"}}");
    expect_error(&dir, VUG_FORMAT,
                 INDEX
                 ": line 1, column 26: weight_map names '../x' for tensor 'a', expected the plain "
                 "name of a file in the same folder");
    char text[400];
    (void)snprintf(text, sizeof(text), "{\"weight_map\":{\"a\":\"%0256d\"}}", 0);
    scratch_puts(&dir, INDEX, text);
    vug_weights *w = NULL;
    assert_int_equal(vug_weights_open(dir.path, &w, NULL), VUG_FORMAT);
    scratch_remove(&dir);
}

static void test_index_rules(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        vug_status code;
        const char *message;
    } row[] = {
        { "{\"weight_map\":{\"a\":\"one\",\"c\":\"model-00002-of-00002.safetensors\"}}", VUG_IO,
          INDEX
          ": weight_map names 'model-00002-of-00002.safetensors', which does not exist in FOLDER" },
        { "{\"weight_map\":{\"a\":\"one\",\"c\":\"one\"}}", VUG_FORMAT,
          INDEX ": weight_map says tensor 'c' is in 'one', which does not contain it" },
        { "{\"weight_map\":{\"a\":\"two\",\"b\":\"one\"}}", VUG_FORMAT,
          INDEX ": weight_map says tensor 'a' is in 'two', but it is in 'one'" },
        { "{\"weight_map\":{\"a\":\"one\",\"\\u0061\":\"two\"}}", VUG_FORMAT,
          INDEX ": weight_map lists tensor 'a' twice" },
        { "{\"weight_map\":{\"a\":\"one\"},\"weight_map\":{}}", VUG_FORMAT,
          INDEX ": line 1, column 40: duplicate key 'weight_map'" },
        { "{\"weight_map\":{}}", VUG_FORMAT,
          INDEX ": weight_map is empty, expected {\"tensor\": \"file\", ...}" },
        { "{\"metadata\":{}}", VUG_FORMAT,
          INDEX ": weight_map is missing, expected {\"tensor\": \"file\", ...}" },
        { "{\"weight_map\":{\"a\":1}}", VUG_FORMAT,
          INDEX ": line 1, column 20: expected a string, found a number" },
        { "{\"weight_map\":[]}", VUG_FORMAT,
          INDEX ": line 1, column 15: expected an object, found an array" },
        { "", VUG_FORMAT, INDEX ": line 1, column 1: expected an object, found the end" },
        { "{\"weight_map\":\n{\"a\":\"one\"}} x", VUG_FORMAT,
          INDEX ": line 2, column 14: expected the end, found 'x'" },
        { "{\"weight_map\":{\"a\":\"folder\"}}", VUG_IO, "FOLDER/folder: not a regular file" },
    };
    const scratch dir = scratch_make();
    put_shard(&dir, "one", "a");
    put_shard(&dir, "two", "b");
    assert_int_equal(vug_make_folder(scratch_at(&dir, "folder").path, NULL), VUG_OK);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        scratch_puts(&dir, INDEX, row[i].text);
        expect_error(&dir, row[i].code, row[i].message);
    }
    scratch_remove(&dir);
}

static void test_no_weights(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    scratch_puts(&dir, "config.json", "{}");
    scratch_puts(&dir, "other.safetensors", "");
    expect_error(&dir, VUG_IO,
                 "FOLDER: no weights found, expected model.safetensors, " INDEX
                 " or model*.safetensors");
    scratch_puts(&dir, "model.safetensors", "");
    expect_error(
            &dir, VUG_FORMAT,
            "model.safetensors: 0 bytes, a safetensors file begins with 8 bytes for the length of "
            "its header");
    scratch_remove(&dir);
    expect_error(&dir, VUG_IO, "FOLDER: no such folder, expected a checkpoint folder");
}

static void test_open_file(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    put_shard(&dir, "r.safetensors", "a b");
    vug_weights *w = NULL;
    assert_int_equal(vug_weights_open_file(scratch_at(&dir, "r.safetensors").path, &w, NULL),
                     VUG_OK);
    expect_tensor(w, "b", "r.safetensors", 11);
    vug_weights_close(w);
    w = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_weights_open_file(scratch_at(&dir, "none").path, &w, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/none: cannot open: No such file or directory"));
    assert_int_equal(vug_weights_open(scratch_at(&dir, "r.safetensors").path, &w, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/r.safetensors: not a folder, expected a checkpoint folder"));
    assert_null(w);
    vug_weights_close(NULL);
    scratch_remove(&dir);
}

typedef struct {
    int calls, stop_at;
    uint64_t last, total;
} progress_log;

static bool on_progress(uint64_t done, uint64_t total, void *user)
{
    progress_log *h = user;
    assert_true(done > h->last);
    h->last = done;
    h->total = total;
    return ++h->calls != h->stop_at;
}

static void test_populate(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    static const char header[] = "\x60\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[70000003],"
                                 "\"data_offsets\":[0,70000003]}}";
    scratch_write(&dir, "s", header, sizeof(header) - 1);
    const scratch_path path = scratch_at(&dir, "s");
    FILE *file = fopen(path.path, "ab");
    assert_non_null(file);
    for (size_t at = sizeof(header) - 1; at < 8 + 0x60; at++)
        assert_int_equal(fputc(' ', file), ' ');
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path.path, 8 + 0x60 + 70000003), 0); /* the data is a hole */
    vug_weights *w = NULL;
    assert_int_equal(vug_weights_open_file(path.path, &w, NULL), VUG_OK);
    progress_log h = { 0 };
    uint64_t done = 5;
    assert_true(vug_weights_populate(w, vug_weights_at(w, 0), &done, 70000008, on_progress, &h));
    assert_int_equal(done, 70000008);
    assert_int_equal(h.last, 70000008);
    assert_int_equal(h.total, 70000008);
    assert_int_equal(h.calls, 3); /* pieces of 32 MiB */
    h = (progress_log){ .stop_at = 2 };
    done = 0;
    assert_false(vug_weights_populate(w, vug_weights_at(w, 0), &done, 70000003, on_progress, &h));
    assert_int_equal(done, 2 * 32 << 20);
    vug_weights_close(w);
    scratch_remove(&dir);
}

/* ---- writing ------------------------------------------------------------- */

static uint8_t byte_of(size_t i, uint64_t at)
{
    return (uint8_t)(i * 31 + at * 7 + at / 256);
}

typedef struct {
    size_t tensor;       /* of the last call */
    uint64_t at;         /* where it ended */
    uint64_t fail_after; /* bytes; 0: never */
    uint64_t total;
    uint64_t stop_after; /* bytes; 0: never */
} shard_filler;

static vug_status fill_tensor(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                              vug_err *err)
{
    shard_filler *f = user;
    assert_true(at == 0 ? i >= f->tensor : i == f->tensor && at == f->at);
    assert_true(n > 0);
    f->tensor = i;
    f->at = at + n;
    f->total += n;
    if (f->fail_after && f->total > f->fail_after)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "the tensor_filler gave up");
    for (size_t k = 0; k < n; k++)
        bytes[k] = byte_of(i, at + k);
    return VUG_OK;
}

static bool on_write_progress(uint64_t done, uint64_t total, void *user)
{
    shard_filler *f = user;
    assert_int_equal(done, f->total);
    assert_true(done <= total);
    return f->stop_after == 0 || done < f->stop_after;
}

#define NAME(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const vug_tensor_spec specs[] = {
    { NAME("model.embed"), VUG_DTYPE_BF16, 2, { 3000, 1001 } }, /* two pieces */
    { NAME("scalar"), VUG_DTYPE_F32, 0, { 0 } },
    { NAME("empty"), VUG_DTYPE_F16, 3, { 4, 0, 2 } },
    { NAME("quote \" slash \\ newline \n e\xcc\x81"), VUG_DTYPE_U8, 1, { 3 } },
    { NAME("six bits"), VUG_DTYPE_E2M3, 1, { 8388608 } }, /* blocks of three bytes, two pieces */
    { NAME(""), VUG_DTYPE_I64, 8, { 1, 2, 1, 2, 1, 2, 1, 1 } },
};
enum { N_SPECS = sizeof(specs) / sizeof(specs[0]) };

/* The folder must contain these files, given as "a b c". */
static void expect_files(const scratch *dir, const char *expected)
{
    vug_arena arena = { 0 };
    vug_str *names = NULL;
    size_t n = 0;
    assert_int_equal(vug_list_folder(dir->path, &arena, &names, &n, NULL), VUG_OK);
    vug_buf all = { 0 };
    vug_buf_puts(&all, "");
    for (size_t i = 0; i < n; i++)
        vug_buf_printf(&all, "%s%s", i ? " " : "", names[i].ptr);
    assert_string_equal(all.ptr, expected);
    vug_buf_release(&all);
    vug_arena_release(&arena);
}

static vug_tensor_stream stream_of(shard_filler *f)
{
    return (vug_tensor_stream){ specs, N_SPECS, fill_tensor, f, on_write_progress, f };
}

static void test_write_round_trip(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "model.safetensors");
    shard_filler f = { 0 };
    const vug_tensor_stream tensors = stream_of(&f);
    vug_err err = { 0 };
    if (vug_safetensors_write(path.path, &tensors, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    expect_files(&dir, "model.safetensors");
    vug_weights *w = NULL;
    if (vug_weights_open(dir.path, &w, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(vug_weights_count(w), N_SPECS);
    assert_int_equal(vug_weights_at(w, 0)->offset % 8, 0);
    for (size_t i = 0; i < N_SPECS; i++) {
        const vug_tensor *t = vug_weights_find(w, specs[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, specs[i].dtype);
        assert_int_equal(t->rank, specs[i].rank);
        assert_memory_equal(t->dim, specs[i].dim, (size_t)t->rank * sizeof(t->dim[0]));
        size_t wrong = 0;
        for (uint64_t k = 0; k < t->bytes; k++)
            wrong += t->data[k] != byte_of(i, k);
        assert_int_equal(wrong, 0);
    }
    vug_weights_close(w);
    vug_text text = { 0 };
    assert_int_equal(vug_read_file(path.path, 1 << 24, &text, NULL), VUG_OK);
    static const char begin[] = "{\"__metadata__\":{\"format\":\"pt\"},\"model.embed\":{";
    assert_memory_equal(text.ptr + 8, begin, sizeof(begin) - 1);
    vug_text_release(&text);
    scratch_remove(&dir);
}

static void test_write_is_all_or_nothing(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m");
    vug_err err = { 0 };
    shard_filler f = { .fail_after = 2000000 };
    const vug_tensor_stream tensors = stream_of(&f);
    assert_int_equal(vug_safetensors_write(path.path, &tensors, &err), VUG_UNSUPPORTED);
    assert_string_equal(err.msg, "the tensor_filler gave up");
    expect_files(&dir, "");
    /* An existing file stays unchanged. */
    scratch_puts(&dir, "m", "old");
    f = (shard_filler){ .stop_after = 2000000 };
    assert_int_equal(vug_safetensors_write(path.path, &tensors, &err), VUG_CANCELLED);
    expect_files(&dir, "m");
    vug_text text = { 0 };
    assert_int_equal(vug_read_file(path.path, 100, &text, NULL), VUG_OK);
    assert_string_equal(text.ptr, "old");
    vug_text_release(&text);
    const scratch_path nowhere = scratch_at(&dir, "none/m");
    f = (shard_filler){ 0 };
    assert_int_equal(vug_safetensors_write(nowhere.path, &tensors, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/none/m: cannot write: No such file or directory"));
    scratch_remove(&dir);
}

/* `fill` and `progress` have separate user pointers. */
static void test_progress_of_another(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    shard_filler f = { 0 };
    progress_log h = { 0 };
    vug_tensor_stream tensors = stream_of(&f);
    tensors.progress = on_progress;
    tensors.progress_user = &h;
    assert_int_equal(vug_safetensors_write(scratch_at(&dir, "m").path, &tensors, NULL), VUG_OK);
    assert_true(h.calls > 0);
    assert_int_equal(h.last, f.total);
    scratch_remove(&dir);
}

static void test_write_no_tensors(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const vug_tensor_stream none = { 0 };
    assert_int_equal(vug_safetensors_write(scratch_at(&dir, "model.safetensors").path, &none, NULL),
                     VUG_OK);
    vug_weights *w = open_good(&dir);
    assert_int_equal(vug_weights_count(w), 0);
    vug_weights_close(w);
    scratch_remove(&dir);
}

static void test_write_refuses(void **state)
{
    (void)state;
    static const struct {
        vug_tensor_spec tensor[2];
        const char *message;
    } row[] = {
        { { { NAME("a"), VUG_DTYPE_U8, 1, { 1 } }, { NAME("a"), VUG_DTYPE_U8, 1, { 1 } } },
          "/m: two tensors have the name 'a'" },
        { { { NAME("a"), VUG_DTYPE_U8, 1, { 1 } },
            { NAME("__metadata__"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 1: '__metadata__' is not a valid name" },
        { { { NAME("\xff"), VUG_DTYPE_U8, 1, { 1 } }, { NAME("a"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 0: '\xff' is not a valid name" },
        { { { NAME("a"), VUG_DTYPE_U8, 1, { -1 } }, { NAME("b"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 'a' has no valid shape" },
        { { { NAME("a"), VUG_DTYPE_F4, 1, { 3 } }, { NAME("b"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 'a' has no valid shape" },
        { { { NAME("a"), VUG_DTYPE_U8, 9, { 1 } }, { NAME("b"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 'a' has no valid shape" },
        { { { NAME("a"), VUG_DTYPE_U8, 1, { INT64_MAX } }, { NAME("b"), VUG_DTYPE_U8, 0, { 0 } } },
          "/m: tensor 'b' has no valid shape" },
    };
    const scratch dir = scratch_make();
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        vug_err err = { 0 };
        const vug_tensor_stream tensors = { .tensor = row[i].tensor, .n = 2, .fill = fill_tensor };
        assert_int_equal(vug_safetensors_write(scratch_at(&dir, "m").path, &tensors, &err),
                         VUG_ARGUMENT);
        assert_string_equal(err.msg + strlen(dir.path), row[i].message);
        expect_files(&dir, "");
    }
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_file),
        cmocka_unit_test(test_shards_without_index),
        cmocka_unit_test(test_shards_with_index),
        cmocka_unit_test(test_linked_shards),
        cmocka_unit_test(test_index_names_plain_files_only),
        cmocka_unit_test(test_index_rules),
        cmocka_unit_test(test_no_weights),
        cmocka_unit_test(test_open_file),
        cmocka_unit_test(test_populate),
        cmocka_unit_test(test_write_round_trip),
        cmocka_unit_test(test_write_is_all_or_nothing),
        cmocka_unit_test(test_progress_of_another),
        cmocka_unit_test(test_write_no_tensors),
        cmocka_unit_test(test_write_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
