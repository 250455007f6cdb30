// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

#include "workloads/tables.hpp"

namespace quadrille::workloads {
namespace {

struct Row : kernels::VariantInfo {
  std::string_view transport;  ///< empty: the case's
};

constexpr kernels::TypeList kTypes{core::DataType::f64, core::DataType::f32, core::DataType::i32};

constexpr Row kRows[] = {{{.name = "transport",
                           .where = kernels::Where::any,
                           .types = kTypes,
                           .preference = 10,
                           .source = "own",
                           .summary = "the case's transport"},
                          ""},
                         {{.name = "vendor",
                           .role = kernels::Role::vendor,
                           .where = kernels::Where::host,
                           .types = kTypes,
                           .source = "MPI",
                           .summary = "one blocking call of the MPI library"},
                          "mpi_blocking"},
                         {{.name = "vendor",
                           .role = kernels::Role::vendor,
                           .where = kernels::Where::cuda,
                           .types = kTypes,
                           .source = "NCCL",
                           .summary = "NCCL's plain call, on the stream that is timed"},
                          "nccl_plain"},
                         {{.name = "reference",
                           .role = kernels::Role::reference,
                           .where = kernels::Where::host,
                           .types = kTypes,
                           .source = "textbook",
                           .summary = "the root does all the work"},
                          "reference"}};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const allreduce, alltoall, broadcast, sendrecv;

}  // namespace entries

measure::Selection exchange_rows() { return rows_of(kRows); }

std::optional<comm::Operation> operation_of(measure::WorkloadEntry const& entry) {
  using enum comm::Operation;
  constexpr std::pair<measure::WorkloadEntry const*, comm::Operation> kOperations[]{
      {&entries::allreduce, allreduce},
      {&entries::alltoall, alltoall},
      {&entries::broadcast, broadcast},
      {&entries::sendrecv, sendrecv}};
  for (auto const& [own, operation] : kOperations) {
    if (own == &entry) return operation;
  }
  return {};
}

double bus_share(comm::Operation operation, double ranks) {
  using enum comm::Operation;
  switch (operation) {
    // Each element leaves a rank to be reduced, and comes back.
    case allreduce: return 2 * (ranks - 1) / ranks;
    // A rank keeps the part that is its own.
    case reduce_scatter:
    case allgather:
    case alltoall: return (ranks - 1) / ranks;
    case broadcast:
    case sendrecv: break;
  }
  return 1;
}

std::vector<measure::Metric> exchange_metrics() {
  return {{"algbw", "B/s",
           "bytes of a rank's row over the time, as nccl-tests has it: how long data of some size "
           "take."},
          {"busbw", "B/s",
           "bytes over the time that each link carries when the work is shared evenly, so that "
           "they compare with the link's rate for any number of ranks: 2 (P - 1) / P of a row "
           "reduced, (P - 1) / P of one exchanged with all, a whole one that goes to one rank or "
           "comes from one."}};
}

std::string Exchange::unsupported_reason(kernels::VariantInfo const& variant,
                                         device::Device const&) const {
  bool const is_own = row_of(kRows, variant).transport.empty();
  if (is_own || case_.throttle == 0) return {};
  return "knows no modelled link; take throttle out";
}

std::string Exchange::unavailable_reason(kernels::VariantInfo const& variant,
                                         comm::Machine const& machine) const {
  std::string_view const named = row_of(kRows, variant).transport;
  if (named.empty()) return {};
  auto const found = std::ranges::find(comm::transports(), named, &comm::TransportEntry::name);
  std::string const reason = (*found)->unavailable_reason(&machine);
  return reason.empty() ? "" : fmt::format("cannot use {}: {}", named, reason);
}

void Exchange::prepare(comm::World& world, std::uint64_t seed, measure::Selection const& selected) {
  seed_ = seed;
  if (channels_.empty()) {
    in_ = {world.device(), case_.type, 1, sent(), world.stream()};
    out_ = {world.device(), case_.type, 1, received(), world.stream()};
    for (kernels::VariantInfo const* variant : selected) {
      std::string_view const named = row_of(kRows, *variant).transport;
      comm::Transport& transport = named.empty() ? world.transport(case_) : world.transport(named);
      channels_[variant] = transport.connect(world.group(), comm::Order::on_caller_stream);
    }
  }
  fill(in_.view(), block_from(rank_, 0), source(), world);
}

void Exchange::run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) {
  exchange(channel_of(variant), world.stream()).wait_on(world.stream());
}

}  // namespace quadrille::workloads
