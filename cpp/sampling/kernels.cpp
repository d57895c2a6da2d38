#include "kernels.h"

namespace headstart {

const SamplingKernels& sampling_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512_sampling();
  if (isa == Isa::avx2) return avx2_sampling();
#elif defined(__aarch64__)
  if (isa == Isa::neon) return neon_sampling();
#endif
  return portable_sampling();
}

}  // namespace headstart
