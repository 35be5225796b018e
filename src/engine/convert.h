#ifndef VUG_ENGINE_CONVERT_H
#define VUG_ENGINE_CONVERT_H

/*
 * Writing a checkpoint again: which tensors the new one has, from which rows of the old
 * one each is made, and in which format. Private to the convert*.c of this folder.
 */

#include "engine/engine.h"
#include "ir/quantize.h"
#include "vug/checkpoint.h"

/* ---- formats (convert_types.c) ------------------------------------------------------ */

/* Which weights become what; of format VUG_DTYPE_COUNT: as it is. */
typedef struct {
    bool gguf; /* the container; or safetensors */
    vug_weight_type all, embed, head;
} vug_type_choice;

VUG_MUST_CHECK vug_status vug_type_choose(const vug_convert_options *o, bool gguf,
                                          vug_type_choice *out, vug_err *err);
/* For the weight `row` of an architecture, made from `source`, of rows of `columns`. */
vug_weight_type vug_type_of(const vug_type_choice *choice, const vug_tensor_row *row, int rank,
                            int64_t columns, const vug_tensor *source);

/* ---- plan (convert_plan.c) ------------------------------------------------------------ */

typedef enum {
    VUG_MAKE_COPY,     /* bytes of a tensor that is no weight */
    VUG_MAKE_ROWS,     /* rows of weights */
    VUG_MAKE_SCALES,   /* the scales of the target before; of MLX */
    VUG_MAKE_BIASES,   /* likewise, two targets before */
    VUG_MAKE_DIVISORS, /* vug_rope_divisors */
} vug_make;

/* Rows of a source, from `row` on. */
typedef struct {
    const vug_tensor *tensor;
    int64_t row;
} vug_source;

typedef struct {
    vug_make make;
    vug_source *source; /* [n_sources], each with as many rows */
    int64_t n_sources;
    int64_t rows, columns;   /* of all of them, as weights */
    vug_weight_type type;    /* that rows become, never "as it is" */
    float add;               /* to each weight */
    int64_t d_head;          /* rows are paired in heads of it; 0: as they are */
    bool undo;               /* they were paired, and shall be no longer */
    const float *importance; /* [n_importance,columns]; NULL: none */
    int64_t n_importance;    /* 1, or one for each source */
    vug_str source_name;     /* for sentences */
} vug_target;

typedef struct {
    vug_arena arena;
    vug_tensor_spec *spec; /* [n] as the container's writer wants them */
    vug_target *target;    /* [n] */
    size_t n;
} vug_target_list;

typedef struct {
    const vug_checkpoint *checkpoint;
    const vug_type_choice *types;
    const vug_weights *importance; /* NULL: none */
    const vug_convert_options *options;
} vug_plan_request;

VUG_MUST_CHECK vug_status vug_plan_gguf(const vug_plan_request *r, vug_target_list *out,
                                        vug_err *err);
VUG_MUST_CHECK vug_status vug_plan_safetensors(const vug_plan_request *r, vug_target_list *out,
                                               vug_err *err);

/* ---- rows (convert_rows.c) --------------------------------------------------------------- */

/* What makes targets' bytes, on several threads. */
typedef struct {
    const vug_target_list *list;
    const vug_checkpoint *checkpoint;
    vug_pool *pool;
    float *row; /* [threads][widest] */
    int64_t widest;
    uint8_t *scale, *bias; /* of the last target of MLX */
    size_t side_bytes;     /* of either */
} vug_row_maker;

VUG_MUST_CHECK vug_status vug_row_maker_init(vug_row_maker *m, const vug_target_list *list,
                                             const vug_checkpoint *checkpoint, int threads,
                                             vug_err *err);
void vug_row_maker_release(vug_row_maker *m);
/* A vug_fill_fn, whose `user` begins with the maker. */
vug_status vug_make_rows(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err);

/* ---- files (convert_files.c) -------------------------------------------------------------- */

/* What stands in GGUF's metadata. */
VUG_MUST_CHECK vug_status vug_put_metadata(const char *model, const vug_plan_request *r,
                                           vug_gguf_builder *to, vug_err *err);
/* Everything beside the weights, into the new folder. */
VUG_MUST_CHECK vug_status vug_write_companions(const char *model, const vug_plan_request *r,
                                               const vug_target_list *list, const char *folder,
                                               vug_err *err);

#endif
