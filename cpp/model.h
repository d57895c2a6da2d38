// A model with its cache: validates what it is asked for and runs passes, one at a time, from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache.h"
#include "network.h"
#include "pass.h"
#include "vectors/vectors.h"

namespace headstart {

struct Options {
  Isa isa;
  int threads;
  int context;   // most tokens of a sequence
  bool precise;  // float32 weights and cache
};

class Model {
 public:
  Model(const Shape& shape, const RawTensors& tensors, const Options& options);

  // All throw std::invalid_argument, one sentence, if what they are given makes no sense; nothing has changed then.
  int open();
  int fork(int sequence, int length);  // length -1: all
  void close(int sequence);
  int length(int sequence);
  void keep(int sequence, const std::vector<int>& rows);
  std::shared_ptr<const Result> forward(const Batch& batch, const std::vector<int>& taps);

  const Options& options() const { return options_; }
  bool quantised() const;
  std::size_t weight_bytes() const { return network_.bytes; }
  std::size_t cache_bytes();
  std::unordered_map<int, int> lengths();              // of all open sequences
  std::unordered_map<int, int> pending(int sequence);  // its pending rows and their parents, numbered as in the pass

 private:
  std::vector<int> check(const Batch& batch, const std::vector<int>& taps) const;
  int extend(const Batch& batch, int row);
  std::vector<Row> place(const Batch& batch, const std::vector<int>& positions, Result& result);
  std::shared_ptr<Result> fresh_result();

  Options options_;
  std::mutex mutex_;  // over everything below
  Pool pool_;
  Network network_;
  Cache cache_;
  Runner runner_;
  std::shared_ptr<Result> last_;
};

}  // namespace headstart
