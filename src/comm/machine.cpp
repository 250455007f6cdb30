// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/machine.hpp"

#include "comm/transport.hpp"
#include "core/error.hpp"
#include "device/known_devices.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

namespace quadrille::comm {
namespace {

/// Cores of a host for each GPU: nodes of eight GPUs have 64 and more.
constexpr int kCoresOfGpu = 8;

}  // namespace

TransportEntry const& Machine::transport_entry(std::string_view name, double throttle) const {
  TransportEntry const* found = nullptr;
  for (TransportEntry const* entry : transports()) {
    if (entry->name == name) return *entry;
    bool const is_better = found == nullptr || entry->preference > found->preference;
    if (name == "auto" && is_better && entry->serves(*this, throttle)) found = entry;
  }
  if (found == nullptr) {
    core::fail(name == "auto"
                   ? "transport \"auto\": no transport serves these ranks"
                   : fmt::format("transport \"{}\" is unknown; `list transports` shows all", name),
               core::Exit::bad_config);
  }
  return *found;
}

PlannedMachine::PlannedMachine(device::KnownDevice const& known, int ranks,
                               core::RunSettings const& settings)
    : settings_{settings}, device_{device::make_planned_device(known, ranks)} {
  for (int rank = 0; rank < ranks; ++rank) {
    Placement& place = placements_.emplace_back();
    place.rank = rank;
    place.local_rank = rank;
    place.local_size = ranks;
    place.device = device_->facts().name;
    place.free_memory = static_cast<std::int64_t>(device_->free_memory());
    bool const is_gpu = device_->kind() == device::Kind::cuda;
    place.threads = is_gpu ? kCoresOfGpu : device_->facts().multiprocessors;
    if (is_gpu) place.uuid = fmt::format("GPU {}", rank);
  }
}

std::vector<int> PlannedMachine::planned_ranks() const {
  std::vector<int> ranks(placements_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

double PlannedMachine::free_host_memory() const {
  return device_->kind() == device::Kind::host ? static_cast<double>(device_->free_memory())
                                               : std::numeric_limits<double>::infinity();
}

}  // namespace quadrille::comm
