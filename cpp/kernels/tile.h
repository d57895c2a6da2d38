// The product, written once for all instruction sets: V is the vocabulary of one of them.
//
// The arithmetic of an output is the same everywhere, so every instruction set gives the same bits:
//   quantised   acc = 0; for each block, ascending: i = sum((code - offset) * activation), exactly, in integers;
//               acc = fma(i, scale_w * scale_x, acc); if there are minima, acc = fma(minimum_w, scaled_sum_x, acc).
//               Q6_K has two i per block, of 16 inputs each.
//   floats      two accumulators, of the even and of the odd inputs, ascending, fused; their sum at the end.
//
// Everything here is a template over V, and V lives in an anonymous namespace: no function compiled for one instruction
// set can be linked into another.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "format.h"
#include "kernels.h"

namespace headstart {

// Weights are asked for this many bytes before their turn. The processor's own prefetching falls behind when several
// rows keep it busy: for 8 rows 8 KiB took a third off (docs/LOG.md).
inline constexpr std::size_t kAhead = 8192;

template <std::size_t bytes>
inline void prefetch(const std::uint8_t* now) {
  for (std::size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(now + kAhead + line);
}

// How a block of activations, of largest magnitude `largest`, becomes int8: code = round(x * inverse), half to even.
// A block without any magnitude to speak of is zero (so that 127 / largest is finite); one that holds an infinity or a
// NaN has a scale of NaN and so makes its row NaN. In both cases inverse is 0 and the codes are 0.
template <class V>
struct ActivationScale {
  float scale = 0.0f, inverse = 0.0f;

  explicit ActivationScale(float largest) {
    if (!(largest <= std::numeric_limits<float>::max())) scale = std::numeric_limits<float>::quiet_NaN();
    if (!(largest >= 0x1p-100f && largest <= std::numeric_limits<float>::max())) return;
    scale = largest / 127.0f;
    inverse = 127.0f / largest;
  }
};

// The eight quads of a block, one byte a code, for V::lanes outputs.
template <class V, int bits>
struct Codes {
  typename V::Bytes quad[8];

  explicit Codes(const std::uint8_t* lines) {
    if constexpr (bits == 8) {
      for (int j = 0; j < 8; ++j) quad[j] = V::load(lines + j * kLine);
    } else {
      for (int i = 0; i < 4; ++i) {
        const auto line = V::load(lines + i * kLine);
        quad[i] = V::mask(line, 0x0f);
        quad[i + 4] = V::mask(V::template shift<4>(line), 0x0f);
      }
    }
    if constexpr (bits == 5) high<1>(V::load(lines + 4 * kLine), std::make_index_sequence<8>());
    if constexpr (bits == 6) {
      high<2>(V::load(lines + 4 * kLine), std::make_index_sequence<4>());
      high<2, 4>(V::load(lines + 5 * kLine), std::make_index_sequence<4>());
    }
  }

 private:
  // Bits width * j of the line become bit 4 and up of quad first + j.
  template <int width, int first = 0, std::size_t... j>
  void high(typename V::Bytes line, std::index_sequence<j...>) {
    constexpr std::uint8_t kept = width == 1 ? 0x10 : 0x30;
    ((quad[first + j] = V::either(quad[first + j], V::mask(V::template shift<width * int(j) - 4>(line), kept))), ...);
  }
};

// Scales and minima of one block, float32, exact: half precision times a byte fits.
template <class V, Kind kind>
struct Scales {
  typename V::Floats scale[2], minimum;  // scale[1]: of the second half, Q6_K only

  Scales(const std::uint8_t* chunk, int block, int lane) {
    const std::uint8_t* halves = chunk + 2 * lane;
    if constexpr (!is_super(kind)) {
      scale[0] = V::halves(halves + (format(kind).chunk == 2 ? block * kHalves : 0));
      if constexpr (format(kind).minimum) minimum = V::halves(halves + kHalves);
    } else if constexpr (kind == Kind::Q6_K) {
      const auto d = V::halves(halves);
      const std::uint8_t* sub = chunk + kSubScales + 2 * block * kGroup + lane;
      scale[0] = V::multiply(d, V::signed_bytes(sub));
      scale[1] = V::multiply(d, V::signed_bytes(sub + kGroup));
    } else {
      scale[0] = V::multiply(V::halves(halves), V::bytes(chunk + kSubScales + block * kGroup + lane));
      minimum = V::multiply(V::halves(halves + kHalves), V::bytes(chunk + kSubMinima + block * kGroup + lane));
      minimum = V::negate(minimum);
    }
  }
};

template <class V, Kind kind>
inline void add_block(const Codes<V, format(kind).bits>& codes, const Scales<V, kind>& scales, const Activations& x,
                      typename V::Floats& acc) {
  constexpr Format f = format(kind);
  const auto scaled = [&](int half, typename V::Ints sum) {
    const auto scale = V::multiply(scales.scale[half], V::broadcast(x.scale));
    acc = V::fused(V::to_float(sum), scale, acc);
  };
  if constexpr (kind == Kind::Q6_K) {
    const auto first = V::integer(x.first_sum), second = V::subtract(V::integer(x.sum), first);
    scaled(0, V::template dot<f.bits, f.offset, 4>(codes.quad, x.codes, first));
    scaled(1, V::template dot<f.bits, f.offset, 4>(codes.quad + 4, x.codes + 16, second));
  } else {
    scaled(0, V::template dot<f.bits, f.offset, 8>(codes.quad, x.codes, V::integer(x.sum)));
  }
  if constexpr (f.minimum) acc = V::fused(scales.minimum, V::broadcast(x.scaled_sum), acc);
}

// A tile: `rows` rows times V::lanes outputs from `lane` of a group. Writes rows x lanes sums.
template <class V, Kind kind, int rows>
inline void quantised_tile(const std::uint8_t* group, const Product& p, const std::uint8_t* x, int lane,
                           typename V::Floats (&acc)[rows]) {
  constexpr Format f = format(kind);
  for (auto& a : acc) a = V::broadcast(0.0f);
  const std::int64_t blocks = p.inputs / kBlock;
  for (std::int64_t first = 0; first < blocks; first += f.chunk, group += chunk_bytes(f)) {
    const int count = static_cast<int>(std::min<std::int64_t>(f.chunk, blocks - first));
    for (int b = 0; b < count; ++b) {
      if (lane == 0) prefetch<chunk_bytes(f) / f.chunk>(group + b * (chunk_bytes(f) / f.chunk));
      const Codes<V, f.bits> codes(group + f.header + b * block_bytes(f) + 4 * lane);
      const Scales<V, kind> scales(group, b, lane);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const auto* row = reinterpret_cast<const Activations*>(x + r * p.x_stride);
        add_block<V, kind>(codes, scales, row[first + b], acc[r]);
      }
    }
  }
}

template <class V, Kind kind, int rows>
inline void float_tile(const std::uint8_t* group, const Product& p, const std::uint8_t* x, int lane,
                       typename V::Floats (&acc)[rows]) {
  constexpr int size = format(kind).bits / 8;
  typename V::Floats odd[rows];
  for (int r = 0; r < rows; ++r) acc[r] = odd[r] = V::broadcast(0.0f);
  const auto step = [&](std::int64_t k, auto& sums) {
    const auto w = V::template values<kind>(group + (k * kGroup + lane) * size);
    for (int r = 0; r < rows; ++r)
      sums[r] = V::fused(w, V::broadcast(reinterpret_cast<const float*>(x + r * p.x_stride)[k]), sums[r]);
  };
  std::int64_t k = 0;
  for (; k + 2 <= p.inputs; k += 2) {
    if (lane == 0) prefetch<2 * kGroup * size>(group + k * kGroup * size);
    step(k, acc);
    step(k + 1, odd);
  }
  if (k < p.inputs) step(k, acc);
  for (int r = 0; r < rows; ++r) acc[r] = V::add(acc[r], odd[r]);
}

// One group of outputs, `rows` rows from `first` on.
template <class V, Kind kind, int rows>
void group_product(const Product& p, std::int64_t output, int first) {
  const std::uint8_t* group = p.weights + output / kGroup * group_bytes(kind, p.inputs);
  const std::uint8_t* x = p.x + first * p.x_stride;
  for (int lane = 0; lane < kGroup && output + lane < p.end; lane += V::lanes) {
    typename V::Floats acc[rows];
    if constexpr (is_float(kind)) {
      float_tile<V, kind, rows>(group, p, x, lane, acc);
    } else {
      quantised_tile<V, kind, rows>(group, p, x, lane, acc);
    }
    float* out = p.out + first * p.stride + output + lane;
    const auto count = static_cast<int>(std::min<std::int64_t>(V::lanes, p.end - output - lane));
    for (int r = 0; r < rows; ++r) V::store(out + r * p.stride, acc[r], count);
  }
}

// All rows of one group: as few tiles as fit the registers, of nearly equal height, so that 9 rows are 5 + 4.
template <class V, Kind kind, std::size_t... r>
void group_rows(const Product& p, std::int64_t output, int first, int rows, std::index_sequence<r...>) {
  static constexpr std::array<void (*)(const Product&, std::int64_t, int), sizeof...(r)> tiles = {
      group_product<V, kind, int(r) + 1>...};
  for (int left = (rows + V::rows - 1) / V::rows; left > 0; --left) {
    const int height = (rows + left - 1) / left;
    tiles[height - 1](p, output, first);
    first += height;
    rows -= height;
  }
}

// The whole product. Many rows go in bands whose activations stay in the second-level cache.
template <class V, Kind kind>
void product(const Product& p) {
  constexpr std::size_t cache = 256 * 1024;
  const int most = static_cast<int>(std::max<std::size_t>(cache / p.x_stride, 8));
  const int band = std::max(most / V::rows * V::rows, V::rows);
  for (int first = 0; first < p.rows; first += band)
    for (std::int64_t output = p.begin; output < p.end; output += kGroup)
      group_rows<V, kind>(p, output, first, std::min(band, p.rows - first), std::make_index_sequence<V::rows>());
}

template <class V, std::size_t... kind>
constexpr Kernels make_kernels(std::index_sequence<kind...>) {
  return {{product<V, static_cast<Kind>(kind)>...}, V::quantise};
}

template <class V>
constexpr Kernels make_kernels() {
  return make_kernels<V>(std::make_index_sequence<11>());
}

}  // namespace headstart
