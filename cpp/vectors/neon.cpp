// NEON (AArch64): 16 lanes in four registers.
#include <arm_neon.h>

#include "attention.h"

namespace headstart {
namespace {

struct Neon {
  static constexpr int width = 4, registers = 32, queries = 12;
  using F = float32x4_t;

  static F load(const float* x) { return vld1q_f32(x); }
  static F load(const std::uint16_t* x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
  static void store(float* out, F x) { vst1q_f32(out, x); }
  static void store(std::uint16_t* out, F x) { vst1_u16(out, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
  static F set(float x) { return vdupq_n_f32(x); }
  static float first(F x) { return vgetq_lane_f32(x, 0); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  // Like x86, the second operand if one is not a number.
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static F round(F x) { return vrndnq_f32(x); }
  static F power_of_two(F n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
  }
  // y, or 0 where x < bound.
  static F zero_below(F y, F x, float bound) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), vcltq_f32(x, set(bound))));
  }
};

}  // namespace

const Vectors& neon_vectors() {
  static constexpr Vectors all = make_vectors<Neon>();
  return all;
}

}  // namespace headstart
