// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/cpu_share.hpp"
#include "comm/transport_choice.hpp"
#include "comm/version.hpp"
#include "comm/world.hpp"
#include "commands/build_config.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/finding.hpp"
#include "commands/launch_line.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "device/driver.hpp"
#include "device/host/settings.hpp"
#include "device/host/topology.hpp"
#include "device/openmp_environment.hpp"
#include "report/document.hpp"
#include "report/table.hpp"
#include "support/index_map.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

namespace quadrille::commands {
namespace {

struct DoctorArguments {
  bool allow_shared_gpu = false;
  std::string device_map = "auto";
  bool json = false;
};

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
        std::pair{DataType::f32, Compute::tf32}, std::pair{DataType::f32, Compute::bf16},
        std::pair{DataType::f16, Compute::f16}, std::pair{DataType::bf16, Compute::f32},
        std::pair{DataType::i8, Compute::i32}}) {
    double const peak = peaks.of(unit, in, compute);
    if (peak == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", core::format_rate(peak, "FLOP/s"),
                        core::to_text(in));
    if (core::to_text(in) != core::to_text(compute))
      text += fmt::format(":{}", core::to_text(compute));
  }
  return text.empty() ? "unknown" : text;
}

using Json = nlohmann::ordered_json;

/// What starts this program as it was meant; launch_line() of it and `ranks` is the remedy of most.
LaunchFacts launch_facts(comm::World const& world, int gpus) {
  LaunchFacts facts;
  std::error_code none;
  if (std::filesystem::exists(QUADRILLE_MPIRUN, none)) facts.mpirun = QUADRILLE_MPIRUN;
  facts.is_open_mpi = comm::is_open_mpi();
  facts.is_slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  facts.is_root = geteuid() == 0;
  facts.cores_per_node = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.gpus_per_node = gpus;
  facts.nodes = world.nodes();
  facts.ranks_per_node = gpus > 0 ? gpus : facts.cores_per_node;
  return facts;
}

/// This command, for a shell.
std::string program() { return fmt::format("{} doctor", shell_word(program_path())); }

class Examination {
 public:
  Examination(comm::World& world, core::RunSettings const& settings)
      : world_{world}, settings_{settings} {
    gpus_ = device::cuda_device_count(&why_no_gpu_);
    launch_ = launch_facts(world, gpus_);
  }

  /// By which "auto" chooses between transports; empty where there is no choice.
  std::vector<comm::TransportTime> const& transport_times() const { return transport_times_; }

  /// Collective, but where a rank is alone.
  std::vector<Finding> run() {
    std::string const lone = world_.singleton_error();
    if (!lone.empty()) {
      LaunchFacts facts = launch_;
      if (gpus_ == 0) facts.ranks_per_node = world_.launcher().size;
      add(Status::fail, "launcher", lone, launch_line(facts, program()));
      return findings_;
    }
    add(Status::ok, "launcher",
        world_.launcher().name.empty() ? "none: a single process" : world_.launcher().name);
    gpus_ > 0 ? add(Status::ok, "gpu", fmt::format("{} visible to rank 0", gpus_))
              : add(Status::warn, "gpu", why_no_gpu_);
    std::string const misplaced = world_.choose_devices(settings_);
    if (!misplaced.empty()) {
      add(Status::fail, "device", misplaced, launch_line(launch_, program()));
      return findings_;
    }
    world_.open(settings_);
    add_device();
    add(findings_of(device::host_settings(), world_.nodes()));
    add_ranks();
    double const step = clock_step();
    add(step < 1e-6 ? Status::ok : Status::warn, "clock",
        fmt::format("steps of {}", core::format_seconds(step)),
        step < 1e-6 ? "" : "choose the clocksource tsc of the system");
    add_transports();
    measure_transports();
    return findings_;
  }

 private:
  void add(Status status, std::string name, std::string text, std::string remedy = {}) {
    findings_.push_back({status, std::move(name), std::move(text), std::move(remedy)});
  }

  void add(std::vector<Finding> const& found) {
    findings_.insert(findings_.end(), found.begin(), found.end());
  }

  void add_device() {
    device::Device& device = world_.device();
    device::Facts const& facts = device.facts();
    bool const is_gpu = device.kind() == device::Kind::cuda;
    add(Status::ok, "device",
        fmt::format("{}, {} {}{}, {}", facts.name, facts.multiprocessors,
                    is_gpu ? "multiprocessor" : "thread", facts.multiprocessors == 1 ? "" : "s",
                    core::format_bytes(static_cast<double>(facts.memory_bytes))));
    if (!is_gpu) {
      double const peak = facts.peaks.of(core::DataType::f64, core::Compute::f64);
      add(Status::ok, "limits",
          fmt::format("{} f64; the bandwidth of the memory is not reported",
                      peak > 0 ? core::format_rate(peak, "FLOP/s") : "unknown"));
      return;
    }
    add(Status::ok, "limits",
        fmt::format("{}.{}, {} read and written, {} of L2 cache", facts.compute_capability / 10,
                    facts.compute_capability % 10, core::format_rate(facts.peak_bandwidth, "B/s"),
                    core::format_bytes(static_cast<double>(facts.l2_bytes))));
    add(Status::ok, "address", fmt::format("{}, PCI {}", facts.uuid, facts.pci));
    add(findings_of(device.settings()));
    add_kernels(facts);
    add_launches();
    for (auto const& [unit, name] : enum_names(device::Unit{})) {
      add(Status::ok, std::string{name}, peaks_of(facts.peaks, unit));
    }
    auto const now = device.telemetry();
    now ? add(Status::ok, "telemetry",
              fmt::format("{:.0f} MHz, memory {:.0f} MHz, {:.0f} W, {:.0f} C", now->clock_hz / 1e6,
                          now->memory_clock_hz / 1e6, now->power_w, now->temperature_c))
        : add(Status::warn, "telemetry", "unavailable: NVML does not answer",
              "install the driver's libnvidia-ml.so.1");
  }

  /// Those for an earlier device run too, but rows that need a later one, or sm_90a, do not.
  void add_kernels(device::Facts const& facts) {
    int const there = facts.compute_capability, compiled = facts.code.compute_capability;
    bool const fits = compiled / 10 == there / 10 && (there != 90 || facts.code.exact);
    add(fits ? Status::ok : Status::warn, "kernels",
        fmt::format("compiled for sm_{}{}", compiled, facts.code.exact ? "a" : ""),
        fits ? ""
             : fmt::format("configure with -DQUADRILLE_CUDA_ARCHITECTURES={}{}", there,
                           there == 90 ? "a" : ""));
  }

  /// Grids and blocks of one to three dimensions, whose threads each enter who they are.
  void add_launches() {
    std::string const fault = kernels::vector::index_map_fault(world_.stream());
    fault.empty() ? add(Status::ok, "launches",
                        fmt::format("in {} shapes of grid and block thread indices are right",
                                    kernels::vector::kIndexShapes.size()))
                  : add(Status::fail, "launches", fault, "check the driver of this GPU");
  }

  void add_ranks() {
    int const local = world_.placement().local_size;
    if (world_.device().kind() == device::Kind::cuda && local < gpus_) {
      add(Status::warn, "ranks",
          fmt::format("{} of {} GPUs of a node are idle", gpus_ - local, gpus_),
          launch_line(launch_, program()));
    } else {
      add(Status::ok, "ranks",
          fmt::format("{} rank{} on {} node{}", world_.size(), world_.size() == 1 ? "" : "s",
                      world_.nodes(), world_.nodes() == 1 ? "" : "s"));
    }
    add_threads();
    add_binding();
    std::string ignored;
    for (char const* const variable : device::removed_openmp_variables()) {
      ignored += fmt::format("{}{}", ignored.empty() ? "" : ", ", variable);
    }
    if (!ignored.empty()) {
      add(Status::note, "openmp", "not used, as streams have threads of their own: " + ignored);
    }
  }

  void add_threads() {
    std::vector<comm::Placement> const& ranks = world_.placements();
    comm::Placement const* const waiting = comm::waiting_for_cpus(ranks);
    if (waiting == nullptr) {
      double cores = 0;
      for (comm::Placement const& place : ranks) cores += place.cores;
      add(Status::ok, "threads", fmt::format("have cores of their own, {:.0f} in all", cores));
      return;
    }
    LaunchFacts fewer = launch_;
    fewer.ranks_per_node = std::min(fewer.ranks_per_node, fewer.cores_per_node);
    add(Status::warn, "threads", comm::cpu_contention(ranks),
        comm::is_throttled(*waiting)
            ? "give the job more CPUs (docker --cpus, limits.cpu of a pod, CPUQuota of systemd)"
            : launch_line(fewer, program()));
  }

  /// Whether each rank's CPUs are next to its GPU. Collective.
  void add_binding() {
    comm::Placement const& mine = world_.placement();
    std::string const near = device::cpus_of_numa_node(mine.numa);
    std::set<int> const cores = device::cores_of(mine.cpus);
    bool const is_apart =
        !near.empty() && std::ranges::none_of(device::cores_of(near),
                                              [&](int core) { return cores.contains(core); });
    std::string text = fmt::format("the GPU of rank {} is next to the CPUs {}, and it runs on {}",
                                   mine.rank, near, mine.cpus);
    int const rank = world_.group().agree(is_apart);
    if (rank < 0) return;
    world_.group().broadcast(text, rank);
    add(Status::warn, "binding", text, "bind ranks to the CPUs of their GPUs, or to none");
  }

  void add_transports() {
    std::string_view wrong_one;
    int wrong = -1;
    for (comm::TransportEntry const* entry : comm::transports()) {
      if (wrong >= 0 || !entry->serves(world_)) continue;
      wrong = rank_with_wrong_sum(*entry);
      wrong_one = entry->name;
    }
    wrong < 0
        ? add(Status::ok, "transport", "an allreduce over all ranks gave the right sum")
        : add(Status::fail, "transport",
              fmt::format("an allreduce by {} gave a wrong sum on rank {}", wrong_one, wrong),
              "run with another, as by --set run.transport=mpi, and check the library and the "
              "network of this one");
    for (comm::TransportEntry const* entry : comm::transports()) {
      std::string const reason = entry->unavailable_reason(&world_);
      add(Status::note, std::string{entry->name},
          reason.empty() ? "available" : "unavailable: " + reason);
    }
  }

  /// Of all ranks' numbers by a transport that runs may use; -1 where all have the right one.
  int rank_with_wrong_sum(comm::TransportEntry const& entry) {
    auto const channel = world_.transport(entry.name).connect(world_.group());
    device::Buffer<double> mine{world_.device(), 1, world_.stream()};
    device::Buffer<double> sum{world_.device(), 1, world_.stream()};
    double const rank = world_.rank();
    world_.stream().copy(mine.data(), &rank, sizeof(rank));
    channel
        ->allreduce({mine.data(), mine.bytes()}, {sum.data(), sum.bytes()}, core::DataType::f64,
                    comm::ReduceOp::sum, world_.stream())
        .wait_on(world_.stream());
    double got = 0;
    world_.stream().copy(&got, sum.data(), sizeof(got));
    world_.stream().synchronize();
    double const expected = world_.size() * (world_.size() - 1) / 2.0;
    return world_.group().agree(!(got == expected));
  }

  void measure_transports() {
    comm::TransportChoice choice{world_};
    for (auto const& [operation, name] : enum_names(comm::Operation{})) {
      choice.best({.operation = operation, .bytes = 0});
    }
    transport_times_ = choice.times();
  }

  comm::World& world_;
  core::RunSettings const& settings_;
  int gpus_ = 0;
  std::string why_no_gpu_;
  LaunchFacts launch_;
  std::vector<Finding> findings_;
  std::vector<comm::TransportTime> transport_times_;
};

void print(std::vector<Finding> const& findings, measure::RunInfo const& here) {
  report::Table table = report::text_table({"", "", ""});
  for (Finding const& found : findings) {
    table.add_row({std::string{core::to_text(found.status)}, found.name, found.text});
    if (!found.remedy.empty()) table.add_row({"", "try", found.remedy});
  }
  report::Terminal terminal = report::terminal_of_output();
  if (!terminal.is_read)
    terminal.width = report::kUnlimited.width;  // remedies stay lines of a shell
  core::print("{}\n{}", report::render_run_header(here, terminal), write_text(table, terminal));
  if (here.transport_times.empty()) return;
  core::print("\n{}", report::render_transport_times(here.transport_times, terminal));
}

void print_json(std::vector<Finding> const& findings, measure::RunInfo const& here, Status worst) {
  Json rows = Json::array(), ranks = Json::array(), times = Json::array();
  Json build = Json::object();
  for (Finding const& found : findings) {
    rows.push_back({{"name", found.name},
                    {"status", core::to_text(found.status)},
                    {"text", found.text},
                    {"remedy", found.remedy.empty() ? Json{} : Json(found.remedy)}});
  }
  for (comm::Placement const& place : here.ranks) {
    Json& rank = ranks.emplace_back(Json::object());
    visit_members(place, [&](char const* name, auto const& member) { rank[name] = member; });
  }
  for (comm::TransportTime const& time : here.transport_times) {
    Json& row = times.emplace_back(Json::object());
    visit_members(time, [&](char const* name, auto const& member) { row[name] = member; });
  }
  for (auto const& [name, value] : here.build) build[name] = value;
  Json const document{{"verdict", core::to_text(worst)},
                      {"rows", rows},
                      {"ranks", ranks},
                      {"transport_times", times},
                      {"build", build}};
  core::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// Starts MPI and proves placement and capabilities without measuring anything. Exit::environment
/// where runs would fail.
core::Exit doctor(DoctorArguments const& arguments, int& argc, char**& argv) {
  comm::World world{argc, argv};
  world.enter_phase("examine", core::Timeouts{}.init_s);
  bool const is_lone = !world.singleton_error().empty();
  bool const speaks = (is_lone ? world.launcher().rank : world.rank()) <= 0;
  core::RunSettings settings;
  settings.allow_shared_gpu = arguments.allow_shared_gpu;
  if (arguments.device_map != "auto") {
    auto const map = core::parse_device_map(arguments.device_map);
    if (!map) {
      if (speaks) core::print_error("quadrille: --device-map: {}\n", core::one_line(map.why()));
      return core::Exit::bad_config;
    }
    settings.device_map = *map;
  }
  Examination examination{world, settings};
  std::vector<Finding> const findings = examination.run();
  Status const worst = std::ranges::max_element(findings, {}, &Finding::status)->status;
  if (speaks) {
    measure::RunInfo here;
    here.build = build_facts();
    here.ranks = world.placements();
    here.transport_times = examination.transport_times();
    arguments.json ? print_json(findings, here, worst) : print(findings, here);
    core::flush_output();
  } else if (is_lone) {
    // The launcher ends all tasks once the first has failed.
    std::this_thread::sleep_for(std::chrono::seconds{2});
  }
  return worst == Status::fail ? core::Exit::environment : core::Exit::pass;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<DoctorArguments>();
  CLI::App* const command =
      app.add_subcommand("doctor", "Show placement and capabilities, without a benchmark");
  command->add_flag("--allow-shared-gpu", arguments->allow_shared_gpu,
                    "Let several ranks drive one GPU");
  command->add_option("--device-map", arguments->device_map,
                      "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  command->add_flag("--json", arguments->json, "As one JSON document");
  command->footer("Example: mpirun -n 2 quadrille doctor");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return doctor(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
