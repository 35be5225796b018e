#ifndef VUG_TESTS_SUPPORT_TEST_H
#define VUG_TESTS_SUPPORT_TEST_H

/* What every test program includes: cmocka, with the headers that it expects before it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
