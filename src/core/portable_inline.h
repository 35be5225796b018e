#ifndef VUG_CORE_PORTABLE_INLINE_H
#define VUG_CORE_PORTABLE_INLINE_H

/* Declares a function of a header that C and the kernels of CUDA call, and that has the same bits in
 * both: neither contracts products and sums (Makefile: MATH, NVCC_FLAGS). */
#ifdef __CUDACC__
#define VUG_INLINE static __host__ __device__ __forceinline__
#else
#define VUG_INLINE static inline
#endif

#endif
