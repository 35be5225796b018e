/*
 * A layered drawing after Sugiyama (1981), reduced to what the graphs of transformers need.
 *
 * A box's row is its longest path from a source. Branches spread symmetrically below the
 * box that they leave, and a box that joins branches is centred below them. A wire to the
 * next row bends in the channel between the rows, on its own track. A longer wire goes
 * straight down if its column is free. Otherwise it uses a lane beside all boxes: on the
 * left if it bypasses a branch (a residual connection), else on the right.
 */
#include "drawing/layout_work.h"

enum { GAP = 22 }; /* between boxes of a row */

/* ---- rows ------------------------------------------------------------------ */

static void find_rows(vug_layout_work *w)
{
    vug_layout_box *box = w->l->box;
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

/* Inputs precede their readers, so one backward sweep finds all ancestors. */
static bool is_ancestor(vug_layout_work *w, int maybe, int of)
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

static void find_edges(vug_layout_work *w)
{
    const vug_layout_box *box = w->l->box;
    for (int i = 0; i < w->l->n_boxes; i++) {
        w->first_edge[i] = w->n_edges;
        for (int k = 0; k < box[i].n_in; k++) {
            vug_layout_edge e = { .from = box[i].in[k], .to = i };
            for (int j = 0; j < box[i].n_in && vug_layout_is_long(w, &e) && !e.skip; j++)
                e.skip = is_ancestor(w, e.from, box[i].in[j]);
            w->edge[w->n_edges++] = e;
        }
    }
    w->first_edge[w->l->n_boxes] = w->n_edges;
}

/* ---- columns --------------------------------------------------------------- */

enum { SOURCE = -1, JOIN = -2 };

/* The only box that `i` is placed below; SOURCE: none; JOIN: several. */
static int parent_of(const vug_layout_work *w, int i)
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
static int mean_unit(const vug_layout_work *w, int i)
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

/* Finds the width, in half columns, of each box together with all boxes placed below it. */
static void find_widths(vug_layout_work *w, int *wide)
{
    memset(wide, 0, ((size_t)w->l->n_boxes + 1) * sizeof(*wide));
    for (int i = w->l->n_boxes - 1; i >= 0; i--) {
        const int parent = parent_of(w, i);
        wide[i] = wide[i] < 2 ? 2 : wide[i];
        if (parent != JOIN)
            wide[parent == SOURCE ? w->l->n_boxes : parent] += wide[i];
    }
}

/* Sorts a row from left to right and moves overlapping boxes apart. */
static void arrange_row(vug_layout_work *w, int row)
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

static void find_columns(vug_layout_work *w)
{
    const int n = w->l->n_boxes;
    int *next = w->scratch2; /* [boxes + 1]: where the next branch of a box begins */
    int *filled = w->scratch;
    for (int i = 0; i < n; i++)
        w->start[vug_layout_row(w, i) + 1]++;
    for (int r = 0; r < w->n_rows; r++)
        w->start[r + 1] += w->start[r];
    memset(filled, 0, (size_t)w->n_rows * sizeof(*filled));
    for (int i = 0; i < n; i++)
        w->order[w->start[vug_layout_row(w, i)] + filled[vug_layout_row(w, i)]++] = i;

    /* When the place of a box is final, its width in `next` becomes the place of its first
     * branch. Sources are branches of the last element, which is not a box. */
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
        arrange_row(w, r);
        for (int i = w->start[r]; i < w->start[r + 1]; i++)
            next[w->order[i]] = w->unit[w->order[i]] - next[w->order[i]] / 2;
    }
}

static void place_columns(vug_layout_work *w)
{
    int widest = 0, least = 0;
    for (int i = 0; i < w->l->n_boxes; i++) {
        widest = w->l->box[i].w > widest ? w->l->box[i].w : widest;
        least = i == 0 || w->unit[i] < least ? w->unit[i] : least;
    }
    for (int i = 0; i < w->l->n_boxes; i++) {
        vug_layout_box *box = &w->l->box[i];
        box->x = (w->unit[i] - least) * ((widest + GAP) / 2) + (widest - box->w) / 2;
    }
}

/* ---- layout -------------------------------------------------------------- */

static bool alloc_arrays(vug_layout_work *w, vug_arena *arena)
{
    size_t edges = 0;
    const size_t n = (size_t)w->l->n_boxes + 1;
    for (int i = 0; i < w->l->n_boxes; i++)
        edges += (size_t)w->l->box[i].n_in;
    w->edge = vug_arena_alloc(arena, edges, sizeof(*w->edge));
    w->bend = vug_arena_alloc(arena, 2 * edges, sizeof(*w->bend));
    w->l->wire = vug_arena_alloc(arena, edges, sizeof(*w->l->wire));
    w->first_edge = vug_arena_alloc(arena, n, sizeof(*w->first_edge));
    w->unit = vug_arena_alloc(arena, n, sizeof(*w->unit));
    w->order = vug_arena_alloc(arena, n, sizeof(*w->order));
    w->start = vug_arena_alloc(arena, n, sizeof(*w->start));
    w->bottom = vug_arena_alloc(arena, n, sizeof(*w->bottom));
    w->scratch = vug_arena_alloc(arena, n, sizeof(*w->scratch));
    w->scratch2 = vug_arena_alloc(arena, n, sizeof(*w->scratch2));
    return w->edge && w->bend && w->l->wire && w->first_edge && w->unit && w->order && w->start &&
           w->bottom && w->scratch && w->scratch2;
}

bool vug_layout_init(vug_layout *l, vug_arena *arena)
{
    vug_layout_work w = { .l = l };
    l->n_wires = l->width = l->height = 0;
    if (!alloc_arrays(&w, arena))
        return false;
    find_rows(&w);
    find_edges(&w);
    find_columns(&w);
    place_columns(&w);
    vug_layout_route(&w);
    return true;
}
