/* Which kernels a program uses, for compiling, which sizes buffers, and for launching. */
#include "backend/cuda/internal.h"

int64_t vug_cuda_side_pages(const vug_node *node, int64_t tokens, int64_t positions)
{
    const int64_t window = node->at.attn.mask ? 0 : node->at.attn.window;
    const int64_t all = vug_kv_pages_of(positions);
    const int64_t seen = window > 0 ? vug_kv_pages_of(window) + 1 : all;
    if (tokens > VUG_CUDA_DECODE_TOKENS)
        return 0;
    return seen < all ? seen : all;
}

bool vug_cuda_rounds_attention(const vug_cuda_program *p, const vug_node *node)
{
    /* The kernels need 200 KiB of shared memory in a block. */
    const bool fits = p->device->capability == 9 || p->device->capability == 10;
    /* Keys and values of 16 bits are exact on tensor cores; those of Q8 are rounded to BF16. */
    const bool exact = p->plan->kv == VUG_KV_F16 || p->plan->kv == VUG_KV_BF16;
    const bool rounds = p->plan->kv == VUG_KV_Q8 && p->plan->activations == VUG_ACTIVATIONS_BF16;
    return fits && (exact || rounds) && p->plan->activations != VUG_ACTIVATIONS_F32 &&
           !node->at.attn.mask;
}

int vug_cuda_terms(const vug_cuda_program *p)
{
    return p->plan->activations == VUG_ACTIVATIONS_BF16 ? 1 : 2;
}
