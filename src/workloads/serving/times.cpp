// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quadrille::workloads::serving {

StepTimes::StepTimes(Transformer const& model, std::vector<Product> products,
                     double attention_flop_rate, double memory_rate, double link_rate)
    : products_{std::move(products)},
      per_step_{static_cast<double>(model.layers) * model.products()},
      pair_s_{4.0 * static_cast<double>(model.width() * model.layers) / attention_flop_rate},
      context_s_{static_cast<double>(model.kv_bytes()) / memory_rate},
      move_s_{static_cast<double>(model.kv_bytes()) / link_rate},
      copy_s_{2 * context_s_} {}

double StepTimes::products_s(double rows) const {
  if (rows == 0) return 0;
  auto const above = std::ranges::lower_bound(products_, rows, {}, &Product::rows);
  if (above == products_.end()) return products_.back().seconds / products_.back().rows * rows;
  if (above == products_.begin()) return above->seconds;
  Product const below = *std::prev(above);
  double const share = (rows - below.rows) / (above->rows - below.rows);
  return below.seconds + share * (above->seconds - below.seconds);
}

double StepTimes::of(StepWork const& work) const {
  return per_step_ * products_s(static_cast<double>(work.rows)) +
         pair_s_ * static_cast<double>(work.pairs) +
         context_s_ * static_cast<double>(work.context) +
         move_s_ * static_cast<double>(work.moved) + copy_s_ * static_cast<double>(work.copied);
}

double StepTimes::tokens_per_second(std::int64_t most_rows) const {
  auto const rows = static_cast<double>(most_rows);
  return rows / (per_step_ * products_s(rows));
}

core::Parsed<StepTimes> parse_times(std::string_view text, Transformer const& model) {
  // Arithmetic, memory, link.
  constexpr std::array<std::string_view, 3> kUnits{"FLOP/s", "B/s", "B/s"};
  std::array<double, 3> rates{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::size_t const end = i + 1 < rates.size() ? rest.find(',') : rest.size();
    std::string_view part = rest.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    auto const rate = core::parse_figure(part, 1);
    if (end == std::string_view::npos || !part.ends_with(kUnits[i]) || !rate) {
      return core::Parsed<StepTimes>::error(fmt::format(
          "'{}' is not three rates; write arithmetic, memory and link to the host as in "
          "\"stated: 250 TFLOP/s, 2 TB/s, 25 GB/s\"",
          text));
    }
    rates[i] = *rate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  auto const [flop_rate, memory_rate, link_rate] = rates;
  auto const width = static_cast<double>(model.width());
  double const read_s = width * width * static_cast<double>(model.element_bytes) / memory_rate;
  double const row_s = 2 * width * width / flop_rate;
  // As many rows as arithmetic does while the weights are read.
  double const balance = std::max(1.0, read_s / row_s);
  double const at_balance = std::max(read_s, row_s);
  return StepTimes{model, {{balance, at_balance}}, flop_rate, memory_rate, link_rate};
}

}  // namespace quadrille::workloads::serving
