// One pass of a batch of rows through the network. A row's numbers never depend on the company it keeps: each step
// works on rows one by one, or promises the same itself (Matrix, attend). Knows nothing of handles, locks or Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "cache.h"
#include "network.h"
#include "rope.h"
#include "vectors/vectors.h"

namespace headstart {

// As in protocols.py; arrays of `rows` elements, the caller's.
struct Batch {
  const std::int32_t* sequences;
  const std::int32_t* tokens;
  const std::int32_t* parents;
  const bool* wanted;
  int rows;
};

// A row, placed: its position, the slot of its key, and the keys it sees.
struct Row {
  int token, position, slot;
  int logits;                   // its index among the rows wanted, or -1
  Cache::Sequence* sequence;
  int run;                      // keys at positions below it lie in the slots of their own number,
  std::vector<int32_t> tail;    // those from there on in these
};

struct Result {
  int rows = 0, vocab_size = 0, hidden_size = 0;
  std::vector<int> places;       // of each row: its index among the wanted, or -1
  Buffer<float> logits;          // [wanted][vocab_size]
  std::vector<Best> best;        // of each wanted row
  std::vector<int> taps;
  Buffer<float> hidden;          // [taps][rows][hidden_size]
};

class Runner {
 public:
  Runner(const Network& network, Cache& cache, Pool& pool, Isa isa);

  // The cache has been extended for these rows.
  void run(const std::vector<Row>& rows, Result& result);

 private:
  // Rows that attend together: neighbours of one sequence. Row numbers count from the band's first.
  struct Group {
    int first, rows;
    int pages;           // which of pages_
    int pending, slots;  // slots [pending, slots) hold the rows of the pass
  };
  // Chunks [first, last] of positions for one group and one piece of its query heads.
  struct Unit {
    int group, piece, first, last, joint;
    std::size_t state;  // where in state_ its partial softmax stands
  };
  // Units of the same group and piece.
  struct Joint {
    Joint(int first_unit, int units) : first(first_unit), count(units) {}
    int first, count;
    std::atomic<int> done = 0;
  };
  struct alignas(64) Thread {
    Buffer<float> vector, scratch, state, queries, products;
    std::uint64_t step = 0;  // the last one that it has begun
  };

  void band(int first, int count);
  void make_room();
  void place_groups();
  int tile_rows() const;
  template <class Work>
  void each_row(const Work& work);
  void check(const float* x, int size, int row);
  static void fetch(const void* memory, std::size_t bytes);
  void norm(const Vector& weight, const float* add, int row, Thread& thread);
  template <class Work>
  void each_unit(const Fan& fan, std::int64_t units, int rows, const Work& work);
  void norm_and_prepare(const Vector& weight, const float* add, const Fan& next);
  template <class Then>
  void multiply(const Fan& fan, float* out, const Then& then);
  void multiply(const Fan& fan, float* out);
  void mlp(const Layer& layer);
  void tap(int index);
  void head();
  void score(const std::vector<int>& wanted);

  void attention(int index);
  void project(int index, const Fan::Unit& unit, Thread& thread);
  void turn(const Vector& norm, float* head, int position, Thread& thread);
  void store(int index, int head, bool is_key, int row, const float* x, Thread& thread);
  void cut_attention(int index);
  void attend(int index, const Unit& unit, Thread& thread);
  const float* queries(int index, const Unit& unit, Thread& thread) const;
  void join(const Fan& next, int index);
  bool piecewise() const;
  // Query heads come in pieces small enough for a tile, each of one kv head.
  int piece_heads(int piece) const;
  int piece_first(int piece) const;

  const Network& network_;
  const Shape& shape_;
  Cache& cache_;
  Pool& pool_;
  const Vectors& vectors_;
  Rope rope_;
  int group_size_, pieces_, piece_size_;  // query heads of a kv head, the pieces they are cut into, heads of a piece
  int hidden_, heads_;                    // padded widths: hidden state, all query heads
  bool piecewise_;                        // attention prepares what it has joined

  // Of the pass at hand.
  const std::vector<Row>* rows_ = nullptr;
  Result* result_ = nullptr;
  std::vector<std::atomic<char>> bad_;  // rows with a number that is not finite, or not to be had in half precision
  int first_ = 0, count_ = 0;  // the band: rows that go through the layers together
  std::vector<std::vector<const std::byte*>> pages_;  // of each sequence
  std::vector<View> views_;
  std::vector<Group> groups_;
  std::vector<Unit> units_;
  std::deque<Joint> joints_;
  std::vector<Best> bests_;
  std::uint64_t step_ = 0;  // counts products
  Buffer<float> x_, y_, qkv_, attended_, state_;
  Buffer<std::uint8_t> prepared_, activated_;  // what the next product reads, and what the one after it will
  std::vector<Thread> threads_;
};

}  // namespace headstart
