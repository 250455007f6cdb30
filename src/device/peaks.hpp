// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

namespace quadrille::device {

/// Who multiplies and adds.
enum class Unit { cuda_cores, tensor_cores };
constexpr auto enum_names(Unit) {
  return core::EnumNames<Unit, 2>{
      {{Unit::cuda_cores, "CUDA cores"}, {Unit::tensor_cores, "tensor cores"}}};
}

/// What a device could compute at most, in operations per second at its highest clock; a fused
/// multiply-add is two.
struct Peaks {
  int compute_capability = 0;      ///< times ten; 0 of a host
  double clocks_of_all_units = 0;  ///< multiprocessors or cores times their clock, in Hz
  int fused_bits = 0;  ///< of a host: elements that a core multiplies and adds in a clock, in bits

  /// Products of elements of type `in`, multiplied and added in `compute`, without zeros left out;
  /// 0 where the unit cannot or the architecture is not known.
  double of(Unit unit, core::DataType in, core::Compute compute) const;
  /// The same of the faster unit, or of a host.
  double of(core::DataType in, core::Compute compute) const;
};

/// Of so many threads of this host: at most a core for each, the clock as it is measured here, and
/// what the processor's vector units are known for. Bandwidth is left out: no system reports what its
/// memory could do, and what a copy reached may be less.
Peaks host_peaks(int threads);

}  // namespace quadrille::device
