#ifndef VUG_BACKEND_CPU_Q8_PANELS_H
#define VUG_BACKEND_CPU_Q8_PANELS_H

/*
 * Products of quantized weights with many rows of x: 16 rows of weights, a panel, are unpacked and
 * multiplied with tiles of 16 rows of x. The blocks of a row are in lane order (vug_cpu_lane_start),
 * where block b belongs to lane b mod 8.
 */

#include "backend/cpu/kernels.h"

enum { VUG_CPU_MIN_Q8_PANEL_ROWS = 17 }; /* see q8_panel_rows */

/* A block of 16 rows of x. Rows that do not exist are 0. */
typedef struct {
    int8_t q[VUG_CPU_PANEL][VUG_CPU_Q8_BLOCK];
    float scale[VUG_CPU_PANEL];
    int16_t sum[VUG_CPU_PANEL][2]; /* of each half of q */
} vug_cpu_q8_tile;

/* A block of 16 rows of weights. Fields that the format does not need are not set. */
typedef struct {
    /* Each kernel set says which of the two orders it uses, and whether integers are signed. */
    union {
        uint8_t q[VUG_CPU_Q8_BLOCK / 4][VUG_CPU_PANEL][4]; /* elements 4 i .. 4 i + 3 of a row */
        int8_t eights[VUG_CPU_Q8_BLOCK / 8][VUG_CPU_PANEL][8]; /* elements 8 i .. 8 i + 7 */
    };
    float scale[VUG_CPU_PANEL], offset[VUG_CPU_PANEL];
    float factor[2][VUG_CPU_PANEL];
    int16_t minimum[VUG_CPU_PANEL][2]; /* of each half */
} vug_cpu_q8_panel_block;

/* What a block of weights has besides its scale. */
typedef struct {
    bool offset;
    bool factors; /* the halves are multiplied apart; if there is an offset, it is multiplied by a
                     number of each half */
} vug_cpu_q8_block_terms;

/* Calls `call`(terms, ...) with a constant in place of `t`. */
#define WITH_CONSTANT_TERMS(t, call, ...)                                                   \
    do {                                                                                    \
        if ((t).offset && (t).factors)                                                      \
            call((vug_cpu_q8_block_terms){ .offset = true, .factors = true }, __VA_ARGS__); \
        else if ((t).offset)                                                                \
            call((vug_cpu_q8_block_terms){ .offset = true }, __VA_ARGS__);                  \
        else if ((t).factors)                                                               \
            call((vug_cpu_q8_block_terms){ .factors = true }, __VA_ARGS__);                 \
        else                                                                                \
            call((vug_cpu_q8_block_terms){ .offset = false }, __VA_ARGS__);                 \
    } while (0)

/* y [16 tiles,16 panels] = x times neighbouring panels, at most q8_panels of the kernel set. Rows of y
 * from `rows` on can have any value. */
typedef struct {
    const vug_cpu_q8_tile *x;        /* [lane][tiles][blocks of the lane] */
    int64_t rows, tiles;             /* tiles of 16 rows, of which the last may have fewer */
    int64_t blocks;                  /* of a row */
    const vug_cpu_q8_panel_block *w; /* [panels][blocks] */
    int panels;
    float *y;
} vug_cpu_q8_panel_job;

/* The kernels of one quantized format of weights. */
struct vug_cpu_q8_panel_format {
    /* panel [columns/32] = rows row .. row + rows - 1 of w, 1 <= rows <= 16; other rows of the panel
     * can have any value. */
    void (*pack)(const vug_matrix *w, int64_t row, int rows, vug_cpu_q8_panel_block *panel);
    void (*multiply)(const vug_cpu_q8_panel_job *job);
};

#endif
