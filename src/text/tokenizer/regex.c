#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/utf8.h"
#include "text/tokenizer/regex_cost.h"
#include "text/tokenizer/regex_syntax.h"

/*
 * A match is searched for in a small window of the text. If PCRE2 reports that more text
 * could matter (PCRE2_PARTIAL_HARD), it also reports where that match would begin; from there
 * the window is doubled until it is large enough. So the cost of a match depends on what it
 * and its lookahead reach over, not on the rest of the text, and the bytes looked at beyond
 * first windows can be counted: they may be a multiple of the text, but not its square.
 * Within a window PCRE2 counts the steps.
 */

enum {
    FIRST_WINDOW = 256,    /* bytes */
    FAR_WINDOW = 1024,     /* bytes, of an expression that is not linear (regex_cost.c) */
    LOOK_FACTOR = 16,      /* bytes looked at beyond first windows, per byte of the text */
    LOOK_BASE = 1 << 20,   /* plus this many */
    STEP_FACTOR = 8,       /* steps of a match per byte of its window */
    STEP_BASE = 1000,      /* plus this many */
    HEAP_KIB = 64 << 10,   /* of the interpreter, if there is no JIT */
    MAX_LOOKBEHIND = 1000, /* characters */
};

struct vug_regex {
    pcre2_code *code;
    bool linear;
    char what[80]; /* for error messages */
};

static void *allocate_for_pcre2(size_t size, void *user)
{
    (void)user;
    return vug_alloc(1, size);
}

static void free_for_pcre2(void *block, void *user)
{
    (void)user;
    vug_free(block);
}

/* PCRE2 keeps the context alive for as long as objects made with it need it. */
static pcre2_general_context *create_general_context(void)
{
    return pcre2_general_context_create(allocate_for_pcre2, free_for_pcre2, NULL);
}

static vug_status fail_compile(int code, size_t at, vug_str pattern, const char *what, vug_err *err)
{
    unsigned char reason[160] = "";
    if (code == PCRE2_ERROR_HEAP_FAILED || code == PCRE2_ERROR_NOMEMORY)
        return VUG_FAIL_NOMEM(err, what, pattern.len);
    (void)pcre2_get_error_message(code, reason, sizeof(reason));
    return VUG_FAIL(err, VUG_UNSUPPORTED,
                    "%s: the regular expression \"%.*s\" is not supported: %s (near byte %zu of "
                    "its translation)",
                    what, VUG_STR_ARG(pattern), (const char *)reason, at);
}

static vug_status compile_translated(vug_str translated, vug_str pattern, const char *what,
                                     pcre2_code **out, vug_err *err)
{
    pcre2_general_context *general = create_general_context();
    pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
    int code = PCRE2_ERROR_NOMEMORY;
    size_t at = 0;
    *out = NULL;
    if (context) {
        (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        (void)pcre2_set_bsr(context, PCRE2_BSR_UNICODE);
        *out = pcre2_compile((PCRE2_SPTR)translated.ptr, translated.len,
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE |
                                     PCRE2_NEVER_BACKSLASH_C,
                             &code, &at, context);
    }
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    if (!*out)
        return fail_compile(code, at, pattern, what, err);
    /* Without the JIT the interpreter does the same, only slower. */
    (void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    return VUG_OK;
}

static vug_status check_lookbehind(const pcre2_code *code, const char *what, vug_err *err)
{
    uint32_t behind = 0;
    (void)pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &behind);
    if (behind > MAX_LOOKBEHIND)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: the regular expression looks back %u characters, at most %d are "
                        "supported",
                        what, (unsigned)behind, MAX_LOOKBEHIND);
    return VUG_OK;
}

vug_status vug_regex_compile(vug_str pattern, const char *what, vug_regex **out, vug_err *err)
{
    if (pattern.len > VUG_REGEX_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: a regular expression of %zu bytes, at most %zu are supported", what,
                        pattern.len, VUG_REGEX_MAX_BYTES);
    vug_buf translated = { 0 };
    vug_regex *regex = vug_alloc_zero(1, sizeof(*regex));
    vug_status st = regex ? VUG_OK : VUG_FAIL_NOMEM(err, what, sizeof(*regex));
    if (st == VUG_OK)
        st = vug_regex_translate(pattern, what, &translated, err);
    if (st == VUG_OK)
        st = compile_translated((vug_str){ translated.ptr, translated.len }, pattern, what,
                                &regex->code, err);
    if (st == VUG_OK)
        st = check_lookbehind(regex->code, what, err);
    vug_buf_release(&translated);
    if (st != VUG_OK) {
        vug_regex_destroy(regex);
        return st;
    }
    for (size_t i = 0; what[i] && i + 1 < sizeof(regex->what); i++)
        regex->what[i] = what[i];
    regex->linear = vug_regex_is_linear(pattern);
    *out = regex;
    return VUG_OK;
}

void vug_regex_destroy(vug_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    vug_free(regex);
}

/* ---- matching -------------------------------------------------------------- */

void vug_regex_work_release(vug_regex_work *work)
{
    pcre2_match_data_free(work->match);
    pcre2_match_context_free(work->limits);
    *work = (vug_regex_work){ 0 };
}

static bool prepare_work(vug_regex_work *work)
{
    if (work->limits)
        return true;
    pcre2_general_context *general = create_general_context();
    if (general) {
        work->match = pcre2_match_data_create(1, general);
        work->limits = pcre2_match_context_create(general);
    }
    pcre2_general_context_free(general);
    if (!work->match || !work->limits) {
        vug_regex_work_release(work);
        return false;
    }
    (void)pcre2_set_heap_limit(work->limits, HEAP_KIB);
    return true;
}

static vug_status fail_match(const vug_regex *regex, int code, size_t at, vug_err *err)
{
    if (code == PCRE2_ERROR_NOMEMORY)
        return VUG_FAIL_NOMEM(err, regex->what, HEAP_KIB);
    return VUG_FAIL(err, VUG_LIMIT,
                    "%s: the regular expression takes too many steps at byte %zu of a text",
                    regex->what, at);
}

/* The end of a window, at the end of a character. */
static size_t window_end(vug_str text, size_t from, size_t window)
{
    if (window >= text.len - from)
        return text.len;
    size_t end = from + window;
    while (end < text.len && vug_utf8_is_continuation(text.ptr[end]))
        end++;
    return end;
}

/* Matches within a window; `options` are PCRE2's. */
static int match_in_window(const vug_regex *regex, vug_regex_work *work, vug_str text, size_t from,
                           size_t end, uint32_t options)
{
    const uint64_t steps = STEP_BASE + STEP_FACTOR * (uint64_t)(end - from);
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.ptr ? text.ptr : "");
    options |= PCRE2_NO_UTF_CHECK | (end < text.len ? PCRE2_PARTIAL_HARD : 0);
    (void)pcre2_set_match_limit(work->limits, steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX);
    const int n = pcre2_match(regex->code, subject, end, from, options, work->match, work->limits);
    /* The JIT has a small stack; the interpreter uses a heap, which is limited too. */
    if (n != PCRE2_ERROR_JIT_STACKLIMIT)
        return n;
    return pcre2_match(regex->code, subject, end, from, options | PCRE2_NO_JIT, work->match,
                       work->limits);
}

/* Finds the match that begins at `from` if a first window is too small; `*n` becomes
 * PCRE2_ERROR_NOMATCH if there is none. */
static vug_status match_at(const vug_regex *regex, vug_regex_work *work, vug_str text, size_t from,
                           int *n, vug_err *err)
{
    const uint64_t most = LOOK_BASE + LOOK_FACTOR * (uint64_t)text.len;
    size_t window = FIRST_WINDOW;
    do {
        window *= 2;
        const size_t end = window_end(text, from, window);
        work->looked += end - from;
        if (work->looked > most || (window > FAR_WINDOW && !regex->linear))
            return VUG_FAIL(err, VUG_LIMIT,
                            "%s: the regular expression looks too far ahead, at byte %zu of a text",
                            regex->what, from);
        *n = match_in_window(regex, work, text, from, end, PCRE2_ANCHORED);
    } while (*n == PCRE2_ERROR_PARTIAL);
    return VUG_OK;
}

vug_status vug_regex_find(const vug_regex *regex, vug_regex_work *work, vug_str text, size_t from,
                          size_t hit[2], bool *found, vug_err *err)
{
    *found = false;
    if (!prepare_work(work))
        return VUG_FAIL_NOMEM(err, regex->what, sizeof(*work));
    const size_t *at = pcre2_get_ovector_pointer(work->match);
    while (from <= text.len) {
        const size_t end = window_end(text, from, FIRST_WINDOW);
        int n = match_in_window(regex, work, text, from, end, 0);
        size_t next = end < text.len ? end : text.len + 1; /* no match begins before */
        if (n == PCRE2_ERROR_PARTIAL) {
            const size_t start = at[0];
            uint32_t cp;
            VUG_TRY(match_at(regex, work, text, start, &n, err));
            next = start + vug_utf8_decode(text.ptr + start, text.len - start, &cp);
        }
        if (n > 0) {
            hit[0] = at[0];
            hit[1] = at[1];
            *found = true;
            return VUG_OK;
        }
        if (n != PCRE2_ERROR_NOMATCH)
            return fail_match(regex, n, from, err);
        from = next > from ? next : from + 1;
    }
    return VUG_OK;
}
