#include "text/tokenizer/unicode_normalize.h"

#include <utf8proc.h>

#include "core/utf8.h"

/*
 * A text is normalized in independent segments. The text between them, which no form changes,
 * is copied. A segment is decomposed character by character, put into canonical order,
 * composed if the form asks for it, and appended. utf8proc's own normalization orders marks
 * by exchanging neighbours, which is quadratic in a run of marks; here a counting sort is used.
 */

typedef struct {
    vug_unicode_form form;
    vug_buf *to;
    int32_t *cp;      /* [cap] decomposed */
    int32_t *scratch; /* [cap] */
    size_t n, cap;
} norm_segment;

static const struct {
    uint32_t first, last;
} unknown_ranges[] = {
#define RANGE(first, last) { first, last },
#include "text/unicode_unnormalized.def"
#undef RANGE
};

/* Whether the reference does not know the code point, and so leaves it as it is. */
static bool is_unknown(uint32_t cp)
{
    size_t low = 0, high = sizeof(unknown_ranges) / sizeof(*unknown_ranges);
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (unknown_ranges[mid].last < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return low < sizeof(unknown_ranges) / sizeof(*unknown_ranges) &&
           unknown_ranges[low].first <= cp;
}

static bool composes(vug_unicode_form form)
{
    return form == VUG_NFC || form == VUG_NFKC;
}

/* Characters below this do not change, unless they compose with a following mark. The first
 * mark is U+0300. */
static uint32_t first_changing(vug_unicode_form form)
{
    return form == VUG_NFC ? 0x300 : 0x80;
}

static bool is_ideograph(uint32_t cp)
{
    return cp >= 0x4e00 && cp <= 0x9fff;
}

/* Whether a segment may end before this character: it is neither reordered nor composed with
 * the previous ones. */
static bool is_boundary(uint32_t cp)
{
    return cp < 0x300 || is_ideograph(cp);
}

bool vug_unicode_may_change(vug_unicode_form form, vug_str text)
{
    const unsigned char least =
            form == VUG_NFC ? 0xcc : 0x80; /* first byte of U+0300.., of U+0080.. */
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= least)
            return true;
    }
    return false;
}

static int combining_class(int32_t cp)
{
    return utf8proc_get_property(cp)->combining_class;
}

static void append_code_point(vug_buf *to, uint32_t cp)
{
    char text[4];
    vug_buf_append(to, text, vug_utf8_encode(cp, text));
}

/* ---- segments ------------------------------------------------------------- */

enum { MAX_DECOMPOSED = 32 }; /* code points of one decomposition; U+FDFA has 18 */

static bool reserve_segment(norm_segment *s)
{
    if (s->cap - s->n >= MAX_DECOMPOSED)
        return true;
    const size_t cap = s->cap ? 2 * s->cap : 256;
    int32_t *cp = vug_realloc(s->cp, cap, sizeof(*cp));
    if (cp)
        s->cp = cp;
    int32_t *scratch = cp ? vug_realloc(s->scratch, cap, sizeof(*scratch)) : NULL;
    if (!scratch) {
        s->to->bad = true;
        return false;
    }
    s->scratch = scratch;
    s->cap = cap;
    return true;
}

static void append_decomposed(norm_segment *s, uint32_t cp)
{
    int last = 0;
    const bool compatible = s->form == VUG_NFKC || s->form == VUG_NFKD;
    const int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    if (!reserve_segment(s))
        return;
    const utf8proc_ssize_t n = utf8proc_decompose_char((int32_t)cp, s->cp + s->n, MAX_DECOMPOSED,
                                                       (utf8proc_option_t)options, &last);
    if (n > 0 && n <= MAX_DECOMPOSED)
        s->n += (size_t)n;
    else
        s->cp[s->n++] = (int32_t)cp;
}

/* Sorts cp[from..to), which are all marks, by combining class; the sort is stable. */
static void sort_marks(norm_segment *s, size_t from, size_t to)
{
    size_t place[256] = { 0 };
    for (size_t i = from; i < to; i++)
        place[combining_class(s->cp[i]) & 0xff]++;
    for (size_t c = 0, at = from; c < 256; c++) {
        const size_t n = place[c];
        place[c] = at;
        at += n;
    }
    for (size_t i = from; i < to; i++)
        s->scratch[place[combining_class(s->cp[i]) & 0xff]++] = s->cp[i];
    memcpy(s->cp + from, s->scratch + from, (to - from) * sizeof(*s->cp));
}

static void sort_all_marks(norm_segment *s)
{
    for (size_t i = 0; i < s->n;) {
        size_t end = i;
        bool ordered = true;
        for (int c, before = 0; end < s->n && (c = combining_class(s->cp[end])) != 0; end++) {
            ordered = ordered && before <= c;
            before = c;
        }
        if (!ordered)
            sort_marks(s, i, end);
        i = end > i ? end : i + 1;
    }
}

static void flush_segment(norm_segment *s)
{
    sort_all_marks(s);
    utf8proc_ssize_t n = (utf8proc_ssize_t)s->n;
    if (n > 0 && composes(s->form))
        n = utf8proc_normalize_utf32(s->cp, n,
                                     (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; i++)
        append_code_point(s->to, (uint32_t)s->cp[i]);
    s->n = 0;
}

/* Appends the segment from `at` to the next boundary, and returns that. */
static size_t append_segment(norm_segment *s, vug_str text, size_t at)
{
    const size_t start = at;
    while (at < text.len) {
        uint32_t cp;
        const size_t n = vug_utf8_decode(text.ptr + at, text.len - at, &cp);
        VUG_ASSERT(n > 0);
        if (at > start && is_boundary(cp))
            break;
        at += n;
        if (is_unknown(cp)) {
            flush_segment(s);
            append_code_point(s->to, cp);
        } else {
            append_decomposed(s, cp);
        }
    }
    flush_segment(s);
    return at;
}

/* ---- texts ----------------------------------------------------------------- */

void vug_unicode_append_form(vug_unicode_form form, vug_str text, vug_buf *to)
{
    norm_segment s = { .form = form, .to = to };
    const uint32_t least = first_changing(form);
    size_t done = 0; /* end of the part that is appended */
    size_t last = 0; /* start of the character before `i` */
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_decode(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (cp < least || is_ideograph(cp)) {
            last = i;
            continue;
        }
        const size_t start = i > done && composes(form) ? last : i;
        vug_buf_append(to, text.ptr + done, start - done);
        done = append_segment(&s, text, start);
        i = done;
        n = 0;
    }
    vug_buf_append(to, text.ptr + done, text.len - done);
    vug_free(s.cp);
    vug_free(s.scratch);
}

void vug_unicode_append_lowercase(vug_str text, vug_buf *to)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_decode(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (cp == 0x130) /* the only one whose lower case is two (SpecialCasing.txt) */
            vug_buf_puts(to, "i\xcc\x87");
        else
            append_code_point(to, (uint32_t)utf8proc_tolower((int32_t)cp));
    }
}

static bool is_mark(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

void vug_unicode_append_unaccented(vug_str text, vug_buf *to)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_decode(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (!is_mark(cp))
            vug_buf_append(to, text.ptr + i, n);
    }
}

bool vug_unicode_is_word(uint32_t cp)
{
    switch (utf8proc_category((int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default: /* circled letters are Alphabetic; joiners are Join_Control */
        return is_mark(cp) || (cp >= 0x24b6 && cp <= 0x24e9) || (cp >= 0x1f130 && cp <= 0x1f149) ||
               (cp >= 0x1f150 && cp <= 0x1f169) || (cp >= 0x1f170 && cp <= 0x1f189) ||
               cp == 0x200c || cp == 0x200d;
    }
}
