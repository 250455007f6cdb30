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
  int compute_capability = 0;      ///< times ten
  double clocks_of_all_units = 0;  ///< multiprocessors times their clock, in Hz

  /// Products of elements of type `in`, multiplied and added in `compute`, without zeros left out;
  /// 0 where the unit cannot or the architecture is not known.
  double of(Unit unit, core::DataType in, core::Compute compute) const;
  /// The same of the faster unit.
  double of(core::DataType in, core::Compute compute) const;
};

}  // namespace quadrille::device
