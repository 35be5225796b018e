/*
 * Saved logits as a base when the file is truncated, damaged, or made for something else.
 * Good files are tested in test_perplexity.c.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"

enum { V = TINY_VOCAB, BOS = 2 };

typedef struct {
    scratch dir; /* of the model, and of the files */
    vug_model *model;
} saved_logits_fixture;

static const char brief[] = "hello!";

static vug_status compare_brief(vug_model *m, const char *path, vug_perplexity *p, vug_err *err)
{
    const vug_perplexity_options o = { .base_logits = path };
    *err = (vug_err){ 0 };
    return vug_model_perplexity(m, brief, sizeof(brief) - 1, &o, p, err);
}

/* The bytes of a good file for `brief`. */
static vug_text make_brief(const saved_logits_fixture *f, const char *path)
{
    const vug_perplexity_options o = { .window = 16, .save_logits = path };
    vug_perplexity p;
    vug_err err = { 0 };
    vug_text bytes;
    help_ok(vug_model_perplexity(f->model, brief, sizeof(brief) - 1, &o, &p, &err), &err);
    help_ok(vug_read_file(path, 1 << 20, &bytes, &err), &err);
    return bytes;
}

static void test_truncated_files_are_refused(void **state)
{
    const saved_logits_fixture *f = *state;
    const scratch_path path = scratch_at(&f->dir, "cut.safetensors");
    vug_text bytes = make_brief(f, path.path);
    vug_perplexity p;
    vug_err err;
    help_ok(compare_brief(f->model, path.path, &p, &err), &err);
    for (size_t n = bytes.len; n-- > 0;) {
        scratch_write(&f->dir, "cut.safetensors", bytes.ptr, n);
        assert_int_equal(compare_brief(f->model, path.path, &p, &err), VUG_FORMAT);
        assert_non_null(strstr(err.msg, "cut.safetensors: "));
    }
    vug_text_release(&bytes);
}

static void flip(vug_text *bytes, size_t at, int bit)
{
    bytes->ptr[at] = (char)((unsigned char)bytes->ptr[at] ^ 1u << bit);
}

/* Flips every bit of header, tokens and layout, and one in every 23rd byte of the rows. A file that
 * is still accepted only changed the base, which is still a distribution. */
static void test_flipped_bits_are_handled(void **state)
{
    const saved_logits_fixture *f = *state;
    const scratch_path path = scratch_at(&f->dir, "flip.safetensors");
    vug_text bytes = make_brief(f, path.path);
    vug_perplexity p, good;
    vug_err err;
    help_ok(compare_brief(f->model, path.path, &good, &err), &err);
    const size_t rows = bytes.len - (size_t)good.n_scored * V * 2;
    int refused_rows = 0, taken = 0;
    const char *metadata = strstr(bytes.ptr + 8, "\"format\":\"pt\"");
    assert_non_null(metadata);
    const size_t format = (size_t)(metadata - bytes.ptr);
    for (size_t at = 0; at < bytes.len; at += at < rows ? 1 : 23) {
        for (int bit = 0; bit < 8; bit++) {
            flip(&bytes, at, bit);
            scratch_write(&f->dir, "flip.safetensors", bytes.ptr, bytes.len);
            const vug_status st = compare_brief(f->model, path.path, &p, &err);
            flip(&bytes, at, bit);
            if (st != VUG_OK) {
                assert_true(st == VUG_FORMAT || st == VUG_ARGUMENT);
                assert_true(err.msg[0] != '\0');
                refused_rows += at >= rows;
                continue;
            }
            /* In the header only metadata, window and stride can change unnoticed. */
            const bool layout = at >= rows - 12 && at < rows - 4; /* its first two of three */
            assert_true(at >= rows || layout || (at >= format && at < format + 15));
            taken += at >= rows;
            assert_memory_equal(&p.model, &good.model, sizeof(p.model));
            assert_true(isfinite(p.kl_max) && p.kl_max >= 0 && isfinite(p.base.nll));
            assert_true(p.base.nll > 0 && fabs(p.base.nll - good.base.nll) < 12000);
        }
    }
    assert_true(taken > 100);
    assert_true(refused_rows > 100);
    vug_text_release(&bytes);
}

/* Numbers that are not log-probabilities; rows of another text. */
static void test_bad_rows_are_refused(void **state)
{
    static const uint8_t values[][2] = {
        { 0x00, 0x7c }, { 0x00, 0xfc }, { 0x01, 0x7e }, { 0x00, 0x3c }, { 0x00, 0x7b },
    }; /* inf, -inf, nan, 1, 57344 */
    const saved_logits_fixture *f = *state;
    const scratch_path path = scratch_at(&f->dir, "lie.safetensors");
    vug_text bytes = make_brief(f, path.path);
    vug_perplexity p;
    vug_err err;
    help_ok(compare_brief(f->model, path.path, &p, &err), &err);
    const size_t last = bytes.len - (size_t)V * 2 + 20;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char old[2];
        memcpy(old, bytes.ptr + last, 2);
        memcpy(bytes.ptr + last, values[i], 2);
        scratch_write(&f->dir, "lie.safetensors", bytes.ptr, bytes.len);
        help_refused(
                compare_brief(f->model, path.path, &p, &err), &err, VUG_FORMAT, f->dir.path,
                "FOLDER/lie.safetensors: tensor 'logprobs': row 2 does not hold log-probabilities");
        memcpy(bytes.ptr + last, old, 2);
    }
    scratch_write(&f->dir, "lie.safetensors", bytes.ptr, bytes.len);
    const vug_perplexity_options o = { .base_logits = path.path };
    help_refused(vug_model_perplexity(f->model, "hello?", 6, &o, &p, &err), &err, VUG_FORMAT,
                 f->dir.path,
                 "FOLDER/lie.safetensors: made from another text or with another tokenizer: "
                 "number 3 of 'tokens' is 264 there and 294 here");
    help_refused(vug_model_perplexity(f->model, "hello!!", 7, &o, &p, &err), &err, VUG_FORMAT,
                 f->dir.path,
                 "FOLDER/lie.safetensors: made from a text of 3 tokens, this one has 4: the "
                 "texts or the tokenizers differ");
    const vug_perplexity_options w = { .base_logits = path.path, .window = 9, .stride = 8 };
    help_refused(vug_model_perplexity(f->model, "hello!", 6, &w, &p, &err), &err, VUG_ARGUMENT,
                 f->dir.path,
                 "FOLDER/lie.safetensors: made with windows of 16 tokens, one every 15, not 9 and "
                 "8; omit window and stride to use those of the file");
    help_refused(
            compare_brief(f->model, GOLDEN("gemma3-text") "/model.safetensors", &p, &err), &err,
            VUG_FORMAT, NULL,
            GOLDEN("gemma3-text") "/model.safetensors: has no tensor 'layout'; is it a file of "
                                  "saved logits?");
    vug_text_release(&bytes);
}

/* A file for `brief` in which one tensor has another shape. */
typedef struct {
    int32_t tokens[8], layout[8];
} contents;

static vug_status fill(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    const contents *c = user;
    (void)err;
    memset(bytes, 0, n);
    if (i < 2)
        memcpy(bytes, (const uint8_t *)(i == 0 ? c->tokens : c->layout) + at, n);
    return VUG_OK;
}

static void test_bad_shapes_are_refused(void **state)
{
    static const struct {
        int tensor;
        vug_tensor_spec spec;
        const char *message;
    } cases[] = {
        { 0,
          { { "tokens", 6 }, VUG_DTYPE_I32, 1, { 3 } },
          "made from a text of 2 tokens, this one has 3: the texts or the tokenizers differ" },
        { 0,
          { { "tokens", 6 }, VUG_DTYPE_I32, 2, { 4, 1 } },
          "tensor 'tokens' is I32 of rank 2, expected I32 of rank 1; is it a file of saved "
          "logits?" },
        { 0,
          { { "token", 5 }, VUG_DTYPE_I32, 1, { 4 } },
          "has no tensor 'tokens'; is it a file of saved logits?" },
        { 1,
          { { "layout", 6 }, VUG_DTYPE_I32, 1, { 2 } },
          "tensor 'layout' has 2 numbers, expected 3; is it a file of saved logits?" },
        { 1,
          { { "layout", 6 }, VUG_DTYPE_I32, 1, { 4 } },
          "tensor 'layout' has 4 numbers, expected 3; is it a file of saved logits?" },
        { 1,
          { { "layout", 6 }, VUG_DTYPE_F32, 1, { 3 } },
          "tensor 'layout' is F32 of rank 1, expected I32 of rank 1; is it a file of saved "
          "logits?" },
        { 2,
          { { "logprobs", 8 }, VUG_DTYPE_BF16, 2, { 3, V } },
          "tensor 'logprobs' is BF16 of rank 2, expected F16 of rank 2; is it a file of saved "
          "logits?" },
        { 2,
          { { "logprobs", 8 }, VUG_DTYPE_F16, 2, { 2, V } },
          "tensor 'logprobs' is [2,384], expected [3,384] for the scored tokens and the ids of the "
          "model" },
        { 2,
          { { "logprobs", 8 }, VUG_DTYPE_F16, 2, { 3, V - 1 } },
          "tensor 'logprobs' is [3,383], expected [3,384] for the scored tokens and the ids of the "
          "model" },
        { 2,
          { { "logprobs", 8 }, VUG_DTYPE_F16, 2, { 3, V } },
          "tensor 'logprobs': row 0 does not hold log-probabilities" }, /* all zeros */
    };
    const saved_logits_fixture *f = *state;
    const scratch_path path = scratch_at(&f->dir, "shape.safetensors");
    contents c = { .tokens = { BOS }, .layout = { 16, 15, 1 } };
    vug_tokens id;
    vug_err err = { 0 };
    vug_perplexity p;
    help_ok(vug_tokenizer_encode(vug_model_tokenizer(f->model, NULL), brief, sizeof(brief) - 1, 0,
                                 &id, &err),
            &err);
    assert_int_equal(id.n, 3);
    memcpy(c.tokens + 1, id.id, 3 * sizeof(*id.id));
    vug_tokens_release(&id);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        vug_tensor_spec spec[] = { { { "tokens", 6 }, VUG_DTYPE_I32, 1, { 4 } },
                                   { { "layout", 6 }, VUG_DTYPE_I32, 1, { 3 } },
                                   { { "logprobs", 8 }, VUG_DTYPE_F16, 2, { 3, V } } };
        char expected[512] = "FOLDER/shape.safetensors: ";
        spec[cases[i].tensor] = cases[i].spec;
        const vug_tensor_stream tensors = { .tensor = spec, .n = 3, .fill = fill, .user = &c };
        help_ok(vug_safetensors_write(path.path, &tensors, &err), &err);
        strncat(expected, cases[i].message, sizeof(expected) - strlen(expected) - 1);
        help_refused(compare_brief(f->model, path.path, &p, &err), &err, VUG_FORMAT, f->dir.path,
                     expected);
    }
}

static int set_up(void **state)
{
    saved_logits_fixture *f = vug_alloc_zero(1, sizeof(*f));
    assert_non_null(f);
    f->dir = scratch_make();
    tiny_model(&f->dir, TINY_VOCAB);
    f->model =
            help_model(f->dir.path, (vug_model_options){ .context = 16, .batch = 4, .threads = 1 });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    saved_logits_fixture *f = *state;
    vug_model_close(f->model);
    scratch_remove(&f->dir);
    vug_free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_flipped_bits_are_handled),
        cmocka_unit_test(test_bad_rows_are_refused),
        cmocka_unit_test(test_bad_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
