// What a pass does besides matrix products: norms, attention, SwiGLU, argmax. One table for each instruction set.
//
// All instruction sets do the same arithmetic in the same order (16 lanes, fused steps where the text says fma), so
// they give the same bits. Vectors are padded with zeros to a multiple of 16 numbers and aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../matrix.h"

namespace headstart {

constexpr int kLanes = 16;
constexpr int kPage = 32;         // tokens of one page of the cache
constexpr int kChunk = 256;       // positions of one partial softmax; chunks start at multiples of it
constexpr int kMostQueries = 12;  // of one tile

// The keys that one row sees, by position: [first, run) lie in the slots of the same numbers, those of [run, length) in
// the slots of `tail`. Nothing before `first` is seen.
struct View {
  int first, run, length;
  const std::int32_t* tail;
};

// Some rows of one sequence, with some of the query heads that share a kv head: their queries walk the keys together.
struct Tile {
  const std::byte* const* pages;  // of the sequence
  std::size_t keys, values;       // where in a page those of this layer and head begin
  int pending, slots;             // slots [pending, slots) hold the rows of the pass
  int head_size, padded;
  int rows, heads;     // queries = rows * heads, a row's together
  const View* views;   // of each row
  const float* query;  // [head_size][queries], scaled
  const std::byte* next;  // what is read after this tile's last page, asked for in time

  int queries() const { return rows * heads; }
};

// A partial softmax of `queries` queries: largest score [queries], sum of weights [queries], weighted values
// [queries][padded]. Largest score -inf: no keys.
constexpr std::size_t state_floats(int queries, int padded) {
  return static_cast<std::size_t>(queries) * (2 + padded);
}
constexpr std::size_t kScratchFloats = kMostQueries * (kChunk + 16);

struct Best {
  float value;
  std::int64_t id;
  bool nan;
};

struct Vectors {
  int queries;  // most of one tile

  // x += add (unless null); out = x / sqrt(mean(x^2) + epsilon) * weight. False if a number is not finite.
  bool (*norm)(float* x, const float* add, const float* weight, int size, float epsilon, float* out);
  // out = gate / (1 + exp(-gate)) * up
  void (*swiglu)(const float* gate, const float* up, int size, float* out);
  bool (*finite)(const float* x, int size);  // of any size
  // float32 -> half precision, nearest even. False if a number is beyond its range; it becomes the largest.
  bool (*to_half)(const float* x, int size, std::uint16_t* out);
  // The partial softmax of the keys at positions [256 * chunk, 256 * (chunk + 1)); [0] float32 cache, [1] half.
  void (*attend[2])(const Tile& tile, int chunk, float* scratch, float* state);
  // Adds the partial softmax of a later chunk to that of the earlier ones.
  void (*merge)(float* state, const float* later, int queries, int padded);
  // The largest number, and its lowest index.
  Best (*best)(const float* x, std::int64_t size);
};

// Throws std::runtime_error if this build has no code for it.
const Vectors& vectors(Isa isa);

}  // namespace headstart
