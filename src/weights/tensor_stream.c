/*
 * Writing tensors into a file of any container. They pass through one small buffer, so a
 * checkpoint of any size is written with a few megabytes of memory.
 */
#include "weights/directory.h"

#include "core/utf8.h"

vug_status vug_stream_check_names(const vug_tensor_stream *s, const char *path, vug_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (!vug_utf8_valid(s->tensor[i].name))
            return VUG_FAIL(err, VUG_ARGUMENT, "%.200s: tensor %zu: '%.*s' is not a valid name",
                            path, i, VUG_STR_ARG(s->tensor[i].name));
    vug_str *name = vug_alloc(s->n, sizeof(*name));
    if (!name)
        return VUG_FAIL_NOMEM(err, path, s->n * sizeof(*name));
    for (size_t i = 0; i < s->n; i++)
        name[i] = s->tensor[i].name;
    const vug_str *twice = vug_sort_names(name, s->n, sizeof(*name));
    vug_status st = VUG_OK;
    if (twice)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%.200s: two tensors have the name '%.*s'", path,
                      VUG_STR_ARG(*twice));
    vug_free(name);
    return st;
}

static uint64_t tensor_bytes(const vug_tensor_spec *t)
{
    uint64_t bytes = 0;
    (void)vug_tensor_size(t->dtype, t->rank, t->dim, &bytes); /* the caller has checked it */
    return bytes;
}

/* Bytes of a piece: whole rows, or whole blocks when a row does not fit or is empty. */
static size_t piece_size(const vug_tensor_spec *t)
{
    const size_t block = (size_t)vug_dtype_of(t->dtype)->bytes;
    uint64_t row;
    if (t->rank > 0 && vug_tensor_size(t->dtype, 1, &t->dim[t->rank - 1], &row) && row > 0 &&
        row <= VUG_STREAM_PIECE)
        return VUG_STREAM_PIECE / (size_t)row * (size_t)row;
    return VUG_STREAM_PIECE / block * block;
}

typedef struct {
    const vug_tensor_stream *s;
    vug_out *out;
    uint8_t *piece; /* [VUG_STREAM_PIECE] */
    uint64_t alignment;
    uint64_t done, total; /* bytes of tensors */
} stream_writer;

static vug_status write_tensor(stream_writer *w, size_t i, vug_err *err)
{
    const vug_tensor_stream *s = w->s;
    const uint64_t bytes = tensor_bytes(&s->tensor[i]);
    const size_t piece = piece_size(&s->tensor[i]);
    for (uint64_t at = 0; at < bytes && w->out->st == VUG_OK;) {
        const size_t n = bytes - at < piece ? (size_t)(bytes - at) : piece;
        VUG_TRY(s->fill(i, at, w->piece, n, s->user, err));
        vug_out_write(w->out, w->piece, n);
        at += n;
        w->done += n;
        if (w->out->st == VUG_OK && s->progress &&
            !s->progress(w->done, w->total, s->progress_user))
            return VUG_FAIL(err, VUG_CANCELLED, "%.200s: writing was cancelled", w->out->path);
    }
    const size_t padding = (size_t)(-bytes & (w->alignment - 1));
    memset(w->piece, 0, padding);
    vug_out_write(w->out, w->piece, padding);
    return VUG_OK;
}

vug_status vug_stream_write(const vug_tensor_stream *s, uint64_t alignment, vug_out *out,
                            vug_err *err)
{
    stream_writer w = {
        .s = s, .out = out, .alignment = alignment, .piece = vug_alloc(VUG_STREAM_PIECE, 1)
    };
    vug_status st = VUG_OK;
    if (!w.piece)
        st = VUG_FAIL_NOMEM(err, "the output buffer", VUG_STREAM_PIECE);
    for (size_t i = 0; i < s->n; i++)
        w.total += tensor_bytes(&s->tensor[i]);
    for (size_t i = 0; st == VUG_OK && i < s->n && out->st == VUG_OK; i++)
        st = write_tensor(&w, i, err);
    vug_free(w.piece);
    if (st == VUG_OK)
        return vug_out_commit(out, err);
    vug_out_abandon(out);
    return st;
}
