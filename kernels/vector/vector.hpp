// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"
#include "common/variant.hpp"

#include <optional>
#include <string_view>

namespace quadrille::kernels::vector {

enum class Operation {
  add,        ///< out = x + y
  quadratic,  ///< out = (a x + b) x + c
};
constexpr auto enum_names(Operation) {
  return core::EnumNames<Operation, 2>{
      {{Operation::add, "add"}, {Operation::quadratic, "quadratic"}}};
}

/// All vectors have n contiguous elements of `type` and do not overlap.
struct Problem {
  static constexpr std::string_view kOperation = "vector";
  /// Of a variant.
  struct Notes {
    /// Elements that its vectors begin behind their allocations, which are longer by as much.
    std::int64_t shift = 0;
    bool takes_threads = false;  ///< honours Problem::threads
  };

  Operation operation = Operation::add;
  core::DataType type = core::DataType::f64;
  void const* x = nullptr;
  void const* y = nullptr;  ///< add only
  void* out = nullptr;
  std::int64_t n = 0;
  double a = 0.5, b = -1.25, c = 0.75;
  int threads = 0;  ///< of a host, for variants that note it; 0: all of the device
};

constexpr double bytes(Operation operation, double n, double element_bytes) {
  return (operation == Operation::add ? 3 : 2) * n * element_bytes;
}
constexpr double flop(Operation operation, double n) {
  return (operation == Operation::add ? 1 : 4) * n;
}
/// |out - reference| <= this for an element x. Sums are rounded once in every variant: 0. The
/// quadratic: 4 eps (|a| x^2 + |b x| + |c|), with up to four roundings of the kernel, a, b, c
/// rounded to the type, and the reference's own roundings.
double error_bound(Problem const& problem, double x);

Variants<Problem> variants();
/// The length of the vectors whose sums are counted.
inline constexpr std::int64_t kCountedElements = 8192;
/// By such vectors. Nothing where the row or the operation is not counted, or n is no multiple of that.
std::optional<CountedParts> accesses_of(Variant<Problem> const& row, Problem const& problem);
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// What stands around a computation: all enqueue on a stream of any device. x[i] = value for i < n, by so
/// many threads of a host, 0: all of the device.
void init(core::DataType type, void* x, std::int64_t n, double value, device::StreamView stream,
          int threads = 0);
/// Adds the number of elements other than `value`, NaN among them, to *wrong, in device memory.
void validate(core::DataType type, void const* out, std::int64_t n, double value,
              std::uint64_t* wrong, device::StreamView stream);
/// Sets *wrong to that number, by one thread of the host, in host memory, behind earlier work of the stream.
void validate_serially(core::DataType type, void const* out, std::int64_t n, double value,
                       std::uint64_t* wrong, device::StreamView stream);

/// The launch functions behind them on a GPU.
void launch_init(core::DataType type, void* x, std::int64_t n, double value,
                 device::StreamView stream);
void launch_validate(core::DataType type, void const* out, std::int64_t n, double value,
                     std::uint64_t* wrong, device::StreamView stream);

}  // namespace quadrille::kernels::vector
