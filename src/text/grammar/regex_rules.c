#include "text/grammar/regex_rules.h"

/*
 * Regular expressions as rules: the part that ECMA-262 and PCRE have in common and that
 * is regular. What is not is refused by name. Groups only group, and lazy quantifiers
 * are like the others: which texts match is all that counts here.
 */

void vug_regex_fail(vug_regex *r, vug_status st, size_t at, const char *what)
{
    if (r->st == VUG_OK)
        r->st = VUG_FAIL(r->err, st, "regular expression '%.*s': byte %zu: %s",
                         VUG_STR_ARG(r->text), at, what);
}

static vug_node alternatives(vug_regex *r, bool top);

/* ---- groups ------------------------------------------------------------------------ */

/* What may follow "(?", and is refused. */
static const struct {
    const char *text, *what;
} refused[] = {
    { "<=", "lookbehind is not supported" },      { "<!", "lookbehind is not supported" },
    { ">", "atomic groups are not supported" },   { "|", "branch resets are not supported" },
    { "#", "comments are not supported" },        { "(", "conditions are not supported" },
    { "P=", "backreferences are not supported" }, { "P>", "recursion is not supported" },
    { "R", "recursion is not supported" },        { "&", "recursion is not supported" },
};

/* After "(?": names and flags. */
static void group_kind(vug_regex *r)
{
    const size_t start = r->at - 2;
    if (vug_regex_skip(r, ":"))
        return;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        if (vug_regex_looking_at(r, refused[i].text))
            vug_regex_fail(r, VUG_UNSUPPORTED, start, refused[i].what);
    }
    if (!vug_regex_skip(r, "<") && !vug_regex_skip(r, "P<")) {
        vug_regex_fail(r, VUG_UNSUPPORTED, start, "flags of groups are not supported");
        return;
    }
    while (r->at < r->text.len && r->text.ptr[r->at] != '>')
        r->at++;
    if (!vug_regex_skip(r, ">"))
        vug_regex_fail(r, VUG_ARGUMENT, start, "a name of a group without its >");
}

/* The empty text, where the rest is `rest`. */
static vug_node ahead(vug_regex *r, vug_node rest, bool negated)
{
    r->looks = true;
    return r->use->ahead && r->st == VUG_OK ? vug_rules_ahead(r->rules, rest, negated)
                                            : VUG_NODE_EMPTY;
}

/* A group whose text the rest begins with, or does not; after its parenthesis. */
static vug_node lookahead(vug_regex *r, bool negated)
{
    const vug_node begins = alternatives(r, false);
    const vug_node parts[2] = { begins, vug_rules_repeat(r->rules, vug_regex_any(r), 0,
                                                         VUG_REPEAT_FOREVER) };
    return ahead(r, vug_rules_sequence(r->rules, parts, 2), negated);
}

/* After its parenthesis. */
static vug_node group(vug_regex *r)
{
    const size_t start = r->at - 1;
    vug_node node;
    if (++r->depth > VUG_REGEX_MAX_GROUPS)
        vug_regex_fail(r, VUG_LIMIT, start, "more than 100 groups in each other");
    if (vug_regex_looking_at(r, "*"))
        vug_regex_fail(r, VUG_UNSUPPORTED, start, "verbs are not supported");
    const bool positive = vug_regex_skip(r, "?=");
    if (positive || vug_regex_skip(r, "?!")) {
        node = lookahead(r, !positive);
    } else {
        if (vug_regex_skip(r, "?"))
            group_kind(r);
        node = alternatives(r, false);
    }
    if (r->st == VUG_OK && !vug_regex_skip(r, ")"))
        vug_regex_fail(r, VUG_ARGUMENT, start, "a group without its )");
    r->depth--;
    return node;
}

/* ---- quantifiers -------------------------------------------------------------------- */

/* Digits; false for none. Large numbers stay larger than any that is allowed. */
static bool number(vug_regex *r, uint32_t *value)
{
    const size_t start = r->at;
    *value = 0;
    while (r->at < r->text.len && r->text.ptr[r->at] >= '0' && r->text.ptr[r->at] <= '9') {
        if (*value <= VUG_RULES_MAX_REPEAT)
            *value = *value * 10 + (uint32_t)(r->text.ptr[r->at] - '0');
        r->at++;
    }
    return r->at > start;
}

/* {n}, {n,} or {n,m}; anything else begins with a brace that is a character. */
static bool braces(vug_regex *r, uint32_t *min, uint32_t *max)
{
    const size_t start = r->at;
    if (!vug_regex_skip(r, "{"))
        return false;
    if (number(r, min)) {
        *max = *min;
        if (vug_regex_skip(r, ",") && !number(r, max))
            *max = VUG_REPEAT_FOREVER;
        if (vug_regex_skip(r, "}"))
            return true;
    } else if (vug_regex_skip(r, ",") && number(r, max) && vug_regex_looking_at(r, "}")) {
        vug_regex_fail(r, VUG_UNSUPPORTED, start, "{,n} is not supported; expected {0,n}");
    }
    r->at = start;
    return false;
}

static bool quantifier(vug_regex *r, uint32_t *min, uint32_t *max)
{
    *min = 0;
    *max = VUG_REPEAT_FOREVER;
    if (vug_regex_skip(r, "*"))
        return true;
    if (vug_regex_skip(r, "+")) {
        *min = 1;
        return true;
    }
    if (vug_regex_skip(r, "?")) {
        *max = 1;
        return true;
    }
    return braces(r, min, max);
}

static vug_node quantified(vug_regex *r, vug_node what)
{
    const size_t start = r->at;
    uint32_t min, max, more;
    if (r->st != VUG_OK || !quantifier(r, &min, &max))
        return what;
    if (vug_regex_looking_at(r, "+"))
        vug_regex_fail(r, VUG_UNSUPPORTED, start, "possessive quantifiers are not supported");
    (void)vug_regex_skip(r, "?");
    if (max < min)
        vug_regex_fail(r, VUG_ARGUMENT, start, "a repetition whose bounds are not in order");
    else if (min > VUG_RULES_MAX_REPEAT ||
             (max != VUG_REPEAT_FOREVER && max > VUG_RULES_MAX_REPEAT))
        vug_regex_fail(r, VUG_LIMIT, start, "a repetition of more than 100000 times");
    if (quantifier(r, &more, &more))
        vug_regex_fail(r, VUG_ARGUMENT, start, "a quantifier behind a quantifier");
    return r->st == VUG_OK ? vug_rules_repeat(r->rules, what, min, max) : VUG_NODE_EMPTY;
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_node term(vug_regex *r)
{
    const size_t start = r->at;
    uint32_t min, max;
    if (quantifier(r, &min, &max)) {
        vug_regex_fail(r, VUG_ARGUMENT, start, "a quantifier with nothing before it");
        return VUG_NODE_EMPTY;
    }
    if (vug_regex_looking_at(r, "^")) {
        vug_regex_fail(r, VUG_UNSUPPORTED, start,
                       "the anchor ^ is supported at the beginning of the expression, or of "
                       "its alternatives, only");
        return VUG_NODE_EMPTY;
    }
    if (vug_regex_skip(r, "$"))
        return quantified(r, ahead(r, VUG_NODE_EMPTY, false));
    return quantified(r, vug_regex_skip(r, "(") ? group(r) : vug_regex_character(r));
}

static void push(vug_regex *r, vug_buf *nodes, vug_node node)
{
    vug_buf_append(nodes, &node, sizeof(node));
    if (nodes->bad)
        vug_regex_fail(r, VUG_NOMEM, r->at, "out of memory");
    if (r->st == VUG_OK)
        r->st = vug_rules_ok(r->rules, r->err);
}

static bool at_end(const vug_regex *r)
{
    return r->st != VUG_OK || r->at == r->text.len || r->text.ptr[r->at] == '|' ||
           r->text.ptr[r->at] == ')';
}

/* A dollar with nothing behind it. */
static bool skip_end_anchor(vug_regex *r)
{
    const bool is = vug_regex_looking_at(r, "$") &&
                    (r->at + 1 == r->text.len || r->text.ptr[r->at + 1] == '|');
    r->at += is;
    return is;
}

static void anything(vug_regex *r, vug_buf *nodes)
{
    push(r, nodes, vug_rules_repeat(r->rules, vug_regex_any(r), 0, VUG_REPEAT_FOREVER));
}

static vug_node sequence(vug_regex *r, bool top)
{
    vug_buf nodes = { 0 };
    bool end = false;
    if (top && !vug_regex_skip(r, "^") && r->use->search)
        anything(r, &nodes);
    while (!end && !at_end(r)) {
        end = top && skip_end_anchor(r);
        if (!end)
            push(r, &nodes, term(r));
    }
    if (top && !end && r->use->search)
        anything(r, &nodes);
    const vug_node node =
            vug_rules_sequence(r->rules, (const void *)nodes.ptr, nodes.len / sizeof(vug_node));
    vug_buf_release(&nodes);
    return node;
}

static vug_node alternatives(vug_regex *r, bool top)
{
    vug_buf nodes = { 0 };
    do
        push(r, &nodes, sequence(r, top));
    while (vug_regex_skip(r, "|"));
    const vug_node node =
            vug_rules_choice(r->rules, (const void *)nodes.ptr, nodes.len / sizeof(vug_node));
    vug_buf_release(&nodes);
    return node;
}

/* Once more, of plain characters, and then without what looks ahead. */
static vug_status without_ahead( // NOLINT(misc-no-recursion)
        vug_rules *rules, vug_str text, const vug_regex_use *use, vug_node *root, vug_err *err)
{
    const vug_regex_use plainly = { .search = use->search, .ahead = true };
    vug_rules *plain = vug_rules_create();
    if (!plain)
        return VUG_FAIL_NOMEM(err, "a regular expression", text.len);
    vug_status st = vug_rules_regex_part(plain, text, &plainly, root, err);
    if (st == VUG_OK)
        *root = vug_rules_regular(rules, plain, *root, use->character, use->user);
    vug_rules_destroy(plain);
    return st == VUG_OK ? vug_rules_ok(rules, err) : st;
}

vug_status vug_rules_regex_part(vug_rules *rules, vug_str text, // NOLINT(misc-no-recursion)
                                const vug_regex_use *use, vug_node *root, vug_err *err)
{
    vug_regex r = { .rules = rules, .use = use, .text = text, .err = err };
    const vug_node node = alternatives(&r, true);
    if (r.st == VUG_OK && r.at < text.len)
        vug_regex_fail(&r, VUG_ARGUMENT, r.at, "a ) without its group");
    VUG_TRY(r.st);
    VUG_TRY(vug_rules_ok(rules, err));
    *root = node;
    return r.looks && !use->ahead ? without_ahead(rules, text, use, root, err) : VUG_OK;
}

vug_status vug_rules_regex(vug_rules *rules, vug_str text, vug_node *root, vug_err *err)
{
    return vug_rules_regex_part(rules, text, &(vug_regex_use){ 0 }, root, err);
}
