#ifndef VUG_TESTS_SUPPORT_PAGE_HELP_H
#define VUG_TESTS_SUPPORT_PAGE_HELP_H

/*
 * Pages whose key, part and contents follow from a number, and their files. Include after cmocka.h
 * and scratch.h.
 */

#include "engine/page_file.h"

vug_page_id page_id_of(uint32_t i);
/* The contents of page `i`. */
void page_fill(uint32_t i, uint8_t *bytes, size_t n);
bool page_is(uint32_t i, const uint8_t *bytes, size_t n);
/* The file of page `i` below a cache folder. */
scratch_path page_path_in(const char *folder, uint32_t i);

#endif
