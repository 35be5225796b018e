/*
 * The dumps of a graph: the text changes with everything that the graph computes, equal
 * layers fold, DOT and SVG are well formed whatever the names are, and the text of a box
 * stays inside it.
 */
#include "test.h"

#include "drawing/drawing.h"
#include "flow/builder.h"
#include "ir/dump.h"

#define HOSTILE "<a&\"b'>\\"

/* ---- a model like Gemma 3 -------------------------------------------------- */

enum { V = 100, D = 16, H = 4, K = 2, E = 8, HE = H * E, KE = K * E, F = 32, W = 5 };
enum { MAX_LAYERS = 30 };

/* What a test changes in a layer. */
typedef struct {
    bool full;      /* full attention, with the other table */
    float scale;    /* of attention; 0: the usual one */
    bool swapped;   /* residual and branch change places in the first add */
    bool crossed;   /* the factors of the product change places */
    bool other_ffn; /* with one more operation */
    bool other_table;
} layer_spec;

typedef struct {
    layer_spec layer[MAX_LAYERS];
    int n;
    bool hidden;
    const char *weight_name; /* of the head, if it is not tied */
} model_spec;

static vug_status find_weight(const void *user, const char *name, int layer, vug_weight_spec *out,
                              vug_err *err)
{
    (void)user;
    (void)err;
    static const struct {
        const char *name;
        vug_shape shape;
    } rows[] = {
        { "token_embd", { 2, { V, D } } }, { "attn_q", { 2, { HE, D } } },
        { "attn_k", { 2, { KE, D } } },    { "attn_v", { 2, { KE, D } } },
        { "attn_q_norm", { 1, { E } } },   { "attn_k_norm", { 1, { E } } },
        { "attn_out", { 2, { D, HE } } },  { "ffn_gate", { 2, { F, D } } },
        { "ffn_up", { 2, { F, D } } },     { "ffn_down", { 2, { D, F } } },
        { HOSTILE, { 2, { V, D } } },      { "output_norm", { 1, { D } } },
        { "attn_norm", { 1, { D } } },     { "post_attn_norm", { 1, { D } } },
        { "ffn_norm", { 1, { D } } },      { "post_ffn_norm", { 1, { D } } },
    };
    const int n = sizeof(rows) / sizeof(rows[0]);
    int i = 0;
    while (i < n && strcmp(rows[i].name, name) != 0)
        i++;
    assert_true(i < n);
    *out = (vug_weight_spec){ 100 * (layer + 1) + i, VUG_DTYPE_BF16, rows[i].shape };
    return VUG_OK;
}

static vug_val block(vug_flow *f, vug_val x, vug_val table, const layer_spec *s)
{
    const vug_attr_norm norm = { 1e-6f, 1 };
    const vug_attr_attn attn = { .window = s->full ? 0 : W,
                                 .scale = s->scale > 0 ? s->scale : 0.25f };
    vug_val h = flow_rms_norm(f, x, "attn_norm", norm);
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), H);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), K);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), K);
    q = flow_rope(f, flow_rms_norm(f, q, "attn_q_norm", norm), table);
    k = flow_rope(f, flow_rms_norm(f, k, "attn_k_norm", norm), table);
    h = flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_out");
    h = flow_rms_norm(f, h, "post_attn_norm", norm);
    x = s->swapped ? flow_add(f, h, x) : flow_add(f, x, h);
    h = flow_rms_norm(f, x, "ffn_norm", norm);
    vug_val gate = flow_gelu(f, flow_linear(f, h, "ffn_gate"));
    if (s->other_ffn)
        gate = flow_gelu(f, gate);
    const vug_val up = flow_linear(f, h, "ffn_up");
    h = s->crossed ? flow_mul(f, up, gate) : flow_mul(f, gate, up);
    h = flow_linear(f, h, "ffn_down");
    return flow_add(f, x, flow_rms_norm(f, h, "post_ffn_norm", norm));
}

static vug_graph build(const model_spec *s)
{
    static const float local[] = { 1, 0.5f, 0.25f, 0.125f }, global[] = { 1, 0.1f, 0.01f, 0.001f };
    vug_graph g = { .name = "gemma-like" };
    vug_flow f = vug_flow_begin(&g, find_weight, NULL);
    vug_err err = { 0 };
    f.hidden = s->hidden;
    const vug_val tokens = flow_input(&f, VUG_INPUT_TOKENS);
    const vug_val positions = flow_input(&f, VUG_INPUT_POSITIONS);
    const vug_val rows = flow_input(&f, VUG_INPUT_ROWS);
    const vug_val table[2] = {
        flow_rope_table(&f, positions, "local", (vug_attr_table){ E, local, 1 }),
        flow_rope_table(&f, positions, "global", (vug_attr_table){ E, global, 1 })
    };
    const vug_val embedding = flow_weight(&f, "token_embd");
    vug_val x = flow_embed(&f, embedding, tokens, 4);
    for (f.layer = 0; f.layer < s->n; f.layer++) {
        flow_hidden(&f, x);
        x = block(&f, x, table[s->layer[f.layer].full != s->layer[f.layer].other_table],
                  &s->layer[f.layer]);
    }
    f.layer = -1;
    x = flow_rms_norm(&f, flow_gather(&f, x, rows), "output_norm", (vug_attr_norm){ 1e-6f, 1 });
    flow_output(&f, s->weight_name ? s->weight_name : "logits",
                s->weight_name ? flow_linear(&f, x, s->weight_name)
                               : flow_project(&f, x, embedding));
    if (vug_flow_finish(&f, &err) != VUG_OK || vug_graph_verify(&g, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return g;
}

/* Seven layers, of which the third and the sixth are full. */
static model_spec seven(void)
{
    model_spec s = { .n = 7 };
    s.layer[2].full = s.layer[5].full = true;
    return s;
}

/* The caller's to release. */
static vug_buf dump(const vug_graph *g, void (*as)(const vug_graph *, vug_buf *))
{
    vug_buf out = { 0 };
    vug_err err = { 0 };
    as(g, &out);
    assert_int_equal(vug_buf_ok(&out, &err), VUG_OK);
    assert_non_null(out.ptr);
    return out;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is missing in:\n%.4000s", part, text);
}

/* ---- text ------------------------------------------------------------------ */

static void test_text_lines(void **state)
{
    (void)state;
    static const float inv[] = { 1, 0.5f };
    vug_graph g = { .name = "tiny" };
    vug_err err = { 0 };
    vug_val v = { 0 };
    const vug_node node[] = {
        { .op = VUG_OP_INPUT,
          .layer = -1,
          .shape = { 1, { VUG_DIM_T } },
          .at.input = { .which = VUG_INPUT_POSITIONS } },
        { .op = VUG_OP_ROPE_TABLE, .layer = -1, .in = { { 1 } }, .at.table = { 4, inv, 1 } },
        { .op = VUG_OP_PARAM,
          .layer = 0,
          .name = "w",
          .shape = { 2, { 6, 4 } },
          .at.param = { 7, VUG_DTYPE_BF16 } },
        { .op = VUG_OP_LINEAR, .layer = 0, .name = "attn_q", .in = { { 2 }, { 3 } } },
        { .op = VUG_OP_SCALE, .layer = 0, .name = "a\nb", .in = { { 4 } }, .at.scale = { 0.1f } },
    };
    for (size_t i = 0; i < sizeof(node) / sizeof(node[0]); i++)
        assert_int_equal(vug_graph_append(&g, &node[i], &v, &err), VUG_OK);
    assert_int_equal(vug_graph_output(&g, "out", v, &err), VUG_OK);
    vug_buf text = dump(&g, vug_graph_text);
    /* The hash of the table is FNV-1a of 0000803f 0000003f. */
    assert_string_equal(text.ptr,
                        "graph tiny: 5 nodes, 1 layers, 1 outputs\n"
                        "%1 = input [T] {positions}\n"
                        "%2 = rope_table(%1) [T,4] {dims 4 factor 1 inv 1 .. 0.5 #a72f9215}\n"
                        "%3 = param [6,4] {BF16 slot 7} layer 0 w\n"
                        "%4 = linear(%2, %3) [T,6] layer 0 attn_q\n"
                        "%5 = scale(%4) [T,6] {by 0.100000001} layer 0 a\xef\xbf\xbd"
                        "b\n"
                        "output out = %5\n");
    vug_buf_release(&text);
    vug_graph_release(&g);
}

static void test_text_equal(void **state)
{
    (void)state;
    const model_spec s = seven();
    vug_graph a = build(&s), b = build(&s);
    vug_buf x = dump(&a, vug_graph_text), y = dump(&b, vug_graph_text);
    assert_string_equal(x.ptr, y.ptr);
    vug_buf_release(&x);
    vug_buf_release(&y);
    vug_graph_release(&a);
    vug_graph_release(&b);
}

/* The first node of an op. */
static vug_node *first(vug_graph *g, vug_op op)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op == op)
            return &g->node[i];
    }
    fail_msg("no %s", vug_op_name(op));
    return NULL;
}

enum { CHANGES = 20 };

static void change(vug_graph *g, int which)
{
    static const float middle_differs[] = { 1, 0.5f, 0.2500001f, 0.125f };
    vug_attr_table *table = &first(g, VUG_OP_ROPE_TABLE)->at.table;
    vug_attr_attention *attn = &first(g, VUG_OP_ATTENTION)->at.attn;
    vug_attr_norm *norm = &first(g, VUG_OP_RMS_NORM)->at.norm;
    switch (which) {
    case 0:
        norm->eps = 1.0000001e-6f;
        break;
    case 1:
        norm->bias = 0;
        break;
    case 2:
        attn->window = 6;
        break;
    case 3:
        attn->scale = 0.25000003f;
        break;
    case 4:
        attn->softcap = 50;
        break;
    case 5:
        attn->layer = 1;
        break;
    case 6:
        table->factor = 2;
        break;
    case 7:
        table->dims = 6;
        break;
    case 8:
        table->inv = middle_differs;
        break;
    case 9:
        first(g, VUG_OP_PARAM)->at.param.dtype = VUG_DTYPE_F16;
        break;
    case 10:
        first(g, VUG_OP_PARAM)->at.param.slot = 99;
        break;
    case 11:
        first(g, VUG_OP_INPUT)->at.input.which = VUG_INPUT_ROWS;
        break;
    case 12:
        first(g, VUG_OP_EMBED)->at.scale.by = 5;
        break;
    case 13:
        first(g, VUG_OP_HEADS)->at.heads.count = 2;
        break;
    case 14:
        first(g, VUG_OP_LINEAR)->name = "other";
        break;
    case 15:
        first(g, VUG_OP_LINEAR)->layer = 1;
        break;
    case 16:
        first(g, VUG_OP_LINEAR)->in[0].id++;
        break;
    case 17:
        first(g, VUG_OP_LINEAR)->shape.dim[0] = VUG_DIM_R;
        break;
    case 18:
        first(g, VUG_OP_MUL)->op = VUG_OP_ADD;
        break;
    default:
        g->output[0].name = "other";
        break;
    }
}

static void test_text_changes(void **state)
{
    (void)state;
    const model_spec s = seven();
    vug_graph same = build(&s);
    vug_buf before = dump(&same, vug_graph_text);
    for (int i = 0; i < CHANGES; i++) {
        vug_graph g = build(&s);
        change(&g, i);
        vug_buf after = dump(&g, vug_graph_text);
        if (strcmp(before.ptr, after.ptr) == 0)
            fail_msg("change %d does not show", i);
        vug_buf_release(&after);
        vug_graph_release(&g);
    }
    vug_buf_release(&before);
    vug_graph_release(&same);
}

/* ---- characters ------------------------------------------------------------ */

static void assert_xml(const char *text, int columns, const char *want)
{
    vug_buf out = { 0 };
    vug_xml_append(&out, text, columns);
    assert_string_equal(out.ptr ? out.ptr : "", want);
    vug_buf_release(&out);
}

static void test_characters(void **state)
{
    (void)state;
    assert_xml("<a&\"b'>", -1, "&lt;a&amp;&quot;b&#39;&gt;");
    assert_xml("a\x01\x7f\x1b[0m", -1, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd[0m");
    assert_xml("\xc3\xa9\xff\xc3", -1, "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
    assert_xml("\xef\xbf\xbf", -1, "\xef\xbf\xbd"); /* U+FFFF */
    assert_xml("abcdef", 6, "abcdef");
    assert_xml("abcdef", 4, "abc\xe2\x80\xa6");
    assert_xml("a&&&&&", 3, "a&amp;\xe2\x80\xa6"); /* never inside an entity */
    assert_int_equal(vug_text_columns("\xc3\xa9t\xc3\xa9"), 3);
    assert_int_equal(vug_text_columns("\xe6\xbc\xa2"), 2);
}

/* ---- folding --------------------------------------------------------------- */

/* Kinds as letters, "AABAABA". */
static void assert_kinds(const model_spec *s, const char *want)
{
    vug_graph g = build(s);
    vug_arena arena = { 0 };
    vug_fold f;
    char got[MAX_LAYERS + 1] = "";
    assert_true(vug_fold_init(&g, &arena, &f));
    assert_int_equal(f.n_layers, s->n);
    for (int i = 0; i < s->n; i++)
        got[i] = (char)('A' + f.kind[i]);
    assert_string_equal(got, want);
    for (int k = 0; k < f.n_kinds; k++) {
        const char letter = (char)('A' + k);
        assert_int_equal(f.first[k], strchr(got, letter) - got);
        assert_int_equal(f.last[k], strrchr(got, letter) - got);
        int n = 0;
        for (const char *c = got; *c; c++)
            n += *c == letter;
        assert_int_equal(f.count[k], n);
    }
    vug_arena_release(&arena);
    vug_graph_release(&g);
}

static void test_fold_kinds(void **state)
{
    (void)state;
    model_spec s = seven();
    assert_kinds(&s, "AABAABA");
    s.hidden = true;
    assert_kinds(&s, "AABAABA");
    s.layer[4].scale = 0.5f;
    assert_kinds(&s, "AABACBA");
    s.layer[4].scale = 0;
    s.layer[3].swapped = true; /* the same ops, other wires */
    assert_kinds(&s, "AABCABA");
    s.layer[6].other_ffn = true;
    assert_kinds(&s, "AABCABD");
    s = seven();
    s.layer[1].crossed = true;
    s.layer[5].other_table = true;
    assert_kinds(&s, "ABCAADA");
    s = (model_spec){ .n = 1 };
    assert_kinds(&s, "A");
    s.n = 0;
    assert_kinds(&s, "");
}

/* The embedding may correspond to the last value of the layer before if that value has no
 * other role, and to no other value. */
static void test_fold_stream(void **state)
{
    (void)state;
    enum { START = 0, COMMON = 1, STREAM = 2, INNER = 3 };
    static const struct {
        int in[4][2]; /* of the add of each layer */
        const char *kinds;
    } rows[] = {
        { { { STREAM, COMMON }, { STREAM, COMMON }, { STREAM, COMMON } }, "AAA" },
        { { { START, COMMON }, { START, COMMON }, { START, COMMON } }, "AAA" },
        { { { STREAM, START }, { STREAM, START }, { STREAM, START } }, "ABB" },
        { { { START, STREAM }, { START, STREAM }, { START, STREAM } }, "ABB" },
        { { { STREAM, STREAM }, { STREAM, STREAM }, { STREAM, COMMON } }, "AAB" },
        { { { STREAM, COMMON }, { INNER, COMMON }, { STREAM, COMMON } }, "ABA" },
        { { { STREAM, STREAM }, { STREAM, INNER }, { STREAM, INNER } }, "ABB" },
        { { { COMMON, COMMON }, { COMMON, STREAM }, { COMMON, INNER } }, "ABC" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_graph g = { 0 };
        vug_err err = { 0 };
        vug_val v[4] = { 0 };
        const vug_node in = { .op = VUG_OP_INPUT, .layer = -1, .shape = { 2, { VUG_DIM_T, 4 } } };
        assert_int_equal(vug_graph_append(&g, &in, &v[START], &err), VUG_OK);
        assert_int_equal(vug_graph_append(&g, &in, &v[COMMON], &err), VUG_OK);
        v[STREAM] = v[INNER] = v[START];
        for (int layer = 0; layer < 3; layer++) {
            const vug_node add = { .op = VUG_OP_ADD,
                                   .layer = layer,
                                   .in = { v[rows[i].in[layer][0]], v[rows[i].in[layer][1]] } };
            assert_int_equal(vug_graph_append(&g, &add, &v[INNER], &err), VUG_OK);
            const vug_node gelu = { .op = VUG_OP_GELU, .layer = layer, .in = { v[INNER] } };
            assert_int_equal(vug_graph_append(&g, &gelu, &v[STREAM], &err), VUG_OK);
        }
        vug_arena arena = { 0 };
        vug_fold f;
        assert_true(vug_fold_init(&g, &arena, &f));
        for (int layer = 0; layer < 3; layer++)
            assert_int_equal('A' + f.kind[layer], rows[i].kinds[layer]);
        vug_arena_release(&arena);
        vug_graph_release(&g);
    }
}

static void test_fold_lists(void **state)
{
    (void)state;
    int kind[] = { 0, 0, 0, 1, 0, 0, 1, 0, 2 };
    const vug_fold f = { .kind = kind, .n_layers = 9, .n_kinds = 3 };
    static const struct {
        int kind, from, to;
        const char *want;
    } rows[] = {
        { 0, 0, 9, "layers 0-2, 4-5 and 7" },
        { 1, 0, 9, "layers 3 and 6" },
        { 2, 0, 9, "layer 8" },
        { 0, 0, 3, "layers 0-2" },
        { 0, 1, 2, "layer 1" },
        { 0, 1, 6, "layers 1-2 and 4-5" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_buf out = { 0 };
        vug_fold_list(&f, rows[i].kind, rows[i].from, rows[i].to, &out);
        assert_string_equal(out.ptr, rows[i].want);
        vug_buf_release(&out);
    }
}

/* ---- DOT ------------------------------------------------------------------- */

/* Quotes are paired and braces outside of them are balanced. */
static void assert_dot(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (const char *c = text; *c; c++) {
        if (quoted && *c == '\\') {
            assert_true(c[1] == '\\' || c[1] == '"' || c[1] == 'n');
            c++;
        } else if (*c == '"') {
            quoted = !quoted;
        } else if (quoted && *c == '&') {
            assert_memory_equal(c, "&amp;", 5);
        } else if (!quoted) {
            depth += (*c == '{') - (*c == '}');
            assert_true(depth > 0 || *c != '}' || strcmp(c, "}\n") == 0);
        }
    }
    assert_false(quoted);
    assert_int_equal(depth, 0);
}

static void test_dot(void **state)
{
    (void)state;
    model_spec s = seven();
    s.weight_name = HOSTILE;
    s.hidden = true;
    vug_graph g = build(&s);
    g.name = HOSTILE;
    vug_buf dot = dump(&g, vug_graph_dot);
    assert_dot(dot.ptr);
    assert_has(dot.ptr, "digraph \"<a&amp;\\\"b'>\\\\\" {");
    assert_int_equal(count(dot.ptr, "subgraph cluster_"), 5);
    assert_has(dot.ptr, "label=\"layers 0-1 (x 2)\"");
    assert_has(dot.ptr, "label=\"layer 2\"");
    assert_has(dot.ptr, "label=\"layers 3-4 (x 2)\"");
    assert_has(dot.ptr, "label=\"layer 6\"");
    /* Every end of an edge was declared. */
    for (const char *at = dot.ptr; (at = strstr(at, "  n")) != NULL; at += 3) {
        char *end;
        const unsigned long from = strtoul(at + 3, &end, 10);
        if (strncmp(end, " -> n", 5) != 0)
            continue;
        const unsigned long to = strtoul(end + 5, NULL, 10);
        char declared[64];
        (void)snprintf(declared, sizeof(declared), " n%lu [", from);
        assert_has(dot.ptr, declared);
        (void)snprintf(declared, sizeof(declared), " n%lu [", to);
        assert_has(dot.ptr, declared);
    }
    vug_buf_release(&dot);
    vug_graph_release(&g);
}

/* ---- SVG ------------------------------------------------------------------- */

/* Checks the XML that drawings use: balanced elements, quoted attributes, known entities, no
 * stray markup, no scripts. */
static void assert_xml_document(const char *text)
{
    char open[16][16];
    int depth = 0, roots = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '&') {
            const size_t n = strcspn(c, ";");
            assert_true((n == 3 && memcmp(c, "&lt", 3) == 0) ||
                        (n == 3 && memcmp(c, "&gt", 3) == 0) ||
                        (n == 4 && memcmp(c, "&amp", 4) == 0) ||
                        (n == 4 && memcmp(c, "&#39", 4) == 0) ||
                        (n == 5 && memcmp(c, "&quot", 5) == 0));
        }
        assert_true(*c != '>');
        if (*c != '<') {
            assert_true(depth > 0 || *c == '\n');
            continue;
        }
        const bool closes = c[1] == '/';
        const char *tag = c + 1 + closes;
        const size_t n = strspn(tag, "abcdefghijklmnopqrstuvwxyz");
        assert_true(n > 0 && n < sizeof(open[0]));
        bool quoted = false;
        for (c++; *c != '>' || quoted; c++) {
            assert_true(*c != '\0' && *c != '<');
            quoted ^= *c == '"';
        }
        if (closes) {
            assert_true(depth > 0);
            depth--;
            assert_true(strlen(open[depth]) == n && memcmp(open[depth], tag, n) == 0);
        } else if (c[-1] != '/') {
            assert_true(depth < 16);
            roots += depth == 0;
            memcpy(open[depth], tag, n);
            open[depth++][n] = '\0';
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "href"));
}

static int number_after(const char *at, const char *key)
{
    at = strstr(at, key);
    assert_non_null(at);
    return (int)strtol(at + strlen(key), NULL, 10);
}

/* Columns of the text after `at`, entities undone. */
static int columns_at(const char *at)
{
    int n = 0;
    for (at = strchr(at, '>') + 1; *at != '<'; at++) {
        if (*at == '&')
            at = strchr(at, ';');
        n += ((unsigned char)*at & 0xc0) != 0x80;
    }
    return n;
}

/* In every box the text fits, and title and shape do not overlap, in a font whose width is
 * 0.602 of its size, as that of DejaVu Sans Mono, the widest of the fonts. */
static int check_boxes(const char *svg)
{
    int boxes = 0;
    for (const char *g = svg; (g = strstr(g, "<g><title>")) != NULL; g++) {
        const char *end = strstr(g, "</g>"), *rect = strstr(g, "<rect ");
        const int left = number_after(rect, " x=\""), wide = number_after(rect, " width=\"");
        const int top = number_after(rect, " y=\""), high = number_after(rect, " height=\"");
        int title_end = 0;
        for (const char *t = strstr(g, "<text "); t && t < end; t = strstr(t + 1, "<text ")) {
            const int x = number_after(t, " x=\""), y = number_after(t, " y=\"");
            const char *css = strstr(t, "class=\"") + 7;
            const bool small = strncmp(css, "small", 5) == 0, shape = strncmp(css, "shape", 5) == 0;
            const int w = (columns_at(t) * (small ? 11 : 12) * 602 + 999) / 1000;
            const int begin = shape ? x - w : x;
            assert_true(begin >= left + 3 && begin + w <= left + wide - 3);
            assert_true(y > top + 8 && y < top + high - 3);
            if (shape)
                assert_true(begin > title_end);
            else if (!title_end)
                title_end = begin + w;
        }
        boxes++;
    }
    return boxes;
}

static void test_svg(void **state)
{
    (void)state;
    const model_spec s = seven();
    vug_graph g = build(&s);
    vug_buf svg = dump(&g, vug_graph_svg);
    assert_xml_document(svg.ptr);
    /* Two kinds of 24 ops, an entry and an exit; 5 boxes and an exit before them,
     * an entry, 4 boxes and an output after them. */
    assert_int_equal(check_boxes(svg.ptr), 2 * 26 + 6 + 6);
    assert_has(svg.ptr, ">7 layers of 2 kinds<");
    assert_has(svg.ptr, ">sliding window 5: 5 x 3,152 parameters<");
    assert_has(svg.ptr, ">layers 0-1, 3-4 and 6<");
    assert_has(svg.ptr, ">full attention: 2 x 3,152 parameters<");
    assert_has(svg.ptr, ">layers 2 and 5<");
    assert_has(svg.ptr, ">7 layers, 23,680 parameters, 46.2 KiB of weights, ");
    assert_has(svg.ptr, "attn_q [32,16] BF16");
    assert_has(svg.ptr, "small attr differs\">window 5, scale 0.25<");
    assert_has(svg.ptr, "small attr differs\">all tokens, scale 0.25<");
    assert_int_equal(count(svg.ptr, "class=\"cell\""), 2 * 7);
    assert_int_equal(count(svg.ptr, "<path class=\"wire aside\""), 2 * 2 + 1);
    vug_buf_release(&svg);
    vug_graph_release(&g);
}

static void test_svg_hostile(void **state)
{
    (void)state;
    char longest[300];
    memset(longest, '&', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    model_spec s = seven();
    s.weight_name = HOSTILE;
    s.hidden = true;
    vug_graph g = build(&s);
    g.name = "]]></svg><script>\xff";
    first(&g, VUG_OP_LINEAR)->name = longest;
    g.node[g.n - 1].name = longest;
    first(&g, VUG_OP_EMBED)->name = longest;
    vug_buf svg = dump(&g, vug_graph_svg);
    assert_has(svg.ptr, ">]]&gt;&lt;/svg&gt;&lt;script&gt;\xef\xbf\xbd<");
    assert_xml_document(svg.ptr);
    assert_has(svg.ptr, "&lt;a&amp;&quot;b&#39;&gt;\\");
    assert_has(svg.ptr, "output hidden.1 .. hidden.5 (4)<");
    assert_true(check_boxes(svg.ptr) > 40);
    vug_buf_release(&svg);
    vug_graph_release(&g);
}

/* Anything that can be built can be drawn. */
static void test_svg_odd(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        vug_graph g = { 0 };
        vug_err err = { 0 };
        vug_val v = { 0 };
        model_spec s = { .n = MAX_LAYERS };
        for (int i = 0; i < s.n; i++)
            s.layer[i].scale = (float)(i + 1); /* every layer a kind of its own */
        if (way == 1)
            s.n = 0;
        if (way > 0 && way < 3)
            g = build(&s);
        /* Layers without nodes before one that has one; an output that is a weight. */
        const vug_node node = { .op = VUG_OP_PARAM, .layer = 3, .shape = { 1, { 4 } } };
        if (way == 3) {
            assert_int_equal(vug_graph_append(&g, &node, &v, &err), VUG_OK);
            assert_int_equal(vug_graph_output(&g, "w", v, &err), VUG_OK);
        }
        vug_buf svg = dump(&g, vug_graph_svg), dot = dump(&g, vug_graph_dot);
        assert_xml_document(svg.ptr);
        assert_dot(dot.ptr);
        (void)check_boxes(svg.ptr);
        vug_buf_release(&svg);
        vug_buf_release(&dot);
        vug_graph_release(&g);
    }
}

/* A buffer that may not grow far enough is marked bad, whatever its limit. */
static void test_full_buffers(void **state)
{
    (void)state;
    const model_spec s = seven();
    vug_graph g = build(&s);
    void (*const as[])(const vug_graph *, vug_buf *) = { vug_graph_text, vug_graph_dot,
                                                         vug_graph_svg };
    for (int i = 0; i < 3; i++) {
        for (size_t max = 1; max < 5000; max = max * 2 + 1) {
            vug_buf out = { .max = max };
            as[i](&g, &out);
            assert_true(out.bad);
            vug_buf_release(&out);
        }
    }
    vug_graph_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_lines),   cmocka_unit_test(test_text_equal),
        cmocka_unit_test(test_text_changes), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_fold_kinds),   cmocka_unit_test(test_fold_stream),
        cmocka_unit_test(test_fold_lists),   cmocka_unit_test(test_dot),
        cmocka_unit_test(test_svg),          cmocka_unit_test(test_svg_hostile),
        cmocka_unit_test(test_svg_odd),      cmocka_unit_test(test_full_buffers)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
