// Rotary position embedding: cosines and sines of absolute positions, worked out once in float64.
#pragma once

#include <vector>

namespace headstart {

class Rope {
 public:
  Rope(std::vector<double> inverse_frequencies, double factor, bool interleaved)
      : frequencies_(std::move(inverse_frequencies)), factor_(factor), interleaved_(interleaved) {}

  // The table holds positions below `positions` from now on.
  void extend(int positions);
  // Turns one head's numbers, in place.
  void turn(float* head, int position) const;

 private:
  std::vector<double> frequencies_;
  double factor_;
  bool interleaved_;
  std::vector<float> cosines_, sines_;  // [position][pair]
};

}  // namespace headstart
