/*
 * Compares two flows as text: finds the shortest script of removed and added lines
 * (Myers 1986, "An O(ND) difference algorithm", the greedy forward search).
 * Operands are shown by name, since one more node shifts the numbers of all later ones.
 */
#include "engine/internal.h"

#include "core/utf8.h"

/* The search stops at scripts of this length; then all lines count as different. */
enum { MAX_CHANGES = 2000 };

typedef struct {
    vug_buf text;
    vug_str *line; /* [n] */
    int n;
} graph_lines;

/* ---- lines ------------------------------------------------------------------------ */

static void append_operand(const vug_graph *g, uint32_t id, vug_buf *to)
{
    const vug_node *node = &g->node[id];
    vug_buf_puts(to, node->name ? node->name : vug_op_name(node->op));
}

/* Appends a line of the graph's text without the number of its node. */
static void append_line(const vug_graph *g, vug_str line, vug_buf *to)
{
    const char *equals = memchr(line.ptr, '=', line.len);
    const bool node = line.len > 0 && *line.ptr == '%' && equals;
    size_t i = node ? (size_t)(equals - line.ptr) + 2 : 0;
    while (i < line.len) {
        uint32_t id = 0;
        size_t digits = 0;
        for (size_t k = i + 1; line.ptr[i] == '%' && k < line.len && digits < 8; k++, digits++) {
            if (line.ptr[k] < '0' || line.ptr[k] > '9')
                break;
            id = id * 10 + (uint32_t)(line.ptr[k] - '0');
        }
        if (digits > 0 && id < g->n) {
            append_operand(g, id, to);
            i += digits + 1;
        } else {
            vug_buf_append(to, line.ptr + i++, 1);
        }
    }
    vug_buf_puts(to, "\n");
}

static vug_status split_lines(const vug_graph *g, graph_lines *out, vug_err *err)
{
    vug_buf raw = { 0 };
    vug_graph_text(g, &raw);
    vug_status st = vug_buf_ok(&raw, err);
    for (size_t at = 0; st == VUG_OK && at < raw.len;) {
        const char *end = memchr(raw.ptr + at, '\n', raw.len - at);
        const size_t n = end ? (size_t)(end - raw.ptr) - at : raw.len - at;
        append_line(g, (vug_str){ raw.ptr + at, n }, &out->text);
        out->n++;
        at += n + 1;
    }
    vug_buf_release(&raw);
    VUG_TRY(st);
    VUG_TRY(vug_buf_ok(&out->text, err));
    out->line = vug_alloc((size_t)out->n, sizeof(*out->line));
    if (!out->line)
        return VUG_FAIL_NOMEM(err, "a comparison", (size_t)out->n * sizeof(*out->line));
    const char *at = out->text.ptr;
    for (int i = 0; i < out->n; i++) {
        const size_t n = strcspn(at, "\n");
        out->line[i] = (vug_str){ at, n };
        at += n + 1;
    }
    return VUG_OK;
}

static void graph_lines_release(graph_lines *l)
{
    vug_buf_release(&l->text);
    vug_free(l->line);
}

/* ---- the script --------------------------------------------------------------------- */

/* far[d][k]: the farthest x in `a` that a path with d changes reaches on diagonal k = x - y,
 * -d <= k <= d. Rows are stored one after the other; row d begins at d * d. */
typedef struct {
    const graph_lines *a, *b;
    int *far;
    int d; /* the number of changes */
} edit_script;

static int *row_at(const edit_script *s, int d)
{
    return s->far + (size_t)d * (size_t)d + d;
}

/* Whether the path to diagonal k of row d comes from k + 1, which adds a line of b. */
static bool comes_down(const edit_script *s, int d, int k)
{
    const int *before = row_at(s, d - 1);
    return k == -d || (k != d && before[k - 1] < before[k + 1]);
}

static int start_of(const edit_script *s, int d, int k)
{
    if (d == 0)
        return 0;
    const int *before = row_at(s, d - 1);
    return comes_down(s, d, k) ? before[k + 1] : before[k - 1] + 1;
}

/* True if the path reaches the end of both texts. */
static bool extend_row(const edit_script *s, int d)
{
    for (int k = -d; k <= d; k += 2) {
        int x = start_of(s, d, k);
        while (x < s->a->n && x - k < s->b->n && x >= 0 && x - k >= 0 &&
               vug_str_equal(s->a->line[x], s->b->line[x - k]))
            x++;
        row_at(s, d)[k] = x;
        if (x >= s->a->n && x - k >= s->b->n)
            return true;
    }
    return false;
}

static void append_change(vug_buf *to, const char *sign, vug_str line)
{
    vug_buf_printf(to, "%s %.*s\n", sign, VUG_STR_ARG(line));
}

/* Follows the path back from the end and marks removed and added lines. */
static void mark_changes(const edit_script *s, bool *out, bool *in)
{
    int k = s->a->n - s->b->n;
    for (int d = s->d; d > 0; d--) {
        const int x = start_of(s, d, k);
        if (comes_down(s, d, k)) {
            in[x - k - 1] = true;
            k++;
        } else {
            out[x - 1] = true;
            k--;
        }
    }
}

static void append_changes(const graph_lines *a, const graph_lines *b, const bool *out,
                           const bool *in, vug_buf *to)
{
    for (int x = 0, y = 0; x < a->n || y < b->n;) {
        if (x < a->n && out[x])
            append_change(to, "-", a->line[x++]);
        else if (y < b->n && in[y])
            append_change(to, "+", b->line[y++]);
        else
            x++, y++;
    }
}

/* Row d needs 2d + 1 numbers: (d + 1)^2 for all up to it. */
static vug_status find_script(edit_script *s, vug_err *err)
{
    const int most = s->a->n + s->b->n < MAX_CHANGES ? s->a->n + s->b->n : MAX_CHANGES;
    const size_t n = ((size_t)most + 1) * ((size_t)most + 1);
    s->far = vug_alloc(n, sizeof(*s->far));
    if (!s->far)
        return VUG_FAIL_NOMEM(err, "a comparison", n * sizeof(*s->far));
    for (s->d = 0; s->d <= most; s->d++) {
        if (extend_row(s, s->d))
            return VUG_OK;
    }
    return VUG_OK;
}

static vug_status compare_lines(const graph_lines *a, const graph_lines *b, vug_buf *to,
                                vug_err *err)
{
    edit_script s = { .a = a, .b = b };
    bool *out = vug_alloc_zero((size_t)a->n + 1, 1), *in = vug_alloc_zero((size_t)b->n + 1, 1);
    vug_status st = VUG_OK;
    if (!out || !in)
        st = VUG_FAIL_NOMEM(err, "a comparison", (size_t)a->n + (size_t)b->n);
    if (st == VUG_OK)
        st = find_script(&s, err);
    if (st == VUG_OK && s.d > MAX_CHANGES) {
        memset(out, 1, (size_t)a->n);
        memset(in, 1, (size_t)b->n);
    } else if (st == VUG_OK) {
        mark_changes(&s, out, in);
    }
    if (st == VUG_OK)
        append_changes(a, b, out, in, to);
    vug_free(s.far);
    vug_free(out);
    vug_free(in);
    return st;
}

vug_status vug_flow_compare(const vug_flow *a, const vug_flow *b, vug_text *out, vug_err *err)
{
    graph_lines x = { 0 }, y = { 0 };
    vug_buf text = { 0 };
    vug_status st = split_lines(&vug_flow_object_of(a)->graph, &x, err);
    if (st == VUG_OK)
        st = split_lines(&vug_flow_object_of(b)->graph, &y, err);
    if (st == VUG_OK)
        st = compare_lines(&x, &y, &text, err);
    if (st == VUG_OK)
        st = vug_buf_take(&text, out, err);
    vug_buf_release(&text);
    graph_lines_release(&x);
    graph_lines_release(&y);
    return st;
}
