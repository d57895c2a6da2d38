// Laws and coins for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace headstart {

void bind_sampling(nanobind::module_& m);

}  // namespace headstart
