#ifndef VUG_APP_SERVER_API_REQUEST_H
#define VUG_APP_SERVER_API_REQUEST_H

/*
 * The body of a request as a struct. Everything that can be known without the model is
 * checked here; what needs the vocabulary comes with vug_api_check_tokens, and what needs
 * the checkpoint's defaults with vug_api_sampling. fields.def lists the fields.
 *
 * Slices point into the body and strings into body or arena: both must outlive the
 * request. No sockets, no model: any thread may read.
 */

#include "app/server/api/error.h"

/* Limits; docs/limits.md has their sentences. Nesting is bounded by VUG_JSON_MAX_DEPTH. */
#define VUG_API_MAX_BODY     ((size_t)32 << 20) /* bytes */
#define VUG_API_MAX_TREE     ((size_t)64 << 20) /* bytes that a body's values take in memory */
#define VUG_API_MAX_MODEL    1024 /* bytes of a model's name, which every event repeats */
#define VUG_API_MAX_MESSAGES 16384
#define VUG_API_MAX_PARTS    4096 /* of one message */
#define VUG_API_MAX_PROMPTS  2048 /* and of prompts times choices */
#define VUG_API_MAX_CHOICES  128
#define VUG_API_MAX_STOPS    64
#define VUG_API_MAX_STOP     1024 /* bytes of one */
#define VUG_API_MAX_BIAS     (VUG_MAX_STAGES - VUG_SAMPLER_COUNT)
#define VUG_API_MAX_TOOLS    1024
#define VUG_API_MAX_NAME     256               /* bytes of a function's name */
#define VUG_API_MAX_FORM     ((size_t)1 << 20) /* bytes of a schema or grammar, also of a tool */
#define VUG_API_MAX_OPTIONS  4096              /* of guided_choice */
#define VUG_API_TEXT_TOKENS  16                /* max_tokens of /v1/completions, as OpenAI's */

/* X(id, path) */
#define VUG_API_ENDPOINT_TABLE(X)   \
    X(CHAT, "/v1/chat/completions") \
    X(TEXT, "/v1/completions")      \
    X(TOKENIZE, "/tokenize")        \
    X(DETOKENIZE, "/detokenize")    \
    X(TEMPLATE, "/apply-template")

typedef enum {
#define X(id, path) VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
            VUG_API_ENDPOINT_COUNT
} vug_api_endpoint;

typedef enum {
#define X(name, endpoints, reader, min, max, help) VUG_FIELD_##name,
#include "app/server/api/fields.def"
#undef X
    VUG_FIELD_COUNT
} vug_field_id;

typedef struct {
    bool is_tokens;
    vug_str text;
    int32_t *id; /* [n] */
    size_t n;
} vug_api_prompt;

typedef struct {
    vug_str name;
    vug_str parameters; /* a JSON schema, as it was written; empty: none */
    vug_str text;       /* all of it, likewise */
    bool strict;        /* may be called, and with what the schema says only */
} vug_api_tool;

typedef enum {
    VUG_FORMAT_TEXT,
    VUG_FORMAT_JSON,
    VUG_FORMAT_SCHEMA,
    VUG_FORMAT_REGEX,
    VUG_FORMAT_GBNF
} vug_api_format;
typedef enum {
    VUG_TOOLS_NONE,
    VUG_TOOLS_AUTO,
    VUG_TOOLS_REQUIRED,
    VUG_TOOLS_NAMED
} vug_api_tool_choice;
typedef enum { VUG_THINKING_DEFAULT, VUG_THINKING_OFF, VUG_THINKING_ON } vug_api_thinking;

typedef struct {
    vug_api_endpoint endpoint;
    bool given[VUG_FIELD_COUNT];    /* and not null */
    double number[VUG_FIELD_COUNT]; /* of flags, numbers and whole numbers */

    vug_str model;
    vug_str messages;       /* the array, as it was written; empty where there is none */
    vug_api_prompt *prompt; /* [n_prompts]; of content and tokens too, then one */
    size_t n_prompts;

    int64_t max_tokens;      /* -1: until the context is full */
    int n;                   /* choices of each prompt */
    uint64_t seed;           /* if given[VUG_FIELD_seed] */
    vug_sampler_stage *bias; /* [n_bias] */
    size_t n_bias;
    vug_str *stop; /* [n_stops], none empty */
    size_t n_stops;
    int32_t *stop_id; /* [n_stop_ids] */
    size_t n_stop_ids;
    bool ignore_eos;
    bool logprobs;
    int top_logprobs;

    vug_api_format format;
    vug_str form;           /* the schema, expression or grammar; not of TEXT and JSON */
    const char *form_field; /* the field that says so; NULL: none */
    vug_str tools;          /* the array, as it was written; empty without tools */
    vug_str callable;       /* likewise of those that may be called */
    vug_api_tool *tool;     /* [n_tools] */
    size_t n_tools;
    vug_api_tool_choice choice; /* NONE without tools */
    size_t named;               /* which tool, of NAMED */
    bool one_call;              /* at most one */

    vug_api_thinking thinking;
    int64_t thinking_tokens; /* most of them; -1: any number */
    vug_str variables;       /* for the template, with enable_thinking where it was decided */
    bool no_reply;           /* without the tokens that open the answer */

    bool stream, include_usage;
    bool echo;
    bool add_special;           /* of tokenize and text */
    bool parse_special, pieces; /* of tokenize */
} vug_api_request;

/* False with `error`, which then has the field in `param`. */
VUG_MUST_CHECK bool vug_api_request_read(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                                         vug_api_request *out, vug_api_error *error);
/* Whether it says how long an answer may be. */
bool vug_api_has_length(const vug_api_request *request);
/* Whether every id in prompts, biases and stops is one of the vocabulary's. */
VUG_MUST_CHECK bool vug_api_check_tokens(const vug_api_request *request, int64_t n_vocab,
                                         vug_api_error *error);
/* The chain of stages: what the request says, for the rest the checkpoint's `defaults`, in
 * the order of VUG_SAMPLER_TABLE. `seed` is for requests without one; choice i of a prompt
 * takes the chain's seed + i. False when out of memory. */
VUG_MUST_CHECK bool vug_api_sampling(const vug_api_request *request,
                                     const vug_sampling_defaults *defaults, uint64_t seed,
                                     vug_arena *arena, vug_sampling *out);

#endif
