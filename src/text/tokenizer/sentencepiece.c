#include <float.h>
#include <math.h>

#include "core/text.h"
#include "text/tokenizer/proto.h"
#include "text/tokenizer/spm_pieces.h"

/*
 * A tokenizer.model: the message ModelProto of sentencepiece_model.proto, whose fields
 * are named here as there. Ids are those of the SentencePiece library. What a
 * tokenizer_config.json beside it says of BOS, EOS and special tokens goes first.
 */

/* ---- what the model is like ------------------------------------------------------------ */

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
    bool byte_fallback, suffix;
    bool dummy_prefix, remove_extra, escape;
    vug_bytes charsmap, back; /* of the normalizer and the denormalizer */
    vug_spm_ends ends;
} source;

static vug_status broken(const source *s, const char *what)
{
    return VUG_FAIL(s->err, VUG_FORMAT, "%s: the message %s is broken, or cut off", s->file, what);
}

static vug_status read_trainer(source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        switch (f.number) {
        case 3: /* model_type */
            s->type = vug_proto_int(&f, s->type);
            break;
        case 24: /* treat_whitespace_as_suffix */
            s->suffix = vug_proto_bool(&f, s->suffix);
            break;
        case 35: /* byte_fallback */
            s->byte_fallback = vug_proto_bool(&f, s->byte_fallback);
            break;
        case 41: /* bos_id */
            s->ends.bos = vug_proto_int(&f, s->ends.bos);
            break;
        case 42: /* eos_id */
            s->ends.eos = vug_proto_int(&f, s->ends.eos);
            break;
        default: /* how it was trained */
            break;
        }
    }
    return m.bad ? broken(s, "trainer_spec") : VUG_OK;
}

static vug_status read_normalizer(source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        switch (f.number) {
        case 2: /* precompiled_charsmap */
            s->charsmap = vug_proto_bytes(&f);
            break;
        case 3: /* add_dummy_prefix */
            s->dummy_prefix = vug_proto_bool(&f, s->dummy_prefix);
            break;
        case 4: /* remove_extra_whitespaces */
            s->remove_extra = vug_proto_bool(&f, s->remove_extra);
            break;
        case 5: /* escape_whitespaces */
            s->escape = vug_proto_bool(&f, s->escape);
            break;
        default: /* its name and where it came from */
            break;
        }
    }
    return m.bad ? broken(s, "normalizer_spec") : VUG_OK;
}

static vug_status read_denormalizer(source *s, vug_bytes message)
{
    vug_proto m = vug_proto_over(message);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        if (f.number == 2)
            s->back = vug_proto_bytes(&f);
    }
    if (m.bad)
        return broken(s, "denormalizer_spec");
    if (s->back.len > 0)
        return VUG_FAIL(s->err, VUG_UNSUPPORTED,
                        "%s: a precompiled_charsmap of the denormalizer_spec is not supported",
                        s->file);
    return VUG_OK;
}

/* Everything but the pieces, which come first in the file and depend on it. */
static vug_status read_specs(source *s, vug_bytes model)
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
        return VUG_FAIL(s->err, VUG_FORMAT,
                        "%s: byte %zu: no field of a SentencePiece model, or the file is cut off",
                        s->file, m.r.pos);
    if (s->type == TYPE_BPE || s->type == TYPE_UNIGRAM)
        return VUG_OK;
    return VUG_FAIL(s->err, VUG_UNSUPPORTED,
                    "%s: a model_type %s is not supported, only BPE and UNIGRAM are", s->file,
                    s->type == TYPE_WORD   ? "WORD"
                    : s->type == TYPE_CHAR ? "CHAR"
                                           : "that is not known");
}

/* ---- pieces ---------------------------------------------------------------------------- */

static vug_status read_piece(const source *s, vug_bytes message, vug_spm_pieces *to)
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
        return VUG_FAIL(s->err, VUG_FORMAT, "%s: piece %zu is broken, empty or of no known type",
                        s->file, to->n);
    if (!vug_utf8_valid(text))
        return VUG_FAIL(s->err, VUG_FORMAT, "%s: piece %zu is not UTF-8", s->file, to->n);
    return vug_spm_add(to, text, (double)score, (vug_piece_kind)kind);
}

static vug_status read_pieces(const source *s, vug_bytes model, vug_spm_pieces *to)
{
    vug_proto m = vug_proto_over(model);
    for (vug_proto_field f; vug_proto_next(&m, &f);) {
        if (f.number == 1)
            VUG_TRY(read_piece(s, vug_proto_bytes(&f), to));
    }
    return vug_spm_seal(to);
}

/* The one piece that stands for what is unknown, and the 256 of bytes. */
static vug_status find_special(const source *s, const vug_spm_pieces *p, uint32_t *unk,
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
    vug_find_bytes(&s->t->vocab, byte_id);
    for (int b = 0; b < 256 && s->byte_fallback; b++) {
        if (byte_id[b] == VUG_NO_ID || p->kind[byte_id[b]] != VUG_PIECE_BYTE)
            return VUG_FAIL(s->err, VUG_FORMAT,
                            "%s: byte_fallback is true, and no piece of type BYTE is <0x%02X>",
                            s->file, (unsigned)b);
    }
    return VUG_OK;
}

/* ---- unigram ------------------------------------------------------------------------- */

/* Of pieces that a user defined as unigram_model.cc has it, so that one always wins. (The
 * release 0.2.3, on which the tests stand; before it 0.1 was next to nothing, which matters
 * where sums would be equal but for their rounding.) */
static void set_scores(vug_unigram *u, const vug_spm_pieces *p)
{
    float least = FLT_MAX, most = 0.1F;
    for (size_t id = 0; id < p->n; id++) {
        if (p->kind[id] == VUG_PIECE_NORMAL) {
            least = fminf(least, p->score[id]);
            most = fmaxf(most, p->score[id]);
        }
    }
    for (uint32_t id = 0; id < p->n; id++) {
        const float length = (float)vug_vocab_text(&p->t->vocab, id).len;
        u->score[id] = p->kind[id] == VUG_PIECE_USER ? (double)(length * most) - 0.1
                                                     : (double)p->score[id];
    }
    u->unk_score = (double)(least - (float)VUG_UNIGRAM_PENALTY);
}

static vug_status list_pieces(const vug_spm_pieces *p, vug_unigram_piece *piece, size_t *n)
{
    for (uint32_t id = 0; id < p->n; id++) {
        const vug_str text = vug_vocab_text(&p->t->vocab, id);
        if (p->kind[id] != VUG_PIECE_NORMAL && p->kind[id] != VUG_PIECE_USER)
            continue;
        if (text.len > VUG_UNIGRAM_MAX_PIECE)
            return VUG_FAIL(p->err, VUG_LIMIT, "%s: piece %u has %zu bytes, at most %d are allowed",
                            p->file, (unsigned)id, text.len, VUG_UNIGRAM_MAX_PIECE);
        piece[(*n)++] = (vug_unigram_piece){ text, id };
    }
    return VUG_OK;
}

static vug_status make_unigram(source *s, vug_spm_pieces *p)
{
    vug_unigram *u = &s->t->unigram;
    size_t n = 0;
    s->t->is_unigram = true;
    u->byte_fallback = s->byte_fallback;
    u->fuse_unk = !s->byte_fallback;
    u->sentencepiece = true;
    VUG_TRY(find_special(s, p, &u->unk, u->byte_id));
    VUG_TRY(vug_spm_find_whole(p, VUG_USER_SCORED));
    u->score = vug_alloc(p->n, sizeof(*u->score));
    u->n_ids = p->n;
    vug_unigram_piece *piece = vug_alloc(p->n, sizeof(*piece));
    vug_status st = VUG_OK;
    if (!u->score || !piece)
        st = VUG_FAIL_NOMEM(s->err, "the pieces", p->n * (sizeof(*u->score) + sizeof(*piece)));
    if (st == VUG_OK)
        st = list_pieces(p, piece, &n);
    if (st == VUG_OK) {
        set_scores(u, p);
        st = vug_unigram_seal(u, piece, n, s->file, s->err);
    }
    vug_free(piece);
    return st;
}

/* ---- byte pairs ---------------------------------------------------------------------- */

static vug_status make_bpe(source *s, vug_spm_pieces *p)
{
    vug_bpe *bpe = &s->t->bpe;
    bpe->byte_fallback = s->byte_fallback;
    bpe->fuse_unk = true;
    p->unused_merge = true;
    VUG_TRY(find_special(s, p, &bpe->unk, bpe->byte_id));
    VUG_TRY(vug_spm_find_whole(p, VUG_USER_NORMALIZED));
    return vug_spm_merge(p);
}

/* ---- around the model -------------------------------------------------------------------- */

/* The normalizer leaves symbols of the user as they are. */
static vug_status set_user(const source *s, const vug_spm_pieces *p)
{
    size_t n = 0;
    for (size_t id = 0; id < p->n; id++)
        n += p->kind[id] == VUG_PIECE_USER;
    vug_added_token *user = vug_arena_alloc(&s->t->arena, n, sizeof(*user));
    if (!user)
        return VUG_FAIL_NOMEM(s->err, "the pieces of the user", n * sizeof(*user));
    size_t at = 0;
    for (uint32_t id = 0; id < p->n; id++) {
        if (p->kind[id] == VUG_PIECE_USER) {
            const vug_str text = vug_vocab_text(&s->t->vocab, id);
            user[at++] = (vug_added_token){ .pattern = vug_arena_copy(&s->t->arena, text),
                                            .id = id,
                                            .normalized = true };
            if (!user[at - 1].pattern.ptr)
                return VUG_FAIL_NOMEM(s->err, "the pieces of the user", text.len);
        }
    }
    if (!vug_matcher_init(&s->t->spm.user, user, n, true))
        return VUG_FAIL_NOMEM(s->err, "the pieces of the user", n * sizeof(void *));
    return VUG_OK;
}

static vug_status set_steps(const source *s, const vug_spm_pieces *p)
{
    static const vug_str space = { " ", 1 }, mark = { "\xe2\x96\x81", 3 };
    vug_tokenizer *t = s->t;
    t->spm.dummy_prefix = s->dummy_prefix;
    t->spm.remove_extra = s->remove_extra;
    t->spm.escape = s->escape;
    t->spm.suffix = s->suffix;
    const vug_str map = { (const char *)s->charsmap.ptr, s->charsmap.len };
    const vug_str copy = vug_arena_copy(&t->arena, map);
    if (!copy.ptr)
        return VUG_FAIL_NOMEM(s->err, "the precompiled_charsmap", map.len);
    VUG_TRY(vug_spm_charsmap(&t->spm, (vug_bytes){ (const uint8_t *)copy.ptr, copy.len }, s->file,
                             s->err));
    VUG_TRY(set_user(s, p));
    t->normalizer.step[t->normalizer.n++] =
            (vug_normal_step){ .kind = VUG_NORMAL_SENTENCEPIECE, .spm = &t->spm };
    t->decoding.step[t->decoding.n++] =
            (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = mark, .to = space };
    t->decoding.byte_fallback = true;
    t->decoding.fused = true;
    t->decoding.strips = s->dummy_prefix || s->remove_extra;
    t->decoding.strip = (vug_decode_step){ .kind = VUG_DECODE_STRIP, .from = space, .start = 1 };
    return VUG_OK;
}

static bool is_control(const vug_spm_pieces *p, int64_t id)
{
    return id >= 0 && (uint64_t)id < p->n && p->kind[id] == VUG_PIECE_CONTROL;
}

static void set_ends(const source *s, const vug_spm_pieces *p)
{
    vug_tokenizer *t = s->t;
    const vug_spm_ends *e = &s->ends;
    if (e->add_bos && is_control(p, e->bos))
        t->before.id[t->before.n++] = (int32_t)e->bos;
    if (e->add_eos && is_control(p, e->eos))
        t->after.id[t->after.n++] = (int32_t)e->eos;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static vug_status make(source *s, vug_bytes model, vug_str config, vug_spm_pieces *p)
{
    VUG_TRY(read_pieces(s, model, p));
    VUG_TRY(vug_spm_config(config, p, &s->ends));
    VUG_TRY(s->type == TYPE_BPE ? make_bpe(s, p) : make_unigram(s, p));
    VUG_TRY(set_steps(s, p));
    set_ends(s, p);
    return vug_tokenizer_seal(s->t, s->file, s->err);
}

vug_status vug_tokenizer_sentencepiece(vug_bytes model, vug_str config, const char *name,
                                       vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    /* The defaults of the format. */
    source s = { .file = name,
                 .t = t,
                 .err = err,
                 .type = TYPE_UNIGRAM,
                 .dummy_prefix = true,
                 .remove_extra = true,
                 .escape = true,
                 .ends = { .add_bos = true, .bos = 1, .eos = 2 } };
    vug_spm_pieces p = { .t = t, .file = name, .err = err };
    vug_status st = read_specs(&s, model);
    if (st == VUG_OK)
        st = make(&s, model, config, &p);
    vug_spm_release(&p);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}
