// From logits to a law: temperature, top-k, top-p and min-p. No row is ever sorted as a whole.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sampling.h"

namespace headstart {
namespace {

constexpr int kEdges = 2048;
constexpr std::size_t kSpan = 64 * kLanes;  // values that one call of `above` looks at

// Ids of the k largest logits, ascending; of equal ones the lowest; none that is -inf. The k-th largest of the strips'
// maxima is at most the k-th largest logit, so only logits as large as it need be looked at one by one.
std::vector<std::int64_t> largest(const float* logits, std::size_t n, std::size_t k, const SamplingKernels& kernels) {
  std::vector<float> maxima((n + kStrip - 1) / kStrip);
  kernels.maxima(logits, n, maxima.data());
  float bound = -std::numeric_limits<float>::infinity();
  if (k <= maxima.size()) {
    std::vector<float> order = maxima;
    std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<>());
    bound = order[k - 1];
  }
  std::vector<std::int64_t> ids;
  std::vector<float> values;
  for (std::size_t strip = 0; strip < maxima.size(); ++strip) {
    if (maxima[strip] < bound) continue;
    for (std::size_t i = strip * kStrip; i < std::min(n, (strip + 1) * kStrip); ++i)
      if (logits[i] >= bound) ids.push_back(static_cast<std::int64_t>(i)), values.push_back(logits[i]);
  }
  std::vector<float> order = values;
  std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<>());
  const float edge = order[k - 1];
  std::size_t ties = k - std::count_if(values.begin(), values.end(), [edge](float v) { return v > edge; });
  if (edge == -std::numeric_limits<float>::infinity()) ties = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (values[i] > edge || (values[i] == edge && ties > 0)) {
      ties -= values[i] == edge;
      ids[kept++] = ids[i];
    }
  ids.resize(kept);
  return ids;
}

// Ascending places but for the few that are lost.
std::vector<std::int64_t> without(std::vector<std::int64_t> places, std::vector<std::int64_t> lost) {
  std::sort(lost.begin(), lost.end());
  auto from = places.begin(), to = places.begin();
  for (const std::int64_t place : lost) {
    const auto at = std::lower_bound(from, places.end(), place);
    to = std::move(from, at, to);
    from = at + 1;
  }
  places.erase(std::move(from, places.end(), to), places.end());
  return places;
}

// Places of weights above `floor`, ascending.
std::vector<std::int64_t> places_above(const double* weights, std::size_t n, double floor,
                                       const SamplingKernels& kernels) {
  auto found = std::make_unique_for_overwrite<std::int64_t[]>(n);
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < n; begin += kSpan) {
    std::uint64_t groups = kernels.above(weights + begin, std::min(kSpan, n - begin), floor);
    for (; groups != 0; groups &= groups - 1) {
      const std::size_t first = begin + kLanes * static_cast<std::size_t>(std::countr_zero(groups));
      for (std::size_t i = first; i < std::min(n, first + kLanes); ++i) {
        found[count] = static_cast<std::int64_t>(i);
        count += weights[i] > floor;
      }
    }
  }
  return {found.get(), found.get() + count};
}

// Number `j` of kEdges from 1 down, 32 to an octave.
double edge(int j) { return std::bit_cast<double>(0x3FF0000000000000ULL - (static_cast<std::uint64_t>(j) << 47)); }

// Places such that all that are likelier sum to less than top_p of the whole, the best among them. Weights are summed
// down to an edge that is found by halving, and one by one below it.
std::vector<std::int64_t> nucleus(const float* logits, const double* weights, std::size_t n, double top_p,
                                  const SamplingKernels& kernels) {
  const double goal = top_p * kernels.total(weights, n);
  int above = 0, below = kEdges - 1;
  while (below - above > 1) {
    const int middle = (above + below) / 2;
    (kernels.total_above(weights, n, edge(middle)) < goal ? above : below) = middle;
  }
  std::vector<std::int64_t> places = places_above(weights, n, below < kEdges - 1 ? edge(below) : -1.0, kernels);
  std::vector<std::int64_t> between;
  for (const std::int64_t place : places)
    if (!(weights[place] > edge(above))) between.push_back(place);
  const auto likelier = [logits](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; };
  if (!std::is_sorted(between.begin(), between.end(), likelier))
    std::stable_sort(between.begin(), between.end(), likelier);
  double before = kernels.total_above(weights, n, edge(above));
  std::size_t taken = 0;
  for (; taken < between.size() && before < goal; ++taken) before += weights[between[taken]];
  if (above == 0 && taken == 0) taken = 1;
  const std::vector<std::int64_t> lost(between.begin() + static_cast<std::ptrdiff_t>(taken), between.end());
  return without(std::move(places), lost);
}

// Places that top-p and then min-p keep.
std::vector<std::int64_t> places(const float* logits, const RowLaw& law, const Filters& filters,
                                 const SamplingKernels& kernels) {
  const double* weights = law.weights.get();
  const double below = std::nextafter(filters.min_p, -1.0);  // at least min_p is above this
  if (filters.top_p == 1.0) return places_above(weights, law.size, below, kernels);
  std::vector<std::int64_t> kept = nucleus(logits, weights, law.size, filters.top_p, kernels);
  std::erase_if(kept, [weights, below](std::int64_t place) { return !(weights[place] > below); });
  return kept;
}

void keep(RowLaw& law, std::vector<std::int64_t> places) {
  auto weights = std::make_unique_for_overwrite<double[]>(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    weights[i] = law.weights[static_cast<std::size_t>(places[i])];
    if (!law.dense) places[i] = law.ids[static_cast<std::size_t>(places[i])];
  }
  const std::size_t size = places.size();
  law = {std::move(places), size, false, std::move(weights)};
}

}  // namespace

RowLaw warp(const float* logits, std::size_t n, double top, const Filters& filters, const SamplingKernels& kernels) {
  RowLaw law{{}, n, filters.top_k <= 0 || static_cast<std::size_t>(filters.top_k) >= n, nullptr};
  std::vector<float> few;
  if (!law.dense) {
    law.ids = largest(logits, n, static_cast<std::size_t>(filters.top_k), kernels);
    for (const std::int64_t id : law.ids) few.push_back(logits[id]);
    logits = few.data();
    law.size = n = few.size();
  }
  law.weights = std::make_unique_for_overwrite<double[]>(n);
  kernels.weigh(logits, n, top, filters.inverse_temperature, law.weights.get());
  if (filters.top_p < 1.0 || filters.min_p > 0.0) keep(law, places(logits, law, filters, kernels));
  kernels.scale(law.weights.get(), law.size, 1.0 / kernels.total(law.weights.get(), law.size));
  return law;
}

double log_sum_exp(const float* logits, std::size_t n, double top, const SamplingKernels& kernels) {
  const auto weights = std::make_unique_for_overwrite<double[]>(n);
  kernels.weigh(logits, n, top, 1.0, weights.get());
  return top + own_log(kernels.total(weights.get(), n));
}

}  // namespace headstart
