#include "text/grammar/row_table.h"

static bool grow_chunk_list(vug_row_table *table, size_t wanted)
{
    const size_t larger = 2 * table->n_chunks > wanted ? 2 * table->n_chunks : wanted;
    uint32_t **chunk = vug_realloc(table->chunk, larger, sizeof(*chunk));
    if (!chunk)
        return false;
    for (size_t i = table->n_chunks; i < larger; i++)
        chunk[i] = NULL;
    table->chunk = chunk;
    table->n_chunks = larger;
    return true;
}

bool vug_row_table_reserve(vug_row_table *table, size_t row)
{
    const size_t at = row / VUG_ROW_TABLE_CHUNK;
    if (vug_row_table_has(table, row))
        return true;
    if (at >= table->n_chunks && !grow_chunk_list(table, at + 1))
        return false;
    uint32_t *chunk = vug_alloc(VUG_ROW_TABLE_CHUNK * table->width, sizeof(*chunk));
    if (!chunk)
        return false;
    memset(chunk, 0xff, VUG_ROW_TABLE_CHUNK * table->width * sizeof(*chunk));
    table->chunk[at] = chunk;
    return true;
}

void vug_row_table_release(vug_row_table *table)
{
    for (size_t i = 0; i < table->n_chunks; i++)
        vug_free(table->chunk[i]);
    vug_free(table->chunk);
    *table = (vug_row_table){ .width = table->width };
}
