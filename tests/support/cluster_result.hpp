// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::test {

/// The rank of cluster_result() that takes half as long again as the others.
inline constexpr int kSlowRank = 5;

/// Pseudo-random numbers in [0, 1), the same on every machine.
class Noise {
 public:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11U) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 1;
};

/// Of variant `technique` of `techniques`, each twice as fast as the one before.
inline measure::Record cluster_record(std::string const& workload, std::string const& variant,
                                      std::int64_t n, int ranks, int technique, Noise& noise) {
  measure::Record r;
  r.name = fmt::format("{}-{}", workload, n);
  r.id = fmt::format("{}:{}", r.name, variant);
  r.workload = workload;
  r.type = "f32";
  r.variant = variant;
  r.transport = "none";
  r.device = "H200";
  r.source = "own";
  r.size = {n};
  r.config = fmt::format("[[case]]\nworkload = \"{}\"\ntype = \"f32\"\nsize = {}\n", workload, n);
  r.data = "uniform";
  r.ranks = ranks;
  r.outcome = measure::Outcome::pass;
  double const side = static_cast<double>(n);
  bool const is_product = workload == "gemm" || workload == "summa";
  double const flop = is_product ? 2 * side * side * side * ranks : 0;
  double const bytes = (is_product ? 12 * side * side : 8 * side) * ranks;
  r.amount = is_product ? flop : bytes;
  r.unit = is_product ? "FLOP/s" : "B/s";
  r.peak = is_product ? 60e12 * ranks : 4.8e12 * ranks;
  r.roofline = {.flop = flop,
                .bytes = bytes,
                .compute_peak = 60e12 * ranks,
                .memory_peak = 4.8e12 * ranks,
                .compute_is_measured = false,
                .memory_is_measured = true};
  constexpr int kRepetitions = 20;
  double const seconds = 2e-6 + r.amount / r.peak * (1 + 30 * std::exp2(-technique));
  for (int i = 0; i < kRepetitions; ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      r.seconds.push_back(seconds * (1 + 0.05 * noise.next()) * (rank == kSlowRank ? 1.5 : 1));
      r.clock_hz.push_back(1.98e9 - 2e8 * noise.next());
      r.power_w.push_back(350 + 300 * noise.next());
    }
  }
  r.timing = "device";
  r.check = {1e-7, 1e-6, 0, "", ""};
  return r;
}

/// About `cases` measurements of one run, with all that charts are made of: variants beside their
/// vendor's line and published figures, sizes, legs, pairs, samples, clocks and powers.
inline measure::RunResult cluster_result(int ranks, int cases) {
  measure::RunResult result;
  result.info.run_id = fmt::format("cluster-{}", ranks);
  result.info.started = "2026-01-02T03:04:05Z";
  result.info.finished = "2026-01-02T04:05:00Z";
  result.info.status = "finished";
  result.info.config = "[run]\nrepetitions = 20\n";
  result.info.build = {{"version", "0.1.0"}, {"commit", "1a72114"}, {"compiler", "GNU 12.2"}};
  result.info.environment = {{"NCCL_DEBUG", "WARN"}};
  for (int rank = 0; rank < ranks; ++rank) {
    result.info.ranks.push_back({rank, fmt::format("node{:02}", rank / 8), rank % 8, "H200",
                                 fmt::format("GPU-{:08x}", rank),
                                 fmt::format("0000:{:02x}:00.0", 16 * (rank % 8)), rank % 8 / 4,
                                 "0-13", 140LL << 30, 14});
  }
  Noise noise;
  std::vector<measure::Record>& records = result.records;
  auto const add = [&](measure::Record r) {
    finish(r);
    records.push_back(std::move(r));
  };
  std::vector<std::string> const ladder{"naive",          "coalesced",      "shared_tile",
                                        "thread_tile_1d", "thread_tile_2d", "vectorized",
                                        "vendor"};
  for (std::int64_t n = 1024; n <= 8192; n *= 2) {
    measure::Record const vendor = [&] {
      measure::Record r = cluster_record("gemm", "vendor", n, ranks, 6, noise);
      finish(r);
      return r;
    }();
    for (std::size_t i = 0; i < ladder.size(); ++i) {
      measure::Record r = i + 1 == ladder.size() ? vendor
                                                 : cluster_record("gemm", ladder[i], n, ranks,
                                                                  static_cast<int>(i), noise);
      r.published = 3e11 * std::exp2(static_cast<double>(i)) * ranks;
      r.published_on = "RTX A6000";
      finish(r);
      set_ratio(r, vendor);
      records.push_back(std::move(r));
    }
  }
  measure::Record summa = cluster_record("summa", "vendor", 16384, ranks, 5, noise);
  summa.transport = "nccl";
  for (auto const& [leg, share] : std::vector<std::pair<std::string, double>>{
           {"compute", 0.8}, {"communicate", 0.5}, {"serial", 1.3}, {"overlapped", 1.0}}) {
    measure::LegSamples samples{leg, summa.seconds};
    for (double& seconds : samples.seconds) seconds *= share;
    summa.legs.push_back(std::move(samples));
  }
  add(std::move(summa));
  measure::Record pairs = cluster_record("pairs", "transport", 8 << 20, ranks, 5, noise);
  pairs.transport = "nccl";
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      bool const is_near = from / 8 == to / 8;
      pairs.pairs.push_back({from,
                             to,
                             is_near ? "NVLink" : "network",
                             32e6,
                             {is_near ? 8e-6 : 15e-6 + 5e-6 * noise.next()},
                             {32e6 / (is_near ? 300e9 : 40e9 + 8e9 * noise.next())}});
    }
  }
  add(std::move(pairs));
  for (std::int64_t n = 1024; static_cast<int>(records.size()) < cases; n += 1024) {
    for (char const* const variant : {"vectorized", "vendor"}) {
      add(cluster_record("copy", variant, n, ranks, variant[1] == 'e' ? 4 : 5, noise));
    }
  }
  return result;
}

}  // namespace quadrille::test
