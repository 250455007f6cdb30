// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ptrans/one_sided.hpp"

#include <algorithm>

namespace quadrille::workloads::ptrans {

namespace transpose = kernels::transpose;
using measure::Leg;

std::span<OneSidedRow const> one_sided_rows() {
  static constexpr OneSidedRow all[] = {
      {{.name = "one_sided_get",
        .where = kernels::Where::any,
        .types = kernels::kEveryType,
        .preference = 35,
        .source = "own",
        .summary = "transposed out of the memory of peers into the own"},
       Direction::get},
      {{.name = "one_sided_put",
        .where = kernels::Where::any,
        .types = kernels::kEveryType,
        .preference = 40,
        .source = "own",
        .summary = "transposed out of the own memory into that of peers"},
       Direction::put}};
  return all;
}

std::string OneSided::unavailable_reason(core::Case const& spec, comm::Machine const& machine) {
  comm::TransportEntry const& known = machine.transport_entry(spec.transport, spec.throttle);
  // Which one "auto" is will be measured.
  bool const is_open = spec.transport == "auto" && spec.throttle == 0 && machine.size() > 1;
  bool const is_shared = std::ranges::any_of(comm::transports(), [&](auto const* entry) {
    return entry->shares_windows && (is_open || entry == &known) &&
           entry->serves(machine, spec.throttle);
  });
  if (is_shared) return {};
  return fmt::format("transport \"{}\" shares no memory between these ranks; take ipc", known.name);
}

OneSided::OneSided(comm::World& world, comm::Channel& channel, Division const& division,
                   Direction direction, device::MatrixView const& own, bool has_legs)
    : division_{division},
      direction_{direction},
      channel_{channel},
      own_{own},
      shared_{unallocated(direction == Direction::get ? division.a : division.b, division.type)},
      transposes_(comm::index(division.ranks)),
      copies_(comm::index(division.ranks)) {
  window_ = channel_.share(division_.bytes_of(shared_.rows * shared_.cols));
  shared_.data = window_->data();
  std::size_t landing = 0;
  for (int r = 0; r < division_.ranks; ++r) {
    transpose::Blocks const common = common_with(r, nullptr, transpose::Path::link);
    std::size_t const bytes = division_.bytes_of(common.rows.count * common.cols.count);
    if (r == division_.rank || bytes == 0) continue;
    transposes_[comm::index(r)] = [this, r](std::byte* memory, device::StreamView stream) {
      transpose::transpose_blocks(common_with(r, memory, transpose::Path::link), stream);
    };
    copies_[comm::index(r)] = [this, landing, bytes](std::byte* memory, device::StreamView stream) {
      if (direction_ == Direction::put) return stream.copy(memory, own_.data, bytes);
      stream.copy(landed_.data() + landing, memory, bytes);
    };
    landing += bytes;
  }
  bool const lands = has_legs && direction_ == Direction::get;
  if (lands) landed_ = {world.device(), static_cast<std::int64_t>(landing), world.stream()};
}

/// What of rank r's A belongs into this rank's B, or of this rank's A into that of r, whose matrix is
/// at `memory`.
transpose::Blocks OneSided::common_with(int r, void* memory, transpose::Path path) const {
  bool const gets = direction_ == Direction::get;
  Layout layout = gets ? division_.a : division_.b;
  layout.row_part = division_.row_of(r);
  layout.col_part = division_.col_of(r);
  device::MatrixView peers = unallocated(layout, division_.type);
  peers.data = memory;
  int const from = gets ? r : division_.rank, to = gets ? division_.rank : r;
  return {gets ? peers : own_, gets ? own_ : peers, division_.common_rows(from, to),
          division_.common_cols(from, to), path};
}

void OneSided::run(comm::World& world, Leg leg) {
  device::StreamView const compute = world.stream();
  auto const transpose_in_own_memory = [&](int r) {
    transpose::transpose_blocks(common_with(r, shared_.data, transpose::Path::memory), compute);
  };
  if (leg == Leg::overlapped) {
    comm::Request const done = channel_.access(*window_, transposes_, compute);
    transpose_in_own_memory(division_.rank);
    return done.wait_on(compute);
  }
  if (leg != Leg::compute) channel_.access(*window_, copies_, compute).wait_on(compute);
  // As if all ranks' memory were here: for the time, not for the result.
  for (int r = 0; r < division_.ranks && leg != Leg::communicate; ++r) transpose_in_own_memory(r);
}

}  // namespace quadrille::workloads::ptrans
