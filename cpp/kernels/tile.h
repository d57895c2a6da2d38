// The product, written once for all instruction sets: V is the vocabulary of one of them.
//
// The arithmetic of an output is the same everywhere, so every instruction set gives the same bits:
//   quantised   acc = 0; for each block, ascending: i = sum((code - offset) * activation), exactly, in integers;
//               acc = fma(i, scale_w * scale_x, acc); if there are minima, acc = fma(minimum_w, scaled_sum_x, acc).
//               Q6_K has two i per block, of 16 inputs each. Then the same for the block's second step, if it has one.
//   floats      two accumulators, of the even and of the odd inputs, ascending, fused; their sum at the end.
//
// Everything here is a template over V, and V lives in an anonymous namespace: no function compiled for one instruction
// set can be linked into another.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "format.h"
#include "kernels.h"

// A function with all its calls inlined: one call in the inner loop would spill every register. Not under the address
// sanitizer, whose checks make such a function take minutes to compile.
#if defined(__SANITIZE_ADDRESS__)
#define HEADSTART_FLAT
#else
#define HEADSTART_FLAT [[gnu::flatten]]
#endif

namespace headstart {

// Weights are asked for this many bytes before their turn. The processor's own prefetching falls behind when several
// rows keep it busy: for 8 rows 8 KiB took a third off (docs/LOG.md).
inline constexpr std::size_t kAhead = 8192;

template <std::size_t bytes>
inline void prefetch(const std::uint8_t* now) {
  for (std::size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(now + kAhead + line, 0, 2);
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

// Prepares activations. V::quantise_block returns the sum of the squares of its codes.
template <class V>
void quantise(const float* x, std::int64_t inputs, Activations* blocks, Activations* seconds) {
  for (std::int64_t b = 0; b < inputs / kBlock; ++b, x += kBlock) {
    blocks[b].second = towers(V::quantise_block(x, blocks[b]));
    if (!blocks[b].second) continue;
    float rest[kBlock];
    for (int i = 0; i < kBlock; ++i) rest[i] = std::fma(-blocks[b].scale, float(blocks[b].codes[i]), x[i]);
    V::quantise_block(rest, seconds[b]);
  }
}

// f(0), f(1), ... f(n - 1), each with a constant: what must stay in registers must not be left to loops.
template <int n, class F>
inline void each(F f) {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, n>());
}

// Quad j of a block, one byte a code, for V::lanes outputs.
template <class V, int bits, int j>
inline typename V::Bytes quad(const std::uint8_t* lines) {
  if constexpr (bits == 8) {
    return V::load(lines + j * kLine);
  } else {
    const auto low = V::mask(V::template shift<j / 4 * 4>(V::load(lines + j % 4 * kLine)), 0x0f);
    if constexpr (bits == 4) {
      return low;
    } else {
      constexpr int width = bits - 4, per_line = 8 / width, kept = width == 1 ? 0x10 : 0x30;
      const auto high = V::load(lines + (4 + j / per_line) * kLine);
      return V::either(low, V::mask(V::template shift<width * (j % per_line) - 4>(high), kept));
    }
  }
}

// Row r of the prepared activations at `x`.
template <class V>
inline const Activations& activations(const std::uint8_t* x, std::size_t stride, int r) {
  return *reinterpret_cast<const Activations*>(x + r * stride);
}

// For every row, the sums of code * activation over one block, whole or in two halves, to use(row, first, second) (of a
// whole block both are the same). The codes are unpacked once. For sets that multiply quads: V::dot does it for one row.
template <class V, int bits, int parts, int rows, class Use>
inline void dots_by_row(const std::uint8_t* lines, const std::uint8_t* x, std::size_t stride, Use use) {
  constexpr int quads = 8 / parts;
  typename V::Bytes codes[8];
  each<8>([&](auto j) { codes[j] = quad<V, bits, j>(lines); });
  each<rows>([&](auto r) {
    const std::int8_t* of_row = activations<V>(x, stride, r).codes;
    const auto first = V::template dot<bits, quads>(codes, of_row);
    if constexpr (parts == 1) {
      use(r, first, first);
    } else {
      use(r, first, V::template dot<bits, quads>(codes + quads, of_row + 4 * quads));
    }
  });
}

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

// Adds one block's share to the output of one row.
template <class V, Kind kind>
inline void add_block(typename V::Ints first, typename V::Ints second, const Scales<V, kind>& scales,
                      const Activations& x, typename V::Floats& acc) {
  constexpr Format f = format(kind);
  const auto scaled = [&](typename V::Floats scale, typename V::Ints codes, typename V::Ints sum) {
    if constexpr (f.offset != 0 && !V::template signed_codes<f.bits>)
      codes = V::subtract(codes, V::template times<f.offset>(sum));
    acc = V::fused(V::to_float(codes), V::multiply(scale, V::broadcast(x.scale)), acc);
  };
  if constexpr (kind == Kind::Q6_K) {
    const auto sum = V::integer(x.first_sum);
    scaled(scales.scale[0], first, sum);
    scaled(scales.scale[1], second, V::subtract(V::integer(x.sum), sum));
  } else {
    scaled(scales.scale[0], first, V::integer(x.sum));
  }
  if constexpr (f.minimum) acc = V::fused(scales.minimum, V::broadcast(x.scaled_sum), acc);
}

// A tile: `rows` rows times V::lanes outputs from `lane` of a group. Writes rows x lanes sums.
template <class V, Kind kind, int rows>
inline void quantised_tile(const std::uint8_t* group, const Product& p, const std::uint8_t* x, int lane,
                           typename V::Floats (&acc)[rows]) {
  constexpr Format f = format(kind);
  constexpr int parts = kind == Kind::Q6_K ? 2 : 1;
  each<rows>([&](auto r) { acc[r] = V::broadcast(0.0f); });
  const std::int64_t blocks = p.inputs / kBlock;
  for (std::int64_t first = 0; first < blocks; first += f.chunk, group += chunk_bytes(f)) {
    const int count = static_cast<int>(std::min<std::int64_t>(f.chunk, blocks - first));
    for (int b = 0; b < count; ++b, x += sizeof(Activations)) {
      if (lane == 0) prefetch<chunk_bytes(f) / f.chunk>(group + b * (chunk_bytes(f) / f.chunk));
      const Scales<V, kind> scales(group, b, lane);
      const auto add = [&](auto r, auto first, auto second) {
        add_block<V, kind>(first, second, scales, activations<V>(x, p.x_stride, r), acc[r]);
      };
      const std::uint8_t* lines = group + f.header + b * block_bytes(f) + 4 * lane;
      V::template dots<f.bits, parts, rows>(lines, x, p.x_stride, add);
      each<rows>([&](auto r) {
        if (!activations<V>(x, p.x_stride, r).second) return;
        const std::uint8_t* second = x + r * p.x_stride + blocks * sizeof(Activations);
        V::template dots<f.bits, parts, 1>(lines, second, 0, [&](auto, auto first, auto half) {
          add_block<V, kind>(first, half, scales, activations<V>(second, 0, 0), acc[r]);
        });
      });
    }
  }
}

template <class V, Kind kind, int rows>
inline void float_tile(const std::uint8_t* group, const Product& p, const std::uint8_t* x, int lane,
                       typename V::Floats (&acc)[rows]) {
  constexpr int size = format(kind).bits / 8;
  typename V::Floats odd[rows];
  each<rows>([&](auto r) { acc[r] = odd[r] = V::broadcast(0.0f); });
  const auto step = [&](std::int64_t k, auto& sums) {
    const auto w = V::template values<kind>(group + (k * kGroup + lane) * size);
    each<rows>([&](auto r) {
      sums[r] = V::fused(w, V::broadcast(reinterpret_cast<const float*>(x + r * p.x_stride)[k]), sums[r]);
    });
  };
  std::int64_t k = 0;
  for (; k + 2 <= p.inputs; k += 2) {
    if (lane == 0) prefetch<2 * kGroup * size>(group + k * kGroup * size);
    step(k, acc);
    step(k + 1, odd);
  }
  if (k < p.inputs) step(k, acc);
  each<rows>([&](auto r) { acc[r] = V::add(acc[r], odd[r]); });
}

// One group of outputs, `rows` rows from `first` on.
template <class V, Kind kind, int rows>
HEADSTART_FLAT void group_product(const Product& p, std::int64_t output, int first) {
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
    each<rows>([&](auto r) { V::store(out + r * p.stride, acc[r], count); });
  }
}

// All rows of one group: as few tiles as fit the registers, of nearly equal height, so that 9 rows are 5 + 4.
template <class V, Kind kind, std::size_t... r>
void group_rows(const Product& p, std::int64_t output, int first, int rows, std::index_sequence<r...>) {
  static constexpr std::array<void (*)(const Product&, std::int64_t, int), sizeof...(r)> tiles = {
      group_product<V, kind, int(r) + 1>...};
  constexpr int most = sizeof...(r);
  for (int left = (rows + most - 1) / most; left > 0; --left) {
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
  constexpr int tile = is_float(kind) ? V::float_rows : V::rows;
  const std::size_t row = is_float(kind) ? p.x_stride : p.x_stride / 2;  // the second steps are few
  const int band = std::max(static_cast<int>(cache / row) / tile, 1) * tile;
  for (int first = 0; first < p.rows; first += band)
    for (std::int64_t output = p.begin; output < p.end; output += kGroup)
      group_rows<V, kind>(p, output, first, std::min(band, p.rows - first), std::make_index_sequence<tile>());
}

template <class V, std::size_t... kind>
constexpr Kernels make_kernels(std::index_sequence<kind...>) {
  return {{product<V, static_cast<Kind>(kind)>...}, quantise<V>};
}

template <class V>
constexpr Kernels make_kernels() {
  return make_kernels<V>(std::make_index_sequence<11>());
}

}  // namespace headstart
