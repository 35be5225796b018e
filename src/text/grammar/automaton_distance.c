#include "text/grammar/automaton_distance.h"

/*
 * In the body of a graph with bounded paths, a state is useful only if the count that is left
 * suffices to reach the end. A breadth-first search from the final states over reversed edges
 * finds how much that is.
 */

typedef struct {
    vug_automaton *a;
    uint32_t *first;  /* [n_states + 1]: where the list of each state begins in `source` */
    uint32_t *source; /* states with an edge to the state; 2 * state + 1 if the edge counts */
    uint32_t *queue;  /* [n_states]: reached with the current distance */
    uint32_t *next;   /* [n_states]: reached with the next one */
} distance_search;

typedef void reverse_edge_fn(distance_search *s, uint32_t from, uint32_t to, bool counts);

static void count_source(distance_search *s, uint32_t from, uint32_t to, bool counts)
{
    (void)from;
    (void)counts;
    s->first[to + 1]++;
}

static void store_source(distance_search *s, uint32_t from, uint32_t to, bool counts)
{
    s->source[s->first[to]++] = 2 * from + counts;
}

static void for_each_edge(distance_search *s, reverse_edge_fn *use)
{
    const vug_automaton *a = s->a;
    for (uint32_t i = 0; i < a->n_states; i++) {
        if (!a->state[i].counts_edges)
            continue;
        for (uint32_t e = a->state[i].edge; e < a->state[i + 1].edge; e++)
            use(s, i, a->edge[e].state, false);
        for (uint32_t c = a->state[i].call; c < a->state[i + 1].call; c++)
            use(s, i, a->call[c].return_state, a->call[c].rule == VUG_RULE_COUNT);
    }
}

/* Enters a state into a queue, unless it has been reached with this distance or a shorter one. */
static void reach_state(distance_search *s, uint32_t state, uint32_t distance, uint32_t *queue,
                        uint32_t *n)
{
    if (s->a->state[state].distance <= distance)
        return;
    s->a->state[state].distance = distance;
    queue[(*n)++] = state;
}

/* A state may be in `next` and then be reached without another count: it is in both queues. */
static void search_distances(distance_search *s)
{
    vug_automaton_state *state = s->a->state;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->a->n_states; i++)
        if (state[i].counts_edges && state[i].final)
            reach_state(s, i, 0, s->queue, &n);
    for (uint32_t distance = 0; n > 0; distance++) {
        uint32_t n_next = 0;
        while (n > 0) {
            const uint32_t at = s->queue[--n];
            if (state[at].distance < distance)
                continue;
            for (uint32_t i = s->first[at]; i < s->first[at + 1]; i++) {
                const uint32_t from = s->source[i] / 2;
                if (s->source[i] & 1)
                    reach_state(s, from, distance + 1, s->next, &n_next);
                else
                    reach_state(s, from, distance, s->queue, &n);
            }
        }
        uint32_t *swapped = s->queue;
        s->queue = s->next;
        s->next = swapped;
        n = n_next;
    }
}

/* Sets `counts_edges` of the bodies that count, and initial distances. */
static bool mark_bodies(vug_automaton *a)
{
    bool any = false;
    for (uint32_t i = 0; i < a->n_states; i++) {
        a->state[i].distance = 1;
        for (uint32_t c = a->state[i].call; c < a->state[i + 1].call; c++) {
            if (a->call[c].rule == VUG_RULE_COUNT)
                a->state[a->state[i].start].counts_edges = any = true;
        }
    }
    for (uint32_t i = 0; i < a->n_states && any; i++) {
        if (!a->state[a->state[i].start].counts_edges)
            continue;
        a->state[i].counts_edges = true;
        a->state[i].distance = VUG_STATE_NONE;
    }
    return any;
}

vug_status vug_automaton_find_distances(vug_automaton *a, vug_err *err)
{
    if (!mark_bodies(a))
        return VUG_OK;
    const size_t n = a->n_states, n_list = (size_t)a->n_edges + a->n_calls;
    distance_search s = { .a = a };
    s.first = vug_alloc_zero(n + 2, sizeof(*s.first));
    s.source = vug_alloc(n_list, sizeof(*s.source));
    s.queue = vug_alloc(2 * n, sizeof(*s.queue));
    s.next = vug_alloc(2 * n, sizeof(*s.next));
    const bool allocated = s.first && s.source && s.queue && s.next;
    if (allocated) {
        for_each_edge(&s, count_source);
        for (size_t i = 0; i < n; i++)
            s.first[i + 1] += s.first[i];
        for_each_edge(&s, store_source);
        /* Storing moved each beginning to the end of its list, where the next list begins. */
        memmove(s.first + 1, s.first, n * sizeof(*s.first));
        s.first[0] = 0;
        search_distances(&s);
    }
    vug_free(s.first);
    vug_free(s.source);
    vug_free(s.queue);
    vug_free(s.next);
    return allocated ? VUG_OK
                     : VUG_FAIL_NOMEM(err, "the automaton of a grammar", n_list * sizeof(uint32_t));
}
