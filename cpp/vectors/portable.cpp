// Plain C++: 16 lanes in an array.
#include <bit>
#include <cmath>

#include "../kernels/half.h"
#include "attention.h"

namespace headstart {
namespace {

// Nearest, ties to even; the number is within half precision's range.
std::uint16_t to_half_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude < 0x38800000u) {  // subnormal: let an addition do the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

struct Portable {
  static constexpr int width = 16, registers = 16, queries = 6;
  struct F {
    float lane[width];
  };

  template <class Op>
  static F each(const Op& op) {
    F y;
    for (int i = 0; i < width; ++i) y.lane[i] = op(i);
    return y;
  }

  static F load(const float* x) {
    return each([&](int i) { return x[i]; });
  }
  static F load(const std::uint16_t* x) {
    return each([&](int i) { return half_to_float(x[i]); });
  }
  static void store(float* out, const F& x) { std::copy_n(x.lane, width, out); }
  static void store(std::uint16_t* out, const F& x) { std::transform(x.lane, x.lane + width, out, to_half_bits); }
  static F set(float x) {
    return each([&](int) { return x; });
  }
  static float first(const F& x) { return x.lane[0]; }
  static F add(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F sub(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static F mul(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F div(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    return each([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
  }
  // Like x86, the second operand if one is not a number.
  static F max(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F min(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F round(const F& x) {
    return each([&](int i) { return std::nearbyint(x.lane[i]); });
  }
  static F power_of_two(const F& n) {
    return each([&](int i) {
      const float exponent = n.lane[i] >= -126 ? n.lane[i] : -126;  // false for not-a-number, too
      return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<int>(exponent) + 127) << 23);
    });
  }
  // y, or 0 where x < bound.
  static F zero_below(const F& y, const F& x, float bound) {
    return each([&](int i) { return x.lane[i] < bound ? 0.0f : y.lane[i]; });
  }
};

}  // namespace

const Vectors& portable_vectors() {
  static constexpr Vectors all = make_vectors<Portable>();
  return all;
}

}  // namespace headstart
