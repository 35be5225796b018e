#include "text/tokenizer/gguf_token_arrays.h"

#include "core/json.h"
#include "text/tokenizer/spm_pieces.h"

typedef struct {
    uint32_t id;
    vug_str text;
    bool special;
} added_entry;

typedef struct {
    vug_json_reader j;
    vug_gguf_token_arrays *to;
    added_entry *added; /* [n_added] */
    size_t n_added, cap_added, cap_merges;
} arrays_reader;

static bool grow_array(arrays_reader *r, void **ptr, size_t *cap, size_t n, size_t size)
{
    void *grown = vug_grow_array(*ptr, cap, n, size);
    if (grown)
        *ptr = grown;
    else
        vug_json_fail(&r->j, VUG_NOMEM, "out of memory for %zu pieces", n + 1);
    return grown;
}

static void set_piece(arrays_reader *r, int64_t id, vug_str text, vug_spm_piece_kind kind)
{
    if (id >= r->to->n)
        return; /* the embedding has no row for it */
    r->to->piece[id] = text;
    r->to->kind[id] = (int32_t)kind;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void read_added_tokens(arrays_reader *r)
{
    vug_json_reader *j = &r->j;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        added_entry a = { 0 };
        vug_str key;
        vug_json_enter_object(j);
        while (vug_json_key(j, &key)) {
            if (vug_str_is(key, "id"))
                a.id = (uint32_t)vug_json_i64(j, 0, VUG_MAX_IDS - 1);
            else if (vug_str_is(key, "content"))
                a.text = vug_json_string(j);
            else if (vug_str_is(key, "special"))
                a.special = vug_json_bool(j);
            else
                vug_json_skip(j);
        }
        if (grow_array(r, (void **)&r->added, &r->cap_added, r->n_added, sizeof(a)))
            r->added[r->n_added++] = a;
    }
}

static bool is_byte_piece(vug_str s)
{
    return s.len == 6 && vug_str_starts(s, "<0x") && s.ptr[5] == '>';
}

static void read_vocab(arrays_reader *r)
{
    vug_str text;
    vug_json_enter_object(&r->j);
    while (vug_json_key(&r->j, &text)) {
        const int64_t id = vug_json_i64(&r->j, 0, VUG_MAX_IDS - 1);
        set_piece(r, id, text, VUG_PIECE_NORMAL);
    }
}

/* "a b", or ["a","b"]. */
static void read_merges(arrays_reader *r)
{
    vug_json_reader *j = &r->j;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        vug_gguf_merge m = { 0 };
        if (vug_json_peek(j) == VUG_JSON_STRING) {
            const vug_str both = vug_json_string(j);
            const char *space = both.len > 1 ? memchr(both.ptr + 1, ' ', both.len - 1) : NULL;
            m.left = (vug_str){ both.ptr, space ? (size_t)(space - both.ptr) : both.len };
            m.right = vug_str_from(both, m.left.len + 1);
        } else {
            vug_json_enter_array(j);
            for (int i = 0; vug_json_element(j); i++)
                *(i ? &m.right : &m.left) = vug_json_string(j);
        }
        if (grow_array(r, (void **)&r->to->merges, &r->cap_merges, r->to->n_merges, sizeof(m)))
            r->to->merges[r->to->n_merges++] = m;
    }
}

static void read_model(arrays_reader *r)
{
    vug_json_reader *j = &r->j;
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_str_is(key, "type"))
            r->to->bpe = vug_str_is(vug_json_string(j), "BPE");
        else if (vug_str_is(key, "byte_fallback"))
            r->to->byte_fallback = vug_json_bool(j);
        else if (vug_str_is(key, "ignore_merges") && vug_json_peek(j) != VUG_JSON_NULL)
            r->to->ignore_merges = vug_json_bool(j);
        else if (vug_str_is(key, "unk_token") && vug_json_peek(j) == VUG_JSON_STRING)
            r->to->unknown = vug_json_string(j);
        else if (vug_str_is(key, "vocab") && vug_json_peek(j) == VUG_JSON_OBJECT)
            read_vocab(r);
        else if (vug_str_is(key, "merges"))
            read_merges(r);
        else
            vug_json_skip(j);
    }
}

static bool read_flag(const vug_jv *v, const char *key, bool fallback)
{
    const vug_jv *flag = vug_jv_get(v, key);
    return vug_jv_is(flag, VUG_JSON_BOOL) ? flag->boolean : fallback;
}

static bool has_string(const vug_jv *v, const char *key, const char *text)
{
    const vug_jv *member = vug_jv_get(v, key);
    return vug_jv_is(member, VUG_JSON_STRING) && vug_str_is(member->str, text);
}

static void read_pre_tokenizer_step(arrays_reader *r, const vug_jv *v)
{
    const vug_jv *regex = vug_jv_get(vug_jv_get(v, "pattern"), "Regex");
    if (has_string(v, "type", "ByteLevel")) {
        r->to->byte_level = true;
        r->to->n_splits += read_flag(v, "use_regex", true);
        r->to->other = r->to->other || read_flag(v, "add_prefix_space", true);
    } else if (has_string(v, "type", "Split") && vug_jv_is(regex, VUG_JSON_STRING) &&
               has_string(v, "behavior", "Isolated") && !read_flag(v, "invert", false)) {
        r->to->regex = regex->str;
        r->to->n_splits++;
    } else if (has_string(v, "type", "Metaspace")) {
        r->to->prefix = r->to->prefix || !has_string(v, "prepend_scheme", "never");
    } else {
        r->to->other = true;
    }
}

static void read_normalizer_step(arrays_reader *r, const vug_jv *v)
{
    if (has_string(v, "type", "Prepend"))
        r->to->prefix = true;
    else if (!has_string(v, "type", "NFC"))
        r->to->other = true;
}

/* Reads each step of a Sequence, or the only one. */
static void read_steps(arrays_reader *r, const char *list,
                       void read(arrays_reader *r, const vug_jv *v))
{
    const vug_jv *v = vug_json_value(&r->j);
    if (!has_string(v, "type", "Sequence")) {
        if (vug_jv_is(v, VUG_JSON_OBJECT))
            read(r, v);
        return;
    }
    const vug_jv *steps = vug_jv_get(v, list);
    for (const vug_jv *each = steps ? steps->child : NULL; each; each = each->next)
        read(r, each);
}

static void read_top(arrays_reader *r)
{
    vug_str key;
    vug_json_enter_object(&r->j);
    while (vug_json_key(&r->j, &key)) {
        if (vug_str_is(key, "added_tokens"))
            read_added_tokens(r);
        else if (vug_str_is(key, "model"))
            read_model(r);
        else if (vug_str_is(key, "pre_tokenizer"))
            read_steps(r, "pretokenizers", read_pre_tokenizer_step);
        else if (vug_str_is(key, "normalizer"))
            read_steps(r, "normalizers", read_normalizer_step);
        else
            vug_json_skip(&r->j);
    }
}

/* ---- kinds ---------------------------------------------------------------------------- */

/* llama.cpp expects spaces instead of U+2581 in user-defined pieces. */
static vug_str metaspaces_to_spaces(arrays_reader *r, vug_str text)
{
    static const char block[] = "\xe2\x96\x81";
    char *to = vug_arena_alloc(&r->to->arena, text.len + 1, 1);
    size_t n = 0;
    if (!to) {
        vug_json_fail(&r->j, VUG_NOMEM, "out of memory for a token of %zu bytes", text.len);
        return text;
    }
    for (size_t i = 0; i < text.len; n++) {
        const bool space = text.len - i >= 3 && memcmp(text.ptr + i, block, 3) == 0;
        const char c = text.ptr[i];
        to[n] = c;
        if (space)
            to[n] = ' ';
        i += space ? 3 : 1;
    }
    return (vug_str){ to, n };
}

static void set_kinds(arrays_reader *r)
{
    for (int64_t id = 0; id < r->to->n; id++) {
        if (!r->to->piece[id].ptr)
            r->to->kind[id] = VUG_PIECE_UNUSED;
        else if (r->to->byte_fallback && is_byte_piece(r->to->piece[id]))
            r->to->kind[id] = VUG_PIECE_BYTE;
    }
    for (size_t i = 0; i < r->n_added; i++) {
        const added_entry *a = &r->added[i];
        const vug_str text = a->special ? a->text : metaspaces_to_spaces(r, a->text);
        set_piece(r, a->id, text, a->special ? VUG_PIECE_CONTROL : VUG_PIECE_USER_DEFINED);
    }
}

/* ---- the whole ---------------------------------------------------------------------------- */

vug_status vug_gguf_token_arrays_read(vug_gguf_token_arrays *out, int64_t n_vocab, vug_str json,
                                      const char *name, vug_err *err)
{
    *out = (vug_gguf_token_arrays){ .n = n_vocab };
    out->piece = vug_alloc_zero((size_t)n_vocab, sizeof(*out->piece));
    out->kind = vug_alloc_zero((size_t)n_vocab, sizeof(*out->kind));
    if (!out->piece || !out->kind)
        return VUG_FAIL_NOMEM(err, name, (uint64_t)n_vocab * sizeof(*out->piece));
    arrays_reader r = { .j = vug_json_reader_over(json, name, &out->arena), .to = out };
    read_top(&r);
    set_kinds(&r);
    vug_free(r.added);
    return vug_json_finish(&r.j, err);
}

void vug_gguf_token_arrays_release(vug_gguf_token_arrays *a)
{
    vug_free(a->piece);
    vug_free(a->kind);
    vug_free(a->merges);
    vug_arena_release(&a->arena);
    *a = (vug_gguf_token_arrays){ 0 };
}
