// The functions of kernels.h, written once and compiled for each instruction set: plain loops that the compiler widens.
// Everything is local to the file that includes this, so that no instruction set's code is linked into another's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "constants.h"
#include "kernels.h"
#include "threefry.h"

namespace headstart {
namespace {

// kLanes numbers in as many registers as they take. In a plain array the compiler would keep them in memory.
#if defined(__AVX512F__)
constexpr std::size_t kRegister = 64;  // bytes
#elif defined(__AVX2__)
constexpr std::size_t kRegister = 32;
#else
constexpr std::size_t kRegister = 16;
#endif
template <class T>
struct Registers {
  typedef T Type __attribute__((vector_size(kRegister)));
};

template <class T>
class Lanes {
 public:
  using Register = typename Registers<T>::Type;

  explicit Lanes(T start = 0) { std::fill_n(registers_, count, Register{} + start); }

  // Lane j becomes step(lane j, values[j]).
  template <class Step>
  void all(const T* values, Step step) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; ++i) {
      Register now;
      std::memcpy(&now, values + i * each, sizeof now);
      registers_[i] = step(registers_[i], now);
    }
  }
  // The same for the first n lanes and as many values.
  template <class Step>
  void some(const T* values, std::size_t n, Step step) {
    T rest[kLanes] = {};
    std::copy_n(values, n, rest);
    all(rest, step);
  }
  void copy_to(T* lanes) const { std::memcpy(lanes, registers_, sizeof registers_); }

  // The lanes from left to right.
  template <class Step>
  T folded(Step step) const {
    T lanes[kLanes];
    copy_to(lanes);
    for (std::size_t j = 1; j < kLanes; ++j) lanes[0] = step(lanes[0], lanes[j]);
    return lanes[0];
  }

 private:
  static constexpr std::size_t each = kRegister / sizeof(T), count = kLanes / each;
  Register registers_[count];
};

// Every value i goes to lane i mod kLanes; lanes that have none left get a 0.
template <class T, class Step>
inline void through(Lanes<T>& lanes, const T* values, std::size_t n, Step step) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) lanes.all(values + i, step);
  if (i < n) lanes.some(values + i, n - i, step);
}

constexpr auto kPlus = [](auto lane, auto value) { return lane + value; };
constexpr auto kLarger = [](auto lane, auto value) { return lane > value ? lane : value; };

// Registers whose exponentials are made side by side, because each step of a series waits for the one before.
constexpr std::size_t kBeside = 8;

// exp of kBeside registers of numbers of at most 0.
inline void exps(const double* x, double* out) {
  using Register = Registers<double>::Type;
  using Bits = Registers<std::uint64_t>::Type;
  constexpr std::size_t each = kRegister / sizeof(double), count = kBeside;
  Register shifted[count], r[count], y[count];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < count; ++j) {
    Register inside;
    std::memcpy(&inside, x + j * each, sizeof inside);
    inside = inside < -708.0 ? Register{} - 708.0 : inside;
    shifted[j] = inside * kLog2E + kRounder;  // the whole number is in its low bits
    const Register k = shifted[j] - kRounder;
    r[j] = (inside - k * kLn2High) - k * kLn2Low;
    y[j] = Register{} + kExp[0];
  }
#pragma GCC unroll 16
  for (std::size_t i = 1; i < kExp.size(); ++i)
#pragma GCC unroll 8
    for (std::size_t j = 0; j < count; ++j) y[j] = y[j] * r[j] + kExp[i];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < count; ++j) {
    const Register value = (Register)((Bits)y[j] + ((Bits)shifted[j] << 52));
    const Register kept = value > kLeastExp ? value : Register{};
    std::memcpy(out + j * each, &kept, sizeof kept);
  }
}

double weigh(const float* __restrict logits, std::size_t n, double top, double inverse, double* __restrict out) {
  Lanes<double> lanes;
  double values[kChunk] = {};
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const std::size_t size = std::min(n - begin, kChunk);
    for (std::size_t i = 0; i < size; ++i) values[i] = (static_cast<double>(logits[begin + i]) - top) * inverse;
    for (std::size_t i = 0; i < size; i += kBeside * kRegister / sizeof(double)) exps(values + i, values + i);
    through(lanes, values, size, kPlus);
    std::copy_n(values, size, out + begin);
  }
  return lanes.folded(kPlus);
}

// Powers of 2 in float32, by a Taylor series of degree 5.
double rough(const float* __restrict logits, std::size_t n, float top, float inverse, float most, float* __restrict out) {
  constexpr float rounder = 12582912.0f;  // 1.5 * 2**23
  const float factor = inverse * static_cast<float>(kLog2E);
  float aside[kChunk];
  double sum = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const std::size_t size = std::min(n - begin, kChunk);
    float* __restrict to = out == nullptr ? aside : out + begin;
    for (std::size_t i = 0; i < size; ++i) {
      const float logit = logits[begin + i], x = (logit - top) * factor;
      const float inside = x < -126.0f ? -126.0f : x;
      const float shifted = inside + rounder;
      const float r = inside - (shifted - rounder);
      float y = kPowers[0];
      for (std::size_t j = 1; j < kPowers.size(); ++j) y = y * r + kPowers[j];
      const float power =
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) + (std::bit_cast<std::uint32_t>(shifted) << 23));
      to[i] = logit > most ? 0.0f : power;
    }
    Lanes<float> lanes;
    through(lanes, to, size, kPlus);
    sum += static_cast<double>(lanes.folded(kPlus));
  }
  return sum;
}

// Sum in lanes of the values above `floor`.
double total_above(const double* values, std::size_t n, double floor) {
  Lanes<double> lanes;
  through(lanes, values, n, [floor](auto lane, auto value) { return lane + (value > floor ? value : decltype(value){}); });
  return lanes.folded(kPlus);
}

void scale(double* values, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) values[i] *= factor;
}

void excess(const double* __restrict p, const double* __restrict q, std::size_t n, double scale,
            double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) {
    const double left = scale * p[i] - q[i];
    out[i] = left > 0.0 ? left : 0.0;
  }
}

void maxima(const float* x, std::size_t n, float* out) {
  for (std::size_t begin = 0; begin < n; begin += kLanes * kStrip, out += kLanes) {
    const std::size_t end = std::min(n, begin + kLanes * kStrip), whole = end - (end - begin) % kLanes;
    Lanes<float> most(-std::numeric_limits<float>::infinity());
    through(most, x + begin, whole - begin, kLarger);
    most.copy_to(out);
    for (std::size_t i = whole; i < end; ++i) out[i - whole] = kLarger(out[i - whole], x[i]);
  }
}

// Whether any of n numbers is as `test` says; n is a constant, or the loop is not widened.
template <std::size_t n, class Flag, class Test>
inline bool any_of(Test test) {
  Flag any = 0;
  for (std::size_t j = 0; j < n; ++j) any |= test(j) ? 1 : 0;
  return any != 0;
}

// Most groups have none, so several are looked at together first.
template <class Value, class Flag>
std::uint64_t above(const Value* values, std::size_t n, Value floor) {
  constexpr std::size_t wide = 8 * kLanes;
  std::uint64_t found = 0;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto over = [values, i, floor](std::size_t j) { return values[i + j] > floor; };
    if (i % wide == 0 && i + wide <= n && !any_of<wide, Flag>(over))
      i += wide - kLanes;
    else
      found |= static_cast<std::uint64_t>(any_of<kLanes, Flag>(over)) << (i / kLanes);
  }
  for (std::size_t j = i; j < n; ++j) found |= static_cast<std::uint64_t>(values[j] > floor) << (i / kLanes);
  return found;
}

double heaviest(const double* weights, std::size_t n) {
  Lanes<double> most;
  through(most, weights, n, kLarger);
  return most.folded(kLarger);
}

void first_words(Key key, const std::int64_t* ids, std::uint32_t first, std::size_t n, std::uint32_t* out) {
  using Words = Registers<std::uint32_t>::Type;
  constexpr std::uint32_t each = kRegister / sizeof(std::uint32_t), count = 4;
  Words ascending;
  for (std::uint32_t j = 0; j < each; ++j) ascending[j] = j;
  for (std::size_t i = 0; i < n; i += count * each) {
    Words x0[count], x1[count] = {};
    if (ids == nullptr) {
#pragma GCC unroll 4
      for (std::uint32_t j = 0; j < count; ++j) x0[j] = ascending + (first + static_cast<std::uint32_t>(i) + j * each);
    } else {
      std::uint32_t tokens[count * each] = {};
      std::copy_n(ids + i, std::min<std::size_t>(n - i, count * each), tokens);
      std::memcpy(x0, tokens, sizeof x0);
    }
    threefry(key, x0, x1);
    std::memcpy(out + i, x0, sizeof x0);
  }
}

std::uint32_t contenders(const std::uint32_t* firsts, double gap) {
  const double edge = gap * 0x1p32 + 1.0;  // 2**32 - 1 - first is at most 2**32 times the gap
  const auto bound = edge < 4294967295.0 ? static_cast<std::uint32_t>(edge) : 4294967295U;
  if (!any_of<kChunk, std::uint32_t>([&](std::size_t j) { return ~firsts[j] <= bound; })) return 0;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < kChunk; i += kLanes)
    found |= std::uint32_t{any_of<kLanes, std::uint32_t>([&](std::size_t j) { return ~firsts[i + j] <= bound; })}
             << (i / kLanes);
  return found;
}

constexpr SamplingKernels kBody = {
    &weigh, &rough, &total_above, &scale, &excess, &maxima, &above<float, std::int32_t>, &above<double, std::int64_t>,
    &heaviest, &first_words, &contenders};

}  // namespace
}  // namespace headstart
