#ifndef VUG_BACKEND_CPU_ROWS_H
#define VUG_BACKEND_CPU_ROWS_H

/* The rows that dispatch.c chooses from; each is one or more files named for its
 * instruction set. */

#include "backend/cpu/kernels.h"

extern const vug_cpu_kernels vug_cpu_ref_row;
extern const vug_cpu_kernels vug_cpu_avx2_row; /* x86-64 only */

#endif
