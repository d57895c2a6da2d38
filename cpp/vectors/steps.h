// Norm, SwiGLU, exp and argmax, written once for all instruction sets. S is the vocabulary of one of them and lives in
// an anonymous namespace, so that no function compiled for one can be linked into another.
#pragma once

#include <cmath>
#include <cstring>

#include "vectors.h"

namespace headstart {

// Sixteen lanes, in as many registers as that takes.
template <class S>
struct Lanes {
  static constexpr int count = kLanes / S::width;
  typename S::F part[count];
};

template <class S>
inline Lanes<S> load16(const float* x) {
  Lanes<S> y;
  for (int i = 0; i < y.count; ++i) y.part[i] = S::load(x + i * S::width);
  return y;
}

template <class S>
inline void store16(float* out, const Lanes<S>& x) {
  for (int i = 0; i < x.count; ++i) S::store(out + i * S::width, x.part[i]);
}

template <class S>
inline Lanes<S> set16(float x) {
  Lanes<S> y;
  for (auto& part : y.part) part = S::set(x);
  return y;
}

// Lane i with lane i + 8, then + 4, + 2, + 1.
template <class S>
inline float sum16(const Lanes<S>& x) {
  float lane[kLanes];
  store16<S>(lane, x);
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  return lane[0];
}

template <class S>
inline float largest16(const Lanes<S>& x) {
  float lane[kLanes];
  store16<S>(lane, x);
  float largest = lane[0];
  for (int i = 1; i < kLanes; ++i) largest = largest > lane[i] ? largest : lane[i];
  return largest;
}

// exp to within 2 units in the last place; 0 below -87.3; not-a-number stays so. exp(0) is 1.
template <class S>
inline typename S::F exponential(typename S::F x) {
  constexpr float least = -87.3f;
  // min and max return their second operand if one is not a number.
  const auto bounded = S::min(S::set(88.3f), S::max(S::set(least), x));
  const auto n = S::round(S::mul(bounded, S::set(1.44269504f)));
  auto r = S::fma(n, S::set(-0x1.62e4p-1f), bounded);  // ln 2 = 0x1.62e4p-1 + 0x1.7f7d1cp-20
  r = S::fma(n, S::set(-0x1.7f7d1cp-20f), r);
  auto y = S::set(1.0f / 5040);
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) y = S::fma(y, r, S::set(c));
  return S::zero_below(S::mul(y, S::power_of_two(n)), x, least);
}

// Four sums of 16 lanes, of every fourth vector; (0 + 1) + (2 + 3); then the lanes.
template <class S>
bool norm(float* x, const float* add, const float* weight, int size, float epsilon, float* out) {
  const int padded = (size + kLanes - 1) / kLanes * kLanes;
  Lanes<S> sums[4] = {set16<S>(0), set16<S>(0), set16<S>(0), set16<S>(0)};
  for (int i = 0; i < padded; i += kLanes) {
    auto v = load16<S>(x + i);
    auto& sum = sums[i / kLanes % 4];
    for (int p = 0; p < v.count; ++p) {
      if (add) v.part[p] = S::add(v.part[p], S::load(add + i + p * S::width));
      sum.part[p] = S::fma(v.part[p], v.part[p], sum.part[p]);
    }
    if (add) store16<S>(x + i, v);
  }
  for (int p = 0; p < Lanes<S>::count; ++p)
    sums[0].part[p] = S::add(S::add(sums[0].part[p], sums[1].part[p]), S::add(sums[2].part[p], sums[3].part[p]));
  const float squares = sum16<S>(sums[0]);
  const auto scale = S::set(1.0f / std::sqrt(squares / static_cast<float>(size) + epsilon));
  for (int i = 0; i < padded; i += S::width)
    S::store(out + i, S::mul(S::mul(S::load(x + i), scale), S::load(weight + i)));
  return std::isfinite(squares);
}

template <class S>
void swiglu(const float* gate, const float* up, int size, float* out) {
  for (int i = 0; i < size; i += S::width) {
    const auto g = S::load(gate + i);
    const auto sigmoid = S::add(S::set(1.0f), exponential<S>(S::sub(S::set(0.0f), g)));
    S::store(out + i, S::mul(S::div(g, sigmoid), S::load(up + i)));
  }
}

// x - x is 0 for finite numbers and not a number for all others.
template <class S>
bool finite(const float* x, int size) {
  auto bad = S::set(0.0f);
  int i = 0;
  for (; i + S::width <= size; i += S::width) {
    const auto v = S::load(x + i);
    bad = S::add(bad, S::sub(v, v));
  }
  float lane[S::width];
  S::store(lane, bad);
  float sum = 0;
  for (const float l : lane) sum += l;
  for (; i < size; ++i) sum += x[i] - x[i];
  return sum == 0;
}

template <class S>
bool to_half(const float* x, int size, std::uint16_t* out) {
  constexpr float most = 65504.0f;
  auto beyond = S::set(0.0f);
  const auto convert = [&](const float* from, std::uint16_t* to) {
    const auto v = S::load(from);
    const auto near = S::min(S::set(most), S::max(S::set(-most), v));
    beyond = S::max(beyond, S::max(S::sub(v, near), S::sub(near, v)));
    S::store(to, near);
  };
  int i = 0;
  for (; i + S::width <= size; i += S::width) convert(x + i, out + i);
  float lane[S::width] = {};
  if (i < size) {
    std::uint16_t halves[S::width];
    std::memcpy(lane, x + i, (size - i) * sizeof(float));
    convert(lane, halves);
    std::memcpy(out + i, halves, (size - i) * sizeof(std::uint16_t));
  }
  S::store(lane, beyond);
  for (const float l : lane)
    if (l > 0) return false;
  return true;
}

template <class S>
Best best(const float* x, std::int64_t size) {
  const std::int64_t whole = size / kLanes * kLanes;
  auto most = set16<S>(-INFINITY);
  auto bad = S::set(0.0f);
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    const auto v = load16<S>(x + i);
    for (int p = 0; p < v.count; ++p) {
      most.part[p] = S::max(most.part[p], v.part[p]);
      bad = S::add(bad, S::sub(v.part[p], v.part[p]));
    }
  }
  float lane[S::width], sum = 0;
  S::store(lane, bad);
  for (const float l : lane) sum += l;
  Best best{largest16<S>(most), 0, sum != 0};
  for (std::int64_t i = whole; i < size; ++i) {
    best.nan |= x[i] - x[i] != 0;
    best.value = best.value > x[i] ? best.value : x[i];
  }
  while (best.id < size && x[best.id] != best.value) ++best.id;
  return best;
}

}  // namespace headstart
