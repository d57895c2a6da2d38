#include "bench.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "kernels/memory.h"

namespace headstart {
namespace {

constexpr int kAhead = 1024;  // words: 8 KiB

// Threads wait for each other here, spinning a while before they yield.
class Meeting {
 public:
  explicit Meeting(int threads) : threads_(threads) {}

  void wait() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
      if (spins > 20000) std::this_thread::yield();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
};

// Runs work(thread, meeting) on each thread, `rounds` times after one that warms up; seconds of each.
template <class Work>
std::vector<double> time_rounds(int threads, int rounds, Work work) {
  using Clock = std::chrono::steady_clock;
  Meeting meeting(threads);
  std::vector<double> seconds;
  const auto run = [&](int thread) {
    for (int round = 0; round <= rounds; ++round) {
      meeting.wait();
      const auto start = Clock::now();
      work(thread, meeting);
      meeting.wait();
      if (thread == 0 && round > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  return seconds;
}

struct Aligned {
  void operator()(std::uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Buffer = std::unique_ptr<std::uint8_t[], Aligned>;

Buffer buffer(std::size_t bytes) {
  return Buffer(static_cast<std::uint8_t*>(::operator new[](std::max<std::size_t>(bytes, 64), std::align_val_t{64})));
}

// Prepared activations and room for the outputs of one matrix.
struct Task {
  Task(const Matrix& m, int rows)
      : matrix(&m), x(buffer(rows * m.prepared_bytes())), out(static_cast<std::size_t>(rows) * m.outputs) {
    std::vector<float> values(m.inputs);
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < m.inputs; ++i) values[i] = static_cast<float>((i * 37 + r * 11) % 101 - 50) / 50;
      m.prepare(values.data(), x.get() + r * m.prepared_bytes());
    }
  }

  void run(int rows, int thread, int threads) {
    const std::int64_t groups = (matrix->outputs + matrix->group - 1) / matrix->group;
    const std::int64_t begin = groups * thread / threads * matrix->group;
    const std::int64_t end = std::min(groups * (thread + 1) / threads * matrix->group, matrix->outputs);
    matrix->multiply(x.get(), rows, begin, end, out.data(), matrix->outputs);
  }

  const Matrix* matrix;
  Buffer x;
  std::vector<float> out;
};

}  // namespace

std::vector<double> time_reading(std::size_t bytes, int threads, int rounds) {
  const std::size_t part = bytes / threads / 64 * 64;
  const std::shared_ptr<std::uint8_t> memory = allocate_weights(part * threads);
  std::memset(memory.get(), 1, part * threads);
  std::atomic<std::uint64_t> kept{0};  // so that no read is left out
  return time_rounds(threads, rounds, [&](int thread, Meeting&) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory.get() + thread * part);
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i < part / 8; i += 8) {
      __builtin_prefetch(words + i + kAhead);
      for (int j = 0; j < 8; ++j) sums[j] ^= words[i + j];
    }
    for (const std::uint64_t s : sums) kept ^= s;
  });
}

std::vector<double> time_products(const std::vector<Step>& steps, int rows, int threads, int rounds) {
  std::vector<std::vector<Task>> tasks;
  for (const Step& step : steps) {
    tasks.emplace_back();
    for (const Matrix* m : step) tasks.back().emplace_back(*m, rows);
  }
  return time_rounds(threads, rounds, [&](int thread, Meeting& meeting) {
    for (auto& step : tasks) {
      for (Task& task : step) task.run(rows, thread, threads);
      meeting.wait();
    }
  });
}

}  // namespace headstart
