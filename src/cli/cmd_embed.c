/* `vug embed`: the vectors of texts. */
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "core/json_writer.h"

static const size_t max_text = (size_t)256 << 20;

/* The texts to embed: one operand, or the lines of the input, which lose their ends. */
typedef struct {
    vug_text input;
    const char **text; /* [n] */
    size_t n, cap;
} text_list;

static vug_status add_text(text_list *list, const char *text, vug_err *err)
{
    const char **grown = vug_grow_array(list->text, &list->cap, list->n, sizeof(const char *));
    if (!grown)
        return VUG_FAIL_NOMEM(err, "the texts", list->n * sizeof(const char *));
    list->text = grown;
    list->text[list->n++] = text;
    return VUG_OK;
}

static vug_status read_texts(const vug_options *opt, text_list *list, vug_err *err)
{
    if (opt->n_operands > 1)
        return add_text(list, opt->operand[1], err);
    VUG_TRY(vug_input_read("-", max_text, &list->input, err));
    if (list->input.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "standard input is empty: there is nothing to embed");
    char *line = list->input.ptr, *const end = line + list->input.len;
    if (memchr(line, '\0', list->input.len))
        return VUG_FAIL(err, VUG_FORMAT, "standard input has a NUL: it is no text");
    while (line < end) {
        char *line_end = memchr(line, '\n', (size_t)(end - line));
        char *const next = line_end ? line_end + 1 : end;
        line_end = line_end ? line_end : end;
        if (line_end > line && line_end[-1] == '\r')
            line_end--;
        *line_end = '\0';
        VUG_TRY(add_text(list, line, err));
        line = next;
    }
    return VUG_OK;
}

static vug_status embed_texts(const vug_options *opt, const vug_model *model, const text_list *list,
                              float *out, vug_err *err)
{
    const vug_embedder_options options = { .pooling = vug_options_pooling(opt),
                                           .raw = opt->raw_vectors };
    vug_embedder *embedder;
    VUG_TRY(vug_embedder_create(model, &options, &embedder, err));
    const vug_status st = vug_embed_texts(embedder, list->text, list->n, NULL, out, err);
    vug_embedder_destroy(embedder);
    return st;
}

static int print_json(vug_ui *ui, const vug_options *opt, const float *x, size_t n, size_t width)
{
    vug_json_writer js = { 0 };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "model", opt->operand[0]);
    vug_json_put_string(&js, "pooling", opt->pooling);
    vug_json_begin(&js, "embeddings", '[');
    for (size_t i = 0; i < n; i++) {
        vug_json_begin(&js, NULL, '[');
        for (size_t k = 0; k < width; k++)
            vug_json_put_f32(&js, NULL, x[i * width + k]);
        vug_json_end(&js, ']');
    }
    vug_json_end(&js, ']');
    vug_json_end(&js, '}');
    return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
}

static int print_lines(vug_ui *ui, const float *x, size_t n, size_t width)
{
    vug_buf text = { 0 };
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < width; k++)
            vug_buf_printf(&text, "%s%.9g", k > 0 ? " " : "", (double)x[i * width + k]);
        vug_buf_puts(&text, "\n");
    }
    return vug_ui_print(ui, &text);
}

int vug_cmd_embed(vug_ui *ui, const vug_options *opt)
{
    const vug_model_options model_options = vug_options_model(opt);
    text_list list = { 0 };
    vug_model *model = NULL;
    float *x = NULL;
    size_t width = 0;
    vug_err err;
    vug_status st = read_texts(opt, &list, &err);
    if (st == VUG_OK)
        st = vug_model_open(opt->operand[0], &model_options, &model, &err);
    if (st == VUG_OK) {
        width = (size_t)vug_model_describe(model).d_model;
        x = vug_alloc(list.n * width, sizeof(*x));
        if (x)
            st = embed_texts(opt, model, &list, x, &err);
        else
            st = VUG_FAIL_NOMEM(&err, "the vectors", list.n * width * sizeof(*x));
    }
    int code;
    if (st != VUG_OK)
        code = vug_ui_fail(ui, &err);
    else if (opt->json)
        code = print_json(ui, opt, x, list.n, width);
    else
        code = print_lines(ui, x, list.n, width);
    vug_free(x);
    vug_free(list.text);
    vug_text_release(&list.input);
    vug_model_close(model);
    return code;
}
