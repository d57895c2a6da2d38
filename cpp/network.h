// The weights of a decoder-only transformer, packed for one instruction set. Knows nothing of sequences or passes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "buffer.h"
#include "matrix.h"
#include "pool.h"

namespace headstart {

struct Shape {
  int vocab_size, hidden_size, intermediate_size, layer_count, head_count, kv_head_count, head_size;
  float norm_epsilon;
  std::vector<double> inverse_frequencies;  // of the rotary embedding, for each pair
  double attention_factor;                  // on its cosine and sine
  bool interleaved;                         // pairs are neighbours; else halves
  std::vector<int> windows;                 // of each layer, in tokens; 0: sees everything
};

// A tensor as it lies in a file. `mapped`: the bytes belong to a read-only map of that file, whose memory may be given
// back once they have been packed.
struct RawTensor {
  Kind kind;
  std::int64_t outputs, inputs;  // inputs of a vector: its length; outputs 1
  const std::uint8_t* data;
  std::size_t bytes;
  bool mapped;
};

using RawTensors = std::unordered_map<std::string, RawTensor>;

using Vector = Buffer<float>;  // padded with zeros to a multiple of 16; empty where the model has none

// Matrices that read the same input, their outputs one after the other. Equal preparations are made once.
class Fan {
 public:
  struct Part {
    std::shared_ptr<const Matrix> matrix;
    Vector bias;
    int first = 0;        // where its outputs begin in a row
    int preparation = 0;  // which of `preparations` it reads
  };
  struct Preparation {
    const Matrix* by;
    std::size_t offset;  // bytes, per row
  };
  // Outputs [begin, end) of one part: what one thread does at a time.
  struct Unit {
    const Part* part;
    std::int64_t begin, end;
  };

  void add(std::shared_ptr<const Matrix> matrix, Vector bias);
  // Cuts the work into units fit for that many threads, each of a multiple of `grain` outputs. After the last `add`.
  void cut(int threads, int grain = 1);

  int outputs() const { return outputs_; }
  std::size_t prepared_bytes() const { return prepared_bytes_; }
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Unit>& units() const { return units_; }
  bool quantised() const;
  std::size_t bytes() const;

  // Prepares numbers [begin, end) of a row, which x holds (as Matrix::prepare). `prepared` holds, for each preparation,
  // those of all rows.
  void prepare(const float* x, std::int64_t begin, std::int64_t end, int row, int rows, std::uint8_t* prepared) const;
  // Calls work(offset, bytes) for each stretch of `prepared` that every product of `rows` rows reads.
  template <class Work>
  void each_read(int rows, const Work& work) const {
    for (const Preparation& p : preparations_)
      for (int row = 0; row < rows; ++row)
        work(p.offset * rows + p.by->prepared_bytes() * row, p.by->always_read());
  }
  // out[row * stride + output], counted from the unit's own part.
  void multiply(const Unit& unit, const std::uint8_t* prepared, int rows, float* out, std::size_t stride) const;

 private:
  std::vector<Part> parts_;
  std::vector<Preparation> preparations_;
  std::vector<Unit> units_;
  int outputs_ = 0;
  std::size_t prepared_bytes_ = 0;
};

constexpr int kPreparedTogether = 32;  // numbers that must be prepared by one thread

struct Layer {
  Vector attn_norm, q_norm, k_norm, mlp_norm;
  Fan qkv, o, gate_up, down;
};

struct Network {
  // `precise`: every matrix is kept as the float32 values it stands for.
  Network(const Shape& shape, const RawTensors& tensors, bool precise, Isa isa, Pool& pool);

  Shape shape;
  std::shared_ptr<const Matrix> embed;
  std::vector<Layer> layers;
  Vector final_norm;
  Fan head;
  std::size_t bytes = 0;
};

}  // namespace headstart
