/* The wires of a layout: lanes beside the boxes, ports at their tops and sides, tracks in
 * the channels between rows. */
#include "drawing/layout_work.h"

#include <stdlib.h>

enum {
    CHANNEL = 24, /* between rows, with up to one track */
    BEND = 9,     /* from a row to its first track */
    TRACK = 9,    /* between tracks */
    LANE = 14,    /* between lanes, and between lanes and boxes */
    PORT = 36,    /* between wires that enter at one top, at most */
    ENTRY = 10,   /* between wires that enter at one side */
    APART = 6,    /* between two wires anywhere, at least */
};

/* ---- routes ---------------------------------------------------------------- */

/* Whether a box in the rows that `e` passes is in the column where `e` starts. */
static bool is_blocked(const vug_layout_work *w, const vug_layout_edge *e)
{
    const int x = vug_layout_middle(w, e->from);
    for (int i = w->start[vug_layout_row(w, e->from) + 1]; i < w->start[vug_layout_row(w, e->to)];
         i++) {
        const vug_layout_box *box = &w->l->box[w->order[i]];
        if (x > box->x - APART && x < box->x + box->w + APART)
            return true;
    }
    return false;
}

/* All wires of one box use the same lane; wires that never meet may share one. */
static void assign_lanes(vug_layout_work *w, vug_wire_route route)
{
    int *busy = w->scratch; /* [lanes]: the row where the lane's last wire ends */
    int *end = w->scratch2; /* [boxes]: the last row that its wires reach; 0: none */
    memset(end, 0, (size_t)w->l->n_boxes * sizeof(*end));
    for (int i = 0; i < w->n_edges; i++) {
        const vug_layout_edge *e = &w->edge[i];
        if (e->route == route && vug_layout_row(w, e->to) > end[e->from])
            end[e->from] = vug_layout_row(w, e->to);
    }
    for (int i = 0; i < w->l->n_boxes; i++) {
        const int from = w->order[i];
        if (end[from] == 0)
            continue;
        int lane = 0;
        while (lane < w->n_lanes[route] && busy[lane] > vug_layout_row(w, from))
            lane++;
        if (lane == w->n_lanes[route])
            w->n_lanes[route]++;
        busy[lane] = end[from];
        for (int k = 0; k < w->n_edges; k++) {
            if (w->edge[k].route == route && w->edge[k].from == from)
                w->edge[k].lane = lane;
        }
    }
}

static int lane_x(const vug_layout_work *w, const vug_layout_edge *e)
{
    return e->route == VUG_ROUTE_LEFT
                   ? (w->n_lanes[VUG_ROUTE_LEFT] - e->lane) * LANE
                   : w->l->width - (w->n_lanes[VUG_ROUTE_RIGHT] - e->lane) * LANE;
}

static void find_routes(vug_layout_work *w)
{
    for (int i = 0; i < w->n_edges; i++) {
        vug_layout_edge *e = &w->edge[i];
        if (vug_layout_is_long(w, e) && (e->skip || is_blocked(w, e)))
            e->route = e->skip ? VUG_ROUTE_LEFT : VUG_ROUTE_RIGHT;
    }
    assign_lanes(w, VUG_ROUTE_LEFT);
    assign_lanes(w, VUG_ROUTE_RIGHT);
    const int left = w->n_lanes[VUG_ROUTE_LEFT] > 0 ? (w->n_lanes[VUG_ROUTE_LEFT] + 1) * LANE : 0;
    const int right =
            w->n_lanes[VUG_ROUTE_RIGHT] > 0 ? (w->n_lanes[VUG_ROUTE_RIGHT] + 1) * LANE : 0;
    for (int i = 0; i < w->l->n_boxes; i++) {
        vug_layout_box *box = &w->l->box[i];
        box->x += left;
        if (w->l->width < box->x + box->w + right)
            w->l->width = box->x + box->w + right;
    }
}

/* ---- ports ----------------------------------------------------------------- */

/* Lets wires go from their lane straight into the side of the outermost box of a row. */
static void enter_sides(vug_layout_work *w, int box)
{
    const int r = vug_layout_row(w, box);
    int n[3] = { 0 };
    for (int i = w->first_edge[box]; i < w->first_edge[box + 1]; i++) {
        vug_layout_edge *e = &w->edge[i];
        if (e->route == VUG_ROUTE_DOWN)
            continue;
        const int outermost =
                w->order[e->route == VUG_ROUTE_LEFT ? w->start[r] : w->start[r + 1] - 1];
        e->side_y = w->l->box[box].h / 2 + ENTRY * n[e->route];
        e->side = outermost == box && e->side_y < w->l->box[box].h - APART;
        n[e->route] += e->side;
    }
}

static int source_x(const vug_layout_work *w, const vug_layout_edge *e)
{
    return e->route == VUG_ROUTE_DOWN ? vug_layout_middle(w, e->from) : lane_x(w, e);
}

/* A port must not be below the middle of another box with a wire into the same channel, or
 * the two vertical pieces could overlap. */
static bool port_is_taken(const vug_layout_work *w, const vug_layout_edge *e)
{
    for (int i = 0; i < w->n_edges; i++) {
        const vug_layout_edge *o = &w->edge[i];
        const int r = vug_layout_row(w, e->to) - 1;
        const bool passes = o->route == VUG_ROUTE_DOWN ? vug_layout_row(w, o->from) <= r &&
                                                                 r < vug_layout_row(w, o->to)
                                                       : vug_layout_row(w, o->from) == r;
        if (passes && o->from != e->from && abs(vug_layout_middle(w, o->from) - e->port_x) < APART)
            return true;
    }
    return false;
}

static void find_ports(vug_layout_work *w, int box)
{
    vug_layout_edge *e = &w->edge[w->first_edge[box]];
    const int n = w->first_edge[box + 1] - w->first_edge[box];
    int tops = 0;
    enter_sides(w, box);
    for (int i = 0; i < n; i++)
        tops += !e[i].side;
    const int even_step = w->l->box[box].w / (tops + 1);
    const int step = even_step < PORT ? even_step : PORT;
    for (int i = 0; i < n; i++) {
        int nth = 0; /* among those that enter at the top, from the left */
        for (int j = 0; j < n; j++) {
            const int order = source_x(w, &e[j]) - source_x(w, &e[i]);
            nth += !e[j].side && (order < 0 || (order == 0 && j < i));
        }
        e[i].port_x = vug_layout_middle(w, box) + (2 * nth - (tops - 1)) * step / 2;
        for (int tries = 0; tries < 3 && port_is_taken(w, &e[i]); tries++)
            e[i].port_x += APART;
    }
}

/* ---- channels -------------------------------------------------------------- */

static void add_bend(vug_layout_work *w, int row, int from, int x1, int x2)
{
    w->bend[w->n_bends++] =
            (vug_layout_bend){ row, from, x1 < x2 ? x1 : x2, x1 < x2 ? x2 : x1, -1 };
}

static int compare_bends(const void *a, const void *b)
{
    const vug_layout_bend *s = a, *t = b;
    return s->row != t->row ? (s->row < t->row ? -1 : 1)
                            : (s->from > t->from) - (s->from < t->from);
}

static void merge_bends(vug_layout_work *w)
{
    int n = 0;
    qsort(w->bend, (size_t)w->n_bends, sizeof(*w->bend), compare_bends);
    for (int i = 0; i < w->n_bends; i++) {
        const vug_layout_bend s = w->bend[i];
        vug_layout_bend *last = n > 0 ? &w->bend[n - 1] : NULL;
        if (last && compare_bends(last, &s) == 0) {
            last->x1 = s.x1 < last->x1 ? s.x1 : last->x1;
            last->x2 = s.x2 > last->x2 ? s.x2 : last->x2;
        } else {
            w->bend[n++] = s;
        }
    }
    w->n_bends = n;
}

static bool track_is_free(const vug_layout_work *w, int begin, int i)
{
    for (int k = begin; k < i; k++) {
        if (w->bend[k].track == w->bend[i].track && w->bend[k].x1 < w->bend[i].x2 + APART &&
            w->bend[i].x1 < w->bend[k].x2 + APART)
            return false;
    }
    return true;
}

/* Assigns a track to every bend, and from that a height to every channel. */
static void find_channels(vug_layout_work *w)
{
    for (int i = 0; i < w->n_edges; i++) {
        const vug_layout_edge *e = &w->edge[i];
        const int last = vug_layout_row(w, e->to) - 1;
        if (e->route != VUG_ROUTE_DOWN)
            add_bend(w, vug_layout_row(w, e->from), e->from, vug_layout_middle(w, e->from),
                     lane_x(w, e));
        if (!e->side)
            add_bend(w, last, e->from, source_x(w, e), e->port_x);
    }
    merge_bends(w);
    int y = 0, begin = 0;
    for (int r = 0; r < w->n_rows; r++) {
        int high = 0, tracks = 1;
        for (int i = w->start[r]; i < w->start[r + 1]; i++) {
            vug_layout_box *box = &w->l->box[w->order[i]];
            box->y = y;
            high = box->h > high ? box->h : high;
        }
        int i = begin;
        for (; i < w->n_bends && w->bend[i].row == r; i++) {
            vug_layout_bend *s = &w->bend[i];
            for (s->track = s->x1 < s->x2 ? 0 : -1; s->track >= 0 && !track_is_free(w, begin, i);)
                s->track++;
            tracks = s->track >= tracks ? s->track + 1 : tracks;
        }
        begin = i;
        w->bottom[r] = y + high;
        w->l->height = y + high;
        y += high + CHANNEL + (tracks - 1) * TRACK;
    }
}

/* Where the wires from `from` bend in the channel below `row`. */
static int track_y(const vug_layout_work *w, int row, int from)
{
    const vug_layout_bend key = { .row = row, .from = from };
    const vug_layout_bend *s =
            bsearch(&key, w->bend, (size_t)w->n_bends, sizeof(key), compare_bends);
    return w->bottom[row] + BEND + TRACK * (s && s->track > 0 ? s->track : 0);
}

static void add_point(vug_layout_wire *wire, int x, int y)
{
    if (wire->n > 0 && wire->at[wire->n - 1].x == x && wire->at[wire->n - 1].y == y)
        return;
    wire->at[wire->n].x = x;
    wire->at[wire->n].y = y;
    wire->n++;
}

static void make_wire(vug_layout_work *w, const vug_layout_edge *e)
{
    const vug_layout_box *from = &w->l->box[e->from], *to = &w->l->box[e->to];
    vug_layout_wire *wire = &w->l->wire[w->l->n_wires++];
    *wire = (vug_layout_wire){ .from = e->from, .to = e->to, .aside = e->route != VUG_ROUTE_DOWN };
    add_point(wire, vug_layout_middle(w, e->from), from->y + from->h);
    if (e->route != VUG_ROUTE_DOWN) {
        const int y = track_y(w, from->row, e->from);
        add_point(wire, vug_layout_middle(w, e->from), y);
        add_point(wire, lane_x(w, e), y);
    }
    if (e->side) {
        add_point(wire, lane_x(w, e), to->y + e->side_y);
        add_point(wire, e->route == VUG_ROUTE_LEFT ? to->x : to->x + to->w, to->y + e->side_y);
        return;
    }
    if (source_x(w, e) != e->port_x) {
        const int y = track_y(w, to->row - 1, e->from);
        add_point(wire, source_x(w, e), y);
        add_point(wire, e->port_x, y);
    }
    add_point(wire, e->port_x, to->y);
}

/* ---- routing ------------------------------------------------------------- */

void vug_layout_route(vug_layout_work *w)
{
    find_routes(w);
    for (int i = 0; i < w->l->n_boxes; i++)
        find_ports(w, i);
    find_channels(w);
    for (int i = 0; i < w->n_edges; i++)
        make_wire(w, &w->edge[i]);
}
