#include "bind_matrix.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "bench.h"
#include "matrix.h"

namespace nb = nanobind;

namespace headstart {
namespace {

using Raw = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<nb::numpy, float>;
using Bytes = nb::ndarray<nb::numpy, std::uint8_t>;

// A new array, owned by Python, 64-byte aligned.
template <class Array>
Array make(std::initializer_list<std::size_t> shape) {
  using T = typename Array::Scalar;
  std::size_t count = 1;
  for (const std::size_t n : shape) count *= n;
  constexpr std::align_val_t line{64};
  auto* data = static_cast<T*>(::operator new(std::max<std::size_t>(count, 1) * sizeof(T), line));
  return Array(data, shape, nb::capsule(data, [](void* p) noexcept { ::operator delete(p, line); }));
}

Bytes prepare(const Matrix& m, Rows x) {
  if (static_cast<std::int64_t>(x.shape(1)) != m.inputs) throw std::invalid_argument("x must have `inputs` columns");
  auto out = make<Bytes>({x.shape(0), m.prepared_bytes()});
  for (std::size_t r = 0; r < x.shape(0); ++r)
    m.prepare(x.data() + r * m.inputs, out.data() + r * m.prepared_bytes());
  return out;
}

Floats multiply(const Matrix& m, Rows x, std::int64_t begin, std::int64_t end) {
  if (begin < 0 || begin % m.group != 0 || begin > end || end > m.outputs)
    throw std::invalid_argument("begin must be a multiple of `group`, and 0 <= begin <= end <= outputs");
  const Bytes prepared = prepare(m, x);
  auto out = make<Floats>({x.shape(0), static_cast<std::size_t>(end - begin)});
  m.multiply(prepared.data(), static_cast<int>(x.shape(0)), begin, end, out.data() - begin, end - begin);
  return out;
}

Floats row(const Matrix& m, std::int64_t output) {
  if (output < 0 || output >= m.outputs) throw std::out_of_range("no such output");
  auto out = make<Floats>({static_cast<std::size_t>(m.inputs)});
  m.row(output, out.data());
  return out;
}

void check_counts(int rows, int threads, int rounds) {
  if (rows < 1 || threads < 1 || rounds < 1) throw std::invalid_argument("rows, threads and rounds must be at least 1");
}

std::vector<double> reading(std::size_t bytes, int threads, int rounds) {
  check_counts(1, threads, rounds);
  const nb::gil_scoped_release released;
  return time_reading(bytes, threads, rounds);
}

std::vector<double> products(const std::vector<Step>& steps, int rows, int threads, int rounds) {
  check_counts(rows, threads, rounds);
  const nb::gil_scoped_release released;
  return time_products(steps, rows, threads, rounds);
}

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (const Isa isa : available_isas()) names.emplace_back(name(isa));
  return names;
}

}  // namespace

Isa isa_named(const std::string& wanted) {
  for (const Isa isa : available_isas())
    if (wanted == name(isa)) return isa;
  throw std::invalid_argument("instruction set '" + wanted + "' is not available on this machine");
}

void bind_matrix(nb::module_& m) {
  m.def("available_isas", &isa_names, "Names of the instruction sets this machine can run, slowest first.");
  m.def("chosen_isa", [] { return std::string(name(chosen_isa())); }, "The best of them, or what HEADSTART_ISA says.");
  m.def("time_reading", &reading, nb::arg("bytes"), nb::arg("threads"), nb::arg("rounds"),
        "Seconds to read that much memory once, a figure a round.");
  m.def("time_products", &products, nb::arg("steps"), nb::arg("rows"), nb::arg("threads"), nb::arg("rounds"),
        "Seconds for `rows` rows through lists of matrices, threads meeting after each list, a figure a round.");
  // Matrix(kind, outputs, inputs, raw, isa): raw uint8 of shape (bytes,), the file's blocks, copied.
  nb::class_<Matrix>(m, "Matrix", "A packed weight matrix.")
      .def(nb::new_([](const std::string& kind, std::int64_t outputs, std::int64_t inputs, Raw raw,
                       const std::string& isa) {
             return Matrix::pack(kind_named(kind), outputs, inputs, raw.data(), raw.size(), isa_named(isa));
           }),
           nb::arg("kind"), nb::arg("outputs"), nb::arg("inputs"), nb::arg("raw"), nb::arg("isa"))
      .def_ro("outputs", &Matrix::outputs)
      .def_ro("inputs", &Matrix::inputs)
      .def_ro("bytes", &Matrix::bytes)
      .def_ro("group", &Matrix::group)
      .def_prop_ro("prepare_id", &Matrix::prepare_id)
      // x float32 (rows, inputs), C order -> uint8 (rows, prepared_bytes), new
      .def("prepare", &prepare, nb::arg("x"))
      // x float32 (rows, inputs), C order -> float32 (rows, end - begin), new
      .def("multiply", &multiply, nb::arg("x"), nb::arg("begin"), nb::arg("end"))
      // -> float32 (inputs,), new
      .def("row", &row, nb::arg("output"));
}

}  // namespace headstart
