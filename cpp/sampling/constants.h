// Constants of the own exp and log and of Threefry; the same as in coins.py and coins.js.
#pragma once

#include <array>
#include <cstdint>

namespace headstart {

constexpr std::uint32_t kParity = 0x1BD11BDA;
constexpr double kTwoToMinus52 = 0x1p-52;
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2**52
constexpr double kLeastExp = 0x1.7c8ab2288c9acp-1022;  // the value at -708; what is not above it counts as 0
constexpr std::array<double, 10> kAtanh = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                           2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
constexpr std::array<double, 14> kExp = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                         1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                         1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2,
                                         1.0,              1.0};

// ln(2)**5 / 5!, ... ln(2), 1: 2**r within 3e-6 for r from -1/2 to 1/2
constexpr std::array<float, 6> kPowers = {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 0.24022651f, 0.69314718f, 1.0f};

}  // namespace headstart
