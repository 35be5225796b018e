#include "text/grammar/schema_internal.h"

/* The formats of strings. */

#define YEAR "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
#define BY_4 "(0[48]|[2468][048]|[13579][26])"
#define LEAP "([0-9]{2}" BY_4 "|" BY_4 "00)"
#define DAY  "(0[1-9]|1[0-9]|2[0-8])"
#define DATE                                                                                \
    "(" YEAR "-((0[13578]|1[02])-(" DAY "|29|3[01]|30)|(0[469]|11)-(" DAY "|29|30)|02-" DAY \
    ")|" LEAP "-02-29)"
#define CLOCK         "([01][0-9]|2[0-3]):[0-5][0-9]"
#define TIME          CLOCK ":[0-5][0-9](\\.[0-9]+)?(Z|[+-]" CLOCK ")"
#define COUNT         "[0-9]+"
#define DURATION_TIME "T(" COUNT "H(" COUNT "M(" COUNT "S)?)?|" COUNT "M(" COUNT "S)?|" COUNT "S)"
#define DURATION_DATE "(" COUNT "Y(" COUNT "M(" COUNT "D)?)?|" COUNT "M(" COUNT "D)?|" COUNT "D)"
/* Without "--" as the third and fourth character, which announces an encoded name (RFC 5891). */
#define LABEL_OF(n)                                                                 \
    "[A-Za-z0-9]([A-Za-z0-9-]{0,2}[A-Za-z0-9]|[A-Za-z0-9-]([A-Za-z0-9][A-Za-z0-9-]" \
    "|-[A-Za-z0-9])[A-Za-z0-9-]{0," n "}[A-Za-z0-9])?"
#define LABEL LABEL_OF("58")
#define HOST  LABEL "((\\." LABEL "){0,2}|(\\." LABEL "){2}\\." LABEL_OF("56") ")"
#define ATOM  "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}"
#define BYTE  "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define HEX   "[0-9A-Fa-f]"
#define G     "[0-9A-Fa-f]{1,4}"
/* Characters beyond ASCII of an IRI (RFC 3987), those of the first plane. */
#define WIDE            "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef"
#define NAME(wide)      "([A-Za-z0-9._~!$&'()*+,;=" wide "-]|%" HEX "{2})"
#define USER(wide)      "([A-Za-z0-9._~!$&'()*+,;=:" wide "-]|%" HEX "{2})"
#define PCHAR(wide)     "([A-Za-z0-9._~!$&'()*+,;=:@" wide "-]|%" HEX "{2})"
#define NO_COLON(wide)  "([A-Za-z0-9._~!$&'()*+,;=@" wide "-]|%" HEX "{2})"
#define AFTER(wide)     "([A-Za-z0-9._~!$&'()*+,;=:@/?" wide "-]|%" HEX "{2})*"
#define AUTHORITY(wide) "//(" USER(wide) "*@)?" NAME(wide) "*(:[0-9]*)?(/" PCHAR(wide) "*)*"
#define QUERY(wide)     "([?]" AFTER(wide) ")?(#" AFTER(wide) ")?"
#define SEGMENTS(wide)  "(/" PCHAR(wide) "*)*"
#define ABSOLUTE(wide)                                                             \
    "[A-Za-z][A-Za-z0-9+.-]*:(" AUTHORITY(wide) "|/|(/?" PCHAR(wide) "+" SEGMENTS( \
            wide) ")?)" QUERY(wide)
#define RELATIVE(wide)                                                                          \
    "(" AUTHORITY(wide) "|/|/" PCHAR(wide) "+" SEGMENTS(wide) "|(" NO_COLON(wide) "+" SEGMENTS( \
            wide) ")?)" QUERY(wide)
#define POINTER "(/([^/~]|~[01])*)*"
#define VARIABLE \
    "([A-Za-z0-9_]|%" HEX "{2})([.]?([A-Za-z0-9_]|%" HEX "{2}))*(:[1-9][0-9]{0,3}|[*])?"
#define TEMPLATE                                                                       \
    "([!#$&()*+,./0-9:;=?@A-Z\\[\\]_a-z~" WIDE "-]|%" HEX "{2}|[{][+#./;?&]?" VARIABLE \
    "(," VARIABLE ")*[}])*"
/* Regular expressions: groups within no others, without lookaround and backreferences. */
#define RE_ONE                                                                                     \
    "([^\\\\^$.|?*+()\\[\\]{}\\u0000-\\u001f]|[.]|\\\\[dDwWsStnrfv^$.|?*+()\\[\\]{}/\\\\]|\\[\\^?" \
    "(a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9_ .,:;@#%&=!<>~'+*?$()/]|\\\\[dDwWsS.\\-\\\\\\[\\]/])+-?\\])"
#define RE_TIMES         "([*+?]|[{]([1-9][0-9]?,?|[0-9],[1-9][0-9])[}])[?]?"
#define RE_SEQUENCE(one) "(\\^|[$]|" one "(" RE_TIMES ")?)*"
#define RE_CHOICE(one)   RE_SEQUENCE(one) "([|]" RE_SEQUENCE(one) ")*"
#define RE_GROUP(one)    "(" RE_ONE "|[(]([?]:)?" RE_CHOICE(one) "[)])"
#define RE               RE_CHOICE(RE_GROUP(RE_ONE))
#define BASE64           "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"

/* X(name, regex of the whole text, regex that all texts of the format match somewhere or NULL,
 * minimum length, maximum length or 0). From RFC 3339 without leap
 * seconds and with years from 0001 on; RFC 5321 without quoted names; RFC 1123; RFC 4291 without
 * dotted numbers; RFC 3986 and 3987 without addresses in brackets; RFC 4122; RFC 6570; RFC 6901;
 * ECMA-262; RFC 4648. "byte" and "url" are from OpenAPI. */
#define FORMATS(X)                                                                               \
    X("date", DATE, "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", 10, 10)                                      \
    X("time", TIME, "^[0-9]{2}:[0-9]{2}:[0-9]{2}", 9, 0)                                         \
    X("date-time", DATE "T" TIME, "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]", 20, 0)                     \
    X("duration", "P(" COUNT "W|" DURATION_DATE "(" DURATION_TIME ")?|" DURATION_TIME ")", "^P", \
      3, 0)                                                                                      \
    X("uuid", HEX "{8}-(" HEX "{4}-){3}" HEX "{12}", "^[0-9A-Fa-f-]{36,}$", 36, 36)              \
    X("email", ATOM "(\\." ATOM "){0,2}@" HOST, "@", 3, 316)                                     \
    X("idn-email", ATOM "(\\." ATOM "){0,2}@" HOST, "@", 3, 316)                                 \
    X("hostname", HOST, "^[A-Za-z0-9.-]+$", 1, 253)                                              \
    X("idn-hostname", HOST, NULL, 1, 253)                                                        \
    X("ipv4", "(" BYTE "\\.){3}" BYTE, "^([0-9]+[.]){3}[0-9]+$", 7, 15)                          \
    X("ipv6",                                                                                    \
      "(" G ":){7}" G "|(" G ":){1,7}:|(" G ":){1,6}:" G "|(" G ":){1,5}(:" G "){1,2}|(" G       \
      ":){1,4}(:" G "){1,3}|(" G ":){1,3}(:" G "){1,4}|(" G ":){1,2}(:" G "){1,5}|" G ":(:" G    \
      "){1,6}|:((:" G "){1,7}|:)",                                                               \
      "^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*$", 2, 39)                                                    \
    X("uri", ABSOLUTE(""), "^[A-Za-z][A-Za-z0-9+.-]*:", 2, 0)                                    \
    X("url", ABSOLUTE(""), "^[A-Za-z][A-Za-z0-9+.-]*:", 2, 0)                                    \
    X("uri-reference", ABSOLUTE("") "|" RELATIVE(""), NULL, 0, 0)                                \
    X("iri", ABSOLUTE(WIDE), "^[A-Za-z][A-Za-z0-9+.-]*:", 2, 0)                                  \
    X("iri-reference", ABSOLUTE(WIDE) "|" RELATIVE(WIDE), NULL, 0, 0)                            \
    X("uri-template", TEMPLATE, NULL, 0, 0)                                                      \
    X("json-pointer", POINTER, "^/|^$", 0, 0)                                                    \
    X("relative-json-pointer", "(0|[1-9][0-9]*)(#|" POINTER ")", "^[0-9]", 1, 0)                 \
    X("regex", RE, NULL, 0, 0)                                                                   \
    X("byte", BASE64, NULL, 0, 0)

static const vug_schema_format formats[] = {
#define X(name, regex, implied, shortest, longest) { name, regex, implied, shortest, longest },
    FORMATS(X)
#undef X
};

const vug_schema_format *vug_schema_find_format(vug_str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (vug_str_is(name, formats[i].name))
            return &formats[i];
    return NULL;
}
