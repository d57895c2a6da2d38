// Arrays of float64 whose memory is used again: a round's laws are as long as those of the round before, and fresh pages
// cost as much as filling them.
#pragma once

#include <cstddef>
#include <utility>

namespace headstart {

class Weights {
 public:
  Weights() = default;
  explicit Weights(std::size_t size);  // not cleared
  Weights(Weights&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Weights& operator=(Weights&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Weights() { give_back(data_); }

  double* get() { return data_; }
  const double* get() const { return data_; }
  double& operator[](std::size_t i) { return data_[i]; }
  double operator[](std::size_t i) const { return data_[i]; }

  // The array, for the caller to give back; from any thread.
  double* release() { return std::exchange(data_, nullptr); }
  static void give_back(double* data) noexcept;

 private:
  double* data_ = nullptr;
};

}  // namespace headstart
