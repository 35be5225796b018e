#ifndef VUG_BACKEND_CUDA_CUDA_H
#define VUG_BACKEND_CUDA_CUDA_H

/* NVIDIA GPUs. A build without CUDA has the backend, too: it says that it is not available. */

#include "backend/backend.h"

extern const vug_backend vug_backend_cuda;

#endif
