// The largest numbers of a long row.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "sampling.h"

namespace headstart {
namespace {

// Ids of all numbers at least as large as the k-th largest, and maybe of some more; ascending. The k-th largest of the
// strips' maxima is at most the k-th largest number, so only numbers as large as it need be looked at one by one.
std::vector<std::int64_t> candidates(const float* x, std::size_t n, std::size_t k, const SamplingKernels& kernels) {
  constexpr std::size_t block = kLanes * kStrip;
  std::vector<std::int64_t> ids;
  std::vector<float> maxima((n + block - 1) / block * kLanes);
  if (k > maxima.size()) {
    ids.resize(n);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }
  kernels.maxima(x, n, maxima.data());
  std::vector<float> best(k);
  std::partial_sort_copy(maxima.begin(), maxima.end(), best.begin(), best.end(), std::greater<>());
  const float bound = best.back();
  for (std::size_t strip = 0; strip < maxima.size(); ++strip) {
    if (maxima[strip] < bound) continue;
    const std::size_t first = strip / kLanes * block + strip % kLanes;
    for (std::size_t i = first; i < std::min(n, first + block); i += kLanes)
      if (x[i] >= bound) ids.push_back(static_cast<std::int64_t>(i));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

std::vector<std::int64_t> largest_ids(const float* x, std::size_t n, std::size_t k, const SamplingKernels& kernels) {
  k = std::min(k, n);
  if (k == 0) return {};
  std::vector<std::int64_t> ids = candidates(x, n, k, kernels);
  if (ids.size() == k) return ids;
  std::vector<float> values;
  for (const std::int64_t id : ids) values.push_back(x[id]);
  std::nth_element(values.begin(), values.begin() + (k - 1), values.end(), std::greater<>());
  const float edge = values[k - 1];
  std::size_t ties = k - std::count_if(values.begin(), values.begin() + (k - 1), [edge](float v) { return v > edge; });
  std::erase_if(ids, [x, edge, &ties](std::int64_t id) {
    if (x[id] != edge) return x[id] < edge;
    if (ties == 0) return true;
    --ties;
    return false;
  });
  return ids;
}

}  // namespace headstart
