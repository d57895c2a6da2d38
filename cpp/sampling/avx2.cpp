#include "body.h"

namespace headstart {

const SamplingKernels& avx2_sampling() { return kBody; }

}  // namespace headstart
