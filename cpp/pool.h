// Threads that share the many small steps of a pass: about a tenth of a microsecond of overhead each.
//
// A step is a count of units. Each thread has a stretch of them, in order, so that it reads memory in long runs; who is
// done takes from the ends of others' stretches. So a helper that the system has put aside holds up at most the unit it
// is at. Helpers spin for a bounded time, then yield, then sleep. Knows nothing of what the units are.
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

  // The units of one thread that nobody has begun: begin << 32 | end.
  struct alignas(64) Stretch {
    std::atomic<std::uint64_t> units = 0;

    bool empty() const;
    std::int64_t take_first();
    std::int64_t take_last();
  };

  void run(std::int64_t units, Call call, const void* work);
  std::int64_t work_off(int thread);
  void help(int thread);
  void rest(int thread);
  void stop();

  const int threads_;
  std::unique_ptr<Stretch[]> stretches_;
  // May change only while every unit has been done.
  alignas(64) Call call_ = nullptr;
  const void* work_ = nullptr;
  alignas(64) std::atomic<std::int64_t> done_ = 0;  // units done by helpers
  alignas(64) std::atomic<std::uint32_t> bell_ = 0;
  std::atomic<int> sleepers_ = 0;
  std::atomic<int> caller_core_ = -1;  // when the bell rang
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace headstart
