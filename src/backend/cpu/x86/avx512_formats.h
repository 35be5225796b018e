#ifndef VUG_BACKEND_CPU_X86_AVX512_FORMATS_H
#define VUG_BACKEND_CPU_X86_AVX512_FORMATS_H

/* How the AVX-512 kernels for one row read the integers of each format; see avx512_blocks_gemv.h.
 * Everything else about a format is in avx2_formats*.h. */

#include "backend/cpu/x86/avx512_blocks_gemv.h"

/* ---- blocks of 32 weights -------------------------------------------------------- */

/* The nibbles of 16 bytes of each block: the lower ones, then the upper ones. */
INLINE unit_integers unit_of_nibbles(const avx2_format *f, __m512i packed)
{
    return (unit_integers){ integers_of_nibbles(f, lower_nibbles_wide(packed)),
                            integers_of_nibbles(f, upper_nibbles_wide(packed)) };
}

/* Numbers in F16, then nibbles. */
INLINE unit_integers integers_of_four_bits(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const unit_words u = words_of_unit(f, w, unit, n);
    return unit_of_nibbles(f, take_bytes(&u, f, f->offset ? 2 : 1, BY_BLOCK));
}

/* Adds 16 to the integers whose bits are set; `bits` has the 32 bits of a block in each dword of
 * its quarter. */
INLINE unit_integers add_fifth_bits(unit_integers u, __m512i bits)
{
    const __m512i bit = _mm512_set1_epi64((long long)0x8040201008040201);
    const __m512i of_first =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
    const __m512i of_second = _mm512_add_epi8(of_first, _mm512_set1_epi8(2));
    const __mmask64 first = _mm512_test_epi8_mask(_mm512_shuffle_epi8(bits, of_first), bit);
    const __mmask64 second = _mm512_test_epi8_mask(_mm512_shuffle_epi8(bits, of_second), bit);
    const __m512i fifth = _mm512_set1_epi8(16);
    return (unit_integers){ _mm512_mask_add_epi8(u.first, first, u.first, fifth),
                            _mm512_mask_add_epi8(u.second, second, u.second, fifth) };
}

/* Numbers in F16, 32 fifth bits, then nibbles. */
INLINE unit_integers integers_of_five_bits(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int header = f->offset ? 2 : 1;
    const unit_words u = words_of_unit(f, w, unit, n);
    const block_dwords bits = { words_of_block(f), header, 0, BY_BLOCK };
    return add_fifth_bits(unit_of_nibbles(f, take_bytes(&u, f, header + 2, BY_BLOCK)),
                          take_dwords(&u, &bits));
}

/* Four times 16 bytes, `stride` apart; those beyond `n` are 0. */
INLINE __m512i load_quarters(const uint8_t *w, int64_t stride, int n)
{
    __m512i q = _mm512_setzero_si512();
    if (n > 0)
        q = _mm512_zextsi128_si512(load_16(w));
    if (n > 1)
        q = _mm512_inserti32x4(q, load_16(w + stride), 1);
    if (n > 2)
        q = _mm512_inserti32x4(q, load_16(w + 2 * stride), 2);
    if (n > 3)
        q = _mm512_inserti32x4(q, load_16(w + 3 * stride), 3);
    return q;
}

/* The 32 bytes of each of the first `n` blocks of a unit, which are `stride` bytes apart; others are 0.
 * Loads of 64 bytes that overlap, and permutations of them, were slower by a quarter where weights
 * come from memory. */
INLINE unit_integers bytes_of_unit(const uint8_t *w, int64_t stride, int n)
{
    __m512i two[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const uint8_t *a = w + (ptrdiff_t)2 * i * stride;
        two[i] = _mm512_setzero_si512();
        if (2 * i < n)
            two[i] = _mm512_zextsi256_si512(load_32(a));
        if (2 * i + 1 < n)
            two[i] = _mm512_inserti64x4(two[i], load_32(a + stride), 1);
    }
    return split_quarters(two[0], two[1]);
}

/* A number in F16, then signed bytes. */
INLINE unit_integers integers_of_q8_0(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int bytes = f->bytes / GROUP;
    const __m512i sign = _mm512_set1_epi8(-128);
    const unit_integers u =
            bytes_of_unit(w + (ptrdiff_t)unit * UNIT * bytes + 2, bytes, n - unit * UNIT);
    return (unit_integers){ _mm512_xor_si512(u.first, sign), _mm512_xor_si512(u.second, sign) };
}

/* An exponent, then nibbles. */
INLINE unit_integers integers_of_mxfp4(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    return unit_of_nibbles(f,
                           load_quarters(w + (ptrdiff_t)unit * UNIT * 17 + 1, 17, n - unit * UNIT));
}

static const wide_format wide_q4_0 = { .integers = integers_of_four_bits, .order = NEIGHBOURS };
static const wide_format wide_q4_1 = { .integers = integers_of_four_bits, .order = NEIGHBOURS };
static const wide_format wide_iq4_nl = { .integers = integers_of_four_bits, .order = NEIGHBOURS };
static const wide_format wide_q5_0 = { .integers = integers_of_five_bits, .order = NEIGHBOURS };
static const wide_format wide_q5_1 = { .integers = integers_of_five_bits, .order = NEIGHBOURS };
static const wide_format wide_q8_0 = { .integers = integers_of_q8_0, .order = NEIGHBOURS };
static const wide_format wide_mxfp4 = { .integers = integers_of_mxfp4, .order = NEIGHBOURS };

/* ---- streams of bits ------------------------------------------------ */

/* `n` times 16 bytes of a unit; others are 0. */
INLINE __m512i load_stream(const uint8_t *w, int n)
{
    if (n >= UNIT)
        return _mm512_loadu_si512(w);
    return _mm512_maskz_loadu_epi32((__mmask16)(n > 0 ? (1U << UNIT * n) - 1 : 0), w);
}

/* Even integers are lower nibbles. */
INLINE unit_integers integers_of_mlx4(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const __m512i packed = load_stream(w + (ptrdiff_t)unit * 64, n - unit * UNIT);
    return unit_of_nibbles(f, packed);
}

INLINE unit_integers integers_of_mlx_fp4(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const unit_integers nibbles = integers_of_mlx4(f, w, unit, n);
    return (unit_integers){ look_up_wide(f, e2m1_values, nibbles.first),
                            look_up_wide(f, e2m1_values, nibbles.second) };
}

INLINE unit_integers integers_of_mlx8(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    (void)f;
    return bytes_of_unit(w + (ptrdiff_t)unit * UNIT * BLOCK, BLOCK, n - unit * UNIT);
}

/* Pair i of the integers of a half begins at bit 2 * bits * i, and is within the 16 bits that begin at
 * the byte of that bit: the indices of these two bytes, the half beginning at byte `from`. */
INLINE short bytes_of_pair(int bits, int from, int i)
{
    const int byte = from + 2 * bits * i / 8;
    return (short)(byte | (byte + 1) << 8);
}

/* The bits before the pair in these. */
INLINE short shift_of_pair(int bits, int i)
{
    return (short)(2 * bits * i % 8);
}

/* The first or second integers of a unit in a stream with `bits` bits for each: those of a block are
 * in its quarter of `bytes`, from byte `from` on. */
INLINE __m512i half_of_stream_wide(__m512i bytes, int from, int bits)
{
    const __m128i pairs =
            _mm_setr_epi16(bytes_of_pair(bits, from, 0), bytes_of_pair(bits, from, 1),
                           bytes_of_pair(bits, from, 2), bytes_of_pair(bits, from, 3),
                           bytes_of_pair(bits, from, 4), bytes_of_pair(bits, from, 5),
                           bytes_of_pair(bits, from, 6), bytes_of_pair(bits, from, 7));
    const __m128i shifts =
            _mm_setr_epi16(shift_of_pair(bits, 0), shift_of_pair(bits, 1), shift_of_pair(bits, 2),
                           shift_of_pair(bits, 3), shift_of_pair(bits, 4), shift_of_pair(bits, 5),
                           shift_of_pair(bits, 6), shift_of_pair(bits, 7));
    const __m512i words = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(pairs));
    const __m512i even = _mm512_srlv_epi16(words, _mm512_broadcast_i32x4(shifts));
    const __m512i odd = _mm512_sllv_epi16(even, _mm512_set1_epi16((short)(8 - bits)));
    const __m512i both = _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, even, odd);
    return _mm512_and_si512(both, _mm512_set1_epi8((char)((1 << bits) - 1)));
}

/* Integers of 2, 3, 5 or 6 bits. The bytes of a block are a quarter, or begin one and end another. */
INLINE unit_integers integers_of_stream(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int bits = f->bytes / BLOCK, half = 2 * bits; /* bytes of 16 integers */
    const unit_words u = words_of_unit(f, w, unit, n);
    const __m512i first = take_bytes(&u, f, 0, BY_BLOCK);
    const int last = 2 * half > 16 ? half - 8 : 0; /* the first word of the block's last 16 bytes */
    const __m512i second = last ? take_bytes(&u, f, last, BY_BLOCK) : first;
    return (unit_integers){ half_of_stream_wide(first, 0, bits),
                            half_of_stream_wide(second, half - 2 * last, bits) };
}

static const wide_format wide_mlx2 = { .integers = integers_of_stream, .order = NEIGHBOURS };
static const wide_format wide_mlx3 = { .integers = integers_of_stream, .order = NEIGHBOURS };
static const wide_format wide_mlx5 = { .integers = integers_of_stream, .order = NEIGHBOURS };
static const wide_format wide_mlx6 = { .integers = integers_of_stream, .order = NEIGHBOURS };
static const wide_format wide_mlx4 = { .integers = integers_of_mlx4, .order = BY_PARITY };
static const wide_format wide_mlx_fp4 = { .integers = integers_of_mlx_fp4, .order = BY_PARITY };
static const wide_format wide_mlx8 = { .integers = integers_of_mlx8, .order = NEIGHBOURS };

/* ---- super-blocks of 256 weights ------------------------------------------------- */

/* In each byte of quarter i, moves bit from0 + i * step to bit `to`; other bits are 0. */
INLINE __m512i move_bits(__m512i bytes, const int *from, int to, int mask)
{
    const __m512i by = _mm512_setr_epi32(
            (to - from[0]) & 31, (to - from[0]) & 31, (to - from[0]) & 31, (to - from[0]) & 31,
            (to - from[1]) & 31, (to - from[1]) & 31, (to - from[1]) & 31, (to - from[1]) & 31,
            (to - from[2]) & 31, (to - from[2]) & 31, (to - from[2]) & 31, (to - from[2]) & 31,
            (to - from[3]) & 31, (to - from[3]) & 31, (to - from[3]) & 31, (to - from[3]) & 31);
    return _mm512_and_si512(_mm512_rolv_epi32(bytes, by), _mm512_set1_epi8((char)mask));
}

INLINE unit_integers or_units(unit_integers a, unit_integers b)
{
    return (unit_integers){ _mm512_or_si512(a.first, b.first),
                            _mm512_or_si512(a.second, b.second) };
}

/* 128 bytes; the lower nibbles of 32 of them are a block, the upper ones another. */
INLINE unit_integers nibbles_of_unit(const uint8_t *w, int unit)
{
    const unit_integers u = split_quarters(_mm512_loadu_si512(w), _mm512_loadu_si512(w + 64));
    if (unit)
        return (unit_integers){ upper_nibbles_wide(u.first), upper_nibbles_wide(u.second) };
    return (unit_integers){ lower_nibbles_wide(u.first), lower_nibbles_wide(u.second) };
}

/* Bit j of 32 bytes belongs to block j: the bits of the blocks of a unit, moved to bit `to`. */
INLINE unit_integers eight_to_a_byte_wide(const uint8_t *w, const int *block, int to)
{
    return (unit_integers){
        move_bits(_mm512_broadcast_i32x4(load_16(w)), block, to, 1 << to),
        move_bits(_mm512_broadcast_i32x4(load_16(w + 16)), block, to, 1 << to),
    };
}

/* Bits 2 j and 2 j + 1 of 32 bytes belong to block j, those of the next 32 to block 4 + j. */
INLINE unit_integers four_to_a_byte_wide(const uint8_t *w, int unit, int to)
{
    const int from[UNIT] = { 4 * unit, 4 * unit + 2, 4 * unit, 4 * unit + 2 };
    const __m512i bytes = _mm512_loadu_si512(w);
    return (unit_integers){
        move_bits(_mm512_shuffle_i32x4(bytes, bytes, 0xa0), from, to, 3 << to),
        move_bits(_mm512_shuffle_i32x4(bytes, bytes, 0xf5), from, to, 3 << to),
    };
}

INLINE unit_integers integers_of_q2_k(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    (void)f;
    (void)n;
    return four_to_a_byte_wide(w + 16, unit, 0);
}

INLINE unit_integers integers_of_q3_k(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int block[UNIT] = { 2 * unit, 2 * unit + 1, 4 + 2 * unit, 5 + 2 * unit };
    (void)f;
    (void)n;
    return or_units(four_to_a_byte_wide(w + 32, unit, 0), eight_to_a_byte_wide(w, block, 2));
}

INLINE unit_integers integers_of_q4_k(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    (void)f;
    (void)n;
    return nibbles_of_unit(w + 16, unit);
}

INLINE unit_integers integers_of_q5_k(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    const int block[UNIT] = { unit, 2 + unit, 4 + unit, 6 + unit };
    (void)f;
    (void)n;
    return or_units(nibbles_of_unit(w + 48, unit), eight_to_a_byte_wide(w + 16, block, 4));
}

INLINE unit_integers integers_of_q6_k(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    (void)f;
    (void)n;
    return or_units(nibbles_of_unit(w, unit), four_to_a_byte_wide(w + 128, unit, 4));
}

INLINE unit_integers integers_of_iq4_xs(const avx2_format *f, const uint8_t *w, int unit, int n)
{
    (void)n;
    return unit_of_nibbles(f, _mm512_loadu_si512(w + 8 + (ptrdiff_t)64 * unit));
}

static const wide_format wide_q2_k = { .integers = integers_of_q2_k,
                                       .order = IN_PAIRS,
                                       .unpack_in_pairs = true };
static const wide_format wide_q3_k = { .integers = integers_of_q3_k, .order = IN_PAIRS };
static const wide_format wide_q4_k = { .integers = integers_of_q4_k,
                                       .order = ALTERNATING,
                                       .unpack_in_pairs = true };
static const wide_format wide_q5_k = { .integers = integers_of_q5_k, .order = ALTERNATING };
static const wide_format wide_q6_k = { .integers = integers_of_q6_k, .order = IN_PAIRS };
static const wide_format wide_iq4_xs = { .integers = integers_of_iq4_xs, .order = NEIGHBOURS };

#endif
