#include "text/grammar/counted_ending.h"

enum {
    MIN_COUNTED = 8, /* shorter repetitions are unrolled, and the subset construction does this */
    MAX_RANGES = 32, /* of each class */
};

/* The ranges are sorted and disjoint, and do not touch. */
typedef struct {
    const vug_char_range *range;
    size_t n;
} range_list;

static range_list ranges_of(const vug_grammar_builder *b, const vug_expr_node *class)
{
    return (range_list){ vug_expr_ranges(b, class), class->n };
}

static bool contains_range(range_list list, vug_char_range range)
{
    for (size_t i = 0; i < list.n; i++)
        if (list.range[i].from <= range.from && range.to <= list.range[i].to)
            return true;
    return false;
}

static bool contains_all(range_list list, range_list others)
{
    for (size_t i = 0; i < others.n; i++)
        if (!contains_range(list, others.range[i]))
            return false;
    return true;
}

/* What `list` has and `others` have not. Returns the number of ranges. */
static size_t subtract(range_list list, range_list others, vug_char_range left[2 * MAX_RANGES])
{
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        uint32_t from = list.range[i].from;
        for (size_t k = 0; k < others.n; k++) {
            const vug_char_range other = others.range[k];
            if (other.from < from || other.from > list.range[i].to)
                continue;
            if (other.from > from)
                left[n++] = (vug_char_range){ from, other.from - 1 };
            from = other.to + 1;
        }
        if (from <= list.range[i].to)
            left[n++] = (vug_char_range){ from, list.range[i].to };
    }
    return n;
}

vug_grammar_expr vug_grammar_counted_ending(vug_grammar_builder *b, vug_grammar_expr repeated,
                                            vug_grammar_expr ending)
{
    const vug_expr_node repeat = *vug_expr_get(b, repeated), last = *vug_expr_get(b, ending);
    if (repeat.kind != VUG_EXPR_REPEAT || last.kind != VUG_EXPR_CLASS ||
        repeat.max == VUG_REPEAT_UNBOUNDED || repeat.max - repeat.n < MIN_COUNTED ||
        repeat.max == VUG_GRAMMAR_MAX_REPEAT)
        return VUG_EMPTY_EXPR;
    const vug_expr_node any = *vug_expr_get(b, repeat.at);
    if (any.kind != VUG_EXPR_CLASS || any.n > MAX_RANGES || last.n > MAX_RANGES ||
        !contains_all(ranges_of(b, &any), ranges_of(b, &last)))
        return VUG_EMPTY_EXPR;
    if (repeat.at == ending)
        return vug_grammar_repeat(b, ending, repeat.n + 1, repeat.max + 1);
    vug_char_range left[2 * MAX_RANGES];
    const size_t n = subtract(ranges_of(b, &any), ranges_of(b, &last), left);
    const vug_grammar_expr others = vug_grammar_class(b, left, n, false);
    enum { OTHER, LAST }; /* what the previous character was; at the beginning OTHER */
    const vug_grammar_edge edge[] = {
        { .label = others, .from = OTHER, .to = OTHER },
        { .label = ending, .from = OTHER, .to = LAST },
        { .label = others, .from = LAST, .to = OTHER },
        { .label = ending, .from = LAST, .to = LAST },
        { .label = VUG_EMPTY_EXPR, .from = LAST, .to = VUG_GRAMMAR_GRAPH_END },
    };
    const vug_grammar_expr graph = vug_grammar_bounded_graph(b, edge, sizeof(edge) / sizeof(*edge),
                                                             repeat.max - repeat.n + 1);
    return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_repeat(b, repeat.at, repeat.n, repeat.n), graph);
}
