#ifndef VUG_BACKEND_CPU_X86_AVX2_FORMATS_MLX_H
#define VUG_BACKEND_CPU_X86_AVX2_FORMATS_MLX_H

/*
 * MLX's formats: integers are a stream of bits, lowest first; scales and biases are stored
 * separately, one for each 32, 64 or 128 weights; see avx2_blocks.h. A file that includes this
 * defines BLOCK_FORMAT, which makes kernels from a format, before.
 */

#include "backend/cpu/x86/avx2_blocks_gemv.h"

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

/* The 16-bit numbers of blocks first .. first + 3, in rows with a number for each 32, 64 or 128
 * weights (`columns`). */
INLINE __m128i words_of(row_pair row, int64_t first, int64_t columns)
{
    if (columns == 32) {
        const row_pair s = advance_rows(row, first * 2);
        return _mm_unpacklo_epi64(load_8(s.a), load_8(s.b));
    }
    if (columns == 64) {
        const row_pair s = advance_rows(row, first);
        const __m128i a = _mm_cvtsi32_si128((int)dword_at(s.a));
        const __m128i both = _mm_insert_epi32(a, (int)dword_at(s.b), 1);
        return _mm_unpacklo_epi16(both, both);
    }
    const row_pair s = advance_rows(row, first / 2);
    const __m128i both = _mm_insert_epi16(_mm_cvtsi32_si128(word_at(s.a)), word_at(s.b), 1);
    return _mm_shuffle_epi8(both, _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3));
}

/* The numbers of blocks first .. first + n - 1, one by one; 0 beyond n. Not inlined, because it
 * is long and rarely used. */
static __attribute__((noinline)) __m256 numbers_of(row_pair row, int64_t first, int n,
                                                   const vug_scales *s)
{
    const int64_t size = scale_bytes(s->dtype);
    float x[2 * UNIT] = { 0 };
    for (int64_t j = 0; j < UNIT && j < n; j++) {
        x[j] = number_at(row.a + (first + j) * BLOCK / s->columns * size, s->dtype);
        x[UNIT + j] = number_at(row.b + (first + j) * BLOCK / s->columns * size, s->dtype);
    }
    return _mm256_loadu_ps(x);
}

/* The numbers of four blocks, from rows of scales or of biases. */
INLINE __m256 separate_numbers(const block_group *g, row_pair row, int at)
{
    const vug_dtype dtype = g->scales->dtype;
    const int64_t columns = g->scales->columns;
    const bool is_usual = columns == 32 || columns == 64 || columns == 128;
    if (g->n - at < UNIT || dtype == VUG_DTYPE_F32 || !is_usual)
        return numbers_of(row, g->first + at, g->n - at, g->scales);
    const __m128i words = words_of(row, g->first + at, columns);
    if (dtype == VUG_DTYPE_F16)
        return _mm256_cvtph_ps(words);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}

/* ---- affine ------------------------------------------------------------------- */

INLINE __m256 scale_mlx(const block_group *g, int at)
{
    return separate_numbers(g, g->scale, at);
}

INLINE __m256 offset_mlx(const block_group *g, int at)
{
    return g->bias.a ? separate_numbers(g, g->bias, at) : _mm256_setzero_ps();
}

/* A weight is scale * q + bias. */
INLINE __m256 affine(const block_group *g, int at, __m256i p)
{
    return _mm256_fmadd_ps(scale_mlx(g, at), _mm256_cvtepi32_ps(p),
                           scale_products(offset_mlx(g, at), block_sums(g, at, 1)));
}

/* Splits each 16-bit word, whose upper bits are two neighbouring integers of `bits` bits, into
 * one integer per byte. */
INLINE __m256i split_pairs(__m256i words, int bits)
{
    const int mask = (1 << bits) - 1;
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(words, 16 - 2 * bits),
                                         _mm256_set1_epi16((short)mask));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(words, 8 - bits),
                                          _mm256_set1_epi16((short)(mask << 8)));
    return _mm256_or_si256(low, high);
}

/*
 * Pair i of a half begins at bit 2 * bits * i and is within the 16 bits that begin at the byte
 * of that bit. A multiplication (MOVE) shifts it to the top of them. PAIR gives the shuffle
 * indices of these two bytes, with `from` the first byte of the half; the second index is -1,
 * which loads 0, if the half ends before it.
 */
#define BYTE(bits, i) ((i)*2 * (bits) / 8)
#define PAIR(bits, i, from)         \
    (char)((from) + BYTE(bits, i)), \
            (char)(BYTE(bits, i) + 1 < 2 * (bits) ? (from) + BYTE(bits, i) + 1 : -1)
#define MOVE(bits, i) (short)(1 << (16 - 2 * (bits) - (i)*2 * (bits) % 8))
#define HALF_OF_STREAM(bits, bytes, from)                                                       \
    half_of_stream(bytes,                                                                       \
                   _mm_setr_epi8(PAIR(bits, 0, from), PAIR(bits, 1, from), PAIR(bits, 2, from), \
                                 PAIR(bits, 3, from), PAIR(bits, 4, from), PAIR(bits, 5, from), \
                                 PAIR(bits, 6, from), PAIR(bits, 7, from)),                     \
                   _mm_setr_epi16(MOVE(bits, 0), MOVE(bits, 1), MOVE(bits, 2), MOVE(bits, 3),   \
                                  MOVE(bits, 4), MOVE(bits, 5), MOVE(bits, 6), MOVE(bits, 7)),  \
                   bits)

INLINE __m256i half_of_stream(__m256i bytes, __m128i pairs, __m128i moves, int bits)
{
    const __m256i words = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(pairs));
    return split_pairs(_mm256_mullo_epi16(words, _mm256_broadcastsi128_si256(moves)), bits);
}

INLINE block_halves unpack_mlx2(row_pair w, int64_t j)
{
    const __m256i bytes = combine_rows(load_8(w.a + j * 8), load_8(w.b + j * 8));
    return (block_halves){ HALF_OF_STREAM(2, bytes, 0), HALF_OF_STREAM(2, bytes, 4) };
}

INLINE __m128i load_12(const uint8_t *w)
{
    return _mm_maskload_epi32((const int *)(const void *)w, _mm_setr_epi32(-1, -1, -1, 0));
}

INLINE block_halves unpack_mlx3(row_pair w, int64_t j)
{
    const __m256i bytes = combine_rows(load_12(w.a + j * 12), load_12(w.b + j * 12));
    return (block_halves){ HALF_OF_STREAM(3, bytes, 0), HALF_OF_STREAM(3, bytes, 6) };
}

INLINE block_halves unpack_mlx4(row_pair w, int64_t j)
{
    const __m256i bytes = load_rows(w, j * 16);
    const __m256i even = lower_nibbles(bytes), odd = upper_nibbles(bytes);
    return (block_halves){ _mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd) };
}

INLINE block_halves unpack_mlx5(row_pair w, int64_t j)
{
    return (block_halves){ HALF_OF_STREAM(5, load_rows(w, j * 20), 0),
                           HALF_OF_STREAM(5, load_rows(w, j * 20 + 4), 6) };
}

INLINE block_halves unpack_mlx6(row_pair w, int64_t j)
{
    return (block_halves){ HALF_OF_STREAM(6, load_rows(w, j * 24), 0),
                           HALF_OF_STREAM(6, load_rows(w, j * 24 + 8), 4) };
}

/* The integers minus 128. */
INLINE block_halves unpack_mlx8(row_pair w, int64_t j)
{
    const __m256i top = _mm256_set1_epi8(-128);
    return (block_halves){ _mm256_xor_si256(load_rows(w, j * 32), top),
                           _mm256_xor_si256(load_rows(w, j * 32 + 16), top) };
}

INLINE __m256 terms_mlx2(const block_group *g, int at)
{
    return affine(g, at, products(g, at, unpack_mlx2, TO_15));
}

INLINE __m256 terms_mlx3(const block_group *g, int at)
{
    return affine(g, at, products(g, at, unpack_mlx3, TO_15));
}

INLINE __m256 terms_mlx4(const block_group *g, int at)
{
    return affine(g, at, products(g, at, unpack_mlx4, TO_15));
}

INLINE __m256 terms_mlx5(const block_group *g, int at)
{
    return affine(g, at, products(g, at, unpack_mlx5, TO_31));
}

INLINE __m256 terms_mlx6(const block_group *g, int at)
{
    return affine(g, at, products(g, at, unpack_mlx6, TO_63));
}

INLINE __m256 terms_mlx8(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_mlx8, WITH_SIGN);
    return affine(g, at, _mm256_add_epi32(p, block_sums(g, at, 128)));
}

/* ---- mxfp4 -------------------------------------------------------------------- */

/* Four 1-byte numbers; 0 beyond n. */
INLINE int bytes_at(const uint8_t *s, int n)
{
    uint32_t bytes = 0;
    if (n >= UNIT)
        return (int)dword_at(s);
    for (int j = 0; j < n; j++)
        bytes |= (uint32_t)s[j] << (8 * j);
    return (int)bytes;
}

/* E8M0 numbers times 0.5, because the integers are E2M1 values times two. */
INLINE __m256 scale_mlx_fp4(const block_group *g, int at)
{
    const row_pair s = advance_rows(g->scale, g->first + at);
    const __m128i bytes = _mm_setr_epi32(bytes_at(s.a, g->n - at), bytes_at(s.b, g->n - at), 0, 0);
    const __m256i e = _mm256_cvtepu8_epi32(bytes);
    const __m256i nan = _mm256_cmpeq_epi32(e, _mm256_set1_epi32(255));
    const __m256i usual = _mm256_or_si256(_mm256_slli_epi32(e, 23), nan);
    const __m256i tiny = _mm256_set1_epi32(0x400000); /* 2^-127 */
    const __m256i is_zero = _mm256_cmpeq_epi32(e, _mm256_setzero_si256());
    const __m256i bits = _mm256_blendv_epi8(usual, tiny, is_zero);
    return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0.5f));
}

INLINE block_halves unpack_mlx_fp4(row_pair w, int64_t j)
{
    return look_up(e2m1_values, unpack_mlx4(w, j));
}

INLINE __m256 terms_mlx_fp4(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_mlx_fp4, TO_31);
    return scale_products(scale_mlx_fp4(g, at), _mm256_sub_epi32(p, block_sums(g, at, 12)));
}

#define AFFINE(id, ...)                                                                    \
    BLOCK_FORMAT(id, scale_mlx, .may_end_within_group = true, .has_separate_scales = true, \
                 .offset = offset_mlx, __VA_ARGS__)
AFFINE(mlx2, .range = TO_15, .bytes = 64)
AFFINE(mlx3, .range = TO_15, .bytes = 96)
AFFINE(mlx4, .range = TO_15, .bytes = 128)
AFFINE(mlx5, .range = TO_31, .bytes = 160)
AFFINE(mlx6, .range = TO_63, .bytes = 192)
AFFINE(mlx8, .range = WITH_SIGN, .zero = -128, .bytes = 256)
BLOCK_FORMAT(mlx_fp4, scale_mlx_fp4, .range = TO_31, .zero = 12, .may_end_within_group = true,
             .has_separate_scales = true, .bytes = 128)

#endif
