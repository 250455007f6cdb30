// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace quadrille::workloads::serving {

/// A transformer, as far as times and memory depend on it.
struct Transformer {
  std::int64_t layers = 40;
  std::int64_t heads = 40;
  std::int64_t kv_heads = 40;
  std::int64_t head_size = 128;
  std::int64_t element_bytes = 2;

  std::int64_t width() const { return heads * head_size; }
  /// K and V of one token.
  std::int64_t kv_bytes() const { return 2 * kv_heads * head_size * layers * element_bytes; }
  /// Weights of a layer as products of a row by a matrix of width x width: of queries and outputs,
  /// of K and V, and of two layers of four times the width.
  double products() const {
    return 2 + 2 * static_cast<double>(kv_heads) / static_cast<double>(heads) + 8;
  }
};

/// What one step of the model works on.
struct StepWork {
  std::int64_t rows = 0;     ///< tokens in the products with weights, which take all at once
  std::int64_t pairs = 0;    ///< of a token of several of one sequence, and one that it attends to
  std::int64_t context = 0;  ///< K and V of tokens that sequences with one token read
  std::int64_t moved = 0;    ///< K and V of tokens swapped in or out
  std::int64_t copied = 0;   ///< ... or copied on the device
};

/// How long a step takes: a sum of parts, each of which can be measured alone.
class StepTimes {
 public:
  /// Seconds of one product of so many rows by a matrix of width x width.
  struct Product {
    double rows = 0, seconds = 0;
  };

  /// `products`: by ascending rows; times between are interpolated, and beyond the last
  /// proportional.
  StepTimes(Transformer const& model, std::vector<Product> products, double attention_flop_rate,
            double memory_rate, double link_rate);

  double of(StepWork const& work) const;
  /// Tokens that a full server finishes in a second, each of which is one row.
  double tokens_per_second(std::int64_t most_rows) const;

 private:
  double products_s(double rows) const;

  std::vector<Product> products_;
  double per_step_;  ///< products of a step
  double pair_s_, context_s_, move_s_, copy_s_;
};

/// "250 TFLOP/s, 2 TB/s, 25 GB/s": of arithmetic, device memory and the link to the host. Products
/// are as slow as the slower of arithmetic and reading weights.
core::Parsed<StepTimes> parse_times(std::string_view text, Transformer const& model);

}  // namespace quadrille::workloads::serving
