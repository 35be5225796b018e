#include "text/steps.h"

size_t vug_find(vug_str text, size_t from, vug_str needle)
{
    while (needle.len <= text.len - from) {
        const char *head = memchr(text.ptr + from, needle.ptr[0], text.len - from - needle.len + 1);
        if (!head)
            break;
        from = (size_t)(head - text.ptr);
        if (memcmp(head, needle.ptr, needle.len) == 0)
            return from;
        from++;
    }
    return text.len;
}

bool vug_replace(vug_buf *to, vug_str text, vug_str from, vug_str with)
{
    size_t at = vug_find(text, 0, from);
    if (at == text.len)
        return false;
    to->len = 0;
    size_t done = 0;
    for (; at < text.len; at = vug_find(text, done, from)) {
        vug_buf_append(to, text.ptr + done, at - done);
        vug_buf_append(to, with.ptr, with.len);
        done = at + from.len;
    }
    vug_buf_append(to, text.ptr + done, text.len - done);
    return true;
}

bool vug_normalize(const vug_normalizer *normalizer, vug_str text, vug_buf work[2], vug_str *out)
{
    int turn = 0;
    for (size_t i = 0; i < normalizer->n; i++) {
        const vug_normal_step *step = &normalizer->step[i];
        vug_buf *to = &work[turn];
        to->max = VUG_NORMAL_MAX_BYTES;
        bool changed = false;
        switch (step->kind) {
        case VUG_NORMAL_REPLACE:
            changed = vug_replace(to, text, step->from, step->to);
            break;
        case VUG_NORMAL_PREPEND:
            changed = text.len > 0 && step->to.len > 0;
            if (changed) {
                to->len = 0;
                vug_buf_append(to, step->to.ptr, step->to.len);
                vug_buf_append(to, text.ptr, text.len);
            }
            break;
        case VUG_NORMAL_SENTENCEPIECE:
            to->len = 0;
            vug_spm_normalize(step->spm, text, to);
            changed = true;
            break;
        }
        if (to->bad)
            return false;
        if (changed) {
            text = (vug_str){ to->ptr, to->len };
            turn = !turn;
        }
    }
    *out = text;
    return true;
}

bool vug_words_next(vug_words *words, vug_str *word)
{
    const vug_str left = words->left;
    if (left.len == 0)
        return false;
    size_t end = left.len;
    if (words->how->kind == VUG_WORDS_SPLIT) {
        /* A delimiter joins the word before it; one that follows another, or
         * begins the text, has no such word and stands alone. */
        const size_t at = vug_find(left, 0, words->how->pattern);
        if (at < left.len)
            end = at + words->how->pattern.len;
    }
    *word = (vug_str){ left.ptr, end };
    words->left = vug_str_from(left, end);
    return true;
}
