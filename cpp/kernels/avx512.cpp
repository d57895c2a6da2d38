// The vocabulary of AVX-512 with VNNI: 16 outputs at a time.
#include <immintrin.h>

#include <bit>

#include "tile.h"

namespace headstart {
namespace {

struct Avx512 {
  static constexpr int lanes = 16;
  static constexpr int rows = 8, float_rows = 8;  // of a tile: what the registers hold
  using Bytes = __m512i;
  using Ints = __m512i;
  using Floats = __m512;

  static Bytes load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static Bytes mask(Bytes b, std::uint8_t kept) {
    return _mm512_and_si512(b, _mm512_set1_epi8(static_cast<char>(kept)));
  }
  // Right by n bits, or left by -n; bits that cross into a neighbour byte are the caller's to mask away.
  template <int n>
  static Bytes shift(Bytes b) {
    if constexpr (n < 0) return _mm512_slli_epi16(b, -n);
    return _mm512_srli_epi16(b, n < 0 ? 0 : n);
  }
  static Bytes either(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }

  template <int bits>
  static constexpr bool signed_codes = false;
  // Rows go through the quads of a block in step, some at a time: the sum of one row alone is a chain of dependent
  // instructions, and a processor does not look far enough ahead to overlap enough of them (docs/LOG.md).
  template <int bits, int parts, int rows, class Use>
  static void dots(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride, Use use) {
    constexpr int quads = 8 / parts, in_step = 4;
    Bytes codes[8];
    each<8>([&](auto j) { codes[j] = quad<Avx512, bits, j>(lines); });
    each<(rows + in_step - 1) / in_step>([&](auto turn) {
      constexpr int first = turn * in_step, count = std::min(in_step, rows - first);
      const std::int8_t* of_row[count];
      Ints sums[parts][count];
      each<count>([&](auto r) { of_row[r] = activations<Avx512>(x, stride, first + r).codes; });
      each<parts>([&](auto part) {
        each<count>([&](auto r) { sums[part][r] = _mm512_setzero_si512(); });
        each<quads>([&](auto j) {
          constexpr int at = part * quads + j;
          each<count>([&](auto r) { sums[part][r] = add_quad<at>(sums[part][r], codes[at], of_row[r]); });
        });
      });
      each<count>([&](auto r) {
        use(std::integral_constant<int, first + r>(), sums[0][r], sums[parts - 1][r]);
      });
    });
  }
  // sum += code * x of one quad. In assembly, because GCC loads the quad of x by an instruction of its own, which is
  // slower; x as a memory operand would make it spill the sums (docs/LOG.md). Volatile, or GCC puts the rows behind one
  // another again. Whoever calls has long written x.
  template <int j>
  static Ints add_quad(Ints sum, Bytes code, const std::int8_t* x) {
    asm volatile("vpdpbusd %c3(%2)%{1to16%}, %1, %0" : "+v"(sum) : "v"(code), "r"(x), "i"(4 * j));
    return sum;
  }

  static Ints integer(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }

  template <int power>
  static Ints times(Ints a) {
    return _mm512_slli_epi32(a, std::countr_zero(unsigned(power)));
  }

  static Floats broadcast(float x) { return _mm512_set1_ps(x); }
  static Floats to_float(Ints i) { return _mm512_cvtepi32_ps(i); }
  static Floats bytes(const std::uint8_t* p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(sixteen(p))); }
  static Floats signed_bytes(const std::uint8_t* p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen(p))); }
  static Floats halves(const std::uint8_t* p) { return values<Kind::F16>(p); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats negate(Floats a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

  template <Kind kind>
  static Floats values(const std::uint8_t* p) {
    if constexpr (kind == Kind::F32) return _mm512_loadu_ps(p);
    const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    if constexpr (kind == Kind::F16) return _mm512_cvtph_ps(narrow);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
  }

  static void store(float* out, Floats v, int count) {
    _mm512_mask_storeu_ps(out, static_cast<__mmask16>((1u << count) - 1), v);
  }

  static std::int32_t quantise_block(const float* x, Activations& out) {
    const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + 16);
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    // Bits order like magnitudes and put infinities and NaN last.
    const __m512i largest = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a), magnitude),
                                             _mm512_and_si512(_mm512_castps_si512(b), magnitude));
    const ActivationScale<Avx512> scale(std::bit_cast<float>(_mm512_reduce_max_epu32(largest)));
    __m512i first = _mm512_setzero_si512(), second = first;
    if (scale.inverse != 0.0f) {
      const __m512 inverse = _mm512_set1_ps(scale.inverse);
      first = _mm512_cvtps_epi32(_mm512_mul_ps(a, inverse));
      second = _mm512_cvtps_epi32(_mm512_mul_ps(b, inverse));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.codes), _mm512_cvtepi32_epi8(first));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.codes + 16), _mm512_cvtepi32_epi8(second));
    // In each 128 bits four codes of the first half, then four of the second: sums of two, of the codes and of squares.
    const __m512i both = _mm512_packs_epi32(first, second);
    const __m128i sums = folded(_mm512_madd_epi16(both, _mm512_set1_epi16(1)));
    const __m128i all = _mm_hadd_epi32(sums, folded(_mm512_madd_epi16(both, both)));
    out.first_sum = static_cast<std::int16_t>(_mm_cvtsi128_si32(all));
    out.sum = out.first_sum + _mm_extract_epi32(all, 1);
    out.scale = scale.scale;
    out.scaled_sum = scale.scale * static_cast<float>(out.sum);
    return _mm_extract_epi32(all, 2) + _mm_extract_epi32(all, 3);
  }

 private:
  static __m128i folded(__m512i v) {
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }
  static __m128i sixteen(const std::uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
};

}  // namespace

const Kernels& avx512_kernels() {
  static constexpr Kernels kernels = make_kernels<Avx512>();
  return kernels;
}

}  // namespace headstart
