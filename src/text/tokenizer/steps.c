#include "text/tokenizer/steps.h"

#include "core/text.h"
#include "text/tokenizer/bytelevel.h"
#include "text/unicode.h"

void vug_steps_work_release(vug_steps_work *work)
{
    vug_regex_work_release(&work->regex);
    for (size_t i = 0; i < 2; i++)
        vug_buf_release(&work->normal[i]);
    for (size_t i = 0; i < VUG_MAX_STEPS; i++)
        vug_buf_release(&work->words[i]);
}

/* ---- normalizer ------------------------------------------------------------ */

/* Appends what the step makes of the text; false where it is the text itself. */
typedef bool step_fn(const vug_normal_step *step, vug_str text, vug_buf *to);

static bool prepend(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    if (text.len == 0 || step->to.len == 0)
        return false;
    vug_buf_append(to, step->to.ptr, step->to.len);
    vug_buf_append(to, text.ptr, text.len);
    return true;
}

static bool form(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    if (!vug_may_change(step->form, text))
        return false;
    vug_put_normal(step->form, text, to);
    return true;
}

static bool lowercase(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_put_lowercase(text, to);
    return true;
}

static bool unmark(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_put_unmarked(text, to);
    return true;
}

static bool strip(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    size_t from = text.len; /* of the first character that is none */
    size_t end = 0;         /* of the last one */
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_next(text.ptr + i, text.len - i, &cp);
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

static bool bytes(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    (void)step;
    vug_put_byte_chars(text, to);
    return true;
}

static bool sentencepiece(const vug_normal_step *step, vug_str text, vug_buf *to)
{
    vug_spm_normalize(step->spm, text, to);
    return true;
}

static step_fn *const step_of[] = {
    [VUG_NORMAL_PREPEND] = prepend,
    [VUG_NORMAL_FORM] = form,
    [VUG_NORMAL_LOWERCASE] = lowercase,
    [VUG_NORMAL_UNMARK] = unmark,
    [VUG_NORMAL_STRIP] = strip,
    [VUG_NORMAL_BYTES] = bytes,
    [VUG_NORMAL_SENTENCEPIECE] = sentencepiece,
};

vug_status vug_normalize(const vug_normalizer *normalizer, vug_str text, vug_steps_work *work,
                         vug_str *out, vug_err *err)
{
    int turn = 0;
    for (size_t i = 0; i < normalizer->n; i++) {
        const vug_normal_step *step = &normalizer->step[i];
        vug_buf *to = &work->normal[turn];
        to->max = VUG_NORMAL_MAX_BYTES;
        to->len = 0;
        bool changed = false;
        if (step->kind == VUG_NORMAL_REPLACE || step->kind == VUG_NORMAL_MATCHES) {
            const vug_pattern pattern = { step->from, step->regex };
            VUG_TRY(vug_pattern_replace(&pattern, &work->regex, text, step->to, to, &changed, err));
        } else {
            changed = step_of[step->kind](step, text, to);
        }
        VUG_TRY(vug_buf_ok(to, err));
        if (changed) {
            text = (vug_str){ to->len ? to->ptr : "", to->len };
            turn = !turn;
        }
    }
    *out = text;
    return VUG_OK;
}
