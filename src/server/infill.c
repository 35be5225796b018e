#include "server/internal.h"

/*
 * The prompt of a request to fill a gap, as models were trained on it (Qwen2.5-Coder technical
 * report, arXiv 2409.12186, section 3.1):
 *
 *     PREFIX text before the gap SUFFIX text after it MIDDLE what fills it
 *
 * and with other files in front of that
 *
 *     REPOSITORY name \n FILE name \n text .. FILE name \n
 *
 * Gemma's models for code have no token for the repository.
 */

typedef enum {
    PREFIX,
    SUFFIX,
    MIDDLE,
    PADDING,
    REPOSITORY,
    FILE_QWEN,
    FILE_GEMMA,
    N_MARKS
} infill_mark;

static const char *const spelling[N_MARKS] = {
    [PREFIX] = "<|fim_prefix|>",         [SUFFIX] = "<|fim_suffix|>",
    [MIDDLE] = "<|fim_middle|>",         [PADDING] = "<|fim_pad|>",
    [REPOSITORY] = "<|repo_name|>",      [FILE_QWEN] = "<|file_sep|>",
    [FILE_GEMMA] = "<|file_separator|>",
};

typedef struct {
    const vug_tokenizer *tokenizer;
    int32_t mark[N_MARKS]; /* -1: the model has none */
    vug_buf text;
    vug_range *untrusted; /* [n_untrusted] of the client: marks that it spells stay text */
    size_t n_untrusted, cap;
    bool no_memory;
} infill_prompt;

static void add_mark(infill_prompt *p, infill_mark m)
{
    if (p->mark[m] >= 0)
        vug_buf_puts(&p->text, spelling[m]);
}

static void add_text(infill_prompt *p, vug_str text)
{
    vug_range *grown = vug_grow_array(p->untrusted, &p->cap, p->n_untrusted, sizeof(*p->untrusted));
    if (!grown) {
        p->no_memory = true;
        return;
    }
    p->untrusted = grown;
    p->untrusted[p->n_untrusted++] = (vug_range){ p->text.len, p->text.len + text.len };
    vug_buf_append(&p->text, text.ptr, text.len);
}

/* Such as <bos>. */
static vug_status add_special_tokens(infill_prompt *p, vug_err *err)
{
    vug_tokens tokens = { 0 };
    VUG_TRY(vug_tokenizer_encode(p->tokenizer, "", 0, VUG_ENCODE_ADD_SPECIAL, &tokens, err));
    for (size_t i = 0; i < tokens.n; i++) {
        const char *token = vug_tokenizer_token(p->tokenizer, tokens.id[i], NULL);
        vug_buf_puts(&p->text, token ? token : "");
    }
    vug_tokens_release(&tokens);
    return VUG_OK;
}

static void add_file(infill_prompt *p, infill_mark before, vug_str name, vug_str text)
{
    add_mark(p, before);
    add_text(p, name);
    vug_buf_puts(&p->text, "\n");
    if (text.len > 0)
        add_text(p, text);
}

static void add_files(infill_prompt *p, const vug_api_request *r)
{
    const infill_mark separator = p->mark[FILE_QWEN] >= 0 ? FILE_QWEN : FILE_GEMMA;
    if (r->n_files == 0)
        return;
    if (p->mark[REPOSITORY] >= 0)
        add_file(p, REPOSITORY, vug_str_of("project"), (vug_str){ 0 });
    for (size_t i = 0; i < r->n_files; i++)
        add_file(p, separator, r->file[i].name, r->file[i].text);
    add_file(p, separator, vug_str_of("file"), (vug_str){ 0 });
}

static bool has_marks(const infill_prompt *p, const vug_api_request *r, vug_api_error *error)
{
    const char *param = r->endpoint == VUG_API_INFILL ? "input_prefix" : "suffix";
    for (infill_mark m = PREFIX; m <= MIDDLE; m++) {
        if (p->mark[m] < 0)
            return vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                                     "this model cannot fill in the middle: its tokenizer has no "
                                     "token %s",
                                     spelling[m]);
    }
    return r->n_files == 0 || p->mark[FILE_QWEN] >= 0 || p->mark[FILE_GEMMA] >= 0 ||
           vug_api_error_set(error, VUG_API_BAD_REQUEST, "input_extra",
                             "input_extra: this model has no token between files, such as %s",
                             spelling[FILE_QWEN]);
}

/* A mark ends the answer: another file or gap would follow. */
static bool add_stops(const infill_prompt *p, vug_server_request *request)
{
    vug_api_request *r = &request->api;
    int32_t *stop = vug_arena_alloc(&request->arena, r->n_stop_ids + N_MARKS, sizeof(*stop));
    size_t n = 0;
    if (!stop)
        return false;
    for (; n < r->n_stop_ids; n++)
        stop[n] = r->stop_id[n];
    for (infill_mark m = PREFIX; m < N_MARKS; m++) {
        if (p->mark[m] >= 0)
            stop[n++] = p->mark[m];
    }
    r->stop_id = stop;
    r->n_stop_ids = n;
    return true;
}

static vug_status encode_gap(infill_prompt *p, const vug_api_request *r, vug_tokens *out,
                             vug_err *err)
{
    if (r->add_special)
        VUG_TRY(add_special_tokens(p, err));
    add_files(p, r);
    add_mark(p, PREFIX);
    add_text(p, r->prefix);
    add_mark(p, SUFFIX);
    add_text(p, r->suffix);
    add_mark(p, MIDDLE);
    add_text(p, r->prompt[0].text);
    VUG_TRY(vug_buf_ok(&p->text, err));
    if (p->no_memory)
        return VUG_FAIL_NOMEM(err, "a prompt", p->text.len);
    const vug_prompt prompt = { .text = { p->text.ptr, p->text.len },
                                .untrusted = p->untrusted,
                                .n_untrusted = p->n_untrusted };
    return vug_prompt_encode(p->tokenizer, &prompt, out, err);
}

bool vug_server_make_infill(vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    infill_prompt p = { .tokenizer = request->service->tokenizer };
    vug_err err;
    for (infill_mark m = PREFIX; m < N_MARKS; m++)
        p.mark[m] = vug_tokenizer_find(p.tokenizer, spelling[m]);
    if (!has_marks(&p, r, error))
        return false;
    const vug_status st = encode_gap(&p, r, &request->tokens[0], &err);
    vug_buf_release(&p.text);
    vug_free(p.untrusted);
    if (st != VUG_OK)
        return vug_api_error_from(error, &err, "prompt");
    return add_stops(&p, request) || vug_api_error_no_memory(error);
}
