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

void Rope::turn(float* head, int position) const {
  const std::size_t pairs = frequencies_.size();
  const float* cosine = cosines_.data() + position * pairs;
  const float* sine = sines_.data() + position * pairs;
  const std::size_t step = interleaved_ ? 2 : 1, apart = interleaved_ ? 1 : pairs;
  for (std::size_t i = 0; i < pairs; ++i) {
    float& first = head[i * step];
    float& second = head[i * step + apart];
    const float x = first, y = second;
    first = x * cosine[i] - y * sine[i];
    second = y * cosine[i] + x * sine[i];
  }
}

}  // namespace headstart
