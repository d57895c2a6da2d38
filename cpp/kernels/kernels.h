// The table of products and preparations that each instruction set fills in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../matrix.h"

namespace headstart {

struct Product {
  const std::uint8_t* weights;  // packed, the group that holds output 0 first
  std::int64_t inputs;
  const std::uint8_t* x;  // prepared rows
  std::size_t x_stride;   // bytes between them
  int rows;
  std::int64_t begin, end;  // outputs
  float* out;
  std::size_t stride;  // floats between rows of out
};

struct Activations;

struct Kernels {
  std::array<void (*)(const Product&), 11> multiply;  // by Kind
  // `inputs` floats -> inputs / 32 blocks, and their second steps
  void (*quantise)(const float* x, std::int64_t inputs, Activations* blocks, Activations* seconds);
};

// The table of an instruction set this machine has.
const Kernels& kernels(Isa isa);

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& neon_kernels();

}  // namespace headstart
