/* Which format a weight is written in. */
#include "engine/convert.h"

#include "core/text.h"

enum { SUPER_BLOCK = 256 };

#define AS_IT_IS ((vug_weight_type){ VUG_DTYPE_COUNT, 0 })

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

static vug_status parse(const char *name, bool gguf, vug_weight_type *out, vug_err *err)
{
    *out = (vug_weight_type){ vug_dtype_find(vug_str_of(name)), 0 };
    if (out->dtype == VUG_DTYPE_F32 || out->dtype == VUG_DTYPE_F16 || out->dtype == VUG_DTYPE_BF16)
        return VUG_OK;
    if (gguf && out->dtype < VUG_DTYPE_COUNT && vug_quantizes(out->dtype))
        return VUG_OK;
    if (!gguf && out->dtype == VUG_DTYPE_MXFP4) {
        *out = (vug_weight_type){ VUG_DTYPE_MLX_FP4, 32 };
        return VUG_OK;
    }
    if (!gguf && parse_mlx(name, out))
        return VUG_OK;
    return VUG_FAIL(err, VUG_ARGUMENT, "type '%s': expected bf16, f16, f32%s", name,
                    gguf ? ", q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, "
                           "iq4_xs or mxfp4 for a GGUF file"
                         : ", mxfp4, or mlx2, mlx3, mlx4, mlx5, mlx6, mlx8 with /32, /64 or /128 "
                           "for a folder");
}

/* Every token reads a row of the embedding, and where the head is tied to it every logit
 * is a product with it: of formats with few bits it keeps more. */
static vug_weight_type beside(vug_weight_type all)
{
    switch (all.dtype) {
    case VUG_DTYPE_Q2_K:
    case VUG_DTYPE_Q3_K:
    case VUG_DTYPE_Q4_K:
    case VUG_DTYPE_Q5_K:
    case VUG_DTYPE_Q4_0:
    case VUG_DTYPE_Q4_1:
    case VUG_DTYPE_IQ4_NL:
    case VUG_DTYPE_IQ4_XS:
        return (vug_weight_type){ VUG_DTYPE_Q6_K, 0 };
    case VUG_DTYPE_Q5_0:
    case VUG_DTYPE_Q5_1:
    case VUG_DTYPE_MXFP4:
        return (vug_weight_type){ VUG_DTYPE_Q8_0, 0 };
    default:
        return all;
    }
}

vug_status vug_type_choose(const vug_convert_options *o, bool gguf, vug_type_choice *out,
                           vug_err *err)
{
    *out = (vug_type_choice){ .gguf = gguf, .all = AS_IT_IS };
    if (o->type)
        VUG_TRY(parse(o->type, gguf, &out->all, err));
    out->embed = out->head = beside(out->all);
    if (o->embed)
        VUG_TRY(parse(o->embed, gguf, &out->embed, err));
    if (o->head)
        VUG_TRY(parse(o->head, gguf, &out->head, err));
    return VUG_OK;
}

/* What rows that are no whole number of super-blocks become. */
static vug_dtype without_super_blocks(vug_dtype dtype)
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

/* As it is, or the format in which nothing is lost. */
static vug_weight_type kept(const vug_type_choice *choice, int rank, const vug_tensor *source)
{
    const vug_dtype_info *info = vug_dtype_of(source->dtype);
    const bool held =
            choice->gguf ? info->gguf != VUG_NO_GGUF : vug_dtype_in_safetensors(source->dtype);
    const bool alone = held && !source->scales.scale;
    /* Vectors are F32 in GGUF files: other programs compute with nothing else. */
    const bool vector = choice->gguf && rank < 2;
    return (vug_weight_type){ alone && !vector ? source->dtype : VUG_DTYPE_F32, 0 };
}

static vug_weight_type wanted(const vug_type_choice *choice, const vug_tensor_row *row)
{
    if (strcmp(row->name, "token_embd") == 0 || strcmp(row->name, "own_embd") == 0)
        return choice->embed;
    return strcmp(row->name, "output") == 0 ? choice->head : choice->all;
}

vug_weight_type vug_type_of(const vug_type_choice *choice, const vug_tensor_row *row, int rank,
                            int64_t columns, const vug_tensor *source)
{
    vug_weight_type type = wanted(choice, row);
    /* Routers choose: an error there is another expert. They are small. */
    const bool router = strcmp(row->name, "router") == 0;
    if (type.dtype == VUG_DTYPE_COUNT || rank < 2)
        return kept(choice, rank, source);
    if (router)
        return choice->gguf ? (vug_weight_type){ VUG_DTYPE_F32, 0 } : kept(choice, rank, source);
    if (columns % SUPER_BLOCK != 0 && vug_dtype_of(type.dtype)->elements == SUPER_BLOCK)
        type.dtype = without_super_blocks(type.dtype);
    const int64_t unit = type.group ? type.group : vug_dtype_of(type.dtype)->elements;
    return columns % unit == 0 ? type : kept(choice, rank, source);
}
