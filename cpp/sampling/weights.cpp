#include "weights.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

namespace headstart {
namespace {

constexpr std::size_t kLeast = 4096;  // shorter arrays are not worth keeping
constexpr std::size_t kHeader = 64;   // before an array: its capacity
constexpr std::size_t kMost = 16;     // arrays kept

std::size_t& capacity(double* data) { return *reinterpret_cast<std::size_t*>(reinterpret_cast<char*>(data) - kHeader); }

void free_array(double* data) { std::free(reinterpret_cast<char*>(data) - kHeader); }

// Arrays that nobody uses, the last one given back on top.
class Spare {
 public:
  double* take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = count_; i-- > 0;)
      if (capacity(arrays_[i]) >= size && capacity(arrays_[i]) / 2 <= size) {
        double* found = arrays_[i];
        std::move(arrays_.begin() + i + 1, arrays_.begin() + count_--, arrays_.begin() + i);
        return found;
      }
    return nullptr;
  }

  void put(double* data) noexcept {
    double* gone = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (count_ == kMost) {
        gone = arrays_[0];
        std::move(arrays_.begin() + 1, arrays_.end(), arrays_.begin());
        --count_;
      }
      arrays_[count_++] = data;
    }
    if (gone != nullptr) free_array(gone);
  }

 private:
  std::mutex mutex_;
  std::array<double*, kMost> arrays_{};
  std::size_t count_ = 0;
};

Spare& spare() {
  static Spare* const held = new Spare;  // never destroyed: an array may come back after everything else has ended
  return *held;
}

}  // namespace

Weights::Weights(std::size_t size) {
  if (size >= kLeast) data_ = spare().take(size);
  if (data_ != nullptr) return;
  void* memory = std::aligned_alloc(kHeader, (kHeader + size * sizeof(double) + kHeader - 1) / kHeader * kHeader);
  if (memory == nullptr) throw std::bad_alloc();
  data_ = reinterpret_cast<double*>(static_cast<char*>(memory) + kHeader);
  capacity(data_) = size;
}

void Weights::give_back(double* data) noexcept {
  if (data == nullptr) return;
  if (capacity(data) >= kLeast) {
    spare().put(data);
  } else {
    free_array(data);
  }
}

}  // namespace headstart
