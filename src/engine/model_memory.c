/* The memory of a model: what may be used, whether the plan fits, and what is left for pages. */
#include "engine/internal.h"

#include "core/os.h"
#include "engine/layer_split.h"

uint64_t vug_model_device_weights(const vug_model *m)
{
    return m->is_split ? vug_layer_split_share(m->main.compiled.program, 1).weights
                       : m->backend->weights_bytes(m->weights);
}

uint64_t vug_model_device_session(const vug_model *m)
{
    const vug_kv_layout *layout = m->backend->kv_layout(m->main.compiled.program);
    return vug_kv_sequence_bytes_on(m->backend, m->device, layout, &m->limits, m->is_split);
}

uint64_t vug_model_memory_limit(const vug_model *m, const vug_model_options *o)
{
    const uint64_t budget = m->profile.budget;
    return budget && (!o->memory_limit || budget < o->memory_limit) ? budget : o->memory_limit;
}

static vug_status check_limit(const vug_model *m, const vug_model_options *o, vug_err *err)
{
    const vug_memory_plan *plan = &m->info.memory;
    const uint64_t limit = vug_model_memory_limit(m, o);
    /* Several sessions take turns with the memory of one, if they must. */
    const uint64_t least = plan->total - plan->cache + plan->session_cache;
    const uint64_t weights = plan->weights_mapped + plan->weights_copied;
    const uint64_t others = least - weights - plan->session_cache - plan->buffers;
    if (!limit || least <= limit)
        return VUG_OK;
    return VUG_FAIL(
            err, VUG_LIMIT,
            "%s: needs %.1f MB (weights %.1f, the cache of %lld tokens %.1f, buffers %.1f, others "
            "%.1f), the %s is %.1f MB; a smaller context needs less",
            m->path, (double)least / 1e6, (double)weights / 1e6, (long long)m->info.context,
            (double)plan->session_cache / 1e6, (double)plan->buffers / 1e6, (double)others / 1e6,
            limit != o->memory_limit ? "profile's budget" : "memory limit", (double)limit / 1e6);
}

/* Weights and buffers have their place on the device already; the keys and values of a session must
 * have one, too, before anything is read. */
static vug_status check_device_memory(const vug_model *m, vug_err *err)
{
    const vug_memory_plan *plan = &m->info.memory;
    const uint64_t available = m->backend->memory_available(m->device);
    const uint64_t session = vug_model_device_session(m);
    if (plan->device == 0 || session <= available)
        return VUG_OK;
    const uint64_t placed = plan->device - (uint64_t)m->limits.rows * session;
    return VUG_FAIL(err, VUG_NOMEM,
                    "%s: needs %.1f MB of the device's memory (weights and buffers %.1f, the cache "
                    "of %lld tokens %.1f), which has %.1f MB left for it",
                    m->path, (double)(placed + session) / 1e6, (double)placed / 1e6,
                    (long long)m->info.context, (double)session / 1e6,
                    (double)(placed + available) / 1e6);
}

vug_status vug_model_check_memory(const vug_model *m, const vug_model_options *o, vug_err *err)
{
    VUG_TRY(check_limit(m, o, err));
    return check_device_memory(m, err);
}

/* The bytes of pages for which the device has memory to spare. Of two devices each has a share of
 * every session, so that the one whose memory ends first decides. */
static uint64_t spare_memory(const vug_model *m)
{
    const uint64_t spare = m->backend->memory_available(m->device) / 10 * 9;
    const uint64_t all = m->info.memory.session_cache, second = vug_model_device_session(m);
    if (m->info.memory.device == 0 || second == 0 || second == all)
        return spare;
    const double host = (double)vug_memory_available() * 0.9;
    const double by_second = (double)spare / (double)second * (double)all;
    const double by_first = host / (double)(all - second) * (double)all;
    return (uint64_t)(by_second < by_first ? by_second : by_first);
}

/* The memory for pages: for a draft model what the slots need; otherwise what the caller allows, or
 * what the device can spare beside the weights, which may not be resident yet, but room for one
 * session. */
uint64_t vug_model_kv_budget(const vug_model *m, const vug_model_options *o)
{
    const vug_memory_plan *plan = &m->info.memory;
    const uint64_t others = plan->total - plan->cache;
    if (m->is_draft)
        return plan->cache;
    if (o->kv_memory)
        return o->kv_memory;
    const uint64_t spare = spare_memory(m);
    const uint64_t most = o->memory_limit ? o->memory_limit : spare;
    uint64_t budget = most > others ? most - others : 0;
    if (plan->device && (!o->memory_limit || budget > spare))
        budget = spare; /* all others have their place already */
    return budget > plan->session_cache ? budget : plan->session_cache;
}
