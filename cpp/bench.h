// How fast this machine reads memory, and how fast it multiplies: the ceiling and the measured share of it.
#pragma once

#include <cstddef>
#include <vector>

#include "matrix.h"

namespace headstart {

// Seconds for `threads` threads to read `bytes` bytes of memory once, one figure a round. Each thread reads its own
// part, in order.
std::vector<double> time_reading(std::size_t bytes, int threads, int rounds);

// Matrices that could be multiplied side by side (q, k and v), before the next step may begin.
using Step = std::vector<const Matrix*>;

// Seconds for `rows` rows through every step, one figure a round. `threads` threads split the outputs and meet after
// each step.
std::vector<double> time_products(const std::vector<Step>& steps, int rows, int threads, int rounds);

}  // namespace headstart
