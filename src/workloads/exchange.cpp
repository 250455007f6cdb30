// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

#include <array>

namespace quadrille::workloads {
namespace {

std::vector<core::DataType> const kTypes{core::DataType::f64, core::DataType::f32,
                                         core::DataType::i32};

std::array<kernels::VariantInfo, 3> const kRows{{
    {"transport", kernels::Backend::host, kTypes, "none", "own",
     "the case's transport: NCCL, or chunks through pinned staging, driven by a progress thread"},
    {"vendor", kernels::Backend::vendor, kTypes, "host device", "MPI",
     "one blocking call of the MPI library"},
    {"reference", kernels::Backend::reference, kTypes, "none", "textbook",
     "the root does all the work"},
}};

}  // namespace

std::vector<kernels::VariantInfo const*> exchange_rows() {
  std::vector<kernels::VariantInfo const*> rows;
  for (kernels::VariantInfo const& row : kRows) rows.push_back(&row);
  return rows;
}

std::vector<kernels::VariantInfo const*> Exchange::variants() const {
  // Only the case's own transport knows the modelled link.
  if (case_.throttle > 0) return {&kRows[0]};
  return exchange_rows();
}

void Exchange::prepare(comm::World& world, std::uint64_t seed) {
  seed_ = seed;
  if (channels_.empty()) {
    in_ = {world.device(), case_.type, 1, n_, world.stream()};
    out_ = {world.device(), case_.type, 1, received(), world.stream()};
    channels_.push_back(world.transport(case_.transport, case_.throttle).connect(world.group()));
    for (std::string_view const peer : {"mpi_blocking", "reference"}) {
      bool const runs = case_.throttle == 0 && world.device().kind() == device::Kind::host;
      if (runs) channels_.push_back(world.transport(peer).connect(world.group()));
    }
  }
  fill(in_.view(), whole(1, n_), source_of(rank_), world);
}

void Exchange::run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) {
  auto const index = static_cast<std::size_t>(&variant - kRows.data());
  exchange(*channels_[index], world.stream()).wait_on(world.stream());
}

}  // namespace quadrille::workloads
