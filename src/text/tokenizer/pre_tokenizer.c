#include "text/tokenizer/pipeline.h"

#include "text/tokenizer/byte_level.h"

/*
 * The pre-tokenizer: from a text to words (HF tokenizers, NormalizedString::split and
 * PreTokenizedString::split). Each step calls the next one for every word, so a word is used
 * while it is in the CPU's cache, and none is stored.
 */

typedef struct {
    const vug_pre_tokenizer *pre;
    vug_pipeline_work *work;
    vug_word_fn *on_word;
    void *user;
    vug_err *err;
} word_pass;

static vug_status run_step(const word_pass *w, size_t depth, vug_str text, bool first);

/* Joins parts of a text to words. */
typedef struct {
    const word_pass *w;
    size_t depth;
    vug_str text;
    bool first;
    vug_split_behavior behavior;
    size_t from, to; /* the held word, which may still grow */
    bool held;       /* there is one */
    bool match;      /* its last part is a match */
} word_splitter;

static vug_status emit_part(const word_splitter *s, size_t from, size_t to)
{
    if (from == to)
        return VUG_OK;
    return run_step(s->w, s->depth + 1, (vug_str){ s->text.ptr + from, to - from },
                    s->first && from == 0);
}

static vug_status emit_held(word_splitter *s)
{
    const bool held = s->held;
    s->held = false;
    return held ? emit_part(s, s->from, s->to) : VUG_OK;
}

/* Whether the next part joins the held word. */
static bool joins_held(const word_splitter *s, bool match)
{
    switch (s->behavior) {
    case VUG_SPLIT_REMOVED:
    case VUG_SPLIT_ISOLATED:
        return false;
    case VUG_SPLIT_MERGED_WITH_PREVIOUS:
        return s->held && match && !s->match;
    case VUG_SPLIT_MERGED_WITH_NEXT:
        return s->held && !match && s->match;
    case VUG_SPLIT_CONTIGUOUS:
        return s->held && match == s->match;
    }
    return false;
}

/* Adds the next part of the text, which begins where the previous one ended. */
static vug_status add_part(word_splitter *s, size_t from, size_t to, bool match)
{
    if (s->behavior == VUG_SPLIT_REMOVED && match)
        return VUG_OK;
    if (s->behavior == VUG_SPLIT_REMOVED || s->behavior == VUG_SPLIT_ISOLATED)
        return emit_part(s, from, to);
    if (joins_held(s, match)) {
        s->to = to;
    } else {
        VUG_TRY(emit_held(s));
        s->from = from;
        s->to = to;
        s->held = true;
    }
    s->match = match;
    return VUG_OK;
}

static vug_status split_text(const word_pass *w, size_t depth, vug_str text, bool first)
{
    const vug_pre_tokenizer_step *step = &w->pre->step[depth];
    word_splitter s = {
        .w = w, .depth = depth, .text = text, .first = first, .behavior = step->behavior
    };
    vug_pattern_matches m = { .pattern = &step->pattern, .work = &w->work->regex, .text = text };
    size_t done = 0, hit[2];
    for (;;) {
        bool found = false;
        VUG_TRY(vug_pattern_next(&m, hit, &found, w->err));
        if (!found)
            break;
        if (done < hit[0])
            VUG_TRY(add_part(&s, done, hit[0], step->invert));
        VUG_TRY(add_part(&s, hit[0], hit[1], !step->invert));
        done = hit[1];
    }
    if (done < text.len)
        VUG_TRY(add_part(&s, done, text.len, step->invert));
    return emit_held(&s);
}

static vug_status rewrite_text(const word_pass *w, size_t depth, vug_str text, bool first)
{
    const vug_pre_tokenizer_step *step = &w->pre->step[depth];
    vug_buf *to = &w->work->words[depth];
    bool changed = true;
    to->max = VUG_NORMALIZED_MAX_BYTES;
    to->len = 0;
    if (step->kind == VUG_PRE_TOKENIZER_BYTE_LEVEL) {
        vug_byte_level_append(text, to);
    } else if (step->kind == VUG_PRE_TOKENIZER_REPLACE) {
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
    return run_step(w, depth + 1, changed ? (vug_str){ to->ptr, to->len } : text, first);
}

static vug_status run_step(const word_pass *w, size_t depth, vug_str text, bool first)
{
    if (text.len == 0)
        return VUG_OK;
    if (depth == w->pre->n)
        return w->on_word(w->user, text, w->err);
    return w->pre->step[depth].kind == VUG_PRE_TOKENIZER_SPLIT
                   ? split_text(w, depth, text, first)
                   : rewrite_text(w, depth, text, first);
}

vug_status vug_pre_tokenizer_apply(const vug_pre_tokenizer *pre, vug_str text, bool first,
                                   vug_pipeline_work *work, vug_word_fn *on_word, void *user,
                                   vug_err *err)
{
    const word_pass w = { pre, work, on_word, user, err };
    return run_step(&w, 0, text, first);
}
