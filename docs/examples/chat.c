/* A chat: reads lines, streams the answers, remembers the conversation.
 *     cc -Iinclude docs/examples/chat.c build/libvug.a -lpcre2-8 -lutf8proc -lcrypto -lm -pthread -o chat
 *     ./chat MODEL */
#include <stdio.h>
#include <string.h>

#include "vug/vug.h"

static bool print_piece(const vug_piece *piece, void *user)
{
    return fwrite(piece->text, 1, piece->len, user) == piece->len && fflush(user) == 0;
}

int main(int argc, char **argv)
{
    enum { TURNS = 100 };
    const vug_generate_options how = { .max_tokens = 500, .on_piece = print_piece, .user = stdout };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_message messages[2 * TURNS];
    vug_generation answer[TURNS];
    char line[TURNS][512];
    vug_err err;
    size_t n = 0;
    vug_status st = vug_model_open(argc > 1 ? argv[1] : ".", NULL, &model, &err);
    if (st == VUG_OK)
        st = vug_session_create(model, &session, &err);
    for (; st == VUG_OK && n < TURNS && fgets(line[n], sizeof(line[n]), stdin); n += st == VUG_OK) {
        line[n][strcspn(line[n], "\n")] = '\0';
        messages[2 * n] = (vug_message){ "user", line[n] };
        st = vug_generate_chat(session, messages, 2 * n + 1, &how, &answer[n], &err);
        if (st == VUG_OK)
            messages[2 * n + 1] = (vug_message){ "assistant", answer[n].text.ptr };
        (void)puts("");
    }
    if (st != VUG_OK)
        (void)fprintf(stderr, "chat: %s\n", err.msg);
    while (n > 0)
        vug_generation_release(&answer[--n]);
    vug_session_destroy(session);
    vug_model_close(model);
    return st == VUG_OK ? 0 : 1;
}
