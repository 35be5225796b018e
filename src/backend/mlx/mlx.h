#ifndef VUG_BACKEND_MLX_MLX_H
#define VUG_BACKEND_MLX_MLX_H

/* Apple GPUs, through MLX. A build without MLX has the backend, too: it says that it is not
 * available. Where MLX has no GPU, the backend runs on MLX's CPU device, if it is asked for by
 * name: so it can be tested. */

#include "backend/backend.h"

extern const vug_backend vug_backend_mlx;

#endif
