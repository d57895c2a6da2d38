// From logits to a law: temperature, top-k, top-p and min-p. No row is ever sorted as a whole.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sampling.h"

namespace headstart {
namespace {

constexpr int kEdges = 2048;
constexpr std::size_t kLong = 4096;  // shorter rows are weighed whole
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kNear = 8.0f;  // logits below the largest by more than this make up little of a sum of exponentials
constexpr std::size_t kSpan = 64 * kLanes;  // values that one call of `above` looks at

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

// Calls use(first, end) for each group of kLanes places with a value above `floor`, ascending, until it returns false.
template <class Value, class Above, class Use>
void in_groups(const Value* values, std::size_t n, Value floor, Above above, Use use) {
  for (std::size_t begin = 0; begin < n; begin += kSpan) {
    std::uint64_t groups = above(values + begin, std::min(kSpan, n - begin), floor);
    for (; groups != 0; groups &= groups - 1) {
      const std::size_t first = begin + kLanes * static_cast<std::size_t>(std::countr_zero(groups));
      if (!use(first, std::min(n, first + kLanes))) return;
    }
  }
}

// Places of weights above `floor`, ascending.
std::vector<std::int64_t> places_above(const double* weights, std::size_t n, double floor,
                                       const SamplingKernels& kernels) {
  auto found = std::make_unique_for_overwrite<std::int64_t[]>(n);
  std::size_t count = 0;
  in_groups(weights, n, floor, kernels.weights_above, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      found[count] = static_cast<std::int64_t>(i);
      count += weights[i] > floor;
    }
    return true;
  });
  return {found.get(), found.get() + count};
}

// Number `j` of kEdges from 1 down, 32 to an octave.
double edge(int j) { return std::bit_cast<double>(0x3FF0000000000000ULL - (static_cast<std::uint64_t>(j) << 47)); }

// A sum that weights are to reach; where only about known, from `low` to `high`.
struct Goal {
  double low, high;
};

// Places such that all that are likelier sum to less than the goal, the best among them; nothing if that depends on what the
// goal is exactly. Weights are summed down to an edge that is found by halving, and one by one below it.
std::optional<std::vector<std::int64_t>> nucleus(const float* logits, const double* weights, std::size_t n, Goal goal,
                                                 const SamplingKernels& kernels) {
  bool sure = true;
  const auto short_of_it = [&goal, &sure](double sum) {
    sure = sure && (sum < goal.low || sum >= goal.high);
    return sum < goal.low;
  };
  int above = 0, below = kEdges - 1;
  while (below - above > 1) {
    const int middle = (above + below) / 2;
    (short_of_it(kernels.total_above(weights, n, edge(middle))) ? above : below) = middle;
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
  for (; taken < between.size() && short_of_it(before); ++taken) before += weights[between[taken]];
  if (above == 0 && taken == 0) taken = 1;
  if (!sure) return std::nullopt;
  const std::vector<std::int64_t> lost(between.begin() + static_cast<std::ptrdiff_t>(taken), between.end());
  return without(std::move(places), lost);
}

struct Row {
  const float* logits;
  std::size_t n;
  double top;
};

// Those of the groups of kLanes tokens that matter, weighed. Sums in lanes over them have the bits of sums over the whole
// row with zeros for the others.
class Part {
 public:
  // Groups of which any token's `measure` is above `floor`.
  Part(const float* measure, std::size_t n, float floor, const SamplingKernels& kernels) {
    in_groups(measure, n, floor, kernels.above, [this](std::size_t first, std::size_t) {
      begins_.push_back(first);
      return true;
    });
  }

  std::size_t size() const { return begins_.size() * kLanes; }
  const float* logits() const { return logits_.data(); }
  const double* weights() const { return weights_.data(); }
  std::int64_t id(std::int64_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return static_cast<std::int64_t>(begins_[at / kLanes] + at % kLanes);
  }

  // Gives the sum of the weights; a token with a logit of `floor` or less weighs nothing.
  double weigh(const Row& row, double inverse, const SamplingKernels& kernels, float floor = kNever) {
    logits_.assign(size(), kNever);
    weights_.resize(size());
    for (std::size_t i = 0; i < begins_.size(); ++i)
      std::copy_n(row.logits + begins_[i], std::min(kLanes, row.n - begins_[i]), logits_.data() + i * kLanes);
    for (float& logit : logits_) logit = logit > floor ? logit : kNever;
    return kernels.weigh(logits_.data(), size(), row.top, inverse, weights_.data());
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<float> logits_;
  std::vector<double> weights_;
};

// Ids of the logits above -inf, ascending, where they are few: what a grammar leaves, say.
std::optional<std::vector<std::int64_t>> few_alive(const float* logits, std::size_t n, const SamplingKernels& kernels) {
  if (n < kLong) return std::nullopt;
  std::vector<std::int64_t> ids;
  in_groups(logits, n, kNever, kernels.above, [&ids, logits, n](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i)
      if (logits[i] > kNever) ids.push_back(static_cast<std::int64_t>(i));
    return 16 * ids.size() <= n;
  });
  return 16 * ids.size() <= n ? std::optional(std::move(ids)) : std::nullopt;
}

// A law of what a cut leaves, by the places kept and where they are.
template <class Id>
RowLaw law_of(const std::vector<std::int64_t>& places, const double* weights, double min_p, Id id) {
  const double below = std::nextafter(min_p, -1.0);  // at least min_p is above this
  RowLaw law{{}, 0, false, Weights(places.size())};
  law.ids.reserve(places.size());
  for (const std::int64_t place : places) {
    if (!(weights[place] > below)) continue;
    law.weights[law.size++] = weights[place];
    law.ids.push_back(id(place));
  }
  return law;
}

// Top-p without weighing the whole row: what the weights sum to is known well enough from float32, and the few that
// may stay are weighed exactly. Nothing where this does not tell, or saves nothing.
std::optional<RowLaw> short_nucleus(const Row& row, const Filters& filters, const SamplingKernels& kernels) {
  if (row.n < kLong || filters.inverse_temperature < 1e-6 || filters.inverse_temperature > 1e6) return std::nullopt;
  thread_local std::vector<float> rough;
  rough.resize(std::max(rough.size(), row.n));
  const double sum = kernels.rough(row.logits, row.n, static_cast<float>(row.top),
                                   static_cast<float>(filters.inverse_temperature), -kNever, rough.data());
  const Goal goal{filters.top_p * sum * (1.0 - kRough), filters.top_p * sum * (1.0 + kRough)};
  for (const double floor : {0x1p-6, 0x1p-8, 0x1p-10, 0x1p-12, 0x1p-14}) {
    Part part(rough.data(), row.n, static_cast<float>(floor * (1.0 - kRough)), kernels);
    if (part.size() > row.n / 4) break;
    part.weigh(row, filters.inverse_temperature, kernels);
    if (!(kernels.total_above(part.weights(), part.size(), floor) >= goal.high)) continue;
    const auto places = nucleus(part.logits(), part.weights(), part.size(), goal, kernels);
    if (!places) break;
    return law_of(*places, part.weights(), filters.min_p, [&part](std::int64_t place) { return part.id(place); });
  }
  return std::nullopt;
}

// Min-p alone, likewise: a logit too low for it need not be weighed.
std::optional<RowLaw> above_min_p(const Row& row, const Filters& filters, const SamplingKernels& kernels) {
  if (row.n < kLong) return std::nullopt;
  const double edge = row.top + (std::log(filters.min_p) - 1e-6) / filters.inverse_temperature;
  const auto floor = static_cast<float>(std::max(edge, -double{std::numeric_limits<float>::max()}));
  Part part(row.logits, row.n, std::nextafter(floor, kNever), kernels);
  if (part.size() > row.n / 4) return std::nullopt;
  part.weigh(row, filters.inverse_temperature, kernels);
  const auto places = places_above(part.weights(), part.size(), 0.0, kernels);
  return law_of(places, part.weights(), filters.min_p, [&part](std::int64_t place) { return part.id(place); });
}

// What top-p and then min-p leave of the whole row.
RowLaw cut(const Row& row, const Filters& filters, const SamplingKernels& kernels) {
  Weights weights(row.n);
  const double sum = kernels.weigh(row.logits, row.n, row.top, filters.inverse_temperature, weights.get());
  const auto same = [](std::int64_t place) { return place; };
  if (filters.top_p == 1.0)
    return law_of(places_above(weights.get(), row.n, 0.0, kernels), weights.get(), filters.min_p, same);
  const double goal = filters.top_p * sum;
  return law_of(*nucleus(row.logits, weights.get(), row.n, {goal, goal}, kernels), weights.get(), filters.min_p, same);
}

}  // namespace

RowLaw warp(const float* logits, std::size_t n, double top, const Filters& filters, const SamplingKernels& kernels) {
  std::optional<std::vector<std::int64_t>> ids;  // of the few that are looked at; nothing if all are
  std::vector<float> few;
  Row row{logits, n, top};
  if (filters.top_k > 0 && static_cast<std::size_t>(filters.top_k) < n) {
    ids = largest_ids(logits, n, static_cast<std::size_t>(filters.top_k), kernels);
    std::erase_if(*ids, [logits](std::int64_t id) { return logits[id] == kNever; });
  } else {
    ids = few_alive(logits, n, kernels);
  }
  if (ids) {
    for (const std::int64_t id : *ids) few.push_back(logits[id]);
    row.logits = few.data(), row.n = few.size();
  }
  if (filters.top_p == 1.0 && filters.min_p == 0.0) {
    Weights weights(row.n);
    const double sum = kernels.weigh(row.logits, row.n, top, filters.inverse_temperature, weights.get());
    kernels.scale(weights.get(), row.n, 1.0 / sum);
    return {ids ? std::move(*ids) : std::vector<std::int64_t>(), row.n, !ids, std::move(weights)};
  }
  auto quick = filters.top_p < 1.0 ? short_nucleus(row, filters, kernels) : above_min_p(row, filters, kernels);
  RowLaw law = quick ? std::move(*quick) : cut(row, filters, kernels);
  if (ids)
    for (std::int64_t& id : law.ids) id = (*ids)[static_cast<std::size_t>(id)];
  kernels.scale(law.weights.get(), law.size, 1.0 / kernels.total(law.weights.get(), law.size));
  return law;
}

double log_sum_exp(const float* logits, std::size_t n, double top, const SamplingKernels& kernels) {
  const float highest = static_cast<float>(top), floor = n < kLong ? kNever : highest - kNear;
  Part near(logits, n, floor, kernels);
  const double far = n < kLong ? 0.0 : kernels.rough(logits, n, highest, 1.0f, floor, nullptr);
  return top + own_log(near.weigh({logits, n, top}, 1.0, kernels, floor) + far);
}

}  // namespace headstart
