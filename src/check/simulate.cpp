// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/simulate.hpp"

#include "check/reference.hpp"
#include "core/stats.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <utility>

namespace quadrille::check {
namespace {

constexpr int kNodes = 64, kGpus = 8, kSamples = 15;
constexpr double kOutliers = 0.01, kOutlierLoss = 0.2;
constexpr double kSpread = 0.005, kMaxDrift = 0.02;
constexpr int kOneSlowMachineIn = 10;

/// Metrics of which no samples need be kept vary as others do.
constexpr std::pair<std::string_view, std::string_view> kLike[] = {
    {"gemm_f64_settled", "gemm_f64"}, {"gemm_bf16_settled", "gemm_bf16"},
    {"exact_f64", "gemm_f64"},        {"exact_f32", "gemm_f32"},
    {"exact_tf32", "gemm_tf32"},      {"exact_bf16", "gemm_bf16"},
    {"memory_bits", "memory_copy"},   {"memory_inverted", "memory_copy"},
    {"gpu_to_gpu", "device_to_host"}};

// Names of models, as the tables of a reference have them.
constexpr std::string_view kGpuModel = "simulated GPU", kNodeModel = "simulated node";

/// A fault of a GPU, or of all GPUs of a node.
struct Fault {
  std::string_view name;
  bool must_be_found;
  bool of_all_gpus;
  void (*plant)(Reading& reading);
};

template <Part part, int percent>
void slow(Reading& reading) {
  if (reading.metric->part != part) return;
  double const share = 1 - percent / 100.0;
  reading.value *= reading.metric->lower_is_better() ? 1 / share : share;
}

constexpr Fault kFaults[] = {
    {"GPU 3 % slow", false, false, slow<Part::processor, 3>},
    {"GPU 5 % slow", false, false, slow<Part::processor, 5>},
    {"GPU 10 % slow", true, false, slow<Part::processor, 10>},
    {"GPU 30 % slow", true, false, slow<Part::processor, 30>},
    {"host links of a node 30 % slow", true, true, slow<Part::host_link, 30>},
    {"hot GPU", true, false,
     [](Reading& reading) {
       if (reading.metric->is_settled) reading.value *= 0.85;
     }},
    {"NVLink lane of 18 dead", false, false, slow<Part::peer_link, 6>},
    {"wrong bit", true, false,
     [](Reading& reading) {
       if (reading.metric->name == "gemm_f64") reading.wrong = "C(0, 0): a bit differs";
     }},
};
constexpr Fault kSlowMachine{"whole machine 15 % slow", true, true, [](Reading& reading) {
                               bool const is_time = reading.metric->lower_is_better();
                               reading.value *= is_time ? 1 / 0.85 : 0.85;
                             }};

class Machine {
 public:
  Machine(KeptSamples const& kept, std::uint64_t seed) : kept_{kept}, random_{seed} {
    for (int node = 0; node < kNodes; ++node) {
      subjects_.push_back(make(node, -1));
      for (int gpu = 0; gpu < kGpus; ++gpu) subjects_.push_back(make(node, gpu));
    }
  }

  std::vector<Subject>& subjects() { return subjects_; }
  std::mt19937_64& random() { return random_; }

 private:
  double uniform() { return std::uniform_real_distribution<double>{0, 1}(random_); }

  Subject make(int node, int gpu) {
    Subject subject{.node = fmt::format("node{:02}", node),
                    .gpu = gpu,
                    .model = std::string{gpu < 0 ? kNodeModel : kGpuModel}};
    double const own = std::normal_distribution<double>{1, kSpread}(random_);
    double const drift = kMaxDrift * uniform(), phase = uniform();
    double time = 0;
    auto const all = static_cast<double>(kept_.size());
    for (auto const& [metric, samples] : kept_) {
      if ((metric->scope == Scope::device) != (gpu >= 0)) continue;
      std::vector<double> drawn;
      for (int i = 0; i < kSamples; ++i) {
        time += 1 / (kSamples * all);
        double value = own * samples[random_() % samples.size()];
        value *= 1 + drift * std::sin(2 * std::numbers::pi * (time + phase));
        if (uniform() < kOutliers) {
          value *= metric->lower_is_better() ? 1 / (1 - kOutlierLoss) : 1 - kOutlierLoss;
        }
        drawn.push_back(value);
      }
      core::Summary const summary = core::summarize(drawn);
      subject.readings.push_back(
          {.metric = metric, .value = summary.median, .uncertainty = summary.half_width()});
    }
    return subject;
  }

  KeptSamples const& kept_;
  std::mt19937_64 random_;
  std::vector<Subject> subjects_;
};

std::size_t place_of(int node, int gpu) {
  return static_cast<std::size_t>(node * (kGpus + 1) + 1 + gpu);
}

void plant(Fault const& fault, std::vector<Subject>& subjects, int node, int gpu) {
  for (int one = 0; one < kGpus; ++one) {
    if (!fault.of_all_gpus && one != gpu) continue;
    for (Reading& reading : subjects[place_of(node, one)].readings) fault.plant(reading);
  }
}

bool is_called(std::vector<Assessment> const& assessments, int node) {
  for (int gpu = -1; gpu < kGpus; ++gpu) {
    if (assessments[place_of(node, gpu)].finding.verdict != Verdict::pass) return true;
  }
  return false;
}

/// Whether exactly the GPUs that have the fault are called SLOW or BROKEN.
bool is_found(std::vector<Assessment> const& assessments, Fault const& fault, int node, int gpu) {
  for (int one = 0; one < kGpus; ++one) {
    bool const has_fault = fault.of_all_gpus || one == gpu;
    if (has_fault && assessments[place_of(node, one)].finding.verdict < Verdict::slow) return false;
  }
  return true;
}

void simulate_slow_machine(KeptSamples const& kept, Criteria const& criteria, std::uint64_t seed,
                           FaultCount& count) {
  Machine machine{kept, seed};
  for (int node = 0; node < kNodes; ++node) plant(kSlowMachine, machine.subjects(), node, 0);
  std::vector<Assessment> const assessments = assess(machine.subjects(), criteria);
  for (int node = 0; node < kNodes; ++node) {
    ++count.planted;
    count.found += is_found(assessments, kSlowMachine, node, 0) ? 1 : 0;
  }
}

}  // namespace

core::Parsed<KeptSamples> read_samples(std::string_view text, std::string_view origin) {
  using Result = core::Parsed<KeptSamples>;
  KeptSamples kept;
  int number = 0;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1 && line == "metric,value") continue;
    std::size_t const comma = std::min(line.find(','), line.size());
    Metric const* const metric = find_metric(line.substr(0, comma));
    std::string_view const rest = line.substr(std::min(comma + 1, line.size()));
    double value = 0;
    auto const [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    bool const is_whole = number > 1 && metric != nullptr && error == std::errc{} &&
                          stop == rest.data() + rest.size() && value > 0 && std::isfinite(value);
    if (!is_whole) {
      return Result::error(
          fmt::format("{}:{}: '{}'; needs a line \"metric,value\", and then such lines: a metric "
                      "that `quadrille "
                      "explain check` names, and a value above 0",
                      origin, number, core::one_line(line.substr(0, 60))));
    }
    kept[metric].push_back(value);
  }
  if (kept.empty()) return Result::error(fmt::format("{}: has no samples", origin));
  for (auto const& [name, other] : kLike) {
    auto const known = kept.find(find_metric(other));
    if (known != kept.end()) kept.try_emplace(find_metric(name), known->second);
  }
  for (auto& [metric, samples] : kept) {
    double const median = core::summarize(samples).median;
    for (double& value : samples) value /= median;
  }
  return kept;
}

double Simulation::found_share() const {
  std::int64_t planted = 0, found = 0;
  for (FaultCount const& count : faults) {
    if (!count.must_be_found) continue;
    planted += count.planted;
    found += count.found;
  }
  return static_cast<double>(found) / static_cast<double>(planted);
}

double Simulation::false_share() const {
  return static_cast<double>(false_alarms) / static_cast<double>(healthy);
}

bool Simulation::is_good() const { return found_share() >= 0.98 && false_share() <= 0.01; }

Simulation simulate(KeptSamples const& kept, std::int64_t machines, std::uint64_t seed) {
  Simulation simulation;
  for (Fault const& fault : kFaults) simulation.faults.push_back({fault.name, fault.must_be_found});
  FaultCount slow_machines{kSlowMachine.name, kSlowMachine.must_be_found};
  // As --write-reference makes it of a machine that is all right.
  std::string const table = reference_of(Machine{kept, ~seed}.subjects(), "simulated");
  Criteria const criteria{.reference = *read_reference(table, "simulated")};
  for (std::int64_t m = 0; m < machines; ++m) {
    std::uint64_t const own_seed = seed * 1'000'003 + static_cast<std::uint64_t>(m);
    if (m % kOneSlowMachineIn == kOneSlowMachineIn - 1) {
      simulate_slow_machine(kept, criteria, own_seed, slow_machines);
      continue;
    }
    Machine machine{kept, own_seed};
    std::vector<int> nodes(kNodes);
    for (int i = 0; i < kNodes; ++i) nodes[static_cast<std::size_t>(i)] = i;
    std::ranges::shuffle(nodes, machine.random());
    std::vector<int> gpus;
    for (std::size_t f = 0; f < std::size(kFaults); ++f) {
      gpus.push_back(static_cast<int>(machine.random()() % kGpus));
      plant(kFaults[f], machine.subjects(), nodes[f], gpus[f]);
    }
    // A counter that cannot be read is a fact, which decides nothing: this node is healthy.
    machine.subjects()[place_of(nodes[std::size(kFaults)], 0)].facts = {
        {"error counters", "not told"}};
    std::vector<Assessment> const assessments = assess(machine.subjects(), criteria);
    for (std::size_t f = 0; f < std::size(kFaults); ++f) {
      ++simulation.faults[f].planted;
      simulation.faults[f].found += is_found(assessments, kFaults[f], nodes[f], gpus[f]) ? 1 : 0;
    }
    for (std::size_t i = std::size(kFaults); i < nodes.size(); ++i) {
      ++simulation.healthy;
      simulation.false_alarms += is_called(assessments, nodes[i]) ? 1 : 0;
    }
  }
  simulation.faults.push_back(slow_machines);
  return simulation;
}

}  // namespace quadrille::check
