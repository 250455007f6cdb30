// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/cannon.hpp"

#include "device/trace.hpp"
#include "workloads/data.hpp"

#include <algorithm>

namespace quadrille::workloads {

using measure::Leg;

namespace {

/// What a trace calls the work of this step.
void label(comm::World const& world, int step) {
  if (device::Trace* const trace = world.device().trace()) {
    trace->set_label(fmt::format("step {}", step));
  }
}

}  // namespace

std::string Cannon::unsupported_reason(core::GridShape const& grid) {
  if (grid.rows == grid.cols || grid.rows == 1 || grid.cols == 1) return {};
  return fmt::format(
      "cannon shifts on P x P, 1 x P and P x 1, not on {}x{}; change grid, or take schedule = "
      "\"broadcast\"",
      grid.rows, grid.cols);
}

Cannon::Cannon(ProductLayout const& layout, core::DataType type, Place const& place)
    : steps_{std::max(place.grid.rows, place.grid.cols)} {
  auto const ring = [&](Layout const& part, bool is_a) {
    Ring made;
    made.k = is_a ? part.cols : part.rows;
    made.layers = place.layers;
    made.layer = place.layer;
    made.size = is_a ? place.grid.cols : place.grid.rows;
    made.place = is_a ? place.col : place.row;
    made.skew = is_a ? place.row : place.col;
    made.is_a = is_a;
    made.own = unallocated(part, type);
    return made;
  };
  a_ = ring(layout.a, true);
  b_ = ring(layout.b, false);
}

Cannon::Runs Cannon::find_runs() const {
  Runs found(static_cast<std::size_t>(steps_));
  comm::Distribution const& parts = a_.size > 1 ? a_.k : b_.k;
  for (std::int64_t first = 0, end = 0; first < parts.size(); first = end) {
    end = std::min(a_.k.block_end(first), b_.k.block_end(first));
    int const owner = parts.owner(first);
    if (owner % a_.layers != a_.layer) continue;
    std::vector<Run>& runs = found[static_cast<std::size_t>(owner / a_.layers)];
    Run const run{a_.k.local(first), b_.k.local(first), end - first};
    bool const continues = !runs.empty() && runs.back().a + runs.back().count == run.a &&
                           runs.back().b + runs.back().count == run.b;
    if (continues) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }
  return found;
}

double Cannon::memory_bytes() const {
  double bytes = 0;
  for (Ring const* ring : {&a_, &b_}) {
    if (ring->size == 1) continue;
    std::int64_t const across = ring->is_a ? ring->own.rows : ring->own.cols;
    bytes += static_cast<double>(ring->slots.size()) *
             static_cast<double>(ring->k.count(ring->layer)) * static_cast<double>(across) *
             static_cast<double>(core::size_of(ring->own.type));
  }
  return bytes;
}

device::MatrixView Cannon::Ring::part(int step) const {
  if (is_own(step)) return own;
  std::int64_t const depth = k.count(part_at(step) * layers + layer);
  device::MatrixView view = slots[static_cast<std::size_t>(step) % slots.size()].view();
  view.type = own.type;
  view.rows = is_a ? own.rows : depth;
  view.cols = is_a ? depth : own.cols;
  view.ld = view.cols;
  return view;
}

void Cannon::for_products(Runs const& runs, int step, Use const& use) const {
  device::MatrixView const a = a_.part(step), b = b_.part(step);
  int const part = a_.size > 1 ? a_.part_at(step) : b_.part_at(step);
  for (Run const& run : runs[static_cast<std::size_t>(part)]) {
    use(a.block(0, run.a, a.rows, run.count), b.block(run.b, 0, run.count, b.cols));
  }
}

void Cannon::for_products(Use const& use) const {
  Runs const runs = find_runs();
  for (int step = 0; step < steps_; ++step) for_products(runs, step, use);
}

void Cannon::allocate(comm::World& world, device::MatrixView const& a, device::MatrixView const& b,
                      comm::Channel* row_channel, comm::Channel* col_channel) {
  runs_ = find_runs();
  a_.own = a;
  b_.own = b;
  a_.channel = row_channel;
  b_.channel = col_channel;
  for (Ring* ring : {&a_, &b_}) {
    if (ring->size == 1) continue;
    // No part has more than the first one of the layer.
    std::int64_t const depth = ring->k.count(ring->layer);
    for (device::Matrix& slot : ring->slots) {
      slot = {world.device(), ring->own.type, ring->is_a ? ring->own.rows : depth,
              ring->is_a ? depth : ring->own.cols, world.stream()};
    }
  }
  for (device::Event& event : multiplied_) event = device::Event{world.device()};
}

void Cannon::reset(device::StreamView stream) const {
  for (Ring const* ring : {&a_, &b_}) {
    for (device::Matrix const& slot : ring->slots) forget_received(slot, ring->own, stream);
  }
}

/// The part of a step comes, from its owner or from the neighbour, which had it in the step before.
void Cannon::Ring::shift(int step, device::StreamView stream) {
  if (channel == nullptr || is_own(step)) return;
  // That of the step before has come, and has left the slot that is written next.
  last.wait_on(stream);
  int const distance = step == 0 ? skew : 1;
  auto const piece = [](device::MatrixView const& view) {
    return comm::Piece{view.data,
                       static_cast<std::size_t>(view.rows * view.cols) * core::size_of(view.type)};
  };
  last =
      channel->sendrecv(piece(step == 0 ? own : part(step - 1)), (place + size - distance) % size,
                        piece(part(step)), (place + distance) % size, stream);
}

void Cannon::shift(comm::World& world, int step) {
  device::StreamView const stream = world.comm_stream();
  label(world, step);
  stream.wait(multiplied(step));
  a_.shift(step, stream);
  b_.shift(step, stream);
}

void Cannon::run(comm::World& world, Leg leg, Use const& multiply) {
  device::StreamView const compute = world.stream();
  auto const await = [&] {
    a_.last.wait_on(compute);
    b_.last.wait_on(compute);
  };
  if (leg == Leg::overlapped) shift(world, 0);
  for (int step = 0; step < steps_; ++step) {
    if (leg == Leg::serial && step > 0) world.comm_stream().wait(multiplied(step - 1));
    if (leg == Leg::serial || leg == Leg::communicate) shift(world, step);
    if (leg != Leg::compute) await();
    if (leg == Leg::overlapped && step + 1 < steps_) shift(world, step + 1);
    if (leg == Leg::communicate) continue;
    label(world, step);
    for_products(runs_, step, multiply);
    compute.record(multiplied(step));
  }
}

}  // namespace quadrille::workloads
