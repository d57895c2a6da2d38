#include "pool.h"

#include <cassert>
#include <chrono>

#ifdef __linux__
#include <sched.h>
#endif

namespace headstart {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;
constexpr int kSpins = 2000;  // some tens of microseconds
constexpr auto kYields = std::chrono::milliseconds(2);

constexpr std::uint64_t stretch(std::uint64_t begin, std::uint64_t end) { return begin << 32 | end; }

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

// The core that the calling thread runs on; -1 where the system does not say.
int core() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

// Moves the calling thread to another of the cores that it may use, if there is one.
void leave(int core) {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (sched_setaffinity(0, sizeof(others), &others) == 0) sched_setaffinity(0, sizeof(allowed), &allowed);
#endif
}

}  // namespace

bool Pool::Stretch::empty() const {
  const std::uint64_t now = units.load();
  return now >> 32 >= (now & 0xffffffff);
}

// -1: there is none left.
std::int64_t Pool::Stretch::take_first() {
  std::uint64_t now = units.load(std::memory_order_relaxed);
  do {
    if (now >> 32 >= (now & 0xffffffff)) return -1;
  } while (!units.compare_exchange_weak(now, now + stretch(1, 0), std::memory_order_acquire, std::memory_order_relaxed));
  return static_cast<std::int64_t>(now >> 32);
}

std::int64_t Pool::Stretch::take_last() {
  std::uint64_t now = units.load(std::memory_order_relaxed);
  do {
    if (now >> 32 >= (now & 0xffffffff)) return -1;
  } while (!units.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed));
  return static_cast<std::int64_t>(now & 0xffffffff) - 1;
}

Pool::Pool(int threads) : threads_(threads), stretches_(new Stretch[threads]) {
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
}

void Pool::run(std::int64_t units, Call call, const void* work) {
  assert(units < kMost && "a step of a pass has fewer units than a stretch can name");
  call_ = call;
  work_ = work;
  done_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, like the counter of sleepers: either we see a sleeper, or it sees its units.
  for (int thread = 0; thread < threads_; ++thread)
    stretches_[thread].units.store(stretch(units * thread / threads_, units * (thread + 1) / threads_));
  if (sleepers_.load() > 0) {
    caller_core_.store(core(), std::memory_order_relaxed);
    ++bell_;
    bell_.notify_all();
  }
  const std::int64_t ours = work_off(0);
  wait([&] { return ours + done_.load(std::memory_order_acquire) == units; }, std::chrono::nanoseconds::max());
}

// Does units until nobody has one left; returns how many. A unit taken belongs to the step that is going on: it cannot
// end before that unit is done.
std::int64_t Pool::work_off(int thread) {
  std::int64_t count = 0;
  const auto work = [&](std::int64_t unit) {
    if (unit < 0) return false;
    call_(work_, unit, thread);
    ++count;
    return true;
  };
  while (work(stretches_[thread].take_first())) {
  }
  for (int other = 1; other < threads_; ++other)
    while (work(stretches_[(thread + other) % threads_].take_last())) {
    }
  return count;
}

void Pool::help(int thread) {
  while (!stopping_) {
    if (const std::int64_t count = work_off(thread)) done_.fetch_add(count, std::memory_order_release);
    if (!wait([&] { return !stretches_[thread].empty() || stopping_; }, kYields)) rest(thread);
  }
}

void Pool::rest(int thread) {
  const std::uint32_t bell = bell_.load();
  ++sleepers_;
  if (stretches_[thread].empty() && !stopping_) bell_.wait(bell);
  --sleepers_;
  // A virtual machine's system takes a halted core for a busy one, and wakes threads on the core of whoever rings; it
  // moves them at its next ticks, some passes later.
  if (const int here = core(); here >= 0 && here == caller_core_.load(std::memory_order_relaxed)) leave(here);
}

}  // namespace headstart
