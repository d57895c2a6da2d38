// Attention of one tile over one chunk of positions, written once for all instruction sets (S as in steps.h).
//
//   score    (sum over even d + sum over odd d) of query[d] * key[d], each ascending, fma
//   weight   exp(score - largest score of the chunk)
//   sum      16 lanes by position modulo 16, each ascending, then the lanes (sum16)
//   value    sum of weight * value by ascending position, fma
//
// None of it depends on which other rows share the tile, nor on the slots that hold the keys.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "steps.h"

namespace headstart {

template <std::size_t bytes>
inline void prefetch(const void* memory) {
  for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(static_cast<const char*>(memory) + line);
}

// Scores of the 16 tokens of a key group, for every query of a tile; out[q * stride + token]. `ahead`: the group whose
// turn will come in a while, asked for now; or null.
template <class S, class T, int queries>
void score_group(const T* keys, const T* ahead, int head_size, const float* query, float* out, int stride) {
  using F = typename S::F;
  for (int lane = 0; lane < kLanes; lane += S::width, keys += S::width, out += S::width) {
    F even[queries], odd[queries];
    for (int q = 0; q < queries; ++q) even[q] = odd[q] = S::set(0.0f);
    const auto step = [&](int d, F(&sums)[queries]) {
      const F key = S::load(keys + d * kLanes);
      for (int q = 0; q < queries; ++q) sums[q] = S::fma(S::set(query[d * queries + q]), key, sums[q]);
    };
    int d = 0;
    for (; d + 2 <= head_size; d += 2) {
      if (ahead && lane == 0) prefetch<2 * kLanes * sizeof(T)>(ahead + d * kLanes);
      step(d, even);
      step(d + 1, odd);
    }
    if (d < head_size) step(d, even);
    for (int q = 0; q < queries; ++q) S::store(out + q * stride, S::add(even[q], odd[q]));
  }
}

// Pages that are asked for before their turn: memory answers in the time that it takes to work through one or two.
constexpr int kPagesAhead = 2;

// What is read some pages after the values of a page: other values of its chunk, keys of the next one, or another tile.
template <class T>
inline const T* after_values(const Tile& tile, int page) {
  constexpr int chunk_pages = kChunk / kPage;
  const int later = page + kPagesAhead;
  if (later > (tile.slots - 1) / kPage) return reinterpret_cast<const T*>(tile.next);
  return reinterpret_cast<const T*>(tile.pages[later] + (later / chunk_pages > page / chunk_pages ? tile.keys : tile.values));
}

// sums[q] += weights[q][i] * value of slot + i, for `columns` registers of the values' numbers.
template <class S, class T, int queries, int columns>
void mix_columns(const Tile& tile, int slot, int count, const float* weights, int column, float* sums) {
  using F = typename S::F;
  F sum[queries][columns];
  for (int q = 0; q < queries; ++q)
    for (int c = 0; c < columns; ++c) sum[q][c] = S::load(sums + q * tile.padded + column + c * S::width);
  while (count > 0) {
    const int here = std::min(count, kPage - slot % kPage);
    const int page = slot / kPage;
    const T* values = reinterpret_cast<const T*>(tile.pages[page] + tile.values) + slot % kPage * kLanes;
    const T* ahead = after_values<T>(tile, page) + slot % kPage * kLanes;
    for (int i = 0; i < here; ++i) {
      constexpr int together = 64 / (kLanes * sizeof(T));  // tokens of one line
      for (int c = 0; c < columns && i % together == 0; ++c) {
        const int number = column + c * S::width;
        if (number % kLanes == 0) __builtin_prefetch(ahead + number * kPage + i * kLanes);
      }
      F value[columns];
      for (int c = 0; c < columns; ++c) {
        const int number = column + c * S::width;
        value[c] = S::load(values + number / kLanes * kLanes * kPage + i * kLanes + number % kLanes);
      }
      for (int q = 0; q < queries; ++q) {
        const F weight = S::set(weights[q * kChunk + i]);
        for (int c = 0; c < columns; ++c) sum[q][c] = S::fma(weight, value[c], sum[q][c]);
      }
    }
    slot += here, weights += here, count -= here;
  }
  for (int q = 0; q < queries; ++q)
    for (int c = 0; c < columns; ++c) S::store(sums + q * tile.padded + column + c * S::width, sum[q][c]);
}

template <class S, class T, int queries>
void mix_slots(const Tile& tile, int slot, int count, const float* weights, float* sums) {
  constexpr int columns = S::registers == 32 && queries <= 6 ? 4 : 2;
  int column = 0;
  for (; column + columns * S::width <= tile.padded; column += columns * S::width)
    mix_columns<S, T, queries, columns>(tile, slot, count, weights, column, sums);
  for (; column < tile.padded; column += S::width)
    mix_columns<S, T, queries, 1>(tile, slot, count, weights, column, sums);
}

// The functions above for 1, 2, ... queries.
template <class S, class T>
struct ByQueries {
  using Score = void (*)(const T*, const T*, int, const float*, float*, int);
  using Mix = void (*)(const Tile&, int, int, const float*, float*);
  template <std::size_t... q>
  static constexpr std::array<Score, sizeof...(q)> scores(std::index_sequence<q...>) {
    return {score_group<S, T, int(q) + 1>...};
  }
  template <std::size_t... q>
  static constexpr std::array<Mix, sizeof...(q)> mixes(std::index_sequence<q...>) {
    return {mix_slots<S, T, int(q) + 1>...};
  }
  static constexpr auto score = scores(std::make_index_sequence<S::queries>());
  static constexpr auto mix = mixes(std::make_index_sequence<S::queries>());
};

template <class S, class T>
class Attention {
 public:
  Attention(const Tile& tile, int chunk, float* scratch, float* state)
      : tile_(tile), start_(chunk * kChunk), queries_(tile.queries()), scores_(scratch),
        pending_(scratch + queries_ * kChunk), largest_(state), sum_(largest_ + queries_), values_(sum_ + queries_) {
    for (int r = 0; r < tile.rows; ++r) {
      const View& view = tile.views[r];
      Part& part = parts_[r];
      part.first = within(view.first);
      part.run = std::max(within(view.run), part.first);
      part.end = within(view.length);
    }
  }

  void operator()() {
    std::fill_n(largest_, queries_, -INFINITY);
    std::fill_n(sum_, queries_ * (1 + tile_.padded), 0.0f);
    score_runs();
    score_tails();
    for (int r = 0; r < tile_.rows; ++r)
      for (int h = 0; h < tile_.heads && !parts_[r].empty(); ++h) soften(r * tile_.heads + h, parts_[r]);
    mix();
  }

 private:
  struct Part {  // of a row, positions counted from the start of the chunk
    int first, run, end;
    bool empty() const { return first >= end; }
  };

  int within(int position) const { return std::clamp(position - start_, 0, kChunk); }

  const T* group(int slot) const {
    const T* keys = reinterpret_cast<const T*>(tile_.pages[slot / kPage] + tile_.keys);
    return keys + slot % kPage / kLanes * kLanes * tile_.head_size;
  }

  // What is read some pages after the keys at `at`, of those at [first, run): other keys, or the first values.
  const T* after_keys(int at, int first, int run) const {
    const int later = at + kPagesAhead * kPage - (run + kPage - 1) / kPage * kPage;
    if (later < 0) return group(start_ + at + kPagesAhead * kPage);
    const int slot = std::min(start_ + first / kPage * kPage + later, tile_.slots - 1);
    const T* values = reinterpret_cast<const T*>(tile_.pages[slot / kPage] + tile_.values);
    return values + at % kPage / kLanes * kLanes * tile_.head_size;
  }

  void score(int slot, const T* ahead, float* out, int stride) const {
    ByQueries<S, T>::score[queries_ - 1](group(slot), ahead, tile_.head_size, tile_.query, out, stride);
  }

  void score_runs() {
    int first = kChunk, run = 0;
    for (int r = 0; r < tile_.rows; ++r)
      if (parts_[r].first < parts_[r].run) {
        first = std::min(first, parts_[r].first);
        run = std::max(run, parts_[r].run);
      }
    for (int at = first / kLanes * kLanes; at < run; at += kLanes)
      score(start_ + at, after_keys(at, first, run), scores_ + at, kChunk);
  }

  void score_tails() {
    const bool none = std::all_of(parts_, parts_ + tile_.rows, [](const Part& p) { return p.run >= p.end; });
    if (none) return;
    for (int slot = tile_.pending / kLanes * kLanes; slot < tile_.slots; slot += kLanes) {
      score(slot, nullptr, pending_, kLanes);
      for (int r = 0; r < tile_.rows; ++r)
        for (int at = parts_[r].run; at < parts_[r].end; ++at) {
          const int token = tail(r, at) - slot;
          if (token < 0 || token >= kLanes) continue;
          for (int q = r * tile_.heads; q < (r + 1) * tile_.heads; ++q)
            scores_[q * kChunk + at] = pending_[q * kLanes + token];
        }
    }
  }

  int tail(int row, int at) const { return tile_.views[row].tail[start_ + at - tile_.views[row].run]; }

  // Scores to weights, in place.
  void soften(int q, const Part& part) {
    float* scores = scores_ + q * kChunk;
    const int first = part.first / kLanes * kLanes, end = (part.end + kLanes - 1) / kLanes * kLanes;
    std::fill(scores + first, scores + part.first, -INFINITY);
    std::fill(scores + part.end, scores + end, -INFINITY);
    auto most = set16<S>(-INFINITY), sum = set16<S>(0.0f);
    for (int at = first; at < end; at += S::width) {
      auto& m = most.part[at / S::width % most.count];
      m = S::max(m, S::load(scores + at));
    }
    largest_[q] = largest16<S>(most);
    const auto largest = S::set(largest_[q]);
    for (int at = first; at < end; at += S::width) {
      const auto weight = exponential<S>(S::sub(S::load(scores + at), largest));
      auto& s = sum.part[at / S::width % sum.count];
      s = S::add(s, weight);
      S::store(scores + at, weight);
    }
    sum_[q] = sum16<S>(sum);
  }

  // What all rows see in slots of their own number they walk together; the rest each row walks on its own.
  void mix() {
    int first = 0, run = kChunk;
    for (int r = 0; r < tile_.rows; ++r) {
      first = std::max(first, parts_[r].first);
      run = std::min(run, parts_[r].empty() ? 0 : parts_[r].run);
    }
    const bool shared = first < run;
    for (int r = 0; r < tile_.rows; ++r) mix_row(r, parts_[r].first, shared ? first : parts_[r].run);
    if (shared) ByQueries<S, T>::mix[queries_ - 1](tile_, start_ + first, run - first, scores_ + first, values_);
    for (int r = 0; r < tile_.rows; ++r) {
      if (shared) mix_row(r, run, parts_[r].run);
      for (int at = parts_[r].run; at < parts_[r].end; ++at) mix_slots_of(r, tail(r, at), 1, at);
    }
  }

  void mix_row(int row, int first, int end) {
    if (first < end && !parts_[row].empty()) mix_slots_of(row, start_ + first, end - first, first);
  }

  void mix_slots_of(int row, int slot, int count, int at) {
    const int q = row * tile_.heads;
    ByQueries<S, T>::mix[tile_.heads - 1](tile_, slot, count, scores_ + q * kChunk + at, values_ + q * tile_.padded);
  }

  const Tile& tile_;
  const int start_, queries_;
  float *scores_, *pending_;           // [queries][256], [queries][16]
  float *largest_, *sum_, *values_;    // the state
  Part parts_[kMostQueries];
};

template <class S, class T>
void attend(const Tile& tile, int chunk, float* scratch, float* state) {
  Attention<S, T>(tile, chunk, scratch, state)();
}

template <class S>
float exponential_of(float x) {
  float lane[S::width];
  S::store(lane, exponential<S>(S::set(x)));
  return lane[0];
}

// Chunks are merged by ascending position: with M the larger of the largest scores m and m', sums and values become
// exp(m - M) * state + exp(m' - M) * later, fma(first factor, state, rounded second product). An empty side changes nothing.
template <class S>
void merge(float* state, const float* later, int queries, int padded) {
  for (int q = 0; q < queries; ++q) {
    float* values = state + 2 * queries + q * padded;
    const float* others = later + 2 * queries + q * padded;
    if (later[q] == -INFINITY) continue;
    if (state[q] == -INFINITY) {
      state[q] = later[q];
      state[queries + q] = later[queries + q];
      std::copy_n(others, padded, values);
      continue;
    }
    const float most = std::max(state[q], later[q]);
    const auto old = exponential<S>(S::set(state[q] - most)), fresh = exponential<S>(S::set(later[q] - most));
    const auto joined = [&](auto x, auto y) { return S::fma(old, x, S::mul(fresh, y)); };
    state[queries + q] = S::first(joined(S::set(state[queries + q]), S::set(later[queries + q])));
    for (int i = 0; i < padded; i += S::width)
      S::store(values + i, joined(S::load(values + i), S::load(others + i)));
    state[q] = most;
  }
}

template <class S>
constexpr Vectors make_vectors() {
  return {S::queries, norm<S>, swiglu<S>, finite<S>, to_half<S>,
          {attend<S, float>, attend<S, std::uint16_t>}, merge<S>, best<S>};
}

}  // namespace headstart
