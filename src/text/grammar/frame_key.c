#include "text/grammar/frame_key.h"

#include "text/grammar/intern.h"

enum { MAX_STATES = 128 };

typedef struct {
    const vug_automaton *a;
    vug_intern_table states; /* {state}: the id is its number in the key */
    vug_buf *key;            /* uint32_t */
} key_writer;

static void write_word(key_writer *w, uint32_t word)
{
    vug_buf_push(w->key, &word, sizeof(word));
}

static void write_state_number(key_writer *w, uint32_t state)
{
    write_word(w, vug_intern_add(&w->states, &state, 1));
}

static void write_edges(key_writer *w, const vug_automaton_state *s)
{
    write_word(w, s[1].edge - s->edge);
    for (uint32_t e = s->edge; e < s[1].edge; e++) {
        const vug_byte_edge edge = w->a->edge[e];
        write_word(w, edge.from | (uint32_t)edge.to << 8);
        write_state_number(w, edge.state);
    }
}

static void write_calls(key_writer *w, const vug_automaton_state *s)
{
    write_word(w, s[1].call - s->call);
    for (uint32_t c = s->call; c < s[1].call; c++) {
        const vug_call_edge call = w->a->call[c];
        write_state_number(w, call.return_state);
        write_word(w, call.rule == VUG_RULE_COUNT);
        if (call.rule == VUG_RULE_COUNT)
            continue;
        const vug_automaton_rule *rule = &w->a->rule[call.rule];
        write_word(w, rule->min);
        write_word(w, rule->max);
        write_state_number(w, rule->start);
    }
}

bool vug_frame_key_write(const vug_automaton *automaton, const uint32_t state_min_max[3],
                         vug_buf *key)
{
    key_writer w = { .a = automaton, .key = key };
    const uint32_t state = state_min_max[0], max = state_min_max[2];
    write_state_number(&w, state);
    write_word(&w, state_min_max[1]);
    write_word(&w, max);
    if (max > 1) /* the body may run again */
        write_state_number(&w, automaton->state[state].start);
    for (size_t i = 0; i < w.states.n && w.states.n <= MAX_STATES && !key->bad; i++) {
        size_t n;
        const vug_automaton_state *s =
                &automaton->state[*vug_intern_get(&w.states, (uint32_t)i, &n)];
        write_word(&w, s->distance);
        write_word(&w, s->final + 2U * s->counts_edges);
        write_edges(&w, s);
        write_calls(&w, s);
    }
    const bool complete = w.states.n <= MAX_STATES && !w.states.too_many_collisions && !key->bad;
    vug_intern_release(&w.states);
    return complete;
}
