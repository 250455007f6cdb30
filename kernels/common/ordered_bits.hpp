// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"
#include "device/views.hpp"

namespace quadrille::kernels {

/// Where NaN goes in the order of numbers: where a maximum, or a minimum, keeps it.
enum class NanOrder { largest, smallest };

/// out[i] = an unsigned integer of the width of `type` (f64 or f32); the integers are in the order
/// of the numbers, NaN at one end, -0 below 0. `out` may be `in`. CUDA devices only.
void to_ordered_bits(void const* in, void* out, std::int64_t n, core::DataType type, NanOrder nan,
                     device::StreamView stream);
/// The number each integer came from, in place; any NaN comes back as one.
void from_ordered_bits(void* data, std::int64_t n, core::DataType type, device::StreamView stream);

}  // namespace quadrille::kernels
