#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "core/json.h"
#include "core/json_writer.h"

static const size_t max_text = (size_t)1 << 30;

static unsigned encode_flags(const vug_options *opt)
{
    return VUG_ENCODE_PARSE_SPECIAL | (opt->special ? VUG_ENCODE_ADD_SPECIAL : 0u);
}

/* ---- one text -------------------------------------------------------------------- */

static void write_tokens(const vug_tokenizer *tokenizer, const vug_tokens *tokens,
                         const vug_text *decoded, vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_i32s(js, "ids", tokens->id, tokens->n);
    vug_json_begin(js, "pieces", '[');
    for (size_t i = 0; i < tokens->n; i++) {
        size_t len = 0;
        const char *piece = vug_tokenizer_token(tokenizer, tokens->id[i], &len);
        vug_json_put_text(js, NULL, piece ? piece : "", len);
    }
    vug_json_end(js, ']');
    vug_json_put_text(js, "decoded", decoded->ptr, decoded->len);
    vug_json_end(js, '}');
}

static void print_tokens(const vug_tokenizer *tokenizer, const vug_tokens *tokens, vug_buf *to)
{
    for (size_t i = 0; i < tokens->n; i++) {
        size_t len = 0;
        const char *piece = vug_tokenizer_token(tokenizer, tokens->id[i], &len);
        vug_buf_printf(to, "%8d  ", (int)tokens->id[i]);
        vug_json_append_string(to, piece ? piece : "", len);
        vug_buf_puts(to, "\n");
    }
}

static int tokenize_text(vug_ui *ui, const vug_options *opt, const vug_tokenizer *tokenizer)
{
    vug_text piped = { 0 }, decoded = { 0 };
    vug_tokens tokens = { 0 };
    vug_err err;
    vug_status st = VUG_OK;
    vug_str text = { 0 };
    int code;
    if (opt->n_operands > 1) {
        text = vug_str_of(opt->operand[1]);
    } else {
        st = vug_input_read("-", max_text, &piped, &err);
        text = (vug_str){ piped.ptr, piped.len };
    }
    if (st == VUG_OK)
        st = vug_tokenizer_encode(tokenizer, text.ptr, text.len, encode_flags(opt), &tokens, &err);
    if (st == VUG_OK)
        st = vug_tokenizer_decode(tokenizer, tokens.id, tokens.n, false, &decoded, &err);
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else if (opt->json) {
        vug_json_writer js = { 0 };
        write_tokens(tokenizer, &tokens, &decoded, &js);
        code = vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    } else {
        vug_buf lines = { 0 };
        print_tokens(tokenizer, &tokens, &lines);
        code = vug_ui_print(ui, &lines);
    }
    vug_text_release(&piped);
    vug_text_release(&decoded);
    vug_tokens_release(&tokens);
    return code;
}

/* ---- many lines ------------------------------------------------------------------ */

/* {"text": "..."}; other members are ignored. */
static vug_status read_text(vug_str line, vug_arena *arena, vug_str *text, vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(line, "JSON", arena);
    vug_str key;
    int n = 0;
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        if (vug_str_is(key, "text")) {
            *text = vug_json_string(&j);
            n++;
        } else {
            vug_json_skip(&j);
        }
    }
    VUG_TRY(vug_json_finish(&j, err));
    if (n != 1)
        return VUG_FAIL(err, VUG_FORMAT, "expected one \"text\", found %d", n);
    return VUG_OK;
}

typedef struct {
    const vug_tokenizer *tokenizer;
    unsigned flags;
} line_tokenizer;

static vug_status tokenize_line(vug_str line, vug_buf *to, void *user, vug_err *err)
{
    const line_tokenizer *c = user;
    vug_arena arena = { 0 };
    vug_tokens tokens = { 0 };
    vug_text decoded = { 0 };
    vug_str text = { 0 };
    vug_status st = read_text(line, &arena, &text, err);
    if (st == VUG_OK)
        st = vug_tokenizer_encode(c->tokenizer, text.ptr, text.len, c->flags, &tokens, err);
    if (st == VUG_OK)
        st = vug_tokenizer_decode(c->tokenizer, tokens.id, tokens.n, false, &decoded, err);
    if (st == VUG_OK) {
        vug_json_writer js = { .to = to };
        vug_json_begin(&js, NULL, '{');
        vug_json_put_i32s(&js, "ids", tokens.id, tokens.n);
        vug_json_put_text(&js, "decoded", decoded.ptr, decoded.len);
        vug_json_end(&js, '}');
        vug_buf_puts(to, "\n");
    }
    vug_arena_release(&arena);
    vug_tokens_release(&tokens);
    vug_text_release(&decoded);
    return st;
}

static int tokenize_lines(vug_ui *ui, const vug_options *opt, const vug_tokenizer *tokenizer)
{
    line_tokenizer c = { tokenizer, encode_flags(opt) };
    return vug_for_each_line(ui, opt->jsonl, tokenize_line, &c);
}

int vug_cmd_tokenize(vug_ui *ui, const vug_options *opt)
{
    vug_tokenizer *tokenizer;
    vug_err err;
    if (opt->jsonl && opt->n_operands > 1) {
        vug_ui_note(ui, "tokenize takes a TEXT or --jsonl, not both");
        return VUG_EXIT_USAGE;
    }
    if (vug_tokenizer_open(opt->operand[0], &tokenizer, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code =
            opt->jsonl ? tokenize_lines(ui, opt, tokenizer) : tokenize_text(ui, opt, tokenizer);
    vug_tokenizer_close(tokenizer);
    return code;
}
