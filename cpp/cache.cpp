#include "cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace headstart {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSlab = std::size_t{8} << 20;  // of addresses, zero; only what is written becomes memory

int pages_for(int tokens) { return (tokens + kPage - 1) / kPage; }

}  // namespace

Pages::Slab::Slab(std::size_t size) : bytes(size + kHugePage) {
  map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
#if defined(__linux__)
  madvise(map, bytes, MADV_HUGEPAGE);  // advice: a system without huge pages goes on without
#endif
}

Pages::Slab::~Slab() { munmap(map, bytes); }

Pages::Pages(std::size_t page_bytes)
    : page_bytes_((page_bytes + 4095) / 4096 * 4096), slab_pages_(std::max<std::size_t>(kSlab / page_bytes_, 1)) {}

Pages::Page Pages::take() {
  Slab& slab = fullest();
  std::byte* memory = slab.free.back();
  Page page(memory, [this, &slab](std::byte* p) { give(slab, p); });
  slab.free.pop_back();
  ++slab.used;
  ++used_;
  return page;
}

// The fullest slab with a free page, so that others run empty; or a new one.
Pages::Slab& Pages::fullest() {
  Slab* best = nullptr;
  for (Slab& slab : slabs_)
    if (!slab.free.empty() && (!best || slab.used > best->used)) best = &slab;
  if (best) return *best;
  Slab& slab = slabs_.emplace_back(slab_pages_ * page_bytes_);
  const auto start = (reinterpret_cast<std::uintptr_t>(slab.map) + kHugePage - 1) / kHugePage * kHugePage;
  for (std::size_t i = slab_pages_; i > 0; --i)
    slab.free.push_back(reinterpret_cast<std::byte*>(start + (i - 1) * page_bytes_));
  return slab;
}

void Pages::give(Slab& slab, std::byte* page) {
  slab.free.push_back(page);
  --slab.used;
  --used_;
  if (slab.used > 0) return;
  const auto empty = std::count_if(slabs_.begin(), slabs_.end(), [](const Slab& s) { return s.used == 0; });
  if (empty > 1) slabs_.remove_if([&](const Slab& s) { return &s == &slab; });
}

int Cache::open() {
  sequences_[++opened_];
  return opened_;
}

int Cache::fork(int sequence, int length) {
  const Sequence& source = at(sequence);
  if (length < 0 || length > source.length)
    throw std::invalid_argument("cannot fork " + std::to_string(length) + " tokens of sequence " +
                                std::to_string(sequence) + "; it holds " + std::to_string(source.length));
  Sequence copy;
  copy.pages.assign(source.pages.begin(), source.pages.begin() + pages_for(length));
  copy.length = length;
  sequences_[++opened_] = std::move(copy);
  return opened_;
}

void Cache::close(int sequence) {
  at(sequence);
  sequences_.erase(sequence);
}

const Cache::Sequence* Cache::find(int sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? nullptr : &found->second;
}

Cache::Sequence& Cache::at(int sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end())
    throw std::invalid_argument("there is no sequence " + std::to_string(sequence));
  return found->second;
}

std::unordered_map<int, int> Cache::lengths() const {
  std::unordered_map<int, int> lengths;
  for (const auto& [handle, sequence] : sequences_) lengths[handle] = sequence.length;
  return lengths;
}

void Cache::extend(Sequence& sequence, std::vector<int> parents, int first_row) {
  sequence.parents.clear();
  make_writable(sequence, sequence.length, sequence.length + static_cast<int>(parents.size()));
  sequence.parents = std::move(parents);
  sequence.first_row = first_row;
}

void Cache::keep(Sequence& sequence, const std::vector<int>& rows) {
  check_path(sequence, rows);
  // A fork taken since the pass may share the page of the last kept token.
  make_writable(sequence, sequence.length, sequence.length + static_cast<int>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    move(sequence, sequence.length + rows[i] - sequence.first_row, sequence.length + static_cast<int>(i));
  sequence.length += static_cast<int>(rows.size());
  sequence.parents.clear();
  trim(sequence);
}

void Cache::check_path(const Sequence& sequence, const std::vector<int>& rows) {
  int above = -1;
  for (const int row : rows) {
    const int pending = row - sequence.first_row;
    if (pending < 0 || pending >= static_cast<int>(sequence.parents.size()))
      throw std::invalid_argument("row " + std::to_string(row) + " is not pending");
    if (sequence.parents[pending] != above)
      throw std::invalid_argument("row " + std::to_string(row) + " does not follow the row before it in the path");
    above = pending;
  }
}

void Cache::make_writable(Sequence& sequence, int first, int last) {
  for (int page = first / kPage; page < pages_for(last); ++page) {
    if (page == static_cast<int>(sequence.pages.size())) {
      sequence.pages.push_back(pages_.take());
    } else if (sequence.pages[page].use_count() > 1) {
      auto copy = pages_.take();
      std::memcpy(copy.get(), sequence.pages[page].get(), shape_.page_bytes());
      sequence.pages[page] = std::move(copy);
    }
  }
}

// Copies a token's keys and values, in every layer.
void Cache::move(Sequence& sequence, int from, int to) {
  if (from == to) return;
  if (shape_.half)
    move_numbers<std::uint16_t>(sequence, from, to);
  else
    move_numbers<std::uint32_t>(sequence, from, to);
}

template <class Number>
void Cache::move_numbers(Sequence& sequence, int from, int to) {
  for (int head = 0; head < shape_.layers * shape_.kv_heads; ++head) {
    const auto* source = reinterpret_cast<Number*>(sequence.pages[from / kPage].get() + shape_.offset(0, head));
    auto* target = reinterpret_cast<Number*>(sequence.pages[to / kPage].get() + shape_.offset(0, head));
    for (int d = 0; d < shape_.head_size; ++d)
      target[shape_.key_index(to) + d * kLanes] = source[shape_.key_index(from) + d * kLanes];
    source += shape_.key_bytes() / sizeof(Number);
    target += shape_.key_bytes() / sizeof(Number);
    for (int d = 0; d < shape_.padded(); d += kLanes)
      std::copy_n(source + shape_.value_index(from) + d * kPage, kLanes, target + shape_.value_index(to) + d * kPage);
  }
}

void Cache::trim(Sequence& sequence) { sequence.pages.resize(pages_for(sequence.length)); }

}  // namespace headstart
