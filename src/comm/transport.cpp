// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"

#include "comm/mpi_handle.hpp"
#include "comm/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace quadrille::comm {
namespace {

template <class T>
void keep_max(void* in, void* inout, int* n, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) b[i] = a[i] > b[i] || a[i] != a[i] ? a[i] : b[i];
}

template <class T>
void keep_min(void* in, void* inout, int* n, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) b[i] = a[i] < b[i] || a[i] != a[i] ? a[i] : b[i];
}

template <class Predicate>
std::vector<std::string_view> names_of(Predicate has) {
  std::vector<std::string_view> names;
  for (TransportEntry const* entry : transports()) {
    if (has(*entry)) names.push_back(entry->name);
  }
  return names;
}

}  // namespace

MPI_Datatype mpi_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return MPI_DOUBLE;
    case core::DataType::f32: return MPI_FLOAT;
    case core::DataType::i64: return MPI_INT64_T;
    case core::DataType::i32: return MPI_INT32_T;
    default:
      core::fail(fmt::format("transport: no reduction of {}; use f64, f32, i64 or i32",
                             core::to_text(type)));
  }
}

ReduceFunction::ReduceFunction(ReduceOp op, core::DataType type) {
  bool const is_float = type == core::DataType::f64 || type == core::DataType::f32;
  if (op == ReduceOp::sum) {
    op_ = MPI_SUM;
  } else if (!is_float) {
    op_ = op == ReduceOp::max ? MPI_MAX : MPI_MIN;
  } else {
    MPI_User_function* const max = type == core::DataType::f64 ? keep_max<double> : keep_max<float>;
    MPI_User_function* const min = type == core::DataType::f64 ? keep_min<double> : keep_min<float>;
    QUAD_MPI(MPI_Op_create(op == ReduceOp::max ? max : min, 1, &op_));
    is_own_ = true;
  }
}

ReduceFunction::~ReduceFunction() {
  if (is_own_) MPI_Op_free(&op_);
}

extern TransportEntry const nccl_transport, mpi_transport, mpi_blocking_transport,
    reference_transport;

std::span<TransportEntry const* const> transports() {
  static constexpr std::array kTable{
      &nccl_transport,
      &mpi_transport,
      &mpi_blocking_transport,
      &reference_transport,
  };
  return kTable;
}

std::vector<std::string_view> selectable_transports() {
  return names_of([](TransportEntry const& entry) { return entry.is_selectable; });
}

std::unique_ptr<Transport> make_transport(std::string_view name, World const& world,
                                          TransportOptions const& options) {
  auto const found = std::ranges::find(transports(), name,
                                       [](TransportEntry const* entry) { return entry->name; });
  if (found == transports().end()) {
    core::fail(fmt::format("transport \"{}\" is unknown; `list transports` shows all", name),
               core::Exit::bad_config);
  }
  TransportEntry const& entry = **found;
  device::Kind const kind = world.device().kind();
  if (!entry.moves(kind)) {
    auto const others = names_of(
        [kind](TransportEntry const& other) { return other.is_selectable && other.moves(kind); });
    core::fail(fmt::format("transport \"{}\" moves {} memory only; use {}, or run.device = \"{}\"",
                           name, entry.moves_gpu ? "GPU" : "host", fmt::join(others, " or "),
                           entry.moves_gpu ? "cuda" : "host"),
               core::Exit::bad_config);
  }
  if (options.throttle > 0 && !entry.models_link) {
    auto const others = names_of([](TransportEntry const& other) { return other.models_link; });
    core::fail(fmt::format("transport \"{}\" has no modelled link; use {} with throttle", name,
                           fmt::join(others, " or ")),
               core::Exit::bad_config);
  }
  std::string const reason = entry.unavailable_reason(&world);
  if (!reason.empty()) {
    core::fail(fmt::format("transport \"{}\" is unavailable: {}", name, reason),
               core::Exit::environment);
  }
  QUAD_REQUIRE(options.chunk_bytes >= 64, "transport: chunk_bytes must be at least 64");
  return entry.make(world.device(), options);
}

}  // namespace quadrille::comm
