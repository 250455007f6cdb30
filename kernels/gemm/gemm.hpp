// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/access.hpp"
#include "common/tunable.hpp"
#include "common/variant.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::kernels::gemm {

/// A block's tile of C, and how much of A and B it takes at a time.
struct TileExtents {
  std::int64_t rows = 0, cols = 0, depth = 0;
};

/// What B is stored as in place of the type of A: whole numbers, times a factor for each kScaled of k of a
/// column.
enum class Weights { none, i8, i4 };
constexpr auto enum_names(Weights) {
  return core::EnumNames<Weights, 3>{
      {{Weights::none, "none"}, {Weights::i8, "i8"}, {Weights::i4, "i4"}}};
}
/// In a byte; of i4 the lower half is that of the even k.
constexpr int per_byte(Weights weights) { return weights == Weights::i4 ? 2 : 1; }
/// Number `half` of a byte, -8 to 7.
constexpr int half_of(std::int8_t byte, std::int64_t half) {
  return half == 0 ? static_cast<std::int8_t>(static_cast<unsigned char>(byte) << 4) >> 4
                   : byte >> 4;
}

/// Products of one call: each has some rows of op(A) and of C, and a B of its own. They lie one behind the
/// other, but for those of B where a call finds them by pointers.
struct Groups {
  std::int64_t count = 1;
  /// Of several: where the rows of each begin, and where those of the last end, for the host and for the
  /// device that multiplies.
  std::int64_t const* first_rows = nullptr;
  std::int64_t const* first_rows_on_device = nullptr;
  /// Which of the stored blocks is the B of each; nullptr: in order.
  std::int64_t const* b_blocks = nullptr;
  /// group_pointers() in memory of the device.
  void* const* pointers = nullptr;
};

/// C = alpha op(A) op(B) + beta C, row-major; op(A) is m x k, op(B) k x n, C m x n.
/// With beta == 0, C is written and never read. Any extent may be 0.
struct Problem {
  static constexpr std::string_view kOperation = "gemm";
  struct Notes {
    /// Extents of variants whose accesses are counted: of whole tiles all have the same.
    TileExtents tile{};
    /// The same where it depends on the configuration; tile_of() returns either.
    TileExtents (*configured)(Configuration const& configuration) = nullptr;
    bool takes_scales = false;            ///< Problem::a_scales and b_scales of blocks
    bool takes_weights = false;           ///< Problem::weights, alone
    bool takes_groups = false;            ///< Problem::groups
    bool takes_pointers = false;          ///< Groups::b_blocks
    bool bounds_multiprocessors = false;  ///< starts no more blocks than Problem::multiprocessors
  };

  device::MatrixView a;
  device::MatrixView b;
  device::MatrixView c;
  double alpha = 1;
  double beta = 0;
  bool transpose_a = false;                          ///< a is stored k x m
  bool transpose_b = false;                          ///< b is stored n x k
  core::Compute compute = core::Compute::automatic;  ///< what products are multiplied and added in
  Configuration configuration{};  ///< of a tunable variant; empty: its own choice
  /// Of a GPU that the product may take, the rest is left to others; 0: all. For variants that note it.
  int multiprocessors = 0;
  /// Factors of 8-bit floats, in f32, for variants that note it: of kScaled of k in a row of op(A), at
  /// [k / 128][row], and of 128 x 128 of op(B), at [column / 128][k / 128]. Without memory there are none.
  device::MatrixView a_scales{}, b_scales{};
  /// For variants that note it. Then b is of bytes, transposed, and b_scales are of the type of A, at
  /// [k / 128][column].
  Weights weights = Weights::none;
  Groups groups{};  ///< for variants that note it
  int moduli = 0;   ///< of an emulated product; 0: core::emulating_products()
  /// On a GPU: blocks stay for one tile alone, and no tile is split. Kernels of other streams get
  /// multiprocessors meanwhile, and no tile waits for blocks that those displace.
  bool yields = false;
  /// B has been in memory for longer than the work runs that this product follows, as weights are: variants may
  /// read it before that ends.
  bool has_early_b = false;
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 16 bytes, of which the
  /// first kScratchCounters words are 0 before and after. Some variants are slower without, some
  /// need it.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.cols; }
  std::int64_t k() const { return transpose_a ? a.rows : a.cols; }

  /// One of the products.
  Problem group(std::int64_t number) const;
  std::int64_t rows_of_group(std::int64_t number) const {
    return groups.count == 1 ? m() : groups.first_rows[number + 1] - groups.first_rows[number];
  }
  /// Whether all have as many rows as the first.
  bool has_equal_groups() const;
};
/// Where A of each group begins, then B of each, then C of each.
std::vector<void*> group_pointers(Problem const& problem);
inline constexpr std::int64_t kScratchCounters = 1024;
/// Elements of k, and columns of B, that have one factor.
inline constexpr std::int64_t kScaled = 128;

/// Those that a variant which bounds them takes.
inline int multiprocessors_of(Problem const& problem, device::Facts const& device) {
  return problem.multiprocessors == 0 ? device.multiprocessors
                                      : std::min(problem.multiprocessors, device.multiprocessors);
}

/// Blocks, or clusters of them, that such a variant starts for whole tiles where so many run at a time.
inline int blocks_of(Problem const& problem, int tiles, int at_a_time) {
  return problem.yields ? tiles : std::min(tiles, at_a_time);
}

/// Of adding up in ErrorBound.
double epsilon_of(core::DataType stored, core::Compute compute, int moduli);

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

constexpr double flop(double m, double n, double k) { return 2 * m * n * k; }
/// `in_bytes` of an element of A and B, `out_bytes` of one of C.
constexpr double compulsory_bytes(double m, double n, double k, double beta, double in_bytes,
                                  double out_bytes) {
  return in_bytes * (m * k + k * n) + out_bytes * (beta == 0 ? 1 : 2) * m * n;
}

/// What a right element of C may be off by, for data whose terms have no order:
///
///   1.5 eps (|a| |b| + sqrt(k) |c| + |beta c0|)  adding up, in eps of `compute`: the error of step l
///       is a random part of the sum so far, s_l, so all are sqrt(sum s_l^2). Terms of both signs
///       walk at random: s_l^2 is about l |a|^2 |b|^2 / k^2. Terms of one sign: s_l = l c / k
///       eps of a product that is emulated is that of its type, or of fewer moduli emulated_epsilon()
///   eps_in (4 |a| |b| / sqrt(k) + |c|)  inputs that are rounded first (f32 in tf32 or bf16); of 16 bits with
///       eps k / 128, as tensor cores cut each sum with 16 more terms toward zero. Of 8 bits 2^-8 |a| |b| /
///       sqrt(k) + 2^-7 |c|: they cut what they add 13 bits below the largest addend, 128 of k at a time
///   eps_out (|c| + |beta c0|)                    storing c in `stored`; of several parts of k, after
///       each of which it is stored, eps_out (1.5 (|c| + |beta c0|) sqrt(parts) + |a| |b|
///       sqrt(parts / k)): random too, and where the first terms are the largest each is one of c
///   least                                        below the normal numbers of the type
class ErrorBound {
 public:
  ErrorBound(core::DataType stored, core::Compute compute, std::int64_t k, std::int64_t parts = 1,
             int moduli = 0)
      : ErrorBound{{stored, compute, stored}, k, parts, moduli} {}
  ErrorBound(Types const& types, std::int64_t k, std::int64_t parts = 1, int moduli = 0);
  /// `ab` is the product of the 2-norms of alpha times the row of A and of the column of B, or the
  /// sum of |alpha a_l b_l|, which is no larger; `c` is alpha times the sum, `c0` beta times the old
  /// element.
  double operator()(double ab, double c, double c0) const {
    double const size = std::abs(c) + std::abs(c0);
    return adding_ * (ab + root_k_ * std::abs(c) + std::abs(c0)) +
           rounding_ * (4 * ab / root_k_ + std::abs(c)) +
           cutting_ * (ab / root_k_ + 2 * std::abs(c)) +
           storing_ * (std::max(1.0, 1.5 * root_parts_) * size + root_parts_ / root_k_ * ab) +
           least_;
  }
  /// What a sum of such errors may be off by, each times a factor that does not depend on it: where
  /// storing rounds more than adding up, the 2-norm of bounds times factors is five standard
  /// deviations of the sum, as much as the largest of a million right sums.
  /// `squares`: of bounds times factors, added up.
  double of_sum(double squares) const { return deviations_ * std::sqrt(squares); }

 private:
  double adding_, root_k_, rounding_, cutting_, storing_, root_parts_, least_, deviations_;
};

Variants<Problem> variants();
/// Extents of the row's tile; 0 where its accesses are not counted.
TileExtents tile_of(Variant<Problem> const& row, Configuration const& configuration);

struct Traffic {
  Accesses accesses;
  /// Between the first- and the second-level cache, where a first-level cache keeps a tile of A and B
  /// while it is loaded, and no longer; 0 for techniques that keep none in shared memory.
  double l2_bytes = 0;
};
/// Memory traffic of a product with beta = 0. Nothing where tiles do not fill the matrices, or rows do not
/// start with a sector: then blocks differ.
std::optional<Traffic> traffic_of(Variant<Problem> const& row, Problem const& problem);

ProblemFacts facts_of(Problem const& problem);
ProblemKind kind_of(Problem const& problem);

/// Whether both are whole numbers that i32 holds.
bool are_whole(double alpha, double beta);
/// For Specifics::unsupported of variants that take i32, whose alpha and beta are of that type too.
std::string whole_scalars(Problem const& problem);

/// For Specifics::unsupported of variants that emulate.
std::string emulated_unsupported(Problem const& problem);

/// What an integer of BLAS counts to.
inline constexpr std::int64_t kMaxInt = (std::int64_t{1} << 31) - 1;

}  // namespace quadrille::kernels::gemm
