/*
 * Perplexity: runs the models over the windows of a text, a block of rows at a time.
 *
 * A row of logits over a large vocabulary is a megabyte, so at most MAX_ROWS_BYTES of them are
 * held. A step of that many tokens gives the same bits as any other (architecture, decision 9).
 * The last token of a window is never computed: no token of the window follows it.
 */
#include "checkpoint/score.h"
#include "core/os.h"

enum { DEFAULT_WINDOW = 512, MAX_ROWS_BYTES = 64 << 20, MIN_ROWS = 16 };
enum { MODEL, BASE };

typedef struct {
    const vug_perplexity_options *o;
    vug_model *model[2]; /* BASE: NULL if there is none, or it is a file */
    vug_model_info info[2];
    vug_session *session[2];
    const float *logits[2]; /* [n, n_vocab] of the last block */
    vug_scored_text text;
    vug_weights *file;    /* of base_logits */
    const uint8_t *saved; /* the rows of `file` that have not been used yet */
    vug_pool *pool;
    int64_t max_rows; /* rows in a block */
    float *decoded;   /* [max_rows, n_vocab] of saved */
    uint8_t *encoded; /* [max_rows, n_vocab] F16 for save_logits */
    int32_t *row;     /* [window] the tokens of a window, including those in front */
    vug_token_scores scores;
    int64_t k;              /* windows begun */
    vug_text_window window; /* the current window; `first` is the next token to score */
    int64_t done;
} perplexity_run;

/* ---- options -------------------------------------------------------------------------------- */

static vug_status choose_windows(perplexity_run *w, vug_err *err)
{
    const vug_perplexity_options *o = w->o;
    const vug_model_info *info = &w->info[MODEL];
    vug_scored_text *t = &w->text;
    if (o->base_logits) {
        VUG_TRY(vug_weights_open_file(o->base_logits, &w->file, err));
        VUG_TRY(vug_logits_file_layout(w->file, o->base_logits, &t->window, &t->stride, err));
    } else {
        t->window = info->context_trained < DEFAULT_WINDOW ? info->context_trained : DEFAULT_WINDOW;
        t->window = info->context < t->window ? info->context : t->window;
    }
    if (o->window)
        t->window = o->window;
    if (o->stride || !w->file)
        t->stride = o->stride ? o->stride : vug_scored_text_per_window(t);
    int64_t context = info->context;
    if (w->model[BASE] && w->info[BASE].context < context)
        context = w->info[BASE].context;
    const vug_status st = vug_scored_text_set_windows(t, context, err);
    if (!w->file)
        return st;
    if (st != VUG_OK)
        return vug_fail_within(err, st, o->base_logits);
    return vug_logits_file_rows(w->file, o->base_logits, t, &w->saved, err);
}

static vug_status check_options(const vug_perplexity_options *o, vug_err *err)
{
    if (o->base && o->base_logits)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "the base is either a model or a file of logits, not both");
    if (o->save_logits && (o->base || o->base_logits))
        return VUG_FAIL(err, VUG_ARGUMENT, "logits are saved without a base to compare with");
    return VUG_OK;
}

/* ---- a block of rows ------------------------------------------------------------------------- */

static vug_status fail_nomem(const perplexity_run *w, vug_err *err)
{
    const uint64_t n = (uint64_t)w->text.n_scored, rows = (uint64_t)(w->max_rows * w->text.n_vocab);
    return VUG_FAIL_NOMEM(err, "scoring a text",
                          n * (w->scores.kl ? 33u : 8u) + rows * (w->saved            ? 4u
                                                                  : w->o->save_logits ? 2u
                                                                                      : 0u));
}

static vug_status allocate_buffers(perplexity_run *w, vug_err *err)
{
    const size_t n = (size_t)w->text.n_scored;
    w->max_rows = MAX_ROWS_BYTES / (int64_t)sizeof(float) / w->text.n_vocab;
    w->max_rows = w->max_rows < MIN_ROWS ? MIN_ROWS : w->max_rows;
    for (int i = 0; i < 2 && w->model[i]; i++) {
        const int64_t batch = w->info[i].batch;
        w->max_rows = w->max_rows > batch ? batch : w->max_rows;
        VUG_TRY(vug_session_create(w->model[i], &w->session[i], err));
    }
    const size_t rows = (size_t)(w->max_rows * w->text.n_vocab);
    const bool base = w->model[BASE] || w->saved;
    w->row = vug_alloc((size_t)w->text.window, sizeof(*w->row));
    w->scores.nll = vug_alloc(n, sizeof(double));
    if (!w->row || !w->scores.nll)
        return fail_nomem(w, err);
    if (base) {
        w->scores.base_nll = vug_alloc(n, sizeof(double));
        w->scores.kl = vug_alloc(n, sizeof(double));
        w->scores.shift = vug_alloc(n, sizeof(double));
        w->scores.same_best = vug_alloc(n, 1);
        if (!w->scores.base_nll || !w->scores.kl || !w->scores.shift || !w->scores.same_best)
            return fail_nomem(w, err);
    }
    if (w->saved && !(w->decoded = vug_alloc(rows, sizeof(float))))
        return fail_nomem(w, err);
    if (w->o->save_logits && !(w->encoded = vug_alloc(rows, 2)))
        return fail_nomem(w, err);
    /* Logits are scored on the CPU, also those of a device without threads. */
    const int threads = w->info[MODEL].threads;
    return vug_pool_create(threads ? threads : vug_cpu_count(), &w->pool, err);
}

/* The logits of a step stay in the session's workspace until the next step. */
static bool keep_logits(const vug_step *step, void *user)
{
    const float **logits = user;
    *logits = step->logits;
    return true;
}

/* Extends every session by `n` tokens of the window, with or without logits. */
static vug_status extend_sessions(perplexity_run *w, int64_t from, int64_t n, bool logits,
                                  vug_err *err)
{
    for (int i = 0; i < 2 && w->session[i]; i++) {
        const vug_forward_options o = { .chunk = logits ? (int)w->max_rows : 0,
                                        .all_logits = logits,
                                        .on_step = logits ? keep_logits : NULL,
                                        .user = &w->logits[i] };
        VUG_TRY(vug_session_extend(w->session[i], w->row + from, (size_t)n, &o, err));
    }
    return VUG_OK;
}

/* Begins the next window: computes its tokens before the one whose logits predict the first
 * token to score. */
static vug_status begin_window(perplexity_run *w, vug_err *err)
{
    const vug_scored_text *t = &w->text;
    w->window = vug_scored_text_window(t, w->k++);
    if (w->window.first == w->window.end)
        return VUG_OK;
    if (t->n_front)
        memcpy(w->row, t->front, t->n_front * sizeof(*w->row));
    memcpy(w->row + t->n_front, t->text.id + w->window.begin,
           (size_t)(w->window.end - w->window.begin) * sizeof(*w->row));
    for (int i = 0; i < 2 && w->session[i]; i++)
        vug_session_reset(w->session[i]);
    return extend_sessions(w, 0, (int64_t)t->n_front + w->window.first - w->window.begin - 1, false,
                           err);
}

static vug_status fail_bad(const perplexity_run *w, const vug_score_job *job, vug_err *err)
{
    const long long i = w->window.first + job->bad;
    if (job->bad_is_base && w->saved)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor 'logprobs': row %lld does not hold log-probabilities",
                        w->o->base_logits, (long long)(w->done + job->bad));
    return VUG_FAIL(err, VUG_FORMAT, "%s: the logits for token %lld of the text are not finite",
                    w->info[job->bad_is_base ? BASE : MODEL].path, i);
}

static vug_status next_block(perplexity_run *w, int64_t *n_rows, vug_err *err)
{
    const vug_scored_text *t = &w->text;
    while (w->window.first == w->window.end)
        VUG_TRY(begin_window(w, err));
    const int64_t rest = w->window.end - w->window.first,
                  n = rest < w->max_rows ? rest : w->max_rows;
    VUG_TRY(extend_sessions(w, (int64_t)t->n_front + w->window.first - w->window.begin - 1, n, true,
                            err));
    vug_token_scores at = { .nll = w->scores.nll + w->done };
    if (w->scores.kl)
        at = (vug_token_scores){ at.nll, w->scores.base_nll + w->done, w->scores.kl + w->done,
                                 w->scores.shift + w->done, w->scores.same_best + w->done };
    vug_score_job job = { .n = n,
                          .n_vocab = t->n_vocab,
                          .token = t->text.id + w->window.first,
                          .model = w->logits[MODEL],
                          .base = w->logits[BASE],
                          .base_f16 = w->saved,
                          .decoded = w->decoded,
                          .encoded = w->encoded,
                          .scores = at };
    vug_score_rows(w->pool, &job);
    if (job.bad >= 0)
        return fail_bad(w, &job, err);
    if (w->saved)
        w->saved += (size_t)(n * t->n_vocab) * 2;
    w->window.first += n;
    w->done += n;
    *n_rows = n;
    if (w->o->progress && !w->o->progress((uint64_t)w->done, (uint64_t)t->n_scored, w->o->user))
        return VUG_FAIL(err, VUG_CANCELLED, "stopped after %lld of %lld tokens", (long long)w->done,
                        (long long)t->n_scored);
    return VUG_OK;
}

/* ---- the whole text -------------------------------------------------------------------------- */

static vug_status next_encoded(void *user, const uint8_t **rows, int64_t *n, vug_err *err)
{
    perplexity_run *w = user;
    *rows = w->encoded;
    return next_block(w, n, err);
}

static vug_status score_all(perplexity_run *w, vug_err *err)
{
    int64_t n;
    if (w->o->save_logits)
        return vug_logits_file_write(w->o->save_logits, &w->text, next_encoded, w, err);
    while (w->done < w->text.n_scored)
        VUG_TRY(next_block(w, &n, err));
    return VUG_OK;
}

static vug_status run_perplexity(perplexity_run *w, vug_str text, vug_perplexity *out, vug_err *err)
{
    const vug_scored_text *t = &w->text;
    vug_perplexity p = { 0 };
    VUG_TRY(check_options(w->o, err));
    VUG_TRY(vug_scored_text_read(w->model[MODEL], w->model[BASE], text, &w->text, err));
    VUG_TRY(choose_windows(w, err));
    VUG_TRY(vug_scored_text_bytes(t, vug_model_tokenizer(w->model[MODEL], NULL), text.len,
                                  &p.n_bytes, err));
    VUG_TRY(allocate_buffers(w, err));
    const double start = vug_now();
    VUG_TRY(score_all(w, err));
    p.seconds = vug_now() - start;
    p.window = (int)t->window;
    p.stride = (int)t->stride;
    p.n_tokens = (int64_t)t->text.n;
    p.n_windows = t->n_windows;
    p.n_scored = t->n_scored;
    p.model = vug_score_sum(w->scores.nll, t->n_scored, p.n_bytes);
    if (w->scores.kl) {
        p.base = vug_score_sum(w->scores.base_nll, t->n_scored, p.n_bytes);
        vug_score_compare(&w->scores, t->n_scored, &p);
    }
    *out = p;
    return VUG_OK;
}

vug_status vug_model_perplexity(vug_model *model, const char *text, size_t len,
                                const vug_perplexity_options *options, vug_perplexity *out,
                                vug_err *err)
{
    const vug_perplexity_options none = { 0 };
    perplexity_run w = { .o = options ? options : &none };
    w.text.name = w.o->name ? w.o->name : "the text";
    w.model[MODEL] = model;
    w.model[BASE] = w.o->base;
    for (int i = 0; i < 2 && w.model[i]; i++)
        w.info[i] = vug_model_describe(w.model[i]);
    const vug_status st = run_perplexity(&w, (vug_str){ text, len }, out, err);
    vug_pool_destroy(w.pool);
    for (int i = 0; i < 2; i++)
        vug_session_destroy(w.session[i]);
    vug_weights_close(w.file);
    vug_scored_text_release(&w.text);
    vug_free(w.row);
    vug_free(w.decoded);
    vug_free(w.encoded);
    vug_free(w.scores.nll);
    vug_free(w.scores.base_nll);
    vug_free(w.scores.kl);
    vug_free(w.scores.shift);
    vug_free(w.scores.same_best);
    return st;
}
