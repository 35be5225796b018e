#ifndef VUG_TESTS_REPLY_HELP_H
#define VUG_TESTS_REPLY_HELP_H

/* The parts of an answer put together again, as a server would. */

#include "core/mem.h"
#include "text/chat/reply.h"

enum { REPLY_CALLS = 64 };

typedef struct {
    vug_buf content, thinking;
    struct {
        vug_buf name, args;
        bool ended;
    } call[REPLY_CALLS];
    size_t n_calls; /* that were not dropped */
    bool broken;    /* the parts came in an order that cannot be */
    bool cut;       /* one ended inside a character */
} folded;

/* A vug_part_fn; `user` is a folded. */
bool reply_fold(const vug_part *part, void *user);
/* "T:thinking", "C:content", "F:name arguments" for each call, "F:name arguments.." of one that
 * was cut short: each with a line end, what is empty left out. The caller's. */
vug_buf reply_spell(const folded *f);
void folded_release(folded *f);

#endif
