// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw (2011). Local to the file that includes it, see body.h.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "constants.h"
#include "kernels.h"

namespace headstart {
namespace {

// Each number turned left by so many bits. AVX2 cannot turn, but it moves whole bytes in one step instead of three.
template <class Word>
inline Word turned(Word x, int by) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (sizeof(Word) == sizeof(__m256i)) {
    const auto moved = [x](int first) {  // `first`: which bytes make up the first number
      constexpr int next = 0x04040404;
      const __m128i order = _mm_setr_epi32(first, first + next, first + 2 * next, first + 3 * next);
      return (Word)_mm256_shuffle_epi8((__m256i)x, _mm256_broadcastsi128_si256(order));
    };
    if (by == 16) return moved(0x01000302);
    if (by == 24) return moved(0x00030201);
  }
#endif
  return (x << by) | (x >> (32 - by));
}

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
      for (int j = 0; j < count; ++j) x1[j] = turned(x1[j], by) ^ x0[j];
    }
    const std::uint32_t first = schedule[(group + 1) % 3], second = schedule[(group + 2) % 3] + group + 1;
    for (int j = 0; j < count; ++j) x0[j] += first, x1[j] += second;
  }
}

}  // namespace
}  // namespace headstart
