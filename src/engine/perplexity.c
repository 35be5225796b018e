/*
 * Perplexity: the walk over a text in windows, a block of rows at a time.
 *
 * A row of logits over a large vocabulary is a megabyte, so at most MAX_ROWS_BYTES of
 * them are held; a step of that many tokens has the same bits as any other
 * (architecture, decision 9). The last token of a window is never computed: nothing
 * that follows it is scored there.
 */
#include "engine/score.h"
#include "engine/session.h"

#include "core/text.h"
#include "text/text.h"

enum { DEFAULT_WINDOW = 512, MAX_ROWS_BYTES = 64 << 20, LEAST_ROWS = 16 };
enum { MODEL, BASE };

/* Tokens begin .. end of the text, scored from `first` on. */
typedef struct {
    int64_t begin, first, end;
} window;

typedef struct {
    const vug_perplexity_options *o;
    const char *name;
    vug_model *model[2]; /* BASE: NULL when there is none, or it is a file */
    vug_session *session[2];
    const float *logits[2]; /* [n, n_vocab] of the block that was computed last */
    vug_tokens text;
    vug_logits_of of;
    int64_t n_windows;
    vug_weights *file;    /* of base_logits */
    const uint8_t *saved; /* its rows that have not been used */
    vug_pool *pool;
    int64_t most;     /* rows in a block */
    float *decoded;   /* [most, n_vocab] of saved */
    uint8_t *encoded; /* [most, n_vocab] F16 for save_logits */
    int32_t *row;     /* [window] the tokens of a window, those in front included */
    vug_marks marks;
    int64_t k;   /* windows begun */
    window here; /* the last of them; `first` goes on to what is not scored yet */
    int64_t done;
} walk;

/* ---- windows ------------------------------------------------------------------------------ */

/* Tokens of the text in a window. */
static int64_t room_of(const vug_logits_of *of)
{
    return of->window - (int64_t)of->n_front;
}

static int64_t count_windows(const vug_logits_of *of)
{
    const int64_t rest = (int64_t)of->n - room_of(of);
    return rest <= 0 ? 1 : 1 + (rest + of->stride - 1) / of->stride;
}

/* With nothing in front, the first token of a window has nothing to go by. */
static window window_at(const vug_logits_of *of, int64_t k)
{
    const int64_t n = (int64_t)of->n, room = room_of(of);
    const int64_t begin = k * of->stride;
    const int64_t seen = k ? begin - of->stride + room : 0;
    const int64_t least = begin + (of->n_front == 0);
    return (window){ .begin = begin,
                     .first = seen > least ? seen : least,
                     .end = n < begin + room ? n : begin + room };
}

static bool is_scored(const vug_logits_of *of, int64_t i)
{
    return of->n_front > 0 || (i > 0 && (of->stride < room_of(of) || i % of->stride != 0));
}

/* The bytes of the text that the scored tokens stand for; those of a character that is
 * several tokens count for the last. */
static vug_status count_bytes(const walk *w, size_t len, uint64_t *out, vug_err *err)
{
    vug_decoder *decoder;
    vug_status st = VUG_OK;
    *out = len;
    if (w->of.n_front > 0)
        return VUG_OK;
    VUG_TRY(vug_decoder_create(vug_model_tokenizer(w->model[MODEL], NULL), false, &decoder, err));
    for (size_t i = 0; i < w->of.n && st == VUG_OK; i++) {
        const char *piece;
        size_t n;
        st = vug_decoder_push(decoder, w->of.id[i], &piece, &n, err);
        if (st == VUG_OK && !is_scored(&w->of, (int64_t)i))
            *out -= n < *out ? n : *out;
    }
    vug_decoder_destroy(decoder);
    return st;
}

/* ---- the text ------------------------------------------------------------------------------ */

static vug_status check_utf8(const char *name, const char *text, size_t len, vug_err *err)
{
    for (size_t at = 0; at < len;) {
        uint32_t c;
        const size_t n = vug_utf8_next(text + at, len - at, &c);
        if (n == 0)
            return VUG_FAIL(err, VUG_FORMAT, "%s: not UTF-8: byte 0x%02x at offset %zu", name,
                            (unsigned char)text[at], at);
        at += n;
    }
    return VUG_OK;
}

static vug_status need_tokenizer(const vug_model *m, const vug_tokenizer **out, vug_err *err)
{
    *out = vug_model_tokenizer(m, err);
    return *out ? VUG_OK : VUG_UNSUPPORTED;
}

static vug_status check_ids(const vug_model *m, const int32_t *id, size_t n, vug_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= m->info.n_vocab)
            return VUG_FAIL(err, VUG_FORMAT, "%s: the tokenizer gives id %d, ids are 0 to %lld",
                            m->path, id[i], (long long)m->info.n_vocab - 1);
    return VUG_OK;
}

static vug_status check_base(const walk *w, const char *text, size_t len, vug_err *err)
{
    const vug_model *m = w->model[MODEL], *b = w->model[BASE];
    const vug_logits_of *of = &w->of;
    const vug_tokenizer *tokenizer;
    vug_tokens id = { 0 };
    size_t n_front, i = 0;
    VUG_TRY(need_tokenizer(b, &tokenizer, err));
    if (m->info.n_vocab != b->info.n_vocab)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s has %lld ids, %s has %lld; only the same tokens can be compared",
                        m->path, (long long)m->info.n_vocab, b->path, (long long)b->info.n_vocab);
    const int32_t *front = vug_tokenizer_prefix(tokenizer, &n_front);
    if (n_front != of->n_front ||
        (n_front && memcmp(front, of->front, n_front * sizeof(*front)) != 0))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s and %s have tokenizers that put other tokens in front of a text; only "
                        "the same tokens can be compared",
                        m->path, b->path);
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, len, VUG_ENCODE_PARSE_SPECIAL, &id, err));
    while (i < id.n && i < of->n && id.id[i] == of->id[i])
        i++;
    vug_status st = VUG_OK;
    if (i < id.n || i < of->n)
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s and %s have different tokenizers: %s is %zu and %zu tokens, the same "
                      "up to number %zu; only the same tokens can be compared",
                      m->path, b->path, w->name, of->n, id.n, i);
    vug_tokens_release(&id);
    return st;
}

static vug_status read_text(walk *w, const char *text, size_t len, vug_err *err)
{
    const vug_model *m = w->model[MODEL];
    const vug_tokenizer *tokenizer;
    VUG_TRY(need_tokenizer(m, &tokenizer, err));
    VUG_TRY(check_utf8(w->name, text, len, err));
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, len, VUG_ENCODE_PARSE_SPECIAL, &w->text, err));
    w->of.front = vug_tokenizer_prefix(tokenizer, &w->of.n_front);
    w->of.id = w->text.id;
    w->of.n = w->text.n;
    w->of.n_vocab = m->info.n_vocab;
    VUG_TRY(check_ids(m, w->of.front, w->of.n_front, err));
    VUG_TRY(check_ids(m, w->of.id, w->of.n, err));
    return w->model[BASE] ? check_base(w, text, len, err) : VUG_OK;
}

/* ---- options -------------------------------------------------------------------------------- */

static vug_status check_windows(walk *w, vug_err *err)
{
    vug_logits_of *of = &w->of;
    const vug_model *b = w->model[BASE];
    int64_t most = w->model[MODEL]->info.context;
    if (b && b->info.context < most)
        most = b->info.context;
    const int64_t least = of->n_front ? (int64_t)of->n_front + 1 : 2;
    if (of->window < least || of->window > most)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "windows of %lld tokens, expected %lld to %lld, which the context holds",
                        (long long)of->window, (long long)least, (long long)most);
    if (of->stride < 1 || of->stride > room_of(of))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "a window every %lld tokens, expected 1 to %lld: that many tokens of the "
                        "text are in a window of %lld",
                        (long long)of->stride, (long long)room_of(of), (long long)of->window);
    w->n_windows = count_windows(of);
    for (int64_t k = 0; k < w->n_windows; k++) {
        const window x = window_at(of, k);
        of->n_scored += x.end - x.first;
    }
    if (of->n_scored < 2)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: %zu tokens, of which %lld can be scored; at least 2 are needed",
                        w->name, of->n, (long long)of->n_scored);
    return VUG_OK;
}

static vug_status pick_windows(walk *w, vug_err *err)
{
    const vug_perplexity_options *o = w->o;
    const vug_model_info *info = &w->model[MODEL]->info;
    vug_logits_of *of = &w->of;
    if (o->base_logits) {
        VUG_TRY(vug_weights_open_file(o->base_logits, &w->file, err));
        VUG_TRY(vug_logits_layout(w->file, o->base_logits, &of->window, &of->stride, err));
    } else {
        of->window =
                info->context_trained < DEFAULT_WINDOW ? info->context_trained : DEFAULT_WINDOW;
        of->window = info->context < of->window ? info->context : of->window;
    }
    if (o->window)
        of->window = o->window;
    if (o->stride || !w->file)
        of->stride = o->stride ? o->stride : room_of(of);
    const vug_status st = check_windows(w, err);
    if (!w->file)
        return st;
    if (st != VUG_OK)
        return vug_fail_within(err, st, o->base_logits);
    return vug_logits_rows(w->file, o->base_logits, of, &w->saved, err);
}

static vug_status check_options(const vug_perplexity_options *o, vug_err *err)
{
    if (o->base && o->base_logits)
        return VUG_FAIL(err, VUG_ARGUMENT, "a base is a model or a file of logits, not both");
    if (o->save_logits && (o->base || o->base_logits))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "logits are saved of a model alone, without one to compare it with");
    return VUG_OK;
}

/* ---- a block of rows --------------------------------------------------------------------------- */

static vug_status nomem(const walk *w, vug_err *err)
{
    const uint64_t n = (uint64_t)w->of.n_scored, rows = (uint64_t)(w->most * w->of.n_vocab);
    return VUG_FAIL_NOMEM(err, "scoring a text",
                          n * (w->marks.kl ? 33u : 8u) + rows * (w->saved            ? 4u
                                                                 : w->o->save_logits ? 2u
                                                                                     : 0u));
}

static vug_status prepare(walk *w, vug_err *err)
{
    const size_t n = (size_t)w->of.n_scored;
    w->most = MAX_ROWS_BYTES / (int64_t)sizeof(float) / w->of.n_vocab;
    w->most = w->most < LEAST_ROWS ? LEAST_ROWS : w->most;
    for (int i = 0; i < 2 && w->model[i]; i++) {
        const int64_t batch = w->model[i]->info.batch;
        w->most = w->most > batch ? batch : w->most;
        VUG_TRY(vug_session_create(w->model[i], &w->session[i], err));
    }
    const size_t rows = (size_t)(w->most * w->of.n_vocab);
    const bool base = w->model[BASE] || w->saved;
    w->row = vug_alloc((size_t)w->of.window, sizeof(*w->row));
    w->marks.nll = vug_alloc(n, sizeof(double));
    if (!w->row || !w->marks.nll)
        return nomem(w, err);
    if (base) {
        w->marks.base_nll = vug_alloc(n, sizeof(double));
        w->marks.kl = vug_alloc(n, sizeof(double));
        w->marks.shift = vug_alloc(n, sizeof(double));
        w->marks.same_best = vug_alloc(n, 1);
        if (!w->marks.base_nll || !w->marks.kl || !w->marks.shift || !w->marks.same_best)
            return nomem(w, err);
    }
    if (w->saved && !(w->decoded = vug_alloc(rows, sizeof(float))))
        return nomem(w, err);
    if (w->o->save_logits && !(w->encoded = vug_alloc(rows, 2)))
        return nomem(w, err);
    return vug_pool_create(w->model[MODEL]->info.threads, &w->pool, err);
}

/* The workspace of a session keeps a step's logits until the next one. */
static bool keep(const vug_step *step, void *user)
{
    const float **logits = user;
    *logits = step->logits;
    return true;
}

/* Extends every session by tokens from, from + 1, .. of the window, with logits or
 * without. */
static vug_status feed(walk *w, int64_t from, int64_t n, bool logits, vug_err *err)
{
    for (int i = 0; i < 2 && w->session[i]; i++) {
        const vug_forward_options o = { .chunk = logits ? (int)w->most : 0,
                                        .all_logits = logits,
                                        .on_step = logits ? keep : NULL,
                                        .user = &w->logits[i] };
        VUG_TRY(vug_session_extend(w->session[i], w->row + from, (size_t)n, &o, err));
    }
    return VUG_OK;
}

/* The next window that has something to score, up to the token whose row says
 * something about the first of it. */
static vug_status begin_window(walk *w, vug_err *err)
{
    const vug_logits_of *of = &w->of;
    w->here = window_at(of, w->k++);
    if (w->here.first == w->here.end)
        return VUG_OK;
    if (of->n_front)
        memcpy(w->row, of->front, of->n_front * sizeof(*w->row));
    memcpy(w->row + of->n_front, of->id + w->here.begin,
           (size_t)(w->here.end - w->here.begin) * sizeof(*w->row));
    for (int i = 0; i < 2 && w->session[i]; i++)
        vug_session_reset(w->session[i]);
    return feed(w, 0, (int64_t)of->n_front + w->here.first - w->here.begin - 1, false, err);
}

static vug_status fail_bad(const walk *w, const vug_score_job *job, vug_err *err)
{
    const long long i = w->here.first + job->bad;
    if (job->bad_is_base && w->saved)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor 'logprobs': row %lld holds no log-probabilities",
                        w->o->base_logits, (long long)(w->done + job->bad));
    return VUG_FAIL(err, VUG_FORMAT,
                    "%s: the logits for token %lld of the text are no finite numbers",
                    w->model[job->bad_is_base ? BASE : MODEL]->path, i);
}

static vug_status next_block(walk *w, int64_t *n_rows, vug_err *err)
{
    const vug_logits_of *of = &w->of;
    while (w->here.first == w->here.end)
        VUG_TRY(begin_window(w, err));
    const int64_t rest = w->here.end - w->here.first, n = rest < w->most ? rest : w->most;
    VUG_TRY(feed(w, (int64_t)of->n_front + w->here.first - w->here.begin - 1, n, true, err));
    vug_marks at = { .nll = w->marks.nll + w->done };
    if (w->marks.kl)
        at = (vug_marks){ at.nll, w->marks.base_nll + w->done, w->marks.kl + w->done,
                          w->marks.shift + w->done, w->marks.same_best + w->done };
    vug_score_job job = { .n = n,
                          .n_vocab = of->n_vocab,
                          .token = of->id + w->here.first,
                          .model = w->logits[MODEL],
                          .base = w->logits[BASE],
                          .base_f16 = w->saved,
                          .decoded = w->decoded,
                          .encoded = w->encoded,
                          .marks = at };
    vug_score_rows(w->pool, &job);
    if (job.bad >= 0)
        return fail_bad(w, &job, err);
    if (w->saved)
        w->saved += (size_t)(n * of->n_vocab) * 2;
    w->here.first += n;
    w->done += n;
    *n_rows = n;
    if (w->o->progress && !w->o->progress((uint64_t)w->done, (uint64_t)of->n_scored, w->o->user))
        return VUG_FAIL(err, VUG_CANCELLED, "stopped after %lld of %lld tokens", (long long)w->done,
                        (long long)of->n_scored);
    return VUG_OK;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static vug_status next_encoded(void *user, const uint8_t **rows, int64_t *n, vug_err *err)
{
    walk *w = user;
    *rows = w->encoded;
    return next_block(w, n, err);
}

static vug_status go(walk *w, vug_err *err)
{
    int64_t n;
    if (w->o->save_logits)
        return vug_logits_write(w->o->save_logits, &w->of, next_encoded, w, err);
    while (w->done < w->of.n_scored)
        VUG_TRY(next_block(w, &n, err));
    return VUG_OK;
}

static vug_status measure(walk *w, const char *text, size_t len, vug_perplexity *out, vug_err *err)
{
    const vug_logits_of *of = &w->of;
    vug_perplexity p = { 0 };
    VUG_TRY(check_options(w->o, err));
    VUG_TRY(read_text(w, text, len, err));
    VUG_TRY(pick_windows(w, err));
    VUG_TRY(count_bytes(w, len, &p.n_bytes, err));
    VUG_TRY(prepare(w, err));
    const double start = vug_now();
    VUG_TRY(go(w, err));
    p.seconds = vug_now() - start;
    p.window = (int)of->window;
    p.stride = (int)of->stride;
    p.n_tokens = (int64_t)of->n;
    p.n_windows = w->n_windows;
    p.n_scored = of->n_scored;
    p.model = vug_score_sum(w->marks.nll, of->n_scored, p.n_bytes);
    if (w->marks.kl) {
        p.base = vug_score_sum(w->marks.base_nll, of->n_scored, p.n_bytes);
        vug_score_compare(&w->marks, of->n_scored, &p);
    }
    *out = p;
    return VUG_OK;
}

vug_status vug_model_perplexity(vug_model *model, const char *text, size_t len,
                                const vug_perplexity_options *options, vug_perplexity *out,
                                vug_err *err)
{
    const vug_perplexity_options none = { 0 };
    walk w = { .o = options ? options : &none };
    w.name = w.o->name ? w.o->name : "the text";
    w.model[MODEL] = model;
    w.model[BASE] = w.o->base;
    const vug_status st = measure(&w, text, len, out, err);
    vug_pool_destroy(w.pool);
    for (int i = 0; i < 2; i++)
        vug_session_destroy(w.session[i]);
    vug_weights_close(w.file);
    vug_tokens_release(&w.text);
    vug_free(w.row);
    vug_free(w.decoded);
    vug_free(w.encoded);
    vug_free(w.marks.nll);
    vug_free(w.marks.base_nll);
    vug_free(w.marks.kl);
    vug_free(w.marks.shift);
    vug_free(w.marks.same_best);
    return st;
}
