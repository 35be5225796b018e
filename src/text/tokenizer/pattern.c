#include "text/tokenizer/pattern.h"

#include "core/utf8.h"

/* The offset of the first `needle`, which is not empty, at or after `from`; text.len if there
 * is none. */
static size_t find_literal(vug_str text, size_t from, vug_str needle)
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

static vug_status find_match(vug_pattern_matches *m, size_t hit[2], bool *found, vug_err *err)
{
    const vug_pattern *p = m->pattern;
    if (p->regex)
        return vug_regex_find(p->regex, m->work, m->text, m->at, hit, found, err);
    hit[0] = m->at < m->text.len ? find_literal(m->text, m->at, p->literal) : m->text.len;
    *found = hit[0] < m->text.len;
    hit[1] = hit[0] + p->literal.len;
    return VUG_OK;
}

vug_status vug_pattern_next(vug_pattern_matches *m, size_t hit[2], bool *found, vug_err *err)
{
    while (m->at <= m->text.len) {
        VUG_TRY(find_match(m, hit, found, err));
        if (!*found)
            return VUG_OK;
        if (hit[0] < hit[1] || !m->any || hit[1] != m->last) {
            m->at = m->last = hit[1];
            m->any = true;
            return VUG_OK;
        }
        uint32_t cp;
        const size_t n = vug_utf8_decode(m->text.ptr + m->at, m->text.len - m->at, &cp);
        m->at += n ? n : 1;
    }
    *found = false;
    return VUG_OK;
}

vug_status vug_pattern_replace(const vug_pattern *pattern, vug_regex_work *work, vug_str text,
                               vug_str with, vug_buf *to, bool *changed, vug_err *err)
{
    vug_pattern_matches m = { .pattern = pattern, .work = work, .text = text };
    size_t done = 0, hit[2];
    bool found = false;
    *changed = false;
    for (;;) {
        VUG_TRY(vug_pattern_next(&m, hit, &found, err));
        if (!found)
            break;
        if (!*changed)
            to->len = 0;
        *changed = true;
        vug_buf_append(to, text.ptr + done, hit[0] - done);
        vug_buf_append(to, with.ptr, with.len);
        done = hit[1];
    }
    if (*changed)
        vug_buf_append(to, text.ptr + done, text.len - done);
    return VUG_OK;
}
