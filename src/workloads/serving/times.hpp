// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "workloads/serving/time_grid.hpp"

#include <cstdint>
#include <string>
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
  /// Of K, and of V.
  std::int64_t kv_width() const { return kv_heads * head_size; }
  /// K and V of one token.
  std::int64_t kv_bytes() const { return 2 * kv_width() * layers * element_bytes; }
  /// Weights of a layer as products of a row by a matrix of width x width: of queries and outputs,
  /// of K and V, and of two layers of four times the width.
  double products() const {
    return 2 + 2 * static_cast<double>(kv_heads) / static_cast<double>(heads) + 8;
  }
};

/// Several tokens of one sequence in a step, and how many are before them.
struct Chunk {
  std::int64_t tokens = 0, before = 0;
  /// Of a token and one that it attends to.
  double pairs() const;
};

/// What one step of the model works on.
struct StepWork {
  std::int64_t rows = 0;        ///< tokens in the products with weights, which take all at once
  std::vector<Chunk> chunks{};  ///< whose attention is computed one by one
  std::int64_t sequences = 0;   ///< with one token, whose attention is computed together
  std::int64_t context = 0;     ///< K and V of tokens that these read
  std::int64_t drawn = 0;       ///< tokens of outputs that are made
  std::int64_t moved = 0;       ///< K and V of tokens swapped in or out
  std::int64_t copied = 0;      ///< ... or copied on the device
};

/// How long a step takes: a sum of parts, each of which can be measured alone.
class StepTimes {
 public:
  virtual ~StepTimes() = default;

  double of(StepWork const& work) const;
  /// Tokens that a full server finishes in a second, each of which is one row, attention left out.
  double tokens_per_second(std::int64_t max_rows) const;
  /// Whether no part is larger than what the times are known of.
  virtual bool covers(StepWork const&) const { return true; }

 protected:
  StepTimes(Transformer const& model, double memory_rate, double link_rate);
  StepTimes(StepTimes const&) = default;
  StepTimes& operator=(StepTimes const&) = default;

 private:
  // Of all layers.
  virtual double products_s(double rows) const = 0;
  virtual double chunk_s(Chunk const& chunk) const = 0;
  virtual double singles_s(double sequences, double context) const = 0;
  /// What is not of layers.
  virtual double ends_s(StepWork const&) const { return 0; }

  double move_s_, copy_s_;  ///< of K and V of a token
};

/// By rates of a device: products are as slow as the slower of arithmetic and reading weights, attention
/// of chunks as arithmetic, that of single tokens as reading K and V.
class StatedTimes final : public StepTimes {
 public:
  StatedTimes(Transformer const& model, double flop_rate, double memory_rate, double link_rate);

 private:
  double products_s(double rows) const override;
  double chunk_s(Chunk const& chunk) const override;
  double singles_s(double sequences, double context) const override;

  double weights_s_, row_s_, pair_s_, context_s_;
};

/// "250 TFLOP/s, 2 TB/s, 25 GB/s": of arithmetic, device memory and the link to the host.
core::Parsed<StatedTimes> parse_times(std::string_view text, Transformer const& model);

/// What was measured: of one layer, of what is besides, and of copies.
struct Measurement {
  Points products{};  ///< and all else but attention, of so many rows; y is 0
  Points chunks{};    ///< attention of so many tokens behind so many others
  Points singles{};   ///< ... of single tokens that read so many, of so many sequences
  Points ends{};      ///< what is not of layers, of so many rows, of so many tokens that are drawn
  double memory_rate = 0, link_rate = 0;  ///< bytes of a device read and written; from the host
  std::string kernels;                    ///< which were measured, for people
};

/// By interpolation. Chunks of more tokens than were measured are cut into such; all else beyond is as
/// fast as the largest that was measured. A step of more rows has parts, and those without tokens draw none.
class MeasuredTimes final : public StepTimes {
 public:
  MeasuredTimes(Transformer const& model, Measurement const& measured);
  bool covers(StepWork const& work) const override;

 private:
  double products_s(double rows) const override;
  double chunk_s(Chunk const& chunk) const override;
  double singles_s(double sequences, double context) const override;
  double ends_s(StepWork const& work) const override;

  double layers_;
  TimeGrid products_, chunks_, singles_, ends_;
};

}  // namespace quadrille::workloads::serving
