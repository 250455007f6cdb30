// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::kernels::rowwise {

/// What the layers of a decoder do to each token by itself, between their products.
enum class Action { layer_norm, rms_norm, gelu, swiglu, rotary, embedding };
constexpr auto enum_names(Action) {
  return core::EnumNames<Action, 6>{{{Action::layer_norm, "layer_norm"},
                                     {Action::rms_norm, "rms_norm"},
                                     {Action::gelu, "gelu"},
                                     {Action::swiglu, "swiglu"},
                                     {Action::rotary, "rotary"},
                                     {Action::embedding, "embedding"}}};
}
constexpr bool is_norm(Action action) {
  return action == Action::layer_norm || action == Action::rms_norm;
}

/// What is added to a variance, or a mean of squares, of a row.
inline constexpr double kNormEpsilon = 1e-5;

/// Row i is a token, of n features; r is x, or x + residual, rounded to the type, which `sum` gets.
///
/// layer_norm  y_j = (r_j - m) / sqrt(v + 1e-5) gain_j + bias_j, with the mean m and the variance v of r
/// rms_norm    y_j = r_j / sqrt(q + 1e-5) gain_j, with the mean q of the squares of r
/// gelu        y_j = x_j (1 + erf(x_j / sqrt 2)) / 2
/// swiglu      y_j = g_j / (1 + exp(-g_j)) u_j, where x has g and then u
/// rotary      for each head of d features and j < d / 2, with c and s of the token's position:
///             y_j = x_j c_j - x_(j + d / 2) s_j,  y_(j + d / 2) = x_(j + d / 2) c_j + x_j s_j
/// embedding   row i is row rows[i] of the table x and, where weights has rows, row positions[i] of it added
struct Problem {
  static constexpr std::string_view kOperation = "rowwise";

  Action action = Action::rms_norm;
  device::MatrixView
      x;  ///< tokens x n, of swiglu tokens x 2 n, of embedding any rows; like all tensors
          ///< without gaps, but of rotary
  device::MatrixView y;  ///< tokens x n
  // Of norms.
  device::MatrixView residual{}, sum{};  ///< like y; no rows: nothing is added
  /// Gain, and of layer_norm bias: 1 or 2 rows of n. Of embedding a row of each position, or none.
  device::MatrixView weights{};
  // Of rotary.
  std::int64_t head_size = 0;
  device::MatrixView cos_sin{};  ///< f32; of each position d / 2 cosines, then as many sines
  std::int32_t const* positions = nullptr;  ///< of tokens; of embedding, too
  std::int32_t const* rows = nullptr;       ///< of embedding: of tokens, in x

  std::int64_t tokens() const { return y.rows; }
  std::int64_t features() const { return y.cols; }
  bool has_residual() const { return is_norm(action) && residual.rows > 0; }
};

struct Shape {
  std::int64_t tokens = 1, features = 1;
  bool has_residual = false;
  std::int64_t head_size = 128;    ///< of rotary
  std::int64_t max_positions = 1;  ///< of rotary and embedding
  std::int64_t table_rows = 1;     ///< of embedding
};
/// A problem whose tensors have no memory yet.
Problem unallocated(Action action, Shape const& shape, core::DataType type);

/// Why there is none, with the way out; empty where there is one.
std::string shape_error(Action action, Shape const& shape);
/// The cosines and sines of each position p: of angles p / 10000^(2 j / d), for pair j of d / 2.
std::vector<float> cos_sin_of(std::int64_t head_size, std::int64_t positions);

/// Ends the job unless shape, extents and types fit together.
void require_consistent(Problem const& problem);

/// What is read and what is written.
double bytes_moved(Problem const& problem);

/// What a right element may be off by: eps (|y| + `rounded`) + eps_32 `computed` + the least number, in eps
/// of the type.
///
///   norms     rounded: |gain r| / sigma where r is a sum; computed: (sqrt(n) + 8) |gain| (|r| + |m| + sigma)
///             / sigma + |bias|, as means of n terms that are added up in f32 are off at random
///   gelu      computed: 8 |x|
///   swiglu    computed: (|g| + 8) |y|, as an exponential is off by its argument's error
///   rotary    computed: 4 (|x_j| + |x_(j + d / 2)|)
///   embedding none
class ErrorBound {
 public:
  explicit ErrorBound(core::DataType type)
      : epsilon_{core::epsilon_of(type)}, least_{core::least_of(type)} {}
  double operator()(double y, double rounded, double computed) const {
    static double const kAdding = core::epsilon_of(core::DataType::f32);
    return epsilon_ * ((y < 0 ? -y : y) + rounded) + kAdding * computed + least_;
  }

 private:
  double epsilon_, least_;
};

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

}  // namespace quadrille::kernels::rowwise
