// The largest numbers of a long row.
#pragma once

#include <cstdint>
#include <vector>

namespace headstart {

// Ids of the `count` largest, descending, ties by lowest id; all of them if there are fewer.
std::vector<std::int64_t> largest_ids(const float* x, std::int64_t size, std::int64_t count);

}  // namespace headstart
