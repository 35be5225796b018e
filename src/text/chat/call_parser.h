#ifndef VUG_TEXT_CHAT_CALL_PARSER_H
#define VUG_TEXT_CHAT_CALL_PARSER_H

/*
 * Parses the inside of one tool call byte by byte: its name, and its arguments as JSON text
 * while they come. Input that cannot be a call is rejected at its first wrong byte.
 */

#include "core/json.h"
#include "text/chat/output_format.h"

#define VUG_CALL_MAX_NAME ((size_t)1024)

/* ---- JSON, checked as it comes (call_parser_json.c) ----------------------------------- */

typedef enum {
    VUG_SCAN_VALUE,
    VUG_SCAN_FIRST_ELEMENT,
    VUG_SCAN_FIRST_KEY,
    VUG_SCAN_KEY,
    VUG_SCAN_COLON,
    VUG_SCAN_AFTER, /* behind a value, inside a container */
    VUG_SCAN_STRING,
    VUG_SCAN_ESCAPE,
    VUG_SCAN_HEX,
    VUG_SCAN_NUMBER,
    VUG_SCAN_WORD,
    VUG_SCAN_DONE,
} vug_scan_state;

/* All zero: a value is expected. */
typedef struct {
    vug_scan_state state;
    int part;        /* of an escape, a number or a word */
    char word;       /* true, false or null, by its first letter */
    bool key;        /* the string is a key */
    int depth;       /* open containers */
    uint64_t arrays; /* bit i: the container at depth i + 1 is an array */
} vug_json_scan;

/* False: no JSON text begins like that. A number at the top ends at the byte behind it. */
bool vug_json_scan_step(vug_json_scan *scan, char byte);

/* ---- a call ---------------------------------------------------------------------- */

/* Fed in place of a byte where a token is the quote marker. */
#define VUG_CALL_QUOTE 256

/* Nested objects and arrays of a format that is converted to JSON. */
typedef struct {
    int depth;
    uint64_t arrays; /* bit i: the container at depth i + 1 is an array */
    bool has_member; /* of the innermost container */
} vug_call_nesting;

typedef struct {
    vug_tool_call_format format;
    bool quote_by_id;    /* only a token is the quote marker, not its letters */
    const vug_jv *tools; /* the array, or NULL */
    int state;           /* of the format */
    size_t matched;      /* bytes that came of the word that `state` waits for */
    bool xml;            /* of Qwen's two formats it is <function=..> */
    bool named;          /* `name` is complete */
    bool complete;       /* so are the arguments; only the closing marker may follow */
    bool failed;         /* out of memory */
    vug_buf name;
    vug_buf args;       /* JSON */
    vug_buf word;       /* bytes that can only be judged together */
    vug_json_scan scan; /* HERMES, LLAMA3: of the object around the arguments */
    int field;          /* HERMES, LLAMA3: which member is read; XML: types of the value */
    bool in_value, has_args;
    vug_call_nesting nesting; /* GEMMA4, XML */
    const vug_jv *properties; /* XML: of the tool's parameters */
    bool is_string;           /* XML: the value is a string */
    bool newline;             /* XML: a line end of the value is held back */
    bool first;               /* XML: no byte of the value came yet */
} vug_call_parser;

vug_call_parser vug_call_parser_begin(vug_tool_call_format format, bool quote_by_id,
                                      const vug_jv *tools);
void vug_call_parser_release(vug_call_parser *call);
/* Takes the next byte, or VUG_CALL_QUOTE; not after the call is complete. False: it is no call. */
bool vug_call_parser_step(vug_call_parser *call, int symbol);
/* Inside a string, or a value that is text: there, markers are letters. */
bool vug_call_parser_in_text(const vug_call_parser *call);

/* The same for each format. */
bool vug_call_parser_json_step(vug_call_parser *call, char byte);
bool vug_call_parser_xml_step(vug_call_parser *call, char byte);
bool vug_call_parser_gemma_step(vug_call_parser *call, int symbol);
bool vug_call_parser_json_in_text(const vug_call_parser *call);
bool vug_call_parser_xml_in_text(const vug_call_parser *call);
bool vug_call_parser_gemma_in_text(const vug_call_parser *call);

/* ---- for the parsers of the formats (call_writer.c) ------------------------------------ */

static inline bool vug_call_is_blank(int c) /* white space of JSON */
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
/* False: the name is empty or too long. */
bool vug_call_parser_set_name(vug_call_parser *call, vug_str name);
/* Appends to the arguments. */
void vug_call_parser_write(vug_call_parser *call, const char *bytes, size_t n);
/* Appends one byte of a JSON string, escaped. */
void vug_call_parser_write_escaped(vug_call_parser *call, char byte);
/* The function of that name among the tools, or NULL. */
const vug_jv *vug_find_tool(const vug_jv *tools, vug_str name);

#endif
