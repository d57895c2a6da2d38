// Sampling: the exponential race and the walk along the running sum.
#include <algorithm>
#include <bit>
#include <compare>
#include <limits>

#include "constants.h"
#include "sampling.h"
#include "threefry.h"

namespace headstart {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastGap = 0x1p-53;

// 1 - U of one token: exact, because U is an odd multiple of 2**-53.
double gap_of(Key made) {
  const double k =
      static_cast<double>(made.first) * 1048576.0 + static_cast<double>(static_cast<std::int32_t>(made.second >> 12));
  return 1.0 - (k + 0.5) * kTwoToMinus52;
}

struct Runner {
  double time;
  std::int64_t index;
  auto operator<=>(const Runner&) const = default;
};

struct Chunk {
  std::size_t begin;
  double heaviest;
};

// The first few to arrive so far.
class Podium {
 public:
  explicit Podium(std::size_t count) : count_(count) { runners_.reserve(count + 1); }

  // Nobody slower than this gets on; as -log(U) >= 1 - U, nobody whose gap is above this times the weight does. A
  // little is added for rounding: a contender too many costs one logarithm.
  double limit() const { return runners_.size() < count_ ? kInfinity : runners_.back().time * (1.0 + 0x1p-30); }

  void arrive(const Runner& runner) {
    runners_.insert(std::upper_bound(runners_.begin(), runners_.end(), runner), runner);
    if (runners_.size() > count_) runners_.pop_back();
  }

  std::vector<std::int64_t> indices() const {
    std::vector<std::int64_t> found;
    for (const Runner& runner : runners_) found.push_back(runner.index);
    return found;
  }

 private:
  std::size_t count_;
  std::vector<Runner> runners_;
};

}  // namespace

Key words(Key key, Key counter) {
  std::uint32_t first[1] = {counter.first}, second[1] = {counter.second};
  threefry(key, first, second);
  return {first[0], second[0]};
}

double own_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double k = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1022);
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FE0000000000000ULL);
  if (m < 0.7071067811865476) {
    m += m;
    k -= 1.0;
  }
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double r = kAtanh.back();
  for (std::size_t i = kAtanh.size() - 1; i-- > 0;) r = r * z + kAtanh[i];
  return k * kLn2High + ((s + s) + (s * (r * z) + k * kLn2Low));
}

std::vector<std::int64_t> race(Key key, const double* weights, const std::int64_t* ids, std::size_t n, std::size_t count,
                               const SamplingKernels& kernels) {
  std::vector<Chunk> chunks;
  for (std::size_t begin = 0; begin < n; begin += kChunk)
    chunks.push_back({begin, kernels.heaviest(weights + begin, std::min(kChunk, n - begin))});
  const auto lighter = [](const Chunk& a, const Chunk& b) { return a.heaviest < b.heaviest; };
  if (!chunks.empty())  // who is likely to win runs first, and most of the others need not
    std::iter_swap(chunks.begin(), std::max_element(chunks.begin(), chunks.end(), lighter));
  Podium podium(std::min(count, n));
  std::uint32_t firsts[kChunk] = {};
  for (const auto& [begin, heaviest] : chunks) {
    if (!(podium.limit() * heaviest >= kLeastGap)) continue;
    const std::size_t size = std::min(kChunk, n - begin);
    kernels.first_words(key, ids == nullptr ? nullptr : ids + begin, static_cast<std::uint32_t>(begin), size, firsts);
    std::uint32_t groups = kernels.contenders(firsts, podium.limit() * heaviest);
    for (; groups != 0; groups &= groups - 1) {
      const std::size_t first = kLanes * static_cast<std::size_t>(std::countr_zero(groups));
      for (std::size_t i = first; i < std::min(first + kLanes, size); ++i) {
        const double weight = weights[begin + i], most = podium.limit() * weight;
        if (!(weight > 0.0 && static_cast<double>(~firsts[i]) * 0x1p-32 <= most)) continue;
        const std::size_t index = begin + i;
        const double gap = gap_of(words(key, {static_cast<std::uint32_t>(ids == nullptr ? index : ids[index]), 0}));
        if (gap <= most) podium.arrive({-own_log(1.0 - gap) / weight, static_cast<std::int64_t>(index)});
      }
    }
  }
  return podium.indices();
}

std::int64_t pick(const double* weights, std::size_t n, double u) {
  double running = 0.0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    running += weights[i];
    if (running > u) return static_cast<std::int64_t>(i);
    if (weights[i] > 0.0) last = static_cast<std::int64_t>(i);
  }
  return last;
}

}  // namespace headstart
