// Threads that share the many small steps of a pass; a step costs about what a message from core to core and back takes.
//
// A step is a count of units. Each thread has a stretch of them, in order, so that it reads memory in long runs; who is
// done takes from the ends of others' stretches. So a helper that the system has put aside holds up at most the unit it
// is at, and one that falls asleep may miss a step. The first unit is always the caller's. Helpers spin for a bounded
// time, then yield, then sleep. Knows nothing of what the units are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace headstart {

class Pool {
 public:
  // `threads` counts the caller. Throws std::system_error if the system refuses that many.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }

  // Calls work(unit, thread) once for every unit below `units`, then returns. Only one caller at a time; work must not
  // throw.
  template <class Work>
  void each(std::int64_t units, const Work& work) {
    if (units <= 1 || threads_ == 1) {
      for (std::int64_t unit = 0; unit < units; ++unit) work(unit, 0);
      return;
    }
    run(units, [](const void* w, std::int64_t unit, int thread) { (*static_cast<const Work*>(w))(unit, thread); },
        &work);
  }

 private:
  using Call = void (*)(const void*, std::int64_t, int);

  // A thread's own line of memory: what it is told comes in one piece.
  struct alignas(64) Desk {
    std::atomic<std::uint64_t> units = 0;  // that nobody has begun: begin << 32 | end
    // What to do with them. Change only between steps.
    Call call = nullptr;
    const void* work = nullptr;

    bool empty() const;
    std::int64_t take_first();
    std::int64_t take_last();
  };
  struct alignas(64) Tally {
    std::atomic<std::int64_t> units = 0;  // that a helper has done, ever
  };

  void run(std::int64_t units, Call call, const void* work);
  static std::int64_t work_off(Desk& desk, std::int64_t (Desk::*take)(), int thread);
  std::int64_t steal(int thread);
  void help(int thread);
  void rest(int thread);
  void stop();

  const int threads_;
  const int process_;  // a fork of it has no helpers
  std::unique_ptr<Desk[]> desks_;
  std::unique_ptr<Tally[]> tallies_;
  std::int64_t helped_ = 0;  // units that helpers have done in all steps before
  alignas(64) std::atomic<std::uint32_t> bell_ = 0;
  std::atomic<int> sleepers_ = 0;
  std::atomic<int> caller_core_ = -1;  // when the bell rang
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace headstart
