#include "core/utf8.h"
#include "text/tokenizer/protobuf.h"
#include "text/tokenizer/spm_pieces.h"

/*
 * Reads a tokenizer.model: the message ModelProto of sentencepiece_model.proto, whose field
 * names are used here. Ids are those of the SentencePiece library. A tokenizer_config.json
 * beside the file overrides BOS, EOS and special tokens.
 */

/* ---- the specs ---------------------------------------------------------------- */

typedef enum {
    TYPE_UNIGRAM = 1,
    TYPE_BPE = 2,
    TYPE_WORD = 3,
    TYPE_CHAR = 4,
} model_type;

typedef struct {
    const char *file;
    vug_tokenizer *t;
    vug_err *err;
    int64_t type;
    bool byte_fallback;
    bool dummy_prefix;
    /* Unsupported features that the file uses: */
    bool remove_extra_whitespaces, unescaped_whitespaces, whitespace_suffix;
    bool charsmap, denormalizer_charsmap;
    vug_spm_bos_eos bos_eos;
} spm_source;

static vug_status fail_message(const spm_source *s, const char *what)
{
    return VUG_FAIL(s->err, VUG_FORMAT, "%s: the message %s is malformed or truncated", s->file,
                    what);
}

static vug_status read_trainer(spm_source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        switch (f.number) {
        case 3: /* model_type */
            s->type = vug_proto_int(&f, s->type);
            break;
        case 24: /* treat_whitespace_as_suffix */
            s->whitespace_suffix = vug_proto_bool(&f, s->whitespace_suffix);
            break;
        case 35: /* byte_fallback */
            s->byte_fallback = vug_proto_bool(&f, s->byte_fallback);
            break;
        case 41: /* bos_id */
            s->bos_eos.bos = vug_proto_int(&f, s->bos_eos.bos);
            break;
        case 42: /* eos_id */
            s->bos_eos.eos = vug_proto_int(&f, s->bos_eos.eos);
            break;
        default: /* training parameters */
            break;
        }
    }
    return m.bad ? fail_message(s, "trainer_spec") : VUG_OK;
}

static vug_status read_normalizer(spm_source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        switch (f.number) {
        case 2: /* precompiled_charsmap */
            s->charsmap = vug_proto_bytes(&f).len > 0;
            break;
        case 3: /* add_dummy_prefix */
            s->dummy_prefix = vug_proto_bool(&f, s->dummy_prefix);
            break;
        case 4: /* remove_extra_whitespaces */
            s->remove_extra_whitespaces = vug_proto_bool(&f, s->remove_extra_whitespaces);
            break;
        case 5: /* escape_whitespaces */
            s->unescaped_whitespaces = !vug_proto_bool(&f, !s->unescaped_whitespaces);
            break;
        default: /* names */
            break;
        }
    }
    return m.bad ? fail_message(s, "normalizer_spec") : VUG_OK;
}

static vug_status read_denormalizer(spm_source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        if (f.number == 2)
            s->denormalizer_charsmap = vug_proto_bytes(&f).len > 0;
    }
    return m.bad ? fail_message(s, "denormalizer_spec") : VUG_OK;
}

/* Refuses features that no supported family uses. */
static vug_status check_features(const spm_source *s)
{
    const struct {
        const char *name;
        bool used;
    } features[] = {
        { "a precompiled_charsmap in the normalizer_spec", s->charsmap },
        { "a precompiled_charsmap in the denormalizer_spec", s->denormalizer_charsmap },
        { "remove_extra_whitespaces: true", s->remove_extra_whitespaces },
        { "escape_whitespaces: false", s->unescaped_whitespaces },
        { "treat_whitespace_as_suffix: true", s->whitespace_suffix },
    };
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        if (features[i].used)
            return VUG_FAIL(s->err, VUG_UNSUPPORTED,
                            "%s: %s is not supported: no supported family uses it", s->file,
                            features[i].name);
    }
    return VUG_OK;
}

/* Reads everything but the pieces, which depend on it though they come first in the file. */
static vug_status read_specs(spm_source *s, vug_bytes model)
{
    vug_proto m = vug_proto_over(model);
    vug_status st = VUG_OK;
    for (vug_proto_field f; st == VUG_OK && vug_proto_next(&m, &f);) {
        if (f.number == 2)
            st = read_trainer(s, vug_proto_bytes(&f));
        else if (f.number == 3)
            st = read_normalizer(s, vug_proto_bytes(&f));
        else if (f.number == 5)
            st = read_denormalizer(s, vug_proto_bytes(&f));
    }
    VUG_TRY(st);
    if (m.bad)
        return VUG_FAIL(
                s->err, VUG_FORMAT,
                "%s: byte %zu: not a field of a SentencePiece model, or the file is truncated",
                s->file, m.r.pos);
    if (s->type == TYPE_BPE)
        return check_features(s);
    return VUG_FAIL(s->err, VUG_UNSUPPORTED,
                    "%s: tokenizer model type %s is not supported: no supported family uses it",
                    s->file,
                    s->type == TYPE_UNIGRAM ? "Unigram"
                    : s->type == TYPE_WORD  ? "Word"
                    : s->type == TYPE_CHAR  ? "Char"
                                            : "of an unknown number");
}

/* ---- pieces ---------------------------------------------------------------------------- */

static vug_status read_piece(const spm_source *s, vug_bytes message, vug_spm_pieces *to)
{
    vug_proto m = vug_proto_over(message);
    vug_str text = { 0 };
    float score = 0;
    int64_t kind = VUG_PIECE_NORMAL;
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        if (f.number == 1)
            text = vug_proto_string(&f);
        else if (f.number == 2)
            score = vug_proto_float(&f, 0);
        else if (f.number == 3)
            kind = vug_proto_int(&f, kind);
    }
    if (m.bad || text.len == 0 || kind < VUG_PIECE_NORMAL || kind > VUG_PIECE_BYTE)
        return VUG_FAIL(s->err, VUG_FORMAT, "%s: piece %zu is malformed, empty or of unknown type",
                        s->file, to->n);
    if (!vug_utf8_valid(text))
        return VUG_FAIL(s->err, VUG_FORMAT, "%s: piece %zu is not UTF-8", s->file, to->n);
    return vug_spm_add(to, text, (double)score, (vug_spm_piece_kind)kind);
}

static vug_status read_pieces(const spm_source *s, vug_bytes model, vug_spm_pieces *to)
{
    vug_proto m = vug_proto_over(model);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        if (f.number == 1)
            VUG_TRY(read_piece(s, vug_proto_bytes(&f), to));
    }
    return vug_spm_seal(to);
}

/* Finds the unknown piece and the 256 byte pieces. */
static vug_status find_special(const spm_source *s, const vug_spm_pieces *p, uint32_t *unk,
                               uint32_t byte_id[256])
{
    size_t n_unk = 0;
    for (uint32_t id = 0; id < p->n; id++) {
        if (p->kind[id] == VUG_PIECE_UNKNOWN) {
            n_unk++;
            *unk = id;
        }
    }
    if (n_unk != 1)
        return VUG_FAIL(s->err, VUG_FORMAT, "%s: %zu pieces of type UNKNOWN, expected one", s->file,
                        n_unk);
    vug_bpe_find_byte_tokens(&s->t->vocab, byte_id);
    for (int b = 0; b < 256 && s->byte_fallback; b++) {
        if (byte_id[b] == VUG_NO_ID || p->kind[byte_id[b]] != VUG_PIECE_BYTE)
            return VUG_FAIL(s->err, VUG_FORMAT,
                            "%s: byte_fallback is true, but no piece of type BYTE is <0x%02X>",
                            s->file, (unsigned)b);
    }
    return VUG_OK;
}

/* ---- the model ---------------------------------------------------------------------- */

static vug_status build_bpe(spm_source *s, vug_spm_pieces *p)
{
    vug_bpe *bpe = &s->t->bpe;
    bpe->byte_fallback = s->byte_fallback;
    bpe->fuse_unk = true;
    p->merges_unused = true;
    VUG_TRY(find_special(s, p, &bpe->unk, bpe->byte_id));
    VUG_TRY(vug_spm_make_added_tokens(p, VUG_SPM_MATCH_NORMALIZED));
    return vug_spm_derive_merges(p);
}

/* ---- BOS and EOS -------------------------------------------------------------------- */

static bool is_control(const vug_spm_pieces *p, int64_t id)
{
    return id >= 0 && (uint64_t)id < p->n && p->kind[id] == VUG_PIECE_CONTROL;
}

static void set_prefix_suffix(const spm_source *s, const vug_spm_pieces *p)
{
    vug_tokenizer *t = s->t;
    const vug_spm_bos_eos *e = &s->bos_eos;
    if (e->add_bos && is_control(p, e->bos))
        t->prefix.id[t->prefix.n++] = (int32_t)e->bos;
    if (e->add_eos && is_control(p, e->eos))
        t->suffix.id[t->suffix.n++] = (int32_t)e->eos;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static vug_status build_tokenizer(spm_source *s, vug_bytes model, vug_str config, vug_spm_pieces *p)
{
    VUG_TRY(read_pieces(s, model, p));
    VUG_TRY(vug_spm_read_config(config, p, &s->bos_eos));
    VUG_TRY(build_bpe(s, p));
    vug_spm_set_steps(s->t, s->dummy_prefix);
    s->t->replace_each_byte = true;
    set_prefix_suffix(s, p);
    return vug_tokenizer_seal(s->t, s->file, s->err);
}

vug_status vug_tokenizer_from_sentencepiece(vug_bytes model, vug_str config, const char *name,
                                            vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    /* The defaults of the format. */
    spm_source s = { .file = name,
                     .t = t,
                     .err = err,
                     .type = TYPE_UNIGRAM,
                     .dummy_prefix = true,
                     .remove_extra_whitespaces = true,
                     .bos_eos = { .add_bos = true, .bos = 1, .eos = 2 } };
    vug_spm_pieces p = { .t = t, .file = name, .err = err };
    vug_status st = read_specs(&s, model);
    if (st == VUG_OK)
        st = build_tokenizer(&s, model, config, &p);
    vug_spm_release(&p);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}
