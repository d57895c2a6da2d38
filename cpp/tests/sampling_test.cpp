// Laws and coins on every instruction set of this machine: the same bits as the portable code, and on every processor the
// digest that was taken where the NumPy twins agreed. Arrays end where their values end: run it under AddressSanitizer.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "../matrix.h"
#include "../sampling/sampling.h"
#include "check.h"

namespace headstart {
namespace {

constexpr std::uint64_t kDigest = 0x6b18f6b1b270d7be;
constexpr std::size_t kSizes[] = {1, 2, 15, 16, 17, 31, 33, 255, 257, 1000, 20011};

class Digest {
 public:
  void add(std::uint64_t value) { state_ = (std::rotl(state_, 5) ^ value) * 0x9E3779B97F4A7C15ULL; }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 1;
};

// Logits in quarters from -16 to 16, some of them -inf.
std::vector<float> logits_of(std::size_t n) {
  std::vector<float> logits(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = words({7, static_cast<std::uint32_t>(n)}, {static_cast<std::uint32_t>(i), 0}).first;
    logits[i] = word % 11 == 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(word % 129) / 4.0f - 16.0f;
  }
  logits[n / 2] = 15.75f;
  return logits;
}

std::vector<Filters> settings() {
  return {{1.0, 0, 1.0, 0.0}, {0.5, 7, 1.0, 0.0},  {2.0, 0, 0.9, 0.0},    {1.0, 0, 0.0, 0.0},
          {1.0, 0, 1.0, 0.1}, {1.0, 500, 0.7, 1.0}, {0.25, 0, 0.99, 0.01}, {1e300, 0, 1.0, 0.0}};
}

Digest laws(Checks& check, std::size_t n, const SamplingKernels& kernels, const std::string& where) {
  Digest digest;
  const std::vector<float> logits = logits_of(n);
  const double top = *std::max_element(logits.begin(), logits.end());
  for (const Filters& filters : settings()) {
    const RowLaw law = warp(logits.data(), n, top, filters, kernels);
    check(law.size > 0 && (law.dense ? law.size == n : law.ids.size() == law.size), where + ": sizes disagree");
    check(std::is_sorted(law.ids.begin(), law.ids.end()), where + ": ids do not ascend");
    double sum = 0.0;
    for (std::size_t i = 0; i < law.size; ++i) sum += law.weights[i], digest.add(law.weights[i]);
    for (const std::int64_t id : law.ids) digest.add(static_cast<std::uint64_t>(id));
    check(sum > 0.999999 && sum < 1.000001, where + ": a law does not sum to 1");
    for (const std::size_t count : {1, 3}) {
      const std::int64_t* ids = law.dense ? nullptr : law.ids.data();
      const auto winners = race({3, 4}, law.weights.get(), ids, law.size, count, kernels);
      check(!winners.empty() && winners.size() <= count, where + ": a race without winners");
      for (const std::int64_t winner : winners) {
        check(law.weights[static_cast<std::size_t>(winner)] > 0.0, where + ": a token of weight 0 won");
        digest.add(static_cast<std::uint64_t>(winner));
      }
    }
    std::vector<double> left(law.size);
    kernels.excess(law.weights.get(), law.weights.get(), law.size, 2.0, left.data());
    digest.add(kernels.total(left.data(), law.size));
    digest.add(static_cast<std::uint64_t>(pick(law.weights.get(), law.size, 0.37)));
  }
  return digest;
}

// Against sorting, for counts around the number of strips, with ties and -inf among the numbers.
void largest(Checks& check, std::size_t n, const SamplingKernels& kernels, const std::string& where) {
  const std::vector<float> x = logits_of(n);
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&x](std::int64_t a, std::int64_t b) { return x[a] > x[b]; });
  for (const std::size_t k : {std::size_t{1}, std::size_t{5}, n / 40 + 1, n / 32, n / 2, n, n + 1}) {
    std::vector<std::int64_t> expected(order.begin(), order.begin() + std::min(k, n));
    std::sort(expected.begin(), expected.end());
    check(largest_ids(x.data(), n, k, kernels) == expected, where + ": not the " + std::to_string(k) + " largest");
  }
}

int run() {
  Checks check;
  check(words({0, 0}, {0, 0}).first == 0x6B200159 && words({0, 0}, {0, 0}).second == 0x99BA4EFE, "Threefry of zeros");
  Digest whole;
  for (const std::size_t n : kSizes) {
    const std::uint64_t portable = laws(check, n, portable_sampling(), "portable").value();
    whole.add(portable);
    largest(check, n, portable_sampling(), "portable, " + std::to_string(n) + " tokens");
    for (const Isa isa : available_isas()) {
      const std::string where = std::string(name(isa)) + ", " + std::to_string(n) + " tokens";
      largest(check, n, sampling_kernels(isa), where);
      check(laws(check, n, sampling_kernels(isa), where).value() == portable, where + ": other bits than portable code");
    }
  }
  char told[64];
  std::snprintf(told, sizeof told, "digest %016llx", static_cast<unsigned long long>(whole.value()));
  check(whole.value() == kDigest, std::string(told) + " is not the one recorded");
  return check.done("sampling_test");
}

}  // namespace
}  // namespace headstart

int main() { return headstart::run(); }
