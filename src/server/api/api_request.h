#ifndef VUG_SERVER_API_API_REQUEST_H
#define VUG_SERVER_API_API_REQUEST_H

/*
 * Parsed request bodies. vug_api_parse_request checks whatever does not depend on the model;
 * vug_api_check_tokens needs the vocabulary, vug_api_make_sampling the checkpoint's defaults.
 * fields.def lists the fields.
 *
 * Slices point into the body or the arena, which must outlive the request. Nothing here depends on
 * sockets or models.
 */

#include "server/api/error.h"

/* Limits; docs/limits.md lists their error messages. VUG_JSON_MAX_DEPTH bounds nesting. */
#define VUG_API_MAX_BODY          ((size_t)32 << 20) /* bytes */
#define VUG_API_MAX_JSON_MEMORY   ((size_t)64 << 20) /* bytes of the parsed body */
#define VUG_API_MAX_MODEL         1024 /* bytes of a model name, which every event repeats */
#define VUG_API_MAX_SALT          1024 /* bytes of cache_salt */
#define VUG_API_MAX_MESSAGES      16384
#define VUG_API_MAX_PARTS         4096 /* of one message */
#define VUG_API_MAX_PROMPTS       2048 /* also of prompts times choices */
#define VUG_API_MAX_FILES         1024 /* of input_extra */
#define VUG_API_MAX_CHOICES       128
#define VUG_API_MAX_STOPS         64
#define VUG_API_MAX_STOP          1024 /* bytes of one stop string */
#define VUG_API_MAX_BIAS          (VUG_MAX_SAMPLERS - VUG_SAMPLER_COUNT)
#define VUG_API_MAX_ALLOWED       ((size_t)1 << 19) /* of allowed_token_ids */
#define VUG_API_MAX_WORD          256 /* bytes of one of bad_words or dry_sequence_breakers */
#define VUG_API_MAX_TOOLS         1024
#define VUG_API_MAX_NAME          256               /* bytes of a function name */
#define VUG_API_MAX_CONSTRAINT    ((size_t)1 << 20) /* bytes of a grammar or (tool) schema */
#define VUG_API_MAX_OPTIONS       4096              /* of guided_choice */
#define VUG_API_COMPLETION_TOKENS 16 /* max_tokens of /v1/completions, as in OpenAI's API */

/* X(id, path) */
#define VUG_API_ENDPOINT_TABLE(X)    \
    X(CHAT, "/v1/chat/completions")  \
    X(COMPLETION, "/v1/completions") \
    X(NATIVE, "/completion")         \
    X(INFILL, "/infill")             \
    X(TOKENIZE, "/tokenize")         \
    X(DETOKENIZE, "/detokenize")     \
    X(TEMPLATE, "/apply-template")   \
    X(EMBEDDING, "/v1/embeddings")

typedef enum {
#define X(id, path) VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
            VUG_API_ENDPOINT_COUNT
} vug_api_endpoint;

const char *vug_api_endpoint_path(vug_api_endpoint endpoint);
/* Whether its requests generate text. */
bool vug_api_generates(vug_api_endpoint endpoint);
/* Whether its responses have llama.cpp's shape. */
bool vug_api_is_native(vug_api_endpoint endpoint);

typedef enum {
#define X(name, endpoints, reader, min, max, help) VUG_FIELD_##name,
#include "server/api/fields.def"
#undef X
    VUG_FIELD_COUNT
} vug_field_id;

typedef struct {
    bool is_tokens;
    vug_str text;
    int32_t *id; /* [n] */
    size_t n;
} vug_api_prompt;

/* A file of input_extra. */
typedef struct {
    vug_str name, text;
} vug_api_file;

typedef struct {
    vug_str name;
    vug_str parameters; /* JSON schema, verbatim; empty: none */
    vug_str text;       /* the whole tool, verbatim */
    bool strict;        /* callable, and only with arguments that match the schema */
} vug_api_tool;

typedef enum {
    VUG_CONSTRAINT_NONE,
    VUG_CONSTRAINT_JSON,
    VUG_CONSTRAINT_SCHEMA,
    VUG_CONSTRAINT_REGEX,
    VUG_CONSTRAINT_GBNF
} vug_api_constraint_kind;
typedef enum {
    VUG_TOOLS_NONE,
    VUG_TOOLS_AUTO,
    VUG_TOOLS_REQUIRED,
    VUG_TOOLS_NAMED
} vug_api_tool_choice;
typedef enum { VUG_THINKING_DEFAULT, VUG_THINKING_OFF, VUG_THINKING_ON } vug_api_thinking;

typedef struct {
    vug_api_endpoint endpoint;
    bool given[VUG_FIELD_COUNT];    /* present and not null */
    double number[VUG_FIELD_COUNT]; /* of flags, numbers and integers */

    vug_str model;
    vug_str messages;       /* the array, verbatim but for a prefill; empty: none */
    vug_api_prompt *prompt; /* [n_prompts]; also `input`; `content` and `tokens` are one prompt */
    size_t n_prompts;

    /* The answer fills the gap between `prefix` and `suffix`; the one prompt, a text, begins it. */
    bool infill;
    vug_str prefix, suffix;
    vug_api_file *file; /* [n_files] of input_extra */
    size_t n_files;

    int64_t max_tokens;       /* -1: until the context is full */
    int n;                    /* choices per prompt */
    int min_tokens;           /* of each answer */
    uint64_t seed;            /* if given[VUG_FIELD_seed] */
    vug_sampler_config *bias; /* [n_bias] */
    size_t n_bias;
    int32_t *allowed_id; /* [n_allowed] NULL: all ids */
    size_t n_allowed;
    const char **bad_word; /* [n_bad_words], NUL-terminated, none empty */
    size_t n_bad_words;
    const char **dry_breaker; /* [n_dry_breakers] the same; NULL: the default */
    size_t n_dry_breakers;
    vug_str *stop; /* [n_stops], none empty */
    size_t n_stops;
    int32_t *stop_id; /* [n_stop_ids] */
    size_t n_stop_ids;
    bool ignore_eos;
    bool as_base64; /* encoding_format of embeddings */
    bool logprobs;
    int top_logprobs;
    int32_t *logprob_id; /* [n_logprob_ids] reported instead of the top tokens of the answer */
    size_t n_logprob_ids;

    vug_api_constraint_kind constraint_kind;
    vug_str constraint;           /* schema, regex or grammar; empty for NONE and JSON */
    const char *constraint_field; /* the field that sets it; NULL: none */
    vug_str tools;                /* the array, verbatim; empty: none */
    vug_str callable_tools;       /* an array of the tools that may be called */
    vug_api_tool *tool;           /* [n_tools] */
    size_t n_tools;
    vug_api_tool_choice tool_choice; /* NONE without tools */
    size_t named_tool;               /* its index, for NAMED */
    bool single_call;                /* at most one call */

    vug_api_thinking thinking;
    int64_t thinking_budget;    /* tokens; -1: no limit */
    vug_str template_variables; /* a JSON object; has enable_thinking if any field decides it */
    vug_str prefill; /* text of a last assistant message, which is continued and not part of
                        `messages`; empty: none */

    vug_str cache_salt;        /* empty: none */
    vug_str prediction;        /* a text that the answer may repeat; empty: none */
    bool no_generation_prompt; /* omit the tokens that open the answer */
    bool stream, include_usage, continuous_usage;
    bool echo;
    bool add_special;                /* of tokenize and completion */
    bool parse_special, with_pieces; /* of tokenize */
} vug_api_request;

/* False fills `error`, with the field in `param`. */
VUG_MUST_CHECK bool vug_api_parse_request(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                                          vug_api_request *out, vug_api_error *error);
/* Whether a field limits the length of the answer. */
bool vug_api_has_token_limit(const vug_api_request *request);
/* Whether every id in prompts, biases and stops is in the vocabulary. */
VUG_MUST_CHECK bool vug_api_check_tokens(const vug_api_request *request, int64_t n_vocab,
                                         vug_api_error *error);
/* The sampler chain in the order of VUG_SAMPLER_TABLE: settings of the request come before the
 * checkpoint's `defaults`. `seed` is for requests without one; choice i adds i to it. False when
 * out of memory. */
VUG_MUST_CHECK bool vug_api_make_sampling(const vug_api_request *request,
                                          const vug_sampling_defaults *defaults, uint64_t seed,
                                          vug_arena *arena, vug_sampling *out);

#endif
