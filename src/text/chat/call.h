#ifndef VUG_TEXT_CHAT_CALL_H
#define VUG_TEXT_CHAT_CALL_H

/*
 * The inside of one tool call, byte by byte: its name, and its arguments as JSON
 * text while they come. What is no call is said to be none at the first byte that
 * cannot be part of one.
 */

#include "core/json.h"
#include "text/chat/syntax.h"

#define VUG_CALL_MAX_NAME ((size_t)1024)

/* ---- JSON, checked as it comes (call_json.c) ----------------------------------- */

typedef enum {
    VUG_SCAN_VALUE,
    VUG_SCAN_FIRST_ELEMENT,
    VUG_SCAN_FIRST_KEY,
    VUG_SCAN_KEY,
    VUG_SCAN_COLON,
    VUG_SCAN_AFTER, /* a value, inside of a container */
    VUG_SCAN_STRING,
    VUG_SCAN_ESCAPE,
    VUG_SCAN_HEX,
    VUG_SCAN_NUMBER,
    VUG_SCAN_WORD,
    VUG_SCAN_DONE,
} vug_scan_state;

/* All-zero expects a value. */
typedef struct {
    vug_scan_state state;
    int part;        /* of an escape, a number, a word */
    char word;       /* true, false or null, by its first letter */
    bool key;        /* the string is a key */
    int depth;       /* containers that are open */
    uint64_t arrays; /* bit i: the container at depth i + 1 is one */
} vug_json_scan;

/* False when no JSON text begins like that. A number at the top needs a byte after it. */
bool vug_json_scan_step(vug_json_scan *scan, char byte);

/* ---- a call ---------------------------------------------------------------------- */

/* What is fed for a token that is the quote mark. */
#define VUG_CALL_QUOTE 256

/* Where in objects and arrays of another form what is written as JSON stands. */
typedef struct {
    int depth;
    uint64_t arrays; /* as above */
    bool more;       /* the innermost container has a member already */
} vug_call_nest;

typedef struct {
    vug_call_form form;
    bool quote_by_id;    /* letters do not spell the quote mark */
    const vug_jv *tools; /* NULL or the array */
    int state;           /* of the form */
    size_t matched;      /* bytes of what `state` waits for */
    bool xml;            /* HERMES, but <function=..> */
    bool named;          /* `name` is complete */
    bool complete;       /* so are the arguments; nothing but the closing mark may follow */
    bool failed;         /* out of memory */
    vug_buf name;
    vug_buf args;       /* JSON */
    vug_buf word;       /* what is gathered before it can be judged */
    vug_json_scan scan; /* HERMES, LLAMA3: of the object around the arguments */
    int field;          /* of that object, that is being read */
    bool in_value, has_args;
    vug_call_nest nest;       /* GEMMA4, and XML */
    const vug_jv *properties; /* XML: of the tool's parameters */
    bool text, newline;       /* XML: the value is a string; a line end was held back */
    bool first;               /* XML: byte of the value */
} vug_call;

vug_call vug_call_begin(vug_call_form form, bool quote_by_id, const vug_jv *tools);
void vug_call_release(vug_call *call);
/* The next byte, or VUG_CALL_QUOTE; not after it is complete. False: it is no call. */
bool vug_call_step(vug_call *call, int symbol);
/* Inside a string or a value that is text: marks that come there are spelled. */
bool vug_call_in_text(const vug_call *call);

/* Of each form: false where it is no call. */
bool vug_call_json_step(vug_call *call, char byte);
bool vug_call_xml_step(vug_call *call, char byte);
bool vug_call_gemma_step(vug_call *call, int symbol);
bool vug_call_json_in_text(const vug_call *call);
bool vug_call_xml_in_text(const vug_call *call);
bool vug_call_gemma_in_text(const vug_call *call);

/* Names the call; false for a name that is empty or too long. */
bool vug_call_name(vug_call *call, vug_str name);
void vug_call_put(vug_call *call, const char *bytes, size_t n);
/* One byte of a JSON string, escaped. */
void vug_call_put_escaped(vug_call *call, char byte);
/* The function of that name among the tools; NULL. */
const vug_jv *vug_call_tool(const vug_jv *tools, vug_str name);

#endif
