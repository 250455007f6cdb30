// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"

#include "comm/world.hpp"
#include "core/error.hpp"
#include "core/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::comm {
namespace {

template <class Predicate>
std::vector<std::string_view> names_of(Predicate has) {
  std::vector<std::string_view> names;
  for (TransportEntry const* entry : transports()) {
    if (has(*entry)) names.push_back(entry->name);
  }
  return names;
}

}  // namespace

// clang-format off
QUAD_TABLE(TransportEntry const, kTable,
  nccl_transport,
  nccl_plain_transport,
  ipc_transport,
  hybrid_transport,
  mpi_transport,
  mpi_gpu_transport,
  mpi_blocking_transport,
  reference_transport
);
// clang-format on

std::string TransportEntry::unsupported_reason(Machine const& machine, double throttle) const {
  if (!moves(machine.device().kind())) {
    return fmt::format("transport \"{}\" moves {} memory only", name, moves_gpu ? "GPU" : "host");
  }
  if (throttle > 0 && !models_link) {
    return fmt::format("transport \"{}\" has no modelled link", name);
  }
  std::string const reason = unavailable_reason(&machine);
  return reason.empty() ? "" : fmt::format("transport \"{}\" is unavailable: {}", name, reason);
}

bool TransportEntry::serves(Machine const& machine, double throttle) const {
  return is_selectable && unsupported_reason(machine, throttle).empty();
}

std::span<TransportEntry const* const> transports() { return kTable; }

std::vector<std::string_view> selectable_transports() {
  return names_of([](TransportEntry const& entry) { return entry.is_selectable; });
}

Unsupported unsupported(std::string_view name, Machine const& machine, double throttle) {
  TransportEntry const& entry = machine.transport_entry(name);
  std::string const why = entry.unsupported_reason(machine, throttle);
  device::Kind const kind = machine.device().kind();
  if (!entry.moves(kind)) {
    auto const others = names_of(
        [kind](TransportEntry const& other) { return other.is_selectable && other.moves(kind); });
    return {fmt::format("{}; use {}, or run.device = \"{}\"", why, fmt::join(others, " or "),
                        entry.moves_gpu ? "cuda" : "host"),
            core::Exit::bad_config};
  }
  if (throttle > 0 && !entry.models_link) {
    auto const others = names_of([](TransportEntry const& other) { return other.models_link; });
    return {fmt::format("{}; use {} with throttle", why, fmt::join(others, " or ")),
            core::Exit::bad_config};
  }
  return {why, why.empty() ? core::Exit::pass : core::Exit::environment};
}

std::unique_ptr<Transport> make_transport(std::string_view name, World const& world,
                                          TransportOptions const& options) {
  Unsupported const refusal = unsupported(name, world, options.throttle);
  if (!refusal.why.empty()) core::fail(refusal.why, refusal.code);
  QUAD_REQUIRE(options.chunk_bytes >= 64, "transport: chunk_bytes must be at least 64");
  return world.transport_entry(name).make(world, options);
}

}  // namespace quadrille::comm
