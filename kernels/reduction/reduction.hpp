// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/access.hpp"
#include "common/variant.hpp"
#include "common/virtual_blocks.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quadrille::kernels::reduction {

enum class Operation { sum, min, max, dot, norm2 };
constexpr auto enum_names(Operation) {
  return core::EnumNames<Operation, 5>{{{Operation::sum, "sum"},
                                        {Operation::min, "min"},
                                        {Operation::max, "max"},
                                        {Operation::dot, "dot"},
                                        {Operation::norm2, "norm2"}}};
}

using kernels::block_begin;
using kernels::kLanes;
using kernels::kVirtualBlocks;

/// Reduction of the elements of x (and y for dot) of this rank. norm2 gives the sum of squares; the
/// caller takes the root. Types f64, f32, i32. Accumulates f32 in f32 or f64, f64 in f64, integers
/// in i64, or in i32 within a block; the result is a double. NaN in the input gives NaN, for min and
/// max too.
struct Problem {
  static constexpr std::string_view kOperation = "reduction";
  /// Of a variant, for n elements.
  struct Notes {
    /// Elements of a block, where its accesses are counted.
    std::int64_t block_elements = 0;
    /// Additions one after the other on the longest way from an element to the result, about;
    /// without it, n: any order.
    double (*chain)(double n, device::Facts const& device) = nullptr;
    /// Enqueues the second kernel alone, which joins what a launch with `finish == false` has left
    /// in scratch: for variants whose source times the first kernel alone.
    void (*finish)(Problem const& problem, device::StreamView stream) = nullptr;
    /// norm2 is the square of a root that a library took: not exact for whole numbers either.
    bool squares_root = false;
  };

  void const* x = nullptr;
  void const* y = nullptr;  ///< dot only
  std::int64_t n = 0;       ///< local elements
  core::DataType type = core::DataType::f64;
  core::DataType accumulator = core::DataType::f64;  ///< f64 for integers: i64
  Operation operation = Operation::sum;
  double* result = nullptr;  ///< device memory: one value; the identity when n == 0
  bool finish = true;        ///< false: variants that have Notes::finish leave it to that

  /// Reproducible mode: the virtual blocks [block_first, block_first + block_count) of a vector of
  /// `global_n` elements, of which x holds just those, from block_begin(global_n, block_first). The
  /// accumulator is f64; `result` is not written.
  bool reproducible = false;
  std::int64_t global_n = 0;
  std::int64_t block_first = 0;
  std::int64_t block_count = 0;
  double* blocks = nullptr;  ///< device memory: block_count values

  /// Memory of a GPU for partial results, scratch_bytes(n) or more, aligned to 256 bytes. Its owner
  /// zeroes it once; launches leave their counters at zero. One stream at a time. Not used on the
  /// host.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// Additions, or comparisons, and multiplications.
constexpr double flop(Operation operation, double n) {
  return operation == Operation::dot || operation == Operation::norm2 ? 2 * n : n;
}

/// Where counters and bins end in scratch, and partial results begin.
inline constexpr std::size_t kCounterBytes = 4096;
/// Elements of a block, at the fewest, where there are more of them than fill the device.
inline constexpr std::int64_t kMinOfBlock = 128;
/// What any variant may need for n elements.
std::size_t scratch_bytes(std::int64_t n);

/// Adds the kVirtualBlocks block values in the one fixed order (halves): the end of every
/// reproducible reduction, whatever the number of ranks. Minimum and maximum likewise.
double combine_blocks(Operation operation, std::span<double const> blocks);
/// What changes nothing: 0, +infinity for min, -infinity for max.
double identity(Operation operation);

/// What a sum may be off by: 3 eps sqrt(chain) (|t|_2 + |s|), eps of the accumulator, t the terms
/// that are added. The error of each addition is a random part of the sum so far. Where terms have
/// both signs, sums of l of them are about sqrt(l / n) |t|_2, so all additions of one depth
/// together err by eps |t|_2, and depths are independent; where they have one, the last sums, of
/// size s, count most. 0 for integer data, min and max.
double error_bound(Problem const& problem, double chain, double norm_of_terms, double sum);

Variants<Problem> variants();
/// Accesses of the first kernel, for n elements and accumulators of 4 bytes; nothing where they are not
/// counted.
std::optional<Accesses> accesses_of(Variant<Problem> const& row, std::int64_t n);
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// The plain reduction of a device of either kind, by the same kernel wherever it runs.
void reduce_any(Problem const& problem, device::StreamView stream);

/// For Specifics::unsupported of variants whose sums depend on more than the virtual blocks, and of
/// those that only add.
std::string plain_only(Problem const& problem);
std::string sum_only(Problem const& problem);

/// Problem::Notes::chain of sums that round once, at the end.
inline double chain_of_one(double, device::Facts const&) { return 1; }

/// What most variants take: results are f64.
inline constexpr TypeList kFloatReductionTypes{
    {core::DataType::f64, core::Compute::f64, core::DataType::f64},
    {core::DataType::f32, core::Compute::f32, core::DataType::f64},
    {core::DataType::f32, core::Compute::f64, core::DataType::f64}};
inline constexpr TypeList kReductionTypes{
    {core::DataType::f64, core::Compute::f64, core::DataType::f64},
    {core::DataType::f32, core::Compute::f32, core::DataType::f64},
    {core::DataType::f32, core::Compute::f64, core::DataType::f64},
    {core::DataType::i32, core::Compute::i64, core::DataType::f64}};
/// What the trees take: integers also as their source adds them.
inline constexpr TypeList kTreeTypes{
    {core::DataType::f64, core::Compute::f64, core::DataType::f64},
    {core::DataType::f32, core::Compute::f32, core::DataType::f64},
    {core::DataType::f32, core::Compute::f64, core::DataType::f64},
    {core::DataType::i32, core::Compute::i64, core::DataType::f64},
    {core::DataType::i32, core::Compute::i32, core::DataType::f64}};

/// What `reference` does with a reproducible problem.
void launch_reproducible(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::reduction
