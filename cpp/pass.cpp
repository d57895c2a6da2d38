#include "pass.h"

#include <algorithm>
#include <cmath>

namespace headstart {
namespace {

constexpr int kBand = 256;  // rows that go through the layers together; more take turns
constexpr std::size_t kFetched = 32 * 1024;  // bytes that a thread asks for before it begins

}  // namespace

Runner::Runner(const Network& network, Cache& cache, Pool& pool, Isa isa)
    : network_(network), shape_(network.shape), cache_(cache), pool_(pool), vectors_(vectors(isa)),
      rope_(shape_.inverse_frequencies, shape_.attention_factor, shape_.interleaved),
      group_size_(shape_.head_count / shape_.kv_head_count),
      pieces_((group_size_ + vectors_.queries - 1) / vectors_.queries),
      piece_size_((group_size_ + pieces_ - 1) / pieces_), hidden_(padded_to_lanes(shape_.hidden_size)),
      heads_(padded_to_lanes(shape_.head_count * shape_.head_size)), piecewise_(piecewise()),
      threads_(pool.threads()) {
  for (Thread& thread : threads_) {
    thread.vector.grow(std::max({hidden_, heads_, network.layers.at(0).qkv.outputs()}));
    thread.scratch.grow(kScratchFloats);
    thread.queries.grow(static_cast<std::size_t>(kMostQueries) * shape_.head_size);
    thread.state.grow(state_floats(kMostQueries, cache.shape().padded()));
  }
}

void Runner::run(const std::vector<Row>& rows, Result& result) {
  rows_ = &rows;
  result_ = &result;
  bad_ = std::vector<std::atomic<char>>(rows.size());
  for (const Row& row : rows) rope_.extend(row.position + 1);
  for (int first = 0; first < static_cast<int>(rows.size()); first += kBand)
    band(first, std::min(kBand, static_cast<int>(rows.size()) - first));
}

void Runner::band(int first, int count) {
  first_ = first;
  count_ = count;
  make_room();
  place_groups();
  each_row([&](int row, Thread&) { network_.embed->row((*rows_)[first_ + row].token, x_.data() + row * hidden_); });
  const float* add = nullptr;
  for (int index = 0; index < shape_.layer_count; ++index) {
    const Layer& layer = network_.layers[index];
    norm_and_prepare(layer.attn_norm, add, layer.qkv);
    tap(index);
    attention(index);
    norm_and_prepare(layer.mlp_norm, y_.data(), layer.gate_up);
    mlp(layer);
    add = y_.data();
  }
  head();
}

void Runner::make_room() {
  const std::size_t rows = count_;
  std::size_t prepared = network_.head.prepared_bytes();
  int qkv = 0;
  for (const Layer& l : network_.layers) {
    prepared = std::max({prepared, l.qkv.prepared_bytes(), l.o.prepared_bytes(), l.gate_up.prepared_bytes(),
                         l.down.prepared_bytes()});
    qkv = std::max(qkv, l.qkv.outputs());
  }
  prepared_.grow(rows * prepared);
  activated_.grow(rows * prepared);
  qkv_.grow(rows * qkv);
  for (Buffer<float>* buffer : {&x_, &y_}) buffer->grow(rows * hidden_);
  attended_.grow(rows * heads_);
}

// Tiles of rows, and what each row sees.
void Runner::place_groups() {
  groups_.clear();
  pages_.clear();
  views_.clear();
  const int most = tile_rows();
  for (int row = 0; row < count_; ++row) {
    const Row& r = (*rows_)[first_ + row];
    views_.push_back({0, r.run, r.position + 1, r.tail.data()});
    const bool same = row > 0 && (*rows_)[first_ + row - 1].sequence == r.sequence;
    if (!same) {
      pages_.emplace_back();
      for (const auto& page : r.sequence->pages) pages_.back().push_back(page.get());
    }
    if (same && groups_.back().rows < most) {
      ++groups_.back().rows;
    } else {
      const int kept = r.sequence->length, pending = static_cast<int>(r.sequence->parents.size());
      groups_.push_back({row, 1, static_cast<int>(pages_.size()) - 1, kept, kept + pending});
    }
  }
}

// As many as a tile holds, or fewer where that leaves threads without work and there is little to read twice.
int Runner::tile_rows() const {
  int most = std::max(vectors_.queries / group_size_, 1), longest = 0;
  for (int row = first_; row < first_ + count_; ++row) longest = std::max(longest, (*rows_)[row].position);
  const int units = shape_.kv_head_count * pieces_ * (longest / kChunk + 1);
  while (most > 1 && units * ((count_ + most - 1) / most) < 2 * pool_.threads()) most = (most + 1) / 2;
  return most;
}

template <class Work>
void Runner::each_row(const Work& work) {
  ++step_;
  pool_.each(count_, [&](std::int64_t row, int thread) { work(static_cast<int>(row), threads_[thread]); });
}

// Lines that other threads have written: asked for all at once, they come in the time of a few.
void Runner::fetch(const void* memory, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes && bytes <= kFetched; line += 64)
    __builtin_prefetch(static_cast<const char*>(memory) + line);
}

void Runner::check(const float* x, int size, int row) {
  if (!vectors_.finite(x, size)) bad_[first_ + row] = true;
}

void Runner::norm_and_prepare(const Vector& weight, const float* add, const Fan& next) {
  each_row([&](int row, Thread& thread) {
    norm(weight, add, row, thread);
    next.prepare(thread.vector.data(), 0, shape_.hidden_size, row, count_, prepared_.data());
  });
}

// To the thread's vector.
void Runner::norm(const Vector& weight, const float* add, int row, Thread& thread) {
  if (add) {
    add += row * hidden_;
    if (thread.step != step_) fetch(add, hidden_ * sizeof(float));
    if (row + 1 < count_) fetch(add + hidden_, hidden_ * sizeof(float));
    thread.step = step_;
  }
  if (!vectors_.norm(x_.data() + row * hidden_, add, weight.data(), shape_.hidden_size, shape_.norm_epsilon,
                     thread.vector.data()))
    bad_[first_ + row] = true;
}

// Calls work(unit, thread) for the first `units` of a fan, the activations at hand.
template <class Work>
void Runner::each_unit(const Fan& fan, std::int64_t units, int rows, const Work& work) {
  ++step_;
  pool_.each(units, [&](std::int64_t unit, int index) {
    Thread& thread = threads_[index];
    if (thread.step != step_ && fan.prepared_bytes() * rows <= 2 * kFetched)
      fan.each_read(rows, [&](std::size_t offset, std::size_t bytes) { fetch(prepared_.data() + offset, bytes); });
    thread.step = step_;
    work(fan.units()[unit], thread);
  });
}

// Calls then(unit, thread) as soon as a unit's outputs are there.
template <class Then>
void Runner::multiply(const Fan& fan, float* out, const Then& then) {
  each_unit(fan, static_cast<std::int64_t>(fan.units().size()), count_, [&](const Fan::Unit& unit, Thread& thread) {
    fan.multiply(unit, prepared_.data(), count_, out + unit.part->first, fan.outputs());
    then(unit, thread);
  });
}

void Runner::multiply(const Fan& fan, float* out) {
  multiply(fan, out, [](const Fan::Unit&, Thread&) {});
}

void Runner::attention(int index) {
  const Layer& layer = network_.layers[index];
  multiply(layer.qkv, qkv_.data(), [&](const Fan::Unit& unit, Thread& thread) { project(index, unit, thread); });
  cut_attention(index);
  pool_.each(static_cast<std::int64_t>(units_.size()), [&](std::int64_t unit, int thread) {
    attend(index, units_[unit], threads_[thread]);
    join(layer.o, units_[unit].joint);
  });
  if (!piecewise_)
    each_row([&](int row, Thread&) {
      const float* x = attended_.data() + row * heads_;
      layer.o.prepare(x, 0, shape_.head_count * shape_.head_size, row, count_, prepared_.data());
    });
  multiply(layer.o, y_.data());
}

// A unit of the gate brings the same outputs of `up` along, and prepares what `down` reads.
void Runner::mlp(const Layer& layer) {
  const auto& gate = layer.gate_up.parts()[0];
  const auto& up = layer.gate_up.parts()[1];
  const auto& units = layer.gate_up.units();
  const auto ours = std::count_if(units.begin(), units.end(), [&](const Fan::Unit& u) { return u.part == &gate; });
  each_unit(layer.gate_up, ours, count_, [&](const Fan::Unit& unit, Thread& thread) {
    const int size = static_cast<int>(unit.end - unit.begin), stride = padded_to_lanes(size);
    thread.products.grow(static_cast<std::size_t>(2) * count_ * stride);
    float* x = thread.products.data();
    float* y = x + static_cast<std::size_t>(count_) * stride;
    layer.gate_up.multiply(unit, prepared_.data(), count_, x - unit.begin, stride);
    layer.gate_up.multiply({&up, unit.begin, unit.end}, prepared_.data(), count_, y - unit.begin, stride);
    for (int row = 0; row < count_; ++row, x += stride, y += stride) {
      std::fill(x + size, x + stride, 0.0f);
      std::fill(y + size, y + stride, 0.0f);
      vectors_.swiglu(x, y, size, x);
      check(x, size, row);
      layer.down.prepare(x, unit.begin, unit.end, row, count_, activated_.data());
    }
  });
  std::swap(prepared_, activated_);
  multiply(layer.down, y_.data());
}

void Runner::tap(int index) {
  const auto& taps = result_->taps;
  for (std::size_t t = 0; t < taps.size(); ++t)
    for (int row = 0; row < count_ && taps[t] == index; ++row)
      std::copy_n(x_.data() + row * hidden_, shape_.hidden_size,
                  result_->hidden.data() + (t * result_->rows + first_ + row) * shape_.hidden_size);
}

// The last residual and norm for all rows, scores for those wanted.
void Runner::head() {
  std::vector<int> wanted;
  std::vector<int> order(count_, -1);
  for (int row = 0; row < count_; ++row)
    if ((*rows_)[first_ + row].logits >= 0) {
      order[row] = static_cast<int>(wanted.size());
      wanted.push_back(row);
    }
  const int rows = static_cast<int>(wanted.size());
  each_row([&](int row, Thread& thread) {
    norm(network_.final_norm, y_.data(), row, thread);
    if (order[row] >= 0)
      network_.head.prepare(thread.vector.data(), 0, shape_.hidden_size, order[row], rows, prepared_.data());
  });
  tap(shape_.layer_count);
  if (rows > 0) score(wanted);
}

void Runner::score(const std::vector<int>& wanted) {
  const int rows = static_cast<int>(wanted.size());
  const int place = (*rows_)[first_ + wanted[0]].logits;
  float* logits = result_->logits.data() + static_cast<std::size_t>(place) * shape_.vocab_size;
  const auto& units = network_.head.units();
  bests_.resize(units.size() * rows);
  each_unit(network_.head, static_cast<std::int64_t>(units.size()), rows, [&](const Fan::Unit& unit, Thread&) {
    network_.head.multiply(unit, prepared_.data(), rows, logits, shape_.vocab_size);
    for (int r = 0; r < rows; ++r) {
      const float* row = logits + static_cast<std::size_t>(r) * shape_.vocab_size;
      Best best = vectors_.best(row + unit.begin, unit.end - unit.begin);
      best.id += unit.begin;
      bests_[(&unit - units.data()) * rows + r] = best;
    }
  });
  for (int r = 0; r < rows; ++r) {
    Best& best = result_->best[place + r];
    best = bests_[r];
    for (std::size_t unit = 1; unit < units.size(); ++unit) {
      const Best& other = bests_[unit * rows + r];
      const bool nan = best.nan || other.nan;
      if (other.value > best.value) best = other;
      best.nan = nan;
    }
    if (!bad_[first_ + wanted[r]]) continue;
    best.nan = true;
    std::fill_n(logits + static_cast<std::size_t>(r) * shape_.vocab_size, shape_.vocab_size, NAN);
  }
}

}  // namespace headstart
