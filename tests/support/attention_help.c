#include "test.h"

#include "attention_help.h"

#include <math.h>

#include "backend/cpu/ref.h"

attention_sequence help_sequence(rng *r, int64_t n, int64_t heads, int64_t kv_heads, int64_t width)
{
    attention_sequence s = { .n = n, .heads = heads, .kv_heads = kv_heads, .width = width };
    const size_t nq = (size_t)(n * heads * width), nk = (size_t)(n * kv_heads * width);
    s.q = guarded_floats(nq);
    s.k = guarded_floats(nk);
    s.v = guarded_floats(nk);
    s.want = guarded_floats(nq);
    s.rounded_k = guarded_floats(nk);
    s.rounded_v = guarded_floats(nk);
    rng_fill(r, s.q, nq);
    rng_fill(r, s.k, nk);
    rng_fill(r, s.v, nk);
    s.score.scale = 2.0f / sqrtf((float)width);
    return s;
}

void help_sequence_expect(attention_sequence *s)
{
    for (int64_t i = 0; i < s->n * s->kv_heads * s->width; i += s->width) {
        vug_ref_round_kv(s->kv, s->k + i, s->width, s->rounded_k + i);
        vug_ref_round_kv(s->kv, s->v + i, s->width, s->rounded_v + i);
    }
    for (int64_t t = 0; t < s->n; t++) {
        for (int64_t h = 0; h < s->heads; h++) {
            const vug_ref_attention_job job = { .k = s->rounded_k,
                                                .v = s->rounded_v,
                                                .position = t,
                                                .heads = s->kv_heads,
                                                .head = h / (s->heads / s->kv_heads),
                                                .width = s->width,
                                                .window = s->window,
                                                .score = s->score,
                                                .mask = s->mask ? s->mask + t * s->n : NULL,
                                                .keys = s->n };
            const int64_t at = (t * s->heads + h) * s->width;
            vug_ref_attention(s->q + at, &job, s->want + at);
        }
    }
}

void help_sequence_release(attention_sequence *s)
{
    free_guarded(s->q);
    free_guarded(s->k);
    free_guarded(s->v);
    free_guarded(s->want);
    free_guarded(s->rounded_k);
    free_guarded(s->rounded_v);
}

attention_setup help_attention_setup(const attention_sequence *s, int64_t batch, int threads)
{
    attention_setup f = { .env.kernels = vug_cpu_kernels_select(NULL) };
    f.group = (vug_kv_group){
        .window = s->window, .heads = s->kv_heads, .width = s->width, .n_layers = 1
    };
    f.limits = (vug_limits){ s->n, batch, 0 };
    assert_true(vug_cpu_kv_cache_init(&f.cache, &f.group, 0, s->kv));
    assert_int_equal(vug_pool_create(threads, &f.env.pool, NULL), VUG_OK);
    f.env.scratch_floats = (vug_cpu_attention_scratch_floats(s->width) + 15) / 16 * 16;
    f.env.scratch = vug_alloc_aligned((size_t)(f.env.scratch_floats * threads) * sizeof(float));
    f.env.shared = guarded_floats((size_t)vug_cpu_attention_partial_floats(&f.cache, &f.limits));
    assert_non_null(f.env.scratch);
    return f;
}

void help_attention_teardown(attention_setup *f)
{
    check_guards(f->env.shared, (size_t)vug_cpu_attention_partial_floats(&f->cache, &f->limits));
    free_guarded(f->env.shared);
    vug_pool_destroy(f->env.pool);
    vug_free(f->env.scratch);
}

attention_pages help_pages(const attention_setup *f, int sequences)
{
    attention_pages p = { .sequences = sequences, .kv.n_groups = 1 };
    const int64_t blocks = vug_kv_pages_of(f->limits.context), window = f->group.window;
    int64_t n = blocks;
    if (window > 0 && vug_kv_pages_of(window - 1 + f->limits.batch) + 1 < blocks)
        n = vug_kv_pages_of(window - 1 + f->limits.batch) + 1;
    p.table = vug_alloc((size_t)sequences, sizeof(vug_page *));
    assert_non_null(p.table);
    for (int i = 0; i < sequences; i++) {
        p.table[i] = vug_alloc((size_t)blocks, sizeof(vug_page));
        assert_non_null(p.table[i]);
        for (int64_t b = 0; b < blocks; b++)
            p.table[i][b] = (vug_page)(sequences * n - (i * n + b % n));
    }
    const uint64_t bytes = vug_cpu_kv_cache_bytes(&f->cache);
    assert_int_equal(bytes % sizeof(float), 0);
    p.kv.group[0].pages = (uint32_t)(sequences * n);
    p.kv.group[0].page_bytes = bytes;
    p.kv.group[0].base = (uint8_t *)guarded_floats(p.kv.group[0].pages * bytes / sizeof(float));
    return p;
}

void help_pages_release(attention_pages *p)
{
    float *data = (float *)(void *)p->kv.group[0].base;
    check_guards(data, p->kv.group[0].pages * p->kv.group[0].page_bytes / sizeof(float));
    free_guarded(data);
    for (int i = 0; i < p->sequences; i++)
        vug_free(p->table[i]);
    vug_free(p->table);
}

const vug_page *const *help_table(const attention_pages *p, int i)
{
    return (const vug_page *const *)&p->table[i];
}

void help_append_and_attend(const attention_setup *f, const vug_cpu_attention_job *job)
{
    vug_cpu_kv_cache_append(&f->env, job);
    vug_cpu_attention(&f->env, job);
}

static const struct {
    int64_t n, heads, kv_heads, width, window;
    float softcap;
} shapes[HELP_SHAPES] = {
    { 70, 1, 1, 2, 0, 0 },     { 300, 4, 1, 16, 0, 0 },    { 300, 4, 2, 20, 100, 0 },
    { 600, 3, 3, 8, 16, 0 },   { 600, 8, 1, 6, 1, 0 },     { 700, 2, 1, 32, 300, 0 },
    { 1100, 2, 1, 4, 512, 0 }, { 300, 4, 1, 16, 0, 2.5f }, { 130, 28, 1, 10, 64, 0 },
    { 200, 6, 2, 72, 90, 0 },  { 90, 7, 1, 113, 0, 0 },
};

attention_sequence help_sequence_at(int i, rng *r)
{
    const vug_kv_format kv = (vug_kv_format)(i / HELP_SHAPES);
    i %= HELP_SHAPES;
    attention_sequence s =
            help_sequence(r, shapes[i].n, shapes[i].heads, shapes[i].kv_heads, shapes[i].width);
    s.window = shapes[i].window;
    s.score.softcap = shapes[i].softcap;
    s.kv = kv;
    help_sequence_expect(&s);
    return s;
}
