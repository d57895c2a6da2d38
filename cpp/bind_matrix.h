// A weight matrix by itself, for tests and benchmarks.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "matrix.h"

namespace headstart {

void bind_matrix(nanobind::module_& m);

// std::invalid_argument if this machine has no instruction set of that name.
Isa isa_named(const std::string& wanted);

}  // namespace headstart
