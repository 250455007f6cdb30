// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/known_devices.hpp"

#include "device/code_architecture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::device {
namespace {

constexpr std::size_t kMiB = 1 << 20;
/// What the driver and a context take of a GPU's memory.
constexpr std::size_t kContextBytes = 600 * kMiB;

struct Gpu {
  std::string_view name, architecture, full_name;
  int compute_capability, multiprocessors;
  std::size_t memory_mib, l2_mib;
  double clock_mhz, memory_clock_mhz;
  int memory_bits;
};
/// As their drivers report them.
constexpr Gpu kGpus[] = {
    {"A100", "80", "NVIDIA A100-SXM4-80GB", 80, 108, 81'153, 40, 1410, 1593, 5120},
    {"H100 SXM", "90a", "NVIDIA H100 80GB HBM3", 90, 132, 81'079, 50, 1980, 2619, 5120},
    {"H100 PCIe", "90a", "NVIDIA H100 PCIe", 90, 114, 81'079, 50, 1755, 1593, 5120},
    {"H200", "90a", "NVIDIA H200", 90, 132, 143'167, 60, 1980, 3201, 6144},
    {"B200", "100", "NVIDIA B200", 100, 148, 183'359, 126, 1965, 3996, 8192},
};

/// A small machine that everybody has.
KnownDevice host() {
  constexpr int kCores = 2;
  constexpr double kClock = 2.5e9;
  KnownDevice host{.name = kHostName, .architecture = "", .facts = {}};
  host.facts.name = "two cores";
  host.facts.multiprocessors = kCores;
  host.facts.memory_bytes = 16'384 * kMiB;
  host.facts.clock_hz = kClock;
  host.facts.peaks = {.clocks_of_all_units = kCores * kClock, .fused_bits = 2 * 256};
  return host;
}

KnownDevice known(Gpu const& gpu) {
  KnownDevice known{.name = gpu.name, .architecture = gpu.architecture, .facts = {}};
  Facts& facts = known.facts;
  facts.name = gpu.full_name;
  facts.compute_capability = gpu.compute_capability;
  facts.code = code_of_program(gpu.compute_capability);
  facts.multiprocessors = gpu.multiprocessors;
  facts.memory_bytes = gpu.memory_mib * kMiB;
  facts.l2_bytes = gpu.l2_mib * kMiB;
  facts.clock_hz = 1e6 * gpu.clock_mhz;
  facts.memory_clock_hz = 1e6 * gpu.memory_clock_mhz;
  facts.peak_bandwidth = 2 * facts.memory_clock_hz * gpu.memory_bits / 8;
  facts.peaks = {.compute_capability = gpu.compute_capability,
                 .clocks_of_all_units = facts.clock_hz * gpu.multiprocessors};
  return known;
}

class PlannedDevice final : public Device {
 public:
  PlannedDevice(Kind kind, Facts facts) : kind_{kind}, facts_{std::move(facts)} {}

  Kind kind() const override { return kind_; }
  Facts const& facts() const override { return facts_; }
  std::size_t free_memory() const override {
    return facts_.memory_bytes - (kind_ == Kind::cuda ? kContextBytes : 0);
  }
  void bind_thread() override { absent(); }
  std::unique_ptr<StreamBackend> make_stream(Priority, std::string const&) override { absent(); }
  std::unique_ptr<EventBackend> make_event() override { absent(); }
  std::unique_ptr<FlagBackend> make_flag() override { absent(); }
  void* allocate(std::size_t) override { absent(); }
  void release(void*) noexcept override {}
  core::Parsed<void*> allocate_shared(std::size_t) override { absent(); }
  void release_shared(void*) noexcept override {}
  core::Parsed<std::string> handle_of(void*) override { absent(); }
  core::Parsed<void*> open_shared(std::string const&) override { absent(); }
  void close_shared(void*) noexcept override {}
  void* allocate_pinned(std::size_t) override { absent(); }
  void release_pinned(void*) noexcept override {}

 private:
  [[noreturn]] static void absent() {
    core::fail("a device that is only planned for does no work");
  }

  Kind kind_;
  Facts facts_;
};

}  // namespace

std::span<KnownDevice const> known_devices() {
  static std::vector<KnownDevice> const all = [] {
    std::vector<KnownDevice> devices{host()};
    for (Gpu const& gpu : kGpus) devices.push_back(known(gpu));
    return devices;
  }();
  return all;
}

std::vector<std::string> names_of_known_devices() {
  std::vector<std::string> names;
  for (KnownDevice const& known : known_devices()) names.emplace_back(known.name);
  return names;
}

KnownDevice const* known_device(std::string_view name) {
  auto const all = known_devices();
  auto const found = std::ranges::find(all, name, &KnownDevice::name);
  return found == all.end() ? nullptr : &*found;
}

KnownDevice const* known_device_like(Facts const& gpu) {
  auto const all = known_devices();
  auto const is_like = [&](KnownDevice const& known) {
    auto const bytes = static_cast<double>(known.facts.memory_bytes);
    return known.kind() == Kind::cuda && known.facts.compute_capability == gpu.compute_capability &&
           known.facts.multiprocessors == gpu.multiprocessors &&
           std::abs(static_cast<double>(gpu.memory_bytes) - bytes) < 0.1 * bytes;
  };
  auto const found = std::ranges::find_if(all, is_like);
  return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<Device> make_planned_device(KnownDevice const& known, int ranks) {
  Facts facts = known.facts;
  facts.index = -1;
  if (known.kind() == Kind::host) {
    int const threads = std::max(1, facts.multiprocessors / ranks);
    facts.peaks.clocks_of_all_units = facts.clock_hz * threads;
    facts.multiprocessors = threads;
  } else if (facts.code.compute_capability == 0) {
    facts.code = code_for(known.architecture, facts.compute_capability);
  }
  return std::make_unique<PlannedDevice>(known.kind(), std::move(facts));
}

}  // namespace quadrille::device
