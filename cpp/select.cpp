#include "select.h"

#include <algorithm>

namespace headstart {

std::vector<std::int64_t> largest_ids(const float* x, std::int64_t size, std::int64_t count) {
  const auto before = [x](std::int64_t a, std::int64_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); };
  std::vector<std::int64_t> heap;  // its front is the last of the best so far
  count = std::min(count, size);
  for (std::int64_t id = 0; id < count; ++id) heap.push_back(id);
  std::make_heap(heap.begin(), heap.end(), before);
  for (std::int64_t id = count; id < size; ++id) {
    if (x[id] <= x[heap.front()]) continue;  // of equals the earlier stays
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.back() = id;
    std::push_heap(heap.begin(), heap.end(), before);
  }
  std::sort_heap(heap.begin(), heap.end(), before);
  return heap;
}

}  // namespace headstart
