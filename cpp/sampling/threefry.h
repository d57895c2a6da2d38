// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw (2011). Local to the file that includes it, see body.h.
#pragma once

#include "constants.h"
#include "kernels.h"

namespace headstart {
namespace {

inline std::uint32_t turned(std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

inline void four_rounds(std::uint32_t& x0, std::uint32_t& x1, int a, int b, int c, int d) {
  x0 += x1, x1 = turned(x1, a) ^ x0;
  x0 += x1, x1 = turned(x1, b) ^ x0;
  x0 += x1, x1 = turned(x1, c) ^ x0;
  x0 += x1, x1 = turned(x1, d) ^ x0;
}

inline Key threefry(Key key, Key counter) {
  const std::uint32_t third = key.first ^ key.second ^ kParity;
  std::uint32_t x0 = counter.first + key.first, x1 = counter.second + key.second;
  four_rounds(x0, x1, 13, 15, 26, 6);
  x0 += key.second, x1 += third + 1;
  four_rounds(x0, x1, 17, 29, 16, 24);
  x0 += third, x1 += key.first + 2;
  four_rounds(x0, x1, 13, 15, 26, 6);
  x0 += key.first, x1 += key.second + 3;
  four_rounds(x0, x1, 17, 29, 16, 24);
  x0 += key.second, x1 += third + 4;
  four_rounds(x0, x1, 13, 15, 26, 6);
  return {x0 + third, x1 + key.first + 5};
}

}  // namespace
}  // namespace headstart
