#include "response_parser_help.h"

#include "core/utf8.h"

/* Well-formed text is handed out in whole characters. */
static bool is_whole(const char *text, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        if (vug_utf8_incomplete(text + n - k, k))
            return false;
    }
    return true;
}

static bool fold_call(const vug_part *part, answer_parts *f)
{
    if (part->kind == VUG_PART_CALL) {
        if (part->call != f->n_calls || part->len == 0 || f->n_calls == MAX_PARSED_CALLS)
            return false;
        vug_buf_append(&f->call[f->n_calls].name, part->text, part->len);
        f->n_calls++;
        return true;
    }
    if (f->n_calls == 0 || part->call != f->n_calls - 1 || f->call[f->n_calls - 1].ended)
        return false;
    if (part->kind == VUG_PART_ARGUMENTS) {
        vug_buf_append(&f->call[part->call].args, part->text, part->len);
    } else if (part->kind == VUG_PART_CALL_END) {
        f->call[part->call].ended = true;
    } else {
        f->n_calls--;
        f->call[part->call].name.len = f->call[part->call].args.len = 0;
    }
    return true;
}

bool answer_parts_add(const vug_part *part, void *user)
{
    answer_parts *f = user;
    const bool text = part->kind == VUG_PART_CONTENT || part->kind == VUG_PART_THINKING;
    if (text)
        vug_buf_append(part->kind == VUG_PART_CONTENT ? &f->content : &f->thinking, part->text,
                       part->len);
    else if (!fold_call(part, f))
        f->broken = true;
    f->broken = f->broken || (text && part->len == 0);
    f->cut = f->cut || !is_whole(part->text, part->len);
    return true;
}

static void line(vug_buf *to, const char *mark, const vug_buf *text)
{
    if (text->len == 0)
        return;
    vug_buf_puts(to, mark);
    vug_buf_append(to, text->ptr, text->len);
    vug_buf_puts(to, "\n");
}

vug_buf answer_parts_spell(const answer_parts *f)
{
    vug_buf to = { 0 };
    line(&to, "T:", &f->thinking);
    line(&to, "C:", &f->content);
    for (size_t i = 0; i < f->n_calls; i++) {
        vug_buf_puts(&to, "F:");
        vug_buf_append(&to, f->call[i].name.ptr, f->call[i].name.len);
        vug_buf_puts(&to, " ");
        vug_buf_append(&to, f->call[i].args.ptr ? f->call[i].args.ptr : "", f->call[i].args.len);
        vug_buf_puts(&to, f->call[i].ended ? "\n" : "..\n");
    }
    vug_buf_puts(&to, "");
    return to;
}

void answer_parts_release(answer_parts *f)
{
    vug_buf_release(&f->content);
    vug_buf_release(&f->thinking);
    for (size_t i = 0; i < MAX_PARSED_CALLS; i++) {
        vug_buf_release(&f->call[i].name);
        vug_buf_release(&f->call[i].args);
    }
    *f = (answer_parts){ 0 };
}
