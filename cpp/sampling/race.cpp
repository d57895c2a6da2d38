// Sampling: the exponential race and the walk along the running sum.
#include <algorithm>
#include <bit>
#include <limits>

#include "constants.h"
#include "sampling.h"
#include "threefry.h"

namespace headstart {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Runner {
  double time;
  std::int64_t index;
};

// The first few to arrive so far.
class Podium {
 public:
  explicit Podium(std::size_t count) : count_(count) { runners_.reserve(count + 1); }

  // Nobody slower than this gets on; as -log(U) >= 1 - U, nobody whose gap is above this times the weight does. A
  // little is added for rounding: a contender too many costs one logarithm.
  double limit() const { return runners_.size() < count_ ? kInfinity : runners_.back().time * (1.0 + 0x1p-30); }

  void arrive(double time, std::int64_t index) {
    if (runners_.size() == count_ && !(time < runners_.back().time)) return;
    auto place = std::upper_bound(runners_.begin(), runners_.end(), time,
                                  [](double t, const Runner& other) { return t < other.time; });
    runners_.insert(place, {time, index});
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

Key words(Key key, Key counter) { return threefry(key, counter); }

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
  Podium podium(std::min(count, n));
  alignas(64) double gap[kChunk];
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const std::size_t size = std::min(kChunk, n - begin);
    kernels.gaps(key, ids == nullptr ? nullptr : ids + begin, static_cast<std::uint32_t>(begin), size, gap);
    std::uint32_t groups = kernels.contenders(gap, weights + begin, size, podium.limit());
    for (; groups != 0; groups &= groups - 1) {
      const std::size_t first = kLanes * static_cast<std::size_t>(std::countr_zero(groups));
      for (std::size_t j = first; j < std::min(first + kLanes, size); ++j) {
        const double weight = weights[begin + j];
        if (weight > 0.0 && gap[j] <= podium.limit() * weight)
          podium.arrive(-own_log(1.0 - gap[j]) / weight, static_cast<std::int64_t>(begin + j));
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
