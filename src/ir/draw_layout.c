/*
 * Layered drawing in the manner of Sugiyama (1981), cut down to what the graphs
 * of transformers need.
 *
 * Rows are longest paths. Columns follow the flow: branches spread symmetrically
 * below the box they leave, and a box that joins branches stands in their middle.
 * A wire from one row to the next bends in the channel between them, on a track
 * of its own. A longer one goes straight down when its column is free; otherwise
 * it leaves for a lane beside all boxes, left for one that bypasses a branch (a
 * residual connection), right for any other, and comes back at its reader's row.
 */
#include "ir/draw_layout.h"

#include <stdlib.h>

enum {
    GAP = 22,     /* between boxes of a row */
    CHANNEL = 24, /* between rows, with up to one track */
    BEND = 9,     /* from a row to its first track */
    TRACK = 9,    /* between tracks */
    LANE = 14,    /* between lanes, and between lanes and boxes */
    PORT = 36,    /* between wires that enter at one top, at most */
    ENTRY = 10,   /* between wires that enter at one side */
    APART = 6,    /* between two wires anywhere, at least */
};

typedef enum { DOWN, LEFT, RIGHT } route;

typedef struct {
    int from, to;
    bool skip; /* another path leads from `from` to `to` */
    route way;
    int lane;   /* of LEFT and RIGHT: counted from the boxes outwards */
    bool side;  /* enters at the side, side_y below the box's top */
    int side_y; /* pixels */
    int port_x; /* where it enters at the top, unless at the side */
} edge;

/* The horizontal piece, in the channel below a row, of all wires from one box. */
typedef struct {
    int row, from;
    int x1, x2;
    int track; /* -1: straight down */
} span;

typedef struct {
    vug_layout *l;
    edge *edge;      /* by reader */
    int *first_edge; /* [boxes + 1] into edge */
    int n_edges, n_rows;
    int n_lanes[3];          /* by route */
    int *unit;               /* [boxes]: the middle, in half columns */
    int *order;              /* [boxes]: by row, then from left to right */
    int *start;              /* [n_rows + 1] into order */
    int *bottom;             /* [n_rows]: y where the channel below begins */
    int *scratch, *scratch2; /* [boxes + 1] */
    span *span;              /* by row, then by box */
    int n_spans;
} work;

static int middle(const work *w, int box)
{
    return w->l->box[box].x + w->l->box[box].w / 2;
}

static int row_of(const work *w, int box)
{
    return w->l->box[box].row;
}

static bool is_long(const work *w, const edge *e)
{
    return row_of(w, e->to) - row_of(w, e->from) > 1;
}

/* ---- rows ------------------------------------------------------------------ */

static void find_rows(work *w)
{
    vug_place *box = w->l->box;
    const int n = w->l->n_boxes;
    for (int i = 0; i < n; i++) {
        box[i].row = 0;
        for (int k = 0; k < box[i].n_in; k++) {
            if (box[i].row <= box[box[i].in[k]].row)
                box[i].row = box[box[i].in[k]].row + 1;
        }
        if (w->n_rows <= box[i].row)
            w->n_rows = box[i].row + 1;
    }
    int *reader_row = w->scratch;
    for (int i = 0; i < n; i++)
        reader_row[i] = w->n_rows;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < box[i].n_in; k++) {
            int *row = &reader_row[box[i].in[k]];
            *row = box[i].row < *row ? box[i].row : *row;
        }
    }
    for (int i = 0; i < n; i++) {
        if (box[i].late && box[i].n_in == 0 && reader_row[i] < w->n_rows)
            box[i].row = reader_row[i] - 1;
    }
}

/* Inputs lie before their readers, so one backward sweep meets all ancestors. */
static bool is_ancestor(work *w, int maybe, int of)
{
    int *marked = w->scratch;
    for (int i = maybe; i < of; i++)
        marked[i] = 0;
    for (int i = of; i > maybe; i--) {
        for (int k = 0; (i == of || marked[i]) && k < w->l->box[i].n_in; k++) {
            if (w->l->box[i].in[k] >= maybe)
                marked[w->l->box[i].in[k]] = 1;
        }
    }
    return of > maybe && marked[maybe];
}

static void find_edges(work *w)
{
    const vug_place *box = w->l->box;
    for (int i = 0; i < w->l->n_boxes; i++) {
        w->first_edge[i] = w->n_edges;
        for (int k = 0; k < box[i].n_in; k++) {
            edge e = { .from = box[i].in[k], .to = i };
            for (int j = 0; j < box[i].n_in && is_long(w, &e) && !e.skip; j++)
                e.skip = is_ancestor(w, e.from, box[i].in[j]);
            w->edge[w->n_edges++] = e;
        }
    }
    w->first_edge[w->l->n_boxes] = w->n_edges;
}

/* ---- columns --------------------------------------------------------------- */

enum { SOURCE = -1, JOIN = -2 };

/* The box that `i` hangs below, or what it is instead. */
static int parent_of(const work *w, int i)
{
    int parent = SOURCE;
    for (int e = w->first_edge[i]; e < w->first_edge[i + 1]; e++) {
        if (w->edge[e].skip || w->edge[e].from == parent)
            continue;
        if (parent != SOURCE)
            return JOIN;
        parent = w->edge[e].from;
    }
    return parent;
}

/* The middle of the boxes that `i` joins. */
static int mean_unit(const work *w, int i)
{
    int sum = 0, n = 0;
    for (int e = w->first_edge[i]; e < w->first_edge[i + 1]; e++) {
        if (!w->edge[e].skip) {
            sum += w->unit[w->edge[e].from];
            n++;
        }
    }
    return n > 0 ? sum / n : 0;
}

/* Half columns that a box and all that hangs below it take. */
static void find_widths(work *w, int *wide)
{
    memset(wide, 0, ((size_t)w->l->n_boxes + 1) * sizeof(*wide));
    for (int i = w->l->n_boxes - 1; i >= 0; i--) {
        const int parent = parent_of(w, i);
        wide[i] = wide[i] < 2 ? 2 : wide[i];
        if (parent != JOIN)
            wide[parent == SOURCE ? w->l->n_boxes : parent] += wide[i];
    }
}

/* Sorts a row from left to right and moves apart what would overlap. */
static void settle_row(work *w, int row)
{
    int *order = w->order + w->start[row];
    const int n = w->start[row + 1] - w->start[row];
    for (int i = 1; i < n; i++) {
        const int box = order[i];
        int at = i;
        for (; at > 0 && w->unit[order[at - 1]] > w->unit[box]; at--)
            order[at] = order[at - 1];
        order[at] = box;
    }
    int moved = 0;
    for (int i = 1; i < n; i++) {
        int *unit = &w->unit[order[i]];
        const int least = w->unit[order[i - 1]] + 2;
        moved += *unit < least ? least - *unit : 0;
        *unit = *unit < least ? least : *unit;
    }
    for (int i = 0; i < n; i++)
        w->unit[order[i]] -= moved / n;
}

static void find_columns(work *w)
{
    const int n = w->l->n_boxes;
    int *next = w->scratch2; /* [boxes + 1]: where the next branch of a box begins */
    int *filled = w->scratch;
    for (int i = 0; i < n; i++)
        w->start[row_of(w, i) + 1]++;
    for (int r = 0; r < w->n_rows; r++)
        w->start[r + 1] += w->start[r];
    memset(filled, 0, (size_t)w->n_rows * sizeof(*filled));
    for (int i = 0; i < n; i++)
        w->order[w->start[row_of(w, i)] + filled[row_of(w, i)]++] = i;

    /* A width turns into the next branch's place once its box has settled. Sources
     * branch off the last element, which is no box. */
    find_widths(w, next);
    next[n] = -next[n] / 2;
    for (int r = 0; r < w->n_rows; r++) {
        for (int i = w->start[r]; i < w->start[r + 1]; i++) {
            const int box = w->order[i], parent = parent_of(w, box);
            if (parent == JOIN) {
                w->unit[box] = mean_unit(w, box);
                continue;
            }
            int *at = &next[parent == SOURCE ? n : parent];
            w->unit[box] = *at + next[box] / 2;
            *at += next[box];
        }
        settle_row(w, r);
        for (int i = w->start[r]; i < w->start[r + 1]; i++)
            next[w->order[i]] = w->unit[w->order[i]] - next[w->order[i]] / 2;
    }
}

static void place_columns(work *w)
{
    int widest = 0, least = 0;
    for (int i = 0; i < w->l->n_boxes; i++) {
        widest = w->l->box[i].w > widest ? w->l->box[i].w : widest;
        least = i == 0 || w->unit[i] < least ? w->unit[i] : least;
    }
    for (int i = 0; i < w->l->n_boxes; i++) {
        vug_place *box = &w->l->box[i];
        box->x = (w->unit[i] - least) * ((widest + GAP) / 2) + (widest - box->w) / 2;
    }
}

/* ---- routes ---------------------------------------------------------------- */

/* Is there a box in the rows that `e` passes, in the column where it starts? */
static bool is_blocked(const work *w, const edge *e)
{
    const int x = middle(w, e->from);
    for (int i = w->start[row_of(w, e->from) + 1]; i < w->start[row_of(w, e->to)]; i++) {
        const vug_place *box = &w->l->box[w->order[i]];
        if (x > box->x - APART && x < box->x + box->w + APART)
            return true;
    }
    return false;
}

/* The wires of one box share a lane; lanes are shared by wires that never meet. */
static void assign_lanes(work *w, route way)
{
    int *busy = w->scratch; /* [lanes]: the row where the lane's last wire ends */
    int *end = w->scratch2; /* [boxes]: the last row that its wires reach; 0: none */
    memset(end, 0, (size_t)w->l->n_boxes * sizeof(*end));
    for (int i = 0; i < w->n_edges; i++) {
        const edge *e = &w->edge[i];
        if (e->way == way && row_of(w, e->to) > end[e->from])
            end[e->from] = row_of(w, e->to);
    }
    for (int i = 0; i < w->l->n_boxes; i++) {
        const int from = w->order[i];
        if (end[from] == 0)
            continue;
        int lane = 0;
        while (lane < w->n_lanes[way] && busy[lane] > row_of(w, from))
            lane++;
        if (lane == w->n_lanes[way])
            w->n_lanes[way]++;
        busy[lane] = end[from];
        for (int k = 0; k < w->n_edges; k++) {
            if (w->edge[k].way == way && w->edge[k].from == from)
                w->edge[k].lane = lane;
        }
    }
}

static int lane_x(const work *w, const edge *e)
{
    return e->way == LEFT ? (w->n_lanes[LEFT] - e->lane) * LANE
                          : w->l->width - (w->n_lanes[RIGHT] - e->lane) * LANE;
}

static void find_routes(work *w)
{
    for (int i = 0; i < w->n_edges; i++) {
        edge *e = &w->edge[i];
        if (is_long(w, e) && (e->skip || is_blocked(w, e)))
            e->way = e->skip ? LEFT : RIGHT;
    }
    assign_lanes(w, LEFT);
    assign_lanes(w, RIGHT);
    const int left = w->n_lanes[LEFT] > 0 ? (w->n_lanes[LEFT] + 1) * LANE : 0;
    const int right = w->n_lanes[RIGHT] > 0 ? (w->n_lanes[RIGHT] + 1) * LANE : 0;
    for (int i = 0; i < w->l->n_boxes; i++) {
        vug_place *box = &w->l->box[i];
        box->x += left;
        if (w->l->width < box->x + box->w + right)
            w->l->width = box->x + box->w + right;
    }
}

/* ---- ports ----------------------------------------------------------------- */

/* From a lane straight into the side of the outermost box of a row. */
static void enter_sides(work *w, int box)
{
    const int r = row_of(w, box);
    int n[3] = { 0 };
    for (int i = w->first_edge[box]; i < w->first_edge[box + 1]; i++) {
        edge *e = &w->edge[i];
        if (e->way == DOWN)
            continue;
        const int outermost = w->order[e->way == LEFT ? w->start[r] : w->start[r + 1] - 1];
        e->side_y = w->l->box[box].h / 2 + ENTRY * n[e->way];
        e->side = outermost == box && e->side_y < w->l->box[box].h - APART;
        n[e->way] += e->side;
    }
}

static int comes_from(const work *w, const edge *e)
{
    return e->way == DOWN ? middle(w, e->from) : lane_x(w, e);
}

/* A port must not lie below the middle of another box that sends a wire into the
 * same channel, or the two vertical pieces could run over each other. */
static bool port_is_taken(const work *w, const edge *e)
{
    for (int i = 0; i < w->n_edges; i++) {
        const edge *o = &w->edge[i];
        const int r = row_of(w, e->to) - 1;
        const bool passes = o->way == DOWN ? row_of(w, o->from) <= r && r < row_of(w, o->to)
                                           : row_of(w, o->from) == r;
        if (passes && o->from != e->from && abs(middle(w, o->from) - e->port_x) < APART)
            return true;
    }
    return false;
}

static void find_ports(work *w, int box)
{
    edge *e = &w->edge[w->first_edge[box]];
    const int n = w->first_edge[box + 1] - w->first_edge[box];
    int tops = 0;
    enter_sides(w, box);
    for (int i = 0; i < n; i++)
        tops += !e[i].side;
    const int room = w->l->box[box].w / (tops + 1);
    const int step = room < PORT ? room : PORT;
    for (int i = 0; i < n; i++) {
        int nth = 0; /* among those that enter at the top, from the left */
        for (int j = 0; j < n; j++) {
            const int order = comes_from(w, &e[j]) - comes_from(w, &e[i]);
            nth += !e[j].side && (order < 0 || (order == 0 && j < i));
        }
        e[i].port_x = middle(w, box) + (2 * nth - (tops - 1)) * step / 2;
        for (int tries = 0; tries < 3 && port_is_taken(w, &e[i]); tries++)
            e[i].port_x += APART;
    }
}

/* ---- channels -------------------------------------------------------------- */

static void add_span(work *w, int row, int from, int x1, int x2)
{
    w->span[w->n_spans++] = (span){ row, from, x1 < x2 ? x1 : x2, x1 < x2 ? x2 : x1, -1 };
}

static int by_row_and_box(const void *a, const void *b)
{
    const span *s = a, *t = b;
    return s->row != t->row ? (s->row < t->row ? -1 : 1)
                            : (s->from > t->from) - (s->from < t->from);
}

static void merge_spans(work *w)
{
    int n = 0;
    qsort(w->span, (size_t)w->n_spans, sizeof(*w->span), by_row_and_box);
    for (int i = 0; i < w->n_spans; i++) {
        const span s = w->span[i];
        span *last = n > 0 ? &w->span[n - 1] : NULL;
        if (last && by_row_and_box(last, &s) == 0) {
            last->x1 = s.x1 < last->x1 ? s.x1 : last->x1;
            last->x2 = s.x2 > last->x2 ? s.x2 : last->x2;
        } else {
            w->span[n++] = s;
        }
    }
    w->n_spans = n;
}

static bool track_is_free(const work *w, int begin, int i)
{
    for (int k = begin; k < i; k++) {
        if (w->span[k].track == w->span[i].track && w->span[k].x1 < w->span[i].x2 + APART &&
            w->span[i].x1 < w->span[k].x2 + APART)
            return false;
    }
    return true;
}

/* Gives every bend its track and every row its height. */
static void find_channels(work *w)
{
    for (int i = 0; i < w->n_edges; i++) {
        const edge *e = &w->edge[i];
        const int last = row_of(w, e->to) - 1;
        if (e->way != DOWN)
            add_span(w, row_of(w, e->from), e->from, middle(w, e->from), lane_x(w, e));
        if (!e->side)
            add_span(w, last, e->from, comes_from(w, e), e->port_x);
    }
    merge_spans(w);
    int y = 0, begin = 0;
    for (int r = 0; r < w->n_rows; r++) {
        int high = 0, tracks = 1;
        for (int i = w->start[r]; i < w->start[r + 1]; i++) {
            vug_place *box = &w->l->box[w->order[i]];
            box->y = y;
            high = box->h > high ? box->h : high;
        }
        int i = begin;
        for (; i < w->n_spans && w->span[i].row == r; i++) {
            span *s = &w->span[i];
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
static int track_y(const work *w, int row, int from)
{
    const span key = { .row = row, .from = from };
    const span *s = bsearch(&key, w->span, (size_t)w->n_spans, sizeof(key), by_row_and_box);
    return w->bottom[row] + BEND + TRACK * (s && s->track > 0 ? s->track : 0);
}

static void to_point(vug_wire *wire, int x, int y)
{
    if (wire->n > 0 && wire->at[wire->n - 1].x == x && wire->at[wire->n - 1].y == y)
        return;
    wire->at[wire->n].x = x;
    wire->at[wire->n].y = y;
    wire->n++;
}

static void draw_wire(work *w, const edge *e)
{
    const vug_place *from = &w->l->box[e->from], *to = &w->l->box[e->to];
    vug_wire *wire = &w->l->wire[w->l->n_wires++];
    *wire = (vug_wire){ .from = e->from, .to = e->to, .aside = e->way != DOWN };
    to_point(wire, middle(w, e->from), from->y + from->h);
    if (e->way != DOWN) {
        const int y = track_y(w, from->row, e->from);
        to_point(wire, middle(w, e->from), y);
        to_point(wire, lane_x(w, e), y);
    }
    if (e->side) {
        to_point(wire, lane_x(w, e), to->y + e->side_y);
        to_point(wire, e->way == LEFT ? to->x : to->x + to->w, to->y + e->side_y);
        return;
    }
    if (comes_from(w, e) != e->port_x) {
        const int y = track_y(w, to->row - 1, e->from);
        to_point(wire, comes_from(w, e), y);
        to_point(wire, e->port_x, y);
    }
    to_point(wire, e->port_x, to->y);
}

/* ---- all of it ------------------------------------------------------------- */

static bool reserve(work *w, vug_arena *arena)
{
    size_t edges = 0;
    const size_t n = (size_t)w->l->n_boxes + 1;
    for (int i = 0; i < w->l->n_boxes; i++)
        edges += (size_t)w->l->box[i].n_in;
    w->edge = vug_arena_alloc(arena, edges, sizeof(*w->edge));
    w->span = vug_arena_alloc(arena, 2 * edges, sizeof(*w->span));
    w->l->wire = vug_arena_alloc(arena, edges, sizeof(*w->l->wire));
    w->first_edge = vug_arena_alloc(arena, n, sizeof(*w->first_edge));
    w->unit = vug_arena_alloc(arena, n, sizeof(*w->unit));
    w->order = vug_arena_alloc(arena, n, sizeof(*w->order));
    w->start = vug_arena_alloc(arena, n, sizeof(*w->start));
    w->bottom = vug_arena_alloc(arena, n, sizeof(*w->bottom));
    w->scratch = vug_arena_alloc(arena, n, sizeof(*w->scratch));
    w->scratch2 = vug_arena_alloc(arena, n, sizeof(*w->scratch2));
    return w->edge && w->span && w->l->wire && w->first_edge && w->unit && w->order && w->start &&
           w->bottom && w->scratch && w->scratch2;
}

bool vug_layout_make(vug_layout *l, vug_arena *arena)
{
    work w = { .l = l };
    l->n_wires = l->width = l->height = 0;
    if (!reserve(&w, arena))
        return false;
    find_rows(&w);
    find_edges(&w);
    find_columns(&w);
    place_columns(&w);
    find_routes(&w);
    for (int i = 0; i < l->n_boxes; i++)
        find_ports(&w, i);
    find_channels(&w);
    for (int i = 0; i < w.n_edges; i++)
        draw_wire(&w, &w.edge[i]);
    return true;
}
