#include "vectors.h"

#include <stdexcept>
#include <string>

namespace headstart {

const Vectors& portable_vectors();
#if defined(__x86_64__)
const Vectors& avx2_vectors();
const Vectors& avx512_vectors();
#elif defined(__aarch64__)
const Vectors& neon_vectors();
#endif

const Vectors& vectors(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx2: return avx2_vectors();
    case Isa::avx512: return avx512_vectors();
#elif defined(__aarch64__)
    case Isa::neon: return neon_vectors();
#endif
    case Isa::portable: return portable_vectors();
    default: throw std::runtime_error(std::string("this build has no code for ") + name(isa));
  }
}

}  // namespace headstart
