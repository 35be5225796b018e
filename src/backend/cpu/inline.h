#ifndef VUG_BACKEND_CPU_INLINE_H
#define VUG_BACKEND_CPU_INLINE_H

/* Functions of kernels that are written once for several formats and numbers of rows: these are
 * arguments that are constants once a function is inlined, so that sums stay in registers. */

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

#define CONSTANT_ROW(most, n, call, ...) \
    case n:                              \
        if ((n) <= (most))               \
            call(n, __VA_ARGS__);        \
        break

/* Calls `call`(rows, ...), with a constant in place of `rows` (or panels), which are 1 .. `most`, a
 * constant of 12 at most. */
#define WITH_CONSTANT_ROWS(most, rows, ...)      \
    do {                                         \
        switch (rows) {                          \
            CONSTANT_ROW(most, 1, __VA_ARGS__);  \
            CONSTANT_ROW(most, 2, __VA_ARGS__);  \
            CONSTANT_ROW(most, 3, __VA_ARGS__);  \
            CONSTANT_ROW(most, 4, __VA_ARGS__);  \
            CONSTANT_ROW(most, 5, __VA_ARGS__);  \
            CONSTANT_ROW(most, 6, __VA_ARGS__);  \
            CONSTANT_ROW(most, 7, __VA_ARGS__);  \
            CONSTANT_ROW(most, 8, __VA_ARGS__);  \
            CONSTANT_ROW(most, 9, __VA_ARGS__);  \
            CONSTANT_ROW(most, 10, __VA_ARGS__); \
            CONSTANT_ROW(most, 11, __VA_ARGS__); \
            CONSTANT_ROW(most, 12, __VA_ARGS__); \
        default:                                 \
            break;                               \
        }                                        \
    } while (0)

#endif
