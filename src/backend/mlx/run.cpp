/* Running a step: checks, and the evaluation of its arrays. */
#include "backend/mlx/internal.h"

/* ---- workspace ------------------------------------------------------------------------------- */

/* Holds the outputs of the last step. */
struct vug_mlx_workspace {
    const vug_mlx_program *program;
    std::vector<mx::array> output;
};

vug_status vug_mlx_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    return vug_mlx_guard("creating the buffers of a step", err, [&] {
        auto *ws = new vug_mlx_workspace{
            .program = reinterpret_cast<const vug_mlx_program *>(program), .output = {}
        };
        *out = reinterpret_cast<vug_workspace *>(ws);
        return VUG_OK;
    });
}

void vug_mlx_workspace_destroy(vug_workspace *workspace)
{
    delete reinterpret_cast<vug_mlx_workspace *>(workspace);
}

/* ---- checks ----------------------------------------------------------------------------------- */

/* Pages of another layout would be read out of bounds. */
static vug_status check_kv(const vug_mlx_program *p, const vug_mlx_kv *kv, vug_err *err)
{
    const vug_kv_layout *layout = &p->kv_layout;
    if (layout->n_groups > 0 && !kv)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the cache of the graph");
    for (int g = 0; g < layout->n_groups; g++) {
        if ((size_t)g >= kv->group.size() || kv->format != layout->format ||
            kv->group[(size_t)g].page_bytes != vug_mlx_kv_page_bytes(nullptr, layout, g))
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has a cache of another layout");
    }
    if (kv && kv->broken)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "mlx: the key/value cache is lost: an earlier step failed");
    return VUG_OK;
}

/* ---- the step ---------------------------------------------------------------------------------- */

/* The device computes while the step after this one is prepared. */
static vug_status run_step(vug_mlx_step *s, vug_mlx_workspace *ws, const float **output,
                           vug_err *err)
{
    ws->output.clear();
    if (!vug_mlx_take_next_step(s, &ws->output))
        VUG_TRY(vug_mlx_build_step(s, &ws->output, err));
    std::vector<mx::array> all = ws->output;
    vug_mlx_add_cache_arrays(s->kv, &all);
    mx::async_eval(all);
    vug_mlx_prepare_next_step(s);
    for (mx::array &array : all)
        array.wait();
    for (size_t i = 0; i < ws->output.size(); i++)
        output[i] = ws->output[i].data<float>();
    if (s->in->cancel && vug_cancel_token_is_triggered(s->in->cancel))
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    return VUG_OK;
}

vug_status vug_mlx_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                       const float **output, vug_err *err)
{
    const auto *p = reinterpret_cast<const vug_mlx_program *>(program);
    auto *ws = reinterpret_cast<vug_mlx_workspace *>(workspace);
    auto *kv = reinterpret_cast<vug_mlx_kv *>(in->kv);
    int64_t tokens;
    VUG_TRY(vug_check_step(p->graph, &p->limits, in, &tokens, err));
    VUG_TRY(check_kv(p, kv, err));
    VUG_TRY(vug_check_masks(p->graph, in, err));
    bool finished = false;
    const vug_status st = vug_mlx_guard("a step", err, [&] {
        const vug_mlx_lock lock(p->device);
        vug_mlx_step s = vug_mlx_begin_step(p, in);
        const vug_status result = run_step(&s, ws, output, err);
        finished = true;
        return result;
    });
    /* The arrays of the cache may depend on the failed computation. */
    if (!finished && kv) {
        kv->broken = true;
        kv->next.reset();
    }
    return st;
}
