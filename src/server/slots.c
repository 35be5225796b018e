/* What /slots tells of the requests that wait or run: numbers, and nothing that people wrote. */
#include "core/json_writer.h"
#include "server/internal.h"

void vug_server_slots_add(vug_server_request *request)
{
    vug_service *s = request->service;
    vug_mutex_lock(s->slots_lock);
    request->slot.number = s->n_slots_added++;
    request->slot.link = s->last_slot;
    *s->last_slot = request;
    s->last_slot = &request->slot.next;
    vug_mutex_unlock(s->slots_lock);
}

void vug_server_slots_remove(vug_server_request *request)
{
    vug_service *s = request->service;
    vug_mutex_lock(s->slots_lock);
    vug_server_request *next = request->slot.next;
    *request->slot.link = next;
    if (next)
        next->slot.link = request->slot.link;
    else
        s->last_slot = request->slot.link;
    vug_mutex_unlock(s->slots_lock);
}

static vug_api_slot describe_slot(vug_server_request *request)
{
    const vug_service *s = request->service;
    vug_api_slot slot = {
        .id = request->slot.number,
        .model = s->name,
        .context = s->info.context,
        .state = (vug_api_slot_state)atomic_load(&request->slot.state),
        .priority = request->job.priority,
        .cached_tokens = atomic_load(&request->slot.n_cached),
        .completion_tokens = atomic_load(&request->slot.n_generated),
        .max_tokens = request->api.max_tokens,
    };
    for (size_t i = 0; i < request->n_prompts; i++)
        slot.prompt_tokens += request->tokens[i].n;
    return slot;
}

void vug_server_slots_write(vug_service *s, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '[');
    vug_mutex_lock(s->slots_lock);
    for (vug_server_request *r = s->first_slot; r; r = r->slot.next) {
        const vug_api_slot slot = describe_slot(r);
        vug_api_slot_write(&slot, &js);
    }
    vug_mutex_unlock(s->slots_lock);
    vug_json_end(&js, ']');
}
