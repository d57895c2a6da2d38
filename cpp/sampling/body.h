// The functions of kernels.h, written once and compiled for each instruction set: plain loops that the compiler widens.
// Everything is local to the file that includes this, so that no instruction set's code is linked into another's.
#pragma once

#include <bit>

#include "constants.h"
#include "kernels.h"
#include "threefry.h"

namespace headstart {
namespace {

inline double own_exp(double x) {
  const double inside = x < -708.0 ? -708.0 : x;
  const double shifted = inside * kLog2E + kRounder;  // the whole number is in its low bits
  const double k = shifted - kRounder;
  const double r = (inside - k * kLn2High) - k * kLn2Low;
  double y = kExp[0];
  for (int i = 1; i < 14; ++i) y = y * r + kExp[i];
  const double value =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) + (std::bit_cast<std::uint64_t>(shifted) << 52));
  return value > kLeastExp ? value : 0.0;  // a test of x itself would keep the compiler from widening the loop
}

void weigh(const float* __restrict logits, std::size_t n, double top, double inverse, double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = own_exp((static_cast<double>(logits[i]) - top) * inverse);
}

// Sum in lanes of the values above `floor`.
double total_above(const double* values, std::size_t n, double floor) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += values[i + j] > floor ? values[i + j] : 0.0;
  for (std::size_t j = 0; i + j < n; ++j) lanes[j] += values[i + j] > floor ? values[i + j] : 0.0;
  double sum = lanes[0];
  for (std::size_t j = 1; j < kLanes; ++j) sum += lanes[j];
  return sum;
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

void maxima(const float* __restrict logits, std::size_t n, float* __restrict out) {
  std::size_t strip = 0;
  for (; (strip + 1) * kStrip <= n; ++strip) {
    const float* at = logits + strip * kStrip;
    float half[kStrip / 2];
    for (std::size_t j = 0; j < kStrip / 2; ++j) half[j] = at[j] > at[j + kStrip / 2] ? at[j] : at[j + kStrip / 2];
    for (std::size_t width = kStrip / 4; width > 0; width /= 2)
      for (std::size_t j = 0; j < width; ++j) half[j] = half[j] > half[j + width] ? half[j] : half[j + width];
    out[strip] = half[0];
  }
  if (strip * kStrip == n) return;
  float rest = logits[strip * kStrip];
  for (std::size_t i = strip * kStrip + 1; i < n; ++i) rest = logits[i] > rest ? logits[i] : rest;
  out[strip] = rest;
}

std::uint64_t above(const double* values, std::size_t n, double floor) {
  std::uint64_t found = 0;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    std::int64_t any = 0;
    for (std::size_t j = 0; j < kLanes; ++j) any |= values[i + j] > floor ? 1 : 0;
    found |= static_cast<std::uint64_t>(any) << (i / kLanes);
  }
  for (std::size_t j = i; j < n; ++j) found |= static_cast<std::uint64_t>(values[j] > floor) << (i / kLanes);
  return found;
}

// 1 - U of one token: exact, because U is an odd multiple of 2**-53.
inline double gap_of(Key key, std::uint32_t token) {
  const Key made = threefry(key, {token, 0});
  const double k =
      static_cast<double>(made.first) * 1048576.0 + static_cast<double>(static_cast<std::int32_t>(made.second >> 12));
  return 1.0 - (k + 0.5) * kTwoToMinus52;
}

void gaps(Key key, const std::int64_t* __restrict ids, std::uint32_t first, std::size_t n, double* __restrict gap) {
  if (ids == nullptr)
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(n); ++i) gap[i] = gap_of(key, first + i);
  else
    for (std::size_t i = 0; i < n; ++i) gap[i] = gap_of(key, static_cast<std::uint32_t>(ids[i]));
}

std::uint32_t contenders(const double* gap, const double* weights, std::size_t n, double limit) {
  std::uint32_t found = 0;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    std::int64_t any = 0;
    for (std::size_t j = 0; j < kLanes; ++j) any |= gap[i + j] <= limit * weights[i + j] ? 1 : 0;
    found |= static_cast<std::uint32_t>(any) << (i / kLanes);
  }
  if (i < n) found |= 1U << (i / kLanes);
  return found;
}

constexpr SamplingKernels kBody = {&weigh, &total_above, &scale, &excess, &maxima, &above, &gaps, &contenders};

}  // namespace
}  // namespace headstart
