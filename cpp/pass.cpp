#include "pass.h"

#include <algorithm>
#include <cmath>

namespace headstart {
namespace {

constexpr int kBand = 256;  // rows that go through the layers together; more take turns

}  // namespace

Runner::Runner(const Network& network, Cache& cache, Pool& pool, Isa isa)
    : network_(network), shape_(network.shape), cache_(cache), pool_(pool), vectors_(vectors(isa)),
      rope_(shape_.inverse_frequencies, shape_.attention_factor, shape_.interleaved),
      group_size_(shape_.head_count / shape_.kv_head_count),
      pieces_((group_size_ + vectors_.queries - 1) / vectors_.queries),
      piece_size_((group_size_ + pieces_ - 1) / pieces_), hidden_(padded_to_lanes(shape_.hidden_size)),
      intermediate_(padded_to_lanes(shape_.intermediate_size)),
      heads_(padded_to_lanes(shape_.head_count * shape_.head_size)), threads_(pool.threads()) {
  for (Thread& thread : threads_) {
    thread.vector.grow(std::max({hidden_, heads_, network.layers.at(0).qkv.outputs()}));
    thread.scratch.grow(kScratchFloats);
    thread.state.grow(state_floats(kMostQueries, cache.shape().padded()));
  }
}

void Runner::run(const std::vector<Row>& rows, Result& result) {
  rows_ = &rows;
  result_ = &result;
  bad_.assign(rows.size(), false);
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
  qkv_.grow(rows * qkv);
  for (Buffer<float>* buffer : {&x_, &y_}) buffer->grow(rows * hidden_);
  for (Buffer<float>* buffer : {&query_, &attended_}) buffer->grow(rows * heads_);
  gate_up_.grow(rows * 2 * intermediate_);
  act_.grow(rows * intermediate_);
}

// Tiles of rows, and what each row sees.
void Runner::place_groups() {
  groups_.clear();
  pages_.clear();
  views_.clear();
  group_of_.resize(count_);
  const int most = std::max(vectors_.queries / group_size_, 1);
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
    group_of_[row] = static_cast<int>(groups_.size()) - 1;
  }
}

template <class Work>
void Runner::each_row(const Work& work) {
  pool_.each(count_, [&](std::int64_t row, int thread) { work(static_cast<int>(row), threads_[thread]); });
}

void Runner::check(const float* x, int size, int row) {
  if (!vectors_.finite(x, size)) bad_[first_ + row] = true;
}

void Runner::norm_and_prepare(const Vector& weight, const float* add, const Fan& next) {
  each_row([&](int row, Thread& thread) {
    float* x = x_.data() + row * hidden_;
    float* normed = thread.vector.data();
    if (!vectors_.norm(x, add ? add + row * hidden_ : nullptr, weight.data(), shape_.hidden_size,
                       shape_.norm_epsilon, normed))
      bad_[first_ + row] = true;
    next.prepare(normed, row, count_, prepared_.data());
  });
}

void Runner::multiply(const Fan& fan, float* out) {
  const auto& units = fan.units();
  pool_.each(static_cast<std::int64_t>(units.size()), [&](std::int64_t unit, int) {
    fan.multiply(units[unit], prepared_.data(), count_, out, fan.outputs());
  });
}

void Runner::attention(int index) {
  const Layer& layer = network_.layers[index];
  multiply(layer.qkv, qkv_.data());
  each_row([&](int row, Thread& thread) { project(index, row, thread); });
  cut_attention(index);
  pool_.each(static_cast<std::int64_t>(units_.size()), [&](std::int64_t unit, int thread) {
    attend(index, units_[unit], threads_[thread]);
  });
  pool_.each(static_cast<std::int64_t>(joints_.size()), [&](std::int64_t joint, int) { join(joints_[joint]); });
  each_row([&](int row, Thread&) {
    const float* x = attended_.data() + row * heads_;
    check(x, heads_, row);
    layer.o.prepare(x, row, count_, prepared_.data());
  });
  multiply(layer.o, y_.data());
}

void Runner::mlp(const Layer& layer) {
  // A unit of the gate brings the same outputs of `up` along.
  const auto& gate = layer.gate_up.parts()[0];
  const auto& up = layer.gate_up.parts()[1];
  const auto& units = layer.gate_up.units();
  const auto ours = std::count_if(units.begin(), units.end(), [&](const Fan::Unit& u) { return u.part == &gate; });
  pool_.each(ours, [&](std::int64_t unit, int) {
    const auto [part, begin, end] = units[unit];
    layer.gate_up.multiply(units[unit], prepared_.data(), count_, gate_up_.data(), 2 * intermediate_);
    layer.gate_up.multiply({&up, begin, end}, prepared_.data(), count_, gate_up_.data(), 2 * intermediate_);
    for (int row = 0; row < count_; ++row) {
      const float* x = gate_up_.data() + row * 2 * intermediate_ + begin;
      vectors_.swiglu(x, x + intermediate_, static_cast<int>(end - begin),
                      act_.data() + row * intermediate_ + begin);
    }
  });
  each_row([&](int row, Thread&) {
    const float* x = act_.data() + row * intermediate_;
    check(x, intermediate_, row);
    layer.down.prepare(x, row, count_, prepared_.data());
  });
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
    float* normed = thread.vector.data();
    if (!vectors_.norm(x_.data() + row * hidden_, y_.data() + row * hidden_, network_.final_norm.data(),
                       shape_.hidden_size, shape_.norm_epsilon, normed))
      bad_[first_ + row] = true;
    if (order[row] >= 0) network_.head.prepare(normed, order[row], rows, prepared_.data());
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
  pool_.each(static_cast<std::int64_t>(units.size()), [&](std::int64_t unit, int) {
    const auto [part, begin, end] = units[unit];
    network_.head.multiply(units[unit], prepared_.data(), rows, logits, shape_.vocab_size);
    for (int r = 0; r < rows; ++r) {
      Best best = vectors_.best(logits + static_cast<std::size_t>(r) * shape_.vocab_size + begin, end - begin);
      best.id += begin;
      bests_[unit * rows + r] = best;
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
