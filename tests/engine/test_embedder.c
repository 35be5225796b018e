/* Embeddings against the hidden states that a session reports, row by row. */
#include "test.h"

#include <math.h>

#include "core/cancel.h"
#include "engine/session.h"
#include "engine_help.h"
#include "tiny_model.h"
#include "vug/embed.h"

enum { V = TINY_VOCAB, TEXTS = 9, LONGEST = 150 };

static const size_t lengths[TEXTS] = { 1, 7, 3, 150, 20, 32, 2, 33, 5 };

typedef struct {
    vug_model *model;
    size_t width, n_layers;
    int32_t id[TEXTS][LONGEST];
    vug_tokens text[TEXTS];
    float *hidden[TEXTS]; /* [length, width] the output of the final norm */
} embed_fixture;

typedef struct {
    const embed_fixture *f;
    float *to;
} row_keeper;

static bool keep_rows(const vug_step *step, void *user)
{
    const row_keeper *k = user;
    const size_t width = k->f->width;
    memcpy(k->to + (size_t)step->first * width, step->hidden[k->f->n_layers],
           (size_t)step->n * width * sizeof(float));
    return true;
}

static int set_up(void **state)
{
    embed_fixture *f = vug_alloc_zero(1, sizeof(*f));
    vug_err err = { 0 };
    assert_non_null(f);
    const vug_model_options options = { .context = LONGEST, .batch = 64, .threads = 2 };
    f->model = help_model(TINY_SOURCE, options);
    f->width = (size_t)vug_model_describe(f->model).d_model;
    f->n_layers = (size_t)vug_model_describe(f->model).n_layers;
    vug_session *s = help_session(f->model);
    for (int i = 0; i < TEXTS; i++) {
        help_tokens((uint64_t)i, f->id[i], lengths[i], V);
        f->text[i] = (vug_tokens){ f->id[i], lengths[i] };
        f->hidden[i] = vug_alloc(lengths[i] * f->width, sizeof(float));
        row_keeper keeper = { f, f->hidden[i] };
        const vug_forward_options how = { .hidden = true, .on_step = keep_rows, .user = &keeper };
        help_ok(vug_session_forward(s, f->id[i], lengths[i], &how, &err), &err);
    }
    vug_session_destroy(s);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    embed_fixture *f = *state;
    for (int i = 0; i < TEXTS; i++)
        vug_free(f->hidden[i]);
    vug_model_close(f->model);
    vug_free(f);
    return 0;
}

/* The definition: one element after the other. */
static void expect(const embed_fixture *f, int i, vug_pooling pooling, bool raw, float *out)
{
    const size_t n = lengths[i], w = f->width;
    double squares = 0;
    for (size_t k = 0; k < w; k++) {
        double sum = 0;
        for (size_t t = 0; t < n; t++)
            sum += (double)f->hidden[i][t * w + k];
        out[k] = pooling == VUG_POOLING_MEAN  ? (float)(sum / (double)n)
                 : pooling == VUG_POOLING_CLS ? f->hidden[i][k]
                                              : f->hidden[i][(n - 1) * w + k];
        squares += (double)out[k] * (double)out[k];
    }
    for (size_t k = 0; k < w && !raw; k++)
        out[k] = (float)((double)out[k] / sqrt(squares));
}

static vug_embedder *make_embedder(const embed_fixture *f, vug_embedder_options options)
{
    vug_embedder *e;
    vug_err err = { 0 };
    help_ok(vug_embedder_create(f->model, &options, &e, &err), &err);
    return e;
}

static void check_vectors(const embed_fixture *f, vug_embedder_options options)
{
    vug_embedder *e = make_embedder(f, options);
    float *out = vug_alloc(TEXTS * f->width, sizeof(float));
    float *expected = vug_alloc(f->width, sizeof(float));
    vug_err err = { 0 };
    help_ok(vug_embed(e, f->text, TEXTS, NULL, out, &err), &err);
    help_ok(vug_embed(e, f->text, TEXTS, NULL, out, &err), &err); /* again, after others */
    for (int i = 0; i < TEXTS; i++) {
        expect(f, i, options.pooling, options.raw, expected);
        help_same_bits(out + (size_t)i * f->width, expected, f->width);
    }
    vug_free(out);
    vug_free(expected);
    vug_embedder_destroy(e);
}

/* Whatever the pooling, and however texts and their chunks share steps. */
static void test_vectors_are_pooled_hidden_states(void **state)
{
    static const int steps[] = { 0, 1, 32, 150 };
    for (int pooling = 0; pooling < VUG_POOLING_COUNT; pooling++) {
        for (int s = 0; s < 4; s++)
            check_vectors(*state, (vug_embedder_options){ .pooling = (vug_pooling)pooling,
                                                          .raw = s == 2,
                                                          .step = steps[s],
                                                          .texts = s });
    }
}

static void test_vectors_have_length_1(void **state)
{
    const embed_fixture *f = *state;
    vug_embedder *e = make_embedder(f, (vug_embedder_options){ 0 });
    float *out = vug_alloc(TEXTS * f->width, sizeof(float));
    vug_err err = { 0 };
    help_ok(vug_embed(e, f->text, TEXTS, NULL, out, &err), &err);
    for (size_t i = 0; i < TEXTS; i++) {
        double squares = 0;
        for (size_t k = 0; k < f->width; k++)
            squares += (double)out[i * f->width + k] * (double)out[i * f->width + k];
        /* Each element is rounded once, by half a unit of F32. */
        assert_true(fabs(sqrt(squares) - 1) <= ldexp(1, -24));
    }
    vug_free(out);
    vug_embedder_destroy(e);
}

static void test_texts_get_special_tokens(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    tiny_model(&dir, V);
    vug_model *m = help_model(dir.path, (vug_model_options){ .context = 64, .threads = 1 });
    const size_t width = (size_t)vug_model_describe(m).d_model;
    static const char *const text[] = { "hello", "hello there" }, *const wrong[] = { "a", "" };
    float *out = vug_alloc(2 * width, sizeof(float)), *tokens = vug_alloc(width, sizeof(float));
    vug_embedder *e;
    vug_tokens ids;
    vug_err err = { 0 };
    help_ok(vug_embedder_create(m, NULL, &e, &err), &err);
    help_ok(vug_embed_texts(e, text, 2, NULL, out, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        help_ok(vug_tokenizer_encode(vug_model_tokenizer(m, NULL), text[i], strlen(text[i]),
                                     VUG_ENCODE_ADD_SPECIAL, &ids, &err),
                &err);
        assert_int_equal(ids.id[0], 2); /* <bos> */
        help_ok(vug_embed(e, &ids, 1, NULL, tokens, &err), &err);
        help_same_bits(out + i * width, tokens, width);
        vug_tokens_release(&ids);
    }
    help_refused(vug_embed_texts(e, wrong, 2, NULL, out, &err), &err, VUG_ARGUMENT, NULL,
                 "text 1 is empty");
    vug_free(out);
    vug_free(tokens);
    vug_embedder_destroy(e);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_bad_input_is_refused(void **state)
{
    embed_fixture *f = *state;
    int32_t wrong[] = { 1, V }, many[LONGEST + 1] = { 0 };
    const struct {
        vug_tokens text;
        vug_status status;
        const char *message;
    } rows[] = {
        { { wrong, 0 }, VUG_ARGUMENT, "text 1 has no tokens" },
        { { wrong, 2 }, VUG_ARGUMENT, "token 1 is 384, ids are 0 to 383" },
        { { many, LONGEST + 1 },
          VUG_LIMIT,
          "the prompt has 151 tokens, the context holds 150; open the model with a larger context "
          "(it was trained for 4096)" },
    };
    const vug_embedder_options bad[] = { { .pooling = VUG_POOLING_COUNT },
                                         { .step = -1 },
                                         { .texts = 1025 } };
    static const char *const messages[] = { "embedder: pooling 3 is not known",
                                            "embedder: step is -1, expected 0 to 1048576",
                                            "embedder: texts is 1025, expected 0 to 1024" };
    float *out = vug_alloc(2 * f->width, sizeof(float));
    vug_embedder *e = make_embedder(f, (vug_embedder_options){ 0 }), *none;
    vug_cancel_token cancel = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < 3; i++) {
        const vug_tokens text[] = { f->text[0], rows[i].text };
        help_refused(vug_embed(e, text, 2, NULL, out, &err), &err, rows[i].status, NULL,
                     rows[i].message);
        help_refused(vug_embedder_create(f->model, &bad[i], &none, &err), &err, VUG_ARGUMENT, NULL,
                     messages[i]);
    }
    vug_cancel_token_trigger(&cancel);
    help_refused(vug_embed(e, f->text, 2, &cancel, out, &err), &err, VUG_CANCELLED, NULL,
                 "cancelled after 0 of 2 texts");
    help_ok(vug_embed(e, f->text, 0, NULL, out, &err), &err);
    vug_free(out);
    vug_embedder_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vectors_are_pooled_hidden_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vectors_have_length_1, set_up, tear_down),
        cmocka_unit_test(test_texts_get_special_tokens),
        cmocka_unit_test_setup_teardown(test_bad_input_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
