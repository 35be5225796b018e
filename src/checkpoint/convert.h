#ifndef VUG_CHECKPOINT_CONVERT_H
#define VUG_CHECKPOINT_CONVERT_H

/*
 * Conversion: plans which tensors the new checkpoint has, makes their rows, and writes
 * everything beside the weights. Private to the convert*.c of this folder.
 */

#include "checkpoint/internal.h"
#include "core/pool.h"
#include "quant/quantize.h"

/* ---- formats (convert_types.c) ------------------------------------------------------ */

/* The formats of the new checkpoint's weights; VUG_DTYPE_COUNT: that of the source. */
typedef struct {
    bool gguf; /* the container is GGUF, not safetensors */
    vug_weight_type all, embed, head;
} vug_convert_types;

VUG_MUST_CHECK vug_status vug_convert_types_parse(const vug_convert_options *o, bool gguf,
                                                  vug_convert_types *out, vug_err *err);
/* The format of the weight `row` of an architecture, made from rows of `source`. */
vug_weight_type vug_convert_type_for(const vug_convert_types *choice, const vug_tensor_row *row,
                                     int rank, int64_t columns, const vug_tensor *source);

/* ---- plan (convert_plan.c) ------------------------------------------------------------ */

typedef enum {
    VUG_TARGET_COPY,         /* the bytes of a tensor that is not a weight */
    VUG_TARGET_ROWS,         /* rows of weights */
    VUG_TARGET_SCALES,       /* MLX: the scales of the previous target */
    VUG_TARGET_BIASES,       /* MLX: the biases of the target two before */
    VUG_TARGET_FREQ_FACTORS, /* vug_rope_freq_factors */
} vug_target_kind;

/* Rows of a tensor, from `row` on. */
typedef struct {
    const vug_tensor *tensor;
    int64_t row;
} vug_row_source;

typedef struct {
    vug_target_kind kind;
    vug_row_source *source; /* [n_sources], each with the same number of rows */
    int64_t n_sources;
    int64_t rows, columns;   /* of all sources together */
    vug_weight_type type;    /* the format of the rows; never VUG_DTYPE_COUNT */
    float add;               /* is added to each weight */
    int64_t d_head;          /* rows are paired in heads of this size; 0: rows keep their order */
    bool undo;               /* undo the pairing instead */
    const float *importance; /* [n_importance,columns]; NULL: none */
    int64_t n_importance;    /* 1, or one for each source */
    vug_str source_name;     /* for error messages */
} vug_convert_target;

typedef struct {
    vug_arena arena;
    vug_tensor_spec *spec;      /* [n] for the container's writer */
    vug_convert_target *target; /* [n] */
    size_t n;
} vug_convert_target_list;

typedef struct {
    const vug_checkpoint *checkpoint;
    const vug_convert_types *types;
    const vug_weights *importance; /* NULL: none */
    const vug_convert_options *options;
} vug_convert_request;

VUG_MUST_CHECK vug_status vug_convert_plan_gguf(const vug_convert_request *r,
                                                vug_convert_target_list *out, vug_err *err);
VUG_MUST_CHECK vug_status vug_convert_plan_safetensors(const vug_convert_request *r,
                                                       vug_convert_target_list *out, vug_err *err);

/* ---- rows (convert_rows.c) --------------------------------------------------------------- */

/* Makes the rows of targets on several threads. */
typedef struct {
    const vug_convert_target_list *list;
    const vug_checkpoint *checkpoint;
    vug_pool *pool;
    float *row; /* [threads][widest] */
    int64_t widest;
    uint8_t *scale, *bias; /* of the last MLX target */
    size_t scale_capacity; /* bytes of each */
} vug_convert_row_maker;

VUG_MUST_CHECK vug_status vug_convert_row_maker_init(vug_convert_row_maker *m,
                                                     const vug_convert_target_list *list,
                                                     const vug_checkpoint *checkpoint, int threads,
                                                     vug_err *err);
void vug_convert_row_maker_release(vug_convert_row_maker *m);
/* A vug_fill_fn; `user` is the row maker. */
vug_status vug_convert_make_rows(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                                 vug_err *err);

/* ---- files (convert_files.c) -------------------------------------------------------------- */

/* Adds the metadata of a GGUF file. */
VUG_MUST_CHECK vug_status vug_convert_put_metadata(const char *model, const vug_convert_request *r,
                                                   vug_gguf_builder *to, vug_err *err);
/* Writes everything but the weights to the new folder. */
VUG_MUST_CHECK vug_status vug_convert_write_other_files(const char *model,
                                                        const vug_convert_request *r,
                                                        const vug_convert_target_list *list,
                                                        const char *folder, vug_err *err);

#endif
