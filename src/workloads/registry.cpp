// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/registry.hpp"

#include "comm/transport.hpp"
#include "core/table.hpp"
#include "device/known_devices.hpp"

#include <algorithm>

namespace quadrille::workloads {

namespace entries {
// clang-format off
QUAD_TABLE(measure::WorkloadEntry const, kWorkloads,
  vector,
  copy,
  memory,
  peak,
  api,
  pipeline,
  integral,
  reduction,
  transpose,
  ptrans,
  gemm,
  conv2d,
  conv2d_halo,
  attention,
  ring_attention,
  paged_decode,
  kv_cache,
  rowwise,
  sampler,
  decoder,
  parallel_decoder,
  summa,
  allreduce,
  broadcast,
  alltoall,
  sendrecv,
  pairs,
  field_io,
  serving,
  parallel_serving
);
// clang-format on
}  // namespace entries

std::span<measure::WorkloadEntry const* const> workloads() { return entries::kWorkloads; }

measure::WorkloadEntry const& entry_of(core::WorkloadSchema const& schema) {
  auto const found = std::ranges::find_if(
      workloads(), [&](measure::WorkloadEntry const* entry) { return &entry->schema == &schema; });
  QUAD_REQUIRE(found != workloads().end(), "the schema is of no workload");
  return **found;
}

core::NameTable const& name_table() {
  static std::vector<core::WorkloadSchema const*> const schemas = [] {
    std::vector<core::WorkloadSchema const*> all;
    for (measure::WorkloadEntry const* entry : workloads()) all.push_back(&entry->schema);
    return all;
  }();
  static core::NameTable const name_table = [] {
    core::NameTable all{schemas, {"auto", "all"}, device::names_of_known_devices()};
    for (std::string_view const name : comm::selectable_transports()) {
      all.transports.emplace_back(name);
    }
    return all;
  }();
  return name_table;
}

}  // namespace quadrille::workloads
