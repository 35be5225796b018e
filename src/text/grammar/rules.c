#include "text/grammar/rule_nodes.h"

#include <stdlib.h>

#include "core/text.h"

/*
 * The builder of grammars. What is trivial is made simple at once, so that those who
 * read the nodes meet fewer kinds of them: a sequence of one part is that part, an empty
 * literal is the empty text, a class without characters is the choice among nothing.
 * What was made before is found again (hash-consing).
 */

enum { LAST_CHARACTER = 0x10ffff, FIRST_SURROGATE = 0xd800, LAST_SURROGATE = 0xdfff };

/* ---- life ---------------------------------------------------------------- */

vug_rules *vug_rules_create(void)
{
    vug_rules *r = vug_alloc_zero(1, sizeof(*r));
    if (!r)
        return NULL;
    r->rule.max = VUG_RULES_MAX_NODES * sizeof(vug_rule);
    r->part.max = VUG_RULES_MAX_PARTS * sizeof(vug_node);
    r->range.max = VUG_RULES_MAX_RANGES * sizeof(vug_char_range);
    r->bytes.max = VUG_RULES_MAX_BYTES;
    r->edge.max = VUG_RULES_MAX_PARTS * sizeof(vug_graph_edge);
    const vug_rule empty = { .kind = VUG_RULE_EMPTY };
    vug_buf_append(&r->rule, &empty, sizeof(empty));
    if (r->rule.bad) {
        vug_rules_destroy(r);
        return NULL;
    }
    return r;
}

void vug_rules_destroy(vug_rules *r)
{
    if (!r)
        return;
    vug_buf_release(&r->rule);
    vug_buf_release(&r->part);
    vug_buf_release(&r->range);
    vug_buf_release(&r->bytes);
    vug_buf_release(&r->edge);
    vug_sets_release(&r->known);
    vug_buf_release(&r->nodes);
    vug_buf_release(&r->key);
    vug_free(r);
}

vug_status vug_rules_ok(const vug_rules *r, vug_err *err)
{
    if (r->st != VUG_OK && err)
        *err = r->err;
    return r->st;
}

/* Keeps the first failure. */
#define REFUSE(r, code, ...)                                  \
    do {                                                      \
        if ((r)->st == VUG_OK)                                \
            (r)->st = VUG_FAIL(&(r)->err, code, __VA_ARGS__); \
    } while (0)

/* Appends `n` elements; returns the number of the first. */
static uint32_t keep(vug_rules *r, vug_buf *list, const void *element, size_t n, size_t size,
                     const char *what)
{
    const size_t at = list->len / size;
    if (r->st != VUG_OK)
        return 0;
    if (n > list->max / size || at > list->max / size - n)
        REFUSE(r, VUG_LIMIT, "a grammar of more than %zu %s", list->max / size, what);
    else
        vug_buf_append(list, element, n * size);
    if (list->bad)
        REFUSE(r, VUG_NOMEM, "out of memory: a grammar of %zu %s", at + n, what);
    return (uint32_t)at;
}

/* A list of numbers that two nodes share if they are equal: what is in `rule`, where
 * `content` of `size` bytes stands for `at`. */
static void make_key(vug_rules *r, const vug_rule *rule, const void *content, size_t size)
{
    const uint32_t head[] = { rule->kind, rule->n, rule->max };
    const uint32_t zero = 0;
    r->key.len = 0;
    vug_buf_append(&r->key, head, sizeof(head));
    vug_buf_append(&r->key, content, size);
    vug_buf_append(&r->key, &zero, (sizeof(zero) - size % sizeof(zero)) % sizeof(zero));
}

/* Whether there is such a node; else what makes it is noted for the next one. */
static bool find(vug_rules *r, const vug_rule *rule, const void *content, size_t size,
                 vug_node *node)
{
    if (r->st != VUG_OK)
        return false;
    make_key(r, rule, content, size);
    const size_t before = r->known.n;
    const vug_node next = (vug_node)vug_rules_count(r);
    const uint32_t id = r->key.bad ? VUG_SETS_NONE
                                   : vug_sets_intern(&r->known, (const void *)r->key.ptr,
                                                     r->key.len / sizeof(uint32_t));
    if (r->known.n > before)
        vug_buf_append(&r->nodes, &next, sizeof(next));
    if (r->known.crowded)
        REFUSE(r, VUG_LIMIT, "a grammar with too many expressions that collide");
    if (id == VUG_SETS_NONE || r->nodes.bad) {
        REFUSE(r, VUG_NOMEM, "out of memory: a grammar of %u expressions", next);
        return false;
    }
    *node = ((vug_node *)(void *)r->nodes.ptr)[id];
    return *node != next;
}

static vug_node add(vug_rules *r, vug_rule rule)
{
    if (rule.depth > VUG_RULES_MAX_DEPTH)
        REFUSE(r, VUG_LIMIT, "a grammar with expressions in expressions, more than %d deep",
               VUG_RULES_MAX_DEPTH);
    const uint32_t node = keep(r, &r->rule, &rule, 1, sizeof(rule), "expressions");
    return r->st == VUG_OK ? node : VUG_NODE_EMPTY;
}

/* ---- leaves -------------------------------------------------------------- */

vug_node vug_rules_literal(vug_rules *r, vug_str text)
{
    if (text.len == 0)
        return VUG_NODE_EMPTY;
    vug_node known;
    vug_rule rule = { .kind = VUG_RULE_LITERAL, .n = (uint32_t)text.len };
    if (find(r, &rule, text.ptr, text.len, &known))
        return known;
    rule.at = keep(r, &r->bytes, text.ptr, text.len, 1, "bytes");
    return add(r, rule);
}

vug_node vug_rules_token(vug_rules *r, vug_str spelling)
{
    vug_buf bytes = { 0 };
    const char mark = (char)VUG_RULES_TOKEN_BYTE;
    vug_buf_append(&bytes, &mark, 1);
    vug_buf_append(&bytes, spelling.ptr, spelling.len);
    vug_buf_append(&bytes, &mark, 1);
    if (bytes.bad)
        REFUSE(r, VUG_NOMEM, "out of memory: a grammar");
    const vug_node node = vug_rules_literal(r, (vug_str){ bytes.ptr, bytes.len });
    vug_buf_release(&bytes);
    return node;
}

static int by_start(const void *a, const void *b)
{
    const vug_char_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* The complement of ranges that ascend and are apart; `to` may be the same list. */
static size_t others(const vug_char_range *range, size_t n, vug_char_range *to)
{
    size_t count = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range here = range[i];
        if (here.from > next)
            to[count++] = (vug_char_range){ next, here.from - 1 };
        next = here.to + 1;
    }
    if (next <= LAST_CHARACTER)
        to[count++] = (vug_char_range){ next, LAST_CHARACTER };
    return count;
}

/* Takes ranges that hold no character away; gives how many are left. */
static size_t join(vug_char_range *range, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range here = range[i];
        if (here.from > here.to)
            continue;
        if (count > 0 && here.from <= range[count - 1].to + 1) {
            if (here.to > range[count - 1].to)
                range[count - 1].to = here.to;
        } else {
            range[count++] = here;
        }
    }
    return count;
}

size_t vug_ranges_settle(const vug_char_range *range, size_t n, bool negated, vug_char_range *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = range[i];
        if (to[i].to > LAST_CHARACTER)
            to[i].to = LAST_CHARACTER;
    }
    /* What is wanted is the complement of what is not, with surrogates among it. */
    if (!negated) {
        qsort(to, n, sizeof(*to), by_start);
        n = others(to, join(to, n), to);
    }
    to[n++] = (vug_char_range){ FIRST_SURROGATE, LAST_SURROGATE };
    qsort(to, n, sizeof(*to), by_start);
    return others(to, join(to, n), to);
}

/* A class whose ranges are settled. */
static vug_node add_class(vug_rules *r, const vug_char_range *range, size_t n)
{
    if (n == 0)
        return vug_rules_choice(r, NULL, 0);
    vug_node known;
    vug_rule rule = { .kind = VUG_RULE_CLASS, .n = (uint32_t)n };
    if (find(r, &rule, range, n * sizeof(*range), &known))
        return known;
    rule.at = keep(r, &r->range, range, n, sizeof(*range), "ranges of characters");
    return add(r, rule);
}

vug_node vug_rules_class(vug_rules *r, const vug_char_range *range, size_t n, bool negated)
{
    vug_char_range few[16];
    vug_char_range *settled = few;
    if (r->st != VUG_OK)
        return VUG_NODE_EMPTY;
    if (n + 2 > sizeof(few) / sizeof(*few)) {
        settled = n <= VUG_RULES_MAX_RANGES ? vug_alloc(n + 2, sizeof(*settled)) : NULL;
        if (!settled) {
            REFUSE(r, VUG_NOMEM, "out of memory: a class of %zu ranges of characters", n);
            return VUG_NODE_EMPTY;
        }
    }
    const vug_node node = add_class(r, settled, vug_ranges_settle(range, n, negated, settled));
    if (settled != few)
        vug_free(settled);
    return node;
}

/* ---- what is put together ------------------------------------------------ */

static vug_node add_parts(vug_rules *r, vug_rule_kind kind, const vug_node *part, size_t n)
{
    uint32_t depth = 0;
    if (r->st != VUG_OK)
        return VUG_NODE_EMPTY;
    for (size_t i = 0; i < n; i++) {
        VUG_ASSERT(part[i] < vug_rules_count(r));
        const uint32_t below = vug_rule_at(r, part[i])->depth;
        depth = below > depth ? below : depth;
    }
    vug_node known;
    vug_rule rule = { .kind = kind, .n = (uint32_t)n, .depth = depth + 1 };
    if (find(r, &rule, part, n * sizeof(*part), &known))
        return known;
    rule.at = keep(r, &r->part, part, n, sizeof(*part), "parts of expressions");
    return add(r, rule);
}

vug_node vug_rules_sequence(vug_rules *r, const vug_node *part, size_t n)
{
    if (n == 0)
        return VUG_NODE_EMPTY;
    return n == 1 ? part[0] : add_parts(r, VUG_RULE_SEQUENCE, part, n);
}

vug_node vug_rules_choice(vug_rules *r, const vug_node *part, size_t n)
{
    return n == 1 ? part[0] : add_parts(r, VUG_RULE_CHOICE, part, n);
}

vug_node vug_rules_repeat(vug_rules *r, vug_node what, uint32_t min, uint32_t max)
{
    if (max < min || min > VUG_RULES_MAX_REPEAT ||
        (max != VUG_REPEAT_FOREVER && max > VUG_RULES_MAX_REPEAT)) {
        REFUSE(r, VUG_LIMIT, "a repetition of %u to %u times, at most %d can be asked for", min,
               max, VUG_RULES_MAX_REPEAT);
        return VUG_NODE_EMPTY;
    }
    if (r->st != VUG_OK || max == 0 || what == VUG_NODE_EMPTY)
        return VUG_NODE_EMPTY;
    if (min == 1 && max == 1)
        return what;
    VUG_ASSERT(what < vug_rules_count(r));
    vug_node known;
    const vug_rule rule = { .kind = VUG_RULE_REPEAT,
                            .at = what,
                            .n = min,
                            .max = max,
                            .depth = vug_rule_at(r, what)->depth + 1 };
    return find(r, &rule, &what, sizeof(what), &known) ? known : add(r, rule);
}

vug_node vug_rules_graph(vug_rules *r, const vug_graph_edge *edge, size_t n)
{
    if (n == 0)
        return vug_rules_choice(r, NULL, 0);
    vug_node known;
    vug_rule rule = { .kind = VUG_RULE_GRAPH, .n = (uint32_t)n };
    for (size_t i = 0; i < n && r->st == VUG_OK; i++) {
        VUG_ASSERT(edge[i].label < vug_rules_count(r));
        const uint32_t depth = vug_rule_at(r, edge[i].label)->depth + 1;
        rule.depth = depth > rule.depth ? depth : rule.depth;
        const uint32_t to = edge[i].to == VUG_GRAPH_END ? 0 : edge[i].to;
        const uint32_t last = edge[i].from > to ? edge[i].from : to;
        rule.max = last >= rule.max ? last + 1 : rule.max;
    }
    if (find(r, &rule, edge, n * sizeof(*edge), &known))
        return known;
    rule.at = keep(r, &r->edge, edge, n, sizeof(*edge), "edges of graphs");
    return add(r, rule);
}

vug_node vug_rules_ahead(vug_rules *r, vug_node rest, bool negated)
{
    if (r->st != VUG_OK)
        return VUG_NODE_EMPTY;
    VUG_ASSERT(rest < vug_rules_count(r));
    vug_node known;
    const vug_rule rule = {
        .kind = VUG_RULE_AHEAD, .at = rest, .n = negated, .depth = vug_rule_at(r, rest)->depth + 1
    };
    return find(r, &rule, &rest, sizeof(rest), &known) ? known : add(r, rule);
}

/* ---- rules --------------------------------------------------------------- */

vug_node vug_rules_declare(vug_rules *r)
{
    return add(r, (vug_rule){ .kind = VUG_RULE_DECLARED, .at = VUG_RULE_UNDEFINED });
}

void vug_rules_define(vug_rules *r, vug_node declared, vug_node as)
{
    if (r->st != VUG_OK)
        return;
    VUG_ASSERT(declared < vug_rules_count(r) && as < vug_rules_count(r));
    vug_rule *rule = vug_rule_at(r, declared);
    VUG_ASSERT(rule->kind == VUG_RULE_DECLARED && rule->at == VUG_RULE_UNDEFINED);
    rule->at = as;
}

void vug_rules_name(vug_rules *r, vug_node declared, vug_str name)
{
    const uint32_t at = keep(r, &r->bytes, name.ptr, name.len, 1, "bytes");
    if (r->st != VUG_OK)
        return;
    vug_rule *rule = vug_rule_at(r, declared);
    VUG_ASSERT(rule->kind == VUG_RULE_DECLARED);
    rule->n = (uint32_t)name.len;
    rule->max = at + rule->n;
}

/* ---- text up to a word --------------------------------------------------- */

/* After `n` characters of the trigger and then `c`: how many of it were read now. The
 * automaton of Knuth, Morris and Pratt, made the short way: triggers are words. */
static size_t after(const uint32_t *trigger, size_t n, uint32_t c)
{
    for (size_t m = n + 1; m > 0; m--) {
        if (trigger[m - 1] == c &&
            memcmp(trigger, trigger + (n - (m - 1)), (m - 1) * sizeof(*trigger)) == 0)
            return m;
    }
    return 0;
}

/* What may come after `at` characters of the trigger; `state` are declared nodes for each
 * count but the last, which is the end. */
static vug_node until_state(vug_rules *r, const uint32_t *trigger, size_t n, size_t at,
                            const vug_node *state)
{
    vug_char_range other[VUG_RULES_MAX_TRIGGER];
    vug_node way[VUG_RULES_MAX_TRIGGER + 1];
    size_t n_ways = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range c = { trigger[i], trigger[i] };
        bool seen = false;
        for (size_t j = 0; j < n_ways; j++)
            seen = seen || other[j].from == c.from;
        if (seen)
            continue;
        other[n_ways] = c;
        const size_t to = after(trigger, at, c.from);
        const vug_node pair[2] = { vug_rules_class(r, &c, 1, false),
                                   to < n ? state[to] : VUG_NODE_EMPTY };
        way[n_ways++] = vug_rules_sequence(r, pair, 2);
    }
    const vug_node pair[2] = { vug_rules_class(r, other, n_ways, true), state[0] };
    way[n_ways] = vug_rules_sequence(r, pair, 2);
    return vug_rules_choice(r, way, n_ways + 1);
}

vug_node vug_rules_until(vug_rules *r, vug_str trigger)
{
    uint32_t c[VUG_RULES_MAX_TRIGGER];
    vug_node state[VUG_RULES_MAX_TRIGGER];
    size_t n = 0;
    for (size_t i = 0; i < trigger.len;) {
        const size_t len = n < VUG_RULES_MAX_TRIGGER
                                   ? vug_utf8_next(trigger.ptr + i, trigger.len - i, &c[n])
                                   : 0;
        if (len == 0)
            break;
        state[n++] = vug_rules_declare(r);
        i += len;
        if (i == trigger.len) {
            for (size_t at = 0; at < n; at++)
                vug_rules_define(r, state[at], until_state(r, c, n, at, state));
            return state[0];
        }
    }
    REFUSE(r, VUG_ARGUMENT, "a trigger of %zu bytes, expected 1 to %d characters of UTF-8",
           trigger.len, VUG_RULES_MAX_TRIGGER);
    return VUG_NODE_EMPTY;
}
