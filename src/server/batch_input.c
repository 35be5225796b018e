#include "server/batch_input.h"

#include <stdlib.h>

#include "core/sha256.h"

/* ---- lines ---------------------------------------------------------------------------- */

static bool is_blank(vug_str line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (!strchr(" \t\r", line.ptr[i]) || line.ptr[i] == '\0')
            return false;
    }
    return true;
}

vug_status vug_batch_next_line(vug_line_reader *lines, vug_batch_line *out, vug_err *err)
{
    for (;;) {
        vug_str text = { 0 };
        const vug_status st = vug_lines_next(lines, &text, err);
        *out = (vug_batch_line){ .text = text, .number = lines->number };
        if (st == VUG_LIMIT) {
            *out = (vug_batch_line){ .number = lines->number, .too_long = true };
            return VUG_OK;
        }
        if (st != VUG_OK)
            return st;
        if (!text.ptr)
            out->number = 0;
        if (!text.ptr || !is_blank(text))
            return VUG_OK;
    }
}

vug_status vug_batch_line_parse(const vug_batch_line *line, vug_arena *arena,
                                vug_batch_request *out, vug_err *err)
{
    *out = (vug_batch_request){ 0 };
    if (line->too_long)
        return VUG_FAIL(err, VUG_LIMIT, "the line is longer than %zu bytes", VUG_BATCH_MAX_LINE);
    return vug_batch_request_parse(line->text, arena, out, err);
}

/* ---- the index ------------------------------------------------------------------------ */

static vug_status make_key(vug_str custom_id, uint64_t line, uint8_t key[32], vug_err *err)
{
    vug_sha256 hash;
    vug_sha256_begin(&hash);
    if (custom_id.ptr) {
        vug_sha256_add(&hash, "id", 2);
        vug_sha256_add(&hash, custom_id.ptr, custom_id.len);
    } else {
        vug_sha256_add(&hash, "line", 4);
        vug_sha256_add(&hash, &line, sizeof(line));
    }
    return vug_sha256_finish(&hash, key, err);
}

static vug_status add_entry(vug_batch_index *index, const vug_batch_line *line, vug_arena *arena,
                            vug_err *err)
{
    vug_batch_request request;
    if (index->n == VUG_BATCH_MAX_REQUESTS)
        return VUG_FAIL(err, VUG_LIMIT, "more than %zu requests", VUG_BATCH_MAX_REQUESTS);
    vug_batch_entry *grown =
            vug_grow_array(index->entry, &index->cap, index->n, sizeof(*index->entry));
    if (!grown)
        return VUG_FAIL_NOMEM(err, "the list of requests", (index->n + 1) * sizeof(*grown));
    index->entry = grown;
    vug_batch_entry *entry = &index->entry[index->n++];
    *entry = (vug_batch_entry){ .line = line->number };
    /* What is wrong with the line is said in the output. */
    (void)(vug_batch_line_parse(line, arena, &request, NULL) == VUG_OK);
    return make_key(request.custom_id, line->number, entry->key, err);
}

static int compare_entries(const void *a, const void *b)
{
    const vug_batch_entry *x = a, *y = b;
    const int order = memcmp(x->key, y->key, sizeof(x->key));
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static vug_status check_unique(const vug_batch_index *index, vug_err *err)
{
    for (size_t i = 1; i < index->n; i++) {
        const vug_batch_entry *a = &index->entry[i - 1], *b = &index->entry[i];
        if (memcmp(a->key, b->key, sizeof(a->key)) == 0)
            return VUG_FAIL(err, VUG_FORMAT, "lines %llu and %llu have the same custom_id",
                            (unsigned long long)a->line, (unsigned long long)b->line);
    }
    return VUG_OK;
}

vug_status vug_batch_index_read(vug_batch_index *index, const char *path, vug_err *err)
{
    vug_line_reader lines;
    vug_batch_line line = { 0 };
    VUG_TRY(vug_lines_open(&lines, path, path, VUG_BATCH_MAX_LINE, err));
    vug_status st = vug_batch_next_line(&lines, &line, err);
    while (st == VUG_OK && line.number > 0) {
        vug_arena arena = { .budget = VUG_API_MAX_JSON_MEMORY };
        st = add_entry(index, &line, &arena, err);
        vug_arena_release(&arena);
        if (st == VUG_OK)
            st = vug_batch_next_line(&lines, &line, err);
    }
    vug_lines_close(&lines);
    if (st != VUG_OK)
        return st;
    if (index->n == 0)
        return VUG_FAIL(err, VUG_FORMAT, "%s: has no requests, expected one per line", path);
    qsort(index->entry, index->n, sizeof(*index->entry), compare_entries);
    st = check_unique(index, err);
    return st == VUG_OK ? st : vug_fail_within(err, st, path);
}

void vug_batch_index_release(vug_batch_index *index)
{
    vug_free(index->entry);
    *index = (vug_batch_index){ 0 };
}

static int compare_with_key(const void *key, const void *entry)
{
    return memcmp(key, ((const vug_batch_entry *)entry)->key, sizeof(((vug_batch_entry *)0)->key));
}

vug_status vug_batch_index_find(const vug_batch_index *index, vug_str custom_id, uint64_t line,
                                vug_batch_entry **out, vug_err *err)
{
    uint8_t key[32];
    VUG_TRY(make_key(custom_id, line, key, err));
    *out = index->n ? bsearch(key, index->entry, index->n, sizeof(*index->entry), compare_with_key)
                    : NULL;
    return VUG_OK;
}
