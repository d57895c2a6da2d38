#include "bind_sampling.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bind_matrix.h"
#include "sampling/sampling.h"

namespace nb = nanobind;

namespace headstart {

namespace {

using Logits = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GivenWeights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewWeights = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NewIds = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Name = std::optional<std::string>;

const SamplingKernels& kernels_named(const Name& isa) {
  static const SamplingKernels& best = sampling_kernels(chosen_isa());
  return isa ? sampling_kernels(isa_named(*isa)) : best;
}

NewWeights owned(Weights values, std::size_t size) {
  double* data = values.release();
  return NewWeights(data, {size}, nb::capsule(data, [](void* p) noexcept { Weights::give_back(static_cast<double*>(p)); }));
}

NewIds owned(std::vector<std::int64_t> values) {
  auto* held = new std::vector<std::int64_t>(std::move(values));
  return NewIds(held->data(), {held->size()},
                nb::capsule(held, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); }));
}

nb::tuple warped(Logits logits, double top, double inverse_temperature, std::int64_t top_k, double top_p, double min_p,
                 const Name& isa) {
  const Filters filters{inverse_temperature, top_k, top_p, min_p};
  RowLaw law = warp(logits.data(), logits.size(), top, filters, kernels_named(isa));
  const std::size_t size = law.size;
  nb::object ids = law.dense ? nb::none() : nb::cast(owned(std::move(law.ids)));
  return nb::make_tuple(owned(std::move(law.weights), size), ids);
}

// Descending, ties by lowest id.
std::vector<std::int64_t> in_order(const Logits& logits, std::size_t count, const SamplingKernels& kernels) {
  const float* x = logits.data();
  auto ids = largest_ids(x, logits.size(), count, kernels);
  std::stable_sort(ids.begin(), ids.end(), [x](std::int64_t a, std::int64_t b) { return x[a] > x[b]; });
  return ids;
}

NewIds largest(Logits logits, std::size_t count, const Name& isa) {
  return owned(in_order(logits, count, kernels_named(isa)));
}

nb::tuple likeliest(Logits logits, std::size_t count, const Name& isa) {
  const SamplingKernels& kernels = kernels_named(isa);
  const std::vector<std::int64_t> ids = in_order(logits, count, kernels);
  if (ids.empty()) throw std::invalid_argument("count and the number of logits must be at least 1");
  std::vector<float> values;
  for (const std::int64_t id : ids) values.push_back(logits.data()[id]);
  const double norm = log_sum_exp(logits.data(), logits.size(), values[0], kernels);
  return nb::make_tuple(norm, nb::cast(ids), nb::cast(values));
}

using Words = std::pair<std::uint32_t, std::uint32_t>;

std::vector<std::int64_t> raced(GivenWeights weights, const std::optional<Ids>& ids, Words key, std::size_t count,
                                const Name& isa) {
  if (ids && ids->size() != weights.size()) throw std::invalid_argument("ids and weights must have the same length");
  return race({key.first, key.second}, weights.data(), ids ? ids->data() : nullptr, weights.size(), count,
              kernels_named(isa));
}

nb::tuple exceeded(GivenWeights p, GivenWeights q, double scale, const Name& isa) {
  if (p.size() != q.size()) throw std::invalid_argument("p and q must have the same length");
  const SamplingKernels& kernels = kernels_named(isa);
  Weights left(p.size());
  kernels.excess(p.data(), q.data(), p.size(), scale, left.get());
  const double mass = kernels.total(left.get(), p.size());
  return nb::make_tuple(owned(std::move(left), p.size()), mass);
}

}  // namespace

void bind_sampling(nb::module_& m) {
  // Every array is one-dimensional, C-contiguous and only read; results are new arrays that Python owns. `isa` names an
  // instruction set of available_isas(); without it the chosen one is used.
  m.def("warp", &warped, nb::arg("logits"), nb::arg("top"), nb::arg("inverse_temperature"), nb::arg("top_k"),
        nb::arg("top_p"), nb::arg("min_p"), nb::arg("isa") = nb::none(),
        "Weights (float64), and ids (int64, ascending) or None for all, of float32 logits whose largest is `top`.");
  m.def("largest", &largest, nb::arg("logits"), nb::arg("count"), nb::arg("isa") = nb::none(),
        "Ids (int64) of the `count` largest, descending, ties by lowest id; all of them if there are fewer.");
  m.def("race", &raced, nb::arg("weights"), nb::arg("ids").none(), nb::arg("key"), nb::arg("count"),
        nb::arg("isa") = nb::none(), "Indices of the first `count` of the race, first come first.");
  m.def("pick", [](GivenWeights weights, double u) { return pick(weights.data(), weights.size(), u); }, nb::arg("weights"),
        nb::arg("u"), "First index whose running sum of weights is above u, or the last of positive weight.");
  m.def("excess", &exceeded, nb::arg("p"), nb::arg("q"), nb::arg("scale"), nb::arg("isa") = nb::none(),
        "max(scale * p - q, 0), and its sum.");
  m.def("total", [](GivenWeights values, const Name& isa) { return kernels_named(isa).total(values.data(), values.size()); },
        nb::arg("values"), nb::arg("isa") = nb::none(), "Sum in 16 lanes.");
  m.def("words", [](Words key, Words counter) {
          const Key made = words({key.first, key.second}, {counter.first, counter.second});
          return Words(made.first, made.second);
        }, nb::arg("key"), nb::arg("counter"), "Threefry-2x32-20 of one counter.");
  m.def("likeliest", &likeliest, nb::arg("logits"), nb::arg("count"), nb::arg("isa") = nb::none(),
        "Logarithm of the sum of exponentials of float32 logits, and ids and logits of the `count` largest, descending, "
        "ties by lowest id.");
  m.def("log", &own_log, nb::arg("x"), "Natural logarithm of a positive normal number.");
}

}  // namespace headstart
