#include "text/tokenizer/pipeline.h"

#include "core/utf8.h"
#include "text/tokenizer/byte_level.h"
#include "text/unicode.h"

void vug_pipeline_work_release(vug_pipeline_work *work)
{
    vug_regex_work_release(&work->regex);
    for (size_t i = 0; i < 2; i++)
        vug_buf_release(&work->normalized[i]);
    for (size_t i = 0; i < VUG_PIPELINE_MAX_STEPS; i++)
        vug_buf_release(&work->words[i]);
}

/* Appends the result of a step; false if the text stays as it is. */
typedef bool append_fn(const vug_normalizer_step *step, vug_str text, vug_buf *to);

static bool append_prepended(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    if (text.len == 0 || step->to.len == 0)
        return false;
    vug_buf_append(to, step->to.ptr, step->to.len);
    vug_buf_append(to, text.ptr, text.len);
    return true;
}

static bool append_form(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    if (!vug_unicode_may_change(step->form, text))
        return false;
    vug_unicode_append_form(step->form, text, to);
    return true;
}

static bool append_lowercase(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_unicode_append_lowercase(text, to);
    return true;
}

static bool append_unaccented(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_unicode_append_unaccented(text, to);
    return true;
}

static bool append_stripped(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    size_t from = text.len; /* of the first character that is no whitespace */
    size_t end = 0;         /* after the last such character */
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_decode(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (vug_is_white_space(cp))
            continue;
        from = from < i ? from : i;
        end = i + n;
    }
    from = step->left ? from : 0;
    end = step->right ? end : text.len;
    if (from < end)
        vug_buf_append(to, text.ptr + from, end - from);
    return true;
}

static bool append_byte_level(const vug_normalizer_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_byte_level_append(text, to);
    return true;
}

static append_fn *const append_by_kind[] = {
    [VUG_NORMALIZER_PREPEND] = append_prepended,
    [VUG_NORMALIZER_UNICODE_FORM] = append_form,
    [VUG_NORMALIZER_LOWERCASE] = append_lowercase,
    [VUG_NORMALIZER_STRIP_ACCENTS] = append_unaccented,
    [VUG_NORMALIZER_STRIP] = append_stripped,
    [VUG_NORMALIZER_BYTE_LEVEL] = append_byte_level,
};

vug_status vug_normalizer_apply(const vug_normalizer *normalizer, vug_str text,
                                vug_pipeline_work *work, vug_str *out, vug_err *err)
{
    int next_buf = 0;
    for (size_t i = 0; i < normalizer->n; i++) {
        const vug_normalizer_step *step = &normalizer->step[i];
        vug_buf *to = &work->normalized[next_buf];
        to->max = VUG_NORMALIZED_MAX_BYTES;
        to->len = 0;
        bool changed = false;
        if (step->kind == VUG_NORMALIZER_REPLACE || step->kind == VUG_NORMALIZER_REPLACE_REGEX) {
            const vug_pattern pattern = { step->from, step->regex };
            VUG_TRY(vug_pattern_replace(&pattern, &work->regex, text, step->to, to, &changed, err));
        } else {
            changed = append_by_kind[step->kind](step, text, to);
        }
        VUG_TRY(vug_buf_ok(to, err));
        if (changed) {
            text = (vug_str){ to->len ? to->ptr : "", to->len };
            next_buf = !next_buf;
        }
    }
    *out = text;
    return VUG_OK;
}
