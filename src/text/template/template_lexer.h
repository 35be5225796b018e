#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_LEXER_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_LEXER_H

/* Cuts a template into tokens, by the rules of Jinja with trim_blocks and lstrip_blocks. */

#include "text/template/template_ast.h"

#define VUG_TMPL_MAX_SOURCE ((size_t)1 << 20) /* bytes */

typedef enum {
    VUG_TMPL_TOKEN_END,
    VUG_TMPL_TOKEN_TEXT,      /* outside tags */
    VUG_TMPL_TOKEN_OPEN_VAR,  /* {{ */
    VUG_TMPL_TOKEN_CLOSE_VAR, /* }} */
    VUG_TMPL_TOKEN_OPEN_TAG,  /* {% */
    VUG_TMPL_TOKEN_CLOSE_TAG, /* %} */
    VUG_TMPL_TOKEN_NAME,
    VUG_TMPL_TOKEN_STRING, /* value: decoded */
    VUG_TMPL_TOKEN_NUMBER, /* value */
    VUG_TMPL_TOKEN_OP,     /* op: its character, or VUG_TMPL_OP2 of its two */
} vug_tmpl_token_kind;

typedef struct {
    vug_tmpl_token_kind kind;
    int op;
    uint32_t line;
    size_t at;    /* byte of the source */
    vug_str text; /* as written */
    vug_tmpl_value value;
} vug_tmpl_token;

typedef enum { VUG_TMPL_LEX_TEXT, VUG_TMPL_LEX_VAR, VUG_TMPL_LEX_TAG } vug_tmpl_lexer_mode;

typedef struct {
    const char *name;
    vug_str src; /* newlines are \n */
    size_t at;
    uint32_t line;
    size_t counted; /* newlines are counted up to here */
    vug_tmpl_lexer_mode mode;
    bool line_starts;                /* nothing was read yet, or a newline last */
    char open[VUG_TMPL_MAX_NESTING]; /* closing brackets that are expected */
    int n_open;
    vug_arena *arena;
    vug_status st; /* sticky */
    vug_err *err;
} vug_tmpl_lexer;

/* Copies `source` with \n for newlines and without the last one, as Jinja reads it. */
VUG_MUST_CHECK vug_status vug_tmpl_lexer_init(vug_tmpl_lexer *lex, vug_str source, const char *name,
                                              vug_arena *arena, vug_err *err);
vug_tmpl_token vug_tmpl_lexer_next(vug_tmpl_lexer *lex);
/* Keeps the first failure, with line and column of byte `at`. */
void vug_tmpl_lexer_fail(vug_tmpl_lexer *lex, size_t at, vug_status code, const char *fmt, ...)
        VUG_PRINTF(4, 5);

/* ---- for the files of the lexer ---------------------------------------------------- */

bool vug_tmpl_lexer_looking_at(const vug_tmpl_lexer *lex, size_t at, const char *text);
/* The byte at `at`, or 0 at the end. */
char vug_tmpl_lexer_byte(const vug_tmpl_lexer *lex, size_t at);
/* The offset behind the white space at `at`. */
size_t vug_tmpl_lexer_skip_space(const vug_tmpl_lexer *lex, size_t at);
void vug_tmpl_lexer_move(vug_tmpl_lexer *lex, size_t to);
vug_tmpl_token vug_tmpl_lexer_token(vug_tmpl_lexer *lex, vug_tmpl_token_kind kind, size_t from,
                                    size_t to);
/* The offset behind "%}" with its signs at `at`, or 0 where there is none. */
size_t vug_tmpl_lexer_tag_end(const vug_tmpl_lexer *lex, size_t at);
/* The next token outside tags: text, or the opening of a tag. */
vug_tmpl_token vug_tmpl_lexer_next_text(vug_tmpl_lexer *lex);

#endif
