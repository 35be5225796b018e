/* Which format a weight is written in. */
#include "engine/convert.h"

enum { SUPER_BLOCK = 256 };

#define AS_IT_IS ((vug_weight_type){ VUG_DTYPE_COUNT, 0 })

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
    const vug_type_set set = gguf ? VUG_TYPES_GGUF : VUG_TYPES_FOLDER;
    *out = (vug_type_choice){ .gguf = gguf, .all = AS_IT_IS };
    if (o->type)
        VUG_TRY(vug_weight_type_parse(o->type, set, &out->all, err));
    out->embed = out->head = beside(out->all);
    if (o->embed)
        VUG_TRY(vug_weight_type_parse(o->embed, set, &out->embed, err));
    if (o->head)
        VUG_TRY(vug_weight_type_parse(o->head, set, &out->head, err));
    return VUG_OK;
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
        type.dtype = vug_without_super_blocks(type.dtype);
    const int64_t unit = type.group ? type.group : vug_dtype_of(type.dtype)->elements;
    return columns % unit == 0 ? type : kept(choice, rank, source);
}
