#ifndef VUG_BACKEND_CPU_X86_AVX2_BLOCK_BITS_H
#define VUG_BACKEND_CPU_X86_AVX2_BLOCK_BITS_H

/* Weights of fewer than 8 bits, taken out of the bytes that several blocks share. */

#include "backend/cpu/x86/avx2_blocks_gemv.h"

/* Bits 2 j and 2 j + 1 of each byte, moved to bit `to`. */
INLINE __m256i two_bits(__m256i bytes, int64_t j, int to)
{
    const int by = (int)(2 * j) - to;
    const __m256i moved_bits =
            by < 0 ? _mm256_slli_epi16(bytes, -by) : _mm256_srli_epi16(bytes, by);
    return _mm256_and_si256(moved_bits, _mm256_set1_epi8((char)(3 << to)));
}

/* Bit `from` of each byte, moved to bit `to`. */
INLINE __m256i one_bit(__m256i bytes, int64_t bit, int to)
{
    const int from = (int)bit;
    const __m256i moved_bits =
            from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
    return _mm256_and_si256(moved_bits, _mm256_set1_epi8((char)(1 << to)));
}

/* Block j of four whose 2-bit fields share 32 bytes. */
INLINE block_halves four_to_a_byte(row_pair w, int64_t from, int64_t j, int to)
{
    return (block_halves){ two_bits(load_rows(w, from), j, to),
                           two_bits(load_rows(w, from + 16), j, to) };
}

/* Block j of eight whose single bits share 32 bytes. */
INLINE block_halves eight_to_a_byte(row_pair w, int64_t from, int64_t j, int to)
{
    return (block_halves){ one_bit(load_rows(w, from), j, to),
                           one_bit(load_rows(w, from + 16), j, to) };
}

/* A block is the lower or the upper nibbles of 32 bytes. */
INLINE block_halves two_to_a_byte(row_pair w, int64_t from, bool upper)
{
    const __m256i first = load_rows(w, from), second = load_rows(w, from + 16);
    if (upper)
        return (block_halves){ upper_nibbles(first), upper_nibbles(second) };
    return (block_halves){ lower_nibbles(first), lower_nibbles(second) };
}

#endif
