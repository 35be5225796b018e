#ifndef VUG_BACKEND_CPU_X86_AVX512_SHORT_BLOCKS_H
#define VUG_BACKEND_CPU_X86_AVX512_SHORT_BLOCKS_H

/*
 * Formats with blocks of 32 weights that begin with one or two numbers in F16: Q4_0, Q4_1, Q5_0,
 * Q5_1, Q8_0, IQ4_NL. Two loads hold up to 128 bytes of four blocks of a row (a unit), from which
 * one permutation of 16-bit words takes what is wanted.
 */

#include "backend/cpu/x86/avx2_blocks_gemv.h"
#include "backend/cpu/x86/avx512.h"

INLINE __m256i load_32(const uint8_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

/* Words 0 .. n - 1 of a unit, at most 64: words 0 .. 31, and the last ones. */
typedef struct {
    __m512i first, last;
    int n;
} unit_words;

INLINE int words_of_block(const avx2_format *f)
{
    return f->bytes / GROUP / 2;
}

/* The words of unit_words.last: as few as possible, because a load of 64 bytes usually touches two
 * cache lines. */
INLINE int last_words(int n)
{
    return n <= 40 ? 8 : n <= 48 ? 16 : 32;
}

/* The first `n` of 32 bits, for any n. */
INLINE __mmask32 first_words(int n)
{
    return n >= 32 ? ~0U : n <= 0 ? 0 : (1U << n) - 1;
}

/* Loads the first `n` words of the unit at `w`; those from `exist` on are 0. */
INLINE unit_words load_words(const uint8_t *w, int n, int exist)
{
    if (n <= 32)
        return (unit_words){
            .first = _mm512_maskz_loadu_epi16(first_words(exist < n ? exist : n), w), .n = n
        };
    const int last = last_words(n);
    const uint8_t *end = w + (ptrdiff_t)2 * (n - last);
    if (exist < n)
        return (unit_words){ _mm512_maskz_loadu_epi16(first_words(exist), w),
                             _mm512_maskz_loadu_epi16(first_words(exist - n + last), end), n };
    return (unit_words){ _mm512_loadu_si512(w),
                         last == 8    ? _mm512_zextsi128_si512(load_16(end))
                         : last == 16 ? _mm512_zextsi256_si512(load_32(end))
                                      : _mm512_loadu_si512(end),
                         n };
}

/* Where a word is in both vectors. */
INLINE int place_of_word(const unit_words *u, int word)
{
    return word < 32 ? word : 32 + word - (u->n - last_words(u->n));
}

/* The order of what is taken from a unit. */
typedef enum {
    BY_BLOCK,   /* four dwords of block 0, then those of block 1, .. */
    TRANSPOSED, /* dwords 0 of blocks 0 .. 3, then dwords 1, .. */
} unit_order;

/* Four dwords of each block: dword i begins at word `word` + i * step of the block. */
typedef struct {
    int words, word, step; /* `words` of a block */
    unit_order order;
} block_dwords;

INLINE int place_of_dword(const unit_words *u, const block_dwords *d, int k)
{
    const int block = d->order == BY_BLOCK ? k / UNIT : k % UNIT;
    const int i = d->order == BY_BLOCK ? k % UNIT : k / UNIT;
    const int word = block * d->words + d->word + i * d->step;
    return place_of_word(u, word + 1) << 16 | place_of_word(u, word);
}

INLINE __m512i take_dwords(const unit_words *u, const block_dwords *d)
{
    const __m512i order = _mm512_setr_epi32(
            place_of_dword(u, d, 0), place_of_dword(u, d, 1), place_of_dword(u, d, 2),
            place_of_dword(u, d, 3), place_of_dword(u, d, 4), place_of_dword(u, d, 5),
            place_of_dword(u, d, 6), place_of_dword(u, d, 7), place_of_dword(u, d, 8),
            place_of_dword(u, d, 9), place_of_dword(u, d, 10), place_of_dword(u, d, 11),
            place_of_dword(u, d, 12), place_of_dword(u, d, 13), place_of_dword(u, d, 14),
            place_of_dword(u, d, 15));
    return _mm512_permutex2var_epi16(u->first, order, u->last);
}

/* The 16 bytes of each block that begin at its word `word`. */
INLINE __m512i take_bytes(const unit_words *u, const avx2_format *f, int word, unit_order order)
{
    return take_dwords(u, &(block_dwords){ words_of_block(f), word, 2, order });
}

/* The words of unit 0 or 1 of the group of `n` blocks of a row that begins at `w`: all, or those
 * before the last integers. */
INLINE unit_words words_of_unit(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int words = words_of_block(f), all = UNIT * words;
    return load_words(w + (ptrdiff_t)unit * UNIT * 2 * words, all < 60 ? all : 60,
                      (n - unit * UNIT) * words);
}

INLINE const uint8_t *row_of(const block_group *pair, int r)
{
    return r % 2 ? pair[r / 2].w.b : pair[r / 2].w.a;
}

/* F16 number `i` of blocks at .. at + 3 of four rows: those of the first row, then the second; 0
 * beyond n. */
INLINE __m512 load_halves(const block_group *pair, int at, const avx2_format *f, int i)
{
    const int words = words_of_block(f);
    __m256i row[UNIT];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        const unit_words u = words_of_unit(f, row_of(pair, r), at / UNIT, pair[0].n);
        const uint64_t order = (uint64_t)place_of_word(&u, i) |
                               (uint64_t)place_of_word(&u, words + i) << 16 |
                               (uint64_t)place_of_word(&u, 2 * words + i) << 32 |
                               (uint64_t)place_of_word(&u, 3 * words + i) << 48;
        row[r] = _mm512_castsi512_si256(
                _mm512_permutex2var_epi16(u.first, _mm512_set1_epi64((long long)order), u.last));
    }
    return _mm512_cvtph_ps(_mm256_blend_epi32(_mm256_blend_epi32(row[0], row[1], 0x0c),
                                              _mm256_blend_epi32(row[2], row[3], 0xc0), 0xf0));
}

#endif
