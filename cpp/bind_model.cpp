#include "bind_model.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bind_matrix.h"
#include "model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headstart {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<nb::numpy, const float, nb::ndim<1>>;

// (kind, outputs, inputs, raw bytes, whether they lie in a read-only map of a file)
using Tensor = std::tuple<std::string, std::int64_t, std::int64_t, Bytes, bool>;

RawTensors raw_tensors(const std::unordered_map<std::string, Tensor>& tensors) {
  RawTensors raw;
  for (const auto& [name, tensor] : tensors) {
    const auto& [kind, outputs, inputs, data, mapped] = tensor;
    raw[name] = {kind_named(kind), outputs, inputs, data.data(), data.size(), mapped};
  }
  return raw;
}

void make_model(Model* self, const Shape& shape, const std::unordered_map<std::string, Tensor>& tensors,
                const std::string& isa, int threads, int context, bool precise) {
  const RawTensors raw = raw_tensors(tensors);
  const Options options{isa_named(isa), threads, context, precise};
  const nb::gil_scoped_release release;
  new (self) Model(shape, raw, options);
}

std::shared_ptr<const Result> forward(Model& model, Integers sequences, Integers tokens, Integers parents, Flags wanted,
                                      const std::vector<int>& taps) {
  const std::size_t rows = tokens.size();
  if (sequences.size() != rows || parents.size() != rows || wanted.size() != rows)
    throw std::invalid_argument("a batch's sequences, tokens, parents and wanted must have the same length");
  const Batch batch{sequences.data(), tokens.data(), parents.data(), wanted.data(), static_cast<int>(rows)};
  const nb::gil_scoped_release release;
  return model.forward(batch, taps);
}

// A read-only view of `size` floats that keeps the result alive.
Floats view(const std::shared_ptr<const Result>& result, const float* data, int size) {
  auto* owner = new std::shared_ptr<const Result>(result);
  const nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<const Result>*>(p); });
  return Floats(data, {static_cast<std::size_t>(size)}, capsule);
}

const float* row_of(const Result& result, int place) {
  return result.logits.data() + static_cast<std::size_t>(place) * result.vocab_size;
}

void bind_shape(nb::module_& m) {
  nb::class_<Shape>(m, "Shape")
      .def(nb::init<int, int, int, int, int, int, int, float, std::vector<double>, double, bool, std::vector<int>>(),
           nb::kw_only(), "vocab_size"_a, "hidden_size"_a, "intermediate_size"_a, "layer_count"_a, "head_count"_a,
           "kv_head_count"_a, "head_size"_a, "norm_epsilon"_a, "inverse_frequencies"_a, "attention_factor"_a,
           "interleaved"_a, "windows"_a);
}

void bind_result(nb::module_& m) {
  nb::class_<Result>(m, "Result")
      .def_ro("places", &Result::places)
      .def("argmax",
           [](const Result& r, int place) { return std::make_pair(r.best.at(place).id, r.best.at(place).nan); })
      .def("logits",
           [](const std::shared_ptr<const Result>& r, int place) {
             r->best.at(place);
             return view(r, row_of(*r, place), r->vocab_size);
           })
      .def("hidden", [](const std::shared_ptr<const Result>& r, int tap, int row) {
        if (tap < 0 || row < 0 || tap >= static_cast<int>(r->taps.size()) || row >= r->rows)
          throw std::out_of_range("no such tap or row");
        return view(r, r->hidden.data() + (static_cast<std::size_t>(tap) * r->rows + row) * r->hidden_size,
                    r->hidden_size);
      });
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_shape(m);
  bind_result(m);
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<Model>(m, "Model")
      .def("__init__", make_model, nb::kw_only(), "shape"_a, "tensors"_a, "isa"_a, "threads"_a, "context"_a,
           "precise"_a)
      .def("open", &Model::open, unlocked)
      .def("fork", &Model::fork, unlocked)
      .def("close", &Model::close, unlocked)
      .def("length", &Model::length, unlocked)
      .def("keep", &Model::keep, unlocked)
      .def("forward", forward)
      .def_prop_ro("isa", [](const Model& model) { return name(model.options().isa); })
      .def_prop_ro("quantised", &Model::quantised)
      .def_prop_ro("weight_bytes", &Model::weight_bytes)
      .def_prop_ro("cache_bytes", &Model::cache_bytes, unlocked)
      .def("lengths", &Model::lengths, unlocked)
      .def("pending", &Model::pending, unlocked);
}

}  // namespace headstart
