#include "pool.h"

#include <cassert>
#include <chrono>

namespace headstart {
namespace {

constexpr std::uint64_t kNext = 0xffffffff;
constexpr std::int64_t kMost = 1 << 30;  // leaves the counter room for late claims
constexpr int kSpins = 2000;             // some tens of microseconds
constexpr auto kYields = std::chrono::milliseconds(2);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for `ready`: spins, then gives the core away for as long as it takes or until the time is over.
template <class Ready>
bool wait(const Ready& ready, std::chrono::nanoseconds limit) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (ready()) return true;
    pause();
  }
  const auto start = std::chrono::steady_clock::now();
  while (!ready()) {
    if (std::chrono::steady_clock::now() - start > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

Pool::Pool(int threads) {
  try {
    for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
  } catch (...) {
    stop();
    throw;
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  stopping_ = true;
  ++bell_;
  bell_.notify_all();
  for (auto& helper : helpers_) helper.join();
  helpers_.clear();
}

void Pool::run(std::int64_t units, Call call, const void* work) {
  assert(units < kMost && "a step of a pass has fewer units than the counter holds");
  call_ = call;
  work_ = work;
  done_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, like the counter of sleepers: either we see a sleeper, or it sees the units.
  ticket_.store(static_cast<std::uint64_t>(units) << 32);
  if (sleepers_.load() > 0) {
    ++bell_;
    bell_.notify_all();
  }
  while (claim(0)) {
  }
  wait([&] { return done_.load(std::memory_order_acquire) == units; }, std::chrono::nanoseconds::max());
}

// Does one unit, if one is left.
bool Pool::claim(int thread) {
  if (idle()) return false;
  const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acquire);
  if ((ticket & kNext) >= ticket >> 32) return false;
  call_(work_, static_cast<std::int64_t>(ticket & kNext), thread);
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Pool::idle() const {
  const std::uint64_t ticket = ticket_.load();
  return (ticket & kNext) >= ticket >> 32;
}

void Pool::help(int thread) {
  while (!stopping_) {
    if (claim(thread)) continue;
    if (!wait([&] { return !idle() || stopping_; }, kYields)) rest();
  }
}

void Pool::rest() {
  const std::uint32_t bell = bell_.load();
  ++sleepers_;
  if (idle() && !stopping_) bell_.wait(bell);
  --sleepers_;
}

}  // namespace headstart
