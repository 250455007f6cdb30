// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json.hpp"
#include "measure/record.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::test {

/// A measurement of 3 ranks in which every member differs from its default.
inline measure::Record sample_record() {
  measure::Record r;
  r.id = "summa.2:kokkos";
  r.name = "square";
  r.workload = "summa";
  r.type = "f64";
  r.variant = "kokkos";
  r.backend = "kokkos";
  r.role = "own";
  r.transport = "mpi";
  r.grid = "1x3";
  r.device = "host";
  r.source = "own";
  r.size = {4096, 4096, 512};
  r.config = "[[case]]\nworkload = \"summa\"  # \u00b5\n";
  r.data = "uniform";
  r.seed = std::numeric_limits<std::uint64_t>::max();
  r.ranks = 3;
  r.is_named = true;
  r.is_best = true;
  r.outcome = measure::Outcome::pass;
  r.reason = "because";
  r.suspect_percent = 50;
  r.suspect = {"the clock fell by 11 %"};
  r.modelled_link = true;
  r.amount = 2.0 * 4096 * 4096 * 512;
  r.unit = "FLOP/s";
  r.peak = 1e12;
  r.roofline = {.flop = 2.0 * 4096 * 4096 * 512,
                .bytes = 2e8,
                .compute_peak = 2e12,
                .memory_peak = 1.5e9,
                .compute_is_measured = true,
                .memory_is_measured = true,
                .pcie_bytes = 1e6,
                .pcie_peak = 63e9};
  r.measures = measure::Resource::compute;
  r.extras = {{"bus bandwidth", 1.0 / 3, "B/s", 0.125},
              {"device traffic", 5e9, "B/s", 0, true, "traffic"}};
  r.kernels = {"gemm_naive_kernel: grid 128x128x1", "another: block 32x1x1"};
  r.implementation = "cublasDgemm";
  r.searched_s = 0.15;
  r.published = 2.5e12;
  r.published_on = "RTX A6000";
  r.seconds = {
      0.1, 0.11, 0.12, 0.1, 0.10000000000000001, 0.2, 0.1, 0.12, 0.11, 0.3, 0.1, 0.1, 0.1, 0.11,
      0.1, 0.1,  0.11, 0.2};
  r.timing = "device";
  r.batch = 100;
  r.clock_hz = {1.98e9, 1.98e9, 1.9e9, 1.97e9, 1.98e9, 1.9e9};
  r.power_w = {300, 310, 305.5};
  for (double const counted : {0.0, 5.0, 10.0, 15.0, 20.0, 30.0}) {
    r.energy_counter_j.insert(r.energy_counter_j.end(), {1e6 + counted, 2e6 + counted, 3e6});
  }
  r.first_use_s = 1.5;
  r.warmups = 7;
  r.warmup_s = 0.9;
  auto const leg = [](std::string name, std::vector<double> const& times) {
    measure::LegSamples samples{std::move(name), {}};
    for (double const time : times) samples.seconds.insert(samples.seconds.end(), 3, time);
    return samples;
  };
  r.legs = {leg("compute", {0.05, 0.06, 0.05, 0.06, 0.05, 0.06, 0.05}),
            leg("communicate", {0.05, 0.05, 0.05, 0.05, 0.05, 0.05}),
            leg("serial", {0.11, 0.11, 0.11, 0.11, 0.11, 0.11}),
            leg("overlapped", {0.07, 0.06, 0.07, 0.08, 0.07, 0.07})};
  auto const pair = [](int from, int to, std::string link, double latency_s) {
    return measure::PairTimes{
        from, to, std::move(link), 1e6, {latency_s, 2e-6, 3e-6}, {2e-5 + latency_s, 4e-5, 1e-5}};
  };
  r.pairs = {pair(0, 1, "NVLink", 2e-6),  pair(0, 2, "network", 8e-6), pair(1, 0, "NVLink", 2.5e-6),
             pair(1, 2, "network", 2e-6), pair(2, 0, "network", 5e-6), pair(2, 1, "network", 3e-6)};
  r.check = {1.25e-16, 3.5e-15, 2, "C(3, 4) on rank 1: expected 5, got nan", "0123abcd"};
  measure::finish(r);
  r.rounds = 3;
  r.fastest_round_s = 0.115;
  r.slowest_round_s = 0.125;
  r.ratio_to_vendor = 1.43;
  r.ratio_to_vendor_low = 1.4;
  r.ratio_to_vendor_high = 1.46;
  r.ratio_to_copy = 0.9;
  r.share_of_local = 0.95;
  r.share_of_local_low = 0.94;
  r.share_of_local_high = 0.96;
  return r;
}

/// A case that did not run: no ranks, no samples.
inline measure::Record skipped_record() {
  measure::Record r;
  r.id = "ptrans:cuda/tile";
  r.name = r.workload = "ptrans";
  r.type = "f32";
  r.variant = "cuda/tile";
  r.size = {1024, 512};
  r.outcome = measure::Outcome::unsupported;
  r.reason = "needs a GPU";
  return r;
}

inline measure::RunResult sample_result() {
  measure::RunResult result;
  result.info.run_id = "20260102-030405-abcd";
  result.info.started = "2026-01-02T03:04:05Z";
  result.info.finished = "2026-01-02T03:05:00Z";
  result.info.status = "finished";
  result.info.config = "[run]\nrepetitions = 4\n";
  result.info.build = {{"version", "0.1.0"}, {"commit", "1a72114"}, {"compiler", "GNU 12.2"},
                       {"flags", "-O3"},     {"MPI", "Open MPI"},   {"HDF5", "1.10.8"},
                       {"Kokkos", "4.7"},    {"BLAS", "OpenBLAS"},  {"CUDA", "absent"}};
  result.info.transport_times = {{"allreduce", 8, "ipc", 1.0 / 3, "ipc"},
                                 {"allreduce", std::int64_t{1} << 40, "mpi", 2.5, "hybrid"}};
  result.info.environment = {{"OMP_NUM_THREADS", "2"}, {"OMP_EMPTY", ""}};
  result.info.ranks = {{0, "n1", 0, "host", "", "", 0, "0-3", 1LL << 40, 4},
                       {1, "n1", 1, "host", "", "", 1, "4-7", 1LL << 40, 4},
                       {2, "n2", 0, "H200", "GPU-1", "0000:17:00.0", -1, "0", 5, 1, 0, 0,
                        "power limit 650 W; ECC on"}};
  result.info.events = {"warning: one rank is slow", "retry"};
  result.records = {sample_record(), skipped_record()};
  return result;
}

/// Everything that is kept, bit by bit: equal texts are equal results, NaN included.
inline std::string all_of(measure::RunResult const& result) {
  std::string text = io::to_json_line(result.info);
  for (measure::Record const& record : result.records) {
    text += '\n';
    text += io::to_json_line(record);
  }
  return text;
}

}  // namespace quadrille::test
