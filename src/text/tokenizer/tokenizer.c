#include "text/tokenizer/tokenizer.h"

enum { MAX_CONFIG = 16 << 20 }; /* bytes of a tokenizer_config.json */

/* ---- life ---------------------------------------------------------------- */

static vug_status open_from(vug_str json, const char *name, const vug_mapping *file,
                            vug_tokenizer **out, vug_err *err)
{
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    if (!t)
        return VUG_FAIL_NOMEM(err, "a tokenizer", sizeof(*t));
    const vug_status st = vug_tokenizer_load(t, json, name, file, err);
    if (st != VUG_OK) {
        vug_tokenizer_close(t);
        return st;
    }
    *out = t;
    return VUG_OK;
}

vug_status vug_tokenizer_read(vug_str json, const char *name, vug_tokenizer **out, vug_err *err)
{
    return open_from(json, name, NULL, out, err);
}

char *vug_tokenizer_path(const char *folder)
{
    char *json = vug_path_join(folder, "tokenizer.json");
    char *model = json && !vug_file_exists(json) ? vug_path_join(folder, "tokenizer.model") : NULL;
    if (model && vug_file_exists(model)) {
        vug_free(json);
        return model;
    }
    vug_free(model);
    return json;
}

/* A tokenizer.model with the tokenizer_config.json beside it, if there is one. */
static vug_status open_model(vug_bytes model, const char *path, vug_tokenizer **out, vug_err *err)
{
    static const char name[] = "tokenizer_config.json";
    const size_t folder = (size_t)(vug_path_base(path) - path);
    char *config = vug_alloc(folder + sizeof(name), 1);
    vug_text text = { 0 };
    if (!config)
        return VUG_FAIL_NOMEM(err, path, folder + sizeof(name));
    memcpy(config, path, folder);
    memcpy(config + folder, name, sizeof(name));
    vug_status st = VUG_OK;
    if (vug_file_exists(config))
        st = vug_read_file(config, MAX_CONFIG, &text, err);
    if (st == VUG_OK)
        st = vug_tokenizer_sentencepiece(model, (vug_str){ text.ptr, text.len }, path, out, err);
    vug_text_release(&text);
    vug_free(config);
    return st;
}

static vug_status open_file(const vug_mapping *file, const char *path, vug_tokenizer **out,
                            vug_err *err)
{
    const vug_bytes bytes = file->bytes;
    VUG_TRY(vug_refuse_stand_in(bytes, path, err));
    if (bytes.len >= 4 && memcmp(bytes.ptr, "GGUF", 4) == 0)
        return vug_tokenizer_gguf_file(bytes, path, out, err);
    if (bytes.len > VUG_TOKENIZER_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "%.200s: %zu bytes, a tokenizer.json may have %zu", path,
                        bytes.len, VUG_TOKENIZER_MAX_BYTES);
    if (vug_str_ends(vug_str_of(path), ".model"))
        return open_model(bytes, path, out, err);
    return open_from((vug_str){ (const char *)bytes.ptr, bytes.len }, path, file, out, err);
}

vug_status vug_tokenizer_open(const char *path, vug_tokenizer **out, vug_err *err)
{
    char *found = vug_is_folder(path) ? vug_tokenizer_path(path) : vug_strdup(path);
    if (!found)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    vug_mapping file = { 0 };
    vug_status st = vug_map_file(found, &file, err);
    if (st == VUG_OK)
        st = open_file(&file, found, out, err);
    vug_unmap(&file);
    vug_free(found);
    return st;
}

void vug_tokenizer_close(vug_tokenizer *t)
{
    if (!t)
        return;
    vug_vocab_release(&t->vocab);
    vug_bpe_release(&t->bpe);
    vug_unigram_release(&t->unigram);
    vug_matcher_release(&t->spm.user);
    vug_matcher_release(&t->raw);
    vug_matcher_release(&t->normalized);
    vug_free(t->added);
    vug_free(t->renamed);
    vug_free(t->special);
    for (size_t i = 0; i < t->n_regexes; i++)
        vug_regex_destroy(t->regex[i]);
    vug_trie_keeper_destroy(t->trie);
    vug_arena_release(&t->arena);
    vug_free(t);
}

/* ---- questions ----------------------------------------------------------- */

int32_t vug_tokenizer_size(const vug_tokenizer *t)
{
    return (int32_t)t->vocab.n_ids;
}

const char *vug_tokenizer_token(const vug_tokenizer *t, int32_t id, size_t *len)
{
    const vug_str text = id < 0 ? (vug_str){ 0 } : vug_vocab_text(&t->vocab, (uint32_t)id);
    if (len)
        *len = text.len;
    return text.ptr;
}

int32_t vug_tokenizer_find(const vug_tokenizer *t, const char *token)
{
    const vug_str text = vug_str_of(token);
    const int32_t id = vug_vocab_find(&t->vocab, text);
    for (size_t i = 0; id < 0 && i < t->n_added; i++) {
        if (vug_str_equal(t->added[i].content, text))
            return (int32_t)t->added[i].id;
    }
    return id;
}

bool vug_token_is_special(const vug_tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->vocab.n_ids && vug_is_special(t, (uint32_t)id);
}

uint64_t vug_tokenizer_memory(const vug_tokenizer *t)
{
    return sizeof(*t) + t->arena.held + vug_vocab_memory(&t->vocab) + vug_bpe_memory(&t->bpe) +
           vug_unigram_memory(&t->unigram) +
           t->n_added * (sizeof(*t->added) + 2 * sizeof(const vug_added_token *)) +
           t->vocab.n_ids / 8 + 1;
}

const int32_t *vug_tokenizer_prefix(const vug_tokenizer *t, size_t *n)
{
    *n = t->before.n;
    return t->before.id;
}
