/* The checks of a step that do not depend on the device. */
#include <math.h>

#include "backend/checks.h"

static vug_status check_spans(const vug_limits *limits, const vug_step_in *in, int64_t *tokens,
                              vug_err *err)
{
    int64_t n = 0;
    for (int i = 0; i < in->n_spans; i++) {
        const vug_span *span = &in->span[i];
        if (span->n < 1 || span->past < 0 || span->n > limits->batch ||
            span->past > limits->context - span->n)
            return VUG_FAIL(err, VUG_LIMIT,
                            "a step of %lld tokens after %lld does not fit steps of %lld and a "
                            "context of %lld",
                            (long long)span->n, (long long)span->past, (long long)limits->batch,
                            (long long)limits->context);
        n += span->n;
        if (n > limits->batch)
            return VUG_FAIL(err, VUG_LIMIT, "a step has more than %lld tokens",
                            (long long)limits->batch);
    }
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step has no tokens");
    *tokens = n;
    return VUG_OK;
}

/* A graph that was made for a fixed number of tokens or rows accepts only that number. */
static vug_status check_inputs(const vug_graph *g, const vug_step_in *in, int64_t tokens,
                               vug_err *err)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_INPUT || node->shape.dim[0] < 0)
            continue;
        const vug_input which = node->at.input.which;
        const int64_t n = which == VUG_INPUT_ROWS ? in->n_rows : tokens;
        if (which != VUG_INPUT_DATA && node->shape.dim[0] != n)
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has %lld %s, the graph expects %lld",
                            (long long)n, which == VUG_INPUT_ROWS ? "rows" : "tokens",
                            (long long)node->shape.dim[0]);
    }
    if (vug_graph_data_count(g) > 0 && !in->data)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the data inputs of the graph");
    return VUG_OK;
}

static vug_status check_indices(const vug_graph *g, const vug_limits *limits, const vug_step_in *in,
                                int64_t tokens, vug_err *err)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op != VUG_OP_EMBED)
            continue;
        const int64_t n_vocab = vug_graph_at(g, g->node[i].in[0])->shape.dim[0];
        for (int64_t t = 0; t < tokens; t++) {
            if (in->token[t] < 0 || in->token[t] >= n_vocab)
                return VUG_FAIL(err, VUG_ARGUMENT, "token %d is outside the vocabulary of %lld",
                                in->token[t], (long long)n_vocab);
        }
    }
    if (in->n_rows < 0 || in->n_rows > limits->rows)
        return VUG_FAIL(err, VUG_LIMIT, "a step has %lld output rows, at most %lld are allowed",
                        (long long)in->n_rows, (long long)limits->rows);
    for (int64_t i = 0; i < in->n_rows; i++) {
        if (in->row[i] < 0 || in->row[i] >= tokens)
            return VUG_FAIL(err, VUG_ARGUMENT, "output row %d is outside a step of %lld tokens",
                            in->row[i], (long long)tokens);
    }
    return VUG_OK;
}

vug_status vug_check_step(const vug_graph *graph, const vug_limits *limits, const vug_step_in *in,
                          int64_t *tokens, vug_err *err)
{
    VUG_TRY(check_spans(limits, in, tokens, err));
    VUG_TRY(check_inputs(graph, in, *tokens, err));
    return check_indices(graph, limits, in, *tokens, err);
}

/* ---- masks ------------------------------------------------------------------ */

vug_status vug_check_mask_row(const float *add, int64_t keys, int64_t row, int64_t *first,
                              int64_t *end, vug_err *err)
{
    *first = keys;
    *end = 0;
    for (int64_t key = 0; key < keys; key++) {
        if (isnan(add[key]) || add[key] == INFINITY)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "mask: row %lld, column %lld is %g, expected a number or -inf",
                            (long long)row, (long long)key, (double)add[key]);
        if (add[key] == -INFINITY)
            continue;
        *first = key < *first ? key : *first;
        *end = key + 1;
    }
    if (*end == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "mask: row %lld sees none of its %lld keys",
                        (long long)row, (long long)keys);
    return VUG_OK;
}

vug_status vug_check_mask_columns(const vug_step_in *in, int64_t fixed, int64_t *columns,
                                  vug_err *err)
{
    int64_t most = 0;
    for (int i = 0; i < in->n_spans; i++) {
        const int64_t keys = in->span[i].past + in->span[i].n;
        most = keys > most ? keys : most;
    }
    if (fixed > 0 && fixed != most)
        return VUG_FAIL(err, VUG_ARGUMENT, "a mask has %lld columns, the step has %lld keys",
                        (long long)fixed, (long long)most);
    *columns = most;
    return VUG_OK;
}

static vug_status check_mask(const vug_step_in *in, const float *add, int64_t fixed, vug_err *err)
{
    int64_t columns, first, end, row = 0;
    VUG_TRY(vug_check_mask_columns(in, fixed, &columns, err));
    for (int i = 0; i < in->n_spans; i++) {
        const vug_span *span = &in->span[i];
        for (int64_t t = 0; t < span->n; t++, row++)
            VUG_TRY(vug_check_mask_row(add + row * columns, span->past + span->n, row, &first, &end,
                                       err));
    }
    return VUG_OK;
}

vug_status vug_check_masks(const vug_graph *graph, const vug_step_in *in, vug_err *err)
{
    for (uint32_t i = 1; i < graph->n; i++) {
        const vug_node *node = &graph->node[i];
        if (!vug_node_has_mask(node))
            continue;
        const vug_node *mask = vug_graph_at(graph, node->in[vug_node_inputs(node) - 1]);
        VUG_TRY(check_mask(in, in->data[mask->at.input.index], mask->shape.dim[1], err));
    }
    return VUG_OK;
}

/* ---- what follows from a step ----------------------------------------------- */

void vug_step_positions(const vug_step_in *in, int32_t *position)
{
    for (int i = 0; i < in->n_spans; i++) {
        for (int64_t t = 0; t < in->span[i].n; t++)
            *position++ = (int32_t)(in->span[i].past + t);
    }
}

int vug_step_queries(const vug_step_in *in, vug_span *query)
{
    int64_t first = 0; /* index in the step of the first token of span `s` */
    int n = 0, s = 0;
    for (int64_t i = 0; i < in->n_rows; i++) {
        if (in->row[i] < first) {
            first = 0;
            s = 0;
        }
        while (in->row[i] >= first + in->span[s].n)
            first += in->span[s++].n;
        const vug_span at = { in->span[s].table, in->span[s].past + in->row[i] - first, 1 };
        const vug_span *last = n > 0 ? &query[n - 1] : NULL;
        if (last && last->table == at.table && last->past + last->n == at.past)
            query[n - 1].n++;
        else
            query[n++] = at;
    }
    return n;
}
