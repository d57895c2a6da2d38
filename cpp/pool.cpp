#include "pool.h"

#include <algorithm>
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

// Of a share: whether every unit has been claimed.
bool spent(std::uint64_t ticket) { return (ticket & kNext) >= ticket >> 32; }

}  // namespace

Pool::Pool(int threads) : shares_(threads) {
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
  const std::int64_t count = threads();
  for (std::int64_t i = 0; i < count; ++i)
    shares_[i].ticket.store(static_cast<std::uint64_t>(units * (i + 1) / count) << 32 | (units * i / count));
  if (sleepers_.load() > 0) {
    ++bell_;
    bell_.notify_all();
  }
  while (claim(0)) {
  }
  wait([&] { return done_.load(std::memory_order_acquire) == units; }, std::chrono::nanoseconds::max());
}

// Does one unit, if one is left: of the thread's own share first.
bool Pool::claim(int thread) {
  const int count = threads();
  for (int i = 0; i < count; ++i) {
    auto& share = shares_[(thread + i) % count].ticket;
    if (spent(share.load())) continue;
    const std::uint64_t ticket = share.fetch_add(1, std::memory_order_acquire);
    if (spent(ticket)) continue;
    call_(work_, static_cast<std::int64_t>(ticket & kNext), thread);
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }
  return false;
}

bool Pool::idle() const {
  return std::all_of(shares_.begin(), shares_.end(), [](const Share& s) { return spent(s.ticket.load()); });
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
