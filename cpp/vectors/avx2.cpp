// AVX2 with FMA and F16C: 16 lanes in two registers.
#include <immintrin.h>

#include "attention.h"

namespace headstart {
namespace {

struct Avx2 {
  static constexpr int width = 8, registers = 16, queries = 6;
  using F = __m256;

  static F load(const float* x) { return _mm256_loadu_ps(x); }
  static F load(const std::uint16_t* x) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  static void store(float* out, F x) { _mm256_storeu_ps(out, x); }
  static void store(std::uint16_t* out, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F set(float x) { return _mm256_set1_ps(x); }
  static float first(F x) { return _mm256_cvtss_f32(x); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F round(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F power_of_two(F n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  // y, or 0 where x < bound.
  static F zero_below(F y, F x, float bound) { return _mm256_and_ps(_mm256_cmp_ps(x, set(bound), _CMP_NLT_UQ), y); }
};

}  // namespace

const Vectors& avx2_vectors() {
  static constexpr Vectors all = make_vectors<Avx2>();
  return all;
}

}  // namespace headstart
