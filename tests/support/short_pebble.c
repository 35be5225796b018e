#include "test.h"

#include "core/os.h"
#include "engine_help.h"
#include "short_pebble.h"
#include "weights/weights.h"

#define PEBBLE "models/pebble"

enum { MAX_TENSORS = 256 };

typedef struct {
    const vug_tensor *source[MAX_TENSORS];
    vug_tensor_spec spec[MAX_TENSORS];
    size_t n;
} tensor_selection;

static vug_status copy_tensor(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                              vug_err *err)
{
    const tensor_selection *s = user;
    (void)err;
    memcpy(bytes, s->source[i]->data + at, n);
    return VUG_OK;
}

static bool is_of_first_layers(const char *name, int n_layers)
{
    static const char prefix[] = "model.layers.";
    return strncmp(name, prefix, strlen(prefix)) != 0 ||
           strtol(name + strlen(prefix), NULL, 10) < n_layers;
}

static void write_weights(const char *path, int n_layers)
{
    vug_weights *w;
    vug_err err = { 0 };
    tensor_selection s = { .n = 0 };
    help_ok(vug_weights_open(PEBBLE, &w, &err), &err);
    for (size_t i = 0; i < vug_weights_count(w); i++) {
        const vug_tensor *t = vug_weights_at(w, i);
        if (!is_of_first_layers(t->name.ptr, n_layers))
            continue;
        assert_true(s.n < MAX_TENSORS);
        s.source[s.n] = t;
        s.spec[s.n] = (vug_tensor_spec){ .name = t->name, .dtype = t->dtype, .rank = t->rank };
        memcpy(s.spec[s.n++].dim, t->dim, sizeof(t->dim));
    }
    const vug_tensor_stream tensors = {
        .tensor = s.spec, .n = s.n, .fill = copy_tensor, .user = &s
    };
    help_ok(vug_safetensors_write(path, &tensors, &err), &err);
    vug_weights_close(w);
}

static vug_text read_pebble(const char *path)
{
    vug_text text;
    vug_err err = { 0 };
    help_ok(vug_read_file(path, (size_t)1 << 20, &text, &err), &err);
    return text;
}

/* pebble's configuration with another number of layers and another list of their types. */
static void write_config(const scratch *to, int n_layers)
{
    static const char count[] = "\"num_hidden_layers\": ", types[] = "\"layer_types\": [";
    vug_text config = read_pebble(PEBBLE "/config.json");
    const char *at = strstr(config.ptr, count), *list = strstr(config.ptr, types);
    assert_non_null(at);
    assert_non_null(list);
    assert_true(at < list);
    at += strlen(count);
    list += strlen(types);
    const char *after_count = at + strspn(at, "0123456789"), *end = strchr(list, ']');
    assert_non_null(end);
    vug_buf json = { 0 };
    vug_buf_append(&json, config.ptr, (size_t)(at - config.ptr));
    vug_buf_printf(&json, "%d", n_layers);
    vug_buf_append(&json, after_count, (size_t)(list - after_count));
    for (int i = 1; i < n_layers; i++)
        vug_buf_puts(&json, "\"sliding_attention\", ");
    vug_buf_puts(&json, "\"full_attention\"");
    vug_buf_puts(&json, end);
    assert_int_equal(vug_buf_ok(&json, NULL), VUG_OK);
    scratch_write(to, "config.json", json.ptr, json.len);
    vug_buf_release(&json);
    vug_text_release(&config);
}

void short_pebble(const scratch *to, int n_layers)
{
    vug_text tokenizer = read_pebble(PEBBLE "/tokenizer.json");
    scratch_write(to, "tokenizer.json", tokenizer.ptr, tokenizer.len);
    vug_text_release(&tokenizer);
    write_config(to, n_layers);
    write_weights(scratch_at(to, "model.safetensors").path, n_layers);
}
