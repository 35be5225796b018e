#ifndef VUG_BACKEND_MLX_INTERNAL_H
#define VUG_BACKEND_MLX_INTERNAL_H

/*
 * What the files of the MLX backend share. The vtable's objects are these types; vug_device * and
 * so on are only their names outside of this folder.
 *
 * MLX is lazy: building a step's arrays computes nothing, and one evaluation at its end computes
 * all of it. MLX reports failures by exceptions; vug_mlx_guard turns them into a status, so that
 * none crosses into C. An array, and the graph that it is part of, belongs to one thread at a
 * time: every entry that touches arrays holds the device's lock.
 */

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <mlx/mlx.h>

extern "C" {
#include "backend/checks.h"
#include "backend/host_experts.h"
#include "backend/mlx/mlx.h"
#include "backend/mlx/precision.h"
}

namespace mx = mlx::core;

/* ---- device.cpp ------------------------------------------------------------------ */

struct vug_mlx_device {
    std::mutex mutex;
    mx::Stream stream;
    bool gpu;
    uint64_t memory_limit; /* 0: none */
    uint64_t programs;     /* that were compiled */
};

/* Holds the device. MLX's operations run on the default stream of their thread. */
class vug_mlx_lock
{
  public:
    explicit vug_mlx_lock(vug_mlx_device *device) : held(device->mutex)
    {
        mx::set_default_stream(device->stream);
    }

  private:
    std::lock_guard<std::mutex> held;
};

/* Fails with what a caught exception says. */
VUG_MUST_CHECK vug_status vug_mlx_fail(const char *what, const char *why, vug_err *err);

template <typename Body> vug_status vug_mlx_guard(const char *what, vug_err *err, Body body)
{
    try {
        return body();
    } catch (const std::exception &e) {
        return vug_mlx_fail(what, e.what(), err);
    } catch (...) {
        return vug_mlx_fail(what, "an unknown exception", err);
    }
}

/* An array of its own memory, which is not initialized. */
mx::array vug_mlx_new_array(mx::Shape shape, mx::Dtype dtype);

/* ---- device_weights.cpp ---------------------------------------------------------- */

/* A matrix [rows,columns], or one for each expert [N,rows,columns]. */
struct vug_mlx_matrix {
    mx::array data; /* floats, or integers of `bits` bits packed into U32 */
    std::optional<mx::array> scales, biases; /* as loaded: one for `group` columns of a row */
    std::optional<mx::array> f32_scales, f32_biases; /* copies for products in F32 */
    int bits = 0;                                    /* 0: floats */
    int group = 0;
    const char *mode = "affine"; /* in MLX's terms */
    /* Floats of 16 bits for products in F16: none is greater than 1, times `f16_scale`, a power of
     * two. */
    std::optional<mx::array> f16;
    float f16_scale = 1;
    uint64_t copied = 0; /* bytes of the arrays that were made for products: F32 scales, F16 */
};

/* Arrays are made when the first program that reads them is compiled, by the first slot of their
 * PARAM node. */
struct vug_mlx_weights {
    vug_mlx_device *device;
    std::vector<vug_weight> weight; /* as they were given */
    std::map<int, vug_mlx_matrix> matrix;
    std::map<int, mx::array> vector; /* in F32 */
    uint64_t bytes, decoded;         /* decoded: of those in BF16 that are in another format */
};

/* The device's memory: what its GPU works on without slowing down, or the machine's (device.cpp). */
uint64_t vug_mlx_device_memory(const vug_mlx_device *device);

/* Fails if the weights, and the copies that products of the graph in this precision read, do not
 * fit into the device's memory or its limit; loads nothing. A graph of NULL needs no copies. */
VUG_MUST_CHECK vug_status vug_mlx_check_budget(const vug_mlx_weights *w, const vug_graph *graph,
                                               vug_mlx_precision precision, vug_err *err);
/* Both fail for formats that cannot be decoded. The results live as long as the weights. The matrix
 * has the arrays that products in this precision need. */
VUG_MUST_CHECK vug_status vug_mlx_load_matrix(vug_mlx_weights *w, const vug_node *param,
                                              vug_mlx_precision precision,
                                              const vug_mlx_matrix **out, vug_err *err);
VUG_MUST_CHECK vug_status vug_mlx_load_vector(vug_mlx_weights *w, const vug_node *param,
                                              mx::array *out, vug_err *err);
extern "C" {
VUG_MUST_CHECK vug_status vug_mlx_weights_create(vug_device *device, const vug_weight *weight,
                                                 size_t n, vug_device_weights **out, vug_err *err);
void vug_mlx_weights_destroy(vug_device_weights *weights);
uint64_t vug_mlx_weights_bytes(const vug_device_weights *weights);
uint64_t vug_mlx_weights_decoded(const vug_device_weights *weights);
}

/* ---- kv_memory.cpp --------------------------------------------------------------- */

/* Keys or values of a layer, or the scales of either: [K, VUG_KV_PAGE * capacity, width]. Page i
 * holds the positions from VUG_KV_PAGE * (i - 1) on, so that pages in a row are one slice. */
struct vug_mlx_cache_part {
    std::optional<mx::array> array; /* none while the group has no page */
    mx::Dtype dtype;
    int width;
};

enum { VUG_MLX_KEYS, VUG_MLX_VALUES, VUG_MLX_KEY_SCALES, VUG_MLX_VALUE_SCALES };

struct vug_mlx_kv_group {
    std::vector<vug_mlx_cache_part> part; /* [layers of the group][parts], keys first */
    int parts;                            /* of a layer: 2, with scales 4 */
    int heads, width;                     /* K, E */
    uint32_t pages, capacity, committed;
    uint64_t page_bytes;
};

/* The step that is expected next (next_step.cpp). */
struct vug_mlx_next_step {
    uint64_t program;                 /* its number */
    std::vector<vug_span> span;       /* their tables are not valid any more */
    std::vector<int32_t> row;         /* [R] */
    std::vector<vug_page> page;       /* that the spans see or fill */
    mx::array token;                  /* [T] to be filled in */
    std::vector<mx::array> output;    /* of the graph */
    std::vector<std::uintptr_t> read; /* the ids of the cache's arrays that it was made over */
    std::vector<mx::array> cache;     /* the arrays that it leaves */
};

struct vug_mlx_kv {
    vug_mlx_device *device;
    vug_kv_format format;
    std::vector<vug_mlx_kv_group> group;
    std::optional<vug_mlx_next_step> next;
    bool broken; /* a step failed while it wrote */
};

/* Appends all arrays of a cache, which may be NULL. */
void vug_mlx_add_cache_arrays(const vug_mlx_kv *kv, std::vector<mx::array> *to);

/* The bytes of a page, and where a layer's parts lie in it, follow from the layout alone. */
extern "C" {
uint64_t vug_mlx_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group);
VUG_MUST_CHECK vug_status vug_mlx_kv_create(vug_device *device, const vug_kv_layout *layout,
                                            const uint32_t *pages, vug_kv **out, vug_err *err);
void vug_mlx_kv_destroy(vug_kv *kv);
VUG_MUST_CHECK vug_status vug_mlx_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err);
void vug_mlx_kv_discard(vug_kv *kv, int group, vug_page page);
void vug_mlx_kv_copy(vug_kv *kv, int group, vug_page to, vug_page from);
void vug_mlx_kv_read(const vug_kv *kv, int group, vug_page page, uint8_t *bytes);
void vug_mlx_kv_write(vug_kv *kv, int group, vug_page page, const uint8_t *bytes);
}

/* ---- program.cpp ----------------------------------------------------------------- */

struct vug_mlx_program {
    vug_mlx_device *device;
    uint64_t number; /* no other program of the device has it */
    vug_mlx_weights *weights;
    const vug_graph *graph; /* borrowed, as the plan */
    const vug_plan *plan;
    vug_limits limits;
    vug_mlx_precision precision;
    int64_t token_dim;
    vug_kv_layout kv_layout;
    std::vector<const vug_mlx_matrix *> matrix;   /* [nodes], of PARAM nodes */
    std::vector<std::optional<mx::array>> vector; /* [nodes], of nodes that read a vector; the bias
                                                     of a norm is added to it */
    std::vector<uint32_t> last;                   /* [nodes] the last node that reads a value */
    std::vector<bool> in_f16;                     /* [nodes] whether a product in F16 reads it */
    vug_program_sizes sizes;
};

extern "C" {
VUG_MUST_CHECK vug_status vug_mlx_compile(vug_device_weights *weights, const vug_graph *graph,
                                          const vug_plan *plan, const vug_limits *limits,
                                          vug_program **out, vug_err *err);
void vug_mlx_release(vug_program *program);
const char *vug_mlx_note(const vug_program *program);
}

/* ---- the step -------------------------------------------------------------------- */

/* Rows x [..,n] for products in F16: x = rows * scale. The scale [..,1] of a row, in F32, is such
 * that no sum of n products with weights of at most 1 overflows. */
struct vug_mlx_f16_rows {
    mx::array rows, scale;
};

struct vug_mlx_step {
    const vug_mlx_program *program;
    const vug_step_in *in;
    vug_mlx_kv *kv;
    int64_t tokens;
    mx::array token;                                  /* [T] */
    std::vector<std::optional<mx::array>> value;      /* [nodes]; none before and after their use */
    std::vector<std::optional<vug_mlx_f16_rows>> f16; /* [nodes] the same, of those in F16 */
    std::vector<int32_t> position;                    /* [T] */
};

inline const mx::array &vug_mlx_value(const vug_mlx_step *s, vug_val v)
{
    return *s->value[v.id];
}

/* The shape of a value in this step. */
mx::Shape vug_mlx_shape_of(const vug_mlx_step *s, const vug_shape *shape);
/* The value of a node: all but attention (operations.cpp), attention (attention.cpp), which also writes
 * the step's keys and values into the cache. */
mx::array vug_mlx_compute(const vug_mlx_step *s, uint32_t id);
mx::array vug_mlx_attention(const vug_mlx_step *s, uint32_t id);

/* ---- chains.cpp ------------------------------------------------------------------- */

/* `activation`: VUG_OP_SILU, or else GELU. */
mx::array vug_mlx_activate(const vug_mlx_device *device, vug_op activation, const mx::array &x);
/* The activation of the gate, times up. */
mx::array vug_mlx_activate_gate(const vug_mlx_device *device, vug_op activation,
                                const mx::array &gate, const mx::array &up);
mx::array vug_mlx_softcap(const vug_mlx_device *device, const mx::array &x, float cap);
/* The pairs (a, b), rotated: two arrays. */
std::vector<mx::array> vug_mlx_rotate(const vug_mlx_device *device, const mx::array &a,
                                      const mx::array &b, const mx::array &cosine,
                                      const mx::array &sine);
vug_mlx_f16_rows vug_mlx_round_rows(const vug_mlx_device *device, const mx::array &x);
/* A product y in F16 of such rows and a matrix, times the scales of both. */
mx::array vug_mlx_widen_product(const vug_mlx_device *device, const mx::array &y,
                                const mx::array &row_scale, float matrix_scale);

/* ---- build_step.cpp --------------------------------------------------------------- */

/* A step of so many tokens is computed while it is built, and can be cancelled there. */
enum { VUG_MLX_TOKENS_TO_WAIT = 64 };

/* The step of checked inputs, before any array but that of the tokens is made. */
vug_mlx_step vug_mlx_begin_step(const vug_mlx_program *program, const vug_step_in *in);
/* The arrays of the graph's outputs. Those of the cache are replaced by the ones that the step
 * leaves. */
VUG_MUST_CHECK vug_status vug_mlx_build_step(vug_mlx_step *s, std::vector<mx::array> *output,
                                             vug_err *err);

/* ---- next_step.cpp ---------------------------------------------------------------- */

/* Prepares the step that is expected after `s`, if there is one. */
void vug_mlx_prepare_next_step(const vug_mlx_step *s);
/* Gives the outputs of `s`, and its cache the arrays that it leaves, if it is the step that was
 * prepared. Drops what was prepared, otherwise. */
bool vug_mlx_take_next_step(const vug_mlx_step *s, std::vector<mx::array> *output);

/* ---- run.cpp ---------------------------------------------------------------------- */

extern "C" {
VUG_MUST_CHECK vug_status vug_mlx_workspace_create(const vug_program *program, vug_workspace **out,
                                                   vug_err *err);
void vug_mlx_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_mlx_run(const vug_program *program, vug_workspace *workspace,
                                      const vug_step_in *in, const float **output, vug_err *err);
}

#endif
