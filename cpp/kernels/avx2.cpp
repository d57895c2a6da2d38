// The vocabulary of AVX2 with FMA and F16C: 8 outputs at a time.
#include <immintrin.h>

#include <bit>

#include "tile.h"

namespace headstart {
namespace {

struct Avx2 {
  static constexpr int lanes = 8;
  static constexpr int rows = 4;
  using Bytes = __m256i;
  using Ints = __m256i;
  using Floats = __m256;

  static Bytes load(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Bytes mask(Bytes b, std::uint8_t kept) {
    return _mm256_and_si256(b, _mm256_set1_epi8(static_cast<char>(kept)));
  }
  // Right by n bits, or left by -n; bits that cross into a neighbour byte are the caller's to mask away.
  template <int n>
  static Bytes shift(Bytes b) {
    if constexpr (n < 0) return _mm256_slli_epi16(b, -n);
    return _mm256_srli_epi16(b, n < 0 ? 0 : n);
  }
  static Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }

  // Sum over `quads` quads of (code - offset) * x, given the sum of x.
  template <int bits, int offset, int quads>
  static Ints dot(const Bytes* codes, const std::int8_t* x, Ints sum) {
    if constexpr (bits == 8) return signed_dot<quads>(codes, x);
    // Sums of 16 bits: of two products at most 2 * (2^bits - 1) * 127, so this many quads fit.
    constexpr int most = 32767 / (2 * ((1 << bits) - 1) * 127);
    Ints total = _mm256_setzero_si256();
    for (int j = 0; j < quads; j += most) {
      Ints pairs = _mm256_maddubs_epi16(codes[j], quad(x + 4 * j));
      for (int k = j + 1; k < std::min(j + most, quads); ++k)
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(codes[k], quad(x + 4 * k)));
      total = _mm256_add_epi32(total, widened(pairs));
    }
    if constexpr (offset == 0) return total;
    return _mm256_sub_epi32(total, _mm256_slli_epi32(sum, std::countr_zero(unsigned(offset))));
  }

  static Ints integer(std::int32_t x) { return _mm256_set1_epi32(x); }
  static Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }

  static Floats broadcast(float x) { return _mm256_set1_ps(x); }
  static Floats to_float(Ints i) { return _mm256_cvtepi32_ps(i); }
  static Floats bytes(const std::uint8_t* p) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight(p))); }
  static Floats signed_bytes(const std::uint8_t* p) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight(p))); }
  static Floats halves(const std::uint8_t* p) { return values<Kind::F16>(p); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats negate(Floats a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  template <Kind kind>
  static Floats values(const std::uint8_t* p) {
    if constexpr (kind == Kind::F32) return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
    const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    if constexpr (kind == Kind::F16) return _mm256_cvtph_ps(narrow);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16));
  }

  static void store(float* out, Floats v, int count) {
    if (count == lanes) return _mm256_storeu_ps(out, v);
    float all[lanes];
    _mm256_storeu_ps(all, v);
    std::memcpy(out, all, count * sizeof(float));
  }

  static void quantise(const float* x, std::int64_t inputs, std::uint8_t* out) {
    auto* blocks = reinterpret_cast<Activations*>(out);
    for (std::int64_t b = 0; b < inputs / kBlock; ++b) quantise_block(x + b * kBlock, blocks[b]);
  }

 private:
  static __m256i quad(const std::int8_t* p) {
    std::int32_t four;
    std::memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
  }
  static __m128i eight(const std::uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
  // Pairs of 16-bit sums, added into 32 bits.
  static __m256i widened(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

  // Codes of 8 bits would overflow sums of 16, so the weight's sign goes to x: two products are at most 2 * 128 * 127.
  template <int quads>
  static Ints signed_dot(const Bytes* codes, const std::int8_t* x) {
    Ints total = _mm256_setzero_si256();
    for (int j = 0; j < quads; ++j) {
      const __m256i w = _mm256_xor_si256(codes[j], _mm256_set1_epi8(-128));
      const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(quad(x + 4 * j), w));
      total = _mm256_add_epi32(total, widened(pairs));
    }
    return total;
  }

  static void quantise_block(const float* x, Activations& out) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();  // as bits, which order like magnitudes and put infinities and NaN last
    for (int i = 0; i < 4; ++i)
      largest = _mm256_max_epu32(largest, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + 8 * i)), magnitude));
    const ActivationScale<Avx2> scale(std::bit_cast<float>(reduced(largest, [](__m128i a, __m128i b) {
      return _mm_max_epu32(a, b);
    })));
    __m256i codes[4] = {};
    if (scale.inverse != 0.0f)
      for (int i = 0; i < 4; ++i)
        codes[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(scale.inverse)));
    // Packing works within halves; the last step puts the fours back in order.
    const __m256i packed =
        _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]), _mm256_packs_epi32(codes[2], codes[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes),
                        _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    const auto plus = [](__m128i a, __m128i b) { return _mm_add_epi32(a, b); };
    out.first_sum = reduced(_mm256_add_epi32(codes[0], codes[1]), plus);
    out.sum = out.first_sum + reduced(_mm256_add_epi32(codes[2], codes[3]), plus);
    out.scale = scale.scale;
    out.scaled_sum = scale.scale * static_cast<float>(out.sum);
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
