// AVX-512: 16 lanes in one register.
#include <immintrin.h>

#include "attention.h"

namespace headstart {
namespace {

struct Avx512 {
  static constexpr int width = 16, registers = 32, queries = 12;
  using F = __m512;

  static F load(const float* x) { return _mm512_loadu_ps(x); }
  static F load(const std::uint16_t* x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  static void store(float* out, F x) { _mm512_storeu_ps(out, x); }
  static void store(std::uint16_t* out, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F set(float x) { return _mm512_set1_ps(x); }
  static float first(F x) { return _mm512_cvtss_f32(x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
  static F power_of_two(F n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
  // y, or 0 where x < bound.
  static F zero_below(F y, F x, float bound) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, set(bound), _CMP_NLT_UQ), y);
  }
};

}  // namespace

const Vectors& avx512_vectors() {
  static constexpr Vectors all = make_vectors<Avx512>();
  return all;
}

}  // namespace headstart
