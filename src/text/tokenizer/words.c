#include "text/tokenizer/steps.h"

#include "text/tokenizer/bytelevel.h"

/*
 * The pre-tokenizer: from a text to words (HF tokenizers, NormalizedString::split and
 * PreTokenizedString::split). Steps are nested calls, as deep as there are steps, so
 * that a word is used while it is in the cache and nothing is kept of it.
 */

typedef struct {
    const vug_pre_tokenizer *how;
    vug_steps_work *work;
    vug_word_fn *take;
    void *user;
    vug_err *err;
} walk;

static vug_status enter(const walk *w, size_t depth, vug_str text, bool first);

/* A stretch of a text, on its way to becoming a word. */
typedef struct {
    const walk *w;
    size_t depth;
    vug_str text;
    bool first;
    vug_split_behavior behavior;
    size_t from, to;  /* held back: it may still grow */
    bool held, match; /* what is held, and whether it was a match */
} splitter;

static vug_status give(const splitter *s, size_t from, size_t to)
{
    if (from == to)
        return VUG_OK;
    return enter(s->w, s->depth + 1, (vug_str){ s->text.ptr + from, to - from },
                 s->first && from == 0);
}

static vug_status give_held(splitter *s)
{
    const bool held = s->held;
    s->held = false;
    return held ? give(s, s->from, s->to) : VUG_OK;
}

/* Whether the next part joins what is held. */
static bool joins(const splitter *s, bool match)
{
    switch (s->behavior) {
    case VUG_SPLIT_REMOVED:
    case VUG_SPLIT_ISOLATED:
        return false;
    case VUG_SPLIT_PREVIOUS:
        return s->held && match && !s->match;
    case VUG_SPLIT_NEXT:
        return s->held && !match && s->match;
    case VUG_SPLIT_CONTIGUOUS:
        return s->held && match == s->match;
    }
    return false;
}

/* The next part of the text, which begins where the one before it ended. */
static vug_status put_part(splitter *s, size_t from, size_t to, bool match)
{
    if (s->behavior == VUG_SPLIT_REMOVED && match)
        return VUG_OK;
    if (s->behavior == VUG_SPLIT_REMOVED || s->behavior == VUG_SPLIT_ISOLATED)
        return give(s, from, to);
    if (joins(s, match)) {
        s->to = to;
    } else {
        VUG_TRY(give_held(s));
        s->from = from;
        s->to = to;
        s->held = true;
    }
    s->match = match;
    return VUG_OK;
}

static vug_status split(const walk *w, size_t depth, vug_str text, bool first)
{
    const vug_words_step *step = &w->how->step[depth];
    splitter s = {
        .w = w, .depth = depth, .text = text, .first = first, .behavior = step->behavior
    };
    vug_matches m = { .pattern = &step->pattern, .work = &w->work->regex, .text = text };
    size_t done = 0, hit[2];
    for (;;) {
        bool found = false;
        VUG_TRY(vug_matches_next(&m, hit, &found, w->err));
        if (!found)
            break;
        if (done < hit[0])
            VUG_TRY(put_part(&s, done, hit[0], step->invert));
        VUG_TRY(put_part(&s, hit[0], hit[1], !step->invert));
        done = hit[1];
    }
    if (done < text.len)
        VUG_TRY(put_part(&s, done, text.len, step->invert));
    return give_held(&s);
}

static vug_status rewrite(const walk *w, size_t depth, vug_str text, bool first)
{
    const vug_words_step *step = &w->how->step[depth];
    vug_buf *to = &w->work->words[depth];
    bool changed = true;
    to->max = VUG_NORMAL_MAX_BYTES;
    to->len = 0;
    if (step->kind == VUG_WORDS_BYTES) {
        vug_put_byte_chars(text, to);
    } else if (step->kind == VUG_WORDS_REPLACE) {
        VUG_TRY(vug_pattern_replace(&step->pattern, &w->work->regex, text, step->to, to, &changed,
                                    w->err));
    } else {
        changed =
                !(text.len >= step->to.len && memcmp(text.ptr, step->to.ptr, step->to.len) == 0) &&
                (first || !step->first_only);
        if (changed) {
            vug_buf_append(to, step->to.ptr, step->to.len);
            vug_buf_append(to, text.ptr, text.len);
        }
    }
    VUG_TRY(vug_buf_ok(to, w->err));
    return enter(w, depth + 1, changed ? (vug_str){ to->ptr, to->len } : text, first);
}

static vug_status enter(const walk *w, size_t depth, vug_str text, bool first)
{
    if (text.len == 0)
        return VUG_OK;
    if (depth == w->how->n)
        return w->take(w->user, text, w->err);
    return w->how->step[depth].kind == VUG_WORDS_SPLIT ? split(w, depth, text, first)
                                                       : rewrite(w, depth, text, first);
}

vug_status vug_words(const vug_pre_tokenizer *how, vug_str text, bool first, vug_steps_work *work,
                     vug_word_fn *take, void *user, vug_err *err)
{
    const walk w = { how, work, take, user, err };
    return enter(&w, 0, text, first);
}
