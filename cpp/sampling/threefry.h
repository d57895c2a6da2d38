// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw (2011). Local to the file that includes it, see body.h.
#pragma once

#include "constants.h"
#include "kernels.h"

namespace headstart {
namespace {

// Counters (x0[j], x1[j]) in, words out; a Word is one number or a register of them. Several side by side do not wait for
// their own last step.
template <int count, class Word>
inline void threefry(Key key, Word (&x0)[count], Word (&x1)[count]) {
  constexpr int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::uint32_t schedule[3] = {key.first, key.second, key.first ^ key.second ^ kParity};
  for (int j = 0; j < count; ++j) x0[j] += schedule[0], x1[j] += schedule[1];
#pragma GCC unroll 5
  for (std::uint32_t group = 0; group < 5; ++group) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int by = turns[group % 2][i];
#pragma GCC unroll 4
      for (int j = 0; j < count; ++j) x0[j] += x1[j];
#pragma GCC unroll 4
      for (int j = 0; j < count; ++j) x1[j] = ((x1[j] << by) | (x1[j] >> (32 - by))) ^ x0[j];
    }
    const std::uint32_t first = schedule[(group + 1) % 3], second = schedule[(group + 2) % 3] + group + 1;
    for (int j = 0; j < count; ++j) x0[j] += first, x1[j] += second;
  }
}

}  // namespace
}  // namespace headstart
