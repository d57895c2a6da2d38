// Laws from logits, and samples of laws: the native twins of warp.py and of `race` and `pick` in coins.py, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "weights.h"

namespace headstart {

struct Filters {
  double inverse_temperature;
  std::int64_t top_k;  // 0 keeps all
  double top_p;        // 1 keeps all
  double min_p;        // 0 keeps all
};

// `size` weights on as many ids, ascending; `dense` where it is on every id, and `ids` is left empty.
struct RowLaw {
  std::vector<std::int64_t> ids;
  std::size_t size = 0;
  bool dense = false;
  Weights weights;
};

// Ids of the k largest of n numbers, ascending; of equal ones the lowest.
std::vector<std::int64_t> largest_ids(const float* x, std::size_t n, std::size_t k, const SamplingKernels& kernels);

// The law of a row of n logits whose largest is `top`, which is finite.
RowLaw warp(const float* logits, std::size_t n, double top, const Filters& filters, const SamplingKernels& kernels);

// The `count` smallest of -log(U) / weight, smallest first, the elder of equal ones first; indices, not ids. Tokens of
// weight 0 do not run, so there may be fewer.
std::vector<std::int64_t> race(Key key, const double* weights, const std::int64_t* ids, std::size_t n, std::size_t count,
                               const SamplingKernels& kernels);

// The first index whose running sum is above u, or the last of positive weight.
std::int64_t pick(const double* weights, std::size_t n, double u);

// Threefry-2x32-20 of one counter.
Key words(Key key, Key counter);

// Logarithm of the sum of exponentials of n logits whose largest is `top`, which is finite. Of 4 096 logits and more those
// that are 8 or more below the largest are summed in float32.
double log_sum_exp(const float* logits, std::size_t n, double top, const SamplingKernels& kernels);

// Natural logarithm of a positive normal number.
double own_log(double x);

}  // namespace headstart
