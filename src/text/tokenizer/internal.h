#ifndef VUG_TEXT_TOKENIZER_INTERNAL_H
#define VUG_TEXT_TOKENIZER_INTERNAL_H

/* The inside of a vug_tokenizer; private to this folder. */

#include "core/json.h"
#include "core/os.h"
#include "text/text.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe_cache.h"
#include "text/tokenizer/pipeline.h"
#include "text/tokenizer/token_trie.h"
#include "text/tokenizer/vocab.h"

/* Ids that the post-processor puts in front of a text or after it. */
typedef struct {
    int32_t id[VUG_PIPELINE_MAX_STEPS];
    size_t n;
} vug_special_ids;

#define VUG_TOKENIZER_MAX_REGEXES 48

struct vug_tokenizer {
    vug_arena arena;                             /* strings of added tokens and steps */
    vug_regex *regex[VUG_TOKENIZER_MAX_REGEXES]; /* used by steps; closed with the tokenizer */
    size_t n_regexes;
    vug_vocab vocab;
    vug_bpe bpe;
    vug_safe_splits safe_splits;
    vug_added_token *added; /* [n_added] */
    size_t n_added;
    const vug_added_token **respelled; /* [n_respelled] by id: pattern differs from content */
    size_t n_respelled;
    uint8_t *special_bits;                /* a bit per id: decoding can leave the token out */
    uint8_t *control_bits;                /* a bit per id: `control` of its added token */
    vug_added_token_set added_raw;        /* added tokens that are found before the normalizer */
    vug_added_token_set added_normalized; /* added tokens that are found after it */
    vug_str pre_tokenizer_regex;          /* of a byte-level GGUF tokenizer; empty: GPT-2's */
    vug_normalizer normalizer;
    bool replace_each_byte; /* invalid UTF-8: one U+FFFD per byte, as in SentencePiece */
    vug_pre_tokenizer pre_tokenizer;
    vug_special_ids prefix, suffix; /* added by the post-processor */
    vug_decode_pipeline decode;
    vug_token_trie_cache *trie; /* for grammars */
};

static inline bool vug_tokenizer_is_special_id(const vug_tokenizer *t, uint32_t id)
{
    return t->special_bits[id / 8] >> (id % 8) & 1;
}

static inline bool vug_tokenizer_is_control_id(const vug_tokenizer *t, uint32_t id)
{
    return t->control_bits[id / 8] >> (id % 8) & 1;
}

/* ---- building (tokenizer_builder.c) ---------------------------------------
 *
 * A tokenizer without a tokenizer.json is built in this order: vug_vocab_add for every
 * token of the model and vug_vocab_seal; vug_tokenizer_add_merge by rank; the steps around
 * the model, set in place or by vug_tokenizer_set_byte_level; t->added and n_added;
 * t->prefix and t->suffix; vug_tokenizer_seal. `name` appears in error messages. */

/* The steps around a byte-level model (GPT-2, Llama 3, Qwen), whose vocabulary and merges
 * are written in characters that stand for bytes (text/tokenizer/byte_level.h). */
typedef struct {
    vug_str regex;         /* splits the text into words, in Oniguruma's syntax; empty: GPT-2's */
    bool nfc;              /* normalize the text to NFC first (Qwen) */
    bool add_prefix_space; /* begin every text with a space */
    bool ignore_merges;    /* a word that is a token becomes that token (Llama 3) */
} vug_byte_level_options;

/* Adds the normalizer, the pre-tokenizer and the decoder to `t`, which has none yet.
 * VUG_UNSUPPORTED names the unsupported part of the regular expression. */
VUG_MUST_CHECK vug_status vug_tokenizer_set_byte_level(vug_tokenizer *t,
                                                       const vug_byte_level_options *options,
                                                       const char *name, vug_err *err);
/* The merge of the next rank. Both tokens and their concatenation must be in the sealed
 * vocabulary. */
VUG_MUST_CHECK vug_status vug_tokenizer_add_merge(vug_tokenizer *t, vug_str left, vug_str right,
                                                  const char *name, vug_err *err);
/* Compiles a regular expression that the tokenizer owns; `what` appears in error messages. */
VUG_MUST_CHECK vug_status vug_tokenizer_add_regex(vug_tokenizer *t, vug_str pattern,
                                                  const char *what, const vug_regex **out,
                                                  vug_err *err);
/* Finishes a tokenizer whose parts are all there: builds indexes, places added tokens. */
VUG_MUST_CHECK vug_status vug_tokenizer_seal(vug_tokenizer *t, const char *name, vug_err *err);

/* GPT-2's regular expression for words (its encoder.py); ByteLevel can ask for it. */
extern const char vug_gpt2_regex[];

/* ---- reading a tokenizer.json ---------------------------------------------- */

typedef struct {
    vug_json_reader json;
    vug_tokenizer *t;
    vug_arena temp;          /* decoded strings and small trees, emptied while reading */
    const vug_mapping *file; /* its pages are prefetched and evicted while reading; or NULL */
    size_t prefetched;       /* end of the prefetched part of the file */
    size_t added_cap;
    vug_str unk; /* in the tokenizer's arena; ptr NULL for none */
    bool has_vocab, has_merges;
    vug_buf joined; /* scratch: the concatenation of a merge */
} vug_tokenizer_loader;

/* Each turns the parsed JSON of one member into steps. Failures are kept in l->json. */
void vug_tokenizer_load_normalizer(vug_tokenizer_loader *l, const vug_jv *v);
void vug_tokenizer_load_pre_tokenizer(vug_tokenizer_loader *l, const vug_jv *v);
void vug_tokenizer_load_post_processor(vug_tokenizer_loader *l, const vug_jv *v);
void vug_tokenizer_load_decoder(vug_tokenizer_loader *l, const vug_jv *v);

/* The "model" member, which is most of the file (tokenizer_model_json.c). */
void vug_tokenizer_load_model(vug_tokenizer_loader *l);
/* Bounds the memory that the file and decoded strings take. To be called regularly while
 * reading; strings from the reader are invalid afterwards. */
void vug_tokenizer_trim_memory(vug_tokenizer_loader *l);
/* A copy in the tokenizer's arena; ptr is NULL on failure, which is kept in l->json. */
vug_str vug_tokenizer_copy_string(vug_tokenizer_loader *l, vug_str text);

/* As vug_tokenizer_from_json. `file` is the mapping that `json` lies in, or NULL. */
VUG_MUST_CHECK vug_status vug_tokenizer_open_json(vug_str json, const char *name,
                                                  const vug_mapping *file, vug_tokenizer **out,
                                                  vug_err *err);

/* ---- other formats ----------------------------------------------------------- */

/* `file` begins with "GGUF". */
VUG_MUST_CHECK vug_status vug_tokenizer_from_gguf_file(vug_bytes file, const char *name,
                                                       vug_tokenizer **out, vug_err *err);

#endif
