#include "text/grammar/grammar_builder.h"

#include "core/utf8.h"
#include "text/tokenizer/token_trie.h"

/*
 * Trivial expressions are simplified when they are built, so that later passes have fewer
 * cases: a sequence of one part is that part, an empty literal is the empty text, and a class
 * without characters is a choice without parts. Equal expressions are found again
 * (hash-consing).
 */

/* ---- lifetime ---------------------------------------------------------------- */

vug_grammar_builder *vug_grammar_builder_create(void)
{
    vug_grammar_builder *b = vug_alloc_zero(1, sizeof(*b));
    if (!b)
        return NULL;
    b->node.max = VUG_GRAMMAR_MAX_EXPRS * sizeof(vug_expr_node);
    b->part.max = VUG_GRAMMAR_MAX_PARTS * sizeof(vug_grammar_expr);
    b->range.max = VUG_GRAMMAR_MAX_RANGES * sizeof(vug_char_range);
    b->bytes.max = VUG_GRAMMAR_MAX_BYTES;
    b->edge.max = VUG_GRAMMAR_MAX_PARTS * sizeof(vug_grammar_edge);
    const vug_expr_node empty = { .kind = VUG_EXPR_EMPTY };
    vug_buf_append(&b->node, &empty, sizeof(empty));
    if (b->node.bad) {
        vug_grammar_builder_destroy(b);
        return NULL;
    }
    return b;
}

void vug_grammar_builder_destroy(vug_grammar_builder *b)
{
    if (!b)
        return;
    vug_buf_release(&b->node);
    vug_buf_release(&b->part);
    vug_buf_release(&b->range);
    vug_buf_release(&b->bytes);
    vug_buf_release(&b->edge);
    vug_intern_release(&b->interned);
    vug_buf_release(&b->interned_expr);
    vug_buf_release(&b->key);
    vug_buf_release(&b->warnings);
    vug_free(b);
}

vug_status vug_grammar_builder_ok(const vug_grammar_builder *b, vug_err *err)
{
    if (b->st != VUG_OK && err)
        *err = b->err;
    return b->st;
}

/* Appends `n` elements. Returns the index of the first. */
static uint32_t append_elements(vug_grammar_builder *b, vug_buf *list, const void *element,
                                size_t n, size_t size, const char *what)
{
    const size_t at = list->len / size;
    if (b->st != VUG_OK)
        return 0;
    if (n > list->max / size || at > list->max / size - n)
        VUG_GRAMMAR_FAIL(b, VUG_LIMIT, "the grammar has more than %zu %s", list->max / size, what);
    else
        vug_buf_append(list, element, n * size);
    if (list->bad)
        VUG_GRAMMAR_FAIL(b, VUG_NOMEM, "out of memory: a grammar of %zu %s", at + n, what);
    return (uint32_t)at;
}

/* Two expressions are equal if their keys are. The key holds the fields of the node, with the
 * `size` bytes of `content` in place of `at`. */
static void make_key(vug_grammar_builder *b, const vug_expr_node *node, const void *content,
                     size_t size)
{
    const uint32_t head[] = { node->kind, node->n, node->max, node->limit };
    const uint32_t zero = 0;
    b->key.len = 0;
    vug_buf_append(&b->key, head, sizeof(head));
    vug_buf_append(&b->key, content, size);
    vug_buf_append(&b->key, &zero, (sizeof(zero) - size % sizeof(zero)) % sizeof(zero));
}

/* Finds an equal expression. If there is none, registers the next expression under the key. */
static bool find_interned(vug_grammar_builder *b, const vug_expr_node *node, const void *content,
                          size_t size, vug_grammar_expr *expr)
{
    if (b->st != VUG_OK)
        return false;
    make_key(b, node, content, size);
    const size_t before = b->interned.n;
    const vug_grammar_expr next = (vug_grammar_expr)vug_grammar_expr_count(b);
    const uint32_t id = b->key.bad ? VUG_INTERN_NONE
                                   : vug_intern_add(&b->interned, (const void *)b->key.ptr,
                                                    b->key.len / sizeof(uint32_t));
    if (b->interned.n > before)
        vug_buf_append(&b->interned_expr, &next, sizeof(next));
    if (b->interned.too_many_collisions)
        VUG_GRAMMAR_FAIL(b, VUG_LIMIT,
                         "too many expressions of the grammar collide in the hash table");
    if (id == VUG_INTERN_NONE || b->interned_expr.bad) {
        VUG_GRAMMAR_FAIL(b, VUG_NOMEM, "out of memory: a grammar of %u expressions", next);
        return false;
    }
    *expr = ((vug_grammar_expr *)(void *)b->interned_expr.ptr)[id];
    return *expr != next;
}

static vug_grammar_expr add_node(vug_grammar_builder *b, vug_expr_node node)
{
    if (node.depth > VUG_GRAMMAR_MAX_DEPTH)
        VUG_GRAMMAR_FAIL(b, VUG_LIMIT, "the grammar nests expressions more than %d deep",
                         VUG_GRAMMAR_MAX_DEPTH);
    const uint32_t expr = append_elements(b, &b->node, &node, 1, sizeof(node), "expressions");
    return b->st == VUG_OK ? expr : VUG_EMPTY_EXPR;
}

/* ---- leaves -------------------------------------------------------------- */

vug_grammar_expr vug_grammar_literal(vug_grammar_builder *b, vug_str text)
{
    if (text.len == 0)
        return VUG_EMPTY_EXPR;
    vug_grammar_expr existing;
    vug_expr_node node = { .kind = VUG_EXPR_LITERAL, .n = (uint32_t)text.len };
    if (find_interned(b, &node, text.ptr, text.len, &existing))
        return existing;
    node.at = append_elements(b, &b->bytes, text.ptr, text.len, 1, "bytes");
    return add_node(b, node);
}

vug_grammar_expr vug_grammar_token(vug_grammar_builder *b, vug_str spelling)
{
    vug_buf bytes = { 0 };
    const char marker = (char)VUG_TOKEN_MARKER_BYTE;
    vug_buf_append(&bytes, &marker, 1);
    vug_buf_append(&bytes, spelling.ptr, spelling.len);
    vug_buf_append(&bytes, &marker, 1);
    if (bytes.bad)
        VUG_GRAMMAR_FAIL(b, VUG_NOMEM, "out of memory: a grammar");
    const vug_grammar_expr expr = vug_grammar_literal(b, (vug_str){ bytes.ptr, bytes.len });
    vug_buf_release(&bytes);
    return expr;
}

/* The ranges are normalized. */
static vug_grammar_expr add_class(vug_grammar_builder *b, const vug_char_range *range, size_t n)
{
    if (n == 0)
        return vug_grammar_choice(b, NULL, 0);
    vug_grammar_expr existing;
    vug_expr_node node = { .kind = VUG_EXPR_CLASS, .n = (uint32_t)n };
    if (find_interned(b, &node, range, n * sizeof(*range), &existing))
        return existing;
    node.at = append_elements(b, &b->range, range, n, sizeof(*range), "ranges of characters");
    return add_node(b, node);
}

vug_grammar_expr vug_grammar_class(vug_grammar_builder *b, const vug_char_range *range, size_t n,
                                   bool negated)
{
    vug_char_range few[16];
    vug_char_range *normalized = few;
    if (b->st != VUG_OK)
        return VUG_EMPTY_EXPR;
    if (n + 2 > sizeof(few) / sizeof(*few)) {
        normalized = n <= VUG_GRAMMAR_MAX_RANGES ? vug_alloc(n + 2, sizeof(*normalized)) : NULL;
        if (!normalized) {
            VUG_GRAMMAR_FAIL(b, VUG_NOMEM, "out of memory: a class of %zu ranges of characters", n);
            return VUG_EMPTY_EXPR;
        }
    }
    const vug_grammar_expr expr =
            add_class(b, normalized, vug_char_ranges_normalize(range, n, negated, normalized));
    if (normalized != few)
        vug_free(normalized);
    return expr;
}

vug_grammar_expr vug_grammar_text(vug_grammar_builder *b, const char *text)
{
    return vug_grammar_literal(b, vug_str_of(text));
}

vug_grammar_expr vug_grammar_digit(vug_grammar_builder *b, unsigned from, unsigned to)
{
    return vug_grammar_class(b, &(vug_char_range){ '0' + from, '0' + to }, 1, false);
}

vug_grammar_expr vug_grammar_nothing(vug_grammar_builder *b)
{
    return vug_grammar_choice(b, NULL, 0);
}

/* ---- combinators ------------------------------------------------ */

static vug_grammar_expr add_parts(vug_grammar_builder *b, vug_expr_kind kind,
                                  const vug_grammar_expr *part, size_t n)
{
    uint32_t depth = 0;
    if (b->st != VUG_OK)
        return VUG_EMPTY_EXPR;
    for (size_t i = 0; i < n; i++) {
        VUG_ASSERT(part[i] < vug_grammar_expr_count(b));
        const uint32_t below = vug_expr_get(b, part[i])->depth;
        depth = below > depth ? below : depth;
    }
    vug_grammar_expr existing;
    vug_expr_node node = { .kind = kind, .n = (uint32_t)n, .depth = depth + 1 };
    if (find_interned(b, &node, part, n * sizeof(*part), &existing))
        return existing;
    node.at = append_elements(b, &b->part, part, n, sizeof(*part), "parts of expressions");
    return add_node(b, node);
}

vug_grammar_expr vug_grammar_sequence(vug_grammar_builder *b, const vug_grammar_expr *part,
                                      size_t n)
{
    if (n == 0)
        return VUG_EMPTY_EXPR;
    return n == 1 ? part[0] : add_parts(b, VUG_EXPR_SEQUENCE, part, n);
}

vug_grammar_expr vug_grammar_choice(vug_grammar_builder *b, const vug_grammar_expr *part, size_t n)
{
    return n == 1 ? part[0] : add_parts(b, VUG_EXPR_CHOICE, part, n);
}

vug_grammar_expr vug_grammar_repeat(vug_grammar_builder *b, vug_grammar_expr expr, uint32_t min,
                                    uint32_t max)
{
    if (max < min || min > VUG_GRAMMAR_MAX_REPEAT ||
        (max != VUG_REPEAT_UNBOUNDED && max > VUG_GRAMMAR_MAX_REPEAT)) {
        VUG_GRAMMAR_FAIL(
                b, VUG_LIMIT,
                "a repetition of %u to %u times; the bounds must be in order and at most %d", min,
                max, VUG_GRAMMAR_MAX_REPEAT);
        return VUG_EMPTY_EXPR;
    }
    if (b->st != VUG_OK || max == 0 || expr == VUG_EMPTY_EXPR)
        return VUG_EMPTY_EXPR;
    if (min == 1 && max == 1)
        return expr;
    VUG_ASSERT(expr < vug_grammar_expr_count(b));
    vug_grammar_expr existing;
    const vug_expr_node node = { .kind = VUG_EXPR_REPEAT,
                                 .at = expr,
                                 .n = min,
                                 .max = max,
                                 .depth = vug_expr_get(b, expr)->depth + 1 };
    return find_interned(b, &node, &expr, sizeof(expr), &existing) ? existing : add_node(b, node);
}

vug_grammar_expr vug_grammar_optional(vug_grammar_builder *b, vug_grammar_expr expr)
{
    return vug_grammar_repeat(b, expr, 0, 1);
}

vug_grammar_expr vug_grammar_graph(vug_grammar_builder *b, const vug_grammar_edge *edge, size_t n)
{
    return vug_grammar_bounded_graph(b, edge, n, VUG_REPEAT_UNBOUNDED);
}

vug_grammar_expr vug_grammar_bounded_graph(vug_grammar_builder *b, const vug_grammar_edge *edge,
                                           size_t n, uint32_t limit)
{
    VUG_ASSERT(limit <= VUG_GRAMMAR_MAX_REPEAT || limit == VUG_REPEAT_UNBOUNDED);
    if (n == 0)
        return vug_grammar_choice(b, NULL, 0);
    vug_grammar_expr existing;
    vug_expr_node node = { .kind = VUG_EXPR_GRAPH, .n = (uint32_t)n, .limit = limit };
    for (size_t i = 0; i < n && b->st == VUG_OK; i++) {
        VUG_ASSERT(edge[i].label < vug_grammar_expr_count(b));
        VUG_ASSERT(limit == VUG_REPEAT_UNBOUNDED || edge[i].label == VUG_EMPTY_EXPR ||
                   edge[i].to != VUG_GRAMMAR_GRAPH_END);
        const uint32_t depth = vug_expr_get(b, edge[i].label)->depth + 1;
        node.depth = depth > node.depth ? depth : node.depth;
        const uint32_t to = edge[i].to == VUG_GRAMMAR_GRAPH_END ? 0 : edge[i].to;
        const uint32_t last = edge[i].from > to ? edge[i].from : to;
        node.max = last >= node.max ? last + 1 : node.max;
    }
    if (find_interned(b, &node, edge, n * sizeof(*edge), &existing))
        return existing;
    node.at = append_elements(b, &b->edge, edge, n, sizeof(*edge), "edges of graphs");
    return add_node(b, node);
}

vug_grammar_expr vug_grammar_lookahead(vug_grammar_builder *b, vug_grammar_expr rest, bool negated)
{
    if (b->st != VUG_OK)
        return VUG_EMPTY_EXPR;
    VUG_ASSERT(rest < vug_grammar_expr_count(b));
    vug_grammar_expr existing;
    const vug_expr_node node = { .kind = VUG_EXPR_LOOKAHEAD,
                                 .at = rest,
                                 .n = negated,
                                 .depth = vug_expr_get(b, rest)->depth + 1 };
    return find_interned(b, &node, &rest, sizeof(rest), &existing) ? existing : add_node(b, node);
}

/* ---- rules --------------------------------------------------------------- */

vug_grammar_expr vug_grammar_declare_rule(vug_grammar_builder *b)
{
    return add_node(b, (vug_expr_node){ .kind = VUG_EXPR_RULE, .at = VUG_EXPR_UNDEFINED });
}

void vug_grammar_define_rule(vug_grammar_builder *b, vug_grammar_expr rule, vug_grammar_expr as)
{
    if (b->st != VUG_OK)
        return;
    VUG_ASSERT(rule < vug_grammar_expr_count(b) && as < vug_grammar_expr_count(b));
    vug_expr_node *node = vug_expr_get(b, rule);
    VUG_ASSERT(node->kind == VUG_EXPR_RULE && node->at == VUG_EXPR_UNDEFINED);
    node->at = as;
}

void vug_grammar_name_rule(vug_grammar_builder *b, vug_grammar_expr rule, vug_str name)
{
    const uint32_t at = append_elements(b, &b->bytes, name.ptr, name.len, 1, "bytes");
    if (b->st != VUG_OK)
        return;
    vug_expr_node *node = vug_expr_get(b, rule);
    VUG_ASSERT(node->kind == VUG_EXPR_RULE);
    node->n = (uint32_t)name.len;
    node->max = at + node->n;
}

void vug_grammar_mark_unique_items(vug_grammar_builder *b, vug_grammar_expr rule)
{
    if (b->st == VUG_OK)
        vug_expr_get(b, rule)->unique_items = true;
}

/* ---- text up to a trigger --------------------------------------------------- */

/* The next state of the Knuth-Morris-Pratt automaton: how many characters of the trigger are
 * matched after `n` of them and then `c`. Triggers are short, so that brute force will do. */
static size_t kmp_next(const uint32_t *trigger, size_t n, uint32_t c)
{
    for (size_t m = n + 1; m > 0; m--) {
        if (trigger[m - 1] == c &&
            memcmp(trigger, trigger + (n - (m - 1)), (m - 1) * sizeof(*trigger)) == 0)
            return m;
    }
    return 0;
}

/* What may follow after `at` characters of the trigger. `state` has a rule for each number of
 * characters but the last, where the text ends. */
static vug_grammar_expr until_state_expr(vug_grammar_builder *b, const uint32_t *trigger, size_t n,
                                         size_t at, const vug_grammar_expr *state)
{
    vug_char_range other[VUG_GRAMMAR_MAX_TRIGGER];
    vug_grammar_expr alternative[VUG_GRAMMAR_MAX_TRIGGER + 1];
    size_t n_alternatives = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range c = { trigger[i], trigger[i] };
        bool seen = false;
        for (size_t j = 0; j < n_alternatives; j++)
            seen = seen || other[j].from == c.from;
        if (seen)
            continue;
        other[n_alternatives] = c;
        const size_t to = kmp_next(trigger, at, c.from);
        const vug_grammar_expr pair[2] = { vug_grammar_class(b, &c, 1, false),
                                           to < n ? state[to] : VUG_EMPTY_EXPR };
        alternative[n_alternatives++] = vug_grammar_sequence(b, pair, 2);
    }
    const vug_grammar_expr pair[2] = { vug_grammar_class(b, other, n_alternatives, true),
                                       state[0] };
    alternative[n_alternatives] = vug_grammar_sequence(b, pair, 2);
    return vug_grammar_choice(b, alternative, n_alternatives + 1);
}

vug_grammar_expr vug_grammar_until(vug_grammar_builder *b, vug_str trigger)
{
    uint32_t c[VUG_GRAMMAR_MAX_TRIGGER];
    vug_grammar_expr state[VUG_GRAMMAR_MAX_TRIGGER];
    size_t n = 0;
    for (size_t i = 0; i < trigger.len;) {
        const size_t len = n < VUG_GRAMMAR_MAX_TRIGGER
                                   ? vug_utf8_decode(trigger.ptr + i, trigger.len - i, &c[n])
                                   : 0;
        if (len == 0)
            break;
        state[n++] = vug_grammar_declare_rule(b);
        i += len;
        if (i == trigger.len) {
            for (size_t at = 0; at < n; at++)
                vug_grammar_define_rule(b, state[at], until_state_expr(b, c, n, at, state));
            return state[0];
        }
    }
    VUG_GRAMMAR_FAIL(b, VUG_ARGUMENT,
                     "a trigger of %zu bytes, expected 1 to %d characters of UTF-8", trigger.len,
                     VUG_GRAMMAR_MAX_TRIGGER);
    return VUG_EMPTY_EXPR;
}
