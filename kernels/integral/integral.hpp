// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "common/virtual_blocks.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace quadrille::kernels::integral {

/// sin^2(a x) cos^2(b x); 4/(1 + x^2); exp(-x^2); 1/(1 + 25 x^2).
enum class Integrand { sin2cos2, arctan, gauss, runge };
constexpr auto enum_names(Integrand) {
  return core::EnumNames<Integrand, 4>{{{Integrand::sin2cos2, "sin2cos2"},
                                        {Integrand::arctan, "arctan"},
                                        {Integrand::gauss, "gauss"},
                                        {Integrand::runge, "runge"}}};
}
enum class Rule { midpoint, simpson, gauss_legendre };  ///< Gauss-Legendre with 3 points a cell
constexpr auto enum_names(Rule) {
  return core::EnumNames<Rule, 3>{{{Rule::midpoint, "midpoint"},
                                   {Rule::simpson, "simpson"},
                                   {Rule::gauss_legendre, "gauss_legendre"}}};
}

/// Of a grid.
inline constexpr std::int64_t kMaxBlocks = INT32_MAX;

/// Cells are split over ranks by the same virtual blocks as in reductions.
using kernels::block_begin;
using kernels::kLanes;
using kernels::kVirtualBlocks;

/// amplitude times the integral over [lower, upper] by `cells` equal cells, of which this rank has
/// [first, first + count). Cell i starts at lower + i h with h = (upper - lower) / cells, rounded
/// the same way on every rank.
///
/// Simpson evaluates the left end and the middle of a cell, the left end with the weight of two
/// cells; who has the first cell takes half of its left end off, who has the last one adds the
/// right end of the interval.
struct Problem {
  static constexpr std::string_view kOperation = "integral";
  /// Of a variant.
  struct Notes {
    bool adds_serially = false;  ///< all cells to one and the same number, one after the other
  };

  Integrand integrand = Integrand::sin2cos2;
  Rule rule = Rule::midpoint;
  /// Of the evaluation, f64 or f32; arguments are reduced in f64, and sums are f64.
  core::DataType type = core::DataType::f64;
  double a = 2, b = 1;  ///< sin2cos2 only; |a x|, |b x| below 2^50
  double amplitude = 1;
  double lower = 0, upper = 1;
  std::int64_t cells = 0;  ///< global, 1 to 2^51
  std::int64_t first = 0;
  std::int64_t count = 0;
  double* result = nullptr;  ///< device memory: one value

  /// Reproducible: one value per virtual block [block_first, block_first + block_count), integrand
  /// by the project's own polynomials with explicit fma, lanes as in reductions. The cells are
  /// those of the blocks; first, count and result are not used. reduction::combine_blocks adds the
  /// values.
  bool reproducible = false;
  std::int64_t block_first = 0;
  std::int64_t block_count = 0;
  double* blocks = nullptr;

  /// Memory of a GPU for partial sums, scratch_bytes(count) or more, aligned to 256 bytes. Its
  /// owner zeroes it once; launches leave their counter at zero. One stream at a time. Not used on
  /// the host.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  /// two_pass_host alone: partial_sums(count) + 1 values of page-locked host memory.
  double* host_scratch = nullptr;
};

/// Partial sums of the variant that has the most, one for 6400 cells.
std::int64_t partial_sums(std::int64_t count);
/// What any variant may need for so many cells.
std::size_t scratch_bytes(std::int64_t count);

/// Evaluations of the integrand for that many cells.
constexpr double evaluations(Rule rule, double cells) {
  return cells * (rule == Rule::midpoint ? 1 : rule == Rule::simpson ? 2 : 3);
}

/// The closed form, for any a and b and limits, times the amplitude.
double exact(Problem const& problem);

/// What the cells of one rank add up to, as a value and what a check may allow, see error_bound().
/// By Simpson's rule that is not the integral over them: see Problem.
struct Part {
  double value = 0;
  double bound = 0;
};
Part part_of(Problem const& problem, double serial = 0);

/// What a check may allow: |amplitude| times the sum of
///   discretisation   sin2cos2: the error of the rule for each of its harmonics, in closed form (so
///                    it is tiny over whole periods, as it should be); else C h^p times the
///                    integral of a bound of |f^(p)|, midpoint C = 1/24, p = 2; Simpson 1/2880, 4;
///                    Gauss-Legendre 1/2016000, 6
///   evaluation       8 eps max f L, eps of the type: linear, since a polynomial errs one way
///   arguments        4 eps max|f'| X L / sqrt(cells), eps of f64, X the largest |x|: the roundings
///                    of x are independent
///   summation        eps max(sqrt(cells), serial) integral, eps of f64: roundings are independent,
///                    but not those of `serial` additions to one number, where a periodic integrand
///                    adds the same values over and over
double error_bound(Problem const& problem, double serial = 0);

/// Default interval of each integrand: [0, 40000 pi], [0, 1], [0, 1], [-1, 1].
void set_default_interval(Problem& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// For Specifics::unsupported of variants whose sums depend on more than the virtual blocks.
std::string plain_only(Problem const& problem);
/// The same where a block of the grid takes so many cells and no more.
std::string plain_grid(Problem const& problem, std::int64_t cells_of_block);
template <std::int64_t cells_of_block>
std::string plain_grid(Problem const& problem) {
  return plain_grid(problem, cells_of_block);
}

/// Blocks of so many cells each, but no more than `most`; none for no cells.
constexpr unsigned blocks_for(std::int64_t count, std::int64_t cells,
                              std::int64_t most = kMaxBlocks) {
  return static_cast<unsigned>(std::min((count + cells - 1) / cells, most));
}

/// What `reference` does with a reproducible problem.
void launch_reproducible(Problem const& problem, device::StreamView stream);

}  // namespace quadrille::kernels::integral
