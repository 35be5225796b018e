#include "test.h"

#include "template_help.h"
#include "text/template/template_lexer.h"

/* Error messages, and the limits that keep a template from exhausting the machine. */

static void test_error_messages(void **state)
{
    (void)state;
    static const struct {
        const char *source, *message;
    } row[] = {
        { "a\n{% if n %}\n{{ raise_exception('No ' ~ n) }}{% endif %}", "t: line 3: No 7" },
        { "\n\n{{ x.y }}", "t: line 3: 'x' is undefined" },
        { "{{ d.a.b }}", "t: line 1: 'dict object' has no attribute 'a'" },
        { "{{ [][0]['a'] }}", "t: line 1: 'list object' has no attribute '0'" },
        { "{{ n.append(1) }}", "t: line 1: 'int object' has no attribute 'append'" },
        { "{{ 1 +\n none }}",
          "t: line 1: unsupported operand type(s) for +: 'int' and 'NoneType'" },
        { "{{ 'x'|tojson(nope=1) }}",
          "t: line 1: filter 'tojson' has no argument 'nope', or has it twice" },
        { "{% macro m() %}\n{{ y() }}{% endmacro %}\n{{ m() }}", "t: line 2: 'y' is undefined" },
        { "{{ 9223372036854775807 + 1 }}", "t: line 1: a whole number of more than 64 bits" },
        { "{% include 'x' %}",
          "t: line 1, column 4: Jinja's statement 'include' is not supported" },
        { "{% import 'x' as y %}",
          "t: line 1, column 4: Jinja's statement 'import' is not supported" },
        { "{% extends 'x' %}",
          "t: line 1, column 4: Jinja's statement 'extends' is not supported" },
        { "{% block x %}", "t: line 1, column 4: Jinja's statement 'block' is not supported" },
        { "{% autoescape true %}",
          "t: line 1, column 4: Jinja's statement 'autoescape' is not supported" },
        { "{% print 1 %}", "t: line 1, column 4: Jinja's statement 'print' is not supported" },
        { "{{ 1|pprint }}", "t: line 1, column 6: Jinja's filter 'pprint' is not supported" },
        { "{% if 1 %}{{ 1|random }}{% endif %}",
          "t: line 1: Jinja's filter 'random' is not supported" },
        { "{{ lipsum() }}", "t: line 1: Jinja's function 'lipsum' is not supported" },
        { "{{ 1|nope }}", "t: line 1, column 6: there is no filter 'nope'" },
        { "{{ 1 is nope }}", "t: line 1, column 9: there is no test 'nope'" },
        { "{% if 1 %}{{ 1|nope }}{% endif %}", "t: line 1: there is no filter 'nope'" },
        { "{% nope %}", "t: line 1, column 4: there is no statement 'nope' here" },
        { "a\n b {% if n %}c",
          "t: line 2, column 15: expected 'endif', found the end of the template" },
        { "{{ n", "t: line 1, column 5: unexpected end inside a tag" },
        { "{{ (n }}", "t: line 1, column 7: unexpected '}'" },
        { "{{ n n }}", "t: line 1, column 6: expected '}}', found n" },
        { "{{ }}", "t: line 1, column 4: expected an expression, found }}" },
        { "{% set 1 = 2 %}", "t: line 1, column 8: expected a name, found 1" },
        { "{# a", "t: line 1, column 1: an unterminated comment" },
        { "{{ 'a }}", "t: line 1, column 4: an unterminated string" },
        { "{% break %}", "t: line 1, column 10: break or continue outside a loop" },
        { "{{ '\\N{BULLET}' }}",
          "t: line 1, column 5: characters by name, \\N, are not supported" },
        { "{{ 99999999999999999999 }}",
          "t: line 1, column 4: expected a whole number of at most 64 bits, found "
          "99999999999999999999" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        template_refuse(row[i].source, "{\"n\":7,\"d\":{}}", row[i].message);
}

/* Parts of Jinja that no published chat template uses are refused by name. */
static void test_removed_names_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const filters[] = {
        "batch",    "center",    "e",      "escape",    "filesizeformat", "forceescape",
        "groupby",  "pprint",    "random", "round",     "slice",          "striptags",
        "truncate", "urlencode", "urlize", "wordcount", "wordwrap",       "xmlattr",
    };
    static const char *const tests[] = { "escaped", "lower", "upper" };
    static const char *const functions[] = { "cycler", "joiner", "lipsum" };
    static const char *const methods[] = {
        "casefold",     "center",  "encode",    "expandtabs",  "format_map", "isascii", "isdecimal",
        "isidentifier", "islower", "isnumeric", "isprintable", "istitle",    "isupper", "ljust",
        "maketrans",    "rjust",   "swapcase",  "translate",   "zfill",
    };
    static const char *const loop_methods[] = { "changed", "cycle" };
    static const struct {
        const char *before, *after, *message;
        const char *const *name;
        size_t n;
    } kind[] = {
#define NAMES(list) list, sizeof(list) / sizeof(list[0])
        { "{{ 'x'|", "(1) }}", "t: line 1, column 8: Jinja's filter '%s' is not supported",
          NAMES(filters) },
        { "{{ 'x' is ", " }}", "t: line 1, column 11: Jinja's test '%s' is not supported",
          NAMES(tests) },
        { "{{ ", "('x') }}", "t: line 1: Jinja's function '%s' is not supported",
          NAMES(functions) },
        { "{{ 'x'.", "(1) }}", "t: line 1: Jinja's method '%s' is not supported", NAMES(methods) },
        { "{% for x in [1] %}{{ loop.", "(1) }}{% endfor %}",
          "t: line 1: Jinja's method '%s' is not supported", NAMES(loop_methods) },
#undef NAMES
    };
    for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
        for (size_t k = 0; k < kind[i].n; k++) {
            const char *name = kind[i].name[k];
            char source[100], message[100];
            (void)snprintf(source, sizeof(source), "%s%s%s", kind[i].before, name, kind[i].after);
            const char *place = strstr(kind[i].message, "%s");
            (void)snprintf(message, sizeof(message), "%.*s%s%s", (int)(place - kind[i].message),
                           kind[i].message, name, place + 2);
            template_refuse(source, "{}", message);
        }
    }
}

static void test_unsupported_format_specifications_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *source, *message;
    } row[] = {
        { "{{ '%5s' % 'a' }}", "t: line 1: format: '%5' is not supported; %s, %d and %% are" },
        { "{{ '%.2f' % 1.5 }}", "t: line 1: format: '%.' is not supported; %s, %d and %% are" },
        { "{{ '%r' % 'a' }}", "t: line 1: format: '%r' is not supported; %s, %d and %% are" },
        { "{{ '%(a)s' % {'a': 1} }}",
          "t: line 1: format: '%(' is not supported; %s, %d and %% are" },
        { "{{ '%s'|format(a=1) }}",
          "t: line 1: filter 'format' has no argument 'a', or has it twice" },
        { "{{ '%d' % 'a' }}", "t: line 1: %d format: a number is required, not str" },
        { "{{ '%s %s' % 'a' }}", "t: line 1: format: not enough arguments for format string" },
        { "{{ 'a' % 'a' }}",
          "t: line 1: format: not all arguments converted during string formatting" },
        { "{{ 'a%' % 'a' }}", "t: line 1: format: incomplete format" },
        { "{{ '{:>5}'.format(1) }}",
          "t: line 1: format: '{:>5}' is not supported; {}, {0} and {name} are" },
        { "{{ '{!r}'.format(1) }}",
          "t: line 1: format: '{!r}' is not supported; {}, {0} and {name} are" },
        { "{{ '{0.a}'.format(1) }}",
          "t: line 1: format: '{0.a}' is not supported; {}, {0} and {name} are" },
        { "{{ '{0[a]}'.format(1) }}",
          "t: line 1: format: '{0[a]}' is not supported; {}, {0} and {name} are" },
        { "{{ '{}{}'.format(1) }}", "t: line 1: format: a field for which there is no value" },
        { "{{ '{'.format(1) }}", "t: line 1: format: single '{'" },
        { "{{ '}'.format(1) }}", "t: line 1: format: single '}'" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        template_refuse(row[i].source, "{}", row[i].message);
}

static void test_steps_are_limited(void **state)
{
    (void)state;
    template_refuse("{% for i in range(10**9) %}{% endfor %}", "{}",
                    "t: line 1: range() of 1000000000 elements, at most 100000 are allowed");
    template_refuse("{% for i in range(100000) %}\n{% for j in range(100000) %}{% endfor %}"
                    "{% endfor %}",
                    "{}", "t: line 2: more than 16777216 steps");
    template_refuse("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}",
                    "t: line 1: nested deeper than 1000 levels");
    template_refuse("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{}",
                    "t: line 1: nested deeper than 1000 levels");
}

/* Operations on long operands are charged by their length. Otherwise each of these would cost a
 * few steps, and could be repeated a million times. */
static void test_long_operands_are_charged(void **state)
{
    (void)state;
    static const char head[] =
            "{% set q = 'a' * 200000 %}{% set w = ' ' * 200000 %}"
            "{% set z = '0' * 200000 %}{% set r = 'b' ~ q %}{% set d = {q ~ 'b': 1} %}"
            "{% set ns = namespace(**{q: 1}) %}{% set t = (1,) * 100000 %}"
            "{% set u = (1,) * 100000 %}{% for i in range(3000) %}";
    static const char *const row[] = {
        "d[q]",
        "ns[q]",
        "q.startswith(q)",
        "w.split()",
        "w.rsplit(none, 1)",
        "z|int",
        "w|float",
        "t == u",
        "t < u",
        "t in {}",
        "r.rfind('b')",
        "r.rsplit('b', 1)",
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        vug_buf source = { 0 };
        vug_buf_printf(&source, "%s{%% set x = %s %%}{%% endfor %%}", head, row[i]);
        template_refuse(source.ptr, "{}", "t: line 1: more than 16777216 steps");
        vug_buf_release(&source);
    }
}

static void test_memory_is_limited(void **state)
{
    (void)state;
    template_refuse("{{ 'ab' * 10**9 }}", "{}", "t: line 1: a string of 2 bytes 1000000000 times");
    template_refuse("{{ [1] * 10**12 }}", "{}",
                    "t: line 1: a list of 1 elements 1000000000000 times");
    template_refuse("{% set ns = namespace(x='ab') %}{% for i in range(60) %}"
                    "{% set ns.x = ns.x + ns.x %}{% endfor %}",
                    "{}", "t: line 1: a string of more than 67108864 bytes");
    template_refuse("{% set ns = namespace(x='ab') %}{% for i in range(60) %}"
                    "{% set ns.x = ns.x.replace('a', ns.x) %}{% endfor %}",
                    "{}", "t: line 1: a text of more than 67108864 bytes");
    template_refuse("{% set ns = namespace(x='') %}{% for i in range(100000) %}"
                    "{% set ns.x = 'abcdefgh' + ns.x %}{% endfor %}",
                    "{}", "t: line 1: out of memory: values of more than 268435456 bytes");
    /* Appending takes linear time and space. */
    template_expect("{% set ns = namespace(x='', l=[]) %}{% for i in range(100000) %}"
                    "{% set ns.x = ns.x ~ 'abcdefgh' %}{% set ns.l = ns.l + [i] %}{% endfor %}"
                    "{{ ns.x|length }} {{ ns.l|length }}",
                    "{}", "800000 100000");
}

/* `n` times `part` between the others. */
static char *repeated(const char *before, const char *part, size_t n, const char *after)
{
    vug_buf buf = { 0 };
    vug_buf_puts(&buf, before);
    for (size_t i = 0; i < n; i++)
        vug_buf_puts(&buf, part);
    vug_buf_puts(&buf, after);
    assert_false(buf.bad);
    return buf.ptr;
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *before, *part, *after;
    } row[] = {
        { "{{ ", "(", "" },
        { "{{ ", "[", "" },
        { "{{ ", "not ", "1 }}" },
        { "{{ ", "-", "1 }}" },
        { "{{ a", ".b", " }}" },
        { "{{ a", "|upper", " }}" },
        { "{{ a", "()", " }}" },
        { "{{ a", "[0]", " }}" },
        { "{{ 1", " if 1", " }}" },
        { "", "{% if 1 %}", "" },
        { "{% for ", "(", "" },
        { "{% set ", "(", "" },
        { "{{ 1", " if 0 else 1", " }}" },
    };
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char *source = repeated(row[i].before, row[i].part, 50000, row[i].after);
        assert_int_equal(template_render(source, "{}", &prompt, &err), VUG_FORMAT);
        assert_true(strstr(err.msg, "nested deeper than") || strstr(err.msg, "more than 200"));
        vug_free(source);
    }
    /* Chains do not nest. */
    char *source = repeated("{{ 0", " + 1", 50000, " }}");
    template_expect(source, "{}", "50000");
    vug_free(source);
    source = repeated("{% if 0 %}", "{% elif 0 %}", 10000, "{% else %}x{% endif %}");
    template_expect(source, "{}", "x");
    vug_free(source);
    /* A deeply nested value. */
    template_refuse("{% set ns = namespace(x=[]) %}{% for i in range(5000) %}"
                    "{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
                    "{}", "t: line 1: nested deeper than 1000 levels");
}

static void test_source_is_limited(void **state)
{
    (void)state;
    vug_template *tmpl = NULL;
    vug_err err = { 0 };
    char *source = repeated("", "0123456789abcdef", VUG_TMPL_MAX_SOURCE / 16, "");
    assert_int_equal(vug_template_parse(vug_str_of(source), "t", &tmpl, &err), VUG_OK);
    vug_template_destroy(tmpl);
    vug_free(source);
    source = repeated("x", "0123456789abcdef", VUG_TMPL_MAX_SOURCE / 16, "");
    assert_int_equal(vug_template_parse(vug_str_of(source), "t", &tmpl, &err), VUG_FORMAT);
    assert_string_equal(err.msg, "t: 1048577 bytes, a template may have 1048576");
    vug_free(source);
    source = repeated("{{ [", "1,", VUG_TMPL_MAX_NODES, "] }}");
    assert_int_equal(vug_template_parse(vug_str_of(source), "t", &tmpl, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "more than 262144 nodes"));
    vug_free(source);
    /* Names in nested scopes: each name that is read is searched among all of them. */
    vug_buf names = { 0 };
    for (int i = 0; i <= 2048; i++)
        vug_buf_printf(&names, i % 20 ? "{{ n%d }}" : "{%% with %%}{{ n%d }}", i);
    for (int i = 0; i <= 2048; i += 20)
        vug_buf_puts(&names, "{% endwith %}");
    assert_int_equal(vug_template_parse(vug_str_of(names.ptr), "t", &tmpl, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "more than 2048 names in a scope and those around it"));
    vug_buf_release(&names);
    assert_int_equal(vug_template_parse(vug_str_of("a\xff"), "t", &tmpl, &err), VUG_FORMAT);
    assert_string_equal(err.msg, "t: not UTF-8: byte 0xff at offset 1");
}

/* Every truncation, and every byte with each of its bits flipped. */
static void test_damaged_templates(void **state)
{
    (void)state;
    static const char source[] =
            "{% macro m(a, b=1) -%} {{ a[1:] ~ b|upper }} {%- endmacro %}\n"
            "{% set ns = namespace(x='\xc3\xa9') %}{# c #}{% raw %}{{{% endraw %}"
            "{% for k, v in {'a': [1, 2.5e1]}.items() if v is sequence %}{{ loop.index }}"
            "{{ m('%s' % k) }}{% else %}-{% endfor %}{% call m(1) %}x{% endcall %}"
            "{% filter replace('a', \"b\\n\") %}{% if not n in [1] and n < 8 %}{% set ns.x = n // "
            "2 %}"
            "{% elif n %}e{% endif %}{{ ns.x }}{% endfilter %}{{ [n]|tojson(indent=1) }}";
    char copy[sizeof(source)];
    size_t rendered = 0;
    for (size_t i = 0; i < 16 * (sizeof(source) - 1); i++) {
        const size_t at = i / 16;
        vug_prompt prompt = { 0 };
        memcpy(copy, source, sizeof(source));
        if (i & 1)
            copy[at] = (char)(copy[at] ^ (1 << (i / 2 % 8)));
        else
            copy[at] = '\0';
        if (template_render(copy, "{\"n\":7}", &prompt, NULL) == VUG_OK)
            rendered++;
        template_release(&prompt);
    }
    assert_true(rendered > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_messages),
        cmocka_unit_test(test_removed_names_are_refused_by_name),
        cmocka_unit_test(test_unsupported_format_specifications_are_refused),
        cmocka_unit_test(test_steps_are_limited),
        cmocka_unit_test(test_long_operands_are_charged),
        cmocka_unit_test(test_memory_is_limited),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_source_is_limited),
        cmocka_unit_test(test_damaged_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
