// Weight matrices on every instruction set of this machine: the same bits as the portable code, whatever company a row
// keeps; nothing read or written out of bounds (run it under AddressSanitizer); what must be refused is refused.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "../kernels/format.h"
#include "check.h"

namespace headstart {
namespace {

constexpr Kind kKinds[] = {Kind::F32,  Kind::F16,  Kind::BF16, Kind::Q8_0, Kind::Q4_0, Kind::Q4_1,
                           Kind::Q5_0, Kind::Q5_1, Kind::Q4_K, Kind::Q5_K, Kind::Q6_K};

class Random {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  std::int64_t below(std::int64_t n) { return next() % n; }
  float number() { return static_cast<float>(next() % 20001) / 10000.0f - 1.0f; }  // -1..1
  std::vector<float> numbers(std::size_t n) {
    std::vector<float> all(n);
    for (float& v : all) v = number();
    return all;
  }

 private:
  std::uint64_t state_ = 42;
};

// A prepared row or a raw matrix, with the alignment the interface asks for and nothing beyond its end.
class Bytes {
 public:
  explicit Bytes(std::size_t n) : size(n), data(static_cast<std::uint8_t*>(::operator new(n, std::align_val_t{64}))) {}
  ~Bytes() { ::operator delete(data, std::align_val_t{64}); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const std::size_t size;
  std::uint8_t* const data;
};

// A finite half-precision or bfloat16 number of modest size, or the top half of a float32: any sign, exponents near 1.
std::uint16_t modest(Random& random, Kind kind) {
  const auto bits = static_cast<std::uint16_t>(random.next());
  if (kind == Kind::F32 || kind == Kind::BF16) return (bits & 0x81ffu) | 0x3e00u;
  return (bits & 0x87ffu) | 0x3000u;
}

std::vector<int> halves_in_block(Kind kind) {
  if (kind == Kind::Q6_K) return {208};
  if (format(kind).minimum) return {0, 2};
  return {0};
}

std::vector<std::uint8_t> random_raw(Kind kind, std::int64_t outputs, std::int64_t inputs, Random& random) {
  const Format f = format(kind);
  std::vector<std::uint8_t> raw(static_cast<std::size_t>(outputs * inputs / f.file_inputs) * f.file_bytes);
  for (auto& b : raw) b = static_cast<std::uint8_t>(random.next());
  const auto put = [&](std::size_t at) {
    const std::uint16_t h = modest(random, kind);
    std::memcpy(raw.data() + at, &h, sizeof h);
  };
  for (std::size_t block = 0; block < raw.size(); block += f.file_bytes) {
    if (is_float(kind)) {
      put(block + f.file_bytes - 2);
    } else {
      for (const int at : halves_in_block(kind)) put(block + at);
    }
  }
  return raw;
}

std::vector<float> multiply(const Matrix& m, const std::vector<float>& x, int rows, std::int64_t begin,
                            std::int64_t end) {
  const Bytes prepared(rows * m.prepared_bytes());
  for (int r = 0; r < rows; ++r) m.prepare(x.data() + r * m.inputs, prepared.data + r * m.prepared_bytes());
  std::vector<float> out(rows * (end - begin), -77.0f);
  m.multiply(prepared.data, rows, begin, end, out.data() - begin, end - begin);
  return out;
}

bool same(const float* a, const float* b, std::size_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

std::string named(Kind kind, Isa isa, const std::string& what) {
  return std::string(name(kind)) + " on " + name(isa) + ": " + what;
}

struct Shape {
  std::int64_t outputs, inputs;
};

std::vector<Shape> shapes(Kind kind) {
  if (is_float(kind)) return {{1, 1}, {16, 2}, {17, 63}, {50, 129}};
  const std::int64_t unit = format(kind).file_inputs;
  return {{1, unit}, {16, 2 * unit}, {33, 3 * unit}, {50, 5 * unit}};
}

void same_bits_as_portable(Checks& check, Kind kind, Isa isa) {
  Random random;
  for (const auto& [outputs, inputs] : shapes(kind)) {
    const auto raw = random_raw(kind, outputs, inputs, random);
    const auto plain = Matrix::pack(kind, outputs, inputs, raw.data(), raw.size(), Isa::portable);
    const auto m = Matrix::pack(kind, outputs, inputs, raw.data(), raw.size(), isa);
    const auto x = random.numbers(11 * inputs);
    const auto expected = multiply(*plain, x, 11, 0, outputs), got = multiply(*m, x, 11, 0, outputs);
    check(same(got.data(), expected.data(), got.size()), named(kind, isa, "differs from portable"));
  }
}

// Rows 1..40 at once, and random spans of outputs: always the bits of the row alone.
void same_bits_in_company(Checks& check, Kind kind, Isa isa) {
  Random random;
  constexpr int most = 40;
  const Shape shape = {70, is_float(kind) ? 67 : format(kind).file_inputs == 256 ? 256 : 96};
  const auto raw = random_raw(kind, shape.outputs, shape.inputs, random);
  const auto m = Matrix::pack(kind, shape.outputs, shape.inputs, raw.data(), raw.size(), isa);
  const auto x = random.numbers(most * shape.inputs);
  std::vector<float> alone;
  for (int r = 0; r < most; ++r) {
    const auto row = multiply(*m, {x.begin() + r * shape.inputs, x.begin() + (r + 1) * shape.inputs}, 1, 0, shape.outputs);
    alone.insert(alone.end(), row.begin(), row.end());
  }
  for (int rows = 1; rows <= most; ++rows) {
    const auto first = random.below(most - rows + 1);
    const auto begin = random.below(5) * kGroup, end = begin + 1 + random.below(shape.outputs - begin);
    const std::vector<float> some(x.begin() + first * shape.inputs, x.begin() + (first + rows) * shape.inputs);
    const auto got = multiply(*m, some, rows, begin, end);
    for (int r = 0; r < rows; ++r)
      check(same(&got[r * (end - begin)], &alone[(first + r) * shape.outputs + begin], end - begin),
            named(kind, isa, std::to_string(rows) + " rows differ from each alone"));
  }
}

// Enough rows for several bands (tile.h) must not change a bit either.
void same_bits_in_bands(Checks& check, Kind kind, Isa isa) {
  Random random;
  constexpr int rows = 203;
  const std::int64_t inputs = is_float(kind) ? 1000 : 3072;
  const auto raw = random_raw(kind, 20, inputs, random);
  const auto m = Matrix::pack(kind, 20, inputs, raw.data(), raw.size(), isa);
  const auto x = random.numbers(rows * inputs);
  const auto got = multiply(*m, x, rows, 0, 20);
  for (int r = 0; r < rows; r += 29) {
    const auto row = multiply(*m, {x.begin() + r * inputs, x.begin() + (r + 1) * inputs}, 1, 0, 20);
    check(same(&got[r * 20], row.data(), 20), named(kind, isa, "many rows differ from each alone"));
  }
}

// A row with an infinity or a NaN becomes NaN, its neighbours do not notice; zeros and tiny numbers are no trouble.
void strange_activations(Checks& check, Kind kind, Isa isa) {
  Random random;
  const std::int64_t inputs = 256;
  const auto raw = random_raw(kind, 16, inputs, random);
  const auto m = Matrix::pack(kind, 16, inputs, raw.data(), raw.size(), isa);
  auto x = random.numbers(5 * inputs);
  const auto before = multiply(*m, x, 5, 0, 16);
  x[1 * inputs + 100] = std::numeric_limits<float>::quiet_NaN();
  x[2 * inputs + 3] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < inputs; ++i) x[3 * inputs + i] = 0.0f;
  for (int i = 0; i < inputs; ++i) x[4 * inputs + i] *= 1e-42f;
  const auto after = multiply(*m, x, 5, 0, 16);
  check(same(before.data(), after.data(), 16), named(kind, isa, "a neighbour's NaN moved a row"));
  for (int o = 0; o < 16; ++o) {
    check(std::isnan(after[16 + o]), named(kind, isa, "a NaN was lost"));
    check(!std::isfinite(after[32 + o]), named(kind, isa, "an infinity was lost"));
    check(after[48 + o] == 0.0f, named(kind, isa, "zeros did not give zero"));
    check(std::fabs(after[64 + o]) < 1e-30f, named(kind, isa, "tiny numbers gave large ones"));
  }
}

template <class Error>
void refuses(Checks& check, const std::string& what, const std::string& part, auto act) {
  try {
    act();
    check(false, what + " was not refused");
  } catch (const Error& error) {
    check(std::string(error.what()).find(part) != std::string::npos, what + " was refused with: " + error.what());
  }
}

void refusals(Checks& check) {
  const auto pack = [](Kind kind, std::int64_t outputs, std::int64_t inputs, const std::vector<std::uint8_t>& raw) {
    return [=] { Matrix::pack(kind, outputs, inputs, raw.data(), raw.size(), Isa::portable); };
  };
  using Bad = std::invalid_argument;
  refuses<Bad>(check, "a wrong length", "39 were given", pack(Kind::Q4_1, 2, 32, std::vector<std::uint8_t>(39)));
  refuses<Bad>(check, "half a block", "blocks of 32", pack(Kind::Q8_0, 1, 16, std::vector<std::uint8_t>(17)));
  refuses<Bad>(check, "half a super-block", "blocks of 256", pack(Kind::Q4_K, 1, 128, std::vector<std::uint8_t>(72)));
  refuses<Bad>(check, "no rows", "from 1 to", pack(Kind::F32, 0, 4, {}));
  refuses<Bad>(check, "too many rows", "from 1 to", pack(Kind::F32, std::int64_t{1} << 40, 4, {}));
  refuses<Bad>(check, "an unknown format", "IQ2_XS", [] { kind_named("IQ2_XS"); });
  Random random;
  for (const Kind kind : kKinds) {
    const auto raw = random_raw(kind, 3, 256, random);
    const std::uint16_t nan = kind == Kind::F32 || kind == Kind::BF16 ? 0x7fc0 : 0x7e00;
    for (const int at : halves_in_block(kind)) {
      auto damaged = raw;
      const std::size_t last_block = damaged.size() - format(kind).file_bytes;
      std::memcpy(damaged.data() + last_block + (kind == Kind::F32 ? 2 : at), &nan, sizeof nan);
      refuses<Bad>(check, std::string("a NaN in ") + name(kind), "not finite", pack(kind, 3, 256, damaged));
    }
  }
}

}  // namespace
}  // namespace headstart

int main() {
  using namespace headstart;
  Checks check;
  refusals(check);
  for (const Isa isa : available_isas()) {
    for (const Kind kind : kKinds) {
      same_bits_as_portable(check, kind, isa);
      same_bits_in_company(check, kind, isa);
      same_bits_in_bands(check, kind, isa);
      strange_activations(check, kind, isa);
    }
    std::printf("%s ", name(isa));
  }
  return check.done("matrix");
}
