// Weight matrices and the skinny products of speculative decoding: few rows of activations, every weight read once.
//
// The promise: out[r][o] depends on x[r] and row o of the matrix alone, never on how many other rows are computed, on
// where r stands among them, on [begin, end), or on the thread. Each output is one reduction in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headstart {

enum class Isa { portable, avx2, avx512, neon };
enum class Kind { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K };

// The best instruction set this machine has; HEADSTART_ISA forces one and throws std::runtime_error, naming what is
// allowed here, if it is unknown or the machine lacks it.
Isa chosen_isa();

// A matrix of `outputs` x `inputs`, repacked at load for one instruction set, standing for exactly the file's values.
class Matrix {
 public:
  // raw: the GGUF blocks, row-major, `bytes` long (checked; std::invalid_argument if it does not fit kind and shape).
  static std::unique_ptr<Matrix> pack(Kind kind, std::int64_t outputs, std::int64_t inputs, const std::uint8_t* raw,
                                      std::size_t bytes, Isa isa);
  virtual ~Matrix() = default;

  std::int64_t outputs = 0, inputs = 0;
  std::size_t bytes = 0;  // held in memory, near the file's

  // Outputs are computed in groups of this many; [begin, end) given to `multiply` must start at a multiple of it.
  std::int64_t group = 16;

  // Bytes of prepared activations for one row (int8 blocks with scales and sums, or the floats themselves).
  virtual std::size_t prepared_bytes() const = 0;
  // Two matrices of equal prepare_id() and inputs share prepared activations (q, k and v; gate and up).
  virtual int prepare_id() const = 0;
  // x: `inputs` floats of one row -> out: prepared_bytes(), 64-byte aligned.
  virtual void prepare(const float* x, std::uint8_t* out) const = 0;
  // x: `rows` prepared rows, `prepared_bytes()` rounded up to 64 apart; out[r * stride + o] for o in [begin, end).
  virtual void multiply(const std::uint8_t* x, int rows, std::int64_t begin, std::int64_t end, float* out,
                        std::size_t stride) const = 0;
  // The values of one row, float32 (the embedding's look-up).
  virtual void row(std::int64_t output, float* out) const = 0;
};

}  // namespace headstart
