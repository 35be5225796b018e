/* The weights of a model on the CPU: the mapped bytes, and vectors that are converted to F32 when
 * a program first needs them. All programs share them. */
#include "backend/cpu/program.h"

#include "quant/matrix.h"

/* A weight vector with a bias added. */
struct vug_cpu_vector {
    vug_cpu_vector *next; /* of the same slot, with another bias */
    float bias;
    float *x; /* [columns] */
};

vug_status vug_cpu_weights_create(vug_device *device, const vug_weight *weight, size_t n,
                                  vug_device_weights **out, vug_err *err)
{
    vug_device_weights *w = vug_alloc_zero(1, sizeof(*w));
    if (!w)
        return VUG_FAIL_NOMEM(err, "the device's weights", sizeof(*w));
    w->device = device;
    w->n = n;
    w->weight = vug_arena_alloc(&w->arena, n, sizeof(*w->weight));
    w->vector = vug_arena_alloc(&w->arena, n, sizeof(vug_cpu_vector *));
    vug_status st = VUG_OK;
    if (!w->weight || !w->vector)
        st = VUG_FAIL_NOMEM(err, "the device's weights", n * sizeof(*weight));
    if (st == VUG_OK)
        st = vug_mutex_create(&w->mutex, err);
    if (st != VUG_OK) {
        vug_cpu_weights_destroy(w);
        return st;
    }
    if (n > 0)
        memcpy(w->weight, weight, n * sizeof(*weight));
    *out = w;
    return VUG_OK;
}

void vug_cpu_weights_destroy(vug_device_weights *w)
{
    if (!w)
        return;
    vug_cpu_head_screen_destroy(w->screen);
    vug_mutex_destroy(w->mutex);
    vug_arena_release(&w->arena);
    vug_free(w);
}

uint64_t vug_cpu_weights_bytes(const vug_device_weights *w)
{
    vug_mutex_lock(w->mutex);
    const uint64_t screen = w->screen ? vug_cpu_head_screen_bytes(&w->weight[w->screened]) : 0;
    const uint64_t bytes = w->vector_bytes + screen;
    vug_mutex_unlock(w->mutex);
    return bytes;
}

/* The caller has locked the mutex. NULL: out of memory. */
static const vug_cpu_vector *find_or_add_vector(vug_device_weights *w, int slot, float bias)
{
    for (const vug_cpu_vector *v = w->vector[slot]; v; v = v->next) {
        if (v->bias == bias)
            return v;
    }
    const vug_weight *weight = &w->weight[slot];
    const size_t n = (size_t)weight->columns;
    vug_cpu_vector *v = vug_arena_alloc(&w->arena, 1, sizeof(*v));
    if (!v || !(v->x = vug_arena_alloc(&w->arena, n, sizeof(*v->x))))
        return NULL;
    vug_matrix_decode(&(vug_matrix){ .dtype = weight->dtype,
                                     .data = weight->data,
                                     .columns = weight->columns,
                                     .scales = weight->scales },
                      0, v->x);
    for (size_t i = 0; bias != 0 && i < n; i++)
        v->x[i] += bias;
    v->bias = bias;
    v->next = w->vector[slot];
    w->vector[slot] = v;
    w->vector_bytes += n * sizeof(*v->x);
    return v;
}

vug_status vug_cpu_weights_vector(vug_device_weights *w, int slot, float bias, const float **out,
                                  vug_err *err)
{
    vug_mutex_lock(w->mutex);
    const vug_cpu_vector *v = find_or_add_vector(w, slot, bias);
    vug_mutex_unlock(w->mutex);
    if (!v)
        return VUG_FAIL_NOMEM(err, "a weight vector",
                              (uint64_t)w->weight[slot].columns * sizeof(float));
    *out = v->x;
    return VUG_OK;
}

vug_status vug_cpu_weights_screen(vug_device_weights *w, int slot, vug_cpu_head_screen **out,
                                  vug_err *err)
{
    vug_status st = VUG_OK;
    vug_mutex_lock(w->mutex);
    if (!w->screen) {
        st = vug_cpu_head_screen_create(&w->weight[slot], &w->screen, err);
        w->screened = slot;
    }
    *out = w->screened == slot ? w->screen : NULL;
    vug_mutex_unlock(w->mutex);
    return st;
}
