// Weight matrices and the skinny products of speculative decoding: few rows of activations, every weight read once.
//
// The promise: out[r][o] depends on x[r] and row o of the matrix alone, never on how many other rows are computed, on
// where r stands among them, on [begin, end), or on the thread. Each output is one reduction in a fixed order.
//
// It does not know: layers, threads, files. One matrix, one thread, the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace headstart {

enum class Isa { portable, avx2, avx512, neon };
enum class Kind { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K };

// The instruction sets this machine can run, slowest first; `portable` is always among them.
std::vector<Isa> available_isas();
// The best of them; HEADSTART_ISA forces one and throws std::runtime_error, naming what is allowed here, if it is
// unknown or the machine lacks it.
Isa chosen_isa();
const char* name(Isa isa);
const char* name(Kind kind);
// The kind of that name in GGUF ("Q4_1"); std::invalid_argument, naming all of them, if there is none.
Kind kind_named(std::string_view name);

// A matrix of `outputs` x `inputs`, repacked at load for one instruction set, standing for exactly the file's values.
class Matrix {
 public:
  // raw: the GGUF blocks, row-major, `bytes` long. std::invalid_argument if they do not fit kind and shape or if a
  // value is not finite; std::bad_alloc if memory is short.
  static std::unique_ptr<Matrix> pack(Kind kind, std::int64_t outputs, std::int64_t inputs, const std::uint8_t* raw,
                                      std::size_t bytes, Isa isa);
  virtual ~Matrix() = default;

  std::int64_t outputs = 0, inputs = 0;
  std::size_t bytes = 0;  // held in memory, near the file's

  // Outputs are computed in groups of this many; [begin, end) given to `multiply` must start at a multiple of it.
  std::int64_t group = 16;

  // Bytes of prepared activations for one row (int8 blocks with scales and sums, or the floats themselves), a multiple
  // of 64.
  virtual std::size_t prepared_bytes() const = 0;
  // How many of them, from the first on, every product reads.
  virtual std::size_t always_read() const = 0;
  // Two matrices of equal prepare_id() and inputs share prepared activations (q, k and v; gate and up).
  virtual int prepare_id() const = 0;
  // x: `inputs` floats of one row -> out: prepared_bytes(), 64-byte aligned.
  void prepare(const float* x, std::uint8_t* out) const { prepare(x, 0, inputs, out); }
  // Only the numbers [begin, end) of the row, which x holds: multiples of 32, or the end of the row. `out` as above.
  virtual void prepare(const float* x, std::int64_t begin, std::int64_t end, std::uint8_t* out) const = 0;
  // x: `rows` prepared rows, `prepared_bytes()` apart; out[r * stride + o] for o in [begin, end).
  virtual void multiply(const std::uint8_t* x, int rows, std::int64_t begin, std::int64_t end, float* out,
                        std::size_t stride) const = 0;
  // The values of one row, float32 (the embedding's look-up).
  virtual void row(std::int64_t output, float* out) const = 0;
};

}  // namespace headstart
