#include "matrix.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"
#include "kernels/memory.h"
#include "kernels/pack.h"

namespace headstart {
namespace {

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

class Packed final : public Matrix {
 public:
  Packed(Kind kind, std::int64_t outputs_, std::int64_t inputs_, Isa isa)
      : kind_(kind), stride_(group_bytes(kind, inputs_)), kernels_(kernels(isa)) {
    outputs = outputs_;
    inputs = inputs_;
    bytes = static_cast<std::size_t>((outputs + kGroup - 1) / kGroup) * stride_;
    weights_ = allocate_weights(bytes);
  }

  // Outputs that pad the last group stay zero.
  void fill(const std::uint8_t* raw, std::size_t row_bytes) {
    const std::int64_t whole = outputs / kGroup * kGroup;
    if (whole < outputs) std::memset(weights_.get() + whole / kGroup * stride_, 0, stride_);
    for (std::int64_t o = 0; o < outputs; ++o) {
      if (pack_row(kind_, raw + o * row_bytes, inputs, o % kGroup, weights_.get() + o / kGroup * stride_)) continue;
      throw std::invalid_argument("row " + std::to_string(o) + " of a " + name(kind_) +
                                  " matrix holds a value that is not finite; the file is damaged, fetch it again");
    }
  }

  std::size_t prepared_bytes() const override {
    return rounded(is_float(kind_) ? inputs * sizeof(float) : 2 * inputs / kBlock * sizeof(Activations));
  }

  std::size_t always_read() const override { return is_float(kind_) ? prepared_bytes() : prepared_bytes() / 2; }

  int prepare_id() const override { return is_float(kind_) ? 0 : 1; }

  using Matrix::prepare;
  void prepare(const float* x, std::int64_t begin, std::int64_t end, std::uint8_t* out) const override {
    if (is_float(kind_)) {
      std::memcpy(out + begin * sizeof(float), x, (end - begin) * sizeof(float));
    } else {
      auto* blocks = reinterpret_cast<Activations*>(out) + begin / kBlock;
      kernels_.quantise(x, end - begin, blocks, blocks + inputs / kBlock);
    }
  }

  void multiply(const std::uint8_t* x, int rows, std::int64_t begin, std::int64_t end, float* out,
                std::size_t stride) const override {
    kernels_.multiply[static_cast<int>(kind_)](
        {weights_.get(), inputs, x, prepared_bytes(), rows, begin, std::min(end, outputs), out, stride});
  }

  void row(std::int64_t output, float* out) const override {
    unpack_row(kind_, weights_.get() + output / kGroup * stride_, inputs, output % kGroup, out);
  }

 private:
  Kind kind_;
  std::size_t stride_;  // bytes of a group
  const Kernels& kernels_;
  std::shared_ptr<std::uint8_t> weights_;
};

std::string shape(Kind kind, std::int64_t outputs, std::int64_t inputs) {
  return std::string("a ") + name(kind) + " matrix of " + std::to_string(outputs) + " x " + std::to_string(inputs);
}

}  // namespace

std::unique_ptr<Matrix> Matrix::pack(Kind kind, std::int64_t outputs, std::int64_t inputs, const std::uint8_t* raw,
                                     std::size_t bytes, Isa isa) {
  constexpr std::int64_t most = std::int64_t{1} << 31;  // of either, so that no size overflows
  if (outputs < 1 || inputs < 1 || outputs >= most || inputs >= most)
    throw std::invalid_argument(shape(kind, outputs, inputs) + " was asked for; both must be from 1 to 2^31 - 1");
  const Format f = format(kind);
  if (inputs % f.file_inputs != 0)
    throw std::invalid_argument(shape(kind, outputs, inputs) + " cannot be: its rows come in blocks of " +
                                std::to_string(f.file_inputs) + "; use another weight format for this shape");
  const std::size_t row_bytes = static_cast<std::size_t>(inputs / f.file_inputs) * f.file_bytes;
  if (bytes != row_bytes * outputs)
    throw std::invalid_argument(shape(kind, outputs, inputs) + " has " + std::to_string(row_bytes * outputs) +
                                " bytes, but " + std::to_string(bytes) + " were given; the file is cut short or damaged");
  auto matrix = std::make_unique<Packed>(kind, outputs, inputs, isa);
  matrix->fill(raw, row_bytes);
  return matrix;
}

}  // namespace headstart
