#include "model.h"

#include <atomic>
#include <stdexcept>
#include <unordered_set>

namespace headstart {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

CacheShape cache_shape(const Shape& s, const Options& options) {
  return {s.layer_count, s.kv_head_count, s.head_size, !options.precise};
}

const Shape& checked(const Shape& s) {
  const bool positive = s.vocab_size > 0 && s.hidden_size > 0 && s.intermediate_size > 0 && s.layer_count > 0 &&
                        s.head_count > 0 && s.kv_head_count > 0 && s.head_size > 0;
  if (!positive || s.head_count % s.kv_head_count != 0 ||
      s.inverse_frequencies.size() * 2 > static_cast<std::size_t>(s.head_size) ||
      s.windows.size() != static_cast<std::size_t>(s.layer_count))
    refuse("the model's numbers of heads, layers or sizes contradict each other");
  return s;
}

}  // namespace

Model::Model(const Shape& shape, const RawTensors& tensors, const Options& options)
    : options_(options), pool_(options.threads), network_(checked(shape), tensors, options.precise, options.isa, pool_),
      cache_(cache_shape(shape, options)), runner_(network_, cache_, pool_, options.isa) {}

int Model::open() {
  const std::lock_guard lock(mutex_);
  return cache_.open();
}

int Model::fork(int sequence, int length) {
  const std::lock_guard lock(mutex_);
  return cache_.fork(sequence, length < 0 ? cache_.at(sequence).length : length);
}

void Model::close(int sequence) {
  const std::lock_guard lock(mutex_);
  cache_.close(sequence);
}

int Model::length(int sequence) {
  const std::lock_guard lock(mutex_);
  return cache_.at(sequence).length;
}

void Model::keep(int sequence, const std::vector<int>& rows) {
  const std::lock_guard lock(mutex_);
  cache_.keep(cache_.at(sequence), rows);
}

std::size_t Model::cache_bytes() {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

std::unordered_map<int, int> Model::lengths() {
  const std::lock_guard lock(mutex_);
  return cache_.lengths();
}

std::unordered_map<int, int> Model::pending(int sequence) {
  const std::lock_guard lock(mutex_);
  const Cache::Sequence& held = cache_.at(sequence);
  std::unordered_map<int, int> parents;
  for (std::size_t i = 0; i < held.parents.size(); ++i)
    parents[held.first_row + static_cast<int>(i)] = held.parents[i] < 0 ? -1 : held.first_row + held.parents[i];
  return parents;
}

bool Model::quantised() const {
  const Layer& layer = network_.layers[0];
  return layer.qkv.quantised() || layer.o.quantised() || layer.gate_up.quantised() || layer.down.quantised() ||
         network_.head.quantised();
}

std::shared_ptr<const Result> Model::forward(const Batch& batch, const std::vector<int>& taps) {
  const std::lock_guard lock(mutex_);
  const std::vector<int> positions = check(batch, taps);
  for (int row = 0; row < batch.rows;) row = extend(batch, row);
  auto result = fresh_result();
  result->rows = batch.rows;
  result->taps = taps;
  std::vector<Row> rows = place(batch, positions, *result);
  result->logits.grow(result->best.size() * network_.shape.vocab_size);
  result->hidden.grow(taps.size() * batch.rows * network_.shape.hidden_size);
  runner_.run(rows, *result);
  return result;
}

// Positions of the rows; refuses a batch that makes no sense.
std::vector<int> Model::check(const Batch& batch, const std::vector<int>& taps) const {
  for (const int tap : taps)
    if (tap < 0 || tap > network_.shape.layer_count)
      refuse("tap " + std::to_string(tap) + " is not between 0 and " + std::to_string(network_.shape.layer_count));
  std::vector<int> positions(batch.rows);
  std::unordered_set<int> seen;
  int first = 0;
  for (int row = 0; row < batch.rows; ++row) {
    const int sequence = batch.sequences[row], token = batch.tokens[row], parent = batch.parents[row];
    const std::string place = "row " + std::to_string(row) + ": ";
    if (row == 0 || sequence != batch.sequences[row - 1]) {
      first = row;
      if (!seen.insert(sequence).second) refuse(place + "rows of one sequence must stand together");
    }
    const Cache::Sequence* held = cache_.find(sequence);
    if (!held) refuse(place + "there is no sequence " + std::to_string(sequence));
    if (token < 0 || token >= network_.shape.vocab_size)
      refuse(place + "token " + std::to_string(token) + " is outside the vocabulary");
    if (parent != -1 && (parent < first || parent >= row))
      refuse(place + "its parent must be an earlier row of its sequence, or -1");
    positions[row] = parent < 0 ? held->length : positions[parent] + 1;
    if (positions[row] >= options_.context)
      refuse(place + "the sequence would grow past the context of " + std::to_string(options_.context) + " tokens");
  }
  return positions;
}

// Room for the rows of the sequence that begins at `row`; returns where the next one begins.
int Model::extend(const Batch& batch, int row) {
  const int first = row, sequence = batch.sequences[row];
  std::vector<int> parents;
  for (; row < batch.rows && batch.sequences[row] == sequence; ++row)
    parents.push_back(batch.parents[row] < 0 ? -1 : batch.parents[row] - first);
  cache_.extend(cache_.at(sequence), std::move(parents), first);
  return row;
}

std::vector<Row> Model::place(const Batch& batch, const std::vector<int>& positions, Result& result) {
  std::vector<Row> rows(batch.rows);
  result.places.assign(batch.rows, -1);
  int wanted = 0;
  for (int i = 0; i < batch.rows; ++i) {
    Row& row = rows[i];
    if (batch.wanted[i]) result.places[i] = wanted++;
    row.token = batch.tokens[i];
    row.position = positions[i];
    row.logits = result.places[i];
    row.sequence = &cache_.at(batch.sequences[i]);
    row.slot = row.sequence->length + i - row.sequence->first_row;
    if (batch.parents[i] < 0) {
      row.run = row.position;
    } else {
      row.run = rows[batch.parents[i]].run;
      row.tail = rows[batch.parents[i]].tail;
    }
    if (row.tail.empty() && row.slot == row.position)
      row.run = row.position + 1;
    else
      row.tail.push_back(row.slot);
  }
  result.best.assign(wanted, {});
  return rows;
}

// The last pass's memory, unless someone still looks at it.
std::shared_ptr<Result> Model::fresh_result() {
  const bool ours = last_ && last_.use_count() == 1;
  std::atomic_thread_fence(std::memory_order_acquire);  // after the last look of the thread that let go of it
  if (!ours) last_ = std::make_shared<Result>();
  last_->vocab_size = network_.shape.vocab_size;
  last_->hidden_size = network_.shape.hidden_size;
  return last_;
}

}  // namespace headstart
