// Vector work of coins and laws, one set of functions for each instruction set; all give the bits of the NumPy twins in
// coins.py, law.py and warp.py: float64, + - x / only, nothing fused, sums in 16 lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "../matrix.h"

namespace headstart {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kChunk = 256;  // tokens whose noise is made at a time
constexpr std::size_t kStrip = 32;   // numbers that share one entry in `maxima`
constexpr double kRough = 2e-5;      // how far from its weights' sum that of `rough` may be, relatively

struct Key {
  std::uint32_t first, second;
};

struct SamplingKernels {
  // out[i] = exp((logits[i] - top) * inverse), for arguments <= 0; gives their sum in lanes.
  double (*weigh)(const float* logits, std::size_t n, double top, double inverse, double* out);
  // The same within kRough of the sum, in float32, for inverse from 1e-6 to 1e6; nothing is below 2**-126, and tokens
  // with a logit above `most` count 0.
  double (*rough)(const float* logits, std::size_t n, float top, float inverse, float most, float* out);
  // Sum of the values above `floor`: value i is added to lane i mod 16, then the lanes are added left to right.
  double (*total_above)(const double* values, std::size_t n, double floor);
  double total(const double* values, std::size_t n) const {
    return total_above(values, n, -std::numeric_limits<double>::infinity());
  }
  void (*scale)(double* values, std::size_t n, double factor);
  // out[i] = max(scale * p[i] - q[i], 0).
  void (*excess)(const double* p, const double* q, std::size_t n, double scale, double* out);
  // The largest of each strip: of kLanes * kStrip numbers, strip i holds every kLanes-th from the i-th on. Strips beyond
  // the last number hold -inf.
  void (*maxima)(const float* x, std::size_t n, float* out);
  // Bit i: whether any of the 16 values from values[16 i] on is above `floor`; n <= 64 * 16.
  std::uint64_t (*above)(const float* values, std::size_t n, float floor);
  std::uint64_t (*weights_above)(const double* values, std::size_t n, double floor);
  // The largest weight, at least 0.
  double (*heaviest)(const double* weights, std::size_t n);
  // out[i] = the first word of noise of token ids[i], or of first + i where ids is null; n <= kChunk, `out` a whole chunk.
  void (*first_words)(Key key, const std::int64_t* ids, std::uint32_t first, std::size_t n, std::uint32_t* out);
  // Bit i: whether any of the 16 tokens from 16 i on, of a whole chunk, may by its first word have 1 - U <= gap.
  std::uint32_t (*contenders)(const std::uint32_t* firsts, double gap);
};

// Throws nothing; the set must be one that this machine has.
const SamplingKernels& sampling_kernels(Isa isa);

const SamplingKernels& portable_sampling();
const SamplingKernels& avx2_sampling();
const SamplingKernels& avx512_sampling();
const SamplingKernels& neon_sampling();

}  // namespace headstart
