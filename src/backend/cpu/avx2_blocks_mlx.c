/*
 * Products with MLX's formats: a stream of bits, the lowest first, whose scales and biases
 * lie apart, one for 32, 64 or 128 weights; see avx2_blocks.h.
 */
#if defined(__AVX2__)
#include "backend/cpu/avx2_blocks.h"

/* ---- scales ------------------------------------------------------------------ */

INLINE float number_at(const uint8_t *s, vug_dtype dtype)
{
    float x;
    if (dtype == VUG_DTYPE_F16)
        return half_at(s);
    const uint32_t bits = dtype == VUG_DTYPE_F32 ? dword_at(s) : (uint32_t)word_at(s) << 16;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Eight 16-bit numbers, of which a scale holds for 32, 64 or 128 weights. */
INLINE __m128i words_of(const uint8_t *s, int64_t columns)
{
    if (columns == 32)
        return load_16(s);
    if (columns == 64) {
        const __m128i four = load_8(s);
        return _mm_unpacklo_epi16(four, four);
    }
    const __m128i two = _mm_cvtsi32_si128((int)dword_at(s));
    return _mm_shuffle_epi8(two, _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3));
}

/* The numbers of eight blocks in a row of scales or biases; 0 beyond n. */
INLINE __m256 apart(const group *g, const uint8_t *row)
{
    const vug_dtype dtype = g->apart->dtype;
    const int64_t columns = g->apart->columns, size = scale_bytes(dtype);
    const bool is_usual = columns == 32 || columns == 64 || columns == 128;
    if (g->n == GROUP && dtype != VUG_DTYPE_F32 && is_usual) {
        const __m128i words = words_of(row + g->first * BLOCK / columns * size, columns);
        if (dtype == VUG_DTYPE_F16)
            return _mm256_cvtph_ps(words);
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
    }
    float x[GROUP] = { 0 };
    for (int64_t j = 0; j < g->n; j++)
        x[j] = number_at(row + (g->first + j) * BLOCK / columns * size, dtype);
    return _mm256_loadu_ps(x);
}

/* ---- affine ------------------------------------------------------------------- */

/* scale * q + bias, the zero of q being taken off by the weights: q' = q - zero */
INLINE __m256 affine(const group *g, __m256i p)
{
    const __m256 bias = g->bias ? apart(g, g->bias) : _mm256_setzero_ps();
    return plus_offset(apart(g, g->scale), p, bias, block_sums(g, 1));
}

/*
 * Of two neighbouring integers of `bits` bits in the upper bits of 16: one in each byte.
 * The pair at bit `at` of a stream lies in the 16 bits from byte at / 8 on; a product moves
 * it to the top.
 */
INLINE __m256i split_pairs(__m256i words, int bits)
{
    const __m256i low_mask = _mm256_set1_epi16((short)((1 << bits) - 1));
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(words, 16 - 2 * bits), low_mask);
    const __m256i high_mask = _mm256_set1_epi16((short)(((1 << bits) - 1) << 8));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(words, 8 - bits), high_mask);
    return _mm256_or_si256(low, high);
}

/* Bytes of the 16-bit word with pair `i` of 16, of which the upper eight are counted from
 * byte `by`: -1 for one beyond the stream. */
#define PAIR(bits, i, by) \
    (char)((i)*2 * (bits) / 8 - (by)), \
            (char)((i)*2 * (bits) / 8 + 1 < 4 * (bits) ? (i)*2 * (bits) / 8 + 1 - (by) : -1)
#define PAIRS(bits, i, by)                                                                   \
    PAIR(bits, i, by), PAIR(bits, (i) + 1, by), PAIR(bits, (i) + 2, by),                     \
            PAIR(bits, (i) + 3, by), PAIR(bits, (i) + 4, by), PAIR(bits, (i) + 5, by),       \
            PAIR(bits, (i) + 6, by), PAIR(bits, (i) + 7, by)
/* What moves pair `i` to the top. */
#define MOVE(bits, i) (short)(1 << (16 - 2 * (bits) - (i)*2 * (bits) % 8))
#define MOVES(bits)                                                                    \
    MOVE(bits, 0), MOVE(bits, 1), MOVE(bits, 2), MOVE(bits, 3), MOVE(bits, 4),         \
            MOVE(bits, 5), MOVE(bits, 6), MOVE(bits, 7), MOVE(bits, 8), MOVE(bits, 9), \
            MOVE(bits, 10), MOVE(bits, 11), MOVE(bits, 12), MOVE(bits, 13), MOVE(bits, 14), \
            MOVE(bits, 15)
/* `bytes` has those of the lower pairs, and in the upper half those from byte `by` on. */
#define FROM_STREAM(bits, bytes, by)                                                           \
    split_pairs(_mm256_mullo_epi16(_mm256_shuffle_epi8(bytes, _mm256_setr_epi8(PAIRS(bits, 0, 0), \
                                                                               PAIRS(bits, 8, by))), \
                                   _mm256_setr_epi16(MOVES(bits))),                            \
                bits)

INLINE __m256i two_loads(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(low)), load_16(high), 1);
}

INLINE __m256i unpack_mlx2(const uint8_t *w, int j)
{
    return FROM_STREAM(2, _mm256_broadcastsi128_si256(load_8(w + j * 8)), 0);
}

INLINE __m256i unpack_mlx3(const uint8_t *w, int j)
{
    const __m128i bytes = _mm_maskload_epi32((const int *)(const void *)(w + j * 12),
                                             _mm_setr_epi32(-1, -1, -1, 0));
    return FROM_STREAM(3, _mm256_broadcastsi128_si256(bytes), 0);
}

INLINE __m256i unpack_mlx4(const uint8_t *w, int j)
{
    const __m256i words = _mm256_cvtepu8_epi16(load_16(w + j * 16));
    return _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)),
                            _mm256_set1_epi8(15));
}

INLINE __m256i unpack_mlx5(const uint8_t *w, int j)
{
    return FROM_STREAM(5, two_loads(w + j * 20, w + j * 20 + 4), 4);
}

INLINE __m256i unpack_mlx6(const uint8_t *w, int j)
{
    return FROM_STREAM(6, two_loads(w + j * 24, w + j * 24 + 8), 8);
}

INLINE __m256i unpack_mlx8(const uint8_t *w, int j)
{
    return _mm256_xor_si256(load_32(w + j * 32), _mm256_set1_epi8(-128));
}

INLINE __m256i unpack_mlx_fp4(const uint8_t *w, int j)
{
    return e2m1_of(unpack_mlx4(w, j));
}

INLINE __m256 terms_mlx2(const group *g)
{
    return affine(g, products(g, unpack_mlx2, TO_31));
}

INLINE __m256 terms_mlx3(const group *g)
{
    return affine(g, products(g, unpack_mlx3, TO_31));
}

INLINE __m256 terms_mlx4(const group *g)
{
    return affine(g, products(g, unpack_mlx4, TO_31));
}

INLINE __m256 terms_mlx5(const group *g)
{
    return affine(g, products(g, unpack_mlx5, TO_31));
}

INLINE __m256 terms_mlx6(const group *g)
{
    return affine(g, products(g, unpack_mlx6, TO_63));
}

INLINE __m256 terms_mlx8(const group *g)
{
    return affine(g, _mm256_add_epi32(products(g, unpack_mlx8, WITH_SIGN), block_sums(g, 128)));
}

/* ---- mxfp4 -------------------------------------------------------------------- */

/* Halves of eight E8M0 numbers: the integers are E2M1 times two. */
INLINE __m256 exponents_at(const uint8_t *s, int n)
{
    uint8_t bytes[GROUP] = { 0 };
    __m256i e;
    if (n == GROUP) {
        e = _mm256_cvtepu8_epi32(load_8(s));
    } else {
        for (int j = 0; j < n; j++)
            bytes[j] = s[j];
        e = _mm256_cvtepu8_epi32(load_8(bytes));
    }
    const __m256i is_zero = _mm256_cmpeq_epi32(e, _mm256_setzero_si256());
    const __m256i tiny = _mm256_set1_epi32(0x400000); /* 2^-127 */
    const __m256i bits = _mm256_blendv_epi8(_mm256_slli_epi32(e, 23), tiny, is_zero);
    return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0.5f));
}

INLINE __m256 terms_mlx_fp4(const group *g)
{
    const __m256i p = products(g, unpack_mlx_fp4, TO_31);
    return times(exponents_at(g->scale + g->first, g->n), _mm256_sub_epi32(p, block_sums(g, 12)));
}

BLOCK_FORMAT(mlx2, vug_avx2_mlx2, 64)
BLOCK_FORMAT(mlx3, vug_avx2_mlx3, 96)
BLOCK_FORMAT(mlx4, vug_avx2_mlx4, 128)
BLOCK_FORMAT(mlx5, vug_avx2_mlx5, 160)
BLOCK_FORMAT(mlx6, vug_avx2_mlx6, 192)
BLOCK_FORMAT(mlx8, vug_avx2_mlx8, 256)
BLOCK_FORMAT(mlx_fp4, vug_avx2_mlx_fp4, 128)

#else
typedef int vug_avx2_blocks_mlx_is_empty; /* ISO C wants something here */
#endif
