/*
 * The layout of a drawing, by properties that hold for any graph: boxes are inside the page
 * and do not overlap, inputs are above their readers, and the straight pieces of wires
 * neither cross a box nor run over a wire of another value.
 */
#include "test.h"

#include "drawing/layout.h"

static bool overlap(int a1, int a2, int b1, int b2)
{
    return a1 < b2 && b1 < a2;
}

static void assert_layout(const vug_layout *l)
{
    for (int i = 0; i < l->n_boxes; i++) {
        const vug_layout_box *a = &l->box[i];
        assert_true(a->x >= 0 && a->y >= 0 && a->x + a->w <= l->width && a->y + a->h <= l->height);
        for (int k = 0; k < i; k++) {
            const vug_layout_box *b = &l->box[k];
            assert_false(overlap(a->x, a->x + a->w, b->x, b->x + b->w) &&
                         overlap(a->y, a->y + a->h, b->y, b->y + b->h));
        }
        for (int k = 0; k < a->n_in; k++)
            assert_true(l->box[a->in[k]].row < a->row);
    }
    for (int i = 0; i < l->n_wires; i++) {
        const vug_layout_wire *w = &l->wire[i];
        const vug_layout_box *from = &l->box[w->from], *to = &l->box[w->to];
        assert_true(w->n >= 2);
        assert_int_equal(w->at[0].y, from->y + from->h);
        assert_int_equal(w->at[0].x, from->x + from->w / 2);
        const int x = w->at[w->n - 1].x, y = w->at[w->n - 1].y;
        assert_true(x >= to->x && x <= to->x + to->w && y >= to->y && y < to->y + to->h);
        for (int k = 1; k < w->n; k++) {
            const int x1 = w->at[k - 1].x, x2 = w->at[k].x, y1 = w->at[k - 1].y, y2 = w->at[k].y;
            assert_true((x1 == x2) != (y1 == y2)); /* straight, and not a point */
            assert_true(x2 >= 0 && x2 <= l->width && y2 >= 0 && y2 <= l->height);
            for (int b = 0; b < l->n_boxes; b++) {
                const vug_layout_box *box = &l->box[b];
                assert_false(overlap(x1 < x2 ? x1 : x2, (x1 < x2 ? x2 : x1) + (x1 == x2), box->x,
                                     box->x + box->w) &&
                             overlap(y1 < y2 ? y1 : y2, (y1 < y2 ? y2 : y1) + (y1 == y2), box->y,
                                     box->y + box->h) &&
                             !(b == w->to && k == w->n - 1) && !(b == w->from && k == 1));
            }
        }
    }
}

/* Whether the pieces that end at a's point p and at b's point q overlap. */
static bool overlaid(const vug_layout_wire *a, int p, const vug_layout_wire *b, int q)
{
    const int ax1 = a->at[p - 1].x, ax2 = a->at[p].x, ay1 = a->at[p - 1].y, ay2 = a->at[p].y;
    const int bx1 = b->at[q - 1].x, bx2 = b->at[q].x, by1 = b->at[q - 1].y, by2 = b->at[q].y;
    if (ax1 == ax2 && bx1 == bx2 && ax1 == bx1)
        return overlap(ay1 < ay2 ? ay1 : ay2, ay1 < ay2 ? ay2 : ay1, by1 < by2 ? by1 : by2,
                       by1 < by2 ? by2 : by1);
    if (ay1 == ay2 && by1 == by2 && ay1 == by1)
        return overlap(ax1 < ax2 ? ax1 : ax2, ax1 < ax2 ? ax2 : ax1, bx1 < bx2 ? bx1 : bx2,
                       bx1 < bx2 ? bx2 : bx1);
    return false;
}

/* Wires of one box may overlap, those of two boxes may only cross. */
static void assert_apart(const vug_layout_wire *a, const vug_layout_wire *b)
{
    for (int p = 1; a->from != b->from && p < a->n; p++) {
        for (int q = 1; q < b->n; q++)
            assert_false(overlaid(a, p, b, q));
    }
}

/* Random graphs, including some that no model has. */
static void test_random_graphs(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 400; round++) {
        vug_layout_box box[40] = { 0 };
        vug_layout l = { .box = box, .n_boxes = 1 + round % 40 };
        vug_arena arena = { 0 };
        int inputs = 0;
        for (int i = 0; i < l.n_boxes; i++) {
            seed = seed * 1664525u + 1013904223u;
            box[i] = (vug_layout_box){ .w = 100 + (int)(seed >> 28) * 4,
                                       .h = 26 + (int)(seed >> 27) % 3 * 18 };
            box[i].late = (seed >> 20) % 2;
            box[i].n_in = i == 0 ? 0 : (int)(seed >> 16) % 4;
            for (int k = 0; k < box[i].n_in; k++) {
                seed = seed * 1664525u + 1013904223u;
                const int near = i < 4 || (seed >> 30) == 0 ? i : 4;
                box[i].in[k] = i - 1 - (int)(seed >> 16) % near;
            }
            inputs += box[i].n_in;
        }
        assert_true(vug_layout_init(&l, &arena));
        assert_int_equal(l.n_wires, inputs);
        assert_layout(&l);
        for (int i = 0; i < l.n_wires; i++) {
            for (int k = 0; k < i; k++)
                assert_apart(&l.wire[i], &l.wire[k]);
        }
        vug_arena_release(&arena);
    }
}

/* A residual passes its branch on the left and enters its reader at the side; a
 * longer wire with nothing in its column goes straight down. */
static void test_residual(void **state)
{
    (void)state;
    /* x; norm(x); a(norm), b(norm); c(a); join(c, b); add(x, join) */
    vug_layout_box box[] = {
        { .w = 100, .h = 26 },
        { .w = 100, .h = 26, .n_in = 1, .in = { 0 } },
        { .w = 100, .h = 26, .n_in = 1, .in = { 1 } },
        { .w = 100, .h = 26, .n_in = 1, .in = { 1 } },
        { .w = 100, .h = 26, .n_in = 1, .in = { 2 } },
        { .w = 100, .h = 26, .n_in = 2, .in = { 4, 3 } },
        { .w = 100, .h = 26, .n_in = 2, .in = { 0, 5 } },
    };
    enum { X, NORM, A, B, C, JOIN, ADD };
    vug_layout l = { .box = box, .n_boxes = 7 };
    vug_arena arena = { 0 };
    assert_true(vug_layout_init(&l, &arena));
    assert_layout(&l);
    assert_int_equal(box[X].x, box[NORM].x);
    assert_int_equal(box[X].x, box[JOIN].x);
    assert_int_equal(box[X].x, box[ADD].x);
    assert_int_equal(box[A].x + box[B].x, 2 * box[X].x);
    assert_int_equal(box[A].x, box[C].x);
    for (int i = 0; i < l.n_wires; i++) {
        const vug_layout_wire *w = &l.wire[i];
        assert_int_equal(w->aside, w->from == X && w->to == ADD);
        if (w->aside) {
            assert_true(w->at[2].x < box[A].x);
            assert_int_equal(w->at[w->n - 1].x, box[ADD].x);
        } else if (w->from == B) {
            assert_int_equal(w->at[1].x, w->at[0].x);
            assert_true(w->at[1].y > box[C].y + box[C].h);
        }
    }
    vug_arena_release(&arena);
}

static void test_late(void **state)
{
    (void)state;
    /* A chain of three, and a source that only its end reads. */
    vug_layout_box box[] = {
        { .w = 100, .h = 26 },
        { .w = 60, .h = 40, .late = true },
        { .w = 100, .h = 26, .n_in = 1, .in = { 0 } },
        { .w = 100, .h = 26, .n_in = 2, .in = { 2, 1 } },
    };
    vug_layout l = { .box = box, .n_boxes = 4 };
    vug_arena arena = { 0 };
    assert_true(vug_layout_init(&l, &arena));
    assert_layout(&l);
    assert_int_equal(box[1].row, 1);
    l.n_boxes = 0;
    assert_true(vug_layout_init(&l, &arena));
    assert_int_equal(l.width, 0);
    assert_int_equal(l.height, 0);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
