// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/types.hpp"
#include "measure/workload.hpp"

#include <cstdint>
#include <string>

namespace quadrille::workloads {

/// Alpha or beta of a product as kernels hold it: f64 for f64, f32 for other real numbers.
double held_scalar(double value, core::Compute compute);
/// Why a product with such scalars cannot be judged; empty where it can.
std::string scalars_problem(double alpha, double beta, core::Compute compute);

/// Sums of products that their types cannot hold. An element beyond the largest number is infinite, or
/// has wrapped, whatever damage it took, and elements below the normal numbers have lost digits. A
/// check judges what it can, and passes nothing where right elements are such.
class Limits {
 public:
  /// Elements are stored in `out` and added up in `compute`; with `stores_parts`, stored in between.
  /// All values are in units of `unit`, a power of two.
  Limits(core::DataType out, core::Compute compute, bool stores_parts = false, double unit = 1);

  struct Element {
    double got = 0, want = 0, bound = 0;
    double ab = 0;     ///< a bound of alpha times any part of the sum
    double added = 0;  ///< to alpha times the sum
    double alpha = 1;
  };
  /// Whether a right element may be what was got because a type ends: nothing else can be said of it.
  bool is_beyond(Element const& element);
  /// Takes alpha times the sum of an element that was judged.
  void take(double size);

  bool is_integral() const { return least_normal_ == 0; }
  bool has_beyond() const { return beyond_ > 0; }
  /// Says in a verdict that passes why nothing was judged. Collective.
  void judge(measure::Verdict& verdict, comm::World const& world) const;

 private:
  core::DataType out_;
  double largest_;       // of `out`
  double largest_part_;  // of what alpha times a part of the sum is held in
  double largest_sum_;   // of `compute`, in units of 1
  double least_normal_;  // of `out`; 0: integers
  double beyond_ = 0, squares_ = 0, count_ = 0;
};

}  // namespace quadrille::workloads
