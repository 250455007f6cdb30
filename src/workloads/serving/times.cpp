// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quadrille::workloads::serving {
namespace {

double pairs_of(double tokens, double before) {
  return tokens * before + tokens * (tokens + 1) / 2;
}

double x_alone(double x, double) { return x; }

}  // namespace

double Chunk::pairs() const {
  return pairs_of(static_cast<double>(tokens), static_cast<double>(before));
}

StepTimes::StepTimes(Transformer const& model, double memory_rate, double link_rate)
    : move_s_{static_cast<double>(model.kv_bytes()) / link_rate},
      copy_s_{2 * static_cast<double>(model.kv_bytes()) / memory_rate} {}

double StepTimes::of(StepWork const& work) const {
  double seconds =
      move_s_ * static_cast<double>(work.moved) + copy_s_ * static_cast<double>(work.copied);
  if (work.rows > 0) {
    auto const rows = static_cast<double>(work.rows);
    seconds += products_s(rows) + ends_s(work);
  }
  for (Chunk const& chunk : work.chunks) seconds += chunk_s(chunk);
  if (work.sequences > 0) {
    seconds += singles_s(static_cast<double>(work.sequences), static_cast<double>(work.context));
  }
  return seconds;
}

double StepTimes::tokens_per_second(std::int64_t max_rows) const {
  auto const rows = static_cast<double>(max_rows);
  return rows / products_s(rows);
}

StatedTimes::StatedTimes(Transformer const& model, double flop_rate, double memory_rate,
                         double link_rate)
    : StepTimes{model, memory_rate, link_rate} {
  auto const layers = static_cast<double>(model.layers), width = static_cast<double>(model.width());
  double const weights = layers * model.products() * width * width;
  weights_s_ = weights * static_cast<double>(model.element_bytes) / memory_rate;
  row_s_ = 2 * weights / flop_rate;
  pair_s_ = 4 * width * layers / flop_rate;
  context_s_ = static_cast<double>(model.kv_bytes()) / memory_rate;
}

double StatedTimes::products_s(double rows) const { return std::max(weights_s_, row_s_ * rows); }
double StatedTimes::chunk_s(Chunk const& chunk) const { return pair_s_ * chunk.pairs(); }
double StatedTimes::singles_s(double, double context) const { return context_s_ * context; }

core::Parsed<StatedTimes> parse_times(std::string_view text, Transformer const& model) {
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
      return core::Parsed<StatedTimes>::error(fmt::format(
          "'{}' is not three rates; write arithmetic, memory and link to the host as in "
          "\"stated: 250 TFLOP/s, 2 TB/s, 25 GB/s\"",
          text));
    }
    rates[i] = *rate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  auto const [flop_rate, memory_rate, link_rate] = rates;
  return StatedTimes{model, flop_rate, memory_rate, link_rate};
}

MeasuredTimes::MeasuredTimes(Transformer const& model, Measurement const& measured)
    : StepTimes{model, measured.memory_rate, measured.link_rate},
      layers_{static_cast<double>(model.layers)},
      products_{measured.products, x_alone},
      chunks_{measured.chunks, pairs_of},
      singles_{measured.singles, x_alone},
      ends_{measured.ends, x_alone} {}

double MeasuredTimes::products_s(double rows) const { return layers_ * products_.at(rows, 0); }

double MeasuredTimes::chunk_s(Chunk const& chunk) const {
  double seconds = 0;
  auto left = static_cast<double>(chunk.tokens), before = static_cast<double>(chunk.before);
  while (left > 0) {
    double const tokens = std::min(left, chunks_.max_x());
    seconds += chunks_.at(tokens, before);
    left -= tokens;
    before += tokens;
  }
  return layers_ * seconds;
}

double MeasuredTimes::singles_s(double sequences, double context) const {
  return layers_ * singles_.at(context, sequences);
}

double MeasuredTimes::ends_s(StepWork const& work) const {
  auto const rows = static_cast<double>(work.rows), drawn = static_cast<double>(work.drawn);
  double const most = ends_.max_x();
  if (rows <= most) return ends_.at(rows, drawn);
  // The other rows fill a static batch up.
  auto tokens = static_cast<double>(work.sequences);
  for (Chunk const& chunk : work.chunks) tokens += static_cast<double>(chunk.tokens);
  double const parts = std::max(1.0, tokens / most);
  return parts * ends_.at(most, drawn / parts) + (rows / most - parts) * ends_.at(most, 0);
}

bool MeasuredTimes::covers(StepWork const& work) const {
  auto const within = [](TimeGrid const& grid, std::int64_t x, std::int64_t y) {
    return grid.covers(static_cast<double>(x), static_cast<double>(y));
  };
  return within(products_, work.rows, 0) && within(singles_, work.context, work.sequences) &&
         std::ranges::all_of(work.chunks, [&](Chunk const& chunk) {
           return within(chunks_, chunk.tokens, chunk.before);
         });
}

}  // namespace quadrille::workloads::serving
