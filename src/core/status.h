#ifndef VUG_CORE_STATUS_H
#define VUG_CORE_STATUS_H

/*
 * Returning errors, whose types vug.h declares.
 *
 * Bad input (files, sockets, templates) gives a status and never fails an assert.
 * VUG_ASSERT is for broken invariants inside this program only.
 */

#include <assert.h>

#include "vug/vug.h"

#if defined(__GNUC__) || defined(__clang__)
#define VUG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define VUG_PRINTF(fmt, args)
#endif

#define VUG_ASSERT(cond) assert(cond)

/* Fills `err` unless that is NULL, and returns `code`. */
vug_status vug_fail_at(vug_err *err, vug_status code, const char *file, int line, const char *fmt,
                       ...) VUG_PRINTF(5, 6);

/* The value is `code` itself, so that static analysers see that it is not VUG_OK. */
#define VUG_FAIL(err, code, ...) \
    ((void)vug_fail_at((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))
#define VUG_FAIL_NOMEM(err, what, bytes)                                     \
    VUG_FAIL((err), VUG_NOMEM, "out of memory: %s needs %llu bytes", (what), \
             (unsigned long long)(bytes))

/* Puts "prefix: " before the message of an error that is passed on. Returns
 * err's code, or `code` when err is NULL. */
vug_status vug_fail_within(vug_err *err, vug_status code, const char *prefix);

/* Returns from the enclosing function when `call` fails. */
#define VUG_TRY(call)                 \
    do {                              \
        vug_status vug_try_ = (call); \
        if (vug_try_ != VUG_OK)       \
            return vug_try_;          \
    } while (0)

#endif
