// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/version.hpp"
#include "comm/world.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "report/table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace quadrille::commands {
namespace {

/// The smallest step that the clock of the measurements shows, in seconds.
double clock_step() {
  using Clock = std::chrono::steady_clock;
  double step = 1;
  for (int i = 0; i < 1000; ++i) {
    Clock::time_point const start = Clock::now();
    Clock::time_point now = start;
    while (now == start) now = Clock::now();
    step = std::min(step, std::chrono::duration<double>(now - start).count());
  }
  return step;
}

/// "33.5 TFLOP/s f64, 66.9 TFLOP/s f32": what a unit computes, by type of the elements and, where
/// it differs, what they are computed in.
std::string peaks_of(device::Peaks const& peaks, device::Unit unit) {
  using core::Compute;
  using core::DataType;
  std::string text;
  for (auto const& [in, compute] :
       {std::pair{DataType::f64, Compute::f64}, std::pair{DataType::f32, Compute::f32},
        std::pair{DataType::f32, Compute::tf32}, std::pair{DataType::f16, Compute::f16},
        std::pair{DataType::bf16, Compute::f32}, std::pair{DataType::i8, Compute::i32}}) {
    double const peak = peaks.of(unit, in, compute);
    if (peak == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", core::format_rate(peak, "FLOP/s"),
                        core::to_text(in));
    if (core::to_text(in) != core::to_text(compute))
      text += fmt::format(":{}", core::to_text(compute));
  }
  return text.empty() ? "unknown" : text;
}

/// Threads of all ranks of the fullest node against its cores, as affinity masks allow.
std::string oversubscription(std::vector<comm::Placement> const& places, unsigned cores) {
  int most = 0;
  for (comm::Placement const& place : places)
    most = std::max(most, place.local_size * place.threads);
  if (most <= static_cast<int>(cores)) return {};
  return fmt::format("{} threads on a node of {} cores: start fewer ranks", most, cores);
}

void say(bool fine, std::string_view what, std::string const& text) {
  fmt::print("{:<5} {:<12} {}\n", fine ? "ok" : "WARN", what, text);
}

}  // namespace

core::Exit doctor(bool allow_shared_gpu, int& argc, char**& argv) {
  comm::World world{argc, argv};
  world.enter_phase("open the device", core::Timeouts{}.init_s);
  core::RunSettings settings;
  settings.allow_shared_gpu = allow_shared_gpu;
  world.open(settings);
  device::Facts const& facts = world.device().facts();
  // Every rank tells its neighbour who it is through the transport that runs would use.
  auto const channel = world.transport("auto").connect(world.group());
  device::Buffer<double> mine{world.device(), 1, world.stream()};
  device::Buffer<double> sum{world.device(), 1, world.stream()};
  double const rank = world.rank();
  world.stream().copy(mine.data(), &rank, sizeof(rank));
  channel
      ->allreduce({mine.data(), mine.bytes()}, {sum.data(), sum.bytes()}, core::DataType::f64,
                  comm::ReduceOp::sum, world.stream())
      .wait_on(world.stream());
  double got = 0;
  world.stream().copy(&got, sum.data(), sizeof(got));
  world.stream().synchronize();
  double const expected = world.size() * (world.size() - 1) / 2.0;
  bool const exchanged = world.group().agree(!(got == expected)) < 0;

  if (world.rank() == 0) {
    measure::RunInfo here;
    here.build = build_facts();
    here.ranks = world.placements();
    fmt::print("{}\n", report::render_run_header(here));
    std::string why_no_gpu;
    int const gpus = device::cuda_device_count(&why_no_gpu);
    say(gpus > 0, "gpu", gpus > 0 ? fmt::format("{} visible to rank 0", gpus) : why_no_gpu);
    say(true, "device",
        fmt::format("{}, {} {}, {}", facts.name, facts.multiprocessors,
                    world.device().kind() == device::Kind::cuda ? "multiprocessors" : "threads",
                    core::format_bytes(static_cast<double>(facts.memory_bytes))));
    if (world.device().kind() == device::Kind::cuda) {
      say(true, "limits",
          fmt::format("{}.{}, {} read and written, {} of L2 cache", facts.compute_capability / 10,
                      facts.compute_capability % 10, core::format_rate(facts.peak_bandwidth, "B/s"),
                      core::format_bytes(static_cast<double>(facts.l2_bytes))));
      for (auto const& [unit, name] : enum_names(device::Unit{})) {
        say(true, name, peaks_of(facts.peaks, unit));
      }
      auto const now = world.device().telemetry();
      say(now.has_value(), "telemetry",
          now ? fmt::format("{:.0f} MHz, memory {:.0f} MHz, {:.0f} W, {:.0f} C",
                            now->clock_hz / 1e6, now->memory_clock_hz / 1e6, now->power_w,
                            now->temperature_c)
              : "unavailable: NVML (libnvidia-ml.so.1) was not found or does not answer");
    }
    if (world.device().kind() == device::Kind::host) {
      double const peak = facts.peaks.of(core::DataType::f64, core::Compute::f64);
      say(true, "limits",
          fmt::format("{} f64; of the memory unknown: no system tells",
                      peak > 0 ? core::format_rate(peak, "FLOP/s") : "unknown"));
    }
    say(true, "launcher",
        world.launcher().name.empty() ? "none: a single process" : world.launcher().name);
    unsigned const cores = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
    std::string const crowded = oversubscription(world.placements(), cores);
    say(crowded.empty(), "threads",
        crowded.empty() ? fmt::format("fit into {} cores", cores) : crowded);
    say(clock_step() < 1e-6, "clock",
        fmt::format("steps of {}", core::format_seconds(clock_step())));
    say(exchanged, "transport",
        exchanged ? "an allreduce over all ranks gave the right sum"
                  : fmt::format("allreduce gave {} instead of {}", got, expected));
    for (comm::TransportEntry const* entry : comm::transports()) {
      std::string const reason = entry->unavailable_reason(&world);
      fmt::print("      {:<12} {}\n", entry->name,
                 reason.empty() ? "available" : "unavailable: " + reason);
    }
  }
  return exchanged ? core::Exit::pass : core::Exit::runtime;
}

}  // namespace quadrille::commands
