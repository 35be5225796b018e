/*
 * Attention over the cache. Each sequence of a step is one call of MLX's attention, or several for
 * a long prompt, so that the scores of a window are not computed for all pairs of positions. The
 * keys and values of neighbouring pages are slices of the cache; only where a sequence's pages are
 * scattered are they copied together.
 */
#include <limits>

#include "backend/mlx/internal.h"

/* What the calls of a node share. */
struct attention_job {
    const vug_mlx_step *step;
    const vug_attr_attention *at;
    int group, index;
    std::optional<mx::array> mask; /* [T,S] */
};

static vug_mlx_cache_part &part_of(const attention_job &job, int which)
{
    vug_mlx_kv_group &g = job.step->kv->group[(size_t)job.group];
    return g.part[(size_t)(job.index * g.parts + which)];
}

/* ---- formats ------------------------------------------------------------------------------- */

/* Rounds keys or values [K,n,E] to 8 bits: elements [K,n,padded width], scales [K,n,blocks]. */
static std::vector<mx::array> quantize(const mx::array &x, int padded)
{
    const int heads = x.shape(0), n = x.shape(1), blocks = padded / VUG_KV_Q8_BLOCK;
    const mx::array wide = mx::pad(x, { { 0, 0 }, { 0, 0 }, { 0, padded - x.shape(2) } });
    const mx::array block = mx::reshape(wide, { heads, n, blocks, VUG_KV_Q8_BLOCK });
    const mx::array most = mx::max(mx::abs(block), 3, true);
    const mx::array zero(0.0f), top(127.0f);
    const mx::array factor = mx::where(mx::greater(most, zero), top / most, zero);
    const mx::array q = mx::clip(mx::round(block * factor), mx::array(-127.0f), top);
    return { mx::reshape(mx::astype(q, mx::int8), { heads, n, padded }),
             mx::squeeze(most / top, 3) };
}

/* [K,n,E] in F32. */
static mx::array dequantize(const mx::array &elements, const mx::array &scales, int width)
{
    const int heads = elements.shape(0), n = elements.shape(1), blocks = scales.shape(2);
    const mx::array block =
            mx::reshape(mx::astype(elements, mx::float32), { heads, n, blocks, VUG_KV_Q8_BLOCK });
    const mx::array x =
            mx::reshape(block * mx::expand_dims(scales, 3), { heads, n, blocks * VUG_KV_Q8_BLOCK });
    return mx::slice(x, { 0, 0, 0 }, { heads, n, width });
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Calls `visit(first, n, at)` for the positions first .. end - 1 of a sequence, in runs of `n` that
 * follow one another in the arrays of the group from `at` on. */
template <typename Visit>
static void each_run(const vug_page *table, int64_t first, int64_t end, Visit visit)
{
    while (first < end) {
        int64_t block = first / VUG_KV_PAGE;
        const int64_t at = ((int64_t)table[block] - 1) * VUG_KV_PAGE + first % VUG_KV_PAGE;
        while ((block + 1) * VUG_KV_PAGE < end && table[block + 1] == table[block] + 1)
            block++;
        const int64_t stop = (block + 1) * VUG_KV_PAGE < end ? (block + 1) * VUG_KV_PAGE : end;
        visit((int)first, (int)(stop - first), (int)at);
        first = stop;
    }
}

/* Writes x [K,n,width] from position `first` of a sequence on. The array is handed over to its
 * successor, which MLX computes in its memory if nothing else refers to it. */
static void write_part(vug_mlx_cache_part &part, const vug_page *table, int64_t first,
                       const mx::array &x)
{
    const int heads = x.shape(0), width = x.shape(2);
    mx::array stored = mx::astype(x, part.dtype);
    /* Of an update of the whole array MLX makes the update itself, whatever its strides; the
     * memory of a part is row by row. */
    if (x.shape(1) >= part.array->shape(1))
        stored = mx::contiguous(stored);
    each_run(table, first, first + x.shape(1), [&](int position, int n, int at) {
        const int from = position - (int)first;
        const mx::array rows = mx::slice(stored, { 0, from, 0 }, { heads, from + n, width });
        const mx::Shape start = { 0, at, 0 }, stop = { heads, at + n, width };
        part.array = mx::slice_update(*part.array, rows, start, stop);
    });
}

/* Keys or values x [n,K,E] of a sequence, from position `first` on. */
static void write_cache(const attention_job &job, int which, const vug_page *table, int64_t first,
                        const mx::array &x)
{
    const mx::array by_head = mx::transpose(x, { 1, 0, 2 });
    if (job.step->kv->format != VUG_KV_Q8) {
        write_part(part_of(job, which), table, first, by_head);
        return;
    }
    const auto rounded = quantize(by_head, part_of(job, which).width);
    write_part(part_of(job, which), table, first, rounded[0]);
    write_part(part_of(job, which + VUG_MLX_KEY_SCALES), table, first, rounded[1]);
}

static mx::array read_part(const vug_mlx_cache_part &part, const vug_page *table, int64_t first,
                           int64_t end)
{
    std::vector<mx::array> runs;
    const int heads = part.array->shape(0);
    each_run(table, first, end, [&](int, int n, int at) {
        runs.push_back(mx::slice(*part.array, { 0, at, 0 }, { heads, at + n, part.width }));
    });
    return runs.size() == 1 ? runs[0] : mx::concatenate(runs, 1);
}

/* Keys or values [1,K,n,E] of positions first .. end - 1, in F32 or in `dtype`. */
static mx::array read_cache(const attention_job &job, int which, const vug_page *table,
                            int64_t first, int64_t end, mx::Dtype dtype)
{
    mx::array x = read_part(part_of(job, which), table, first, end);
    if (job.step->kv->format == VUG_KV_Q8) {
        const int width = job.step->kv->group[(size_t)job.group].width;
        x = dequantize(x, read_part(part_of(job, which + VUG_MLX_KEY_SCALES), table, first, end),
                       width);
    }
    return mx::expand_dims(mx::astype(x, dtype), 0);
}

/* ---- scores ------------------------------------------------------------------------------------ */

/* Which keys `first` .. of a sequence the queries [n] from `position` on see: [n,keys]. */
static mx::array window_mask(int64_t position, int n, int64_t first, int keys, int64_t window)
{
    const mx::array query = mx::expand_dims(mx::arange((int)position, (int)position + n), 1);
    const mx::array key = mx::expand_dims(mx::arange((int)first, (int)first + keys), 0);
    return mx::logical_and(mx::less_equal(key, query),
                           mx::less(query - key, mx::array((int)window)));
}

/* MLX's attention has no softcap: the same by hand. q [1,H,n,E], k and v [1,K,keys,E], mask
 * [n,keys], of booleans or added; NULL: all keys are seen. */
static mx::array capped_attention(const attention_job &job, const mx::array &q, const mx::array &k,
                                  const mx::array &v, const mx::array *mask)
{
    const int heads = q.shape(1), n = q.shape(2), width = q.shape(3), groups = k.shape(1);
    const mx::array rows = mx::reshape(q, { groups, heads / groups, n, width });
    const mx::array keys = mx::swapaxes(mx::expand_dims(mx::squeeze(k, 0), 1), -1, -2);
    const mx::array values = mx::expand_dims(mx::squeeze(v, 0), 1);
    mx::array score = mx::matmul(rows * mx::array(job.at->scale), keys);
    score = vug_mlx_softcap(job.step->program->device, score, job.at->softcap);
    if (mask && mask->dtype() == mx::bool_)
        score = mx::where(*mask, score, mx::array(-std::numeric_limits<float>::infinity()));
    else if (mask)
        score = score + *mask;
    const std::vector<int> last = { -1 };
    const mx::array y = mx::matmul(mx::softmax(score, last, true), values);
    return mx::reshape(y, { 1, heads, n, width });
}

static mx::array scored_attention(const attention_job &job, const mx::array &q, const mx::array &k,
                                  const mx::array &v, const std::optional<mx::array> &mask)
{
    if (job.at->softcap > 0)
        return capped_attention(job, q, k, v, mask ? &*mask : nullptr);
    return mx::fast::scaled_dot_product_attention(q, k, v, job.at->scale, mask ? "array" : "",
                                                  mask);
}

/* Queries q [n,H,E] of a sequence from `position` on; `row` is the step's token of the first one.
 * Returns [n,H,E] in F32. */
static mx::array attend(const attention_job &job, const mx::array &q, const vug_page *table,
                        int64_t position, int64_t row, int64_t end)
{
    const int n = q.shape(0);
    const int64_t window = job.mask ? 0 : job.at->window;
    const int64_t first = window > 0 && position >= window ? position - window + 1 : 0;
    /* With a mask, a query may see the keys after it, up to the end of its sequence. */
    const int64_t stop = job.mask ? end : position + n;
    const bool half = vug_activations_are_bf16(job.step->program->plan->activations) && !job.mask &&
                      job.at->softcap == 0 &&
                      (job.step->kv->format == VUG_KV_BF16 || job.step->kv->format == VUG_KV_F16);
    const mx::Dtype dtype = half ? part_of(job, VUG_MLX_KEYS).dtype : mx::float32;
    const mx::array k = read_cache(job, VUG_MLX_KEYS, table, first, stop, dtype);
    const mx::array v = read_cache(job, VUG_MLX_VALUES, table, first, stop, dtype);
    const mx::array rows = mx::expand_dims(mx::transpose(mx::astype(q, dtype), { 1, 0, 2 }), 0);
    const int keys = (int)(stop - first);
    std::optional<mx::array> mask;
    if (job.mask)
        mask = mx::slice(*job.mask, { (int)row, 0 }, { (int)row + n, keys });
    else if (n > 1)
        mask = window_mask(position, n, first, keys, window > 0 ? window : stop);
    const mx::array y = scored_attention(job, rows, k, v, mask);
    return mx::astype(mx::transpose(mx::squeeze(y, 0), { 1, 0, 2 }), mx::float32);
}

/* Most queries of a call. */
static constexpr int64_t MOST_QUERIES = 512;

/* The queries q [T or R,H,E] of all spans. */
static mx::array attend_spans(const attention_job &job, const mx::array &q,
                              const std::vector<vug_span> &spans)
{
    std::vector<mx::array> out;
    int64_t at = 0;
    for (const vug_span &span : spans) {
        for (int64_t i = 0; i < span.n; i += MOST_QUERIES) {
            const int64_t n = span.n - i < MOST_QUERIES ? span.n - i : MOST_QUERIES;
            const mx::array rows = mx::slice(q, { (int)(at + i), 0, 0 },
                                             { (int)(at + i + n), q.shape(1), q.shape(2) });
            out.push_back(attend(job, rows, span.table[job.group], span.past + i, at + i,
                                 span.past + span.n));
        }
        at += span.n;
    }
    return out.size() == 1 ? out[0] : mx::concatenate(out, 0);
}

/* ---- the node -------------------------------------------------------------------------------- */

/* The past that a graph is given lies in the cache before the step's own keys and values. */
static void write_past(const attention_job &job, const vug_node *node)
{
    int64_t at = 0;
    for (int i = 0; i < job.step->in->n_spans; i++) {
        const vug_span &span = job.step->in->span[i];
        for (int which = 0; span.past > 0 && which < 2; which++) {
            const mx::array &past = vug_mlx_value(job.step, node->in[3 + which]);
            write_cache(job, which, span.table[job.group], 0,
                        mx::slice(past, { (int)at, 0, 0 },
                                  { (int)(at + span.past), past.shape(1), past.shape(2) }));
        }
        at += span.past;
    }
}

static void write_new(const attention_job &job, const vug_node *node)
{
    int64_t at = 0;
    for (int i = 0; i < job.step->in->n_spans; i++) {
        const vug_span &span = job.step->in->span[i];
        for (int which = 0; which < 2; which++) {
            const mx::array &x = vug_mlx_value(job.step, node->in[1 + which]);
            write_cache(job, which, span.table[job.group], span.past,
                        mx::slice(x, { (int)at, 0, 0 },
                                  { (int)(at + span.n), x.shape(1), x.shape(2) }));
        }
        at += span.n;
    }
}

/* The queries belong to all tokens or, over an earlier layer's cache, to the output rows. */
static std::vector<vug_span> spans_of_queries(const vug_mlx_step *s, const vug_node *node)
{
    const vug_step_in *in = s->in;
    if (node->shape.dim[0] == s->program->token_dim)
        return { in->span, in->span + in->n_spans };
    std::vector<vug_span> query((size_t)in->n_rows);
    query.resize((size_t)vug_step_queries(in, query.data()));
    return query;
}

mx::array vug_mlx_attention(const vug_mlx_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_kv_place place = s->program->kv_layout.layer[node->at.attn.layer];
    attention_job job = { s, &node->at.attn, place.group, place.index, {} };
    if (vug_node_has_mask(node))
        job.mask = vug_mlx_value(s, node->in[vug_node_inputs(node) - 1]);
    if (vug_node_has_past(node))
        write_past(job, node);
    if (vug_node_fills_cache(node))
        write_new(job, node);
    const std::vector<vug_span> spans = spans_of_queries(s, node);
    const mx::Shape shape = vug_mlx_shape_of(s, &node->shape);
    return spans.empty() ? mx::zeros(shape)
                         : attend_spans(job, vug_mlx_value(s, node->in[0]), spans);
}
