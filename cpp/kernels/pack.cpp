#include "pack.h"

#include <algorithm>
#include <cstring>

#include "half.h"

namespace headstart {
namespace {

constexpr std::uint32_t kNibbles = 0x0f0f0f0fu;

std::uint32_t word(const std::uint8_t* p) {
  std::uint32_t w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

std::uint16_t half(const std::uint8_t* p) {
  std::uint16_t h;
  std::memcpy(&h, p, sizeof h);
  return h;
}

bool finite_half(std::uint16_t h) { return (h & 0x7c00u) != 0x7c00u; }

// One output's part of a chunk.
struct Lane {
  std::uint8_t* chunk;
  int lane;

  bool put_half(int slot, const std::uint8_t* from) const {
    std::memcpy(chunk + slot * kHalves + 2 * lane, from, 2);
    return finite_half(half(from));
  }
  void put_byte(int at, std::uint8_t value) const { chunk[at + lane] = value; }
  // The four bytes of a line.
  void put_word(const Format& f, int block, int line, std::uint32_t value) const {
    std::memcpy(chunk + f.header + block * block_bytes(f) + line * kLine + 4 * lane, &value, sizeof value);
  }
};

// Bits t, t + 4, ... t + 28 of `bits`, side by side: bit j belongs to input 4 * j + t.
std::uint32_t every_fourth(std::uint32_t bits, int t) {
  std::uint32_t x = (bits >> t) & 0x11111111u;
  x = (x | x >> 3) & 0x03030303u;
  x = (x | x >> 6) & 0x000f000fu;
  return (x | x >> 12) & 0xffu;
}

// Q4_0, Q4_1, Q5_0, Q5_1: scale, perhaps minimum, perhaps 32 fifth bits, 16 bytes of nibbles in our very order.
bool pack_small(Kind kind, const Format& f, const std::uint8_t* raw, int block, const Lane& lane) {
  bool finite = lane.put_half(f.chunk == 2 ? block : 0, raw);
  raw += 2;
  if (f.minimum) {
    finite = lane.put_half(1, raw) && finite;
    raw += 2;
  }
  if (kind == Kind::Q8_0) {
    for (int j = 0; j < 8; ++j) lane.put_word(f, block, j, word(raw + 4 * j) ^ 0x80808080u);
    return finite;
  }
  if (f.bits == 5) {
    std::uint32_t line = 0;
    for (int t = 0; t < 4; ++t) line |= every_fourth(word(raw), t) << (8 * t);
    lane.put_word(f, block, 4, line);
    raw += 4;
  }
  for (int i = 0; i < 4; ++i) lane.put_word(f, block, i, word(raw + 4 * i));
  return finite;
}

// The 6-bit scales and minima of Q4_K and Q5_K: the first four of each whole, the upper bits of the rest above them.
void pack_sub_scales(const std::uint8_t* raw, const Lane& lane) {
  for (int s = 0; s < 4; ++s) {
    lane.put_byte(kSubScales + s * kGroup, raw[s] & 63);
    lane.put_byte(kSubMinima + s * kGroup, raw[4 + s] & 63);
    lane.put_byte(kSubScales + (4 + s) * kGroup, (raw[8 + s] & 15) | (raw[s] >> 6) << 4);
    lane.put_byte(kSubMinima + (4 + s) * kGroup, raw[8 + s] >> 4 | (raw[4 + s] >> 6) << 4);
  }
}

// Q4_K, Q5_K: block s has the low (s even) or high nibbles of 32 bytes, and bit s of the 32 bytes of fifth bits.
bool pack_k(const Format& f, const std::uint8_t* raw, const Lane& lane) {
  bool finite = lane.put_half(0, raw);
  finite = lane.put_half(1, raw + 2) && finite;
  pack_sub_scales(raw + 4, lane);
  const std::uint8_t* high = raw + 16;
  const std::uint8_t* low = high + (f.bits == 5 ? 32 : 0);
  for (int s = 0; s < 8; ++s) {
    const std::uint8_t* nibbles = low + s / 2 * 32;
    const int shift = s % 2 * 4;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t first = word(nibbles + 4 * i) >> shift & kNibbles;
      lane.put_word(f, s, i, first | (word(nibbles + 16 + 4 * i) >> shift & kNibbles) << 4);
    }
    if (f.bits == 4) continue;
    std::uint32_t line = 0;
    for (int j = 0; j < 8; ++j) line |= (word(high + 4 * j) >> s & 0x01010101u) << j;
    lane.put_word(f, s, 4, line);
  }
  return finite;
}

// Q6_K: two halves of 128 inputs; block s of a half has nibbles in 32 of 64 bytes and bits 2s, 2s + 1 of 32 bytes.
bool pack_q6(const Format& f, const std::uint8_t* raw, const Lane& lane) {
  const std::uint8_t* scales = raw + 192;
  for (int s = 0; s < 16; ++s) lane.put_byte(kSubScales + s * kGroup, scales[s]);
  for (int block = 0; block < 8; ++block) {
    const int s = block % 4, shift = s / 2 * 4;
    const std::uint8_t* nibbles = raw + block / 4 * 64 + s % 2 * 32;
    const std::uint8_t* high = raw + 128 + block / 4 * 32;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t first = word(nibbles + 4 * i) >> shift & kNibbles;
      lane.put_word(f, block, i, first | (word(nibbles + 16 + 4 * i) >> shift & kNibbles) << 4);
    }
    std::uint32_t lines[2] = {0, 0};
    for (int j = 0; j < 8; ++j) lines[j / 4] |= (word(high + 4 * j) >> (2 * s) & 0x03030303u) << (2 * (j % 4));
    lane.put_word(f, block, 4, lines[0]);
    lane.put_word(f, block, 5, lines[1]);
  }
  return lane.put_half(0, raw + 208);
}

// Value is the unsigned integer of that size; a value is not finite if all bits of `exponent` are set.
template <class Value>
bool pack_floats(Value exponent, const std::uint8_t* raw, std::int64_t inputs, int lane, std::uint8_t* group) {
  bool finite = true;
  for (std::int64_t k = 0; k < inputs; ++k) {
    Value value;
    std::memcpy(&value, raw + k * sizeof value, sizeof value);
    std::memcpy(group + (k * kGroup + lane) * sizeof value, &value, sizeof value);
    finite &= (value & exponent) != exponent;
  }
  return finite;
}

float value(Kind kind, const std::uint8_t* p) {
  if (kind == Kind::F32) {
    float v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  return kind == Kind::F16 ? half_to_float(half(p)) : bfloat_to_float(half(p));
}

// The code of input n of a block whose lines start at `lines`, seen from one lane.
int code(int bits, const std::uint8_t* lines, int n) {
  const int quad = n / 4, t = n % 4;
  if (bits == 8) return lines[quad * kLine + t];
  int c = lines[quad % 4 * kLine + t] >> (quad / 4 * 4) & 15;
  if (bits == 5) c |= (lines[4 * kLine + t] >> quad & 1) << 4;
  if (bits == 6) c |= (lines[(4 + quad / 4) * kLine + t] >> (2 * (quad % 4)) & 3) << 4;
  return c;
}

struct Affine {
  float scale, minimum;
};

// Scale and minimum of half `part` of a block.
Affine affine(Kind kind, const std::uint8_t* chunk, int block, int part, int lane) {
  const Format f = format(kind);
  const float first = half_to_float(half(chunk + 2 * lane));
  const float second = half_to_float(half(chunk + kHalves + 2 * lane));
  if (kind == Kind::Q6_K) {
    const auto sub = static_cast<std::int8_t>(chunk[kSubScales + (2 * block + part) * kGroup + lane]);
    return {first * static_cast<float>(sub), 0.0f};
  }
  if (is_super(kind)) {
    const float sub = chunk[kSubScales + block * kGroup + lane], minimum = chunk[kSubMinima + block * kGroup + lane];
    return {first * sub, -(second * minimum)};
  }
  if (f.minimum) return {first, second};
  return {block == 0 ? first : second, 0.0f};
}

void unpack_block(Kind kind, const std::uint8_t* chunk, int block, int lane, float* out) {
  const Format f = format(kind);
  const std::uint8_t* lines = chunk + f.header + block * block_bytes(f) + 4 * lane;
  for (int n = 0; n < kBlock; ++n) {
    const Affine a = affine(kind, chunk, block, n / 16, lane);
    const float product = a.scale * static_cast<float>(code(f.bits, lines, n) - f.offset);
    out[n] = f.minimum ? product + a.minimum : product;
  }
}

}  // namespace

bool pack_row(Kind kind, const std::uint8_t* raw, std::int64_t inputs, int lane, std::uint8_t* group) {
  if (kind == Kind::F32) return pack_floats<std::uint32_t>(0x7f800000u, raw, inputs, lane, group);
  if (kind == Kind::F16) return pack_floats<std::uint16_t>(0x7c00u, raw, inputs, lane, group);
  if (kind == Kind::BF16) return pack_floats<std::uint16_t>(0x7f80u, raw, inputs, lane, group);
  const Format f = format(kind);
  bool finite = true;
  for (std::int64_t at = 0; at < inputs; at += f.file_inputs, raw += f.file_bytes) {
    const std::int64_t block = at / kBlock;
    const Lane to{group + block / f.chunk * chunk_bytes(f), lane};
    if (kind == Kind::Q6_K) {
      finite = pack_q6(f, raw, to) && finite;
    } else if (is_super(kind)) {
      finite = pack_k(f, raw, to) && finite;
    } else {
      finite = pack_small(kind, f, raw, static_cast<int>(block % f.chunk), to) && finite;
    }
  }
  return finite;
}

void unpack_row(Kind kind, const std::uint8_t* group, std::int64_t inputs, int lane, float* out) {
  if (is_float(kind)) {
    const int size = format(kind).bits / 8;
    for (std::int64_t k = 0; k < inputs; ++k) out[k] = value(kind, group + (k * kGroup + lane) * size);
    return;
  }
  const Format f = format(kind);
  for (std::int64_t block = 0; block < inputs / kBlock; ++block) {
    const std::uint8_t* chunk = group + block / f.chunk * chunk_bytes(f);
    unpack_block(kind, chunk, static_cast<int>(block % f.chunk), lane, out + block * kBlock);
  }
}

}  // namespace headstart
