// How weights lie in memory, for every instruction set alike.
//
// A matrix is cut into groups of 16 outputs; a group is one stream, read once. Quantised kinds: the inputs come in
// blocks of 32, one or several blocks form a chunk, and a chunk is a header (scales and minima of the 16 outputs)
// followed by the codes of its blocks. Codes lie in lines of 64 bytes: byte 4 * o + t of a line belongs to output o and
// to input t of a quad (4 consecutive inputs), so that one 32-bit lane multiplies a quad of one output.
//   4 bits: line i holds quad i in the low nibbles and quad i + 4 in the high ones, i = 0..3
//   5 bits: the same, then a line whose bit j is the fifth bit of quad j
//   6 bits: the same four, then two lines whose bits 2j, 2j + 1 are the high bits of quad j (first line), 4 + j (second)
//   8 bits: line j holds quad j, as code + 128
// Headers: (scale) x 2 blocks; (scale, minimum); K-quants keep the super-block's scale and minimum in half precision
// and the sub-scales in bytes. Float kinds: for each input, the 16 values of the group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../matrix.h"

namespace headstart {

inline constexpr int kGroup = 16;  // outputs
inline constexpr int kBlock = 32;  // inputs
inline constexpr int kLine = 64;   // bytes

struct Format {
  int file_inputs;  // inputs per block of the file
  int file_bytes;   // bytes of such a block
  int bits;         // of a code; of a value for float kinds
  int offset;       // a code stands for code - offset; a power of two, or 0
  bool minimum;     // every block has a minimum
  int chunk;        // blocks of 32 under one header; 0 for float kinds
  int header;       // bytes
};

constexpr Format format(Kind kind) {
  switch (kind) {
    case Kind::F32: return {1, 4, 32, 0, false, 0, 0};
    case Kind::F16: return {1, 2, 16, 0, false, 0, 0};
    case Kind::BF16: return {1, 2, 16, 0, false, 0, 0};
    case Kind::Q8_0: return {32, 34, 8, 128, false, 2, 64};
    case Kind::Q4_0: return {32, 18, 4, 8, false, 2, 64};
    case Kind::Q4_1: return {32, 20, 4, 0, true, 1, 64};
    case Kind::Q5_0: return {32, 22, 5, 16, false, 2, 64};
    case Kind::Q5_1: return {32, 24, 5, 0, true, 1, 64};
    case Kind::Q4_K: return {256, 144, 4, 0, true, 8, 320};
    case Kind::Q5_K: return {256, 176, 5, 0, true, 8, 320};
    case Kind::Q6_K: return {256, 210, 6, 32, false, 8, 320};
  }
  return {};
}

constexpr bool is_float(Kind kind) { return format(kind).chunk == 0; }
constexpr bool is_super(Kind kind) { return format(kind).chunk == 8; }

// Where things stand in a header. Sub-scales: 16 bytes per block (per half block for Q6_K, signed), then sub-minima.
inline constexpr int kHalves = 2 * kGroup;  // bytes of 16 half-precision numbers
inline constexpr int kSubScales = 2 * kHalves;
inline constexpr int kSubMinima = kSubScales + 8 * kGroup;

constexpr std::size_t block_bytes(const Format& f) { return static_cast<std::size_t>(f.bits) * kLine; }
constexpr std::size_t chunk_bytes(const Format& f) { return f.header + f.chunk * block_bytes(f); }

constexpr std::size_t group_bytes(Kind kind, std::int64_t inputs) {
  const Format f = format(kind);
  if (is_float(kind)) return static_cast<std::size_t>(inputs) * kGroup * f.bits / 8;
  const std::int64_t span = static_cast<std::int64_t>(f.chunk) * kBlock;
  return static_cast<std::size_t>((inputs + span - 1) / span) * chunk_bytes(f);
}

// 32 activations x, prepared for quantised weights: x is about scale * codes. Where one number towers over the rest, so
// that the others have few steps, what is left of x (x - scale * codes) is prepared once more, in the block's second
// step, and added. A prepared row is its blocks, followed by as many second steps; of these only the marked are written.
struct Activations {
  std::int8_t codes[kBlock];
  float scale;             // max |x| / 127
  float scaled_sum;        // scale * sum
  std::int32_t sum;        // of codes
  std::int16_t first_sum;  // of codes[0..15]
  std::int16_t second;     // 1 if there is a second step
};
static_assert(sizeof(Activations) == 48);

// A block takes a second step if the mean square of its codes is below a twentieth of the largest's.
// One without any codes (zero, or not finite) has none to gain.
constexpr bool towers(std::int32_t squares) { return squares > 0 && 20 * squares < kBlock * 127 * 127; }

}  // namespace headstart
