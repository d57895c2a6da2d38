// The vocabulary of AVX2 with FMA and F16C: 16 outputs at a time, in two registers.
#include <immintrin.h>

#include <bit>

#include "tile.h"

namespace headstart {
namespace {

struct Avx2 {
  static constexpr int lanes = 16;
  static constexpr int rows = 4, float_rows = 3;  // of a tile: what the registers hold
  struct Ints {
    __m256i a, b;
  };
  struct Floats {
    __m256 a, b;
  };
  using Bytes = Ints;

  static Bytes load(const std::uint8_t* p) { return {bits256(p), bits256(p + 32)}; }
  static Bytes mask(Bytes v, std::uint8_t kept) {
    const __m256i all = _mm256_set1_epi8(static_cast<char>(kept));
    return {_mm256_and_si256(v.a, all), _mm256_and_si256(v.b, all)};
  }
  // Right by n bits, or left by -n; bits that cross into a neighbour byte are the caller's to mask away.
  template <int n>
  static Bytes shift(Bytes v) {
    if constexpr (n < 0) return {_mm256_slli_epi16(v.a, -n), _mm256_slli_epi16(v.b, -n)};
    if constexpr (n > 0) return {_mm256_srli_epi16(v.a, n), _mm256_srli_epi16(v.b, n)};
    return v;
  }
  static Bytes either(Bytes u, Bytes v) { return {_mm256_or_si256(u.a, v.a), _mm256_or_si256(u.b, v.b)}; }

  template <int bits>
  static constexpr bool signed_codes = bits == 8;
  // Line by line, because 16 registers do not hold the codes of a block.
  template <int bits, int parts, int rows, class Use>
  static void dots(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride, Use use) {
    Ints sums[parts][rows];
    if constexpr (bits == 8) {
      each<8>([&](auto j) { add_signed<j>(quad<Avx2, 8, j>(lines), x, stride, sums[0]); });
    } else if constexpr (bits == 4) {
      add_lines<bits, 0, 4>(lines, x, stride, sums);
    } else {
      add_lines<bits, 0, 2>(lines, x, stride, sums);
      add_lines<bits, 2, 4>(lines, x, stride, sums);
    }
    each<rows>([&](auto r) { use(r, sums[0][r], sums[parts - 1][r]); });
  }

  static Ints integer(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static Ints plus(Ints u, Ints v) { return {_mm256_add_epi32(u.a, v.a), _mm256_add_epi32(u.b, v.b)}; }
  static Ints subtract(Ints u, Ints v) { return {_mm256_sub_epi32(u.a, v.a), _mm256_sub_epi32(u.b, v.b)}; }
  template <int power>
  static Ints times(Ints v) {
    constexpr int n = std::countr_zero(unsigned(power));
    return {_mm256_slli_epi32(v.a, n), _mm256_slli_epi32(v.b, n)};
  }

  static Floats broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Floats to_float(Ints v) { return {_mm256_cvtepi32_ps(v.a), _mm256_cvtepi32_ps(v.b)}; }
  static Floats bytes(const std::uint8_t* p) {
    return to_float({_mm256_cvtepu8_epi32(eight(p)), _mm256_cvtepu8_epi32(eight(p + 8))});
  }
  static Floats signed_bytes(const std::uint8_t* p) {
    return to_float({_mm256_cvtepi8_epi32(eight(p)), _mm256_cvtepi8_epi32(eight(p + 8))});
  }
  static Floats halves(const std::uint8_t* p) { return values<Kind::F16>(p); }
  static Floats multiply(Floats u, Floats v) { return {_mm256_mul_ps(u.a, v.a), _mm256_mul_ps(u.b, v.b)}; }
  static Floats negate(Floats v) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(v.a, sign), _mm256_xor_ps(v.b, sign)};
  }
  static Floats add(Floats u, Floats v) { return {_mm256_add_ps(u.a, v.a), _mm256_add_ps(u.b, v.b)}; }
  static Floats fused(Floats u, Floats v, Floats w) {
    return {_mm256_fmadd_ps(u.a, v.a, w.a), _mm256_fmadd_ps(u.b, v.b, w.b)};
  }

  template <Kind kind>
  static Floats values(const std::uint8_t* p) {
    constexpr int bytes = 8 * format(kind).bits / 8;
    return {eight_values<kind>(p), eight_values<kind>(p + bytes)};
  }

  static void store(float* out, Floats v, int count) {
    float all[lanes];
    float* to = count == lanes ? out : all;
    _mm256_storeu_ps(to, v.a);
    _mm256_storeu_ps(to + 8, v.b);
    if (to == all) std::memcpy(out, all, count * sizeof(float));
  }

  static std::int32_t quantise_block(const float* x, Activations& out) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();  // as bits, which order like magnitudes and put infinities and NaN last
    for (int i = 0; i < 4; ++i)
      largest = _mm256_max_epu32(largest, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + 8 * i)), magnitude));
    const auto most = reduced(largest, [](__m128i a, __m128i b) { return _mm_max_epu32(a, b); });
    const ActivationScale<Avx2> scale(std::bit_cast<float>(most));
    __m256i codes[4] = {};
    if (scale.inverse != 0.0f)
      for (int i = 0; i < 4; ++i)
        codes[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(scale.inverse)));
    // Packing works within halves; the last step puts the fours back in order.
    const __m256i low = _mm256_packs_epi32(codes[0], codes[1]), high = _mm256_packs_epi32(codes[2], codes[3]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes),
                        _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high),
                                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i sums = _mm256_hadd_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones));
    const __m256i squares = _mm256_add_epi32(_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high));
    const __m256i each = _mm256_hadd_epi32(sums, _mm256_hadd_epi32(squares, squares));
    const __m128i all = _mm_add_epi32(_mm256_castsi256_si128(each), _mm256_extracti128_si256(each, 1));
    out.first_sum = static_cast<std::int16_t>(_mm_cvtsi128_si32(all));
    out.sum = out.first_sum + _mm_extract_epi32(all, 1);
    out.scale = scale.scale;
    out.scaled_sum = scale.scale * static_cast<float>(out.sum);
    return _mm_extract_epi32(all, 2);
  }

 private:
  static __m256i bits256(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static __m256i four(const std::int8_t* p) {
    std::int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }
  static __m128i eight(const std::uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

  template <Kind kind>
  static __m256 eight_values(const std::uint8_t* p) {
    if constexpr (kind == Kind::F32) return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
    const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    if constexpr (kind == Kind::F16) return _mm256_cvtph_ps(narrow);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16));
  }

  // Sums of 16 bits, added in pairs into 32.
  static Ints widened(Ints v) {
    const __m256i ones = _mm256_set1_epi16(1);
    return {_mm256_madd_epi16(v.a, ones), _mm256_madd_epi16(v.b, ones)};
  }
  static Ints pairs(Bytes codes, __m256i x) {
    return {_mm256_maddubs_epi16(codes.a, x), _mm256_maddubs_epi16(codes.b, x)};
  }
  static Ints plus16(Ints u, Ints v) { return {_mm256_add_epi16(u.a, v.a), _mm256_add_epi16(u.b, v.b)}; }

  // Quads of lines first..last - 1 for every row. Two products are at most 2 * 127 * (2^bits - 1), so that in 16 bits
  // there is room for 8 quads of 4 bits, 4 of 5, 2 of 6.
  template <int bits, int first, int last, int parts, int rows>
  static void add_lines(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride,
                        Ints (&sums)[parts][rows]) {
    static_assert((last - first) * (parts == 1 ? 2 : 1) * 2 * 127 * ((1 << bits) - 1) <= 32767);
    Ints small[parts][rows];
    each<last - first>([&](auto i) { add_line<bits, first + i, i == 0>(lines, x, stride, small); });
    each<rows>([&](auto r) {
      each<parts>([&](auto part) {
        const Ints sum = widened(small[part][r]);
        sums[part][r] = first == 0 ? sum : plus(sums[part][r], sum);
      });
    });
  }

  template <int bits, int i, bool starts, int parts, int rows>
  static void add_line(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride,
                       Ints (&small)[parts][rows]) {
    const Bytes low = quad<Avx2, bits, i>(lines), high = quad<Avx2, bits, i + 4>(lines);
    each<rows>([&](auto r) {
      const std::int8_t* codes = activations<Avx2>(x, stride, r).codes;
      const Ints first = pairs(low, four(codes + 4 * i));
      small[0][r] = starts ? first : plus16(small[0][r], first);
      const Ints second = pairs(high, four(codes + 16 + 4 * i));
      small[parts - 1][r] = starts && parts == 2 ? second : plus16(small[parts - 1][r], second);
    });
  }

  // Codes of 8 bits would overflow sums of 16, so the weight's sign goes to x: two products are at most 2 * 128 * 127.
  template <int j, int rows>
  static void add_signed(Bytes codes, const std::uint8_t* x, std::size_t stride, Ints (&sums)[rows]) {
    const __m256i flip = _mm256_set1_epi8(-128);
    const Bytes w = {_mm256_xor_si256(codes.a, flip), _mm256_xor_si256(codes.b, flip)};
    const Bytes size = {_mm256_abs_epi8(w.a), _mm256_abs_epi8(w.b)};
    each<rows>([&](auto r) {
      const __m256i q = four(activations<Avx2>(x, stride, r).codes + 4 * j);
      const Ints small = {_mm256_maddubs_epi16(size.a, _mm256_sign_epi8(q, w.a)),
                          _mm256_maddubs_epi16(size.b, _mm256_sign_epi8(q, w.b))};
      sums[r] = j == 0 ? widened(small) : plus(sums[r], widened(small));
    });
  }

  template <class F>
  static std::int32_t reduced(__m256i v, F f) {
    __m128i x = f(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    x = f(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(f(x, _mm_shuffle_epi32(x, 0xb1)));
  }
};

}  // namespace

const Kernels& avx2_kernels() {
  static constexpr Kernels kernels = make_kernels<Avx2>();
  return kernels;
}

}  // namespace headstart
