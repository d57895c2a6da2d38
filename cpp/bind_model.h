// The whole model: weights, cache, passes.
#pragma once

#include <nanobind/nanobind.h>

namespace headstart {

void bind_model(nanobind::module_& m);

}  // namespace headstart
