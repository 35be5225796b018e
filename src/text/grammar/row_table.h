#ifndef VUG_TEXT_GRAMMAR_ROW_TABLE_H
#define VUG_TEXT_GRAMMAR_ROW_TABLE_H

/*
 * Rows of 32-bit numbers, all of one width. Rows are allocated in chunks and never moved, so that a
 * table that grows copies nothing: a token mask may make thousands of rows.
 */

#include "core/mem.h"

#define VUG_ROW_TABLE_CHUNK ((size_t)64) /* rows */

typedef struct {
    uint32_t **chunk; /* [n_chunks]: [VUG_ROW_TABLE_CHUNK, width], or NULL */
    size_t n_chunks, width;
} vug_row_table;

/* A row that was reserved: [width]. */
static inline uint32_t *vug_row_table_get(const vug_row_table *table, size_t row)
{
    return table->chunk[row / VUG_ROW_TABLE_CHUNK] + row % VUG_ROW_TABLE_CHUNK * table->width;
}

/* Whether a row is in a chunk that was reserved. */
static inline bool vug_row_table_has(const vug_row_table *table, size_t row)
{
    return row / VUG_ROW_TABLE_CHUNK < table->n_chunks && table->chunk[row / VUG_ROW_TABLE_CHUNK];
}

/* Makes the chunk of a row if there is none. All numbers of a new row are UINT32_MAX. `width` was set
 * before; otherwise, an all-zero table is empty. False when out of memory. */
bool vug_row_table_reserve(vug_row_table *table, size_t row);
/* Makes the table empty. It keeps its width. */
void vug_row_table_release(vug_row_table *table);

#endif
