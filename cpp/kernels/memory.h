// Memory for weights: many matrices side by side in few large pieces, which the system may back with huge pages.
//
// A pass reads all weights in order; with pages of 4 KiB it would wait for the page table at every 64 lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headstart {

// `bytes` of uninitialised memory, 64-byte aligned; std::bad_alloc if there is none. A piece is freed with its last
// owner.
std::shared_ptr<std::uint8_t> allocate_weights(std::size_t bytes);

}  // namespace headstart
