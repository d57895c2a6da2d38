#include "pool.h"

#include <unistd.h>

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
int current_core() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

// Moves the calling thread to another of the cores that it may use, if there is one. Which it may use stays as it was,
// unless somebody else has just changed it.
void leave([[maybe_unused]] int busy) {
#ifdef __linux__
  cpu_set_t allowed, now;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(busy, &others);
  if (sched_setaffinity(0, sizeof(others), &others) != 0) return;
  if (sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &others))
    sched_setaffinity(0, sizeof(allowed), &allowed);
#endif
}

}  // namespace

bool Pool::Desk::empty() const {
  const std::uint64_t now = units.load(std::memory_order_relaxed);
  return now >> 32 >= (now & 0xffffffff);
}

// -1: there is none left.
std::int64_t Pool::Desk::take_first() {
  std::uint64_t now = units.load(std::memory_order_relaxed);
  do {
    if (now >> 32 >= (now & 0xffffffff)) return -1;
  } while (!units.compare_exchange_weak(now, now + stretch(1, 0), std::memory_order_acquire,
                                        std::memory_order_relaxed));
  return static_cast<std::int64_t>(now >> 32);
}

std::int64_t Pool::Desk::take_last() {
  std::uint64_t now = units.load(std::memory_order_relaxed);
  do {
    if (now >> 32 >= (now & 0xffffffff)) return -1;
  } while (!units.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed));
  return static_cast<std::int64_t>(now & 0xffffffff) - 1;
}

Pool::Pool(int threads) : threads_(threads), process_(getpid()), desks_(new Desk[threads]), tallies_(new Tally[threads]) {
  try {
    for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
  } catch (...) {
    stop();
    throw;
  }
}

Pool::~Pool() {
  if (getpid() == process_) {
    stop();
  } else {
    new std::vector<std::thread>(std::move(helpers_));  // there is nobody to wait for, and a thread must not be dropped
  }
}

void Pool::stop() {
  stopping_ = true;
  ++bell_;
  bell_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void Pool::run(std::int64_t units, Call call, const void* work) {
  assert(units < kMost && "a step of a pass has fewer units than a stretch can name");
  // Nothing here waits for another core's memory: that takes longer than many a unit.
  const std::int64_t others = units - 1;
  for (int thread = 0; thread < threads_; ++thread) {
    Desk& desk = desks_[thread];
    desk.call = call;
    desk.work = work;
    desk.units.store(stretch(1 + others * thread / threads_, 1 + others * (thread + 1) / threads_),
                     std::memory_order_release);
  }
  if (sleepers_.load(std::memory_order_relaxed) > 0) {
    caller_core_.store(current_core(), std::memory_order_relaxed);
    ++bell_;
    bell_.notify_all();
  }
  call(work, 0, 0);
  helped_ += others - work_off(desks_[0], &Desk::take_first, 0) - steal(0);
  const auto all_done = [&] {
    std::int64_t sum = 0;
    for (int thread = 1; thread < threads_; ++thread) sum += tallies_[thread].units.load(std::memory_order_acquire);
    return sum == helped_;
  };
  wait(all_done, std::chrono::nanoseconds::max());
}

// Does the units of a desk until there is none left; returns how many. A unit taken belongs to the step that is going
// on: it cannot end before that unit is done.
std::int64_t Pool::work_off(Desk& desk, std::int64_t (Desk::*take)(), int thread) {
  std::int64_t count = 0;
  for (std::int64_t unit; (unit = (desk.*take)()) >= 0; ++count) desk.call(desk.work, unit, thread);
  return count;
}

std::int64_t Pool::steal(int thread) {
  std::int64_t count = 0;
  for (int other = 1; other < threads_; ++other)
    count += work_off(desks_[(thread + other) % threads_], &Desk::take_last, thread);
  return count;
}

void Pool::help(int thread) {
  std::atomic<std::int64_t>& tally = tallies_[thread].units;
  const auto publish = [&](std::int64_t units) {  // nobody else writes there
    if (units > 0) tally.store(tally.load(std::memory_order_relaxed) + units, std::memory_order_release);
  };
  while (!stopping_) {
    publish(work_off(desks_[thread], &Desk::take_first, thread));
    publish(steal(thread));
    if (!wait([&] { return !desks_[thread].empty() || stopping_; }, kYields)) rest(thread);
  }
}

void Pool::rest(int thread) {
  const std::uint32_t bell = bell_.load();
  ++sleepers_;
  const bool sleeps = desks_[thread].empty() && !stopping_;
  if (sleeps) bell_.wait(bell);
  --sleepers_;
  // A virtual machine's system takes a halted core for a busy one, wakes threads on the core of whoever rings, and moves
  // them some passes later; so we move ourselves.
  const int core = current_core();
  if (sleeps && core >= 0 && core == caller_core_.load(std::memory_order_relaxed)) leave(core);
}

}  // namespace headstart
