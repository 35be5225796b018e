/*
 * Opening GGUF files: a single file, or the parts that llama.cpp's gguf-split made of one.
 *
 *     PREFIX-00001-of-00003.gguf   split.no 0, split.count 3, split.tensors.count n
 *     PREFIX-00002-of-00003.gguf   split.no 1, split.count 3
 *
 * Each part is a complete GGUF file with its own tensors; only the first has all metadata.
 * Both the name and the keys say that a file is a part. They must agree, so that a renamed
 * part is not taken for a complete model.
 */
#include "weights/directory.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct {
    size_t prefix; /* bytes of the path before "-00001-of-00003.gguf" */
    unsigned no;   /* 1 .. count */
    unsigned count;
} split_name;

enum { SUFFIX = sizeof("-00001-of-00003.gguf") - 1, DIGITS = 5 };

static bool read_digits(const char *at, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        *out = *out * 10 + (unsigned)(at[i] - '0');
    }
    return true;
}

static bool parse_split_name(const char *path, split_name *out)
{
    const size_t n = strlen(path);
    if (n < SUFFIX)
        return false;
    const char *at = path + n - SUFFIX;
    out->prefix = n - SUFFIX;
    return at[0] == '-' && read_digits(at + 1, &out->no) && memcmp(at + 6, "-of-", 4) == 0 &&
           read_digits(at + 10, &out->count) && strcmp(at + 15, ".gguf") == 0;
}

/* Reads an integer of any type; `found` is NULL when there is no such key. */
static vug_status read_count(const vug_gguf *gguf, const char *key, uint64_t *out,
                             const vug_gguf_value **found, vug_err *err)
{
    const vug_gguf_value *v = *found = vug_gguf_find(gguf, vug_str_of(key));
    *out = 0;
    if (v && (v->is_array || !vug_gguf_u64(v, 0, out)))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key '%s': %s at byte %" PRIu64 ", expected an integer", gguf->file,
                        key, vug_gguf_describe(v).text, v->offset);
    return VUG_OK;
}

static vug_status expect_count(const vug_gguf *gguf, const char *key, uint64_t expected,
                               const char *why, vug_err *err)
{
    uint64_t n;
    const vug_gguf_value *v;
    VUG_TRY(read_count(gguf, key, &n, &v, err));
    if (!v)
        return VUG_FAIL(err, VUG_FORMAT, "%s: no key '%s', expected %" PRIu64 ": %s", gguf->file,
                        key, expected, why);
    if (n != expected)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key '%s' is %" PRIu64 " at byte %" PRIu64 ", expected %" PRIu64 ": %s",
                        gguf->file, key, n, v->offset, expected, why);
    return VUG_OK;
}

static vug_status load_file(vug_weights *weights, const char *path, vug_gguf *gguf, vug_err *err)
{
    vug_bytes file;
    const char *name;
    VUG_TRY(vug_weights_map(weights, path, &file, &name, err));
    return vug_gguf_read_file(weights, file, name, gguf, err);
}

/* Loads part `no`; changes the file name at the end of `path` to that of the part. */
static vug_status load_part(vug_weights *weights, char *path, const split_name *given, unsigned no,
                            vug_err *err)
{
    char why[64];
    (void)snprintf(path + given->prefix, SUFFIX + 1, "-%05u-of-%05u.gguf", no, given->count);
    (void)snprintf(why, sizeof(why), "its name says part %u of %u", no, given->count);
    if (no != given->no && !vug_file_exists(path))
        return VUG_FAIL(err, VUG_IO, "%s: the file is missing, part %u of %u of a split model",
                        path, no, given->count);
    vug_gguf gguf;
    VUG_TRY(load_file(weights, path, &gguf, err));
    vug_status st = expect_count(&gguf, "split.count", given->count, why, err);
    if (st == VUG_OK)
        st = expect_count(&gguf, "split.no", no - 1, why, err);
    if (st == VUG_OK && no == 1)
        weights->gguf = gguf;
    else
        vug_gguf_release(&gguf);
    return st;
}

static vug_status load_parts(vug_weights *weights, const char *path, const split_name *given,
                             vug_err *err)
{
    if (given->no == 0 || given->no > given->count)
        return VUG_FAIL(err, VUG_FORMAT, "%s: the name says part %u of %u, expected 1 to %u",
                        weights->name, given->no, given->count, given->count);
    if (given->count > VUG_MAX_WEIGHT_FILES)
        return VUG_FAIL(err, VUG_LIMIT, "%s: a model of %u parts, at most %d are read",
                        weights->name, given->count, VUG_MAX_WEIGHT_FILES);
    char *name = vug_strdup(path);
    if (!name)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    vug_status st = VUG_OK;
    for (unsigned no = 1; st == VUG_OK && no <= given->count; no++)
        st = load_part(weights, name, given, no, err);
    vug_free(name);
    if (st != VUG_OK)
        return st;
    return expect_count(&weights->gguf, "split.tensors.count", weights->n,
                        "the number of tensors in all parts", err);
}

static vug_status load_whole(vug_weights *weights, const char *path, vug_err *err)
{
    VUG_TRY(load_file(weights, path, &weights->gguf, err));
    uint64_t n;
    const vug_gguf_value *v;
    VUG_TRY(read_count(&weights->gguf, "split.count", &n, &v, err));
    if (n <= 1)
        return VUG_OK;
    return VUG_FAIL(err, VUG_FORMAT,
                    "%s: key 'split.count' at byte %" PRIu64 " says that this is one of %" PRIu64
                    " parts, expected a name that ends in -00001-of-%05" PRIu64 ".gguf",
                    weights->name, v->offset, n, n);
}

vug_status vug_weights_open_gguf(const char *path, vug_weights **out, vug_err *err)
{
    vug_weights *weights;
    split_name given;
    VUG_TRY(vug_weights_create(vug_path_base(path), &weights, err));
    const bool split = parse_split_name(path, &given) && given.count != 1;
    const vug_status st =
            split ? load_parts(weights, path, &given, err) : load_whole(weights, path, err);
    return vug_weights_finish(weights, st, out, err);
}
