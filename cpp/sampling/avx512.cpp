#include "body.h"

namespace headstart {

const SamplingKernels& avx512_sampling() { return kBody; }

}  // namespace headstart
