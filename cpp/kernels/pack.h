// From the file's blocks to the layout of format.h and back, one output at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format.h"

namespace headstart {

// Writes the row `raw` of the file (`inputs` values) as output `lane` (0..15) of a group. False if a scale, a minimum or
// a value is not finite.
bool pack_row(Kind kind, const std::uint8_t* raw, std::int64_t inputs, int lane, std::uint8_t* group);

// The values of output `lane` of a group: `inputs` floats, equal to the file's dequantised values bit for bit.
void unpack_row(Kind kind, const std::uint8_t* group, std::int64_t inputs, int lane, float* out);

}  // namespace headstart
