/* Parses the names of weight formats. */
#include "checkpoint/internal.h"
#include "core/number.h"
#include "quant/quantize.h"

enum { FP8_TILE = 128 };

#define GGUF_NAMES "q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs"
#define MLX_NAMES  "mlx2, mlx3, mlx4, mlx5, mlx6, mlx8 with /32, /64 or /128"

static const char *const expected[] = {
    [VUG_TYPES_PLAIN] = "bf16, f16 or f32",
    [VUG_TYPES_GGUF] = "bf16, f16, f32, " GGUF_NAMES " or mxfp4 for a GGUF file",
    [VUG_TYPES_FOLDER] = "bf16, f16, f32, mxfp4, or " MLX_NAMES " for a folder",
    [VUG_TYPES_ALL] = "bf16, f16, f32, " GGUF_NAMES ", mxfp4, mlx_fp4, fp8, or " MLX_NAMES,
};

/* "mlx4" or "mlx4/64". */
static bool parse_mlx(const char *name, vug_weight_type *out)
{
    const char *slash = strchr(name, '/');
    const vug_str format = { name, slash ? (size_t)(slash - name) : strlen(name) };
    int64_t group = 64;
    if (slash && (!vug_parse_i64(slash + 1, &group) || group < 1 || group > INT16_MAX))
        return false;
    *out = (vug_weight_type){ vug_dtype_find(format), (int)group };
    const vug_mlx_format f = { .dtype = out->dtype, .scales = VUG_DTYPE_BF16, .group = out->group };
    return out->dtype != VUG_DTYPE_MLX_FP4 && vug_mlx_format_valid(&f);
}

vug_status vug_weight_type_parse(const char *name, vug_type_set set, vug_weight_type *out,
                                 vug_err *err)
{
    const bool all = set == VUG_TYPES_ALL;
    const vug_dtype fp4 = all ? VUG_DTYPE_MLX_FP4 : VUG_DTYPE_MXFP4;
    vug_dtype dtype = vug_dtype_find(vug_str_of(name));
    if (all && strcmp(name, "fp8") == 0)
        dtype = VUG_DTYPE_E4M3;
    *out = (vug_weight_type){ dtype, 0 };
    if (dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16)
        return VUG_OK;
    if ((all || set == VUG_TYPES_GGUF) && dtype < VUG_DTYPE_COUNT && vug_can_quantize(dtype))
        return VUG_OK;
    if ((all || set == VUG_TYPES_FOLDER) && dtype == fp4) {
        *out = (vug_weight_type){ VUG_DTYPE_MLX_FP4, 32 };
        return VUG_OK;
    }
    if (all && dtype == VUG_DTYPE_E4M3) {
        out->group = FP8_TILE;
        return VUG_OK;
    }
    if ((all || set == VUG_TYPES_FOLDER) && parse_mlx(name, out))
        return VUG_OK;
    return VUG_FAIL(err, VUG_ARGUMENT, "type '%s': expected %s", name, expected[set]);
}

vug_dtype vug_dtype_without_super_blocks(vug_dtype dtype)
{
    switch (dtype) {
    case VUG_DTYPE_Q2_K:
    case VUG_DTYPE_Q3_K:
    case VUG_DTYPE_IQ4_XS:
        return VUG_DTYPE_IQ4_NL;
    case VUG_DTYPE_Q4_K:
        return VUG_DTYPE_Q5_0;
    case VUG_DTYPE_Q5_K:
        return VUG_DTYPE_Q5_1;
    default:
        return VUG_DTYPE_Q8_0;
    }
}
