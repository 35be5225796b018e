/* Chooses the format of each weight. */
#include "checkpoint/convert.h"

enum { SUPER_BLOCK = 256 };

#define UNCHANGED ((vug_weight_type){ VUG_DTYPE_COUNT, 0 })

/* The default for the embedding and the head. Every token reads the embedding, and a tied head
 * computes every logit with it, so it gets more bits than other weights. */
static vug_weight_type default_embedding_type(vug_weight_type all)
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

vug_status vug_convert_types_parse(const vug_convert_options *o, bool gguf, vug_convert_types *out,
                                   vug_err *err)
{
    const vug_type_set set = gguf ? VUG_TYPES_GGUF : VUG_TYPES_FOLDER;
    *out = (vug_convert_types){ .gguf = gguf, .all = UNCHANGED };
    if (o->type)
        VUG_TRY(vug_weight_type_parse(o->type, set, &out->all, err));
    out->embed = out->head = default_embedding_type(out->all);
    if (o->embed)
        VUG_TRY(vug_weight_type_parse(o->embed, set, &out->embed, err));
    if (o->head)
        VUG_TRY(vug_weight_type_parse(o->head, set, &out->head, err));
    return VUG_OK;
}

/* The source's format, or F32 if the container does not have that. */
static vug_weight_type lossless_type(const vug_convert_types *choice, int rank,
                                     const vug_tensor *source)
{
    const vug_dtype_info *info = vug_dtype_of(source->dtype);
    const bool held =
            choice->gguf ? info->gguf != VUG_NO_GGUF : vug_dtype_in_safetensors(source->dtype);
    const bool alone = held && !source->scales.scale;
    /* Vectors are F32 in GGUF files: other programs support nothing else. */
    const bool vector = choice->gguf && rank < 2;
    return (vug_weight_type){ alone && !vector ? source->dtype : VUG_DTYPE_F32, 0 };
}

static vug_weight_type requested_type(const vug_convert_types *choice, const vug_tensor_row *row)
{
    if (strcmp(row->name, "token_embd") == 0 || strcmp(row->name, "per_layer_embd") == 0)
        return choice->embed;
    return strcmp(row->name, "output") == 0 ? choice->head : choice->all;
}

vug_weight_type vug_convert_type_for(const vug_convert_types *choice, const vug_tensor_row *row,
                                     int rank, int64_t columns, const vug_tensor *source)
{
    vug_weight_type type = requested_type(choice, row);
    /* Routers keep their precision: an error would choose another expert. They are small. */
    const bool router = strcmp(row->name, "router") == 0;
    if (type.dtype == VUG_DTYPE_COUNT || rank < 2)
        return lossless_type(choice, rank, source);
    if (router)
        return choice->gguf ? (vug_weight_type){ VUG_DTYPE_F32, 0 }
                            : lossless_type(choice, rank, source);
    if (columns % SUPER_BLOCK != 0 && vug_dtype_of(type.dtype)->elements == SUPER_BLOCK)
        type.dtype = vug_dtype_without_super_blocks(type.dtype);
    const int64_t unit = type.group ? type.group : vug_dtype_of(type.dtype)->elements;
    return columns % unit == 0 ? type : lossless_type(choice, rank, source);
}
