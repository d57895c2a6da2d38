// Which instruction sets this machine has, and their names.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kernels.h"

#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace headstart {
namespace {

constexpr std::array<const char*, 11> kKinds = {"F32",  "F16",  "BF16", "Q8_0", "Q4_0", "Q4_1",
                                                "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"};

bool has(Isa isa) {
  if (isa == Isa::portable) return true;
#if defined(__x86_64__)
  if (isa == Isa::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (isa == Isa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__) && defined(__APPLE__)
  if (isa == Isa::neon) return true;
#elif defined(__aarch64__)
  if (isa == Isa::neon) return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#endif
  return false;
}

template <class Names>
std::string listed(const Names& names) {
  std::string all;
  for (const auto& n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  return all;
}

}  // namespace

const char* name(Isa isa) {
  constexpr const char* names[] = {"portable", "avx2", "avx512", "neon"};
  return names[static_cast<int>(isa)];
}

const char* name(Kind kind) { return kKinds[static_cast<int>(kind)]; }

Kind kind_named(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (name == kKinds[i]) return static_cast<Kind>(i);
  throw std::invalid_argument("weight format '" + std::string(name) + "' is not supported; choose a file in one of " +
                              listed(kKinds));
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon})
    if (has(isa)) found.push_back(isa);
  return found;
}

Isa chosen_isa() {
  const std::vector<Isa> here = available_isas();
  const char* forced = std::getenv("HEADSTART_ISA");
  if (forced == nullptr || *forced == '\0') return here.back();
  std::vector<std::string> names;
  for (const Isa isa : here) {
    if (std::string_view(forced) == name(isa)) return isa;
    names.emplace_back(name(isa));
  }
  throw std::runtime_error("HEADSTART_ISA is '" + std::string(forced) + "'; this machine has " + listed(names) +
                           "; set one of these or leave it unset");
}

const Kernels& kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512_kernels();
  if (isa == Isa::avx2) return avx2_kernels();
#elif defined(__aarch64__)
  if (isa == Isa::neon) return neon_kernels();
#endif
  return portable_kernels();
}

}  // namespace headstart
