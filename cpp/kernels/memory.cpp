#include "memory.h"

#include <cstdlib>
#include <mutex>
#include <new>

#include "format.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace headstart {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 20;  // of addresses; only what is written becomes memory

constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::shared_ptr<std::uint8_t> new_piece(std::size_t bytes) {
  bytes = rounded(bytes, kHugePage);
  auto* p = static_cast<std::uint8_t*>(std::aligned_alloc(kHugePage, bytes));
  if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  madvise(p, bytes, MADV_HUGEPAGE);  // advice: a system without huge pages goes on without
#endif
  return {p, [](std::uint8_t* piece) { std::free(piece); }};
}

struct Current {
  std::mutex mutex;
  std::weak_ptr<std::uint8_t> piece;
  std::size_t used = 0;
};

}  // namespace

std::shared_ptr<std::uint8_t> allocate_weights(std::size_t bytes) {
  static Current current;
  bytes = rounded(bytes, kLine);
#if defined(__SANITIZE_ADDRESS__)
  // Each by itself, so that a step over its end is noticed.
  return {static_cast<std::uint8_t*>(std::aligned_alloc(kLine, bytes)), [](std::uint8_t* p) { std::free(p); }};
#endif
  if (bytes > kPiece / 4) return new_piece(bytes);
  const std::scoped_lock lock(current.mutex);
  std::shared_ptr<std::uint8_t> piece = current.piece.lock();
  if (!piece || current.used + bytes > kPiece) {
    current.piece = piece = new_piece(kPiece);
    current.used = 0;
  }
  std::uint8_t* at = piece.get() + current.used;
  current.used += bytes;
  return {std::move(piece), at};
}

}  // namespace headstart
