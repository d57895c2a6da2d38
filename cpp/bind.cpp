// The seam between Python and the native code. Every array's dtype, order and owner is stated at its function.
#include <nanobind/nanobind.h>

#include "bind_matrix.h"
#include "bind_model.h"
#include "bind_sampling.h"

NB_MODULE(_native, m) {
  nanobind::set_leak_warnings(false);  // a model that lives as long as the process is no leak
  m.doc() = "Headstart's native kernels.";
  headstart::bind_matrix(m);
  headstart::bind_model(m);
  headstart::bind_sampling(m);
}
