/* Answers three prompts at once and prints the answers in the order of the prompts.
 *     cc -Iinclude docs/examples/engine.c build/libvug.a -lpcre2-8 -lutf8proc -lcrypto -lm -pthread -o engine
 *     ./engine MODEL PROMPT PROMPT PROMPT */
#include <stdio.h>

#include "vug/engine.h"

enum { PROMPTS = 3 };

/* Prints an answer as it comes. */
static vug_status print_answer(vug_stream *stream, vug_err *err)
{
    vug_event event;
    while (vug_stream_next(stream, -1, &event) && event.kind != VUG_EVENT_END) {
        if (event.kind == VUG_EVENT_PIECE)
            (void)fwrite(event.piece.text, 1, event.piece.len, stdout);
    }
    (void)puts("");
    if (event.status != VUG_OK)
        *err = *event.err;
    return event.status;
}

int main(int argc, char **argv)
{
    const vug_model_options shared = { .slots = PROMPTS };
    const vug_generate_options how = { .max_tokens = 60 };
    vug_model *model = NULL;
    vug_engine *engine = NULL;
    vug_stream *stream[PROMPTS] = { NULL };
    vug_err err;
    vug_status st = vug_model_open(argc > 1 ? argv[1] : ".", &shared, &model, &err);
    if (st == VUG_OK)
        st = vug_engine_create(model, NULL, &engine, &err);
    for (int i = 0; i < PROMPTS && i + 2 < argc && st == VUG_OK; i++) {
        const vug_message message = { "user", argv[i + 2] };
        const vug_request request = { .message = &message, .n_messages = 1, .options = &how };
        st = vug_engine_submit(engine, &request, &stream[i], &err);
    }
    for (int i = 0; i < PROMPTS && stream[i] && st == VUG_OK; i++)
        st = print_answer(stream[i], &err);
    if (st != VUG_OK)
        (void)fprintf(stderr, "engine: %s\n", err.msg);
    for (int i = 0; i < PROMPTS; i++)
        vug_stream_destroy(stream[i]);
    vug_engine_destroy(engine);
    vug_model_close(model);
    return st == VUG_OK ? 0 : 1;
}
