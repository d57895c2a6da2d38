// The vocabulary in plain C++: what every other instruction set must equal, bit for bit.
#include <cmath>

#include "half.h"
#include "tile.h"

namespace headstart {
namespace {

struct Portable {
  static constexpr int lanes = kGroup;
  static constexpr int rows = 1, float_rows = 1;  // of a tile: arrays gain nothing from more
  struct Bytes {
    std::uint8_t at[kLine];
  };
  struct Ints {
    std::int32_t at[lanes];
  };
  struct Floats {
    float at[lanes];
  };

  static Bytes load(const std::uint8_t* p) {
    Bytes b;
    std::memcpy(b.at, p, sizeof b.at);
    return b;
  }
  static Bytes mask(Bytes b, std::uint8_t kept) {
    for (auto& v : b.at) v &= kept;
    return b;
  }
  // Right by n bits, or left by -n; bits that cross into a neighbour byte are the caller's to mask away.
  template <int n>
  static Bytes shift(Bytes b) {
    for (auto& v : b.at) v = static_cast<std::uint8_t>(n < 0 ? v << (n < 0 ? -n : 0) : v >> (n < 0 ? 0 : n));
    return b;
  }
  static Bytes either(Bytes a, const Bytes& b) {
    for (int i = 0; i < kLine; ++i) a.at[i] |= b.at[i];
    return a;
  }
  template <int bits>
  static constexpr bool signed_codes = false;
  template <int bits, int parts, int rows, class Use>
  static void dots(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride, Use use) {
    dots_by_row<Portable, bits, parts, rows>(lines, x, stride, use);
  }
  template <int bits, int quads>
  static Ints dot(const Bytes* codes, const std::int8_t* x) {
    Ints out = {};
    for (int j = 0; j < quads; ++j)
      for (int o = 0; o < lanes; ++o)
        for (int t = 0; t < 4; ++t) out.at[o] += codes[j].at[4 * o + t] * x[4 * j + t];
    return out;
  }

  static Ints integer(std::int32_t value) {
    Ints out;
    for (auto& v : out.at) v = value;
    return out;
  }
  static Ints subtract(Ints a, const Ints& b) {
    for (int o = 0; o < lanes; ++o) a.at[o] -= b.at[o];
    return a;
  }

  template <int power>
  static Ints times(Ints a) {
    for (auto& v : a.at) v *= power;
    return a;
  }

  template <class F>
  static Floats each(F f) {
    Floats out;
    for (int o = 0; o < lanes; ++o) out.at[o] = f(o);
    return out;
  }
  static Floats broadcast(float x) {
    return each([&](int) { return x; });
  }
  static Floats to_float(const Ints& i) {
    return each([&](int o) { return static_cast<float>(i.at[o]); });
  }
  static Floats bytes(const std::uint8_t* p) {
    return each([&](int o) { return static_cast<float>(p[o]); });
  }
  static Floats signed_bytes(const std::uint8_t* p) {
    return each([&](int o) { return static_cast<float>(static_cast<std::int8_t>(p[o])); });
  }
  static Floats halves(const std::uint8_t* p) { return values<Kind::F16>(p); }
  static Floats multiply(const Floats& a, const Floats& b) {
    return each([&](int o) { return a.at[o] * b.at[o]; });
  }
  static Floats negate(const Floats& a) {
    return each([&](int o) { return -a.at[o]; });
  }
  static Floats add(const Floats& a, const Floats& b) {
    return each([&](int o) { return a.at[o] + b.at[o]; });
  }
  static Floats fused(const Floats& a, const Floats& b, const Floats& c) {
    return each([&](int o) { return std::fma(a.at[o], b.at[o], c.at[o]); });
  }
  template <Kind kind>
  static Floats values(const std::uint8_t* p) {
    return each([&](int o) {
      if constexpr (kind == Kind::F32) {
        float v;
        std::memcpy(&v, p + 4 * o, sizeof v);
        return v;
      } else {
        std::uint16_t v;
        std::memcpy(&v, p + 2 * o, sizeof v);
        return kind == Kind::F16 ? half_to_float(v) : bfloat_to_float(v);
      }
    });
  }
  static void store(float* out, const Floats& v, int count) { std::memcpy(out, v.at, count * sizeof(float)); }

  static std::int32_t quantise_block(const float* x, Activations& out) {
    std::uint32_t largest = 0;  // as bits, which order like magnitudes and put infinities and NaN last
    for (int i = 0; i < kBlock; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
    const ActivationScale<Portable> scale(std::bit_cast<float>(largest));
    std::int32_t sums[2] = {0, 0}, squares = 0;
    for (int i = 0; i < kBlock; ++i) {
      constexpr float round = 0x1.8p23f;  // leaves no bits below 1
      const float q = scale.inverse == 0.0f ? 0.0f : x[i] * scale.inverse + round - round;
      out.codes[i] = static_cast<std::int8_t>(q);
      sums[i / 16] += out.codes[i];
      squares += out.codes[i] * out.codes[i];
    }
    out.scale = scale.scale;
    out.sum = sums[0] + sums[1];
    out.first_sum = static_cast<std::int16_t>(sums[0]);
    out.scaled_sum = scale.scale * static_cast<float>(out.sum);
    return squares;
  }
};

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kernels = make_kernels<Portable>();
  return kernels;
}

}  // namespace headstart
