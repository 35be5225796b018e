/*
 * Writing one safetensors file.
 *
 * The header is padded with spaces to a multiple of 8, as the reference writer
 * does, so that the first tensor is aligned. What follows is in the order of the
 * caller, who puts wide formats first if later ones shall be aligned too. The
 * data streams through one small buffer: a checkpoint of any size is written
 * with a few megabytes of memory.
 */
#include "weights/directory.h"

#include <inttypes.h>

#include "core/json.h"
#include "core/text.h"

/* A multiple of the block of every element format, of 3 bytes too. */
enum { PIECE = 3 << 19 };

typedef struct {
    const vug_tensor_spec *tensor; /* [n] */
    size_t n;
    uint64_t total; /* bytes of all tensors */
} plan;

static bool is_utf8(vug_str s)
{
    uint32_t cp;
    for (size_t at = 0; at < s.len;) {
        const size_t n = vug_utf8_next(s.ptr + at, s.len - at, &cp);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

/* A reader would refuse the file otherwise. */
static vug_status check_names(const char *path, const plan *p, vug_err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        const vug_str name = p->tensor[i].name;
        if (!is_utf8(name) || vug_str_is(name, "__metadata__"))
            return VUG_FAIL(err, VUG_ARGUMENT, "%.200s: tensor %zu: '%.*s' cannot be a name", path,
                            i, VUG_STR_ARG(name));
    }
    vug_str *name = vug_alloc(p->n, sizeof(*name));
    if (!name)
        return VUG_FAIL_NOMEM(err, path, p->n * sizeof(*name));
    for (size_t i = 0; i < p->n; i++)
        name[i] = p->tensor[i].name;
    const vug_str *twice = vug_sort_names(name, p->n, sizeof(*name));
    vug_status st = VUG_OK;
    if (twice)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%.200s: two tensors have the name '%.*s'", path,
                      VUG_STR_ARG(*twice));
    vug_free(name);
    return st;
}

/* The header's JSON, padded; sums up plan.total. */
static vug_status describe(const char *path, plan *p, vug_buf *header, vug_err *err)
{
    vug_buf_puts(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < p->n; i++) {
        const vug_tensor_spec *t = &p->tensor[i];
        uint64_t bytes, end = 0;
        if (t->rank < 0 || t->rank > VUG_TENSOR_MAX_RANK ||
            !vug_tensor_size(t->dtype, t->rank, t->dim, &bytes) ||
            !vug_add_size(p->total, bytes, &end) || end > INT64_MAX)
            return VUG_FAIL(err, VUG_ARGUMENT, "%.200s: tensor '%.*s' has no valid shape", path,
                            VUG_STR_ARG(t->name));
        vug_buf_puts(header, ",");
        vug_json_write_string(header, t->name.ptr ? t->name.ptr : "", t->name.len);
        vug_buf_printf(
                header,
                ":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                vug_dtype_of(t->dtype)->name, vug_shape_print(t->rank, t->dim).text, p->total, end);
        p->total = end;
    }
    vug_buf_puts(header, "}");
    while (header->len % 8 != 0 && !header->bad)
        vug_buf_puts(header, " ");
    return vug_buf_ok(header, err);
}

typedef struct {
    vug_fill_fn *fill;
    vug_progress_fn *progress; /* may be NULL */
    void *user;
    uint8_t *piece; /* [PIECE] */
    uint64_t done;
} stream;

static vug_status write_tensors(const plan *p, stream *s, vug_out *out, vug_err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        const vug_tensor_spec *t = &p->tensor[i];
        uint64_t bytes = 0;
        (void)vug_tensor_size(t->dtype, t->rank, t->dim, &bytes); /* describe has checked it */
        for (uint64_t at = 0; at < bytes;) {
            const size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
            VUG_TRY(s->fill(i, at, s->piece, n, s->user, err));
            vug_out_write(out, s->piece, n);
            at += n;
            s->done += n;
            if (out->st != VUG_OK)
                return VUG_OK; /* vug_out_commit tells why */
            if (s->progress && !s->progress(s->done, p->total, s->user))
                return VUG_FAIL(err, VUG_CANCELLED, "%.200s: writing was cancelled", out->path);
        }
    }
    return VUG_OK;
}

vug_status vug_safetensors_write(const char *path, const vug_tensor_spec *tensor, size_t n,
                                 vug_fill_fn *fill, void *user, vug_progress_fn *progress,
                                 vug_err *err)
{
    plan p = { .tensor = tensor, .n = n };
    stream s = { .fill = fill, .progress = progress, .user = user };
    vug_buf header = { .max = VUG_MAX_SAFETENSORS_HEADER };
    vug_status st = check_names(path, &p, err);
    if (st == VUG_OK)
        st = describe(path, &p, &header, err);
    if (st != VUG_OK)
        goto release_header;
    s.piece = vug_alloc(PIECE, 1);
    if (!s.piece) {
        st = VUG_FAIL_NOMEM(err, path, PIECE);
        goto release_header;
    }
    vug_out out;
    vug_out_open(&out, path);
    uint8_t prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (uint8_t)((uint64_t)header.len >> 8 * i);
    vug_out_write(&out, prefix, sizeof(prefix));
    vug_out_write(&out, header.ptr, header.len);
    st = write_tensors(&p, &s, &out, err);
    if (st == VUG_OK)
        st = vug_out_commit(&out, err);
    else
        vug_out_abandon(&out);
    vug_free(s.piece);
release_header:
    vug_buf_release(&header);
    return st;
}
