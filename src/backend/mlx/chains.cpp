/*
 * Chains of element-wise operations. On a GPU each chain is compiled into one kernel. MLX's CPU
 * device would compile chains with the machine's C++ compiler at run time; there they are
 * computed operation by operation.
 *
 * A chain is a function without state: MLX keeps what it has compiled by the function's address.
 */
#include "backend/mlx/internal.h"

using arrays = std::vector<mx::array>;

static arrays compute_chain(const vug_mlx_device *device, arrays (*chain)(const arrays &),
                            const arrays &in)
{
    constexpr bool SHAPELESS = true; /* compiled once for steps of any number of tokens */
    return device->gpu ? mx::compile(chain, SHAPELESS)(in) : chain(in);
}

/* ---- activations -------------------------------------------------------------------------- */

static mx::array gelu(const mx::array &x)
{
    /* The tanh form: 0.5 x (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3). */
    const mx::array u = x * (x * x * mx::array(0.0713548162726f) + mx::array(1.5957691216057f));
    return x * mx::sigmoid(u);
}

static arrays gelu_chain(const arrays &in)
{
    return { gelu(in[0]) };
}

static arrays geglu_chain(const arrays &in)
{
    return { gelu(in[0]) * in[1] };
}

static arrays silu_chain(const arrays &in)
{
    return { in[0] * mx::sigmoid(in[0]) };
}

static arrays swiglu_chain(const arrays &in)
{
    return { in[0] * mx::sigmoid(in[0]) * in[1] };
}

mx::array vug_mlx_activate(const vug_mlx_device *device, vug_op activation, const mx::array &x)
{
    return compute_chain(device, activation == VUG_OP_SILU ? silu_chain : gelu_chain, { x })[0];
}

mx::array vug_mlx_activate_gate(const vug_mlx_device *device, vug_op activation,
                                const mx::array &gate, const mx::array &up)
{
    const auto chain = activation == VUG_OP_SILU ? swiglu_chain : geglu_chain;
    return compute_chain(device, chain, { gate, up })[0];
}

static arrays softcap_chain(const arrays &in)
{
    return { mx::tanh(in[0] / in[1]) * in[1] };
}

mx::array vug_mlx_softcap(const vug_mlx_device *device, const mx::array &x, float cap)
{
    return compute_chain(device, softcap_chain, { x, mx::array(cap) })[0];
}

/* ---- rotation ----------------------------------------------------------------------------- */

/* Pairs (a, b), cosines and sines. */
static arrays rotate_chain(const arrays &in)
{
    const mx::array &a = in[0], &b = in[1], &cosine = in[2], &sine = in[3];
    return { a * cosine - b * sine, b * cosine + a * sine };
}

arrays vug_mlx_rotate(const vug_mlx_device *device, const mx::array &a, const mx::array &b,
                      const mx::array &cosine, const mx::array &sine)
{
    return compute_chain(device, rotate_chain, { a, b, cosine, sine });
}

/* ---- rows in F16 -------------------------------------------------------------------------- */

/* Rows x, the greatest magnitude of each, and the length of a row as a share of the greatest sum. */
static arrays round_chain(const arrays &in)
{
    const mx::array scale = mx::maximum(in[1], mx::array(1e-30f)) * in[2];
    return { mx::astype(in[0] / scale, mx::float16), scale };
}

vug_mlx_f16_rows vug_mlx_round_rows(const vug_mlx_device *device, const mx::array &x)
{
    constexpr float MOST = 32768; /* half of the greatest number in F16, because sums are rounded */
    const mx::array most = mx::max(mx::abs(x), -1, true);
    const arrays out =
            compute_chain(device, round_chain, { x, most, mx::array((float)x.shape(-1) / MOST) });
    return { out[0], out[1] };
}

static arrays widen_chain(const arrays &in)
{
    return { mx::astype(in[0], mx::float32) * (in[1] * in[2]) };
}

mx::array vug_mlx_widen_product(const vug_mlx_device *device, const mx::array &y,
                                const mx::array &row_scale, float matrix_scale)
{
    return compute_chain(device, widen_chain, { y, row_scale, mx::array(matrix_scale) })[0];
}
