/*
 * Stores a base's log-probabilities in a safetensors file, for comparisons without it. The
 * layout is in vug/checkpoint.h. Files are not trusted: only the rows are used; everything
 * else must equal what is already known.
 */
#include "checkpoint/score.h"

static const char *const hint = "is it a file of saved logits?";

static vug_status find_tensor(const vug_weights *file, const char *path, const char *name,
                              vug_dtype dtype, int rank, const vug_tensor **out, vug_err *err)
{
    const vug_tensor *t = vug_weights_find(file, vug_str_of(name));
    if (!t)
        return VUG_FAIL(err, VUG_FORMAT, "%s: has no tensor '%s'; %s", path, name, hint);
    if (t->dtype != dtype || t->rank != rank)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%s' is %s of rank %d, expected %s of rank %d; %s", path, name,
                        vug_dtype_of(t->dtype)->name, t->rank, vug_dtype_of(dtype)->name, rank,
                        hint);
    *out = t;
    return VUG_OK;
}

static int32_t read_int(const vug_tensor *t, size_t i)
{
    int32_t v;
    memcpy(&v, t->data + i * sizeof(v), sizeof(v));
    return v;
}

static vug_status find_layout(const vug_weights *file, const char *path, const vug_tensor **out,
                              vug_err *err)
{
    VUG_TRY(find_tensor(file, path, "layout", VUG_DTYPE_I32, 1, out, err));
    if ((*out)->dim[0] != 3)
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor 'layout' has %lld numbers, expected 3; %s",
                        path, (long long)(*out)->dim[0], hint);
    return VUG_OK;
}

vug_status vug_logits_file_layout(const vug_weights *file, const char *path, int64_t *window,
                                  int64_t *stride, vug_err *err)
{
    const vug_tensor *layout;
    VUG_TRY(find_layout(file, path, &layout, err));
    *window = read_int(layout, 0);
    *stride = read_int(layout, 1);
    return VUG_OK;
}

static vug_status check_tokens(const vug_weights *file, const char *path,
                               const vug_scored_text *text, vug_err *err)
{
    const vug_tensor *t;
    VUG_TRY(find_tensor(file, path, "tokens", VUG_DTYPE_I32, 1, &t, err));
    if (t->dim[0] != (int64_t)(text->n_front + text->text.n))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: made from a text of %lld tokens, this one has %lld: the texts or the "
                        "tokenizers differ",
                        path, (long long)t->dim[0] - (long long)text->n_front,
                        (long long)text->text.n);
    for (size_t i = 0; i < text->n_front + text->text.n; i++) {
        const int32_t here = i < text->n_front ? text->front[i] : text->text.id[i - text->n_front];
        if (read_int(t, i) != here)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: made from another text or with another tokenizer: number %zu of "
                            "'tokens' is %d there and %d here",
                            path, i, read_int(t, i), here);
    }
    return VUG_OK;
}

vug_status vug_logits_file_rows(const vug_weights *file, const char *path,
                                const vug_scored_text *text, const uint8_t **rows, vug_err *err)
{
    const vug_tensor *layout, *t;
    VUG_TRY(find_layout(file, path, &layout, err));
    if (read_int(layout, 0) != text->window || read_int(layout, 1) != text->stride)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: made with windows of %d tokens, one every %d, not %lld and %lld; omit "
                        "window and stride to use those of the file",
                        path, read_int(layout, 0), read_int(layout, 1), (long long)text->window,
                        (long long)text->stride);
    if (read_int(layout, 2) != (int32_t)text->n_front)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: made with %d tokens in front of each window, here there are %zu: the "
                        "tokenizers differ",
                        path, read_int(layout, 2), text->n_front);
    VUG_TRY(check_tokens(file, path, text, err));
    VUG_TRY(find_tensor(file, path, "logprobs", VUG_DTYPE_F16, 2, &t, err));
    if (t->dim[0] != text->n_scored || t->dim[1] != text->n_vocab)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor 'logprobs' is [%lld,%lld], expected [%lld,%lld] for the scored "
                        "tokens and the ids of the model",
                        path, (long long)t->dim[0], (long long)t->dim[1], (long long)text->n_scored,
                        (long long)text->n_vocab);
    *rows = t->data;
    return VUG_OK;
}

/* ---- writing --------------------------------------------------------------------------- */

enum { TOKENS, LAYOUT, LOGPROBS, N_TENSORS };

typedef struct {
    const vug_scored_text *text;
    int32_t *tokens; /* [n_front + n] */
    int32_t layout[3];
    vug_logits_file_fn *next;
    void *user;
    const uint8_t *rows; /* the rest of the last rows */
    size_t left;         /* bytes */
} logits_writer;

static vug_status fill_rows(logits_writer *w, uint8_t *bytes, size_t n, vug_err *err)
{
    while (n > 0) {
        if (w->left == 0) {
            int64_t rows;
            VUG_TRY(w->next(w->user, &w->rows, &rows, err));
            w->left = (size_t)(rows * w->text->n_vocab) * 2;
        }
        const size_t take = n < w->left ? n : w->left;
        memcpy(bytes, w->rows, take);
        w->rows += take;
        w->left -= take;
        bytes += take;
        n -= take;
    }
    return VUG_OK;
}

static vug_status fill_tensor(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                              vug_err *err)
{
    logits_writer *w = user;
    if (i == LOGPROBS)
        return fill_rows(w, bytes, n, err);
    const int32_t *from = i == TOKENS ? w->tokens : w->layout;
    memcpy(bytes, (const uint8_t *)from + at, n);
    return VUG_OK;
}

vug_status vug_logits_file_write(const char *path, const vug_scored_text *text,
                                 vug_logits_file_fn *next, void *user, vug_err *err)
{
    const size_t n = text->n_front + text->text.n;
    logits_writer w = { .text = text,
                        .layout = { (int32_t)text->window, (int32_t)text->stride,
                                    (int32_t)text->n_front },
                        .next = next,
                        .user = user };
    const vug_tensor_spec spec[N_TENSORS] = {
        [TOKENS] = { vug_str_of("tokens"), VUG_DTYPE_I32, 1, { (int64_t)n } },
        [LAYOUT] = { vug_str_of("layout"), VUG_DTYPE_I32, 1, { 3 } },
        [LOGPROBS] = { vug_str_of("logprobs"),
                       VUG_DTYPE_F16,
                       2,
                       { text->n_scored, text->n_vocab } },
    };
    w.tokens = vug_alloc(n, sizeof(*w.tokens));
    if (!w.tokens)
        return VUG_FAIL_NOMEM(err, path, n * sizeof(*w.tokens));
    if (text->n_front)
        memcpy(w.tokens, text->front, text->n_front * sizeof(*w.tokens));
    memcpy(w.tokens + text->n_front, text->text.id, text->text.n * sizeof(*w.tokens));
    const vug_tensor_stream tensors = {
        .tensor = spec, .n = N_TENSORS, .fill = fill_tensor, .user = &w
    };
    const vug_status st = vug_safetensors_write(path, &tensors, err);
    vug_free(w.tokens);
    return st;
}
