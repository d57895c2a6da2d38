// A weight matrix by itself, for tests and benchmarks.
#pragma once

#include <nanobind/nanobind.h>

namespace headstart {

void bind_matrix(nanobind::module_& m);

}  // namespace headstart
