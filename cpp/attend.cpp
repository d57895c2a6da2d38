// The attention part of a pass: queries and keys are turned and stored, tiles attend, partial softmaxes are joined.
#include <algorithm>
#include <cmath>

#include "pass.h"

namespace headstart {
namespace {

template <class Number>
void store_key(const CacheShape& shape, std::byte* keys, int slot, const Number* key) {
  Number* out = reinterpret_cast<Number*>(keys) + shape.key_index(slot);
  for (int d = 0; d < shape.head_size; ++d) out[d * kLanes] = key[d];
}

template <class Number>
void store_value(const CacheShape& shape, std::byte* values, int slot, const Number* value) {
  Number* out = reinterpret_cast<Number*>(values) + shape.value_index(slot);
  for (int d = 0; d < shape.head_size; d += kLanes)
    std::copy_n(value + d, std::min(kLanes, shape.head_size - d), out + d * kPage);
}

}  // namespace

// Whole heads of queries, keys or values, just multiplied: norms, rotation, storage.
void Runner::project(int index, const Fan::Unit& unit, Thread& thread) {
  const Layer& layer = network_.layers[index];
  const auto& parts = layer.qkv.parts();
  const bool is_key = unit.part == &parts[1], is_value = unit.part == &parts[2];
  const int size = shape_.head_size, stride = layer.qkv.outputs();
  for (int row = 0; row < count_; ++row) {
    const int position = (*rows_)[first_ + row].position;
    float* x = qkv_.data() + static_cast<std::size_t>(row) * stride + unit.part->first;
    check(x + unit.begin, static_cast<int>(unit.end - unit.begin), row);
    for (int first = static_cast<int>(unit.begin); first < unit.end; first += size) {
      if (!is_value) turn(is_key ? layer.k_norm : layer.q_norm, x + first, position, thread);
      if (is_key || is_value) store(index, first / size, is_key, row, x + first, thread);
    }
  }
}

void Runner::turn(const Vector& norm, float* head, int position, Thread& thread) {
  if (norm.size() > 0) {
    float* whole = thread.vector.data();  // padded with zeros, which a head need not be
    std::fill_n(whole, cache_.shape().padded(), 0.0f);
    std::copy_n(head, shape_.head_size, whole);
    vectors_.norm(whole, nullptr, norm.data(), shape_.head_size, shape_.norm_epsilon, whole);
    std::copy_n(whole, shape_.head_size, head);
  }
  rope_.turn(head, position);
}

// A key, or else a value, into its slot.
void Runner::store(int index, int head, bool is_key, int row, const float* x, Thread& thread) {
  const CacheShape& shape = cache_.shape();
  const Row& r = (*rows_)[first_ + row];
  std::byte* keys = r.sequence->pages[r.slot / kPage].get() + shape.offset(index, head);
  const auto place = [&](const auto* numbers) {
    if (is_key) {
      store_key(shape, keys, r.slot, numbers);
    } else {
      store_value(shape, keys + shape.key_bytes(), r.slot, numbers);
    }
  };
  if (!shape.half) return place(x);
  auto* half = reinterpret_cast<std::uint16_t*>(thread.vector.data());
  if (!vectors_.to_half(x, shape.head_size, half)) bad_[first_ + row] = true;
  place(half);
}

int Runner::piece_heads(int piece) const {
  return std::min(piece_size_, group_size_ - piece % pieces_ * piece_size_);
}

int Runner::piece_first(int piece) const { return piece / pieces_ * group_size_ + piece % pieces_ * piece_size_; }

// Whether every piece's numbers are a whole number of those that are prepared together.
bool Runner::piecewise() const {
  bool whole = true;
  for (int piece = 0; piece < shape_.kv_head_count * pieces_; ++piece)
    whole &= piece_first(piece) * shape_.head_size % kPreparedTogether == 0;
  return whole;
}

// Few tiles are cut into chunks of positions, so that every thread has work; many are not.
void Runner::cut_attention(int index) {
  const int window = shape_.windows[index], pieces = shape_.kv_head_count * pieces_;
  const bool split = pool_.threads() > 1 && static_cast<int>(groups_.size()) * pieces < 8 * pool_.threads();
  units_.clear();
  joints_.clear();
  std::size_t floats = 0;
  for (View& view : views_) view.first = window > 0 ? std::max(view.length - window, 0) : 0;
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
    int first = views_[groups_[g].first].first, length = 0;
    for (int row = groups_[g].first; row < groups_[g].first + groups_[g].rows; ++row) {
      first = std::min(first, views_[row].first);
      length = std::max(length, views_[row].length);
    }
    const int from = first / kChunk, to = (length - 1) / kChunk;
    for (int piece = 0; piece < pieces; ++piece) {
      const int first_unit = static_cast<int>(units_.size());
      for (int chunk = from; chunk <= to; chunk += split ? 1 : to - from + 1) {
        units_.push_back({g, piece, chunk, split ? chunk : to, static_cast<int>(joints_.size()), floats});
        floats += state_floats(groups_[g].rows * piece_heads(piece), cache_.shape().padded());
      }
      joints_.emplace_back(first_unit, static_cast<int>(units_.size()) - first_unit);
    }
  }
  state_.grow(floats);
}

void Runner::attend(int index, const Unit& unit, Thread& thread) {
  const Group& group = groups_[unit.group];
  const CacheShape& shape = cache_.shape();
  Tile tile;
  tile.pages = pages_[group.pages].data();
  tile.keys = shape.offset(index, unit.piece / pieces_);
  tile.values = tile.keys + shape.key_bytes();
  tile.pending = group.pending;
  tile.slots = group.slots;
  tile.head_size = shape.head_size;
  tile.padded = shape.padded();
  tile.rows = group.rows;
  tile.heads = piece_heads(unit.piece);
  tile.views = views_.data() + group.first;
  for (int page = unit.first * kChunk / kPage, n = 0; n < 2 && page * kPage < tile.slots; ++page, ++n)
    fetch(tile.pages[page] + tile.keys, shape.key_bytes());
  tile.query = queries(index, unit, thread);
  tile.next = tile.pages[unit.first * kChunk / kPage] + (tile.values + shape.number() * kPage * shape.padded());
  float* state = state_.data() + unit.state;
  vectors_.attend[shape.half](tile, unit.first, thread.scratch.data(), state);
  for (int chunk = unit.first + 1; chunk <= unit.last; ++chunk) {
    vectors_.attend[shape.half](tile, chunk, thread.scratch.data(), thread.state.data());
    vectors_.merge(state, thread.state.data(), tile.queries(), tile.padded);
  }
}

// The unit's queries as [head_size][query], scaled, in the thread's memory.
const float* Runner::queries(int index, const Unit& unit, Thread& thread) const {
  const Group& group = groups_[unit.group];
  const int size = shape_.head_size, heads = piece_heads(unit.piece), count = group.rows * heads;
  const int stride = network_.layers[index].qkv.outputs();
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
  float* out = thread.queries.data();
  for (int q = 0; q < count; ++q) {
    const float* in = qkv_.data() + static_cast<std::size_t>(group.first + q / heads) * stride +
                      (piece_first(unit.piece) + q % heads) * size;
    for (int d = 0; d < size; ++d) out[d * count + q] = in[d] * scale;
  }
  return out;
}

// Whoever does the last unit of a joint joins its partial softmaxes and writes the rows' weighted means.
void Runner::join(const Fan& next, int index) {
  Joint& joint = joints_[index];
  if (joint.done.fetch_add(1, std::memory_order_acq_rel) + 1 < joint.count) return;
  const Unit& unit = units_[joint.first];
  const Group& group = groups_[unit.group];
  const int heads = piece_heads(unit.piece), queries = group.rows * heads, padded = cache_.shape().padded();
  const int size = shape_.head_size, begin = piece_first(unit.piece) * size;
  float* state = state_.data() + unit.state;
  for (int later = 1; later < joint.count; ++later)
    vectors_.merge(state, state_.data() + units_[joint.first + later].state, queries, padded);
  for (int row = 0; row < group.rows; ++row) {
    float* out = attended_.data() + static_cast<std::size_t>(group.first + row) * heads_ + begin;
    for (int head = 0; head < heads; ++head) {
      const int q = row * heads + head;
      const float* values = state + 2 * queries + q * padded;
      const float inverse = 1.0f / state[queries + q];  // the sum is at least 1
      check(values, padded, group.first + row);
      for (int d = 0; d < size; ++d) out[head * size + d] = values[d] * inverse;
    }
    if (piecewise_) next.prepare(out, begin, begin + heads * size, group.first + row, count_, prepared_.data());
  }
}

}  // namespace headstart
