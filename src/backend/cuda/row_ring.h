#ifndef VUG_BACKEND_CUDA_ROW_RING_H
#define VUG_BACKEND_CUDA_ROW_RING_H

/*
 * The tiles of a product of a single row (row_linear.cu), and how a warp copies its slices of them ahead,
 * to a ring of stages in shared memory: one lane does with a bulk copy what loads need all lanes for.
 */

#include "backend/cuda/hopper.h"
#include "backend/cuda/row_terms.h"

enum { MAX_STAGES = 3 }; /* of a ring */

/* What a block multiplies: the row of the job; that of choice blockIdx.y, with the expert that is chosen; or
 * those of group blockIdx.y, which have one expert. Which expert that is, is known when the kernel before has
 * ended. */
enum row_source { ONE_ROW, ROW_OF_CHOICE, ROW_GROUP };

/* The rows of a block. The product of integers has 8 columns, two for each row, so that up to four rows cost
 * what one does. */
template <row_source source>
static constexpr int rows_of = source == ROW_GROUP ? VUG_CUDA_SMALL_GROUP : 1;

/* The choice of row `r` of the block; negative: there is none. */
template <row_source source>
static __device__ __forceinline__ int choice_of_row(const vug_cuda_tile_job &job, int r)
{
    if constexpr (source == ROW_GROUP)
        return job.chosen.choice[blockIdx.y * VUG_CUDA_SMALL_GROUP + r];
    return blockIdx.y;
}

/* The expert of the block; negative: the group is empty. */
template <row_source source>
static __device__ __forceinline__ int expert_of_block(const vug_cuda_tile_job &job)
{
    if constexpr (source == ROW_GROUP)
        return job.chosen.expert[blockIdx.y];
    const int choice = blockIdx.y, k = job.chosen.k;
    return named_expert(job.chosen.route[choice / k * k + choice], job.chosen.experts);
}

/* A tile of 16 outputs of a part. */
struct row_tile {
    const uint8_t *from; /* a row of units; NULL: there is none */
    float *y;            /* its first output */
    int outputs;         /* that exist */
};

/* The tiles of a job, or of the block's expert. */
template <row_source source> struct job_tiles {
    bool pairs;               /* it multiplies two parts and ends with an activation */
    int count, row_bytes;     /* of a part or, without pairs, of all; of a tile */
    const uint8_t *expert[2]; /* where those of each of the expert's parts begin */
    float *y;                 /* of the expert, the outputs of the row that the warp finishes */
    int outputs;              /* of it; 0: there is no such row */

    __device__ __forceinline__ void begin(const vug_cuda_tile_job &job, bool is_pairs,
                                          int tile_bytes)
    {
        pairs = is_pairs, count = tiles_of_job(job), row_bytes = tile_bytes;
        if constexpr (source != ONE_ROW) {
            const int named = expert_of_block<source>(job), row = threadIdx.x / WARP;
            const int choice = row < rows_of<source> ? choice_of_row<source>(job, row) : -1;
            y = job.part[0].y + max(choice, 0) * job.part[0].out;
            outputs = choice >= 0 ? (int)job.part[0].out : 0;
            count = named >= 0 ? count : 0;
            expert[0] = named >= 0 ? expert_tiles(job.chosen.data[0], named) : NULL;
            expert[1] = pairs && named >= 0 ? expert_tiles(job.chosen.data[1], named) : NULL;
        }
    }

    __device__ __forceinline__ row_tile of_part(const vug_cuda_tile_job &job, int part,
                                                int tile) const
    {
        if constexpr (source != ONE_ROW) {
            /* From two registers: an index would put them into memory. */
            const uint8_t *const from = part == 0 ? expert[0] : expert[1];
            return { from + (int64_t)tile * row_bytes, y + tile * TILE, outputs - tile * TILE };
        }
        return { job.part[part].tiles + (int64_t)tile * row_bytes, job.part[part].y + tile * TILE,
                 (int)job.part[part].out - tile * TILE };
    }

    /* Tile `tile`; with pairs `part` says of which of the two. */
    __device__ __forceinline__ row_tile find(const vug_cuda_tile_job &job, int part, int tile) const
    {
        if (tile >= count)
            return { NULL, NULL, 0 };
        if (pairs || source != ONE_ROW)
            return of_part(job, part, tile);
        const int first = tiles_of(job.part[0].out), second = first + tiles_of(job.part[1].out);
        if (tile < first || job.parts == 1)
            return of_part(job, 0, tile);
        if (tile < second || job.parts == 2)
            return of_part(job, 1, tile - first);
        return of_part(job, 2, tile - second);
    }
};

/* Stages of a ring, of `chunk` units each. */
struct ring_shape {
    int chunk, stages;
};

/* A warp's slice of the tiles of its block, of which copies to its ring begin in this order: tiles, and
 * of each the parts, in chunks. `stage_parts` parts are multiplied together, with the same terms of x, and
 * lie in one stage. */
template <typename W, int stage_parts, row_source source> struct slice_stream {
    job_tiles<source> tiles;
    const uint8_t *from[stage_parts]; /* the next chunk */
    int first, n;                     /* units of the slice */
    int tile, part, left;             /* units that are left of the part; 0: of all */

    __device__ __forceinline__ void begin(const vug_cuda_tile_job &job, int at, int at_part)
    {
        tile = at;
        part = at_part;
        left = tile < tiles.count ? n : 0;
#pragma unroll
        for (int i = 0; i < stage_parts; i++)
            from[i] = tiles.find(job, part + i, tile).from + first * W::bytes;
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
        if (tiles.pairs && part + stage_parts < 2)
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

    template <row_source source>
    __device__ __forceinline__ void copy_early(const vug_cuda_tile_job &job,
                                               slice_stream<W, stage_parts, source> &from) const
    {
#pragma unroll 1
        for (int i = 0; i < early_stages(shape); i++)
            from.copy(job, shape.chunk, early + i * stage_bytes(shape), barrier + 8 * i);
    }

    template <row_source source>
    __device__ __forceinline__ void copy_later(const vug_cuda_tile_job &job,
                                               slice_stream<W, stage_parts, source> &from) const
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
