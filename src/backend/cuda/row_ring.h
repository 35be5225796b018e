#ifndef VUG_BACKEND_CUDA_ROW_RING_H
#define VUG_BACKEND_CUDA_ROW_RING_H

/*
 * The tiles of a product of a single row (row_linear.cu), and how a warp copies its slices of them ahead,
 * to a ring of stages in shared memory: one lane does with a bulk copy what loads need all lanes for.
 */

#include "backend/cuda/hopper.h"
#include "backend/cuda/row_terms.h"

enum { MAX_STAGES = 3 }; /* of a ring */

/* A tile of 16 outputs of a part. */
struct row_tile {
    const uint8_t *from; /* a row of units; NULL: there is none */
    float *y;            /* its first output */
    int outputs;         /* that exist */
};

static __device__ __forceinline__ row_tile tile_of_part(const vug_cuda_tile_job &job, int part,
                                                        int tile, int row_bytes)
{
    return { job.part[part].tiles + (int64_t)tile * row_bytes, job.part[part].y + tile * TILE,
             (int)job.part[part].out - tile * TILE };
}

/* Tile `tile` of the job; pairs: it multiplies two parts and ends with an activation, and `part` says which. */
static __device__ __forceinline__ row_tile find_tile(const vug_cuda_tile_job &job, bool pairs,
                                                     int part, int tile, int tiles, int row_bytes)
{
    if (tile >= tiles)
        return { NULL, NULL, 0 };
    if (pairs)
        return tile_of_part(job, part, tile, row_bytes);
    const int first = tiles_of(job.part[0].out), second = first + tiles_of(job.part[1].out);
    if (tile < first || job.parts == 1)
        return tile_of_part(job, 0, tile, row_bytes);
    if (tile < second || job.parts == 2)
        return tile_of_part(job, 1, tile - first, row_bytes);
    return tile_of_part(job, 2, tile - second, row_bytes);
}

/* Stages of a ring, of `chunk` units each. */
struct ring_shape {
    int chunk, stages;
};

/* A warp's slice of the tiles of its block, of which copies to its ring begin in this order: tiles, and
 * of each the parts, in chunks. `stage_parts` parts are multiplied together, with the same terms of x, and
 * lie in one stage. */
template <typename W, int stage_parts> struct slice_stream {
    const uint8_t *from[stage_parts]; /* the next chunk */
    bool pairs;                       /* as of find_tile */
    int first, n;                     /* units of the slice */
    int tiles, row_bytes;
    int tile, part, left; /* units that are left of the part; 0: of all */

    __device__ __forceinline__ void begin(const vug_cuda_tile_job &job, int at, int at_part)
    {
        tile = at;
        part = at_part;
        left = tile < tiles ? n : 0;
#pragma unroll
        for (int i = 0; i < stage_parts; i++)
            from[i] =
                    find_tile(job, pairs, part + i, tile, tiles, row_bytes).from + first * W::bytes;
    }

    /* Begins to copy the next chunk, if there is one, which completes on `full`. */
    __device__ __forceinline__ void copy(const vug_cuda_tile_job &job, int chunk, uint32_t to,
                                         uint32_t full)
    {
        if (left == 0)
            return;
        const int units = min(left, chunk), bytes = units * W::bytes;
        if (threadIdx.x % WARP == 0) {
            barrier_expect(full, stage_parts * bytes);
#pragma unroll
            for (int i = 0; i < stage_parts; i++)
                bulk_copy(to + i * chunk * W::bytes, from[i], bytes, full);
        }
#pragma unroll
        for (int i = 0; i < stage_parts; i++)
            from[i] += bytes;
        left -= units;
        if (left > 0)
            return;
        if (pairs && part + stage_parts < 2)
            begin(job, tile, part + stage_parts);
        else
            begin(job, tile + gridDim.x, 0);
    }
};

/* A warp's ring: where its stages are, each with a barrier at which a lane arrives with a copy. keeps: threads
 * have the weights of norms in registers, so that all stages lie before the row and are filled at once.
 * Otherwise the first one does; the others lie where what a norm needs was, and are filled when the row is
 * computed. */
template <typename W, bool keeps, int stage_parts> struct slice_ring {
    ring_shape shape;
    uint32_t early, later;     /* the first stage, and the first of those behind the row */
    uint32_t barrier;          /* the first */
    uint32_t at, full, parity; /* the next stage, its barrier, and the phase that it waits for */

    static __host__ __device__ __forceinline__ int stage_bytes(const ring_shape &shape)
    {
        return stage_parts * shape.chunk * W::bytes;
    }

    static __host__ __device__ __forceinline__ int early_stages(const ring_shape &shape)
    {
        return keeps ? shape.stages : 1;
    }

    __device__ __forceinline__ void begin(void)
    {
        if (threadIdx.x % WARP == 0) {
#pragma unroll 1
            for (int i = 0; i < shape.stages; i++)
                barrier_init(barrier + 8 * i, 1);
            show_stores();
        }
        __syncwarp();
        at = early;
        full = barrier;
        parity = 0;
    }

    __device__ __forceinline__ void copy_early(const vug_cuda_tile_job &job,
                                               slice_stream<W, stage_parts> &from) const
    {
#pragma unroll 1
        for (int i = 0; i < early_stages(shape); i++)
            from.copy(job, shape.chunk, early + i * stage_bytes(shape), barrier + 8 * i);
    }

    __device__ __forceinline__ void copy_later(const vug_cuda_tile_job &job,
                                               slice_stream<W, stage_parts> &from) const
    {
#pragma unroll 1
        for (int i = early_stages(shape); i < shape.stages; i++)
            from.copy(job, shape.chunk, later + (i - early_stages(shape)) * stage_bytes(shape),
                      barrier + 8 * i);
    }

    /* Goes on to the next stage. */
    __device__ __forceinline__ void next(void)
    {
        at = full == barrier + 8 * (early_stages(shape) - 1) ? later : at + stage_bytes(shape);
        full += 8;
        if (full == barrier + 8 * shape.stages) {
            at = early;
            full = barrier;
            parity ^= 1;
        }
    }
};

#endif
