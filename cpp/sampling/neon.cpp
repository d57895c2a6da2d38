#include "body.h"

namespace headstart {

const SamplingKernels& neon_sampling() { return kBody; }

}  // namespace headstart
