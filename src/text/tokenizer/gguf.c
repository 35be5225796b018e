#include <math.h>

#include "text/tokenizer/splits.h"
#include "text/tokenizer/spm_pieces.h"

/*
 * The tokenizer inside a GGUF file. One that vug wrote is a tokenizer.json as it was.
 * Others are arrays, of three kinds:
 *
 *     llama    pieces of SentencePiece with scores
 *     gemma4   merges over text as it is, where U+2581 is a space and bytes are fallen back on
 *     gpt2     merges over bytes, after a split into words that `pre` names
 *
 * Where llama.cpp and the tokenizer.json of the family differ, it is done as there: texts
 * for Qwen become NFC, and words are not split at newlines for Gemma.
 */

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    const vug_gguf *gguf;
    vug_tokenizer *t;
    const vug_gguf_value *tokens;
    const vug_gguf_value *scores, *kinds; /* of as many elements, or NULL */
    vug_err *err;
} source;

/* ---- keys ------------------------------------------------------------------------ */

static const vug_gguf_value *find(const vug_gguf *gguf, const char *key)
{
    return vug_gguf_find(gguf, vug_str_of(key));
}

static vug_status wrong(const source *p, const char *key, const char *wanted)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (!v)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is missing", p->gguf->file, key);
    return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %s, expected %s", p->gguf->file, key,
                    vug_gguf_kind(v).text, wanted);
}

static vug_status read_flag(const source *p, const char *key, bool *out)
{
    const vug_gguf_value *v = find(p->gguf, key);
    if (v && (v->is_array || !vug_gguf_bool(v, 0, out)))
        return wrong(p, key, "true or false");
    return VUG_OK;
}

/* The id of a token; `otherwise` where no key says it. */
static vug_status read_id(const source *p, const char *key, uint32_t otherwise, uint32_t *out)
{
    const vug_gguf_value *v = find(p->gguf, key);
    uint64_t id = otherwise;
    if (v && (v->is_array || !vug_gguf_u64(v, 0, &id)))
        return wrong(p, key, "a token id");
    if (id >= p->tokens->count)
        return VUG_FAIL(p->err, VUG_FORMAT, "%s: key '%s' is %llu, and there are %llu tokens",
                        p->gguf->file, key, (unsigned long long)id,
                        (unsigned long long)p->tokens->count);
    *out = (uint32_t)id;
    return VUG_OK;
}

static vug_status find_arrays(source *p)
{
    p->tokens = find(p->gguf, KEY("tokens"));
    p->scores = find(p->gguf, KEY("scores"));
    p->kinds = find(p->gguf, KEY("token_type"));
    if (!p->tokens || !p->tokens->is_array || p->tokens->type != VUG_GGUF_STRING)
        return wrong(p, KEY("tokens"), "an array of strings");
    if (p->tokens->count == 0 || p->tokens->count >= VUG_MAX_IDS)
        return VUG_FAIL(p->err, VUG_LIMIT, "%s: %llu tokens, expected 1 to %d", p->gguf->file,
                        (unsigned long long)p->tokens->count, VUG_MAX_IDS - 1);
    if (p->scores && (!p->scores->is_array || p->scores->count != p->tokens->count))
        return wrong(p, KEY("scores"), "an array with a score for each token");
    if (p->kinds && (!p->kinds->is_array || p->kinds->count != p->tokens->count))
        return wrong(p, KEY("token_type"), "an array with a number for each token");
    return VUG_OK;
}

static vug_piece_kind kind_of(const source *p, uint64_t id)
{
    int64_t kind = VUG_PIECE_NORMAL;
    const bool known = !p->kinds || vug_gguf_i64(p->kinds, id, &kind);
    return known && kind >= VUG_PIECE_NORMAL && kind <= VUG_PIECE_BYTE ? (vug_piece_kind)kind
                                                                       : VUG_PIECE_UNUSED;
}

static vug_status add_pieces(const source *p, vug_spm_pieces *to)
{
    vug_gguf_strings it = vug_gguf_strings_of(p->tokens);
    uint64_t id = 0;
    for (vug_str text; vug_gguf_next(&it, &text); id++) {
        double score = 0;
        if (p->scores && !vug_gguf_f64(p->scores, id, &score))
            score = NAN;
        VUG_TRY(vug_spm_add(to, text, score, kind_of(p, id)));
    }
    VUG_TRY(vug_spm_seal(to));
    return vug_spm_find_whole(to, VUG_USER_RAW);
}

/* "left right", by rank; a left token may begin with a space. */
static vug_status read_merges(const source *p)
{
    const vug_gguf_value *merges = find(p->gguf, KEY("merges"));
    if (!merges || !merges->is_array || merges->type != VUG_GGUF_STRING)
        return wrong(p, KEY("merges"), "an array of strings");
    vug_gguf_strings it = vug_gguf_strings_of(merges);
    uint64_t rank = 0;
    for (vug_str text; vug_gguf_next(&it, &text); rank++) {
        const char *space = text.len > 1 ? memchr(text.ptr + 1, ' ', text.len - 1) : NULL;
        if (!space)
            return VUG_FAIL(p->err, VUG_FORMAT, "%s: merge %llu is no two tokens with a space",
                            p->gguf->file, (unsigned long long)rank);
        const vug_str left = { text.ptr, (size_t)(space - text.ptr) };
        VUG_TRY(vug_tokenizer_add_merge(p->t, left, vug_str_from(text, left.len + 1), p->gguf->file,
                                        p->err));
    }
    return VUG_OK;
}

/* ---- around the model ------------------------------------------------------------------ */

/* A space is U+2581 in pieces; older models have one before every text, too. */
static vug_status set_steps(const source *p, bool prefix)
{
    static const vug_str space = { " ", 1 }, mark = { "\xe2\x96\x81", 3 };
    vug_tokenizer *t = p->t;
    VUG_TRY(read_flag(p, KEY("add_space_prefix"), &prefix));
    if (prefix)
        t->normalizer.step[t->normalizer.n++] =
                (vug_normal_step){ .kind = VUG_NORMAL_PREPEND, .to = mark };
    t->normalizer.step[t->normalizer.n++] =
            (vug_normal_step){ .kind = VUG_NORMAL_REPLACE, .from = space, .to = mark };
    t->decoding.step[t->decoding.n++] =
            (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = mark, .to = space };
    t->decoding.byte_fallback = true;
    t->decoding.fused = true;
    t->decoding.strips = prefix;
    t->decoding.strip = (vug_decode_step){ .kind = VUG_DECODE_STRIP, .from = space, .start = 1 };
    t->bpe.byte_fallback = true;
    t->bpe.fuse_unk = true;
    vug_find_bytes(&t->vocab, t->bpe.byte_id);
    return VUG_OK;
}

/* What stands around a text where no key says it. */
typedef struct {
    bool add_bos, always; /* whatever a key says */
    uint32_t bos, eos;
} ends;

static vug_status set_ends(const source *p, ends otherwise)
{
    vug_tokenizer *t = p->t;
    bool bos = otherwise.add_bos, eos = false;
    uint32_t id;
    VUG_TRY(read_flag(p, KEY("add_bos_token"), &bos));
    VUG_TRY(read_flag(p, KEY("add_eos_token"), &eos));
    if (bos || otherwise.always) {
        VUG_TRY(read_id(p, KEY("bos_token_id"), otherwise.bos, &id));
        t->before.id[t->before.n++] = (int32_t)id;
    }
    if (eos) {
        VUG_TRY(read_id(p, KEY("eos_token_id"), otherwise.eos, &id));
        t->after.id[t->after.n++] = (int32_t)id;
    }
    return VUG_OK;
}

/* ---- kinds ------------------------------------------------------------------------------ */

/* The defaults are llama.cpp's (src/llama-vocab.cpp, llama_vocab::impl::load). */

static vug_status make_llama(const source *p, vug_spm_pieces *all)
{
    all->spaces_spelled = true;
    if (!p->scores)
        return wrong(p, KEY("scores"), "an array with a score for each token");
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(vug_spm_merge(all));
    VUG_TRY(set_steps(p, true));
    VUG_TRY(set_ends(p, (ends){ .add_bos = true, .bos = 1, .eos = 2 }));
    return read_id(p, KEY("unknown_token_id"), 0, &p->t->bpe.unk);
}

/* A text for Gemma begins with BOS, whatever the file says. */
static vug_status make_gemma4(const source *p, vug_spm_pieces *all)
{
    vug_tokenizer *t = p->t;
    all->spaces_spelled = true;
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(read_merges(p));
    VUG_TRY(set_steps(p, false));
    VUG_TRY(set_ends(p, (ends){ .always = true, .bos = 2, .eos = 1 }));
    t->bpe.unk = VUG_NO_ID;
    return find(p->gguf, KEY("unknown_token_id"))
                   ? read_id(p, KEY("unknown_token_id"), 0, &t->bpe.unk)
                   : VUG_OK;
}

static vug_status make_gpt2(const source *p, vug_spm_pieces *all)
{
    const vug_gguf_value *pre = find(p->gguf, KEY("pre"));
    vug_str name;
    if (!pre || !vug_gguf_string(pre, &name))
        return wrong(p, KEY("pre"), "the name of a split into words");
    const vug_split_rule *rule = vug_split_by_name(name);
    if (!rule)
        return VUG_FAIL(p->err, VUG_UNSUPPORTED,
                        "%s: key '" KEY("pre") "': the split into words '%.*s' is not known",
                        p->gguf->file, (int)(name.len < 40 ? name.len : 40), name.ptr);
    VUG_TRY(add_pieces(p, all));
    VUG_TRY(read_merges(p));
    const vug_byte_level how = { .expression = vug_str_of(rule->expression),
                                 .nfc = rule->nfc,
                                 .ignore_merges = rule->ignore_merges };
    VUG_TRY(vug_tokenizer_set_byte_level(p->t, &how, p->gguf->file, p->err));
    p->t->bpe.unk = VUG_NO_ID;
    p->t->expression = how.expression;
    return set_ends(p, (ends){ .add_bos = rule->add_bos, .bos = 11, .eos = 11 });
}

static const struct {
    const char *name;
    vug_status (*make)(const source *p, vug_spm_pieces *all);
} kinds[] = {
    { "llama", make_llama },
    { "gemma4", make_gemma4 },
    { "gpt2", make_gpt2 },
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static vug_status make(source *p, size_t kind)
{
    VUG_TRY(find_arrays(p));
    vug_spm_pieces all = { .t = p->t, .file = p->gguf->file, .err = p->err };
    const vug_status st = kinds[kind].make(p, &all);
    vug_spm_release(&all);
    return st == VUG_OK ? vug_tokenizer_seal(p->t, p->gguf->file, p->err) : st;
}

static vug_status from_arrays(const vug_gguf *gguf, size_t kind, vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    source p = { .gguf = gguf, .t = t, .err = err };
    const vug_status st = make(&p, kind);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_gguf(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    const vug_gguf_value *json = find(gguf, "tokenizer.huggingface.json");
    const vug_gguf_value *model = find(gguf, KEY("model"));
    vug_str text;
    if (json && vug_gguf_string(json, &text))
        return vug_tokenizer_read(text, gguf->file, out, err);
    if (!model || !vug_gguf_string(model, &text))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: has no tokenizer, so there is no text in or out",
                        gguf->file);
    for (size_t i = 0; i < N_KINDS; i++) {
        if (vug_str_is(text, kinds[i].name))
            return from_arrays(gguf, i, out, err);
    }
    return VUG_FAIL(err, VUG_UNSUPPORTED,
                    "%s: a tokenizer of kind '%.*s' is not read, so there is no text in or out",
                    gguf->file, (int)(text.len < 40 ? text.len : 40), text.ptr);
}

vug_status vug_tokenizer_gguf_file(vug_bytes file, const char *name, vug_tokenizer **out,
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
    const vug_status st = vug_tokenizer_gguf(&gguf, out, err);
    vug_gguf_release(&gguf);
    return st;
}
