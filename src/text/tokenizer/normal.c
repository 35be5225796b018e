#include "text/tokenizer/normal.h"

#include <utf8proc.h>

#include "core/text.h"

/*
 * A text is normalized in segments that have nothing to do with each other. Between them
 * lies what no normal form touches, which is copied; a segment is decomposed character
 * by character, put into canonical order, composed if asked for, and written. utf8proc's
 * own loop over a text orders by exchanging neighbours, which takes the square of a run
 * of marks; here a run is sorted by counting.
 */

typedef struct {
    vug_normal_form form;
    vug_buf *to;
    int32_t *cp;      /* [cap] decomposed */
    int32_t *scratch; /* [cap] */
    size_t n, cap;
} segment;

static const struct {
    uint32_t first, last;
} inert[] = {
#define RANGE(first, last) { first, last },
#include "text/unicode_inert.def"
#undef RANGE
};

/* Whether the reference does not know the code point: nothing happens to it. */
static bool is_inert(uint32_t cp)
{
    size_t low = 0, high = sizeof(inert) / sizeof(*inert);
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (inert[mid].last < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return low < sizeof(inert) / sizeof(*inert) && inert[low].first <= cp;
}

static bool composes(vug_normal_form form)
{
    return form == VUG_NFC || form == VUG_NFKC;
}

/* Characters below this are the same in that form, when nothing follows them that they
 * compose with: the first mark is U+0300. */
static uint32_t first_changing(vug_normal_form form)
{
    return form == VUG_NFC ? 0x300 : 0x80;
}

static bool is_ideograph(uint32_t cp)
{
    return cp >= 0x4e00 && cp <= 0x9fff;
}

/* Where a segment may end: neither reordered nor composed with what is before. */
static bool is_boundary(uint32_t cp)
{
    return cp < 0x300 || is_ideograph(cp);
}

bool vug_may_change(vug_normal_form form, vug_str text)
{
    const unsigned char least = form == VUG_NFC ? 0xcc : 0x80; /* leads U+0300.., U+0080.. */
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= least)
            return true;
    }
    return false;
}

static int class_of(int32_t cp)
{
    return utf8proc_get_property(cp)->combining_class;
}

static void put_cp(vug_buf *to, uint32_t cp)
{
    char text[4];
    vug_buf_append(to, text, vug_utf8_put(cp, text));
}

/* ---- a segment ------------------------------------------------------------- */

enum { LONGEST = 32 }; /* code points that one decomposes to; U+FDFA has 18 */

static bool reserve(segment *s)
{
    if (s->cap - s->n >= LONGEST)
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

static void add(segment *s, uint32_t cp)
{
    int last = 0;
    const bool compatible = s->form == VUG_NFKC || s->form == VUG_NFKD;
    const int how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    if (!reserve(s))
        return;
    const utf8proc_ssize_t n = utf8proc_decompose_char((int32_t)cp, s->cp + s->n, LONGEST,
                                                       (utf8proc_option_t)how, &last);
    if (n > 0 && n <= LONGEST)
        s->n += (size_t)n;
    else
        s->cp[s->n++] = (int32_t)cp;
}

/* Sorts cp[from..to), which are all marks, by class and keeps the order within one. */
static void sort_marks(segment *s, size_t from, size_t to)
{
    size_t place[256] = { 0 };
    for (size_t i = from; i < to; i++)
        place[class_of(s->cp[i]) & 0xff]++;
    for (size_t c = 0, at = from; c < 256; c++) {
        const size_t n = place[c];
        place[c] = at;
        at += n;
    }
    for (size_t i = from; i < to; i++)
        s->scratch[place[class_of(s->cp[i]) & 0xff]++] = s->cp[i];
    memcpy(s->cp + from, s->scratch + from, (to - from) * sizeof(*s->cp));
}

static void put_in_order(segment *s)
{
    for (size_t i = 0; i < s->n;) {
        size_t end = i;
        bool ordered = true;
        for (int c, before = 0; end < s->n && (c = class_of(s->cp[end])) != 0; end++) {
            ordered = ordered && before <= c;
            before = c;
        }
        if (!ordered)
            sort_marks(s, i, end);
        i = end > i ? end : i + 1;
    }
}

static void flush(segment *s)
{
    put_in_order(s);
    utf8proc_ssize_t n = (utf8proc_ssize_t)s->n;
    if (n > 0 && composes(s->form))
        n = utf8proc_normalize_utf32(s->cp, n,
                                     (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; i++)
        put_cp(s->to, (uint32_t)s->cp[i]);
    s->n = 0;
}

/* From `at` to the next boundary; returns where that is. */
static size_t put_segment(segment *s, vug_str text, size_t at)
{
    const size_t start = at;
    while (at < text.len) {
        uint32_t cp;
        const size_t n = vug_utf8_next(text.ptr + at, text.len - at, &cp);
        VUG_ASSERT(n > 0);
        if (at > start && is_boundary(cp))
            break;
        at += n;
        if (is_inert(cp)) {
            flush(s);
            put_cp(s->to, cp);
        } else {
            add(s, cp);
        }
    }
    flush(s);
    return at;
}

/* ---- texts ----------------------------------------------------------------- */

void vug_put_normal(vug_normal_form form, vug_str text, vug_buf *to)
{
    segment s = { .form = form, .to = to };
    const uint32_t least = first_changing(form);
    size_t done = 0; /* written */
    size_t last = 0; /* the character before `i` */
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_next(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (cp < least || is_ideograph(cp)) {
            last = i;
            continue;
        }
        const size_t start = i > done && composes(form) ? last : i;
        vug_buf_append(to, text.ptr + done, start - done);
        done = put_segment(&s, text, start);
        i = done;
        n = 0;
    }
    vug_buf_append(to, text.ptr + done, text.len - done);
    vug_free(s.cp);
    vug_free(s.scratch);
}

void vug_put_lowercase(vug_str text, vug_buf *to)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_next(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (cp == 0x130) /* the only one that becomes two (SpecialCasing.txt) */
            vug_buf_puts(to, "i\xcc\x87");
        else
            put_cp(to, (uint32_t)utf8proc_tolower((int32_t)cp));
    }
}

static bool is_mark(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

void vug_put_unmarked(vug_str text, vug_buf *to)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = vug_utf8_next(text.ptr + i, text.len - i, &cp);
        VUG_ASSERT(n > 0);
        if (!is_mark(cp))
            vug_buf_append(to, text.ptr + i, n);
    }
}

bool vug_is_word(uint32_t cp)
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
    default: /* letters in circles are Alphabetic; joiners are Join_Control */
        return is_mark(cp) || (cp >= 0x24b6 && cp <= 0x24e9) || (cp >= 0x1f130 && cp <= 0x1f149) ||
               (cp >= 0x1f150 && cp <= 0x1f169) || (cp >= 0x1f170 && cp <= 0x1f189) ||
               cp == 0x200c || cp == 0x200d;
    }
}
