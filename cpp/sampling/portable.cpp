#include "body.h"

namespace headstart {

const SamplingKernels& portable_sampling() { return kBody; }

}  // namespace headstart
