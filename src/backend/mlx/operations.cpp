/* The operations but attention, as arrays of MLX. Values are F32 (docs/arithmetic.md). */
#include <cmath>

#include "backend/mlx/internal.h"

static const vug_mlx_matrix &matrix_of(const vug_mlx_step *s, vug_val param)
{
    return *s->program->matrix[param.id];
}

/* ---- products ----------------------------------------------------------------------------- */

/* The format in which a product with quantized weights is computed. */
static mx::Dtype product_dtype(const vug_mlx_program *p, const vug_mlx_matrix &m)
{
    if (!p->precision.scales)
        return mx::float32;
    return m.biases ? m.scales->dtype() : mx::bfloat16;
}

static const mx::array &scales_for(const vug_mlx_matrix &m, mx::Dtype dtype)
{
    return m.f32_scales && dtype == mx::float32 ? *m.f32_scales : *m.scales;
}

static const std::optional<mx::array> &biases_for(const vug_mlx_matrix &m, mx::Dtype dtype)
{
    return m.f32_biases && dtype == mx::float32 ? m.f32_biases : m.biases;
}

/* x [T,in] times the transposed matrix w [out,in], both in F32. On Linux MLX's CPU device calls a
 * BLAS that computes one sum after another if an operand is transposed, and those of all rows of x
 * side by side if none is. The sums have the same order. */
static mx::array multiply_f32(const vug_mlx_device *device, const mx::array &x, const mx::array &w)
{
    constexpr int FASTER_FROM = 8; /* rows, as measured */
    if (device->gpu || x.shape(0) < FASTER_FROM)
        return mx::matmul(x, mx::transpose(w));
    return mx::contiguous(mx::transpose(mx::matmul(w, mx::contiguous(mx::transpose(x)))));
}

/* Value x [T,in] times the transposed matrix [out,in]. */
static mx::array multiply_matrix(const vug_mlx_step *s, vug_val x, const vug_mlx_matrix &m)
{
    if (m.bits > 0) {
        const mx::Dtype dtype = product_dtype(s->program, m);
        const mx::array rows = mx::astype(vug_mlx_value(s, x), dtype);
        const mx::array y =
                mx::quantized_matmul(rows, m.data, scales_for(m, dtype), biases_for(m, dtype), true,
                                     m.group, m.bits, m.mode);
        return mx::astype(y, mx::float32);
    }
    if (s->f16[x.id] && m.f16) {
        const vug_mlx_f16_rows &in = *s->f16[x.id];
        return vug_mlx_widen_product(s->program->device, mx::matmul(in.rows, mx::transpose(*m.f16)),
                                     in.scale, m.f16_scale);
    }
    return multiply_f32(s->program->device, vug_mlx_value(s, x), mx::astype(m.data, mx::float32));
}

/* x [T,k or 1,1,in] times, for row t and choice j, the transposed matrix of expert index[t,j]:
 * [T,k,1,out]. */
static mx::array multiply_experts(const vug_mlx_step *s, const mx::array &x, const mx::array &index,
                                  const vug_mlx_matrix &m)
{
    if (m.bits > 0) {
        const mx::Dtype dtype = product_dtype(s->program, m);
        const mx::array y = mx::gather_qmm(mx::astype(x, dtype), m.data, scales_for(m, dtype),
                                           biases_for(m, dtype), std::nullopt, index, true, m.group,
                                           m.bits, m.mode);
        return mx::astype(y, mx::float32);
    }
    if (m.f16) {
        const vug_mlx_f16_rows in = vug_mlx_round_rows(s->program->device, x);
        const mx::array all = mx::swapaxes(*m.f16, -1, -2);
        return vug_mlx_widen_product(s->program->device,
                                     mx::gather_mm(in.rows, all, std::nullopt, index), in.scale,
                                     m.f16_scale);
    }
    /* Weights of 16 bits are widened: those of the chosen experts, if these are fewer than all. */
    if (m.data.dtype() != mx::float32 && index.size() < (size_t)m.data.shape(0)) {
        const mx::array chosen = mx::astype(mx::take(m.data, index, 0), mx::float32);
        return mx::matmul(x, mx::swapaxes(chosen, -1, -2));
    }
    const mx::array all = mx::swapaxes(mx::astype(m.data, mx::float32), -1, -2);
    return mx::gather_mm(x, all, std::nullopt, index);
}

static mx::array compute_experts(const vug_mlx_step *s, const vug_node *node)
{
    const mx::array &x = vug_mlx_value(s, node->in[0]), &route = vug_mlx_value(s, node->in[1]);
    const int rows = route.shape(0), k = route.shape(1) / 2;
    const mx::array index = mx::astype(mx::slice(route, { 0, 0 }, { rows, k }), mx::uint32);
    const mx::array weight =
            mx::reshape(mx::slice(route, { 0, k }, { rows, 2 * k }), { rows, k, 1, 1 });
    const mx::array in = mx::reshape(x, { rows, 1, 1, x.shape(1) });
    const mx::array gate = multiply_experts(s, in, index, matrix_of(s, node->in[2]));
    const mx::array up = multiply_experts(s, in, index, matrix_of(s, node->in[3]));
    const mx::array hidden =
            vug_mlx_activate_gate(s->program->device, node->at.experts.activation, gate, up);
    const mx::array y = multiply_experts(s, hidden, index, matrix_of(s, node->in[4]));
    return mx::reshape(mx::sum(y * weight, 1), x.shape());
}

/* ---- rows --------------------------------------------------------------------------------- */

static mx::array embed(const vug_mlx_step *s, const vug_node *node)
{
    const vug_mlx_matrix &m = matrix_of(s, node->in[0]);
    const mx::array &token = vug_mlx_value(s, node->in[1]);
    mx::array row = mx::take(m.data, token, 0);
    if (m.bits > 0) {
        const mx::array scales = mx::take(scales_for(m, mx::float32), token, 0);
        const auto &from = biases_for(m, mx::float32);
        std::optional<mx::array> biases;
        if (from)
            biases = mx::astype(mx::take(*from, token, 0), mx::float32);
        row = mx::dequantize(row, biases ? mx::astype(scales, mx::float32) : scales, biases,
                             m.group, m.bits, m.mode, std::nullopt, mx::float32);
    }
    return mx::astype(row, mx::float32) * mx::array(node->at.scale.by);
}

/* The cosines and sines of each position, as the reference computes them: on the host. */
static mx::array rope_table(const vug_mlx_step *s, const vug_node *node)
{
    const vug_attr_table *at = &node->at.table;
    const size_t half = (size_t)at->dims / 2, rows = s->position.size();
    mx::array table = vug_mlx_new_array({ (int)rows, at->dims }, mx::float32);
    float *to = table.data<float>();
    for (size_t t = 0; t < rows; t++, to += 2 * half) {
        for (size_t i = 0; i < half; i++) {
            const float angle = (float)s->position[t] * at->inv[i];
            to[i] = (float)std::cos((double)angle) * at->factor;
            to[i + half] = (float)std::sin((double)angle) * at->factor;
        }
    }
    return table;
}

/* Columns first .. end - 1 of the last axis. */
static mx::array columns(const mx::array &x, int first, int end)
{
    mx::Shape start(x.ndim(), 0), stop = x.shape();
    start[x.ndim() - 1] = first;
    stop[x.ndim() - 1] = end;
    return mx::slice(x, start, stop);
}

static mx::array rotate(const vug_mlx_step *s, const mx::array &x, const mx::array &table)
{
    const int width = x.shape(-1), dims = table.shape(-1), half = dims / 2;
    const mx::array rows = x.ndim() == 3 ? mx::expand_dims(table, 1) : table;
    const mx::array cosine = columns(rows, 0, half), sine = columns(rows, half, dims);
    std::vector<mx::array> parts = vug_mlx_rotate(s->program->device, columns(x, 0, half),
                                                  columns(x, half, dims), cosine, sine);
    if (dims < width)
        parts.push_back(columns(x, dims, width));
    return mx::concatenate(parts, -1);
}

static mx::array norm(const vug_mlx_step *s, uint32_t id, const mx::array &x)
{
    return mx::fast::rms_norm(x, s->program->vector[id], s->program->graph->node[id].at.norm.eps);
}

static mx::array deinterleave(const mx::array &x)
{
    mx::Shape pairs = x.shape();
    pairs.back() /= 2;
    pairs.push_back(2);
    return mx::reshape(mx::swapaxes(mx::reshape(x, pairs), -1, -2), x.shape());
}

/* Sorting is stable, so of equal logits the lower index comes first; NaNs come last. */
static mx::array route(const mx::array &logits, const vug_attr_router *at)
{
    const mx::array order = mx::argsort(mx::negative(logits), 1);
    const mx::array best = columns(order, 0, at->count);
    const std::vector<int> axis = { 1 };
    const mx::array weight = at->renormalise
                                     ? mx::softmax(mx::take_along_axis(logits, best, 1), axis)
                                     : mx::take_along_axis(mx::softmax(logits, axis), best, 1);
    return mx::concatenate({ mx::astype(best, mx::float32), weight }, 1);
}

static mx::array scale_route(const mx::array &x, const mx::array &scale)
{
    const int k = x.shape(1) / 2;
    const mx::array best = columns(x, 0, k);
    const mx::array scales = mx::take(scale, mx::astype(best, mx::uint32), 0);
    return mx::concatenate({ best, columns(x, k, 2 * k) * scales }, 1);
}

/* ---- all operations -------------------------------------------------------------------------- */

/* Operations of one value, without weights. */
static std::optional<mx::array> compute_unary(const vug_mlx_step *s, const vug_node *node,
                                              const mx::array &x)
{
    switch (node->op) {
    case VUG_OP_GELU:
    case VUG_OP_SILU:
        return vug_mlx_activate(s->program->device, node->op, x);
    case VUG_OP_SCALE:
        return x * mx::array(node->at.scale.by);
    case VUG_OP_SOFTCAP:
        return vug_mlx_softcap(s->program->device, x, node->at.scale.by);
    case VUG_OP_HEADS:
    case VUG_OP_MERGE:
        return mx::reshape(x, vug_mlx_shape_of(s, &node->shape));
    case VUG_OP_ROUTER:
        return route(x, &node->at.router);
    case VUG_OP_UNIT_NORM:
        return mx::fast::rms_norm(x, std::nullopt, node->at.norm.eps);
    case VUG_OP_DEINTERLEAVE:
        return deinterleave(x);
    case VUG_OP_HEAD:
        return mx::take(x, node->at.head.index, 1);
    default:
        return std::nullopt;
    }
}

/* Operations of a value and a vector of weights. */
static std::optional<mx::array> compute_with_vector(const vug_mlx_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const mx::array &x = vug_mlx_value(s, node->in[0]), &w = *s->program->vector[id];
    switch (node->op) {
    case VUG_OP_RMS_NORM:
        return norm(s, id, x);
    case VUG_OP_ADD_NORM:
        return x + norm(s, id, vug_mlx_value(s, node->in[1]));
    case VUG_OP_NORM_ROPE:
        return rotate(s, norm(s, id, x), vug_mlx_value(s, node->in[2]));
    case VUG_OP_BIAS:
        return x + w;
    case VUG_OP_SCALE_BY:
        return x * w;
    case VUG_OP_ROUTE_SCALE:
        return scale_route(x, w);
    default:
        return std::nullopt;
    }
}

/* Operations of several values, or of matrices. */
static std::optional<mx::array> compute_others(const vug_mlx_step *s, const vug_node *node)
{
    const auto in = [&](int i) -> const mx::array & { return vug_mlx_value(s, node->in[i]); };
    switch (node->op) {
    case VUG_OP_EMBED:
        return embed(s, node);
    case VUG_OP_LINEAR:
        return multiply_matrix(s, node->in[0], matrix_of(s, node->in[1]));
    case VUG_OP_EXPERTS:
        return compute_experts(s, node);
    case VUG_OP_ROPE_TABLE:
        return rope_table(s, node);
    case VUG_OP_ROPE:
        return rotate(s, in(0), in(1));
    case VUG_OP_ADD:
        return in(0) + in(1);
    case VUG_OP_MUL:
        return in(0) * in(1);
    case VUG_OP_GATHER:
        return mx::take(in(0), in(1), 0);
    case VUG_OP_GEGLU:
        return vug_mlx_activate_gate(s->program->device, VUG_OP_GELU, in(0), in(1));
    case VUG_OP_SWIGLU:
        return vug_mlx_activate_gate(s->program->device, VUG_OP_SILU, in(0), in(1));
    default:
        return std::nullopt;
    }
}

mx::Shape vug_mlx_shape_of(const vug_mlx_step *s, const vug_shape *shape)
{
    int64_t past = 0, keys = 0;
    mx::Shape out;
    for (int i = 0; i < s->in->n_spans; i++) {
        const int64_t end = s->in->span[i].past + s->in->span[i].n;
        past += s->in->span[i].past;
        keys = end > keys ? end : keys;
    }
    for (int i = 0; i < shape->rank; i++) {
        const int64_t d = shape->dim[i];
        out.push_back((int)(d == VUG_DIM_T   ? s->tokens
                            : d == VUG_DIM_R ? s->in->n_rows
                            : d == VUG_DIM_P ? past
                            : d == VUG_DIM_S ? keys
                                             : d));
    }
    return out;
}

mx::array vug_mlx_compute(const vug_mlx_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const mx::Shape shape = vug_mlx_shape_of(s, &node->shape);
    /* A step without output rows: there is nothing to compute from them. */
    if (shape[0] == 0)
        return mx::zeros(shape);
    std::optional<mx::array> y;
    if (s->program->vector[id])
        y = compute_with_vector(s, id);
    if (!y)
        y = compute_others(s, node);
    if (!y)
        y = compute_unary(s, node, vug_mlx_value(s, node->in[0]));
    if (!y)
        throw std::logic_error(vug_op_name(node->op));
    return *y;
}
