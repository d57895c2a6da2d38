#include "rope.h"

#include <cmath>

namespace headstart {

void Rope::extend(int positions) {
  const std::size_t pairs = frequencies_.size();
  if (pairs == 0) return;
  for (std::size_t position = cosines_.size() / pairs; position < static_cast<std::size_t>(positions); ++position)
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(position) * frequency;
      cosines_.push_back(static_cast<float>(std::cos(angle) * factor_));
      sines_.push_back(static_cast<float>(std::sin(angle) * factor_));
    }
}

namespace {

// No two arguments name the same number, which lets the loop be vectorised.
template <std::size_t step>
void turn_pairs(float* __restrict first, float* __restrict second, const float* __restrict cosine,
                const float* __restrict sine, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float x = first[i * step], y = second[i * step];
    first[i * step] = x * cosine[i] - y * sine[i];
    second[i * step] = y * cosine[i] + x * sine[i];
  }
}

}  // namespace

void Rope::turn(float* head, int position) const {
  const std::size_t pairs = frequencies_.size();
  const float* cosine = cosines_.data() + position * pairs;
  const float* sine = sines_.data() + position * pairs;
  if (interleaved_) {
    turn_pairs<2>(head, head + 1, cosine, sine, pairs);
  } else {
    turn_pairs<1>(head, head + pairs, cosine, sine, pairs);
  }
}

}  // namespace headstart
