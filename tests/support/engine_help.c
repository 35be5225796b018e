

#include "core/random.h"
#include "test.h"

#include "engine_help.h"

void help_ok(vug_status st, const vug_err *err)
{
    if (st != VUG_OK)
        fail_msg("%s: %s", vug_status_text(st), err->msg);
}

void help_refused(vug_status st, const vug_err *err, vug_status code, const char *folder,
                  const char *expected)
{
    vug_buf message = { 0 };
    for (const char *at = expected; *at;) {
        if (folder && strncmp(at, "FOLDER", 6) == 0) {
            vug_buf_puts(&message, folder);
            at += 6;
        } else {
            vug_buf_append(&message, at++, 1);
        }
    }
    assert_string_equal(err->msg, message.ptr);
    assert_int_equal(st, code);
    assert_int_equal(err->code, code);
    vug_buf_release(&message);
}

const char *help_device(void)
{
    const char *device = getenv("VUG_TEST_DEVICE");
    return device ? device : "cpu";
}

int help_gpu_layers(void)
{
    const char *layers = getenv("VUG_TEST_GPU_LAYERS");
    return layers ? (int)strtol(layers, NULL, 10) : 0;
}

vug_model *help_model(const char *path, vug_model_options options)
{
    options.device = options.device ? options.device : help_device();
    options.gpu_layers = options.gpu_layers ? options.gpu_layers : help_gpu_layers();
    vug_model *model = NULL;
    vug_err err = { 0 };
    help_ok(vug_model_open(path, &options, &model, &err), &err);
    return model;
}

uint64_t help_context_bytes(const char *path, vug_model_options options)
{
    vug_model *model = help_model(path, options);
    const uint64_t bytes = vug_model_describe(model).memory.session_cache;
    vug_model_close(model);
    return bytes;
}

vug_session *help_session(vug_model *model)
{
    vug_session *session = NULL;
    vug_err err = { 0 };
    help_ok(vug_session_create(model, &session, &err), &err);
    return session;
}

const float *help_forward(vug_session *session, const int32_t *id, size_t n)
{
    vug_err err = { 0 };
    help_ok(vug_session_forward(session, id, n, NULL, &err), &err);
    assert_int_equal(vug_session_length(session), n);
    return vug_session_logits(session);
}

float *help_alone(vug_model *model, const int32_t *id, size_t n)
{
    const size_t bytes = (size_t)vug_model_describe(model).n_vocab * sizeof(float);
    vug_session *session = help_session(model);
    vug_session_reset(session); /* nothing is taken from other sessions */
    float *logits = vug_alloc(bytes, 1);
    assert_non_null(logits);
    memcpy(logits, help_forward(session, id, n), bytes);
    vug_session_destroy(session);
    return logits;
}

const float *help_joint_step(vug_session *const *session, const int32_t *const *id, size_t take,
                             size_t n)
{
    enum { MOST = 40 };
    vug_step_part part[MOST];
    vug_step_runner *runner = &session[0]->model->main;
    vug_err err = { 0 };
    assert_in_range(n, 1, MOST);
    for (size_t i = 0; i < n; i++) {
        vug_kv_sequence *kv = &session[i]->sequence.kv;
        part[i] = (vug_step_part){ .sequence = kv, .token = id[i] + kv->n, .n = take, .rows = 1 };
        help_ok(vug_kv_sequence_reserve(kv, take, &err), &err);
    }
    help_ok(vug_step_run(runner, part, n, NULL, &err), &err);
    for (size_t i = 0; i < n; i++)
        vug_kv_sequence_append(part[i].sequence, part[i].token, take);
    return vug_step_logits(runner);
}

uint64_t help_bits(uint64_t *state)
{
    return vug_splitmix64(state);
}

uint64_t help_random(uint64_t *state, uint64_t n)
{
    return help_bits(state) % n;
}

void help_tokens(uint64_t seed, int32_t *id, size_t n, int64_t n_vocab)
{
    for (size_t i = 0; i < n; i++)
        id[i] = (int32_t)(8 + help_random(&seed, (uint64_t)n_vocab - 8));
}

size_t help_difference(const float *a, const float *b, size_t n)
{
    uint32_t x, y;
    for (size_t i = 0; i < n; i++) {
        memcpy(&x, &a[i], sizeof(x));
        memcpy(&y, &b[i], sizeof(y));
        if (x != y)
            return i;
    }
    return n;
}

void help_same_bits(const float *a, const float *b, size_t n)
{
    const size_t i = help_difference(a, b, n);
    if (i < n)
        fail_msg("number %zu of %zu is %.9g, expected %.9g", i, n, (double)a[i], (double)b[i]);
}
