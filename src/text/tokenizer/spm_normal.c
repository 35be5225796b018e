#include "text/tokenizer/spm_normal.h"

#include "core/text.h"

/*
 * As normalizer.cc, Normalize and NormalizePrefix, of SentencePiece. The map of characters
 * is a trie in a double array, in the form of Darts-clone (darts.h, DoubleArrayUnit): a
 * unit says where its children are, of which byte it is itself the child, and whether
 * a text ends at it, whose value is in its child of byte 0. From node `at` with the offset
 * of its unit, the child of byte c is at ^ offset ^ c.
 */

/* Bytes of a key and of what it maps to; of the published maps, some 20 and 60. In a hostile
 * one, every place of a text would otherwise walk to its end. */
enum { MAX_KEY = 256, MAX_TEXT = 1024 };

static const vug_str mark = { "\xe2\x96\x81", 3 }, bad = { "\xef\xbf\xbd", 3 }, space = { " ", 1 };

vug_status vug_spm_charsmap(vug_spm_normal *how, vug_bytes map, const char *file, vug_err *err)
{
    vug_reader r = vug_reader_over(map);
    if (map.len == 0)
        return VUG_OK;
    const vug_bytes units = vug_read_span(&r, vug_read_u32le(&r));
    const vug_bytes texts = vug_read_span(&r, vug_reader_left(&r));
    /* The last text must end. */
    if (r.bad || units.len == 0 || units.len % 4 != 0 || texts.len == 0 ||
        texts.ptr[texts.len - 1] != '\0')
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: precompiled_charsmap, of %zu bytes, is no double array with its texts",
                        file, map.len);
    how->units = (vug_str){ (const char *)units.ptr, units.len };
    how->texts = (vug_str){ (const char *)texts.ptr, texts.len };
    return VUG_OK;
}

/* ---- one step ------------------------------------------------------------------------- */

/* What becomes of the beginning of a text. */
typedef struct {
    vug_str text;
    size_t taken; /* bytes of the beginning; at least 1 */
} step;

static bool unit_at(const vug_spm_normal *how, uint64_t at, uint32_t *unit)
{
    if (at >= how->units.len / 4)
        return false;
    vug_reader r = vug_reader_over(
            (vug_bytes){ (const uint8_t *)how->units.ptr + 4 * at, sizeof(uint32_t) });
    *unit = vug_read_u32le(&r);
    return true;
}

static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The longest key that begins the text; false where there is none, or what it maps to is
 * no text. */
static bool find_mapped(const vug_spm_normal *how, vug_str text, step *out)
{
    const uint32_t label = 1u << 31 | 0xff, has_text = 1u << 8;
    uint32_t unit, value, longest = 0;
    size_t n = 0;
    if (!unit_at(how, 0, &unit))
        return false;
    uint64_t at = offset_of(unit);
    for (size_t i = 0; i < text.len && i < MAX_KEY; i++) {
        const uint8_t byte = (uint8_t)text.ptr[i];
        at ^= byte;
        if (!unit_at(how, at, &unit) || (unit & label) != byte)
            break;
        at ^= offset_of(unit);
        if ((unit & has_text) && unit_at(how, at, &value)) {
            longest = value & ~(1u << 31);
            n = i + 1;
        }
    }
    if (n == 0 || longest >= how->texts.len)
        return false;
    const size_t left = how->texts.len - longest;
    const char *from = how->texts.ptr + longest;
    const char *end = memchr(from, '\0', left < MAX_TEXT ? left : MAX_TEXT);
    *out = (step){ { from, end ? (size_t)(end - from) : 0 }, n };
    return end && vug_utf8_valid(out->text);
}

static step next_step(const vug_spm_normal *how, vug_str text)
{
    const vug_added_token *user = vug_matcher_longest(&how->user, text);
    uint32_t cp;
    step out;
    if (user)
        return (step){ { text.ptr, user->pattern.len }, user->pattern.len };
    if (how->units.len > 0 && find_mapped(how, text, &out))
        return out;
    /* Of what is not UTF-8, every byte by itself. */
    const size_t n = vug_utf8_next(text.ptr, text.len, &cp);
    return n > 0 ? (step){ { text.ptr, n }, n } : (step){ bad, 1 };
}

/* ---- the whole ------------------------------------------------------------------------ */

static void put(vug_buf *to, vug_str s)
{
    vug_buf_append(to, s.ptr, s.len);
}

static void put_escaped(const vug_spm_normal *how, vug_str text, vug_buf *to)
{
    for (size_t at = 0; at < text.len;) {
        const char *found = how->escape ? memchr(text.ptr + at, ' ', text.len - at) : NULL;
        const size_t end = found ? (size_t)(found - text.ptr) : text.len;
        vug_buf_append(to, text.ptr + at, end - at);
        if (found)
            put(to, mark);
        at = found ? end + 1 : end;
    }
}

static vug_str without_heading_space(const vug_spm_normal *how, vug_str text)
{
    while (text.len > 0) {
        const step s = next_step(how, text);
        if (!vug_str_equal(s.text, space))
            break;
        text = vug_str_from(text, s.taken);
    }
    return text;
}

void vug_spm_normalize(const vug_spm_normal *how, vug_str text, vug_buf *to)
{
    const vug_str blank = how->escape ? mark : space;
    if (how->remove_extra)
        text = without_heading_space(how, text);
    if (text.len == 0)
        return;
    if (how->dummy_prefix && !how->suffix)
        put(to, blank);
    bool after_space = how->remove_extra;
    while (text.len > 0 && !to->bad) {
        const step s = next_step(how, text);
        vug_str out = s.text;
        while (after_space && vug_str_starts(out, " "))
            out = vug_str_from(out, 1);
        put_escaped(how, out, to);
        if (out.len > 0)
            after_space = how->remove_extra && vug_str_ends(out, " ");
        text = vug_str_from(text, s.taken);
    }
    while (how->remove_extra && vug_str_ends((vug_str){ to->ptr, to->len }, blank.ptr))
        to->len -= blank.len;
    if (how->dummy_prefix && how->suffix)
        put(to, blank);
}
