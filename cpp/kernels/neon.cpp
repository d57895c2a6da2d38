// The vocabulary of NEON with the dot-product instructions: 4 outputs at a time.
#include <arm_neon.h>

#include <bit>

#include "tile.h"

namespace headstart {
namespace {

struct Neon {
  static constexpr int lanes = 4;
  static constexpr int rows = 8, float_rows = 8;  // of a tile: what the registers hold
  using Bytes = uint8x16_t;
  using Ints = int32x4_t;
  using Floats = float32x4_t;

  static Bytes load(const std::uint8_t* p) { return vld1q_u8(p); }
  static Bytes mask(Bytes b, std::uint8_t kept) { return vandq_u8(b, vdupq_n_u8(kept)); }
  // Right by n bits, or left by -n.
  template <int n>
  static Bytes shift(Bytes b) {
    if constexpr (n > 0) return vshrq_n_u8(b, n);
    if constexpr (n < 0) return vshlq_n_u8(b, -n);
    return b;
  }
  static Bytes either(Bytes a, Bytes b) { return vorrq_u8(a, b); }

  // Codes of 8 bits lose their offset first, so that they fit a signed byte.
  template <int bits>
  static constexpr bool signed_codes = bits == 8;
  template <int bits, int parts, int rows, class Use>
  static void dots(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride, Use use) {
    dots_by_row<Neon, bits, parts, rows>(lines, x, stride, use);
  }
  template <int bits, int quads>
  static Ints dot(const Bytes* codes, const std::int8_t* x) {
    Ints total = vdupq_n_s32(0);
    for (int j = 0; j < quads; j += 4) {
      const int8x16_t four = vld1q_s8(x + 4 * j);
      total = vdotq_laneq_s32(total, signed_code<bits>(codes[j]), four, 0);
      total = vdotq_laneq_s32(total, signed_code<bits>(codes[j + 1]), four, 1);
      total = vdotq_laneq_s32(total, signed_code<bits>(codes[j + 2]), four, 2);
      total = vdotq_laneq_s32(total, signed_code<bits>(codes[j + 3]), four, 3);
    }
    return total;
  }

  static Ints integer(std::int32_t x) { return vdupq_n_s32(x); }
  static Ints subtract(Ints a, Ints b) { return vsubq_s32(a, b); }

  template <int power>
  static Ints times(Ints a) {
    return vshlq_n_s32(a, std::countr_zero(unsigned(power)));
  }

  static Floats broadcast(float x) { return vdupq_n_f32(x); }
  static Floats to_float(Ints i) { return vcvtq_f32_s32(i); }
  static Floats bytes(const std::uint8_t* p) {
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four(p))))));
  }
  static Floats signed_bytes(const std::uint8_t* p) {
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four(p))))));
  }
  static Floats halves(const std::uint8_t* p) { return values<Kind::F16>(p); }
  static Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
  static Floats negate(Floats a) { return vnegq_f32(a); }
  static Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
  static Floats fused(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }

  template <Kind kind>
  static Floats values(const std::uint8_t* p) {
    if constexpr (kind == Kind::F32) return vreinterpretq_f32_u8(vld1q_u8(p));
    const uint16x4_t narrow = vreinterpret_u16_u8(vld1_u8(p));
    if constexpr (kind == Kind::F16) return vcvt_f32_f16(vreinterpret_f16_u16(narrow));
    return vreinterpretq_f32_u32(vshll_n_u16(narrow, 16));
  }

  static void store(float* out, Floats v, int count) {
    if (count == lanes) return vst1q_f32(out, v);
    float all[lanes];
    vst1q_f32(all, v);
    std::memcpy(out, all, count * sizeof(float));
  }

  static std::int32_t quantise_block(const float* x, Activations& out) {
    uint32x4_t largest = vdupq_n_u32(0);  // as bits, which order like magnitudes and put infinities and NaN last
    for (int i = 0; i < 8; ++i)
      largest = vmaxq_u32(largest, vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x + 4 * i)), vdupq_n_u32(0x7fffffffu)));
    const ActivationScale<Neon> scale(std::bit_cast<float>(vmaxvq_u32(largest)));
    std::int32_t sums[2] = {0, 0}, squares = 0;
    for (int i = 0; i < 8; i += 2) {
      const int32x4_t low = rounded(x + 4 * i, scale.inverse), high = rounded(x + 4 * i + 4, scale.inverse);
      vst1_s8(out.codes + 4 * i, vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high))));
      sums[i / 4] += vaddvq_s32(vaddq_s32(low, high));
      squares += vaddvq_s32(vmlaq_s32(vmulq_s32(low, low), high, high));
    }
    out.first_sum = static_cast<std::int16_t>(sums[0]);
    out.sum = sums[0] + sums[1];
    out.scale = scale.scale;
    out.scaled_sum = scale.scale * static_cast<float>(out.sum);
    return squares;
  }

 private:
  template <int bits>
  static int8x16_t signed_code(Bytes b) {
    return vreinterpretq_s8_u8(bits == 8 ? veorq_u8(b, vdupq_n_u8(0x80)) : b);
  }
  static std::uint64_t four(const std::uint8_t* p) {
    std::uint32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return bytes;
  }

  static int32x4_t rounded(const float* x, float inverse) {
    if (inverse == 0.0f) return vdupq_n_s32(0);
    return vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse));
  }
};

}  // namespace

const Kernels& neon_kernels() {
  static constexpr Kernels kernels = make_kernels<Neon>();
  return kernels;
}

}  // namespace headstart
