#include "text/grammar/schema_discriminator.h"
#include "text/grammar/schema_expansion.h"
#include "text/grammar/schema_unevaluated.h"

/*
 * From a set of schemas to its cases, a disjunctive normal form: $ref and allOf are joined, and
 * every combination of branches of anyOf and oneOf becomes a case.
 */

enum { STEPS_PER_EXPANSION = 32 }; /* of work, for its memory */

typedef struct {
    vug_schema_compiler *s;
    vug_schema_cases *out;
    const vug_schema_proofs *proofs; /* or NULL */
    bool unsatisfiable;              /* the schema `false` is joined */
    bool leaves_out;                 /* combinations that nothing satisfies are left out */
    bool overflow;                   /* there are too many combinations */
    const vug_jv *joined[VUG_SCHEMA_MAX_CASE];
    uint64_t joined_rank[VUG_SCHEMA_MAX_CASE]; /* of the choice that joined it; 0: none did */
    size_t n;
    const vug_jv *choice[VUG_SCHEMA_MAX_CHOICES]; /* the lists of anyOf and oneOf */
    uint64_t choice_rank[VUG_SCHEMA_MAX_CHOICES]; /* from 1 on; see rank_child */
    size_t n_choices;
    uint64_t rank;     /* of the choice whose branch is being joined */
    size_t n_children; /* choices that the branch has */
} expansion;

/* Ranks tell the order in which choices would be expanded one after the other: those of a branch
 * come after all that are less deep, and in the order of their parents. A rank is the depth in 4
 * bits, then the place at each level in 6. */
static uint64_t rank_child(uint64_t parent, size_t place)
{
    const uint64_t depth = parent >> 60;
    return depth < 10 ? parent + (UINT64_C(1) << 60) + ((uint64_t)place << (54 - 6 * depth))
                      : parent;
}

/* ---- joining ------------------------------------------------------------------------ */

static void join_schema(expansion *e, const vug_jv *schema);

static void add_choice(expansion *e, const vug_jv *list)
{
    if (!list)
        return;
    if (e->n_choices == VUG_SCHEMA_MAX_CHOICES)
        vug_schema_fail(e->s, VUG_LIMIT, list, "more than %d of anyOf and oneOf at once",
                        VUG_SCHEMA_MAX_CHOICES);
    else {
        e->choice_rank[e->n_choices] = rank_child(e->rank, e->n_children++);
        e->choice[e->n_choices++] = list;
    }
}

static bool is_joined(const expansion *e, const vug_jv *schema)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->joined[i] == schema)
            return true;
    return false;
}

/* vug_schema_check has bounded the depth of the recursion. */
static void join_schema(expansion *e, const vug_jv *schema) // NOLINT(misc-no-recursion)
{
    if (!vug_schema_charge(e->s, e->n + 1))
        return;
    if (schema->type == VUG_JSON_BOOL) {
        e->unsatisfiable = e->unsatisfiable || !schema->boolean;
        return;
    }
    vug_schema_entry *entry = vug_schema_check(e->s, schema);
    if (!entry || is_joined(e, schema))
        return;
    const vug_jv *ref = entry->ref_target;
    if (ref && e->s->ref_hides_siblings) {
        join_schema(e, ref);
        return;
    }
    if (e->n == VUG_SCHEMA_MAX_CASE) {
        vug_schema_fail(e->s, VUG_LIMIT, schema, "more than %d schemas for one value",
                        VUG_SCHEMA_MAX_CASE);
        return;
    }
    e->joined_rank[e->n] = e->rank;
    e->joined[e->n++] = schema;
    if (ref)
        join_schema(e, ref);
    const vug_jv *all = vug_jv_get(schema, "allOf");
    for (const vug_jv *m = all ? all->child : NULL; m; m = m->next)
        join_schema(e, m);
    const vug_jv *derived = vug_schema_derived(e->s, entry);
    if (derived)
        join_schema(e, derived);
    add_choice(e, vug_jv_get(schema, "anyOf"));
    add_choice(e, vug_jv_get(schema, "oneOf"));
}

/* ---- choices --------------------------------------------------------------------------- */

static size_t count_unevaluated(const expansion *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += vug_jv_get(e->joined[i], "unevaluatedProperties") ||
             vug_jv_get(e->joined[i], "unevaluatedItems");
    return n;
}

/* Copies what has been joined, in the order in which the choices have it. */
static void copy_joined(const expansion *e, const vug_jv **to)
{
    uint64_t rank[VUG_SCHEMA_MAX_CASE];
    for (size_t i = 0; i < e->n; i++) {
        size_t k = i;
        for (; k > 0 && rank[k - 1] > e->joined_rank[i]; k--) {
            rank[k] = rank[k - 1];
            to[k] = to[k - 1];
        }
        rank[k] = e->joined_rank[i];
        to[k] = e->joined[i];
    }
}

static void add_case(expansion *e)
{
    vug_schema_cases *out = e->out;
    e->overflow = out->n == VUG_SCHEMA_MAX_CASES;
    if (e->overflow || !vug_schema_charge(e->s, e->n))
        return;
    if (out->n == out->cap) {
        const size_t cap = out->cap ? 2 * out->cap : 4;
        vug_schema_case *list = vug_schema_alloc(e->s, cap, sizeof(*list));
        if (!list)
            return;
        if (out->n > 0)
            memcpy(list, out->list, out->n * sizeof(*list));
        out->list = list;
        out->cap = cap;
    }
    const vug_jv **joined = vug_schema_alloc_list(e->s, e->n + 2 * count_unevaluated(e));
    if (!joined)
        return;
    copy_joined(e, joined);
    const vug_schema_case c = { e->joined, e->n };
    const size_t n_more = vug_schema_add_unevaluated(e->s, c, joined + e->n);
    out->list[out->n++] = (vug_schema_case){ joined, e->n + n_more };
}

/* Joins the negations of the other branches of a oneOf that a value of branch `i` may satisfy.
 * `value`: from vug_schema_discriminate. */
static void exclude_overlapping(expansion *e, const vug_jv *list, size_t i, const vug_jv **value,
                                vug_schema_case base)
{
    const vug_jv *branch = list->child, *other = list->child;
    for (size_t k = 0; k < i; k++)
        branch = branch->next;
    (void)vug_schema_charge(e->s, list->n);
    for (size_t k = 0; other && vug_schema_ok(e->s); other = other->next, k++) {
        if (k == i || vug_schema_discriminates(value[i], value[k]) ||
            !e->proofs->may_overlap(e->s, base, branch, other))
            continue;
        const vug_jv *negated = vug_schema_negated(e->s, other);
        if (negated)
            join_schema(e, negated);
    }
}

/* The branches of a choice that some type of the values allows. */
static size_t count_branches(const expansion *e, const vug_jv *list, unsigned types)
{
    size_t n = 0;
    for (const vug_jv *branch = list->child; branch && vug_schema_charge(e->s, 1);
         branch = branch->next) {
        const vug_schema_case c = { &branch, 1 };
        n += branch->type == VUG_JSON_BOOL ? branch->boolean
                                           : (vug_schema_case_types(c) & types) != 0;
    }
    return n;
}

/* The choice with the fewest branches, so that contradictions show early. */
static size_t find_smallest_choice(const expansion *e, size_t next)
{
    const unsigned types = vug_schema_case_types((vug_schema_case){ e->joined, e->n });
    size_t best = next, fewest = SIZE_MAX;
    for (size_t i = next; i < e->n_choices && fewest > 1; i++) {
        const size_t n = count_branches(e, e->choice[i], types);
        best = n < fewest ? i : best;
        fewest = n < fewest ? n : fewest;
    }
    return best;
}

/* Whether what has been joined satisfies a branch, so that there is nothing to choose. */
static bool is_satisfied(const expansion *e, const vug_jv *list)
{
    const vug_schema_case base = { e->joined, e->n };
    const vug_jv *branch = list->child;
    if (!e->proofs || !e->leaves_out || vug_str_is(list->key, "oneOf"))
        return false;
    while (branch && !e->proofs->implies(e->s, base, branch))
        branch = branch->next;
    return branch != NULL;
}

static void swap_choices(expansion *e, size_t a, size_t b)
{
    const vug_jv *kept = e->choice[a];
    const uint64_t rank = e->choice_rank[a];
    e->choice[a] = e->choice[b];
    e->choice_rank[a] = e->choice_rank[b];
    e->choice[b] = kept;
    e->choice_rank[b] = rank;
}

/* One level of recursion per choice. */
static void expand_choices(expansion *e, size_t next) // NOLINT(misc-no-recursion)
{
    const vug_schema_case base = { e->joined, e->n };
    if (!vug_schema_ok(e->s) || e->overflow || e->unsatisfiable ||
        vug_schema_case_types(base) == 0 ||
        (e->proofs && e->leaves_out && e->proofs->is_unsatisfiable(e->s, base)))
        return;
    if (next == e->n_choices) {
        add_case(e);
        return;
    }
    const size_t chosen = e->leaves_out ? find_smallest_choice(e, next) : next;
    swap_choices(e, next, chosen);
    const vug_jv *list = e->choice[next];
    const size_t n_choices = e->n_choices;
    const bool exclusive = e->proofs && vug_str_is(list->key, "oneOf");
    const vug_jv **value = exclusive ? vug_schema_discriminate(e->s, base, list) : NULL;
    const bool satisfied = is_satisfied(e, list);
    size_t i = 0;
    if (satisfied)
        expand_choices(e, next + 1);
    for (const vug_jv *branch = satisfied ? NULL : list->child; branch; branch = branch->next) {
        e->rank = e->choice_rank[next];
        e->n_children = 0;
        join_schema(e, branch);
        if (value)
            exclude_overlapping(e, list, i++, value, base);
        expand_choices(e, next + 1);
        e->n = base.n;
        e->n_choices = n_choices;
        e->unsatisfiable = false;
    }
    swap_choices(e, next, chosen);
}

/* To prove that nothing satisfies a combination takes longer than to write it. */
static void expand_all(expansion *e)
{
    const size_t n = e->out->n;
    expand_choices(e, 0);
    if (e->overflow && e->proofs) {
        e->out->n = n;
        e->overflow = false;
        e->leaves_out = true;
        expand_choices(e, 0);
    }
    e->out->incomplete = e->overflow;
    if (e->overflow && e->proofs)
        vug_schema_fail(e->s, VUG_LIMIT, e->n ? e->joined[0] : NULL,
                        "more than %d combinations of anyOf and oneOf", VUG_SCHEMA_MAX_CASES);
}

void vug_schema_expand(vug_schema_compiler *s, vug_schema_case base, vug_schema_set more,
                       const vug_schema_proofs *proofs, vug_schema_cases *out)
{
    (void)vug_schema_charge(s, STEPS_PER_EXPANSION);
    expansion *e = vug_alloc_zero(1, sizeof(*e));
    if (!e) {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
        return;
    }
    e->s = s;
    e->out = out;
    e->proofs = proofs;
    if (base.n > 0)
        memcpy(e->joined, base.schema, base.n * sizeof(const vug_jv *));
    e->n = base.n;
    for (size_t i = 0; i < more.n; i++)
        join_schema(e, more.schema[i]);
    expand_all(e);
    vug_free(e);
}
