#include <math.h>

#include "text/tokenizer/pre_tokenizer_presets.h"
#include "text/tokenizer/spm_pieces.h"

/*
 * The tokenizer inside a GGUF file. vug stores a tokenizer.json as it is. Other programs
 * store arrays, of three kinds:
 *
 *     llama    SentencePiece pieces with scores
 *     gemma4   BPE over text with U+2581 for spaces and byte fallback
 *     gpt2     byte-level BPE, with a pre-tokenizer that `pre` names
 *
 * Where llama.cpp and the family's tokenizer.json differ, the latter counts: texts for Qwen
 * become NFC, and texts for Gemma are not split at newlines.
 */

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    const vug_gguf *gguf;
    vug_tokenizer *t;
    const vug_gguf_value *tokens;
    const vug_gguf_value *scores, *kinds; /* arrays of as many elements, or NULL */
    vug_err *err;
} gguf_source;

/* ---- keys ------------------------------------------------------------------------ */

static const vug_gguf_value *find_key(const vug_gguf *gguf, const char *key)
{
    return vug_gguf_find(gguf, vug_str_of(key));
}

static vug_status fail_key(const gguf_source *p, const char *key, const char *wanted)
{
    const vug_gguf_value *v = find_key(p->gguf, key);
    if (!v)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is missing", p->gguf->file, key);
    return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %s, expected %s", p->gguf->file, key,
                    vug_gguf_describe(v).text, wanted);
}

static vug_status read_flag(const gguf_source *p, const char *key, bool *out)
{
    const vug_gguf_value *v = find_key(p->gguf, key);
    if (v && (v->is_array || !vug_gguf_bool(v, 0, out)))
        return fail_key(p, key, "true or false");
    return VUG_OK;
}

/* A token id; `fallback` if the key is missing. */
static vug_status read_id(const gguf_source *p, const char *key, uint32_t fallback, uint32_t *out)
{
    const vug_gguf_value *v = find_key(p->gguf, key);
    uint64_t id = fallback;
    if (v && (v->is_array || !vug_gguf_u64(v, 0, &id)))
        return fail_key(p, key, "a token id");
    if (id >= p->tokens->count)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %llu, but there are %llu tokens",
                        p->gguf->file, key, (unsigned long long)id,
                        (unsigned long long)p->tokens->count);
    *out = (uint32_t)id;
    return VUG_OK;
}

static vug_status find_arrays(gguf_source *p)
{
    p->tokens = find_key(p->gguf, KEY("tokens"));
    p->scores = find_key(p->gguf, KEY("scores"));
    p->kinds = find_key(p->gguf, KEY("token_type"));
    if (!p->tokens || !p->tokens->is_array || p->tokens->type != VUG_GGUF_STRING)
        return fail_key(p, KEY("tokens"), "an array of strings");
    if (p->tokens->count == 0 || p->tokens->count >= VUG_MAX_IDS)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: %llu tokens, expected 1 to %d", p->gguf->file,
                        (unsigned long long)p->tokens->count, VUG_MAX_IDS - 1);
    if (p->scores && (!p->scores->is_array || p->scores->count != p->tokens->count))
        return fail_key(p, KEY("scores"), "an array with a score for each token");
    if (p->kinds && (!p->kinds->is_array || p->kinds->count != p->tokens->count))
        return fail_key(p, KEY("token_type"), "an array with a number for each token");
    return VUG_OK;
}

static vug_spm_piece_kind piece_kind(const gguf_source *p, uint64_t id)
{
    int64_t kind = VUG_PIECE_NORMAL;
    const bool known = !p->kinds || vug_gguf_i64(p->kinds, id, &kind);
    return known && kind >= VUG_PIECE_NORMAL && kind <= VUG_PIECE_BYTE ? (vug_spm_piece_kind)kind
                                                                       : VUG_PIECE_UNUSED;
}

static vug_status add_pieces(const gguf_source *p, vug_spm_pieces *to)
{
    vug_gguf_strings it = vug_gguf_strings_of(p->tokens);
    uint64_t id = 0;
    for (vug_str text; vug_gguf_next_string(&it, &text); id++) {
        double score = 0;
        if (p->scores && !vug_gguf_f64(p->scores, id, &score))
            score = NAN;
        VUG_TRY(vug_spm_add(to, text, score, piece_kind(p, id)));
    }
    VUG_TRY(vug_spm_seal(to));
    return vug_spm_make_added_tokens(to, VUG_SPM_MATCH_RAW);
}

/* "left right", by rank; a left token may begin with a space. */
static vug_status read_merges(const gguf_source *p)
{
    const vug_gguf_value *merges = find_key(p->gguf, KEY("merges"));
    if (!merges || !merges->is_array || merges->type != VUG_GGUF_STRING)
        return fail_key(p, KEY("merges"), "an array of strings");
    vug_gguf_strings it = vug_gguf_strings_of(merges);
    uint64_t rank = 0;
    for (vug_str text; vug_gguf_next_string(&it, &text); rank++) {
        const char *space = text.len > 1 ? memchr(text.ptr + 1, ' ', text.len - 1) : NULL;
        if (!space)
            return VUG_FAIL(p->err, VUG_FORMAT,
                            "%s: merge %llu is not two tokens separated by a space", p->gguf->file,
                            (unsigned long long)rank);
        const vug_str left = { text.ptr, (size_t)(space - text.ptr) };
        VUG_TRY(vug_tokenizer_add_merge(p->t, left, vug_str_from(text, left.len + 1), p->gguf->file,
                                        p->err));
    }
    return VUG_OK;
}

/* ---- around the model ------------------------------------------------------------------ */

static vug_status set_steps(const gguf_source *p, bool prefix)
{
    VUG_TRY(read_flag(p, KEY("add_space_prefix"), &prefix));
    vug_spm_set_steps(p->t, prefix);
    p->t->bpe.byte_fallback = true;
    p->t->bpe.fuse_unk = true;
    vug_bpe_find_byte_tokens(&p->t->vocab, p->t->bpe.byte_id);
    return VUG_OK;
}

/* BOS and EOS for files without keys for them. */
typedef struct {
    bool add_bos;
    bool always; /* add BOS whatever the key says */
    uint32_t bos, eos;
} special_defaults;

static vug_status set_special_ids(const gguf_source *p, special_defaults defaults)
{
    vug_tokenizer *t = p->t;
    bool bos = defaults.add_bos, eos = false;
    uint32_t id;
    VUG_TRY(read_flag(p, KEY("add_bos_token"), &bos));
    VUG_TRY(read_flag(p, KEY("add_eos_token"), &eos));
    if (bos || defaults.always) {
        VUG_TRY(read_id(p, KEY("bos_token_id"), defaults.bos, &id));
        t->prefix.id[t->prefix.n++] = (int32_t)id;
    }
    if (eos) {
        VUG_TRY(read_id(p, KEY("eos_token_id"), defaults.eos, &id));
        t->suffix.id[t->suffix.n++] = (int32_t)id;
    }
    return VUG_OK;
}

/* ---- the kinds ------------------------------------------------------------------------------ */

/* The defaults are llama.cpp's (src/llama-vocab.cpp, llama_vocab::impl::load). */

static vug_status build_llama(const gguf_source *p, vug_spm_pieces *all)
{
    all->spaces_to_metaspaces = true;
    if (!p->scores)
        return fail_key(p, KEY("scores"), "an array with a score for each token");
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(vug_spm_derive_merges(all));
    VUG_TRY(set_steps(p, true));
    VUG_TRY(set_special_ids(p, (special_defaults){ .add_bos = true, .bos = 1, .eos = 2 }));
    return read_id(p, KEY("unknown_token_id"), 0, &p->t->bpe.unk);
}

/* Texts for Gemma begin with BOS, whatever the file says. */
static vug_status build_gemma4(const gguf_source *p, vug_spm_pieces *all)
{
    vug_tokenizer *t = p->t;
    all->spaces_to_metaspaces = true;
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(read_merges(p));
    VUG_TRY(set_steps(p, false));
    VUG_TRY(set_special_ids(p, (special_defaults){ .always = true, .bos = 2, .eos = 1 }));
    t->bpe.unk = VUG_NO_ID;
    return find_key(p->gguf, KEY("unknown_token_id"))
                   ? read_id(p, KEY("unknown_token_id"), 0, &t->bpe.unk)
                   : VUG_OK;
}

static vug_status build_gpt2(const gguf_source *p, vug_spm_pieces *all)
{
    const vug_gguf_value *pre = find_key(p->gguf, KEY("pre"));
    vug_str name;
    if (!pre || !vug_gguf_string(pre, &name))
        return fail_key(p, KEY("pre"), "the name of a pre-tokenizer");
    const vug_pre_tokenizer_preset *preset = vug_pre_tokenizer_preset_by_name(name);
    if (!preset)
        return VUG_FAIL(p->err, VUG_UNSUPPORTED,
                        "%s: key '" KEY("pre") "': the pre-tokenizer '%.*s' is unknown",
                        p->gguf->file, (int)(name.len < 40 ? name.len : 40), name.ptr);
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(read_merges(p));
    const vug_byte_level_options options = { .regex = vug_str_of(preset->regex),
                                             .nfc = preset->nfc,
                                             .ignore_merges = preset->ignore_merges };
    VUG_TRY(vug_tokenizer_set_byte_level(p->t, &options, p->gguf->file, p->err));
    p->t->bpe.unk = VUG_NO_ID;
    p->t->pre_tokenizer_regex = options.regex;
    return set_special_ids(p,
                           (special_defaults){ .add_bos = preset->add_bos, .bos = 11, .eos = 11 });
}

static const struct {
    const char *name;
    vug_status (*build)(const gguf_source *p, vug_spm_pieces *all);
} model_kinds[] = {
    { "llama", build_llama },
    { "gemma4", build_gemma4 },
    { "gpt2", build_gpt2 },
};

enum { N_MODEL_KINDS = sizeof(model_kinds) / sizeof(model_kinds[0]) };

static vug_status build_kind(gguf_source *p, size_t kind)
{
    VUG_TRY(find_arrays(p));
    vug_spm_pieces all = { .t = p->t, .file = p->gguf->file, .err = p->err };
    const vug_status st = model_kinds[kind].build(p, &all);
    vug_spm_release(&all);
    return st == VUG_OK ? vug_tokenizer_seal(p->t, p->gguf->file, p->err) : st;
}

static vug_status read_arrays(const vug_gguf *gguf, size_t kind, vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    gguf_source p = { .gguf = gguf, .t = t, .err = err };
    const vug_status st = build_kind(&p, kind);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_from_gguf(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    const vug_gguf_value *json = find_key(gguf, "tokenizer.huggingface.json");
    const vug_gguf_value *model = find_key(gguf, KEY("model"));
    vug_str text;
    if (json && vug_gguf_string(json, &text))
        return vug_tokenizer_from_json(text, gguf->file, out, err);
    if (!model || !vug_gguf_string(model, &text))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: has no tokenizer, so text cannot be encoded or decoded", gguf->file);
    for (size_t i = 0; i < N_MODEL_KINDS; i++) {
        if (vug_str_is(text, model_kinds[i].name))
            return read_arrays(gguf, i, out, err);
    }
    return VUG_FAIL(
            err, VUG_UNSUPPORTED,
            "%s: tokenizer kind '%.*s' is not supported, so text cannot be encoded or decoded",
            gguf->file, (int)(text.len < 40 ? text.len : 40), text.ptr);
}

vug_status vug_tokenizer_from_gguf_file(vug_bytes file, const char *name, vug_tokenizer **out,
                                        vug_err *err)
{
    enum { HEADER = 24 };
    vug_reader r = vug_reader_over(file);
    if (file.len < HEADER)
        return VUG_FAIL(err, VUG_FORMAT, "%s: %zu bytes, a GGUF file has at least %d", name,
                        file.len, HEADER);
    (void)vug_read_span(&r, 4);
    const uint32_t version = vug_read_u32le(&r);
    (void)vug_read_u64le(&r); /* tensors */
    const uint64_t n = vug_read_u64le(&r);
    if (version != 2 && version != 3)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: GGUF version %u, expected 2 or 3", name,
                        (unsigned)version);
    vug_gguf gguf;
    VUG_TRY(vug_gguf_read(&r, n, name, &gguf, err));
    const vug_status st = vug_tokenizer_from_gguf(&gguf, out, err);
    vug_gguf_release(&gguf);
    return st;
}
