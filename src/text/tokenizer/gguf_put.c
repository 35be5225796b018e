/*
 * A tokenizer.json as the metadata of a GGUF file: whole, as vug reads it again, and as the
 * arrays of pieces, kinds and merges that llama.cpp reads (its conversion/base.py,
 * set_vocab; src/llama-vocab.cpp).
 */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/mem.h"
#include "text/tokenizer/splits.h"
#include "text/tokenizer/spm_pieces.h"

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    uint32_t id;
    vug_str text;
    bool special;
} added;

typedef struct {
    vug_str left, right;
} merge;

typedef struct {
    vug_arena arena;
    vug_json j;
    int64_t n;      /* ids */
    vug_str *piece; /* [n]; ptr NULL: no token has the id */
    int32_t *kind;  /* [n] */
    float *score;   /* [n] */
    merge *merges;  /* [n_merges] */
    added *added;   /* [n_added] */
    size_t n_merges, cap_merges, n_added, cap_added;
    bool bpe, byte_fallback, byte_level, ignore_merges;
    bool prefix; /* a space comes before every text */
    bool other;  /* of the steps, something that no name stands for */
    int n_splits;
    vug_str unknown, regex;
} reader;

static bool grow(reader *r, void **ptr, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    const size_t wanted = *cap ? 2 * *cap : 1024;
    void *grown = vug_realloc(*ptr, wanted, size);
    if (!grown) {
        vug_json_fail(&r->j, VUG_NOMEM, "out of memory for %zu pieces", wanted);
        return false;
    }
    *ptr = grown;
    *cap = wanted;
    return true;
}

static void set_piece(reader *r, int64_t id, vug_str text, vug_piece_kind kind)
{
    if (id >= r->n)
        return; /* no row of the embedding is its own */
    r->piece[id] = text;
    r->kind[id] = (int32_t)kind;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void read_added(reader *r)
{
    vug_json *j = &r->j;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        added a = { 0 };
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
        if (grow(r, (void **)&r->added, &r->cap_added, r->n_added, sizeof(a)))
            r->added[r->n_added++] = a;
    }
}

static bool is_byte_piece(vug_str s)
{
    return s.len == 6 && vug_str_starts(s, "<0x") && s.ptr[5] == '>';
}

static void read_vocab(reader *r)
{
    vug_str text;
    vug_json_enter_object(&r->j);
    while (vug_json_key(&r->j, &text)) {
        const int64_t id = vug_json_i64(&r->j, 0, VUG_MAX_IDS - 1);
        set_piece(r, id, text, VUG_PIECE_NORMAL);
    }
}

/* "a b", or ["a","b"]. */
static void read_merges(reader *r)
{
    vug_json *j = &r->j;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        merge m = { 0 };
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
        if (grow(r, (void **)&r->merges, &r->cap_merges, r->n_merges, sizeof(m)))
            r->merges[r->n_merges++] = m;
    }
}

static void read_model(reader *r)
{
    vug_json *j = &r->j;
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_str_is(key, "type"))
            r->bpe = vug_str_is(vug_json_string(j), "BPE");
        else if (vug_str_is(key, "byte_fallback"))
            r->byte_fallback = vug_json_bool(j);
        else if (vug_str_is(key, "ignore_merges") && vug_json_peek(j) != VUG_JSON_NULL)
            r->ignore_merges = vug_json_bool(j);
        else if (vug_str_is(key, "unk_token") && vug_json_peek(j) == VUG_JSON_STRING)
            r->unknown = vug_json_string(j);
        else if (vug_str_is(key, "vocab") && vug_json_peek(j) == VUG_JSON_OBJECT)
            read_vocab(r);
        else if (vug_str_is(key, "merges"))
            read_merges(r);
        else
            vug_json_skip(j);
    }
}

static bool is_true(const vug_jv *v, const char *key, bool otherwise)
{
    const vug_jv *flag = vug_jv_get(v, key);
    return vug_jv_is(flag, VUG_JSON_BOOL) ? flag->boolean : otherwise;
}

static bool says(const vug_jv *v, const char *key, const char *text)
{
    const vug_jv *member = vug_jv_get(v, key);
    return vug_jv_is(member, VUG_JSON_STRING) && vug_str_is(member->str, text);
}

static void read_split(reader *r, const vug_jv *v)
{
    const vug_jv *regex = vug_jv_get(vug_jv_get(v, "pattern"), "Regex");
    if (says(v, "type", "ByteLevel")) {
        r->byte_level = true;
        r->n_splits += is_true(v, "use_regex", true);
        r->other = r->other || is_true(v, "add_prefix_space", true);
    } else if (says(v, "type", "Split") && vug_jv_is(regex, VUG_JSON_STRING) &&
               says(v, "behavior", "Isolated") && !is_true(v, "invert", false)) {
        r->regex = regex->str;
        r->n_splits++;
    } else if (says(v, "type", "Metaspace")) {
        r->prefix = r->prefix || !says(v, "prepend_scheme", "never");
    } else {
        r->other = true;
    }
}

static void read_normal(reader *r, const vug_jv *v)
{
    if (says(v, "type", "Prepend"))
        r->prefix = true;
    else if (!says(v, "type", "NFC"))
        r->other = true;
}

/* Each of a Sequence, or the one there is. */
static void read_steps(reader *r, const char *list, void read(reader *r, const vug_jv *v))
{
    const vug_jv *v = vug_json_value(&r->j);
    if (!says(v, "type", "Sequence")) {
        if (vug_jv_is(v, VUG_JSON_OBJECT))
            read(r, v);
        return;
    }
    const vug_jv *steps = vug_jv_get(v, list);
    for (const vug_jv *each = steps ? steps->child : NULL; each; each = each->next)
        read(r, each);
}

static void read_top(reader *r)
{
    vug_str key;
    vug_json_enter_object(&r->j);
    while (vug_json_key(&r->j, &key)) {
        if (vug_str_is(key, "added_tokens"))
            read_added(r);
        else if (vug_str_is(key, "model"))
            read_model(r);
        else if (vug_str_is(key, "pre_tokenizer"))
            read_steps(r, "pretokenizers", read_split);
        else if (vug_str_is(key, "normalizer"))
            read_steps(r, "normalizers", read_normal);
        else
            vug_json_skip(&r->j);
    }
}

/* ---- kinds and scores --------------------------------------------------------------------- */

/* Spaces of a piece that a user added are spaces there. */
static vug_str with_spaces(reader *r, vug_str text)
{
    static const char block[] = "\xe2\x96\x81";
    char *to = vug_arena_alloc(&r->arena, text.len + 1, 1);
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

static void set_kinds(reader *r)
{
    for (int64_t id = 0; id < r->n; id++) {
        if (!r->piece[id].ptr)
            r->kind[id] = VUG_PIECE_UNUSED;
        else if (r->byte_fallback && is_byte_piece(r->piece[id]))
            r->kind[id] = VUG_PIECE_BYTE;
    }
    for (size_t i = 0; i < r->n_added; i++) {
        const added *a = &r->added[i];
        const vug_str text = a->special ? a->text : with_spaces(r, a->text);
        set_piece(r, a->id, text, a->special ? VUG_PIECE_CONTROL : VUG_PIECE_USER);
    }
}

static int by_text(const void *a, const void *b)
{
    const vug_str *x = a, *y = b;
    const size_t n = x->len < y->len ? x->len : y->len;
    const int order = n ? memcmp(x->ptr, y->ptr, n) : 0;
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

typedef struct {
    vug_str text; /* first: they are sorted by it */
    int64_t id;
} named;

static int64_t find_id(const named *row, int64_t n, vug_str text)
{
    const named key = { text, 0 };
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (by_text(&row[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && vug_str_equal(row[low].text, text) ? row[low].id : -1;
}

/* Minus the rank of the first merge that makes a piece: what joins first has the best
 * score, as SentencePiece has it. */
static void set_scores(reader *r, const named *row)
{
    char text[2 * 256];
    for (size_t i = r->n_merges; i-- > 0;) {
        const merge *m = &r->merges[i];
        if (m->left.len + m->right.len > sizeof(text))
            continue;
        if (m->left.len)
            memcpy(text, m->left.ptr, m->left.len);
        if (m->right.len)
            memcpy(text + m->left.len, m->right.ptr, m->right.len);
        const int64_t id = find_id(row, r->n, (vug_str){ text, m->left.len + m->right.len });
        if (id >= 0)
            r->score[id] = -(float)(i + 1);
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put_pieces(const reader *r, vug_gguf_builder *to)
{
    vug_gguf_begin_strings(to, KEY("tokens"), (uint64_t)r->n);
    for (int64_t id = 0; id < r->n; id++) {
        char unused[32];
        (void)snprintf(unused, sizeof(unused), "[PAD%lld]", (long long)id);
        vug_gguf_put_element(to, r->piece[id].ptr ? r->piece[id] : vug_str_of(unused));
    }
    vug_gguf_put_i32s(to, KEY("token_type"), r->kind, (size_t)r->n);
    if (r->byte_fallback)
        vug_gguf_put_f32s(to, KEY("scores"), r->score, (size_t)r->n);
    vug_buf text = { 0 };
    vug_gguf_begin_strings(to, KEY("merges"), r->n_merges);
    for (size_t i = 0; i < r->n_merges; i++) {
        text.len = 0;
        vug_buf_append(&text, r->merges[i].left.ptr, r->merges[i].left.len);
        vug_buf_puts(&text, " ");
        vug_buf_append(&text, r->merges[i].right.ptr, r->merges[i].right.len);
        to->bytes.bad |= text.bad;
        vug_gguf_put_element(to, (vug_str){ text.ptr, text.len });
    }
    vug_buf_release(&text);
}

/* What llama.cpp calls a tokenizer of this kind; NULL: nothing. */
typedef struct {
    const char *model, *pre;
} kind_names;

static kind_names names_of(const reader *r)
{
    /* Merges over text as it is, with bytes to fall back on, are called by the first of its
     * architectures that had them, and scores by the first of all. */
    if (r->bpe && r->byte_fallback)
        return r->prefix ? (kind_names){ "llama", "default" } : (kind_names){ "gemma4", "gemma4" };
    if (!r->bpe || !r->byte_level || r->other || r->prefix || r->n_splits != 1)
        return (kind_names){ 0 };
    const vug_split_rule *rule = vug_split_by_expression(r->regex, r->ignore_merges);
    return rule ? (kind_names){ "gpt2", rule->name } : (kind_names){ 0 };
}

static void put_ids(const reader *r, const vug_tokenizer *t, const named *row, vug_gguf_builder *to)
{
    size_t n = 0;
    const int32_t *prefix = t ? vug_tokenizer_prefix(t, &n) : NULL;
    const int64_t unknown = r->unknown.len ? find_id(row, r->n, r->unknown) : -1;
    const int64_t padding = find_id(row, r->n, vug_str_of("<pad>"));
    if (n > 0)
        vug_gguf_put_u32(to, KEY("bos_token_id"), (uint32_t)prefix[0]);
    if (unknown >= 0)
        vug_gguf_put_u32(to, KEY("unknown_token_id"), (uint32_t)unknown);
    if (padding >= 0)
        vug_gguf_put_u32(to, KEY("padding_token_id"), (uint32_t)padding);
    vug_gguf_put_bool(to, KEY("add_bos_token"), n > 0);
    vug_gguf_put_bool(to, KEY("add_eos_token"), false);
}

static void put_arrays(reader *r, const vug_tokenizer *t, kind_names names, named *row,
                       vug_gguf_builder *to)
{
    for (int64_t id = 0; id < r->n; id++)
        row[id] = (named){ r->piece[id].ptr ? r->piece[id] : vug_str_of(""), id };
    qsort(row, (size_t)r->n, sizeof(*row), by_text);
    set_scores(r, row);
    const int64_t unknown = r->unknown.len ? find_id(row, r->n, r->unknown) : -1;
    if (unknown >= 0)
        r->kind[unknown] = VUG_PIECE_UNKNOWN;
    vug_gguf_put_string(to, KEY("model"), vug_str_of(names.model));
    vug_gguf_put_string(to, KEY("pre"), vug_str_of(names.pre));
    put_pieces(r, to);
    put_ids(r, t, row, to);
    if (r->byte_fallback)
        vug_gguf_put_bool(to, KEY("add_space_prefix"), r->prefix);
}

static vug_status read_all(reader *r, vug_str json, const char *name, vug_err *err)
{
    r->j = vug_json_over(json, name, &r->arena);
    r->piece = vug_alloc_zero((size_t)r->n, sizeof(*r->piece));
    r->kind = vug_alloc_zero((size_t)r->n, sizeof(*r->kind));
    r->score = vug_alloc_zero((size_t)r->n, sizeof(*r->score));
    if (!r->piece || !r->kind || !r->score)
        return VUG_FAIL_NOMEM(err, name, (uint64_t)r->n * sizeof(*r->piece));
    read_top(r);
    set_kinds(r);
    return vug_json_finish(&r->j, err);
}

vug_status vug_tokenizer_put_gguf(const vug_tokenizer_file *file, int64_t n_vocab,
                                  vug_gguf_builder *to, vug_err *err)
{
    reader r = { .n = n_vocab };
    vug_status st = read_all(&r, file->json, file->name, err);
    named *row = NULL;
    const kind_names names = names_of(&r);
    if (st == VUG_OK && names.model) {
        row = vug_alloc((size_t)n_vocab, sizeof(*row));
        if (row)
            put_arrays(&r, file->tokenizer, names, row, to);
        else
            st = VUG_FAIL_NOMEM(err, file->name, (uint64_t)n_vocab * sizeof(*row));
    }
    if (st == VUG_OK)
        vug_gguf_put_string(to, "tokenizer.huggingface.json", file->json);
    vug_free(row);
    vug_free(r.piece);
    vug_free(r.kind);
    vug_free(r.score);
    vug_free(r.merges);
    vug_free(r.added);
    vug_arena_release(&r.arena);
    return st;
}
