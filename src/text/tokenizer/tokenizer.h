#ifndef VUG_TEXT_TOKENIZER_TOKENIZER_H
#define VUG_TEXT_TOKENIZER_TOKENIZER_H

/* The inside of a vug_tokenizer; private to this folder. */

#include "core/json.h"
#include "core/os.h"
#include "text/grammar/trie.h"
#include "text/text.h"
#include "text/tokenizer/added.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/steps.h"
#include "text/tokenizer/unigram.h"
#include "text/tokenizer/vocab.h"

typedef struct {
    int32_t id[VUG_MAX_STEPS];
    size_t n;
} vug_few_ids;

#define VUG_MAX_REGEXES 48

struct vug_tokenizer {
    vug_arena arena;                   /* strings of added tokens and steps */
    vug_regex *regex[VUG_MAX_REGEXES]; /* of steps; closed with the tokenizer */
    size_t n_regexes;
    vug_vocab vocab;
    vug_bpe bpe;
    vug_unigram unigram; /* instead of it, where `is_unigram` */
    bool is_unigram;
    vug_cuts cuts;
    vug_added_token *added; /* [n_added] */
    size_t n_added;
    const vug_added_token **renamed; /* [n_renamed] by id: whose pattern is not the content */
    size_t n_renamed;
    uint8_t *special;       /* a bit per id: left out of decoded text on request */
    vug_matcher raw;        /* of added tokens found before the normalizer */
    vug_matcher normalized; /* and after it */
    vug_str expression;     /* of a byte-level model that GGUF names: how words are found */
    vug_normalizer normalizer;
    vug_spm_normal spm; /* of a tokenizer.model, in a step of the normalizer */
    vug_pre_tokenizer pre_tokenizer;
    vug_few_ids before, after; /* what the post-processor adds */
    vug_decoding decoding;
    vug_trie_keeper *trie; /* for grammars */
};

static inline bool vug_is_special(const vug_tokenizer *t, uint32_t id)
{
    return t->special[id / 8] >> (id % 8) & 1;
}

/* ---- a tokenizer without a tokenizer.json --------------------------------
 *
 * It is put together from parts, in this order: vug_vocab_add for every token of the
 * model and vug_vocab_seal; vug_tokenizer_add_merge by rank; the steps around the
 * model, set in place or by vug_tokenizer_set_byte_level; t->added with n_added;
 * t->before and t->after; vug_tokenizer_seal. `name` is for sentences. */

/* What is around a byte-level model (GPT-2, Llama 3, Qwen), whose vocabulary and merges
 * are spelled in characters that stand for bytes (text/tokenizer/bytelevel.h). */
typedef struct {
    vug_str expression;    /* of words (Oniguruma's syntax); empty: GPT-2's */
    bool nfc;              /* the text is normalized first (Qwen) */
    bool add_prefix_space; /* each text begins with a space */
    bool ignore_merges;    /* a word that is a token is that token (Llama 3) */
} vug_byte_level;

/* Adds the normalizer, the pre-tokenizer and the decoder to `t`, which has none yet.
 * VUG_UNSUPPORTED names what of the expression is not supported. */
VUG_MUST_CHECK vug_status vug_tokenizer_set_byte_level(vug_tokenizer *t, const vug_byte_level *how,
                                                       const char *name, vug_err *err);
/* The merge of the next rank, of two tokens that join to a third: all three are in the
 * sealed vocabulary. */
VUG_MUST_CHECK vug_status vug_tokenizer_add_merge(vug_tokenizer *t, vug_str left, vug_str right,
                                                  const char *name, vug_err *err);
/* A regular expression for a step; the tokenizer owns it. */
VUG_MUST_CHECK vug_status vug_tokenizer_regex(vug_tokenizer *t, vug_str pattern, const char *what,
                                              const vug_regex **out, vug_err *err);

/* GPT-2's expression for words (its encoder.py), which ByteLevel goes by on request. */
extern const char vug_gpt2_expression[];

/* While a tokenizer.json is read. */
typedef struct {
    vug_json json;
    vug_tokenizer *t;
    vug_arena temp;          /* decoded strings and small trees, emptied on the way */
    const vug_mapping *file; /* read ahead and given back on the way; or NULL */
    size_t populated;        /* bytes of it read ahead so far */
    size_t added_cap;
    vug_str unk; /* in the tokenizer's arena; ptr NULL for none */
    bool has_vocab, has_merges;
    bool says_unigram; /* the model's "type" */
    int64_t unk_id;    /* of a Unigram model; -1: none */
    size_t score_cap;  /* likewise, of its scores */
    vug_buf joined;
} vug_loader;

/* steps_json.c and words_json.c: from the parsed JSON of a member of the file to steps. They
 * keep failures in the reader. */
void vug_load_normalizer(vug_loader *l, const vug_jv *v);
void vug_load_pre_tokenizer(vug_loader *l, const vug_jv *v);
void vug_load_post_processor(vug_loader *l, const vug_jv *v);
void vug_load_decoder(vug_loader *l, const vug_jv *v);

/* The ids of "<0x00>" to "<0xFF>", spelled in upper case, or VUG_NO_ID. */
void vug_find_bytes(const vug_vocab *vocab, uint32_t id[256]);
/* model.c: the "model" member, the large part. */
void vug_load_model(vug_loader *l);
/* unigram_json.c: the "vocab" of a Unigram model, and what is made of it at the end. */
void vug_load_unigram_vocab(vug_loader *l);
void vug_load_unigram(vug_loader *l);
/* Call now and then while reading: bounds what of the file and of decoded
 * strings is in memory. No string of the reader may be held across. */
void vug_load_breathe(vug_loader *l);
/* A copy in the tokenizer's arena; ptr is NULL on failure, which is kept. */
vug_str vug_load_copy(vug_loader *l, vug_str text);

/* json.c: `file` may be NULL. `t` is all-zero before. */
VUG_MUST_CHECK vug_status vug_tokenizer_load(vug_tokenizer *t, vug_str json, const char *name,
                                             const vug_mapping *file, vug_err *err);

/* gguf.c: of a file that begins with "GGUF". */
VUG_MUST_CHECK vug_status vug_tokenizer_gguf_file(vug_bytes file, const char *name,
                                                  vug_tokenizer **out, vug_err *err);

/* What needs all of a tokenizer's parts: indexes, added tokens in their places. */
VUG_MUST_CHECK vug_status vug_tokenizer_seal(vug_tokenizer *t, const char *name, vug_err *err);

#endif
