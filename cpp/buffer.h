// Floats or bytes, 64-byte aligned, that only grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace headstart {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { grow(size); }

  // At least `size` elements. New memory is zero; what was there before is lost if it had to grow.
  void grow(std::size_t size) {
    if (size <= size_) return;
    size_ = 0;
    data_.reset();
    const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<T*>(::operator new(bytes, std::align_val_t{kAlignment})));
    std::memset(static_cast<void*>(data_.get()), 0, bytes);
    size_ = size;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

inline int padded_to_lanes(int size) { return (size + 15) / 16 * 16; }

}  // namespace headstart
