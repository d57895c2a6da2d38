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

// Biases have been added; norms, rotation, and storage remain.
void Runner::project(int index, int row, Thread& thread) {
  const Layer& layer = network_.layers[index];
  const Row& r = (*rows_)[first_ + row];
  float* q = qkv_.data() + row * layer.qkv.outputs();
  float* k = q + layer.qkv.parts()[1].first;
  float* v = q + layer.qkv.parts()[2].first;
  check(q, layer.qkv.outputs(), row);
  for (int head = 0; head < shape_.head_count; ++head)
    turn(layer.q_norm, q + head * shape_.head_size, r.position, thread);
  for (int head = 0; head < shape_.kv_head_count; ++head)
    turn(layer.k_norm, k + head * shape_.head_size, r.position, thread);
  store_query(row, q);
  store_pair(index, row, k, v, thread);
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

// To [piece][head_size][query] of the row's group, scaled.
void Runner::store_query(int row, const float* q) {
  const Group& group = groups_[group_of_[row]];
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.head_size)));
  for (int piece = 0; piece < shape_.kv_head_count * pieces_; ++piece) {
    const int heads = piece_heads(piece), queries = group.rows * heads;
    float* out = queries_of(group, piece) + (row - group.first) * heads;
    const float* in = q + piece_first(piece) * shape_.head_size;
    for (int head = 0; head < heads; ++head)
      for (int d = 0; d < shape_.head_size; ++d) out[d * queries + head] = in[head * shape_.head_size + d] * scale;
  }
}

float* Runner::queries_of(const Group& group, int piece) {
  return query_.data() +
         static_cast<std::size_t>(group.first * shape_.head_count + group.rows * piece_first(piece)) * shape_.head_size;
}

void Runner::store_pair(int index, int row, const float* k, const float* v, Thread& thread) {
  if (!cache_.shape().half) return store_heads(index, row, k, v);
  const int size = cache_.shape().kv_heads * cache_.shape().head_size;
  auto* keys = reinterpret_cast<std::uint16_t*>(thread.vector.data());
  auto* values = keys + padded_to_lanes(size);
  const bool fit = vectors_.to_half(k, size, keys) & vectors_.to_half(v, size, values);
  if (!fit) bad_[first_ + row] = true;
  store_heads(index, row, keys, values);
}

template <class Number>
void Runner::store_heads(int index, int row, const Number* k, const Number* v) {
  const CacheShape& shape = cache_.shape();
  const Row& r = (*rows_)[first_ + row];
  std::byte* page = r.sequence->pages[r.slot / kPage].get();
  for (int head = 0; head < shape.kv_heads; ++head) {
    std::byte* keys = page + shape.offset(index, head);
    store_key(shape, keys, r.slot, k + head * shape.head_size);
    store_value(shape, keys + shape.key_bytes(), r.slot, v + head * shape.head_size);
  }
}

int Runner::piece_heads(int piece) const {
  return std::min(piece_size_, group_size_ - piece % pieces_ * piece_size_);
}

int Runner::piece_first(int piece) const { return piece / pieces_ * group_size_ + piece % pieces_ * piece_size_; }

// Few tiles are cut into chunks of positions, so that every thread has work; many are not.
void Runner::cut_attention(int index) {
  const int window = shape_.windows[index], pieces = shape_.kv_head_count * pieces_;
  const bool split = pool_.threads() > 1 && static_cast<int>(groups_.size()) * pieces < 4 * pool_.threads();
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
      joints_.push_back({static_cast<int>(units_.size()), split ? to - from + 1 : 1});
      for (int chunk = from; chunk <= to; chunk += split ? 1 : to - from + 1) {
        units_.push_back({g, piece, chunk, split ? chunk : to, floats});
        floats += state_floats(groups_[g].rows * piece_heads(piece), cache_.shape().padded());
      }
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
  tile.query = queries_of(group, unit.piece);
  float* state = state_.data() + unit.state;
  vectors_.attend[shape.half](tile, unit.first, thread.scratch.data(), state);
  for (int chunk = unit.first + 1; chunk <= unit.last; ++chunk) {
    vectors_.attend[shape.half](tile, chunk, thread.scratch.data(), thread.state.data());
    vectors_.merge(state, thread.state.data(), tile.queries(), tile.padded);
  }
}

// Joins the chunks of one tile and writes its rows' weighted means.
void Runner::join(const Joint& joint) {
  const Unit& unit = units_[joint.first];
  const Group& group = groups_[unit.group];
  const int heads = piece_heads(unit.piece), queries = group.rows * heads, padded = cache_.shape().padded();
  float* state = state_.data() + unit.state;
  for (int later = 1; later < joint.count; ++later)
    vectors_.merge(state, state_.data() + units_[joint.first + later].state, queries, padded);
  for (int q = 0; q < queries; ++q) {
    const float inverse = 1.0f / state[queries + q];
    const float* values = state + 2 * queries + q * padded;
    float* out = attended_.data() + static_cast<std::size_t>(group.first + q / heads) * heads_ +
                 (piece_first(unit.piece) + q % heads) * shape_.head_size;
    for (int d = 0; d < shape_.head_size; ++d) out[d] = values[d] * inverse;
  }
}

}  // namespace headstart
