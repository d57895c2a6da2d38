// Threads that share the many small steps of a pass: about a microsecond of overhead each, no work tied to a thread.
//
// A step is a count of units, cut into one share a thread. A thread claims the units of its share one at a time, in order,
// so that it reads memory in one stream; then it takes what is left of the others', so a helper that the system has put
// aside holds up at most the one unit it has claimed. Helpers spin for a bounded time, then yield, then sleep. Knows
// nothing of what the units are.
#pragma once

#include <atomic>
#include <cstdint>
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

  int threads() const { return static_cast<int>(shares_.size()); }

  // Calls work(unit, thread) once for every unit below `units`, then returns. Only one caller at a time; work must not
  // throw.
  template <class Work>
  void each(std::int64_t units, const Work& work) {
    if (units <= 1 || helpers_.empty()) {
      for (std::int64_t unit = 0; unit < units; ++unit) work(unit, 0);
      return;
    }
    run(units, [](const void* w, std::int64_t unit, int thread) { (*static_cast<const Work*>(w))(unit, thread); },
        &work);
  }

 private:
  using Call = void (*)(const void*, std::int64_t, int);

  void run(std::int64_t units, Call call, const void* work);
  bool claim(int thread);
  void help(int thread);
  void rest();
  bool idle() const;
  void stop();

  // What is left of a thread's share: end << 32 | next unit.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> ticket = 0;
  };

  // The plain fields below may change only while every unit has been done.
  std::vector<Share> shares_;
  alignas(64) std::atomic<std::int64_t> done_ = 0;
  alignas(64) Call call_ = nullptr;
  const void* work_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> bell_ = 0;
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace headstart
