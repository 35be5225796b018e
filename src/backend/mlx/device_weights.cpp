/*
 * Weights as MLX arrays. Floats keep their format, and on a GPU the bytes of the mapped file are
 * used in place. MLX's quantized formats are MLX's own arrays. Formats of GGUF whose blocks of 32
 * are integers with one scale and one offset are repacked into MLX's affine format with groups of
 * 32, which is exact; all others are decoded to BF16.
 */
#include <climits>
#include <cmath>
#include <numeric>

#include "backend/mlx/internal.h"

extern "C" {
#include "quant/matrix.h"
}

enum { BLOCK = 32 }; /* weights */

/* ---- layouts ------------------------------------------------------------------------------ */

/* The formats that are repacked: weight q of a block becomes the integer q + shift. */
struct repacking {
    vug_dtype from;
    int bits, shift;
};

static constexpr repacking repackings[] = {
    { VUG_DTYPE_Q4_0, 4, 8 }, { VUG_DTYPE_Q4_1, 4, 0 },     { VUG_DTYPE_Q5_0, 5, 16 },
    { VUG_DTYPE_Q5_1, 5, 0 }, { VUG_DTYPE_Q8_0, 8, 128 },   { VUG_DTYPE_Q4_K, 4, 0 },
    { VUG_DTYPE_Q5_K, 5, 0 }, { VUG_DTYPE_IQ4_NL, 8, 128 }, { VUG_DTYPE_IQ4_XS, 8, 128 },
};

static const repacking *find_repacking(vug_dtype dtype)
{
    for (const repacking &r : repackings) {
        if (r.from == dtype)
            return &r;
    }
    return nullptr;
}

enum class layout { FLOATS, AFFINE, FP4, REPACKED, DECODED, UNSUPPORTED };

static int affine_bits(vug_dtype dtype)
{
    switch (dtype) {
    case VUG_DTYPE_MLX2:
        return 2;
    case VUG_DTYPE_MLX3:
        return 3;
    case VUG_DTYPE_MLX4:
        return 4;
    case VUG_DTYPE_MLX5:
        return 5;
    case VUG_DTYPE_MLX6:
        return 6;
    case VUG_DTYPE_MLX8:
        return 8;
    default:
        return 0;
    }
}

static bool is_group(int64_t columns)
{
    return columns == 32 || columns == 64 || columns == 128;
}

static layout layout_of(const vug_weight *w)
{
    const vug_codec *codec = vug_codec_of(w->dtype);
    if (affine_bits(w->dtype) || w->dtype == VUG_DTYPE_MLX_FP4) {
        if (!vug_weight_has_mlx_scales(w))
            return layout::UNSUPPORTED;
        if (w->dtype == VUG_DTYPE_MLX_FP4)
            return layout::FP4;
        return is_group(w->scales.columns) ? layout::AFFINE : layout::DECODED;
    }
    if (w->dtype <= VUG_DTYPE_BF16 && !w->scales.scale)
        return layout::FLOATS;
    if (w->dtype == VUG_DTYPE_MXFP4)
        return layout::FP4;
    if (find_repacking(w->dtype))
        return layout::REPACKED;
    return codec->decode ? layout::DECODED : layout::UNSUPPORTED;
}

static mx::Dtype float_dtype(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32   ? mx::float32
           : dtype == VUG_DTYPE_F16 ? mx::float16
                                    : mx::bfloat16;
}

/* ---- filling ------------------------------------------------------------------------------- */

/* The arrays of one or more matrices of the same shape and format while they are filled. */
struct matrix_filler {
    const vug_weight *weight; /* [n] */
    int n, rows, columns;
    bool stacked; /* [n,rows,width] even if n is 1 */

    mx::Shape shape(int64_t width) const
    {
        if (stacked)
            return { n, rows, (int)width };
        return { rows, (int)width };
    }
    vug_matrix matrix(int i) const
    {
        return { weight[i].dtype, weight[i].data, columns, weight[i].scales };
    }
    template <typename Row> void each_row(Row fill) const
    {
        for (int i = 0; i < n; i++) {
            for (int r = 0; r < rows; r++)
                fill(weight[i], matrix(i), r, (size_t)i * (size_t)rows + (size_t)r);
        }
    }
};

/* The columns [count] of every row of scales or of biases. */
static mx::array copy_scales(const matrix_filler &f, bool biases, mx::Dtype dtype, int64_t count)
{
    mx::array to = vug_mlx_new_array(f.shape(count), dtype);
    const size_t bytes = (size_t)count * mx::size_of(dtype);
    f.each_row([&](const vug_weight &w, const vug_matrix &, int r, size_t at) {
        const uint8_t *from = biases ? w.scales.bias : w.scales.scale;
        const size_t stride = (size_t)w.scales.stride * mx::size_of(dtype);
        memcpy(to.data<uint8_t>() + at * bytes, from + (size_t)r * stride, bytes);
    });
    return to;
}

/* The rows of data, `bytes` each. */
static mx::array copy_rows(const matrix_filler &f, mx::Dtype dtype, int64_t width)
{
    mx::array to = vug_mlx_new_array(f.shape(width), dtype);
    const size_t bytes = (size_t)f.rows * (size_t)width * mx::size_of(dtype);
    for (int i = 0; i < f.n; i++)
        memcpy(to.data<uint8_t>() + (size_t)i * bytes, f.weight[i].data, bytes);
    return to;
}

/*
 * The bytes of the mapped file as an array, where MLX can use them in place: Metal reads whole
 * pages of memory, so the array is a view into the pages that hold the matrix.
 */
static std::optional<mx::array> map_floats(const matrix_filler &f, mx::Dtype dtype)
{
    constexpr uintptr_t PAGE = 16384; /* of Apple's processors */
    const auto start = reinterpret_cast<uintptr_t>(f.weight[0].data);
    const size_t bytes = (size_t)f.rows * (size_t)f.columns * mx::size_of(dtype);
    const uintptr_t first = start / PAGE * PAGE, end = (start + bytes + PAGE - 1) / PAGE * PAGE;
    if (f.n != 1 || end - first > INT_MAX || start % mx::size_of(dtype) != 0)
        return std::nullopt;
    mx::allocator::Buffer buffer =
            mx::allocator::make_buffer(reinterpret_cast<void *>(first), end - first);
    if (!buffer.ptr())
        return std::nullopt;
    const mx::array pages(
            mx::allocator::Data(buffer, [](mx::allocator::Buffer b) { mx::allocator::release(b); }),
            { (int)(end - first) }, mx::uint8);
    const int at = (int)(start - first);
    mx::array mapped = mx::reshape(mx::view(mx::slice(pages, { at }, { at + (int)bytes }), dtype),
                                   f.shape(f.columns));
    mx::eval(mapped);
    return mapped;
}

static vug_mlx_matrix load_floats(const matrix_filler &f, bool gpu)
{
    const mx::Dtype dtype = float_dtype(f.weight[0].dtype);
    std::optional<mx::array> mapped;
    if (gpu)
        mapped = map_floats(f, dtype);
    return { .data = mapped ? *mapped : copy_rows(f, dtype, f.columns) };
}

static vug_mlx_matrix load_affine(const matrix_filler &f)
{
    const vug_scales &s = f.weight[0].scales;
    const int bits = affine_bits(f.weight[0].dtype);
    const mx::Dtype dtype = float_dtype(s.dtype);
    const int64_t count = f.columns / s.columns;
    return { .data = copy_rows(f, mx::uint32, (int64_t)f.columns * bits / BLOCK),
             .scales = copy_scales(f, false, dtype, count),
             .biases = copy_scales(f, true, dtype, count),
             .bits = bits,
             .group = (int)s.columns };
}

/* A block of GGUF's MXFP4 is an exponent and 16 bytes, which hold weight i and weight i + 16; MLX
 * has the exponents apart and weights 2 i and 2 i + 1 in a byte. */
static mx::array repack_fp4(const matrix_filler &f, mx::array &scales)
{
    enum { BYTES = 17, HALF = BLOCK / 2 };
    const int blocks = f.columns / BLOCK;
    mx::array to = vug_mlx_new_array(f.shape(f.columns / 8), mx::uint32);
    const auto nibble = [](const uint8_t *q, int i) {
        return (uint8_t)(i < HALF ? q[i] & 15 : q[i - HALF] >> 4);
    };
    f.each_row([&](const vug_weight &w, const vug_matrix &, int r, size_t at) {
        const uint8_t *block = w.data + (size_t)r * (size_t)blocks * BYTES;
        uint8_t *out = to.data<uint8_t>() + at * (size_t)blocks * HALF;
        for (int b = 0; b < blocks; b++, block += BYTES, out += HALF) {
            scales.data<uint8_t>()[at * (size_t)blocks + (size_t)b] = block[0];
            for (int i = 0; i < HALF; i++)
                out[i] = (uint8_t)(nibble(block + 1, 2 * i) | nibble(block + 1, 2 * i + 1) << 4);
        }
    });
    return to;
}

static vug_mlx_matrix load_fp4(const matrix_filler &f)
{
    const int64_t count = f.columns / BLOCK;
    const bool packed = f.weight[0].dtype == VUG_DTYPE_MLX_FP4;
    mx::array scales = packed ? copy_scales(f, false, mx::uint8, count)
                              : vug_mlx_new_array(f.shape(count), mx::uint8);
    mx::array data = packed ? copy_rows(f, mx::uint32, f.columns / 8) : repack_fp4(f, scales);
    return { .data = data, .scales = scales, .bits = 4, .group = BLOCK, .mode = "mxfp4" };
}

/* The integers q + shift of a block as a stream of bits, the first in the lowest. */
static void pack_block(const vug_block &block, const repacking &to, uint8_t *out)
{
    uint64_t held = 0;
    int n = 0;
    for (int e = 0; e < BLOCK; e++) {
        held |= (uint64_t)(block.q[e] + to.shift) << n;
        for (n += to.bits; n >= 8; n -= 8, held >>= 8)
            *out++ = (uint8_t)held;
    }
}

/* Weight q of a block is scale * q + bias, which MLX computes as scale * (q + shift) + (bias -
 * shift * scale). The formats that are repacked have the same factor in both halves of a block. */
static vug_mlx_matrix repack(const matrix_filler &f)
{
    const repacking &to = *find_repacking(f.weight[0].dtype);
    const size_t blocks = (size_t)(f.columns / BLOCK), bytes = (size_t)(4 * to.bits);
    mx::array data = vug_mlx_new_array(f.shape((int64_t)blocks * to.bits), mx::uint32);
    mx::array scales = vug_mlx_new_array(f.shape((int64_t)blocks), mx::float32);
    mx::array biases = vug_mlx_new_array(f.shape((int64_t)blocks), mx::float32);
    f.each_row([&](const vug_weight &, const vug_matrix &m, int r, size_t at) {
        for (size_t b = 0; b < blocks; b++) {
            const size_t i = at * blocks + b;
            vug_block block;
            vug_matrix_block(&m, r, (int64_t)b, &block);
            const float scale = block.scale * block.factor[0];
            scales.data<float>()[i] = scale;
            biases.data<float>()[i] = block.offset * block.minimum[0] - (float)to.shift * scale;
            pack_block(block, to, data.data<uint8_t>() + i * bytes);
        }
    });
    return { .data = data, .scales = scales, .biases = biases, .bits = to.bits, .group = BLOCK };
}

static vug_mlx_matrix decode(const matrix_filler &f)
{
    mx::array to = vug_mlx_new_array(f.shape(f.columns), mx::bfloat16);
    std::vector<float> row((size_t)f.columns);
    f.each_row([&](const vug_weight &, const vug_matrix &m, int r, size_t at) {
        vug_matrix_decode(&m, r, row.data());
        vug_codec_of(VUG_DTYPE_BF16)
                ->encode(row.data(), to.data<uint8_t>() + at * row.size() * 2, row.size());
    });
    return { .data = to };
}

/* ---- loading ------------------------------------------------------------------------------- */

static vug_status check_weight(const vug_weight *w, const vug_weight *first, vug_err *err)
{
    const vug_dtype_info *info = vug_dtype_of(w->dtype);
    if (layout_of(w) == layout::UNSUPPORTED)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "mlx: tensor '%s' is %s, which is not supported",
                        w->name, info->name);
    if (w->columns % info->elements != 0 || w->columns > INT_MAX / 8 || w->rows > INT_MAX)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "mlx: tensor '%s' is [%lld,%lld], %s needs rows of a multiple of %d",
                        w->name, (long long)w->rows, (long long)w->columns, info->name,
                        info->elements);
    if (w->dtype != first->dtype || w->scales.dtype != first->scales.dtype ||
        w->scales.columns != first->scales.columns)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "mlx: tensors '%s' and '%s', weights of experts, differ in format",
                        first->name, w->name);
    return VUG_OK;
}

static vug_mlx_matrix load(const matrix_filler &f, bool gpu)
{
    switch (layout_of(f.weight)) {
    case layout::FLOATS:
        return load_floats(f, gpu);
    case layout::AFFINE:
        return load_affine(f);
    case layout::FP4:
        return load_fp4(f);
    case layout::REPACKED:
        return repack(f);
    default:
        return decode(f);
    }
}

static uint64_t bytes_of(const std::optional<mx::array> &x)
{
    return x ? x->nbytes() : 0;
}

/* ---- copies for products -------------------------------------------------------------------- */

enum class copy { NONE, F32_SCALES, F16 };

/* The copy that products in this precision need of a matrix, one for each expert if it is stacked.
 * MLX multiplies with experts in F16 only on a GPU. */
static copy copy_for(const vug_mlx_weights *w, const vug_weight *weight, bool stacked,
                     vug_mlx_precision precision)
{
    const layout l = layout_of(weight);
    const bool halves =
            l == layout::DECODED || (l == layout::FLOATS && weight->dtype != VUG_DTYPE_F32);
    if (halves && precision.f16 && (!stacked || w->device->gpu))
        return copy::F16;
    if (l == layout::AFFINE && !precision.scales && weight->scales.dtype != VUG_DTYPE_F32)
        return copy::F32_SCALES;
    return copy::NONE;
}

/* Bytes of the copies that products in this precision need of a node's matrix, or of all its
 * experts' together. */
static uint64_t copied_bytes(const vug_mlx_weights *w, const vug_node *param,
                             vug_mlx_precision precision)
{
    const size_t slot = (size_t)param->at.param.slot, n = (size_t)vug_param_slots(param);
    uint64_t bytes = 0;
    for (size_t i = slot; i < slot + n; i++) {
        const vug_weight *one = &w->weight[i];
        const uint64_t elements = (uint64_t)one->rows * (uint64_t)one->columns;
        const copy kind = copy_for(w, one, param->shape.rank == 3, precision);
        if (kind == copy::F16)
            bytes += elements * 2;
        if (kind == copy::F32_SCALES)
            bytes += elements / (uint64_t)one->scales.columns * 2 * sizeof(float);
    }
    return bytes;
}

static mx::array as_f32(const mx::array &x)
{
    mx::array f32 = mx::astype(x, mx::float32);
    mx::eval(f32);
    return f32;
}

/* Weights below 2^-14 of the largest may lose bits. */
static void copy_in_f16(vug_mlx_matrix *m)
{
    const int least = m->data.dtype() == mx::float16 ? -15 : -126; /* it has a reciprocal */
    int exponent = 0;
    mx::array most =
            mx::astype(mx::maximum(mx::max(m->data), mx::negative(mx::min(m->data))), mx::float32);
    const float largest = most.item<float>();
    if (std::isfinite(largest))
        (void)std::frexp(largest, &exponent);
    m->f16_scale = std::ldexp(1.0f, exponent > least ? exponent : least);
    const mx::array scaled = m->data * mx::array(1 / m->f16_scale, m->data.dtype());
    m->f16 = mx::astype(scaled, mx::float16);
    mx::eval(*m->f16);
}

/* Makes the copy when a program first needs it. A matrix has one kind of copy at most. */
static void add_copy(vug_mlx_weights *w, const vug_node *param, vug_mlx_precision precision,
                     vug_mlx_matrix *m)
{
    const vug_weight *first = &w->weight[(size_t)param->at.param.slot];
    const copy kind = copy_for(w, first, param->shape.rank == 3, precision);
    if (kind == copy::NONE || m->copied > 0)
        return;
    if (kind == copy::F16) {
        copy_in_f16(m);
    } else {
        m->f32_scales = as_f32(*m->scales);
        m->f32_biases = as_f32(*m->biases);
    }
    m->copied = copied_bytes(w, param, precision);
    w->bytes += m->copied;
}

/* ---- what programs read ---------------------------------------------------------------------- */

vug_status vug_mlx_load_matrix(vug_mlx_weights *w, const vug_node *param,
                               vug_mlx_precision precision, const vug_mlx_matrix **out,
                               vug_err *err)
{
    const int slot = param->at.param.slot, n = (int)vug_param_slots(param);
    const vug_weight *first = &w->weight[(size_t)slot];
    const bool stacked = param->shape.rank == 3;
    auto found = w->matrix.find(slot);
    if (found == w->matrix.end()) {
        for (int i = 0; i < n; i++)
            VUG_TRY(check_weight(first + i, first, err));
        const matrix_filler f = { first, n, (int)first->rows, (int)first->columns, stacked };
        found = w->matrix.emplace(slot, load(f, w->device->gpu)).first;
        const vug_mlx_matrix &m = found->second;
        w->bytes += m.data.nbytes() + bytes_of(m.scales) + bytes_of(m.biases);
        if (layout_of(first) == layout::DECODED)
            w->decoded += m.data.nbytes();
    }
    add_copy(w, param, precision, &found->second);
    *out = &found->second;
    return VUG_OK;
}

vug_status vug_mlx_load_vector(vug_mlx_weights *w, const vug_node *param, mx::array *out,
                               vug_err *err)
{
    const int slot = param->at.param.slot;
    const vug_weight *from = &w->weight[(size_t)slot];
    auto found = w->vector.find(slot);
    if (found == w->vector.end()) {
        VUG_TRY(check_weight(from, from, err));
        const vug_matrix matrix = { from->dtype, from->data, from->columns, from->scales };
        mx::array to = vug_mlx_new_array({ (int)from->columns }, mx::float32);
        vug_matrix_decode(&matrix, 0, to.data<float>());
        found = w->vector.emplace(slot, to).first;
        w->bytes += to.nbytes();
    }
    *out = found->second;
    return VUG_OK;
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* Bytes of a weight's arrays on the device. */
static uint64_t device_bytes(const vug_weight *w)
{
    const auto elements = (uint64_t)w->rows * (uint64_t)w->columns;
    const auto file = (uint64_t)w->rows * (uint64_t)vug_dtype_row(w->dtype, w->columns);
    const repacking *to = find_repacking(w->dtype);
    switch (layout_of(w)) {
    case layout::FLOATS:
        return w->rows == 1 ? elements * sizeof(float) : file;
    case layout::AFFINE:
        return file + elements / (uint64_t)w->scales.columns * 2 *
                              (uint64_t)vug_dtype_of(w->scales.dtype)->bytes;
    case layout::FP4:
        return elements / 2 + elements / BLOCK;
    case layout::REPACKED:
        return elements / BLOCK * ((uint64_t)to->bits * 4 + 2 * sizeof(float));
    default:
        return elements * 2;
    }
}

/* Bytes of all copies once the graph is compiled, too. */
static uint64_t copies_with(const vug_mlx_weights *w, const vug_graph *graph,
                            vug_mlx_precision precision)
{
    std::map<int, uint64_t> copied; /* by slot */
    for (const auto &[slot, matrix] : w->matrix)
        copied[slot] = matrix.copied;
    for (uint32_t i = 1; i < graph->n; i++) {
        const vug_node *node = &graph->node[i];
        const char *kinds = vug_node_operands(node);
        for (int k = 0; kinds[k]; k++) {
            const vug_node *param = vug_graph_at(graph, node->in[k]);
            const uint64_t bytes = kinds[k] == 'm' ? copied_bytes(w, param, precision) : 0;
            if (bytes > 0)
                copied[param->at.param.slot] = bytes;
        }
    }
    return std::accumulate(copied.begin(), copied.end(), (uint64_t)0,
                           [](uint64_t sum, const auto &one) { return sum + one.second; });
}

vug_status vug_mlx_check_budget(const vug_mlx_weights *w, const vug_graph *graph,
                                vug_mlx_precision precision, vug_err *err)
{
    const uint64_t limit = w->device->memory_limit, memory = vug_mlx_device_memory(w->device);
    const bool limited = limit && limit < memory;
    const uint64_t copied = graph ? copies_with(w, graph, precision) : 0;
    uint64_t bytes = copied, decoded = 0;
    for (const vug_weight &weight : w->weight) {
        const uint64_t one = weight.data ? device_bytes(&weight) : 0;
        bytes += one;
        decoded += weight.data && layout_of(&weight) == layout::DECODED ? one : 0;
    }
    if (bytes <= (limited ? limit : memory))
        return VUG_OK;
    return VUG_FAIL(err, VUG_LIMIT,
                    "mlx: the weights need %.1f MB (%.1f MB of them are decoded to BF16, %.1f MB "
                    "are copies in the format of products), the %s is %.1f MB",
                    (double)bytes / 1e6, (double)decoded / 1e6, (double)copied / 1e6,
                    limited ? "memory limit" : "device's memory",
                    (double)(limited ? limit : memory) / 1e6);
}

/* ---- the vtable's functions ----------------------------------------------------------------- */

vug_status vug_mlx_weights_create(vug_device *device, const vug_weight *weight, size_t n,
                                  vug_device_weights **out, vug_err *err)
{
    return vug_mlx_guard("listing the weights", err, [&] {
        auto w = std::make_unique<vug_mlx_weights>();
        w->device = reinterpret_cast<vug_mlx_device *>(device);
        w->weight.assign(weight, weight + n);
        w->bytes = w->decoded = 0;
        const vug_status st = vug_mlx_check_budget(w.get(), nullptr, {}, err);
        if (st == VUG_OK)
            *out = reinterpret_cast<vug_device_weights *>(w.release());
        return st;
    });
}

void vug_mlx_weights_destroy(vug_device_weights *weights)
{
    delete reinterpret_cast<vug_mlx_weights *>(weights);
}

uint64_t vug_mlx_weights_bytes(const vug_device_weights *weights)
{
    return reinterpret_cast<const vug_mlx_weights *>(weights)->bytes;
}

uint64_t vug_mlx_weights_decoded(const vug_device_weights *weights)
{
    return reinterpret_cast<const vug_mlx_weights *>(weights)->decoded;
}
