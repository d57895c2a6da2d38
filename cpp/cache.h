// Keys and values of all sequences, in reference-counted pages of 32 tokens that forks share until one of them writes.
//
// A sequence's tokens lie in slots 0, 1, 2, ...; kept tokens in the slot of their position, the rows of a pass in those
// that follow. A page holds its tokens' keys and values of every layer and kv head. For one of those:
//   keys     [32 / 16][head_size][16 tokens]      scores of 16 tokens are one vector
//   values   [padded / 16][32 tokens][16 numbers]  padded: head_size rounded up to 16
// in half precision or float32. Knows nothing of what a token is, nor of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vectors/vectors.h"

namespace headstart {

struct CacheShape {
  int layers, kv_heads, head_size;
  bool half;

  int padded() const { return (head_size + kLanes - 1) / kLanes * kLanes; }
  std::size_t number() const { return half ? 2 : 4; }
  std::size_t key_bytes() const { return number() * kPage * head_size; }
  std::size_t head_bytes() const { return key_bytes() + number() * kPage * padded(); }
  std::size_t page_bytes() const { return head_bytes() * kv_heads * layers; }
  std::size_t offset(int layer, int head) const { return head_bytes() * (layer * kv_heads + head); }
  // Where a slot's first key number stands (the next is 16 further), and its first value number (16 numbers stand
  // together, the next 16 stand 32 * 16 further).
  int key_index(int slot) const { return slot % kPage / kLanes * head_size * kLanes + slot % kLanes; }
  int value_index(int slot) const { return slot % kPage * kLanes; }
};

// Memory for pages, in slabs of several that the system may back with huge pages. What is given back is used again;
// slabs that nobody uses return to the system, except for one.
class Pages {
 public:
  using Page = std::shared_ptr<std::byte>;

  explicit Pages(std::size_t page_bytes);
  Page take();
  std::size_t used() const { return used_; }

 private:
  struct Slab {
    explicit Slab(std::size_t bytes);
    ~Slab();
    Slab(const Slab&) = delete;

    void* map;
    std::size_t bytes;
    int used = 0;
    std::vector<std::byte*> free;
  };

  Slab& fullest();
  void give(Slab& slab, std::byte* page);

  std::size_t page_bytes_, slab_pages_;
  std::size_t used_ = 0;
  std::list<Slab> slabs_;
};

class Cache {
 public:
  struct Sequence {
    std::vector<Pages::Page> pages;
    int length = 0;            // kept tokens
    std::vector<int> parents;  // of the pending rows, which lie in the slots after them; -1: the last kept token
    int first_row = 0;         // number of the first of them in its pass
  };

  explicit Cache(const CacheShape& shape) : shape_(shape), pages_(shape.page_bytes()) {}

  const CacheShape& shape() const { return shape_; }
  int open();
  int fork(int sequence, int length);
  void close(int sequence);
  Sequence& at(int sequence);
  const Sequence* find(int sequence) const;

  // Makes the slots of `parents.size()` pending rows writable; earlier pending rows are dropped.
  void extend(Sequence& sequence, std::vector<int> parents, int first_row);
  // Keeps these pending rows, given by their numbers in the pass, a path; drops the others.
  void keep(Sequence& sequence, const std::vector<int>& rows);

  std::size_t bytes() const { return pages_.used() * shape_.page_bytes(); }
  std::unordered_map<int, int> lengths() const;

 private:
  void make_writable(Sequence& sequence, int first, int last);
  void move(Sequence& sequence, int from, int to);
  template <class Number>
  void move_numbers(Sequence& sequence, int from, int to);
  static void trim(Sequence& sequence);
  static void check_path(const Sequence& sequence, const std::vector<int>& rows);

  CacheShape shape_;
  Pages pages_;  // outlives the sequences, which give their pages back to it
  std::unordered_map<int, Sequence> sequences_;
  int opened_ = 0;
};

}  // namespace headstart
